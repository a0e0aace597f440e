"""Tools of the reference that suites tidy up after each test, whether they used them or not.

`ttnn.tracer` draws the calls of PyTorch and `ttnn` in one graph, `ttnn.torch_tracer` those of PyTorch; `ttnn.database` held the tables of a report in releases before 0.81.
Neither is emulated: no tracing ever runs and no database is ever open, which is what tidying up finds here. Beginning one raises.
`ttnn.tools.trace_allocation_tracker` watches buffers that a replayed trace may write over; the emulation gives each tensor memory of its own.
Source: reference library 0.81.1 and the suites written for releases before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.arguments import public
from tt_run.runtime.native.refusals import noted
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.trace import MeshTraceId

ENABLE_TRACER = False
"""`ttnn.tracer`: whether calls are traced."""

DEVICE_IDS_IN_DATABASE: set[int] = set()
"""`ttnn.database`: devices whose entry is in the open database."""


TRACE_ALLOC_TRACKING = False
TRACE_ALLOC_DIAGNOSTICS = False
TRACE_ALLOC_REFERRER_DEPTH = 10
"""`ttnn.decorators`: whether allocations under a trace are watched; none can do harm here."""


def is_tracing_enabled() -> bool:
    """Whether calls are traced."""
    return ENABLE_TRACER


def disable_tracing() -> None:
    """Trace no more; there is nothing to end."""


_INSTEAD = "what ttnn.graph records between begin_graph_capture() and end_graph_capture() serves, or tt-run --timeline FILE"


def enable_tracing() -> NoReturn:
    """Raise ValueError in the fast mode, which never traces, else NotImplementedError: what the emulation has instead."""
    if CONFIG.enable_fast_runtime_mode:
        raise noted(ValueError("Tracing is not supported in fast runtime mode."), f"help: {_INSTEAD}")
    _not_emulated()


def _not_emulated(tool: str = "ttnn.tracer") -> NoReturn:
    raise NotImplementedError(f"{tool} is not emulated; {_INSTEAD}")


@contextmanager
def trace() -> Iterator[None]:
    """As `enable_tracing`, when it is entered."""
    enable_tracing()
    yield


@contextmanager
def trace_torch() -> Iterator[None]:
    """`ttnn.torch_tracer`: raise NotImplementedError when it is entered."""
    _not_emulated("ttnn.torch_tracer")
    yield


def get_graph(value: object) -> NoReturn:
    """Raise NotImplementedError: no value was traced."""
    _not_emulated()


def visualize(*values: object, **options: object) -> NoReturn:
    """Raise NotImplementedError: there is no traced graph to draw."""
    _not_emulated()


def codegen(*values: object, **options: object) -> NoReturn:
    """Raise NotImplementedError: there is no traced graph to write as a program."""
    _not_emulated()


def acknowledge_corruptible(tensor: object) -> None:
    """Say that a replayed trace may write over a tensor; here none does."""


@contextmanager
def corruptible_allocation_scope(mesh_device: object) -> Iterator[None]:
    """Say that replayed traces may write over what is allocated inside; here none does."""
    yield


def trace_allocation_tracking_enabled() -> bool:
    """Whether allocations under a trace are watched."""
    return TRACE_ALLOC_TRACKING


def trace_allocation_diagnostics_enabled() -> bool:
    """Whether it is said what keeps them."""
    return TRACE_ALLOC_DIAGNOSTICS


def get_all_unsafe_tracked_ids() -> set[int]:
    """The buffers that a replayed trace may write over: none."""
    return set()


@public
def get_unsafe_tracked_ids(mesh_device: MeshDevice, trace_id: MeshTraceId) -> dict[int, str]:
    """Those of one trace: none."""
    return {}


@public
def remove_unsafe_tracked_id(mesh_device: MeshDevice, buffer_unique_id: int) -> None:
    """Watch a buffer no more: none is watched."""
