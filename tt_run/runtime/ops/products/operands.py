"""Which operands a product takes: the shapes, layouts and types of matrices, batches and biases.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import math

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.activations import Activation
from tt_run.runtime.ops.declaration.broadcast import check_broadcast
from tt_run.runtime.ops.declaration.element_types import check_pair
from tt_run.runtime.ops.products.program_call import ProductCall
from tt_run.runtime.tensor.spec.memory_config import CoreGrid
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import is_float


def check(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> None:
    ours, theirs = a.shape.dims, b.shape.dims
    if not ours or not theirs:
        raise fatal(
            f"ttnn.matmul: Both arguments to matmul need to be at least 1D, but got shapes {a.shape} and {b.shape}",
            hint="ttnn.multiply takes a single number",
        )
    # A vector in front is a row, one behind a column: turned round each has a single element to multiply.
    width = (ours[-2] if len(ours) > 1 else 1) if transpose_a else ours[-1]
    height = (theirs[-1] if len(theirs) > 1 else 1) if transpose_b else theirs[-2 if len(theirs) > 1 else -1]
    if width != height:
        raise fatal(
            "The width of the first tensor must be equal to the height of the second tensor. "
            f"Mismatch: width={width} height={height}",
            hint=_other_ways(ours, theirs, transpose_a, transpose_b),
        )
    _check_batches(ours, theirs)
    if a.layout is not Layout.TILE or b.layout is not Layout.TILE:
        raise fatal("Inputs to matmul must be tilized", hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)")
    for letter, tensor in (("A", a), ("B", b)):
        if not is_float(tensor.dtype):
            raise fatal(
                f"Unsupported data format for input {letter}: {cpp(tensor.dtype)}",
                hint="matmul multiplies floating-point tensors: ttnn.typecast(tensor, ttnn.bfloat16)",
            )


def _other_ways(ours: tuple[int, ...], theirs: tuple[int, ...], transpose_a: bool, transpose_b: bool) -> str:
    """What would make a product of two shapes that do not fit, when one flag would."""
    got = f"{list(ours)} times {list(theirs)}"
    if len(ours) > 1 and len(theirs) > 1:
        inner = ours[-2] if transpose_a else ours[-1]
        if inner == (theirs[-2] if transpose_b else theirs[-1]):
            return f"{got}: transpose_b={not transpose_b} fits"
        outer = ours[-1] if transpose_a else ours[-2]
        if outer == (theirs[-1] if transpose_b else theirs[-2]):
            return f"{got}: transpose_a={not transpose_a} fits"
    return f"{got}: a matrix of m x k is multiplied by one of k x n"


def _check_batches(ours: tuple[int, ...], theirs: tuple[int, ...]) -> None:
    """Batches of both tensors: one matrix for all, or as many as there are."""
    if len(theirs) < 2 or math.prod(theirs[:-2]) == 1:
        return
    if any(length != 1 for length in theirs[: max(len(theirs) - len(ours), 0)]):
        raise fatal(
            "When in1 rank greater than in0 rank front dimensions need to be 1",
            "input_shape_b[index] == 1",
            hint="exchange the operands, or ttnn.reshape the first to the second's rank",
        )
    if len(ours) != len(theirs):
        raise fatal(
            "Batched (non-bcast) matmul requires inputs of the same rank, got a_shape rank: "
            f"{len(ours)} vs b_shape rank: {len(theirs)}",
            hint="ttnn.reshape one of them, ttnn.repeat what is to be used more than once",
        )
    if math.prod(ours[:-2]) == 1:
        return
    for place, (a, b) in enumerate(zip(ours[:-2], theirs[:-2], strict=True)):
        if a != b:
            raise fatal(
                "bmm (non-bcast matmul) expects input tensors of shapes BCMK*BCKN=BCMN or batch dimension "
                f"{place} mismatch: a={a} vs b={b} (dimension mismatch only allowed when all batch dimensions of a are size 1 and using "
                "MatmulMultiCoreReuseMultiCast1DProgramConfig with fuse_batch=false, fused_activation=none, mcast_in0=false, and "
                "non-sharded inputs for in0 reuse optimization)",
                hint=f"{list(ours)} and {list(theirs)}: ttnn.repeat the smaller one",
            )


def check_inner_tiles(call: ProductCall) -> None:
    """Raises RuntimeError for tiles that are not 32 along the dimension that both operands have."""
    wide, high = call.tile_a[1], call.tile_b[0]
    if Layout.TILE is call.a.layout is call.b.layout and (wide != TILE_SIZE or high != TILE_SIZE):
        raise fatal(
            f"Matmul inner tile dim must be 32 (hardware constraint): got in0 tile width {wide}, in1 tile height {high}",
            hint="ttnn.Tile((height, 32)) for the first operand, ttnn.Tile((32, width)) for the second",
        )


def check_tile(tile: Tile | None, call: ProductCall) -> None:
    """Raises RuntimeError for tiles of a result that those of its operands do not make."""
    if tile is None:
        return
    high, wide = tile.tile_shape
    if high != call.tile_a[0]:
        raise fatal(
            f"the override output tile height ({high}) must equal to the in0 tile height ({call.tile_a[0]})",
            hint=f"output_tile=ttnn.Tile([{call.tile_a[0]}, {wide}])",
        )
    if wide != call.tile_b[1] and not call.output.is_sharded():
        raise fatal(
            f"the override output tile width ({wide}) must equal the in0 tile width ({call.tile_b[1]})",
            hint=f"output_tile=ttnn.Tile([{high}, {call.tile_b[1]}]), or a sharded memory_config",
        )
    if wide % call.tile_b[1]:
        raise fatal(
            f"the override output tile width ({wide}) must be a multiple of in1 tile width ({call.tile_b[1]})",
            hint=f"output_tile=ttnn.Tile([{high}, {call.tile_b[1]}])",
        )


def check_activation(
    activation: Activation, a: Tensor, b: Tensor, core_grid: CoreGrid | None, program: object
) -> None:
    """Raises RuntimeError for an activation that a call names where only its program may: of operands in shards, and of a grid's batches."""
    if a.memory_config().is_sharded() or b.memory_config().is_sharded():
        raise fatal(
            f"Sharded matmul run with UnaryOpType::{_native(activation)} activation: this should be placed in the program config's "
            "fused_activation field",
            hint="fused_activation=… in the program_config, or the activation as an operation after the product",
        )
    if core_grid is not None and program is None and math.prod(b.shape.dims[:-2]) > 1:
        raise fatal(
            "Cannot use activation with batched input b",
            hint="leave core_grid out, or give the activation as an operation after the product",
        )


