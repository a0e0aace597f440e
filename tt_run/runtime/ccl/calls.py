"""A collective as it runs: show what the others may see, agree, move the data, announce. The one place where collectives meet the events.

There is one path, whether anybody listens or not and however many exchanges a rank takes part in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

from tt_run.runtime import events, guard
from tt_run.runtime.ccl.exchange.groups import DeviceGroup
from tt_run.runtime.ccl.exchange.shard_locations import ShardRows, agreed_table, outline_of
from tt_run.runtime.ccl.plans import Plan, PlannedExchange
from tt_run.runtime.comm import record_hook
from tt_run.runtime.enums import DataType
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import stored_dtype
from tt_run.runtime.values.shards import Shards


def run(plan: Plan, tensor: Tensor) -> Shards:
    """Run a collective that gives each device one result: what the devices of this rank hold then."""
    found: list[Shards] = pieces(plan, tensor)
    return found[0] if plan.whole else merge(found, plan)


def pieces(plan: Plan, tensor: Tensor) -> list[Any]:
    """Run a collective: what its algorithm gives for each exchange of this rank."""
    begun = _begin(plan, tensor) if events.listening else None
    try:
        if record_hook.keeper is None:
            found = _moved(plan, tensor)
        else:
            found = record_hook.keeper.collective(plan, tensor, partial(_moved, plan, tensor))
    except BaseException as error:
        if begun is not None:
            begun.fail(error)
        raise
    if begun is not None:
        begun.end(None, _draft(plan, begun))
    return found


def _moved(plan: Plan, tensor: Tensor) -> list[Any]:
    """Agree, and move the data."""
    if shapes.active():
        return _without_values(plan, tensor)
    # Loops, since a comprehension is a call, and nearly always there is one part; and no `with`, which takes twice as long.
    shards, group, shown, found = tensor.shards, plan.group, [], []
    algorithm, arguments = plan.algorithm, plan.arguments
    if group is None:
        for part in plan.parts:
            found.append(algorithm(_rows(part, shards).join(), *arguments))
        return found
    lock = guard.one_at_a_time
    lock.acquire()
    try:
        # Rows are shown before the ranks meet, so that one meeting does.
        for part in plan.parts:
            shown.append(_rows(part, shards))
        met = guard.collective(group, plan.signature, 5)
        for rows in shown:
            found.append(algorithm(rows if met and rows.standing else rows.join(met), *arguments))
    finally:
        lock.release()
    return found


def _without_values(plan: Plan, tensor: Tensor) -> list[Any]:
    """What the algorithm would give, from the plan alone: the ranks agree and tell each other which devices hold a shard."""
    shards = tensor.shards
    if plan.group is not None:
        guard.collective(plan.group, plan.signature, 5)
    found: list[Any] = []
    for part in plan.parts:
        lane = part.lane
        own = lane.own(shards.index)
        agreed_table(own, lane.exchange, lane.wire)
        piece = Shards.unchecked(shapes.bare(plan.spec.shape, shards.data.dtype), own)
        found.append([piece] * plan.lanes.members if plan.collective.several else piece)
    return found


class CallContext:
    """The same as a `with` block around an algorithm that is not for each exchange by itself.

    Entering waits until every rank of the mesh makes the same call, and the guard raises when one does not. Leaving tells the listeners
    over which groups data moved. It is a class and no generator because a generator
    would put its frames between the guard and the user's line.
    """

    __slots__ = ("_begun", "plan", "tensor")

    def __init__(self, plan: Plan, tensor: Tensor) -> None:
        self.plan, self.tensor = plan, tensor
        self._begun: events.Begun | None = None

    def __enter__(self) -> CallContext:
        if events.listening:
            self._begun = _begin(self.plan, self.tensor)
        group = self.plan.group
        try:
            if record_hook.keeper is not None:
                record_hook.keeper.entered(self.plan, self.tensor)
            guard.one_at_a_time.acquire()
            try:
                if group is not None:
                    guard.collective(group, self.plan.signature, 2)
            except BaseException:
                guard.one_at_a_time.release()
                raise
        except BaseException as error:
            if self._begun is not None:
                self._begun.fail(error)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        guard.one_at_a_time.release()
        if self._begun is None:
            return
        if error is None:
            self._begun.end(None, _draft(self.plan, self._begun))
        else:
            self._begun.fail(error)


def _begin(plan: Plan, tensor: Tensor) -> events.Begun:
    return events.begin("collective", plan.collective.name, plan, (tensor,))


def _draft(plan: Plan, begun: events.Begun) -> events.Draft:
    device = plan.device
    ended, where = events.now(), events.place(3)
    return (
        collective_event, plan, begun.start, ended, *where, plan.moved, device.positions, device.local_positions
    )  # fmt: skip


def collective_event(
    plan: Plan,
    start: float,
    end: float,
    code: CodeType | None,
    at: int,
    moved: Sequence[DeviceGroup],
    positions: Sequence[int],
    local: Sequence[int],
) -> events.Event:
    """The event of a collective that moved data over some groups of a mesh; its devices were at `positions`, with the numbers `local` here."""
    return events.Event(
        "collective",
        plan.collective.name,
        start=start,
        end=end,
        site=events.site_of(code, at),
        mesh_id=plan.device.mesh_id,
        devices=tuple(positions[p] for p in local),
        groups=tuple(tuple(positions[p] for p in group) for group in moved),
        axis=plan.signature.axis,
        bytes=plan.nbytes,
        detail=plan.detail,
        traffic=plan.traffic,
    )


def _rows(part: PlannedExchange, shards: Shards) -> ShardRows:
    """A tensor's shards in one exchange of this rank, not joined yet."""
    lane, index, data = part.lane, shards.index, shards.data
    wire = lane.wire
    window = wire.window
    outline = part.outlines.get(index)
    if outline is None or outline.window is not window:
        own = lane.own(index)
        outline = part.outlines[index] = outline_of(own, shards.shape, data.dtype, lane.exchange, wire)
    if outline.standing is None or window is None:
        if outline.shared and window is not None and window.rank == 0 and guard.watches():
            window.foresee(outline.shared)
        return ShardRows(data, outline, lane.exchange, wire)
    rows = outline.standing[window.next_slot()]
    rows.data[...] = data if len(data) == 1 else data[outline.used[0]]
    return rows


