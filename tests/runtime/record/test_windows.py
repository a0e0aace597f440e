"""Windows of memory of a recorded run: which of it may hold something else after a call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.own_mpi.library import signatures
from tt_run.runtime.record.mpi import crossing, windows
from tt_run.runtime.record.mpi.windows import Open


@pytest.fixture(autouse=True)
def exposed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(crossing, "exposed", [])
    return crossing.exposed


def test_where_a_call_puts_its_values_is_the_librarys_word() -> None:
    calls = signatures("Win")
    for name, place in windows._FILLING.items():
        assert calls[name][place] == ("origin" if name in ("Get", "Rget") else "result")
    assert {*windows._SENDING, *windows._WAITING} <= set(calls)


@pytest.mark.parametrize(
    ("name", "words", "named"),
    [
        ("Get", "t", {}),
        ("Get", "", {"origin": "t"}),
        ("Rget", "to", {}),
        ("Get_accumulate", "otx", {}),
        ("Fetch_and_op", "ot", {}),
        ("Fetch_and_op", "o", {"result": "t"}),
        ("Compare_and_swap", "oxt", {}),
    ],
)
def test_values_on_their_way(name: str, words: str, named: dict[str, str]) -> None:
    own, places = np.zeros(2), {word: np.zeros(2) for word in "otx"}
    window = Open(windows.memory_of(own))
    for _ in range(2):  # the same memory counts once
        window.comes(
            name, tuple(places[word] for word in words), {key: places[word] for key, word in named.items()}
        )
    assert [each.ctypes.data for each in window.memory()] == [own.ctypes.data, places["t"].ctypes.data]
    window.comes("Put", tuple(places.values()), {})
    assert len(window.memory()) == 2


def test_memory_that_others_reach_and_that_goes_with_its_window(exposed: list[Any]) -> None:
    own, other, third = np.zeros(2), np.zeros(3), np.zeros(4)
    goes, stays = Open(windows.memory_of(own), True, [windows.memory_of(other)]), Open(windows.memory_of(own))  # type: ignore[list-item]
    stays.attach(third)
    assert [each.nbytes for each in stays.memory()] == [16, 32] and [
        each.nbytes for each in goes.memory()
    ] == [16, 24]
    stays.detach(other)
    assert len(stays.memory()) == 2
    stays.detach(third)
    assert len(stays.memory()) == 1 and len(exposed) == 2
    freed: list[str] = []
    goes.close(lambda: freed.append("goes"))
    stays.close(lambda: freed.append("stays"))
    assert (goes.memory(), len(stays.memory()), exposed, freed) == ([], 1, [], ["goes", "stays"])


@pytest.mark.parametrize("window", [SimpleNamespace(), SimpleNamespace(_open=None)])
def test_a_window_that_is_not_recorded_goes_to_the_library(window: Any, exposed: list[Any]) -> None:
    told: list[Any] = []

    def real(name: str) -> Any:
        return lambda self, *words, **named: told.append((name, *words, *named))

    windows._attaching(real("Attach"))(window, 1)
    windows._detaching(real("Detach"))(window, 2)
    windows._recorded("Put", real("Put"), None)(window, 3, target=4)
    windows._freed(real("Free"))(window)
    assert (told, exposed) == ([("Attach", 1), ("Detach", 2), ("Put", 3, "target"), ("Free",)], [])


def test_what_is_attached_to_a_window_is_looked_at_until_it_is_detached() -> None:
    told: list[str] = []
    window: Any = SimpleNamespace(_open=Open(None))
    memory = np.zeros(2)
    windows._attaching(lambda self, given: told.append("Attach"))(window, memory)
    assert [each.ctypes.data for each in window._open.memory()] == [memory.ctypes.data]
    windows._detaching(lambda self, given: told.append("Detach"))(window, memory)
    assert (window._open.memory(), told) == ([], ["Attach", "Detach"])
