"""The forecast as text for the terminal."""

from __future__ import annotations

from pathlib import PurePath
from typing import NamedTuple

from mgd.folding import fold
from tt_run.runtime.model.validation.errors import errors
from tt_run.runtime.prediction.account import AWAITED
from tt_run.runtime.prediction.forecast import Forecast, Region, Share

SITES = 10
DRAWN = 16  # rows of the largest mesh that is drawn
CELL = len("   0 ##")  # of its drawing
LEVELS = "·-=#"


WIDE, NARROW = 34, 13  # of names, where there is room and where there is little
COLUMNS = 80 - len(
    "[0] "
)  # behind what the launcher writes before each line of a rank, where nobody says how many


class Table(NamedTuple):
    """The widths of a table's columns."""

    name: int
    calls: int
    time: int
    share: int

    @classmethod
    def within(cls, columns: int) -> Table:
        """What fits into so many columns: names first give way, then the gaps."""
        rest = 8 + 12 + 7 + _ENDS
        if columns - rest >= NARROW + 3:
            return cls(min(columns - rest, WIDE), 8, 12, 7)
        return cls(max(columns - (6 + 9 + 6 + _ENDS), NARROW), 6, 9, 6)


_ENDS = 2 + 2 + 9 + 1 + 8  # the indent, the gap before what bounds a class, that, another gap, the error


def report(found: Forecast, columns: int = COLUMNS) -> str:
    """The whole report in lines of so many columns, names cut to what has room; it says first that it is a prediction."""
    wide = Table.within(columns)
    hw = found.hardware
    if found.total_us <= 0:
        return f"Nothing to predict: no operation ran on the devices of {hw.architecture} {hw.system}"
    lines = [
        f"Predicted, not measured: {hw.architecture} {hw.system}, {_time(found.total_us)} of device time in all",
    ]
    for region in found.regions:
        if region.us > 0:
            lines += ["", *_region(region, wide, columns)]
    if found.ranks > 1:
        lines += ["", *_critical(found)]
    if found.links:
        lines += ["", *_busiest(found, columns)]
    if found.changes:
        lines += ["", "what would gain most, each by itself:"]
        for change in found.changes:
            lines.append(f"  {change.saved_us / max(found.total_us, 1e-9):5.0%}  {change.text}")
    lines += [
        "",
        fold(
            "error: median and 90th percentile of that class of operation on published measurements that numbers were not "
            "fitted to; blank where there are none",
            min(columns, COLUMNS),
        ),
    ]
    return "\n".join(_folded(line.rstrip(), columns) for line in lines)


def _folded(line: str, columns: int) -> str:
    text = line.lstrip(" ")
    lead = len(line) - len(text)
    return " " * lead + fold(text, columns, " " * (lead + 4), lead)


def _region(region: Region, wide: Table, columns: int) -> list[str]:
    passes = f", {region.passes} passes" if region.passes > 1 else ""
    whole = sum(region.bounds.values())
    parts = sorted(region.bounds.items(), key=lambda b: -b[1])
    bounds = ", ".join(f"{name} {us / whole:.0%}" for name, us in parts if us >= 0.005 * whole)
    head, bound = f"{_named(region.name)}: {_time(region.us)}{passes}", f"bound by {bounds}"
    lines = [f"{head}   {bound}"] if len(head) + 3 + len(bound) <= columns else [head, f"  {bound}"]
    lines.append(
        f"  {'class':<{wide.name}}{'calls':>{wide.calls}}{'time':>{wide.time}}{'share':>{wide.share}}  {'bound by':<9} {'error':>8}"
    )
    for name, share in _by_time(region.classes):
        lines.append(_row(name, share, region.us, wide))
    if region.beside_us > 0:
        told = f"{_time(region.beside_us)} of it beside other work, on another queue or sub-device"
        lines.append(f"  {told}")
    lines.append("  call site")
    for name, share in _by_time(region.sites)[:SITES]:
        lines.append(_row(_short(name, wide.name), share, region.us, wide))
    if len(region.sites) > SITES:
        lines.append(f"  … and {len(region.sites) - SITES} more call sites")
    return lines


