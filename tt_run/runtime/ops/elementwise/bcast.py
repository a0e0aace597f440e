"""The older binary operation that names how its second operand is spread. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.enums import Layout, NamedEnum
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.classes import native
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.elementwise.binary import add, multiply, subtract
from tt_run.runtime.tensor.conversion import layouts
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


@native("ttnn._ttnn.types.BcastOpMath")
class BcastOpMath(NamedEnum):
    """What `bcast` computes."""

    ADD = 0
    SUB = 1
    MUL = 2


@native("ttnn._ttnn.types.BcastOpDim")
class BcastOpDim(NamedEnum):
    """Along which dimensions the second operand of `bcast` is repeated: height, width or both."""

    H = 0
    W = 1
    HW = 2


_OPERATIONS = {BcastOpMath.ADD: add, BcastOpMath.SUB: subtract, BcastOpMath.MUL: multiply}


def _golden(in0: Any, in1: Any, math_op: BcastOpMath, dim: BcastOpDim, *_: Any, **__: Any) -> Any:
    """What `bcast` computes, of torch tensors; of a longer second operand the first row or column counts."""
    if dim in (BcastOpDim.H, BcastOpDim.HW):
        in1 = in1[..., :1, :]
    if dim in (BcastOpDim.W, BcastOpDim.HW):
        in1 = in1[..., :1]
    return {BcastOpMath.ADD: in0.__add__, BcastOpMath.SUB: in0.__sub__, BcastOpMath.MUL: in0.__mul__}[
        math_op
    ](in1)


_ALONG = {"height": (BcastOpDim.H, BcastOpDim.HW), "width": (BcastOpDim.W, BcastOpDim.HW)}


def _one_tile(tensor: Tensor, dim: BcastOpDim) -> None:
    for word, length in zip(_ALONG, tensor.shape[-2:], strict=True):
        if dim in _ALONG[word] and length > TILE_SIZE:
            raise fatal(
                f"bcast along the {word} needs a second operand of one tile there, got shape {tensor.shape}",
                hint="ttnn.add and its family broadcast by themselves",
            )


@operation("ttnn.bcast", family=families.BINARY, golden=_golden)
def bcast(
    input_a: Tensor,
    input_b: Tensor,
    math_op: BcastOpMath,
    dim: BcastOpDim,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """a + b, a - b or a b, b repeated along the dimensions that `dim` names: the first row or column of its one tile there."""
    on_device(input_a, input_b, kind="bcast")
    _one_tile(input_b, dim)
    rows, columns = (slice(0, 1) if dim in named else slice(None) for named in _ALONG.values())
    first = input_b.shards.map(lambda stack: stack[..., rows, columns])
    input_b = settle((input_b,), first, input_b.dtype)
    result: Tensor = _OPERATIONS[math_op].compute(
        *(layouts.to_layout(each, Layout.TILE) for each in (input_a, input_b)),
        memory_config=memory_config,
        output_tensor=output_tensor,
    )
    return result
