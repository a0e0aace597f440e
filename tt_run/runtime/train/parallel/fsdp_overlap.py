"""`ttml.fsdp.enable_overlap`: parameters gathered, and gradients cut, by a second command queue while the first computes.

    ttml.open_device_mesh(mesh, num_command_queues=2)
    ttml.fsdp.enable_overlap(columns=1)          # before fully_shard
    for block in model.blocks:
        ttml.fsdp.fully_shard(block)
    ttml.fsdp.fully_shard(model)

A module that begins has the next one gathered, in the backward pass the one before. Values are the same bits; the predicted time changes, and
a gathered module more lies in memory. Source: upstream's guide of `ttml.fsdp`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from tt_run.runtime import queues
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.parallel.gather_slots import SlotSchedule

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

_COMPUTE, _COLLECTIVES = 0, 1
"""The command queues."""

_Made = TypeVar("_Made")


class Unit(Protocol):
    """The parameters of one module that are gathered together."""

    reshard_after_forward: bool

    def gather_ahead(self) -> None:
        """Gather for the forward pass that comes next."""

    def forget_ahead(self) -> None:
        """Give up what `gather_ahead` gathered."""

    def gather_again(self) -> None:
        """Gather what the backward pass reads next."""


class UnitOrder:
    """The units of one model in the order of its forward pass, and what the second queue has of them."""

    def __init__(self, overlap: Overlap, root: Unit | None, units: Sequence[Unit]) -> None:
        self._overlap, self._root = overlap, root
        self.units = [*([] if root is None else [root]), *units]
        self._ready: dict[int, queues.MeshEvent] = {}
        self._ahead: Unit | None = None

    def forward(self, unit: Unit) -> None:
        """Begin a forward pass: the unit is gathered, and the next one on its way."""
        if self._ahead is not unit:
            self._forget()
        self._ahead = None
        self._bring(unit, unit.gather_ahead)
        place = self._place(unit) + 1
        if place < len(self.units) and not AutoContext.get_instance().is_backward_in_progress():
            self._ahead = self.units[place]
            self._issue(self._ahead, self._ahead.gather_ahead)

    def done(self, unit: Unit) -> None:
        """End a forward pass: the room of the unit may be gathered into again."""
        self._overlap.release(self._slot(unit))

    def backward(self, unit: Unit) -> None:
        """Begin a backward pass: the unit is gathered again, and the one before on its way."""
        self._forget()
        self._bring(unit, unit.gather_again)
        before = self._before(unit)
        if before is not None and AutoContext.get_instance().graph.within is None:
            self._issue(before, before.gather_again)

    def _forget(self) -> None:
        """Give up what was gathered for a module that did not run: an optimizer step may come before it does."""
        if self._ahead is not None:
            self._ready.pop(id(self._ahead), None)
            self._ahead.forget_ahead()
            self._ahead = None

    def _before(self, unit: Unit) -> Unit | None:
        """What the backward pass comes to after a unit; a root, which is around all others, comes first."""
        if unit is self._root:
            return self.units[-1] if len(self.units) > 1 else None
        place = self._place(unit) - 1
        return self.units[place] if place >= 0 and self.units[place] is not self._root else None

    def _bring(self, unit: Unit, gather: Callable[[], None]) -> None:
        """Gather a unit that is needed now, if it is not under way, and let the first queue wait for it."""
        if id(unit) in self._ready:
            gather()
            ready = self._ready.pop(id(unit))
        else:
            ready = self._overlap.issue(gather, None)
        queues.wait_for_event(_COMPUTE, ready)

    def _issue(self, unit: Unit, gather: Callable[[], None]) -> None:
        after = self._overlap.released_for(self._slot(unit))
        self._ready[id(unit)] = self._overlap.issue(gather, after)

    def _place(self, unit: Unit) -> int:
        return next(number for number, other in enumerate(self.units) if other is unit)

    def _slot(self, unit: Unit) -> Hashable:
        """The buffers that a unit is gathered into: those in turn, or its own where it stays gathered."""
        if unit is self._root or not unit.reshard_after_forward:
            return ("own", id(unit))
        return self._overlap.schedule.slot_of(self._place(unit))


class Overlap:
    """The two queues of a mesh, and what one has to wait for from the other."""

    def __init__(self, device: MeshDevice, lookahead: int) -> None:
        self.device, self.schedule = device, SlotSchedule(lookahead)
        self._released: dict[int, queues.MeshEvent] = {}
        self._loose: UnitOrder | None = None
        self._owing = False

    def row(self, unit: Unit, below: Sequence[Unit]) -> UnitOrder:
        """The row of a unit that is around those `below`; without any it follows those that have nothing around them yet."""
        if below:
            self._loose = None
            return UnitOrder(self, unit, below)
        if self._loose is None:
            self._loose = UnitOrder(self, None, ())
        self._loose.units.append(unit)
        return self._loose

    def issue(self, gather: Callable[[], None], after: queues.MeshEvent | None) -> queues.MeshEvent:
        """Gather from the second queue after an event of the first, None for all that it was given; the event when it is done."""
        queues.wait_for_event(_COLLECTIVES, after or queues.record_event(self.device, _COMPUTE))
        with queues.issuing(_COLLECTIVES):
            gather()
        return queues.record_event(self.device, _COLLECTIVES)

    def released_for(self, slot: Hashable) -> queues.MeshEvent | None:
        """The event after which a slot may be gathered into; None for everything before."""
        target = self.schedule.wait_target(slot)
        return None if target is None else self._released.get(target)

    def release(self, slot: Hashable) -> None:
        """Note that what was gathered into a slot has been computed with."""
        number = self.schedule.release(slot)
        self._released[number] = queues.record_event(self.device, _COMPUTE)
        oldest = self.schedule.oldest_needed()
        self._released = {n: event for n, event in self._released.items() if n >= oldest}

    def share(self, make: Callable[[], _Made], is_read: bool) -> _Made:
        """What a device keeps of a gradient, made by the second queue; the first waits at the end of the backward pass, or now if it `is_read`."""
        queues.wait_for_event(_COLLECTIVES, queues.record_event(self.device, _COMPUTE))
        with queues.issuing(_COLLECTIVES):
            own = make()
        if is_read:
            self._settle()
        elif not self._owing:
            self._owing = True
            AutoContext.get_instance().graph.outermost().after_backward(self._settle)
        return own

    def _settle(self) -> None:
        self._owing = False
        queues.wait_for_event(_COMPUTE, queues.record_event(self.device, _COLLECTIVES))


_enabled: list[Overlap] = []


def enable_overlap(columns: int = 0, rows: int = 0, lookahead: int = 2) -> None:
    """Have modules that `fully_shard` wraps from now on gathered and their gradients cut from a second command queue, ahead of their use.

    The rightmost `columns` of each device's cores, or the bottom `rows`, are for that; one column unless told. Modules are gathered into
    2 * `lookahead` buffers in turn. Raises RuntimeError where no mesh with two command queues is open, for both columns and rows, and where
    no core is left to compute; ValueError for a lookahead below 1.
    """
    context = AutoContext.get_instance()
    if context.live_device is None:
        raise RuntimeError(
            "fsdp.enable_overlap: no mesh is open; help: open_device_mesh(mesh, num_command_queues=2) first"
        )
    made = Overlap(context.get_device(), lookahead)
    if not context.has_ccl_sub_device():
        context.enable_ccl_sub_device(columns if columns or rows else 1, rows)
    _enabled[:] = [made]


def current_overlap() -> Overlap | None:
    """What `enable_overlap` made for the mesh that is open, None without."""
    device = AutoContext.get_instance().live_device
    return _enabled[0] if _enabled and device is not None and _enabled[0].device is device else None
