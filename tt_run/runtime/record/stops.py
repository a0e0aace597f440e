"""Where a replay stops for a debugger: at the first line, at a line, before a call, where the program fails, or wherever an editor says.

TT_RUN_REPLAY_HOW says it, as JSON: `pdb`, `file` and `line`, `call`, `guard` (a call by
the guard's number), `debugpy` (a port).
"""

from __future__ import annotations

import json
import os
import pdb
import sys
from bdb import BdbQuit
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn

from tt_run import contract
from tt_run.runtime import events, launched
from tt_run.runtime.record.facts import Facts

_reached = False
_lines: set[int] = set()  # of the file that was asked for: those that ran


@cache
def read_how() -> dict[str, Any]:
    """What this replay was asked for; its children were not."""
    found: dict[str, Any] = json.loads(launched.variables.pop(contract.REPLAY_HOW, "") or "{}")
    return found


def install(rank: int) -> None:
    """Prepare the stops of this process, before its program begins."""
    how = read_how()
    if how.get("debugpy"):
        _wait_for_editor(rank, int(how["debugpy"]))
    at_call = how.get("call") or how.get("guard")
    interactive = bool(how.get("pdb") or how.get("line") or at_call)
    _take_failures(interactive)
    if how.get("line"):
        sys.settrace(_LineTracer(str(how["file"]), int(how["line"]), _lines).enter)
    elif how.get("pdb") and not at_call:
        sys.settrace(_at_first_line)


def before_call(number: int, counted: int, facts: Facts) -> None:
    """Stop if it is the call that was asked for, by its number in the record or the one that the guard gave it."""
    how = read_how()
    if how.get("call") == number or (counted and how.get("guard") == counted and not _reached):
        by_guard = f" (call {counted} of the guard)" if counted else ""
        _say(f"before call {number} of the record{by_guard}, {facts}")
        frame = events.user_frame(1)
        if frame is not None:
            stop_at(frame)


def unreached_stop(calls: int) -> str:
    """The stop that was asked for and never came, and what would; empty for none. `calls` are those of the record."""
    how = read_how()
    if _reached or not (how.get("line") or how.get("call") or how.get("guard")):
        return ""
    if how.get("guard"):
        return f"call {how['guard']} of the guard"
    if how.get("line"):
        return f"{how['file']}:{how['line']}: {_nearest_line(str(how['file']), int(how['line']))}"
    return f"call {how['call']} of the record: its last one is {calls}, --until {calls}"


def _nearest_line(file: str, line: int) -> str:
    if not _lines:
        return f"no line of a file {file} ran"
    near = min(_lines, key=lambda each: abs(each - line))
    return f"the nearest line that ran is {near}, --until {file}:{near}"


def stop_at(frame: FrameType) -> None:
    """Talk to the user at a frame, before its next instruction; go on as the answer says."""
    global _reached
    _reached = True
    debugger = _debugger()
    debugger.reset()
    each: FrameType | None = frame
    while each is not None:
        each.f_trace = debugger.trace_dispatch
        debugger.botframe = each
        each = each.f_back
    debugger.set_next(frame)
    debugger.interaction(frame, None)
    if debugger.quitting:
        _leave()
    if debugger.stoplineno != -1 or debugger.breaks:  # not simply to go on
        sys.settrace(debugger.trace_dispatch)


def _debugger() -> pdb.Pdb:
    """pdb at the terminal, also where the program's standard input comes from the record."""
    if sys.stdin is sys.__stdin__:
        return pdb.Pdb()
    return pdb.Pdb(stdin=sys.__stdin__, stdout=sys.__stdout__)


def _at_first_line(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
    if frame.f_code.co_name != "<module>" or frame.f_globals.get("__name__") != "__main__":
        return None
    return _stop_here


def _stop_here(frame: FrameType, event: str, _: Any) -> Any:
    sys.settrace(None)
    stop_at(frame)
    return frame.f_trace


class _LineTracer:
    """Looks at nothing but the files of one name: cheaper than a debugger that looks at every line."""

    def __init__(self, file: str, line: int, ran: set[int]) -> None:
        self._end, self._line, self._ran = file.lstrip("./"), line, ran

    def enter(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        return self._look if name.endswith(self._end) and self._is_path(name) else None

    def _is_path(self, name: str) -> bool:
        return len(name) == len(self._end) or name[-len(self._end) - 1] == os.sep

    def _look(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._ran.add(frame.f_lineno)
        if event != "line" or frame.f_lineno != self._line:
            return self._look
        return _stop_here(frame, event, None)


def _take_failures(interactive: bool) -> None:
    """Show what ends the program up to the user's line; with a debugger, stop there."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.settrace(None)
        if issubclass(kind, BdbQuit):
            _leave()
        before(kind, error, events.users_part(trace) if hasattr(error, "code") else trace)
        if interactive and trace is not None and not issubclass(kind, KeyboardInterrupt):
            _say("stopped where it failed; q leaves")
            debugger = _debugger()
            debugger.reset()
            debugger.interaction(None, events.users_part(trace))

    sys.excepthook = hook


def _wait_for_editor(rank: int, port: int) -> None:
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning that says nothing here
    try:
        import debugpy  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        print(
            f"tt-run replay: --debugpy needs the package debugpy, which {Path(sys.executable)} does not have: pip install debugpy",
            file=sys.stderr,
        )
        os._exit(contract.Exit.USAGE)
    debugpy.listen(("127.0.0.1", port))
    _say(f"rank {rank} waits for a debugger on 127.0.0.1:{port}; attach your editor to it")
    debugpy.wait_for_client()


def _leave() -> NoReturn:
    """The user has quit."""
    _say("left in the debugger")
    os._exit(0)


def _say(text: str) -> None:
    sys.stdout.flush()
    print(f"tt-run replay: {text}", file=sys.stderr, flush=True)