def gathered(call: CallContext, tensor: Tensor) -> dict[int, Any]:
    """Inside of a call that gathers: a tensor's shard of every device in this rank's exchanges, by position."""
    if record_hook.keeper is not None:
        return record_hook.keeper.gathered(call.plan, tensor, lambda: _gathered(call, tensor))
    return _gathered(call, tensor)


def _gathered(call: CallContext, tensor: Tensor) -> dict[int, Any]:
    lanes, shards = call.plan.lanes.parts, tensor.shards
    if shapes.active():
        zeros = shards.row(0)
        for lane in lanes:
            agreed_table(lane.own(shards.index), lane.exchange, lane.wire)
        return {position: zeros for lane in lanes for held in lane.exchange.held for position in held}
    if tensor.dtype is DataType.BFLOAT16:
        lanes = tuple(lane.in_halves() for lane in lanes)
    found: dict[int, Any] = {}
    for lane in lanes:
        rows = ShardRows.of(shards.data, lane.own(shards.index), lane.exchange, lane.wire)
        found.update(call.plan.algorithm(rows.join()))
    return found


def merge(found: Sequence[Shards], plan: Plan) -> Shards:
    """The outcomes of a rank's exchanges as the shards of its devices; those that take no part hold none."""
    if plan.whole:
        return found[0]
    index = [-1] * len(plan.lanes.positions)
    if not found:
        return Shards(np.empty((0, *plan.spec.shape), stored_dtype(plan.spec.dtype)), tuple(index))
    total = 0
    for piece, part in zip(found, plan.parts, strict=True):
        assert part.lane.locals is not None
        for local, row in zip(part.lane.locals, piece.index, strict=True):
            index[local] = total + row
        total += len(piece.data)
    return Shards(np.concatenate([piece.data for piece in found]), tuple(index))
