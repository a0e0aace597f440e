"""The verbs of `mgd` as click commands: one module per verb, imported when the verb is used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from mgd.cli.output import own_version, page_width
from mgd.cli.overview import EPILOGUE, INTRODUCTION, VERBS, WIDEST, overview

_MODULES = {"completion": "complete"}
_WIDTH = {"max_content_width": WIDEST}


class Verbs(click.Group):
    """The verbs by name; `--help` of the whole lists them without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"mgd.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # What click itself does then differs from version to version.
        if not args and not ctx.resilient_parsing:
            click.echo(overview(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        return overview()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from mgd.cli.usage import Misused, instead_of

            raise Misused(f"there is no command '{args[0]}'", instead_of(args[0], VERBS))
        return super().resolve_command(ctx, args)


@click.command(
    cls=Verbs,
    context_settings=_WIDTH | {"help_option_names": ["-h", "--help"]},
    epilog=EPILOGUE,
    help=INTRODUCTION,
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda *words: _version(*words),
    help="Show the version and exit.",
)
def cli() -> None:
    """The whole, of which the verbs are parts."""


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"mgd {own_version()}")
        ctx.exit()


_CLICKS_LEAST = 52  # columns: click writes help of no less, whatever the terminal has


def _narrow() -> dict[str, Any]:
    """The width of help for a terminal that is narrower than click takes into account."""
    columns = page_width(sys.stdout, 0)
    return {"terminal_width": columns - 2} if 0 < columns < _CLICKS_LEAST else {}


def run(words: Sequence[str]) -> int:
    """Run one command line; returns its exit code, 2 for wrong usage. What the verbs raise of their own goes on."""
    try:
        code = cli.main(args=list(words), prog_name="mgd", standalone_mode=False, **_narrow())
    except click.ClickException as error:
        from mgd.cli.usage import print_wrong_usage

        return print_wrong_usage(error, words)
    except click.Abort:
        return 130
    return code if isinstance(code, int) else 0
