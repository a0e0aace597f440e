"""Pictures of meshes and of tensors on them, as text (reference library 0.81.1).

`rich` draws the tables, so a narrow terminal gets narrower cells; it is imported when something is drawn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.pictures.as_svg import tensor_svg
from tt_run.runtime.mesh.pictures.tensor_parts import placed_shards, shard_colors
from tt_run.runtime.mesh.system import system_mesh
from tt_run.runtime.native.arguments import public

if TYPE_CHECKING:
    from tt_run.runtime.mesh.pictures.tensor_parts import TensorLike

_log = logging.getLogger("ttnn")

CELL = 30
_LONGEST = CELL * 4

# The text of a device's cell, and its background (hex) or None.
Cell = tuple[str, str | None]


def visualize_system_mesh() -> None:
    """Print the shape of the whole system mesh and of this rank's part, and every device with its id, or that it is remote."""
    system = system_mesh()
    console = _console()
    console.print(f"\nSystemMesh Global Shape: {system.shape}")
    console.print(f"\nSystemMesh Local Shape: {system.local_shape}\n")
    console.print(create_system_mesh_table())


def create_system_mesh_table() -> Any:
    """The table of `rich` that `visualize_system_mesh` prints: every device of the whole system mesh."""
    system = system_mesh()

    def cell(coord: MeshCoordinate) -> Cell:
        number = system.ids[system.position(coord)]
        place = f"({coord[0]}, {coord[1]})"
        if system.all_local:
            return f"Dev. ID: {number}\n{place}", None
        return (f"Remote\nUnknown\n{place}" if number is None else f"Local\nDev. ID: {number}\n{place}"), None

    title = f"SystemMesh Global Shape: {tuple(system.shape)} | Local Shape: {tuple(system.local_shape)}"
    return _table(title, system.shape, cell)


@public
def visualize_mesh_device(mesh_device: MeshDevice, tensor: TensorLike | None = None) -> None:
    """Print the devices of a mesh with their ids; with `tensor` (the documents' form), also the shape of the shard on each."""
    shards = {} if tensor is None else placed_shards(tensor)
    colors = shard_colors(shards.values())

    def cell(coord: MeshCoordinate) -> Cell:
        shard = shards.get(coord)
        held = f"ttnn.Shape({list(shard.shape)})" if shard else ""
        return _device_lines(mesh_device, coord) + held, colors.get(shard.ranges) if shard else None

    title = f"MeshDevice(rows={mesh_device.shape[0]}, cols={mesh_device.shape[1]})"
    _console().print(_table(title, mesh_device.shape, cell))


def visualize_tensor(tensor: TensorLike, *, svg: str | Path | None = None) -> None:
    """Print a tensor's placements, and for each device of its mesh which part it holds; equal parts share a colour.

    `svg` names a file that gets the same as a picture. What cannot be drawn is logged, as the reference does: a look never ends a program.
    """
    try:
        _draw_tensor(tensor, svg)
    except (AttributeError, RuntimeError, ValueError) as error:
        _log.error("Error visualizing tensor: %s", error)


def _draw_tensor(tensor: TensorLike, svg: str | Path | None) -> None:
    if svg is not None:
        Path(svg).write_text(tensor_svg(tensor), encoding="utf-8")
    from rich.panel import Panel
    from rich.text import Text

    console = _console()
    console.print(Panel(Text(str(tensor.tensor_topology().placements())), title="Placement Configuration"))
    device = tensor.device()
    shards = placed_shards(tensor)
    colors = shard_colors(shards.values())
    shape = device.shape if device is not None else tensor.host_buffer().shape()

    def cell(coord: MeshCoordinate) -> Cell:
        shard = shards.get(coord)
        head = _device_lines(device, coord) if device is not None else _host_lines(tensor, shape, coord)
        return head + (shard.annotation if shard else ""), colors.get(shard.ranges) if shard else None

    console.print(_table(f"Tensor(storage: {tensor.storage_type()})", shape, cell))


def _device_lines(device: MeshDevice, coord: MeshCoordinate) -> str:
    place = f"({coord[0]}, {coord[1]})\n"
    index = device.index_of(coord)
    number = None if index is None else device.system.ids[device.positions[index]]
    name = "Unknown ID\n" if number is None else f"Dev. ID: {number}\n"
    if device.all_local:
        return name + place
    return ("Remote\n" if number is None else "Local\n") + name + place


def _host_lines(tensor: TensorLike, shape: MeshShape, coord: MeshCoordinate) -> str:
    buffer = tensor.host_buffer()
    place = f"({coord[0]}, {coord[1]})\n"
    if all(buffer.is_local(c) for c in tensor.tensor_topology().mesh_coords()):
        return place
    return ("Local\n" if buffer.is_local(coord) else "Remote\n") + place


def _table(title: str, shape: MeshShape, cell: Callable[[MeshCoordinate], Cell]) -> Any:
    from rich import box
    from rich.align import Align
    from rich.style import Style
    from rich.table import Table
    from rich.text import Text

    rows, columns = shape
    table = Table(title=title, show_header=False, show_lines=True, box=box.SQUARE, expand=False, padding=0)
    for _ in range(columns):
        table.add_column(justify="center", vertical="middle", width=CELL)
    for row in range(rows):
        drawn = []
        for column in range(columns):
            text, color = cell(MeshCoordinate(row, column))
            style = Style(bgcolor=color, color="black") if color else None
            content = Text(text, justify="center")
            content.truncate(_LONGEST, overflow="ellipsis")
            drawn.append(Align(content, "center", vertical="middle", style=style))
        table.add_row(*drawn)
    return table


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, markup=False)
