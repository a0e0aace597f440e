"""The report of a validation in the terminal: errors by class, predicted over measured as a plot, what is outside, what is not covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tt_run.runtime.model.validation.points import Point
from tt_run.runtime.model.validation.scores import GOALS, ClassError, Score, by_class

WIDTH = 41  # columns of the plot: predicted over measured from a half to twice
WORST = 12
SHADES = " .:+*#@"


def print_scores(scores: Sequence[Score], held_out: Callable[[Point], bool] | None) -> None:
    """The whole report; without `held_out` nobody knows which rows the numbers were fitted to."""
    from rich.console import Console

    console = Console(highlight=False)
    rest = [s for s in scores if s.error is not None and (held_out is None or held_out(s.point))]
    if held_out is None:
        print_classes(f"all rows ({len(rest)}); --hardware may know them", by_class(scores, lambda _: True))
    else:
        fit = [s for s in scores if s.error is not None and not held_out(s.point)]
        if fit:
            print_classes(f"rows that the numbers were fitted to ({len(fit)})", by_class(fit, lambda _: True))
        print_classes(f"rows held out of the fit ({len(rest)})", by_class(rest, lambda _: True))
    console.print()
    console.print("predicted over measured, all rows; each row of marks is one class")
    for line in plot(scores):
        console.print(line, markup=False)
    outside = sorted(
        (s for s in rest if s.error is not None and abs(s.error) > GOALS[s.group][1]),
        key=lambda s: -abs(s.error or 0),
    )
    if outside:
        kind = "rows" if held_out is None else "held-out rows"
        console.print(f"\n{kind} outside their goal: {len(outside)} of {len(rest)}")
        for one in outside[:WORST]:
            point = one.point
            console.print(
                f"  {one.error:+6.0%}  {point.op}  {point.shape}  {point.dtype}  {point.arch}  {point.topology}:"
                f" measured {point.measured:g}, predicted {one.predicted:.4g} {point.measured_unit}",
                markup=False,
                soft_wrap=True,
            )
    missing = Counter((s.point.kind, s.reason) for s in scores if s.error is None)
    if missing:
        console.print(f"\nnot covered: {sum(missing.values())} rows")
        for (kind, reason), count in missing.most_common():
            console.print(f"  {count:4}  {kind}: {reason}", markup=False, soft_wrap=True)


def print_classes(title: str, classes: Sequence[ClassError]) -> None:
    """One table of errors by class."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("class")
    for name in ("rows", "median", "90 %", "mean", "goal", ""):
        table.add_column(name, justify="right")
    for one in classes:
        table.add_row(
            GOALS[one.group][0],
            str(one.count),
            f"{one.median:.1%}",
            f"{one.p90:.1%}",
            f"{one.bias:+.1%}",
            f"{one.goal:.0%}",
            "ok" if one.median <= one.goal else "outside",
        )
    Console(highlight=False).print(table)


def plot(scores: Sequence[Score]) -> list[str]:
    """Per class a line of marks: where predicted over measured falls between a half and twice, darker where more rows do."""
    lines = []
    for group in GOALS:
        ratios = [1 + s.error for s in scores if s.group == group and s.error is not None]
        if ratios:
            lines.append(f"{group:>13} |{_marks(ratios)}|")
    left, middle = "x1/2", "x1"
    gap = WIDTH // 2 - len(left)
    lines.append(
        " " * 15 + left + " " * gap + middle + " " * (WIDTH - len(left) - gap - len(middle) - 2) + "x2"
    )
    return lines


def _marks(ratios: Sequence[float]) -> str:
    import math

    cells = [0] * WIDTH
    for ratio in ratios:
        place = round((math.log2(max(ratio, 1e-6)) + 1) / 2 * (WIDTH - 1))
        cells[min(max(place, 0), WIDTH - 1)] += 1
    most = max(cells)
    return "".join(SHADES[0 if not n else max(1, round(n / most * (len(SHADES) - 1)))] for n in cells)
