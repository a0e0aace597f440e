"""MGD 1.0 as values: chip, boards, meshes and links, each with its offset in the text."""

from __future__ import annotations

from mgd.lean import dataclass, field

Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Board:
    """A kind of board: its grid of devices and which of its dimensions close."""

    name: str
    type: str
    shape: Shape
    at: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class BoardMesh:
    """A mesh made of boards: `hosts` boards in each dimension, one host per board."""

    mesh_id: int
    board: str
    devices: Shape
    hosts: Shape
    at: int = field(default=-1, compare=False)
    devices_at: int = field(default=-1, compare=False)
    hosts_at: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class BoardLink:
    """An undirected link between two meshes, or between one device of each."""

    a: int
    b: int
    channels: int
    a_device: int | None = None
    b_device: int | None = None
    at: int = field(default=-1, compare=False)
    a_at: int = field(default=-1, compare=False)
    b_at: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class FirstFormat:
    """A whole MGD 1.0 file. `mode` is "Graph" (device to device) or "RelaxedGraph" (mesh to mesh)."""

    arch: str
    ports: int
    z_ports: int
    boards: tuple[Board, ...]
    meshes: tuple[BoardMesh, ...]
    mode: str
    links: tuple[BoardLink, ...]

    def board(self, name: str) -> Board:
        """The board of that name. Raises KeyError."""
        for board in self.boards:
            if board.name == name:
                return board
        raise KeyError(name)
