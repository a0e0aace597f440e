"""Matrix products: `matmul`, `linear` and their kin, on shards.

Program and kernel configurations choose how a device computes; they are accepted, the numbers do not depend on them. Everything
is multiplied in float32 and rounded once, after bias and activation.
Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import replace
from tt_run.runtime.enums import DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.activations import Activation
from tt_run.runtime.kernels.elementwise import evaluate
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.broadcast import align
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement.sharded_results import in_dram
from tt_run.runtime.ops.products.operands import check
from tt_run.runtime.ops.products.product import Rules, fused_activation, product, program_of
from tt_run.runtime.ops.products.program_call import ProductCall
from tt_run.runtime.ops.products.program_checks import check_program
from tt_run.runtime.tensor.spec.memory_config import CoreGrid, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import BLOCK_FLOATS
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@operation("ttnn.matmul", family=families.MATMUL, golden=goldens.matmul)
def matmul(
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    program_config: object = None,
    activation: Activation | None = None,
    compute_kernel_config: object = None,
    core_grid: CoreGrid | None = None,
    output_tile: Tile | None = None,
    optional_output_tensor: Tensor | None = None,
    global_cb: object = None,
    sub_device_id: object = None,
    prefetcher_pipes: Sequence[object] = (),
) -> Tensor:
    """a @ b over the last two dimensions, batch dimensions broadcast; dtype of a unless given."""
    return product(
        input_tensor_a,
        input_tensor_b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        function=fused_activation(activation, program_config, core_grid),
        dtype=dtype,
        memory_config=memory_config,
        output_tensor=optional_output_tensor,
        tile=output_tile,
        core_grid=core_grid,
        program_config=program_config,
        rules=Rules(activation, compute_kernel_config),
    )


@operation("ttnn.experimental.matmul_decode", family=families.MATMUL)
def matmul_decode(
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    *,
    partial_width_sharded: bool = False,
    dtype: DataType | None = None,
    output_mem_config: MemoryConfig | None = None,
) -> Tensor:
    """a @ b of few rows. Both operands are cut by columns, and so is the result where `output_mem_config` names its cores.

    Raises RuntimeError for other cuts.
    """
    on_device(input_tensor_a, input_tensor_b, kind="matmul")
    for letter, tensor in (("A", input_tensor_a), ("B", input_tensor_b)):
        layout = tensor.memory_config().memory_layout
        if layout is not TensorMemoryLayout.WIDTH_SHARDED:
            raise fatal(
                f"Input tensor {letter} must be in width sharded memory layout, but got {cpp(layout)}",
                hint="ttnn.to_memory_config(tensor, …WIDTH_SHARDED…)",
            )
    if output_mem_config is None or output_mem_config.shard_spec is None:
        raise fatal(
            "matmul_decode needs the cores of its result",
            "bad optional access",
            hint="output_mem_config=ttnn.create_sharded_memory_config(…, strategy=ttnn.ShardStrategy.WIDTH)",
        )
    if not partial_width_sharded and output_mem_config.shard_spec.grid.num_cores() < 2:
        raise fatal(
            "full_width_sharded matmul_decode two-hub broadcast requires a compute rectangle of at least 2 cores",
            hint="operands and result on two cores or more, or ttnn.matmul",
        )
    made = product(input_tensor_a, input_tensor_b, dtype=dtype)
    return settle((made,), made.shards, made.dtype, memory_config=output_mem_config)


@operation("ttnn.linear", family=families.MATMUL, golden=goldens.linear)
def linear(
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    *,
    bias: Tensor | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    program_config: object = None,
    activation: Activation | None = None,
    compute_kernel_config: object = None,
    core_grid: CoreGrid | None = None,
    output_tile: Tile | None = None,
    optional_output_tensor: Tensor | None = None,
    global_cb: object = None,
    sub_device_id: object = None,
    prefetcher_pipes: Sequence[object] = (),
    in0_column_offset: int | None = None,
) -> Tensor:
    """activation(a @ b + bias), rounded once; the bias broadcasts over rows.

    Of a, as many columns as b has rows, from `in0_column_offset` on if that is given. Raises RuntimeError when they are not there.
    """
    if in0_column_offset is not None:
        input_tensor_a = _columns(input_tensor_a, input_tensor_b, in0_column_offset, transpose_a, transpose_b)
    return product(
        input_tensor_a,
        input_tensor_b,
        bias,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        function=fused_activation(activation, program_config, core_grid),
        dtype=dtype,
        memory_config=memory_config,
        output_tensor=optional_output_tensor,
        tile=output_tile,
        core_grid=core_grid,
        program_config=program_config,
        rules=Rules(activation, compute_kernel_config),
    )


def _columns(a: Tensor, b: Tensor, start: int, transpose_a: bool, transpose_b: bool) -> Tensor:
    """The columns of `a` that `b` is multiplied with, from a whole tile on."""
    count = b.shape[-1] if transpose_b else b.shape[-2]
    if transpose_a or a.memory_config().is_sharded():
        raise fatal(
            "in0_column_offset needs an interleaved first tensor and no transpose_a",
            hint="ttnn.slice the columns of the first tensor instead",
        )
    if start < 0 or start % TILE_SIZE or start + count > a.shape[-1]:
        raise fatal(
            f"in0_column_offset {start} must be a multiple of {TILE_SIZE}, with {count} columns of {a.shape[-1]} from there on",
            hint="ttnn.slice the columns of the first tensor instead",
        )
    return settle((a,), a.shards.map(lambda s: s[..., start : start + count].copy()), a.dtype)


@operation("ttnn.matmul_batched_weights", family=families.MATMUL, golden=goldens.batched_weights)
def matmul_batched_weights(
    input_tensor_a: Tensor,
    input_tensors_b: Sequence[Tensor],
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    program_config: object = None,
    activation: Activation | None = None,
    compute_kernel_config: object = None,
    core_grid: CoreGrid | None = None,
    output_tile: Tile | None = None,
    optional_output_tensor: Tensor | None = None,
    global_cb: object = None,
    sub_device_id: object = None,
) -> list[Tensor]:
    """The product of a with each of several tensors."""
    return [
        product(
            input_tensor_a,
            b,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            function=fused_activation(activation, program_config, core_grid),
            dtype=dtype,
            memory_config=memory_config,
            output_tensor=optional_output_tensor,
            tile=output_tile,
            core_grid=core_grid,
            program_config=program_config,
            rules=Rules(activation, compute_kernel_config),
        )
        for b in input_tensors_b
    ]


def _golden_addmm(x: Any, a: Any, b: Any, alpha: float = 1.0, beta: float = 1.0, **_: Any) -> Any:
    # Nothing of x is seen where it counts for nothing, not even its shape.
    return alpha * (a @ b) + (beta * x if beta else 0)


@operation("ttnn.addmm", family=families.MATMUL, golden=_golden_addmm)
def addmm(
    input_tensor: Tensor,
    mat1_tensor: Tensor,
    mat2_tensor: Tensor,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    core_grid: CoreGrid | None = None,
    output_tile: Tile | None = None,
    optional_output_tensor: Tensor | None = None,
) -> Tensor:
    """beta input + alpha (mat1 @ mat2), rounded once; the input is as large as a product of matrices, and does not count where beta is 0.

    Raises RuntimeError for an alpha of 0 and another input.
    """
    dtype = dtype or (
        optional_output_tensor.dtype if optional_output_tensor is not None else mat1_tensor.dtype
    )
    given = (mat1_tensor, mat2_tensor, input_tensor)
    on_device(*given, kind="matmul")
    check(mat1_tensor, mat2_tensor, False, False)
    if alpha == 0:
        raise fatal("alpha parameter cannot be 0", hint="ttnn.multiply(input, beta) needs no product")
    product_shape = [
        mat1_tensor.shape[0],
        mat2_tensor.shape[1],
    ]  # whatever is a batch: it reads them from the front
    if beta != 0 and list(input_tensor.shape[:2]) != product_shape:
        raise fatal(
            "input_tensor must have shape matching one of result of mat1_tensor @ mat2_tensor",
            hint=f"an input of shape {product_shape}; this one is {list(input_tensor.shape)}: ttnn.linear(mat1, mat2, bias=…) broadcasts a row",
        )
    if input_tensor.layout is not Layout.TILE and dtype in BLOCK_FLOATS:
        raise fatal(
            f"Only TILE layout is supported for {dtype.name} dtype!",
            hint="ttnn.to_layout(input, ttnn.TILE_LAYOUT)",
        )
    memory_config = memory_config or in_dram(mat1_tensor)
    if program_config is None:
        call = ProductCall(mat1_tensor, mat2_tensor, None, asked=memory_config, dtype=dtype)
        if (program := program_of(call, core_grid)) is not None:
            check_program(replace(call, program=program))
    one, other = np.float32(alpha), np.float32(beta)

    def compute(a: Array, b: Array, x: Array) -> Array:
        dims = max(a.ndim, b.ndim) - 1
        values = gemm.matmul(align(a, dims), align(b, dims))
        if beta == 0:
            return evaluate(lambda v: one * v, dtype, values)
        rank = max(values.ndim, x.ndim) - 1
        return evaluate(lambda v, w: one * v + other * w, dtype, align(values, rank), align(x, rank))

    shards = combine(compute, *(t.shards for t in given))
    return settle(
        given,
        shards,
        dtype,
        memory_config=memory_config,
        output_tensor=optional_output_tensor,
        tile=output_tile,
    )
