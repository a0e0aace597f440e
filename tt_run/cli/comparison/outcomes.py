"""What became of each candidate: its predicted step, throughput, what bounds it; sorted, with the Pareto front marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mgd.folding import fold
from mgd.lean import dataclass, field

_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))


@dataclass(frozen=True, slots=True)
class CandidateOutcome:
    """One candidate's prediction, or why there is none. `step_us` is one pass of the region that takes most of the time.

    `memory_bytes` is the peak of the fullest device's DRAM; `fits` tells whether every bank of every device, also of L1, holds its part.
    `facts` are those of `Candidate.facts`; `mesh` is the shape that the program opened.
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
    architecture: str = ""
    mesh: tuple[int, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def steps_per_second(self) -> float:
        return 1e6 / self.step_us if self.step_us > 0 else 0.0


def outcome(
    label: str, prediction: Mapping[str, Any], memory: Sequence[Mapping[str, Any]]
) -> CandidateOutcome:
    """The outcome of a candidate from the files that its run wrote: the prediction, and each rank's account of memory."""
    regions = [region for region in prediction["regions"] if region["us"] > 0]
    if not regions:
        return CandidateOutcome(label, failure="no operation ran on the devices")
    chosen = _step(regions)
    # A pipeline takes longer than the busiest rank's own work: stretch it as the whole run is.
    stretch = max(prediction["critical_path"]["makespan_us"] / max(prediction["total_us"], 1e-9), 1.0)
    bounds = chosen["bounds"]
    sets = [held for rank in memory for held in rank["sets"]]
    return CandidateOutcome(
        label,
        prediction["devices"],
        chosen["name"],
        chosen["us"] * stretch,
        max(bounds, key=lambda name: bounds[name]),
        max((link["bytes"] for link in prediction["links"]), default=0.0),
        max((held["peak"] for held in sets if held["memory"] == "DRAM"), default=0),
        all(held["fits"] for held in sets),
        architecture=prediction["architecture"],
        mesh=tuple(prediction["mesh"]),
    )


def _step(regions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The region that is the program's step: training steps before traces, signposts, what is waited for, and everything."""
    for start in ("step ", "trace ", "signpost ", "until "):
        named = [region for region in regions if region["name"].startswith(start)]
        if named:
            return max(named, key=lambda region: region["us"] * region["passes"])
    return max(regions, key=lambda region: region["us"])


def front(outcomes: Sequence[CandidateOutcome]) -> set[str]:
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


def as_rows(outcomes: Sequence[CandidateOutcome]) -> list[dict[str, Any]]:
    """Plain rows with the same keys, the fastest first and failures last, whose figures are None.

    Efficiency compares throughput per device with the first candidate's.
    """
    best = front(outcomes)
    base = next((one for one in outcomes if not one.failure), None)
    return [
        {
            "candidate": one.label,
            **one.facts,
            **_figures(one, base or one),
            "pareto": one.label in best,
            "failure": one.failure or None,
        }
        for one in sorted(outcomes, key=lambda one: (bool(one.failure), one.step_us))
    ]


def _figures(one: CandidateOutcome, base: CandidateOutcome) -> dict[str, Any]:
    """What was predicted of a candidate; None for each figure of one that failed."""
    figures = {
        "architecture": one.architecture,
        "mesh": list(one.mesh),
        "devices": one.devices,
        "region": one.region,
        "step_us": round(one.step_us, 3),
        "steps_per_second": float(f"{one.steps_per_second:.6g}"),
        "efficiency": 0.0 if one.failure else _efficiency(one, base),
        "bound": one.bound,
        "busiest_link_bytes": one.busiest_link_bytes,
        "memory_bytes": one.memory_bytes,
        "fits": one.fits,
    }
    return dict.fromkeys(figures) if one.failure else figures


def _efficiency(one: CandidateOutcome, base: CandidateOutcome) -> float:
    return round(base.devices * base.step_us / (one.devices * one.step_us), 4)


def flat(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for a spreadsheet: shapes as RxC, a column for each value of `--vary`, and changes and losses as they are typed."""
    return [dict(_cells_of(row)) for row in rows]


def _cells_of(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if name == "values":
            yield from ((f"values.{key}", each) for key, each in value.items())
        elif name == "settings":
            yield name, ",".join(_typed_change(each) for each in value)
        elif name == "degraded":
            yield name, ",".join(_typed_loss(each) for each in value)
        else:
            yield name, "x".join(map(str, value)) if isinstance(value, list) else value


def _typed_change(change: Mapping[str, Any]) -> str:
    factor = change["factor"]
    return f"{change['key']}={change['value']:g}" if factor is None else f"{change['key']}*={factor:g}"


def _typed_loss(loss: Mapping[str, Any]) -> str:
    link = "" if loss["other"] is None else f"-D{loss['other']}"
    cables = "" if loss["cables"] is None else f":{loss['cables']}"
    return f"{'M' + str(loss['mesh']) if loss['mesh'] else ''}D{loss['device']}{link}{cables}"


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
    ran = [row for row in rows if not row["failure"]]
    unfit = any(not row["fits"] for row in ran)
    kept, barred = _fitting(name + (len(UNFIT) + 2 if unfit else 0), width)
    left_out = [head for head, *_ in COLUMNS if head not in kept]
    heads = [_cell(head, head) for head in kept]
    lines = ["  ".join([f"  {'candidate':<{name}}", *heads])]
    slowest = max((row["step_us"] for row in ran), default=1.0)
    for row in rows:
        label = f"{row['candidate']:<{name}}"
        if row["failure"]:
            lines += _failure(label, row["failure"], width)
            continue
        cells = _cells(row)
        bar = "#" * max(round(row["step_us"] / slowest * BAR), 1) if barred else ""
        end = bar if row["fits"] else UNFIT
        shown = [_cell(head, cells[head]) for head in kept]
        lines.append("  ".join([f"{'*' if row['pareto'] else ' '} {label}", *shown, end]).rstrip())
    if not ran:
        return "\n".join(lines)
    best = "* no other is faster with as many devices or fewer; predicted, not measured;"
    note = "memory: DRAM of the fullest device" + (
        f"; no room for: {', '.join(left_out)}" if left_out else ""
    )
    lines += [fold(best, width or 0, "  "), "  " + fold(note, width or 0, "  ", 2)]
    return "\n".join(lines)


def _failure(label: str, why: str, width: int | None) -> list[str]:
    """Why a candidate has no figures, beside its name; broken at the width of a terminal."""
    import textwrap

    head, text = f"  {label}  ", f"failed: {why}"
    if width is None or len(head) + len(text) <= width:
        return [head + text]
    beside = len(head) if width - len(head) >= 30 else 4
    first = [] if beside == len(head) else [head.rstrip()]
    broken = textwrap.wrap(text, max(width - beside, 20), break_on_hyphens=False)
    lines = [" " * beside + line for line in broken]
    return [*first, *lines] if first else [head + broken[0], *lines[1:]]


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
