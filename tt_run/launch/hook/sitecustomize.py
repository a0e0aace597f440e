"""Runs at the start of every Python program of a rank: stack dumps on demand, failures on record, no hang after an exception.

The launcher puts this folder first on PYTHONPATH. Any Python 3.7 or later may load it, so it uses nothing newer, and it imports late:
it runs before every program. A `sitecustomize` of the user's own still runs. Nothing here changes a program that succeeds.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing would take longer than everything else here
if TYPE_CHECKING:
    from typing import Any

    from tt_run.launch.hook.tt_run_exits import has_lost_mpi, install_exit
    from tt_run.launch.hook.tt_run_failures import (
        Rank,
        end_process,
        install_exit_handlers,
        install_hook,
        private_record,
        record_path,
        record_unseen,
    )
else:
    from tt_run_exits import has_lost_mpi, install_exit
    from tt_run_failures import (
        Rank,
        end_process,
        install_exit_handlers,
        install_hook,
        private_record,
        record_path,
        record_unseen,
    )

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as below
_REGISTERED = "# registered pid="
_OPEN: list[Any] = []  # what must stay open as long as the process lives


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


def _is_started_by_another() -> bool:
    """Whether a Python of this rank runs already: what this one does is not what the rank does."""
    try:
        with open(record_path("stacks"), encoding="utf-8", errors="replace") as stream:
            pids = [line[len(_REGISTERED) :].strip() for line in stream if line.startswith(_REGISTERED)]
    except OSError:  # the usual case: this is the first
        return False
    return any(pid.isdigit() and int(pid) != Rank.pid and _runs(int(pid)) for pid in pids)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _register_stack_dumps() -> None:
    # signal itself makes enums of its numbers, which takes four times as long as everything else here.
    import _signal as signal  # type: ignore[import-not-found]
    import faulthandler

    Rank.is_child = _is_started_by_another()
    try:
        stacks = private_record("stacks")  # open for as long as the process lives
    except OSError:  # a full disk is no reason for a program not to run
        stacks = None
    if stacks is not None:
        # faulthandler puts the former disposition back before MPI_Finalize runs; the default one would kill the rank there.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True, chain=False)
        _OPEN.append(stacks)
        try:  # noqa: SIM105 - contextlib is not imported for it
            os.write(stacks.fileno(), f"{_REGISTERED}{Rank.pid}\n".encode())
        except OSError:  # then nobody asks for them
            pass
    if os.environ.get("TT_RUN_EMULATE") != "1":
        return
    if not faulthandler.is_enabled() and sys.stderr is not None:
        # Where it crashes, the line of the program; Open MPI's list of C functions, which this replaces, names none.
        faulthandler.enable(all_threads=False)
    _remember_dumps(faulthandler)


def _remember_dumps(faulthandler: Any) -> None:
    """Notes what the program asks of faulthandler's one timer, which the emulation borrows while MPI starts."""
    later, cancel = faulthandler.dump_traceback_later, faulthandler.cancel_dump_traceback_later
    asked: Any = None

    def dump_traceback_later(timeout: float, *args: Any, **kwargs: Any) -> None:
        import time

        nonlocal asked
        later(timeout, *args, **kwargs)
        asked = (time.monotonic() + timeout, timeout, args, kwargs)

    def cancel_dump_traceback_later() -> None:
        nonlocal asked
        cancel()
        asked = None

    def borrow(seconds: float) -> Any:
        """Sets the timer for the end of this process, and returns what gives it back, with what is left of the program's own time."""
        import time

        before = asked
        repeats = before is not None and bool((*before[2], before[3].get("repeat"))[0])
        if before is not None and not repeats and before[0] <= time.monotonic():
            before = None  # it is over
        later(seconds, exit=True, file=2)

        def give_back() -> None:
            cancel()
            if before is not None:
                ends, timeout, args, kwargs = before
                later(timeout if repeats else max(ends - time.monotonic(), 1e-3), *args, **kwargs)

        return give_back

    dump_traceback_later.tt_run_borrow = borrow  # type: ignore[attr-defined]
    faulthandler.dump_traceback_later = dump_traceback_later
    faulthandler.cancel_dump_traceback_later = cancel_dump_traceback_later


def _note_ending() -> None:
    """Notes at the ordinary end of the program whether it ever entered MPI: what explains ranks that wait for it."""
    import atexit

    def note() -> None:
        Rank.is_ending = True
        if os.getpid() != Rank.pid:
            return
        record_unseen()
        module = sys.modules.get("mpi4py.MPI")
        state = "never"
        if module is not None and module.Is_initialized():
            state = "finalized" if module.Is_finalized() else "open"
        if Rank.is_child and state == "never":  # its rank goes on
            return
        try:
            with private_record("ending") as stream:
                stream.write(f"pid={Rank.pid} mpi={state}\n")
        except OSError:
            pass
        if state == "open" and not Rank.code and has_lost_mpi():
            Rank.code = 1
        if Rank.code and state == "open":
            end_process(Rank.code)

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
    if Rank.debugger is None and os.path.exists(f"{Rank.folder}/launch/debug"):  # noqa: PTH110 - as above
        Rank.debugger = _loaded("debugging")
        Rank.debugger["install"](Rank.folder, Rank.number)
    return Rank.debugger


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
        f"  help: tt-run --debug-rank {Rank.number} … gives this rank yours; tt-run --debugpy {Rank.number}:5678 … waits for an editor"
    )


def _begin_record() -> None:
    """Takes over chance and standard input, which the program must not have used before."""
    _call_in_runtime("record.start", "begin")


def _watch_for_faults() -> None:
    """Lets faults on purpose come to an emulated rank whose program imports mpi4py alone: they stand in the calls of ranks."""
    _call_in_runtime("own_mpi", "await_own_mpi")


def _call_in_runtime(module: str, name: str) -> None:
    from importlib import import_module

    try:
        found = import_module(f"tt_run.runtime.{module}")
    except ImportError:  # another Python, without tt-run: it has no emulation either
        return
    getattr(found, name)()


def _await_faults() -> None:
    """Faults on purpose that come at a time, for the first Python process of a rank: the launcher has written which."""
    path = f"{Rank.folder}/launch/rank-{int(Rank.number):04d}.faults"
    try:
        os.rename(path, f"{path}.{Rank.pid}")  # noqa: PTH104 - as above
    except OSError:  # the usual case: there are none
        return
    _loaded("timed_faults")["begin"](f"{path}.{Rank.pid}", private_record, end_process)


_serve_if_asked()
Rank.folder, Rank.number = os.environ.get("TT_RUN_DIR", ""), os.environ.get("OMPI_COMM_WORLD_RANK", "")
Rank.pid = os.getpid()
if Rank.folder and Rank.number.isdigit() and os.path.isdir(Rank.folder):  # noqa: PTH112 - as above
    _register_stack_dumps()
    install_hook()
    install_exit_handlers()
    install_exit()
    _note_ending()
    sys.breakpointhook = _breakpoint
    _debugging()
    _await_faults()
if os.environ.get("TT_RUN_RECORD") or os.environ.get("TT_RUN_REPLAY"):
    _begin_record()
elif os.environ.get("TT_RUN_INJECT"):
    _watch_for_faults()
_chain_to_users_own()
