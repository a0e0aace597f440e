"""`@pytest.mark.ranks(4)`: one test, run by pytest on every rank of a launch of its own, reported as one.

Each launch is a process of its own with its own folder, so tests may run in parallel under pytest-xdist.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mgd.lean import dataclass, replace
from tt_run import contract
from tt_run.testing.options import forwarded
from tt_run.testing.outcomes import RanksFailed, repeat_warnings, report_outcome

_DEFAULT_TIMEOUT = 300.0
_GRACE = 20.0  # seconds that the launcher has to end its ranks after a timeout


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
        timeout = words.pop("timeout", _DEFAULT_TIMEOUT)
        if not isinstance(timeout, (int, float)) or timeout <= 0:
            raise ValueError(f"timeout={timeout!r} is not seconds, more than 0; write timeout=60")
        system = words.pop("system", system or contract.DEFAULT_SYSTEM)
        found = cls(count, split, system, meshes, float(timeout))
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


class RanksTest(pytest.Item):
    """A test that is launched over ranks."""

    asked: Ranks | RanksFailed
    deadline: float | None = None  # seconds that another plugin allows the test
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
            timeout = min(self.asked.timeout, self.deadline or self.asked.timeout)
            code, output = _launch(self.config, replace(self.asked, timeout=timeout), self.inner, folder)
            if self.config.option.capture == "no":
                print(output, end="")
            repeat_warnings(self.asked.count, folder)
            report_outcome(self.asked.count, folder, code, output)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def asked_words(self) -> str:
        """The test's mark as it was written."""
        mark = self.get_closest_marker("ranks")
        assert mark is not None
        given = [repr(each) for each in mark.args] + [
            f"{name}={each!r}" for name, each in mark.kwargs.items()
        ]
        return f"@pytest.mark.ranks({', '.join(given)})"

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where the test stands in its file."""
        path, line, _ = self.where
        return path, line, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """The ranks' own words, without our frames; where the test stands, unless they name its file."""
        if isinstance(excinfo.value, RanksFailed):
            path, line, _ = self.where
            place = f"{path}:{(line or 0) + 1}"
            text = str(excinfo.value)
            return text if Path(path).name in text else f"{text}\n\n{place}: asked for {self.asked_words()}"
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
        *forwarded(config),
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
