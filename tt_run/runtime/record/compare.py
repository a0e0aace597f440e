"""`python -m tt_run.runtime.record.compare A B [RANK] [json]`: the first call, and the first element, in which two records differ.

Behind `tt-run diff`. Runs with the same ranks and devices are compared call by call. Of runs that are split otherwise, each device has the
same collectives in the same order whoever hosts it, so those are compared device by device.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.contract import Exit
from tt_run.runtime.record.folder import NoRecord, RunRecord, find_run, finding_of, header_of, rank_of
from tt_run.runtime.record.replaying import Story
from tt_run.runtime.record.soundness import Damaged
from tt_run.runtime.record.values import Device, RecordedCall, calls_of

Array = npt.NDArray[Any]
_ON_DEVICES = ("collective", "entered")


@dataclass(frozen=True)
class Side:
    """One of the two runs: its records by rank."""

    name: str
    run: RunRecord
    stories: dict[int, Story]

    @property
    def size(self) -> int:
        """How many ranks the run had."""
        return int(next(iter(self.stories.values())).header["size"])

    @property
    def words(self) -> str:
        """The program of its first rank."""
        return shlex.join(next(iter(self.stories.values())).header["argv"][1:])

    def split(self) -> dict[int, set[Device]]:
        """The devices of each rank, as far as collectives show them."""
        return {
            rank: {(f.mesh_id, device) for f in story.facts for device in f.devices}
            for rank, story in self.stories.items()
        }

    def by_device(self) -> dict[Device, list[RecordedCall]]:
        """The collectives of each device in order."""
        found: dict[Device, list[RecordedCall]] = {}
        for story in self.stories.values():
            for call in calls_of(story):
                if call.facts.kind in _ON_DEVICES:
                    for device in call.facts.devices:
                        found.setdefault((call.facts.mesh_id, device), []).append(call)
        return found


@dataclass(frozen=True)
class Difference:
    """Where two records part: the call in each (None: it has none), what is not alike, and the element if it is known."""

    calls: tuple[RecordedCall | None, RecordedCall | None]
    what: str
    device: Device | None = None
    element: tuple[int, ...] | None = None
    values: tuple[str, str] | None = None
    extent: str = ""


@dataclass
class Comparison:
    """The outcome: how much was compared, and the first difference."""

    sides: tuple[Side, Side]
    alike: bool
    calls: int = 0
    devices: int = 0
    left_out: int = 0
    difference: Difference | None = None
    notes: list[str] = field(default_factory=list)


def compare(a: Side, b: Side) -> Comparison:
    """Compare two runs."""
    alike = _are_split_alike(a, b)
    found = Comparison((a, b), alike)
    if alike:
        for name, ranks in (
            ("A", b.stories.keys() - a.stories.keys()),
            ("B", a.stories.keys() - b.stories.keys()),
        ):
            found.notes += (
                [f"{name} has no record of {rank_list(ranks)}, which is not compared"] if ranks else []
            )
    for pairs in _by_call(found) if alike else _by_device(found):
        unlike = [
            Difference((one, other), what, on)
            for one, other, on in pairs
            if (what := _unlike(one, other, on))
        ]
        if unlike:
            # What one device sends changes what others get in the same call.
            found.difference = _closer(min(unlike, key=lambda each: each.what == RESULTS))
            break
    return found


def _are_split_alike(a: Side, b: Side) -> bool:
    """Whether the same ranks had the same devices, as far as their records came."""
    if a.size != b.size or not a.stories.keys() & b.stories.keys():
        return False
    mine, others = a.split(), b.split()
    return all(
        not mine[rank] or not others[rank] or mine[rank] == others[rank]
        for rank in mine.keys() & others.keys()
    )


def rank_list(ranks: Iterable[int]) -> str:
    """`rank 1`, `ranks 1, 3`."""
    found = sorted(ranks)
    return f"rank{'s' * (len(found) > 1)} {', '.join(map(str, found))}"


RESULTS = "other values"
Pair = tuple[RecordedCall | None, RecordedCall | None, Device | None]


def _by_call(found: Comparison) -> Iterator[list[Pair]]:
    """The calls of the same ranks, the first of all ranks first."""
    a, b = (side.stories for side in found.sides)
    ranks = sorted(a.keys() & b.keys())
    found.calls = sum(len(a[rank].begun) for rank in ranks)
    split = found.sides[0].split()
    found.devices = len(set().union(*(split[rank] for rank in ranks)))
    columns = [zip_longest(calls_of(a[rank]), calls_of(b[rank])) for rank in ranks]
    for row in zip_longest(*columns, fillvalue=None):
        yield [each for pair in row if pair is not None for each in _devices_of(*pair)]


def _devices_of(one: RecordedCall | None, other: RecordedCall | None) -> Iterator[Pair]:
    """A pair of calls, once for each device where it is a collective, so that the device is named."""
    if (
        one is not None
        and other is not None
        and one.facts.kind in _ON_DEVICES
        and one.facts.devices == other.facts.devices
    ):
        for device in one.facts.devices:
            yield one, other, (one.facts.mesh_id, device)
    yield one, other, None


def _by_device(found: Comparison) -> Iterator[list[Pair]]:
    """The collectives of the devices that both have, in order of calls."""
    a, b = (side.by_device() for side in found.sides)
    common = sorted(a.keys() & b.keys())
    found.devices = len(common)
    found.calls = max((max(len(a[d]), len(b[d])) for d in common), default=0)
    found.left_out = sum(
        f.facts.kind not in _ON_DEVICES
        for side in found.sides
        for s in side.stories.values()
        for f in calls_of(s)
    )
    only = sorted(a.keys() ^ b.keys())
    if only:
        found.notes.append(f"{len(only)} devices take part in collectives of one run only")
    for row in zip_longest(*(list(zip_longest(a[d], b[d])) for d in common), fillvalue=None):
        yield [(*pair, device) for device, pair in zip(common, row, strict=True) if pair is not None]


def _unlike(one: RecordedCall | None, other: RecordedCall | None, device: Device | None) -> str:
    """What is not alike in two calls, on one device where one is named."""
    if one is None or other is None:
        return "one run ends" if (one or other) is not None else ""
    if (one.facts.kind, one.facts.words) != (other.facts.kind, other.facts.words):
        return "other calls"
    if device is None:
        if one.sent != other.sent:
            return "other values sent"
        if one.error != other.error:
            return "other errors"
        return (
            "other values" if one.got is not None and other.got is not None and one.got != other.got else ""
        )
    if one.sent_by(device[1]) != other.sent_by(device[1]):
        return "other values sent"
    got, others = one.got_by(device[1]), other.got_by(device[1])
    return RESULTS if got and others and got != others else ""


def _closer(found: Difference) -> Difference:
    """The same with the first element that differs, where the values are known on both sides."""
    one, other = found.calls
    if one is None or other is None or found.what not in (RESULTS, "other values sent"):
        return found
    for a, b in _arrays(one, other, found):
        if a.shape == b.shape and a.dtype == b.dtype and a.tobytes() != b.tobytes():
            differs = (_bytes_of(a) != _bytes_of(b)).any(axis=-1)
            at = tuple(int(i) for i in np.argwhere(differs)[0])
            extent = f"{int(differs.sum())} of {differs.size} elements differ"
            return Difference(
                found.calls, found.what, found.device, at, (_shown(a[at]), _shown(b[at])), extent
            )
    return found


def _arrays(one: RecordedCall, other: RecordedCall, found: Difference) -> Iterator[tuple[Array, Array]]:
    """The arrays of both sides in which the difference is to be looked for: results where what was sent is not known."""
    (sent_a, got_a), (sent_b, got_b) = one.seen, other.seen
    if found.what != RESULTS and sent_a is not None and sent_b is not None and found.device is not None:
        rows = [_row_of(call, found.device[1]) for call in (one, other)]
        if rows[0] < len(sent_a) and rows[1] < len(sent_b):
            yield sent_a[rows[0]], sent_b[rows[1]]
            return
    if found.device is None:
        yield from zip(got_a, got_b, strict=False)
        return
    places = zip(one.places_of(found.device[1]), other.places_of(found.device[1]), strict=False)
    for (n, row), (m, line) in places:
        if n < len(got_a) and m < len(got_b):
            yield got_a[n][row], got_b[m][line]


def _bytes_of(array: Array) -> Array:
    """The bytes of each element, which tell NaNs and zeros of two signs apart."""
    return np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.dtype.itemsize)


def _row_of(call: RecordedCall, device: int) -> int:
    return call.facts.rows[call.facts.devices.index(device)]


def _shown(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, (float, np.floating)) else str(value)


def text_of(found: Comparison) -> str:
    """The outcome for people."""
    a, b = found.sides
    ranks = f"{len(a.stories)} rank{'s' * (len(a.stories) != 1)}"
    lines = [
        f"A  {a.run.path}  {ranks}",
        f"B  {b.run.path}  {len(b.stories)} rank{'s' * (len(b.stories) != 1)}",
    ]
    if a.words != b.words:
        lines += [f"   A ran {a.words}", f"   B ran {b.words}"]
    where = f"on {found.devices} device{'s' * (found.devices != 1)}"
    if not found.alike:
        lines.append(
            f"The runs are split otherwise: compared are the collectives {where}; "
            f"{found.left_out} messages between ranks belong to a split."
        )
    lines += found.notes
    if found.difference is None:
        unit = "call" if found.alike else "collective"
        on = f" {where}" * bool(found.devices or not found.alike)
        lines.append(
            f"No difference: {found.calls} {unit}{'s' * (found.calls != 1)}{on} with the same values."
        )
        return "\n".join(lines)
    return "\n".join([*lines, *_told(found.difference, found.sides)])


def _told(found: Difference, sides: Iterable[Side]) -> Iterator[str]:
    one, other = found.calls
    known = one or other
    assert known is not None
    on = f" on device {found.device[1]} of mesh {found.device[0]}" if found.device else ""
    if found.what == "one run ends":
        short, long = ("A", "B") if one is None else ("B", "A")
        yield f"First difference: {short} ends where {long} goes on with {_place(known)}: {known.facts}"
        return
    assert one is not None and other is not None
    if found.what == "other calls":
        yield "First difference: the runs make other calls"
    else:
        said = {
            "other values sent": "what is sent is not the same, so it differs before this call",
            RESULTS: "what comes out is not the same, though the same was sent",
            "other errors": "it ends in another error",
        }
        yield f"First difference{on}: {said[found.what]}"
    yield f"  A  {_place(one)}: {one.facts}{_raised(one)}"
    yield f"  B  {_place(other)}: {other.facts}{_raised(other)}"
    if found.values is not None and found.element is not None:
        yield f"  element {list(found.element)}: {found.values[0]} in A, {found.values[1]} in B; {found.extent}"
    elif found.what.startswith("other values"):
        yield "  The element is not known: the values were not kept, and the program cannot be replayed up to here."
    for side, call in zip(sides, (one, other), strict=True):
        yield f"  look: tt-run replay {side.name} --rank {call.story.rank} --until {call.number}"


def _place(call: RecordedCall) -> str:
    return f"rank {call.story.rank}, {call.story.name_of(call.number)}"


def _raised(call: RecordedCall) -> str:
    return f"\n     raised {call.error.splitlines()[0]}" if call.error else ""


def json_of(found: Comparison) -> dict[str, Any]:
    """The outcome for programs."""
    told: dict[str, Any] | None = None
    if found.difference is not None:
        told = {
            "what": found.difference.what,
            "calls": [_call_json(call) for call in found.difference.calls],
            "mesh": found.difference.device[0] if found.difference.device else None,
            "device": found.difference.device[1] if found.difference.device else None,
            "element": found.difference.element,
            "values": found.difference.values,
        }
    return {
        "same": found.difference is None,
        "same_split": found.alike,
        "calls": found.calls,
        "devices": found.devices,
        "not_compared": found.left_out,
        "difference": told,
    }


def _call_json(call: RecordedCall | None) -> dict[str, Any] | None:
    if call is None:
        return None
    facts = call.facts
    return {
        "rank": call.story.rank,
        "number": call.number,
        "guard_number": call.story.counted(call.number) or None,
        "kind": facts.kind,
        "name": facts.name,
        "signature": facts.words,
        "site": facts.site,
    }


def side_of(name: str, rank: int | None) -> Side:
    """The records of a run, or of one rank of it. Raises NoRecord."""
    run = find_run(Path(name))
    paths = run.ranks if rank is None else {rank: rank_of(run, rank)}
    try:
        for path in paths.values():
            header_of(path)
        return Side(name, run, {number: Story(path) for number, path in paths.items()})
    except OSError as error:
        raise NoRecord(f"{error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise NoRecord(str(error)) from error


def main(words: Sequence[str]) -> int:
    """0 where the records are the same, 1 where they differ, 66 where one cannot be read."""
    first, second, rank, form = words
    number = int(rank) if rank else None
    try:
        found = compare(side_of(first, number), side_of(second, number))
    except (NoRecord, Damaged) as error:
        print(finding_of(error), file=sys.stderr)
        return Exit.UNREADABLE
    print(json.dumps(json_of(found), indent=1) if form == "json" else text_of(found))
    return Exit.OK if found.difference is None else Exit.FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
