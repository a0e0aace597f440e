"""Where a replay stops: at which lines and calls, and what it says of a stop that never came."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.runtime.record import stops


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the replay was asked for; where it stopped is kept."""
    how: dict[str, Any] = {}
    monkeypatch.setattr(stops, "read_how", lambda: how)
    monkeypatch.setattr(stops, "_reached", False)
    monkeypatch.setattr(stops, "stop_at", lambda frame: how.setdefault("stopped", []).append(frame))
    monkeypatch.setattr(stops, "_say", lambda text: how.setdefault("said", []).append(text))
    return how


@pytest.mark.parametrize(
    ("how", "number", "counted", "said"),
    [
        ({"call": 3}, 3, 0, "before call 3 of the record, all_gather"),
        ({"call": 3}, 3, 2, "before call 3 of the record (call 2 of the guard), all_gather"),
        ({"call": 3}, 2, 3, ""),
        ({"guard": 2}, 3, 2, "before call 3 of the record (call 2 of the guard), all_gather"),
        ({"guard": 2}, 2, 0, ""),
        ({"guard": 2}, 2, 1, ""),
        ({}, 1, 1, ""),
    ],
)
def test_the_call_that_was_asked_for(
    asked: dict[str, Any], how: dict[str, int], number: int, counted: int, said: str
) -> None:
    asked.update(how)
    stops.before_call(number, counted, "all_gather")  # type: ignore[arg-type]
    assert asked.get("said", []) == [said] * bool(said) and len(asked.get("stopped", [])) == bool(said)


def test_the_guards_number_stops_once(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked.update(guard=2)
    monkeypatch.setattr(stops, "_reached", True)
    stops.before_call(9, 2, "all_gather")  # type: ignore[arg-type]
    assert "said" not in asked


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({}, ""),
        ({"pdb": True}, ""),
        ({"call": 3}, "call 3 of the record: its last one is 2, --until 2"),
        ({"guard": 2}, "call 2 of the guard"),
        ({"file": "a.py", "line": 7}, "a.py:7: no line of a file a.py ran"),
        (
            {"file": "a.py", "line": 7, "ran": {2, 9}},
            "a.py:7: the nearest line that ran is 9, --until a.py:9",
        ),
    ],
)
def test_a_stop_that_never_came(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], text: str
) -> None:
    monkeypatch.setattr(stops, "_lines", how.pop("ran", set()))
    asked.update(how)
    assert stops.unreached_stop(2) == text
    monkeypatch.setattr(stops, "_reached", True)
    assert stops.unreached_stop(2) == ""


@pytest.mark.parametrize(
    ("file", "name", "looks"),
    [
        ("model.py", "/w/model.py", True),
        ("./model.py", "/w/model.py", True),
        ("model.py", "model.py", True),
        ("model.py", "/w/other_model.py", False),
        ("sub/model.py", "/w/sub/model.py", True),
        ("sub/model.py", "/w/model.py", False),
    ],
)
def test_a_line_is_of_the_file_of_that_name(file: str, name: str, looks: bool) -> None:
    tracer = stops._LineTracer(file, 7, set())
    frame: Any = SimpleNamespace(f_code=SimpleNamespace(co_filename=name), f_lineno=7)
    assert (tracer.enter(frame, "call", None) is not None) is looks


def test_it_stops_at_the_line_and_no_other(asked: dict[str, Any]) -> None:
    tracer = stops._LineTracer("model.py", 7, set())
    for event, line in (("line", 6), ("call", 7), ("line", 8)):
        assert tracer._look(SimpleNamespace(f_lineno=line), event, None) == tracer._look  # type: ignore[arg-type]
    assert "stopped" not in asked
    tracer._look(SimpleNamespace(f_lineno=7, f_trace=None), "line", None)  # type: ignore[arg-type]
    assert len(asked["stopped"]) == 1


@pytest.mark.parametrize(
    ("function", "module", "stops_there"),
    [("<module>", "__main__", True), ("f", "__main__", False), ("<module>", "x", False)],
)
def test_the_first_line_is_of_the_program(function: str, module: str, stops_there: bool) -> None:
    frame: Any = SimpleNamespace(f_code=SimpleNamespace(co_name=function), f_globals={"__name__": module})
    assert (stops._at_first_line(frame, "call", None) is not None) is stops_there
