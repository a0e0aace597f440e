"""Requests of a recorded run: which of them a wait has ended, what is written down, and what a replay is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tt_run.runtime.record.mpi import requests
from tt_run.runtime.record.mpi.calls import NotRecorded
from tt_run.runtime.record.mpi.crossing import Target
from tt_run.runtime.record.mpi.requests import ReplayedPrequest, ReplayedRequest, wait


@pytest.mark.parametrize(
    ("name", "answer", "done"),
    [
        ("Wait", True, [0, 1, 2]),
        ("wait", "an object", [0, 1, 2]),
        ("Waitall", None, [0, 1, 2]),
        ("Test", True, [0, 1, 2]),
        ("Test", False, []),
        ("test", (True, "an object"), [0, 1, 2]),
        ("test", (False, None), []),
        ("Get_status", True, [0, 1, 2]),
        ("Testall", False, []),
        ("Waitany", 2, [2]),
        ("Waitany", 0, [0]),
        ("Waitany", 3, []),
        ("Waitany", -32766, []),
        ("waitany", (1, "an object"), [1]),
        ("Testany", (1, True), [1]),
        ("Testany", (0, True), [0]),
        ("Testany", (1, False), []),
        ("Testany", (-32766, True), []),
        ("Testany", (3, True), []),
        ("Waitsome", [0, 2], [0, 2]),
        ("Waitsome", None, []),
        ("Testsome", [], []),
        ("waitsome", ([1, 3], ["an object"]), [1]),
    ],
)
def test_which_are_done(name: str, answer: Any, done: list[int]) -> None:
    assert list(requests._done(name, answer, 3)) == done


class Book:
    """Writes down what the library gives, or tells it again."""

    inside = False

    def __init__(self, record: list[Any], replays: bool) -> None:
        self.record, self.replays = record, replays

    def call(self, facts: Any, sent: bytes, cross: Any) -> Any:
        if not self.replays:
            self.record.append(cross())
        return self.record[-1]


def test_a_replay_fills_the_memory_of_those_that_are_done() -> None:
    record: list[Any] = []
    arrays = [np.zeros(2), np.zeros(2), np.zeros(2)]
    made = [ReplayedRequest(None, Target(array)) for array in arrays[:2]] + [
        ReplayedRequest(None, Target(None))
    ]

    def library() -> int:
        arrays[1][:] = 7, 8
        return 1

    assert wait(Book(record, False), "Waitany", made, None, library) == 1
    assert list(record[0][1]) == [1]
    book, again = Book(record, True), [np.zeros(2) for _ in range(3)]
    asked = [ReplayedRequest(lambda: book, Target(array)) for array in again]
    assert wait(book, "Waitany", asked, None, None) == 1
    assert [each.is_done for each in asked] == [False, True, False]
    assert [array.tolist() for array in again] == [[0, 0], [7, 8], [0, 0]]
    inside = Book([], False)
    inside.inside = True
    assert wait(inside, "Wait", made, None, lambda: "as it is") == "as it is" and not inside.record


def test_requests_are_equal_where_both_are_over() -> None:
    null, one, other = ReplayedRequest(), ReplayedRequest(lambda: None), ReplayedRequest(lambda: None)  # type: ignore[arg-type,return-value]
    assert one == one and one != other and one != null and one != 3 and bool(one) and not null
    one.Free()
    assert (
        one == null
        and not one
        and null.Wait() is True
        and null.wait() is None
        and null.test() == (True, None)
    )
    with pytest.raises(NotRecorded, match=r"MPI.Request.Odd"):
        one.Odd  # noqa: B018


def test_what_was_prepared_starts_again_and_again() -> None:
    book = Book([None], True)
    prepared = ReplayedPrequest(lambda: book)
    assert prepared.is_done is False
    prepared.is_done = True
    ReplayedPrequest.Startall([prepared])
    assert prepared.is_done is False and bool(prepared)
