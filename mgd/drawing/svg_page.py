"""Where everything stands on an SVG page: panels, one for each mesh, and the devices and host blocks in them."""

from __future__ import annotations

from mgd.graph import Block, Mesh, MeshGraph
from mgd.lean import dataclass

PITCH = 44  # between the middles of neighbouring devices
DEVICE = 28  # side of a device
BORDER = 14  # around the devices of a host
GAP = 22  # between hosts
TITLE, MARGIN, BETWEEN = 22, 24, 56  # above a panel, around the page, between panels
PAGE = 1400  # panels that would end beyond this begin a new shelf


@dataclass(frozen=True, slots=True)
class Panel:
    """A mesh at a place on the page."""

    mesh: Mesh
    first_rank: int
    x: int
    y: int

    @property
    def width(self) -> int:
        return _extent(self.mesh.dims[1], self.mesh.host_dims[1])

    @property
    def height(self) -> int:
        return TITLE + _extent(self.mesh.dims[0], self.mesh.host_dims[0])

    def centre(self, row: int, column: int) -> tuple[int, int]:
        """The middle of a device."""
        rows, columns = (
            self.mesh.dims[0] // self.mesh.host_dims[0],
            self.mesh.dims[1] // self.mesh.host_dims[1],
        )
        x = self.x + _offset(column, columns)
        return x, self.y + TITLE + _offset(row, rows)

    def host_rectangle(self, block: Block) -> tuple[int, int, int, int]:
        """x, y, width, height of a host block."""
        left, top = self.centre(block.row, block.column)
        right, bottom = self.centre(*block.last)
        reach = DEVICE // 2 + BORDER
        return left - reach, top - reach, right - left + 2 * reach, bottom - top + 2 * reach

    @property
    def middle(self) -> tuple[int, int]:
        return self.x + self.width // 2, self.y + TITLE + (self.height - TITLE) // 2


def _offset(index: int, per_host: int) -> int:
    """Distance of a device's middle from the panel's edge."""
    return BORDER + DEVICE // 2 + index * PITCH + (index // per_host) * (GAP + 2 * BORDER + DEVICE - PITCH)


def _extent(count: int, hosts: int) -> int:
    return _offset(count - 1, count // hosts) + DEVICE // 2 + BORDER


def placed(graph: MeshGraph, top: int) -> list[Panel]:
    """Panels from left to right in shelves as wide as the page."""
    panels: list[Panel] = []
    x, y, tallest, rank = MARGIN, top, 0, 0
    for mesh in graph.meshes:
        panel = Panel(mesh, rank, x, y)
        if x > MARGIN and x + panel.width > PAGE:
            x, y, tallest = MARGIN, y + tallest + BETWEEN, 0
            panel = Panel(mesh, rank, x, y)
        panels.append(panel)
        x += panel.width + BETWEEN
        tallest = max(tallest, panel.height)
        rank += mesh.host_count
    return panels
