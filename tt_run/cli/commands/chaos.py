"""`tt-run chaos`: one program under random faults, again and again, and whether each verdict named the rank that was hit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass
from tt_run import contract
from tt_run.cli.options import Arguments, option
from tt_run.cli.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError

# The working directory must not decide which modules are found: `python -m` would put it first.
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; from tt_run.cli.main import main; main()"
FAULTS = ("kill", "term", "exit", "raise")
OTHERS = ("oom", "stop", "hang")
"""Also to be had; a run with one of the last two takes as long as the guard waits."""


class Chaos(Arguments):
    """Run an emulated program many times, each with one random fault, and count what became of it.

    A first run without a fault shows how many calls the ranks make. Options of tt-run stand before the program; a fault of the list
    is seen again with tt-run --inject FAULT:
      tt-run chaos --runs 100 --seed 1 -- --emulate --system t3000 --split 1x2 python train.py
    """

    __slots__ = ()
    anywhere = False
    usage = "tt-run chaos [OPTIONS] -- TT-RUN-OPTIONS PROGRAM [ARGS...]"
    runs: int = option("Chaos", "--runs", "N", "So many runs with a fault [20].", kind="number", default=20)
    seed: int = option("Chaos", "--seed", "N", "Another seed, other faults [1].", kind="number", default=1)
    faults: str = option(
        "Chaos",
        "--faults",
        "A,B,…",
        f"Which ones [{','.join(FAULTS)}]; also {', '.join(OTHERS)}.",
        default=",".join(FAULTS),
    )
    timeout: float = option(
        "Chaos", "--timeout", "SECONDS", "End a run after this long [300].", kind="seconds", default=300.0
    )
    format: str = option(
        "Look", "--format", "FORM", "table [default] or json.", kind=("table", "json"), default="table"
    )
    help: bool = option("Look", "-h --help", "", "This text.")


@dataclass(frozen=True)
class Trial:
    """One run: the fault, the run's exit code, the rank that its verdict named, seconds from the fault to the verdict, and what that said."""

    fault: str
    rank: int
    exit_code: int
    happened: bool
    culprit: int | None
    seconds: float
    sentence: str = ""

    @property
    def survived(self) -> bool:
        """Whether the run ended well."""
        return self.exit_code == 0

    @property
    def named(self) -> bool:
        """Whether the verdict names the rank that was hit."""
        return self.culprit == self.rank

    @property
    def well(self) -> bool:
        """Whether it went as it should: survived or named, and without a fault no failure."""
        return self.survived or (self.happened and self.named)


def command(words: Sequence[str]) -> int:
    """Prints what became of each run; 0 when every fault that happened was survived or named, and no run failed without its fault. Raises
    UsageError."""
    if "--" not in words and "--emulate" in words:
        raise _usage(
            "options of tt-run stand behind --", "write tt-run chaos --runs 20 -- --emulate … python x.py"
        )
    given = read(words, Chaos)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Chaos))
        return Exit.OK
    kinds = [word.strip() for word in given.faults.split(",") if word.strip()]
    unknown = [kind for kind in kinds if kind not in (*FAULTS, *OTHERS)]
    if unknown or not kinds:
        raise _usage(f"--faults {given.faults}", f"choose from {', '.join((*FAULTS, *OTHERS))}")
    if not given.rest:
        raise _usage("there is no program", "write tt-run chaos -- --emulate … python x.py")
    if "--emulate" not in given.rest:
        raise _usage("only emulated ranks have faults", "write tt-run chaos -- --emulate … python x.py")
    rehearsed = _rehearse(given)
    if isinstance(rehearsed, int):  # tt-run has said why it was not launched
        return rehearsed
    calls, lasted = rehearsed
    patience = patience_for(lasted, given.timeout)
    trials = [_try(number, kinds, calls, given, patience) for number in range(given.runs)]
    _show(trials, given.format)
    return Exit.OK if all(t.well for t in trials) else Exit.FAILED


def _usage(wrong: str, help: str) -> UsageError:
    return UsageError(Diagnostic("TTR021", f"tt-run chaos: {wrong}", help=help))


def patience_for(lasted: float, timeout: float) -> float:
    """Seconds that ranks wait for one that does not come: several times a run without a fault, and less than a run is given."""
    return min(max(5.0, 3 * lasted), 60.0, timeout / 2)


