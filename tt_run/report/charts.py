"""Line charts as SVG: they print, take the page's colours, and their numbers are in the page for whoever points at them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from mgd.lean import dataclass

WIDTH, HEIGHT = 720, 226
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 36
MOST_POINTS = 600
COLOURS = 6
Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """A named line."""

    name: str
    points: tuple[Point, ...]


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    across: str,
    unit: str = "",
    area: bool = False,
    zero: bool = False,
) -> str:
    """The chart; `unit` "B" labels the upright axis in bytes, `zero` begins it at 0, `area` fills below the line."""
    lines = [
        Series(each.name, thinned([p for p in each.points if all(map(math.isfinite, p))])) for each in series
    ]
    xs = [x for each in lines for x, _ in each.points]
    ys = [y for each in lines for _, y in each.points]
    if not xs:
        return ""
    x_low, x_high = min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1
    heights = ticks(0 if zero else min(ys), max(ys), bytes_=unit == "B")
    y_low, y_high = min(heights[0], 0 if zero else min(ys)), max(heights[-1], max(ys))

    def place(point: Point) -> tuple[float, float]:
        x = LEFT + (point[0] - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - (point[1] - y_low) / ((y_high - y_low) or 1) * (HEIGHT - TOP - BOTTOM)
        return x, y

    out = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" data-left="{LEFT}" data-right="{WIDTH - RIGHT}">'
    ]
    for tick in heights:
        y = place((x_low, tick))[1]
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(axis_number(tick, unit))}</text>'
        )
    for tick in ticks(x_low, x_high):
        if x_low <= tick <= x_high:
            out.append(
                f'<text x="{place((tick, y_low))[0]:.1f}" y="{HEIGHT - 21}" text-anchor="middle">{axis_number(tick, "")}</text>'
            )
    out.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" text-anchor="end" class="soft">{escape(across)}</text>'
    )
    base = place((x_low, y_low))[1] if area else None
    for number, each in enumerate(lines):
        places = [place(point) for point in each.points]
        out += _line(each, places, f"c{number % COLOURS}", unit, base)
    return "".join([*out, "</svg>"])


def _line(
    series: Series, places: Sequence[Point], colour: str, unit: str, base: float | None
) -> Iterator[str]:
    """A series as drawn: the area down to the height `base` if any, a dot for a single point, and the line with its values for the pointer."""
    words = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    if base is not None and places:
        yield f'<polygon class="area {colour}" points="{places[0][0]:.1f},{base:.1f} {words} {places[-1][0]:.1f},{base:.1f}"/>'
    if len(places) == 1:
        yield f'<circle class="dot {colour}" cx="{places[0][0]:.1f}" cy="{places[0][1]:.1f}" r="3"/>'
    values = ";".join(f"{x:.6g},{y:.6g}" for x, y in series.points)
    yield f'<polyline class="{colour}" points="{words}" data-name="{escape(series.name)}" data-unit="{unit}" data-points="{values}"/>'


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> tuple[Point, ...]:
    """The points, or the lowest and highest of each stretch, so that no peak is lost."""
    if len(points) <= most:
        return tuple(points)
    step = math.ceil(len(points) / (most // 2))
    kept: list[Point] = []
    for start in range(0, len(points), step):
        stretch = points[start : start + step]
        low, high = min(stretch, key=lambda p: p[1]), max(stretch, key=lambda p: p[1])
        kept += sorted({low, high})
    return tuple(kept)


def ticks(low: float, high: float, bytes_: bool = False) -> list[float]:
    """Three to six round numbers that span a range."""
    if high <= low:
        return [low, low + (abs(low) or 1)]
    rough = (high - low) / 4
    if bytes_:
        step = max(2.0 ** math.ceil(math.log2(rough)), 1.0)
    else:
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * 0.999)
    first = math.floor(low / step + 1e-9)
    return [step * (first + number) for number in range(math.ceil(high / step - 1e-9) - first + 1)]


def axis_number(value: float, unit: str) -> str:
    """A number at an axis; `unit` "B" in bytes."""
    if unit == "B":
        from tt_run.report.words import size

        return size(value)
    if abs(value) >= 1e6:
        return f"{value / 1e6:.4g}M"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
