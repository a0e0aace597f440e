"""What every device holds, from the first tensor to the last: kept for sets of devices that hold the same, not for each device.

A tensor counts from when it is made until the program gives it back or drops the last reference. Views, parts of a mesh tensor and
tensors over one buffer count once.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from tt_run.runtime import events
from tt_run.runtime.ccl.semaphores import GlobalSemaphore, watch
from tt_run.runtime.memory.circular_buffers import circular_buffers
from tt_run.runtime.memory.footprint import (
    DRAM,
    L1,
    Bank,
    Footprint,
    banks_beside,
    cores_of,
    footprint,
    semaphore_footprint,
)
from tt_run.runtime.memory.space import Space
from tt_run.runtime.mesh.device import NO_REGIONS, MeshDevice
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor, observe
from tt_run.runtime.values.storage import Buffer, BufferPart

KINDS = (DRAM, L1)
Devices = frozenset[int]


@dataclass(eq=False, slots=True)
class Allocation:
    """One buffer: what it is (None: no tensor), who made it, where it lies, when it came and went (moments count allocations and frees)."""

    spec: TensorSpec | None
    size: Footprint
    site: str
    devices: Devices
    made: int
    freed: int | None = None
    dropped: bool = False
    """Whether the program gave it back only by forgetting it."""
    last_used: int = 0
    tensors: int = 0
    """How many tensors of the program look at the buffer."""


class _Watch(weakref.ref[Tensor]):
    """Tells when a tensor is dropped; a third of the time of weakref.finalize, which every tensor of a program would pay."""

    __slots__ = ("allocation", "key")
    allocation: Allocation
    key: int


@dataclass(frozen=True, slots=True)
class Buffers:
    """The circular buffers of one operation: bytes of each core at least, how far tensors reached then, and the line of the call."""

    size: int
    tensors: int
    site: str


@dataclass(slots=True)
class MemoryInUse:
    """The memory of one kind on one set of devices: bytes of all banks, of the fullest one, and where its buffers lie."""

    now: int = 0
    peak: int = 0
    bank_now: int = 0
    bank_peak: int = 0
    moment: int = 0
    call: int = 0
    curve: list[tuple[int, int]] = field(default_factory=list)
    space: Space = field(default_factory=Space)
    reach: int = 0
    """The highest address that was ever taken in a bank: more than `bank_peak` where holes were left."""
    buffers: Buffers | None = None
    """Of L1, the operation whose circular buffers left the least room beside the tensors."""


Checking = Callable[["MemoryAccount", Allocation], None]
"""Asked before an allocation counts; raises what the device would."""
Running = Callable[["MemoryAccount", Buffers, Devices], None]
"""Asked when an operation that has circular buffers runs; raises what the device would."""


class MemoryAccount:
    """Allocations of this process's devices. `held[devices][kind]` is what each of those devices holds."""

    def __init__(self, check: Checking | None = None, check_buffers: Running | None = None) -> None:
        self.check = check
        self.check_buffers = check_buffers
        self.arch, self.cores = "", 0
        self.regions = NO_REGIONS
        self.live: dict[int, Allocation] = {}
        self.ended: list[Allocation] = []
        self.held: dict[Devices, dict[str, MemoryInUse]] = {}
        self.at_peak: dict[tuple[Devices, str], tuple[Allocation, ...]] = {}
        self.moment = 0
        self.call = 0
        self.heard: Callable[[Allocation, Tensor | None], None] | None = None
        """Told of each allocation of a tensor with it, and of its end with None."""
        self._sets: dict[tuple[Any, ...], Devices] = {}
        self._overlaps: dict[Devices, tuple[Devices, ...]] = {}
        self._leave: list[Callable[[], None]] = []
        self._watched: dict[int, _Watch] = {}
        self._homes: dict[int, int] = {}

    def start(self, *, uses: bool = True) -> None:
        """Count from now on; without `uses` nobody looks at calls, and `late` knows nothing."""
        self._leave.append(observe(self._made))
        self._leave.append(watch(self._semaphore))
        before = Buffer.freed

        def freed(buffer: Buffer) -> None:  # a graph capture counts beside the account of the process
            if before is not None:
                before(buffer)
            self._freed(buffer)

        Buffer.freed = freed
        self._leave.append(lambda: setattr(Buffer, "freed", before))
        MeshDevice.closing.append(self._closed)
        self._leave.append(lambda: MeshDevice.closing.remove(self._closed))
        if uses:
            self._leave.append(events.precede(self._used))

    def stop(self) -> None:
        """Count no more."""
        while self._leave:
            self._leave.pop()()

    def allocations(self) -> Iterator[Allocation]:
        """All that ever were, the living first."""
        yield from self.live.values()
        yield from self.ended

    # --- allocate, free ------------------------------------------------------------------------------------------------

    def _made(self, tensor: Tensor) -> None:
        device, buffer = tensor.device(), tensor.storage
        while not isinstance(buffer, Buffer):
            if isinstance(buffer, BufferPart):
                return
            buffer = cast("Any", buffer).buffer  # what waits for a socket
        if device is None:
            return
        key = id(buffer.place)
        known = self.live.get(key)
        if known is not None:
            known.tensors += 1
            self._watch(tensor, key, known)
            return
        self._of(device)
        devices = self._devices(device, buffer.shards.index)
        allocation = self._enter(key, tensor.spec, footprint(tensor.spec, self.arch, self.cores), devices)
        self._homes[key] = id(device)
        self._watch(tensor, key, allocation)
        if self.heard is not None:
            self.heard(allocation, tensor)

    def _semaphore(self, made: GlobalSemaphore) -> None:
        """A word on some cores of each device, until the program forgets it."""
        self._of(made.device)
        devices = self._devices(made.device, (0,) * len(made.device.local_positions))
        self._enter(id(made), None, semaphore_footprint(made.cores.num_cores(), self.arch), devices)
        self._homes[id(made)] = id(made.device)
        weakref.finalize(made, self._end, id(made), True)

    def _of(self, device: MeshDevice) -> None:
        """Know the chips that buffers lie on, and what the program keeps of them from tensors."""
        self.arch, self.regions = self.arch or device.arch().name, device.regions
        self.cores = cores_of(device)

    def bank(self, kind: str) -> Bank:
        """A memory of these chips, as far as tensors may have it."""
        return banks_beside(self.arch, self.regions, self.cores)[kind]

    def _enter(self, key: int, spec: TensorSpec | None, size: Footprint, devices: Devices) -> Allocation:
        allocation = Allocation(spec, size, events.call_site(), devices, self.moment + 1)
        if self.check is not None:
            self.check(self, allocation)
        self.moment += 1
        allocation.last_used = self.call
        allocation.tensors = 1
        self.live[key] = allocation
        self._count(allocation, size.total, size.per_bank)
        return allocation

    def _watch(self, tensor: Tensor, key: int, allocation: Allocation) -> None:
        watch = _Watch(tensor, self._gone)
        watch.key, watch.allocation = key, allocation
        self._watched[id(watch)] = watch  # or nobody would be called

    def _gone(self, watch: weakref.ref[Tensor]) -> None:
        del self._watched[id(watch)]
        assert isinstance(watch, _Watch)
        self._forgotten(watch.key, watch.allocation)

    def _forgotten(self, key: int, allocation: Allocation) -> None:
        """The program dropped one of its tensors; what else keeps the buffer, such as a trace, keeps no memory of a device."""
        allocation.tensors -= 1
        if not allocation.tensors and self.live.get(key) is allocation:
            self._end(key, True)

    def _freed(self, buffer: Buffer) -> None:
        self._end(id(buffer.place), False)

    def _closed(self, device: MeshDevice) -> None:
        """A device that closes takes along what lies on it, whether the program still knows it or not."""
        for key in [key for key, home in self._homes.items() if home == id(device)]:
            self._end(key, True)

    def _end(self, key: int, dropped: bool) -> None:
        self._homes.pop(key, None)
        allocation = self.live.pop(key, None)
        if allocation is None:
            return
        self.moment += 1
        allocation.freed, allocation.dropped = self.moment, dropped
        self.ended.append(allocation)
        self._count(allocation, -allocation.size.total, -allocation.size.per_bank)
        if self.heard is not None and allocation.spec is not None:
            self.heard(allocation, None)

    def _used(self, begun: events.Begun) -> events.After | None:
        """Note in which call tensors are last looked at, which tells a late deallocation; of an operation, its circular buffers."""
        self.call += 1
        allocation: Allocation | None
        last = None
        for value in (*begun.args, *begun.kwargs.values()):
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, Tensor):
                    allocation = self.live.get(id(getattr(tensor.storage, "place", None)))
                    if allocation is not None:
                        allocation.last_used = self.call
                        last = allocation
        if last is None or begun.kind != "op":
            return None
        size, devices = circular_buffers(begun.name, begun.args, begun.kwargs), last.devices
        # The result has its place before the program runs.
        return (lambda _, error: self._run(size, devices, error)) if size else None

    def _run(self, size: int, devices: Devices, error: BaseException | None) -> None:
        if error is not None:
            return
        worst = Buffers(size, 0, events.call_site())
        for part in self._overlaps[devices]:
            held = self.held[part][L1]
            found = replace(worst, tensors=held.space.reach())
            if held.buffers is None or found.size + found.tensors > held.buffers.size + held.buffers.tensors:
                held.buffers = found
            worst = max(worst, found, key=lambda one: one.tensors)
        if self.check_buffers is not None:
            self.check_buffers(self, worst, devices)

    def _count(self, allocation: Allocation, total: int, per_bank: int) -> None:
        kind = allocation.size.kind
        for devices in self._overlaps[allocation.devices]:
            held = self.held[devices][kind]
            if total < 0:
                held.space.give(id(allocation))
            else:
                held.reach = max(held.reach, held.space.take(id(allocation), per_bank))
            held.now += total
            held.bank_now += per_bank
            held.curve.append((self.moment, held.now))
            held.bank_peak = max(held.bank_peak, held.bank_now)
            if held.now > held.peak:
                held.peak, held.moment, held.call = held.now, self.moment, self.call

    # --- sets of devices -----------------------------------------------------------------------------------------------

    def _devices(self, device: Any, index: tuple[int, ...]) -> Devices:
        key = (id(device), device.mesh_id, index if min(index, default=0) < 0 else len(index))
        found = self._sets.get(key)
        if found is None:
            local = device.local_positions
            found = frozenset(
                device.positions[place] for place, row in zip(local, index, strict=True) if row >= 0
            )
            self._sets[key] = found
        if found not in self._overlaps:
            self._cut(found)
        return found

    def _cut(self, new: Devices) -> None:
        """Take apart the sets that a new one overlaps: devices of a set always hold the same."""
        left = set(new)
        for old in list(self.held):
            inside = old & new
            left -= old
            if not inside or inside == old:
                continue
            held = self.held.pop(old)
            for part in (inside, old - inside):
                self.held[frozenset(part)] = {
                    kind: replace(h, curve=list(h.curve), space=h.space.copy()) for kind, h in held.items()
                }
        if left:
            self.held[frozenset(left)] = {kind: MemoryInUse() for kind in KINDS}
        self._overlaps = {
            known: tuple(part for part in self.held if part <= known) for known in (*self._overlaps, new)
        }

    # --- questions -----------------------------------------------------------------------------------------------------

    def fullest(self, devices: Devices, kind: str) -> MemoryInUse | None:
        """What the fullest of some devices holds; None where nothing was ever allocated."""
        found = [held[kind] for known, held in self.held.items() if known & devices]
        return max(found, key=lambda held: held.bank_now, default=None)

    def on(self, devices: Devices, kind: str) -> list[Allocation]:
        """What lives on some devices, the largest first."""
        found = [a for a in self.live.values() if a.size.kind == kind and a.devices & devices]
        return sorted(found, key=lambda a: -a.size.total)

    def at(self, moment: int, devices: Devices, kind: str) -> list[Allocation]:
        """What lived on some devices at a moment, the largest first."""
        found = [
            a
            for a in self.allocations()
            if a.size.kind == kind
            and a.devices & devices
            and a.made <= moment
            and (a.freed is None or a.freed > moment)
        ]
        return sorted(found, key=lambda a: -a.size.total)

    def late(self, devices: Devices, kind: str, held: MemoryInUse) -> Mapping[str, tuple[int, int]]:
        """By line: bytes and tensors that lived at the peak although nothing used them any more, because they were given back later."""
        sizes: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for a in self.at(held.moment, devices, kind):
            if a.freed is not None and a.last_used < held.call:
                sizes[a.site] += a.size.total
                counts[a.site] += 1
        return {site: (size, counts[site]) for site, size in sizes.most_common()}
