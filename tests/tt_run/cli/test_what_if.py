"""`tt-run what-if`: candidates are every combination, outcomes compare by devices and time, failures say why."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.sweep import sweep
from tt_run.cli.comparison.candidates import candidates
from tt_run.cli.comparison.outcomes import (
    CandidateOutcome,
    _failure,
    as_rows,
    capacity,
    duration,
    flat,
    front,
    outcome,
    table,
)
from tt_run.cli.comparison.plot import BESIDE, LINE, svg
from tt_run.cli.main import run
from tt_run.contract import SHAPES_ONLY, Exit

PROGRAM = """
import sys, ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, int(sys.argv[1])))
x = ttnn.ones((1, 1, 32, 1024), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
ttnn.add(x, x)
ttnn.close_mesh_device(mesh)
"""


def test_every_combination_with_its_words() -> None:
    found = candidates(
        ["n300", "lost.textproto"],
        ["1x2"],
        [("mesh", ["1x1", "1x2"])],
        ["dram.sharded=250"],
        ["t.py", "--mesh={mesh}"],
    )
    assert [one.label for one in found] == [
        "n300 1x2 mesh=1x1",
        "n300 1x2 mesh=1x2",
        "lost.textproto 1x2 mesh=1x1",
        "lost.textproto 1x2 mesh=1x2",
    ]
    assert found[1].words("/p.json", "/m.json", shapes=True) == [
        *["--emulate", "--system", "n300", "--split", "1x2", "--shapes-only", "--set=dram.sharded=250"],
        *["--predict=/p.json", "--memory=/m.json", "--", "t.py", "--mesh=1x2"],
    ]
    assert found[2].words("/p.json", "/m.json", shapes=False)[:3] == ["--emulate", "-m", "lost.textproto"]


def test_links_are_varied_by_factors() -> None:
    found = candidates(["t3000"], [], [], [], ["t.py"], vary_links=True)
    assert [one.label for one in found] == ["t3000", "t3000 channels x2", "t3000 link rate x2"]
    assert "--set=fabric.channels*=2" in found[1].words("/p", "/m", shapes=False)


def test_numbers_with_several_values_are_candidates() -> None:
    found = candidates(
        ["n300"], [], [], ["dram.sharded=200,250", "dram.banks*=2"], ["t.py"], hardware="own.yaml"
    )
    assert [one.label for one in found] == ["n300 dram.sharded=200", "n300 dram.sharded=250"]
    words = found[1].words("/p", "/m", shapes=False)
    assert words[3:6] == ["--hardware=own.yaml", "--set=dram.sharded=250", "--set=dram.banks*=2"]


def test_what_sets_a_candidate_apart_has_fields_of_its_own() -> None:
    found = candidates(
        *(["galaxy"], ["1x2"], [("mesh", ["4x8"])], ["dram.sharded=250", "fabric.channels*=2"], ["t.py"]),
        degraded=["M1D4-D5:1,D7"],
        hardware="own.yaml",
    )
    figures = {"devices": 32, "step_us": 4.0, "architecture": "wormhole", "mesh": (4, 8)}
    whole, lost = (one.facts() for one in found)
    assert whole == {
        "system": "galaxy",
        "split": [1, 2],
        "values": {"mesh": "4x8"},
        "hardware": "own.yaml",
        "settings": [
            {"key": "dram.sharded", "value": 250.0, "factor": None},
            {"key": "fabric.channels", "value": None, "factor": 2.0},
        ],
        "degraded": [],
    }
    ran, failed = as_rows(
        [CandidateOutcome("a", **figures, facts=whole), CandidateOutcome("b", failure="no", facts=lost)]
    )
    assert list(ran) == list(failed)
    assert (ran["mesh"], ran["failure"], failed["mesh"], failed["failure"]) == ([4, 8], None, None, "no")
    cells = flat([ran, failed])
    shown = ("split", "mesh", "values.mesh", "settings", "degraded")
    settings = "dram.sharded=250,fabric.channels*=2"
    assert [cells[0][name] for name in shown] == ["1x2", "4x8", "4x8", settings, ""]
    assert [cells[1][name] for name in shown] == ["1x2", None, "4x8", settings, "M1D4-D5:1,D7"]


def test_what_is_lost_makes_candidates_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    found = candidates(["galaxy"], [], [], [], ["t.py"], degraded=["D0-D1", "D0-D1:1,D5"])
    assert [one.label for one in found] == ["galaxy", "galaxy without D0-D1", "galaxy without D0-D1:1,D5"]
    assert "--degrade=D0-D1:1,D5" in found[2].words("/p", "/m", shapes=False)
    assert found[0].facts()["degraded"] == []
    assert found[2].facts()["degraded"] == [
        {"mesh": 0, "device": 0, "other": 1, "cables": 1},
        {"mesh": 0, "device": 5, "other": None, "cables": None},
    ]
    for words in (["what-if", "--degrade", "D0+D1", "--", "x"], ["--emulate", "--degrade", "D0+D1", "x"]):
        assert run(words) == Exit.USAGE
        assert "D0+D1: 'D0+D1' names no link" in capsys.readouterr().err


def prediction(name: str, us: float, devices: int = 8) -> dict[str, Any]:
    return {
        "architecture": "wormhole",
        "mesh": [1, devices],
        "devices": devices,
        "total_us": 2 * us,
        "critical_path": {"makespan_us": 3 * us},
        "links": [{"bytes": 5e6}, {"bytes": 7e6}],
        "regions": [
            {"name": "program", "us": 10 * us, "passes": 1, "bounds": {"dispatch": 10 * us}},
            {"name": name, "us": us, "passes": 4, "bounds": {"link": us * 0.6, "dram": us * 0.4}},
        ],
    }


def memory(*ranks: tuple[int, bool]) -> list[dict[str, Any]]:
    """Each rank's DRAM peak and whether it fits; its L1 holds more than any DRAM here, and is not what the column shows."""
    return [
        {"sets": [{"memory": "DRAM", "peak": peak, "fits": fits}, {"memory": "L1", "peak": 99, "fits": True}]}
        for peak, fits in ranks
    ]


def test_the_step_is_what_repeats_and_waiting_counts() -> None:
    found = outcome("a", prediction("step AdamW", 100.0), memory((5, True), (9, True)))
    assert (found.region, found.bound, found.busiest_link_bytes) == ("step AdamW", "link", 7e6)
    assert found.step_us == pytest.approx(150)  # the run takes half as long again as the busiest rank works
    assert (found.memory_bytes, found.fits) == (9, True)
    assert not outcome("a", prediction("x", 1.0), memory((5, True), (9, False))).fits
    assert outcome("b", {**prediction("x", 1.0), "regions": []}, []).failure


def test_rows_are_sorted_scaled_and_marked() -> None:
    outcomes = [
        CandidateOutcome("box", 8, "step", 400.0, "link"),
        CandidateOutcome("galaxy", 32, "step", 125.0, "latency"),
        CandidateOutcome("wasteful", 32, "step", 500.0, "link"),
        CandidateOutcome("full", 8, "step", 300.0, "link", memory_bytes=20 << 30, fits=False),
        CandidateOutcome("small", failure="too few devices" + ", of which a mesh takes eight" * 4),
    ]
    assert front(outcomes) == {"box", "galaxy"}
    rows = as_rows(outcomes)
    assert [row["candidate"] for row in rows] == ["galaxy", "full", "box", "wasteful", "small"]
    assert [row["efficiency"] for row in rows] == [0.8, 1.3333, 1.0, 0.2, None]
    said = table(rows)
    assert said.splitlines()[1].startswith("* galaxy")
    assert "failed: too few devices" in said
    assert "20.00 GiB  does not fit" in said
    for width, gone in (
        (100, "busiest link"),
        (80, "steps/s, busiest link"),
        (50, "steps/s, scaling, bound by,"),
    ):
        narrow = table(rows, width)
        assert f"no room for: {gone}" in " ".join(narrow.split())
        assert "failed: too few devices, of which a" in " ".join(narrow.split())
        assert max(map(len, narrow.splitlines())) <= width


FIGURES = as_rows(
    [
        CandidateOutcome("box", 8, "step", 400.0, "link", 2.5e6, 3 << 20),
        CandidateOutcome("galaxy", 32, "step", 125.0, "latency", 1e6, 1 << 30),
        CandidateOutcome("full", 8, "step", 300.0, "link", memory_bytes=20 << 30, fits=False),
        CandidateOutcome("small", failure="too few devices"),
    ]
)


def test_the_whole_table() -> None:
    assert table(FIGURES).splitlines() == [
        "  candidate  devices       step    steps/s  scaling  bound by   busiest link     memory",
        "* galaxy          32     125 us       8000      80%  latency        1.000 MB   1.00 GiB  ######",
        "  full             8     300 us       3333     133%  link           0.000 MB  20.00 GiB  does not fit",
        "* box              8     400 us       2500     100%  link           2.500 MB   3.00 MiB  ####################",
        "  small      failed: too few devices",
        "* no other is faster with as many devices or fewer; predicted, not measured;",
        "  memory: DRAM of the fullest device",
    ]


@pytest.mark.parametrize(
    ("width", "widest", "bars", "gone"),
    [
        (109, 109, True, ""),
        (108, 87, False, ""),
        (87, 87, False, ""),
        (86, 73, False, "busiest link"),
        (73, 73, False, "busiest link"),
        (72, 62, False, "steps/s, busiest link"),
        (61, 51, False, "steps/s, busiest link, memory"),
    ],
)
def test_columns_go_where_the_terminal_has_no_room_for_them(
    width: int, widest: int, bars: bool, gone: str
) -> None:
    text, _, notes = table([row for row in FIGURES if row["fits"]], width).partition("\n* no other")
    lines = text.splitlines()
    assert (max(map(len, lines)), "#" in "".join(lines)) == (widest, bars)
    assert max(map(len, notes.splitlines())) <= width
    assert " ".join(notes.split()).partition("no room for: ")[2] == gone


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (42, ["  name  failed: x-y x-y x-y x-y x-y x-y"]),
        (41, ["  name  failed: x-y x-y x-y x-y x-y x-y"]),
        (38, ["  name  failed: x-y x-y x-y x-y x-y", "        x-y"]),
        (37, ["  name", "    failed: x-y x-y x-y x-y x-y x-y"]),
        (30, ["  name", "    failed: x-y x-y x-y x-y", "    x-y x-y"]),
        (9, ["  name", "    failed: x-y x-y x-y", "    x-y x-y x-y"]),
    ],
)
def test_why_there_are_no_figures_is_broken_at_the_width(width: int, lines: list[str]) -> None:
    assert _failure("name", " ".join(["x-y"] * 6), width) == lines


