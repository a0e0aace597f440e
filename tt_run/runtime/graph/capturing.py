"""Captures as programs begin and end them: `ttnn.graph.begin_graph_capture`, functions of one's own in them, and reports as files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from tt_run.runtime.errors import fatal
from tt_run.runtime.graph.capture import Capture, RunMode
from tt_run.runtime.graph.nodes import Node

REPORT_VERSION = 1


_captures: list[Capture] = []


def begin_graph_capture(run_mode: RunMode | None = None) -> None:
    """Capture operations from now on; captures may lie in each other."""
    _captures.append(Capture(RunMode.NORMAL if run_mode is None else RunMode(run_mode)))


def end_graph_capture() -> list[Node]:
    """End the last capture: its nodes. Raises RuntimeError when none is active."""
    if not _captures:
        raise fatal("end_graph_capture: no graph capture is active", hint="ttnn.graph.begin_graph_capture()")
    return _captures.pop().end()


def is_graph_capture_active() -> bool:
    """Whether a capture has begun and not ended."""
    return bool(_captures)


def end_graph_capture_to_file(report_path: str | os.PathLike[str]) -> str:
    """End the last capture and write version, graph, devices and metadata to a JSON file; the graph as text."""
    graph = end_graph_capture()
    ids = sorted({node["params"]["device_id"] for node in graph if "device_id" in (node["params"] or {})})
    report = {
        "version": REPORT_VERSION,
        "graph": graph,
        "devices": [{"device_id": int(each)} for each in ids],
        "metadata": {"timestamp": datetime.now(timezone.utc).isoformat()},
    }
    path = Path(report_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return json.dumps(graph)


def track_function_start(function_name: str) -> None:
    """Open a function of one's own in the active capture; nothing happens without one."""
    if _captures:
        _captures[-1].nodes.function_start(function_name, [], 0)


def track_function_end() -> None:
    """Close the function that `track_function_start` opened."""
    if _captures and _captures[-1].nodes.depth:
        _captures[-1].nodes.function_end([])


@contextmanager
def full_graph_capture(
    report_path: str, *, run_mode: RunMode | None = None, slow_dispatch: bool = True
) -> Iterator[None]:
    """Capture a `with` block and write the report. `slow_dispatch` changes nothing: operations are captured alike."""
    begin_graph_capture(run_mode)
    try:
        yield
    except BaseException:
        end_graph_capture()
        raise
    end_graph_capture_to_file(report_path)
