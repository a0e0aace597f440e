"""The pytest plugin, run as a user runs it: in a process of its own, on test files of the reference's form."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.e2e.launch import environment
from tt_run.cli.main import NOTHING
from tt_run.testing import own_tests, shims
from tt_run.testing.outcomes import REFUSED, RanksFailed, Recorder, report_outcome
from tt_run.testing.ranks import Ranks

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "testing"


def ranks(*args: Any, **kwargs: Any) -> pytest.Mark:
    """The mark as the plugin meets it; our own suite does not know the name."""
    return pytest.Mark("ranks", args, kwargs, _ispytest=True)


ONE_PROCESS = """
import os
import numpy as np
import pytest
import ttnn


def test_a_device(device, reset_seeds, silicon_arch_name):
    assert silicon_arch_name == "wormhole_b0"
    x = ttnn.Tensor(np.ones((1, 1, 32, 32), np.float32), ttnn.bfloat16).to(ttnn.TILE_LAYOUT).to(device)
    assert ttnn.add(x, x).cpu().to_numpy().sum() == 2 * 32 * 32
    assert ttnn.GetDefaultDevice() is device


@pytest.mark.skip(reason="Tenstorrent device not available")
@pytest.mark.requires_device
def test_what_looks_for_hardware_runs(device):
    assert device.get_num_devices() == 1


def test_an_error_is_expected(device, expect_error):
    with expect_error(RuntimeError, "Unknown"):
        raise RuntimeError("Unknown name (1)")
    with expect_error(RuntimeError, "name (1)") as caught:
        raise RuntimeError("Unknown name (1)")
    assert str(caught.value) == "Unknown name (1)"
    with pytest.raises(AssertionError, match="is not in the error"), expect_error(RuntimeError, "another"):
        raise RuntimeError("Unknown name (1)")


def test_the_default_device_is_put_back():
    assert ttnn.GetDefaultDevice() is None


@pytest.mark.parametrize("mesh_device", [(2, 4), 2, pytest.param((8, 4), id="galaxy")], indirect=True)
def test_a_mesh(mesh_device, request):
    assert mesh_device.get_num_devices() == (2 if "2" == request.node.callspec.id[-1] else 8)


@pytest.mark.parametrize("device_params", [{"require_exact_physical_num_devices": True}], indirect=True)
@pytest.mark.parametrize("mesh_device", [(2, 4), (1, 4)], indirect=True)
def test_the_whole_system(mesh_device):
    assert mesh_device.get_num_devices() == 8


@pytest.mark.parametrize("device_params", [{"fabric_config": ttnn.FabricConfig.FABRIC_1D, "trace_region_size": 4096}], indirect=True)
def test_a_row_with_fabric(t3k_mesh_device, use_program_cache):
    assert ttnn.get_fabric_config() is ttnn.FabricConfig.FABRIC_1D
    assert tuple(t3k_mesh_device.shape) == (1, 8)


def test_the_fabric_is_taken_down():
    assert ttnn.get_fabric_config() is ttnn.FabricConfig.DISABLED


@pytest.mark.use_module_device(device_params={"l1_small_size": 16384})
def test_what_a_module_asks_by_keyword(device_module, device_params):
    assert device_params == {"l1_small_size": 16384}
    assert device_module.get_num_devices() == 1


SHARED = []


@pytest.mark.use_module_device
@pytest.mark.parametrize("time", [0, 1])
def test_a_device_of_the_whole_file(device, time):
    SHARED.append(device)
    assert SHARED[0] is device and ttnn.GetDefaultDevice() is device


@pytest.mark.parametrize("mesh_device", [16], indirect=True)
def test_more_devices_than_there_are(mesh_device):
    raise AssertionError("a smaller mesh is not what was asked for")


def test_a_device_is_opened_afresh(device, reset_device):
    other = reset_device(device)
    assert other is not device and ttnn.GetDefaultDevice() is other


