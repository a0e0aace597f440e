"""The listener: every operation, collective, message and step of this rank enters its account; at the end the ranks' parts are joined."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from tt_run import contract
from tt_run.hardware.data_files import HardwareError
from tt_run.hardware.numbers import adjusted
from tt_run.hardware.systems import hardware_of, with_channels
from tt_run.runtime import events, launched, queues
from tt_run.runtime.comm.world import world
from tt_run.runtime.graph.device_operations import native_name
from tt_run.runtime.joint_file import PartedFile
from tt_run.runtime.marks import MARK
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.fabric import fabric_of
from tt_run.runtime.mesh.system import system_mesh
from tt_run.runtime.model.work import Collective, Kernel, Work
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.prediction import calls
from tt_run.runtime.prediction.account import STEP, WorkAccount
from tt_run.runtime.prediction.clocks import Clocks, part_of, stalled
from tt_run.runtime.prediction.device_rows import SUFFIX, DeviceRows, table
from tt_run.runtime.prediction.forecast import Forecast, forecast
from tt_run.runtime.prediction.overlap import COPIES, Stream
from tt_run.runtime.prediction.report import COLUMNS, report
from tt_run.runtime.queues import issued_to
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.trace import capturing
from tt_run.runtime.traffic import Fabric

REPORT_ONLY = "-"
_OPENING, _CLOSING = ("start", "begin"), ("stop", "end")


class Listener:
    """Turns calls into entries of an account. `before` hears calls ahead of time, `note` events after them."""

    def __init__(
        self,
        account: WorkAccount,
        fabric: Fabric,
        own: tuple[int, ...],
        clocks: Clocks,
        channels: int = 1,
        rows: DeviceRows | None = None,
    ) -> None:
        self.account, self.fabric, self._own, self._channels = account, fabric, own, channels
        self.clocks, self._rows = clocks, rows
        self._depth = 0
        self._replaying = ""
        self._replayed_on = 0
        self._region = ""
        self._site = ""
        # Where the operations of each trace stand in the program: their replay is called from elsewhere.
        self._recorded: dict[str, list[str]] = defaultdict(list)
        self._replayed = 0
        self._collectives: dict[Any, tuple[Collective, dict[tuple[int, int], float]]] = {}
        self._lanes: dict[int, tuple[int, MeshDevice]] = {}
        self._met = 0
        self._inside: list[tuple[Collective, str]] = []

    def before(self, begun: events.Begun) -> events.After | None:
        """Follow a call to its end. What is called inside of another operation is part of that, collectives apart."""
        if begun.kind == "trace":
            return self._replay(begun)
        if begun.kind not in ("op", "collective"):
            return None
        outermost = self._depth == 0
        self._depth += 1
        if outermost:
            self._site = self._next_site()

        def after(result: Any, error: BaseException | None) -> None:
            self._depth -= 1
            if error is not None or self._captured(begun, outermost):
                self._inside.clear()
                return
            if begun.kind == "collective":
                self._collective(begun, outermost)
            elif outermost:
                self._operation(begun, result)

        return after

    def _operation(self, begun: events.Begun, result: Any) -> None:
        """An operation of the program; the collectives that it called have been met, and are part of it."""
        met, self._inside = self._inside, []
        traced = bool(self._replaying)
        if met:
            works = calls.of_fused(begun, result, [work for work, _ in met], traced)
        else:
            works = [work for work in [calls.of_operation(begun, result, traced)] if work is not None]
        if not works:
            return
        stream = self._stream(begun, result)
        meetings = [meeting for _, meeting in met]
        operands = (begun.args, tuple(begun.kwargs.values()))
        code = self._code(begun)
        config = begun.kwargs.get("program_config")
        for work in works:
            meeting = meetings.pop(0) if meetings else ""
            self._add(begun.name, work, stream, meeting, operands, result, code=code, config=config)

    def _code(self, begun: events.Begun) -> str:
        """The program of the device that an operation runs; only rows tell it."""
        if self._rows is None:
            return ""
        given = list(tensors((begun.args, tuple(begun.kwargs.values()))))
        return native_name(begun.subject.name, begun.args, begun.kwargs, given)

    def _stream(self, begun: events.Begun, result: Any = None) -> Stream:
        """The devices, queue and sub-device of a call."""
        device = _device_of(begun, result)
        queue = self._replayed_on if self._replaying else issued_to()
        return Stream(self._lane(device), queue, part_of(device, begun.kwargs, result))

    # --- what queues are told (tt_run.runtime.queues.Follower) ---------------------------------------------------------------

    def recorded(self, event: queues.MeshEvent) -> None:
        """An event was recorded."""
        self.clocks.recorded(event)

    def waits(self, queue: int, event: queues.MeshEvent) -> None:
        """A queue waits for an event."""
        self.clocks.waits(queue, event)

    def reached(self, event: queues.MeshEvent) -> None:
        """The program waits for an event."""
        self.clocks.reached(event)

    def finished(self, device: MeshDevice, queue: int | None) -> None:
        """The program waits for a queue, or for all."""
        self.clocks.finished(device, queue)
        if not self._region and (queue is None or device.queues == 1):
            self.account.waited(events.call_site())

    def copied(self, tensor: Tensor, to_host: bool, queue: int, blocking: bool) -> None:
        """A tensor of a device is copied from or to the host."""
        device = tensor.device()
        if self._depth or device is None:
            return
        self._site = events.call_site()
        size = calls.operand(tensor).bytes
        stream = Stream(self._lane(device), queue, COPIES)
        read, written = (tensor, ()) if to_host else ((), tensor)
        name = "ttnn.copy_device_to_host_tensor" if to_host else "ttnn.copy_host_to_device_tensor"
        self._add(name, Kernel("host", 1, size), stream, "", read, written, stalled(device))
        if to_host and blocking:
            self.clocks.finished(device, queue)

    def _next_site(self) -> str:
        """The line of the program: that of the capture while a trace is replayed."""
        recorded = self._recorded.get(self._replaying, [])
        if self._replayed >= len(recorded):
            return events.call_site()
        self._replayed += 1
        return recorded[self._replayed - 1]

    def _replay(self, begun: events.Begun) -> events.After:
        self._replaying, self._replayed = begun.name, 0
        self._replayed_on = begun.subject.queue

        def after(result: Any, error: BaseException | None) -> None:
            name, self._replaying = self._replaying, ""
            regions = self.account.regions
            regions[name] = regions.get(name, 0) + 1

        return after

    def _captured(self, begun: events.Begun, outermost: bool) -> bool:
        """Whether the call only enters a trace: the device runs it when the trace is replayed."""
        device = _device_of(begun)
        number = None if device is None else capturing(device)
        if number is not None and outermost and begun.kind == "op":
            self._recorded[f"trace {number}"].append(self._site)
        return number is not None

    def _collective(self, begun: events.Begun, outermost: bool) -> None:
        plan = begun.subject
        tensor = begun.args[0]
        buffer = tensor.spec.memory_config.buffer_type
        key = (*plan.signature[:2], plan.nbytes, id(plan.device), buffer, plan.links, plan.line)
        if key not in self._collectives:
            self._collectives[key] = calls.of_collective(
                plan, tensor, self.fabric, self._channels, self.clocks.usual_channels
            )
        work, carried = self._collectives[key]
        if work.size < 2:
            return
        self.account.flow(key, lambda: carried)
        meeting = ""
        if plan.group is not None:
            self._met += 1
            meeting = f"meet {plan.device.mesh_id} {self._met}"
        if outermost:
            stream = Stream(self._lane(plan.device), issued_to())
            self._add(begun.name, work, stream, meeting, begun.args)
        else:
            self._inside.append((work, meeting))

    def _lane(self, device: MeshDevice | None) -> int:
        """The account's number of a mesh; the mesh is kept, so that no other takes its id."""
        if device is None:
            return self.clocks.lane(self._own)
        found = self._lanes.get(id(device))
        if found is None:
            found = self._lanes[id(device)] = (self.clocks.lane(tuple(device.positions)), device)
        return found[0]

    def _add(
        self,
        label: str,
        work: Work,
        stream: Stream,
        meeting: str = "",
        read: Any = (),
        written: Any = (),
        stalls: tuple[int, ...] = (),
        *,
        code: str = "",
        config: object = None,
    ) -> None:
        region = self._replaying or self._region or None
        self.account.add(region, self._site, label, work, meeting, stream.lane)
        start, cost = self.clocks.add(region, label, work, stream, read, written, stalls)
        if self._rows is not None:
            self._rows.add(
                code or label, work, cost, self._device(stream.lane), start, self._site, config, read, written
            )

    def _device(self, lane: int) -> int:
        """The first device of a lane that this rank has; another rank tells of its own."""
        devices = self.clocks.devices(lane)
        return next((device for device in devices if device in self._own), devices[0])

    def note(self, event: events.Event) -> None:
        """Steps and signposts bound regions; messages go to other ranks; operations of the training library bring their shapes."""
        if event.kind == "step":
            if event.operands:
                self._of_training(None, event, calls.of_update(event.operands))
            self.account.close(f"{STEP}{event.name}")
        elif event.kind == MARK:
            self._mark(event)
        elif event.kind in ("send", "recv"):
            for peer in event.peers:
                if peer != self.account.rank:
                    self.account.message(f"{event.kind} {peer}", float(event.bytes))
        elif event.kind == "op" and event.operands:
            for work in calls.of_training(event):
                self._of_training(self._region or None, event, work)

    def _of_training(self, region: str | None, event: events.Event, work: Work) -> None:
        lane = self.clocks.lane(event.devices or self._own)
        self.account.add(region, event.site, event.name, work, lane=lane)
        start, cost = self.clocks.add(region, event.name, work, Stream(lane))
        if self._rows is not None:
            self._rows.add(event.name, work, cost, self._device(lane), start, event.site)

    def _mark(self, event: events.Event) -> None:
        if self._rows is not None:
            self._rows.signpost(event.name)
        words = event.name.lower().split()
        if any(word in _CLOSING for word in words):
            self._region = ""
            return
        name = " ".join(w for w in words if w not in _OPENING) or event.detail or "signposts"
        self._region = f"signpost {name}"
        self.account.regions[self._region] = self.account.regions.get(self._region, 0) + 1


