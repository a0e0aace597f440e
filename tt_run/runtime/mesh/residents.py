"""The tensors on a mesh: held weakly, so that they follow their devices to new coordinates when the mesh is reshaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from weakref import ref

from mgd.lean import dataclass, field
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate

Moved = TypeVar("Moved")

_FEWEST = 256  # references that are kept before anybody looks which of them are dead


@dataclass(frozen=True)
class Move:
    """What a reshape does: `coords` gives every old coordinate's new one, `order[i]` the old number of local device i."""

    coords: Mapping[MeshCoordinate, MeshCoordinate]
    order: Sequence[int]
    _done: dict[int, tuple[object, Any]] = field(default_factory=dict)

    def once(self, shared: object, move: Callable[[], Moved]) -> Moved:
        """`move()` for what several tensors share: called for the first of them, its answer kept for the others."""
        if id(shared) not in self._done:
            # The object is kept too: its number must not go to another while the move lasts.
            self._done[id(shared)] = (shared, move())
        answer: Moved = self._done[id(shared)][1]
        return answer


class Resident(Protocol):
    """What lives on a mesh."""

    def follow(self, move: Move) -> None:
        """Go where the devices went."""


class Residents:
    """Weak references to what was put on a mesh. Entering one costs a fraction of a microsecond; the dead are struck off now and then."""

    __slots__ = ("_limit", "_references")

    def __init__(self) -> None:
        self._references: list[ref[Resident]] = []
        self._limit = _FEWEST

    def add(self, resident: Resident) -> None:
        """Hold one more."""
        self._references.append(ref(resident))
        if len(self._references) > self._limit:
            self._references = [held for held in self._references if held() is not None]
            self._limit = max(2 * len(self._references), _FEWEST)

    def __iter__(self) -> Iterator[Resident]:
        for held in tuple(self._references):
            resident = held()
            if resident is not None:
                yield resident
