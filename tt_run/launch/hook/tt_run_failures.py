"""How a Python rank fails: the traceback that its user sees, the record that the launcher reads, and an end that waits for no one.

Imported by `sitecustomize.py` at the start of every rank, while its folder is on the program's path: hence the long name, and nothing
newer than Python 3.7.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in sitecustomize.py
if TYPE_CHECKING:
    from types import ModuleType, TracebackType
    from typing import Any

_EMULATION = "/tt_run/runtime/"
_HOOK = "/tt_run/launch/hook/"


class Rank:
    """The rank that this process is, once `sitecustomize.py` knows: a warm process is none before it is forked."""

    folder = ""
    number = ""
    pid = 0
    is_child = False  # another Python of this rank runs, which has started this one
    is_ending = False  # the ordinary end has begun
    code = 0  # with which the program ends, once an exception has ended it
    debugger: dict[str, Any] | None = None  # the names of `debugging.py`, where one was asked for


def record_path(suffix: str) -> str:
    return f"{Rank.folder}/rank-{int(Rank.number):04d}.{suffix}"


def private_record(suffix: str) -> Any:
    """A record of this rank to append to, for its owner only."""
    return os.fdopen(os.open(record_path(suffix), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a")


def mpi() -> ModuleType | None:
    """mpi4py's MPI module while MPI is up in this process, otherwise None."""
    module = sys.modules.get("mpi4py.MPI")
    try:
        if module is not None and module.Is_initialized() and not module.Is_finalized():
            return module
    except Exception:
        return None
    return None


def _frames(traceback: TracebackType | None) -> list[tuple[str, int]]:
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


def is_library(file: str) -> bool:
    """Whether a line is not the user's to repair: the standard library's, an installed package's, the emulation's or the launcher's."""
    return (
        file.startswith("<frozen")
        or file.endswith((".pyx", ".pxi"))
        or any(
            part in file
            for part in (
                "/site-packages/",
                "/dist-packages/",
                "/lib/python3.",
                "/tt_run/shims/",
                "/mgd/lean.py",
                _EMULATION,
                _HOOK,
            )
        )
    )


