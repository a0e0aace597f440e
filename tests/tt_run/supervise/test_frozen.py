"""Processes that their control group keeps from running."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tests.e2e.launch import environment
from tests.tt_run.supervise.conftest import Records
from tt_run.contract import Exit
from tt_run.supervise.looking import frozen, stopped_ranks
from tt_run.supervise.looking.stopped_ranks import StoppedRanks

GROUP = "batch/job-7"
SINGLE, FREEZER = f"0::/{GROUP}\n", f"9:cpu:/\n8:freezer:/{GROUP}\n0::/\n"


def written(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("groups", "files", "words"),
    [
        (SINGLE, {f"{GROUP}/cgroup.events": "populated 1\nfrozen 0"}, ""),
        (
            SINGLE,
            {f"{GROUP}/cgroup.events": "populated 1\nfrozen 1", f"{GROUP}/cgroup.freeze": "1"},
            f"echo 0 >ROOT/{GROUP}/cgroup.freeze",
        ),
        (
            SINGLE,
            {
                f"unified/{GROUP}/cgroup.events": "frozen 1",
                f"unified/{GROUP}/cgroup.freeze": "0",
                "unified/batch/cgroup.freeze": "1",
            },
            "echo 0 >ROOT/unified/batch/cgroup.freeze",
        ),
        (
            FREEZER,
            {f"freezer/{GROUP}/freezer.state": "FROZEN", f"freezer/{GROUP}/freezer.self_freezing": "1"},
            f"echo THAWED >ROOT/freezer/{GROUP}/freezer.state",
        ),
        (
            FREEZER,
            {f"freezer/{GROUP}/freezer.state": "FREEZING", "freezer/batch/freezer.self_freezing": "1"},
            "echo THAWED >ROOT/freezer/batch/freezer.state",
        ),
        (FREEZER, {f"freezer/{GROUP}/freezer.state": "THAWED"}, ""),
        (SINGLE, {}, ""),
        ("nonsense\n", {}, ""),
    ],
)
def test_what_lets_a_frozen_process_go_on(
    groups: str, files: dict[str, str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "cgroup"
    written(root, files)
    monkeypatch.setattr(frozen, "_ROOT", root)
    monkeypatch.setattr(frozen, "_SINGLE", (root, root / "unified"))
    monkeypatch.setattr(frozen, "_groups_of", lambda pid: groups)
    assert frozen.thawing(41) == words.replace("ROOT", str(root))


def test_a_process_that_is_not_there_is_not_frozen() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert frozen.thawing(gone.pid) == ""


def test_frozen_ranks_are_said_while_somebody_waits(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopped_ranks, "thawing", {41: "echo 0 >/sys/fs/cgroup/x/cgroup.freeze"}.get)
    records.status(1, host="here", pid=41)
    said: list[str] = []
    stops = StoppedRanks(records.board, "here", said.append, 30.0)
    assert stops.look(0.0, (), 0.0) == () and not stops.frozen
    for now in (3.0, 9.0, 14.0):
        assert stops.look(now, (), now) == ()
    assert said == [
        "rank 1 on here has been frozen for 11 s (by its control group, process 41): echo 0 >/sys/fs/cgroup/x/cgroup.freeze lets it go on, or the run ends in 19 s"
    ]
    assert stops.look(34.0, (), 34.0) == (1,)


FREEZERS = (("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"),)
WAYS = (
    ("/sys/fs/cgroup", "cgroup.freeze", "1", "0"),
    ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"),
    *FREEZERS,
)


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[tuple[Path, Path, str, str]]:
    """A control group of its own: its processes, what freezes it, and the words for that and for its end."""
    name = f"tt-run-test-{os.getpid()}"
    ways = getattr(request, "param", WAYS)
    for root, file, freeze, thaw in ways:
        folder = Path(root, name)
        try:
            folder.mkdir()
        except OSError:
            continue
        if (folder / file).exists():
            yield folder / "cgroup.procs", folder / file, freeze, thaw
            (folder / file).write_text(thaw)
            until(lambda folder=folder: not (folder / "cgroup.procs").read_text().strip())
            folder.rmdir()
            return
        folder.rmdir()
    pytest.skip("no control group can be made here")


PROGRAM = """
import os, time, ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
rank = int(ttnn.distributed_context_get_rank())
ttnn.distributed_context_barrier()
if rank == 1:
    open("pid.part", "w").write(str(os.getpid())); os.rename("pid.part", "pid")
    time.sleep(50)  # it is frozen here, and not inside of the barrier, where the others wait by another deadline
ttnn.distributed_context_barrier()
"""


def run_with_a_frozen_rank(
    group: tuple[Path, Path, str, str], folder: Path, *words: str, guard: str = ""
) -> tuple[int, str]:
    """The exit code of a run whose rank 1 is frozen in the middle, and what it said."""
    processes, state, freeze, _ = group
    (folder / "program.py").write_text(PROGRAM)
    words = ("tt-run", "--emulate", "--system", "n300", "--split", "1x2", "--log-dir", "run", *words)
    launch = subprocess.Popen(
        ["timeout", "-k", "5", "60", *words, "python", "program.py"],
        cwd=folder,
        env=environment({"TT_RUN_GUARD_TIMEOUT": guard} if guard else {}),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((folder / "pid").exists)
    processes.write_text((folder / "pid").read_text())
    state.write_text(freeze)
    _, said = launch.communicate()
    return launch.returncode, said


@pytest.mark.wide
def test_a_run_whose_rank_is_frozen_says_so(group: tuple[Path, Path, str, str], tmp_path: Path) -> None:
    _, state, _, thaw = group
    code, said = run_with_a_frozen_rank(group, tmp_path, guard="5")
    assert code == Exit.FAILED
    assert (
        "tt-run: rank 1 on " in said
        and f"was frozen by a control group and the others waited for it; echo {thaw} >{state} " in said
    )


@pytest.mark.wide
@pytest.mark.parametrize("group", [FREEZERS], indirect=True, ids=["version 1"])
def test_a_frozen_rank_that_outlives_its_run_is_not_said_to_be_ended(
    group: tuple[Path, Path, str, str], tmp_path: Path
) -> None:
    """Of a freezer of version 1: the kernel ends what is frozen by the single tree of version 2."""
    _, state, _, thaw = group
    code, said = run_with_a_frozen_rank(
        group, tmp_path, "--timeout", "8"
    )  # it starts within that when cores are busy
    assert code == Exit.TIMEOUT
    assert Path("/proc", (tmp_path / "pid").read_text()).exists()
    told = f"rank 1 is still there: SIGKILL ends what a control group has frozen once it goes on: echo {thaw} >{state}"
    assert told in said and "which were ended" not in said
