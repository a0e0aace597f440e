"""The kinds of words that several verbs take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class DescriptorWord(click.ParamType):  # type: ignore[type-arg] # generic for type checkers only, from click 8.3
    """A path, `-` or the name of a system; shells complete both files and names."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from mgd.systems import systems

        names = [CompletionItem(system.name) for system in systems() if system.name.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="file")]
