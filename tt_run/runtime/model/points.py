"""Tables of measured times: one row per point, tab- or comma-separated, with the columns of `COLUMNS`.

`measured` of a row is a number in the row's own unit: the middle of a band (`92-105`), the tokens per second and user of a published
model, the milliseconds of a training step. An upper bound is one-sided: a prediction below it has no error.
"""

from __future__ import annotations

import csv
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

COLUMNS = (
    "kind",
    "op",
    "shape",
    "dtype",
    "arch",
    "devices",
    "topology",
    "value",
    "unit",
    "nature",
    "source",
    "note",
)
HELD_OUT_OF = 5  # one row in five is not used for calibration
_NUMBER = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"


class PointsError(ValueError):
    """A file of points that cannot be read: the message names the file and what is missing."""


class NotCovered(Exception):
    """The model has no answer to a row; the text says why."""


@dataclass(frozen=True, slots=True)
class Point:
    """One row, with the line of the file it stands on."""

    kind: str
    op: str
    shape: str
    dtype: str
    arch: str
    devices: str
    topology: str
    value: str
    unit: str
    nature: str
    line: int

    @property
    def upper_bound(self) -> bool:
        """Whether the value only says what the time must stay below."""
        return "upper bound" in self.nature

    @property
    def held_out(self) -> bool:
        """Whether calibration leaves this row alone: decided by a hash of what was measured, not of the result."""
        key = "|".join((self.kind, self.op, self.shape, self.dtype, self.arch, self.devices, self.topology))
        return int(hashlib.sha256(key.encode()).hexdigest(), 16) % HELD_OUT_OF == 0

    @property
    def measured(self) -> float | None:
        """The measurement in `measured_unit`; None when the row holds no number."""
        for pattern in (rf"({_NUMBER})\*? t/s/u", rf"({_NUMBER}) ms/step"):
            found = re.search(pattern, self.value)
            if found:
                return float(found[1])
        band = re.fullmatch(rf"\s*({_NUMBER})\s*-\s*({_NUMBER})\s*", self.value)
        if band:
            return (float(band[1]) + float(band[2])) / 2
        found = re.match(rf"\s*[~<≤]?\s*({_NUMBER})", self.value)
        return float(found[1]) if found else None

    @property
    def measured_unit(self) -> str:
        """The unit of `measured`."""
        for unit in ("t/s/u", "ms/step"):
            if unit in self.value:
                return unit
        return self.unit


def read(path: Path) -> list[Point]:
    """All rows of a file. Raises PointsError when it cannot be read or has not the columns."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PointsError(
            f"{path}: {error.strerror if isinstance(error, OSError) else 'not UTF-8 text'}"
        ) from None
    first = text.split("\n", 1)[0]
    rows = csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in first else ",")
    wanted = [name for name in COLUMNS if name not in ("source", "note", "nature")]
    missing = [name for name in wanted if name not in (rows.fieldnames or [])]
    if missing:
        raise PointsError(
            f"{path}:1: missing column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; the first line"
            f" names the columns: {' '.join(COLUMNS)}"
        )
    return [_point(row, rows.line_num) for row in rows if (row.get("kind") or "").strip()]


def _point(row: dict[str, str | None], line: int) -> Point:
    def cell(name: str) -> str:
        return (row.get(name) or "").strip()

    return Point(
        kind=cell("kind"),
        op=cell("op"),
        shape=cell("shape"),
        dtype=cell("dtype"),
        arch=cell("arch"),
        devices=cell("devices"),
        topology=cell("topology"),
        value=cell("value"),
        unit=cell("unit"),
        nature=cell("nature"),
        line=line,
    )
