"""What a replay computes itself of MPI, what memory an argument means, and how much of it is sent."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.record.mpi.buffers import Unseen, memory_of, sent_digest
from tt_run.runtime.record.mpi.calls import NotRecorded
from tt_run.runtime.record.mpi.local import UNDEFINED, Datatype, Grid, Group
from tt_run.runtime.record.mpi.replayed import NoParts, ReplayedError
from tt_run.runtime.record.mpi.windows import ReplayedWindow
from tt_run.runtime.record.play import words_of
from tt_run.runtime.record.replaying import raised_again

WORLD = Group(range(6), 2)
DOUBLE = Datatype(8, 8, "DOUBLE")


@pytest.mark.parametrize(
    ("group", "ranks", "rank"),
    [
        (WORLD.Incl([4, 2]), (4, 2), 1),
        (WORLD.Excl([0, 2]), (1, 3, 4, 5), UNDEFINED),
        (WORLD.Range_incl([(0, 4, 2)]), (0, 2, 4), 1),
        (WORLD.Range_incl([(4, 0, -2)]), (4, 2, 0), 1),
        (WORLD.Range_excl([(0, 1, 1)]), (2, 3, 4, 5), 0),
        (Group.Union(WORLD.Incl([3, 1]), WORLD.Incl([1, 2])), (3, 1, 2), 2),
        (Group.Intersection(WORLD.Incl([3, 1]), WORLD.Incl([1, 2])), (1,), UNDEFINED),
        (Group.Difference(WORLD.Incl([3, 1]), WORLD.Incl([1, 2])), (3,), UNDEFINED),
    ],
)
def test_groups(group: Group, ranks: tuple[int, ...], rank: int) -> None:
    assert (group.ranks, group.Get_rank(), group.size) == (ranks, rank, len(ranks))


def test_places_of_a_group_in_another() -> None:
    odd = WORLD.Incl([5, 3, 1])
    assert odd.Translate_ranks([0, 2], WORLD) == [5, 1] and WORLD.Translate_ranks(None, odd)[:2] == [
        UNDEFINED,
        2,
    ]
    assert Group.Compare(odd, odd.Dup()) == 0 and Group.Compare(odd, WORLD.Incl([1, 3, 5])) == 2


def test_grids() -> None:
    grid = Grid([2, 3], [True, False], nowhere=-2)
    assert [grid.coords(rank) for rank in (0, 2, 5)] == [[0, 0], [0, 2], [1, 2]]
    assert grid.rank([3, 1]) == 4
    assert (grid.shift(1, 0, 1), grid.shift(0, 1, 1)) == ((4, 4), (-2, 1))


@pytest.mark.parametrize(
    ("kind", "size", "extent"),
    [
        (DOUBLE.Create_contiguous(3), 24, 24),
        (DOUBLE.Create_vector(3, 1, 4), 24, 72),
        (DOUBLE.Create_indexed([2, 1], [0, 5]), 24, 48),
        (DOUBLE.Create_subarray([4, 4], [2, 2], [1, 1]), 32, 128),
        (Datatype.Create_struct([1, 2], [0, 8], [DOUBLE, DOUBLE]), 24, 24),
        (DOUBLE.Create_resized(0, 32), 8, 32),
    ],
)
def test_bytes_of_datatypes(kind: Datatype, size: int, extent: int) -> None:
    assert (kind.Get_size(), kind.Get_extent()) == (size, (0, extent))


def test_memory_in_every_order_is_seen_and_written() -> None:
    array = np.asfortranarray(np.zeros((2, 3)))
    memory = memory_of([array, 6, DOUBLE])
    assert memory is not None
    memory[:8] = np.frombuffer(np.float64(3.0).tobytes(), np.uint8)
    assert array[0, 0] == 3.0
    with pytest.raises(Unseen, match="holes"):
        memory_of(np.zeros((4, 4))[:, ::2])
    assert memory_of(None) is None


A, B = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 9.0])


@pytest.mark.parametrize(
    ("name", "one", "other", "same"),
    [
        ("Send", {"buf": A}, {"buf": B}, False),
        ("Send", {"buf": [A, 2, DOUBLE]}, {"buf": [B, 2, DOUBLE]}, True),
        ("Isend", {"buf": [A, DOUBLE]}, {"buf": [B, DOUBLE]}, False),
        ("Send", {"buf": [A, 1, DOUBLE.Create_vector(2, 1, 2)]}, {"buf": [B, 1, DOUBLE.Create_vector(2, 1, 2)]}, True),
        ("Bcast", {"buf": A, "root": 1}, {"buf": B, "root": 1}, True),
        ("Ibcast", {"buf": A, "root": 0}, {"buf": B, "root": 0}, False),
        ("Recv", {"buf": A}, {"buf": B}, True),
        ("bcast", {"obj": [1]}, {"obj": [True]}, False),
        ("scatter", {"sendobj": [1], "root": 3}, {"sendobj": None, "root": 3}, True),
    ],
)  # fmt: skip
def test_a_digest_is_of_what_is_sent(name: str, one: Any, other: Any, same: bool) -> None:
    assert (sent_digest(name, one, 0) == sent_digest(name, other, 0)) is same


def test_an_error_of_the_library_says_what_it_said() -> None:
    told = {"type": "Exception", "message": "MPI_ERR_RANK: invalid rank", "pickle": pickle.dumps(ReplayedError(6)).hex()}  # fmt: skip
    found = raised_again(told)
    assert isinstance(found, ReplayedError)
    assert (str(found), found.Get_error_string()) == ("MPI_ERR_RANK: invalid rank",) * 2
    assert found.Get_error_class() == 6 and int(found) == 6 and found == ReplayedError(6)


@pytest.mark.parametrize("name", ["Allocate_shared", "Create_dynamic"])
def test_memory_that_no_record_has_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(NotRecorded, match=rf"TTP004\]: MPI.Win.{name} at .*test_mpi.py"):
        getattr(ReplayedWindow, name)(64)


def test_other_modules_of_the_library_are_refused_by_their_names() -> None:
    with pytest.raises(ImportError, match=r"TTP004\]: mpi4py.futures"):
        NoParts().find_spec("mpi4py.futures", None)
    assert NoParts().find_spec("mpi4pyx.futures", None) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-m", "mpi4py", "a.py", "-m", "mpi4py"], ["a.py", "-m", "mpi4py"]),
        (["-u", "-m", "mpi4py", "a.py"], ["-u", "a.py"]),
        (["a.py", "-m", "mpi4py", "b"], ["a.py", "-m", "mpi4py", "b"]),
        (["-m", "mpi4py"], ["-m", "mpi4py"]),
    ],
)
def test_a_replay_does_without_the_runner_of_the_library(words: list[str], expected: list[str]) -> None:
    header = {"argv": ["python", *words], "executable": "/nowhere"}
    assert words_of(header, ())[1:] == expected
