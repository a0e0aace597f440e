"""Where the devices, host blocks and wraps of one mesh stand in its panel; smaller the more devices a picture has."""

from __future__ import annotations

from mgd.graph import Block, Mesh, MeshGraph
from mgd.lean import dataclass

CHARACTER = 0.62
"""Width of a character over its height in the fonts that are asked for."""


@dataclass(frozen=True, slots=True)
class PixelScale:
    """Distances in pixels: between the middles of devices, a device's side, around the devices of a host, between hosts; and font sizes."""

    pitch: int
    device: int
    border: int
    gap: int
    number: int
    words: int


LARGE = PixelScale(46, 30, 16, 18, 12, 12)
MIDDLE = PixelScale(36, 25, 13, 14, 11, 12)
SMALL = PixelScale(28, 22, 12, 12, 9, 11)
_STUB = 9  # that wraps reach beyond the panel's grid


def scale_of(graph: MeshGraph) -> PixelScale:
    """The scale in which a picture stays one that fits a screen, and its numbers can be read."""
    return LARGE if graph.device_count <= 64 else MIDDLE if graph.device_count <= 256 else SMALL


def width_of(text: str, size: float) -> float:
    """How wide a text is, for sure not wider."""
    return len(text) * size * CHARACTER


@dataclass(frozen=True, slots=True)
class Panel:
    """A mesh with its title; places are relative to the panel's top left corner."""

    mesh: Mesh
    name: str
    first_rank: int
    scale: PixelScale

    @property
    def stub(self) -> int:
        """Room on each side for wraps that leave the grid."""
        return _STUB if "RING" in self.mesh.dim_types else 0

    @property
    def subtitle(self) -> str:
        """The mesh's shape, and what more of it fits."""
        mesh = self.mesh
        shape = f"{mesh.dims[0]}x{mesh.dims[1]}"
        wraps = "".join(letter for letter, dim in (("x", 1), ("y", 0)) if mesh.dim_types[dim] == "RING")
        torus = f" torus {wraps}" if wraps else ""
        longer = (
            f"{shape}{torus}, {mesh.channels} ch {mesh.policy}",
            f"{shape}{torus}, {mesh.channels} ch",
            f"{shape}{torus}",
        )
        return next((text for text in longer if width_of(text, self.scale.words - 2) <= self.width), shape)

    @property
    def head(self) -> int:
        """Height of the two lines above the grid."""
        return 2 * self.scale.words + 10 + self.stub

    @property
    def width(self) -> int:
        grid = _extent(self.mesh.dims[1], self.mesh.host_dims[1], self.scale) + 2 * self.stub
        return max(grid, int(width_of(self.name, self.scale.words)) + 8)

    @property
    def height(self) -> int:
        return self.head + _extent(self.mesh.dims[0], self.mesh.host_dims[0], self.scale) + self.stub

    def centre(self, row: int, column: int) -> tuple[int, int]:
        """The middle of a device."""
        rows, columns = (
            extent // hosts for extent, hosts in zip(self.mesh.dims, self.mesh.host_dims, strict=True)
        )
        left = (self.width - _extent(self.mesh.dims[1], self.mesh.host_dims[1], self.scale)) // 2
        return left + _offset(column, columns, self.scale), self.head + _offset(row, rows, self.scale)

    def device(self, number: int) -> tuple[int, int]:
        """The middle of a device by its number."""
        return self.centre(*divmod(number, self.mesh.dims[1]))

    def host_rectangle(self, block: Block) -> tuple[int, int, int, int]:
        """x, y, width, height of a host block."""
        left, top = self.centre(block.row, block.column)
        right, bottom = self.centre(*block.last)
        reach = self.scale.device // 2 + self.scale.border
        return left - reach, top - reach, right - left + 2 * reach, bottom - top + 2 * reach


def _offset(index: int, per_host: int, scale: PixelScale) -> int:
    """Distance of a device's middle from the grid's edge."""
    more = scale.gap + 2 * scale.border + scale.device - scale.pitch
    return scale.border + scale.device // 2 + index * scale.pitch + index // per_host * more


def _extent(count: int, hosts: int, scale: PixelScale) -> int:
    return _offset(count - 1, count // hosts, scale) + scale.device // 2 + scale.border
