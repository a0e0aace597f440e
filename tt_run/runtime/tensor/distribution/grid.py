"""The grid of shards that mappers and composers lay over a mesh, and how a dimension is cut into chunks.

A dimension of size s over n devices is cut into chunks of ceil(s / n) elements (reference library 0.81.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.errors import fatal, in_range, type_name
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, fits_as_submesh, row_major
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.distribution.configs import Overrides
from tt_run.runtime.tensor.spec.site import HostSite, Site


class Distribution:
    """The grid of shards that a configuration lays over a mesh: its shape, and where on the mesh each of its points lies.

    `coords` are mesh coordinates, `positions` their row-major numbers on the mesh, both in row-major order of the grid.

    Raises RuntimeError when the grid has more points than the mesh has devices, when `axes` (placements or dims of the
    configuration) does not have one entry per dimension of it, or when an offset cannot be applied.
    """

    __slots__ = ("coords", "positions", "shape", "site")

    def __init__(self, site: Site, config: Overrides, axes: int, axes_name: str) -> None:
        if not hasattr(site, "local_positions"):
            raise TypeError(f"a mesh mapper or composer needs a MeshDevice first, got {type_name(site)}")
        shape = config.mesh_shape_override or site.shape
        if shape.mesh_size() > site.shape.mesh_size():
            raise fatal(
                f"The size of the supplied mesh shape {shape} does not match the device shape size {site.shape}",
                hint=f"a mesh_shape of at most {site.shape.mesh_size()} devices, such as {tuple(site.shape)}",
            )
        if shape.dims() != axes:
            raise fatal(
                f"The number of dimensions in the mesh shape {shape} does not match the number of {axes_name} in the config {config}",
                hint=f"name {shape.dims()} {axes_name}, one for each dimension of the mesh",
            )
        self.shape = shape
        self.site = HostSite.of(site)
        self.coords = _coords(shape, site.shape, config.mesh_offset_override)
        number = {coord: i for i, coord in enumerate(self.site.coords)}
        self.positions = tuple(number[coord] for coord in self.coords)


def _coords(shape: MeshShape, mesh: MeshShape, offset: MeshCoordinate) -> tuple[MeshCoordinate, ...]:
    if not fits_as_submesh(shape, mesh):
        if offset.dims() and any(offset):
            raise fatal(
                "mesh_offset_override is only supported when the distribution fits within the mesh device per-dimension "
                f"(SUBMESH mode); distribution {shape} is laid over mesh {mesh} in row-major order, got offset {offset}",
                hint=f"leave the offset out, or write a mesh_shape_override that fits into {tuple(mesh)}",
            )
        return tuple(row_major(mesh)[: shape.mesh_size()])
    if not offset.dims():
        return tuple(row_major(shape))
    if offset.dims() != mesh.dims() or any(o + s > m for o, s, m in zip(offset, shape, mesh, strict=True)):
        raise fatal(
            f"The distribution {shape} at offset {offset} does not fit within the mesh {mesh}",
            hint="a smaller mesh_shape_override, or an offset nearer to the origin",
        )
    return tuple(
        MeshCoordinate([o + c for o, c in zip(offset, coord, strict=True)]) for coord in row_major(shape)
    )


def check_dims(dims: Sequence[int], rank: int) -> list[int]:
    """Tensor dimensions counted from zero. Raises RuntimeError for one out of range or named twice."""
    counted = [dim + rank if dim < 0 else dim for dim in dims]
    if any(not 0 <= dim < rank for dim in counted):
        listed = ", ".join(map(str, dims))
        raise fatal(
            f"Invalid dimension index; got dims: {{{listed}}}, tensor dimension: {rank}",
            hint=in_range("each of dims", rank),
        )
    if len(set(counted)) != len(counted):
        raise fatal(
            "dims must be unique",
            hint=f"dims={tuple(dims)}: shards are joined along one tensor dimension for each mesh axis",
        )
    return counted


def chunk_bounds(size: int, parts: int) -> list[tuple[int, int]]:
    """Start and end of each chunk of ceil(size / parts) elements; the last may be shorter, and there may be fewer than `parts`."""
    if parts == 1:
        return [(0, size)]
    if not size:
        return []
    chunk = -(-size // parts)
    return [(start, min(start + chunk, size)) for start in range(0, size, chunk)]
