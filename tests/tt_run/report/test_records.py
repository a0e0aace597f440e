"""What a page makes of records: the numbers of made-up ones, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.report import curves, outcome, slices, surroundings, topology
from tt_run.report.sources import Recorded, Sources, _is_of_run

CLEAN: Any = str


def sources(**records: Any) -> Sources:
    """A run of which nothing but these records is there."""
    told = {
        name: Recorded(records.pop(name, None)) for name in ("ledger", "timeline", "memory", "prediction")
    }
    return Sources(records.pop("run", None), records.pop("plan", {}), **told)


def test_host_blocks_are_named_by_what_the_plan_says() -> None:
    """A plan that a crash has cut names some of them, or none."""
    statuses = [SimpleNamespace(rank=0, host="one"), SimpleNamespace(rank=1, host="two")]
    ranks = [{"rank": 0, "mesh_id": 0, "mesh_host_rank": 0}, {"rank": 1, "mesh_id": 0, "mesh_host_rank": 1}]
    plan = {"ranks": ranks, "verdict": {"culprit": 1}}
    found = sources(run=SimpleNamespace(ranks=statuses), plan=plan)
    assert topology._labels(found) == {(0, 0): "rank 0 on one", (0, 1): "✗ rank 1 on two"}
    del ranks[0]["mesh_id"], ranks[1]["mesh_host_rank"]
    assert topology._labels(found) == {}


def test_bytes_of_links_are_both_directions_and_those_between_meshes_both_ways() -> None:
    plan = {"ranks": [{"rank": rank, "mesh_id": rank // 2} for rank in range(4)]}
    links = [
        {"mesh": 0, "from": 1, "to": 0, "bytes": 5, "messages": 2},
        {"mesh": 0, "from": 0, "to": 1, "bytes": 7, "messages": 1},
        {"mesh": 1, "from": 2, "to": 3, "bytes": 1, "messages": 1},
    ]
    between = [
        {"from": 0, "to": 3, "bytes": 10},
        {"from": 2, "to": 1, "bytes": 4},
        {"from": 0, "to": 1, "bytes": 99},
        {"from": 8, "to": 9, "bytes": 50},  # of ranks that the plan does not have
    ]
    traffic = topology._bytes(sources(ledger={"links": links, "between": between}, plan=plan))
    assert traffic is not None
    assert (dict(traffic.inside), dict(traffic.between)) == ({(0, 0, 1): 12, (1, 2, 3): 1}, {(0, 1): 14})
    assert topology._bytes(sources()) is None
    rows = topology.busiest(sources(ledger={"links": links}, prediction={"links": [{**links[0], "us": 3.5}]}))
    assert rows == [
        ("mesh 0: 0 → 1", 7, 1, None),
        ("mesh 0: 1 → 0", 5, 2, 3.5),
        ("mesh 1: 2 → 3", 1, 1, None),
    ]


def test_without_a_ledger_the_busiest_links_are_those_of_the_prediction() -> None:
    links = [{"mesh": 0, "from": 9 - n, "to": n, "us": us} for n, us in enumerate((1.0, 3.0, 2.0))]
    rows = topology.busiest(sources(prediction={"links": links}))
    assert rows == [
        ("mesh 0: 8 → 1", 0, 0, 3.0),
        ("mesh 0: 7 → 2", 0, 0, 2.0),
        ("mesh 0: 9 → 0", 0, 0, 1.0),
    ]
    many = [{"mesh": 0, "from": n, "to": n + 1, "us": 1} for n in range(topology.MOST_LINKS + 1)]
    assert len(topology.busiest(sources(prediction={"links": many}))) == topology.MOST_LINKS


@pytest.mark.parametrize(
    ("us", "amount", "unit"),
    [(999.0, 999.0, "µs"), (1e3, 1.0, "ms"), (999e3, 999.0, "ms"), (1e6, 1.0, "s"), (2e6, 2.0, "s")],
)
def test_predicted_time_of_links_has_a_unit_that_fits(us: float, amount: float, unit: str) -> None:
    traffic = topology._predicted(sources(prediction={"links": [{"mesh": 0, "from": 1, "to": 0, "us": us}]}))
    assert traffic is not None and traffic.unit == unit
    assert traffic.inside[0, 0, 1] == pytest.approx(amount)


def test_a_prediction_by_region_and_what_would_gain() -> None:
    told = {
        "architecture": "wormhole",
        "system": "t3000",
        "total_us": 200,
        "critical_path": {"makespan_us": 150},
        "changes": [{"text": "twice the links", "saved_us": 50}],
        "regions": [
            {
                "name": "step",
                "passes": 4,
                "classes": {"matmul": {"calls": 2, "us": 10, "bound": "compute"}, "eltwise": {"us": 3}},
            },
            {"name": "start", "classes": {"copy": {"calls": 1, "us": 30}}},
        ],
    }
    found = topology.prediction(sources(prediction=told), CLEAN)
    assert found == {
        "system": "wormhole t3000",
        "total_us": 200,
        "makespan_us": 150,
        "changes": [("twice the links", 0.25)],
        "rows": [
            ("step", "matmul", 2, 10, 4, "compute"),
            ("start", "copy", 1, 30, 1, ""),
            ("step", "eltwise", 0, 3, 4, ""),
        ],
    }
    nothing = topology.prediction(sources(prediction={"changes": told["changes"]}), CLEAN)
    assert nothing is not None and nothing["changes"] == [("twice the links", 0.0)] and not nothing["rows"]


def test_collectives_that_moved_most_come_first_with_a_dozen_sites() -> None:
    def entry(name: str, link_bytes: int, sites: int) -> dict[str, Any]:
        where = {f"f{number}.py:{number}": number for number in range(sites)}
        return {"name": name, "axis": 1, "devices": 4, "calls": 2, "bytes": 8, "link_bytes": link_bytes, "messages": 6, "sites": where}  # fmt: skip

    ledger = {"collectives": [entry("small", 1, 1), entry("large", 9, 13)]}
    found = topology.collectives(sources(ledger=ledger), CLEAN)
    assert [(each["name"], each["link_bytes"], len(each["sites"])) for each in found] == [
        ("large", 9, 12),
        ("small", 1, 1),
    ]
    assert found[1]["sites"] == [("f0.py:0", "f0.py:0", 0)]


def test_host_blocks_are_labelled_by_rank_host_and_failure() -> None:
    def labels(hosts: list[str]) -> dict[tuple[int, int], str]:
        ranks = [{"rank": n, "mesh_id": n, "mesh_host_rank": n + 5} for n in range(2)] + [{"rank": 2}]
        run = SimpleNamespace(ranks=[SimpleNamespace(rank=n, host=host) for n, host in enumerate(hosts)])
        return topology._labels(sources(run=run, plan={"ranks": ranks, "verdict": {"culprit": 1}}))

    assert labels(["a", "b", "b"]) == {(0, 5): "rank 0 on a", (1, 6): "✗ rank 1 on b"}
    assert labels(["a", "a", "a"]) == {(0, 5): "rank 0", (1, 6): "✗ rank 1"}


def held(**more: Any) -> dict[str, Any]:
    return {"memory": "DRAM", "devices": [0, 1], "peak": 3 << 20, "size": 4 << 20, "at_end": 0, **more}


def test_memory_of_ranks_that_are_alike_is_one_the_fullest_first() -> None:
    parts = [
        {"rank": 0, "moments": 2, "sets": [held(bank_peak=1, bank_size=4), held(devices=[7], peak=4 << 20)]},
        {"rank": 1, "moments": 2, "sets": [held(bank_peak=1, bank_size=4, fits=False)]},
    ]
    found, left_out = curves.memory(sources(memory=parts), CLEAN)
    assert left_out == 0
    assert [each["fits"] for each in found] == [True, True], "what says nothing else fits"
    assert [(each["title"], each["share"]) for each in found] == [
        ("DRAM of rank 0, device 7", 0.0),
        ("DRAM of ranks 0–1, 2 devices each (0–1 of rank 0)", 0.25),
    ]
    many = [{"rank": 0, "sets": [held(peak=n) for n in range(curves.MOST_SETS + 2)]}]
    found, left_out = curves.memory(sources(memory=many), CLEAN)
    assert (len(found), left_out) == (curves.MOST_SETS, 2)


def event(kind: str, rank: int, ts: float, **more: Any) -> dict[str, Any]:
    return {"ph": kind, "pid": rank, "tid": 0, "ts": ts, **more}


def test_a_timeline_adds_up_calls_and_waits() -> None:
    events = [
        event("X", 0, 0.0, dur=4000.0, name="matmul", cat="op", args={"site": "a.py:1"}),
        event("X", 0, 1000.0, dur=1000.0, name="add", cat="op", args={"site": "a.py:2"}),
        event("X", 0, 5000.0, dur=2000.0, name="all_gather", cat="collective"),
        event("X", 0, 6000.0, dur=500.0, name="wait", cat="wait"),
        event("X", 1, 0.0, dur=1000.0, name="matmul", cat="op", args={"site": "b.py:1"}),
        event("X", 1, 2000.04, dur=3000.06, name="recv", cat="recv"),
        event("s", 0, 100.0, id=1),
        event("f", 1, 300.0, id=1, cat="message"),
        event("s", 1, 100.0, id=2),
        event("f", 0, 900.0, id=2, cat="collective"),
        event("f", 0, 900.0, id=3, cat="message"),
        event("C", 0, 1.0, name="DRAM", args={"bytes": 5}),
        event("C", 1, 1.0, name="DRAM", args={"bytes": 0}),
    ]
    found = slices.timeline(sources(timeline={"traceEvents": events}), CLEAN)
    assert found is not None and found.note == ""
    assert found.operations == (
        ("matmul", "a.py:1", 2, 5.0, 2.5),
        ("recv", "", 1, 3.00006, 3.00006),
        ("all_gather", "", 1, 2.0, 2.0),
        ("add", "a.py:2", 1, 1.0, 1.0),
        ("wait", "", 1, 0.5, 0.5),
    )
    assert found.ranks[0] == (0, 7.0, 6.0, 2.0, 0.5)
    assert found.ranks[1] == pytest.approx((1, 5.0001, 4.00006, 0.0, 3.00006))
    assert found.drawn["flows"] == [[1, 100.0, 0, 900.0, 0], [0, 100.0, 1, 300.0, 1]]
    assert found.drawn["counters"] == [{"name": "DRAM bytes", "rank": 0, "points": [[1.0, 5]]}]
    first = found.drawn["ranks"][0]["slices"][0]
    assert found.drawn["ranks"][1]["slices"][1][:2] == [2000.0, 3000.1], "tenths of microseconds"
    assert (first[:3], found.drawn["texts"][first[3]]) == ([0.0, 4000.0, slices.KINDS.index("op")], "matmul")


def test_a_timeline_says_what_is_not_drawn() -> None:
    ranks = slices.MOST_RANKS + 1
    events = [event("X", rank, float(n), dur=1.0, name="add") for rank in range(ranks) for n in range(190)]
    told = {"traceEvents": events, "left_out": 3, "otherData": {"events not kept": {"0": 4, "1": 1}}}
    found = slices.timeline(sources(timeline=told, plan={"verdict": {"culprit": ranks - 1}}), CLEAN)
    assert found is not None
    share = slices.MOST_SLICES // slices.MOST_RANKS
    assert found.note == (
        f"{share * 64:,} of {ranks * 190:,} slices are drawn, the longest of each rank; the tables below count all; "
        "64 of 65 ranks are drawn; 3 events of the record, the last, are too many for a page; 5 later events were not recorded."
    )
    assert [each["rank"] for each in found.drawn["ranks"]] == [*range(63), 64]
    assert all(len(each["slices"]) == share for each in found.drawn["ranks"])


def test_curves_are_those_of_lines_with_a_step(tmp_path: Path) -> None:
    run = SimpleNamespace(
        ranks=[SimpleNamespace(rank=rank) for rank in range(3)],
        folder=SimpleNamespace(
            out=lambda rank: tmp_path / f"{rank}.out", err=lambda rank: tmp_path / f"{rank}.err"
        ),
    )
    for rank, last in ((0, "1.5"), (1, "1.5"), (2, "1.25")):
        lines = ["step 1 loss: 2.0 lr: 0.1", f"step 2 loss: {last}", "loss: 9"]
        (tmp_path / f"{rank}.out").write_text("\n".join(lines[::-1] if rank == 1 else lines))
    [(title, _, note)] = curves.training(sources(run=run), CLEAN)
    assert title == "loss"
    assert note == "loss, rank 0–1: 2 at step 1, 1.5 at step 2; loss, rank 2: 2 at step 1, 1.25 at step 2"


@pytest.mark.parametrize(
    ("written", "is_own"),
    [(98.9, False), (99.0, True), (100.0, True), (250.0, True), (280.0, True), (280.1, False)],
)
def test_a_record_is_of_a_run_from_its_start_until_half_a_minute_after_its_end(
    written: float, is_own: bool
) -> None:
    """File systems may keep whole seconds."""
    assert _is_of_run(written, {"started": 100.0, "ended": 250.0}) is is_own
    assert _is_of_run(written, {"started": 100.0}) and _is_of_run(written, {"ended": None, "started": 1.0})


@pytest.mark.parametrize(
    ("count", "fact"),
    [
        (1, ("host", "h0")),
        (4, ("hosts", "h0, h1, h2, h3")),
        (5, ("hosts", "h0, h1, h2, h3 and 1 more")),
        (7, ("hosts", "h0, h1, h2, h3 and 3 more")),
    ],
)
def test_the_first_hosts_are_facts_and_the_others_counted(count: int, fact: tuple[str, str]) -> None:
    statuses = [SimpleNamespace(rank=n, host=f"h{n}") for n in range(count)]
    run = SimpleNamespace(ranks=statuses, began=0.0, state="ended", verdict={"exit_code": 3, "attempts": 2})
    facts = outcome._facts(sources(run=run, plan={"started": 10.0, "ended": 12.5, "emulate": True}))
    assert facts[1:] == [
        *(("took", "2.5 s"), ("ranks", str(count)), fact, ("on", "the emulation")),
        *(("exit code", "3"), ("attempts", "2")),
    ]


def test_ranks_have_the_host_that_they_said_or_else_that_of_the_plan() -> None:
    def status(rank: int, host: str) -> SimpleNamespace:
        return SimpleNamespace(
            rank=rank, host=host, start=1.0, end=2.5, signal=None, outcome=lambda: "exited"
        )

    run = SimpleNamespace(ranks=[status(0, "said"), status(1, ""), status(2, "")], state="ended")
    plan = {"ranks": [{"rank": n, "host": "planned", "mesh_id": n, "mesh_host_rank": 0} for n in range(2)]}
    plan["ranks"][1]["devices"] = [[0, 2], [0, 3]]
    assert outcome._ranks(sources(run=run, plan=plan)) == [
        (0, "said", 0, 0, "", "exited", "", 1.5),
        (1, "planned", 1, 0, "1x2 from (0, 2)", "exited", "", 1.5),
        (2, "", "", "", "", "exited", "", 1.5),
    ]


def test_ranks_that_stand_in_one_place_are_told_together_the_odd_ones_first() -> None:
    stacks = [{"rank": rank, "frames": ["a", "b"] if rank else ["c"]} for rank in range(3)]
    told = outcome._stacks(sources(plan={"stacks": [*stacks, {"rank": 5}]}))
    assert told == [
        ("rank 0", "c"),
        ("rank 5", "no stack: not a Python program, or it did not answer"),
        ("ranks 1–2", "a\nb"),
    ]


def test_ranks_that_are_at_fault_together_are_told_so() -> None:
    statuses = [
        SimpleNamespace(
            rank=n, host="h", start=None, end=None, signal=15 if n else None, outcome=lambda: "ended"
        )
        for n in range(3)
    ]
    failure = {"exception": "GuardError", "guard": {"code": "TTG001", "culprits": [0, 1]}}
    outcomes = [
        {"rank": n, "part": part, "failure": failure} for n, part in enumerate(["culprit", "", "victim"])
    ]
    plan = {"verdict": {"culprit": 0}, "outcomes": outcomes}
    run = SimpleNamespace(ranks=statuses, verdict={"culprit": 0}, state="ended")
    told = [(row[5], row[6]) for row in outcome._ranks(sources(run=run, plan=plan))]
    assert told == [("ended", "together"), ("raised GuardError, then ended", "together"), ("ended", "victim")]


def test_of_very_many_ranks_those_that_matter_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ["", "victim", "lost", "follower", "culprit"]
    statuses = [
        SimpleNamespace(rank=n, host="h", start=None, end=None, signal=None, outcome=lambda: "exited")
        for n in range(5)
    ]
    plan = {"outcomes": [{"rank": n, "part": part} for n, part in enumerate(parts)]}
    told = sources(run=SimpleNamespace(ranks=statuses, state="ended"), plan=plan)
    assert [row[0] for row in outcome._ranks(told)] == [0, 1, 2, 3, 4]
    monkeypatch.setattr(outcome, "MOST_RANKS", 4)
    assert [row[0] for row in outcome._ranks(told)] == [4, 3, 2, 1, 0]


def test_a_variable_that_ranks_do_not_share_is_told_by_value_and_where_it_is_not_set() -> None:
    ranks = [{"rank": n, "env": {"SAME": "1", **({"MODE": "fast"} if n else {})}} for n in range(3)]
    ranks[0]["env_origin"] = {"SAME": "--env"}
    found = surroundings.environment(sources(plan={"ranks": ranks}), CLEAN)
    assert found == {
        "differing": [("MODE", [("not set", "0", True), ("fast", "1–2", False)], 0)],
        "designed": [],
        "common": [("SAME", "1", "--env")],
        "inherited": [],
    }
