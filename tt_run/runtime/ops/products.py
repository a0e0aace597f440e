"""Matrix products: `matmul`, `linear` and their kin, on shards.

Program and kernel configurations choose how a device computes; they are accepted, the numbers do not depend on them. Everything
is multiplied in float32 and rounded once, after bias and activation.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.activations import Activation, Function
from tt_run.runtime.kernels.activations import activation as function_of
from tt_run.runtime.kernels.elementwise import evaluate, finish
from tt_run.runtime.kernels.functions import silu
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.broadcast import align
from tt_run.runtime.ops.declaration.dispatch import no_tensor, operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement.sharded_results import in_dram, of_product
from tt_run.runtime.tensor.spec.memory_config import CoreGrid, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import convert, is_float
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


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
) -> Tensor:
    """function(a @ b + bias); dtype: that of a unless given. Shapes (…, M, K) @ (…, K, N), batch dimensions broadcast.

    A vector counts as a row in front and as a column behind, and leaves no dimension in the result.
    """
    tensors = (a, b) if bias is None else (a, b, bias)
    on_device(*tensors, kind="matmul")
    _check(a, b, transpose_a, transpose_b)
    dtype = dtype or (output_tensor.dtype if isinstance(output_tensor, Tensor) else a.dtype)
    memory_config = memory_config or in_dram(a)
    row, column = len(a.shape) == 1, len(b.shape) == 1
    if row or column:
        return _by_vector(a, b, bias, row, column, dtype, function, memory_config, output_tensor)
    rank = max(len(a.shape), len(b.shape))
    rows = a.shape[-1] if transpose_a else a.shape[-2]
    if bias is not None:
        _check_bias(bias, rows, b.shape[-2] if transpose_b else b.shape[-1])

    def compute(x: Array, y: Array, z: Array | None = None) -> Array:
        x, y = align(x, rank), align(y, rank)
        values: Array = gemm.matmul(
            np.swapaxes(x, -1, -2) if transpose_a else x, np.swapaxes(y, -1, -2) if transpose_b else y
        )
        if z is not None:
            if z.ndim > 2 and z.shape[-2] not in (1, rows):
                z = z[..., :1, :]  # a row in a tile of its own: the rest of the tile does not count
            z = align(z, rank)
            return evaluate((lambda v, w: function(v + w)) if function else np.add, dtype, values, z)
        return evaluate(function, dtype, values) if function else finish(values, dtype)

    shards = combine(compute, *(t.shards for t in tensors))
    if memory_config is not None and memory_config.is_sharded():
        *batch, high, wide = shards.data.shape[1:]
        memory_config = of_product(a, memory_config, core_grid, program_config, math.prod(batch), high, wide)
    return settle(tensors, shards, dtype, memory_config=memory_config, output_tensor=output_tensor, tile=tile)


def _by_vector(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    row: bool,
    column: bool,
    dtype: DataType,
    function: Function | None,
    memory_config: MemoryConfig | None,
    output_tensor: Tensor | None,
) -> Tensor:
    """Products with a vector: its missing dimension is put in, and left out of the result; a bias is added to what is left."""
    tensors = (a, b) if bias is None else (a, b, bias)

    def compute(x: Array, y: Array, z: Array | None = None) -> Array:
        values: Array = gemm.matmul(
            *(align(s, 2) if s.ndim == 2 else s for s in (x, y[..., None] if column else y))
        )
        values = values[..., 0, :] if row else values
        values = np.ascontiguousarray(values[..., 0] if column else values)
        if z is not None:
            rank = max(values.ndim, z.ndim) - 1  # without the axis of distinct shards
            plus = (lambda v, w: function(v + w)) if function else np.add
            return evaluate(plus, dtype, align(values, rank), align(z, rank))
        return evaluate(function, dtype, values) if function else finish(values, dtype)

    shards = combine(compute, *(t.shards for t in tensors))
    if memory_config is not None and memory_config.is_sharded():
        memory_config = of_product(a, memory_config, None, None, 1, 1, shards.data.shape[-1])
    return settle(tensors, shards, dtype, memory_config=memory_config, output_tensor=output_tensor)


def _check_bias(bias: Tensor, rows: int, width: int) -> None:
    shape = tuple(bias.shape)
    height = shape[-2] if len(shape) > 1 else 1
    if shape[-1] not in (1, width) or height not in (1, rows, TILE_SIZE):
        raise fatal(
            f"bias of shape {list(shape)} does not fit a product of {rows} rows and {width} columns",
            hint=f"a bias has shape [{width}], [1, {width}] or [{TILE_SIZE}, {width}], whose first row counts",
        )


def _check(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> None:
    ours, theirs = a.shape.dims, b.shape.dims
    if not ours or not theirs:
        raise fatal(f"matmul needs tensors of rank 1 or more, got shapes {list(ours)} and {list(theirs)}")
    width = ours[-2] if transpose_a and len(ours) > 1 else ours[-1]
    height = theirs[-1] if transpose_b or len(theirs) == 1 else theirs[-2]
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
    if min(len(ours), len(theirs)) < 2 or math.prod(theirs[:-2]) == 1:
        return
    if any(length != 1 for length in theirs[: max(len(theirs) - len(ours), 0)]):
        raise fatal(
            "When in1 rank greater than in0 rank front dimensions need to be 1", "input_shape_b[index] == 1"
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


def _fused(activation: Activation | None, program_config: object) -> Function | None:
    """The activation of a call: its own, or the one that its program config fuses."""
    chosen = activation if activation is not None else getattr(program_config, "fused_activation", None)
    return None if chosen is None else function_of(chosen)


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
        function=_fused(activation, program_config),
        dtype=dtype,
        memory_config=memory_config,
        output_tensor=optional_output_tensor,
        tile=output_tile,
        core_grid=core_grid,
        program_config=program_config,
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
    """a @ b of few rows; where its operands are cut over cores changes no value."""
    result: Tensor = matmul.compute(
        input_tensor_a, input_tensor_b, dtype=dtype, memory_config=output_mem_config
    )
    return result


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
        function=_fused(activation, program_config),
        dtype=dtype,
        memory_config=memory_config,
        output_tensor=optional_output_tensor,
        tile=output_tile,
        core_grid=core_grid,
        program_config=program_config,
    )


def _columns(a: Tensor, b: Tensor, start: int, transpose_a: bool, transpose_b: bool) -> Tensor:
    """The columns of `a` that `b` is multiplied with, from a whole tile on."""
    count = b.shape[-1] if transpose_b else b.shape[-2]
    if transpose_a or a.memory_config().is_sharded():
        raise fatal("in0_column_offset needs an interleaved first tensor and no transpose_a")
    if start < 0 or start % TILE_SIZE or start + count > a.shape[-1]:
        raise fatal(
            f"in0_column_offset {start} must be a multiple of {TILE_SIZE}, with {count} columns of {a.shape[-1]} from there on"
        )
    return settle((a,), a.shards.map(lambda s: s[..., start : start + count].copy()), a.dtype)


@operation("ttnn.experimental.minimal_matmul", family=families.MATMUL)
def minimal_matmul(
    input_tensor: Tensor | Sequence[Tensor],
    weight_tensor: Tensor,
    *,
    bias_tensor: Tensor | None = None,
    fused_activation: Activation | None = None,
    config: object = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    fuse_swiglu: bool = False,
) -> Tensor:
    """activation(input @ weight + bias), rounded once; of two inputs side by side, each filled up to whole tiles.

    With `fuse_swiglu` the columns are tiles of gates and of what they gate in turn: silu(gate) * up, half as wide. Raises RuntimeError
    for that with an activation, or when the columns are no pairs of tiles.
    """
    whole = side_by_side(input_tensor, weight_tensor)
    if fuse_swiglu and fused_activation is not None:
        raise fatal("fuse_swiglu excludes fused_activation")
    made = product(
        whole,
        weight_tensor,
        bias_tensor,
        function=None if fused_activation is None else function_of(fused_activation),
        dtype=DataType.FLOAT32 if fuse_swiglu else dtype,
        memory_config=None if fuse_swiglu else memory_config,
    )
    if not fuse_swiglu:
        return made
    target = dtype or whole.dtype
    return settle(
        (made,), made.shards.map(lambda v: convert(swiglu(v), target)), target, memory_config=memory_config
    )


def side_by_side(inputs: Tensor | Sequence[Tensor], weight: Tensor) -> Tensor:
    """One tensor as it is; of two, the second behind the first, which is filled up to whole tiles, as wide as the weight is high.

    Raises RuntimeError for other numbers of tensors, and when they do not fit.
    """
    if isinstance(inputs, Tensor):
        return inputs
    if not isinstance(inputs, (list, tuple)):
        raise no_tensor("input_tensor", inputs)
    if len(inputs) != 2:
        raise fatal(f"input_tensor must be one tensor or [prefix, suffix], got {len(inputs)} tensors")
    prefix, suffix = inputs
    on_device(prefix, suffix, weight, kind="matmul")
    seam = -(-prefix.shape[-1] // TILE_SIZE) * TILE_SIZE
    width, rest = weight.shape[-2], suffix.shape[-1]
    if tuple(prefix.shape)[:-1] != tuple(suffix.shape)[:-1]:
        raise fatal(
            f"prefix {prefix.shape} and suffix {suffix.shape} may differ in their last dimension only"
        )
    if not seam + rest <= width <= seam + -(-rest // TILE_SIZE) * TILE_SIZE:
        raise fatal(
            f"prefix and suffix of {prefix.shape[-1]} and {rest} columns, each filled up to whole tiles, do not fit "
            f"a weight of {width} rows"
        )

    def joined(first: Array, second: Array) -> Array:
        whole = np.zeros((*first.shape[:-1], width), np.float32)
        whole[..., : first.shape[-1]] = first
        whole[..., seam : seam + rest] = second
        return whole

    return settle((prefix, suffix), combine(joined, prefix.shards, suffix.shards), prefix.dtype)


def swiglu(values: Array) -> Array:
    """Of columns that are tiles of gates and of what they gate in turn: silu(gate) * up. Raises RuntimeError when they are no pairs."""
    *rest, width = values.shape
    if width % (2 * TILE_SIZE):
        raise fatal(f"fuse_swiglu needs pairs of tiles, got {width} columns", "N % (2 * TILE_SIZE) == 0")
    pairs = values.reshape(*rest, width // (2 * TILE_SIZE), 2, TILE_SIZE)
    gated: Array = silu(np.ascontiguousarray(pairs[..., 0, :])) * pairs[..., 1, :]
    return gated.reshape(*rest, width // 2)


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
            function=_fused(activation, program_config),
            dtype=dtype,
            memory_config=memory_config,
            output_tensor=optional_output_tensor,
            tile=output_tile,
        )
        for b in input_tensors_b
    ]


def _golden_addmm(x: Any, a: Any, b: Any, alpha: float = 1.0, beta: float = 1.0, **_: Any) -> Any:
    return beta * x + alpha * (a @ b)


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
    """beta input + alpha (mat1 @ mat2), rounded once; the input broadcasts."""
    dtype = dtype or (
        optional_output_tensor.dtype if optional_output_tensor is not None else mat1_tensor.dtype
    )
    given = (mat1_tensor, mat2_tensor, input_tensor)
    on_device(*given, kind="matmul")
    _check(mat1_tensor, mat2_tensor, False, False)
    one, other = np.float32(alpha), np.float32(beta)

    def compute(a: Array, b: Array, x: Array) -> Array:
        values = gemm.matmul(a, b)
        return evaluate(lambda v, w: one * v + other * w, dtype, values, align(x, values.ndim - 1))

    shards = combine(compute, *(t.shards for t in given))
    return settle(
        given,
        shards,
        dtype,
        memory_config=memory_config,
        output_tensor=optional_output_tensor,
        tile=output_tile,
    )
