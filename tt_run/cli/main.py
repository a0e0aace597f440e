"""The command `tt-run`: reads the command line, calls, and turns what comes back into text and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from tt_run.contract import Exit

NOTHING = "Nothing was launched."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tt-run` with the words of the command line; its exit code. Never raises."""
    import click

    from tt_run.cli.command import build_command

    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        result = build_command(_dispatch).main(args=words, prog_name="tt-run", standalone_mode=False)
        return int(result or 0)
    except click.UsageError as error:
        return _usage(error)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return Exit.OK
    except Exception as error:  # the last resort: a traceback is for us, not for the user
        return _failed(error)


def _dispatch(**options: Any) -> int:
    if options["version"]:
        from tt_run.cli.looks import print_version

        return print_version()
    if options["explain"]:
        from tt_run.cli.looks import explain

        return explain(options["explain"])
    if options["doctor"]:
        from tt_run.cli.doctor import doctor

        return doctor(options)
    from tt_run.cli.launch import launch

    return launch(options, sys.argv[1:])


def _usage(error: Any) -> int:
    """A wrong command line in the manner of every other error, with the nearest option."""
    from mgd.diagnostics import Diagnostic

    possibilities = getattr(error, "possibilities", None)
    option = getattr(error, "option_name", None)
    if option is not None and type(error).__name__ == "NoSuchOption":
        hint = (
            f"{' or '.join(possibilities)}?"
            if possibilities
            else "tt-run --help lists the options; options of the program go after it"
        )
        diagnostic = Diagnostic("TTR020", f"tt-run has no option {option}", help=hint)
    else:
        diagnostic = Diagnostic(
            "TTR021", error.format_message().rstrip("."), help="tt-run --help lists the options"
        )
    return report_error((diagnostic,), Exit.USAGE)


def _failed(error: Exception) -> int:
    from tt_run.errors import TtRunError

    if isinstance(error, TtRunError):
        return report_error(error.diagnostics, error.exit_code)
    return _internal(error)


def report_error(diagnostics: Sequence[Any], code: int) -> int:
    """Prints findings on standard error, says that nothing was launched, and gives the exit code back."""
    from mgd.diagnostics import count, render

    for diagnostic in diagnostics:
        print(render(diagnostic, colour=sys.stderr.isatty(), more="tt-run --explain"), file=sys.stderr)
    errors, warnings = count(diagnostics)
    parts = [
        f"{number} {word}{'s' * (number != 1)}"
        for number, word in ((errors, "error"), (warnings, "warning"))
        if number
    ]
    print(f"{', '.join(parts)}. {NOTHING}", file=sys.stderr)
    return int(code)


def _internal(error: Exception) -> int:
    """A bug of ours: one line for the user, the traceback in a file."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="tt-run-bug-", suffix=".txt", delete=False) as stream:
        stream.write(f"tt-run {' '.join(sys.argv[1:])}\n\n")
        traceback.print_exception(type(error), error, error.__traceback__, file=stream)
    print(f"error[TTR900]: a bug in tt-run: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"  help: please report it with the file {stream.name}", file=sys.stderr)
    return Exit.INTERNAL


def _silence_stdout() -> None:
    """Whoever read our output has gone; Python must not complain about it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
