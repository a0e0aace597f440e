"""The click command: options until the first word that is not one, then the program, whole; help in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tt_run.cli.options import OPTIONS, GroupedOption

USAGE = "tt-run [OPTIONS] [--] PROGRAM [ARGS...]"
INTRODUCTION = (
    "Starts PROGRAM as MPI ranks, each on its part of a mesh of devices. Options end at the first word that is not one; "
    "everything after it belongs to the program."
)
EXAMPLES = (
    "tt-run --rank-binding ranks.yaml python train.py",
    "tt-run --emulate --system t3000 --split 1x2 python train.py     no hardware needed",
    "tt-run --rank-binding ranks.yaml --dry-run ./app                print, do not run",
)


class LaunchCommand(click.Command):
    """`tt-run`: prints its options by group, and never looks for options after the program word."""

    allow_interspersed_args = False

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"Usage: {USAGE}\n")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text(INTRODUCTION)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                group = parameter.group if isinstance(parameter, GroupedOption) else "Looking without running"
                groups.setdefault(group, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records, col_max=36)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for line in EXAMPLES:
                formatter.write(f"  {line}\n")


def build_command(callback: Callable[..., Any]) -> click.Command:
    """The command, with `callback` called with every option by name and `program` as a tuple of words."""
    function = click.argument("program", nargs=-1, type=click.UNPROCESSED)(callback)
    for decorate in reversed(OPTIONS):
        function = decorate(function)
    return click.command(
        "tt-run",
        cls=LaunchCommand,
        context_settings={"help_option_names": ["--help"], "max_content_width": 110},
    )(function)
