"""Layer, RMS and group norms of what each device has; `softmaxes.py` and `distributed_norms.py` lie beside it.

Everything is computed in float32 and rounded once. Source: reference library 0.81.1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.kernels import ordered_sums
from tt_run.runtime.kernels.activations import activation as function_of
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.kernels.rowwise import along_last
from tt_run.runtime.ops.declaration import families, small_tiles
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle, volume
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.elementwise.unary import apply
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.goldens import norm_goldens
from tt_run.runtime.ops.normalisation import group_norm_checks, norm_checks
from tt_run.runtime.ops.normalisation.softmaxes import check_normed
from tt_run.runtime.ops.placement.sharded_results import in_dram
from tt_run.runtime.tensor.model_parameters.group_norm import channel_values
from tt_run.runtime.tensor.spec.memory_config import CoreGrid, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.copying import lines
from tt_run.runtime.values.scratch_arrays import BLOCK, scratch
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


def row_of(parameter: Tensor | None, width: int, name: str) -> Tensor | None:
    """Checks that a weight or bias has one value per column, alone or as the first row of a tile. Raises RuntimeError otherwise."""
    if parameter is not None:
        shape = tuple(parameter.shape)
        a_tile_high = len(shape) > 1 and shape[-2:] == (TILE_SIZE, width) and volume(shape[:-2]) == 1
        if volume(shape) != width and not a_tile_high:
            raise fatal(
                f"{name} of shape {parameter.shape} does not have one value for each of {width} columns",
                hint=f"give it {width} values, one for each column",
            )
    return parameter


def flat(stack: Array, dims: int, width: int) -> Array:
    """A parameter's stack as (shards, 1, …, width), to broadcast over a stack of shards with `dims` dimensions."""
    return lines(stack)[:, :width].reshape(len(stack), *(1,) * (dims - 1), width)


def _affine(values: Array, parameters: list[Array], weighted: bool, biased: bool) -> Array:
    rest = iter(parameters)
    if weighted:
        values = values * next(rest)
    return values + next(rest) if biased else values


def check_residual_shape(x: Tensor, residual: Tensor | None) -> None:
    """A residual is added element by element."""
    if residual is not None and (residual.shape, residual.padded_shape) != (x.shape, x.padded_shape):
        raise fatal(
            f"Input and residual logical and padded shapes must match, got input: logical={x.shape} padded={x.padded_shape} "
            f"vs residual: logical={residual.shape} padded={residual.padded_shape}",
            hint="ttnn.reshape one of them to the other's shape",
        )


def _check_tiles(x: Tensor, residual: Tensor | None, gamma: Tensor | None, beta: Tensor | None) -> None:
    """The kernel takes whole tiles, and operands in tiles of one shape."""
    if x.layout is not Layout.TILE:
        return
    own = "32x32"
    if tuple(x.tile.edges) != (TILE_SIZE, TILE_SIZE):
        own = "x".join(map(str, x.tile.edges))
        raise fatal(
            f"LayerNorm TILE input requires tile shape 32x32, got: {own}",
            "tile_height == tt::constants::TILE_HEIGHT && tile_width == tt::constants::TILE_WIDTH",
            hint="leave tile out where the tensor is made",
        )
    for word, other in (("residual", residual), ("gamma", gamma), ("beta", beta)):
        if other is not None and other.layout is Layout.TILE and other.tile != x.tile:
            found = "x".join(map(str, other.tile.edges))
            raise fatal(
                f"Input and {word} tile shapes must match, got input: {own} vs {word}: {found}",
                f"{word}_tile == a.tensor_spec().tile()",
                hint=f"ttnn.from_torch({word}, tile=ttnn.Tile(({own.replace('x', ', ')})), …)",
            )


