"""The event stream: listeners, call sites, and what it costs when nobody listens."""

from __future__ import annotations

import inspect

from tt_run.runtime import events
from tt_run.runtime.events import Event


def test_listeners_hear_everything_until_they_leave() -> None:
    heard: list[str] = []
    also: list[str] = []
    leave = events.subscribe(lambda event: heard.append(event.name))
    leave_too = events.subscribe(lambda event: also.append(event.kind))
    assert events.listening
    events.emit(Event("op", "add", 0.0, 1.0))
    leave()
    events.emit(Event("step", "train", 1.0, 2.0))
    leave()
    assert events.listening
    leave_too()
    assert not events.listening
    assert (heard, also) == (["add"], ["op", "step"])


def test_a_listener_may_leave_while_it_listens() -> None:
    calls = []

    def once(event: Event) -> None:
        calls.append(event)
        leave()

    leave = events.subscribe(once)
    events.emit(Event("op", "a", 0.0, 0.0))
    events.emit(Event("op", "b", 0.0, 0.0))
    assert [event.name for event in calls] == ["a"]


def test_the_call_site_is_the_user_s_line() -> None:
    frame = inspect.currentframe()
    assert frame is not None
    assert events.call_site() == f"{__file__}:{frame.f_lineno}"


def test_what_a_library_makes_up_is_no_line_of_the_user_s() -> None:
    """As a named tuple's own code, which has no file; the program's own text has none either, with `python -c`."""
    made: dict[str, object] = {"ask": events.site_of_main_thread}
    library = compile("exec(compile('found = ask()', '<string>', 'exec'), names)", "/lib/python3.11/collections/__init__.py", "exec")  # fmt: skip
    exec(library, {"names": made})
    assert str(made["found"]).startswith(__file__)
    exec(compile("found = ask()", "<string>", "exec"), made)
    assert made["found"] == "<string>:1"


def test_time_does_not_run_backwards() -> None:
    assert events.now() <= events.now()
