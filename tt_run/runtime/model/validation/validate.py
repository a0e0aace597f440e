"""`tt-run validate-model`: predictions beside measured points, errors by class, calibration with one's own points.

JSON is one object per row and line: kind, op, shape, arch, devices, unit, measured, predicted, error, class, part (`calibration` for rows
that the shipped numbers were fitted to, else `held-out`), or `not_covered` with the reason. The launcher's command reads the command line
and starts this module with what it read, as JSON.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mgd.cli.findings import finding_texts
from mgd.diagnostics import Diagnostic, Label
from mgd.resources import configs_root
from tt_run import contract
from tt_run.hardware.data_files import HardwareError
from tt_run.hardware.files import HardwareFile, load, shipped, write
from tt_run.hardware.numbers import ARCHITECTURES
from tt_run.runtime.model.validation import scores
from tt_run.runtime.model.validation.calibrate import Bench, answerable, fit_numbers
from tt_run.runtime.model.validation.points import Point, PointsError, read, with_first_tokens

FOLDS = 5
"""Fits of a cross-validation that names no number of them."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for: `points` to score, or `calibrate` to fit to and `output` to write.

    `cross_validate` fits go each without a part of the rows, which `leave_out` (a way of WAYS) and `seed` choose.
    """

    points: Path | None = None
    calibrate: Path | None = None
    format: str = "table"
    hardware: tuple[Path, ...] = ()
    output: Path | None = None
    architecture: str = "wormhole"
    all_rows: bool = False
    cross_validate: int = 0
    leave_out: str = ""
    seed: int = 0


def main(text: str) -> int:
    """Carries out a request in JSON; the exit code."""
    given: dict[str, Any] = json.loads(text)
    for name in ("points", "calibrate", "output"):
        given[name] = Path(given[name]) if given.get(name) else None
    given["hardware"] = tuple(Path(path) for path in given.get("hardware", ()))
    return run(Request(**given))


def run(request: Request) -> int:
    """Carries out a request; the exit code. Prints what is wrong with a file."""
    try:
        bench = Bench(hardware_files(request.hardware))
        if request.calibrate:
            return _calibrate(bench, request, request.calibrate)
        points = read(request.points or Path())
        if request.cross_validate or request.leave_out:
            return _cross_validate(bench, points, replace(request, leave_out=request.leave_out or "shapes"))
        _show(bench, points, request)
    except PointsError as error:
        return _refused(error.finding)
    except HardwareError as error:
        found = tuple(Label(position, wrong) for position, wrong in error.found)
        message = "these numbers cannot be used" if found else str(error)
        return _refused(
            Diagnostic("TTR126", message, found, "configs/hardware/wormhole.yaml shows a whole file")
        )
    except BrokenPipeError:
        sys.stderr.close()
    return 0


def _refused(finding: Diagnostic) -> int:
    print(finding_texts(sys.stderr, "tt-run --explain")(finding), file=sys.stderr)
    return int(contract.Exit.UNREADABLE)


def _show(bench: Bench, points: Sequence[Point], request: Request) -> None:
    own = {"part": "unknown"} if request.hardware else {}
    if request.format == "json":
        for one in scores.score(bench, points):
            known = {} if one.predicted is None else own
            print(json.dumps({**row(one), **known, **_first_token(bench, one.point)}))
        return
    from tt_run.runtime.model.validation.tables import print_scores

    print_scores(scores.score(bench, with_first_tokens(points)), None if own else held_out)


def _first_token(bench: Bench, point: Point) -> dict[str, Any]:
    """The time to the first token beside a row's speed, where it has both."""
    beside = point.first_token
    if beside is None:
        return {}
    found = row(scores.score(bench, [beside])[0])
    told = ("unit", "measured", "predicted", "error", "not_covered")
    return {"first_token": {name: found[name] for name in told if name in found}}


def hardware_files(given: Sequence[Path]) -> dict[str, HardwareFile]:
    """The data file of each architecture: the user's where there is one, else the shipped one."""
    files = {name: load(shipped(name)) for name in ARCHITECTURES}
    for path in given:
        file = load(path)
        files[file.architecture] = file
    return files


def _key(point: Point) -> str:
    text = "|".join(
        (point.kind, point.op, point.shape, point.dtype, point.arch, point.devices, point.topology)
    )
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def calibrated_on() -> Path:
    """The list of the rows that the shipped numbers were fitted to, as hashes of what was measured."""
    return configs_root() / "hardware" / "calibrated-on.txt"


def held_out(point: Point) -> bool:
    """Whether the shipped numbers have not seen this row."""
    global _seen
    if _seen is None:
        path = calibrated_on()
        _seen = frozenset(path.read_text(encoding="utf-8").split()) if path.exists() else frozenset()
    return _key(point) not in _seen


_seen: frozenset[str] | None = None


def row(found: scores.Score) -> dict[str, Any]:
    """One row of the JSON output."""
    point = found.point
    result: dict[str, Any] = {
        "kind": point.kind,
        "op": point.op,
        "shape": point.shape,
        "dtype": point.dtype,
        "arch": point.arch,
        "devices": point.devices,
        "topology": point.topology,
        "unit": point.measured_unit,
        "measured": point.measured,
    }
    if found.predicted is None:
        return {**result, "not_covered": found.reason}
    result |= {"predicted": float(f"{found.predicted:.6g}"), "error": round(found.error or 0.0, 6)}
    return {**result, "class": found.group, "part": "held-out" if held_out(point) else "calibration"}


def _calibrate(bench: Bench, options: Request, source: Path) -> int:
    points = read(source)
    used = [p for p in points if options.all_rows or not p.held_out]
    asked = answerable(used, source)
    if not asked:
        wrong = f"no row to fit to ({len(points)} in all, one in five is held out unless --all-rows)"
        raise PointsError(wrong, source, help="add rows, or --all-rows")
    before = scores.score(bench, points)
    fit_numbers(bench, asked)
    after = scores.score(bench, points)
    text = write(
        bench.document(
            options.architecture, "own", f"fitted by tt-run validate-model to {source.name}", _today()
        )
    )
    if options.output is None:
        print(text, end="")
        return 0
    try:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text, encoding="utf-8")
    except OSError as error:
        wrong = f"{error.strerror}; nothing was written"
        raise PointsError(wrong, options.output, help="name another file: --output FILE") from None
    shown = "the rest" if len(used) < len(points) else "these"
    print(f"{options.output}: fitted to {len(used)} of {len(points)} rows; {shown}, before and after:")
    rest = {p.line for p in points if p not in used} or {p.line for p in points}
    for old, new in zip(
        scores.by_class(before, lambda p: p.line in rest),
        scores.by_class(after, lambda p: p.line in rest),
        strict=True,
    ):
        print(f"  {scores.GOALS[new.group][0]:40} median error {old.median:6.1%} -> {new.median:6.1%}")
    return 0


def _today() -> str:
    from datetime import date

    return date.today().isoformat()


def _cross_validate(bench: Bench, points: Sequence[Point], request: Request) -> int:
    from tt_run.runtime.model.validation.leave_out import leave_out

    folds, source = request.cross_validate or FOLDS, request.points or Path()
    found = leave_out(bench.files, points, source, request.leave_out, folds, request.seed)
    if request.format == "json":
        for one in found:
            print(json.dumps({**row(one), **({"part": "left out"} if one.error is not None else {})}))
        return 0
    from tt_run.runtime.model.validation.tables import print_classes

    counted = scores.by_class(found, lambda _: True)
    print_classes(f"left out: {request.leave_out} ({len(found)} predictions of {len(points)} rows)", counted)
    return 0
