"""Entry point of `mgd`: one module per verb, imported when the verb is used.

Exit codes: 0 all is well, 1 a descriptor is rejected, differs or would change, 2 wrong usage or an unreadable input,
130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

VERBS = {
    "check": "Check descriptors and tell every mistake.",
    "show": "Draw meshes, hosts, ranks, wraps and links.",
    "describe": "Count devices, hosts and links; bisection, diameter.",
    "new": "Write a descriptor from shape, hosts and links.",
    "fmt": "Lay descriptors out in one way.",
    "fix": "Repair what has only one repair.",
    "diff": "Compare the topology of two descriptors.",
    "convert": "Convert between MGD 1.0 and 2.0.",
    "systems": "List the systems that ship with it.",
    "explain": "Explain a rule, with a bad and a good example.",
    "completion": "Print the completion script of a shell.",
}
_MODULES = {"completion": "complete"}
_PIPE_CLOSED = 141
_WIDTH = {"max_content_width": 110}


class Verbs(click.Group):
    """The verbs by name; `--help` of the whole lists them without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"mgd.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, n=1)
            ctx.fail(
                f"there is no command '{args[0]}'" + (f": did you mean `mgd {near[0]}`?" if near else "")
            )
        return super().resolve_command(ctx, args)


@click.command(
    cls=Verbs,
    context_settings=_WIDTH | {"help_option_names": ["-h", "--help"]},
    epilog="A FILE is a path, - for standard input, or the name of a shipped system. Five minutes: mgd systems; "
    "mgd show t3000; mgd new --shape 2x4 --hosts 1x2 -o my.textproto; mgd check my.textproto",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda *words: _version(*words),
    help="Show the version and exit.",
)
def cli() -> None:
    """Check, draw and write Mesh Graph Descriptors, the files that say how the devices of a system are linked."""


def own_version() -> str:
    """The version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tt-run")
    except PackageNotFoundError:
        return "0 (not installed)"


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"mgd {own_version()}")
        ctx.exit()


def main(words: Sequence[str] | None = None) -> None:
    """Run the command and end the process with its exit code; a user's mistake never shows a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A file name or a comment can hold what the terminal's encoding has no sign for.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(args=None if words is None else list(words), prog_name="mgd", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        sys.exit(_PIPE_CLOSED)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        sys.exit(_environment(error))
    except Exception as error:
        sys.exit(_reported(error))
    sys.exit(code if isinstance(code, int) else 0)


def _drop_output() -> None:
    """Nobody reads any more: let the interpreter's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _environment(error: OSError) -> int:
    where = f" {error.filename}" if error.filename else ""
    sys.stderr.write(f"error: cannot use{where}: {(error.strerror or str(error)).lower()}\n")
    return 2


def _reported(error: Exception) -> int:
    """Print one of our own errors; anything else is our bug and keeps its traceback."""
    from mgd.errors import MgdError, UnreadableError

    if not isinstance(error, MgdError):
        raise error
    from mgd.cli.output import wants_colour
    from mgd.diagnostics import render

    colour = wants_colour(sys.stderr)
    for diagnostic in error.diagnostics:
        sys.stderr.write(render(diagnostic, colour=colour, more="mgd explain") + "\n")
    if not error.diagnostics:
        sys.stderr.write(f"error: {error}\n")
    return 2 if isinstance(error, UnreadableError) else 1
