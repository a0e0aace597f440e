"""How a Python rank leaves by SystemExit: on record where that is a failure, and at once where other ranks may wait for it in MPI.

Imported by `sitecustomize.py` at the start of every rank, as `tt_run_failures.py` is.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in sitecustomize.py
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from tt_run.launch.hook.tt_run_failures import (
        Rank,
        end,
        is_library,
        mpi,
        record_path,
        say_what_pdb_needs,
        write_record,
    )
else:
    from tt_run_failures import Rank, end, is_library, mpi, record_path, say_what_pdb_needs, write_record


def install_exit() -> None:
    """An uncaught SystemExit while MPI is up ends the process with its code instead of waiting in MPI_Finalize, and leaves a record.

    One that the program catches must go on as usual. The two differ in when the exception object dies: one that nobody caught is
    dropped by the interpreter itself, in the main thread, with no Python frame left on the stack and before the ordinary end.
    To see that of `raise SystemExit(5)` too, the name stands for a class of our own; the interpreter's is above it, so whoever caught
    that one, or is C and knows no other, goes on as before.
    """
    import _thread
    import builtins

    main_thread = _thread.get_ident()

    class Exit(SystemExit):
        def __init__(self, *words: object) -> None:
            super().__init__(*words)
            self._tt_run_site = _users_line()
            self._tt_run_debugger = _is_pdb(sys._getframe(1)) or _is_pdb(sys._getframe(1).f_back)

        def __del__(self) -> None:
            if Rank.is_ending or os.getpid() != Rank.pid or _thread.get_ident() != main_thread:
                return
            try:
                sys._getframe(1)
            except ValueError:
                if getattr(self, "_tt_run_debugger", False):
                    say_what_pdb_needs()
                _end_with(self.code, getattr(self, "_tt_run_site", ("", 0)))

    Exit.__name__ = Exit.__qualname__ = "SystemExit"
    Exit.__module__ = "builtins"
    Exit.__doc__ = SystemExit.__doc__

    def leave(status: Any = None) -> Any:
        raise Exit(status)

    leave.__name__ = leave.__qualname__ = "exit"
    leave.__doc__ = sys.exit.__doc__
    sys.exit = leave
    builtins.SystemExit = Exit  # type: ignore[misc]
    _let_threads_exit_quietly(_thread)


def _let_threads_exit_quietly(_thread: ModuleType) -> None:
    """In threads the interpreter says nothing of a SystemExit, and compares the class itself."""
    usual = getattr(_thread, "_excepthook", None)
    if usual is None:  # Python 3.7, which looks the name up as the program does
        return

    def report(args: Any) -> None:
        if not issubclass(args.exc_type, SystemExit):
            usual(args)

    _thread._excepthook = report  # type: ignore[attr-defined]
    threading: Any = sys.modules.get("threading")
    if threading is not None and threading.excepthook is usual:
        threading.excepthook = threading.__excepthook__ = report


def _is_pdb(frame: Any) -> bool:
    """Whether pdb runs here: since Python 3.14 the end of its input is an exit where it was BdbQuit."""
    return frame is not None and frame.f_globals.get("__name__") == "pdb"


def _users_line() -> tuple[str, int]:
    """File and line of the program from which this is called."""
    frame: Any = sys._getframe(2)
    hook = __file__[: __file__.rindex("/") + 1]  # the debugger that a rank is left in is in the same folder
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith(hook) or is_library(file)):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _end_with(status: object, site: tuple[str, int]) -> None:
    """The program ends by a SystemExit: told to the emulation, recorded if it is a failure, and at once if others may wait in MPI."""
    code = _low_bits(status) if isinstance(status, int) else int(status is not None)
    is_in_mpi, asked = mpi() is not None, ""
    if status and not code and is_in_mpi:
        # To mpirun it would be no failure, and the others would wait for ever.
        code = 1
        asked = f"{status} (the system keeps its lowest 8 bits, which are 0: an exit code is 1 to 255)"
    try:
        text = "" if status is None or isinstance(status, int) else str(status)
    except BaseException as error:  # it may even ask for the end of the process
        text = f"(its __str__ raised {type(error).__name__})"
    sys._tt_run_exit = (code, text or asked, site)  # type: ignore[attr-defined]
    if not code:
        return
    if is_in_mpi or _is_the_rank_itself():
        import time

        write_record(
            {
                "rank": int(Rank.number),
                "exception": "SystemExit",
                "message": (text or asked or str(code))[:2000],
                "file": site[0],
                "line": site[1],
                "code": code,
                "time": time.time(),
                "pid": Rank.pid,
                "guard": None,
            }
        )
    if is_in_mpi:
        if text:  # the interpreter would write it only after this
            try:  # noqa: SIM105 - contextlib is not imported for it
                sys.stderr.write(text + "\n")
            except Exception:  # a closed or broken stream
                pass
        end(code)


def _low_bits(status: int) -> int:
    """What becomes of a number as an exit code; one that fits no long is -1 to the interpreter."""
    return status & 0xFF if -(1 << 63) <= status < 1 << 63 else 0xFF


def has_lost_mpi() -> bool:
    """Whether the program has closed every socket, as one does that becomes a daemon, so that MPI_Finalize would wait for ever; said and recorded.

    MPI has at least the one over which it talks to its launcher, where it has one.
    """
    import stat

    if not any(name.startswith("PMIX_SERVER_URI") for name in os.environ):
        return False
    try:
        names = os.listdir("/proc/self/fd")  # noqa: PTH208 - a list of numbers, and no import for it
    except OSError:  # no /proc, or no descriptor for it
        return False
    for name in names:
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                return False
        except OSError:  # that of the list itself
            pass
    text = (
        "the program has closed every socket, those of MPI too (os.closerange?), so that MPI cannot shut down\n"
        "help: start a process with close_fds=True, or fork before MPI starts"
    )
    import time

    write_record(
        {
            "rank": int(Rank.number),
            "exception": "RuntimeError",
            "message": text,
            "file": "",
            "line": 0,
            "time": time.time(),
            "pid": Rank.pid,
            "guard": None,
        }
    )
    return True


def _is_the_rank_itself() -> bool:
    """Whether this process is the one that the wrapper started, and no child of it."""
    try:
        with open(record_path("status"), encoding="utf-8", errors="replace") as stream:
            return f"pid={Rank.pid}\n" in stream.readlines()
    except OSError:
        return False
