"""What a collective costs the fabric: the messages of its traffic pattern, and the links that each of them crosses.

Pure functions over device numbers (row-major in the system mesh). The algorithms are the textbook rings: an all-reduce of S bytes over
N devices makes every device send 2(N-1)/N x S, an all-gather (N-1) x S, a reduce-scatter (N-1)/N x S. Between devices that are not
neighbours a message goes along its column first, then along its row, the shorter way round where a dimension is closed. Where links are
lost, a ring that lost one goes on as a line, and other messages take the shortest detour.

Each collective names its pattern in its record (`tt_run.runtime.ccl.record`); the ledger and a model of time read it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from mgd.lean import dataclass, field

if TYPE_CHECKING:
    from fractions import Fraction

Link = tuple[int, int]


class NoWay(ValueError):
    """Two devices that no remaining link joins: the text names both."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """Rows and columns of the system mesh, which of the two dimensions are closed to rings, and what is left of links that lost cables.

    `left` holds both directions of each such link: the part of its channels that still carries, 0 where none does.
    """

    dims: tuple[int, int]
    wraps: tuple[bool, bool] = (False, False)
    left: Mapping[Link, float] = field(default_factory=dict)

    def route(self, source: int, target: int) -> list[Link]:
        """The links from one device to another, in order, each as (from, to); around links that are lost. Raises NoWay."""
        links = self._straight(source, target)
        if self.left and not all(map(self.carries, links)):
            return self._detour(source, target)
        return links

    def carries(self, link: Link) -> bool:
        """Whether anything of a link is left."""
        return self.left.get(link, 1.0) > 0

    def neighbours(self, device: int) -> list[int]:
        """The devices that links of this one lead to, lost or not."""
        rows, columns = self.dims
        row, column = divmod(device, columns)
        found = []
        for dim, (here, extent) in enumerate(((row, rows), (column, columns))):
            for step in (-1, 1):
                there = here + step
                if 0 <= there < extent or (self.wraps[dim] and extent > 2):
                    there %= extent
                    found.append(there * columns + column if dim == 0 else row * columns + there)
        return found

    def _straight(self, source: int, target: int) -> list[Link]:
        columns = self.dims[1]
        here, goal = list(divmod(source, columns)), divmod(target, columns)
        links: list[Link] = []
        for dim in (0, 1):
            while here[dim] != goal[dim]:
                before = here[0] * columns + here[1]
                here[dim] = (here[dim] + self._step(dim, here[dim], goal[dim])) % self.dims[dim]
                links.append((before, here[0] * columns + here[1]))
        return links

    def _detour(self, source: int, target: int) -> list[Link]:
        """The shortest way over what is left; of several, the one that keeps to the lower devices."""
        came: dict[int, int] = {source: source}
        reached = [source]
        while target not in came and reached:
            ahead = []
            for here in reached:
                for there in sorted(self.neighbours(here)):
                    if there not in came and self.carries((here, there)):
                        came[there] = here
                        ahead.append(there)
            reached = ahead
        if target not in came:
            raise NoWay(f"no link that is left joins device D{source} to D{target}")
        links: list[Link] = []
        while target != source:
            links.append((came[target], target))
            target = came[target]
        return links[::-1]

    def _step(self, dim: int, here: int, goal: int) -> int:
        forward = (goal - here) % self.dims[dim]
        direct = 1 if goal > here else -1
        if not self.wraps[dim] or 2 * forward == self.dims[dim]:
            return direct
        return 1 if 2 * forward < self.dims[dim] else -1

    def closed(self, order: Sequence[int]) -> bool:
        """Whether the last of these devices is a neighbour of the first, going round, and every link on the way is left."""
        pairs = zip(order, [*order[1:], order[0]], strict=True)
        return all(b in self.neighbours(a) and self.carries((a, b)) for a, b in pairs)


@dataclass(frozen=True, slots=True)
class Message:
    """`count` messages of together `size` bytes from one device to another."""

    source: int
    target: int
    size: Fraction
    count: int


@dataclass(frozen=True, slots=True)
class Load:
    """What one link carries: bytes, and in how many messages."""

    bytes: Fraction
    messages: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """How the data of one device group travels. `rule(devices, size)` lists the messages when each device contributes `size` bytes.

    The devices come as neighbours around a ring; `in_group_order`, as the group names them, where the first is the sender. `algorithm` is
    what data files call its set-up and efficiency; `one_way`, that a ring is not used in both directions at once.
    """

    name: str
    rule: Callable[[list[int], Fraction], list[Message]]
    algorithm: str
    in_group_order: bool = False
    one_way: bool = False

    def messages(self, group: Sequence[int], size: int, fabric: Fabric) -> list[Message]:
        """The messages over one group of devices; `size` is the bytes that one device contributes."""
        if len(group) < 2:
            return []
        from fractions import Fraction

        if self.in_group_order:
            return self.rule(list(group), Fraction(size))
        order = ring_order(group, fabric.dims[1])
        if not fabric.left:
            return self.rule(order, Fraction(size))
        order, broken = _begun_after_break(order, fabric)
        found = self.rule(order, Fraction(size))
        if not broken:
            return found
        # What went over the lost link goes back along the others, as a line does it.
        back = [m for m in found if (m.source, m.target) == (order[-1], order[0])]
        kept = [m for m in found if m not in back]
        return kept + [Message(b, a, m.size, m.count) for m in back for a, b in pairwise(order)]

    def loads(self, groups: Sequence[Sequence[int]], size: int, fabric: Fabric) -> dict[Link, Load]:
        """What each link carries while all groups run at the same time: from here a model of time takes its bottleneck."""
        from fractions import Fraction

        loads: dict[Link, Load] = {}
        for group in groups:
            for message in self.messages(group, size, fabric):
                for link in fabric.route(message.source, message.target):
                    before = loads.get(link, Load(Fraction(0), 0))
                    loads[link] = Load(before.bytes + message.size, before.messages + message.count)
        return loads


def _begun_after_break(order: list[int], fabric: Fabric) -> tuple[list[int], bool]:
    """A ring that lost one link as the line that it still is; other orders as they are, for they need detours."""
    pairs = list(zip(order, [*order[1:], order[0]], strict=True))
    if not all(b in fabric.neighbours(a) for a, b in pairs):
        return order, False
    lost = [place for place, pair in enumerate(pairs) if not fabric.carries(pair)]
    if len(lost) != 1 or len(order) < 3:
        return order, False
    return order[lost[0] + 1 :] + order[: lost[0] + 1], True


def ring_order(group: Sequence[int], columns: int) -> list[int]:
    """The devices of a group as neighbours around a ring: a line as it is, a full rectangle along a closed walk if it has one."""
    places = {divmod(device, columns): device for device in group}
    rows = sorted({row for row, _ in places})
    cols = sorted({column for _, column in places})
    if len(rows) == 1 or len(cols) == 1 or len(rows) * len(cols) != len(places):
        return list(group)
    if len(rows) % 2 and not len(cols) % 2:
        return [places[(row, column)] for column, row in _closed_walk(cols, rows)]
    return [places[place] for place in _closed_walk(rows, cols)]


def _closed_walk(rows: list[int], columns: list[int]) -> list[tuple[int, int]]:
    """Row by row, back and forth, over all columns but the first, then home through the first; closed when rows are even."""
    if len(rows) % 2:
        return [
            (row, column)
            for i, row in enumerate(rows)
            for column in (columns if i % 2 == 0 else columns[::-1])
        ]
    inner = columns[1:]
    walk = [(row, column) for i, row in enumerate(rows) for column in (inner if i % 2 == 0 else inner[::-1])]
    return [(rows[0], columns[0]), *walk, *((row, columns[0]) for row in reversed(rows[1:]))]


def _around(ring: list[int], size: Fraction, count: int) -> list[Message]:
    return [Message(a, b, size, count) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)]


def _gather(ring: list[int], size: Fraction) -> list[Message]:
    return _around(ring, size * (len(ring) - 1), len(ring) - 1)


def _scatter(ring: list[int], size: Fraction) -> list[Message]:
    return _around(ring, size * (len(ring) - 1) / len(ring), len(ring) - 1)


def _reduce(ring: list[int], size: Fraction) -> list[Message]:
    return _around(ring, size * 2 * (len(ring) - 1) / len(ring), 2 * (len(ring) - 1))


def _chain(line: list[int], size: Fraction) -> list[Message]:
    return [Message(a, b, size, 1) for a, b in pairwise(line)]


def _direct(pair: list[int], size: Fraction) -> list[Message]:
    return [Message(pair[0], pair[1], size, 1)]


def _exchange(devices: list[int], size: Fraction) -> list[Message]:
    return [Message(a, b, size / len(devices), 1) for a in devices for b in devices if a != b]


def _both_ways(line: list[int], size: Fraction) -> list[Message]:
    return _borders(line, 2 * size, 1, 1)


def _borders(line: list[int], size: Fraction, ahead: int, back: int) -> list[Message]:
    sides = ((False, size * ahead / (ahead + back)), (True, size * back / (ahead + back)))
    return [
        Message(*((b, a) if turned else (a, b)), share, 1)
        for a, b in pairwise(line)
        for turned, share in sides
        if share
    ]


def borders(ahead: int, back: int) -> Pattern:
    """From every device of a line to the next one and to the one before, in these proportions of what it contributes."""

    def rule(line: list[int], size: Fraction) -> list[Message]:
        return _borders(line, size, ahead, back) if ahead + back else []

    return Pattern("borders", rule, BOTH_NEIGHBOURS.algorithm, in_group_order=True, one_way=True)


def cut_anew(held: int, offset: int, taken: int) -> Pattern:
    """From devices that hold `held` rows each to those that take `taken` each, counted from `offset` on: `size` is that of the rows taken."""

    def rule(devices: list[int], size: Fraction) -> list[Message]:
        found = []
        for i, source in enumerate(devices):
            for j, target in enumerate(devices):
                start = offset + j * taken
                rows = min(start + taken, (i + 1) * held) - max(start, i * held)
                if i != j and rows > 0:
                    found.append(Message(source, target, size * rows / taken, 1))
        return found

    return Pattern("cut anew", rule, EXCHANGE.algorithm, in_group_order=True)


RING_GATHER = Pattern("ring gather", _gather, "all_gather")
"""Everything of everybody to everybody, around the ring."""
RING_SCATTER = Pattern("ring scatter", _scatter, "reduce_scatter")
"""Partial results around the ring, each device keeping its part."""
RING_REDUCE = Pattern("ring reduce", _reduce, "all_reduce")
"""A scatter of partial sums, then a gather of the sums."""
CHAIN = Pattern("chain", _chain, "broadcast", in_group_order=True, one_way=True)
"""From the first device to each next one."""
DIRECT = Pattern("direct", _direct, "point_to_point", in_group_order=True, one_way=True)
"""One message from the first device to the second."""
EXCHANGE = Pattern("exchange", _exchange, "all_to_all", in_group_order=True)
"""A part of every device's data to each of the others, straight."""
BOTH_NEIGHBOURS = Pattern("both neighbours", _both_ways, "point_to_point", in_group_order=True, one_way=True)
"""From every device of a line to the one before and the one after."""
PATTERNS = (RING_GATHER, RING_SCATTER, RING_REDUCE, CHAIN, DIRECT, EXCHANGE, BOTH_NEIGHBOURS)
