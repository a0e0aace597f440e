"""The calls of operations in the graph of PyTorch's: `ttnn.tracer`, for programs with `enable_fast_runtime_mode = False`.

What comes out of an operation is the tensor that it gives without a trace; the graph knows it as long as it lives, and it tells its
`graph` and `node`. The arguments at a node
have the names of the operation's parameters, of which the reference leaves out most. Source: reference library 0.81.1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tt_run.runtime.native.refusals import with_note
from tt_run.runtime.settings import CONFIG

ENABLE_TRACER = False
"""Whether calls of operations are noted, also as `ttnn.tracer.ENABLE_TRACER`."""

_leave: list[Callable[[], None]] = []


def is_tracing_enabled() -> bool:
    """Whether calls of operations are noted."""
    return bool(_leave)


def enable_tracing() -> None:
    """Note calls of PyTorch and of operations from now on.

    Raises ValueError in the fast mode and while they are noted, RuntimeError while `ttnn.torch_tracer` notes those of PyTorch.
    """
    if CONFIG.enable_fast_runtime_mode:
        raise with_note(
            ValueError("Tracing is not supported in fast runtime mode."),
            "help: ttnn.CONFIG.enable_fast_runtime_mode = False; ttnn.torch_tracer.trace() and ttnn.graph work in either mode",
        )
    if _leave:
        raise ValueError("Tracing is already enabled.")
    from tt_run.runtime.tools.tracing.operation_calls import listen

    _leave.extend(listen())
    _tell(True)


def disable_tracing() -> None:
    """Note no more; nothing happens where nothing is noted."""
    while _leave:
        _leave.pop()()
    _tell(False)


def _tell(enabled: bool) -> None:
    """The shim keeps what it was asked for once; this value changes."""
    global ENABLE_TRACER
    ENABLE_TRACER = enabled
    for name, module in [*sys.modules.items()]:
        if name.endswith("ttnn.tracer"):
            module.ENABLE_TRACER = enabled  # type: ignore[attr-defined]


@contextmanager
def trace() -> Iterator[None]:
    """Note the calls of the block; `get_graph` finds the graph of its results."""
    enable_tracing()
    try:
        yield
    finally:
        disable_tracing()


def codegen(output: object) -> NoReturn:
    """Raise NotImplementedError: a graph is not written as a program."""
    raise NotImplementedError(
        "ttnn.tracer.codegen is not emulated; ttnn.tracer.get_graph(output) gives the nodes with their functions and arguments"
    )