def _device_of(begun: events.Begun, result: Any = None) -> MeshDevice | None:
    """The mesh that a call runs on: that of the first tensor that has one."""
    found = (t.device() for t in tensors((begun.args, tuple(begun.kwargs.values()), result)))
    return next((device for device in found if device is not None), None)


def attach() -> None:
    """Start the account that TT_RUN_PREDICT asks for."""
    system, rank = system_mesh(), world().rank
    fabric = fabric_of(system)
    try:
        hardware = hardware_of(
            system.machine.arch, len(system.owners), os.environ.get(contract.HARDWARE), system.mesh_id
        )
        hardware = with_channels(hardware, system.channels)
        hardware = adjusted(hardware, os.environ.get(contract.HARDWARE_SET, "").splitlines())
    except HardwareError as error:
        raise RuntimeError(f"--predict: {error}") from None
    account = WorkAccount(rank, system.mesh_id)
    own = tuple(place for place, owner in enumerate(system.owners) if owner == rank)
    clocks = Clocks(hardware, account, shown=bool(launched.variables.get(contract.TIMELINE)))
    target = launched.variables[contract.PREDICT]
    rows = None
    if target.endswith(SUFFIX):
        rows = DeviceRows(system.machine.arch, int(hardware["chip.cores_used"]))
    listener = Listener(account, fabric, own, clocks, system.channels, rows)
    queues.follow(listener)
    events.precede(listener.before)
    events.subscribe(listener.note)

    def part() -> dict[str, Any]:
        return account.part() | ({} if rows is None else {"device_rows": rows.rows})

    def finish(parts: list[dict[str, Any]]) -> dict[str, str]:
        found: Forecast = forecast(parts, hardware, fabric.dims)
        said = os.environ.get("COLUMNS", "")
        print(report(found, int(said) if said.isdecimal() else COLUMNS), file=sys.stderr)
        whole = json.dumps(found.to_json(), indent=1) + "\n"
        return {"": whole} if rows is None else {"": table(parts), ".json": whole}

    PartedFile(_path(target), part, finish).write_at_exit()


def _path(target: str) -> str:
    """Where ranks leave their parts: beside the file asked for, else in the run folder."""
    if target != REPORT_ONLY:
        return target
    folder = launched.variables.get(contract.RUN_DIR) or tempfile.mkdtemp(prefix="tt-run-predict-")
    return str(Path(folder) / "prediction.json")
