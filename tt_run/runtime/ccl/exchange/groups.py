"""Which devices take part in one collective together, and which ranks have to talk for it. Pure.

A device is named by its *position*: its row-major index on the mesh device, the same number on every rank.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from mgd.lean import dataclass

DeviceGroup = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Exchange:
    """Device groups that live on the same set of ranks, and whose data therefore moves in one go.

    `ranks` are world ranks in ascending order; `groups` hold positions in device order; `held[i]` are the positions of
    `ranks[i]` in any of the groups, ascending. `exchanges` makes each once, so that it can be a key by identity.
    """

    ranks: tuple[int, ...]
    groups: tuple[DeviceGroup, ...]
    held: tuple[tuple[int, ...], ...]

    @cached_property
    def local(self) -> bool:
        """Whether one rank holds all devices, so that nothing has to be sent."""
        return len(self.ranks) == 1

    @cached_property
    def first_rows(self) -> tuple[tuple[int, ...], ...]:
        """The rows of the ranks when each holds one device."""
        return ((0,),) * len(self.ranks)

    @cached_property
    def width(self) -> int:
        """The most devices that a rank holds."""
        return max(map(len, self.held))


@lru_cache(maxsize=512)
def exchanges(groups: tuple[DeviceGroup, ...], owners: tuple[int, ...]) -> tuple[Exchange, ...]:
    """Cut groups into exchanges, one per distinct set of owning ranks; `owners[position]` is a world rank.

    The order is by first group, hence the same on every rank: a rank that takes part in several meets its peers without deadlock.
    """
    sets: dict[tuple[int, ...], list[DeviceGroup]] = {}
    for group in groups:
        sets.setdefault(tuple(sorted({owners[p] for p in group})), []).append(group)
    return tuple(
        Exchange(
            ranks,
            tuple(members),
            tuple(tuple(sorted(p for g in members for p in g if owners[p] == rank)) for rank in ranks),
        )
        for ranks, members in sets.items()
    )
