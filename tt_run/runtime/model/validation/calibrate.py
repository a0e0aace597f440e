"""Fit the numbers whose source is marked `fitted` to measured points, and write the hardware file that results.

Each prediction says which numbers it read, so points and fitted numbers fall apart into groups that have nothing in common; each is a
small least-squares problem in logarithms, robust against outliers, held near the present values where the points say nothing.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_run.hardware.data_files import HardwareError
from tt_run.hardware.files import HardwareFile
from tt_run.hardware.numbers import Hardware, Number
from tt_run.runtime.model.validation.points import NotCovered, Point, PointsError, with_first_tokens
from tt_run.runtime.model.validation.questions import Question, question

PRIOR = 0.02  # how strongly a number is held to its present value, against 0.05 of a point's scatter
SCATTER = 0.05
STEP = 1e-6  # of a number's logarithm, to see what follows from it
REACH = 30.0  # how many times up or down points may move a number


def _key_of(place: str) -> str:
    """The number's own key, whichever system it stands under."""
    return place.split("numbers.", 1)[1]


def _kind(place: str) -> tuple[str, ...]:
    """What numbers have in common that are of a kind: of kernels, packets and collectives not their names."""
    words = _key_of(place).split(".")
    if words[0] == "kernels":
        return "kernels", "decode" if "decode" in words[1] else "", words[-1]
    if words[:2] == ["fabric", "packet"]:
        return "packet", words[-2], words[-1]
    if words[0] == "collectives":
        return "collectives", words[-1].partition("_")[0]
    return tuple(words)


