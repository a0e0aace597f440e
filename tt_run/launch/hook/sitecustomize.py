"""Runs at the start of every Python program of a rank: stack dumps on demand, failures on record, no hang after an exception.

The launcher puts this folder first on PYTHONPATH. Any Python 3.6 or later may load it, so it uses nothing newer and imports late. A
`sitecustomize` of the user's own runs first. Nothing here changes a program that succeeds.
"""

import os
import sys

_RUN_DIR = os.environ.get("TT_RUN_DIR")
_RANK = os.environ.get("OMPI_COMM_WORLD_RANK")


def _chain_to_users_own():
    """Imports the sitecustomize that this one shadows, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    ours = sys.modules.pop("sitecustomize", None)
    kept = list(sys.path)
    sys.path[:] = [entry for entry in kept if os.path.abspath(entry or ".") != here]
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours
    finally:
        if sys.path == [entry for entry in kept if os.path.abspath(entry or ".") != here]:
            sys.path[:] = kept


def _file(suffix):
    return os.path.join(_RUN_DIR, "rank-%04d.%s" % (int(_RANK), suffix))


def _mpi():
    """mpi4py's MPI module while MPI is up in this process, otherwise None."""
    module = sys.modules.get("mpi4py.MPI")
    try:
        if module is not None and module.Is_initialized() and not module.Is_finalized():
            return module
    except Exception:
        return None
    return None


def _register_stack_dumps():
    import faulthandler
    import signal

    stacks = open(_file("stacks"), "a")  # noqa: SIM115 - open for as long as the process lives
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True, chain=False)
    stacks.write("# registered pid=%d\n" % os.getpid())
    stacks.flush()
    return stacks


def _record_failure(kind, value, traceback):
    """Writes what ended the program, unless the program has already left a better record."""
    import json
    import time

    path = _file("failure.json")
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    user = [frame for frame in frames if not frame[0].startswith("<")]
    file, line = (user or frames or [("", 0)])[-1]
    record = {
        "rank": int(_RANK),
        "exception": kind.__name__,
        "message": str(value)[:2000],
        "file": file,
        "line": line,
        "time": time.time(),
        "pid": os.getpid(),
    }
    extra = getattr(value, "tt_run_record", None)
    if isinstance(extra, dict):
        record.update(extra)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    with os.fdopen(descriptor, "w") as stream:
        json.dump(record, stream)


def _leave(code):
    """Ends the process now: an ordinary end would wait in MPI_Finalize for ranks that wait for this one."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: S110 - a broken pipe must not keep the process alive
            pass
    os._exit(code)


def _install_exception_hook():
    def report(kind, value, traceback):
        # Looked up late: a program may put its own hook in the place of ours and call it.
        sys.__excepthook__(kind, value, traceback)
        if os.getpid() != _PID:
            return
        try:
            _record_failure(kind, value, traceback)
        finally:
            if _mpi() is not None:
                _leave(130 if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = report


def _install_exit():
    """`sys.exit(3)` while MPI is up ends the process with 3 instead of waiting in MPI_Finalize.

    An exit that the program catches must go on as usual. The two differ in when the exception object dies: one that nobody caught
    is dropped by the interpreter itself, in the main thread, with no Python frame left on the stack and before the ordinary end.
    """
    import _thread

    main_thread = _thread.get_ident()

    class Exit(SystemExit):
        def __del__(self):
            if _ENDING or os.getpid() != _PID or _thread.get_ident() != main_thread:
                return
            try:
                sys._getframe(1)
            except ValueError:
                code = self.code
                if code not in (None, 0) and _mpi() is not None:
                    _leave(code & 0xFF if isinstance(code, int) else 1)

    Exit.__name__ = Exit.__qualname__ = "SystemExit"
    Exit.__module__ = "builtins"

    def leave(status=None):
        raise Exit(status)

    leave.__name__ = leave.__qualname__ = "exit"
    leave.__doc__ = sys.exit.__doc__
    sys.exit = leave


def _mark_ending():
    """Notes at the ordinary end of the program whether it ever entered MPI: what explains ranks that wait for it."""
    import atexit

    def note():
        _ENDING.append(True)
        if os.getpid() != _PID:
            return
        module = sys.modules.get("mpi4py.MPI")
        state = (
            "never"
            if module is None or not module.Is_initialized()
            else "finalized"
            if module.Is_finalized()
            else "open"
        )
        try:
            with open(_file("ending"), "a") as stream:
                stream.write("pid=%d mpi=%s\n" % (os.getpid(), state))
        except OSError:
            pass

    atexit.register(note)


_PID = os.getpid()
_ENDING = []  # holds something once the ordinary end has begun
if _RUN_DIR and _RANK and _RANK.isdigit() and os.path.isdir(_RUN_DIR):
    _STACKS = _register_stack_dumps()
    _install_exception_hook()
    _install_exit()
    _mark_ending()
_chain_to_users_own()
