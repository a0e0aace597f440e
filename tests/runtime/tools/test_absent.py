"""Allocations under a trace: none is watched, since none can do harm."""

from __future__ import annotations

import tt_run.shims.ttnn as ttnn

trace = ttnn._ttnn.operations.trace


def test_nothing_is_watched(mesh: ttnn.MeshDevice) -> None:
    tracker = ttnn.tools.trace_allocation_tracker
    assert trace.get_all_unsafe_tracked_ids() == set()
    assert tracker.get_unsafe_tracked_ids(mesh, ttnn.MeshTraceId(3)) == {}
    assert not trace.trace_allocation_tracking_enabled()
    assert not trace.trace_allocation_diagnostics_enabled()
    trace.remove_unsafe_tracked_id(mesh, 3)
    assert tracker.TRACE_ALLOC_REFERRER_DEPTH == 10
