"""What runs have left behind, damaged: whoever looks at it hears what is there, or one sentence, and never sees a traceback."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.damage import damaged_copy
from tests.e2e.launch import tt_run
from tests.mgd.test_fuzz import deadline
from tt_run.cli.main import run
from tt_run.contract import Exit
from tt_run.runtime.record import compare

LOOKS = (
    ("status", "R"), ("status", "R", "--json"), ("status", "R", "--all"), ("logs", "R"), ("logs", "R", "--rank", "1"), ("stacks", "R"),
    ("ls",), ("ls", "--json"), ("report", "R", "-o", "page.html"), ("clean", "--dry-run"),
)  # fmt: skip
FEW, MANY = 40, 1500
SECONDS = 30.0  # for one look, on a machine that does other things too
"""Answers: what was asked, a rank's failure, wrong words, an input that cannot be read."""
ANSWERS = (Exit.OK, Exit.FAILED, Exit.USAGE, Exit.UNREADABLE)
PROGRAM = """
import atexit, sys
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.ones((1, 1, 32, 128), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
y = ttnn.all_gather(x, dim=3, cluster_axis=1)
atexit.register(lambda: 1 / 0)
ttnn.all_gather(ttnn.add(y, y), dim=3, cluster_axis=1)
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run folders `ended` and `killed`, and the records of two runs, `recorded` and `again`."""
    place = tmp_path_factory.mktemp("left")
    (place / "program.py").write_text(PROGRAM)
    words = ("--emulate", "--system", "t3000", "--split", "1x2")
    program = ("python", str(place / "program.py"))
    tt_run(
        *words, "--log-dir", "ended", "--record", "recorded", "--memory=memory.txt", *program, cwd=place
    ).check()
    assert (
        tt_run(*words, "--log-dir", "killed", "--inject", "kill=rank:1,call=2", *program, cwd=place).code
        == 137
    )
    tt_run(*words, "--log-dir", "further", "--record", "again", *program, cwd=place).check()
    return place


@pytest.mark.parametrize(
    "times", [FEW, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_run_folders(
    left: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    times: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tt-run-logs").mkdir()
    chance = Random(20261124)
    for _ in range(times):
        done = damaged_copy(left / chance.choice(["ended", "killed"]), tmp_path / "tt-run-logs" / "R", chance)
        words = chance.choice(LOOKS)
        with deadline(SECONDS):
            code = run(words)
        said = capsysbinary.readouterr()
        assert code in ANSWERS and b"Traceback" not in said.err, (done, words, said.err.decode())
        assert b"\x1b[31m" not in said.out + said.err, (done, words)


@pytest.mark.parametrize(
    "times", [FEW, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_records(left: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int) -> None:
    chance = Random(20261124)
    for _ in range(times):
        done = damaged_copy(left / "recorded", tmp_path / "damaged", chance)
        sides = [str(tmp_path / "damaged"), str(left / "again")]
        chance.shuffle(sides)
        with deadline(SECONDS):
            code = compare.main([*sides, chance.choice(["", "1"]), chance.choice(["json", "text"])])
        said = capsys.readouterr()
        assert code in ANSWERS, done
        assert (code == Exit.UNREADABLE) == said.err.startswith("error[TTP003]: "), (done, said.err)
