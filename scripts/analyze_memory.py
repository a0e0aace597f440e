#!/usr/bin/env python3
"""Draw what MemoryUsageTracker printed: a bar for each run in a log, from model to activations, against a device's memory.

python scripts/analyze_memory.py --logs memory.log --visualize_peak --title "Training memory"
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1024 * 1024
PHASE = re.compile(r"--- (\S+) ---")
SEGMENT = re.compile(r"Segment Peak ([\d.]+) MB.*Segment Change ([+-][\d.]+) MB")
TOTAL = re.compile(r"Cumulative Peak ([\d.]+) MB, Cumulative Current ([\d.]+) MB")
PARAMETERS = re.compile(r"([\d,]+) parameters|[Nn]umber of parameters: ([\d,]+)")


@dataclass
class Run:
    """One run of a log: (segment peak, change) in bytes by phase, the overall peak, the parameter count."""

    phases: dict[str, tuple[float, float]] = field(default_factory=dict)
    peak: float = 0.0
    parameters: int = 0


def read(text: str) -> list[Run]:
    """Runs in a log; a phase that comes again begins the next one."""
    runs: list[Run] = []
    parameters, phase = 0, ""
    for line in text.splitlines():
        if found := PARAMETERS.search(line):
            parameters = int((found[1] or found[2]).replace(",", ""))
        if found := PHASE.search(line):
            phase = found[1]
            if not runs or phase in runs[-1].phases:
                runs.append(Run(parameters=parameters))
        elif (found := SEGMENT.search(line)) and runs:
            runs[-1].phases[phase] = (float(found[1]) * MIB, float(found[2]) * MIB)
        elif (found := TOTAL.search(line)) and runs:
            runs[-1].peak = max(runs[-1].peak, float(found[1]) * MIB)
    return runs


def parts(run: Run, given: argparse.Namespace) -> dict[str, float]:
    """Bytes of each part at the peak, bottom-up. Sizes that are not given follow from the parameter count, or from the phases."""

    def change(phase: str) -> float:
        return max(run.phases.get(phase, (0.0, 0.0))[1], 0.0)

    counted = 2.0 * run.parameters
    actual = given.use_actual_sizes or not counted
    model = given.model_size or (change("MODEL_CREATION") if actual else counted)
    optimizer = given.optimizer_size or (change("OPTIMIZER_CREATION") if actual else 2 * model)
    gradients = given.gradients_size or max(run.phases.get("BACKWARD_PASS", (0.0, 0.0))[0], 0.0)
    activations = change("FORWARD_PASS")
    named = model + gradients + optimizer + activations
    return {
        "Other": max(run.peak - named, 0.0),
        "Model": model,
        "Gradients overhead": gradients,
        "Optimizer": optimizer,
        "Activations": activations,
    }


def draw(runs: list[dict[str, float]], given: argparse.Namespace) -> None:
    """Write the picture. Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(max(6, 2 + 1.5 * len(runs)), 6))
    for number, run in enumerate(runs):
        bottom = 0.0
        for colour, (name, size) in enumerate(run.items()):
            axes.bar(
                number,
                size / MIB,
                bottom=bottom / MIB,
                color=f"C{colour}",
                label=name if number == 0 else None,
            )
            bottom += size
        axes.text(number, bottom / MIB, f"{bottom / MIB:.1f} MB", ha="center", va="bottom")
    tallest = max(sum(sizes.values()) for sizes in runs)
    beyond = given.device_memory > 5 * tallest > 0
    axes.axhline(
        given.device_memory / MIB,
        color="red",
        linestyle="--",
        label=f"device memory ({given.device_memory / MIB / 1024:.0f} GB{', beyond the picture' if beyond else ''})",
    )
    if beyond:
        # A small model's bars would be a line at the bottom.
        axes.set_ylim(0, 1.6 * tallest / MIB)
    axes.set_ylabel("MB")
    axes.set_xticks(range(len(runs)), [f"run {n + 1}" for n in range(len(runs))])
    axes.set_title(given.title)
    axes.legend()
    figure.tight_layout()
    figure.savefig(given.output)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", required=True, type=Path, help="what the program printed")
    parser.add_argument("--visualize_peak", action="store_true", help="write a picture")
    parser.add_argument("--title", default="Memory at the peak")
    parser.add_argument("--output", type=Path, default=Path("memory_peak_visualization.png"))
    parser.add_argument(
        "--device_memory", type=float, default=12 * 1024 * MIB, help="bytes of a device (default 12 GB)"
    )
    parser.add_argument("--model_size", type=float, help="bytes; default: 2 for each parameter")
    parser.add_argument("--optimizer_size", type=float, help="bytes; default: twice the model")
    parser.add_argument("--gradients_size", type=float, help="bytes; default: the peak of BACKWARD_PASS")
    parser.add_argument(
        "--use_actual_sizes", action="store_true", help="take model and optimizer from their phases"
    )
    given = parser.parse_args()
    try:
        runs = read(given.logs.read_text(encoding="utf-8", errors="replace"))
    except OSError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    if not runs:
        print(
            f"error: {given.logs} has no memory phases; run the program with --track_memory", file=sys.stderr
        )
        return 1
    found = [parts(run, given) for run in runs]
    for number, (run, sizes) in enumerate(zip(runs, found, strict=True), 1):
        print(f"run {number}: peak {run.peak / MIB:.2f} MB")
        for name, size in sizes.items():
            print(f"  {name:<20} {size / MIB:10.2f} MB")
    if given.visualize_peak:
        try:
            draw(found, given)
        except ImportError:
            print("error: a picture needs matplotlib: pip install matplotlib", file=sys.stderr)
            return 1
        print(f"wrote {given.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
