"""The terminal lent to a rank while it is stopped in its debugger.

The rank sees a terminal of its own, whose other end is here: what is typed goes there and what it shows comes here, but only while the
rank says, by a file in the run folder, that it is stopped. Otherwise Ctrl-C and the keyboard are tt-run's, as ever.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path

from tt_run import contract
from tt_run.supervise.folder import RunFolder

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

LINK = "terminal"
_LOOK_SECONDS = 0.05
_END_AGAIN_SECONDS = 0.3
_INTERRUPT = b"\x03"
_END_OF_INPUT = b"\x04"


class LentTerminal:
    """Both ends of the rank's terminal, and the thread that carries bytes between it and this process's standard streams."""

    def __init__(self, folder: RunFolder, source: int = 0, sink: int = 1) -> None:
        self._flag = folder.path / contract.STOPPED_FILE
        self._source, self._sink = source, sink
        self._ours, self._theirs = os.openpty()
        _prepare(sink, self._theirs)
        link = folder.path / "launch" / LINK
        link.unlink(missing_ok=True)
        link.symlink_to(os.ttyname(self._theirs))
        self._is_open = True
        self._held: list[Any] | None = None
        self._exhausted = False
        self._say_end_at = 0.0
        from threading import Thread  # this module is loaded for every run

        self._thread = Thread(target=self._carry, name="tt-run terminal", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Give the terminal back to tt-run as it was."""
        self._is_open = False
        self._thread.join(2.0)
        self._restore()
        for descriptor in (self._ours, self._theirs):
            with suppress(OSError):
                os.close(descriptor)

    def _carry(self) -> None:
        while self._is_open:
            is_lent = self._flag.exists()
            if is_lent and self._held is None:
                self._hold()
            elif not is_lent:
                self._restore()
            reading = [self._ours] + ([self._source] if is_lent and not self._exhausted else [])
            ready, _, _ = select.select(reading, [], [], _LOOK_SECONDS)
            with suppress(OSError):
                if self._ours in ready:
                    _write_all(self._sink, os.read(self._ours, 65536))
                if self._source in ready:
                    self._type(os.read(self._source, 4096))
                elif is_lent and self._exhausted:
                    self._say_end()

    def _type(self, data: bytes) -> None:
        if not data:
            self._exhausted = True
            self._say_end()
            return
        if os.isatty(self._source) and _INTERRUPT in data:
            self._interrupt()
            data = data.replace(_INTERRUPT, b"")
        _write_all(self._ours, data)

    def _say_end(self) -> None:
        """The end of the input, again and again: a debugger that sets its terminal up just then loses it, and a later stop asks anew."""
        now = time.monotonic()
        if now >= self._say_end_at:
            self._say_end_at = now + _END_AGAIN_SECONDS
            _write_all(self._ours, _END_OF_INPUT)

    def _interrupt(self) -> None:
        """Ctrl-C belongs to the debugger while the rank is stopped."""
        with suppress(OSError, ValueError):
            os.kill(int(self._flag.read_text()), signal.SIGINT)

    def _hold(self) -> None:
        """Every key at once and unseen: the rank's own terminal echoes them."""
        self._held = []
        if not os.isatty(self._source):
            return
        import termios

        self._held = termios.tcgetattr(self._source)
        raw = termios.tcgetattr(self._source)
        raw[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
        raw[0] &= ~termios.ICRNL
        termios.tcsetattr(self._source, termios.TCSADRAIN, raw)

    def _restore(self) -> None:
        if self._held:
            import termios

            with suppress(termios.error):
                termios.tcsetattr(self._source, termios.TCSADRAIN, self._held)
        self._held = None


def is_stopped(folder: Path) -> bool:
    """Whether a rank is stopped in a debugger, so that no deadline passes."""
    return (folder / contract.STOPPED_FILE).exists()


def _prepare(source: int, target: int) -> None:
    """The size of the terminal in front of the user; line ends are for that one to translate."""
    import fcntl
    import termios

    settings = termios.tcgetattr(target)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(target, termios.TCSANOW, settings)
    with suppress(OSError):
        fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, b"\0" * 8))


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
