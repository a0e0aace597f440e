"""PyTorch on the CPU as the engine of operations that NumPy has no functions for.

Each device's shard is computed by itself, with its own shape, on one thread, from memory of one alignment: what PyTorch makes of it
then follows from the shard alone, and a program gives the same bits on any split over ranks. Arrays and tensors share memory where
the alignment allows. bfloat16 is held as float32 and rounded once, by the caller, at the end.
PyTorch is imported by the first operation that needs it; it is the optional extra `torch`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.recycled_arrays import empty

Array = npt.NDArray[Any]
Function = Callable[..., Any]
"""Takes torch tensors and other arguments, gives a torch tensor or several."""

# PyTorch's own allocations begin at multiples of this; vector libraries may round differently elsewhere.
_ALIGNMENT = 64


@lru_cache(maxsize=1)
def library() -> Any:
    """Module `torch`. Raises RuntimeError that says what to install where it is missing."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise fatal(
            "this operation is computed by PyTorch, which is not installed",
            hint="pip install torch, or the small build: "
            "pip install torch --index-url https://download.pytorch.org/whl/cpu",
        ) from None


@lru_cache(maxsize=1024)
def torch_function(path: str) -> Function:
    """A function by its path below torch: `special.digamma`, `nn.functional.mish`."""
    found: Any = library()
    for step in path.split("."):
        found = getattr(found, step)
    function: Function = found
    return function


class quiet:
    """One thread, no gradients unless asked for, no autocast, for the length of a block; the program's own settings come back.

    A class, since small operations wait for it: what is as it should be is not set, nor set back.
    """

    __slots__ = ("_cast", "_gradients", "_had_gradients", "_threads")

    def __init__(self, *, gradients: bool = False) -> None:
        self._gradients = gradients

    def __enter__(self) -> Any:
        torch = library()
        self._threads, self._had_gradients = torch.get_num_threads(), torch.is_grad_enabled()
        self._cast = torch.autocast("cpu", enabled=False) if _casts(torch) else None
        if self._threads != 1:
            torch.set_num_threads(1)
        if self._had_gradients is not self._gradients:
            torch.set_grad_enabled(self._gradients)
        if self._cast is not None:
            self._cast.__enter__()
        return torch

    def __exit__(self, *raised: Any) -> None:
        torch = library()
        if self._cast is not None:
            self._cast.__exit__(*raised)
        if self._had_gradients is not self._gradients:
            torch.set_grad_enabled(self._had_gradients)
        if self._threads != 1:
            torch.set_num_threads(self._threads)


def _casts(torch: Any) -> bool:
    """Whether the program has PyTorch choose element types on this processor."""
    try:
        return bool(torch.is_autocast_enabled("cpu"))
    except TypeError:  # before PyTorch 2.4, where it asks of a GPU
        return bool(torch.is_autocast_cpu_enabled())


def tensor_of(array: Array) -> Any:
    """A torch tensor over an array, without a copy where its memory is contiguous and aligned."""
    torch = library()
    short = array.itemsize == 2 and array.dtype == BFLOAT16
    if short:
        array = array.view(np.int16)
    flags = array.flags
    found = torch.from_numpy(array) if flags.c_contiguous and flags.writeable else None
    if found is None or found.data_ptr() % _ALIGNMENT:
        found = torch.from_numpy(_aligned(array))
    return found.view(torch.bfloat16) if short else found


def _aligned(array: Array) -> Array:
    room = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy


def array_of(tensor: Any, *, keeps_bfloat16: bool = False) -> Array:
    """The values of a torch tensor as an array of its shape: float32 and integers as they are, bfloat16 and float16 as float32.

    `keeps_bfloat16`: bfloat16 as such elements.
    """
    torch = library()
    if tensor.requires_grad:
        tensor = tensor.detach()
    if keeps_bfloat16 and tensor.dtype is torch.bfloat16:
        bits: Array = tensor.contiguous().view(torch.int16).numpy()
        return bits.view(BFLOAT16)
    if tensor.is_floating_point() and tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.to(torch.float32)
    found: Array = tensor.contiguous().numpy()
    return found


