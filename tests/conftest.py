"""A test that cannot run here says why; where TT_RUN_FORBID_SKIPS is set, as in CI, only the listed reasons are good enough."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests import examples, leftovers
from tests.browser import chromium as chromium

# What CI does not have to have: recordings of the reference live outside of the project, JAX is a benchmark's peer; control groups
# that one may write to are the machine's.
EXCUSED = re.compile(r"record(ing|ed)|JAX|may read everything|writable memory cgroup")
# With several processes, files are handed out in this order: first those that start ranks and wait for them.
LONG_FIRST = (
    "e2e/",
    "multihost/",
    "testing/",
    "runtime/shapes/test_programs",
    "runtime/train/test_forms",
    "runtime/guard/",
)

# What a developer prefers in a terminal; tests that look at colours and widths say so themselves.
PREFERENCES = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PY_COLORS")

# The sets that scripts/test leaves out; what is of both is of the first.
SETS = ("slow", "wide")
SLOW_SECONDS = 1200  # what a slow test may take that says nothing itself: its own waits end it long before

_unexcused: list[str] = []
_left_out: Counter[str] = Counter()
_settled = 0  # modules, when garbage was last told from what stays


def pytest_configure(config: pytest.Config) -> None:
    """What a test starts must be able to be interrupted and hung up, also where the tests run in the background or under nohup."""
    examples.choose(config.option.markexpr)
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGHUP: signal.SIG_DFL,
        signal.SIGQUIT: signal.SIG_DFL,
    }
    for number, handler in usual.items():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection() -> None:
    """Some hundred thousand objects that stay: to look through them again and again is a quarter of collecting."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nor is what was collected looked through whenever a test collects garbage."""
    global _settled
    gc.freeze()
    gc.enable()
    _settled = len(sys.modules)


def _settle() -> None:
    """Between files, what has been imported since is not looked through any more either: it stays, and tests collect garbage often."""
    global _settled
    if len(sys.modules) > _settled + 100:
        gc.collect()
        gc.freeze()
        _settled = len(sys.modules)


def pytest_sessionstart() -> None:
    """Pytest has read them for its own words by now."""
    for name in PREFERENCES:
        os.environ.pop(name, None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    name = item.nodeid.removeprefix("tests/")
    return next((turn for turn, start in enumerate(LONG_FIRST) if name.startswith(start)), len(LONG_FIRST))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if leftovers.note(item):
        _settle()
    if item.get_closest_marker("torch"):
        pytest.importorskip("torch")
    # Threads of PyTorch that wait for each other at tensors of some thousand elements cost three times what they compute.
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    leftovers.compare(item, nextitem)


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        _left_out[next((name for name in SETS if item.get_closest_marker(name)), "not chosen")] += 1


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2])
        _left_out["PyTorch" if "'torch'" in reason or "PyTorch" in reason else "skipped"] += 1
        if not EXCUSED.search(reason):
            _unexcused.append(f"{report.nodeid}: {reason}")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What one of several processes has left out; each collects the same."""
    for name, count in getattr(node, "workeroutput", {}).get("left_out", {}).items():
        _left_out[name] = max(count, _left_out[name])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if hasattr(session.config, "workeroutput"):
        deselected = {name: _left_out[name] for name in (*SETS, "not chosen") if _left_out[name]}
        session.config.workeroutput["left_out"] = deselected
    if _unexcused and os.environ.get("TT_RUN_FORBID_SKIPS") and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """The last lines: what had to run, and what was left out and how to run it."""
    yield
    if _unexcused and os.environ.get("TT_RUN_FORBID_SKIPS"):
        terminalreporter.section("tests that had to run here and were skipped", red=True)
        for line in _unexcused:
            terminalreporter.write_line(line)
    told = {
        "wide": "{} wide (scripts/test --wide, as CI does)",
        "slow": "{} slow (scripts/test --all)",
        "PyTorch": "{} that compare with PyTorch (.venv/bin/pip install torch)",
        "skipped": "{} skipped for the reasons above (.ci/run installs what they need)",
        "not chosen": "{} not chosen",
    }
    words = [text.format(_left_out[name]) for name, text in told.items() if _left_out[name]]
    if words:
        terminalreporter.write_line(f"left out: {', '.join(words)}")
