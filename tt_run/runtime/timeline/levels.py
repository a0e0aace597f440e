"""How full the devices of this rank are, for the counters of the timeline: comings and goings of buffers, added up at the end.

A lighter book than the account of `--memory`: no places in a bank, no lines, no sums while the program runs.
"""

from __future__ import annotations

import weakref
from array import array
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tt_run.runtime.memory.footprint import DRAM, L1, cores_of, footprint
from tt_run.runtime.tensor.tensor import Tensor, observe
from tt_run.runtime.values.storage import Buffer, BufferPart

KINDS = (DRAM, L1)
Level = dict[str, int]
"""Bytes of each kind of memory in use on the fullest device."""


class _Watch(weakref.ref[Tensor]):
    """Tells when a tensor is dropped. The first tensor of a buffer counts how many of the program look at it."""

    __slots__ = ("born", "first", "key", "others")
    key: int
    """The number of the buffer."""
    born: int
    """Which of all births it was."""
    first: _Watch | None
    others: list[_Watch] | None
    """The tensors that came later and are still there; None for none ever."""


class Levels:
    """Comings and goings. `moment` is the number of events so far, set by who counts them: they are the clock of the curve."""

    def __init__(self) -> None:
        self.moment = 0
        self._arch, self._cores = "", 0
        self._live: dict[int, _Watch] = {}
        # Flat, one list for all: moment, spec, the devices' places on the mesh, those of this rank, the row of each.
        self._births: list[Any] = []
        # The moment, and which birth it ends.
        self._ends = array("q")

    def start(self) -> Callable[[], None]:
        """Count from now on; returns a function that ends it."""
        leave = observe(self._made)
        before = Buffer.freed

        def freed(buffer: Buffer) -> None:
            if before is not None:
                before(buffer)
            self._end(id(buffer.place))

        Buffer.freed = freed

        def stop() -> None:
            leave()
            Buffer.freed = before

        return stop

    def _made(self, tensor: Tensor) -> None:
        device, buffer = tensor._device, tensor._storage
        if device is None:
            return
        while not isinstance(buffer, Buffer):
            if isinstance(buffer, BufferPart):
                return
            buffer = buffer.buffer  # type: ignore[attr-defined]  # what waits for a socket
        key = id(buffer.place)
        watch = _Watch(tensor, self._gone)
        watch.key = key
        first = self._live.get(key)
        if first is None:
            watch.first = watch.others = None
            self._live[key] = watch
            births = self._births
            watch.born = len(births)
            shards = buffer._shards or buffer.shards
            births += (self.moment, tensor._spec, device.positions, device.local_positions, shards.index)
            if not self._arch:
                self._arch, self._cores = device.arch().name, cores_of(device)
            return
        watch.first = first
        if first.others is None:
            first.others = []
        first.others.append(watch)

    def _gone(self, watch: weakref.ref[Tensor]) -> None:
        assert isinstance(watch, _Watch)
        first = watch.first or watch
        if watch is not first and first.others is not None:
            first.others = [other for other in first.others if other is not watch]
        if not first.others and first() is None and self._live.get(first.key) is first:
            self._end(first.key)

    def _end(self, key: int) -> None:
        watch = self._live.pop(key, None)
        if watch is not None:
            self._ends.extend((self.moment, watch.born))

    def curve(self) -> list[tuple[int, Level]]:
        """The level after each moment at which it changed."""
        births, ends = self._births, self._ends
        changes = [(births[at], at, 1) for at in range(0, len(births), 5)]
        changes += [(ends[at], ends[at + 1], -1) for at in range(0, len(ends), 2)]
        changes.sort()
        now: dict[str, defaultdict[int, int]] = {kind: defaultdict(int) for kind in KINDS}
        found: list[tuple[int, Level]] = []
        devices: dict[tuple[int, ...], tuple[int, ...]] = {}
        for number, (moment, born, sign) in enumerate(changes):
            spec, positions, local, index = births[born + 1 : born + 5]
            key = id(positions), id(local), id(index)
            if key not in devices:
                places = zip(local, index, strict=True)
                devices[key] = tuple(positions[place] for place, row in places if row >= 0)
            size = footprint(spec, self._arch, self._cores)
            held = now[size.kind]
            for device in devices[key]:
                held[device] += sign * size.total
            if number + 1 == len(changes) or changes[number + 1][0] != moment:
                found.append((moment, {kind: max(now[kind].values(), default=0) for kind in KINDS}))
        return found
