"""Which faults the ranks of a plan cannot have, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tt_run.cli.faults import _are_neighbours, _of_file, _unfit
from tt_run.errors import InputError
from tt_run.faults import read_fault
from tt_run.plan.model import LaunchPlan, RankPlan


def plan(ranks: int = 2, hosts: tuple[str, ...] = (), rows: int = 2, columns: int = 4) -> LaunchPlan:
    """A mesh over so many ranks, each with some of its columns."""
    share = columns // ranks
    made = tuple(
        RankPlan(
            rank,
            ("prog",),
            {},
            mesh_id=0,
            devices=tuple((r, c) for r in range(rows) for c in range(rank * share, (rank + 1) * share)),
            host=hosts[rank] if hosts else None,
        )
        for rank in range(ranks)
    )
    return LaunchPlan(made, ("prog",), Path("/"))


HERE = os.uname().nodename


@pytest.mark.parametrize(
    ("fault", "emulated", "made", "why"),
    [
        ("kill=rank:1,call=3", True, plan(), ""),
        ("kill=rank:2,call=3", True, plan(), "there is no rank 2; the job has ranks 0 to 1"),
        ("kill=rank:1,op=add", True, plan(1), "there is no rank 1; the job has rank 0 alone"),
        ("kill=host:h2,after=1s", False, plan(2, ("h1", "h2")), ""),
        ("kill=host:h3,after=1s", False, plan(2, ("h1", "h2")), "no rank is planned on host h3; there are h1, h2"),
        ("kill=host:h3,after=1s", False, plan(), f"no rank is planned on host h3; there are {HERE}"),
        ("cut=host:h1", True, plan(2, ("h1", "h2")), ""),
        ("cut=host:h1", True, plan(2, ("h1", "h1")), "all ranks are on h1: nothing goes between there and others; name a rank or a link"),
        ("kill=rank:1,call=3", False, plan(), "without --emulate nobody counts calls or sees tensors and links: kill can come at a time, as after=2s or mtbf=30s"),
        ("flip=rank:1,call=3", False, plan(), "flip is a fault of emulated ranks: add --emulate"),
        ("kill=rank:0,call=3", True, plan(1), "a rank alone makes no calls with others: op=*,nth=12 counts its operations"),
        ("cut=link:1-2", True, plan(), ""),
        ("cut=link:3-4", True, plan(), "devices 3 and 4 have no link: a 2x4 mesh has devices 0 to 7, row by row; device 3 has links to 0, 2, 7"),
        ("cut=link:8-9", True, plan(), "devices 8 and 9 have no link: a 2x4 mesh has devices 0 to 7, row by row"),
        ("kill=rank:1,op=all_gathr", True, plan(), "no operation is called all_gathr: did you mean op=all_gather?"),
    ],
)  # fmt: skip
def test_what_a_plan_cannot_have(fault: str, emulated: bool, made: LaunchPlan, why: str) -> None:
    assert _unfit(read_fault(fault), emulated, made) == why


def test_faults_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    with pytest.raises(InputError, match="file of faults not found"):
        _of_file(path)
    path.write_text("faults:\n- kill=rank:1,call=12\n")
    assert _of_file(path) == ["kill=rank:1,call=12"]


@pytest.mark.parametrize(
    ("link", "shape", "linked"),
    [
        ((0, 1), (4, 4), True),
        ((0, 4), (4, 4), True),
        ((0, 3), (4, 4), True),  # both ends of a row, which may be a ring
        ((0, 12), (4, 4), True),
        ((0, 2), (4, 4), False),
        ((0, 8), (4, 4), False),
        ((0, 5), (4, 4), False),  # across a corner
        ((3, 4), (4, 4), False),  # the end of a row and the begin of the next
        ((15, 16), (4, 4), False),
        ((15, 14), (4, 4), True),
        ((0, 3), (3, 4), True),
        ((0, 8), (3, 4), True),
        ((0, 2), (3, 4), False),
        ((0, 12), (5, 4), False),
        ((0, 3), (4, 5), False),
        ((0, 4), (2, 5), True),
    ],
)
def test_devices_side_by_side_or_at_both_ends_are_linked(
    link: tuple[int, int], shape: tuple[int, int], linked: bool
) -> None:
    assert _are_neighbours(link, shape) is linked
