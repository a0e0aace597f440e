"""`mgd check`: read, check, report."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from mgd.cli.inputs import DescriptorWord, expand_words
from mgd.cli.output import say, wants_colour
from mgd.cli.reports import Report, as_github, as_json, as_sarif, as_text, inspect


@click.command()
@click.argument("files", nargs=-1, required=True, type=DescriptorWord(), metavar="FILE...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    help="Form of the report.",
)
@click.option(
    "--profile",
    type=click.Choice(["full", "runtime"]),
    default="full",
    help="full: the format's rules; runtime: also what only the runtime refuses is an error.",
)
@click.option("-q", "--quiet", is_flag=True, help="Text: no line for accepted files.")
def command(files: tuple[str, ...], form: str, profile: str, quiet: bool) -> int:
    """Check descriptors and tell every mistake, with line, column and what to write instead.

    FILE is a path, a folder (all *.textproto below it), - for standard input, or the name of a system.
    Exit code: 0 all accepted, 1 one is rejected, 2 wrong usage or one is unreadable.
    """
    code = 0

    def reports() -> Iterator[Report]:
        nonlocal code
        for word in expand_words(files):
            report = inspect(word, profile, facts=form in ("text", "json"))
            code = max(code, 2 if report.unreadable else 0 if report.accepted else 1)
            yield report

    if form == "text":
        for line in as_text(reports(), colour=wants_colour(sys.stdout), quiet=quiet):
            say(line)
    elif form == "sarif":
        from mgd.cli.main import own_version

        say(as_sarif(reports(), own_version()))
    else:
        for report in reports():
            for line in [as_json(report)] if form == "json" else as_github(report):
                say(line)
    return code
