"""What the program's calls say of themselves while a graph is captured: arguments, tensors in and out, and the lines that they come from.

A report joins them to the functions of the graph by name and order.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.tensor.tensor import Tensor

SUFFIX = ".python_io.json"
_MOST = 32
"""Elements of a list of tensors that are told one by one."""
_switched = {"stacks": False, "calls": False}
_recorded: list[dict[str, Any]] = []
"""What the outermost capture, or a program without one, has recorded."""


def enable_python_stack_traces() -> None:
    """Note the lines of calls, whatever `ttnn.CONFIG.enable_graph_python_stack_traces` says."""
    _switched["stacks"] = True


def disable_python_stack_traces() -> None:
    """Note them only where the configuration says so."""
    _switched["stacks"] = False


def is_python_stack_trace_enabled() -> bool:
    """Whether lines are noted whatever the configuration says."""
    return _switched["stacks"]


def enable_python_io_recording() -> None:
    """Note the program's calls from now on; the outermost capture begins with it."""
    _switched["calls"] = True


def disable_python_io_recording() -> None:
    """Note no calls: what a capture that is read for its memory alone can do without. The outermost capture ends with it."""
    _switched["calls"] = False


def is_python_io_recording_enabled() -> bool:
    """Whether calls are noted."""
    return _switched["calls"]


def record_into(records: list[dict[str, Any]]) -> None:
    """Keep what programs record by themselves with the calls of a capture, which begins."""
    global _recorded
    _recorded = records
    enable_python_io_recording()


def append_python_io_record(name: str) -> dict[str, Any]:
    """Note a call of which nothing is known but its name; `record_python_operation` fills it."""
    record: dict[str, Any] = {"name": name, "arguments": {}, "input_tensor_ids": []}
    _recorded.append(record)
    return record


def record_python_operation(
    name: str,
    function_args: tuple[Any, ...],
    function_kwargs: Mapping[str, Any],
    *,
    record: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Note a call with its arguments, in a `record` that was appended before or in a new one."""
    record = append_python_io_record(name) if record is None else record
    record |= _told(name, function_args, function_kwargs, stacks=_switched["stacks"])
    return record


def record_python_operation_error(record: dict[str, Any] | None, error_type: str, error_message: str) -> None:
    """Note that a call raised; the first error counts."""
    if record is not None:
        record.setdefault("error", {"type": error_type, "message": error_message})


def store_output_tensor_ids(output_tensor_ids: list[int]) -> None:
    """Note the tensors that the last call gave."""
    if _recorded:
        _recorded[-1]["output_tensor_ids"] = output_tensor_ids


def store_captured_graph(captured_graph_json: Any) -> None:
    """Note the graph that was captured of the last call alone."""
    if _recorded:
        _recorded[-1]["captured_graph"] = captured_graph_json


class Calls:
    """The calls of one capture, in order."""

    def __init__(self, *, stacks: bool) -> None:
        self.records: list[dict[str, Any]] = []
        self._stacks = stacks

    def begin(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Note a call; `end` says what became of it."""
        if not _switched["calls"]:
            return {}
        record = _told(name, args, kwargs, stacks=self._stacks)
        self.records.append(record)
        return record

    def write(self, report: Path) -> None:
        """Write them beside a report."""
        report.with_suffix(SUFFIX).write_text(json.dumps(self.records), encoding="utf-8")


def _told(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, stacks: bool) -> dict[str, Any]:
    given = (*kwargs.items(), *((str(place), value) for place, value in enumerate(args)))
    record: dict[str, Any] = {
        "name": name,
        "arguments": {key: described(value) for key, value in given},
        "input_tensor_ids": _numbers((*args, *kwargs.values())),
    }
    if stacks:
        record["python_stack_trace"] = _stack()
    return record


def end(record: dict[str, Any], result: Any, error: BaseException | None) -> None:
    """Note the tensors that a call gave, or that it raised."""
    if error is None:
        record["output_tensor_ids"] = _numbers(result)
    else:
        record["error"] = {"type": type(error).__name__, "message": str(error)}


def _numbers(values: Any) -> list[int]:
    return [int(tensor.tensor_id) for tensor in tensors(values)]


def described(value: Any) -> str:
    """An argument in one line. Of tensors it tells what they are: their values would have to be read from every rank."""
    if isinstance(value, Tensor):
        return _tensor(value)
    if type(value).__module__ == "torch" and hasattr(value, "shape"):
        return f"torch.Tensor(shape={list(value.shape)}, dtype={value.dtype})"
    if isinstance(value, (list, tuple)) and any(True for _ in tensors(value)):
        told = [described(each) for each in value[:_MOST]]
        told += [f"... +{len(value) - _MOST} more"] if len(value) > _MOST else []
        opened, closed = "()" if isinstance(value, tuple) else "[]"
        return f"{opened}{', '.join(told)}{closed}"
    return str(value)


def _tensor(tensor: Tensor) -> str:
    device, topology = tensor.device(), tensor.tensor_topology()
    facts: dict[str, Any] = {
        "shape": tensor.shape,
        "dtype": tensor.dtype,
        "layout": tensor.layout,
        "memory_config": tensor.memory_config(),
        "storage_type": tensor.storage_type(),
        "tensor_id": tensor.tensor_id,
        "is_allocated": tensor.is_allocated(),
    }
    if device is not None:
        facts |= {"device_id": device.id(), "mesh_shape": str(device.shape)}
    facts |= {
        "mesh_coords": [str(coord) for coord in topology.mesh_coords()],
        "distribution_shape": str(topology.distribution_shape()),
        "placements": [str(placement) for placement in topology.placements()],
    }
    return f"ttnn.Tensor({', '.join(f'{key}={value}' for key, value in facts.items())})"


def _stack() -> list[str]:
    """The program's frames, the innermost first."""
    frames = traceback.extract_stack()
    return [
        f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n    {frame.line}\n'
        for frame in reversed(frames)
        if not events.is_library(frame.filename)
    ]
