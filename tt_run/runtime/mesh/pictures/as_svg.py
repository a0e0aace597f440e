"""A tensor's placement as an SVG picture: the devices of the mesh, coloured by the part that each holds, and the tensor cut up beside."""

from __future__ import annotations

from html import escape

from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, row_major
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.pictures.tensor_parts import (
    Ranges,
    ShardInTensor,
    TensorLike,
    placed_shards,
    shard_colors,
)

_CELL = (168, 92)
_GAP = 8
_MARGIN = 16
_HEAD = 56
_TENSOR = (220, 160)  # the largest drawing of the whole tensor, in pixels
_EMPTY = "#e6e6e6"
_FONT = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" fill="#1a1a1a"'


def tensor_svg(tensor: TensorLike) -> str:
    """The picture as text of an SVG file, the same for the same placement.

    The left part draws every device of the mesh with its number, coordinate and part; the right part the last two dimensions of the
    whole tensor, each part in the colour of the devices that hold it. Devices with equal parts have equal colours; grey ones hold none.
    """
    device = tensor.device()
    shape: MeshShape = device.shape if device is not None else tensor.host_buffer().shape()
    shards = placed_shards(tensor)
    colors = shard_colors(shards.values())
    grid_width = shape[1] * (_CELL[0] + _GAP)
    width = 2 * _MARGIN + grid_width + _TENSOR[0]
    height = _HEAD + max(shape[0] * (_CELL[1] + _GAP), _TENSOR[1] + 24) + _MARGIN
    title = f"{tensor.tensor_topology().placements()} on {shape[0]}x{shape[1]}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(_description(shards))}</desc>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_MARGIN}" y="24" {_FONT} font-weight="bold">{escape(title)}</text>',
        f'<text x="{_MARGIN}" y="42" {_FONT}>{escape(_summary(shards))}</text>',
    ]
    for coord in row_major(shape):
        parts += _device(coord, _number(device, coord), shards.get(coord), colors)
    parts += _tensor(shards, colors, _MARGIN + grid_width + _GAP, _HEAD)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _device(
    coord: MeshCoordinate, number: str, shard: ShardInTensor | None, colors: dict[Ranges, str]
) -> list[str]:
    x = _MARGIN + coord[1] * (_CELL[0] + _GAP)
    y = _HEAD + coord[0] * (_CELL[1] + _GAP)
    fill = colors[shard.ranges] if shard else _EMPTY
    lines = [f"{number}({coord[0]}, {coord[1]})"]
    lines += (
        [shard.slices, f"{list(shard.shape)}", f"{shard.dtype} {shard.layout}"]
        if shard
        else ["holds nothing"]
    )
    box = f'<rect x="{x}" y="{y}" width="{_CELL[0]}" height="{_CELL[1]}" rx="6" fill="{fill}" stroke="#555"/>'
    middle = x + _CELL[0] // 2
    return [
        box,
        *(
            f'<text x="{middle}" y="{y + 22 + 19 * i}" text-anchor="middle" {_FONT}>{escape(line)}</text>'
            for i, line in enumerate(lines)
        ),
    ]


def _tensor(
    shards: dict[MeshCoordinate, ShardInTensor], colors: dict[Ranges, str], x: int, y: int
) -> list[str]:
    """The last two dimensions of the whole tensor; parts that differ in other dimensions only lie on one another, the first on top."""
    if not shards:
        return []
    rank = len(next(iter(shards.values())).shape)
    dims = list(range(max(rank - 2, 0), rank))
    whole = [max(_end(shard, dim) for shard in shards.values()) for dim in dims]
    rows, columns = ([1] * (2 - len(whole)) + whole)[:2]
    drawn = []
    for ranges, color in reversed(colors.items()):
        shard = next(s for s in shards.values() if s.ranges == ranges)
        spans = [(_start(shard, dim), _end(shard, dim)) for dim in dims]
        (top, bottom), (left, right) = ([(0, 1)] * (2 - len(spans)) + spans)[:2]
        drawn.append(
            f'<rect x="{x + _TENSOR[0] * left // max(columns, 1)}" y="{y + _TENSOR[1] * top // max(rows, 1)}" '
            f'width="{max(_TENSOR[0] * (right - left) // max(columns, 1), 1)}" '
            f'height="{max(_TENSOR[1] * (bottom - top) // max(rows, 1), 1)}" fill="{color}" stroke="#555"/>'
        )
    caption = f"whole tensor, last dimensions {whole}"
    return [*drawn, f'<text x="{x}" y="{y + _TENSOR[1] + 18}" {_FONT}>{escape(caption)}</text>']


def _start(shard: ShardInTensor, dim: int) -> int:
    ranges = shard.ranges[dim]
    return 0 if ranges is None else ranges[0]


def _end(shard: ShardInTensor, dim: int) -> int:
    ranges = shard.ranges[dim]
    return shard.shape[dim] if ranges is None else ranges[1]


def _number(device: object, coord: MeshCoordinate) -> str:
    if device is None:
        return ""
    index = device.index_of(coord)  # type: ignore[attr-defined]
    number = device.system.ids[device.positions[index]]  # type: ignore[attr-defined]
    return f"device {number}  " if number is not None else "remote  "


def _summary(shards: dict[MeshCoordinate, ShardInTensor]) -> str:
    distinct = len({shard.ranges for shard in shards.values()})
    return f"{len(shards)} devices hold {distinct} distinct parts" if shards else "no device holds a part"


def _description(shards: dict[MeshCoordinate, ShardInTensor]) -> str:
    """The picture in words, for those who cannot see it."""
    return "; ".join(f"({coord[0]}, {coord[1]}) holds {shard.slices}" for coord, shard in shards.items())