def _rehearse(given: Chaos) -> tuple[list[int], float] | int:
    """How many operations and calls each rank makes in a run without a fault, and its seconds; tt-run's exit code where it launches nothing.
    Raises UsageError when that run fails."""
    report = _run("slow=rank:*,for=1us,op=*,nth=0", given, patience=60.0)
    if isinstance(report, int):
        return report
    if report["verdict"]["exit_code"] != 0:
        raise _usage(
            f"the program fails without a fault: {report['verdict']['sentence']}", "run it with tt-run first"
        )
    calls = [0] * len(report["ranks"])
    for fault in report["injected"]:
        calls[fault["rank"]] = max(calls[fault["rank"]], fault["event"])
    return calls, float(report["ended"]) - float(report["started"])


def _try(number: int, kinds: Sequence[str], calls: Sequence[int], given: Chaos, patience: float) -> Trial:
    import random
    import time

    chance = random.Random(f"{given.seed}/{number}")
    rank = chance.randrange(len(calls))
    kind = chance.choice(list(kinds))
    fault = f"{kind}=rank:{rank},op=*,nth={chance.randint(1, max(calls[rank], 1))}"
    fault += f",code={chance.randint(1, 120)}" if kind == "exit" else ""
    print(f"tt-run chaos: {number + 1} of {given.runs}: --inject {fault}", file=sys.stderr)
    begun = time.monotonic()
    report = _run(fault, given, patience)
    if isinstance(report, int):
        return Trial(
            fault, rank, Exit.INTERNAL, False, None, time.monotonic() - begun, "it could not be launched"
        )
    hit = [entry for entry in report["injected"] if entry["rank"] == rank]
    verdict = report["verdict"]
    late = report["ended"] - hit[0]["at"] if hit else 0.0
    return Trial(fault, rank, verdict["exit_code"], bool(hit), verdict["culprit"], late, verdict["sentence"])


def _run(fault: str, given: Chaos, patience: float) -> dict[str, Any] | int:
    """The report of a run with a fault, whose ranks wait `patience` seconds for others where the caller's shell says nothing else; its exit
    code where nothing was launched."""
    import json
    import os
    import subprocess
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="tt-run-chaos-") as folder:
        target = Path(folder) / "report.json"
        line = [
            f"--report={target}",
            f"--log-dir={folder}/logs",
            f"--timeout={given.timeout:g}",
            f"--inject={fault}",
        ]
        ran = subprocess.run(
            [sys.executable, "-c", _START, *line, *given.rest],
            env={contract.GUARD_TIMEOUT: f"{patience:g}", **os.environ},
            capture_output=True,
            check=False,
        )
        if not target.exists():
            sys.stderr.write(ran.stderr.decode("utf-8", "replace")[-2000:])
            return ran.returncode
        found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return found


def _show(trials: Sequence[Trial], form: str) -> None:
    happened = [t for t in trials if t.happened]
    hit = [t for t in happened if not t.survived]
    if form == "json":
        import json

        rows = [
            {"fault": t.fault, "rank": t.rank, "exit_code": t.exit_code, "happened": t.happened, "culprit": t.culprit,
             "survived": t.survived, "named": t.named, "seconds": round(t.seconds, 3)}
            for t in trials
        ]  # fmt: skip
        print(json.dumps(rows, indent=1))
        return
    wide = max((len(t.fault) for t in trials), default=5)
    for t in trials:
        if t.happened:
            outcome = "survived" if t.survived else f"exit {t.exit_code}, names rank {t.culprit}"
        else:
            outcome = "did not come to it" + ("" if t.survived else f": exit {t.exit_code}, {t.sentence}")
        print(f"{' ' if t.well else '!'} {t.fault:{wide}}  {outcome}  {t.seconds:.2f} s")
    times = sorted(t.seconds for t in hit)
    middle = f", verdict after {times[len(times) // 2]:.2f} s (median)" if times else ""
    print(
        f"{len(trials)} runs, {len(happened)} faults, {len(happened) - len(hit)} survived, "
        f"{sum(t.named for t in hit)} of {len(hit)} named correctly{middle}"
    )
