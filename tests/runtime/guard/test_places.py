"""Which line of a rank a report names: the program's own, also where a library waits, computes or raises below it."""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tt_run.runtime import events
from tt_run.runtime.guard.lifecycle import _origin, _place

HERE = re.escape(__file__)


@pytest.mark.parametrize(
    ("file", "library"),
    [
        (json.__file__, True),
        (pytest.__file__, True),
        (events.__file__, True),
        ("<frozen importlib._bootstrap>", True),
        (f"{sysconfig.get_path('purelib')}/torch/nn/modules/module.py", True),
        ("/usr/lib/python3/dist-packages/numpy/core.py", True),
        (__file__, False),
        ("<string>", False),
        ("/home/me/lib/python/train.py", False),
    ],
)
def test_what_is_a_library(file: str, library: bool) -> None:
    assert events.is_library(file) == library


@pytest.fixture
def waiting() -> Iterator[threading.Thread]:
    over = threading.Event()

    def work() -> None:
        over.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.ident is None or "wait" not in sys._current_frames()[thread.ident].f_code.co_name:
        os.sched_yield()
    yield thread
    over.set()
    thread.join()


def test_a_rank_that_waits_in_a_library_is_at_its_own_line(waiting: threading.Thread) -> None:
    place = _place(sys._current_frames()[waiting.ident or 0])
    assert re.fullmatch(rf"{HERE}:\d+ in work \(.*threading\.py:\d+ in wait\)", place), place


def test_a_rank_that_computes_is_at_its_line() -> None:
    assert re.fullmatch(rf"{HERE}:\d+ in test_a_rank_that_computes_is_at_its_line", _place(sys._getframe()))
    assert _place(None) == ""


def test_a_stack_of_libraries_alone_is_at_its_innermost_line() -> None:
    """A thread that a library has started runs nothing of the program."""

    def frame(name: str, line: int, back: object = None) -> SimpleNamespace:
        code = SimpleNamespace(co_filename=json.__file__, co_name=name)
        return SimpleNamespace(f_code=code, f_lineno=line, f_back=back)

    assert _place(frame("scan", 8, frame("load", 3))) == f"{json.__file__}:8 in scan"  # type: ignore[arg-type]


def test_an_exception_of_a_library_comes_from_the_line_that_called_it() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("{")
    assert re.fullmatch(rf"{HERE}:\d+", _origin(caught.tb))
