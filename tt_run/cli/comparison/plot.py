"""The candidates as a picture: throughput over devices, those that no other beats joined by a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tt_run.report.charts import axis_number, ticks

ACROSS, HEIGHT = 660, 460
LEFT, TOP, BOTTOM = 70, 36, 46
LETTER = 6.6  # the width of one of a name, on the average
LINE, BESIDE, LOST = "#1f6fb2", "#7a7f87", "#c0392b"
APART = 14  # between the middles of two labels


def svg(rows: Sequence[Mapping[str, Any]], program: str) -> str:
    """A picture that stands alone: devices in steps of a factor of two, steps per second from 0; a hollow mark does not fit.

    A candidate that failed has no mark; its name stands below the picture.
    """
    ran = [row for row in rows if not row["failure"]]
    counts = sorted({row["devices"] for row in ran})
    heights = ticks(0, max((row["steps_per_second"] for row in ran), default=1.0))

    def place(row: Mapping[str, Any]) -> tuple[float, float]:
        across = counts.index(row["devices"]) / (len(counts) - 1) if len(counts) > 1 else 0.5
        y = HEIGHT - BOTTOM - row["steps_per_second"] / heights[-1] * (HEIGHT - TOP - BOTTOM)
        return LEFT + across * (ACROSS - LEFT), y

    width = round(ACROSS + 30 + LETTER * max([len(_name(row)) for row in ran] + [20]))
    failed = [row for row in rows if row["failure"]]
    tall = HEIGHT + 18 * len(failed)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{width}" height="{tall}" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(program)}: steps per second, predicted, not measured</text>',
    ]
    for tick in heights:
        y = HEIGHT - BOTTOM - tick / heights[-1] * (HEIGHT - TOP - BOTTOM)
        out.append(f'<path d="M{LEFT} {y:.1f}H{ACROSS}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{axis_number(tick, "")}</text>')
    for count in counts:
        x = place({"devices": count, "steps_per_second": 0.0})[0]
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count}</text>')
    out.append(f'<text x="{ACROSS}" y="{HEIGHT - 10}" text-anchor="end">devices</text>')
    front = sorted(place(row) for row in ran if row["pareto"])
    if len(front) > 1:
        words = " ".join(f"{x:.1f},{y:.1f}" for x, y in front)
        out.append(f'<polyline points="{words}" fill="none" stroke="{LINE}" stroke-width="1.5"/>')
    for count in counts:
        out += _marks([(row, place(row)) for row in ran if row["devices"] == count])
    for number, row in enumerate(failed):
        y = HEIGHT + 18 * number
        out.append(f'<text x="{LEFT}" y="{y}" fill="{LOST}">{escape(row["candidate"])}: failed</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _marks(rows: list[tuple[Mapping[str, Any], tuple[float, float]]]) -> list[str]:
    """The marks of candidates with as many devices, and their names beside them, moved apart where they would meet."""
    out, free = [], float("-inf")
    for row, (x, y) in sorted(rows, key=lambda each: each[1][1]):
        colour = LINE if row["pareto"] else BESIDE
        fill = colour if row["fits"] else "#fff"
        free = max(y + 4, free + APART)
        out.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
            f'<text x="{x + 10:.1f}" y="{free:.1f}" paint-order="stroke" stroke="#fff" stroke-width="3">{escape(_name(row))}</text>'
        )
    return out


def _name(row: Mapping[str, Any]) -> str:
    return str(row["candidate"]) if row["fits"] else f"{row['candidate']} (does not fit)"
