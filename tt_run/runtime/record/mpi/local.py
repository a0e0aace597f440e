"""What a replay computes itself, as MPI does without asking other ranks: groups, positions in a grid, infos, statuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tt_run.runtime.record.mpi.calls import NotRecordedMember

UNDEFINED = -32766
_IDENT, _SIMILAR, _UNEQUAL = 0, 2, 3


class Group:
    """An ordered set of the job's ranks; `member` is this process's."""

    def __init__(self, ranks: Iterable[int] = (), member: int = -1) -> None:
        self.ranks, self._member = tuple(ranks), member

    def Get_size(self) -> int:
        """How many ranks."""
        return len(self.ranks)

    def Get_rank(self) -> int:
        """This process's place, UNDEFINED where it is no member."""
        return self.ranks.index(self._member) if self._member in self.ranks else UNDEFINED

    size, rank = property(Get_size), property(Get_rank)

    def Incl(self, ranks: Sequence[int]) -> Group:
        """Those at these places."""
        return Group((self.ranks[r] for r in ranks), self._member)

    def Excl(self, ranks: Sequence[int]) -> Group:
        """All but those at these places."""
        return Group((r for n, r in enumerate(self.ranks) if n not in ranks), self._member)

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Those in ranges of first, last and stride."""
        return self.Incl(_spread(ranks))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """All but those in the ranges."""
        return self.Excl(_spread(ranks))

    @classmethod
    def Union(cls, group1: Group, group2: Group) -> Group:
        """Those of the first, then the others of the second."""
        return Group(dict.fromkeys((*group1.ranks, *group2.ranks)), group1._member)

    @classmethod
    def Intersection(cls, group1: Group, group2: Group) -> Group:
        """Those of the first that the second has."""
        return Group((r for r in group1.ranks if r in group2.ranks), group1._member)

    Intersect = Intersection

    @classmethod
    def Difference(cls, group1: Group, group2: Group) -> Group:
        """Those of the first that the second lacks."""
        return Group((r for r in group1.ranks if r not in group2.ranks), group1._member)

    @classmethod
    def Compare(cls, group1: Group, group2: Group) -> int:
        """IDENT, SIMILAR (another order) or UNEQUAL."""
        if group1.ranks == group2.ranks:
            return _IDENT
        return _SIMILAR if set(group1.ranks) == set(group2.ranks) else _UNEQUAL

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: Group | None = None) -> list[int]:
        """The places of these members in another group."""
        other = self if group is None else group
        mine = [self.ranks[r] for r in (range(len(self.ranks)) if ranks is None else ranks)]
        return [other.ranks.index(r) if r in other.ranks else UNDEFINED for r in mine]

    def Dup(self) -> Group:
        """The same once more."""
        return Group(self.ranks, self._member)

    def Free(self) -> None:
        """Nothing to give back."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and self.ranks == other.ranks

    __hash__ = object.__hash__


def _spread(ranges: Sequence[tuple[int, int, int]]) -> list[int]:
    return [r for first, last, step in ranges for r in range(first, last + (1 if step > 0 else -1), step)]


class Grid:
    """The positions of a Cartesian communicator, row by row."""

    def __init__(self, dims: Sequence[int], periods: Sequence[bool], nowhere: int) -> None:
        self.dims, self.periods, self._nowhere = list(dims), list(periods), nowhere

    def coords(self, rank: int) -> list[int]:
        """Where a rank is."""
        found = []
        for size in reversed(self.dims):
            rank, at = divmod(rank, size)
            found.append(at)
        return found[::-1]

    def rank(self, coords: Sequence[int]) -> int:
        """Who is there; positions beyond an edge wrap where the dimension does."""
        found = 0
        for at, size in zip(coords, self.dims, strict=True):
            found = found * size + at % size
        return found

    def shift(self, rank: int, direction: int, by: int) -> tuple[int, int]:
        """Whom a shift comes from, and whom it goes to."""
        here = self.coords(rank)
        return self._beside(here, direction, -by), self._beside(here, direction, by)

    def _beside(self, here: Sequence[int], direction: int, by: int) -> int:
        there = list(here)
        there[direction] += by
        if not self.periods[direction] and not 0 <= there[direction] < self.dims[direction]:
            return self._nowhere
        return self.rank(there)

    def sub(self, remain: Sequence[bool]) -> Grid:
        """The grid of the dimensions that remain."""
        kept = [n for n, stays in enumerate(remain) if stays]
        return Grid([self.dims[n] for n in kept], [self.periods[n] for n in kept], self._nowhere)


class Info(dict[str, str]):
    """Words for the library: an ordered dictionary of texts."""

    @classmethod
    def Create(cls, items: Any = ()) -> Info:
        """One with these words."""
        return cls(items or ())

    def Get(self, key: str) -> str | None:
        """The value of a word; None where it has none."""
        return self.get(key)

    def Set(self, key: str, value: str) -> None:
        """Say a word."""
        self[key] = value

    def Delete(self, key: str) -> None:
        """Unsay a word."""
        del self[key]

    def Get_nkeys(self) -> int:
        """How many words."""
        return len(self)

    def Get_nthkey(self, n: int) -> str:
        """The word at a place."""
        return list(self)[n]

    def Dup(self) -> Info:
        """The same once more."""
        return Info(self)

    def Free(self) -> None:
        """Nothing to give back."""

    def keys(self) -> Any:
        """The words, as a list."""
        return list(super().keys())

    def values(self) -> Any:
        """What they say, as a list."""
        return list(super().values())

    def items(self) -> Any:
        """Both, as a list."""
        return list(super().items())


class Status:
    """Who sent what was received."""

    def __init__(self, status: Status | None = None) -> None:
        self.source, self.tag, self.error, self.cancelled, self._bytes = -1, -1, 0, False, 0
        if status is not None:
            self.__dict__.update(status.__dict__)

    def say(self, source: int, tag: int, count: int, cancelled: bool = False) -> None:
        """Take what was recorded."""
        self.source, self.tag, self._bytes, self.cancelled = source, tag, count, cancelled

    def Get_count(self, datatype: Any = None) -> int:
        """How many elements came; UNDEFINED where it is no whole number of them."""
        size = 1 if datatype is None else int(datatype.Get_size())
        return UNDEFINED if size and self._bytes % size else self._bytes // (size or 1)

    def Get_elements(self, datatype: Any) -> int:
        """How many of the smallest parts of a datatype came."""
        return self._bytes // (getattr(datatype, "basic", 1) or 1)

    count = property(Get_count)

    def Get_source(self) -> int:
        """The sender's rank."""
        return self.source

    def Get_tag(self) -> int:
        """The message's tag."""
        return self.tag

    def Get_error(self) -> int:
        """The error of this message."""
        return self.error

    def Set_source(self, source: int) -> None:
        """Say another one."""
        self.source = source

    def Set_tag(self, tag: int) -> None:
        """Say another one."""
        self.tag = tag

    def Set_error(self, error: int) -> None:
        """Say another one."""
        self.error = error

    def Set_elements(self, datatype: Any, count: int) -> None:
        """Say that so many came."""
        self._bytes = count * int(datatype.Get_size())

    def Set_cancelled(self, flag: bool) -> None:
        """Say whether it was cancelled."""
        self.cancelled = flag

    def Is_cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.cancelled

    is_cancelled = property(Is_cancelled)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotRecordedMember(f"MPI.Status.{name}")
