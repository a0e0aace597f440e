"""`ttnn.config_serialization`: configurations as dictionaries that JSON takes. Source: results of reference library 0.81.1."""

from __future__ import annotations

import inspect
from typing import Any

from tt_run.runtime.cores import CoreCoord, CoreRangeSet
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tuning.activation import UnaryWithParam
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig

_PLAIN = (bool, int, float, str, type(None))
_COMPUTE = ("math_fidelity", "math_approx_mode", "fp32_dest_acc_en", "packer_l1_acc", "dst_full_sync_en", "throttle_level")  # fmt: skip
_IN_WORDS = frozenset(["math_fidelity", "math_approx_mode", "throttle_level"])


def memory_config_to_dict(memory_config: MemoryConfig) -> dict[str, Any]:
    """Where a tensor lies: its layout, buffer type and shards in words."""
    return {
        "memory_layout": str(memory_config.memory_layout),
        "buffer_type": str(memory_config.buffer_type),
        "shard_spec": str(memory_config.shard_spec),
        "is_sharded": memory_config.is_sharded(),
        "interleaved": memory_config.interleaved,
        "hash": hash(memory_config),
    }


def compute_kernel_config_to_dict(compute_kernel_config: WormholeComputeKernelConfig) -> dict[str, Any]:
    """How kernels compute."""
    values = {name: getattr(compute_kernel_config, name) for name in _COMPUTE}
    return {name: str(value) if name in _IN_WORDS else value for name, value in values.items()}


def program_config_to_dict(program_config: Any) -> dict[str, Any]:
    """The settings of a product's program by name, and its type; of any other value its type and repr."""
    kind = type(program_config).__name__
    if not kind.startswith("Matmul"):
        return {"type": kind, "repr": repr(program_config)}
    names = (name for name in dir(program_config) if not name.startswith("_"))
    values = {name: getattr(program_config, name) for name in names}
    settings = {name: _plain(value) for name, value in values.items() if not inspect.isroutine(value)}
    return {**settings, "type": kind}


def _plain(value: Any) -> Any:
    if isinstance(value, CoreCoord):
        return {"x": value.x, "y": value.y}
    if isinstance(value, CoreRangeSet):
        return [{"start": _plain(part.start), "end": _plain(part.end)} for part in value.ranges()]
    if isinstance(value, UnaryWithParam):
        return {"op_type": int(value.op_type.value), "param": [_plain(number) for number in value.params]}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    return value if isinstance(value, _PLAIN) else str(value)
