"""Buffers: what is written into them, given back, seen by others over the same bytes, and packed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.residents import Move
from tt_run.runtime.values import shared_packs, storage
from tt_run.runtime.values.at_rest import SMALLEST, Dense
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.packing import Packed
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Buffer, BufferPart

Array = npt.NDArray[Any]
ENOUGH = SMALLEST // 4  # numbers


class Thing:
    """What a buffer may belong to."""


@pytest.fixture
def dense(monkeypatch: pytest.MonkeyPatch) -> Dense:
    """Room for everything, and nothing in it."""
    made = Dense(lambda: 1 << 30)
    monkeypatch.setattr(storage, "dense", made)
    return made


@pytest.fixture
def given_back(monkeypatch: pytest.MonkeyPatch) -> list[Buffer]:
    found: list[Buffer] = []
    monkeypatch.setattr(Buffer, "freed", found.append)
    return found


def of(*numbers: float) -> Buffer:
    """One shard of some numbers, on one device."""
    return Buffer(Shards(np.array([numbers], np.float32), (0,)))


def large(bfloat16: bool = True, count: int = ENOUGH, **options: Any) -> Buffer:
    numbers = np.random.default_rng(3).standard_normal((1, count)).astype(np.float32)
    if bfloat16:
        numbers = numbers.astype(BFLOAT16).astype(np.float32)
    return Buffer(Shards(numbers, (0,)), **options)


def numbers(buffer: Buffer) -> list[float]:
    found = buffer.shards.of(0)
    assert found is not None
    return [float(one) for one in found.reshape(-1)]


def test_what_was_given_back_is_not_there(given_back: list[Buffer]) -> None:
    buffer = of(1)
    assert buffer.allocated
    buffer.free()
    assert not buffer.allocated and given_back == [buffer]
    for use in (lambda: buffer.shards, lambda: buffer.index, lambda: buffer.write(of(2).shards)):
        with pytest.raises(RuntimeError, match="Tensor is not allocated"):
            use()
    assert (buffer.bits, buffer.pack()) == (None, False)
    buffer.follow(Move({}, [0]))
    assert not buffer.allocated


def test_nothing_is_given_back_while_calls_are_captured(
    given_back: list[Buffer], monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = of(1)
    monkeypatch.setattr(Buffer, "stay", True)
    buffer.free()
    assert numbers(buffer) == [1] and not given_back


def test_an_array_that_was_read_stays_as_it_was() -> None:
    buffer = of(1, 2)
    before, writes = buffer.shards, buffer.writes
    buffer.write(of(3, 4).shards)
    assert before.data.tolist() == [[1, 2]] and numbers(buffer) == [3, 4]
    assert buffer.writes == writes + 1


def test_only_what_comes_from_the_host_lasts_until_it_is_written() -> None:
    assert not of(1).lasting
    buffer = Buffer(of(1).shards, lasting=True)
    assert buffer.lasting
    buffer.write(of(2).shards)
    assert not buffer.lasting


@pytest.mark.parametrize("lasting", [True, False])
def test_only_what_lasts_is_shared_among_ranks(
    monkeypatch: pytest.MonkeyPatch, dense: Dense, lasting: bool
) -> None:
    seen: list[Packed] = []
    monkeypatch.setattr(shared_packs, "shared", lambda packed: seen.append(packed) or packed)
    assert large(lasting=lasting).pack()
    assert len(seen) == lasting


# --- others over the same bytes ------------------------------------------------------------------------------------------


def flat(stack: Array) -> Array:
    return stack.reshape(len(stack), -1)


def tail(stack: Array) -> Array:
    return stack[:, 2:]


def seen_by(first: Buffer, seen: storage.Seen) -> Buffer:
    shards = first.shards
    other = Buffer(Shards(seen(shards.data), shards.index), first.place)
    first.seen_as(other, seen)
    return other


def test_a_part_sees_what_is_written_into_the_whole_and_the_whole_what_into_the_part() -> None:
    first = of(1, 2, 3, 4)
    assert not first.has_views
    part = seen_by(first, tail)
    inner = seen_by(part, lambda stack: stack[:, 1:])
    assert first.has_views and part.has_views
    first.write(of(5, 6, 7, 8).shards)
    assert (numbers(part), numbers(inner)) == ([7, 8], [8])
    part.write(of(9, 10).shards)
    assert (numbers(first), numbers(inner)) == ([5, 6, 9, 10], [10])
    inner.write(of(11).shards)
    assert (numbers(first), numbers(part)) == ([5, 6, 9, 11], [9, 11])


def test_the_whole_in_another_shape_is_written_as_a_whole() -> None:
    first = Buffer(Shards(np.arange(4, dtype=np.float32).reshape(1, 2, 2), (0,)))
    line = seen_by(first, flat)
    part = seen_by(line, tail)
    line.write(of(4, 5, 6, 7).shards)
    assert first.shards.data.tolist() == [[[4, 5], [6, 7]]] and numbers(part) == [6, 7]
    part.write(of(8, 9).shards)
    assert first.shards.data.tolist() == [[[4, 5], [8, 9]]] and numbers(line) == [4, 5, 8, 9]


def test_what_is_given_back_sees_nothing_more() -> None:
    first = of(1, 2, 3, 4)
    part, other = seen_by(first, tail), seen_by(first, tail)
    part.free()  # and the one that was there first with it
    other.write(of(5, 6).shards)
    assert numbers(other) == [5, 6] and not part.allocated


def test_the_first_goes_with_who_is_given_back_by_force_and_not_the_other_way() -> None:
    first = of(1, 2, 3, 4)
    thing = Thing()
    part = Buffer(Shards(first.shards.data[:, 2:], (0,)), first.place)
    first.seen_as(part, tail, thing)
    assert first.place.owner is first
    first.free()
    assert numbers(part) == [3, 4]
    again = of(1, 2, 3, 4)
    seen_by(again, tail).free()
    assert not again.allocated


def test_views_that_are_gone_are_forgotten() -> None:
    first = of(1, 2, 3, 4)
    for _ in range(100):
        seen_by(first, tail)
    gc.collect()
    kept = [seen_by(first, tail) for _ in range(3)]
    assert len(first.place._views) < 40
    first.write(of(5, 6, 7, 8).shards)
    assert [numbers(one) for one in kept] == [[7, 8]] * 3


def test_every_view_is_told_however_many_there_are() -> None:
    first = of(1, 2, 3, 4)
    views = [seen_by(first, tail) for _ in range(70)]
    first.write(of(5, 6, 7, 8).shards)
    assert all(numbers(one) == [7, 8] for one in views)


def test_tensors_that_share_a_buffer() -> None:
    buffer, mine, other = of(1), Thing(), Thing()
    assert not buffer.shared_beside(mine)
    buffer.share(mine)
    assert not buffer.shared_beside(mine)
    buffer.share(mine, other)
    assert buffer.shared_beside(mine) and buffer.shared_beside(other)
    del other
    gc.collect()
    assert not buffer.shared_beside(mine)


def test_tensors_over_a_view_share_the_bytes_too() -> None:
    first, mine, other, third = of(1, 2, 3, 4), Thing(), Thing(), Thing()
    part = Buffer(Shards(first.shards.data[:, 2:], (0,)), first.place)
    first.seen_as(part, tail, mine, other)
    assert first.shared_beside(mine) and part.shared_beside(other)
    part.share(third)
    del other
    gc.collect()
    assert first.shared_beside(mine) and part.shared_beside(third)
    del mine
    gc.collect()
    assert first.shared_beside(None) and not first.shared_beside(third) and not part.shared_beside(third)


# --- memory --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fewer", "counted"), [(0, 4 * ENOUGH), (1, 0)])
def test_buffers_count_from_a_quarter_of_a_mebibyte_on(dense: Dense, fewer: int, counted: int) -> None:
    buffer = large(count=ENOUGH - fewer)
    assert dense.nbytes == counted
    dense.forget(id(buffer))
    assert buffer.shards.shape == (ENOUGH - fewer,)
    assert dense.nbytes == counted  # reading counts as well
    dense.forget(id(buffer))
    buffer.write(Shards(np.ones((1, ENOUGH - fewer), np.float32), (0,)))
    assert dense.nbytes == counted


def test_elements_of_16_bits_count_as_they_will_be(dense: Dense) -> None:
    halves = Buffer(Shards.of_bfloat16(np.ones((1, 2 * ENOUGH), BFLOAT16), (0,)))
    assert dense.nbytes == 8 * ENOUGH
    dense.forget(id(halves))
    assert halves.shards.bfloat16 is not None and dense.nbytes == 8 * ENOUGH


def test_one_number_seen_many_times_takes_nothing(dense: Dense) -> None:
    seen = np.broadcast_to(np.ones((), np.float32), (1, ENOUGH))
    buffer = Buffer(Shards(seen, (0,)))
    assert dense.nbytes == 0 and buffer.allocated


@pytest.mark.parametrize(("fewer", "packed"), [(0, True), (1, False)])
def test_only_what_counts_is_packed_though_there_is_room(dense: Dense, fewer: int, packed: bool) -> None:
    buffer = large(count=ENOUGH - fewer)
    before = buffer.shards.data.copy()
    buffer.pack_away()
    assert (buffer._shards is None, dense.nbytes) == (packed, 0)
    assert buffer.allocated and buffer.index == (0,)
    assert (buffer._shards is None) == packed  # the index is there without the numbers
    assert np.array_equal(buffer.shards.data, before)


def test_what_has_no_smaller_form_stays(dense: Dense) -> None:
    buffer = large(bfloat16=False)
    buffer.pack_away()
    assert buffer._shards is not None and dense.nbytes == 4 * ENOUGH


def test_packed_once_the_form_stays_until_it_is_written(dense: Dense) -> None:
    buffer = large()
    assert buffer.pack()
    packed = buffer._packed
    assert buffer.shards.data.any() and buffer.pack() and buffer._packed is packed
    buffer.write(Shards(np.ones((1, 16), np.float32), (0,)))
    assert buffer._packed is None and numbers(buffer) == [1] * 16


def test_bits_are_there_where_they_cost_nothing(dense: Dense) -> None:
    assert of(1).bits is None
    halves = np.array([[1.0, -2.0]], BFLOAT16)
    short = Buffer(Shards.of_bfloat16(halves, (0,))).bits
    assert short is not None and short.dtype == np.uint16 and np.may_share_memory(short, halves)
    kept = np.array([[0x3F80]], np.uint16)
    assert Buffer(Shards(np.ones((1, 1), np.float32), (0,), kept)).bits is kept
    packed = Buffer(Shards(np.array([[[1.0, -2.0]]], np.float32), (0,)))
    assert packed.pack()
    assert packed.bits is not None and packed.bits.tolist() == [[[0x3F80, 0xC000]]]
    blocks = Buffer(Shards(np.ones((1, 16), np.float32), (0,)))
    assert blocks.pack() and blocks.bits is None  # bytes and exponents


def test_what_is_written_into_the_bits_is_the_content(dense: Dense) -> None:
    dense.is_tight = True
    buffer = large()
    assert buffer.pack()
    bits, writes = buffer.bits, buffer.writes
    assert bits is not None
    bits[0, :2] = 0x4000, 0xC000
    buffer.hold_bits()
    assert dense.nbytes == 0 and buffer.writes == writes + 1
    assert numbers(buffer)[:2] == [2, -2]


# --- one device's shard --------------------------------------------------------------------------------------------------


@pytest.fixture
def whole() -> Iterator[Buffer]:
    """Two rows on four devices, of which one has none."""
    yield Buffer(Shards(np.array([[1.0], [2.0]], np.float32), (0, 1, -1, 1)))


HERE, ELSEWHERE = MeshCoordinate(0, 1), MeshCoordinate(1, 1)


def test_a_part_shows_one_device(whole: Buffer) -> None:
    part = BufferPart(whole, 1, HERE)
    assert part.is_local
    assert (part.shards.data.tolist(), part.shards.index) == ([[2]], (-1, 0, -1, -1))
    empty = BufferPart(whole, 2, HERE)
    assert (empty.shards.data.shape, empty.shards.index) == ((0, 1), (-1, -1, -1, -1))
    first = BufferPart(whole, 0, HERE)
    assert (first.shards.data.tolist(), first.shards.index) == ([[1]], (0, -1, -1, -1))


def test_writing_a_part_leaves_the_others(whole: Buffer) -> None:
    part = BufferPart(whole, 1, HERE)
    part.write(Shards(np.array([[7.0]], np.float32), (-1, 0, -1, -1)))
    assert [None if one is None else one.item() for one in whole.shards.each()] == [1, 7, None, 2]
    BufferPart(whole, 0, HERE).write(Shards(np.array([[8.0]], np.float32), (0, -1, -1, -1)))
    assert [None if one is None else one.item() for one in whole.shards.each()] == [8, 7, None, 2]


def test_a_part_of_another_rank(whole: Buffer) -> None:
    part = BufferPart(whole, None, ELSEWHERE)
    assert not part.is_local and part.allocated
    assert (part.shards.data.shape, part.shards.index) == ((0, 1), (-1, -1, -1, -1))
    before = whole.shards
    part.write(Shards(np.array([[7.0]], np.float32), (0, 0, 0, 0)))
    assert whole.shards is before
    part.free()
    assert not whole.allocated and not part.allocated


def test_parts_follow_their_devices(whole: Buffer) -> None:
    part, other, remote = (
        BufferPart(whole, 1, HERE),
        BufferPart(whole, 0, ELSEWHERE),
        BufferPart(whole, None, ELSEWHERE),
    )
    move = Move({HERE: ELSEWHERE, ELSEWHERE: HERE}, [3, 2, 1, 0])
    for one in (part, other, remote):
        one.follow(move)
    assert whole.index == (1, -1, 1, 0)  # once
    assert (part.coord, other.coord, remote.coord) == (ELSEWHERE, HERE, HERE)
    assert (part.shards.index, part.shards.data.tolist()) == ((-1, -1, 0, -1), [[2]])
    assert (other.shards.index, other.shards.data.tolist()) == ((-1, -1, -1, 0), [[1]])
    assert part.of(Buffer(whole.shards)).coord == ELSEWHERE
