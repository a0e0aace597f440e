"""How a requested mesh is laid over devices that form a rectangle: as it is, as a snake, or turned (reference library 0.81.1)."""

from __future__ import annotations

from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.mesh.default_system import larger_systems
from tt_run.runtime.mesh.geometry import line_layouts
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, coordinate_hint
from tt_run.runtime.mesh.geometry.shape import MeshShape

Place = tuple[int, int]


def places_in(outer: MeshShape, requested: MeshShape, offset: MeshCoordinate | None) -> list[Place]:
    """The (row, column) of the outer mesh under each row-major coordinate of the requested one.

    A line goes over neighbours from the offset on, `lines` says which. Another mesh that fits at the offset is a sub-rectangle, and is
    transposed where only that fits. Raises RuntimeError otherwise.
    """
    if requested.mesh_size() == 0:
        raise fatal(
            f"Requested mesh shape {requested} has zero devices (mesh_size=0). MeshShape must have at least one device.",
            "requested_size > 0",
            hint="write every extent as 1 or more: ttnn.MeshShape(1, 1) is one device",
        )
    if requested.mesh_size() > outer.mesh_size():
        raise fatal(
            f"Requested mesh shape {requested} requires {requested.mesh_size()} devices, "
            f"but only {outer.mesh_size()} devices are available in the system mesh {outer}.",
            "requested_size <= system_size",
            hint=larger_systems(requested),
        )
    _check_rank(outer, requested)
    if offset is not None and offset.dims() != outer.dims():
        raise fatal(
            f"Provided offset dimensions mismatch: {offset} != {outer.dims()}",
            hint="offset=ttnn.MeshCoordinate(row, column)",
        )
    start = (offset[0], offset[1]) if offset is not None else (0, 0)
    rows, columns = requested
    beyond = not (start[0] < outer[0] and start[1] < outer[1])
    if beyond and 1 in (rows, columns):
        raise fatal(
            f"The specified offset {offset} is out of bounds for the system mesh shape {outer}",
            "system_shape[0] > system_offset[0] && system_shape[1] > system_offset[1]",
            hint=coordinate_hint(outer),
        )
    if beyond:
        pass
    elif 1 in (rows, columns) and rows * columns > 1:
        line = line_layouts.line_from(outer, start, rows * columns)
        if line is not None:
            return line
    elif _fits(outer, start, rows, columns):
        return [(start[0] + r, start[1] + c) for r in range(rows) for c in range(columns)]
    elif _fits(outer, start, columns, rows):
        return [(start[0] + c, start[1] + r) for r in range(rows) for c in range(columns)]
    raise throw(
        f"Requested mesh is too big and is not rotatable: {requested} and SystemMesh {outer}, offset {MeshCoordinate(start)}",
        hint=f"ttnn.MeshShape({outer[0]}, {outer[1]}) without an offset, or a larger --system",
    )


def snake(outer: MeshShape) -> list[Place]:
    """All places, row by row, every other row backwards: neighbours on the line are neighbours on the mesh.

    With two rows that closes into a ring; with two columns only a walk around the border does, so that is what they get.
    """
    rows, columns = outer
    if columns == 2 and rows > 2:
        return [(0, 0), *((r, 1) for r in range(rows)), *((r, 0) for r in range(rows - 1, 0, -1))]
    return line_layouts.row_by_row(rows, columns)


def tile(outer: MeshShape, inner: MeshShape) -> list[MeshCoordinate]:
    """The offsets at which copies of `inner` cover `outer`, row-major. Raises RuntimeError when they do not."""
    if inner.dims() != outer.dims():
        raise fatal(
            f"Submesh shape {inner} and mesh device shape {outer} must have the same number of dimensions.",
            hint=f"write as many extents as the mesh has: {outer.dims()}",
        )
    for dimension, (whole, part) in enumerate(zip(outer, inner, strict=True)):
        if part <= 0:
            raise fatal(
                f"Invalid submesh shape: ({inner}). All dimensions must be positive.",
                hint="write every extent as 1 or more",
            )
        if whole % part:
            raise fatal(
                f"Shape {outer} is not divisible by submesh shape {inner} along dimension {dimension}",
                hint=f"along dimension {dimension} write one of {', '.join(str(n) for n in range(1, whole + 1) if whole % n == 0)}",
            )
    return [MeshCoordinate(r, c) for r in range(0, outer[0], inner[0]) for c in range(0, outer[1], inner[1])]


def _check_rank(outer: MeshShape, requested: MeshShape) -> None:
    if requested.dims() == 1:
        raise fatal(
            "MeshDeviceViewImpl is not 2D!",
            "shape_2d_.has_value()",
            hint=f"write it with rows: ttnn.MeshShape(1, {requested.mesh_size()})",
        )
    if requested.dims() != outer.dims():
        raise fatal(
            f"Requested mesh shape dimensions mismatch: {requested} != {outer}",
            "shape.dims() == system_shape.dims()",
            hint=f"a mesh of this system has {outer.dims()} dimensions: ttnn.MeshShape(rows, columns)",
        )


def _fits(outer: MeshShape, start: Place, rows: int, columns: int) -> bool:
    return start[0] + rows <= outer[0] and start[1] + columns <= outer[1]
