"""Shapes and parts of tensors: reshape and indexing, shard by shard."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, convert_each

Array = npt.NDArray[Any]


def reshape(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The same elements in another shape; one length may be -1. Raises RuntimeError when the volumes differ."""
    dims = resolved(tensor, shape)
    return _requantized(tensor, lambda stack: stack.reshape((len(stack), *dims)))


def resolved(tensor: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of a shape of a tensor's elements, of which one may be -1. Raises RuntimeError when the volumes differ."""
    volume = tensor.logical_volume()
    if shape.count(-1) > 1:
        raise fatal(
            "Shape cannot have more than 1 elements that is set to -1! "
            f"Shape used: ({','.join(map(str, shape))},)",
            hint="one -1 stands for what is left; give the others their numbers",
        )
    known = math.prod(length for length in shape if length != -1)
    if -1 in shape:
        if not known or volume % known:
            raise fatal(
                f"cannot reshape {volume} elements into shape {list(shape)}",
                hint=f"the lengths beside -1 must divide {volume}",
            )
        shape = tuple(volume // known if length == -1 else length for length in shape)
    if math.prod(shape) != volume:
        raise fatal(
            "Invalid arguments to reshape",
            hint=f"shape {list(shape)} has {math.prod(shape)} elements, tensor has {volume}",
        )
    return shape


def _requantized(tensor: Tensor, function: Any) -> Tensor:
    """Block floats are rounded anew: their elements may come to share other exponents."""
    shards = tensor.shards.map(function)
    if tensor.dtype in BLOCK_FLOATS:
        shards = shards.map(lambda stack: convert_each(stack, tensor.dtype))
    return tensor.derive(shards)


def take(tensor: Tensor, key: Any) -> Tensor:
    """`tensor[key]` of a host tensor, with integers, slices and one ellipsis; an integer drops its dimension.

    Raises IndexError for too many or too large indices, RuntimeError for a stride, TypeError for slices that count from the end and for
    other keys.
    """
    checked = checked_keys(tensor.shape, key)
    if any(isinstance(k, slice) and k.step not in (None, 1) for k in checked):
        raise RuntimeError("Host tensors cannot be accessed with non-unit stride")
    _check_bounds(checked, tensor)
    where = (slice(None), *checked)
    return _requantized(tensor, lambda stack: stack[where].copy())


def checked_keys(shape: Shape, key: Any) -> tuple[int | slice, ...]:
    """One key for each dimension, numbers counted from the front. Raises IndexError and TypeError as `take` does."""
    if key is None:
        raise TypeError("'NoneType' object is not iterable")
    keys = _complete(key if isinstance(key, tuple) else (key,), shape.rank)
    return tuple(_check_key(k, d, n) for d, (k, n) in enumerate(zip(keys, shape, strict=True)))


def _check_bounds(keys: tuple[int | slice, ...], tensor: Tensor) -> None:
    for dim, (key, size) in enumerate(zip(keys, tensor.shape, strict=True)):
        if isinstance(key, slice) and min(key.start or 0, key.stop or 0) < 0:
            start, stop, _ = key.indices(size)
            raise TypeError(
                "ttnn.Tensor.__getitem__(): incompatible function arguments.\n\nCalled with:\n  __getitem__(ttnn.Tensor, tuple)\n\n"
                f"help: a slice of a host tensor counts from the start: write {start}:{stop} for dimension {dim}"
            )


def _complete(keys: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    gaps = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(gaps) > 1:
        raise ValueError("Only one ellipsis ('...') is allowed in a slice.")
    missing = rank - (len(keys) - len(gaps))
    if missing < 0:
        raise IndexError(f"Too many indices for tensor of dimension {rank}")
    at = gaps[0] if gaps else len(keys)
    return (*keys[:at], *[slice(None)] * missing, *keys[at + len(gaps) :])


def _check_key(key: Any, dim: int, size: int) -> int | slice:
    if isinstance(key, slice):
        return key
    if not isinstance(key, int):
        raise TypeError(f"Invalid slice type: {key}")
    index = int(key) + size if key < 0 else int(key)
    if not 0 <= index < size:
        raise IndexError(
            f"Index {key} (converted to {index}) is out of bounds for dimension {dim} of size {size}"
        )
    return index
