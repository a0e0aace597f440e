"""Where mpirun keeps its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tt_run.launch import backend
from tt_run.launch.backend import Start, scratch_folder
from tt_run.launch.keeper import Order
from tt_run.launch.line import LaunchLine


def parent(environ: dict[str, str], memory: Path, *, here: bool = True) -> str:
    return str(scratch_folder(environ, here=here, memory=str(memory)).parent)


def test_in_memory_unless_the_user_names_a_place(tmp_path: Path) -> None:
    assert parent({}, tmp_path) == parent({"TMPDIR": ""}, tmp_path) == str(tmp_path)
    assert parent({"TMPDIR": "/mine", "TMP": "/other"}, tmp_path) == "/mine"
    assert parent({"TMP": "/other"}, tmp_path) == "/other"
    assert scratch_folder({}, here=True).name.startswith("tt-run-")


@pytest.mark.parametrize("room", ["ROOM", "FILES"])
def test_on_disk_where_memory_has_no_room(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, room, 1 << 80)
    assert parent({}, tmp_path) == "/tmp"


def test_on_disk_where_there_is_none(tmp_path: Path) -> None:
    assert parent({}, tmp_path / "absent") == "/tmp"


def test_on_disk_for_ranks_of_other_hosts(tmp_path: Path) -> None:
    assert parent({}, tmp_path, here=False) == "/tmp"


@pytest.mark.parametrize(
    ("words", "environ", "own"),
    [
        ((), {}, {"btl_sm", "osc_sm"}),
        (("--mca", "btl_sm_backing_directory", "/mine"), {}, {"osc_sm"}),
        ((), {"OMPI_MCA_osc_sm_backing_directory": "/mine"}, {"btl_sm"}),
        ((), {"TMPDIR": "/mine"}, set()),
        ((), {"PRTE_MCA_prte_tmpdir_base": "/mine"}, set()),
    ],
)
def test_the_memory_that_ranks_share_goes_with_the_job(
    words: tuple[str, ...],
    environ: dict[str, str],
    own: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside mpirun's other files where these are in memory; what the user has set stays."""
    orders: list[Order] = []
    monkeypatch.setattr(backend, "KeptJob", lambda order, _: orders.append(order))
    monkeypatch.setattr(backend, "ROOM", 0)
    monkeypatch.setattr(backend, "FILES", 0)
    line = LaunchLine("mpirun", words, ("true",))
    backend.MpirunBackend().start(Start(line, (), 1, tmp_path, tmp_path / "log", environ))
    (order,) = orders
    added = {
        name: value for name, value in order.environ.items() if "backing" in name and name not in environ
    }
    assert added == {f"OMPI_MCA_{name}_backing_directory": str(order.scratch) for name in own}


@pytest.mark.parametrize(
    ("repeat", "several", "named"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_mpirun_has_a_name_of_its_own_where_process_numbers_repeat(
    repeat: bool, several: bool, named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Daemons of other hosts find it by the name that it gives itself."""
    orders: list[Order] = []
    monkeypatch.setattr(backend, "KeptJob", lambda order, _: orders.append(order))
    monkeypatch.setattr(backend, "_numbers_repeat", lambda: repeat)
    monkeypatch.setattr(backend, "_own_name", lambda: {"NAME": "own"})
    line = LaunchLine("mpirun", (), ("true",))
    backend.MpirunBackend().start(Start(line, (), 1, tmp_path, tmp_path / "log", {}, is_multi_host=several))
    (order,) = orders
    assert ("NAME" in order.environ) is named
    assert (order.scratch is not None and order.scratch.parent == Path("/tmp")) or not several
