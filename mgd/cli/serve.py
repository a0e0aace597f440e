"""`mgd serve`: the language server."""

from __future__ import annotations

import sys

import click


@click.command()
def command() -> int:
    """Serve an editor: a language server on standard input and output.

    It tells mistakes while a descriptor is written, completes fields and names, explains what the pointer rests on, follows
    names to their definition and uses, lays files out, and offers the repairs of `mgd fix`. docs/editors.md says how editors start it.
    """
    from mgd.editing.server import Server

    return Server(sys.stdin.buffer, sys.stdout.buffer).serve()
