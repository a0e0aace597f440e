"""What is told of messages that nobody has received, of a library that shows them one by one."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.rules import guard_rule
from tt_run.runtime.guard.unreceived import UNRECEIVED, unreceived


class Library:
    """mpi4py, which shows the message of a source from the look on that is given for it."""

    ANY_TAG, BYTE = -1, object()

    def __init__(self, sent: dict[int, int]) -> None:
        self.sent, self.looks, self.COMM_WORLD = sent, dict.fromkeys(range(9), 0), self
        self._tt_run_raw: dict[str, Any] = {}

    def Status(self) -> Any:
        self.seen = SimpleNamespace(source=0)
        seen = self.seen
        return SimpleNamespace(Get_count=lambda kind: 100 * seen.source + 8, Get_tag=lambda: 7 + seen.source)

    def Iprobe(self, source: int, tag: int, status: Any) -> bool:
        assert tag == self.ANY_TAG
        self.seen.source = source
        self.looks[source] += 1
        return source in self.sent and self.looks[source] >= self.sent[source]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library({})
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", found)
    return found


def told(words: str) -> str:
    return (
        f"warning[{UNRECEIVED}]: rank 2 ended without receiving a message {words}\n"
        f"  help: {guard_rule(UNRECEIVED).help}"
    )


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({1: 1}, "from rank 1 (108 bytes, tag 8)"),
        ({3: 1, 0: 10}, "from rank 0 (8 bytes, tag 7), from rank 3 (308 bytes, tag 10)"),
        (
            {0: 1, 1: 2, 2: 3},
            "from rank 0 (8 bytes, tag 7), from rank 1 (108 bytes, tag 8), from rank 2 (208 bytes, tag 9)",
        ),
        (
            dict.fromkeys(range(5), 1),
            "from rank 0 (8 bytes, tag 7), from rank 1 (108 bytes, tag 8), from rank 2 (208 bytes, tag 9) and 2 ranks more",
        ),
    ],
)
def test_the_first_messages_are_told(library: Library, sent: dict[int, int], words: str) -> None:
    library.sent = sent
    assert unreceived(2, 5) == told(words)


def test_nothing_is_told_of_nothing(library: Library) -> None:
    assert unreceived(2, 5) == ""
    library.sent = {5: 1}
    assert unreceived(2, 5) == "", "there is no rank 5"


def test_the_communicator_is_that_of_the_library_itself(library: Library) -> None:
    """Not the one that takes part in a program's calls."""
    library._tt_run_raw["COMM_WORLD"] = Library({1: 1})
    library._tt_run_raw["COMM_WORLD"].seen = SimpleNamespace(source=0)
    assert unreceived(2, 5).startswith(
        f"warning[{UNRECEIVED}]: rank 2 ended without receiving a message from rank 1"
    )
