"""Described machines for the tests, made here: a T3000, and Wormhole Galaxies joined into a column."""

from __future__ import annotations

from tt_run.inputs.clusters.chips import Chip, ClusterDescriptor, RemoteLink

PORTS = {"E": 0, "W": 4, "S": 8, "N": 12}


def t3000_yaml(*, channels: int = 2, without: tuple[int, int] | None = None) -> str:
    """The published wiring of a T3000: PCIe chips 0..3, partners 4..7, a 2x4 grid 4 0 2 6 / 5 1 3 7."""
    pairs = [(0, 2), (0, 4), (0, 1), (1, 3), (1, 5), (2, 6), (2, 3), (3, 7), (4, 5), (6, 7)]
    used: dict[int, int] = {}
    lines = ["arch: {" + ", ".join(f"{c}: wormhole_b0" for c in range(8)) + "}", "ethernet_connections:"]
    for a, b in pairs:
        if (a, b) == without:
            continue
        for _ in range(channels):
            i, j = used.get(a, 0), used.get(b, 0)
            used[a], used[b] = i + 1, j + 1
            lines.append(f"  - [{{chip: {a}, chan: {i}}}, {{chip: {b}, chan: {j}}}]")
    lines.append("chips_with_mmio: [{0: 0}, {1: 1}, {2: 3}, {3: 2}]")
    lines.append("harvesting: {}")
    lines.append("chips: {" + ", ".join(f"{c}: [{c % 4}, {c // 4}, 0, 0]" for c in range(8)) + "}")
    lines.append("boards:")
    lines += [
        f"  - [{{board_id: {100 + c}}}, {{board_type: n300}}, {{chips: [{c + 4}, {c}]}}]" for c in range(4)
    ]
    return "\n".join(lines) + "\n"


def galaxy(host: str, number: int, of: int, *, channels: int = 4) -> ClusterDescriptor:
    """One of `of` Wormhole Galaxies of 8x4 chips: rings along rows inside, columns closed over all of them."""
    rows, columns = 8, 4

    def unique(galaxy: int, row: int, column: int) -> int:
        return 1000 * (galaxy % of) + row * columns + column + 1

    chips: dict[int, Chip] = {}
    links: list[tuple[int, int, int, int]] = []
    remote: list[RemoteLink] = []
    for row in range(rows):
        for column in range(columns):
            chip = row * columns + column
            tray = (row // 4) * 2 + column // 2 + 1
            inner_row = row % 4 if row < 4 else 3 - row % 4
            inner_column = column % 2 if column < 2 else 1 - column % 2
            location = inner_row * 2 + inner_column + 1
            chips[chip] = Chip(
                chip, unique(number, row, column), "WORMHOLE_B0", "ubb", 9, tray, location, chip
            )
            for k in range(channels):
                east = row * columns + (column + 1) % columns
                links.append((chip, PORTS["E"] + k, east, PORTS["W"] + k))
                if row + 1 < rows:
                    links.append((chip, PORTS["S"] + k, chip + columns, PORTS["N"] + k))
                else:
                    remote.append(
                        RemoteLink(chip, PORTS["S"] + k, unique(number + 1, 0, column), PORTS["N"] + k)
                    )
                if row == 0:
                    far = unique(number - 1, rows - 1, column)
                    remote.append(RemoteLink(chip, PORTS["N"] + k, far, PORTS["S"] + k))
    return ClusterDescriptor(f"{host}.yaml", host, "WORMHOLE_B0", chips, tuple(links), tuple(remote))


def plain_grid(rows: int, columns: int) -> ClusterDescriptor:
    """Blackhole cards of one chip in a grid without rings, one channel per pair."""
    chips = {
        chip: Chip(chip, 1 + chip, "BLACKHOLE", "p150", chip, chip + 1, 0, chip)
        for chip in range(rows * columns)
    }
    links = []
    for chip in chips:
        if (chip + 1) % columns:
            links.append((chip, 0, chip + 1, 1))
        if chip + columns < rows * columns:
            links.append((chip, 2, chip + columns, 3))
    return ClusterDescriptor("grid.yaml", "grid", "BLACKHOLE", chips, tuple(links))