@pytest.mark.no_reset_default_device
def test_marked_to_leave_the_default_device(silicon_arch_name):
    assert os.environ["ARCH_NAME"] == silicon_arch_name


def test_a_large_machine_is_needed(request):
    with pytest.raises(AssertionError, match="needs 32 devices, and the system has 8"):
        request.getfixturevalue("ensure_devices_tg")


def test_options_of_stress_tests(grid_size, determinism_check_interval, didt_workload_iterations):
    assert (grid_size, determinism_check_interval, didt_workload_iterations) == ((4, 8), -1, 100_000)


def test_blackhole_only(bh_1d_mesh_device):
    raise AssertionError("must be skipped on Wormhole")
"""

OWN_CONFTEST = """
import pytest
import ttnn


def pytest_addoption(parser):
    parser.addoption("--tt-arch", choices=["wormhole_b0", "blackhole"], default=ttnn.get_arch_name())
    parser.addoption("--device-id", type=int, default=0)
    parser.addoption("--input-path", action="store", default="nowhere")


def pytest_generate_tests(metafunc):
    if "silicon_arch_name" in metafunc.fixturenames:
        metafunc.parametrize("silicon_arch_name", (metafunc.config.getoption("--tt-arch"),), scope="session")


@pytest.fixture
def device(request, device_params):
    settings = {"dispatch_core_config": ttnn.DispatchCoreConfig(None, device_params.get("dispatch_core_axis"))}
    opened = ttnn.CreateDevice(device_id=request.config.getoption("device_id"), **settings)
    yield opened
    ttnn.close_device(opened)
"""

UNDER_IT = """
def test_options_and_fixtures(device, silicon_arch_name, input_path):
    assert (silicon_arch_name, input_path) == ("wormhole_b0", "nowhere")
    assert device.get_num_devices() == 1


def test_fixtures_that_it_lacks(mesh_device):
    assert mesh_device.get_num_devices() == 8
"""

OVER_RANKS = """
import pytest
import ttnn


@pytest.mark.ranks(2)
@pytest.mark.parametrize("value", [7])
def test_both_pass(mesh_device, value):
    assert value == 7
    assert int(ttnn.distributed_context_get_size()) == 2


@pytest.mark.ranks(2, split="2x1")
def test_one_fails(mesh_device):
    if int(ttnn.distributed_context_get_rank()) == 1:
        ttnn.relu(3)
"""
WORDS_OF_THE_LINE = """
import os
import warnings
import pytest


@pytest.fixture
def steps(request):
    return request.config.getoption("--steps")


@pytest.mark.ranks(2)
def test_an_option_of_the_conftest(steps):
    warnings.warn("of old", DeprecationWarning)
    print("said by", os.environ["TT_RUN_RANK"])
    assert steps == 3 and os.environ["TT_RUN_RANK"] == "0"


@pytest.mark.ranks(3)
def test_what_does_not_divide():
    pass


@pytest.mark.timeout(2)
@pytest.mark.ranks(2)
def test_what_hangs():
    while True:
        pass
"""
BOTH_SKIP = """
import pytest


@pytest.mark.ranks(2)
def test_both_skip():
    pytest.skip("not on a Tuesday")
