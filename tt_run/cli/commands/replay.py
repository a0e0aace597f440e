"""`tt-run replay`: one recorded rank alone, without MPI and without the other ranks, also under a debugger."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from mgd.diagnostics import Diagnostic
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError

# The working directory must not decide which modules are found: `python -m` would put it first.
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; from tt_run.runtime.record.play import main; sys.exit(main(sys.argv[1:]))"
_UNTIL = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d*)$|(?:call:?)?(?P<call>[1-9]\d*)$")
_BY_GUARD = re.compile(r"guard:([1-9]\d*)$")


class Replay(Arguments):
    """Run one rank of a recorded run (tt-run --emulate --record DIR) again, alone: what it received comes from the record.

    DIR is what --record named; of several runs in it the last one is taken. The program is the recorded one, or what follows --:
      tt-run replay rec --rank 3 --pdb
      tt-run replay rec --rank 3 --until train.py:88 -- python train.py
    """

    __slots__ = ()
    usage = "tt-run replay [OPTIONS] DIR [-- PROGRAM [ARGS...]]"
    rank: int = option("Replay", "--rank", "N", "Which rank [0].", kind="count", default=0)
    allow_changes: bool = option(
        "Replay",
        "--allow-changes",
        "",
        "Go on where the program sends other values than recorded; say it once.",
    )
    pdb: bool = option("Debug", "--pdb", "", "Stop at the first line and where the program fails.")
    until: str | None = option(
        "Debug",
        "--until",
        "SITE",
        "Stop in pdb at FILE:LINE, before call N of the record, or before the guard's and --inject's (guard:N).",
    )
    debugpy: int | None = option(
        "Debug", "--debugpy", "PORT", "Wait for an editor's debugger on this port.", kind="number"
    )
    help: bool = option("Look", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Becomes the rank's program. Raises UsageError for words that name no record."""
    import json

    own, program = _parted(words)
    given = read(own, Replay)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Replay))
        return Exit.OK
    if len(given.rest) != 1:
        raise _usage("name one folder of records", "write tt-run replay rec --rank 3")
    if given.pdb and given.debugpy is not None:
        raise _usage("--pdb and --debugpy are two debuggers of one program", "leave one of them out")
    if program:
        from tt_run.cli.reading.parse import parse
        from tt_run.cli.reading.python_slips import lost_script, refuse_lost_script
        from tt_run.inputs.site import Site

        lost = lost_script(parse(["--emulate", *program]), Site.current())
        refuse_lost_script(lost, is_here=True)
    how = {
        "allow_changes": given.allow_changes,
        "pdb": given.pdb,
        "debugpy": given.debugpy,
        **_stop(given.until),
    }
    line = [sys.executable, "-c", _START, given.rest[0], str(given.rank), json.dumps(how), *program]
    sys.stdout.flush()
    sys.stderr.flush()
    return os.execv(sys.executable, line)


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The command's own words, and those of the program after `--`."""
    at = list(words).index("--") if "--" in words else len(words)
    return list(words[:at]), list(words[at + 1 :])


def _stop(until: str | None) -> dict[str, object]:
    if until is None:
        return {}
    if by_guard := _BY_GUARD.match(until):
        return {"guard": int(by_guard[1])}
    found = _UNTIL.match(until)
    if found is None:
        raise _usage(
            f"--until {until}: neither a line of a file nor a call",
            "write a line such as train.py:88, or a call: 12 of the record, guard:14 in the guard's numbers",
        )
    if found["call"]:
        return {"call": int(found["call"])}
    return {"file": found["file"], "line": int(found["line"])}


def _usage(wrong: str, help: str) -> UsageError:
    return UsageError(Diagnostic("TTR021", f"tt-run replay: {wrong}", help=help))