def _by_time(table: dict[str, Share]) -> list[tuple[str, Share]]:
    return sorted(table.items(), key=lambda item: -item[1].us)


def _named(region: str) -> str:
    """What a line waits for is named by its file alone."""
    site = region.removeprefix(AWAITED)
    return region if site == region else f"{AWAITED}{PurePath(site).name}"


def _row(name: str, share: Share, whole: float, wide: Table) -> str:
    error = errors().get(share.group)
    known = "" if error is None else f"{error.median:.0%}..{error.p90:.0%}"
    numbers = f"{share.calls:>{wide.calls}g}{_time(share.us):>{wide.time}}{share.us / whole:>{wide.share}.0%}"
    return f"  {name[: wide.name]:<{wide.name}}{numbers}  {share.bound:<9} {known:>8}"


def _short(site: str, wide: int) -> str:
    """File, line and operation; where there is no room for all, the line stays, which tells calls of one file apart."""
    place, _, label = site.partition("  ")
    name = PurePath(place).name
    text = f"{name} {label.removeprefix('ttnn.')}"
    if len(text) <= wide:
        return text
    file, colon, line = name.rpartition(":")
    room = wide - len(colon + line) - 1
    return f"{text[: wide - 1]}…" if len(name) <= wide or not colon or room < 4 else f"{file[:room]}…:{line}"


def _critical(found: Forecast) -> list[str]:
    plan = found.schedule
    whole = max(plan.makespan, 1e-9)
    lines = [f"critical path over {found.ranks} ranks: {_time(plan.makespan)}"]
    for rank, us in sorted(plan.critical.items(), key=lambda item: -item[1]):
        if us > 0 or plan.waited.get(rank, 0) > 0:
            lines.append(
                f"  rank {rank:<4} {us / whole:5.0%} of the path, waits {plan.waited.get(rank, 0.0) / whole:4.0%}"
            )
    if plan.unfinished:
        ranks = ", ".join(map(str, plan.unfinished))
        lines.append(f"  not followed to the end, their counterparts are missing: rank {ranks}")
    return lines


def _busiest(found: Forecast, terminal: int) -> list[str]:
    lines = ["busiest links:"]
    for mesh, a, b, carried, us in found.links[:5]:
        lines.append(f"  M{mesh} D{a} -> D{b}   {carried / 1e6:10.3f} MB   {_time(us)}")
    rows, columns = found.dims
    if rows <= DRAWN and CELL * columns <= terminal + 1:
        lines += _drawing(found)
    return lines


def _drawing(found: Forecast) -> list[str]:
    """The first mesh as a grid; the darker a link, the more it carries (both directions, the busier one counts)."""
    rows, columns = found.dims
    first = found.links[0][0]
    most = found.links[0][3]
    carried: dict[tuple[int, int], float] = {}
    for mesh, a, b, size, _ in found.links:
        if mesh == first:
            pair = (min(a, b), max(a, b))
            carried[pair] = max(carried.get(pair, 0.0), size)

    def mark(a: int, b: int) -> str:
        share = carried.get((a, b), 0.0) / most
        return " " if share == 0 else LEVELS[min(int(share * len(LEVELS)), len(LEVELS) - 1)]

    lines = []
    for row in range(rows):
        here = [row * columns + column for column in range(columns)]
        text = f"{here[0]:>4}"
        for a in here[:-1]:
            text += f" {mark(a, a + 1) * 2} {a + 1:>3}"
        lines.append("  " + text)
        if row + 1 < rows:
            lines.append("  " + "".join(f"{mark(a, a + columns):>4}   " for a in here).rstrip())
    ends = "  ".join(f"{level} {(i + 1) / len(LEVELS):.0%}" for i, level in enumerate(LEVELS))
    return [*lines, f"  share of the busiest link up to: {ends}"]


def _time(us: float) -> str:
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{us / size:.3g} {unit}" if us / size < 1000 else f"{us / size:.0f} {unit}"
    return f"{us:.3g} us"