"""


def run(
    folder: Path, text: str, *words: str, plugin: str = "-p tt_run.pytest"
) -> subprocess.CompletedProcess[str]:
    """Pytest with the plugin on a file of its own."""
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {plugin} -p no:cacheprovider\n")
    return subprocess.run(
        ["timeout", "-k", "5", "150", sys.executable, "-m", "pytest", "-rs", "-q", *words],
        # Without the plugins that happen to be installed: Hypothesis alone takes longer than all else, in every rank too.
        cwd=folder, env=environment({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_fixtures_of_the_reference(tmp_path: Path) -> None:
    done = run(tmp_path, ONE_PROCESS, "--grid-size=4x8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "16 passed, 4 skipped" in done.stdout
    assert "a mesh of 8x4 needs more devices than the 8 of this system" in done.stdout
    assert "this test is for blackhole" in done.stdout


@pytest.mark.wide
@pytest.mark.parametrize(
    ("plugin", "conftest"),
    [
        pytest.param("-p tt_run.pytest", OWN_CONFTEST, id="a conftest with the same options"),
        pytest.param(
            "",
            'pytest_plugins = ["tt_run.pytest"]',
            id="a conftest that loads the plugin",
            marks=pytest.mark.wide,
        ),
    ],
)
def test_the_conftest_of_a_suite(tmp_path: Path, plugin: str, conftest: str) -> None:
    (tmp_path / "conftest.py").write_text(conftest)
    text = UNDER_IT if plugin else UNDER_IT.replace('"nowhere"', '""')
    done = run(tmp_path, text, "--device-id=0", plugin=plugin)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.wide
def test_another_plugin_imports_ttnn_while_it_loads(tmp_path: Path) -> None:
    """Before any hook is called."""
    (tmp_path / "early.py").write_text("import ttnn\n\nARCH = ttnn.get_arch_name\n")
    text = "import early\n\n\ndef test_it(mesh_device):\n    assert mesh_device.get_num_devices() == 32\n"
    words = "-p tt_run.pytest -p early --tt-system galaxy"
    done = run(tmp_path, text, plugin=words)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_suite_finds_its_own_helpers(tmp_path: Path) -> None:
    """This project's own tests are a package on the path, as where it is installed in place; the suite's are a plain folder."""
    helpers = tmp_path / "tests" / "helpers"
    helpers.mkdir(parents=True)
    (helpers / "numbers.py").write_text("SIX = 6\n")
    (tmp_path / "conftest.py").write_text("from tests.helpers.numbers import SIX\n")
    text = "from tests.helpers.numbers import SIX\n\n\ndef test_it(device):\n    assert SIX == 6\n"
    done = run(tmp_path, text)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("files", "module"),
    [
        (["tests/one.py"], "tests.one"),
        (["tests/__init__.py", "tests/one.py"], None),
        (["one.py"], None),
    ],
    ids=["a plain folder", "a package", "no such folder"],
)
def test_only_a_plain_folder_is_put_before_our_own_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], module: str | None
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    own_tests.prefer([tmp_path / "nowhere", tmp_path])
    assert ("tests" in sys.modules) is (module is not None)
    if module is not None:
        assert importlib.import_module(module).__file__ == str(tmp_path / "tests" / "one.py")
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]


@pytest.mark.wide
def test_the_example_project(tmp_path: Path) -> None:
    done = run(tmp_path, (EXAMPLE / "test_gather.py").read_text())
    assert "3 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.wide
def test_the_system_is_an_option(tmp_path: Path) -> None:
    done = run(tmp_path, ONE_PROCESS, "--tt-system", "galaxy", "-k", "galaxy or blackhole")
    assert "1 failed, 1 skipped" in done.stdout, (
        done.stdout + done.stderr
    )  # a Galaxy's mesh opens: 32 devices, not 8


def test_tests_over_ranks(tmp_path: Path) -> None:
    done = run(tmp_path, OVER_RANKS)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "--- rank 1 ---" in done.stdout
    assert "rank 1: TypeError: ttnn.relu(): incompatible function arguments" in done.stdout
    assert "tt_run/runtime" not in done.stdout  # a traceback ends at the test's own line


@pytest.mark.wide
def test_a_test_that_is_skipped_on_every_rank(tmp_path: Path) -> None:
    done = run(tmp_path, BOTH_SKIP)
    assert done.returncode == 0 and "1 skipped" in done.stdout, done.stdout + done.stderr
    assert "SKIPPED [1] test_it.py:7: not on a Tuesday" in done.stdout


@pytest.mark.wide
def test_the_line_holds_on_the_ranks_and_failures_say_where(tmp_path: Path) -> None:
    """Options of a conftest, what the test printed, the deadline of pytest-timeout, the place of a mark that cannot be followed."""
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--steps', type=int, default=1)\n"
    )
    done = run(tmp_path, WORDS_OF_THE_LINE, "--steps", "3", "-p", "pytest_timeout")
    said = done.stdout + done.stderr
    assert "3 failed" in said, said
    assert "--- rank 1 ---" in said and "--- rank 0 ---" not in said
    assert f"{' Captured stdout call ':-^80}\nsaid by 1\n" in said
    assert "test_it.py:19: asked for @pytest.mark.ranks(3)" in said
    assert f"{tmp_path}/test_it.py:14: DeprecationWarning: of old" in said and "1 warning" in said
    # A busy machine comes late to its deadline, and says when.
    assert re.search(r"--timeout passed after \d+ s\nno word from rank 0, 1", said), said
    assert "pytest_timeout.py" not in said


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, "wormhole_b0"),
        ({"TT_RUN_SYSTEM": "p150"}, "blackhole"),
        (
            {"TT_RUN_SYSTEM": "p150", "ARCH_NAME": "wormhole_b0", "TT_RUN_PYTEST_ARCH": "wormhole_b0"},
            "blackhole",
        ),
        ({"TT_RUN_SYSTEM": "p150", "ARCH_NAME": "wormhole_b0"}, "wormhole_b0"),
        ({"TT_RUN_SYSTEM": "no such"}, None),
        ({"TT_MESH_GRAPH_DESC_PATH": "one.textproto"}, None),
        ({"TT_MESH_GRAPH_DESC_PATH": "one.textproto", "ARCH_NAME": "a", "TT_RUN_PYTEST_ARCH": "a"}, None),
    ],
)
def test_the_architecture_is_said_unless_the_user_has(before: dict[str, str], after: str | None) -> None:
    environment = dict(before)
    shims.name_architecture(environment)
    assert environment.get("ARCH_NAME") == after


@pytest.mark.parametrize(
    ("folder", "before", "after"),
    [
        ("tests/ttnn", {}, "second"),
        ("tt-train", {"TT_METAL_HOME": "/opt/tt-metal"}, "/opt/tt-metal"),
        ("tests/other", {}, None),
    ],
    ids=["a checkout", "the user has said it", "another project"],
)
def test_the_checkout_of_the_suites_is_said(
    tmp_path: Path, folder: str, before: dict[str, str], after: str | None
) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second" / folder).mkdir(parents=True)
    environment = dict(before)
    shims.name_home([tmp_path / "first", tmp_path / "second"], environment)
    assert environment.get("TT_METAL_HOME") == (str(tmp_path / after) if after == "second" else after)


def test_a_mark_that_makes_no_sense_fails_its_test_alone(tmp_path: Path) -> None:
    """In a worker of xdist too, which must not end over it."""
    text = "import pytest\n\n\n@pytest.mark.ranks('2')\ndef test_it():\n    pass\n\n\ndef test_that():\n    pass\n"
    done = run(tmp_path, text)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert (
        "needs a number of ranks, not '2'" in done.stdout
        and "help: write @pytest.mark.ranks(2)" in done.stdout
    )
    assert "Traceback" not in done.stdout and "tt_run/testing" not in done.stdout


@pytest.mark.wide
def test_what_pytest_itself_finds_is_told_in_the_summary(tmp_path: Path) -> None:
    text = "import pytest\n\n\n@pytest.mark.ranks(2)\ndef test_it(mesh_devce):\n    pass\n"
    done = run(tmp_path, text)
    assert "rank 0: fixture 'mesh_devce' not found\n--- ranks 0, 1 ---" in done.stdout, done.stdout


def report(outcome: str, longrepr: object = None, **more: object) -> pytest.TestReport:
    words = {"outcome": outcome, "longrepr": longrepr, "when": "call", **more}
    return pytest.TestReport("test_it.py::test", ("test_it.py", 1, "test"), {}, **words)  # type: ignore[arg-type]


def crash(message: str) -> SimpleNamespace:
    return SimpleNamespace(
        reprcrash=SimpleNamespace(message=message), toterminal=lambda out: out.line(message)
    )


@pytest.mark.parametrize(
    ("reports", "code", "becomes"),
    [
        ([report("passed"), report("passed")], 0, None),
        ([report("skipped", "", wasxfail="no bfloat4")] * 2, 0, (pytest.xfail.Exception, "no bfloat4")),
        ([report("skipped", ("a", 1, "Skipped: no")), report("passed")], 0, None),
        ([report("failed", "[XPASS(strict)] soon")] * 2, 1, None),
        ([report("failed", "Boom\nat 3"), report("passed")], 1, (RanksFailed, "rank 0: failed\n--- rank 0 ---")),
        ([report("failed", "@mark\n    def t():"), report("passed")], 1, (RanksFailed, "---\n    @mark\n    def t():")),
        (
            [report("failed", crash("x.GuardError: error[TTG001]: ranks 0 and 1")), report("failed", crash("ValueError: x"))],
            1,
            (RanksFailed, "rank 1: ValueError: x\n--- rank 1 ---"),
        ),
        ([report("passed"), None], 3, (RanksFailed, "error[TTR008]: no\nno word from rank 1; the launch ended")),
        ([None, None], 3, (RanksFailed, "no word from rank 0, 1; the launch ended with 3")),
        ([report("skipped", ("a.py", 7, "Skipped: no"))] * 2, 0, (pytest.skip.Exception, "no")),
    ],
)  # fmt: skip
def test_what_ranks_report_becomes_one_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reports: Any, code: int, becomes: Any
) -> None:
    for rank, each in enumerate(reports):
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", str(rank))
        if each is not None:
            recorder = Recorder(str(tmp_path))
            recorder.note(each)
            recorder.write()

    def judge_them() -> None:
        report_outcome(2, tmp_path, code, "tt-run: 2 ranks\nerror[TTR008]: no\n")

    if becomes is None:
        judge_them()
    else:
        with pytest.raises(becomes[0]) as error:
            judge_them()
        assert becomes[1] in str(error.value)


def test_the_launchers_sentence_is_the_headline(tmp_path: Path) -> None:
    told = "tt-run: 2 ranks on this machine, logs in logs/1\ntt-run: rank 1 on vm exited with 3\n    at a.py:4\n  logs: logs/1\n  exit code 3\n"
    with pytest.raises(RanksFailed) as error:
        report_outcome(2, tmp_path, 3, told)
    assert str(error.value).startswith("rank 1 on vm exited with 3\nno word from rank 0, 1; the launch ended")


def test_a_launch_that_was_refused_is_told_once(tmp_path: Path) -> None:
    told = "error[TTR012]: no system\n  help: write --system t3000\n1 error. Nothing was launched."
    with pytest.raises(RanksFailed) as error:
        report_outcome(2, tmp_path, 2, f"a warning of something\n{told}\n")
    assert str(error.value) == told
    assert NOTHING == REFUSED


def test_a_system_that_is_not_there_is_told_once(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_it():\n    pass\n", "--tt-system", "t300")
    said = done.stdout + done.stderr
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --tt-system: no system is called 't300': did you mean t3000" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (ranks(), "ranks needs a number of ranks"),
        (ranks(4, split="1x3"), "write split='1x4' or split='2x2' or split='4x1'"),
        (ranks(3, meshes=2), "that 2 meshes share evenly, not 3"),
        (ranks(4, split="1x3"), "split='1x3' does not make 4 ranks of each mesh"),
        (ranks(4, spilt="1x4"), "ranks does not know spilt"),
        (ranks(4, timeout=0), "timeout=0 is not seconds"),
        (ranks(4, timeout="long"), "timeout='long' is not seconds"),
    ],
)
def test_marks_that_make_no_sense(mark: pytest.Mark, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Ranks.from_mark(mark, None)


def test_what_a_mark_asks_for() -> None:
    asked = Ranks.from_mark(ranks(4, meshes=2, timeout=9), "galaxy")
    assert asked == Ranks(4, "1x2", "galaxy", 2, 9.0)
