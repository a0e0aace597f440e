"""`mgd check` with all its options."""

from __future__ import annotations

import click

from mgd.cli.usage import warn_idle
from mgd.cli.verdicts import FORMS, check_files
from mgd.cli.words import DescriptorWord


@click.command()
@click.argument("files", nargs=-1, required=True, type=DescriptorWord(), metavar="FILE...")
@click.option("--format", "form", type=click.Choice(FORMS), default="text", help="Form of the report.")
@click.option(
    "--profile",
    type=click.Choice(["full", "runtime"]),
    default="full",
    help="full: the format's rules; runtime: also what only the runtime refuses is an error.",
)
@click.option("-q", "--quiet", is_flag=True, help="Text: no line for accepted files.")
def command(files: tuple[str, ...], form: str, profile: str, quiet: bool) -> int:
    """Check descriptors and tell every mistake, with line, column and what to write instead.

    FILE is a path, a folder (all descriptors below it), - for standard input, or the name of a system.
    Exit code: 0 all accepted, 1 one is rejected, 2 wrong usage or one is unreadable.
    """
    if quiet and form != "text":
        warn_idle("--quiet", f"--format {form} has no such lines", "leave it out")
    return check_files(files, form, profile, quiet=quiet)
