"""When each call of a rank begins on the hardware: calls become work of a command queue and a sub-device, and what runs beside other work is noted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tt_run.hardware.numbers import Hardware
from tt_run.runtime import queues, timeline
from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.model.cost import in_program
from tt_run.runtime.model.work import Cost, Work
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.prediction.account import WorkAccount
from tt_run.runtime.prediction.overlap import COPIES, Stream, Streams
from tt_run.runtime.values.storage import Buffer, BufferPart

LEAST = 1e-6  # microseconds: less of an overlap is rounding
WORDS = ("subdevice_id", "sub_device_id", "worker_sub_device_id")


class Clocks:
    """Prices work as it comes; the account gets what ran beside other work, the timeline a track for each stream when `shown`."""

    def __init__(self, hardware: Hardware, account: WorkAccount, *, shown: bool = False) -> None:
        self._hardware, self._account, self._shown = hardware, account, shown
        self._streams = Streams()
        self._costs: dict[Work, Cost] = {}
        self._tracks: dict[Stream, list[timeline.Span]] = {}
        self._devices: dict[int, tuple[int, ...]] = {}

    @property
    def usual_channels(self) -> float:
        """Channels of a link that a collective takes that asks for no number of them."""
        return max(self._hardware["fabric.channels"], 1.0)

    def lane(self, devices: tuple[int, ...]) -> int:
        """The account's number of some devices."""
        number = self._account.lane_of(devices)
        if number not in self._devices:
            self._devices[number] = devices
            self._streams.open(number, devices)
        return number

    def add(
        self,
        region: str | None,
        label: str,
        work: Work,
        stream: Stream,
        read: Any = (),
        written: Any = (),
        stalls: Sequence[int] = (),
    ) -> tuple[float, Cost]:
        """One call on a stream: when it begins, and what it costs; `read` and `written` hold tensors anywhere within."""
        found = self._costs.get(work)
        if found is None:
            found = self._costs[work] = in_program(self._hardware, work)
        start, beside = self._streams.run(stream, found.us, _buffers(read), _buffers(written), stalls)
        if beside > LEAST:
            self._account.overlap(region, stream.lane, beside)
        if self._shown:
            self._track(stream).append((start, found.us, label, found.bound))
        return start, found

    def devices(self, lane: int) -> tuple[int, ...]:
        """The devices of a lane."""
        return self._devices[lane]

    def _track(self, stream: Stream) -> list[timeline.Span]:
        spans = self._tracks.get(stream)
        if spans is None:
            words = ["predicted"]
            if stream.lane:
                devices = self._devices[stream.lane]
                words.append(
                    f"devices {devices[0]}..{devices[-1]}" if len(devices) > 1 else f"device {devices[0]}"
                )
            if stream.queue:
                words.append(f"queue {stream.queue}")
            if stream.part:
                words.append("copies" if stream.part == COPIES else f"sub-device {stream.part}")
            spans = self._tracks[stream] = []
            timeline.add_track(", ".join(words), spans)
        return spans

    def recorded(self, event: queues.MeshEvent) -> None:
        """An event is reached when the work of its queue so far is done."""
        device = event._device
        self._streams.record(event, self._at(device, event.mesh_cq_id), stalled(device))

    def waits(self, queue: int, event: queues.MeshEvent) -> None:
        """A queue waits for an event."""
        self._streams.wait(event, self._at(event._device, queue))

    def reached(self, event: queues.MeshEvent) -> None:
        """The program waits for an event."""
        self._streams.hold(event)

    def finished(self, device: MeshDevice, queue: int | None) -> None:
        """The program waits for a queue, or for all."""
        self._streams.finish(self.lane(tuple(device.positions)), queue)

    def _at(self, device: MeshDevice, queue: int) -> Stream:
        return Stream(self.lane(tuple(device.positions)), queue)


def stalled(device: MeshDevice) -> tuple[int, ...]:
    """The sub-devices that copies and events of a mesh wait for; () for all."""
    return tuple(int(one) for one in device.sub_devices.stall_group)  # type: ignore[call-overload]


def part_of(device: MeshDevice | None, kwargs: Mapping[str, Any], result: Any) -> int:
    """The sub-device that a call runs on: the one that it names, else the one that has the cores it names or its result lies on, else the first."""
    if device is None or device.sub_devices.loaded is None:
        return 0
    for word in WORDS:
        if kwargs.get(word) is not None:
            return int(kwargs[word])
    cores = kwargs.get("sub_core_grids")
    if cores is None:
        shard = next((t.spec.memory_config.shard_spec for t in tensors(result)), None)
        cores = None if shard is None else shard.grid
    return device.sub_devices.part_with(cores) if isinstance(cores, CoreRangeSet) else 0


def _buffers(values: Any) -> Iterable[Buffer]:
    for tensor in tensors(values):
        storage = tensor.storage
        while isinstance(storage, BufferPart):
            storage = storage.whole
        if isinstance(storage, Buffer):
            yield storage
