"""Collectives on their way through the book: what each is called, what it takes from this rank's devices, and what it gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tt_run.runtime import guard
from tt_run.runtime.record import stops, values
from tt_run.runtime.record.arrays import Flat, row_digests
from tt_run.runtime.record.facts import Facts, Place, place, site_at
from tt_run.runtime.record.recording import Recording
from tt_run.runtime.record.replaying import Replaying

if TYPE_CHECKING:
    from tt_run.runtime.ccl.plans import Plan
    from tt_run.runtime.tensor.tensor import Tensor

_REMEMBERED = 4096


class BookedCollectives:
    """The keeper of this process: results of collectives are written down, or read back.

    What needs no other rank is computed in a replay as in the run, and only its digests are kept.
    """

    def __init__(self, book: Recording | Replaying) -> None:
        self._book = book
        wanted = stops.read_how().get("dump") or (0, "")
        self._dumped, self._path = int(wanted[0]), str(wanted[1])
        self._known: dict[tuple[int, str, tuple[int, ...], Place], tuple[Facts, Plan]] = {}

    def collective(self, plan: Plan, tensor: Tensor, work: Callable[[], list[Any]]) -> list[Any]:
        """What each exchange of this rank gives."""
        return self._call("collective", plan, tensor, work)

    def gathered(self, plan: Plan, tensor: Tensor, work: Callable[[], dict[int, Any]]) -> dict[int, Any]:
        """The shards by position that one part of a collective gathers."""
        return self._call("gathered", plan, tensor, work)

    def entered(self, plan: Plan, tensor: Tensor) -> None:
        """A collective whose data moves in messages, which are in the book by themselves."""
        self._call("entered", plan, tensor, lambda: None)

    def _call(self, kind: str, plan: Plan, tensor: Tensor, work: Callable[[], Any]) -> Any:
        if self._book.inside:
            return work()
        shards = tensor.shards
        facts = self._facts(kind, plan, shards.index, place())
        found = self._book.call(facts, row_digests(shards.data), work)
        if isinstance(self._book, Replaying) and facts.crosses and kind == "collective":
            guard.answered(self._book.story.counted(self._book.number))
        if self._dumped == self._book.number:
            values.dump(self._path, shards.data, Flat(found).arrays)
        return found

    def _facts(self, kind: str, plan: Plan, index: tuple[int, ...], at: Place) -> Facts:
        key = (id(plan), kind, index, at)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            # With the plan, so that no other can get its id.
            found = self._known[key] = (_facts_of(kind, plan, index, site_at(at)), plan)
        return found[0]


def _facts_of(kind: str, plan: Plan, index: tuple[int, ...], site: str) -> Facts:
    device, locals_ = plan.device, plan.device.local_positions
    everything = tuple(range(len(locals_)))
    return Facts(
        kind,
        plan.signature.operation,
        str(plan.signature),
        site,
        plan.group.ranks if plan.group is not None else (),
        kind != "entered" and any(not part.lane.exchange.local for part in plan.parts),
        device.mesh_id,
        tuple(device.positions[p] for p in locals_),
        tuple(index),
        tuple(part.lane.locals if part.lane.locals is not None else everything for part in plan.parts),
        tuple(device.positions),
    )
