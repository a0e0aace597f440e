"""Hooks of the pytest plugin: the shims in place before any test file is imported, options, and tests over ranks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tt_run import contract
from tt_run.testing import own_tests, shims
from tt_run.testing.options import PARSER, ParserOfOptions, known_options
from tt_run.testing.outcomes import RanksSkipped, Recorder
from tt_run.testing.ranks import RanksTest, asked_ranks

_RECORDER = pytest.StashKey[Recorder]()


# Options that the reference's own conftest defines and that their tests and our fixtures read.
_OF_THE_SUITES: dict[str, dict[str, Any]] = {
    "--tt-arch": {"choices": ["grayskull", "wormhole_b0", "blackhole"], "default": None},
    "--pipeline-type": {"default": ""},
    "--device-id": {"type": int, "default": 0},
    "--input-method": {"choices": ["json", "cli"], "default": None},
    "--input-path": {"default": ""},
    "--cli-input": {"default": None},
    "--metal-timeout": {"default": None},
    "--didt-workload-iterations": {"default": None},
    "--determinism-check-interval": {"default": None},
    "--grid-size": {"default": None},
    "--trace-params": {"action": "store_true", "default": False},
}


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """The emulation's own option; where a conftest has loaded this plugin, the suites' options too, which are late then."""
    parser.getgroup("tt-run", "TT-NN emulation").addoption(
        "--tt-system", metavar="NAME", help="the machine to emulate (n300, t3000, galaxy, …)"
    )
    pluginmanager.register(ParserOfOptions(parser), PARSER)
    if any(Path(name).name == "conftest.py" for name, _ in pluginmanager.list_name_plugin()):
        _add_options_of_the_suites(parser)


def _activate(system: str | None) -> None:
    """The emulation of the system that the command line names. Raises UsageError for one that is not there: no test could open it."""
    if wrong := shims.unknown_system(system):
        raise pytest.UsageError(f"--tt-system: {wrong}")
    shims.activate(system)


def _add_options_of_the_suites(parser: pytest.Parser) -> None:
    """Those that no conftest has brought: the reference's own suites define them without asking whether anybody has."""
    group, known = parser.getgroup("tt-run"), known_options(parser)
    for word, settings in _OF_THE_SUITES.items():
        with suppress(ValueError):
            if word not in known:
                group.addoption(word, help="as in the reference's test suites", **settings)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser
) -> Generator[None, object, object]:
    """Put the shims and the suite's own `tests` in place before a conftest imports them; add the options that it has left out."""
    _activate(getattr(early_config.known_args_namespace, "tt_system", None))
    shims.name_architecture()
    roots = Path.cwd(), early_config.rootpath
    own_tests.prefer(roots)
    shims.name_home(roots)
    result = yield
    _add_options_of_the_suites(parser)
    return result


def pytest_configure(config: pytest.Config) -> None:
    """Also for plugins loaded late; markers of the reference's suites and ours."""
    _activate(config.getoption("--tt-system", None))
    shims.name_architecture()
    config.addinivalue_line(
        "markers",
        "ranks(n, split='1xN', system='t3000', meshes=1, timeout=300): run this test over n MPI ranks on the emulation",
    )
    for name in (
        "models_performance_bare_metal",
        "models_device_performance_bare_metal",
        "post_commit",
        "requires_device",
        "use_module_device",
        "no_reset_default_device",
        "requires_fast_runtime_mode_off",
    ):
        config.addinivalue_line("markers", f"{name}: a marker of the reference's test suites")
    folder = os.environ.get(contract.PYTEST_RESULTS)
    if folder:
        config.stash[_RECORDER] = recorder = Recorder(folder)
        config.pluginmanager.register(_Listener(recorder))


def pytest_report_header(config: pytest.Config) -> str:
    """Which machine is emulated."""
    return f"tt-run: emulated ttnn, system {os.environ.get(contract.SYSTEM) or 'by default'}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests over ranks are launched, unless this process is one of the ranks already; tests that need a device have one."""
    for item in items:
        if "requires_device" in item.keywords:
            # Their conftest looks for hardware below /dev and skips without it; the emulated device is there all the same.
            item.own_markers[:] = [mark for mark in item.own_markers if not _misses_device(mark)]
    if os.environ.get(contract.PYTEST_RESULTS) or int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1")) > 1:
        return
    for number, item in enumerate(items):
        asked = asked_ranks(item)
        if asked is not None:
            items[number] = RanksTest.of(item, asked)


def _misses_device(mark: pytest.Mark) -> bool:
    return mark.name == "skip" and "device not available" in str(mark.kwargs.get("reason", "")).lower()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Frames of the emulation are left out of a failure's traceback, which ends at the test's own line; --full-trace shows them.

    What is skipped on all ranks is skipped where the test says so.
    """
    if call.excinfo is None:
        return (yield)
    for entry in call.excinfo.traceback:
        names = entry.frame.f_globals
        if str(names.get("__name__", "")).startswith("tt_run.runtime"):
            names["__tracebackhide__"] = True
    report = yield
    skipped = call.excinfo.value
    if isinstance(skipped, RanksSkipped) and skipped.place and report.skipped:
        report.longrepr = (*skipped.place, f"Skipped: {skipped.msg}")
    return report


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """What pytest-timeout allows a test over ranks is a deadline of its launch, whose report says where the ranks were."""
    if isinstance(item, RanksTest):
        item.deadline = float(settings.timeout)
        return True
    return True if os.environ.get(contract.PYTEST_RESULTS) else None


class _Listener:
    """Hands the reports of a rank's tests to its recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test is over."""
        self._recorder.note(report)

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Something has warned."""
        self._recorder.warned(warning_message)


def pytest_sessionfinish(session: pytest.Session, exitstatus: Any) -> None:
    """A rank leaves what became of its test where the launching process looks."""
    recorder = session.config.stash.get(_RECORDER, None)
    if recorder is not None:
        recorder.write()
