"""Captures as programs begin and end them: `ttnn.graph.begin_graph_capture`, functions of one's own in them, and reports as files."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tt_run.runtime.comm.world import world
from tt_run.runtime.errors import fatal
from tt_run.runtime.graph import calls, snapshots
from tt_run.runtime.graph.capture import Capture, RunMode
from tt_run.runtime.graph.database.comparisons import write_beside
from tt_run.runtime.graph.nodes import Node
from tt_run.runtime.memory.footprint import DRAM, banks_of, cores_of
from tt_run.runtime.memory.views import get_device_info
from tt_run.runtime.mesh.cluster_file import described
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.system import system_mesh

REPORT_VERSION = 1


_captures: list[Capture] = []


def begin_graph_capture(run_mode: RunMode | None = None) -> None:
    """Capture operations from now on; captures may lie in each other."""
    capture = Capture(RunMode.NORMAL if run_mode is None else RunMode(run_mode))
    if not _captures:
        calls.record_into(capture.calls.records)
    _captures.append(capture)


def end_graph_capture() -> list[Node]:
    """End the last capture: its nodes. Raises RuntimeError when none is active."""
    capture = _capture()
    _captures.remove(capture)
    if not _captures:
        calls.disable_python_io_recording()
    return capture.end()


def is_graph_capture_active() -> bool:
    """Whether a capture has begun and not ended."""
    return bool(_captures)


def end_graph_capture_to_file(report_path: str | os.PathLike[str]) -> list[Node]:
    """End the last capture and write its report, a JSON file that `ttnn.graph_report` reads; the graph.

    The report has version, graph, what the devices have, the cluster as its driver describes it, and the rank; what the program's calls
    said lies beside it, in `*.python_io.json`. Raises RuntimeError when no capture is active.
    """
    capture = _capture()
    graph = end_graph_capture()
    path = Path(report_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_report(capture, graph), indent=1, default=str), encoding="utf-8")
    capture.calls.write(path)
    write_beside(path)
    return graph


def end_graph_capture_to_file_as_text(report_path: str | os.PathLike[str]) -> str:
    """The same, with the graph as JSON: the native function's form."""
    return json.dumps(end_graph_capture_to_file(report_path), default=str)


def _report(capture: Capture, graph: list[Node]) -> dict[str, Any]:
    devices = [capture.devices[number] for number in sorted(capture.devices)]
    told = capture.snapshots
    return {
        "version": REPORT_VERSION,
        "graph": graph,
        **(
            {}
            if told is None
            else {"per_operation_buffers": told.buffers, "buffer_pages_by_address": told.pages}
        ),
        "devices": [_told(device) for device in devices],
        "cluster_descriptor": described(system_mesh()) if devices else "",
        "metadata": {
            "timestamp": datetime.now(timezone.utc).isoformat(),
            "rank": world().rank,
            "world_size": world().size,
        },
    }


def _told(device: MeshDevice) -> dict[str, int]:
    """What the chips of a mesh have, under the number that the nodes of the graph give the mesh."""
    banks = banks_of(device.arch().name, cores_of(device))
    return {
        "device_id": device.id(),
        **dataclasses.asdict(get_device_info(device)),
        "num_dram_channels": banks[DRAM].count,
    }


def _capture() -> Capture:
    if not _captures:
        raise fatal("end_graph_capture: no graph capture is active", hint="ttnn.graph.begin_graph_capture()")
    return _captures[-1]


def track_function_start(function_name: str) -> None:
    """Open a function of one's own in the active capture; nothing happens without one."""
    if _captures:
        _captures[-1].nodes.function_start(function_name, [], 0)


def track_function_end() -> None:
    """Close the function that `track_function_start` opened."""
    if _captures and _captures[-1].nodes.depth:
        _captures[-1].nodes.function_end([])


def unwind_open_functions(reason: str = "") -> None:
    """Close every function that the active capture holds open as aborted, for that reason."""
    while _captures and _captures[-1].nodes.depth:
        _captures[-1].nodes.function_end([], aborted=True, why=reason)


class _Depth(threading.local):
    """How many scopes of a thread's Python are open: `track_scope_start` has begun them."""

    open = 0


_depth = _Depth()


def track_scope_start(function_name: str) -> None:
    """`track_function_start` of Python: the outermost one first closes what calls that failed have left open."""
    if not _depth.open:
        unwind_open_functions(
            f"Operation did not complete: its graph scope was still open when '{function_name}' started"
        )
    track_function_start(function_name)
    _depth.open += 1


def track_scope_end() -> None:
    """Close what `track_scope_start` opened."""
    _depth.open = max(0, _depth.open - 1)
    track_function_end()


class ExitStackWithPop(ExitStack):
    """Contexts that are left one by one as well as all at once."""

    def pop(self) -> None:
        """Leave the context that was entered last. Raises IndexError when none is left."""
        _, leave = self._exit_callbacks.pop()  # type: ignore[attr-defined]  # the standard library's own
        leave(None, None, None)


@contextmanager
def full_graph_capture(
    report_path: str, *, run_mode: RunMode | None = None, slow_dispatch: bool = True
) -> Iterator[None]:
    """Capture a `with` block and write the report, with lines of calls and the buffers after each.

    `slow_dispatch` changes nothing: operations are captured alike.
    """
    stacks, buffers = calls.is_python_stack_trace_enabled(), snapshots.is_detailed_buffer_tracing_enabled()
    calls.enable_python_stack_traces()
    snapshots.enable_detailed_buffer_tracing()
    try:
        begin_graph_capture(run_mode)
    finally:
        if not stacks:
            calls.disable_python_stack_traces()
        if not buffers:
            snapshots.disable_detailed_buffer_tracing()
    try:
        yield
    except BaseException:
        end_graph_capture()
        raise
    end_graph_capture_to_file(report_path)
