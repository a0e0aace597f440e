"""What a replay computes itself of MPI, what memory an argument means, and how much of it is sent."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.record.arrays import Flat, assemble
from tt_run.runtime.record.folder import NoRecord
from tt_run.runtime.record.mpi.buffers import Unseen, memory_of, sent_digest
from tt_run.runtime.record.mpi.calls import NotRecorded
from tt_run.runtime.record.mpi.crossing import fill_status, packed, status_facts, unpacked
from tt_run.runtime.record.mpi.datatypes import Datatype
from tt_run.runtime.record.mpi.failures import ReplayedError
from tt_run.runtime.record.mpi.local import UNDEFINED, Grid, Group, Status
from tt_run.runtime.record.mpi.ops import PREDEFINED
from tt_run.runtime.record.mpi.recorded import _datatype
from tt_run.runtime.record.mpi.replayed import NoParts, _refuse_handles, _ReplayedModule
from tt_run.runtime.record.mpi.replayed_communicators import Own, ReplayedIntra
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


def _hollow(filling: int) -> Any:
    """A structure with any values between its fields."""
    found = np.full(32, filling, np.uint8).view({"names": ["a", "b"], "formats": ["i4", "f8"], "offsets": [0, 8], "itemsize": 16})  # fmt: skip
    found["a"], found["b"] = 1, 2.0
    return found


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
        ("Send", {"buf": _hollow(1)}, {"buf": _hollow(2)}, True),
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


def test_what_no_record_has_is_refused_by_its_name() -> None:
    comm = ReplayedIntra.of(Own(lambda: None, 0, (0, 1)))  # type: ignore[arg-type, return-value]
    with pytest.raises(NotRecorded, match=r"TTP004\]: MPI.Comm.Spawn at .*test_mpi.py"):
        comm.Spawn("program")
    assert not hasattr(comm, "Spawn")


def test_handles_from_elsewhere_are_refused_by_the_call() -> None:
    for call in (ReplayedIntra.f2py, ReplayedIntra.fromhandle):
        with pytest.raises(NotRecorded, match=rf"TTP004\]: MPI\.Comm\.{call.__name__}\(77\) at "):
            call(77)


def test_handles_that_no_record_knows_are_refused_by_the_class() -> None:
    kind = type("Group", (), {"f2py": staticmethod(lambda number: number)})
    _refuse_handles("Group", kind)
    group: Any = kind()
    assert group.f2py(3) == 3 and not hasattr(group, "handle")
    for call in (lambda: kind.fromhandle(1), group.py2f):  # type: ignore[attr-defined]
        with pytest.raises(NotRecorded, match=r"TTP004\]: MPI\.Group\.(fromhandle|py2f) at "):
            call()


def test_communicators_are_equal_by_what_they_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Own(lambda: None, 1, (4, 5))  # type: ignore[arg-type, return-value]

    class Mine(ReplayedIntra):
        pass

    comm, null = ReplayedIntra.of(own), ReplayedIntra()
    mine = Mine(comm)
    assert mine == comm and (mine.rank, mine.size, mine.group.ranks) == (1, 2, (4, 5)) and comm != null
    world = SimpleNamespace(COMM_WORLD=comm, COMM_SELF=ReplayedIntra(), COMM_NULL=null)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", world)
    assert (comm.__reduce__(), null.__reduce__(), mine.__reduce__()) == (
        "COMM_WORLD",
        "COMM_NULL",
        (Mine, (comm,)),
    )
    other = ReplayedIntra.of(Own(lambda: None, 0, (4,)))  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="cannot pickle a communicator"):
        other.__reduce__()
    mine.Free()
    assert mine == null and not mine
    with pytest.raises(ReplayedError, match="MPI_ERR_COMM"):
        mine.Get_rank()


def test_what_a_datatype_picks_out_is_packed() -> None:
    column = DOUBLE.Create_vector(2, 1, 3).Create_resized(0, 8)
    matrix, packed, back = np.arange(6.0), np.zeros(2), np.zeros(6)
    assert column.Create_resized(0, 48).Pack(matrix, packed, 0, None) == 16
    assert packed.tolist() == [0, 3]
    assert column.Create_resized(0, 48).Unpack(packed, 0, back, None) == 16
    assert back.tolist() == [0, 0, 0, 3, 0, 0]
    assert (column.ub, column.true_extent, column.basic) == (8, 32, 8)


@pytest.mark.parametrize(
    ("name", "x", "y", "expected"),
    [
        ("SUM", [1], [2], [1, 2]),
        ("MAX", 3, 2, 3),
        ("LXOR", 5, 2, False),
        ("BAND", 6, 3, 2),
        ("MAXLOC", (4, 2), (4, 1), (4, 1)),
        ("MINLOC", (4, 2), (5, 1), (4, 2)),
    ],
)
def test_operations_of_objects(name: str, x: Any, y: Any, expected: Any) -> None:
    assert PREDEFINED[name](x, y) == expected


def test_other_modules_of_the_library_are_refused_by_their_names() -> None:
    with pytest.raises(ImportError, match=r"TTP004\]: mpi4py.futures"):
        NoParts().find_spec("mpi4py.futures", None)
    assert NoParts().find_spec("mpi4pyx.futures", None) is None


def test_a_program_that_is_none_is_told_with_what_to_write() -> None:
    with pytest.raises(NoRecord, match=r"no program pythn\n  help: write the line that runs the program"):
        words_of({}, ["pythn", "train.py"])


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


@pytest.mark.parametrize(
    "value",
    [
        0,
        -(2**63),
        2**63 - 1,
        2**63,
        True,
        False,
        None,
        0.0,
        -0.0,
        float("inf"),
        "",
        "text \ud800",
        b"",
        b"x",
        (1, "a"),
        {2: None},
    ],
)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    flat = Flat(packed(value))
    found = unpacked(assemble(flat.form, flat.arrays))
    assert type(found) is type(value) and repr(found) == repr(value)


def test_values_of_a_loop_have_one_form() -> None:
    for values in (range(9), [0.5, 1.5, -0.0], ["a", "b"]):
        assert len({Flat(packed(value)).form for value in values}) == 1


def test_a_status_comes_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    byte = Datatype(1, 1, "BYTE")
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", SimpleNamespace(BYTE=byte))
    for told in ((3, 7, 16), (3, 7, 0, True)):
        status, again = Status(), Status()
        status.say(*told)
        assert status_facts(status) == told
        fill_status(again, status_facts(status))
        assert (again.source, again.tag, again.Get_count(DOUBLE), again.Is_cancelled()) == (
            3,
            7,
            told[2] // 8,
            len(told) == 4,
        )
    fill_status(again, None)
    assert status_facts(None) is None and again.tag == 7
    odd = Status()
    assert (odd.source, odd.tag, odd.error, odd.Get_count(), odd.Is_cancelled()) == (
        -1,
        -1,
        0,
        0,
        False,
    )  # as the library's
    odd.say(0, 0, 12)
    assert (odd.Get_count(DOUBLE), odd.Get_count(), odd.Get_elements(byte)) == (UNDEFINED, 12, 12)


@pytest.mark.parametrize(
    ("known", "name", "there"),
    [
        ("BOTTOM ERRORS_RETURN", "BOTTOM", True),
        ("BOTTOM ERRORS_RETURN", "ODD", False),  # as the library of the run
        ("", "BOTTOM", True),  # a record that does not know its names
        ("", "__wrapped__", False),
        ("__wrapped__ BOTTOM", "__wrapped__", False),  # asked by inspection, and no name of MPI
    ],
)
def test_names_of_the_library_that_was_used(known: str, name: str, there: bool) -> None:
    module = _ReplayedModule("mpi4py.MPI")
    module._known = frozenset(known.split())
    assert hasattr(module, name) is there
    if there:
        assert repr(getattr(module, name)) == f"MPI.{name}" and getattr(module, name) is getattr(module, name)


def test_datatypes_that_a_library_lacks_are_left_out() -> None:
    """Debian's Open MPI is built without some of Fortran's: their handles are there, and every question about them fails."""

    class Fault(Exception):
        pass

    class Kind:
        def __init__(self, name: str) -> None:
            self.name = name

        def Get_size(self) -> int:
            if self.name == "INTEGER16":
                raise Fault("MPI_ERR_TYPE: invalid datatype")
            return 8

        def Get_extent(self) -> tuple[int, int]:
            return 0, 16

        def Get_name(self) -> str:
            return f"MPI_{self.name}"

    library = SimpleNamespace(DATATYPE_NULL=Kind("DATATYPE_NULL"), Exception=Fault)
    assert _datatype(library, Kind("DOUBLE")) == (8, 16, "DOUBLE")
    assert _datatype(library, Kind("INTEGER16")) is None
    assert _datatype(library, library.DATATYPE_NULL) is None
