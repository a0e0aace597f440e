"""Cross-validation that knows nothing of what it predicts: numbers are forgotten, fitted to part of the rows, and asked for the rest.

What no remaining row fixes is taken over from other systems, else stays typical of its kind: a row is never predicted from itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tt_run.hardware.files import HardwareFile
from tt_run.runtime.model.validation import scores
from tt_run.runtime.model.validation.calibrate import AnsweredPoint, Bench, answerable, fit_numbers
from tt_run.runtime.model.validation.points import NotCovered, Point, with_first_tokens
from tt_run.runtime.model.validation.questions import place

ROWS_OUT = 0.3
"""Part of the rows that leaving out rows at random takes away."""


def leave_out(
    files: Mapping[str, HardwareFile], points: Sequence[Point], source: Path, way: str, folds: int, seed: int
) -> list[scores.Score]:
    """Each row as predicted by a fit to others, left out in the `way` of WAYS; the files' fitted numbers count for nothing."""
    asked = answerable(points, source)
    found = []
    for out in _folds(points, way, folds, seed):
        left = with_first_tokens([point for point in points if point.line in out])
        found += scores.score(_without(files, asked, out), left)
    return found


def _without(files: Mapping[str, HardwareFile], asked: Sequence[AnsweredPoint], out: set[int]) -> Bench:
    bench = Bench(files)
    bench.forget()
    fit_numbers(bench, [one for one in asked if one.point.line not in out], carry=True)
    return bench


def _folds(points: Sequence[Point], way: str, folds: int, seed: int) -> Iterator[set[int]]:
    """The lines that each fit goes without."""
    if way == "rows":
        for number in range(folds):
            share = ROWS_OUT * 1e6
            yield {
                p.line for p in points if _hash(f"{seed + number}|{p.line}|{_shape(p)}") % 1_000_000 < share
            }
        return
    group = WAYS[way]
    names = sorted({group(point) for point in points})
    few = way in ("systems", "architectures")
    for number in range(len(names) if few else folds):
        yield {
            point.line
            for point in points
            if (names.index(group(point)) if few else _hash(f"{seed}{group(point)}") % folds) == number
        }


def _hash(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


def _shape(point: Point) -> str:
    """Rows of one shape (or of one pattern and packet size on one system)."""
    name = point.op.split(" trace")[0]
    return f"{point.kind}|{name}|{point.shape}|{point.devices if point.kind.startswith('fabric') else ''}"


def _op(point: Point) -> str:
    """An operation, a pattern, a model; of matmuls, which all are one, a format and fidelity."""
    name = {"matmul": point.dtype}.get(point.kind, point.op)
    name = name.split("/")[0] if point.kind.startswith("fabric") else name
    return f"{point.kind}|{re.sub(r' dim .*', '', name)}"


def _size(point: Point) -> str:
    """A shape or packet size, of whatever it is."""
    return f"{point.kind}|{point.op if point.kind in ('e2e', 'training') else point.shape}"


def _system(point: Point) -> str:
    try:
        return "|".join(place(point))
    except NotCovered:
        return ""


def _architecture(point: Point) -> str:
    return _system(point).partition("|")[0]


WAYS: dict[str, Callable[[Point], str]] = {
    "shapes": _shape,
    "sizes": _size,
    "ops": _op,
    "systems": _system,
    "architectures": _architecture,
    "rows": _shape,
}
"""What may be left out -> what rows that fall together have in common."""