def _round(value: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return power * min((1, 2, 5, 10), key=lambda one: abs(math.log(one * power / value)))


@dataclass(frozen=True, slots=True)
class AnsweredPoint:
    """A point that the model answers: its question and the number in question."""

    point: Point
    question: Question
    measured: float


class Bench:
    """The systems of several hardware files, with numbers that can be changed in all places that share them."""

    def __init__(self, files: Mapping[str, HardwareFile]) -> None:
        self.files = files
        self._systems: dict[tuple[str, str], Hardware] = {}
        self.changed: dict[tuple[str, str], float] = {}

    def system(self, architecture: str, name: str) -> Hardware:
        """One system; the same object each time."""
        key = (architecture, name)
        if key not in self._systems:
            self._systems[key] = self.files[architecture].system(name)
            for (arch, place), value in self.changed.items():
                self._put(arch, place, value)
        return self._systems[key]

    def fitted(self, hw: Hardware) -> set[tuple[str, str]]:
        """Architecture and place of the fitted numbers that were read since `hw.read` was emptied."""
        file = self.files[hw.architecture]
        return {(hw.architecture, file.place_of(hw.system, key)) for key in hw.read if hw.numbers[key].fitted}

    def value(self, spot: tuple[str, str]) -> float:
        """The present value under an architecture and place, in the file's unit."""
        if spot in self.changed:
            return self.changed[spot]
        return float(self._leaf(self.files[spot[0]].document, spot[1])["value"])

    def room(self, spot: tuple[str, str]) -> float:
        """How far up a number may move, as a logarithm: to its `most` where the file gives one."""
        leaf = self._leaf(self.files[spot[0]].document, spot[1])
        most = leaf.get("most")
        return math.log(REACH) if most is None else max(math.log(most / self.value(spot)), 1e-6)

    def change(self, spot: tuple[str, str], value: float) -> None:
        """Give a number another value in every system that uses it."""
        self.changed[spot] = value
        self._put(*spot, value)

    def _put(self, architecture: str, place: str, value: float) -> None:
        for (arch, name), hw in self._systems.items():
            key = _key_of(place)
            if arch != architecture or self.files[arch].place_of(name, key) != place:
                continue
            old = hw.numbers[key]
            numbers: Any = hw.numbers
            numbers[key] = Number(value, old.unit, old.source, old.fitted)

    @staticmethod
    def _leaf(document: Mapping[str, Any], place: str) -> Any:
        leaf: Any = document
        for word in place.split("."):
            leaf = leaf[word]
        return leaf

    def forget(self) -> None:
        """Give every fitted number a round one that is typical of its kind, so that a fit rests on its points alone."""
        kinds: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for spot in self.spots():
            kinds.setdefault(_kind(spot[1]), []).append(spot)
        for spots in kinds.values():
            typical = _round(math.exp(sum(math.log(self.value(spot)) for spot in spots) / len(spots)))
            for spot in spots:
                self.change(spot, min(typical, self._most(spot)))

    def _most(self, spot: tuple[str, str]) -> float:
        return float(self._leaf(self.files[spot[0]].document, spot[1]).get("most", math.inf))

    def carry(
        self, fixed: Collection[tuple[str, str]], prefixes: tuple[str, ...] = ("",), *, across: bool = True
    ) -> None:
        """Take what no point fixed over from the same number of other systems that one did, of the same architecture before others.

        Without `across`, not from another architecture.
        """
        for spot in set(self.spots()) - set(fixed):
            if not _key_of(spot[1]).startswith(prefixes):
                continue
            alike = [other for other in fixed if _key_of(other[1]) == _key_of(spot[1])]
            near = [other for other in alike if other[0] == spot[0]] or (alike if across else [])
            if near:
                logs = [math.log(self.value(other) * self._worth(other, spot)) for other in near]
                self.change(spot, min(math.exp(sum(logs) / len(logs)), self._most(spot)))

    def _worth(self, other: tuple[str, str], spot: tuple[str, str]) -> float:
        """What one of a number of another architecture is here: times go with the clock, rates with the wire or with DRAM."""
        if other[0] == spot[0]:
            return 1.0
        words, unit = _key_of(spot[1]).split("."), self._leaf(self.files[spot[0]].document, spot[1])["unit"]
        measure = {"us": "chip.clock", "ns": "chip.clock", "ns/B": "fabric.wire"}.get(unit)
        if unit == "GB/s":
            measure = "fabric.wire" if words[0] == "fabric" else "dram.interleaved"
        if measure is None or words[0] == "dispatch":  # what a host takes is no device's
            return 1.0
        here, there = (self.files[arch].common[measure].value for arch in (spot[0], other[0]))
        return here / there if unit == "GB/s" else there / here

    def spots(self) -> list[tuple[str, str]]:
        """Architecture and place of every fitted number."""
        found = []
        for arch, file in self.files.items():
            places = {f"numbers.{key}" for key, number in file.common.items() if number.fitted}
            for name, numbers in file.systems.items():
                places |= {file.place_of(name, key) for key, number in numbers.items() if number.fitted}
            found += [(arch, place) for place in sorted(places)]
        return found

    def document(self, architecture: str, name: str, text: str, date: str) -> dict[str, Any]:
        """The file's document with the changed numbers in it; they come from a source `name` with this text and date."""
        document = copy.deepcopy(dict(self.files[architecture].document))
        document["sources"][name] = {"text": text, "date": date, "fitted": True}
        for (arch, place), value in self.changed.items():
            if arch == architecture:
                self._leaf(document, place).update(value=float(f"{value:.5g}"), source=name)
        return document


_LEAST = 1e-12  # of a measured number, and one over the largest: beyond them nothing can be fitted


def answerable(points: Sequence[Point], source: Path) -> list[AnsweredPoint]:
    """The points that the model has an answer to. Raises PointsError for a number that nothing can take or reach."""
    asked = []
    for point in with_first_tokens(points):
        try:
            found, measured = question(point), point.measured
        except NotCovered:
            continue
        if measured and not _LEAST < measured < 1 / _LEAST:
            wrong = f"{point.value} {point.unit} is no measurement of {point.op}"
            raise PointsError(wrong, source, point.line, "look at value and unit")
        if measured:
            asked.append(AnsweredPoint(point, found, measured))
    return asked


STAGES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("fabric_bw", "fabric_latency"), ("fabric.",)),
    (("matmul",), ("matmul.", "dispatch.")),
    (
        ("ccl", "op_in_model", "op", "attention"),
        ("collectives.", "kernels.", "attention.", "matmul.", "dram."),
    ),
    (("e2e", "training"), ("decoder.", "training.", "dram.")),
    (("first token",), ("prompt.",)),
)
"""Which kinds of points may move which numbers, in order: a whole model's speed must not move a link's bandwidth."""


