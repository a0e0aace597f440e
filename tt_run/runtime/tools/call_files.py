"""A file for each operation, with its arguments and its result: `ttnn.operation_tracer`.

While tracing is on, `{number}_{name}_{time}.json` appears in the folder that TTNN_OPERATION_TRACE_DIR names, else in `operation_parameters`
below `ttnn.CONFIG.root_report_path`. It is on with `--trace-params` among the words of the process, or after `enable_tracing()`; programs
also set `_ENABLE_TRACE` and `_OPERATION_COUNTER` of this module. Source: files that reference library 0.81.1 writes.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tensor.borders.arrays import to_numpy
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tools.config_dicts import compute_kernel_config_to_dict as compute_kernel_config_to_dict
from tt_run.runtime.tools.config_dicts import memory_config_to_dict as memory_config_to_dict
from tt_run.runtime.tools.config_dicts import program_config_to_dict as program_config_to_dict
from tt_run.runtime.tools.hooks import after_operation, around_every_operation
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig

_OPERATION_COUNTER = 0
_ENABLE_TRACE = "--trace-params" in sys.argv
_SERIALIZE_TENSOR_VALUES = False
_SWEEP_SOURCE_HASH: str | None = None
_IS_SERIALIZING = False
_FOLDER = "operation_parameters"
_PLACE = "TTNN_OPERATION_TRACE_DIR"


def enable_tracing(enable: bool = True) -> None:
    """Begin or end writing files."""
    sys.modules[__name__]._ENABLE_TRACE = enable  # type: ignore[attr-defined]


def is_tracing_enabled() -> bool:
    """Whether files are written."""
    return _ENABLE_TRACE


def enable_tensor_value_serialization(enable: bool = True) -> None:
    """Whether the elements of tensors are written too, or only what tensors are like."""
    global _SERIALIZE_TENSOR_VALUES
    _SERIALIZE_TENSOR_VALUES = enable


def set_sweep_source_hash(hash_value: str | None = None) -> None:
    """Write into each file from which configuration of a sweep the call comes; None ends that."""
    global _SWEEP_SOURCE_HASH
    _SWEEP_SOURCE_HASH = hash_value


def serialize_operation_parameters(
    operation_name: str,
    function_args: Sequence[Any],
    function_kwargs: Mapping[str, Any],
    log_dir: Path,
    return_value: Any = None,
    serialize_tensor_values: bool = True,
) -> None:
    """Write the file of one call into a folder; calls that the writing itself makes get none."""
    global _OPERATION_COUNTER, _IS_SERIALIZING
    if _IS_SERIALIZING:
        return
    _IS_SERIALIZING = True
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        _OPERATION_COUNTER += 1
        plain = functools.partial(_plain, values=serialize_tensor_values)
        record: dict[str, Any] = {
            "operation_id": _OPERATION_COUNTER,
            "operation_name": operation_name,
            "args": [{"position": place, "value": plain(value)} for place, value in enumerate(function_args)],
            "kwargs": {word: plain(value) for word, value in function_kwargs.items()},
        }
        if _SWEEP_SOURCE_HASH:
            record["sweep_source_hash"] = _SWEEP_SOURCE_HASH
        if return_value is not None:
            record["return_value"] = plain(return_value)
        time = datetime.now().strftime("%Y%m%d_%H%M%S_%f")
        words = operation_name.replace("::", "_").replace(".", "_")
        text = json.dumps(record, indent=2, default=str)
        (log_dir / f"{_OPERATION_COUNTER}_{words}_{time}.json").write_text(text, encoding="utf-8")
    finally:
        _IS_SERIALIZING = False


def wrap_function_for_tracing(original_function: Any, operation_name: str) -> Any:
    """A function whose calls are written like those of an operation while tracing is on; an operation itself stays as it is."""
    if hasattr(original_function, "decorated_function"):
        return original_function

    @functools.wraps(original_function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = original_function(*args, **kwargs)
        if is_tracing_enabled():
            _write(operation_name, args, kwargs, result)
        return result

    return wrapped


def _write(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
    given = os.environ.get(_PLACE)
    folder = Path(given) if given else Path(CONFIG.root_report_path) / _FOLDER
    serialize_operation_parameters(name, args, kwargs, folder, result, _SERIALIZE_TENSOR_VALUES)


def _operation(operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    _write(operation.name, args, kwargs, result)


def _plain(value: Any, values: bool) -> Any:
    if isinstance(value, Tensor):
        return _tensor(value, values)
    if hasattr(value, "tolist") and hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array(value, values)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(entry, values) for entry in value]
    if isinstance(value, dict):
        return {word: _plain(entry, values) for word, entry in value.items()}
    if isinstance(value, MeshDevice):
        return {"type": "MeshDevice", "repr": str(value), **_mesh(value)}
    return _setting(value)


def _setting(value: Any) -> dict[str, Any]:
    kind = type(value).__name__
    if isinstance(value, MemoryConfig):
        return memory_config_to_dict(value)
    if isinstance(value, WormholeComputeKernelConfig):
        return compute_kernel_config_to_dict(value)
    if "ProgramConfig" in kind and "Matmul" in kind:
        return program_config_to_dict(value)
    return {"type": kind, "repr" if hasattr(value, "__dict__") else "value": str(value)}


def _array(value: Any, values: bool) -> dict[str, Any]:
    own = str(value.dtype)
    found = {
        "type": f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}",
        "shape": list(value.shape),
        "dtype": own,
    }
    if not values:
        return found
    # NumPy has no bfloat16: the elements of such a tensor are written as those of a float32 one.
    kind = "float32" if own == "torch.bfloat16" else own.removeprefix("torch.")
    return {**found, "dtype": kind, "values": value.tolist()}


def _mesh(device: MeshDevice) -> dict[str, Any]:
    return {"shape": list(device.shape), "device_ids": list(device.get_device_ids())}


def _tensor(value: Tensor, values: bool) -> dict[str, Any]:
    topology, device = value.tensor_topology(), value.device()
    placed = [(type(each).__name__, getattr(each, "dim", None)) for each in topology.placements()]
    found: dict[str, Any] = {
        "type": "ttnn.Tensor",
        "original_shape": list(value.shape),
        "original_dtype": str(value.dtype),
        "mesh_device": {
            "placements": [name if dim is None else f"{name}({dim})" for name, dim in placed],
            "distribution_shape": list(topology.distribution_shape()),
            **({} if device is None else _mesh(device)),
        },
        "shape": list(value.shape),
        "dtype": str(value.dtype),
        "layout": str(value.layout),
        "storage_type": str(value.storage_type()),
        "memory_config": memory_config_to_dict(value.memory_config()),
    }
    if values and value.is_allocated() and len(value.shards.index) == 1:
        elements = np.asarray(to_numpy(value))
        found |= {"dtype": str(elements.dtype), "values": elements.tolist()}
    return found


class _Switched(ModuleType):
    """This module: it listens to operations only while `_ENABLE_TRACE` is true, whoever sets it."""

    _leave: Callable[[], None] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name != "_ENABLE_TRACE":
            return
        if value and _Switched._leave is None:
            _Switched._leave = around_every_operation(lambda begun: after_operation(begun, _operation))
        elif not value and _Switched._leave is not None:
            _Switched._leave()
            _Switched._leave = None


sys.modules[__name__].__class__ = _Switched
if _ENABLE_TRACE:
    enable_tracing()
