"""Functions of `tt_lib.fused_ops`: several operations of the device as one function. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.conversion.devices import moved_to
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor


def _call(name: str, *arguments: Any, **keywords: Any) -> Tensor:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    result: Tensor = operation(*arguments, **keywords)
    return result


def Linear(
    in_features: int, out_features: int, weight: Tensor, bias: Tensor | None, device: MeshDevice
) -> Callable[[Tensor], Tensor]:
    """A function that multiplies by a weight [out, in], which goes to the device, and adds a bias. Raises RuntimeError for weights in rows."""
    given = [each for each in (weight, bias) if each is not None]
    if any(each.layout is not Layout.TILE for each in given):
        raise fatal(
            "Linear takes weights and biases in tiles", hint="ttnn.to_layout(weight, ttnn.TILE_LAYOUT)"
        )
    weight, *rest = (moved_to(each, device) for each in given)

    def linear(activation: Tensor) -> Tensor:
        output = _call("matmul", activation, _call("transpose", weight, -2, -1))
        return _call("add", output, rest[0]) if rest else output

    return linear


def softmax(x: Tensor, stable: bool = False) -> Tensor:
    """Exponentials of a row that add up to one; `stable` takes the largest element away before."""
    shifted = _call("subtract", x, _call("max", x, 3, keepdim=True)) if stable else x
    above = _call("exp", shifted)
    return _call("multiply", above, _call("reciprocal", _call("sum", above, 3, keepdim=True)))


def run_global_avg_pool_on_device_wrapper(device: MeshDevice) -> Callable[..., Tensor]:
    """A function of images and where their means go."""

    def pool(x: Tensor, output_mem_config: MemoryConfig, output_dtype: DataType | None = None) -> Tensor:
        return _call("global_avg_pool2d", x, memory_config=output_mem_config, dtype=output_dtype)

    return pool
