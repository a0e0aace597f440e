"""Memory that several processes of one host map."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = ("/dev/shm",)
# Where the launcher has the ranks of a host share memory: a folder there that goes with the job, however that ends.
_OF_THE_JOB = "OMPI_MCA_btl_sm_backing_directory"
# What a sandbox or a file system without it says to fallocate.
_NO_SUCH_CALL = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL)
_AT_ONCE = 1 << 20


class SharedBlock:
    """A zeroed block of shared memory behind a file. It disappears with its last process once it is unlinked.

    Raises OSError when no folder has room: pages are reserved when it is created, so that no later write can fail.
    """

    __slots__ = ("memory", "nbytes", "path")

    def __init__(self, descriptor: int, path: str, nbytes: int) -> None:
        self.path = path
        self.nbytes = nbytes
        # All pages at once: a fault for each of them costs as much as copying it.
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        self.memory = mmap.mmap(descriptor, nbytes, flags)

    @classmethod
    def create(cls, nbytes: int, in_memory: bool = False) -> SharedBlock:
        """A new block of at least one byte; with `in_memory` never in a folder that may be on a disk."""
        nbytes = max(nbytes, 1)
        failure: OSError | None = None
        for folder in _folders(in_memory):
            descriptor, path = _new_file(folder)
            try:
                _reserve(descriptor, nbytes)
                return cls(descriptor, path, nbytes)
            except OSError as error:
                Path(path).unlink()
                failure = error
            finally:
                os.close(descriptor)
        raise OSError(
            f"no room for {nbytes} bytes of shared memory in {', '.join(_folders(in_memory)) or 'memory'}"
            + (f": {failure.strerror}" if failure is not None else "")
        ) from failure

    @classmethod
    def open(cls, path: str, nbytes: int) -> SharedBlock:
        """Map a block that another process created."""
        descriptor = os.open(path, os.O_RDWR)
        try:
            return cls(descriptor, path, max(nbytes, 1))
        finally:
            os.close(descriptor)

    def unlinked(self) -> SharedBlock:
        """Remove the name once everybody has opened it: nothing is left behind however the job ends."""
        Path(self.path).unlink(missing_ok=True)
        return self


def _reserve(descriptor: int, nbytes: int) -> None:
    """Gives a new file its pages. Raises OSError where there is no room for them."""
    try:
        os.posix_fallocate(descriptor, 0, nbytes)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise
        zeros = memoryview(bytes(min(nbytes, _AT_ONCE)))
        done = 0
        while done < nbytes:
            done += os.write(descriptor, zeros[: nbytes - done])


def _new_file(folder: str) -> tuple[int, str]:
    """An open file of this user's alone, and its path: what `tempfile` makes, whose import takes longer than the block."""
    path = f"{folder}/tt-run-{os.urandom(8).hex()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), path


def _folders(in_memory: bool) -> Iterator[str]:
    own = os.environ.get(_OF_THE_JOB, "")
    places = (own, *_FOLDERS) if own.startswith(_FOLDERS) else _FOLDERS
    yield from (folder for folder in places if os.access(folder, os.W_OK))
    if not in_memory:
        import tempfile

        yield tempfile.gettempdir()
