"""How many semaphores the programs of collectives take. Source: refusals of reference library 0.81.1, with a fabric on a mock cluster."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.ccl.memory_checks import dim_of_whole_tiles, in_whole_tiles
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor

_GATHER, _SCATTER, _BARRIERS = 2, 3, 2


def _count(given: Any) -> int:
    return len(given) if isinstance(given, (list, tuple)) else int(given is not None)


def _hint(name: str, found: int, wanted: int) -> str:
    made = f"[ttnn.create_global_semaphore(mesh_device, cores, 0) for _ in range({wanted})]"
    return f"{name} has {found}, give {wanted}: {made}"


def _made_of_several(tensor: Tensor, dim: int, pieces: int = 1) -> bool:
    """Whether a collective along `dim` is no program of whole tiles, and takes no semaphores; so is one of a dimension that others refuse."""
    rank = tensor.shape.rank
    return not (-rank <= dim < rank and in_whole_tiles(tensor, dim % rank, pieces))


def check_gather(
    tensor: Tensor,
    dim: int,
    given: Any,
    name: str = "multi_device_global_semaphore",
    *,
    broadcast: bool = False,
) -> None:
    """Raises RuntimeError for another number of semaphores than a gather of whole tiles takes."""
    found = _count(given)
    if found == _GATHER or given is None or broadcast or _made_of_several(tensor, dim):
        return
    raise fatal(f"Default implementation requires {_GATHER} semaphores", hint=_hint(name, found, _GATHER))


def check_scatter(
    tensor: Tensor, dim: int, members: int, given: Any, name: str = "multi_device_global_semaphore"
) -> None:
    """Raises RuntimeError for another number of semaphores than a reduce-scatter of whole tiles takes."""
    found = _count(given)
    if found == _SCATTER or given is None or _made_of_several(tensor, dim, members):
        return
    raise fatal(f"Expected {_SCATTER} semaphores but got {found}", hint=_hint(name, found, _SCATTER))


def check_sum(tensor: Tensor, members: int, barriers: Any, scatter: Any, gather: Any) -> None:
    """Raises RuntimeError for another number of semaphores than an all-reduce takes, which is a reduce-scatter and a gather."""
    if (_count(barriers), _count(scatter), _count(gather)) == (_BARRIERS, _SCATTER, _GATHER):
        return
    dim = dim_of_whole_tiles(tensor, members)
    if dim is None:
        return
    found = _count(barriers)
    if found != _BARRIERS and barriers is not None:
        raise fatal(
            f"Barrier semaphores must be of size {_BARRIERS}",
            hint=_hint("barrier_semaphores", found, _BARRIERS),
        )
    check_scatter(tensor, dim, members, scatter, "rs_global_semaphores")
    check_gather(tensor, dim, gather, "ag_global_semaphores")


def check_pair(given: Any) -> None:
    """Raises RuntimeError for fewer than the two semaphores that a gather for a kernel beside it reads, which end the reference in an IndexError."""
    found = _count(given)
    if found < _GATHER and given is not None:
        raise fatal(
            f"vector::_M_range_check: __n (which is {found}) >= this->size() (which is {found})",
            hint=_hint("multi_device_global_semaphore", found, _GATHER),
        )
