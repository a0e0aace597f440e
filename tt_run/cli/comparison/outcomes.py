"""What became of each candidate: its predicted step, throughput, what bounds it; sorted, with the Pareto front marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mgd.lean import dataclass

_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One candidate's prediction, or why there is none. `step_us` is one pass of the region that takes most of the time.

    `memory_bytes` is the peak of the fullest device's DRAM; `fits` tells whether every bank of every device, also of L1, holds its part.
    """

    label: str
    devices: int = 0
    region: str = ""
    step_us: float = 0.0
    bound: str = ""
    busiest_link_bytes: float = 0.0
    memory_bytes: int = 0
    fits: bool = True
    failure: str = ""

    @property
    def steps_per_second(self) -> float:
        return 1e6 / self.step_us if self.step_us > 0 else 0.0


def outcome(label: str, prediction: Mapping[str, Any], memory: Sequence[Mapping[str, Any]]) -> Outcome:
    """The outcome of a candidate from the files that its run wrote: the prediction, and each rank's account of memory."""
    regions = [region for region in prediction["regions"] if region["us"] > 0]
    if not regions:
        return Outcome(label, failure="no operation ran on the devices")
    chosen = _step(regions)
    # A pipeline takes longer than the busiest rank's own work: stretch it as the whole run is.
    stretch = max(prediction["critical_path"]["makespan_us"] / max(prediction["total_us"], 1e-9), 1.0)
    bounds = chosen["bounds"]
    sets = [held for rank in memory for held in rank["sets"]]
    return Outcome(
        label,
        prediction["devices"],
        chosen["name"],
        chosen["us"] * stretch,
        max(bounds, key=lambda name: bounds[name]),
        max((link["bytes"] for link in prediction["links"]), default=0.0),
        max((held["peak"] for held in sets if held["memory"] == "DRAM"), default=0),
        all(held["fits"] for held in sets),
    )


def _step(regions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The region that is the program's step: training steps before traces before signposts before everything."""
    for start in ("step ", "trace ", "signpost "):
        named = [region for region in regions if region["name"].startswith(start)]
        if named:
            return max(named, key=lambda region: region["us"] * region["passes"])
    return max(regions, key=lambda region: region["us"])


def front(outcomes: Sequence[Outcome]) -> set[str]:
    """Labels of those that fit and that no other which fits beats in devices and time together."""
    good = [one for one in outcomes if one.fits and not one.failure]
    return {
        one.label
        for one in good
        if not any(
            other.devices <= one.devices
            and other.step_us <= one.step_us
            and (other.devices, other.step_us) != (one.devices, one.step_us)
            for other in good
        )
    }


def as_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Plain rows, the fastest first and failures last. Efficiency compares throughput per device with the first candidate's."""
    best = front(outcomes)
    base = next((one for one in outcomes if not one.failure), None)
    rows = []
    for one in sorted(outcomes, key=lambda one: (bool(one.failure), one.step_us)):
        row: dict[str, Any] = {"candidate": one.label}
        if one.failure or base is None:
            rows.append({**row, "failure": one.failure})
            continue
        efficiency = base.devices * base.step_us / (one.devices * one.step_us)
        rows.append(
            {
                **row,
                "devices": one.devices,
                "region": one.region,
                "step_us": round(one.step_us, 3),
                "steps_per_second": float(f"{one.steps_per_second:.6g}"),
                "efficiency": round(efficiency, 4),
                "bound": one.bound,
                "busiest_link_bytes": one.busiest_link_bytes,
                "memory_bytes": one.memory_bytes,
                "fits": one.fits,
                "pareto": one.label in best,
            }
        )
    return rows


# Columns of the table: head, width, whether to the left, and how many others go before it where the terminal is narrow (0: never).
COLUMNS = (
    ("devices", 7, False, 0),
    ("step", 9, False, 0),
    ("steps/s", 9, False, 2),
    ("scaling", 7, False, 4),
    ("bound by", 9, True, 5),
    ("busiest link", 12, False, 1),
    ("memory", 9, False, 3),
)
BAR = 20
UNFIT = "does not fit"


def table(rows: Sequence[Mapping[str, Any]], width: int | None = None) -> str:
    """The rows as text, with a bar for the time; what a terminal of `width` has no room for is left out and said."""
    name = max([len(str(row["candidate"])) for row in rows] + [9])
    unfit = any(not row.get("fits", True) for row in rows)
    kept, barred = _fitting(name + (len(UNFIT) + 2 if unfit else 0), width)
    left_out = [head for head, *_ in COLUMNS if head not in kept]
    heads = [_cell(head, head) for head in kept]
    lines = ["  ".join([f"  {'candidate':<{name}}", *heads])]
    slowest = max((row["step_us"] for row in rows if "step_us" in row), default=1.0)
    for row in rows:
        label = f"{row['candidate']:<{name}}"
        if "step_us" not in row:
            lines.append(f"  {label}  failed: {row['failure']}")
            continue
        cells = _cells(row)
        bar = "#" * max(round(row["step_us"] / slowest * BAR), 1) if barred else ""
        end = bar if row["fits"] else UNFIT
        shown = [_cell(head, cells[head]) for head in kept]
        lines.append("  ".join([f"{'*' if row['pareto'] else ' '} {label}", *shown, end]).rstrip())
    if not any("step_us" in row for row in rows):
        return "\n".join(lines)
    lines += [
        "* no other is faster with as many devices or fewer; predicted, not measured;",
        "  memory: DRAM of the fullest device"
        + (f"; no room for: {', '.join(left_out)}" if left_out else ""),
    ]
    return "\n".join(lines)


def _fitting(name: int, width: int | None) -> tuple[list[str], bool]:
    """The columns that fit beside names of a length (and what follows the columns), and whether the bar does."""
    kept = [head for head, *_ in COLUMNS]
    used = 2 + name + sum(2 + size for _, size, *_ in COLUMNS)
    if width is None or used + 2 + BAR <= width:
        return kept, True
    for head, size, _, _ in sorted((one for one in COLUMNS if one[3]), key=lambda one: one[3]):
        if used <= width:
            break
        kept.remove(head)
        used -= 2 + size
    return kept, False


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "devices": f"{row['devices']}",
        "step": duration(row["step_us"]),
        "steps/s": f"{row['steps_per_second']:.4g}",
        "scaling": f"{row['efficiency']:.0%}",
        "bound by": str(row["bound"]),
        "busiest link": f"{row['busiest_link_bytes'] / 1e6:.3f} MB",
        "memory": capacity(row["memory_bytes"]),
    }


def _cell(head: str, text: str) -> str:
    _, size, left, _ = next(column for column in COLUMNS if column[0] == head)
    return f"{text:<{size}}" if left else f"{text:>{size}}"


def capacity(nbytes: float) -> str:
    """An amount of memory in the unit that suits it."""
    size, unit = next(((size, unit) for size, unit in _SIZES if nbytes >= size), _SIZES[-1])
    return f"{nbytes / size:.2f} {unit}" if nbytes < 1000 * size else f"{nbytes / size:.0f} {unit}"


def duration(us: float) -> str:
    """A time in the unit that suits it."""
    size, unit = next(((size, unit) for size, unit in _UNITS if us >= size), _UNITS[-1])
    return f"{us / size:.4g} {unit}"
