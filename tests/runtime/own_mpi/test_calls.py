"""Where the words of the library's calls stand, compared with its own signatures, and what all ranks have to mean alike, in words."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.own_mpi.library import signatures
from tt_run.runtime.own_mpi import communicators
from tt_run.runtime.own_mpi.calls import BUFFERS, NEIGHBOURS, OBJECTS, SHAPES, bytes_taken, detail_of, word

COMMUNICATORS = signatures("comm", "Comm")


@pytest.mark.parametrize("name", SHAPES)
def test_the_words_of_a_collective_stand_there(name: str) -> None:
    words, shape = COMMUNICATORS[name], SHAPES[name]
    assert {"root": shape.root, "op": shape.op} == {
        key: words.index(key) if key in words else None for key in ("root", "op")
    }
    for place in (shape.buffer, shape.instead):
        assert place is None or words[place] in (("sendbuf", "buf"), ("recvbuf",))[place]
    assert shape.instead is None or shape.buffer == 1 - shape.instead
    assert shape.cut == (name in ("Gather", "Scatter", "Allgather"))


def test_sizes_are_compared_where_all_ranks_share_them() -> None:
    """Not of objects, nor of parts that differ."""
    sized = {name for name, shape in SHAPES.items() if shape.buffer is not None}
    assert sized == {name for name in BUFFERS if name != "Barrier" and name[-1] not in "vw"}
    assert not sized & {*OBJECTS, *NEIGHBOURS}


@pytest.mark.parametrize("name", communicators._MAKERS)
def test_the_words_of_what_makes_a_communicator_stand_there(name: str) -> None:
    for place, key in communicators._MAKERS[name]:
        assert COMMUNICATORS[name][place] == key


@pytest.mark.parametrize("name", [*communicators._RECEIVES, *communicators._STARTED, *communicators._SENDS])
def test_the_peer_of_a_message_stands_there(name: str) -> None:
    words, place = COMMUNICATORS[name], {**communicators._RECEIVES, **communicators._STARTED}.get(name, 1)
    assert words[place] in ("source", "dest") and words[place + 1] == "tag"


def test_what_is_started_together_is_there() -> None:
    assert set(communicators._TOGETHER) <= set(COMMUNICATORS)
    assert {
        name for name in COMMUNICATORS if name.startswith("I") and name[1:].capitalize() in BUFFERS
    } <= set(communicators._TOGETHER)


class Op:
    def __init__(self, handle: int, is_commutative: bool = False) -> None:
        self.handle, self.is_commutative = handle, is_commutative


class Datatype:
    """So many bytes each, `extent` apart."""

    is_predefined = True

    def __init__(self, size: int, typestr: str, extent: int = 0) -> None:
        self.size, self.typestr, self.extent = size, typestr, extent or size

    def Get_size(self) -> int:
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        return 0, self.extent

    @classmethod
    def fromcode(cls, code: str) -> Datatype:
        return {"d": DOUBLE, "B": BYTE}[code]


class InPlace:
    """One of a kind."""


DOUBLE, BYTE, HERE = Datatype(8, "f8"), Datatype(1, "u1"), InPlace()
SPREAD = Datatype(16, "f8", 32)
OWN, SUM, MAX = Op(9), Op(1), Op(2)
DATA, OTHER = np.zeros(8), np.zeros(8)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    from tt_run.runtime.own_mpi import calls

    made = SimpleNamespace(SUM=SUM, MAX=MAX, Op=Op, Datatype=Datatype, IN_PLACE=HERE)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", made)
    monkeypatch.setattr(calls, "_details", {})
    monkeypatch.setattr(calls, "_operations", {})


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("name", "words", "named", "detail"),
    [
        ("barrier", [], {}, ""),
        ("allgather", [1], {}, ""),
        ("bcast", ["x"], {}, "root 0"),
        ("bcast", ["x", 2], {}, "root 2"),
        ("bcast", ["x"], {"root": 2}, "root 2"),
        ("reduce", ["x", MAX, 1], {}, "root 1, op MAX"),
        ("reduce", ["x"], {}, "root 0, op SUM"),
        ("allreduce", ["x"], {"op": OWN}, "op of the program"),
        ("allreduce", ["x"], {"op": Op(98, is_commutative=True)}, "op of the program, commutative"),
        ("allreduce", ["x"], {"op": max}, "op of the program"),
        ("Bcast", [DATA, 1], {}, "root 1, bytes 64, element f8"),
        ("Bcast", [], {"buf": [DATA, 3]}, "root 0, bytes 24, element f8"),
        ("Bcast", [[DATA, DOUBLE]], {}, "root 0, bytes 64, element f8"),
        ("Bcast", [[DATA, 2, SPREAD]], {}, "root 0, bytes 32, element f8"),
        ("Bcast", [[DATA, SPREAD]], {}, "root 0, bytes 32, element f8"),
        ("Bcast", [bytearray(8)], {}, "root 0, bytes 8, element byte"),
        ("Bcast", [[bytearray(8), "B"]], {}, "root 0, bytes 8, element byte"),
        ("Bcast", [[DATA, [1, 2]]], {}, "root 0"),
        ("Reduce", [DATA, OTHER], {}, "root 0, op SUM, bytes 64, element f8"),
        ("Reduce", [HERE, OTHER[:4], MAX, 3], {}, "root 3, op MAX, bytes 32, element f8"),
        ("Gather", [DATA, OTHER, 1], {}, "root 1, bytes 64, element f8"),
        ("Gather", [HERE, OTHER], {}, "root 0, bytes 16, element f8"),
        ("Scatter", [OTHER, HERE], {}, "root 0, bytes 16, element f8"),
        ("Scatter", [OTHER, DATA[:2]], {"root": 1}, "root 1, bytes 16, element f8"),
        ("Alltoall", [HERE, OTHER], {}, "bytes 64, element f8"),
        ("Exscan", [HERE, OTHER[:1], MAX], {}, "op MAX, bytes 8, element f8"),
        ("Reduce_scatter", [DATA, OTHER, [3, 5]], {}, "op SUM, bytes 64, element f8, parts 3+5"),
        ("Reduce_scatter", [DATA, OTHER], {}, "op SUM, bytes 64, element f8, parts as received"),
        ("Reduce_scatter", [DATA, OTHER, 3], {}, "op SUM, bytes 64, element f8, parts of another kind"),
        ("Allgatherv", [DATA, [OTHER, [3, 5]]], {}, "counts 24+40"),
        ("Allgatherv", [DATA, [OTHER, ([3, 5], [0, 3]), DOUBLE]], {}, "counts 24+40"),
        ("Allgatherv", [DATA], {"recvbuf": [bytearray(8), [3, 5], "B"]}, "counts 3+5"),
        ("Allgatherv", [DATA, OTHER], {}, ""),
        ("Gatherv", [DATA, None, 1], {}, "root 1, sends 64"),
        ("Gatherv", [HERE, None], {}, "root 0"),
        ("Scatterv", [[DATA, [3, 5]], OTHER], {}, "root 0, sends 24+40"),
        ("Scatterv", [None, OTHER, 1], {}, "root 1"),
        ("Alltoallv", [[DATA, [3, 5]], OTHER], {}, "sends 24+40"),
        ("Alltoallv", [[DATA, [1] * 17], OTHER], {}, ""),
        ("Alltoallv", [[DATA, [1] * 16], OTHER], {}, "sends " + "+".join(["8"] * 16)),
        ("Alltoallv", [[DATA, [8]], OTHER], {}, ""),
    ],
)  # fmt: skip
def test_what_all_ranks_have_to_mean_alike(
    name: str, words: list[Any], named: dict[str, Any], detail: str
) -> None:
    comm = SimpleNamespace(Get_size=lambda: 4)
    for _ in range(2):  # the second time from what is known
        assert detail_of(comm, name, words, named) == detail


@pytest.mark.usefixtures("library")
def test_what_a_rank_takes_from_each() -> None:
    assert bytes_taken(None, "Scatterv", [None, DATA, 2], {}) == {2: 64}
    assert bytes_taken(None, "Scatterv", [None, DATA], {}) == {0: 64}
    assert bytes_taken(None, "Scatterv", [None, None], {}) == {}
    assert bytes_taken(None, "Gatherv", [DATA, [OTHER, [3, 5]]], {}) == {0: 24, 1: 40}
    assert bytes_taken(None, "Gatherv", [DATA, None], {}) == {}


def test_a_word_is_given_by_place_or_name() -> None:
    assert word([1, 2], {}, 1, ("root",), 0) == 2
    assert word([1], {"root": 3}, 1, ("root",), 0) == 3
    assert word([1], {"buf": 4}, 1, ("sendbuf", "buf"), 0) == 4
    assert word([1], {}, 1, ("root",), 0) == 0
