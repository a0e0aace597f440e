"""What each point says about the model: predicted beside measured, the error, and the errors of a class together."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tt_run.hardware.data_files import HardwareError
from tt_run.runtime.model.validation.calibrate import Bench
from tt_run.runtime.model.validation.points import NotCovered, Point
from tt_run.runtime.model.validation.questions import question

GOALS = {
    "ccl large": ("collectives of 1 MiB and more", 0.10),
    "ccl small": ("small collectives", 0.25),
    "matmul large": ("matmuls of 1024 and more", 0.15),
    "matmul small": ("smaller matmuls", 0.20),
    "other": ("other operations", 0.20),
    "fabric": ("fabric bandwidth and latency", 0.10),
    "e2e": ("published models, tokens per second", 0.20),
    "first token": ("times to the first token", 0.20),
    "training": ("training steps", 0.20),
    "constant": ("constants that the data files hold", 0.10),
}
"""Class of a point -> what it is called, and the median error that the model should stay below."""


@dataclass(frozen=True, slots=True)
class Score:
    """One point and the prediction for it; `error` is signed and relative, 0 below an upper bound. `reason` is set when there is none."""

    point: Point
    group: str
    predicted: float | None = None
    error: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ClassError:
    """The errors of one class of points: how many, their median, 90th percentile and signed mean, and the goal."""

    group: str
    count: int
    median: float
    p90: float
    bias: float
    goal: float


def score(bench: Bench, points: Iterable[Point]) -> list[Score]:
    """Every point with its prediction."""
    return [_score(bench, point) for point in points]


def _score(bench: Bench, point: Point) -> Score:
    try:
        asked = question(point)
        predicted = asked.predict(bench.system(asked.architecture, asked.system))
    except (NotCovered, HardwareError) as reason:
        return Score(point, "", reason=str(reason))
    except (ValueError, LookupError, ArithmeticError) as wrong:
        return Score(point, "", reason=f"the row cannot be read as its kind says: {wrong}")
    measured = point.measured
    if not measured:
        return Score(point, asked.group, reason="the measurement is 0 or missing")
    error = predicted / measured - 1
    return Score(point, asked.group, predicted, max(error, 0.0) if point.upper_bound else error)


def by_class(scores: Sequence[Score], keep: Callable[[Point], bool]) -> list[ClassError]:
    """The errors of the classes over the points that `keep` accepts, in the order of GOALS."""
    found = []
    for group, (_, goal) in GOALS.items():
        errors = [s.error for s in scores if s.group == group and s.error is not None and keep(s.point)]
        if errors:
            sizes = sorted(abs(e) for e in errors)
            p90 = sizes[int(0.9 * (len(sizes) - 1))]
            bias = statistics.fmean(errors)
            found.append(ClassError(group, len(errors), statistics.median(sizes), p90, bias, goal))
    return found
