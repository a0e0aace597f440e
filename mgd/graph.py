"""The expanded mesh graph: what a descriptor means, as immutable values without any syntax.

Devices of a mesh of dims [R, C] are numbered row-major, (0, 0) is the north-west corner, dimension 0 runs north-south and
dimension 1 west-east (reference library 0.81.1). Hosts cut the mesh into equal blocks, host_rank row-major.
"""

from __future__ import annotations

from mgd.diagnostics import Position
from mgd.expanding.connections import InterConnection, InterLink, Path, Requested
from mgd.expanding.links import requested
from mgd.lean import dataclass, field

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from mgd.v1.model import FirstFormat


@dataclass(frozen=True, slots=True)
class Block:
    """A rectangle of devices: first row and column, and how many of each. Rows and columns are 0-based mesh coordinates."""

    row: int
    column: int
    rows: int
    columns: int

    @property
    def devices(self) -> tuple[tuple[int, int], ...]:
        """The (row, column) of each device, row-major."""
        return tuple(
            (r, c)
            for r in range(self.row, self.row + self.rows)
            for c in range(self.column, self.column + self.columns)
        )

    @property
    def last(self) -> tuple[int, int]:
        """The inclusive south-east corner."""
        return (self.row + self.rows - 1, self.column + self.columns - 1)


@dataclass(frozen=True, slots=True)
class Link:
    """One undirected link inside a mesh: device ids, the direction seen from `a`, and its channels."""

    a: int
    b: int
    direction: str  # "E", "S" for the grid and its wraps, "Z" for express links
    channels: int
    wrap: bool = False


@dataclass(frozen=True, slots=True)
class Mesh:
    """One instantiated mesh (or switch, which has a single host).

    `path` holds (graph name, graph id) of the ancestors from the top; `position` is where it is instantiated,
    `host_position` where its host topology is written, both for messages that span files. `express` holds the chords of
    express_links, `express_connections` the device pairs of the older form.
    """

    mesh_id: int
    descriptor: str
    arch: str
    dims: tuple[int, int]
    host_dims: tuple[int, int]
    dim_types: tuple[str, str]
    channels: int
    policy: str
    path: tuple[tuple[str, int], ...] = ()
    is_switch: bool = False
    express: tuple[Link, ...] = ()
    express_connections: tuple[tuple[int, int], ...] = ()
    position: Position | None = None
    host_position: Position | None = None

    @property
    def device_count(self) -> int:
        return self.dims[0] * self.dims[1]

    @property
    def host_count(self) -> int:
        return self.host_dims[0] * self.host_dims[1]

    def wraps(self, dim: int) -> bool:
        """True when the dimension really closes: declared RING and at least 3 long."""
        return self.dim_types[dim] == "RING" and self.dims[dim] >= 3

    def host_block(self, host_rank: int) -> Block:
        """The rectangle that a host rank owns. Raises IndexError for a rank the mesh does not have."""
        if not 0 <= host_rank < self.host_count:
            raise IndexError(f"mesh {self.mesh_id} has host ranks 0..{self.host_count - 1}, not {host_rank}")
        rows, columns = self.dims[0] // self.host_dims[0], self.dims[1] // self.host_dims[1]
        return Block(
            (host_rank // self.host_dims[1]) * rows, (host_rank % self.host_dims[1]) * columns, rows, columns
        )

    def host_rank_of(self, row: int, column: int) -> int:
        """The host rank that owns a device."""
        rows, columns = self.dims[0] // self.host_dims[0], self.dims[1] // self.host_dims[1]
        return (row // rows) * self.host_dims[1] + column // columns

    @property
    def own_path(self) -> Path:
        """The path that ends in this mesh itself."""
        return (*self.path, (self.descriptor, self.mesh_id))

    def extents(self) -> tuple[int, int]:
        """How many links run east-west and north-south: C-1 or C per row, R-1 or R per column."""
        rows, columns = self.dims
        return rows * (columns - 1 + self.wraps(1)), columns * (rows - 1 + self.wraps(0))

    @property
    def grid_link_count(self) -> int:
        """The number of undirected grid links, wraps included, without making them."""
        return sum(self.extents())

    def grid_links(self) -> tuple[Link, ...]:
        """Each undirected neighbour link once, wraps included, by device id then E before S."""
        rows, columns = self.dims
        links: list[Link] = []
        for row in range(rows):
            for column in range(columns):
                here = row * columns + column
                if column + 1 < columns:
                    links.append(Link(here, here + 1, "E", self.channels))
                elif self.wraps(1):
                    links.append(Link(here, row * columns, "E", self.channels, wrap=True))
                if row + 1 < rows:
                    links.append(Link(here, here + columns, "S", self.channels))
                elif self.wraps(0):
                    links.append(Link(here, column, "S", self.channels, wrap=True))
        return tuple(links)


@dataclass(frozen=True, slots=True)
class GraphInstance:
    """One instantiated graph: its own id and name, the path of its ancestors, and how many children it has."""

    graph_id: int
    name: str
    type: str
    path: Path
    children: int
    position: Position | None = None

    @property
    def own_path(self) -> Path:
        return (*self.path, (self.name, self.graph_id))


@dataclass(frozen=True, slots=True)
class PinGroup:
    """Logical devices of one mesh that may sit on any of the (tray, asic_location) slots."""

    mesh_id: int
    devices: tuple[int, ...]
    slots: tuple[tuple[int, int], ...]
    board_revision: str = ""


@dataclass(frozen=True, slots=True)
class MeshGraph:
    """Everything a launcher or a runtime needs to know of a descriptor: meshes by id, what links them, and pins.

    `meshes` holds meshes and switches in the order of instantiation; `links` what FABRIC graphs ask for, each once; `pins` by mesh.
    `connections` holds every declaration of every graph (also those that the runtime does not see), `graphs` the instances of
    graphs, children before their parent.
    """

    meshes: tuple[Mesh, ...]
    links: tuple[InterLink, ...] = ()
    pins: tuple[PinGroup, ...] = ()
    file: str = ""
    arch: str = ""
    top: GraphInstance | Mesh | None = None
    graphs: tuple[GraphInstance, ...] = ()
    connections: tuple[InterConnection, ...] = ()
    inter_policy: str = "STRICT"
    inter_policy_specified: bool = False
    first_format: FirstFormat | None = field(default=None, repr=False, compare=False)
    _by_id: dict[int, Mesh] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for mesh in self.meshes:
            self._by_id.setdefault(mesh.mesh_id, mesh)

    def mesh(self, mesh_id: int) -> Mesh:
        """The mesh with that id. Raises KeyError for an unknown one, and when nested graphs give several meshes that id."""
        if not self.ids_unique and sum(mesh.mesh_id == mesh_id for mesh in self.meshes) > 1:
            raise KeyError(f"several meshes have the id {mesh_id}; tell them apart by their path")
        return self._by_id[mesh_id]

    @property
    def ids_unique(self) -> bool:
        """False when ids repeat across nested graphs: then only paths tell meshes apart."""
        return len(self._by_id) == len(self.meshes)

    @property
    def mesh_ids(self) -> tuple[int, ...]:
        return tuple(self._by_id)

    @property
    def device_count(self) -> int:
        return sum(mesh.device_count for mesh in self.meshes)

    @property
    def requested(self) -> tuple[Requested, ...]:
        """The directed wishes of FABRIC graphs, between meshes and between devices; made anew at each call."""
        return requested(self.connections)