def test_a_tie_is_on_the_front_twice_and_a_worse_one_not() -> None:
    tied = [
        CandidateOutcome("a", 8, step_us=4.0),
        CandidateOutcome("b", 8, step_us=4.0),
        CandidateOutcome("c", 8, step_us=5.0),
    ]
    assert front(tied) == {"a", "b"}
    assert front([*tied, CandidateOutcome("d", 4, step_us=4.0)]) == {"d"}


def test_where_the_marks_of_a_plot_are() -> None:
    picture = ElementTree.fromstring(svg(FIGURES, "p.py"))
    assert picture.get("viewBox") == "0 0 822 478"
    marks = [(mark.get("cx"), mark.get("cy"), mark.get("stroke")) for mark in picture.findall("{*}circle")]
    assert marks == [("70.0", "256.5", BESIDE), ("70.0", "295.9", LINE), ("660.0", "36.0", LINE)]
    lines = [line.get("d") for line in picture.findall("{*}path")]
    assert lines == [f"M70 {y}H660" for y in (414.0, 319.5, 225.0, 130.5, 36.0)]
    words = [(text.get("x"), text.get("y"), text.text) for text in picture.findall("{*}text")][1:]
    assert words == [
        *(("62", f"{418 - 94.5 * number}", f"{2000 * number:,}") for number in range(5)),
        *(("70.0", "432", "8"), ("660.0", "432", "32"), ("660", "450", "devices")),
        *(("80.0", "260.5", "full (does not fit)"), ("80.0", "299.9", "box"), ("670.0", "40.0", "galaxy")),
        ("70", "460", "small: failed"),
    ]
    near = as_rows([CandidateOutcome(name, 8, step_us=us) for name, us in (("a", 1000.0), ("b", 1001.0))])
    texts = [each for each in ElementTree.fromstring(svg(near, "p")).findall("{*}text") if each.text in "ab"]
    assert [float(each.get("y") or 0) for each in texts] == [40.0, 54.0], "names do not meet"
    assert {each.get("x") for each in texts} == {"375.0"}, "a single number of devices is in the middle"


