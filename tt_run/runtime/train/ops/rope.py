"""`ttml.ops.rope`: rotary positions on interleaved pairs (2i, 2i + 1), with the Llama-3 rule for longer contexts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train import stacks
from tt_run.runtime.train.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.graph import PreferredPrecision
from tt_run.runtime.train.operation import recorded, result
from tt_run.runtime.train.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.distribution.mappers import TensorToMesh
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


@dataclass()
class RopeScalingParams:
    """Stretching of long wavelengths; off while scaling_factor or original_context_length is 0."""

    original_context_length: int = 0
    scaling_factor: float = 0.0
    high_freq_factor: float = 4.0
    low_freq_factor: float = 1.0


@dataclass(frozen=True)
class RotaryEmbeddingParams:
    """Cosines and sines (sequence, head_dim / 2) of every position and pair; `axis` is a mesh axis over which positions are cut.

    Programs that turn tensors by themselves find the tables of a device's kernel as mesh tensors: `cos_cache` and `sin_cache`
    [1, 1, sequence, head_dim], each pair's number twice, those of the turn back, and `trans_mat`.
    """

    sequence_length: int
    head_dim: int
    cos: Array
    sin: Array
    axis: int | None = None
    theta: float = 10000.0
    rope_scaling_params: RopeScalingParams = field(default_factory=RopeScalingParams)

    @cached_property
    def cos_cache(self) -> Value:
        """Cosines of the forward turn, bfloat16."""
        return _table(self.cos)

    @cached_property
    def sin_cache(self) -> Value:
        """Sines of the forward turn, bfloat16."""
        return _table(self.sin)

    @property
    def neg_cos_cache(self) -> Value:
        """Cosines of the turn back, which are the same."""
        return self.cos_cache

    @cached_property
    def neg_sin_cache(self) -> Value:
        """Sines of the turn back."""
        return _table(-self.sin)

    @cached_property
    def trans_mat(self) -> Value:
        """[1, 1, 32, 32]: swaps the two of each pair and turns the sign of the second, x -> x @ trans_mat."""
        swap = np.zeros((TILE_SIZE, TILE_SIZE), np.float32)
        even = np.arange(0, TILE_SIZE, 2)
        swap[even, even + 1], swap[even + 1, even] = 1.0, -1.0
        return Tensor.from_numpy(swap[None, None], new_type=DataType.BFLOAT16).get_value()


def _table(half: Array, mapper: TensorToMesh | None = None) -> Value:
    """(sequence, pairs) as a mesh tensor [1, 1, sequence, 2 * pairs]."""
    whole = np.repeat(half, 2, axis=-1)[None, None]
    return Tensor.from_numpy(whole, new_type=DataType.BFLOAT16, mapper=mapper).get_value()


def build_rope_params(
    sequence_length: int,
    head_dim: int,
    theta: float = 10000.0,
    rope_scaling_params: RopeScalingParams | None = None,
    cp_axis: int | None = None,
) -> RotaryEmbeddingParams:
    """Angles pos * theta^(-2i / head_dim); with `cp_axis` each device along it turns its own part of the positions. Raises RuntimeError for an odd head_dim and an empty sequence."""
    angles = _angles(sequence_length, head_dim, theta, rope_scaling_params)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    scaling = rope_scaling_params or RopeScalingParams()
    return RotaryEmbeddingParams(sequence_length, head_dim, cos, sin, cp_axis, theta, scaling)


def gen_freqs(
    head_dim: int,
    sequence_length: int,
    theta: float,
    rope_scaling_params: RopeScalingParams | None = None,
    mesh_mapper: TensorToMesh | None = None,
) -> tuple[Value, Value]:
    """Sines and cosines, in that order, as mesh tensors [1, 1, sequence, head_dim]. Raises RuntimeError as `build_rope_params`."""
    angles = _angles(sequence_length, head_dim, theta, rope_scaling_params)
    return _table(np.sin(angles), mesh_mapper), _table(np.cos(angles), mesh_mapper)


def validate_rope_input_and_params(input: Tensor, rope_params: RotaryEmbeddingParams) -> None:
    """Raises RuntimeError for a tensor that `rope` does not turn with these parameters: its rank, its head_dim, or too many positions."""
    if input.get_rank() != 4:
        raise RuntimeError(f"rope only supports rank-4 input tensors, but got rank {input.get_rank()}")
    *_, length, width = input.shape()
    if width != rope_params.head_dim:
        raise RuntimeError(
            f"rope: head_dim of the input is {width}, of the parameters {rope_params.head_dim}"
        )
    if length > rope_params.sequence_length:
        raise RuntimeError(
            f"rope: {length} positions of the input exceed the parameters' {rope_params.sequence_length}"
        )


def _angles(sequence_length: int, head_dim: int, theta: float, scaling: RopeScalingParams | None) -> Array:
    """(sequence, pairs) in float64."""
    if head_dim <= 0 or head_dim % 2:
        raise RuntimeError(f"rope: head_dim must be even and positive, got {head_dim}")
    if sequence_length <= 0:
        raise RuntimeError(f"rope: sequence_length must be positive, got {sequence_length}")
    frequencies = theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    if scaling is not None:
        frequencies = _scaled(frequencies, scaling)
    found: Array = np.outer(np.arange(sequence_length, dtype=np.float64), frequencies)
    return found


def _scaled(frequencies: Array, scaling: RopeScalingParams) -> Array:
    """Short wavelengths stay, long ones are divided, those between are blended (the Llama-3 rule)."""
    if not scaling.scaling_factor or not scaling.original_context_length:
        return frequencies
    turns = scaling.original_context_length * frequencies / (2 * math.pi)
    blend = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    blend = np.clip(blend, 0.0, 1.0)
    return frequencies * (blend + (1 - blend) / scaling.scaling_factor)


@recorded
def rope(input: Tensor, rope_params: RotaryEmbeddingParams, token_position: int = 0) -> Tensor:
    """Rotate [B, H, S, head_dim] by the positions token_position…token_position + S - 1; backward rotates the other way.

    Raises RuntimeError when the sequence exceeds the parameters' length or head_dim differs.
    """
    x = input.get_value()
    length, width = x.shape[-2], x.shape[-1]
    if width != rope_params.head_dim:
        raise RuntimeError(
            f"rope: head_dim of the input is {width}, of the parameters {rope_params.head_dim}"
        )
    if rope_params.axis is not None:
        return _rope_of_parts(input, rope_params, rope_params.axis, token_position)
    if token_position < 0 or token_position + length > rope_params.sequence_length:
        raise RuntimeError(
            f"rope: positions {token_position}..{token_position + length - 1} exceed the parameters' {rope_params.sequence_length}"
        )
    cos = rope_params.cos[token_position : token_position + length]
    sin = rope_params.sin[token_position : token_position + length]
    value = stacks.compute(lambda u: _rotated(u, cos, sin), x)
    return result(
        value,
        (input,),
        lambda gradient: input.add_grad(stacks.compute(lambda g: _rotated(g, cos, -sin), gradient)),
    )


def _rope_of_parts(input: Tensor, params: RotaryEmbeddingParams, axis: int, first: int) -> Tensor:
    """`rope` where device i of an axis has the i-th part of the positions. Raises RuntimeError for sequences that are too long."""
    x = input.get_value()
    device = x.device()
    whole = x.shape[-2] * (1 if device is None else int(device.shape[axis]))
    if first < 0 or first + whole > params.sequence_length:
        raise RuntimeError(
            f"rope: positions {first}..{first + whole - 1} exceed the parameters' {params.sequence_length}"
        )
    mapper = None if device is None else shard_tensor_to_mesh_mapper(device, 2, axis)
    cos, sin = (
        Tensor.from_numpy(
            table[None, None, first : first + whole], new_type=DataType.FLOAT32, mapper=mapper
        ).get_value(PreferredPrecision.FULL)
        for table in (params.cos, params.sin)
    )
    value = stacks.compute(_rotated, x, cos, sin, dtype=x.dtype)

    def rule(gradient: Value) -> None:
        turned = stacks.compute(lambda g, c, s: _rotated(g, c, -s), gradient, cos, sin, dtype=gradient.dtype)
        input.add_grad(turned)

    return result(value, (input,), rule)


def _rotated(stack: Array, cos: Array, sin: Array) -> Array:
    even, odd = stack[..., 0::2], stack[..., 1::2]
    out = np.empty(stack.shape, np.float32)
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out