def fit_numbers(bench: Bench, asked: Sequence[AnsweredPoint], *, carry: bool = False) -> set[tuple[str, str]]:
    """Change the bench's fitted numbers so that its predictions come near the points; those that a point fixed.

    A number is moved in one stage only. With `carry`, what a stage left alone is taken over from other systems before the next one
    builds on it, and in the end from other architectures.
    """
    settled: set[tuple[str, str]] = set()
    for kinds, prefixes in STAGES:
        members = [one for one in asked if _sort(one) in kinds]
        for group, spots in _groups(bench, members, prefixes, settled):
            _fit_group(bench, group, sorted(spots))
            settled |= spots
        if carry:
            # What a later stage may still fix must not begin at another architecture's number.
            bench.carry(settled, prefixes, across=False)
    if carry:
        bench.carry(settled)
    return settled


def _sort(one: AnsweredPoint) -> str:
    return one.question.group if one.question.group == "first token" else one.point.kind


def _groups(
    bench: Bench, asked: Sequence[AnsweredPoint], prefixes: tuple[str, ...], settled: set[tuple[str, str]]
) -> list[tuple[list[AnsweredPoint], set[tuple[str, str]]]]:
    groups: list[tuple[list[AnsweredPoint], set[tuple[str, str]]]] = []
    for one in asked:
        spots = _read_by(bench, one, prefixes) - settled
        if not spots:
            continue
        joined, apart = [one], []
        for members, others in groups:
            if others & spots:
                joined += members
                spots |= others
            else:
                apart.append((members, others))
        groups = [*apart, (joined, spots)]
    return groups


def _read_by(bench: Bench, one: AnsweredPoint, prefixes: tuple[str, ...] = ("",)) -> set[tuple[str, str]]:
    """The fitted numbers that a prediction reads; none where there is no prediction."""
    hw = bench.system(one.question.architecture, one.question.system)
    hw.read.clear()
    try:
        one.question.predict(hw)
    except (NotCovered, LookupError, ValueError):
        return set()
    return {spot for spot in bench.fitted(hw) if _key_of(spot[1]).startswith(prefixes)}


def _fit_group(bench: Bench, asked: Sequence[AnsweredPoint], spots: Sequence[tuple[str, str]]) -> None:
    import numpy as np

    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise HardwareError("calibration needs SciPy: pip install scipy") from None

    start = [bench.value(spot) for spot in spots]
    systems = [bench.system(one.question.architecture, one.question.system) for one in asked]

    read = [_read_by(bench, one) for one in asked]
    readers = [[row for row, numbers in enumerate(read) if spot in numbers] for spot in spots]

    def place(logs: Any) -> None:
        for spot, first, log in zip(spots, start, logs, strict=True):
            bench.change(spot, first * math.exp(log))

    def residual(row: int) -> float:
        return _error(asked[row], systems[row]) / SCATTER

    def residuals(logs: Any) -> Any:
        place(logs)
        errors = [residual(row) for row in range(len(asked))]
        return np.concatenate([np.array(errors), np.asarray(logs) * PRIOR / SCATTER])

    def slopes(logs: Any) -> Any:
        """How each residual changes with each number: most read few of them, so only those rows are asked again."""
        place(logs)
        now = [residual(row) for row in range(len(asked))]
        found = np.zeros((len(asked) + len(spots), len(spots)))
        for column, spot in enumerate(spots):
            bench.change(spot, start[column] * math.exp(logs[column] + STEP))
            for row in readers[column]:
                found[row, column] = (residual(row) - now[row]) / STEP
            bench.change(spot, start[column] * math.exp(logs[column]))
            found[len(asked) + column, column] = PRIOR / SCATTER
        return found

    # Near the many, whatever the few say: outliers must not pull. Begun once from the present values, which may be near already, and
    # once from what is nearest to all; the better end counts.
    below = [-math.log(REACH)] * len(spots)
    above = [bench.room(spot) for spot in spots]
    zeros = np.zeros(len(spots))
    common = {"jac": slopes, "bounds": (below, above), "f_scale": 2.0, "max_nfev": 60}
    near_all = least_squares(residuals, zeros, loss="soft_l1", **common).x
    ends = [least_squares(residuals, start, loss="cauchy", **common) for start in (zeros, near_all)]
    residuals(min(ends, key=lambda end: end.cost).x)


def _error(one: AnsweredPoint, hw: Hardware) -> float:
    """Logarithm of predicted over measured; a bound is only wrong when the prediction is above it."""
    error = math.log(max(one.question.predict(hw), 1e-9) / one.measured)
    return max(error, 0.0) if one.point.upper_bound else error
