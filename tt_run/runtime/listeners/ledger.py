"""The communication ledger: bytes, messages and hops per link, device, axis and collective, counted in the real run.

Switched on by TT_RUN_LEDGER=FILE (`tt-run --ledger FILE`): FILE gets the JSON, FILE with `.txt` added a table. Every rank counts what its
own devices send, so the parts of all ranks add up. What crosses no fabric link (a socket between meshes, bytes between hosts) is
listed under `streams` by its name, and under `between` by the ranks at its ends.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tt_run import contract
from tt_run.runtime import events, launched
from tt_run.runtime.ccl.record import collective_named
from tt_run.runtime.comm.world import world
from tt_run.runtime.joint_file import PartedFile
from tt_run.runtime.traffic import Fabric

FORMAT = 1


@dataclass()
class Count:
    """Bytes sent, messages sent, and the links they crossed: `hops` counts links per message, `link_bytes` bytes per link."""

    bytes: Fraction = Fraction(0)
    messages: int = 0
    hops: int = 0
    link_bytes: Fraction = Fraction(0)

    def add(self, size: Fraction, count: int, distance: int) -> None:
        """`count` messages of together `size` bytes over `distance` links each."""
        self.bytes += size
        self.messages += count
        self.hops += count * distance
        self.link_bytes += size * distance

    def to_json(self) -> dict[str, Any]:
        """Plain numbers; whole bytes as integers."""
        return {
            "bytes": _number(self.bytes),
            "messages": self.messages,
            "hops": self.hops,
            "link_bytes": _number(self.link_bytes),
        }


@dataclass()
class Ledger:
    """An open account. `note` is the listener of the event stream."""

    fabric: Fabric
    rank: int = 0
    collectives: dict[tuple[str, str, int], Count] = field(default_factory=lambda: defaultdict(Count))
    calls: dict[tuple[str, str, int], int] = field(default_factory=lambda: defaultdict(int))
    sites: dict[tuple[str, str, int], dict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )
    links: dict[tuple[int, int, int], Count] = field(default_factory=lambda: defaultdict(Count))
    devices: dict[tuple[int, int], Count] = field(default_factory=lambda: defaultdict(Count))
    streams: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))
    between: dict[tuple[int, int], Count] = field(default_factory=lambda: defaultdict(Count))

    def note(self, event: events.Event) -> None:
        """Book one event; operations and waits move nothing. Raises LookupError for a collective that nobody has declared."""
        if event.kind == "collective":
            self._collective(event)
        elif event.kind == "send":
            count = max(event.messages, 1)
            self.streams[event.name].add(Fraction(event.bytes * count), count, 0)
            for peer in event.peers:
                share = Fraction(event.bytes * count, len(event.peers))
                self.between[self.rank, peer].add(share, max(count // len(event.peers), 1), 0)

    def _collective(self, event: events.Event) -> None:
        if not event.groups:
            return
        traffic = event.traffic or collective_named(event.name).traffic
        axis = "all" if event.axis is None else str(event.axis)
        key = (event.name, axis, max(map(len, event.groups)))
        self.calls[key] += 1
        self.sites[key][event.site] += 1
        own = set(event.devices)
        for group in event.groups:
            for message in traffic.messages(group, event.bytes, self.fabric):
                if message.source not in own:
                    continue
                route = self.fabric.route(message.source, message.target)
                self.collectives[key].add(message.size, message.count, len(route))
                self.devices[(event.mesh_id, message.source)].add(message.size, message.count, len(route))
                for a, b in route:
                    self.links[(event.mesh_id, a, b)].add(message.size, message.count, 1)

    def part(self) -> dict[str, Any]:
        """The account as plain data."""
        return {
            "collectives": [
                {
                    "name": key[0],
                    "axis": key[1],
                    "devices": key[2],
                    "calls": calls,
                    "sites": dict(self.sites[key]),
                    **self.collectives[key].to_json(),
                }
                for key, calls in sorted(self.calls.items())
            ],
            "links": [
                {"mesh": mesh, "from": a, "to": b, **count.to_json()}
                for (mesh, a, b), count in sorted(self.links.items())
            ],
            "devices": [
                {"mesh": mesh, "device": device, **count.to_json()}
                for (mesh, device), count in sorted(self.devices.items())
            ],
            "streams": [{"name": name, **count.to_json()} for name, count in sorted(self.streams.items())],
            "between": [
                {"from": a, "to": b, **count.to_json()} for (a, b), count in sorted(self.between.items())
            ],
        }


def join(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The parts of all ranks as one account: what has the same name adds up; calls are those of the rank that made most."""
    parts = list(parts)
    whole: dict[str, Any] = {"format": FORMAT, "ranks": [part.get("rank", 0) for part in parts]}
    whole["collectives"] = _summed(parts, "collectives", ("name", "axis", "devices"))
    whole["links"] = _summed(parts, "links", ("mesh", "from", "to"))
    whole["devices"] = _summed(parts, "devices", ("mesh", "device"))
    whole["streams"] = _summed(parts, "streams", ("name",))
    whole["between"] = _summed(parts, "between", ("from", "to"))
    whole["axes"] = _summed([whole], "collectives", ("axis",))
    whole["totals"] = {
        name: sum(entry[name] for entry in whole["collectives"])
        for name in ("bytes", "messages", "hops", "link_bytes")
    }
    return whole


