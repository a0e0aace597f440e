"""The command `tt-run`: reads the command line, calls, and turns what comes back into text and an exit code.

Every import below the top is late on purpose: what a launch does not need must not cost it time.
"""

from __future__ import annotations

import errno
import os
import sys

from tt_run.cli.commands import LAUNCHING, named_command, run_command
from tt_run.cli.interrupts import raise_again
from tt_run.cli.reading.parse import parse
from tt_run.contract import Exit

TYPE_CHECKING = False  # typing itself takes longer than the help text
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from mgd.diagnostics import Diagnostic

NOTHING = "Nothing was launched."
# Options in the place of a launch.
_LOOKING = ("--completion", "--doctor", "--explain", "--version")
# What the machine has against a file of ours.
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)
# The same where the file is named; without a name it may as well be a mistake of ours.
_UNUSABLE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP, errno.EIO, errno.ESTALE)


def main() -> None:
    """Runs the command line, then ends the process without the interpreter's tidying up, which costs 10 ms."""
    if hasattr(sys, "set_int_max_str_digits"):  # what is too large is told as any other wrong number
        sys.set_int_max_str_digits(0)
    _open_closed_streams()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except OSError as error:
        code = max(_unwritable(error), code)  # a failure of the ranks is the greater news
    try:
        sys.stderr.flush()
    except OSError:  # nobody can be told
        _silence(sys.stderr)
    os._exit(code)


def run(words: Sequence[str]) -> int:
    """Carries out `tt-run WORDS…`; the exit code. Never raises."""
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _silence(sys.stdout)
        return Exit.OK
    except Exception as error:
        try:
            return _failed(error, words)
        except OSError:  # nobody can be told: the disk under standard error is full
            return int(getattr(error, "exit_code", Exit.FAILED))


def _dispatch(words: Sequence[str]) -> int:
    name = named_command(words)
    if name is not None:
        raise_again()
        return run_command(name, words[1:])
    given = parse(words)
    if given.help or not words:
        from tt_run.cli.help import help_text, short_help

        print(help_text() if given.help else short_help())
        return Exit.OK if given.help else Exit.USAGE
    if given.completion:
        from tt_run.cli.completion import completion_script

        print(completion_script(given.completion))
    elif given.version:
        from tt_run.cli.views import print_version

        return print_version()
    elif given.explain:
        from tt_run.cli.views import explain

        for number, code in enumerate((given.explain, *given.program)):
            if number:
                print()
            explain(code)
    elif given.doctor:
        from tt_run.cli.doctor.machine import doctor
        from tt_run.cli.reading.idle import tell_looks

        tell_looks(given)
        raise_again()
        return doctor(given)
    else:
        from tt_run.cli.launch import launch

        return launch(given, words)
    return Exit.OK


def _failed(error: Exception, words: Sequence[str]) -> int:
    from tt_run.errors import TtRunError

    if isinstance(error, TtRunError) and error.is_told:
        return error.exit_code
    if isinstance(error, TtRunError):
        return report_error(error.diagnostics, error.exit_code, tells_of_ranks=_starts_ranks(words))
    if isinstance(error, FileNotFoundError) and not _has_directory():
        from tt_run.inputs.site import gone_directory

        return report_error([gone_directory()], Exit.UNREADABLE, tells_of_ranks=_starts_ranks(words))
    if isinstance(error, OSError) and error.filename is None and error.errno == errno.ENOSPC:
        return _unwritable(error)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return _too_long(error)
    if isinstance(error, OSError) and error.errno in _UNWRITTEN:
        return _unwritten(error)
    if isinstance(error, OSError) and error.errno in _UNUSABLE and _is_theirs(error.filename):
        return _unwritten(error)
    return _internal(error, words)


def _starts_ranks(words: Sequence[str]) -> bool:
    """Whether the command line asks for ranks, so that it is news that there are none."""
    name = named_command(words)
    return name in LAUNCHING if name else not words or words[0].partition("=")[0] not in _LOOKING


