"""The debugger of one rank: a terminal that tt-run lends it while it is stopped, or a port on which it waits for an editor.

Loaded by `sitecustomize.py` where `--debug-rank` or `--debugpy` has left a file in the run folder. While the file `debugging` is there, no
deadline of the launcher or of the other ranks passes.
"""

from __future__ import annotations

import contextlib
import os
import pdb
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any


class _State:
    """What this process was told: its run folder, its rank, and whether it has the terminal."""

    folder = ""
    rank = ""
    has_terminal = False


def install(folder: str, rank: str) -> None:
    """Read what was asked for and prepare this rank, before its program begins."""
    _State.folder, _State.rank = folder, rank
    with open(f"{folder}/launch/debug", encoding="utf-8") as stream:
        wanted = [line.split() for line in stream]
    for number, what in wanted:
        if int(number) != int(rank):
            continue
        if what == "terminal":
            _State.has_terminal = True
            pdb.Pdb = RankPdb  # type: ignore[misc]
        elif _is_first():
            _wait_for_editor(int(what))


def _is_first() -> bool:
    """Whether this is the rank's program and no Python that it has started, such as the editor's own adapter."""
    try:
        os.close(os.open(f"{_State.folder}/launch/editor-{_State.rank}", os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False
    return True


def breakpoint_here() -> None:
    """`breakpoint()` of the program: stops the rank that has the terminal; the others go on."""
    if _State.has_terminal:
        RankPdb().set_trace(sys._getframe(2))


def failed(traceback: TracebackType | None) -> None:
    """Stops where the program failed, if this rank has the terminal."""
    if _State.has_terminal and traceback is not None:
        debugger = RankPdb()
        debugger.fails = True
        debugger.reset()
        debugger.interaction(None, traceback)


class RankPdb(pdb.Pdb):
    """pdb that has tt-run's terminal while it asks, and only then: what the program prints goes to its log as ever."""

    fails = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # "inline" asks on quitting whether to kill the process, and does so without a word.
        kwargs.pop("mode", None)
        super().__init__(*args, **kwargs)

    def interaction(self, *args: Any, **kwargs: Any) -> None:
        with _lent():
            super().interaction(*args, **kwargs)
        if self.quitting and not self.fails:
            sys.exit(f"tt-run: rank {_State.rank} was left in the debugger")


@contextlib.contextmanager
def _lent() -> Iterator[None]:
    """Standard streams are the terminal, and every deadline stands still."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (0, 1, 2)]
    terminal = os.open(f"{_State.folder}/launch/terminal", os.O_RDWR | os.O_NOCTTY)
    with _standing_still():
        try:
            for number in (0, 1, 2):
                os.dup2(terminal, number)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            _drain(terminal)
            for number, old in enumerate(kept):
                os.dup2(old, number)
                os.close(old)
            os.close(terminal)


def _drain(terminal: int) -> None:
    """Wait until all that was written has been taken, so that it is shown before what follows."""
    import termios

    with contextlib.suppress(termios.error):
        termios.tcdrain(terminal)


@contextlib.contextmanager
def _standing_still() -> Iterator[None]:
    path = f"{_State.folder}/debugging"
    descriptor = os.open(f"{path}.{_State.rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, b"%d\n" % os.getpid())
    os.close(descriptor)
    os.replace(f"{path}.{_State.rank}", path)  # noqa: PTH105 - pathlib is not imported for it
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108


def _wait_for_editor(port: int) -> None:
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning that says nothing here
    try:
        import debugpy  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        text = f"tt-run: --debugpy needs the package debugpy, which {sys.executable} of rank {_State.rank} does not have: pip install debugpy\n"
        os.write(2, text.encode())
        os._exit(2)
    import atexit

    # It is not known when an editor has stopped the program: deadlines stand still until it ends.
    standing = _standing_still()
    standing.__enter__()
    atexit.register(standing.__exit__, None, None, None)
    where = os.uname().nodename
    try:
        debugpy.listen(("127.0.0.1", port))
    except RuntimeError as error:
        text = f"tt-run: --debugpy {_State.rank}:{port}: {error}\n  help: another port of {where} is free: --debugpy {_State.rank}:{_free_port()}\n"
        os.write(2, text.encode())
        os._exit(2)
    text = f"tt-run: rank {_State.rank} waits for a debugger on 127.0.0.1:{port} of {where}; attach your editor to it\n"
    os.write(2, text.encode())
    debugpy.wait_for_client()


def _free_port() -> int:
    """A port on which nobody listens here now."""
    import socket

    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])
