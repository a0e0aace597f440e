"""The shipped systems: their names, and which one fits a cluster type, a fabric type or a number of devices.

Importing costs nothing; the first question reads one small table, `configs/mgd/systems.txt`, and no descriptor.
Sources: reference library 0.81.1; the training guide for the choice by count.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from mgd.lean import dataclass
from mgd.resources import configs_root

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from mgd.graph import Mesh

ARCHES = {"wormhole": "WORMHOLE_B0", "blackhole": "BLACKHOLE"}

FABRIC_TYPES = ("MESH", "TORUS_X", "TORUS_Y", "TORUS_XY")
_TORUS_CLUSTERS = ("GALAXY", "BLACKHOLE_GALAXY")
_SIMULATORS = {"SIMULATOR_WORMHOLE_B0": "N150", "SIMULATOR_BLACKHOLE": "P150", "SIMULATOR_QUASAR": "P150"}
_BY_DEVICE_COUNT = {8: "loudbox", 32: "galaxy-1x32"}


class UnknownSystem(LookupError):
    """A name, a cluster type or a device count that no shipped system answers to.

    `wanted` is what was asked for, `nearest` are system names worth trying, best first.
    """

    def __init__(self, message: str, wanted: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.wanted = wanted
        self.nearest = nearest


@dataclass(frozen=True, slots=True)
class SystemPart:
    """`count` equal meshes (or switches) of [rows, columns] devices, each cut over [rows, columns] hosts."""

    count: int
    dims: tuple[int, int]
    host_dims: tuple[int, int] = (1, 1)
    is_switch: bool = False

    def __str__(self) -> str:
        shape = "x".join(map(str, self.dims))
        kind = "switch " if self.is_switch else ""
        return f"{self.count} × {kind}{shape}" if self.count > 1 else f"{kind}{shape}"


@dataclass(frozen=True, slots=True)
class System:
    """One shipped descriptor and what is known of it without reading it.

    `cluster_type` is the hardware type that chooses it by default, or "" when it has to be named; `fabric_type` is
    MESH or the torus that its meshes are declared as.
    """

    name: str
    stem: str
    arch: str
    parts: tuple[SystemPart, ...]
    fabric_type: str
    cluster_type: str
    aliases: tuple[str, ...]
    description: str

    @property
    def path(self) -> Path:
        """The descriptor's file."""
        return configs_root() / "mgd" / f"{self.stem}.textproto"

    @property
    def shape(self) -> tuple[int, int]:
        """[rows, columns] of its largest mesh."""
        return max((part.dims for part in self.parts), key=lambda dims: dims[0] * dims[1])

    @property
    def mesh_count(self) -> int:
        return sum(part.count for part in self.parts if not part.is_switch)

    @property
    def hosts(self) -> int:
        """How many (mesh, host rank) pairs it has: the number of ranks that run it."""
        return sum(part.count * part.host_dims[0] * part.host_dims[1] for part in self.parts)

    @property
    def devices(self) -> int:
        return sum(part.count * part.dims[0] * part.dims[1] for part in self.parts)

    @property
    def layout(self) -> str:
        """Its meshes in words: `2x4`, `4 × 1x1 + 4x8`."""
        return " + ".join(map(str, self.parts))


@cache
def systems() -> tuple[System, ...]:
    """All shipped systems, in the order of the table: Wormhole from small to large, then Blackhole."""
    table = (configs_root() / "mgd" / "systems.txt").read_text(encoding="utf-8")
    return tuple(_row(line) for line in table.splitlines() if line and not line.startswith("#"))


def find(name: str) -> System:
    """The system of that name, alias or file name; case, `_` and `-`, and a `.textproto` at the end do not matter.

    Raises UnknownSystem with the nearest names.
    """
    names = _names()
    wanted = _normal(name)
    if wanted in names:
        return names[wanted]
    from difflib import get_close_matches

    close = get_close_matches(wanted, names, n=5, cutoff=0.6)
    nearest = tuple(dict.fromkeys(names[key].name for key in close))[:3]
    hint = f"did you mean {_either(nearest)}?" if nearest else "`mgd systems` lists them all"
    raise UnknownSystem(f"no system is called '{name}': {hint}", name, nearest)


def for_cluster_type(cluster_type: str, fabric_type: str = "MESH") -> System:
    """The system a cluster of that type runs when no descriptor is named.

    A torus `fabric_type` picks the torus files of the Galaxies; other clusters have none and fall back to their mesh
    file, which the caller can tell by `System.fabric_type`. Raises UnknownSystem; CUSTOM clusters always need a path.
    """
    wanted = _normal(cluster_type).upper().replace("-", "_")
    wanted = _SIMULATORS.get(wanted, wanted)
    rows = [system for system in systems() if system.cluster_type.upper() == wanted]
    if not rows:
        known = tuple(dict.fromkeys(system.cluster_type for system in systems() if system.cluster_type))
        reason = (
            "a CUSTOM cluster needs a descriptor of its own"
            if wanted == "CUSTOM"
            else f"known: {', '.join(known)}"
        )
        raise UnknownSystem(
            f"no descriptor belongs to cluster type '{cluster_type}': {reason}", cluster_type, known
        )
    return next((system for system in rows if system.fabric_type == fabric_type), rows[0])


