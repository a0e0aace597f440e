"""`tt-run diff` of real runs: other seeds, other splits, another version, a rank that was killed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.launch import Ran, tt_run
from tt_run.runtime.record.frames import PEERS, read_frames

PROGRAM = """\
import sys
import numpy as np
sys.modules["torch"] = None  # loading it would take longer than all of this
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
cut = ttnn.create_mesh_mapper(mesh, ttnn.MeshMapperConfig([ttnn.PlacementShard(0), ttnn.PlacementShard(1)]))
def put(seed):
    data = np.random.default_rng(3).normal(size=(2, 4, 32, 32)).astype(np.float32)
    data[1, 2, 7, 9] += seed
    return ttnn.from_torch(data, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=cut)
gathered = ttnn.all_gather(put(0), 3, cluster_axis=1)
total = ttnn.all_reduce(put(0), cluster_axis=0)
other = ttnn.all_reduce(put(int(sys.argv[1])), cluster_axis=1)
print(ttnn.to_torch(other, mesh_composer=ttnn.ConcatMeshToTensor(mesh, 0)).sum())
"""
RUNS = {"one": ("1x2", "1"), "two": ("1x2", "2"), "whole": ("1x1", "2")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("diff")
    (made / "program.py").write_text(PROGRAM)
    for name, (split, seed) in RUNS.items():
        words = ("--emulate", "--system", "t3000", "--split", split, "--record", name)
        tt_run(*words, "python", "program.py", seed, cwd=made).check()
    return made


def diff(folder: Path, *words: str) -> Ran:
    return tt_run("diff", *words, cwd=folder)


@pytest.mark.parametrize("pair", [("one", "one"), ("two", "whole")])
def test_the_same_values_on_any_split(pair: tuple[str, str], folder: Path) -> None:
    ran = diff(folder, *pair).check()
    assert "No difference:" in ran.out and "on 8 devices" in ran.out
    assert ("split otherwise" in ran.out) == (pair[0] != pair[1])


@pytest.mark.parametrize("pair", [("one", "two"), pytest.param(("one", "whole"), marks=pytest.mark.wide)])
def test_other_values_are_found_to_the_element(pair: tuple[str, str], folder: Path) -> None:
    ran = diff(folder, *pair)
    assert ran.code == 1, ran.err
    assert "First difference on device 6 of mesh 0: what is sent is not the same" in ran.out
    assert ran.out.count("all_reduce(shape [1, 1, 32, 32], FLOAT32, cluster_axis 1") == 2
    assert ran.out.count("program.py:13") == 2
    assert "element [0, 0, 7, 9]: " in ran.out and "1 of 1024 elements differ" in ran.out
    told = json.loads(diff(folder, *pair, "--json").out)
    assert not told["same"] and told["difference"]["device"] == 6
    assert told["difference"]["element"] == [0, 0, 7, 9]
    a, b = map(float, told["difference"]["values"])
    assert abs(b - a) == pytest.approx(1, abs=1e-5)


def test_a_rank_without_a_record_and_one_that_came_to_no_collective(folder: Path) -> None:
    """The runs are split alike all the same: what both have is compared call by call."""
    lone = folder / "lone"
    shutil.copytree(folder / "one", lone)
    record = next(lone.rglob("rank-0001.record"))
    meeting = next(frame.at for frame in read_frames(record) if frame.kind == PEERS)
    os.truncate(record, meeting)
    ran = diff(folder, "lone", "one")
    assert ran.code == 1 and "First difference: A ends where B goes on with rank 1" in ran.out, (
        ran.out + ran.err
    )
    record.unlink()
    ran = diff(folder, "lone", "one").check()
    assert "A has no record of rank 1, which is not compared" in ran.out and "on 4 devices" in ran.out
    assert "split otherwise" not in ran.out


@pytest.mark.wide
def test_other_calls_and_fewer_of_them(folder: Path) -> None:
    text = PROGRAM.replace(
        "total = ttnn.all_reduce(put(0), cluster_axis=0)", "total = ttnn.reduce_scatter(put(0), 3)"
    )
    split = ("--emulate", "--system", "t3000", "--split", "1x2")
    (folder / "other.py").write_text(text)
    tt_run(*split, "--record", "version", "python", "other.py", "1", cwd=folder).check()
    ran = diff(folder, "one", "version")
    assert ran.code == 1 and "the runs make other calls" in ran.out
    assert "all_reduce(" in ran.out and "reduce_scatter(" in ran.out and ran.out.count(".py:12") == 2
    # Killed before its third call: the record reads to there.
    words = (
        *split,
        "--inject",
        "kill=rank:1,op=all_reduce,nth=2",
        "--record",
        "killed",
        "python",
        "program.py",
        "1",
    )
    assert tt_run(*words, cwd=folder).code != 0
    ran = diff(folder, "one", "killed", "--rank", "1")
    assert ran.code == 1 and "B ends where A goes on with rank 1, call 3 of the record" in ran.out
    replay = tt_run("replay", "killed", "--rank", "1", cwd=folder)
    assert replay.code == 1 and "TTP002]: the record of rank 1 ends after call 2" in replay.err
    assert "killed, or still running" in replay.err


def test_words_that_name_no_records(folder: Path) -> None:
    assert diff(folder, "one").code == 2
    ran = diff(folder, "one", "nowhere")
    assert ran.code == 66 and "there is no folder nowhere" in ran.err


MESSAGES = """\
import sys
sys.modules["torch"] = None
import ttnn
ttnn.init_distributed_context()
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
rank = int(ttnn.distributed_context_get_rank())
here, there = (ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, n), ttnn.CoreCoord(0, 0)) for n in (0, 2))
config = ttnn.SocketConfig([ttnn.SocketConnection(here, there)], ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096), sender_rank=0, receiver_rank=1)
socket = ttnn.MeshSocket(mesh, config)
x = ttnn.full((1, 1, 32, 32), 3.0, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=mesh)
if rank == 0:
    ttnn.experimental.send_async(x, socket)
    ttnn.distributed_context_send_bytes(b"12345", 1)
else:
    ttnn.experimental.recv_async(x, socket)
    print(ttnn.distributed_context_recv_bytes(5, 0))
ttnn.close_mesh_device(mesh)
"""


@pytest.mark.wide
def test_a_line_more_in_the_program_is_no_difference(tmp_path: Path) -> None:
    """Messages say where they were sent, for the errors of their receivers."""
    for name, text in (("a", MESSAGES), ("b", f"# a line more\n{MESSAGES}")):
        (tmp_path / f"{name}.py").write_text(text)
        words = ("--emulate", "--system", "t3000", "--split", "1x2", "--record", name)
        tt_run(*words, "python", f"{name}.py", cwd=tmp_path).check()
    assert "No difference: " in diff(tmp_path, "a", "b").check().out
    for rank in ("0", "1"):
        again = tt_run("replay", "a", "--rank", rank, "--", "python", "b.py", cwd=tmp_path).check()
        assert "all as recorded" in again.err