def _show(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
    """Prints the traceback. Where the emulation or the launcher has refused a call, it ends in the user's program: the message says the rest.

    A refusal is a `raise` of their own; anything else in there is a bug, whose frames are needed.
    """
    import linecache

    frames = _frames(traceback)
    users = [number for number, (file, _) in enumerate(frames) if not is_library(file)]
    refused = (
        frames
        and any(own in frames[-1][0] for own in (_EMULATION, _HOOK))
        and linecache.getline(*frames[-1]).strip().startswith("raise ")
    )
    if not (refused and users) or value.__cause__ is not None:
        sys.__excepthook__(kind, value, traceback)
        return
    last = traceback
    for _ in range(users[-1]):
        last = last.tb_next  # type: ignore[union-attr]
    hidden, last.tb_next = last.tb_next, None  # type: ignore[union-attr]
    sys.__excepthook__(kind, value, traceback)
    last.tb_next = hidden  # type: ignore[union-attr]


def _accusation(value: BaseException) -> dict[str, Any] | None:
    """Which ranks the exception holds at fault, if it is one of the emulation's that do."""
    culprits = getattr(value, "culprits", None)
    return {"code": value.code, "culprits": list(culprits)} if culprits and hasattr(value, "code") else None


def _record_failure(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
    """Writes what ended the program, unless the program has already left a better record."""
    import time

    frames = _frames(traceback)
    users = [frame for frame in frames if not is_library(frame[0])]
    file, line = _misspelt(value) or (users or frames or [("", 0)])[-1]
    if Rank.is_child and mpi() is None:
        _forget_record("child-failure.json")  # of several children the last counts
    write_record(
        {
            "rank": int(Rank.number),
            "exception": kind.__name__,
            "message": _told(value)[:4000],
            "file": file,
            "line": line,
            "time": time.time(),
            "pid": Rank.pid,
            "guard": _accusation(value),
            **({"python": sys.executable} if isinstance(value, ImportError) else {}),
        }
    )


def _misspelt(value: BaseException) -> tuple[str, int] | None:
    """The place in a file that is no Python, which no frame names: it has never run."""
    if not isinstance(value, SyntaxError) or not value.filename or value.filename.startswith("<"):
        return None
    return (value.filename, value.lineno or 0)


def _forget_record(suffix: str) -> None:
    try:  # noqa: SIM105 - contextlib is not imported for it
        os.unlink(record_path(suffix))  # noqa: PTH108 - pathlib costs more than this whole module
    except OSError:
        pass


def write_record(record: dict[str, Any]) -> None:
    """Leaves a record of the failure of this rank, unless there is one; of a child that its rank may yet get over a record apart."""
    import json

    suffix = "child-failure.json" if Rank.is_child and mpi() is None else "failure.json"
    try:
        descriptor = os.open(record_path(suffix), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    with os.fdopen(descriptor, "w") as stream:
        json.dump(record, stream)


def _text(value: BaseException) -> str:
    """The message of an exception, whose own `__str__` may fail."""
    try:
        return str(value)
    except BaseException as error:  # it may even ask for the end of the process
        return f"(its __str__ raised {type(error).__name__})"


def _told(value: BaseException) -> str:
    """The message of an exception and the notes below it, as a traceback shows them."""
    notes = getattr(value, "__notes__", None)
    return "\n".join([_text(value), *(str(note) for note in notes or ())])


def _limit_the_end(code: int) -> None:
    """Ends the process when exit handlers, threads or children keep it from ending: the other ranks would wait for it for ever."""
    import _thread
    import time

    given = os.environ.get("TT_RUN_EXIT_TIMEOUT", "")
    seconds = float(given) if given.replace(".", "", 1).isdigit() else 10.0
    if seconds <= 0:
        return

    def hurry() -> None:
        time.sleep(seconds + 1.0)  # a stream may be locked by whoever keeps us from ending
        os._exit(code)

    def wait() -> None:
        time.sleep(seconds)
        text = f"tt-run: the end of rank {Rank.number} takes longer than {seconds:g} s after its failure (exit handlers, threads, children?): ended\n"
        try:
            os.write(2, text.encode())
        finally:
            end_process(code)

    try:
        _thread.start_new_thread(hurry, ())  # now: Python 3.12 starts none once exit handlers run
        _thread.start_new_thread(wait, ())
    except RuntimeError:  # no more threads
        pass


def end_process(code: int) -> None:
    """Ends the process now: an ordinary end would wait in MPI_Finalize for ranks that wait for this one."""
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - contextlib is not imported for it
            stream.flush()
        except Exception:  # a broken pipe must not keep the process alive
            pass
    os._exit(code)


def end(code: int) -> None:
    """Ends the process without waiting in MPI_Finalize, once what the program wants done at its end has been done."""
    import atexit

    Rank.code = code
    _limit_the_end(code)
    atexit._run_exitfuncs()
    end_process(code)


def say_what_pdb_needs() -> None:
    hint = f"tt-run: a debugger on rank {Rank.number} needs a terminal: tt-run --debug-rank {Rank.number} …"
    print(hint, file=sys.stderr)


def _is_asked_by_console() -> bool:
    """Whether a console of the standard library shows a slip of whoever types: it goes on."""
    try:
        return sys._getframe(2).f_globals.get("__name__") == "code"
    except ValueError:  # the interpreter itself
        return False


def install_hook() -> None:
    def report(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
        try:
            _show(kind, value, traceback)
        except Exception:
            # A rank that opens no more files, or has another root, does not even import what finds lines.
            sys.__excepthook__(kind, value, traceback)
        if kind.__name__ == "BdbQuit":
            say_what_pdb_needs()
        if os.getpid() != Rank.pid or _is_asked_by_console():
            return
        if Rank.debugger is not None:
            Rank.debugger["failed"](traceback)
        code = 130 if issubclass(kind, KeyboardInterrupt) else 1
        try:
            _record_failure(kind, value, traceback)
        except Exception:  # likewise; what was shown tells the cause
            pass
        finally:
            # A hook that was put in this one's place and calls it has more to do; the rank then leaves in `note`.
            if sys.excepthook is report and mpi() is not None:
                end(code)
            Rank.code = code
            _limit_the_end(code)
            if code == 130:
                _end_by_interrupt()

    sys.excepthook = report


def record_unseen() -> None:
    """Writes what ended the program where a hook of its own, in this one's place, has kept it to itself. To be called at the end.

    The interpreter remembers what it has shown to a hook; so do consoles and test runners, whose tracebacks do not begin in the program.
    """
    value, traceback = getattr(sys, "last_value", None), getattr(sys, "last_traceback", None)
    if Rank.code or value is None or traceback is None:
        return
    first = traceback.tb_frame
    if first.f_globals is not vars(sys.modules["__main__"]) and first.f_globals.get("__name__") != "runpy":
        return
    if first.f_code.co_filename == "<console>" or isinstance(value, SystemExit):
        return
    Rank.code = 130 if isinstance(value, KeyboardInterrupt) else 1
    _record_failure(type(value), value, traceback)


def _end_by_interrupt() -> None:
    """Lets the interpreter end by SIGINT, as it does after a KeyboardInterrupt: it has forgotten it over what ran since, which an import may."""
    try:  # noqa: SIM105 - contextlib is not imported for it
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        pass


def install_exit_handlers() -> None:
    """An exception in an exit handler leaves the exit code as it is, so that nobody would hear of it: it is written down."""
    before = sys.unraisablehook

    def report(unraisable: Any) -> None:
        before(unraisable)
        if "atexit callback" not in (unraisable.err_msg or "") or os.getpid() != Rank.pid:
            return
        import json

        frames = _frames(unraisable.exc_traceback)
        users = [frame for frame in frames if not is_library(frame[0])] or frames
        place = f"{users[-1][0]}:{users[-1][1]}" if users else ""
        said = {
            "exception": unraisable.exc_type.__name__,
            "message": str(unraisable.exc_value),
            "place": place,
        }
        try:
            with private_record("atexit") as stream:
                stream.write(json.dumps(said) + "\n")
        except OSError:
            pass

    sys.unraisablehook = report
