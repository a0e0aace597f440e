"""Pinning files: which rank of an allocation must run on which host.

Two forms are in use: `rank_pinnings` with one entry for each rank, and the newer `mesh_host_pinnings`, whose groups say which host ranks of
meshes may take which places, a place being a host and the devices to see there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mgd import documents
from mgd.diagnostics import Position
from mgd.lean import dataclass, replace
from tt_run.contract import VISIBLE_DEVICES
from tt_run.inputs.document import Document, read_document
from tt_run.inputs.findings import Findings, counted
from tt_run.inputs.settings import Setting, read_env
from tt_run.inputs.site import Site

_KEY = "rank_pinnings"
_GROUPS = "mesh_host_pinnings"
_ENTRY_KEYS = ("rank", "mesh_id", "mesh_host_rank", "host", "env_overrides")


@dataclass(frozen=True, slots=True)
class RankPin:
    """One entry: a rank by its number, or by mesh and host rank, and the host it must run on.

    Those of the newer form have in `choices` the pins that the places of their group, itself included, would make of this one.
    """

    host: str
    position: Position
    host_position: Position
    rank: int | None
    mesh_id: int | None
    mesh_host_rank: int
    env: Mapping[str, Setting]
    names_devices: bool = False  # of the newer form, which may pin meshes that lie on several hosts
    group: int = 0
    choices: tuple[RankPin, ...] = ()

    def values(self) -> dict[str, str]:
        """Its variables, as written."""
        return {name: setting.value for name, setting in self.env.items()}

    def __str__(self) -> str:
        return (
            f"rank {self.rank}"
            if self.rank is not None
            else f"mesh {self.mesh_id}, host rank {self.mesh_host_rank}"
        )


def read_rank_pinnings(
    path: Path, site: Site, findings: Findings, hosts: Sequence[str] = ()
) -> tuple[RankPin, ...]:
    """The entries of the file at `path`, in its order; () with findings when it cannot be understood.

    A group of the newer form that offers more places than it needs is given those on `hosts` first, in written order.
    """
    document = read_document(path, site, findings)
    if document is None:
        return ()
    fields = document.mapping(document.root, "the rank pinning file", (_KEY, _GROUPS))
    if _GROUPS in fields:
        groups = document.items(fields[_GROUPS].value, _GROUPS)
        return tuple(
            pin for index, node in enumerate(groups) for pin in _read_group(document, node, index, hosts)
        )
    field = fields.get(_KEY)
    if field is None:
        if isinstance(document.root, documents.Mapping):
            document.lacks(
                document.root,
                "the rank pinning file",
                _KEY,
                "[{rank: 0, host: HOST}]",
                "the list is required",
            )
        return ()
    read = [
        _read_pin(document, node, f"{_KEY}[{index}]")
        for index, node in enumerate(document.items(field.value, _KEY))
    ]
    return tuple(pin for pin in read if pin is not None)


def _read_pin(document: Document, node: documents.Node, what: str) -> RankPin | None:
    fields = document.mapping(node, what, _ENTRY_KEYS)
    if not isinstance(node, documents.Mapping):
        return None
    numbers = {
        name: document.integer(fields[name].value, f"{what}.{name}")
        for name in ("rank", "mesh_id", "mesh_host_rank")
        if name in fields
    }
    by_mesh = fields.keys() & {"mesh_id", "mesh_host_rank"}
    if ("rank" in fields) == bool(by_mesh) or by_mesh == {"mesh_host_rank"}:
        document.fatal(
            "TTR105",
            f"{what} must say 'rank', or 'mesh_id' and 'mesh_host_rank'",
            node,
            "one of the two",
            help="write {rank: 0, host: HOST} or {mesh_id: 0, mesh_host_rank: 0, host: HOST}",
        )
        return None
    host = document.text(fields["host"].value, f"{what}.host") if "host" in fields else None
    if not host:
        if "host" not in fields or host == "":
            document.lacks(node, what, "host", "HOST")
        return None
    env = read_env(document, fields.get("env_overrides"), f"{what}.env_overrides", "env_overrides")
    if None in numbers.values():
        return None
    return RankPin(
        host,
        document.at(node),
        document.at(fields["host"].value),
        numbers.get("rank"),
        numbers.get("mesh_id"),
        numbers.get("mesh_host_rank") or 0,
        env,
    )


def _read_group(document: Document, node: documents.Node, number: int, hosts: Sequence[str]) -> list[RankPin]:
    """Each host rank of a group with the place that it takes."""
    what = f"{_GROUPS}[{number}]"
    fields = document.mapping(node, what, ("mesh_host_ranks", "host_placements"))
    if not isinstance(node, documents.Mapping):
        return []
    lists: dict[str, list[documents.Node]] = {}
    for name in ("mesh_host_ranks", "host_placements"):
        if name not in fields:
            example = (
                "[{mesh_id: 0, mesh_host_rank: 0}]"
                if name == "mesh_host_ranks"
                else '[{hostname: HOST, TT_VISIBLE_DEVICES: "0,1"}]'
            )
            document.lacks(node, what, name, example, "the list is required")
            return []
        lists[name] = document.items(fields[name].value, f"{what}.{name}")
        if not lists[name] and isinstance(fields[name].value, documents.Sequence):
            document.fatal(
                "TTR109",
                f"{what}.{name} is empty",
                fields[name].value,
                "at least one is needed",
                help="add an entry, or leave the group out",
            )
    places = [
        place
        for index, each in enumerate(lists["host_placements"])
        if (place := _read_place(document, each, f"{what}.host_placements[{index}]")) is not None
    ]
    places.sort(key=lambda place: place[0] not in hosts)
    ranks = lists["mesh_host_ranks"]
    if len(lists["host_placements"]) < len(ranks):
        document.fatal(
            "TTR125",
            f"{what} has {counted(len(ranks), 'host rank')} and {counted(len(lists['host_placements']), 'place')}",
            fields["host_placements"].value,
            "each host rank needs a place of its own",
            help=f'add {counted(len(ranks) - len(lists["host_placements"]), "line")}: - {{hostname: HOST, {VISIBLE_DEVICES}: "0,1"}}',
        )
    pins = [
        pin
        for index, (each, place) in enumerate(zip(ranks, places, strict=False))
        if (pin := _placed(document, each, f"{what}.mesh_host_ranks[{index}]", place)) is not None
    ]
    return [replace(pin, group=number, choices=tuple(_moved(pin, place) for place in places)) for pin in pins]


def _moved(pin: RankPin, place: _Place) -> RankPin:
    host, position, devices = place
    return replace(pin, host=host, host_position=position, env={VISIBLE_DEVICES: devices})


_Place = tuple[str, Position, Setting]


def _read_place(document: Document, node: documents.Node, what: str) -> _Place | None:
    fields = document.mapping(node, what, ("hostname", VISIBLE_DEVICES))
    read = {}
    for name in ("hostname", VISIBLE_DEVICES):
        if isinstance(node, documents.Mapping) and name not in fields:
            document.lacks(node, what, name, "HOST" if name == "hostname" else '"0,1"')
        elif name in fields:
            read[name] = document.text(fields[name].value, f"{what}.{name}")
    host, devices = read.get("hostname"), read.get(VISIBLE_DEVICES)
    if not host or devices is None:
        return None
    setting = Setting(devices, "host_placements", document.at(fields[VISIBLE_DEVICES].value))
    return host, document.at(fields["hostname"].value), setting


def _placed(document: Document, node: documents.Node, what: str, place: _Place) -> RankPin | None:
    fields = document.mapping(node, what, ("mesh_id", "mesh_host_rank"))
    numbers = []
    for name in ("mesh_id", "mesh_host_rank"):
        if isinstance(node, documents.Mapping) and name not in fields:
            document.lacks(node, what, name, "0")
        numbers.append(document.integer(fields[name].value, f"{what}.{name}") if name in fields else None)
    mesh_id, host_rank = numbers
    if mesh_id is None or host_rank is None:
        return None
    host, host_position, devices = place
    env = {VISIBLE_DEVICES: devices}
    return RankPin(host, document.at(node), host_position, None, mesh_id, host_rank, env, names_devices=True)
