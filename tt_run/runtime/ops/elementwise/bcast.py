"""The older binary operation that names how its second operand is spread. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from typing import Any

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.enums import Layout, NamedEnum, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.classes import native
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.elementwise.binary import add, multiply, subtract
from tt_run.runtime.tensor.conversion import layouts
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
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


_BY_ITSELF = "ttnn.add and its family broadcast by themselves"
_TAKEN = {
    BcastOpDim.H: ((TensorMemoryLayout.WIDTH_SHARDED, TensorMemoryLayout.BLOCK_SHARDED), "Unsupported memory layout"),
    BcastOpDim.W: ((), "Bcast does not currently support input0 sharding, except if dim is W"),
    BcastOpDim.HW: ((TensorMemoryLayout.HEIGHT_SHARDED,), "HW bcast in0 supports Height Sharding or Interleaving"),
}  # fmt: skip
_ALONG = {"height": (BcastOpDim.H, BcastOpDim.HW), "width": (BcastOpDim.W, BcastOpDim.HW)}


def _check_shapes(one: Tensor, other: Tensor, dim: BcastOpDim) -> None:
    """Raises RuntimeError for a second operand that is not as long as the first where it is not repeated, or more than a tile where it is."""
    (*batches, height, width), (*others, rows, columns) = one.padded_shape, other.padded_shape
    in_rows = other.layout is Layout.ROW_MAJOR
    lengths, must = ((1, TILE_SIZE), "be 1 or") if in_rows else ((TILE_SIZE,), "equal")
    if math.prod(others) != 1 and others != batches:
        raise fatal(
            "Broadcast with batch is currently only supported when bN*bC=1 or N & C match or equivalent",
            hint=_BY_ITSELF,
        )
    for repeated, word, mine, its, name in (
        (BcastOpDim.H, "width", width, columns, "height"),
        (BcastOpDim.W, "height", height, rows, "width"),
    ):
        if dim is repeated and mine != its:
            raise fatal(
                f"Input tensor A {word} ({mine}) must equal input tensor B {word} ({its}) for {name} broadcast",
                hint=f"give the second operand {mine} elements along its {word}; {_BY_ITSELF}",
            )
    for word, length in zip(_ALONG, (rows, columns), strict=True):
        if dim in _ALONG[word] and length not in lengths:
            raise fatal(
                f"Input tensor B {word} ({length}) must {must} TILE_{word.upper()} ({TILE_SIZE}) for "
                f"{'row major' if in_rows else 'tile'} layout",
                hint=_BY_ITSELF,
            )


def _place(tensor: Tensor, dim: BcastOpDim, asked: MemoryConfig | None) -> MemoryConfig | None:
    """Where the result lies: on the first operand's cores, in its pieces, whatever those of the configuration that is asked for.

    Raises RuntimeError for a cut of the first operand that `dim` does not take, and for one of the result that its pieces do not fit.
    """
    own = tensor.memory_config()
    if asked is not None and asked.is_sharded():
        pieces = own.shard_spec or ShardSpec(CoreRangeSet([]), [0, 0], ShardOrientation.ROW_MAJOR)
        asked = MemoryConfig(asked.memory_layout, asked.buffer_type, pieces)
        padded = padded_shape(tuple(tensor.shape), Layout.TILE, tensor.tile).dims
        sharding.settled(asked, padded, Layout.TILE, tensor.tile.edges)
    if not own.is_sharded():
        return asked
    taken, sentence = _TAKEN[dim]
    spread = asked is not None and not asked.is_sharded()
    if own.memory_layout not in taken and not (spread and dim is BcastOpDim.H):
        raise fatal(sentence, hint="ttnn.sharded_to_interleaved(input_a)")
    if spread:
        raise fatal(
            f"Input and output mem layouts must be the same for bcast {dim.name} op!",
            hint="leave memory_config out",
        )
    return asked


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
    _check_shapes(input_a, input_b, dim)
    place = _place(input_a, dim, memory_config)
    rows, columns = (slice(0, 1) if dim in named else slice(None) for named in _ALONG.values())
    first = input_b.shards.map(lambda stack: stack[..., rows, columns])
    input_b = settle((input_b,), first, input_b.dtype)
    result: Tensor = _OPERATIONS[math_op].compute(
        *(layouts.to_layout(each, Layout.TILE) for each in (input_a, input_b)),
        memory_config=place,
        output_tensor=output_tensor,
    )
    return result