def _native(activation: Activation) -> str:
    kind = getattr(activation, "op_type", activation)
    return str(getattr(kind, "name", kind)).upper()


def check_bias(
    bias: Tensor,
    product: tuple[int, ...],
    dtype: DataType,
    alone: bool,
    fused: bool,
    whole: bool,
    after: bool,
) -> bool:
    """Whether of a bias the first row alone counts: that of its tile, which a program other than one of `whole` blocks adds to each row.

    `product`: its shape; `alone`: one second operand for all batches; `fused`: whether a program is given; `after`: whether a bias is
    added as a sum of two tensors. Raises RuntimeError for a bias that does not broadcast against the product.
    """
    rows, height = product[-2], bias.shape[-2] if len(bias.shape) > 1 else 1
    one_tile = alone and height <= TILE_SIZE and len(bias.shape) > 1
    if one_tile and height == TILE_SIZE and rows not in (1, height) and not whole:
        # One row, filled up to a tile by the program: what models of earlier releases give, though 0.81.1 has no broadcast for it.
        check_broadcast((*product[:-2], height, product[-1]), bias.shape)
        return True
    if one_tile and 1 not in (rows, height) and height != rows:
        words = "Broadcast error: Invalid dimension"
        if whole:
            tiles = -(-rows // TILE_SIZE)
            words = (
                f"Unsupported bias shape: padded second last dimension of bias, {TILE_SIZE}, not equal to expected bias height, "
                f"{tiles * TILE_SIZE} (tile height {TILE_SIZE} x {tiles} bias tile-row(s))"
            )
        raise fatal(
            words,
            hint=f"a bias of 1 or {rows} rows: this one is {list(bias.shape)}, the product {list(product)}",
        )
    check_broadcast(product, bias.shape)
    if after or not (alone and height <= TILE_SIZE):
        check_pair("add", dtype, bias.dtype)
    return fused and one_tile and not whole and rows > 1