def on_each(
    function: Function,
    stacks: Sequence[Array | None],
    *arguments: Any,
    gradients: bool = False,
    keeps_bfloat16: bool = False,
    **options: Any,
) -> tuple[Array, ...]:
    """`function(tensor, …, *arguments, **options)` on row k of every stack, for each k; the results stacked, one array per result.

    A stack without rows gives results without rows, of the shapes and element types that the function would make: it runs on
    tensors without storage then. None stands for an operand that is left out. `keeps_bfloat16`: results of bfloat16 stay such elements.
    """
    rows = next(len(s) for s in stacks if s is not None)
    with quiet(gradients=gradients) as torch:
        if not rows:
            made = _many(function(*(_bare(torch, s) for s in stacks), *arguments, **options))
            return tuple(np.empty((0, *m.shape), _element(torch, m)) for m in made)
        outs: list[Array] = []
        for row in range(rows):
            given = [None if s is None else tensor_of(s[row, ...]) for s in stacks]
            found = [
                _own(array_of(t, keeps_bfloat16=keeps_bfloat16), stacks)
                for t in _many(function(*given, *arguments, **options))
            ]
            if not outs:
                outs = [a[None] if rows == 1 else empty((rows, *a.shape), a.dtype) for a in found]
            if rows > 1:
                for out, values in zip(outs, found, strict=True):
                    out[row] = values
    return tuple(outs)


def _own(values: Array, stacks: Sequence[Array | None]) -> Array:
    """Values that no operand shares: a caller rounds them where they lie."""
    return values.copy() if any(s is not None and np.may_share_memory(values, s) for s in stacks) else values


def _many(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (list, tuple)) else (result,)


def _bare(torch: Any, stack: Array | None) -> Any:
    if stack is None:
        return None
    dtype = torch.from_numpy(np.empty(0, stack.dtype)).dtype
    return torch.empty(stack.shape[1:], dtype=dtype, device="meta")


def _element(torch: Any, tensor: Any) -> Any:
    if tensor.is_floating_point():
        return np.float64 if tensor.dtype == torch.float64 else np.float32
    return torch.empty(0, dtype=tensor.dtype).numpy().dtype


def _widens(result: Any, gradient: Any, operands: Sequence[Any]) -> bool:
    """Whether a result of elements, none of which depends on another's place, broadcasts to the shape of a gradient."""
    shapes = library().broadcast_shapes
    try:
        return bool(
            result.shape == shapes(*(x.shape for x in operands))
            and shapes(result.shape, gradient.shape) == gradient.shape
        )
    except RuntimeError:
        return False


def gradients(forward: Function | str, count: int = 1) -> Function:
    """The backward function of `forward(*tensors, *others)`: from (gradient, *tensors, *others), the list of the gradients of `count` tensors.

    A tensor that `forward` does not depend on, or by steps alone, has a gradient of zeros. The gradient of the result broadcasts to its shape;
    one of a wider shape takes the operands along into it, whose gradients then have that shape (reference library 0.81.1).
    """

    def backward(gradient: Any, *values: Any) -> list[Any]:
        torch = library()
        function = torch_function(forward) if isinstance(forward, str) else forward
        leaves = [value.detach().requires_grad_() for value in values[:count]]
        with torch.enable_grad():
            result = function(*leaves, *values[count:])
        if gradient.shape != result.shape and _widens(result, gradient, leaves):
            return backward(gradient, *(leaf.expand(gradient.shape) for leaf in leaves), *values[count:])
        if not result.requires_grad:
            return [torch.zeros_like(leaf) for leaf in leaves]
        found = torch.autograd.grad(result, leaves, gradient.expand_as(result), allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]

    return backward
