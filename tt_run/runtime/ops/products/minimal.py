"""Products whose blocks a program sets: minimal_matmul and what models fuse with it. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.activations import Activation
from tt_run.runtime.kernels.activations import activation as function_of
from tt_run.runtime.kernels.functions import silu
from tt_run.runtime.ops.data_movement.joining import chunk
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import no_tensor, operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare
from tt_run.runtime.ops.products.minimal_checks import check_minimal
from tt_run.runtime.ops.products.product import product
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


_TUNED = f"{PLACED}, dtype: DataType | None = None, compute_kernel_config: object = None"


PRODUCTS = declare(
    families.MATMUL,
    Row("experimental.dit_minimal_matmul_addcmul_fused",
        "(matmul_input_tensor: Tensor, matmul_weight_tensor: Tensor, scalar: float, addcmul_input_tensor1: Tensor, addcmul_input_tensor2: Tensor, "
        f"bias_tensor: Tensor | None = None, *, config: object = None, {_TUNED})",
        lambda x, w, scalar, first, second, bias=None, config=None: first + scalar * (x @ w + (0 if bias is None else bias)) * second,
        "first + scalar (x w + bias) second, rounded once.", integers=False),
)  # fmt: skip


@operation("ttnn.experimental.minimal_matmul_split", family=families.MATMUL)
def minimal_matmul_split(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    *,
    chunks: int = 3,
    dim: int = -1,
    bias_tensor: Tensor | None = None,
    fused_activation: Any = None,
    config: object = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    fuse_swiglu: bool = False,
) -> list[Tensor]:
    """`minimal_matmul`, its result cut into equal parts along the last dimension. Raises RuntimeError for another dimension."""
    if dim not in (-1, len(input_tensor.shape) - 1):
        raise fatal(f"minimal_matmul_split: only the last dimension can be split, got {dim}", hint="dim=-1")
    if weight_tensor.shape[-1] % (chunks * TILE_SIZE):
        raise fatal(
            f"Each chunk size N/chunks={weight_tensor.shape[-1] / chunks:g} must be a multiple of TILE_WIDTH={TILE_SIZE}",
            hint="ttnn.experimental.minimal_matmul, and ttnn.split of its result",
        )
    whole = minimal_product(
        side_by_side(input_tensor, weight_tensor), weight_tensor, bias_tensor, fused_activation, memory_config, dtype, fuse_swiglu
    )  # fmt: skip
    return list(chunk.compute(whole, chunks, dim))


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
    on_device(whole, weight_tensor, kind="matmul")
    if fuse_swiglu and fused_activation is not None:
        raise fatal("fuse_swiglu excludes fused_activation", hint="leave one of the two out")
    check_minimal(whole, weight_tensor, bias_tensor, config, dtype, fuse_swiglu)
    return minimal_product(
        whole, weight_tensor, bias_tensor, fused_activation, memory_config, dtype, fuse_swiglu
    )


def minimal_product(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: Activation | None = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    fuse_swiglu: bool = False,
) -> Tensor:
    """As `minimal_matmul`, whatever room its blocks would take."""
    made = product(
        x,
        weight,
        bias,
        function=None if activation is None else function_of(activation),
        dtype=DataType.FLOAT32 if fuse_swiglu else dtype,
        memory_config=None if fuse_swiglu else memory_config,
    )
    if not fuse_swiglu:
        return made
    target = dtype or x.dtype
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
        raise fatal(
            f"input_tensor must be one tensor or [prefix, suffix], got {len(inputs)} tensors",
            hint="ttnn.concat joins more before",
        )
    prefix, suffix = inputs
    on_device(prefix, suffix, weight, kind="matmul")
    seam = -(-prefix.shape[-1] // TILE_SIZE) * TILE_SIZE
    width, rest = weight.shape[-2], suffix.shape[-1]
    if tuple(prefix.shape)[:-1] != tuple(suffix.shape)[:-1]:
        raise fatal(
            f"prefix {prefix.shape} and suffix {suffix.shape} may differ in their last dimension only",
            hint="give both the same rows and batches",
        )
    if not seam + rest <= width <= seam + -(-rest // TILE_SIZE) * TILE_SIZE:
        raise fatal(
            f"prefix and suffix of {prefix.shape[-1]} and {rest} columns, each filled up to whole tiles, do not fit "
            f"a weight of {width} rows",
            hint=f"a weight of {seam + rest} rows, or prefix and suffix of {width} columns together",
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
        raise fatal(
            f"fuse_swiglu needs pairs of tiles, got {width} columns",
            "N % (2 * TILE_SIZE) == 0",
            hint=f"pad the weight to a multiple of {2 * TILE_SIZE} columns",
        )
    pairs = values.reshape(*rest, width // (2 * TILE_SIZE), 2, TILE_SIZE)
    gated: Array = silu(np.ascontiguousarray(pairs[..., 0, :])) * pairs[..., 1, :]
    return gated.reshape(*rest, width // 2)
