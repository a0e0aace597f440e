"""What runs have left behind, damaged: whoever looks at it hears what is there, or one sentence, and never sees a traceback."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.damage import ODD, damaged_bytes, damaged_copy, damaged_text
from tests.e2e.launch import tt_run
from tests.mgd.test_fuzz import deadline
from tests.runtime.model.test_validate import ROWS
from tt_run.cli.main import run
from tt_run.contract import Exit
from tt_run.hardware.files import load
from tt_run.runtime.model.validation.points import COLUMNS
from tt_run.runtime.model.validation.validate import Request
from tt_run.runtime.model.validation.validate import run as validate
from tt_run.runtime.record import compare

LOOKS = (
    ("status", "R"), ("status", "R", "--json"), ("status", "R", "--all"), ("logs", "R"), ("logs", "R", "--rank", "1"), ("stacks", "R"),
    ("ls",), ("ls", "--json"), ("report", "R", "-o", "page.html"), ("clean", "--dry-run"),
)  # fmt: skip
FEW, MANY = 40, 1500
TIMES = [
    pytest.param(FEW, marks=pytest.mark.wide),
    pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
]
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


@pytest.mark.parametrize("times", TIMES)
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


@pytest.mark.parametrize("times", TIMES)
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


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_replays(left: Path, tmp_path: Path) -> None:
    """A damaged record is refused by name, or was not read: whatever is replayed of it is as it was recorded."""
    chance = Random(20261128)
    for _ in range(150):
        done = damaged_copy(left / "recorded", tmp_path / "damaged", chance)
        rank = chance.choice(["0", "1", "1", "7"])
        ran = tt_run("replay", tmp_path / "damaged", "--rank", rank, cwd=left)
        if ran.code == Exit.UNREADABLE:
            assert ran.err.startswith("error[TTP003]: ") and "more: tt-run --explain TTP003" in ran.err, done
            assert "Traceback" not in ran.err, (done, ran.err)
        elif ran.code == Exit.OK:
            assert "all as recorded" in ran.err, (done, ran.err)
        else:  # cut at the end of a frame: a rank that was killed leaves the same
            assert ran.code == Exit.FAILED and "TTP002" in ran.err, (done, ran.err)


NUMBERS = (
    "1e400", "-5", "0", "1e-320", "nan", "inf", "0x0x0", "99999999999999999999x4", "1-", "-1-1", "1e308 t/s/u", "0 t/s/u", "ttft 0 ms",
    "[1,1,0,0]", "1" * 5000, "٣", "³",
)  # fmt: skip


def damaged_points(chance: Random) -> bytes:
    """A table of points, with cells or bytes of it changed."""
    rows = [list(COLUMNS)] + [row.split("|") for row in chance.sample(ROWS, 6)]
    if chance.random() < 0.6:
        for _ in range(chance.choice([1, 2, 4])):
            row = chance.choice(rows)
            at = chance.randrange(len(row))
            other = chance.choice(chance.choice(ROWS).split("|"))
            row[at] = chance.choice(
                [damaged_text(row[at], chance), str(chance.choice(ODD)), other, chance.choice(NUMBERS)]
            )
    separator = chance.choice("\t\t,;")
    data = "\n".join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")
    return damaged_bytes(data, chance) if chance.random() < 0.4 else data


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(FEW // 4, marks=pytest.mark.wide),
        pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_points(tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int) -> None:
    chance = Random(20261128)
    points, fitted = tmp_path / "points.tsv", tmp_path / "fitted.yaml"
    ways = [
        Request(points=points, format="json"),
        Request(points=points),
        Request(points=points, cross_validate=2),
        Request(points=points, leave_out="rows", cross_validate=2, seed=3),
        Request(calibrate=points, all_rows=True, output=fitted),
    ]
    for _ in range(times):
        points.write_bytes(data := damaged_points(chance))
        request = chance.choice(ways)
        with deadline(SECONDS):
            code = validate(request)
        said = capsys.readouterr()
        assert code in (Exit.OK, Exit.UNREADABLE), (data, said.err)
        assert (code == Exit.UNREADABLE) == said.err.startswith("error[TTR127]: "), (data, said.err)
        if request.calibrate and code == Exit.OK:
            load(fitted)
