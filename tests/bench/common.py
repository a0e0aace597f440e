"""What every benchmark shares: the row of the report, and the fair way to compare two things on a noisy machine.

A benchmark is a module `bench_<name>.py` with `run() -> list[Row]`. Absolute times are never a target: each row is the ratio of
ours to a peer, or to a limit, measured in the same run, the two alternating, and quoted as the median of the paired ratios.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the report: `ratio` must be at most (or at least) `target`; `detail` quotes the medians behind it.

    A NaN ratio is a comparison that could not be made here; `detail` then says why.
    """

    name: str
    ratio: float
    target: float
    at_most: bool = True
    detail: str = ""

    @property
    def measured(self) -> bool:
        return self.ratio == self.ratio

    @property
    def met(self) -> bool:
        return self.measured and (self.ratio <= self.target if self.at_most else self.ratio >= self.target)


def skipped(name: str, target: float, why: str, *, at_most: bool = True) -> Row:
    """A row whose peer is not installed here."""
    return Row(name, float("nan"), target, at_most, why)


@dataclass(frozen=True)
class Paired:
    """Medians of both sides in seconds, the median of the ratios a/b pair by pair, and of the differences a-b."""

    a: float
    b: float
    ratio: float
    difference: float

    def detail(self, a: str = "ours", b: str = "peer") -> str:
        return f"{a} {_seconds(self.a)}, {b} {_seconds(self.b)}"


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def paired(
    a: Callable[[], object],
    b: Callable[[], object],
    rounds: int = 7,
    *,
    warmup: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Paired:
    """Time two callables in turn, A B A B …; the order inside a round flips so that neither side always goes first.

    `clock` is wall time by default; give `time.process_time` where the cores are shared and only this process computes.
    """
    for _ in range(warmup):
        a()
        b()
    pairs: list[tuple[float, float]] = []
    for turn in range(rounds):
        first, second = (a, b) if turn % 2 == 0 else (b, a)
        started = clock()
        first()
        middle = clock()
        second()
        ended = clock()
        times = (middle - started, ended - middle)
        pairs.append(times if turn % 2 == 0 else (times[1], times[0]))
    return summarise(pairs)


def summarise(pairs: Sequence[tuple[float, float]]) -> Paired:
    """The statistics of `paired` for times taken elsewhere (inside ranks, say)."""
    return Paired(
        statistics.median(x for x, _ in pairs),
        statistics.median(y for _, y in pairs),
        statistics.median(x / y for x, y in pairs),
        statistics.median(x - y for x, y in pairs),
    )


def command(
    words: Sequence[str], *, env: dict[str, str] | None = None, timeout: float = 120
) -> Callable[[], None]:
    """A callable that runs a command with its output thrown away; raises when it fails, so a broken peer is not a fast one."""

    def call() -> None:
        subprocess.run(
            ["timeout", "-k", "5", str(timeout), *words],
            env={**os.environ, **(env or {})},
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    return call


def children_cpu() -> float:
    """CPU seconds of all ended child processes so far: a clock for `paired` when both sides are commands."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
