"""The runs of `tt-run chaos`: one without a fault, which shows what there is to hit, and then one with each fault."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from mgd.lean import dataclass
from tt_run import contract
from tt_run.contract import Exit
from tt_run.launch.process import tied_to_parent
from tt_run.supervise.signals import ENDING_SIGNALS

# The working directory must not decide which modules are found: `python -m` would put it first.
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; from tt_run.cli.entry import main; main()"
FOLDER = "{folder}"
"""Among the program's words: an empty folder of each run, for its checkpoints and results."""
_MORE = {"slow": "for=50ms", "delay": "for=20ms", "slowdisk": "for=20ms"}


class Ended(Exception):
    """A signal has asked for an end."""

    def __init__(self, number: int) -> None:
        self.number = signal.Signals(number)
        super().__init__(self.number.name)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within it the signals that end tt-run raise Ended, the first of them; the run at hand is passed it and waited for."""

    def end(number: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise Ended(number)

    wanted = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class Trial:
    """One run: the fault, the rank it is for, the run's exit code, the ranks that the fault hit, the one that the verdict named, seconds from
    the fault to the verdict, what that said, how many starts there were, and whether the run ended with the line of the undisturbed one
    (None: it failed, or that run printed nothing)."""

    fault: str
    rank: int
    exit_code: int
    hit: tuple[int, ...]
    culprit: int | None
    seconds: float
    sentence: str = ""
    starts: int = 1
    same_end: bool | None = None

    @property
    def happened(self) -> bool:
        """Whether the rank came to the fault."""
        return bool(self.hit)

    @property
    def survived(self) -> bool:
        """Whether the run ended well."""
        return self.exit_code == 0

    @property
    def named(self) -> bool:
        """Whether the verdict names a rank that was hit: of a link either end."""
        return self.culprit in (self.rank, *self.hit)

    @property
    def well(self) -> bool:
        """Whether it went as it should: survived or named, and without a fault no failure."""
        return self.survived or (self.happened and self.named)


@dataclass(frozen=True)
class Undisturbed:
    """A run without a fault: operations and calls of each rank (0: nobody counts them), its seconds, and the rank and the line it ended with."""

    calls: tuple[int, ...]
    seconds: float
    ends: tuple[int, str] | None = None


@dataclass(frozen=True)
class Runs:
    """How runs are made: tt-run's words for them, and the seconds that one may take."""

    words: tuple[str, ...]
    timeout: float

    @property
    def emulates(self) -> bool:
        """Whether the ranks count their calls; where they do not, faults come at a time."""
        return "--emulate" in self.words

    def undisturbed(self) -> Undisturbed | tuple[int, str]:
        """A run without a fault; exit code and what was said where there is nothing to learn from: nothing was launched, or it failed."""
        ran = self._run("slow=rank:*,for=1us,op=*,nth=0" if self.emulates else "", patience=60.0)
        if isinstance(ran, int):
            return ran, ""
        report, lines = ran
        if report["verdict"]["exit_code"] != 0:
            return report["verdict"]["exit_code"], report["verdict"]["sentence"]
        calls = [0] * len(report["ranks"])
        for fault in report["injected"]:
            calls[fault["rank"]] = max(calls[fault["rank"]], fault["event"])
        ends = next(((rank, line) for rank, line in sorted(lines.items()) if line), None)
        return Undisturbed(tuple(calls), float(report["ended"]) - float(report["started"]), ends)

    def trial(self, fault: str, rank: int, patience: float, ends: tuple[int, str] | None) -> Trial:
        """What becomes of a run with a fault, whose ranks wait `patience` seconds for others."""
        import time

        begun = time.monotonic()
        ran = self._run(fault, patience)
        if isinstance(ran, int):
            late = time.monotonic() - begun
            return Trial(fault, rank, Exit.INTERNAL, (), None, late, "it could not be launched")
        report, lines = ran
        verdict, faults = report["verdict"], report["injected"]
        hit = tuple(sorted({entry["rank"] for entry in faults}))
        late = report["ended"] - faults[0]["at"] if faults else 0.0
        same = lines.get(ends[0]) == ends[1] if ends and verdict["exit_code"] == 0 else None
        said = verdict["exit_code"], hit, verdict["culprit"], late, verdict["sentence"], verdict["attempts"]
        return Trial(fault, rank, *said, same)

    def _run(self, fault: str, patience: float) -> tuple[dict[str, Any], dict[int, str]] | int:
        """The report of a run, whose ranks wait so long for others where the caller's shell says nothing else, and the last line of each rank's
        output; the exit code where nothing was launched."""
        import json
        import os
        import subprocess
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory(prefix="tt-run-chaos-") as folder:
            target, own = Path(folder) / "report.json", Path(folder) / "own"
            own.mkdir()
            line = [f"--report={target}", f"--log-dir={folder}/logs", f"--timeout={self.timeout:g}"]
            line += [f"--inject={fault}"] if fault else []
            words = [word.replace(FOLDER, str(own)) for word in self.words]
            ran = subprocess.Popen(
                tied_to_parent([sys.executable, "-c", _START, *line, *words]),
                env={contract.GUARD_TIMEOUT: f"{patience:g}", **os.environ},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C comes through us alone, once
            )
            try:
                err = ran.communicate()[1]
            except Ended as ended:
                ran.send_signal(ended.number)
                ran.communicate()
                raise
            if not target.exists():
                sys.stderr.write(err.decode("utf-8", "replace")[-2000:])
                return ran.returncode
            found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8", errors="surrogateescape"))
            return found, {each["rank"]: _last_line(Path(each["stdout"])) for each in found["outcomes"]}


def random_fault(name: str, kinds: Sequence[str], found: Undisturbed, emulated: bool) -> tuple[str, int]:
    """A fault and the rank that it is for, the same for a name: at a call that the rank makes, or without emulation at a time."""
    import random

    chance = random.Random(name)
    rank = chance.randrange(len(found.calls))
    kind = chance.choice(list(kinds))
    if emulated:
        place = f"op=*,nth={chance.randint(1, max(found.calls[rank], 1))}"
    else:
        place = f"after={chance.uniform(0, found.seconds):.3f}s"
    more = f"code={chance.randint(1, 120)}" if kind == "exit" else _MORE.get(kind, "")
    return f"{kind}=rank:{rank},{place}" + (f",{more}" if more else ""), rank


def patience_for(lasted: float, timeout: float) -> float:
    """Seconds that ranks wait for one that does not come: several times a run without a fault, and less than a run is given."""
    return min(max(5.0, 3 * lasted), 60.0, timeout / 2)


def _last_line(path: Any) -> str:
    """The last line of a file that is not blank; empty where there is none."""
    from tt_run.supervise.output.console import last_lines

    return next(iter(last_lines(path, 1)), "")
