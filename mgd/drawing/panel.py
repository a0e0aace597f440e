"""One mesh as a picture: devices by number, links, host blocks with their ranks, wraps.

╭ rank 0 ───╮ ╭ rank 1 ───╮
│  0 ─── 1 ─┼─┼─ 2 ─── 3  │
│  │     │  │ │  │     │  │
│  4 ─── 5 ─┼─┼─ 6 ─── 7  │
╰───────────╯ ╰───────────╯
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from mgd.drawing.canvas import Canvas, host_style
from mgd.drawing.marks import Marks
from mgd.graph import Mesh
from mgd.lean import dataclass

MOST_ROWS = 64  # a taller mesh is drawn without its middle
TALL_ROWS = 16  # up to here a line of links stands between two rows of devices


@dataclass(frozen=True, slots=True)
class TextScale:
    """How far things are apart: characters between two device numbers, and whether labels are short."""

    gap: int
    short_labels: bool

    def label(
        self, mesh: Mesh, host_rank: int, first_rank: int, labels: Mapping[tuple[int, int], str]
    ) -> str:
        given = labels.get((mesh.mesh_id, host_rank))
        if given is not None:
            return given
        if mesh.is_switch:
            return "sw" if self.short_labels else "switch"
        return f"r{first_rank + host_rank}" if self.short_labels else f"rank {first_rank + host_rank}"


SCALES = (TextScale(5, False), TextScale(3, False), TextScale(3, True), TextScale(1, True))


@dataclass(frozen=True, slots=True)
class Axis:
    """Where the visible rows or columns of a mesh are, and the borders of the host blocks around them."""

    at: dict[int, int]  # index -> first character of its cell
    start: dict[int, int]  # host index -> its near border
    end: dict[int, int]  # host index -> its far border

    @property
    def indices(self) -> list[int]:
        return list(self.at)


def draw_mesh(mesh: Mesh, width: int, marks: Marks, first_rank: int = 0) -> Canvas:
    """The mesh within `width` characters; what does not fit is left out in its middle and shown as dots."""
    for scale in SCALES if mesh.dims[1] <= width else ():
        panel = _Panel(mesh, scale, marks, first_rank, list(range(mesh.dims[1])))
        if panel.width <= width:
            return panel.draw()
    for half in range(min(mesh.dims[1], width) // 2, 0, -1):
        visible = [*range(half), *range(mesh.dims[1] - half, mesh.dims[1])]
        panel = _Panel(mesh, SCALES[-1], marks, first_rank, visible)
        if panel.width <= width:
            break
    return panel.draw()


def visible_rows(count: int) -> list[int]:
    if count <= MOST_ROWS:
        return list(range(count))
    half = MOST_ROWS // 4
    return [*range(half), *range(count - half, count)]


class _Panel:
    """The geometry of one mesh at one scale, and the drawing of it."""

    def __init__(
        self, mesh: Mesh, scale: TextScale, marks: Marks, first_rank: int, columns: list[int]
    ) -> None:
        self.mesh, self.scale, self.marks, self.first_rank = mesh, scale, marks, first_rank
        self.digits = len(str(mesh.device_count - 1))
        self.tall = mesh.dims[0] <= TALL_ROWS
        self.block = (mesh.dims[0] // mesh.host_dims[0], mesh.dims[1] // mesh.host_dims[1])
        self.canvas = Canvas()
        self.columns = self._column_axis(columns)
        self.rows = self._row_axis(visible_rows(mesh.dims[0]))

    def draw(self) -> Canvas:
        self._hosts()
        for row in self.rows.indices:
            for column in self.columns.indices:
                self._device(row, column)
        self._horizontal_links()
        self._vertical_links()
        self._wraps()
        return self.canvas

    @property
    def width(self) -> int:
        return max(self.columns.end.values()) + 1

    # --- geometry ---------------------------------------------------------------------------------------------------

    def _labels_of(self, host_column: int) -> list[str]:
        rows, columns = self.mesh.host_dims
        drawn = {row // self.block[0] for row in visible_rows(self.mesh.dims[0])}
        return [self._label(row * columns + host_column) for row in range(rows) if row in drawn]

    def _label(self, host_rank: int) -> str:
        cross = "✗ " if (self.mesh.mesh_id, host_rank) in self.marks.hosts else ""
        return cross + self.scale.label(self.mesh, host_rank, self.first_rank, self.marks.labels)

    def _column_axis(self, visible: list[int]) -> Axis:
        outer = 1 if self.scale.gap == 1 else (3 if self.mesh.dim_types[1] == "RING" else 2)
        at: dict[int, int] = {}
        start: dict[int, int] = {}
        end: dict[int, int] = {}
        x = 0
        for position, column in enumerate(visible):
            host = column // self.block[1]
            last_of_host = position + 1 == len(visible) or visible[position + 1] // self.block[1] != host
            if host not in start:
                start[host] = x
                label = max(map(len, self._labels_of(host)))
                inner = outer if column == 0 else min(outer, 2)
                x += 1 + (max(inner, label + 3 - self.digits // 2) if self.mesh.host_dims[0] > 1 else inner)
            at[column] = x
            x += self.digits
            if last_of_host:
                label = max(map(len, self._labels_of(host)))
                far = x + (outer if column == self.mesh.dims[1] - 1 else min(outer, 2))
                end[host] = max(far, start[host] + label + 3)
                x = end[host] + 2
            else:
                x += self.scale.gap if visible[position + 1] == column + 1 else max(self.scale.gap, 3)
        return Axis(at, start, end)

    def _row_axis(self, visible: list[int]) -> Axis:
        wrapped = self.mesh.dim_types[0] == "RING"
        at: dict[int, int] = {}
        start: dict[int, int] = {}
        end: dict[int, int] = {}
        y = 0
        for position, row in enumerate(visible):
            host = row // self.block[0]
            last_of_host = position + 1 == len(visible) or visible[position + 1] // self.block[0] != host
            if host not in start:
                start[host] = y
                y += 2 if row == 0 and wrapped else 1
            at[row] = y
            jump = not last_of_host and visible[position + 1] != row + 1
            y += 2 if (self.tall and not last_of_host) or jump else 1
            if last_of_host:
                y += 1 if row == self.mesh.dims[0] - 1 and wrapped else 0
                end[host] = y
                y += 1
        return Axis(at, start, end)

    def _middle(self, column: int) -> int:
        return self.columns.at[column] + self.digits // 2

    # --- drawing ----------------------------------------------------------------------------------------------------

    def _hosts(self) -> None:
        for host_row, top in self.rows.start.items():
            for host_column, left in self.columns.start.items():
                rank = host_row * self.mesh.host_dims[1] + host_column
                broken = (self.mesh.mesh_id, rank) in self.marks.hosts
                style = "broken" if broken else host_style(self.first_rank + rank)
                right, bottom = self.columns.end[host_column], self.rows.end[host_row]
                self.canvas.put(left, top, "╭" + "─" * (right - left - 1) + "╮", style)
                self.canvas.put(left, bottom, "╰" + "─" * (right - left - 1) + "╯", style)
                self.canvas.vertical(left, top + 1, bottom - 1, style)
                self.canvas.vertical(right, top + 1, bottom - 1, style)
                self.canvas.put(left + 1, top, f" {self._label(rank)} ", style)

    def _device(self, row: int, column: int) -> None:
        device = row * self.mesh.dims[1] + column
        x, y = self.columns.at[column], self.rows.at[row]
        broken = (self.mesh.mesh_id, device) in self.marks.devices
        rank = self.mesh.host_rank_of(row, column)
        style = "broken" if broken else host_style(self.first_rank + rank)
        self.canvas.put(x, y, self._number(device), style)
        if broken:
            self.canvas.put(x + self.digits, y, "✗", "broken")

    def _number(self, device: int) -> str:
        return f"{device:>{self.digits}}" if self.digits < 3 else f"{device:^{self.digits}}"

    def _broken(self, a: int, b: int) -> bool:
        return (self.mesh.mesh_id, min(a, b), max(a, b)) in self.marks.edges

    def _horizontal_links(self) -> None:
        columns = self.columns.indices
        space = 0 if self.scale.gap == 1 else 1
        for left, right in pairwise(columns):
            start, stop = self.columns.at[left] + self.digits + space, self.columns.at[right] - space
            borders = [
                x for x in (*self.columns.end.values(), *self.columns.start.values()) if start <= x < stop
            ]
            for row in self.rows.indices:
                y, device = self.rows.at[row], row * self.mesh.dims[1] + left
                if right != left + 1:
                    self.canvas.put((start + stop - 1) // 2, y, "⋯", "dim")
                    continue
                near, far = self._number(device), self._number(device + 1)
                begin = start - (len(near) - len(near.rstrip())) * space
                if (self.mesh.mesh_id, device) in self.marks.devices:
                    begin = start + 1 - space
                end = stop + (len(far) - len(far.lstrip())) * space
                self.canvas.put(begin, y, "─" * (end - begin), "link")
                for border in borders:
                    self.canvas.put(border, y, "┼", "link")
                if self._broken(device, device + 1):
                    self.canvas.put((start + stop - 1) // 2, y, "✗", "broken")

    def _vertical_links(self) -> None:
        rows = self.rows.indices
        for upper, lower in pairwise(rows):
            between = range(self.rows.at[upper] + 1, self.rows.at[lower])
            borders = {*self.rows.end.values(), *self.rows.start.values()}
            for column in self.columns.indices:
                x, device = self._middle(column), upper * self.mesh.dims[1] + column
                broken = self._broken(device, device + self.mesh.dims[1])
                for y in between:
                    mark = "⋮" if lower != upper + 1 else "✗" if broken else "┼" if y in borders else "│"
                    self.canvas.put(x, y, mark, "broken" if mark == "✗" else "link")

    def _wraps(self) -> None:
        """Arrow heads at the ends of a closed dimension; hollow where RING is declared but too short to close."""
        rows, columns = self.mesh.dims
        if self.mesh.dim_types[0] == "RING":
            up, down = ("▴", "▾") if self.mesh.wraps(0) else ("▵", "▿")
            for column in self.columns.indices:
                broken = self._broken(column, (rows - 1) * columns + column)
                style = "broken" if broken else "wrap"
                self.canvas.put(self._middle(column), self.rows.at[0] - 1, "✗" if broken else up, style)
                self.canvas.put(
                    self._middle(column), self.rows.at[rows - 1] + 1, "✗" if broken else down, style
                )
        if self.mesh.dim_types[1] == "RING":
            west, east = ("◂", "▸") if self.mesh.wraps(1) else ("◃", "▹")
            tail = "" if self.scale.gap == 1 else "─"
            for row in self.rows.indices:
                broken = self._broken(row * columns, row * columns + columns - 1)
                style = "broken" if broken else "wrap"
                first, last = self.columns.at[0], self.columns.at[columns - 1] + self.digits
                y = self.rows.at[row]
                space = len(tail)
                lead = self._number(row * columns)
                fill = tail * (1 + len(lead) - len(lead.lstrip()))
                self.canvas.put(first - 1 - 2 * space, y, ("✗" if broken else west) + fill, style)
                end = self._number(row * columns + columns - 1)
                trail = (len(end) - len(end.rstrip())) * space
                self.canvas.put(
                    last + space - trail, y, tail * (1 + trail) + ("✗" if broken else east), style
                )
