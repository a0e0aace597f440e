"""The first call in which two records differ, and the first element, for values of any kind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.record import compare as module
from tt_run.runtime.record.compare import Difference, Side, _closer, compare, json_of, text_of

COMPLEX = np.arange(6, dtype=np.complex128).reshape(2, 3)


def difference(ours: list[Any], theirs: list[Any], what: str = "other values") -> Difference:
    """Of two calls outside of devices that gave these arrays."""
    calls = tuple(
        SimpleNamespace(seen=(None, [np.asarray(each) for each in side])) for side in (ours, theirs)
    )
    return _closer(Difference(calls, what))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "theirs", "element", "values", "extent"),
    [
        (np.float32(1.5), np.float32(2.5), (), ("1.5", "2.5"), "1 of 1"),
        (COMPLEX, COMPLEX + np.array([[0, 0, 1j], [0, 1, 0]]), (0, 2), ("(2+0j)", "(2+1j)"), "2 of 6"),
        ([[1, 2], [3, 4]], [[1, 2], [0, 0]], (1, 0), ("3", "0"), "2 of 4"),
        ([0.0, np.nan], [-0.0, np.nan], (0,), ("0", "-0"), "1 of 2"),
        (np.arange(6).reshape(2, 3).T, np.arange(1, 7).reshape(2, 3).T, (0, 0), ("0", "1"), "6 of 6"),
        (np.array([("a", 1), ("b", 2)], "U1,i4"), np.array([("a", 1), ("b", 3)], "U1,i4"), (1,), ("('b', 2)", "('b', 3)"), "1 of 2"),
    ],
    ids=["one number", "complex", "integers", "signs of zero", "transposed", "records"],
)  # fmt: skip
def test_the_first_element_that_differs(
    ours: Any, theirs: Any, element: tuple[int, ...], values: tuple[str, str], extent: str
) -> None:
    found = difference([7, ours], [7, theirs])
    assert (found.element, found.values) == (element, values)
    assert found.extent == f"{extent} elements differ"


def test_no_element_where_arrays_are_of_another_shape_or_the_calls_differ() -> None:
    assert difference([[1, 2]], [[1, 2, 3]]).element is None
    assert difference([np.int32(1)], [np.int64(1)]).element is None
    assert difference([1], [2], "other errors").element is None
    assert difference([], [1]).element is None


class Made:
    """A call of a record: its words, and what each of its devices has sent and got, as one byte each."""

    def __init__(
        self, words: str, sent: dict[int, bytes], got: dict[int, bytes] | None, kind: str = "collective"
    ) -> None:
        devices = tuple(sent)
        self.facts = SimpleNamespace(
            kind=kind, words=words, name=words, devices=devices, rows=tuple(range(len(devices))), mesh_id=0, site="p.py:3"
        )  # fmt: skip
        self.sent, self.got = b"".join(sent.values()), None if got is None else b"".join(got.values())
        self._sent, self._got = sent, got or {}
        self.error = ""
        self.seen: Any = (np.array([[0.0], [1.0]]), [np.array([[2.0], [3.0]])])

    def sent_by(self, device: int) -> bytes | None:
        return self._sent.get(device)

    def got_by(self, device: int) -> list[bytes]:
        return [self._got[device]] if device in self._got else []

    def places_of(self, device: int) -> list[tuple[int, int]]:
        return [(0, self.facts.devices.index(device))]


class Told:
    """A rank's record of such calls."""

    def __init__(self, rank: int, *calls: Made, size: int = 2) -> None:
        self.rank, self.calls = rank, calls
        self.header = {"size": size, "argv": ["python", "my program.py"]}
        self.begun, self.facts = calls, [call.facts for call in calls]
        for number, call in enumerate(calls, 1):
            call.__dict__.update(story=self, number=number)

    def name_of(self, number: int) -> str:
        return f"call {number} of the record"

    def counted(self, number: int) -> int:
        return 10 * number


def side(name: str, *stories: Told) -> Side:
    run = SimpleNamespace(path=f"/runs/{name}")
    return Side(name, run, {story.rank: story for story in stories})  # type: ignore[arg-type, misc]


def pair(mine: bytes = b"ab", got: bytes | None = b"cd", words: str = "all_gather", **more: Any) -> Made:
    """A call of a rank with the devices 0 and 1."""
    came = None if got is None else {0: got[:1], 1: got[1:]}
    return Made(words, {0: mine[:1], 1: mine[1:]}, came, **more)


@pytest.fixture(autouse=True)
def _calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "calls_of", lambda story: iter(story.calls))