def for_device_count(count: int) -> System:
    """The system the training guide takes for so many devices: 8 is the 1x8 T3000, 32 the 1x32 Galaxy.

    Raises UnknownSystem for another count, naming the single-mesh systems that have it.
    """
    if count in _BY_DEVICE_COUNT:
        return find(_BY_DEVICE_COUNT[count])
    same = tuple(s.name for s in systems() if s.devices == count and s.mesh_count == 1)
    hint = f"name one: {_either(same)}" if same else "write one with `mgd new`"
    raise UnknownSystem(f"no system is chosen by itself for {count} devices: {hint}", str(count), same)


def fabric_type_of(fabric_config: str, cluster_type: str) -> str:
    """What a fabric configuration asks of the meshes: MESH or a torus."""
    config = fabric_config.upper().removeprefix("FABRICCONFIG.")
    if config in ("FABRIC_1D_RING", "FABRIC_1D_NEIGHBOR_EXCHANGE"):
        return "TORUS_XY" if cluster_type.upper() in _TORUS_CLUSTERS else "MESH"
    torus = config.removeprefix("FABRIC_2D_")
    return torus if torus in FABRIC_TYPES else "MESH"


def missing_torus_dims(fabric_type: str, mesh: Mesh) -> tuple[int, ...]:
    """The dimensions that a fabric type wants closed and the mesh leaves open; extent 2 is forgiven.

    Dimension 0 is Y (the columns), dimension 1 is X (the rows). A fabric type may ask for less than the mesh has.
    """
    axes = fabric_type.removeprefix("TORUS_") if fabric_type.startswith("TORUS_") else ""
    wanted = [dim for dim, axis in ((0, "Y"), (1, "X")) if axis in axes]
    return tuple(dim for dim in wanted if mesh.dim_types[dim] != "RING" and mesh.dims[dim] != 2)


def _normal(name: str) -> str:
    return name.strip().lower().replace("_", "-").removesuffix(".textproto")


def _either(names: Iterable[str]) -> str:
    return " or ".join(names)


@cache
def _names() -> dict[str, System]:
    """Every accepted spelling; a name beats an alias, an alias beats a file name."""
    found: dict[str, System] = {}
    for system in systems():
        short = _normal(system.stem).removesuffix("-graph-descriptor").removesuffix("-mesh")
        for key in (_normal(system.stem), short, *system.aliases):
            found.setdefault(_normal(key), system)
    for system in systems():
        for alias in system.aliases:
            found[_normal(alias)] = system
    for system in systems():
        found[system.name] = system
    return found


def _row(line: str) -> System:
    name, stem, arch, meshes, fabric, cluster, aliases, description = (
        cell.strip() for cell in line.split("|")
    )
    return System(
        name=name,
        stem=stem,
        arch=ARCHES[arch],
        parts=tuple(_part(text.strip()) for text in meshes.split("+")),
        fabric_type=fabric,
        cluster_type="" if cluster == "-" else cluster,
        aliases=() if aliases == "-" else tuple(alias.strip() for alias in aliases.split(",")),
        description=description,
    )


def _part(text: str) -> SystemPart:
    """`4*32x4/4x1`: four meshes of 32x4 devices over 4x1 hosts."""
    text, is_switch = text.removeprefix("switch "), text.startswith("switch ")
    count, _, shape = text.rpartition("*")
    dims, _, hosts = shape.partition("/")
    return SystemPart(int(count or 1), _dims(dims), _dims(hosts or "1x1"), is_switch)


def _dims(text: str) -> tuple[int, int]:
    rows, columns = text.split("x")
    return int(rows), int(columns)


def text_of(system: System, *, hosts: tuple[int, int] | None = None, meshes: int = 1) -> str:
    """The system's descriptor, copied into so many linked meshes and with each mesh cut over [rows, columns] of hosts.

    Raises CannotVary when a mesh does not divide, or when a system of several meshes is to be copied.
    """
    from mgd.authoring import variants

    text, file = system.path.read_text(encoding="utf-8"), str(system.path)
    if meshes != 1:
        text = variants.replicate(text, meshes, file=file)
    return text if hosts is None else variants.split(text, hosts, file=file)


def split(system: System, hosts: tuple[int, int]) -> str:
    """The system's descriptor with every mesh cut over [rows, columns] of hosts. Raises CannotVary when it does not divide."""
    return text_of(system, hosts=hosts)


def replicate(system: System, count: int) -> str:
    """`count` linked copies of the system's only mesh, mesh_ids from 0. Raises CannotVary when it has several."""
    return text_of(system, meshes=count)
