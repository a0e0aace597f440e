"""Links that `--inject` breaks: which of them a collective or a message crosses, as this rank sees it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tt_run.faults import Fault
from tt_run.runtime.comm.world import world
from tt_run.runtime.events import Begun
from tt_run.runtime.traffic import Fabric, Link


class BrokenLinks:
    """Between whom things pass: over the links of the system mesh that collectives use, as far as devices of this rank are at one of their ends,
    and from rank to rank in messages."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._loads: dict[int, tuple[Any, dict[Link, float]]] = {}

    def crossed(self, fault: Fault, begun: Begun) -> tuple[str, float] | None:
        """The first link of a fault that a call uses and that ends here, in words, and the most bytes that cross one of them."""
        if begun.kind == "collective":
            return self._of_collective(fault, begun.subject)
        met = [
            peer
            for peer in begun.peers
            if peer != self._rank and (fault.link == () or self._between(fault, self._rank, peer))
        ]
        return (f"the way between ranks {self._rank} and {met[0]}", float(begun.nbytes)) if met else None

    def _of_collective(self, fault: Fault, plan: Any) -> tuple[str, float] | None:
        device = plan.device
        owners = dict(zip(device.positions, device.owner_ranks, strict=True))
        found = {
            link: nbytes
            for link, nbytes in self._of(plan).items()
            if self._rank in (owners.get(link[0]), owners.get(link[1]))
            and self._is_meant(fault, link, owners)
        }
        if not found:
            return None
        a, b = min(found)
        return f"the link between devices {a} and {b} of mesh {device.mesh_id}", max(found.values())

    def _of(self, plan: Any) -> dict[Link, float]:
        """Bytes by link, both directions together; a plan is kept with them, so that its number stays its own."""
        if id(plan) not in self._loads:
            positions = plan.device.positions
            groups = [tuple(positions[p] for p in group) for group in plan.moved]
            loads = plan.traffic.loads(groups, plan.nbytes, self._fabric)
            links: dict[Link, float] = {}
            for (a, b), load in loads.items():
                key = (min(a, b), max(a, b))
                links[key] = links.get(key, 0.0) + float(load.bytes)
            self._loads[id(plan)] = plan, links
        return self._loads[id(plan)][1]

    @cached_property
    def _fabric(self) -> Fabric:
        from tt_run.runtime.mesh.system import system_mesh

        system = system_mesh()
        return Fabric((system.shape[0], system.shape[1]), system.wraps)

    @cached_property
    def _hosts(self) -> dict[int, str]:
        return {peer.rank: peer.hostname for peer in world().peers}

    def _is_meant(self, fault: Fault, link: Link, owners: Mapping[int, int]) -> bool:
        if fault.link is not None:
            return not fault.link or fault.link == link
        one, other = owners.get(link[0]), owners.get(link[1])
        return one is not None and other is not None and self._between(fault, one, other)

    def _between(self, fault: Fault, one: int, other: int) -> bool:
        """Whether what passes between two ranks is concerned: one of them is meant, or the host of just one."""
        if one == other or fault.link is not None:
            return False
        ends = [fault.concerns(rank, self._hosts[rank]) for rank in (one, other)]
        return ends[0] != ends[1] if fault.hosts else any(ends)