def report_error(diagnostics: Sequence[Diagnostic], code: int, *, tells_of_ranks: bool = True) -> int:
    """Prints findings on standard error, says that nothing was launched, and gives the exit code back."""
    from mgd.diagnostics import count
    from tt_run.cli.print_findings import print_findings

    print_findings(diagnostics)
    if not tells_of_ranks:
        return int(code)
    errors, warnings = count(diagnostics)
    numbers: list[tuple[int, str]] = [(errors, "error"), (warnings, "warning")]
    parts = [f"{number} {word}{'s' * (number != 1)}" for number, word in numbers if number]
    print(f"{', '.join(parts)}. {NOTHING}", file=sys.stderr)
    return int(code)


def _internal(error: Exception, words: Sequence[str]) -> int:
    """A bug of ours: one line for the user, the traceback in a file."""
    import shlex
    import tempfile
    import traceback

    told = f"tt-run {shlex.join(words)}\n\n{''.join(traceback.format_exception(type(error), error, error.__traceback__))}"
    print(f"error[TTR900]: a bug in tt-run: {type(error).__name__}: {error}", file=sys.stderr)
    try:
        with tempfile.NamedTemporaryFile(prefix="tt-run-bug-", suffix=".txt", delete=False) as stream:
            stream.write(told.encode(errors="surrogateescape"))
        print(f"  help: please report it with the file {stream.name}", file=sys.stderr)
    except OSError:
        print(f"  help: please report it with this:\n{told}", file=sys.stderr)
    return Exit.INTERNAL


def _open_closed_streams() -> None:
    """Standard streams that the caller has closed become /dev/null, before a log takes their number and ranks write into it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their numbers
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - pathlib is not loaded yet


def _unwritable(error: OSError) -> int:
    """What we say has nowhere to go: a full disk behind standard output."""
    _silence(sys.stdout)
    print(f"error[TTR038]: output cannot be written: {error.strerror}", file=sys.stderr)
    return Exit.FAILED


def _has_directory() -> bool:
    """Whether the working directory is still there."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib may not be loaded
    except OSError:
        return False
    return True


def _too_long(error: OSError) -> int:
    """A name that no file system has."""
    from mgd.diagnostics import Diagnostic

    name = str(error.filename or "")
    shown = f"{name[:40]}…{name[-20:]}" if len(name) > 80 else name
    help = "name a file that is there"
    return report_error(
        [Diagnostic("TTR101", f"file not found: {shown}: {error.strerror}", help=help)], Exit.USAGE
    )


def _unwritten(error: OSError) -> int:
    """A file that cannot be written, because its disk is full or read-only or its folder is somebody else's."""
    from mgd.diagnostics import Diagnostic
    from tt_run.cli.print_findings import print_findings

    where = f" {error.filename}" if error.filename else ""
    if error.errno in _UNWRITTEN:
        verb = "write"
        help = (
            "make room or allow it, or name other folders: --log-dir DIR for logs, TMPDIR=DIR for temporary files, "
            "XDG_CACHE_HOME=DIR for derived ones"
        )
        if error.errno == errno.EFBIG:
            help = "the limit of this shell may be it, which ulimit -f shows: ulimit -f unlimited"
        elif where and not os.path.isabs(error.filename):  # noqa: PTH117 - a file of the working directory
            place = os.path.dirname(error.filename) or "."  # noqa: PTH120
            help = (
                f"ls -ld {place} says who may write, df {place} whether there is room; or name another folder"
            )
    else:
        verb, help = "use", "name another file or folder"
    print_findings([Diagnostic("TTR039", f"cannot {verb}{where}: {error.strerror}", help=help)])
    return Exit.FAILED


def _is_theirs(name: object) -> bool:
    """Whether a file is the user's: not one that tt-run or Python brings, whose loss is a bug or a broken installation."""
    if not isinstance(name, (str, bytes)) or not name:
        return False
    path = os.path.abspath(os.fsdecode(name))  # noqa: PTH100
    ours = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), sys.prefix, sys.base_prefix)  # noqa: PTH100, PTH120
    return not any(path.startswith(folder + os.sep) for folder in ours)


def _silence(stream: TextIO) -> None:
    """Whoever read our output has gone; Python must not complain about it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
