"""Shards of bfloat16 elements in 16 bits each, until somebody reads them in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tt_run.runtime.values import storage
from tt_run.runtime.values.at_rest import Dense
from tt_run.runtime.values.bfloat16 import BFLOAT16, widen
from tt_run.runtime.values.shards import Shards, combine
from tt_run.runtime.values.storage import Buffer

Array = npt.NDArray[Any]


def elements(*shape: int) -> Array:
    """Bits of every kind, NaN among them."""
    return np.random.default_rng(0).integers(0, 1 << 16, shape, np.uint16).view(BFLOAT16)


def test_they_are_widened_once_when_they_are_read():
    given = elements(2, 300)
    shards = Shards.of_bfloat16(given, (0, 1, 1))
    assert (shards.shape, shards.stack is given, shards.bare) == ((300,), True, False)
    assert shards.bfloat16 is given
    data = shards.data
    assert np.array_equal(data.view(np.uint32), given.view(np.uint16).astype(np.uint32) << 16)
    assert shards.bfloat16 is None and shards.data is data and shards.stack is data


def test_made_tells_both_forms_apart():
    assert Shards.made(elements(1, 4), (0,)).bfloat16 is not None
    for other in (np.zeros((1, 4), np.float32), np.zeros((1, 4), np.uint16)):
        assert Shards.made(other, (0,)).data is other


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = Shards.of_bfloat16(elements(1, 4), (0,)).nothing  # type: ignore[attr-defined]


def test_other_devices_hold_the_same_elements():
    shards = Shards.of_bfloat16(elements(2, 4), (0, 1))
    assert shards.placed((1, 0, -1)).bfloat16 is shards.bfloat16
    with pytest.raises(ValueError, match="does not fit"):
        shards.placed((2,))


def test_functions_get_either_form_only_where_they_ask_for_it():
    given = elements(2, 4)
    seen: list[Any] = []

    def note(*stacks: Array) -> Array:
        seen.extend(stack.dtype for stack in stacks)
        return stacks[0]

    shards = Shards.of_bfloat16(given, (0, 1))
    assert shards.map(note, either=True).bfloat16 is given
    assert combine(note, shards, Shards.of_bfloat16(given, (1, 0)), either=True).bfloat16 is not None
    assert seen == [BFLOAT16] * 3
    combine(note, shards, Shards.of_bfloat16(given, (1, 0)))
    assert seen[3:] == [np.float32] * 2


def test_a_buffer_counts_and_packs_them(monkeypatch: pytest.MonkeyPatch):
    dense = Dense(lambda: 1 << 30)
    monkeypatch.setattr(storage, "dense", dense)
    given = elements(1, 1 << 19)
    buffer = Buffer(Shards.of_bfloat16(given, (0,)))
    assert dense.nbytes == 4 * given.size  # as they are once they are read
    assert buffer.bits is not None and np.array_equal(buffer.bits, given.view(np.uint16))
    assert buffer.pack() and buffer._shards is None
    assert np.array_equal(buffer.shards.data.view(np.uint32), widen(given).view(np.uint32))


def test_what_is_written_has_no_memory_of_another_buffer():
    """An optimizer writes into the bits of a parameter: they may not be those of the tensor that was copied into it."""
    given = elements(1, 1 << 19)
    one, other = Buffer(Shards.of_bfloat16(given, (0,))), Buffer(Shards.of_bfloat16(given[:, ::-1], (0,)))
    other.write(one.shards)
    assert other.pack()
    bits = other.bits
    assert bits is not None and not np.may_share_memory(bits, given)
