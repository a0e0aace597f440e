"""float32 to bfloat16 by PyTorch, where the program has loaded it: in cache a third of the time of NumPy's passes.

PyTorch makes the 16 bits, `ml_dtypes` widens them again, which it does as quickly. Bits are those of `ml_dtypes` but for NaN, of which PyTorch makes
another one; so blocks with a NaN are left to the others, and a PyTorch that rounded otherwise would not be taken. It is never imported for this:
that takes longer than most programs round.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.scratch_arrays import BLOCK, Float32

# PyTorch shares a longer copy among threads of its own, which wait in a loop for the next one and take the cores of other ranks.
PIECE = 32768
_LEAST = 16384  # elements from which on its calls are worth it
_CRITICAL = (0x7FFF, 0x8000, 0x8001)  # lower halves: below, at and above the middle between two numbers

_from_numpy: Callable[[Any], Any] | None = None
_modes: Callable[[], int] = int
_threads: Callable[[], int] = int
_is_refused = False
_here = threading.local()


def narrowed(values: Float32) -> npt.NDArray[Any] | None:
    """A contiguous block of at most `BLOCK` values rounded to 16 bits each, in memory of this thread that the next call writes again.

    None for one with a NaN, and where PyTorch is not there for it.
    """
    if (
        values.size < _LEAST
        or (_from_numpy is None and not _look())
        or not values.flags.writeable
        or _modes()
    ):
        return None
    # The simple pass comes first: it brings the block into the cache, which PyTorch's conversion does at half the speed.
    largest = np.maximum.reduce(values)
    return _cast(values) if largest == largest else None


def is_ready() -> bool:
    """Whether PyTorch is there for it."""
    return (_from_numpy is not None or _look()) and not _modes()


def threads_of_torch() -> int:
    """Threads among which PyTorch shares what this one asks of it, if it is longer than `PIECE`."""
    return _threads()


def narrow_into(values: Float32, halves: npt.NDArray[Any], *, all_numbers: bool = False) -> bool:
    """Write contiguous values rounded to contiguous bfloat16 elements, under the caller's error state; False where PyTorch is not there for it.

    `all_numbers`: there is no NaN among them.
    """
    if values.size < _LEAST or not is_ready() or not values.flags.writeable:
        return False
    assert _from_numpy is not None
    wide = _from_numpy(values)
    short = _from_numpy(halves.view(np.int16)).view(sys.modules["torch"].bfloat16)
    step = BLOCK if _threads() == 1 else PIECE
    for start in range(0, values.size, step):
        block = values[start : start + step]
        if all_numbers or (largest := np.maximum.reduce(block)) == largest:
            short[start : start + step].copy_(wide[start : start + step])
        else:
            np.copyto(halves[start : start + step], block, casting="unsafe")
    return True


def _cast(values: Float32) -> npt.NDArray[Any]:
    assert _from_numpy is not None
    room: _Room | None = _here.__dict__.get("room")
    if room is None:
        room = _here.room = _Room(sys.modules["torch"])
    size = values.size
    if size == BLOCK and _threads() == 1:
        room.whole.copy_(_from_numpy(values))
        return room.bits
    for tensor, start in zip(room.pieces, range(0, size, PIECE), strict=False):
        piece = values[start : start + PIECE]
        (tensor if piece.size == PIECE else tensor[: piece.size]).copy_(_from_numpy(piece))
    return room.bits[:size]


class _Room:
    """Memory for the 16 bits of a block, and tensors over it."""

    __slots__ = ("bits", "pieces", "whole")

    def __init__(self, torch: Any) -> None:
        bits = np.empty(BLOCK, np.int16)
        self.bits: npt.NDArray[Any] = bits.view(ml_dtypes.bfloat16)
        # A tensor that is made inside of inference mode could not be written outside.
        with torch.inference_mode(False):
            self.whole = torch.from_numpy(bits).view(torch.bfloat16)
            self.pieces = self.whole.split(PIECE)


def _look() -> bool:
    """Take PyTorch if the program has loaded it by now and it rounds as `ml_dtypes` does."""
    global _from_numpy, _modes, _threads, _is_refused
    torch = sys.modules.get("torch")
    if torch is None or _is_refused or getattr(torch.__spec__, "_initializing", False):
        return False
    try:
        # Inside of a mode that takes calls over, as that of fake tensors does, nothing is copied.
        _modes = torch._C._len_torch_dispatch_stack
        if _modes():
            return False
        _threads, _from_numpy = torch.get_num_threads, torch.from_numpy
        _is_refused = not _rounds_alike()
    except (AttributeError, RuntimeError, TypeError):
        _is_refused = True
    if _is_refused:
        _from_numpy = None
    return not _is_refused


def _rounds_alike() -> bool:
    """Whether both make the same numbers of all upper halves with critical lower ones."""
    upper = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    before = silence()
    try:
        for lower in _CRITICAL:
            values = (upper | np.uint32(lower)).view(np.float32)
            wanted = values.astype(ml_dtypes.bfloat16).view(np.uint16)
            numbers = values == values
            if not np.array_equal(_cast(values).view(np.uint16)[numbers], wanted[numbers]):
                return False
    finally:
        restore(before)
    return True
