"""The product itself, on shards: everything is multiplied in float32 and rounded once, after bias and activation.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.activations import Activation, Function
from tt_run.runtime.kernels.activations import activation as function_of
from tt_run.runtime.kernels.elementwise import evaluate, finish
from tt_run.runtime.ops.declaration.broadcast import align
from tt_run.runtime.ops.declaration.operands import in_rank_of, on_device, settle
from tt_run.runtime.ops.placement.sharded_results import in_dram, of_product
from tt_run.runtime.ops.products.chosen import chosen
from tt_run.runtime.ops.products.operands import (
    check,
    check_activation,
    check_bias,
    check_inner_tiles,
    check_tile,
)
from tt_run.runtime.ops.products.place_checks import check_places
from tt_run.runtime.ops.products.program_activation import in_program
from tt_run.runtime.ops.products.program_call import ProductCall, in_l1
from tt_run.runtime.ops.products.program_checks import check_program
from tt_run.runtime.tensor.spec.memory_config import CoreGrid, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, Tile
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.matmul import MatmulMultiCoreReuseProgramConfig
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Rules:
    """What else of a call decides whether its program fits: the activation that it names, and the settings of its kernels."""

    activation: Activation | None
    compute: object


def product(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    function: Function | None = None,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    tile: Tile | None = None,
    core_grid: CoreGrid | None = None,
    program_config: object = None,
    rules: Rules | None = None,
) -> Tensor:
    """function(a @ b + bias); dtype: that of a unless given. Shapes (…, M, K) @ (…, K, N), batch dimensions broadcast.

    A vector counts as a row in front and as a column behind, and leaves no dimension in the result. `rules`: what of the call its program
    configuration has to keep to.
    """
    tensors = (a, b) if bias is None else (a, b, bias)
    on_device(*tensors, kind="matmul")
    usual = DEFAULT_TILE.edges
    made = usual
    if a.tile.edges != usual or b.tile.edges != usual:
        call = ProductCall(a, b, None, transpose_a, transpose_b)
        check_inner_tiles(call)
        made = call.tile
    check(a, b, transpose_a, transpose_b)
    dtype = dtype or (output_tensor.dtype if isinstance(output_tensor, Tensor) else a.dtype)
    if rules is not None and rules.activation is not None:
        check_activation(rules.activation, a, b, core_grid, program_config)
    asked, program = memory_config, program_config
    if rules is not None:
        call = ProductCall(a, b, None, transpose_a, transpose_b, asked, dtype, rules.compute)
        check_tile(tile, call)
        program = program_of(call, core_grid) if program is None else program
    memory_config = memory_config or in_dram(a)
    ours, theirs = len(a.shape.dims), len(b.shape.dims)
    row, column = ours == 1, theirs == 1
    if row or column:
        turned = transpose_a and not row, transpose_b and not column
        return _by_vector(a, b, bias, row, column, turned, dtype, function, memory_config, output_tensor)
    rank = max(ours, theirs)
    first_row = False
    if bias is not None:
        call = ProductCall(a, b, program_config, transpose_a, transpose_b, asked, dtype)
        first_row = _check_bias(call, bias, core_grid)

    def compute(x: Array, y: Array, z: Array | None = None) -> Array:
        x, y = align(x, rank), align(y, rank)
        values: Array = gemm.matmul(
            np.swapaxes(x, -1, -2) if transpose_a else x, np.swapaxes(y, -1, -2) if transpose_b else y
        )
        if z is not None:
            if first_row:
                z = z[..., :1, :]
            over = max(rank, z.ndim - 1)  # a bias of more dimensions adds them to the result
            plus = (lambda v, w: function(v + w)) if function else np.add
            return evaluate(plus, dtype, align(values, over), align(z, over))
        return evaluate(function, dtype, values) if function else finish(values, dtype, either=True)

    shards = combine(compute, *(t.shards for t in tensors))
    layout = None
    tile = tile or (None if made == usual else Tile(made))
    if memory_config is not None and memory_config.is_sharded():
        if getattr(program_config, "untilize_out", False):
            layout = Layout.ROW_MAJOR
        *batch, high, wide = shards.shape
        memory_config = of_product(
            a, memory_config, core_grid, program, math.prod(batch), high, wide, b, made
        )
    if rules is not None and program is not None:
        check_program(ProductCall(a, b, program, transpose_a, transpose_b, asked, dtype, rules.compute))
    return settle(
        tensors,
        in_rank_of(output_tensor, shards),
        dtype,
        memory_config=memory_config,
        output_tensor=output_tensor,
        layout=layout,
        tile=tile,
    )


def program_of(call: ProductCall, core_grid: CoreGrid | None) -> object:
    """The program that the device chooses for a call without one, where operands, result or grid make it. Raises RuntimeError for places
    that go with none."""
    cut = call.output.is_sharded() or call.a.is_sharded() or call.b.is_sharded()
    if core_grid is None and not cut:
        return None
    program: object = chosen(call, core_grid)
    if program is None:
        check_places(call)
    return program


def _by_vector(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    row: bool,
    column: bool,
    turned: tuple[bool, bool],
    dtype: DataType,
    function: Function | None,
    memory_config: MemoryConfig | None,
    output_tensor: Tensor | None,
) -> Tensor:
    """Products with a vector: its missing dimension is put in, and left out of the result; a bias is added to what is left."""
    tensors = (a, b) if bias is None else (a, b, bias)
    dims = max(len(a.shape), len(b.shape), 2)

    def compute(x: Array, y: Array, z: Array | None = None) -> Array:
        x, y = (np.swapaxes(s, -1, -2) if turn else s for s, turn in zip((x, y), turned, strict=True))
        values: Array = gemm.matmul(*(align(s, dims) for s in (x, y[..., None] if column else y)))
        values = values[..., 0, :] if row else values
        values = np.ascontiguousarray(values[..., 0] if column else values)
        if z is not None:
            rank = max(values.ndim, z.ndim) - 1  # without the axis of distinct shards
            plus = (lambda v, w: function(v + w)) if function else np.add
            return evaluate(plus, dtype, align(values, rank), align(z, rank))
        return evaluate(function, dtype, values) if function else finish(values, dtype, either=True)

    shards = combine(compute, *(t.shards for t in tensors))
    if memory_config is not None and memory_config.is_sharded():
        memory_config = of_product(a, memory_config, None, None, 1, 1, shards.shape[-1])
    shards = in_rank_of(output_tensor, shards)
    return settle(tensors, shards, dtype, memory_config=memory_config, output_tensor=output_tensor)


def _check_bias(call: ProductCall, bias: Tensor, core_grid: CoreGrid | None) -> bool:
    """Whether the first row of a bias counts alone. Raises RuntimeError for one that does not go with a product of matrices."""
    front, behind, own = call.a.shape.dims, call.b.shape.dims, bias.shape.dims
    if call.program is not None and call.tile == (TILE_SIZE, TILE_SIZE // 2):
        raise fatal(
            f"matmul fused bias does not support 32x16 narrow in1 tile (in0 tile height={call.tile[0]}, in1 tile width={call.tile[1]}). "
            "Use tile width 32 when bias is fused, or apply bias as a post-process add.",
            hint="ttnn.add(ttnn.matmul(a, b, …), bias)",
        )
    wide = behind[-2 if call.transpose_b else -1]
    if (
        call.program is None
        and bias.dtype is call.dtype
        and len(own) <= 4
        and own[-1:] == (wide,) == (math.prod(own),)
    ):
        return False  # one row of the product's type, as nearly every bias is: it goes with all of them
    alone = math.prod(behind[:-2]) == 1
    rank = max(len(front), len(behind))
    batches = (
        max(pair)
        for pair in zip(*((*(1,) * (rank - len(dims)), *dims[:-2]) for dims in (front, behind)), strict=True)
    )
    shape = (*batches, front[-1 if call.transpose_a else -2], wide)
    assert call.dtype is not None
    fused, whole = call.program is not None, isinstance(call.program, MatmulMultiCoreReuseProgramConfig)
    after = bias.dtype is not call.dtype and not fused and core_grid is None and _adds_after(call)
    within = alone and (len(own) < 2 or own[-2] <= TILE_SIZE)
    if within and getattr(call.program, "mcast_in0", False) and in_l1(call.b) and not bias.is_sharded():
        raise fatal(
            "bad optional access",
            hint="a bias in shards beside a second operand in shards, or ttnn.to_memory_config(b, ttnn.DRAM_MEMORY_CONFIG)",
        )
    return check_bias(bias, shape, call.dtype, alone, fused, whole, after)


def _adds_after(call: ProductCall) -> bool:
    """Whether a bias is added to a product without a program as a sum of two tensors: by where operands and result lie."""
    places = (call.output, call.a.memory_config(), call.b.memory_config())
    if places[0].buffer_type is not BufferType.DRAM:
        return True
    near = (place.is_sharded() or place.buffer_type is not BufferType.DRAM for place in places)
    return not call.a.is_sharded() and any(near)


def fused_activation(
    activation: Activation | None, program_config: object, core_grid: CoreGrid | None = None
) -> Function | None:
    """What is done to a product: what its program computes, and then the activation of the call, which a grid alone puts into the program."""
    fused = getattr(program_config, "fused_activation", None)
    first = None if fused is None else in_program(fused)
    if activation is None:
        return first
    own = (function_of if core_grid is None or program_config is not None else in_program)(activation)
    return own if first is None else lambda values: own(first(values))