def _check(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, residual: Tensor | None, *, rows_too: bool
) -> None:
    """Raises RuntimeError for tensors that are not normalised, or not together. `rows_too`: rows without tiles are."""
    width = x.shape[-1] if len(x.shape) else 1
    given = [t for t in (residual, weight, bias) if t is not None]
    on_device(x, *given, kind="layernorm")
    check_normed(x)
    floating("layernorm", *given)
    if not rows_too and x.layout is not Layout.TILE:
        raise fatal(
            "ttnn::rms_norm does not support ROW_MAJOR input tensors. Use TILE layout.",
            hint=in_tiles("tensor"),
        )
    if x.layout is not Layout.TILE and x.is_sharded():
        raise fatal(
            f"Input tensor must have TILE layout (ROW_MAJOR is only supported for non-sharded tensors), got: {cpp(x.layout)}",
            hint=in_tiles("tensor"),
        )
    if x.memory_config().memory_layout is TensorMemoryLayout.HEIGHT_SHARDED:
        raise fatal("Height sharded inputs are not supported.", hint="shard the width, or blocks")
    if x.layout is not Layout.TILE and width % TILE_SIZE:
        raise fatal(
            f"ROW_MAJOR input requires W ({width}) to be a multiple of tile width ({TILE_SIZE})",
            hint=in_tiles("tensor"),
        )
    _check_tiles(x, residual, weight, bias)
    check_residual_shape(x, residual)
    small_tiles.check("norm", x)
    norm_checks.check_residual(x, residual)
    if len(x.shape):
        norm_checks.check_parameter(x, weight, "gamma")
        norm_checks.check_parameter(x, bias, "beta")
    if weight is not None and bias is not None and weight.layout is not bias.layout:
        raise fatal("Gamma and beta must have the same layout!", hint="give both in tiles, of shape [1, W]")


def _normalised(
    x: Tensor,
    epsilon: float,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    memory_config: MemoryConfig | None,
    program: object,
    centre: bool,
    *,
    rows_too: bool = False,
) -> Tensor:
    width = x.shape[-1] if len(x.shape) else 1
    given = [t for t in (residual, weight, bias) if t is not None]
    _check(x, weight, bias, residual, rows_too=centre or rows_too)
    norm_checks.check_program(x, program, memory_config)
    tiny, length = np.float32(epsilon), np.float32(max(width, 1))

    def rows(out: Array, values: Array, *others: Array) -> bool:
        rest = list(others)
        if residual is not None:
            values = np.add(values, rest.pop(0), out)
        if centre:
            values = np.subtract(values, ordered_sums.of_rows(values) / length, out)
        squares = np.square(values, scratch("norms", 1, out.size)[0][: out.size].reshape(out.shape))
        power = ordered_sums.of_rows(squares) / length
        np.divide(values, np.sqrt(power + tiny), out)
        if weight is not None:
            np.multiply(out, rest.pop(0), out)
        if bias is not None:
            np.add(out, rest.pop(0), out)
        # A square of what is no number, or infinite, leaves no number in the sum; few rows are looked through as quickly.
        return out.size >= BLOCK and not others and bool(np.isfinite(power).all() and tiny > 0)

    def compute(stack: Array, *others: Array) -> Array:
        shape, dims = stack.shape, max(stack.ndim - 1, 1)
        whole = (len(stack), 1) if stack.ndim == 1 else None  # numbers are rows of one, not one row
        sides = [
            (o.reshape(whole or o.shape) if t is residual else flat(o, dims, width))
            for t, o in zip(given, others, strict=True)
        ]
        return along_last(rows, x.dtype, stack.reshape(whole or shape), *sides, either=True).reshape(shape)

    shards = combine(compute, *(t.shards for t in (x, *given)), either=True)
    if x.is_sharded() and getattr(program, "inplace", False):
        return settle((x, *given), shards, x.dtype, output_tensor=x).alias()
    place = like_operand(x, memory_config)
    return settle((x, *given), shards, x.dtype, memory_config=place)


