"""Softmax, also scaled, masked and in place. Everything is computed in float32 and rounded once. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.kernels.rowwise import along_axis, along_last
from tt_run.runtime.ops.data_movement import joining
from tt_run.runtime.ops.data_movement.repeating import repeat
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.broadcast import align, check_broadcast
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import axis_of, floating, keep_label, on_device, settle
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.normalisation import softmax_rows
from tt_run.runtime.ops.placement import viewed_shards
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.blocks import SoftmaxDefaultProgramConfig, SoftmaxShardedMultiCoreProgramConfig
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]

_NORMED = (DataType.FLOAT32, DataType.BFLOAT16, DataType.BFLOAT8_B)


def check_normed(tensor: Tensor) -> None:
    """Raises RuntimeError for elements that no softmax or norm takes."""
    if tensor.dtype not in _NORMED:
        raise fatal(
            f"Input tensor must be FLOAT32, BFLOAT16, or BFLOAT8_B, got: {cpp(tensor.dtype)}",
            hint="ttnn.typecast(tensor, ttnn.bfloat16)",
        )


def _check_softmax(tensor: Tensor, dim: int = -1) -> None:
    check_normed(tensor)
    # Rows of four dimensions are tilized on the way, and in the reference's wheel those of three along the last but one; numbers stay rows.
    tilized = not len(tensor.shape) or (len(tensor.shape), dim) in ((4, -1), (3, -2))
    if tensor.layout is not Layout.TILE and not tilized:
        raise fatal("Inputs to softmax must be tilized", hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)")


def _check_rank(tensor: Tensor) -> None:
    if len(tensor.shape) > 4:
        raise fatal("Tensor rank is greater than 4", hint="ttnn.reshape(tensor, (-1, C, H, W))")


def _check_in_place(tensor: Tensor) -> None:
    on_device(tensor, kind="softmax")
    if tensor.layout is not Layout.TILE:
        raise fatal("Inputs to softmax must be tilized", hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)")


@operation("ttnn.softmax", family=families.NORM, golden=goldens.softmax)
def softmax(
    input_tensor: Tensor,
    dim: int = -1,
    *,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    numeric_stable: bool = True,
) -> Tensor:
    """exp(x) / sum of exp(x) along `dim`; numeric_stable=False warns of rows that overflow on a device, which are zeros there."""
    on_device(input_tensor, kind="softmax")
    rank = max(len(input_tensor.shape), 1)
    beyond = f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
    axis = axis_of(dim, rank, beyond) + 1
    _check_softmax(input_tensor, axis - rank - 1)
    if memory_config is None and input_tensor.is_sharded() and input_tensor.layout is Layout.TILE:
        viewed_shards.of_view(
            input_tensor, tuple(input_tensor.shape)
        )  # how the result is left without padding
    if memory_config is None and input_tensor.is_sharded() and len(input_tensor.shape) < 4:
        # It is seen as four dimensions before, which names pieces of a matrix as such.
        memory_config = sharding.of_matrix(input_tensor.memory_config())
    written = _written(numeric_stable)
    function = written or softmax_rows.stable

    def compute(stack: Array) -> Array:
        rows = stack if stack.ndim > 1 else stack[:, None]
        return along_axis(axis, function, input_tensor.dtype, rows, either=True).reshape(stack.shape)

    shards = input_tensor.shards.map(compute, either=True)
    if written:
        written.tell()
    layout = Layout.TILE if len(input_tensor.shape) else None
    return settle((input_tensor,), shards, input_tensor.dtype, memory_config=memory_config, layout=layout)


def masked_softmax(
    x: Tensor,
    scale: float | None,
    mask: Tensor | None,
    memory_config: MemoryConfig | None,
    written: softmax_rows.AsWritten | None = None,
) -> Tensor:
    """softmax(x * scale + mask) along the last dimension, stable unless `written` is given; the mask broadcasts."""
    operands = (x,) if mask is None else (x, mask)
    on_device(*operands, kind="softmax")
    _check_rank(x)
    if mask is None:
        check_normed(x)  # rows are tilized on the way
    else:
        _check_softmax(x)
    floating("softmax", *operands)
    if mask is not None:
        x_rank = x.shape.rank
        if mask.shape.rank > x_rank and all(n == 1 for n in mask.shape.dims[: mask.shape.rank - x_rank]):
            kept = mask.shape.dims[mask.shape.rank - x_rank :]
            mask = mask.derive(mask.shards.map(lambda stack: stack.reshape(len(stack), *kept)))
            operands = (x, mask)
        check_broadcast(mask.shape, x.shape)
    function = written or softmax_rows.stable
    factor = np.float32(1 if scale is None else scale)

    def compute(stack: Array, bias: Array | None = None) -> Array:
        if bias is None:
            return along_last(lambda out, rows: function(out, rows * factor), x.dtype, stack, either=True)
        added = align(bias, stack.ndim - 1).astype(np.float32, copy=False)
        masked: Any = lambda out, rows, m: function(out, rows * factor + m)  # noqa: E731
        return along_last(masked, x.dtype, stack, added, either=True)

    shards = combine(compute, *(t.shards for t in operands), either=True)
    if written:
        written.tell()
    return settle(operands, shards, x.dtype, memory_config=memory_config, layout=Layout.TILE)


def _written(numeric_stable: bool) -> softmax_rows.AsWritten | None:
    return None if numeric_stable else softmax_rows.AsWritten()


@operation("ttnn.scale_mask_softmax", family=families.NORM, golden=attention_goldens.masked_softmax)
def scale_mask_softmax(
    input_tensor: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    is_causal_mask: bool = False,
    compute_kernel_config: object = None,
    numeric_stable: bool = True,
) -> Tensor:
    """softmax(x * scale + mask) along the last dimension; the mask is added and broadcasts."""
    _check_scale(scale, mask)
    if is_causal_mask and mask is None:
        raise fatal(
            "Causal-mask softmax requires an attention mask (is_causal_mask=true with no mask is unsupported).",
            hint="mask=…, or is_causal_mask=False",
        )
    check_users(input_tensor, mask)
    check_alike(input_tensor, mask, in_place=False)
    check_height(input_tensor, mask)
    mask = mask_of_rows(mask, input_tensor, is_causal_mask)
    written = _written(numeric_stable)
    return masked_softmax(input_tensor, scale, mask, memory_config, written)


def _check_scale(scale: float | None, mask: Tensor | None) -> None:
    if scale is not None and mask is None:
        raise fatal(
            "Scale value must not be set when mask is not present",
            hint=f"ttnn.multiply(tensor, {scale}) first, or a mask of zeros",
        )


def check_users(x: Tensor, mask: Tensor | None) -> None:
    """Raises RuntimeError for a mask of another batch than that of its tensor."""
    if mask is None or mask.shape.rank == 0:
        return
    batch = x.shape[0] if x.shape.rank == _RANK else 1
    if mask.shape[0] == batch:
        return
    raise fatal(
        f"Input and mask batch sizes must match, got input: {batch} vs mask: {mask.shape[0]}",
        hint=f"ttnn.repeat(mask, ({batch}, 1, 1, 1))" if mask.shape.rank == _RANK else _IN_FOUR,
    )


_IN_FOUR = "ttnn.unsqueeze_to_4D(mask)"
_RANK = 4


def check_height(x: Tensor, mask: Tensor | None) -> None:
    """Raises RuntimeError for a mask of more rows than one tile, of a tensor that is not cut."""
    if mask is None or mask.shape.rank < 2 or x.is_sharded():
        return
    high = mask.padded_shape[-2]
    if high not in (1, TILE_SIZE):
        raise fatal(
            f"Mask height must be 1 or input tensor tile height ({TILE_SIZE}), got: {high}. A full causal mask is not accepted here; for "
            "causal attention use ttnn::transformer::scaled_dot_product_attention with is_causal=true.",
            hint="ttnn.add(ttnn.multiply(tensor, scale), mask) and ttnn.softmax, or ttnn.scale_mask_softmax_in_place",
        )


_OF_ALL_HEADS = "This path requires head-uniform masks; apply a per-head bias with a separate ttnn::add before ttnn::softmax."


def check_alike(x: Tensor, mask: Tensor | None, in_place: bool = True) -> None:
    """Raises RuntimeError for a mask of each head, or of fewer dimensions: after the first they count as heads."""
    if mask is None or mask.is_sharded() or mask.shape.rank < 2:
        return
    if in_place and mask.layout is Layout.ROW_MAJOR:
        return
    length = mask.padded_shape[1]
    if length != 1:
        words = "Non-sharded mask intermediate dimensions must be 1, got {} at dimension 1. "
        if not in_place:
            words = "Mask intermediate dimension 1 must be 1, got: {}. "
        raise fatal(
            words.format(length) + _OF_ALL_HEADS,
            hint="ttnn.add(tensor, mask), and ttnn.softmax" if mask.shape.rank == _RANK else _IN_FOUR,
        )


def in_one_row(mask: Tensor | None, x: Tensor) -> Tensor | None:
    """A mask as it is added: of one in rows, each user's elements are cut into rows of a tile's width.

    Raises RuntimeError for a mask in rows that is not.
    """
    if mask is None or mask.is_sharded() or mask.layout is Layout.TILE:
        return mask
    width = x.padded_shape[-1]
    expected = (x.shape[0], 1, width // TILE_SIZE, TILE_SIZE)
    if tuple(mask.shape) != expected:
        raise fatal(
            "Non-sharded mask shape must match expected shape",
            f"{mask.shape} == Shape({list(expected)})",
            hint=f"ttnn.reshape(mask, {expected}), or {in_tiles('mask')}",
        )
    row = mask.derive(mask.shards.map(lambda stack: stack.reshape(len(stack), expected[0], 1, 1, width)))
    return joining.slice.compute(row, [0] * 4, [expected[0], 1, 1, x.shape[-1]])


def mask_of_rows(mask: Tensor | None, x: Tensor, causal: bool) -> Tensor | None:
    """The mask for every row of `x`, where heads may lie one below the other and the mask has another number of rows than they.

    A causal one begins anew after its last row; of another one the first row counts, as it does where the mask was padded to a tile.
    """
    if mask is None or x.shape.rank < 2 or mask.shape.rank < 2:
        return mask
    rows, height = x.shape[-2], mask.shape[-2]
    if height in (1, rows) or (rows % height and (causal or height != TILE_SIZE)):
        return mask
    if causal:
        return repeat.compute(mask, [*(1,) * (mask.shape.rank - 2), rows // height, 1])
    return joining.slice.compute(mask, [0] * mask.shape.rank, [*mask.shape[:-2], 1, mask.shape[-1]])


def _outliving(written: Tensor) -> Tensor:
    """The tensor that a softmax was written over, as another that is still there when the program gives that one back."""
    return written.derive(written.shards, memory_config=written.memory_config(), view=lambda stack: stack)


@operation("ttnn.softmax_in_place", family=families.NORM, golden=goldens.softmax)
def softmax_in_place(
    input_tensor: Tensor,
    dim: int = -1,
    *,
    program_config: object = None,
    compute_kernel_config: object = None,
    numeric_stable: bool = True,
) -> Tensor:
    """`softmax` written over its input; returns what sees it there."""
    _check_in_place(input_tensor)
    _check_rank(input_tensor)
    axis = axis_of(dim, len(input_tensor.shape))
    if axis != 3:
        raise fatal(
            f"Invalid dimension: {axis}. Currently softmax inplace supports dim -1.",
            hint="ttnn.unsqueeze_to_4D(tensor), and its last dimension",
        )
    result: Tensor = softmax.compute(input_tensor, dim, numeric_stable=numeric_stable)
    input_tensor.overwrite(result.shards)
    return _outliving(input_tensor)


@operation("ttnn.scale_mask_softmax_in_place", family=families.NORM, golden=attention_goldens.masked_softmax)
def scale_mask_softmax_in_place(
    input_tensor: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    *,
    program_config: object = None,
    is_causal_mask: bool = False,
    compute_kernel_config: object = None,
    numeric_stable: bool = True,
) -> Tensor:
    """`scale_mask_softmax` written over its input; returns what sees it there."""
    _check_in_place(input_tensor)
    _check_scale(scale, mask)
    check_alike(input_tensor, mask)
    mask = in_one_row(mask, input_tensor)
    check_users(input_tensor, mask)
    rows = getattr(program_config, "block_h", None)
    if mask is not None and input_tensor.memory_config().is_sharded() and rows is not None:
        columns = getattr(program_config, "block_w", 0)
        if not 0 < columns * rows * TILE_SIZE**2 < 2**64:
            raise fatal(
                "block_h must be greater than 0 and block_w * block_h * tile_hw must not overflow; "
                f"got block_w = {columns}, block_h = {rows}",
                hint="block_h and block_w of program_config: the tiles of a shard, from 1",
            )
    mask = mask_of_rows(mask, input_tensor, is_causal_mask)
    written = _written(numeric_stable)
    input_tensor.overwrite(masked_softmax(input_tensor, scale, mask, None, written).shards)
    return _outliving(input_tensor if mask is None else keep_label(input_tensor, (mask,)))


def _check_hw_dims(x: Tensor, mask: Tensor | None, program_config: object) -> None:
    """Raises RuntimeError for a mask that does not go with its tensor, and where no program says how cores share the tensor."""
    if mask is not None and mask.is_sharded():
        if tuple(mask.shape)[-x.shape.rank :] != tuple(x.shape):
            raise fatal(
                "Sharded mask shape must match input tensor shape",
                f"{mask.shape} != {x.shape}",
                hint="ttnn.sharded_to_interleaved(mask)",
            )
        return
    check_users(x, mask)
    if mask is not None and mask.layout is not Layout.TILE:
        raise fatal(
            "Non-sharded mask shape must match expected shape", "a mask in rows", hint=in_tiles("mask")
        )
    check_alike(x, mask)
    if isinstance(program_config, SoftmaxShardedMultiCoreProgramConfig) and not x.is_sharded():
        raise fatal(
            "Input tensor must be sharded when using SoftmaxShardedMultiCoreProgramConfig",
            hint="ttnn.to_memory_config(input_tensor, ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG)",
        )
    if program_config is None or isinstance(program_config, SoftmaxDefaultProgramConfig):
        raise fatal(
            "Scale causal mask HW dims softmax not supported in default program config",
            hint="program_config=ttnn.SoftmaxShardedMultiCoreProgramConfig(compute_with_storage_grid_size=…, subblock_w=…, block_h=…, block_w=…)",
        )


@operation(
    "ttnn.scale_causal_mask_hw_dims_softmax_in_place",
    family=families.NORM,
    golden=attention_goldens.masked_softmax,
)
def scale_causal_mask_hw_dims_softmax_in_place(
    input_tensor: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    *,
    program_config: object = None,
    compute_kernel_config: object = None,
    numeric_stable: bool = False,
) -> Tensor:
    """softmax(x * scale + mask) along the last dimension, written over its input.

    The mask is a matrix for all batches and heads, also where the heads lie one below the other: it begins anew after its last row.
    """
    _check_scale(scale, mask)
    if mask is None:
        raise fatal(
            "Causal-mask softmax requires an attention mask (is_causal_mask=true with no mask is unsupported).",
            hint="mask=…, or ttnn.softmax_in_place(tensor)",
        )
    _check_hw_dims(input_tensor, mask, program_config)
    mask = mask_of_rows(mask, input_tensor, causal=True)
    written = _written(numeric_stable)
    input_tensor.overwrite(masked_softmax(input_tensor, scale, mask, None, written).shards)
    return _outliving(input_tensor)
