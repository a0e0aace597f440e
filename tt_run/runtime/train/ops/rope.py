"""`ttml.ops.rope`: rotary positions on interleaved pairs (2i, 2i + 1), with the Llama-3 rule for longer contexts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.operation import naming_faults, recorded, result
from tt_run.runtime.train.autograd.positions import RingLayout, order
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.values.recycled_arrays import empty

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


@dataclass(eq=False)
class RotaryEmbeddingParams:
    """Cosines and sines (sequence, head_dim / 2) of every position and pair; `axis` is a mesh axis over which positions are cut by `layout`.

    Programs find the tables of a device's kernel as mesh tensors, and may set tables of their own: `cos_cache` and `sin_cache`
    [1, 1, sequence, head_dim], each pair's number twice, `neg_cos_cache` and `neg_sin_cache` of the turn back, and `trans_mat`.
    """

    sequence_length: int = 0
    head_dim: int = 0
    cos: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    sin: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    axis: int | None = None
    theta: float = 10000.0
    rope_scaling_params: RopeScalingParams = field(default_factory=RopeScalingParams)
    back: dict[str, Array] = field(default_factory=dict)
    """Tables of the turn back, where a program has set its own."""
    layout: RingLayout = RingLayout.Contiguous
    _made: dict[str, Value] = field(default_factory=dict, init=False, repr=False)

    @property
    def cos_cache(self) -> Value:
        """Cosines of the forward turn, bfloat16."""
        return self._shown("cos_cache", self.cos)

    @cos_cache.setter
    def cos_cache(self, table: Value | Tensor) -> None:
        self.cos = self._set("cos_cache", table)

    @property
    def sin_cache(self) -> Value:
        """Sines of the forward turn, bfloat16."""
        return self._shown("sin_cache", self.sin)

    @sin_cache.setter
    def sin_cache(self, table: Value | Tensor) -> None:
        self.sin = self._set("sin_cache", table)

    @property
    def neg_cos_cache(self) -> Value:
        """Cosines of the turn back, which are the same."""
        return self._shown("neg_cos_cache", self.turn_back()[0])

    @neg_cos_cache.setter
    def neg_cos_cache(self, table: Value | Tensor) -> None:
        self.back["cos"] = self._set("neg_cos_cache", table)

    @property
    def neg_sin_cache(self) -> Value:
        """Sines of the turn back."""
        return self._shown("neg_sin_cache", self.turn_back()[1])

    @neg_sin_cache.setter
    def neg_sin_cache(self, table: Value | Tensor) -> None:
        self.back["sin"] = self._set("neg_sin_cache", table)

    def turn_back(self, rows: slice | Array = slice(None)) -> tuple[Array, Array]:
        """Cosines and sines (rows, head_dim / 2) of the turn back."""
        own = self.back.get("sin")
        return self.back.get("cos", self.cos)[rows], -self.sin[rows] if own is None else own[rows]

    @property
    def trans_mat(self) -> Value:
        """[1, 1, 32, 32]: swaps the two of each pair and turns the sign of the second, x -> x @ trans_mat."""
        if "trans_mat" not in self._made:
            self._made["trans_mat"] = Tensor.from_numpy(_swap(), new_type=DataType.BFLOAT16).get_value()
        return self._made["trans_mat"]

    @trans_mat.setter
    def trans_mat(self, matrix: Value | Tensor) -> None:
        given = Tensor(matrix).to_numpy()
        if given.shape != _swap().shape or (given != _swap()).any():
            raise ValueError(
                "rope: trans_mat swaps the two of each pair (2i, 2i + 1); another matrix is not emulated"
            )

    def _shown(self, name: str, half: Array) -> Value:
        if name not in self._made:
            self._made[name] = _table(half)
        return self._made[name]

    def _set(self, name: str, table: Value | Tensor) -> Array:
        """A table that a program gives, as pairs; its sizes become those of the parameters. Raises ValueError for one that is no table of pairs."""
        whole = np.asarray(Tensor(table).to_numpy(), np.float32)
        length, width = whole.shape[-2:]
        if whole.size != length * width or (whole[..., ::2] != whole[..., 1::2]).any():
            raise ValueError(
                f"rope: {name} has shape [1, 1, sequence, head_dim] and each pair's number twice; got {list(whole.shape)}"
            )
        self._made.clear()
        self.sequence_length, self.head_dim = length, width
        return np.ascontiguousarray(whole.reshape(length, width)[:, ::2])


def _swap() -> Array:
    swap = np.zeros((1, 1, TILE_SIZE, TILE_SIZE), np.float32)
    even = np.arange(0, TILE_SIZE, 2)
    swap[0, 0, even, even + 1], swap[0, 0, even + 1, even] = 1.0, -1.0
    return swap


def _table(half: Array, mapper: TensorToMesh | None = None) -> Value:
    """(sequence, pairs) as a mesh tensor [1, 1, sequence, 2 * pairs]."""
    whole = np.repeat(half, 2, axis=-1)[None, None]
    return Tensor.from_numpy(whole, new_type=DataType.BFLOAT16, mapper=mapper).get_value()


@naming_faults
def build_rope_params(
    sequence_length: int,
    head_dim: int,
    theta: float = 10000.0,
    rope_scaling_params: RopeScalingParams | None = None,
    cp_axis: int | None = None,
    layout: RingLayout = RingLayout.Contiguous,
) -> RotaryEmbeddingParams:
    """Angles pos * theta^(-2i / head_dim); with `cp_axis` each device along it turns its own part of the positions. Raises RuntimeError for an odd head_dim and an empty sequence."""
    angles = _angles(sequence_length, head_dim, theta, rope_scaling_params)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    scaling = rope_scaling_params or RopeScalingParams()
    return RotaryEmbeddingParams(sequence_length, head_dim, cos, sin, cp_axis, theta, scaling, layout=layout)


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
            f"rope: head_dim of the input is {width}, of the parameters {rope_params.head_dim}; "
            f"help: build_rope_params({rope_params.sequence_length}, {width})"
        )
    if length > rope_params.sequence_length:
        raise RuntimeError(
            f"rope: {length} positions of the input exceed the parameters' {rope_params.sequence_length}; help: build_rope_params of more positions"
        )


def _angles(sequence_length: int, head_dim: int, theta: float, scaling: RopeScalingParams | None) -> Array:
    """(sequence, pairs) in float64."""
    if head_dim <= 0 or head_dim % 2:
        raise RuntimeError(f"rope: head_dim must be even and positive, got {head_dim}; help: 64")
    if sequence_length <= 0:
        raise RuntimeError(f"rope: sequence_length must be positive, got {sequence_length}; help: 2048")
    if theta <= 0:
        raise RuntimeError(f"rope: theta must be positive, got {theta}; help: 10000.0")
    frequencies = theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    if scaling is not None:
        frequencies = _scaled(frequencies, scaling)
    found: Array = np.outer(np.arange(sequence_length, dtype=np.float64), frequencies)
    return found


def _scaled(frequencies: Array, scaling: RopeScalingParams) -> Array:
    """Short wavelengths stay, long ones are divided, those between are blended (the Llama-3 rule)."""
    if not scaling.scaling_factor or not scaling.original_context_length:
        return frequencies
    if scaling.high_freq_factor <= scaling.low_freq_factor:
        raise RuntimeError(
            f"rope: high_freq_factor must be above low_freq_factor, got {scaling.high_freq_factor} and {scaling.low_freq_factor}; "
            "help: high_freq_factor=4.0, low_freq_factor=1.0"
        )
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
            f"rope: head_dim of the input is {width}, of the parameters {rope_params.head_dim}; "
            f"help: build_rope_params({rope_params.sequence_length}, {width})"
        )
    if rope_params.axis is not None:
        return _rope_of_parts(input, rope_params, rope_params.axis, token_position)
    if token_position < 0 or token_position + length > rope_params.sequence_length:
        raise RuntimeError(
            f"rope: positions {token_position}..{token_position + length - 1} exceed the parameters' {rope_params.sequence_length}; help: build_rope_params of more positions"
        )
    rows = slice(token_position, token_position + length)
    cos, sin = rope_params.cos[rows], rope_params.sin[rows]
    value = stacks.compute(lambda u: _rotated(u, cos, sin), x)
    back_cos, back_sin = rope_params.turn_back(rows)
    return result(
        value,
        (input,),
        lambda gradient: input.add_grad(stacks.compute(lambda g: _rotated(g, back_cos, back_sin), gradient)),
    )


def _rope_of_parts(input: Tensor, params: RotaryEmbeddingParams, axis: int, first: int) -> Tensor:
    """`rope` where each device of an axis has its part of the positions. Raises RuntimeError for sequences that are too long."""
    x = input.get_value()
    device = x.device()
    count = 1 if device is None else int(device.shape[axis])
    whole = x.shape[-2] * count
    if first < 0 or first + whole > params.sequence_length:
        raise RuntimeError(
            f"rope: positions {first}..{first + whole - 1} exceed the parameters' {params.sequence_length}; help: build_rope_params of more positions"
        )
    mapper = None if device is None else shard_tensor_to_mesh_mapper(device, 2, axis)
    rows = first + order(whole, count, params.layout)
    cos, sin, back_cos, back_sin = (
        Tensor.from_numpy(table[None, None], new_type=DataType.FLOAT32, mapper=mapper).get_value(
            PreferredPrecision.FULL
        )
        for table in (params.cos[rows], params.sin[rows], *params.turn_back(rows))
    )
    value = stacks.compute(_rotated, x, cos, sin, dtype=x.dtype)

    def rule(gradient: Value) -> None:
        input.add_grad(stacks.compute(_rotated, gradient, back_cos, back_sin, dtype=gradient.dtype))

    return result(value, (input,), rule)


def _rotated(stack: Array, cos: Array, sin: Array) -> Array:
    """(even * cos - odd * sin, odd * cos + even * sin) of each pair, both numbers in one pass over whole rows."""
    other = empty(stack.shape, np.float32)
    other[..., 0::2], other[..., 1::2] = stack[..., 1::2], stack[..., 0::2]
    across = np.repeat(sin, 2, axis=-1)
    np.negative(across[..., 0::2], out=across[..., 0::2])
    np.multiply(other, across, out=other)
    out = np.multiply(stack, np.repeat(cos, 2, axis=-1), out=empty(stack.shape, np.float32))
    return np.add(out, other, out=out)
