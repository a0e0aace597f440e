"""What Ctrl-C does to `tt-run` itself. It loads nothing: it comes first.

Python makes an exception of SIGINT, and loses it where it comes up in what the interpreter calls by itself: a callback of an import's lock,
a hook of a fork. A launch then goes on as if nobody had asked it to end. What Python loses before this is loaded, in its first 15 ms, is
asked for once more.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself makes enums of its numbers, which takes time


def end_at_once() -> None:
    """SIGINT does what SIGTERM does: it ends a process in which nothing has begun yet. Where it is ignored, it stays so."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def raise_again() -> None:
    """SIGINT is an exception, as what tidies up and has no handlers of its own expects."""
    if _signal.getsignal(_signal.SIGINT) == _signal.SIG_DFL:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