def test_candidates_run_and_one_that_cannot_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["--systems", "n300", "--vary", "n=1,2,4", "--format", "csv", "--", "python", "program.py", "{n}"]
    assert run(["what-if", *words]) == Exit.OK
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    found = {row["candidate"]: row for row in rows}
    assert [found[f"n300 n={n}"]["devices"] for n in (1, 2)] == ["1", "2"]
    assert float(found["n300 n=1"]["step_us"]) > 0
    assert int(found["n300 n=1"]["memory_bytes"]) > 0 and found["n300 n=1"]["fits"] == "True"
    assert found["n300 n=2"]["mesh"] == "1x2" and found["n300 n=2"]["values.n"] == "2"
    assert found["n300 n=4"]["failure"] and not found["n300 n=4"]["step_us"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no program"),
        (["--vary", "mesh", "--", "x"], "--vary mesh"),
        (["--splits", "1x2,2", "--", "x"], "--splits 2"),
        (["--set", "dram.sharded=200,fast", "--", "x"], "'dram.sharded=fast': write KEY=VALUE"),
        (["--set", "dram.shraded=200", "--", "x"], "write --set dram.sharded=200"),
        (["--vary", "n=1,2", "--", "x", "n"], "no word of the program holds {n}"),
        (["--", "x", "--mesh={mesh}"], "--mesh={mesh} gets no value"),
        (["--mesh-shapes", "2x4,1y8", "--", "x", "{mesh}"], "--mesh-shapes 1y8"),
        (["--systems", ",", "--", "x"], "names no system"),
        (["--systems", "n150,galaxi", "--", "x"], "write --systems n150,galaxy;"),
        (["--systems", "t3000;galaxy", "--", "x"], "write --systems t3000,galaxy;"),
        (["--systems", "n150,gone.textproto", "--", "x"], "there is no file gone.textproto"),
        (["--", "gone.json"], "program not found: gone.json"),
    ],
)
def test_options_that_say_nothing(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["what-if", *words]) == Exit.USAGE
    assert said in capsys.readouterr().err