@operation("ttnn.layer_norm", family=families.NORM, golden=goldens.layer_norm)
def layer_norm(
    input_tensor: Tensor,
    *,
    epsilon: float = 1e-12,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual_input_tensor: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    recip_tensor: Tensor | None = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias along the last dimension, of input + residual."""
    on_device(input_tensor, kind="layernorm")
    if not len(input_tensor.shape):
        raise fatal(
            "LayerNorm operation not supported for 0D tensors. (rank=0)", hint="ttnn.reshape(tensor, [1, 1])"
        )
    return _normalised(
        input_tensor, epsilon, weight, bias, residual_input_tensor, memory_config, program_config, True
    )


@operation("ttnn.rms_norm", family=families.NORM, golden=goldens.rms_norm)
def rms_norm(
    input_tensor: Tensor,
    *,
    epsilon: float = 1e-12,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual_input_tensor: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """x / sqrt(mean of x*x + epsilon) * weight + bias along the last dimension, of input + residual."""
    return _normalised(
        input_tensor, epsilon, weight, bias, residual_input_tensor, memory_config, program_config, False
    )


def _standardised(epsilon: np.float32, out: Array, rows: Array) -> None:
    np.subtract(rows, ordered_sums.mean(rows)[:, None], out)
    np.divide(out, np.sqrt(ordered_sums.variance(rows) + epsilon)[:, None], out)


@operation("ttnn.group_norm", family=families.NORM, golden=norm_goldens.group_norm)
def group_norm(
    input_tensor: Tensor,
    *,
    num_groups: int,
    epsilon: float = 1e-12,
    input_mask: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    core_grid: CoreGrid | None = None,
    inplace: bool | None = True,
    output_layout: Layout | None = None,
    num_out_blocks: int | None = None,
    compute_kernel_config: object = None,
    negative_mask: Tensor | None = None,
    use_welford: bool = False,
) -> Tensor:
    """Channels (last dimension of [N, 1, H*W, C]) normalised in `num_groups` groups over all positions of an image.

    The masks tell a device which columns of a tile belong to a group; the groups are known here. Weight and bias hold one value per
    channel, in tiles, or chunks of them padded as `create_group_norm_weight_bias_rm` does; padding behind the last channel is allowed.
    """
    given = [t for t in (weight, bias) if t is not None]
    on_device(input_tensor, *given, kind="groupnorm")
    floating("groupnorm", input_tensor, *given)
    if len(input_tensor.shape) == 4:
        group_norm_checks.check_masks(
            input_tensor, num_groups, input_mask, negative_mask, output_layout, use_welford
        )
    group_norm_checks.check_groups(
        input_tensor, num_groups, (weight, bias), input_mask, inplace, output_layout, dtype, core_grid, memory_config
    )  # fmt: skip
    group_norm_checks.check_rows(input_tensor, output_layout, use_welford)
    group_norm_checks.check_grid(input_tensor, num_groups, core_grid, num_out_blocks)
    channels = input_tensor.shape[-1]
    target = dtype or input_tensor.dtype

    def compute(stack: Array, *others: Array) -> Array:
        shape = stack.shape
        pixels, depth = volume(shape[2:-1]), channels // num_groups
        images = stack.reshape(*shape[:2], pixels, num_groups, depth)
        groups = np.ascontiguousarray(images.transpose(0, 1, 3, 2, 4)).reshape(
            *shape[:2], num_groups, pixels * depth
        )
        values = along_last(partial(_standardised, np.float32(epsilon)), DataType.FLOAT32, groups)
        back = values.reshape(*shape[:2], num_groups, pixels, depth).transpose(0, 1, 3, 2, 4).reshape(shape)
        sides = [flat(channel_values(o, channels), len(shape) - 1, channels) for o in others]
        return finish(_affine(back, sides, weight is not None, bias is not None), target)

    shards = combine(compute, *(t.shards for t in (input_tensor, *given)))
    if inplace:
        return settle((input_tensor, *given), shards, target, output_tensor=input_tensor).alias()
    place = memory_config or in_dram(input_tensor)
    return settle((input_tensor, *given), shards, target, memory_config=place, layout=output_layout)


@operation("ttnn.experimental.dit_rms_norm_unary_fused", family=families.NORM)
def dit_rms_norm_unary_fused(
    input_tensor: Tensor,
    epsilon: float = 1e-5,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual_input_tensor: Tensor | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    activation: Any = None,
) -> Tensor:
    """`rms_norm` followed by a fused activation."""
    normed = _normalised(
        input_tensor,
        epsilon,
        weight,
        bias,
        residual_input_tensor,
        memory_config,
        program_config,
        False,
        rows_too=True,
    )
    return normed if activation is None else apply(normed, function_of(activation), name="activation")
