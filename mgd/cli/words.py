"""The kinds of words that several verbs take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from click.shell_completion import CompletionItem


class NameWord(click.ParamType):  # type: ignore[type-arg] # generic for type checkers only, from click 8.3
    """One of some names, which shells complete; what is none of them is for the verb to refuse."""

    name = "name"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]


def system_names() -> list[str]:
    """The names of the systems that come with tt-run."""
    from mgd.systems import systems

    return [system.name for system in systems()]


def rule_codes() -> list[str]:
    """The codes that `mgd explain` takes."""
    from mgd.rules import all_rules

    return list(all_rules())


class DescriptorWord(click.ParamType):  # type: ignore[type-arg] # generic for type checkers only, from click 8.3
    """A path, `-` or the name of a system; shells complete both files and names."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name) for name in system_names() if name.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="file")]
