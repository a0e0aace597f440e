"""From a few words (shapes, hosts, wraps, links) to a blueprint: what `mgd new` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mgd.authoring.blueprint import Blueprint, Connection, Dims, GraphLinks, MeshTemplate, Pin
from mgd.errors import MgdError
from mgd.lean import dataclass
from mgd.text.problems import nearest

ARCHES = {
    "wormhole": "WORMHOLE_B0",
    "wormhole_b0": "WORMHOLE_B0",
    "wh": "WORMHOLE_B0",
    "blackhole": "BLACKHOLE",
    "bh": "BLACKHOLE",
    "quasar": "QUASAR",
}
FIGURES = ("all", "ring", "chain", "none")
WRAPS = {"none": "", "x": "X", "y": "Y", "xy": "XY"}
_LINK = re.compile(r"(\d+)(?:\.(\d+))?-(\d+)(?:\.(\d+))?(?::(\d+))?")
_PIN = re.compile(r"(\d+)\.(\d+)@(\d+),(\d+)")
_SHAPE = re.compile(r"([1-9]\d{0,8})[xX,]([1-9]\d{0,8})")
MOST_MESHES = 4096


class CannotDraft(MgdError):
    """The wishes do not make a system; the text lists every reason, of the form `what is wrong: what would do`."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("\n       ".join(reasons))
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a new system should be.

    `shapes` and `hosts` have one entry for all meshes or one for each; `links` is a figure (all, ring, chain, none) or
    a list of `A-B`, `A.device-B.device`, each with `:channels` behind it if it differs from `link_channels`.
    """

    arch: str = "wormhole"
    shapes: tuple[Dims, ...] = ((1, 1),)
    hosts: tuple[Dims, ...] = ((1, 1),)
    wrap: str = "none"
    meshes: int = 1
    channels: int = 2
    policy: str = "RELAXED"
    links: tuple[str, ...] = ("all",)
    link_channels: int | None = None
    link_policy: str = "RELAXED"
    z_direction: bool = False
    pins: tuple[str, ...] = ()
    title: str = ""

    @property
    def count(self) -> int:
        """How many meshes there are."""
        return max(self.meshes, len(self.shapes), len(self.hosts))

    def shape(self, mesh_id: int) -> Dims:
        return self.shapes[mesh_id] if len(self.shapes) > 1 else self.shapes[0]

    def host_dims(self, mesh_id: int) -> Dims:
        return self.hosts[mesh_id] if len(self.hosts) > 1 else self.hosts[0]


def parse_shape(text: str) -> Dims:
    """`2x4` as (2, 4). Raises ValueError."""
    found = _SHAPE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"'{text}' is not a shape: write rows x columns, such as 2x4")
    return int(found[1]), int(found[2])


def drafted(wishes: Wishes) -> Blueprint:
    """The blueprint. Raises CannotDraft with every reason why there is none."""
    problems = list(_problems(wishes))
    if problems:
        raise CannotDraft(problems)
    kinds: dict[tuple[Dims, Dims], str] = {}
    for mesh_id in range(wishes.count):
        kinds.setdefault((wishes.shape(mesh_id), wishes.host_dims(mesh_id)), f"M{len(kinds)}")
    templates = tuple(_template(wishes, name, dims, hosts) for (dims, hosts), name in kinds.items())
    meshes = tuple(kinds[wishes.shape(i), wishes.host_dims(i)] for i in range(wishes.count))
    figure = wishes.links[0] if wishes.links and wishes.links[0] in FIGURES else ""
    shorthand = {"all": "ALL_TO_ALL", "ring": "RING"}.get(figure, "")
    channels = wishes.link_channels or wishes.channels
    short = bool(shorthand) and wishes.count > 2 and not wishes.z_direction
    links = GraphLinks(shorthand, channels, wishes.link_policy) if short else None
    connections = () if short else tuple(_connections(wishes, figure, channels))
    pins = tuple(_pin(text) for text in wishes.pins)
    title = wishes.title or _title(wishes, figure)
    return Blueprint(title, templates, meshes, connections, links, pins)


def _hosts_that_fit(dims: Sequence[int], hosts: Sequence[int]) -> str:
    """The grid of hosts nearest below the given one that cuts these devices evenly."""
    return "x".join(
        str(next(n for n in range(min(dim, host), 0, -1) if dim % n == 0))
        for dim, host in zip(dims, hosts, strict=True)
    )


def _problems(wishes: Wishes) -> Iterator[str]:
    if wishes.arch.lower() not in ARCHES:
        yield f"there is no architecture '{wishes.arch}': wormhole, blackhole or quasar"
    if wishes.count > MOST_MESHES:
        yield f"{wishes.count} meshes are too many: at most {MOST_MESHES}"
        return
    for many, word in ((wishes.shapes, "shapes"), (wishes.hosts, "host grids")):
        if len(many) not in (1, wishes.count):
            yield f"{len(many)} {word} for {wishes.count} meshes: give one for all, or one for each"
            return
    for dims, hosts in dict.fromkeys((wishes.shape(i), wishes.host_dims(i)) for i in range(wishes.count)):
        for side, dim, host in zip(("rows", "columns"), dims, hosts, strict=True):
            if dim % host:
                fitting = [n for n in range(1, min(dim, 64) + 1) if dim % n == 0]
                yield f"{dim} {side} cannot be cut over {host} hosts: {', '.join(map(str, fitting))} would do, as in --hosts {_hosts_that_fit(dims, hosts)}"
    mixed = len(wishes.links) > 1 and any(word in FIGURES for word in wishes.links)
    if mixed:
        yield f"links are one of {', '.join(FIGURES)}, or a list such as 0-1 1-2, not both"
    for word in wishes.links:
        if word not in FIGURES:
            yield from _link_problems(word, wishes)
    for word in wishes.pins:
        yield from _pin_problems(word, wishes)


def _link_problems(word: str, wishes: Wishes) -> Iterator[str]:
    found = _LINK.fullmatch(word)
    if not found:
        near = nearest(word, FIGURES)
        if near:
            yield f"'{word}' is not a link: write --link {near}"
            return
        yield f"'{word}' is not a link: write 0-1, 0-1:4 for 4 channels, 0.3-1.0 for devices, or {', '.join(FIGURES)}"
        return
    if (found[2] is None) != (found[4] is None):
        yield f"link '{word}' names a device on one side only"
    if found[1] == found[3]:
        yield f"link '{word}' begins and ends at mesh {found[1]}"
    for mesh, device in ((found[1], found[2]), (found[3], found[4])):
        yield from _place_problems(f"link '{word}'", int(mesh), device, wishes)


def _pin_problems(word: str, wishes: Wishes) -> Iterator[str]:
    found = _PIN.fullmatch(word)
    if not found:
        yield f"'{word}' is not a pin: write mesh.device@tray,location, such as 0.0@1,1"
    else:
        yield from _place_problems(f"pin '{word}'", int(found[1]), found[2], wishes)


def _place_problems(what: str, mesh: int, device: str | None, wishes: Wishes) -> Iterator[str]:
    if mesh >= wishes.count:
        yield f"{what} names mesh {mesh}: there are {wishes.count} (0 to {wishes.count - 1})"
    elif device is not None:
        rows, columns = wishes.shape(mesh)
        if int(device) >= rows * columns:
            yield f"{what} names device {device} of mesh {mesh}: there are {rows * columns} (0 to {rows * columns - 1})"


def _template(wishes: Wishes, name: str, dims: Dims, hosts: Dims) -> MeshTemplate:
    axes = WRAPS[wishes.wrap]
    types = ("RING" if "Y" in axes else "LINE", "RING" if "X" in axes else "LINE")
    return MeshTemplate(name, ARCHES[wishes.arch.lower()], dims, hosts, types, wishes.channels, wishes.policy)


def _connections(wishes: Wishes, figure: str, channels: int) -> Iterator[Connection]:
    count = wishes.count
    if figure == "all":
        ends: Sequence[tuple[int, int]] = [(a, b) for a in range(count) for b in range(a + 1, count)]
    elif figure in ("chain", "ring"):
        ends = [(i, i + 1) for i in range(count - 1)] + (
            [(0, count - 1)] if figure == "ring" and count > 2 else []
        )
    else:
        ends = []
    for a, b in ends:
        yield Connection(a, b, channels, wishes.link_policy, wishes.z_direction)
    for found in map(_LINK.fullmatch, () if figure else wishes.links):
        if found:
            a_device, b_device = (int(text) if text else None for text in (found[2], found[4]))
            own = int(found[5] or channels)
            yield Connection(
                int(found[1]), int(found[3]), own, wishes.link_policy, wishes.z_direction, a_device, b_device
            )


def _pin(text: str) -> Pin:
    mesh, device, tray, location = map(int, re.split(r"[.@,]", text))
    return Pin(mesh, (device,), ((tray, location),))


def _title(wishes: Wishes, figure: str) -> str:
    shapes = list(dict.fromkeys("x".join(map(str, wishes.shape(i))) for i in range(wishes.count)))
    count = (
        f"{wishes.count} meshes of {' and '.join(shapes)}" if wishes.count > 1 else f"One {shapes[0]} mesh"
    )
    cuts = {f"{rows}x{columns}" for rows, columns in wishes.hosts}
    hosts = "" if cuts == {"1x1"} else f" over {' and '.join(sorted(cuts))} hosts"
    hosts += " each" if hosts and wishes.count > 1 else ""
    words = {
        "all": ", every pair linked",
        "ring": " in a ring",
        "chain": " in a chain",
        "none": ", not linked",
    }
    return f"{count}{hosts}{words.get(figure, ', linked') if wishes.count > 1 else ''}."
