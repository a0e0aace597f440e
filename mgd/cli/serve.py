"""`mgd serve`: the language server."""

from __future__ import annotations

import gc
import sys

import click

from mgd.cli.output import page_width, say
from mgd.folding import fold


@click.command()
def command() -> int:
    """Serve an editor: a language server on standard input and output.

    It tells mistakes while a descriptor is written, completes fields and names, explains what the pointer rests on, follows
    names to their definition and uses, lays files out, and offers the repairs of `mgd fix`. docs/editors.md says how editors start it.
    """
    from mgd.editing.server import Server

    if sys.stdin.isatty():
        told = "mgd serve: waiting for an editor on standard input (docs/editors.md says how editors start it); Ctrl-C ends it"
        say(fold(told, page_width(sys.stderr, 0), "  "), err=True)
    gc.enable()  # an editor's day is longer than a command
    return Server(sys.stdin.buffer, sys.stdout.buffer).serve()
