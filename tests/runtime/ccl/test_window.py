"""The memory that ranks of a host share, with threads as ranks."""

from __future__ import annotations

import gc
import mmap
import os
import platform
import threading
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.comm.block_names import recorded
from tt_run.runtime.ccl.exchange import window as shared
from tt_run.runtime.ccl.exchange.window import Window, window_bytes
from tt_run.runtime.comm.bell import Bell

DEADLINE = 20.0
FLOAT = np.dtype(np.float32)


def waiting(done: Callable[[], bool], missing: Callable[[], tuple[int, ...]], bell: Bell | None) -> None:
    deadline = time.monotonic() + DEADLINE
    while True:
        heard = bell.heard if bell is not None else 0
        if done():
            return
        assert time.monotonic() < deadline, f"ranks {missing()} did not come"
        if bell is not None:
            bell.sleep(heard, DEADLINE)
        else:
            os.sched_yield()


@pytest.fixture(params=[False, True], ids=["looking", "sleeping"])
def windows(request: pytest.FixtureRequest) -> list[Window]:
    memory = mmap.mmap(-1, window_bytes(2))
    return [Window(memory, rank, 2, waiting, request.param) for rank in range(2)]


def together(windows: list[Window], act: Callable[[Window], Any]) -> list[Any]:
    """What each rank gets from `act`, all at the same time."""
    found: dict[int, Any] = {}

    def run(window: Window) -> None:
        found[window.rank] = act(window)

    threads = [threading.Thread(target=run, args=(window,)) for window in windows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert len(found) == len(windows), "a rank failed or is stuck"
    return [found[window.rank] for window in windows]


def test_everybody_sees_what_was_written_before_a_meeting(windows: list[Window]) -> None:
    def exchange(window: Window) -> list[list[float]]:
        both = window.slots(1, (4,), FLOAT)
        seen = []
        for turn in range(300):
            slots = both[window.next_slot()]
            slots.body[...] = 1000 * window.rank + turn
            window.meet()
            seen.append([float(body[0, 3]) for body in slots.bodies])
        return seen

    assert together(windows, exchange) == [[[turn, 1000 + turn] for turn in range(300)]] * 2


def fill(window: Window, value: float) -> Any:
    """A shared result of which each rank writes its half."""
    result = window.share((2, 5000), FLOAT)
    if result is None:
        return None
    result.writable[window.rank] = value + window.rank
    window.meet()
    return result.array


def test_a_result_is_shared_and_cannot_be_written(windows: list[Window]) -> None:
    first, second = together(windows, lambda window: fill(window, 7))
    for array in (first, second):
        assert (array[0] == 7).all() and (array[1] == 8).all()
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_a_block_is_used_again_only_when_all_ranks_have_dropped_it(windows: list[Window]) -> None:
    kept = together(windows, lambda window: fill(window, 1))
    other = together(windows, lambda window: fill(window, 2))
    where = kept[0].ctypes.data
    assert other[0].ctypes.data != where
    kept[0] = None
    third = together(windows, lambda window: fill(window, 3))
    assert third[0].ctypes.data != where and (kept[1][0] == 1).all()
    part = kept[1][1, :10]
    kept[1] = None
    fourth = together(windows, lambda window: fill(window, 4))
    assert fourth[0].ctypes.data != where and (part == 2).all()  # a view holds it, too
    del part
    fifth = together(windows, lambda window: fill(window, 5))
    assert fifth[0].ctypes.data == where
    assert [array[0][0, 0] for array in (other, third, fourth, fifth)] == [2, 3, 4, 5]


def foreseen(nbytes: int, value: float) -> Callable[[Window], Any]:
    """A shared result for which rank 0 has chosen the block before the ranks met, as they do in the guard."""

    def act(window: Window) -> Any:
        if window.rank == 0:
            window.foresee(nbytes)
        window.meet()
        return fill(window, value)

    return act


def test_a_block_that_was_chosen_early_saves_a_meeting(windows: list[Window]) -> None:
    turns = [window._turn for window in windows]
    kept = together(windows, lambda window: fill(window, 1))
    assert [window._turn - turn for window, turn in zip(windows, turns, strict=True)] == [2, 2]
    where, nbytes = kept[0].ctypes.data, kept[0].nbytes
    kept.clear()
    turns = [window._turn for window in windows]
    again = together(windows, foreseen(nbytes, 5))
    assert [window._turn - turn for window, turn in zip(windows, turns, strict=True)] == [2, 2]
    assert again[0].ctypes.data == where and (again[1][1] == 6).all()


def test_a_block_that_was_chosen_early_in_vain_is_given_out_again(windows: list[Window]) -> None:
    """The ranks ask for something else, or raise before they ask; and without a free block nothing is chosen early."""
    kept = together(windows, lambda window: fill(window, 1))
    nbytes = kept[0].nbytes
    assert together(windows, foreseen(nbytes, 2))[1][1, 0] == 3  # it is in use
    places = {kept[0].ctypes.data}
    kept.clear()
    together(windows, foreseen(nbytes // 2, 3))
    windows[0].foresee(nbytes)
    windows[0].foresee(nbytes)
    for value in range(4, 30):
        found = together(windows, foreseen(nbytes * (1 + value % 2), value))
        places.add(found[0].ctypes.data)
        assert [array[1, 7] for array in found] == [value + 1] * 2
        del found
    assert len(places) <= 2


def test_a_result_outlives_its_window() -> None:
    memory = mmap.mmap(-1, window_bytes(2))
    first, second = together(
        [Window(memory, rank, 2, waiting) for rank in range(2)], lambda window: fill(window, 7)
    )
    gc.collect()
    assert (first[0] == 7).all() and (second[1] == 8).all()


def test_what_a_forked_child_drops_is_still_the_parents(windows: list[Window]) -> None:
    kept = together(windows, lambda window: fill(window, 1))
    where = kept[0].ctypes.data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside the threads of BLAS
        child = os.fork()
    if child == 0:
        kept.clear()
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert together(windows, lambda window: fill(window, 2))[0].ctypes.data != where
    assert (kept[0][0] == 1).all()


def test_without_room_no_rank_gets_a_block(windows: list[Window], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "LIMIT", 1000)
    assert together(windows, lambda window: fill(window, 1)) == [None, None]


def test_what_was_chosen_early_for_another_size_is_not_taken(windows: list[Window]) -> None:
    """There is a free block of the size that rank 0 foresaw; the ranks ask for a larger one."""
    kept = together(windows, lambda window: fill(window, 1))
    nbytes = kept[0].nbytes
    kept.clear()

    def larger(window: Window) -> Any:
        if window.rank == 0:
            window.foresee(nbytes)
        window.meet()
        result = window.share((2, 50000), FLOAT)
        assert result is not None
        result.writable[window.rank] = window.rank
        window.meet()
        return result.array

    for array in together(windows, larger):
        assert (array[0] == 0).all() and (array[1] == 1).all()


def shared_of(windows: list[Window], *columns: int) -> list[bool]:
    """Whether the ranks get a result of so many pages, one after the other, each dropped before the next."""

    def act(window: Window) -> list[bool]:
        got = []
        for count in columns:
            result = window.share((count, 1024), FLOAT)
            got.append(result is not None)
            del result
            window.meet()
        return got

    first, second = together(windows, act)
    assert first == second
    return first


def test_a_block_that_nobody_uses_gives_way_to_one_that_fits(
    windows: list[Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    room = shared.room_for(4096 * 8) + shared.PAGE
    monkeypatch.setattr(shared, "LIMIT", room)
    assert shared_of(windows, 8) == [True]  # all of the room
    assert shared_of(windows, 9) == [False]  # and a page more than it
    assert shared_of(windows, 4, 6, 8, 9) == [True, True, True, False]
    assert len(windows[0]._blocks) == 1


def test_there_are_no_more_blocks_than_flags(windows: list[Window], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "BLOCKS", 2)
    assert shared_of(windows, 8, 16, 32, 64) == [True] * 4
    assert sorted(windows[0]._blocks) == [0, 1]


def test_every_block_has_its_flags(windows: list[Window]) -> None:
    """As many results as there can be, and none when all are kept."""

    def act(window: Window) -> list[Any]:
        kept = []
        for value in range(shared.BLOCKS):
            result = window.share((2,), FLOAT)
            assert result is not None
            result.writable[window.rank] = value
            window.meet()
            kept.append(result.array)
        assert window.share((2,), FLOAT) is None
        window.meet()
        return kept

    for arrays in together(windows, act):
        assert [array.tolist() for array in arrays] == [[value] * 2 for value in range(shared.BLOCKS)]


def test_a_block_in_use_gives_no_way(windows: list[Window], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "BLOCKS", 1)
    kept = together(windows, lambda window: fill(window, 1))
    assert shared_of(windows, 64) == [False]
    kept.clear()
    assert shared_of(windows, 64) == [True]


def test_who_has_not_come_is_told() -> None:
    memory = mmap.mmap(-1, window_bytes(4))
    told: list[tuple[int, ...]] = []

    def waits(done: Callable[[], bool], missing: Callable[[], tuple[int, ...]], bell: Bell | None) -> None:
        assert not done() and bell is None
        told.append(missing())

    for rank in (3, 1):
        Window(memory, rank, 4, waits).meet()
    assert told == [(0, 1, 2), (0, 2)]


def test_no_name_is_left(windows: list[Window], monkeypatch: pytest.MonkeyPatch) -> None:
    names = recorded(monkeypatch)
    together(windows, lambda window: fill(window, 1))
    assert names and not any(name.exists() for name in names)


def test_what_is_shown_arrives_in_pieces(windows: list[Window]) -> None:
    def show(window: Window) -> list[list[float]]:
        assert window.can_show()
        turns = []
        for turn in range(5):
            parts = [np.full((2, 3), turn, FLOAT), np.full(4, 10 * window.rank, FLOAT)]
            turns.append(window.show(parts, FLOAT)[:, :10].copy().tolist())
        return turns

    wanted = [[[turn] * 6 + [10.0 * rank] * 4 for rank in range(2)] for turn in range(5)]
    assert together(windows, show) == [wanted, wanted]


@pytest.mark.parametrize("size", [1, 2, 63, 1278, 4097])  # for 1278 ranks all else ends shortly behind a page
def test_what_ranks_show_begins_on_the_next_page_behind_all_else(size: int) -> None:
    slots = shared._slots_at(size)
    end = (shared._LINE + shared.BLOCKS) * size + shared._TEXT + shared._PATH + shared.BYTES
    assert slots % mmap.PAGESIZE == 0 and end <= slots < end + mmap.PAGESIZE


@pytest.mark.parametrize(
    ("machine", "on_one_host", "has_room", "opens"),
    [
        ("x86_64", True, True, True),
        ("AMD64", True, True, True),
        ("aarch64", True, True, False),  # whose stores others may see in another order
        ("x86_64", False, True, False),
        ("x86_64", True, False, False),
    ],
)
def test_where_ranks_share_memory(
    monkeypatch: pytest.MonkeyPatch, machine: str, on_one_host: bool, has_room: bool, opens: bool
) -> None:
    def shared_block(nbytes: int, in_memory: bool) -> Any:
        assert nbytes == window_bytes(2) and in_memory
        if not has_room:
            raise OSError("no space left")
        return SimpleNamespace(memory=mmap.mmap(-1, nbytes))

    monkeypatch.setattr(platform, "machine", lambda: machine)
    group: Any = SimpleNamespace(
        on_one_host=on_one_host, size=2, rank=1, ranks=(0, 1), shared_block=shared_block,
        world=SimpleNamespace(neighbours=SimpleNamespace(ranks=(0, 1))),
    )  # fmt: skip
    monkeypatch.setattr(shared, "usable_cpus", lambda: {0, 1})
    found = shared._open(group)
    assert found is None or not found._crowded  # there are as many processors as ranks
    monkeypatch.setattr(shared, "usable_cpus", lambda: {0})
    crowded = shared._open(group)
    assert crowded is None or crowded._crowded
    assert (found is not None) is opens
    assert found is None or (found.rank, found.size) == (1, 2)
