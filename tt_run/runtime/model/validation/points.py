"""Tables of measured times: one row per point, tab- or comma-separated, with the columns of `COLUMNS`.

`measured` of a row is a number in the row's own unit: the middle of a band (`92-105`), the tokens per second and user of a published
model, the milliseconds of a training step. An upper bound is one-sided: a prediction below it has no error.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mgd.diagnostics import Diagnostic, Label, Position
from tt_run.runtime.model.validation.quantities import Figure, first_token, number, telling_figure

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
NEEDED = ("kind", "op", "value")
"""Columns without which a file is no table of points; cells of others that it lacks are empty."""
_MOST_CHARACTERS = 1000  # of a cell that is read: a number of more digits is no measurement
HELD_OUT_OF = 5  # one row in five is not used for calibration
WHOLE_MODELS = ("e2e", "training")
"""Kinds of rows whose value may hold several figures."""


class PointsError(ValueError):
    """A file of points that cannot be read: what is wrong, and where."""

    def __init__(self, wrong: str, file: Path, line: int = 0, help: str = "") -> None:
        place = Position(str(file), line, min(line, 1))
        super().__init__(f"{file}:{line}: {wrong}" if line else f"{file}: {wrong}")
        self.finding = Diagnostic(
            "TTR127", wrong, (Label(place),), help or "tt-run validate-model --help names the columns"
        )


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
    def figure(self) -> Figure | None:
        """Number and unit of the measurement; None when the row holds no number. Of whole models the most telling figure counts."""
        whole = telling_figure(self.value, self.unit) if self.kind in WHOLE_MODELS else None
        found = number(self.value)
        plain = None if found is None else Figure(found, "", self.unit)
        told = whole or plain
        return told if told is not None and math.isfinite(told.number) else None

    @property
    def first_token(self) -> Point | None:
        """Of a whole model whose row gives the time to the first token beside its speed, a point of that time alone."""
        found = first_token(self.value) if self.kind == "e2e" else None
        if found is None or self.figure == found:
            return None
        return replace(self, value=f"ttft {found.number} {found.unit}", unit="")

    @property
    def measured(self) -> float | None:
        """The measurement in `measured_unit`; None when the row holds no number."""
        return None if self.figure is None else self.figure.number

    @property
    def measured_unit(self) -> str:
        """The unit of `measured`."""
        return self.unit if self.figure is None else self.figure.unit


def read(path: Path) -> list[Point]:
    """All rows of a file. Raises PointsError when it cannot be read, lacks a column of NEEDED, or has a row of more cells than those."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PointsError(str(error.strerror), path) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        wrong = f"not UTF-8 text: byte 0x{error.object[error.start]:02x}"
        raise PointsError(wrong, path, line, "save the table as UTF-8") from None
    # Not splitlines(): it would break a row at characters such as U+2028, and lines would be counted wrong.
    lines = text.replace("\r\n", "\n").split("\n")
    top = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    separator = _separator(lines[top])
    names = [name.strip().lower() for name in next(_cells(lines[top : top + 1], separator), (0, []))[1]]
    missing = [name for name in NEEDED if name not in names]
    if missing:
        wrong = f"missing column{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        raise PointsError(wrong, path, top + 1, f"the first line names the columns: {' '.join(COLUMNS)}")
    points = []
    try:
        for line, cells in _cells(lines[top + 1 :], separator, top + 2):
            if len(cells) > len(names):
                wrong = f"{len(cells)} cells, where the first line names {len(names)} columns"
                raise PointsError(wrong, path, line, 'quote a cell that holds the separator: "(8, 8)"')
            row = dict(zip(names, cells, strict=False))
            for name, cell in row.items():
                if len(cell) > _MOST_CHARACTERS and name not in ("source", "note"):
                    wrong = f"{len(cell)} characters in column {name}, of {_MOST_CHARACTERS} at most"
                    raise PointsError(wrong, path, line, "look for a quote that is not closed")
            points.append(_point(row, line))
    except csv.Error as error:
        raise PointsError(str(error), path) from None
    return points


def with_first_tokens(points: Sequence[Point]) -> list[Point]:
    """All points, and after each whole model the time to the first token that its row gives beside its speed."""
    return [each for point in points for each in (point, point.first_token) if each is not None]


def _separator(names: str) -> str:
    """What is between the names of columns: tabs, else commas, or what spreadsheets write where the comma is in numbers."""
    return max("\t,;", key=names.count)


def _cells(lines: list[str], separator: str, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row with the line it begins on; empty rows and comments are left out.

    Between tabs a quote is an ordinary character, as spreadsheets and shells write it, unless it is around a whole cell.
    """
    if separator == "\t":
        for number, line in enumerate(lines, first):
            if line.strip() and not line.startswith("#"):
                yield number, [_unquoted(cell) for cell in line.split("\t")]
        return
    rows = csv.reader((line + "\n" for line in lines), strict=True, delimiter=separator)
    at = first
    for row in rows:
        if any(cell.strip() for cell in row) and not row[0].startswith("#"):
            yield at, row
        at = first + rows.line_num


def _unquoted(cell: str) -> str:
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if quoted else cell


def _point(row: dict[str, str], line: int) -> Point:
    def cell(name: str) -> str:
        return row.get(name, "").strip()

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
