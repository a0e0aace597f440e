"""The forecast in words: bounds, shares, the drawing of links, changes that save time, and nothing where nothing ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.hardware.files import load, shipped
from tt_run.hardware.numbers import Hardware, scaled
from tt_run.runtime.model.work import Collective, Kernel, Matmul, Work
from tt_run.runtime.prediction.account import PROGRAM, WorkAccount, as_json, from_json
from tt_run.runtime.prediction.changes import gains, total
from tt_run.runtime.prediction.forecast import forecast, group_of
from tt_run.runtime.prediction.report import _ENDS, LEVELS, Table, _critical, _drawing, _short, _time, report

WORKS: list[Work] = [
    Matmul(32, 2048, 2048, program="1d", grid=(8, 8)),
    Kernel("binary", 64, 1e6),
    Collective("all_gather", 4, 1e6, wire=3e6),
]


@pytest.fixture(scope="module")
def hw() -> Hardware:
    return load(shipped("wormhole")).system("t3000")


@pytest.mark.parametrize("work", WORKS)
def test_works_survive_json(work: Work) -> None:
    assert from_json(as_json(work)) == work


def account() -> WorkAccount:
    found = WorkAccount(0, 0)
    for _ in range(2):
        for work in WORKS:
            found.add(None, "train.py:7", "ttnn.op", work)
        found.close("step AdamW")
    found.add(None, "train.py:9", "ttnn.after", WORKS[1])
    for _ in range(2):
        found.flow("gather", lambda: {(0, 1): 4e6, (1, 0): 1e6})
    return found


def test_steps_are_passes_and_the_rest_is_told_apart(hw: Hardware) -> None:
    found = forecast([account().part()], hw, (2, 4))
    regions = {region.name: region for region in found.regions}
    assert {name: region.passes for name, region in regions.items()} == {
        "step AdamW": 2,
        "after the last step": 1,
    }
    step = regions["step AdamW"]
    assert step.us == pytest.approx(total(hw, [(work, 1) for work in WORKS]))
    assert found.total_us == pytest.approx(2 * step.us + regions["after the last step"].us)


def test_the_report_names_what_bounds_and_draws_the_links(hw: Hardware) -> None:
    said = report(forecast([account().part()], hw, (2, 4)))
    assert said.startswith("Predicted, not measured: wormhole t3000")
    assert "step AdamW" in said
    assert "train.py op" not in said
    assert "train.py:7 op" in said
    assert "M0 D0 -> D1" in said
    assert "   0 ##   1" in said  # the busiest
    assert "error: median and 90th percentile" in said


def test_a_large_mesh_is_listed_not_drawn(hw: Hardware) -> None:
    said = report(forecast([account().part()], hw, (64, 160)))
    assert "M0 D0 -> D1" in said
    assert "share of the busiest link" not in said


@pytest.mark.parametrize("terminal", [60, 80, 120])
@pytest.mark.parametrize("dims", [(2, 4), (8, 4), (2, 11), (16, 16)])
def test_the_report_fits_the_terminal_beside_the_name_of_the_rank(
    hw: Hardware, terminal: int, dims: tuple[int, int]
) -> None:
    found = account()
    for number in range(14):
        site = f"/home/someone/models/demonstrations/llama_70b_galaxy.py:{number}"
        found.add(
            "signpost the_whole_decoder_with_its_sampling",
            site,
            "ttnn.experimental.all_gather_async",
            WORKS[2],
        )
    lines = report(forecast([found.part()], hw, dims), terminal - len("[0] ")).splitlines()
    assert max(map(len, lines)) <= terminal - len("[0] ")
    assert all(line == line.rstrip() for line in lines)
    assert any("share of the busiest link" in line for line in lines) == (dims[1] * 7 - 1 <= terminal - 4)


def test_shorter_set_ups_and_banks_are_offered_where_they_are_what_counts(hw: Hardware) -> None:
    """Of collectives with a set-up of their own too, and of the few rows of any matmul."""
    small = Collective("all_gather", 8, 512.0)
    [best, *_] = gains(hw, [(small, 10)])
    assert best.text.startswith("half the set-up of collectives")
    assert best.saved_us == pytest.approx(
        10 * hw["collectives.async.all_gather.setup"] / hw["chip.clock"] / 2
    )
    few = Matmul(32, 8192, 1024, program="few")
    assert any("DRAM banks" in change.text for change in gains(hw, [(few, 1)]))


def test_no_error_is_claimed_where_nobody_measured(hw: Hardware) -> None:
    found = WorkAccount(0, 0)
    told: dict[str, Work] = {
        "grid": Matmul(1024, 1024, 1024),
        "few": Matmul(32, 2048, 2048, program="few"),
        "batch": Matmul(32, 64, 32, batch=8, program="batched"),
        "add": Kernel("binary", 64, 1e6),
        "permute": Kernel("movement", 64, 1e6),
        "unknown": Kernel("riffle", 64, 1e6),
        "host": Kernel("host", 1, 1e6),
        "gather": Collective("all_gather", 4, 1e6),
        "sum": Collective("all_reduce", 4, 1e6),
        "exchange": Collective("all_to_all", 4, 1e6),
    }
    for name, work in told.items():
        found.add(None, "p.py:1", f"ttnn.{name}", work)
    predicted = forecast([found.part()], hw, (2, 4))
    assert predicted.to_json()["regions"][0]["name"] == PROGRAM
    assert [group_of(hw, Matmul(1024, k, 1024)) for k in (1024, 992)] == ["matmul large", "matmul small"]
    sites = predicted.to_json()["regions"][0]["sites"]
    known = {name.split("ttnn.")[1] for name, share in sites.items() if share["error"] is not None}
    assert known == {"grid", "add", "gather", "sum"}
    classes = predicted.to_json()["regions"][0]["classes"]
    assert classes["matmuls"]["error"] is None  # of some of them nobody knows
    assert "blank where there are none" in report(predicted)


def test_time_beside_other_work_is_counted_by_lane() -> None:
    found = account()
    for us in (2.5, 0.5):
        found.overlap("step AdamW", 0, us)
    assert found.part()["order"][-1][2] == [(0, 3.0)]


def test_ranks_are_told_that_are_on_the_path_or_wait() -> None:
    plan = SimpleNamespace(makespan=100.0, critical={0: 90.0, 1: 0.0, 2: 0.0}, waited={1: 0.5}, unfinished=())
    _, *lines = _critical(SimpleNamespace(schedule=plan, ranks=3))  # type: ignore[arg-type]
    assert [line.split()[1] for line in lines] == ["0", "1"]


def test_one_link_is_drawn() -> None:
    drawn = _drawing(SimpleNamespace(dims=(1, 2), links=[(0, 0, 1, 5.0, 1.0)]))  # type: ignore[arg-type]
    assert drawn[0] == "     0 ##   1"


def test_a_table_is_as_wide_as_it_may() -> None:
    assert sum(Table.within(80)) + _ENDS == 80
    assert _short("abcdefgh.py:123  ttnn.add", 9) == "abcd…:123"


def test_nothing_ran(hw: Hardware) -> None:
    assert report(forecast([WorkAccount(0, 0).part()], hw, (1, 1))).startswith("Nothing to predict")


def test_changes_are_sorted_and_save_what_they_say(hw: Hardware) -> None:
    counted = [(work, 10) for work in WORKS]
    found = gains(hw, counted)
    assert [c.saved_us for c in found] == sorted((c.saved_us for c in found), reverse=True)
    texts = " ".join(change.text for change in found)
    assert "ring" in texts and "channels" in texts and "DRAM banks" in texts
    [alone] = gains(hw, [(Kernel("binary", 1, 100.0, traced=False), 10)])
    assert alone.text.endswith("in a trace")
    doubled = scaled(hw, {"fabric.channels": 2.0})
    saved = next(c.saved_us for c in found if "channels" in c.text)
    assert saved == pytest.approx(total(hw, counted) - total(doubled, counted))
    assert hw["fabric.channels"] == 1


def test_submeshes_run_side_by_side(hw: Hardware) -> None:
    found = WorkAccount(0, 0)
    one, other, both = (found.lane_of(devices) for devices in ((0, 1), (2, 3), (0, 1, 2, 3)))
    for lane in (one, other):
        found.add("trace 0", "p.py:1", "ttnn.add", WORKS[1], lane=lane)
    found.add("trace 0", "p.py:2", "ttnn.all_gather", WORKS[2], lane=both)
    found.add("trace 0", "p.py:3", "ttnn.add", WORKS[1], lane=other)
    predicted = forecast([found.part()], hw, (1, 4))
    expected = total(hw, [(WORKS[1], 2), (WORKS[2], 1)])  # what the devices 2 and 3 have to do
    assert predicted.total_us == pytest.approx(expected)
    assert predicted.schedule.makespan == pytest.approx(expected)
    assert predicted.devices == 4


@pytest.mark.parametrize(
    ("site", "wide", "shown"),
    [
        ("/a/train.py:36  ttnn.matmul", 30, "train.py:36 matmul"),
        ("/a/train.py:36  ttnn.matmul", 16, "train.py:36 mat…"),
        ("/a/hybrid_parallel_trace.py:36  ttnn.matmul", 16, "hybrid_paral…:36"),
        ("/a/hybrid_parallel_trace.py:1234  ttnn.matmul", 16, "hybrid_par…:1234"),
        ("a name without any line", 16, "a name without …"),
    ],
)
def test_a_call_site_keeps_its_line(site: str, wide: int, shown: str) -> None:
    assert _short(site, wide) == shown and len(shown) <= wide


def test_the_picture_of_a_mesh_has_every_link_of_it() -> None:
    links = [
        (1, 0, 1, 80.0, 1.0),
        (1, 1, 0, 20.0, 1.0),
        (1, 3, 2, 40.0, 1.0),
        (1, 2, 4, 10.0, 1.0),
        (1, 1, 3, 60.0, 1.0),
        (0, 4, 5, 80.0, 1.0),
    ]
    found: Any = SimpleNamespace(dims=(3, 2), links=links)
    a, b, c, d = (LEVELS[min(int(share * len(LEVELS)), len(LEVELS) - 1)] for share in (1, 0.5, 0.125, 0.75))
    *drawn, last = _drawing(found)
    assert drawn == [
        f"     0 {a}{a}   1",
        f"  {'':>4}   {d:>4}",
        f"     2 {b}{b}   3",
        f"  {c:>4}",
        "     4      5",
    ]
    assert last.startswith("  share of the busiest link up to: ") and last.endswith(" 100%")


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0.5, "0.5 us"),
        (999.0, "999 us"),
        (1000.0, "1 ms"),
        (1234.5, "1.23 ms"),
        (999_900.0, "1e+03 ms"),
        (1e6, "1 s"),
        (2.5e9, "2500 s"),
    ],
)
def test_times_have_a_unit(us: float, text: str) -> None:
    assert _time(us) == text
