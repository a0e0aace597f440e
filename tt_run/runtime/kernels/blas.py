"""Holding the BLAS library at one thread while the runtime multiplies.

OpenBLAS cuts a product differently on one thread than on several, and edges of a cut are summed by other kernels: of 108 shapes
measured, 59 had other bits on 2 threads than on 1, both products of Falcon-7B's MLP among them. The thread count of a rank follows the number of ranks on
its host, so it must not decide. With one BLAS thread the bits follow the shape alone, and `gemm` brings its own threads.

The count is changed through the functions that OpenBLAS and MKL export, for the duration of a product; what the program set for its own
NumPy work comes back afterwards. A BLAS that exports none of them is left alone (`controlled()` says so).
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

from mgd.lean import dataclass

_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")


@dataclass(frozen=True)
class ThreadControl:
    """The two functions of one loaded BLAS library."""

    library: str
    get: Callable[[], int]
    set: Callable[[int], object]


_lock = threading.RLock()
_depth = 0
_before: list[int] = []


class single_threaded:
    """Every product inside runs on the calling thread alone. May be nested, and entered from several threads."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _depth, _before
        with _lock:
            if _depth == 0:
                controls = _controls()
                _before = [control.get() for control in controls]
                for control in controls:
                    control.set(1)
            _depth += 1

    def __exit__(self, *_: object) -> None:
        global _depth
        with _lock:
            _depth -= 1
            if _depth == 0:
                for control, count in zip(_controls(), _before, strict=True):
                    control.set(count)


def controlled() -> bool:
    """Whether a BLAS library was found whose thread count can be set."""
    return bool(_controls())


@cache
def _controls() -> tuple[ThreadControl, ...]:
    # NumPy must have loaded its library before it can be found.
    import numpy.linalg  # noqa: F401

    found = (_control(path) for path in _loaded_libraries())
    return tuple(control for control in found if control is not None)


def _loaded_libraries() -> list[str]:
    """Files of loaded shared libraries that are, by their names, a BLAS."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[-1] for line in maps.splitlines() if "/" in line}
    names = ("openblas", "mkl_rt")
    return sorted(path for path in paths if any(name in Path(path).name for name in names))


def _control(path: str) -> ThreadControl | None:
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    names = [(f"{p}_get_num_threads{s}", f"{p}_set_num_threads{s}") for p in _PREFIXES for s in _SUFFIXES]
    names.append(("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"))
    for getter, setter in names:
        if hasattr(library, getter) and hasattr(library, setter):
            get, put = getattr(library, getter), getattr(library, setter)
            get.restype, get.argtypes = ctypes.c_int, []
            put.restype, put.argtypes = None, [ctypes.c_int]
            return ThreadControl(path, get, put)
    return None
