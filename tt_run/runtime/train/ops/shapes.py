"""`ttml.ops.reshape` and `ttml.ops.multi_head_utils`: moving elements without arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.recycled_arrays import contiguous, empty
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]
Move = Callable[[Array], Array]


def _moved(tensor: Tensor, there: Move, back: Move) -> Tensor:
    x = tensor.get_value()
    return result(
        stacks.moved(there, x),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.moved(back, gradient)),
    )


@recorded
def reshape(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape; one size may be -1. Raises RuntimeError when the numbers differ."""
    old = tuple(tensor.shape())
    if isinstance(shape, (str, bytes)):
        raise TypeError(f"reshape: a shape is a list of numbers, not {shape!r}; help: {list(old)}")
    new = tuple(int(n) for n in shape)
    known = math.prod(n for n in new if n != -1)
    if new.count(-1) == 1 and known and math.prod(old) % known == 0:
        new = tuple(math.prod(old) // known if n == -1 else n for n in new)
    if math.prod(new) != math.prod(old) or -1 in new:
        raise RuntimeError(
            f"reshape: {list(old)} has {math.prod(old)} elements, {list(shape)} does not; help: one -1 in the shape"
        )
    return _moved(tensor, lambda x: x.reshape(-1, *new), lambda g: g.reshape(-1, *old))


@recorded
def heads_creation(
    qkv: Tensor, num_heads: int, num_groups: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """[B, 1, S, (H + 2G) * E] -> query [B, H, S, E], key and value [B, G, S, E]: the heads of each side by side, in that order.

    Without `num_groups` there are as many as heads. Raises RuntimeError for features that do not cut so.
    """
    width, groups = _four(qkv, "heads_creation")[3], num_heads if num_groups is None else num_groups
    if groups < 1 or num_heads % groups:
        raise RuntimeError(
            f"heads_creation: {num_heads} heads do not divide into {groups} groups; help: num_heads=8"
        )
    if width % (num_heads + 2 * groups):
        said = f"3 x {num_heads}" if groups == num_heads else f"{num_heads} + 2 x {groups}"
        raise RuntimeError(
            f"heads_creation: {width} features are not {said} heads; help: num_heads that divide them"
        )
    each = width // (num_heads + 2 * groups)
    query, shared = num_heads * each, groups * each
    if groups == num_heads:
        q, k, v = _parts(qkv, (0, query, 2 * query), query, num_heads)
        return q, k, v
    hub = _hub(qkv)
    (q,) = _parts(hub, (0,), query, num_heads, hub)
    k, v = _parts(hub, (query, query + shared), shared, groups, hub)
    return q, k, v


def features(joint: Tensor, start: int, width: int) -> Tensor:
    """[B, 1, S, D] -> [B, 1, S, width]: so many features from `start` on."""
    return _parts(joint, (start,), width, 1)[0]


def _hub(joint: Tensor) -> Tensor:
    """What collects the gradients of the parts of a tensor before they reach it once."""
    return result(joint.get_value(), (joint,), joint.add_grad)


def _parts(
    joint: Tensor, starts: Sequence[int], width: int, heads: int, hub: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Cuts [B, 1, S, width] of the last dimension, each as [B, heads, S, width / heads].

    Their gradients are written side by side into one array, which reaches the joint tensor once: adding three that are mostly zeros
    would cost as many passes over all of it.
    """
    batch, _, length, full = joint.shape()
    x = joint.get_value()
    hub = hub or _hub(joint)

    def part(start: int) -> Tensor:
        def there(stack: Array) -> Array:
            own = stack[..., start : start + width]
            return own.reshape(-1, batch, length, heads, width // heads).transpose(0, 1, 3, 2, 4)

        def rule(gradient: Value) -> None:
            shards = gradient.shards

            def write(into: Array) -> None:
                own = into[..., start : start + width].reshape(
                    len(into), batch, length, heads, width // heads
                )
                np.copyto(own, shards.data.transpose(0, 1, 3, 2, 4))

            whole = hub.get_grad() if hub.is_grad_initialized() else None
            held = None if whole is None else whole.shards
            if whole is not None and held is not None and held.index == shards.index:
                write(held.data)
                whole.overwrite(held)
                return
            padded = empty((len(shards.data), batch, 1, length, full), np.float32)
            for others in (padded[..., :start], padded[..., start + width :]):
                others.fill(0)
            write(padded)
            hub.add_grad(gradient.derive(Shards(padded, shards.index)))

        return result(stacks.moved(there, x), (hub,), rule)

    return tuple(part(start) for start in starts)


@recorded
def heads_fusion(x: Tensor) -> Tensor:
    """[B, H, S, E] -> [B, 1, S, H*E]: heads side by side again."""
    batch, heads, length, width = _four(x, "heads_fusion")
    return _moved(
        x,
        lambda u: contiguous(u.transpose(0, 1, 3, 2, 4)).reshape(-1, batch, 1, length, heads * width),
        lambda g: g.reshape(-1, batch, length, heads, width).transpose(0, 1, 3, 2, 4),
    )


@recorded
def grouped_heads_creation(
    qs: Tensor, kvs: Tensor, num_heads: int, num_groups: int
) -> tuple[Tensor, Tensor, Tensor]:
    """qs [B, 1, S, D] -> [B, H, S, E]; kvs [B, 1, S, 2*G*E] = keys of all groups, then values -> two [B, G, S, E]."""
    width = _four(qs, "grouped_heads_creation")[3]
    paired = _four(kvs, "grouped_heads_creation")[3]
    if min(num_heads, num_groups) < 1:
        raise RuntimeError(
            f"grouped_heads_creation: {num_heads} heads and {num_groups} groups, at least 1 of each are wanted; help: num_heads=8, num_groups=2"
        )
    if width % num_heads or paired % (2 * num_groups) or num_heads % num_groups:
        raise RuntimeError(
            f"grouped_heads_creation: {width} query and {paired} key-value features do not cut into {num_heads} heads and {num_groups} groups; "
            "help: as many key-value features as 2 x num_groups x head_dim"
        )
    half = paired // 2
    (query,) = _parts(qs, (0,), width, num_heads)
    key, value = _parts(kvs, (0, half), half, num_groups)
    return query, key, value


def _four(tensor: Tensor, name: str) -> list[int]:
    shape = tensor.shape()
    if len(shape) != 4:
        raise RuntimeError(
            f"{name}: expected four dimensions, got {shape}; help: [batch, heads or 1, positions, features]"
        )
    return shape
