"""A file for each operation, with its arguments and its result: `ttnn.operation_tracer`.

While tracing is on, `{number}_{name}_{time}.json` appears in `operation_parameters` below `ttnn.CONFIG.root_report_path`. It is on with
`--trace-params` among the words of the process, or after `enable_tracing()`; programs also set `_ENABLE_TRACE` and `_OPERATION_COUNTER`
of this module. Source: reference library 0.81.1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tensor.borders.arrays import to_numpy
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tools.config_dicts import compute_kernel_config_to_dict as compute_kernel_config_to_dict
from tt_run.runtime.tools.config_dicts import memory_config_to_dict as memory_config_to_dict
from tt_run.runtime.tools.config_dicts import program_config_to_dict as program_config_to_dict
from tt_run.runtime.tools.hooks import following

_OPERATION_COUNTER = 0
_ENABLE_TRACE = "--trace-params" in sys.argv
_SERIALIZE_TENSOR_VALUES = True
_SWEEP_SOURCE_HASH: str | None = None
_FOLDER = "operation_parameters"


def enable_tracing(enable: bool = True) -> None:
    """Begin or end writing files."""
    sys.modules[__name__]._ENABLE_TRACE = enable  # type: ignore[attr-defined]


def is_tracing_enabled() -> bool:
    """Whether files are written."""
    return _ENABLE_TRACE


def enable_tensor_value_serialization(enable: bool = True) -> None:
    """Whether the elements of tensors are written, or only what tensors are like."""
    global _SERIALIZE_TENSOR_VALUES
    _SERIALIZE_TENSOR_VALUES = enable


def set_sweep_source_hash(hash_value: str | None = None) -> None:
    """Write into each file from which configuration of a sweep the call comes; None ends that."""
    global _SWEEP_SOURCE_HASH
    _SWEEP_SOURCE_HASH = hash_value


def _write(operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    global _OPERATION_COUNTER
    _OPERATION_COUNTER += 1
    folder = Path(CONFIG.root_report_path) / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "operation_number": _OPERATION_COUNTER,
        "operation_name": operation.name,
        "timestamp": datetime.now().isoformat(),
        "args": [{"position": place, "value": _plain(value)} for place, value in enumerate(args)],
        "kwargs": {word: _plain(value) for word, value in kwargs.items()},
        "num_tensors": sum(1 for _ in tensors((args, tuple(kwargs.values())))),
        "return_value": _plain(result),
    }
    if _SWEEP_SOURCE_HASH:
        record["sweep_source_hash"] = _SWEEP_SOURCE_HASH
    time = datetime.now().strftime("%Y%m%d_%H%M%S_%f")
    name = f"{_OPERATION_COUNTER}_{operation.name.replace('.', '_')}_{time}.json"
    (folder / name).write_text(json.dumps(record, indent=2), encoding="utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _tensor(value)
    if hasattr(value, "tolist") and hasattr(value, "shape") and hasattr(value, "dtype"):
        kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
        found = {"type": kind, "shape": list(value.shape), "dtype": str(value.dtype)}
        return found | ({"values": value.tolist()} if _SERIALIZE_TENSOR_VALUES else {})
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {str(word): _plain(entry) for word, entry in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _tensor(value: Tensor) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "ttnn.Tensor",
        "shape": list(value.shape),
        "dtype": str(value.dtype),
        "layout": str(value.layout),
        "storage_type": str(value.storage_type()),
        "memory_config": str(value.memory_config()),
    }
    if _SERIALIZE_TENSOR_VALUES and value.is_allocated() and len(value.shards.index) == 1:
        found["values"] = to_numpy(value).tolist()
    return found


class _Switched(ModuleType):
    """This module: it listens to operations only while `_ENABLE_TRACE` is true, whoever sets it."""

    _leave: Callable[[], None] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name != "_ENABLE_TRACE":
            return
        if value and _Switched._leave is None:
            _Switched._leave = events.precede(lambda begun: following(begun, _write))
        elif not value and _Switched._leave is not None:
            _Switched._leave()
            _Switched._leave = None


sys.modules[__name__].__class__ = _Switched
if _ENABLE_TRACE:
    enable_tracing()
