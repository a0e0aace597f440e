"""What a run has left: its folder, and the records that options put elsewhere; each is there, or there is a sentence on how to get it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mgd.lean import dataclass
from tt_run import contract
from tt_run.report.shapes import conforming
from tt_run.supervise.looking.runs import RUNNING, Run

LARGEST = 128 << 20  # bytes of a record that is read
MOST_EVENTS = 400_000  # of a timeline
_SECONDS_AFTER = 30  # that a rank may take to write its record after the run's end


@dataclass(frozen=True)
class Recorded:
    """The content of a record, or None and why there is none, in words that may end in what to type."""

    content: Any
    lack: str = ""


@dataclass(frozen=True)
class Sources:
    """A run, what its launcher wrote about it (the plan at its start, how it ended at its end), and the records of its ranks."""

    run: Run
    plan: dict[str, Any]
    ledger: Recorded
    timeline: Recorded
    memory: Recorded
    prediction: Recorded

    @property
    def ranks(self) -> list[dict[str, Any]]:
        """The plan's ranks."""
        return [rank for rank in self.plan.get("ranks") or () if "rank" in rank]

    @property
    def lacks_plan(self) -> str:
        """Why there is no plan; empty where there is one."""
        if self.plan:
            return ""
        return "The run folder has no plan that can be read."

    @property
    def culprit(self) -> int | None:
        """The rank that failed first."""
        verdict = self.plan.get("verdict") or {}
        found: int | None = verdict.get("culprit")
        return found


def sources_of(run: Run) -> Sources:
    """Reads everything. What cannot be read is missing, and its section says why."""
    plan = _plan(run)
    return Sources(
        run,
        plan,
        ledger=_record(run, plan, contract.LEDGER, "--ledger FILE", read=_whole_as("ledger")),
        timeline=_record(run, plan, contract.TIMELINE, "--timeline FILE", read=_trace),
        memory=_record(run, plan, contract.MEMORY, "--memory", "memory.json", _whole_as("memory")),
        prediction=_record(run, plan, contract.PREDICT, "--predict", "prediction.json", _whole_as("predict")),
    )


def _plan(run: Run) -> dict[str, Any]:
    try:
        found = json.loads(
            (run.folder.path / contract.PLAN_FILE).read_text(encoding="utf-8", errors="replace")
        )
    except (OSError, ValueError):
        return {}
    return conforming(found, "report") or {}


def _whole(path: Path) -> Any:
    if path.stat().st_size > LARGEST:
        raise OverflowError
    return json.loads(path.read_text(encoding="utf-8", errors="replace"))


def _whole_as(schema: str) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        found = conforming(_whole(path), schema, complete=True)
        if found is None:
            raise ValueError(f"no {schema}")
        return found

    return read


def _trace(path: Path) -> Any:
    """The events of a trace that a page shows, which has each on a line of its own; at most MOST_EVENTS, with what more there are as `left_out`."""
    events: list[Any] = []
    left_out = 0
    with path.open(encoding="utf-8") as stream:
        head = stream.readline().rstrip().removesuffix('"traceEvents": [')
        for line in stream:
            if line.startswith("]"):
                return {**json.loads(head.rstrip(", ") + "}"), "traceEvents": events, "left_out": left_out}
            if '"cat": "device"' in line or '"cat": "predicted"' in line:
                continue
            if len(events) < MOST_EVENTS:
                events.append(json.loads(line.rstrip().rstrip(",")))
            else:
                left_out += 1
    raise ValueError("the end is missing")


def _record(
    run: Run,
    plan: dict[str, Any],
    variable: str,
    option: str,
    in_folder: str = "",
    read: Callable[[Path], Any] = _whole,
) -> Recorded:
    ends = (
        "when the run ends" if run.state == RUNNING else "at the end of a run, which this one did not reach"
    )
    if not plan:
        return Recorded(None, f"It is read {ends}.")
    if not plan.get("emulate"):
        return Recorded(None, f"Only emulated ranks record it: run with --emulate {option}.")
    ranks = plan.get("ranks") or [{}]
    named = (ranks[0].get("env") or {}).get(variable, "")
    if not named:
        return Recorded(None, f"Run with {option} to record it.")
    if "verdict" not in plan:
        return Recorded(None, f"It is read {ends}.")
    if named.endswith(".csv"):  # a table of operations, with the whole beside it
        named += ".json"
    path = run.folder.path / in_folder if named == "-" else Path(plan.get("cwd") or ".", named)
    try:
        state = path.stat()
        if named != "-" and not _is_of_run(state.st_mtime, plan):
            return Recorded(
                None, f"{path} is of another run: it was written before this one began, or after it ended."
            )
        return Recorded(read(path))
    except OverflowError:
        return Recorded(None, f"{path} is too large for a page.")
    except FileNotFoundError:
        return Recorded(
            None, f"The ranks write {path} at their end, which they did not reach: the run was ended before."
        )
    except OSError as error:
        return Recorded(None, f"{path} cannot be read: {error.strerror}.")
    except ValueError:
        return Recorded(
            None, f"{path} is not whole: it is damaged, or the run was cut off while it wrote it."
        )


def _is_of_run(written: float, plan: dict[str, Any]) -> bool:
    """Whether a file is from this run and no later one has replaced it."""
    started, ended = plan.get("started"), plan.get("ended")
    if not isinstance(started, (int, float)) or not isinstance(ended, (int, float)):
        return True
    return started - 1 <= written <= ended + _SECONDS_AFTER
