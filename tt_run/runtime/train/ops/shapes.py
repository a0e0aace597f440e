"""`ttml.ops.reshape` and `ttml.ops.multi_head_utils`: moving elements without arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.train import values
from tt_run.runtime.train.record import result
from tt_run.runtime.train.tensor import Tensor

Array = npt.NDArray[Any]
Move = Callable[[Array], Array]


def _moved(tensor: Tensor, there: Move, back: Move) -> Tensor:
    x = tensor.get_value()
    return result(
        values.compute(there, x, dtype=x.dtype),
        (tensor,),
        lambda gradient: tensor.add_grad(values.compute(back, gradient)),
    )


def reshape(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape; one size may be -1. Raises RuntimeError when the numbers differ."""
    old = tuple(tensor.shape())
    new = tuple(int(n) for n in shape)
    known = math.prod(n for n in new if n != -1)
    if new.count(-1) == 1 and known and math.prod(old) % known == 0:
        new = tuple(math.prod(old) // known if n == -1 else n for n in new)
    if math.prod(new) != math.prod(old) or -1 in new:
        raise RuntimeError(f"reshape: {list(old)} has {math.prod(old)} elements, {list(shape)} does not")
    return _moved(tensor, lambda x: x.reshape(-1, *new), lambda g: g.reshape(-1, *old))


def heads_creation(qkv: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """[B, 1, S, 3D] -> query, key, value, each [B, H, S, D/H]; the thirds of the last dimension in that order."""
    width = _four(qkv, "heads_creation")[3]
    if width % (3 * num_heads):
        raise RuntimeError(f"heads_creation: {width} features are not 3 x {num_heads} heads")
    third = width // 3
    q, k, v = (_third(qkv, i * third, third, num_heads) for i in range(3))
    return q, k, v


def _third(qkv: Tensor, start: int, width: int, heads: int) -> Tensor:
    batch, _, length, full = qkv.shape()

    def there(x: Array) -> Array:
        part = x[..., start : start + width]
        return part.reshape(-1, batch, length, heads, width // heads).transpose(0, 1, 3, 2, 4)

    def back(g: Array) -> Array:
        out = np.zeros((len(g), batch, 1, length, full), np.float32)
        out[..., start : start + width] = g.transpose(0, 1, 3, 2, 4).reshape(-1, batch, 1, length, width)
        return out

    return _moved(qkv, there, back)


def heads_fusion(tensor: Tensor) -> Tensor:
    """[B, H, S, E] -> [B, 1, S, H*E]: heads side by side again."""
    batch, heads, length, width = _four(tensor, "heads_fusion")
    return _moved(
        tensor,
        lambda x: x.transpose(0, 1, 3, 2, 4).reshape(-1, batch, 1, length, heads * width),
        lambda g: g.reshape(-1, batch, length, heads, width).transpose(0, 1, 3, 2, 4),
    )


def grouped_heads_creation(
    qs: Tensor, kvs: Tensor, num_heads: int, num_groups: int
) -> tuple[Tensor, Tensor, Tensor]:
    """qs [B, 1, S, D] -> [B, H, S, E]; kvs [B, 1, S, 2*G*E] = keys of all groups, then values -> two [B, G, S, E]."""
    width = _four(qs, "grouped_heads_creation")[3]
    paired = _four(kvs, "grouped_heads_creation")[3]
    if width % num_heads or paired % (2 * num_groups) or num_heads % num_groups:
        raise RuntimeError(
            f"grouped_heads_creation: {width} query and {paired} key-value features do not cut into {num_heads} heads and {num_groups} groups"
        )
    half = paired // 2
    return (
        _third(qs, 0, width, num_heads),
        _third(kvs, 0, half, num_groups),
        _third(kvs, half, half, num_groups),
    )


def _four(tensor: Tensor, name: str) -> list[int]:
    shape = tensor.shape()
    if len(shape) != 4:
        raise RuntimeError(f"{name}: expected four dimensions, got {shape}")
    return shape