@pytest.mark.parametrize(
    ("ours", "theirs", "what", "device"),
    [
        ([pair(), pair()], [pair(), pair()], None, None),
        ([pair(), pair()], [pair()], "one run ends", None),
        ([], [pair()], "one run ends", None),
        ([pair(), pair(words="add")], [pair(), pair()], "other calls", (0, 0)),
        ([pair()], [pair(kind="entered")], "other calls", (0, 0)),
        ([pair()], [], "one run ends", None),
        ([pair(b"ab")], [pair(b"ax")], "other values sent", (0, 1)),
        ([pair()], [pair(got=b"cx")], "other values", (0, 1)),
        ([pair()], [pair(got=None)], None, None),
        ([pair(kind="mpi")], [pair(b"xb", kind="mpi")], "other values sent", None),
        ([pair(kind="mpi")], [pair(got=b"cx", kind="mpi")], "other values", None),
        ([pair(kind="mpi")], [pair(got=None, kind="mpi")], None, None),
    ],
)
def test_the_first_call_that_is_not_alike(
    ours: list[Made], theirs: list[Made], what: str | None, device: tuple[int, int] | None
) -> None:
    found = compare(side("one", Told(0, *ours, size=1)), side("two", Told(0, *theirs, size=1)))
    assert found.alike
    assert (found.difference and found.difference.what) == what
    assert (found.difference and found.difference.device) == device


def test_what_a_device_sends_is_told_before_what_others_get() -> None:
    """Rank 0 gets another value in the same call in which rank 1 sends one: the second is the beginning."""
    ours = Told(0, pair()), Told(1, Made("all_gather", {2: b"e"}, {2: b"f"}))
    theirs = Told(0, pair(got=b"xd")), Told(1, Made("all_gather", {2: b"x"}, {2: b"f"}))
    found = compare(side("one", *ours), side("two", *theirs))
    assert found.alike and (found.calls, found.devices) == (2, 3)
    assert found.difference is not None and found.difference.what == "other values sent"
    assert found.difference.device == (0, 2)


def test_runs_that_are_split_otherwise_are_compared_device_by_device() -> None:
    halves = (
        Told(0, Made("sum", {0: b"a"}, {0: b"c"})),
        Told(1, pair(kind="mpi"), Made("sum", {1: b"b"}, {1: b"d"})),
    )
    one = Told(0, pair(words="sum"), size=1)
    found = compare(side("two", *halves), side("one", one))
    assert not found.alike and found.difference is None
    assert (found.calls, found.devices, found.left_out) == (1, 2, 1)
    text = text_of(found)
    assert "A  /runs/two  2 ranks\nB  /runs/one  1 rank\n" in text
    assert "split otherwise: compared are the collectives on 2 devices; 1 messages" in text
    assert text.endswith("No difference: 1 collective on 2 devices with the same values.")
    other = compare(side("two", *halves), side("one", Told(0, pair(got=b"cx", words="sum"), size=1)))
    assert other.difference is not None and other.difference.device == (0, 1)
    assert other.difference.element == (0,) and other.difference.values == ("2", "3")


def test_a_device_of_one_run_only_is_told() -> None:
    found = compare(
        side("one", Told(0, pair())), side("two", Told(0, Made("all_gather", {0: b"a"}, {0: b"c"})))
    )
    assert found.notes == ["1 devices take part in collectives of one run only"]
    assert found.devices == 1 and found.difference is None


def test_a_difference_in_words_and_in_json() -> None:
    ours, theirs = pair(b"ab"), pair(b"ax")
    theirs.seen = (np.array([[0.0], [1.5]]), [])
    found = compare(side("one", Told(0, ours)), side("two", Told(0, theirs)))
    lines = text_of(found).splitlines()
    assert (
        lines[2]
        == "First difference on device 1 of mesh 0: what is sent is not the same, so it differs before this call"
    )
    assert lines[3].startswith("  A  rank 0, call 1 of the record: ") and lines[4].startswith("  B  rank 0, ")
    assert lines[5:] == [
        "  element [0]: 1 in A, 1.5 in B; 1 of 1 elements differ",
        "  look: tt-run replay one --rank 0 --until 1",
        "  look: tt-run replay two --rank 0 --until 1",
    ]
    call = {
        "rank": 0,
        "number": 1,
        "guard_number": 10,
        "kind": "collective",
        "name": "all_gather",
        "signature": "all_gather",
        "site": "p.py:3",
    }
    assert json_of(found) == {
        "same": False, "same_split": True, "calls": 1, "devices": 2, "not_compared": 0,
        "difference": {
            "what": "other values sent", "calls": [call, call], "mesh": 0, "device": 1, "element": (0,), "values": ("1", "1.5"),
        },
    }  # fmt: skip


def test_an_end_an_error_and_unknown_values_in_words() -> None:
    ended = text_of(compare(side("one", Told(0, pair())), side("two", Told(0, pair(), pair(words="add")))))
    assert "First difference: A ends where B goes on with rank 0, call 2 of the record: " in ended
    ours, theirs = pair(kind="mpi"), pair(kind="mpi")
    theirs.error = "no such rank\nat all"
    failed = text_of(compare(side("one", Told(0, ours)), side("two", Told(0, theirs))))
    assert "First difference: it ends in another error" in failed and "\n     raised no such rank\n" in failed
    ours, theirs = pair(), pair(got=b"xd")
    ours.seen = theirs.seen = (None, [])
    unknown = text_of(compare(side("one", Told(0, ours)), side("two", Told(0, theirs))))
    assert "what comes out is not the same, though the same was sent" in unknown
    assert "  The element is not known: the values were not kept" in unknown
    assert json_of(compare(side("one", Told(0)), side("two", Told(0))))["difference"] is None
