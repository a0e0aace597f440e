"""How much memory dense numbers may take before those that were not used for longest are packed.

Operations compute in float32, so a tensor is kept so while there is room: packing and unpacking a weight costs about as much as a product
with a few rows. A model that would not fit is packed as its weights come, and each is unpacked when it is read.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from tt_run import contract
from tt_run.runtime.errors import fatal

SMALLEST = 1 << 18
"""Bytes from which on a buffer counts; the activations of a small model are many of less than a MiB."""
TIGHT = 8 << 20
"""Bytes of dense numbers in training: what the operations that follow each other read."""
_SHARE = 0.4  # of the memory of the host, for all of its ranks
_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


class Rester(Protocol):
    """What can be packed: a buffer."""

    def pack(self) -> bool: ...


class _DenseBuffer(weakref.ref[Rester]):
    """A buffer that is held dense, its number and its bytes."""

    __slots__ = ("key", "nbytes")
    key: int
    nbytes: int


class Dense:
    """The buffers that are kept dense, those used last at the end.

    `is_tight`: whether a training step in bfloat16 is being recorded, of which all that is made is read once more at its end. Then `TIGHT` bytes
    stay dense. Measured with a NanoGPT and a Llama of 10 million parameters, that takes half of the memory, 1.06 times what the tensors
    take on a device, and 4 to 13 % more processor time (medians on a busy machine); float32 has no smaller form.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self.is_tight = False
        self._held: dict[int, _DenseBuffer] = {}
        self.nbytes = 0

    def used(self, buffer: Rester, nbytes: int) -> None:
        """Note that a buffer of so many bytes was made, written or read; others may be packed."""
        key = id(buffer)
        known = self._held.pop(key, None)
        if known is not None:
            if known.nbytes == nbytes:
                self._held[key] = known
                return
            self.nbytes -= known.nbytes
        held = self._held[key] = _DenseBuffer(buffer, self._gone)
        held.key, held.nbytes = key, nbytes
        self.nbytes += nbytes
        bound = self._limit()
        if self.is_tight:
            bound = min(bound, TIGHT)
        while self.nbytes > bound and len(self._held) > 1:
            oldest = next(iter(self._held))
            found = self._held[oldest]()
            self.forget(oldest)
            if found is not None:
                found.pack()

    def forget(self, key: int) -> None:
        """A buffer is gone, packed or of another size."""
        known = self._held.pop(key, None)
        if known is not None:
            self.nbytes -= known.nbytes

    def _gone(self, held: _DenseBuffer) -> None:
        self.forget(held.key)


@lru_cache(maxsize=1)
def limit() -> int:
    """Bytes that this rank may keep dense: as the variable says, else its part of the host's memory."""
    given = os.environ.get(contract.DENSE_MEMORY, "").strip().upper().removesuffix("B").removesuffix("I")
    if not given:
        return int(_SHARE * _memory()) // max(1, int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "1")))
    power = _UNITS.get(given[-1], 0)
    number = given[:-1] if power else given
    if not number.isdigit():
        raise fatal(
            f"{contract.DENSE_MEMORY} must be a number of bytes, got {os.environ[contract.DENSE_MEMORY]!r}",
            hint=f"{contract.DENSE_MEMORY}=4GiB",
        )
    return int(number) << power


def _memory() -> int:
    """Bytes of memory that this process may count on."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return whole
    return min(whole, int(allowed)) if allowed.isdigit() else whole


dense = Dense(limit)
"""The buffers of this process."""
