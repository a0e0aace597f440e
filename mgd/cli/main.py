"""Entry point of `mgd`: what ends the process, and how its end is told.

Exit codes: 0 all is well, 1 a descriptor is rejected, differs or would change, 2 wrong usage or an unreadable input,
130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys

TYPE_CHECKING = False  # importing typing would take as long as all of this
if TYPE_CHECKING:
    from collections.abc import Sequence

_PIPE_CLOSED = 141


def main(words: Sequence[str] | None = None) -> None:
    """Run the command and end the process with its exit code; a user's mistake never shows a traceback."""
    if words is None:
        gc.disable()  # the process ends with the command, and a descriptor holds no cycles: collections are 7 % of a check
    for stream in (sys.stdout, sys.stderr):
        # A file name or a comment can hold what the terminal's encoding has no sign for.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if hasattr(sys, "set_int_max_str_digits"):  # what is too large is told as any other wrong number
        sys.set_int_max_str_digits(0)
    try:
        code = _run(sys.argv[1:] if words is None else list(words))
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        code = _PIPE_CLOSED
    except KeyboardInterrupt:
        code = 130
    except OSError as error:
        code = _environment(error)
        if error.filename is None:
            # The output itself: the last flush would fail once more, and end with a code of its own.
            _drop_output()
    except Exception as error:
        code = _reported(error)
    sys.exit(code)


def _run(words: Sequence[str]) -> int:
    """`mgd check FILE…` without options goes straight to work: editors and hooks call it all day, and click is a third of its start."""
    if (
        len(words) > 1
        and words[0] == "check"
        and not any(word.startswith("-") and word != "-" for word in words)
    ):
        from mgd.cli.verdicts import check_files

        return check_files(words[1:])
    if words[:1] == ["help"]:  # as in tt-run
        words = [*words[1:2], "--help"]
    if len(words) == 1 and words[0] in ("-h", "--help"):
        from mgd.cli.overview import overview

        print(overview())
        return 0
    from mgd.cli.group import run

    return run(words)


def _drop_output() -> None:
    """Nobody can read any more: let the interpreter's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _environment(error: OSError) -> int:
    where = f" {error.filename}" if error.filename else ""
    help = "make room, or name another file" if error.errno == errno.ENOSPC else "name another file or folder"
    folder = os.path.dirname(error.filename) if isinstance(error.filename, str) else ""  # noqa: PTH120
    if error.errno == errno.ENOENT and folder and not os.path.lexists(folder):
        import shlex

        help = f"mkdir -p {shlex.quote(folder)}, or {help}"
    sys.stderr.write(
        f"error[MGD300]: cannot use{where}: {(error.strerror or str(error)).lower()}\n  help: {help}   more: mgd explain MGD300\n"
    )
    return 2


def _reported(error: Exception) -> int:
    """Print one of our own errors; anything else is our bug and keeps its traceback."""
    from mgd.cli.inputs import WrongUsage
    from mgd.errors import MgdError

    if isinstance(error, WrongUsage):
        from mgd.cli.usage import print_wrong_usage

        return print_wrong_usage(error)
    if not isinstance(error, MgdError):
        raise error
    from mgd.cli.findings import tell_error

    return tell_error(error)