def test_a_script_is_run_by_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    assert run(["what-if", "--", "train.py"]) == Exit.USAGE
    assert "write -- python train.py" in capsys.readouterr().err


def test_a_script_that_is_not_there_is_told_before_the_first_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    assert run(["what-if", "--", "python", "tarin.py"]) == Exit.UNREADABLE
    said = capsys.readouterr().err
    assert "TTR013" in said and "train.py" in said and "1 of" not in said


@pytest.mark.wide
@pytest.mark.parametrize(
    ("values", "shapes"), sweep([((), "on"), (("--values",), "")], quick=[("--values",)])
)
def test_candidates_compute_values_where_they_are_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: tuple[str, ...], shapes: str
) -> None:
    monkeypatch.chdir(tmp_path)
    look = f"import os, pathlib\npathlib.Path('shapes').write_text(os.environ.get({SHAPES_ONLY!r}, ''))\n"
    (tmp_path / "program.py").write_text(look + PROGRAM)
    words = ["--systems", "n150", *values, "--", "python", "program.py", "1"]
    assert run(["what-if", *words]) == Exit.OK
    assert (tmp_path / "shapes").read_text() == shapes


@pytest.mark.wide
def test_a_program_that_wants_values_says_what_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And where it failed; what memory and prediction print at its end is no reason."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM.replace("ttnn.add(x, x)", "assert ttnn.to_torch(x).sum()"))
    assert run(["what-if", "--systems", "n150", "--", "python", "program.py", "1"]) == Exit.FAILED
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"failed: \[0\] AssertionError at program.py:\d+; it reads values", told), told
    assert told.endswith("--values")


