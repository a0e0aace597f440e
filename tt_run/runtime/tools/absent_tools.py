"""Tools of the reference that suites tidy up after each test, whether they used them or not.

`ttnn.database` held the tables of a report in releases before 0.81; no database is ever open, which is what tidying up finds here.
`ttnn.tools.trace_allocation_tracker` watches buffers that a replayed trace may write over; the emulation gives each tensor memory of its own.
Source: reference library 0.81.1 and the suites written for releases before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.arguments import public
from tt_run.runtime.trace import MeshTraceId

DEVICE_IDS_IN_DATABASE: set[int] = set()
"""`ttnn.database`: devices whose entry is in the open database."""


TRACE_ALLOC_TRACKING = False
TRACE_ALLOC_DIAGNOSTICS = False
TRACE_ALLOC_REFERRER_DEPTH = 10
"""`ttnn.decorators`: whether allocations under a trace are watched; none can do harm here."""


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
