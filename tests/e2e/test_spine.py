"""The main job: from files to verified numbers, with the same bits on one, two and four ranks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, Ran, tt_run

BINDING = "configs/bindings/t3k_2x4_two_hosts.yaml"
EXAMPLE = "examples/tensor_parallel_mlp.py"
EIGHTH = ("--hidden", "568")  # of the model's width; the demo runs all of it


def digest(ran: Ran) -> str:
    found = ran.check().field("sha256")
    assert len(found) == 1, ran.out
    return found[0]


@pytest.fixture(scope="module")
def main_job() -> Ran:
    return tt_run("--emulate", "--rank-binding", BINDING, "python", EXAMPLE, *EIGHTH, timeout=110)


def test_main_job_matches_the_reference(main_job: Ran) -> None:
    [correlation] = re.findall(r"correlation with NumPy float32 ([\d.]+)", main_job.check().out)
    assert float(correlation) > 0.999
    assert "SystemMesh Global Shape: (2, 4) | Local Shape: (2, 2)" in main_job.out
    assert "PlacementShard" in main_job.out
    assert len(re.findall(r"computed [\d.]+ s, communicated [\d.]+ s", main_job.out)) == 2


@pytest.mark.parametrize(
    "split", ["1x1", *(pytest.param(split, marks=pytest.mark.wide) for split in ("2x1", "2x2"))]
)
def test_same_bits_however_the_mesh_is_cut(main_job: Ran, split: str) -> None:
    cut = tt_run(
        *("--emulate", "--system", "t3000", "--split", split, "python", EXAMPLE, "--quiet", *EIGHTH),
        timeout=110,
    )
    assert digest(cut) == digest(main_job)


@pytest.mark.wide
def test_correlation_below_the_bound_fails_loudly(tmp_path: Path) -> None:
    text, call = (ROOT / EXAMPLE).read_text(), "dim=3, num_links=1"
    assert call in text
    wrong = tmp_path / "wrong.py"
    wrong.write_text(text.replace(call, f"{call}) * (-1.0", 1))
    launch = ("--emulate", "--system", "t3000", "python", wrong, "--quiet", *EIGHTH)
    ran = tt_run(*launch, timeout=110)
    assert ran.code != 0
    assert "is below 0.98" in ran.err + ran.out


@pytest.mark.parametrize(
    ("name", "old", "new", "code", "position"),
    [
        ("unknown mesh", "mesh_id: 0", "mesh_id: 7", 65, r"binding\.yaml:\d+:\d+"),
        ("host rank", "mesh_host_rank: 1", "mesh_host_rank: 3", 65, r"binding\.yaml:\d+:\d+"),
        ("unknown key", "mesh_host_rank: 1", "mesh_host_rnak: 1", 65, r"binding\.yaml:\d+:\d+"),
        ("broken yaml", "rank_bindings:", "rank_bindings: [", 66, r"binding\.yaml:\d+:\d+"),
    ],
)
def test_bad_bindings_are_refused_with_positions(
    tmp_path: Path, name: str, old: str, new: str, code: int, position: str
) -> None:
    shutil.copytree(ROOT / "configs" / "mgd", tmp_path / "mgd")
    folder = tmp_path / "bindings"
    folder.mkdir()
    text = (ROOT / BINDING).read_text()
    assert old in text
    (folder / "binding.yaml").write_text(text.replace(old, new, 1))
    ran = tt_run(
        "--emulate", "--rank-binding", folder / "binding.yaml", "sh", "-c", f"touch {tmp_path}/started"
    )
    assert ran.code == code, ran.err
    assert re.search(position, ran.err), ran.err
    assert re.search(r"^error\[TTR\d+\]", ran.err, re.MULTILINE), ran.err
    assert "help:" in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "started").exists()
