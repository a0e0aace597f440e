"""Runs at the start of every Python program of a rank: stack dumps on demand, failures on record, no hang after an exception.

The launcher puts this folder first on PYTHONPATH. Any Python 3.7 or later may load it, so it uses nothing newer, and it imports late:
it runs before every program. A `sitecustomize` of the user's own still runs. Nothing here changes a program that succeeds.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing would take longer than everything else here
if TYPE_CHECKING:
    from types import ModuleType, TracebackType
    from typing import Any


def _serve_if_asked() -> None:
    """Makes this interpreter the warm process of its host, in which case only the ranks that are forked from it come back."""
    listening, run_dir = os.environ.pop("TT_RUN_WARM_FD", ""), os.environ.get("TT_RUN_DIR", "")
    if not listening:
        return
    names: dict[str, Any] = {"__name__": "tt_run_warm"}
    try:
        with open(f"{run_dir}/launch/warm_server.py", encoding="utf-8") as stream:
            exec(compile(stream.read(), stream.name, "exec"), names)
        with open(f"{run_dir}/launch/warm", encoding="utf-8") as stream:
            modules = stream.read()
        names["serve"](int(listening), modules)
    except BaseException:  # whatever it is: this process is no rank, and must not go on to the program
        os._exit(70)


_serve_if_asked()
_RUN_DIR = os.environ.get("TT_RUN_DIR", "")
_RANK = os.environ.get("OMPI_COMM_WORLD_RANK", "")
_PID = os.getpid()
_EMULATION = "/tt_run/runtime/"
_ENDING: list[bool] = []  # holds something once the ordinary end has begun
_FAILED: list[int] = []  # the exit code once an exception has ended the program
_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as below
_DEBUGGING: list[Any] = []  # what has the debugger of this rank, if one was asked for
_OPEN: list[Any] = []  # what must stay open as long as the process lives


def _chain_to_users_own() -> None:
    """Imports the sitecustomize that this one shadows, if there is one."""
    here = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - pathlib costs more than this whole module
    ours = sys.modules.pop("sitecustomize", None)
    removed = [entry for entry in sys.path if os.path.realpath(entry or ".") == here]
    for entry in removed:
        sys.path.remove(entry)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours
    # The folder stays off sys.path: programs see the path they would see without tt-run. Children find it in PYTHONPATH.


def _file(suffix: str) -> str:
    return f"{_RUN_DIR}/rank-{int(_RANK):04d}.{suffix}"


def _private(suffix: str) -> Any:
    """A record of this rank to append to, for its owner only."""
    return os.fdopen(os.open(_file(suffix), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a")


def _mpi() -> ModuleType | None:
    """mpi4py's MPI module while MPI is up in this process, otherwise None."""
    module = sys.modules.get("mpi4py.MPI")
    try:
        if module is not None and module.Is_initialized() and not module.Is_finalized():
            return module
    except Exception:
        return None
    return None


def _register_stack_dumps() -> None:
    import faulthandler
    import signal

    stacks = _private("stacks")  # open for as long as the process lives
    # faulthandler puts the former disposition back before MPI_Finalize runs; the default one would kill the rank there.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True, chain=False)
    stacks.write(f"# registered pid={_PID}\n")
    stacks.flush()
    _OPEN.append(stacks)


def _frames(traceback: TracebackType | None) -> list[tuple[str, int]]:
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


def _is_library(file: str) -> bool:
    """Whether a line is not the user's to repair: the standard library's, an installed package's or the emulation's."""
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
            )
        )
    )


