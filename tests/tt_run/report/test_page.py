"""The page of a real run: what stands in it, what must not, and what it says of records that are not there."""

from __future__ import annotations

import json
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mgd.resources import configs_root
from tests.tt_run.report.conftest import SECRET, Reported
from tt_run.cli.main import run
from tt_run.contract import Exit
from tt_run.report.page import render
from tt_run.supervise.looking.runs import find_runs, read_run

ROOT = Path(__file__).resolve().parents[3]
VOID = {"meta", "input", "rect", "path", "line", "circle", "polyline", "polygon", "br", "img", "hr"}


class Shape(HTMLParser):
    """Which elements are open where, and the ids and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        self.links += [str(found[name]) for name in ("href", "src") if name in found]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_every_section_is_filled(reported: Reported) -> None:
    text = reported.page.read_text(encoding="utf-8")
    assert 'class="lack"' not in text
    for part in (
        "ValueError: so &lt;/pre&gt;",
        "began it",
        "all_gather</code>",
        "co.py:12",
        'data-name="loss"',
        'data-name="tokens/s"',
        "DRAM of rank",
        "of device time on wormhole t3000",
        "Nothing but what tells the ranks apart.",
        "TT_MESH_HOST_RANK",
        "✗ rank 0",
        "--report",
    ):
        assert part in text, part
    drawn = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])  # type: ignore[index]
    assert [each["rank"] for each in drawn["ranks"]] == [0, 1]
    assert len(drawn["flows"]) == 13 + 1
    assert {each["name"] for each in drawn["counters"]} == {
        "DRAM bytes in use, fullest device",
        "links bytes in flight",
    }


def test_every_section_is_led_to_and_documented() -> None:
    page = (ROOT / "tt_run/report/page.html").read_text(encoding="utf-8")
    led_to = dict(re.findall(r'\("(\w+)", "([\w ]+)"\)', page.partition("</nav>")[0]))
    sections = set(re.findall(r'<section id="(\w+)"', page))
    assert sections == set(led_to), (
        f"the list in nav of page.html and its sections differ: {sections ^ set(led_to)}"
    )
    told = (ROOT / "docs/report.md").read_text(encoding="utf-8")
    missing = [title for title in led_to.values() if f"| {title} |" not in told]
    assert not missing, f"write rows of the table in docs/report.md for {missing}"


def test_it_is_whole_and_loads_nothing(reported: Reported) -> None:
    text = reported.page.read_text(encoding="utf-8")
    shape = Shape()
    shape.feed(text)
    assert shape.open == []
    assert len(set(shape.ids)) == len(shape.ids)
    assert all(link.startswith("#") and link[1:] in shape.ids for link in shape.links)
    style_and_script = re.sub(r"http://www\.w3\.org/\S+", "", text)
    assert not re.search(r"url\(|@import|import\(|fetch\(|XMLHttp", style_and_script)
    assert "<script>window.hacked" not in text and "<img" not in text


def test_secrets_and_terminal_codes_are_not_in_it(reported: Reported) -> None:
    text = reported.page.read_text(encoding="utf-8")
    assert "REPORT_TOKEN" in text and SECRET not in text
    assert "written-out-123" not in text and "user:pass" not in text
    assert "\x1b" not in text and "\x00" not in text
    assert "\nred bar 1\nbar 2 REPORT_API_KEY=********" in text


def test_the_command_makes_the_same_page(
    reported: Reported,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(reported.folder)
    assert run(["report"]) == Exit.OK
    [one] = find_runs(reported.folder / "tt-run-logs")
    assert capsysbinary.readouterr().out.decode().strip() == str(one.folder.path / "report.html")
    assert run(["report", one.name[:8], "-o", "-"]) == Exit.OK
    assert capsysbinary.readouterr().out == reported.page.read_bytes()
    assert run(["report", "-o", str(tmp_path)]) == Exit.USAGE
    assert b"TTR036" in capsysbinary.readouterr().err
    assert run(["report", "-o", str(tmp_path / "new" / "page.html")]) == Exit.OK
    assert (tmp_path / "new" / "page.html").stat().st_size
    assert run(["report", "1999"]) == Exit.USAGE


def test_records_of_another_run_are_not_taken(reported: Reported, tmp_path: Path) -> None:
    """The files that options name are overwritten by the next run with the same line."""
    [one] = find_runs(reported.folder / "tt-run-logs")
    copy = tmp_path / one.name
    shutil.copytree(one.folder.path, copy)
    plan = json.loads((copy / "plan.json").read_text())
    ledger = tmp_path / "ledger.json"
    shutil.copy(reported.folder / "ledger.json", ledger)
    os.utime(ledger, (plan["ended"] + 3600,) * 2)
    cut = tmp_path / "cut.json"
    cut.write_text('{"traceEvents": [')
    os.utime(cut, (plan["ended"],) * 2)
    for rank in plan["ranks"]:
        rank["env"] |= {"TT_RUN_LEDGER": str(ledger), "TT_RUN_TIMELINE": str(cut), "TT_RUN_PREDICT": ""}
        rank["env"]["TT_MESH_GRAPH_DESC_PATH"] = str(tmp_path / "gone.textproto")
    (copy / "plan.json").write_text(json.dumps(plan))
    text = render(read_run(copy)).decode()
    assert "ledger.json is of another run" in text
    assert "cut.json is not whole" in text
    assert "Run with --predict to record it." in text
    assert "gone.textproto cannot be drawn" in text


def test_runs_without_an_end_or_a_plan(tmp_path: Path) -> None:
    folder = tmp_path / "20260101-000000-4194301"
    (folder / "launch").mkdir(parents=True)
    (folder / "rank-0000.status").write_text("rank=0\nhost=here\npid=4194301\nstart=99\n")
    (folder / "rank-0000.out").write_bytes("grüße \udcff\n".encode("utf-8", "surrogatepass"))
    text = render(read_run(folder)).decode()
    assert "no verdict" in text and "its launcher is gone" in text and "grüße" in text
    assert text.count('class="lack"') > 5
    assert "left no record of its end" in text and "named no mesh graph descriptor" not in text
    live = f"rank=0\nhost=here\npid={os.getpid()}\nstart=99\n"
    (folder / "rank-0000.status").write_text(live)
    text = render(read_run(folder)).decode()
    assert "left no record of its end" not in text and "<td>runs" in text and "1 of 1 ranks running" in text
    emulation = "/x/tt_run/runtime/guard/watch.py:7 in wait"
    stacks = [
        {"rank": n, "frames": ["a.py:1 in f"] if n == 2 else [emulation, "b.py:2 in g: ccl()"]}
        for n in range(4)
    ]
    plan = {"verdict": {"exit_code": 0}, "ranks": [], "emulate": False, "stacks": stacks}
    (folder / "plan.json").write_text(json.dumps(plan))
    text = render(read_run(folder)).decode()
    assert "<pre>rank 2\n  a.py:1 in f\nranks 0-1, 3\n  b.py:2 in g: ccl()</pre>" in text
    assert text.index("<summary>rank 2</summary>") < text.index("<summary>ranks 0–1, 3</summary>")
    assert "succeeded" in text and "Only emulated ranks record it: run with --emulate --ledger FILE." in text


def test_a_run_that_goes_on_has_its_plan_and_its_topology(tmp_path: Path) -> None:
    folder = tmp_path / "20260101-000000-1"
    (folder / "launch").mkdir(parents=True)
    (folder / "rank-0000.status").write_text(f"rank=0\nhost=here\npid={os.getpid()}\nstart=99\n")
    mesh, old = configs_root() / "mgd/t3k_2x4_two_hosts.textproto", tmp_path / "old.json"
    old.write_text("{}")  # of an earlier run with the same line
    env = {"TT_MESH_GRAPH_DESC_PATH": str(mesh), "TT_RUN_LEDGER": str(old)}
    ranks = [{"rank": 0, "mesh_id": 0, "mesh_host_rank": 0, "env": env}]
    plan = {"ranks": ranks, "emulate": True, "line": ["tt-run", "x.py"], "findings": []}
    (folder / "plan.json").write_text(json.dumps(plan))
    text = render(read_run(folder)).decode()
    assert "no verdict" in text and "1 of 1 ranks running" in text and "tt-run x.py" in text
    assert "<svg" in text and "it is read when the run ends" in text
    assert "Run with --timeline FILE to record it." in text


def test_faults_that_never_came_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "20260101-000000-1"
    folder.mkdir()
    (folder / "rank-0000.status").write_text("rank=0\nhost=h\npid=1\nstart=99\nend=100\nexit=0\n")
    for asked, told in (
        ("raise=rank:0,call=9", "never happened: no rank came to what raise=rank:0,call=9 names"),
        ("kill=rank:0,after=9s", "never happened: the run ended before the time of kill=rank:0,after=9s"),
        ("nonsense", "succeeded"),
    ):
        ranks = [{"rank": 0, "env": {"TT_RUN_INJECT": asked}}]
        (folder / "plan.json").write_text(json.dumps({"verdict": {"exit_code": 0}, "ranks": ranks}))
        text = render(read_run(folder)).decode()
        assert told in text and ("Faults on purpose" in text) is (asked != "nonsense")


def test_a_large_run_stays_a_small_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "20260101-000000-1"
    (folder / "launch").mkdir(parents=True)
    size = 100
    for rank in range(size):
        (folder / f"rank-{rank:04d}.status").write_text(
            f"rank={rank}\nhost=h{rank % 9}\npid=1\nstart=99\nend=100\nexit=0\n"
        )
    spans = [
        {
            "ph": "X",
            "name": f"op {n % 70}",
            "cat": "op",
            "pid": rank,
            "tid": 0,
            "ts": n * 10,
            "dur": 5 + n % 3,
            "args": {"site": f"a.py:{n}"},
        }
        for n in range(300)
        for rank in range(size)
    ]
    trace = tmp_path / "timeline.json"
    trace.write_text('{"traceEvents": [\n' + ",\n".join(map(json.dumps, spans)) + "\n]}\n")
    monkeypatch.setattr("tt_run.report.sources.MOST_EVENTS", 20_000)
    ranks = [
        {
            "rank": rank,
            "mesh_id": 0,
            "mesh_host_rank": rank,
            "env": {"TT_RUN_TIMELINE": str(trace), "X": str(rank)},
        }
        for rank in range(size)
    ]
    plan = {
        "verdict": {"exit_code": 1, "culprit": 95, "sentence": "rank 95 failed"},
        "emulate": True,
        "ranks": ranks,
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    page = render(read_run(folder))
    assert len(page) < 2_000_000
    text = page.decode()
    assert re.search(r"1[12],\d\d\d of 20,000 slices are drawn", text)
    assert "10,000 events of the record, the last" in text
    assert "64 of 100 ranks are drawn" in text and "and 88 further values" in text
    drawn = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])  # type: ignore[index]
    assert drawn["ranks"][-1]["rank"] == 95


def test_a_rank_that_was_ended_on_its_way_out_says_its_exception(tmp_path: Path) -> None:
    folder = tmp_path / "20260101-000000-1"
    folder.mkdir()
    (folder / "rank-0000.status").write_text("rank=0\nhost=h\npid=1\nstart=99\nend=100\nsignal=15\n")
    failure = {"exception": "ValueError", "message": "no weights", "file": "a.py", "line": 9}
    outcomes = [{"rank": 0, "part": "culprit", "failure": failure}]
    records = {"ranks": [{"rank": 0, "env": {"TT_RUN_LEDGER": str(tmp_path / "none.json")}}], "emulate": True}
    plan = {"verdict": {"exit_code": 1, "culprit": 0}, "outcomes": outcomes, **records}
    (folder / "plan.json").write_text(json.dumps(plan))
    text = render(read_run(folder)).decode()
    assert "raised ValueError, then was killed by SIGTERM" in text
    assert "none.json at their end, which they did not reach" in text
