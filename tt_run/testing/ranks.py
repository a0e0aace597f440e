"""`@pytest.mark.ranks(4)`: one test, run by pytest on every rank of a launch of its own, reported as one.

Each launch is a process of its own with its own folder, so tests may run in parallel under pytest-xdist.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from mgd.lean import dataclass
from tt_run import contract

REFUSED = "Nothing was launched."  # the end of what tt-run says of words that it refuses
_DEFAULT_TIMEOUT = 300.0
_OTHERS_SECONDS = 5.0  # for ranks that are still on their way to what failed on one
_GRACE = 20.0  # seconds that the launcher has to end its ranks after a timeout
PASSED, FAILED, SKIPPED, XFAILED, UNEXPECTED = "passed", "failed", "skipped", "xfailed", "unexpected"
_SHOWN = 60  # last lines of the launcher that a failure shows when no rank says why


@dataclass(frozen=True)
class Ranks:
    """What a test asks for: how many ranks, how a mesh is cut over them, which system, how many meshes, seconds until it is ended."""

    count: int
    split: str
    system: str
    meshes: int = 1
    timeout: float = _DEFAULT_TIMEOUT

    @classmethod
    def from_mark(cls, mark: pytest.Mark, system: str | None) -> Ranks:
        """The request of a `ranks` mark. Raises ValueError for one that makes no sense."""
        words = dict(mark.kwargs)
        count = mark.args[0] if mark.args else words.pop("n", None)
        meshes = words.pop("meshes", 1)
        if not isinstance(count, int) or not isinstance(meshes, int) or count < 1 or count % max(meshes, 1):
            shared = f" that {meshes} meshes share evenly" if meshes != 1 else ""
            raise ValueError(f"ranks needs a number of ranks{shared}, not {count!r}")
        per_mesh = count // meshes
        split = str(words.pop("split", f"1x{per_mesh}"))
        rows, _, columns = split.partition("x")
        if not (rows.isdigit() and columns.isdigit() and int(rows) * int(columns) == per_mesh):
            pairs = [(r, per_mesh // r) for r in range(1, per_mesh + 1) if per_mesh % r == 0]
            forms = " or ".join(f"split='{r}x{c}'" for r, c in pairs[:3])
            raise ValueError(f"split={split!r} does not make {per_mesh} ranks of each mesh; write {forms}")
        found = cls(
            count,
            split,
            words.pop("system", system or contract.DEFAULT_SYSTEM),
            meshes,
            float(words.pop("timeout", _DEFAULT_TIMEOUT)),
        )
        if words:
            raise ValueError(
                f"ranks does not know {', '.join(words)}; it takes split, system, meshes, timeout"
            )
        return found


def asked_ranks(item: pytest.Item) -> Ranks | RanksFailed | None:
    """What the nearest `ranks` mark of a test asks for, or what is wrong with it, which fails this test and no other; None without one."""
    mark = item.get_closest_marker("ranks")
    if mark is None:
        return None
    try:
        return Ranks.from_mark(mark, item.config.getoption("--tt-system", None))
    except ValueError as error:
        return RanksFailed(
            f'{error}\nhelp: write @pytest.mark.ranks(2), or ranks(4, system="t3000", split="2x2")'
        )


class RanksFailed(Exception):
    """What a test over ranks shows when it fails; pytest prints it as it is."""


class RanksTest(pytest.Item):
    """A test that is launched over ranks."""

    asked: Ranks | RanksFailed
    inner: str
    where: tuple[Any, int | None, str]

    @classmethod
    def of(cls, item: pytest.Item, asked: Ranks | RanksFailed) -> RanksTest:
        """The stand-in of a collected test, with its name, place and marks."""
        assert item.parent is not None
        made: RanksTest = cls.from_parent(item.parent, name=item.name)
        made.asked, made.inner = asked, item.nodeid
        made.own_markers.extend(item.own_markers)
        made.keywords.update(item.keywords)
        made.where = item.reportinfo()
        return made

    def runtest(self) -> None:
        """Launch the test over its ranks and gather what became of it."""
        if isinstance(self.asked, RanksFailed):
            raise self.asked
        folder = Path(tempfile.mkdtemp(prefix="tt-run-pytest-"))
        try:
            code, output = _launch(self.config, self.asked, self.inner, folder)
            _judge(self.asked, folder, code, output)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where the test stands in its file."""
        path, line, _ = self.where
        return path, line, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """The ranks' own words, without our frames."""
        if isinstance(excinfo.value, RanksFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


def _launch(config: pytest.Config, asked: Ranks, test: str, folder: Path) -> tuple[int, str]:
    """Run the test's launch to its end; returns its exit code and what it printed."""
    words = [
        *(sys.executable, "-m", "tt_run", "--emulate", "--system", asked.system, "--split", asked.split),
        *("--meshes", str(asked.meshes), "--timeout", f"{asked.timeout:g}"),
        *(
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tt_run.pytest",
            "-p",
            "no:cacheprovider",
            "-q",
            "--no-header",
        ),
        *(f"--rootdir={config.rootpath}", *(["-c", str(config.inipath)] if config.inipath else [])),
        *_forwarded(config),
        *(["-n0"] if config.pluginmanager.hasplugin("xdist") else []),
        test,
    ]
    environment = {**os.environ, contract.PYTEST_RESULTS: str(folder)}
    environment.pop("PYTEST_ADDOPTS", None)
    environment.pop("PYTEST_XDIST_WORKER", None)
    process = subprocess.Popen(
        words,
        cwd=config.rootpath,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        output, _ = process.communicate(timeout=asked.timeout + _GRACE)
    except BaseException as error:
        process.send_signal(signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
    return process.returncode, output


def _forwarded(config: pytest.Config) -> list[str]:
    """How failures are to be shown, as the ranks' own pytest is told it."""
    option = config.option
    return [
        *([f"--tb={option.tbstyle}"] if option.tbstyle != "auto" else []),
        *(["--full-trace"] if option.fulltrace else []),
        *(["--showlocals"] if option.showlocals else []),
    ]


def _judge(asked: Ranks, folder: Path, code: int, output: str) -> None:
    """Pass, skip or fail by what the ranks wrote: failures by rank, else what the launcher said.

    A rank's unexpected pass is the test's: whether that is a failure is for the mark, which the test has here, too.
    """
    found = {rank: _read(folder / f"rank-{rank}.json") for rank in range(asked.count)}
    failed = {rank: result for rank, result in found.items() if result and result["outcome"] == FAILED}
    if failed:
        raise RanksFailed("\n".join([_headline(failed), *_by_rank(failed)]))
    outcomes = {str(result["outcome"]) if result else "" for result in found.values()}
    if code == 0 and outcomes <= {SKIPPED, XFAILED}:
        stopped = {str(result["outcome"]): str(result["text"]) for result in found.values() if result}
        (pytest.xfail if XFAILED in stopped else pytest.skip)(stopped.get(XFAILED) or stopped[SKIPPED])
    missing = [rank for rank, result in found.items() if result is None]
    if missing or (code and UNEXPECTED not in outcomes):
        silent = f"no word from rank {', '.join(map(str, missing))}; " if missing else ""
        lines = output.splitlines()
        if lines and lines[-1].endswith(REFUSED):
            first = next((number for number, line in enumerate(lines) if line.startswith("error[")), 0)
            raise RanksFailed("\n".join(lines[first:]))
        said = next((line for line in lines if line.startswith("error[")), f"the launch ended with {code}")
        tail = "\n".join(lines[-_SHOWN:])
        raise RanksFailed(f"{said}\n{silent}the launch ended with {code}:\n{tail}")


def _headline(failed: dict[int, dict[str, Any]]) -> str:
    """The line of pytest's short summary: the first rank that failed, and how."""
    rank, result = next(iter(failed.items()))
    return f"rank {rank}: {result['short'] or 'failed'}"


def _by_rank(failed: dict[int, dict[str, Any]]) -> list[str]:
    """The texts of failures, each said once with the ranks that share it."""
    texts: dict[str, list[int]] = {}
    for rank, result in failed.items():
        texts.setdefault(str(result["text"]), []).append(rank)
    return [
        f"--- rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))} ---\n{text}"
        for text, ranks in texts.items()
    ]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


class Recorder:
    """On a rank: keeps what became of its test, and writes it for the launching process."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / f"rank-{os.environ.get('OMPI_COMM_WORLD_RANK', '0')}.json"
        self._outcome: str | None = None
        self._text = self._short = self._phase = ""

    def note(self, report: pytest.TestReport) -> None:
        """Take a report of a phase: the first that fails or skips decides."""
        reason, expected = report.longrepr, getattr(report, "wasxfail", None)
        if report.failed and isinstance(reason, str) and reason.startswith("[XPASS(strict)]"):
            self._outcome = UNEXPECTED
        elif report.passed:
            self._outcome = self._outcome or PASSED
        elif self._outcome in (None, PASSED):
            self._outcome = XFAILED if expected is not None else report.outcome
            self._phase = report.when or ""
            text = report.longreprtext if expected is None else expected
            self._text = str(reason[2] if isinstance(reason, tuple) else text)
            crash = getattr(reason, "reprcrash", None)
            # What pytest itself finds, such as a fixture that is none, has a sentence and no crash.
            self._short = str(crash.message if crash is not None else getattr(reason, "errorstring", ""))
            self._short = self._short.strip().partition("\n")[0]

    def write(self) -> None:
        """Write the outcome whole or not at all."""
        part = self._path.with_suffix(".part")
        found = {"outcome": self._outcome, "text": self._text, "short": self._short}
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(self._path)
        if self._outcome == FAILED and self._phase == "setup":
            self._await_others()

    def _await_others(self) -> None:
        """Let the other ranks say that they failed, too: what fails before a test begins fails on all, and the first to end ends them."""
        count = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
        others = [self._path.with_name(f"rank-{rank}.json") for rank in range(count)]
        end = time.monotonic() + _OTHERS_SECONDS
        while time.monotonic() < end and not all(path.exists() for path in others):
            time.sleep(0.01)
