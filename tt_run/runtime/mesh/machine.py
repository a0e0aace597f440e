"""The chips of an emulated machine: their numbers, which have PCIe, who is linked to whom, what a process sees of them.

Numbering and discovery follow the reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from mgd.lean import dataclass
from mgd.shapes import discovery_shapes
from mgd.systems import System, systems
from tt_run.runtime.errors import fatal

Dims = tuple[int, int]

# Row-major chip numbers of the machines built from N300 cards; the first half of the numbers has PCIe, chip p + half is p's partner.
_N300_CARDS: dict[Dims, tuple[int, ...]] = {
    (2, 1): (0, 1),
    (1, 2): (0, 1),
    (2, 2): (0, 2, 1, 3),
    (4, 1): (2, 0, 1, 3),
    (1, 8): (4, 0, 2, 6, 7, 3, 1, 5),
    (2, 4): (4, 0, 2, 6, 5, 1, 3, 7),
}
_CLUSTER_TYPES = {2: "N300", 4: "N300_2x2", 8: "T3K"}


@dataclass(frozen=True, slots=True)
class Machine:
    """Chips laid out on a grid: `chips[i]` is the number of the chip at row-major place i; `partners` maps PCIe chips to remote ones."""

    arch: str
    cluster_type: str
    dims: Dims
    chips: tuple[int, ...]
    pcie: tuple[int, ...]
    partners: dict[int, int]

    def links(self) -> dict[int, set[int]]:
        """The neighbours of each chip on the grid."""
        rows, columns = self.dims
        found: dict[int, set[int]] = {chip: set() for chip in self.chips}
        for place, chip in enumerate(self.chips):
            row, column = divmod(place, columns)
            if column + 1 < columns:
                _connect(found, chip, self.chips[place + 1])
            if row + 1 < rows:
                _connect(found, chip, self.chips[place + columns])
        return found

    def exposed(self, visible: Sequence[int]) -> tuple[int, ...]:
        """The chips a process sees with these PCIe chips visible: them, in the order given, then their partners."""
        return (*visible, *(self.partners[chip] for chip in visible if chip in self.partners))


@dataclass(frozen=True, slots=True)
class Discovered:
    """What auto-discovery makes of the visible chips: a shape and the chip at each row-major place."""

    dims: Dims
    chips: tuple[int, ...]


def machine_of(arch: str, dims: Dims, cluster_type: str | None = None) -> Machine:
    """The machine whose mesh has these extents: Wormhole meshes of up to 2x4 are N300 cards, in others every chip has PCIe."""
    wormhole = arch.upper().startswith("WORMHOLE")
    numbers = _N300_CARDS.get(dims) if wormhole else None
    if numbers is None:
        chips = tuple(range(dims[0] * dims[1]))
        kind = cluster_type or _other_type(arch, dims)
        return Machine(arch, kind, dims, chips, chips, {})
    half = len(numbers) // 2
    partners = {chip: chip + half for chip in range(half)}
    return Machine(
        arch,
        "N300" if dims == (4, 1) else _CLUSTER_TYPES[len(numbers)],
        dims,
        numbers,
        tuple(range(half)),
        partners,
    )


def machine_of_system(system: System) -> Machine:
    """The machine of a shipped system with a single mesh."""
    return machine_of(system.arch, system.shape, system.cluster_type)


def discover(machine: Machine, visible: Sequence[int] | None) -> Discovered:
    """The shape that auto-discovery gives the visible chips (all when None).

    Every product of sides that are even or 1, from all chips down, two-dimensional before a chain, taken if it embeds in the links.
    """
    if visible is None and not machine.partners:
        return Discovered(machine.dims, machine.chips)
    order = machine.exposed(machine.pcie if visible is None else visible)
    links = {
        chip: [other for other in order if other in near]
        for chip, near in machine.links().items()
        if chip in order
    }
    for rows, columns in discovery_shapes(len(order)):
        chips = embed(links, order, (rows, columns))
        if chips is not None:
            return Discovered((rows, columns), chips)
    raise fatal(
        "No mesh can be formed from the visible devices.",
        "!order.empty()",
        hint="unset TT_VISIBLE_DEVICES, or name chips that are linked",
    )


def embed(links: dict[int, list[int]], order: Sequence[int], dims: Dims) -> tuple[int, ...] | None:
    """Chips for each row-major place so that neighbours on the mesh are linked; None when there is no way.

    Places are filled column by column, chips tried in the given order, so the first one becomes the corner if it can.
    """
    rows, columns = dims
    placed: list[int] = []

    def extend() -> bool:
        if len(placed) == rows * columns:
            return True
        column, row = divmod(len(placed), rows)
        above = placed[-1] if row else None
        beside = placed[len(placed) - rows] if column else None
        anchor = above if above is not None else beside
        for chip in order if anchor is None else links[anchor]:
            if chip in placed or (beside is not None and chip not in links[beside]):
                continue
            placed.append(chip)
            if extend():
                return True
            placed.pop()
        return False

    if not extend():
        return None
    return tuple(placed[column * rows + row] for row in range(rows) for column in range(columns))


def parse_visible(text: str | None, machine: Machine) -> tuple[int, ...] | None:
    """TT_VISIBLE_DEVICES as PCIe chips in the order written, None when unset or empty.

    Raises RuntimeError for what is no number, twice the same, or no PCIe chip of the machine.
    """
    if text is None or not text.strip():
        return None
    words = [word.strip() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if not word.isdigit()]
    if wrong:
        raise fatal(
            f"TT_VISIBLE_DEVICES={text!r}: {', '.join(wrong)} is not a device id; write a comma list such as 0,1",
            hint="TT_VISIBLE_DEVICES=0,1",
        )
    chips = tuple(dict.fromkeys(int(word) for word in words))
    unknown = [chip for chip in chips if chip not in machine.pcie]
    if unknown:
        raise fatal(
            f"TT_VISIBLE_DEVICES={text!r}: no PCIe device {', '.join(map(str, unknown))} on this {machine.cluster_type} machine; "
            f"it has {machine.pcie[0]}..{machine.pcie[-1]}",
            hint="unset TT_VISIBLE_DEVICES, or name those that there are",
        )
    return chips


def local_numbers(machine: Machine, chips: Sequence[int]) -> dict[int, int]:
    """Process-local ids of the chips a process sees: PCIe chips ascending from 0, then the remote ones in their partners' order."""
    pcie = sorted(chip for chip in chips if chip in machine.pcie)
    partner_of = {remote: chip for chip, remote in machine.partners.items()}
    remote = sorted(
        (chip for chip in chips if chip not in machine.pcie), key=lambda chip: partner_of.get(chip, chip)
    )
    return {chip: number for number, chip in enumerate((*pcie, *remote))}


def _other_type(arch: str, dims: Dims) -> str:
    """The kind of machine that a descriptor's mesh suggests: that of the first shipped system with this mesh, else CUSTOM."""
    for system in systems():
        if (
            system.cluster_type
            and system.shape == dims
            and system.arch.split("_")[0].lower() == arch.split("_")[0].lower()
        ):
            return system.cluster_type
    return "CUSTOM"


def _connect(links: dict[int, set[int]], a: int, b: int) -> None:
    links[a].add(b)
    links[b].add(a)
