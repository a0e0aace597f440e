"""Ways for the links between boxes that stand in rows: straight to a neighbour, else along lanes between and beside the rows.

No way crosses a box. Lanes are counted before the rows get their places, so that there is room for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from mgd.lean import dataclass, field

LANE = 20
"""Between two lanes; a label fits."""

Point = tuple[float, float]


@dataclass(slots=True)
class Placed:
    """A box: its size, its row and place in it, and where it stands (y once the lanes are known)."""

    width: float
    height: float
    row: int = 0
    place: int = 0
    x: float = 0
    y: float = 0

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(slots=True)
class Way:
    """A link from one box to another: the points of its way, and where its label stands."""

    first: int
    last: int
    label: str
    points: list[Point] = field(default_factory=list)
    label_at: Point = (0, 0)
    lanes: list[tuple[int, float, float, int]] = field(default_factory=list)  # gap, from x, to x, lane
    side: int = 0  # -1 and 1: left and right of all rows, with `side_lane`
    side_lane: int = 0
    straight: str = ""  # "along" a row, "across" rows, "corner" to corner


@dataclass(slots=True)
class Router:
    """Boxes in rows and the ways between them. `gap` is the room between boxes that no way needs."""

    boxes: list[Placed]
    rows: Sequence[Sequence[int]]
    ways: list[Way]
    gap: float = 40
    _slots: dict[tuple[int, int], list[int]] = field(
        default_factory=dict
    )  # (box, side) -> ways; sides: 0 top, 1 bottom
    _crossed: set[tuple[int, int]] = field(
        default_factory=set
    )  # (box, side) from whose middle a straight way goes across
    _free: dict[int, list[list[tuple[float, float]]]] = field(
        default_factory=dict
    )  # gap -> lane -> taken spans
    _sides: dict[int, int] = field(default_factory=lambda: {-1: 0, 1: 0})

    def run(self) -> tuple[float, float]:
        """Give every box its place and every way its points; the width and height of all."""
        right = max(self._place_columns(), 1)
        for number, way in enumerate(self.ways):
            self._choose(number, way)
        for slots in self._slots.values():
            slots.sort(key=self._far_end)
        for way_number in sorted(range(len(self.ways)), key=self._length):
            self._take_lanes(way_number)
        left = self._sides[-1] * LANE + (LANE / 2 if self._sides[-1] else 0)
        for box in self.boxes:
            box.x += left
        height, gaps = self._place_rows()
        for number, way in enumerate(self.ways):
            self._draw(number, way, left, right, gaps)
        return left + right + self._sides[1] * LANE + (LANE / 2 if self._sides[1] else 0), height

    def _place_columns(self) -> float:
        """The x of every box: columns below each other, the middle of a star above them; boxes are apart as labels need."""
        for number, row in enumerate(self.rows):
            for place, box in enumerate(row):
                self.boxes[box].row, self.boxes[box].place = number, place
        is_star = len(self.rows[0]) == 1 < len(self.rows[-1])
        under = self.rows[1:] if is_star else self.rows
        full = max(len(row) for row in under)
        columns = [
            max(self.boxes[row[place]].width for row in under if place < len(row)) for place in range(full)
        ]
        apart = self.gap
        for way in self.ways:
            a, b = self.boxes[way.first], self.boxes[way.last]
            if a.row == b.row and abs(a.place - b.place) == 1:
                apart = max(apart, len(way.label) * 7 + 18)
        total = sum(columns) + apart * (full - 1)
        hub = self.boxes[self.rows[0][0]]
        width = max(total, hub.width if is_star else 0)
        if is_star:
            hub.x = (width - hub.width) / 2
        for row in under:
            x = (width - total) / 2
            for place, box in enumerate(row):
                self.boxes[box].x = x + (columns[place] - self.boxes[box].width) / 2
                x += columns[place] + apart
        return width

    def _choose(self, number: int, way: Way) -> None:
        """Straight where nothing is between the boxes, else which sides the way leaves by."""
        a, b = self.boxes[way.first], self.boxes[way.last]
        if way.first == way.last:
            self._leave(number, way.first, 0)
        elif a.row == b.row and abs(a.place - b.place) == 1:
            way.straight = "along"
        elif a.row == b.row:
            for end in (way.first, way.last):
                self._leave(number, end, 0)
        elif abs(a.row - b.row) == 1 and abs(a.middle - b.middle) < 1:
            way.straight = "across"
            upper, lower = (way.first, way.last) if a.row < b.row else (way.last, way.first)
            self._crossed |= {(upper, 1), (lower, 0)}
        elif abs(a.row - b.row) == 1 and abs(a.place - b.place) == 1 and len(self.rows[0]) > 1:
            way.straight = "corner"
        else:
            upper, lower = (way.first, way.last) if a.row < b.row else (way.last, way.first)
            ends = {self.boxes[upper].row, self.boxes[lower].row} == {0, len(self.rows) - 1}
            outward = ends and len(self.rows) > 2
            self._leave(number, upper, 0 if outward else 1)
            self._leave(number, lower, 1 if outward else 0)
            if outward or abs(a.row - b.row) > 1:
                nearer = (a.middle + b.middle) / 2 < max(box.x + box.width for box in self.boxes) / 2
                way.side = -1 if nearer else 1

    def _leave(self, way: int, box: int, side: int) -> None:
        self._slots.setdefault((box, side), []).append(way)

    def _far_end(self, number: int) -> float:
        way = self.ways[number]
        return self.boxes[way.first].middle + self.boxes[way.last].middle

    def _length(self, number: int) -> float:
        way = self.ways[number]
        return abs(self.boxes[way.first].middle - self.boxes[way.last].middle)

    def _slot(self, number: int, box: int) -> tuple[float, int]:
        """The x at which a way leaves a box, and the gap that it leaves into."""
        for side in (0, 1):
            slots = self._slots.get((box, side), [])
            if number in slots:
                place = self.boxes[box]
                share = (slots.index(number) + 1) / (len(slots) + 1)
                if (box, side) in self._crossed and abs(share - 0.5) < 0.15:
                    share = 0.25 if self._far_end(number) < 2 * place.middle else 0.75
                return place.x + place.width * share, place.row + side
        return self.boxes[box].middle, self.boxes[box].row

    def _take_lanes(self, number: int) -> None:
        way = self.ways[number]
        if way.straight or way.first == way.last:
            return
        (x, gap), (to_x, to_gap) = self._slot(number, way.first), self._slot(number, way.last)
        if not way.side:
            way.lanes = [(gap, x, to_x, self._lane(gap, x, to_x))]
            return
        way.side_lane = self._sides[way.side]
        self._sides[way.side] += 1
        edge = -1e6 if way.side < 0 else 1e6
        way.lanes = [
            (gap, x, edge, self._lane(gap, x, edge)),
            (to_gap, to_x, edge, self._lane(to_gap, to_x, edge)),
        ]

    def _lane(self, gap: int, x: float, to_x: float) -> int:
        """The first lane of a gap that is free from x to x."""
        low, high = min(x, to_x) - 6, max(x, to_x) + 6
        lanes = self._free.setdefault(gap, [])
        for number, taken in enumerate(lanes):
            if all(high < start or end < low for start, end in taken):
                taken.append((low, high))
                return number
        lanes.append([(low, high)])
        return len(lanes) - 1

    def _place_rows(self) -> tuple[float, list[float]]:
        """The y of every box; the height of all, and where the lanes of each gap begin."""
        y, gaps = 0.0, []
        direct = {way.straight for way in self.ways} & {"across", "corner"}
        for number, row in enumerate(self.rows):
            lanes = len(self._free.get(number, []))
            loops = any(way.first == way.last and way.first in row for way in self.ways)
            gaps.append(y + LANE / 2)
            base = self.gap if number else 0
            y += max(base + (LANE if direct and number else 0), lanes * LANE + base / 2, LANE if loops else 0)
            gaps[-1] = y - lanes * LANE - (base / 4 if lanes else 0)
            for box in row:
                self.boxes[box].y = y
            y += max(self.boxes[box].height for box in row)
        lanes = len(self._free.get(len(self.rows), []))
        gaps.append(y + LANE / 2)
        return y + lanes * LANE + (LANE / 2 if lanes else 0), gaps

    def _draw(self, number: int, way: Way, left: float, right: float, gaps: list[float]) -> None:
        a, b = self.boxes[way.first], self.boxes[way.last]
        if way.first == way.last:
            x, _ = self._slot(number, way.first)
            way.points = [(x - 8, a.y), (x - 8, a.y - 12), (x + 8, a.y - 12), (x + 8, a.y)]
            way.label_at = (x, a.y - 14)
        elif way.straight:
            way.points = self._straight(number, way, a, b)
            (x, y), (to_x, to_y) = way.points
            # Two ways that cross have their labels on one side, above and below.
            part = 0.5 if way.straight != "corner" else 0.22 if to_x > x else 0.78
            lift = 5 if way.straight == "along" else -4
            way.label_at = (x + (to_x - x) * part, y + (to_y - y) * part - lift)
            if way.straight == "across":
                way.label_at = (x + 6, y + (to_y - y) * 0.75)
        else:
            self._along_lanes(number, way, left, right, gaps)

    def _straight(self, number: int, way: Way, a: Placed, b: Placed) -> list[Point]:
        twins = [n for n, each in enumerate(self.ways) if {each.first, each.last} == {way.first, way.last}]
        shift = (twins.index(number) - (len(twins) - 1) / 2) * LANE
        if way.straight == "along":
            west, east = (a, b) if a.x < b.x else (b, a)
            y = west.y + min(a.height, b.height) / 2 + shift
            return [(west.x + west.width, y), (east.x, y)]
        upper, lower = (a, b) if a.y < b.y else (b, a)
        if way.straight == "across":
            return [(upper.middle + shift, upper.y + upper.height), (lower.middle + shift, lower.y)]
        to_right = upper.middle < lower.middle
        x, to_x = (
            (upper.x + upper.width - 8, lower.x + 8) if to_right else (upper.x + 8, lower.x + lower.width - 8)
        )
        return [(x + shift, upper.y + upper.height), (to_x + shift, lower.y)]

    def _along_lanes(self, number: int, way: Way, left: float, right: float, gaps: list[float]) -> None:
        points: list[Point] = []
        ends = []
        for end, (gap, _, _, lane) in zip(
            (way.first, way.last), way.lanes if way.side else way.lanes * 2, strict=True
        ):
            box = self.boxes[end]
            x, _ = self._slot(number, end)
            on_top = gap == box.row
            ends.append(
                [(x, box.y if on_top else box.y + box.height), (x, gaps[gap] + lane * LANE + LANE / 2)]
            )
        points = ends[0]
        if way.side:
            outside = (
                left - (way.side_lane + 1) * LANE
                if way.side < 0
                else left + right + (way.side_lane + 1) * LANE
            )
            points += [(outside, ends[0][1][1]), (outside, ends[1][1][1])]
            way.label_at = (outside, (ends[0][1][1] + ends[1][1][1]) / 2)
        else:
            way.label_at = ((ends[0][1][0] + ends[1][1][0]) / 2, ends[0][1][1] - 4)
        way.points = points + ends[1][::-1]
