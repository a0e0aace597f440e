"""A tensor's buffer under another shape, padding included: what `reshape` makes of a `ttnn.Shape` or of a padded shape.

A list of lengths has to hold the same elements; a `ttnn.Shape` says what the buffer is taken for. Source: reference library 0.81.1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.operands import volume
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
Dims = tuple[int, ...]


def _buffer(stack: Array, padded: Dims) -> Array:
    """Each shard with its padding, which is zeros."""
    if stack.shape[1:] == padded:
        return stack
    filled = np.zeros((len(stack), *padded), stack.dtype)
    where: tuple[Any, ...] = (
        slice(None),
        *(0,) * (len(padded) + 1 - stack.ndim),
        *map(slice, stack.shape[1:]),
    )
    filled[where] = stack
    return filled


def corner(tensor: Tensor, shape: Dims, padded: Dims) -> Callable[[Array], Array]:
    """The elements of a padded buffer under another padded shape, as far as the logical shape reaches."""
    buffer = tuple(tensor.padded_shape)
    padded = padded[_ones_ahead(padded, len(padded) - len(shape)) :]
    if len(shape) != len(padded) or volume(buffer) != volume(padded) or any(map(operator.gt, shape, padded)):
        raise fatal(
            "Invalid arguments to reshape",
            hint=f"a buffer of {list(buffer)} is no [{', '.join(map(str, padded))}] with a corner of {list(shape)}",
        )

    def cut(stack: Array) -> Array:
        taken = _buffer(stack, buffer).reshape(len(stack), *padded)
        return _first(taken, shape)

    return cut


def _ones_ahead(shape: Dims, most: int) -> int:
    """How many of at most so many first lengths are 1."""
    return next((n for n, length in enumerate(shape[: max(most, 0)]) if length != 1), max(most, 0))


def _first(stack: Array, shape: Dims) -> Array:
    """Of each shard of at least as many dimensions the elements that a shape has."""
    where: tuple[Any, ...] = (slice(None), *(0,) * (stack.ndim - 1 - len(shape)), *map(slice, shape))
    found: Array = stack[where]
    return found


def under(tensor: Tensor, shape: Dims) -> Callable[[Array], Array]:
    """The elements that a buffer has where a tensor of this shape has its own, tiles staying whole; fewer may be taken than there are.

    On a device rows stay rows. Raises RuntimeError for other rows there, of sharded tensors, and where the buffer is too small.
    """
    held, wanted = tuple(tensor.padded_shape), padded_shape(shape, tensor.layout, tensor.tile).dims
    high, wide = tensor.tile.edges if tensor.layout is Layout.TILE else (1, 1)
    old, new = (1, *tensor.shape)[-2:], (1, *shape)[-2:]
    rows = old[-1] == new[-1] and (old[0] == new[0] or new[0] % high == 0)
    if tensor.device() is not None and (not rows or tensor.memory_config().is_sharded()):
        raise fatal(
            "Attempting to reshape between two shapes with different volumes",
            hint=f"a tensor of {list(tensor.shape)} on a device is no {list(shape)}",
        )
    if volume(wanted) > volume(held):
        raise fatal(
            "MeshBuffer must be large enough to hold the tensor.",
            hint=f"a buffer of {list(held)} does not hold {list(wanted)}",
        )

    def cut(stack: Array) -> Array:
        count = len(stack)
        filled = _buffer(stack, held)
        tiles = filled.reshape(
            count, -1, held[-2] // high if len(held) > 1 else 1, high, held[-1] // wide, wide
        )
        flat = tiles.swapaxes(3, 4).reshape(count, -1)[:, : volume(wanted)]
        tall = wanted[-2] // high if len(wanted) > 1 else 1
        laid = flat.reshape(count, -1, tall, wanted[-1] // wide, high, wide).swapaxes(3, 4)
        return _first(laid.reshape(count, *wanted), shape)

    return cut