def table(whole: dict[str, Any]) -> str:
    """The account as text: collectives, then the busiest links."""
    lines = [
        f"{'collective':<22}{'axis':>5}{'devices':>9}{'calls':>7}{'MB/device':>12}{'messages':>10}{'link MB':>12}"
    ]
    for entry in whole["collectives"]:
        per_device = entry["bytes"] / max(_senders(whole, entry), 1)
        lines.append(
            f"{entry['name']:<22}{entry['axis']:>5}{entry['devices']:>9}{entry['calls']:>7}{per_device / 1e6:>12.3f}"
            f"{entry['messages']:>10}{entry['link_bytes'] / 1e6:>12.3f}"
        )
    lines += ["", f"{'link':<22}{'MB':>12}{'messages':>10}"]
    for link in sorted(whole["links"], key=lambda entry: -entry["bytes"]):
        name = f"M{link['mesh']} D{link['from']} -> D{link['to']}"
        lines.append(f"{name:<22}{link['bytes'] / 1e6:>12.3f}{link['messages']:>10}")
    for stream in whole["streams"]:
        lines.append(f"{stream['name']:<22}{stream['bytes'] / 1e6:>12.3f}{stream['messages']:>10}")
    total = whole["totals"]
    lines += [
        "",
        f"total {total['bytes'] / 1e6:.3f} MB sent in {total['messages']} messages, {total['link_bytes'] / 1e6:.3f} MB over links",
    ]
    return "\n".join(lines) + "\n"


def attach() -> None:
    """Start the account that TT_RUN_LEDGER asks for."""
    from tt_run.runtime.mesh.fabric import fabric_of
    from tt_run.runtime.mesh.system import system_mesh

    system = system_mesh()
    ledger = Ledger(fabric_of(system), world().rank)
    events.subscribe(ledger.note)

    def finish(parts: list[dict[str, Any]]) -> dict[str, str]:
        whole = join(parts)
        return {"": json.dumps(whole, indent=1), ".txt": table(whole)}

    PartedFile(launched.variables[contract.LEDGER], ledger.part, finish).write_at_exit()


def _summed(parts: list[dict[str, Any]], name: str, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for part in parts:
        for entry in part[name]:
            key = tuple(entry[k] for k in keys)
            into = found.setdefault(key, dict.fromkeys(keys) | dict(zip(keys, key, strict=True)))
            for field_name in ("bytes", "messages", "hops", "link_bytes"):
                into[field_name] = into.get(field_name, 0) + entry[field_name]
            if "calls" in entry:
                into["calls"] = max(into.get("calls", 0), entry["calls"])
            if "sites" in entry:
                into["sites"] = {**entry["sites"], **into.get("sites", {})}
    return [found[key] for key in sorted(found, key=str)]


def _senders(whole: dict[str, Any], entry: dict[str, Any]) -> int:
    """Over how many devices the bytes of a collective spread: those of the meshes, or two for a message between two."""
    return entry["devices"] if entry["axis"] == "all" else len(whole["devices"])


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