def test_a_candidate_that_was_refused_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--systems", "n150", "--hardware", "gone", "--", "python", "-c", "pass"]
    assert run(["what-if", *words]) == Exit.FAILED
    told = " ".join(capsys.readouterr().out.split())
    assert "error[TTR101]: --hardware not found: gone; help: name a file, or one of galaxy," in told


def test_its_own_options_behind_the_program_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").touch()
    assert run(["what-if", "--systems", "n150", "--", "python", "x.py", "--format", "json"]) == Exit.FAILED
    told = "--format json stands after the program, so it goes to python and not to tt-run what-if"
    assert told not in capsys.readouterr().err, "of an empty program nothing is known"
    (tmp_path / "x.py").write_text("import ttnn\n")
    assert run(["what-if", "--systems", "n150", "--", "python", "x.py", "--format", "json"]) == Exit.FAILED
    assert told in capsys.readouterr().err


def test_no_candidate_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["what-if", "--systems", "n150", "--format", "json", "--", "false"]) == Exit.FAILED
    [row] = json.loads(capsys.readouterr().out)
    assert row["failure"]


def test_a_plot_marks_every_candidate_and_joins_the_front(tmp_path: Path) -> None:
    ran = [
        CandidateOutcome("one", 1, step_us=4000.0),
        CandidateOutcome("two <slow>", 2, step_us=5000.0),
        CandidateOutcome("two", 2, step_us=3000.0),
        CandidateOutcome("eight", 8, step_us=1000.0, fits=False),
        CandidateOutcome("nine", failure="too many"),
    ]
    picture = ElementTree.fromstring(svg(as_rows(ran), "python train.py"))
    marks = picture.findall("{*}circle")
    assert len(marks) == 4 and [mark.get("fill") for mark in marks].count("#fff") == 1
    places = {(mark.get("cx"), mark.get("cy")) for mark in marks}
    joined = [tuple(point.split(",")) for point in (picture.find("{*}polyline").get("points") or "").split()]  # type: ignore[union-attr]
    assert len(joined) == 2 and set(joined) <= places
    texts = [text.text or "" for text in picture.findall("{*}text")]
    assert {"one", "two", "two <slow>", "eight (does not fit)", "nine: failed", "1", "2", "8"} <= set(texts)
    first, second, third = sorted({float(mark.get("cx") or 0) for mark in marks})
    assert second - first == pytest.approx(third - second, abs=1.0) and third < float(
        (picture.get("viewBox") or "").split()[2]
    )
    heights = {mark.get("cx"): float(mark.get("cy") or 0) for mark in marks}
    assert heights[max(heights, key=lambda x: float(x or 0))] == min(heights.values()), (
        "the fastest is highest"
    )


@pytest.mark.wide
def test_the_plot_is_written_into_a_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["--systems", "n300", "--plot", "new/plot.svg", "--", "python", "program.py", "1"]
    assert run(["what-if", *words]) == Exit.OK
    assert "--plot: new/plot.svg" in capsys.readouterr().err
    assert ">n300</text>" in (tmp_path / "new" / "plot.svg").read_text()
    (tmp_path / "file").write_text("")
    assert run(["what-if", *words[:2], "--plot", "file/plot.svg", *words[4:]]) == Exit.USAGE
    assert "is a file, not a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("nbytes", "told"),
    [
        (0, "0.00 KiB"),
        (1536, "1.50 KiB"),
        (999 * 2**10, "999.00 KiB"),
        (1000 * 2**10, "1000 KiB"),  # no wider than a column
        (2**20, "1.00 MiB"),
        (2**30 - 1, "1024 MiB"),
        (12 * 2**30, "12.00 GiB"),
        (2000 * 2**30, "2000 GiB"),
    ],
)
def test_an_amount_of_memory_fits_its_column(nbytes: int, told: str) -> None:
    assert capacity(nbytes) == told


@pytest.mark.parametrize(
    ("us", "told"), [(0.5, "0.5 us"), (999.94, "999.9 us"), (1000.0, "1 ms"), (1_234_567.0, "1.235 s")]
)
def test_a_time_has_the_unit_that_suits_it(us: float, told: str) -> None:
    assert duration(us) == told
