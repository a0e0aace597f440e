"""Packed numbers that several ranks of a host hold alike, once for all of them.

A weight that is copied to every device is one array in each rank. Where it is packed, because a rank has no room for it as float32, the rank
that comes first puts the bytes into memory without a name and a link to that into the run folder; the others compare theirs with it and
map it. Nothing is agreed upon: names come from some of the bytes, and all bytes are compared before anything is shared. The memory goes with
the last rank that maps it, the link with the one that made it.

Only what came over a border is tried (`Buffer.lasting`): what operations make is seldom alike in two ranks, and seldom stays. Packing is
where it costs least: sharing arrays as they come would read each once more, half as long again as making the tensor takes.
"""

from __future__ import annotations

import atexit
import mmap
import os
import stat
import weakref
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run import contract
from tt_run.runtime.values.packing import Packed

Array = npt.NDArray[Any]

SMALLEST = 1 << 18
"""Packed bytes from which on sharing saves more than the pages of a mapping."""
_SAMPLES = 4096
_PIECE = 1 << 16  # elements
_SHARE_OF_FILES = 4  # of the files that a process may have open, one in so many

_open: set[int] = set()


def shared(packed: Packed) -> Packed:
    """The same numbers, in memory that other ranks of the host map if they have them, too."""
    folder = _folder()
    if folder is None or packed.nbytes < SMALLEST:
        return packed
    link = folder / _name(packed)
    known = link.is_symlink()
    if not link.exists():
        if known:  # who had them is gone
            link.unlink(missing_ok=True)
        if (made := _published(link, packed)) is not None:
            return made
    return _mapped(link, packed) or packed  # also of a rank that came first in this very moment


@lru_cache(maxsize=1)
def _folder() -> Path | None:
    """The folder of links of this machine's ranks, None where there are no others: a run folder may be seen from several hosts."""
    run = os.environ.get(contract.RUN_DIR)
    if not run or int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "1")) < 2:
        return None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        processes = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
        folder = Path(run) / contract.PACKS_FOLDER / f"{boot}-{processes}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    atexit.register(_tidy, folder)
    return folder


def _tidy(folder: Path) -> None:
    """The last rank that ends takes the folder away."""
    with suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()


def _name(packed: Packed) -> str:
    """What equal numbers are called: a digest of their shape and of some bytes all over them."""
    parts = _parts(packed)
    digest = blake2b(f"{packed.shape} {[part.dtype.str for part in parts]}".encode(), digest_size=16)
    for part in parts:
        row = part.reshape(-1).view(np.uint8)
        digest.update(row[:: max(1, row.size // _SAMPLES)].tobytes())
    return digest.hexdigest()


def _mapped(link: Path, packed: Packed) -> Packed | None:
    """What another rank has put there, where every byte is the same."""
    try:
        descriptor = os.open(link, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size != packed.nbytes:
            return None
        theirs = _seen(mmap.mmap(descriptor, packed.nbytes, mmap.MAP_SHARED, mmap.PROT_READ), packed)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return theirs if all(map(_same, _parts(theirs), _parts(packed))) else None


def _parts(packed: Packed) -> list[Array]:
    return [packed.elements] if packed.exponents is None else [packed.elements, packed.exponents]


def _same(one: Array, other: Array) -> bool:
    """Whether two arrays have the same bytes, looked at in pieces: what comparing them at once takes would be a third one."""
    one, other = one.reshape(-1), other.reshape(-1)
    return all(np.array_equal(one[s : s + _PIECE], other[s : s + _PIECE]) for s in range(0, one.size, _PIECE))


def _published(link: Path, packed: Packed) -> Packed | None:
    """The numbers in memory that other ranks find by the link; None where that is there, or no room or no such memory."""
    if len(_open) >= _most_files():
        return None
    try:
        descriptor = os.memfd_create("tt-run")
    except (AttributeError, OSError):
        return None
    try:
        # Written, not mapped: where there is no room this fails, and does not end the process.
        with open(descriptor, "wb", closefd=False) as file:
            for part in _parts(packed):
                file.write(part.reshape(-1).view(np.uint8).data)
        made = _seen(mmap.mmap(descriptor, packed.nbytes, mmap.MAP_SHARED, mmap.PROT_READ), packed)
        target = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
        link.symlink_to(target)
    except OSError:
        os.close(descriptor)
        return None
    _open.add(descriptor)
    weakref.finalize(made.elements, _forget, descriptor, link, target, os.getpid())
    return made


def _forget(descriptor: int, link: Path, target: Path, owner: int) -> None:
    if os.getpid() != owner:
        return  # a child of the rank, which has the file, too
    _open.discard(descriptor)
    with suppress(OSError):
        if link.readlink() == target:
            link.unlink()
    os.close(descriptor)


def _seen(memory: mmap.mmap, packed: Packed) -> Packed:
    """Mapped bytes as what they are; the mapping stays while one of the arrays does."""
    size = packed.elements.nbytes
    elements = np.frombuffer(memory, packed.elements.dtype, packed.elements.size)
    if packed.exponents is None:
        return Packed(packed.shape, elements.reshape(packed.elements.shape), None)
    exponents = np.frombuffer(memory, packed.exponents.dtype, packed.exponents.size, offset=size)
    return Packed(packed.shape, elements.reshape(packed.elements.shape), exponents)


@lru_cache(maxsize=1)
def _most_files() -> int:
    return os.sysconf("SC_OPEN_MAX") // _SHARE_OF_FILES