def _show(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
    """Prints the traceback. Where the emulation has refused a call, it ends in the user's program: the message says the rest.

    A refusal is a `raise` of the emulation's own; anything else in there is a bug, whose frames are needed.
    """
    import linecache

    frames = _frames(traceback)
    users = [number for number, (file, _) in enumerate(frames) if not _is_library(file)]
    refused = (
        frames and _EMULATION in frames[-1][0] and linecache.getline(*frames[-1]).strip().startswith("raise ")
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
    users = [frame for frame in frames if not _is_library(frame[0])]
    file, line = (users or frames or [("", 0)])[-1]
    _write_record(
        {
            "rank": int(_RANK),
            "exception": kind.__name__,
            "message": _told(value)[:4000],
            "file": file,
            "line": line,
            "time": time.time(),
            "pid": _PID,
            "guard": _accusation(value),
        }
    )


def _write_record(record: dict[str, Any]) -> None:
    """Leaves a record of the failure of this rank, unless there is one."""
    import json

    try:
        descriptor = os.open(_file("failure.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    with os.fdopen(descriptor, "w") as stream:
        json.dump(record, stream)


def _text(value: BaseException) -> str:
    """The message of an exception, whose own `__str__` may fail."""
    try:
        return str(value)
    except Exception as error:
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
        time.sleep(1.0)  # a stream may be locked by whoever keeps us from ending
        os._exit(code)

    def wait() -> None:
        time.sleep(seconds)
        _thread.start_new_thread(hurry, ())
        text = f"tt-run: the end of rank {_RANK} takes longer than {seconds:g} s after its failure (exit handlers, threads, children?): ended\n"
        try:
            os.write(2, text.encode())
        finally:
            _leave(code)

    try:  # noqa: SIM105 - contextlib is not imported for it
        _thread.start_new_thread(wait, ())
    except RuntimeError:  # no more threads
        pass


def _leave(code: int) -> None:
    """Ends the process now: an ordinary end would wait in MPI_Finalize for ranks that wait for this one."""
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - contextlib is not imported for it
            stream.flush()
        except Exception:  # a broken pipe must not keep the process alive
            pass
    os._exit(code)


def _end(code: int) -> None:
    """Ends the process without waiting in MPI_Finalize, once what the program wants done at its end has been done."""
    import atexit

    _FAILED.append(code)
    _limit_the_end(code)
    atexit._run_exitfuncs()
    _leave(code)


def _install_exception_hook() -> None:
    def report(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
        _show(kind, value, traceback)
        if kind.__name__ == "BdbQuit":
            hint = f"tt-run: a debugger on rank {_RANK} needs a terminal: tt-run --debug-rank {_RANK} …"
            print(hint, file=sys.stderr)
        if os.getpid() != _PID:
            return
        if _DEBUGGING:
            _DEBUGGING[0]["failed"](traceback)
        code = 130 if issubclass(kind, KeyboardInterrupt) else 1
        try:
            _record_failure(kind, value, traceback)
        finally:
            # A hook that was put in this one's place and calls it has more to do; the rank then leaves in `note`.
            if sys.excepthook is report and _mpi() is not None:
                _end(code)
            _FAILED.append(code)
            _limit_the_end(code)
            if code == 130:
                _end_by_interrupt()

    sys.excepthook = report


def _end_by_interrupt() -> None:
    """Lets the interpreter end by SIGINT, as it does after a KeyboardInterrupt: it has forgotten it over what ran since, which an import may."""
    try:  # noqa: SIM105 - contextlib is not imported for it
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        pass


def _install_exit_handlers() -> None:
    """An exception in an exit handler leaves the exit code as it is, so that nobody would hear of it: it is written down."""
    before = sys.unraisablehook

    def report(unraisable: Any) -> None:
        before(unraisable)
        if "atexit callback" not in (unraisable.err_msg or "") or os.getpid() != _PID:
            return
        import json

        trace = unraisable.exc_traceback
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
        said = {
            "exception": unraisable.exc_type.__name__,
            "message": str(unraisable.exc_value),
            "place": place,
        }
        try:
            with _private("atexit") as stream:
                stream.write(json.dumps(said) + "\n")
        except OSError:
            pass

    sys.unraisablehook = report


def _install_exit() -> None:
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

        def __del__(self) -> None:
            if _ENDING or os.getpid() != _PID or _thread.get_ident() != main_thread:
                return
            try:
                sys._getframe(1)
            except ValueError:
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


def _users_line() -> tuple[str, int]:
    """File and line of the program from which this is called."""
    frame: Any = sys._getframe(2)
    hook = __file__[: __file__.rindex("/") + 1]  # the debugger that a rank is left in is in the same folder
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith(hook) or _is_library(file)):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _end_with(status: object, site: tuple[str, int]) -> None:
    """The program ends by a SystemExit: told to the emulation, recorded if it is a failure, and at once if others may wait in MPI."""
    code = status & 0xFF if isinstance(status, int) else int(status is not None)
    try:
        text = "" if status is None or isinstance(status, int) else str(status)
    except Exception as error:
        text = f"(its __str__ raised {type(error).__name__})"
    sys._tt_run_exit = (code, text, site)  # type: ignore[attr-defined]
    if not code:
        return
    is_in_mpi = _mpi() is not None
    if is_in_mpi or _is_the_rank_itself():
        import time

        _write_record(
            {
                "rank": int(_RANK),
                "exception": "SystemExit",
                "message": (text or str(code))[:2000],
                "file": site[0],
                "line": site[1],
                "code": code,
                "time": time.time(),
                "pid": _PID,
                "guard": None,
            }
        )
    if is_in_mpi:
        if text:  # the interpreter would write it only after this
            try:  # noqa: SIM105 - contextlib is not imported for it
                sys.stderr.write(text + "\n")
            except Exception:  # a closed or broken stream
                pass
        _end(code)


def _is_the_rank_itself() -> bool:
    """Whether this process is the one that the wrapper started, and no child of it."""
    try:
        with open(_file("status"), encoding="utf-8", errors="replace") as stream:
            return f"pid={_PID}\n" in stream.readlines()
    except OSError:
        return False


def _note_ending() -> None:
    """Notes at the ordinary end of the program whether it ever entered MPI: what explains ranks that wait for it."""
    import atexit

    def note() -> None:
        _ENDING.append(True)
        if os.getpid() != _PID:
            return
        module = sys.modules.get("mpi4py.MPI")
        state = "never"
        if module is not None and module.Is_initialized():
            state = "finalized" if module.Is_finalized() else "open"
        try:
            with _private("ending") as stream:
                stream.write(f"pid={_PID} mpi={state}\n")
        except OSError:
            pass
        if _FAILED and state == "open":
            _leave(_FAILED[-1])

    atexit.register(note)


def _loaded(name: str) -> dict[str, Any]:
    """The names of a file beside this one, which few ranks need; no import, since the folder is not on the program's path."""
    path = f"{_HERE}/{name}.py"
    names: dict[str, Any] = {"__name__": f"tt_run_{name}", "__file__": path}
    with open(path, encoding="utf-8") as stream:
        exec(compile(stream.read(), path, "exec"), names)
    return names


def _debugging() -> Any:
    """What `--debug-rank` and `--debugpy` have prepared; None where neither was given."""
    if not _DEBUGGING and os.path.exists(f"{_RUN_DIR}/launch/debug"):  # noqa: PTH110 - as above
        names = _loaded("debugging")
        _DEBUGGING.append(names)
        names["install"](_RUN_DIR, _RANK)
    return _DEBUGGING[0] if _DEBUGGING else None


def _breakpoint(*args: Any, **kwargs: Any) -> Any:
    """`breakpoint()`: on a rank without a terminal, what to type instead of an end of input that pdb takes for `quit`."""
    if os.environ.get("PYTHONBREAKPOINT"):
        return sys.__breakpointhook__(*args, **kwargs)
    debugging = _debugging()
    if debugging is not None:
        return debugging["breakpoint_here"]()
    frame = sys._getframe(1)
    raise RuntimeError(
        f"error[TTR048]: breakpoint() at {frame.f_code.co_filename}:{frame.f_lineno}, and ranks have no terminal\n"
        f"  help: tt-run --debug-rank {_RANK} … gives this rank yours; tt-run --debugpy {_RANK}:5678 … waits for an editor"
    )


def _begin_record() -> None:
    """Takes over chance and standard input, which the program must not have used before."""
    from importlib import import_module

    try:
        start = import_module("tt_run.runtime.record.start")
    except ImportError:  # another Python, without tt-run: it has no emulation either
        return
    start.begin()


def _await_faults() -> None:
    """Faults on purpose that come at a time, for the first Python process of a rank: the launcher has written which."""
    path = f"{_RUN_DIR}/launch/rank-{int(_RANK):04d}.faults"
    try:
        os.rename(path, f"{path}.{_PID}")  # noqa: PTH104 - as above
    except OSError:  # the usual case: there are none
        return
    _loaded("timed_faults")["begin"](f"{path}.{_PID}", _private, _leave)


if _RUN_DIR and _RANK.isdigit() and os.path.isdir(_RUN_DIR):  # noqa: PTH112 - as above
    _register_stack_dumps()
    _install_exception_hook()
    _install_exit_handlers()
    _install_exit()
    _note_ending()
    sys.breakpointhook = _breakpoint
    _debugging()
    _await_faults()
if os.environ.get("TT_RUN_RECORD") or os.environ.get("TT_RUN_REPLAY"):
    _begin_record()
_chain_to_users_own()
