"""Transitions of states and the convolution before delta attention, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, ROW, U32, held, near, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tuning.delta_rule import QkvCausalConv1dSiluProgramConfig

HEADS, GROUPS, DEPTH, WIDTH = 2, 3, 32, 64
RNG = np.random.default_rng(5)
A = RNG.normal(0, 0.2, (HEADS * GROUPS, DEPTH, DEPTH)).astype(np.float32)
B = RNG.normal(0, 1, (HEADS * GROUPS, DEPTH, WIDTH)).astype(np.float32)
FIRST = RNG.normal(0, 1, (HEADS, DEPTH, WIDTH)).astype(np.float32)


def call(name: str, *args: Any, **words: Any) -> Any:
    found = catalog.find(f"ttnn.experimental.kda.{name}")
    assert found is not None
    return found(*args, **words)


def start(one: MeshDevice, number: int = 0) -> dict[str, Any]:
    return {"actual_start": put(one, [number], U32, ROW)}


def after(head: int, groups: int) -> np.ndarray:
    """The state of a head after some of its groups."""
    state = FIRST[head].astype(np.float64)
    for group in range(head * GROUPS, head * GROUPS + groups):
        state = A[group].astype(np.float64) @ state + B[group]
    return state


def test_states_follow_from_group_to_group(one: MeshDevice):
    a, b, first = put(one, A), put(one, B), put(one, FIRST)
    words = {"local_rows": 96, **start(one)}
    entries = call(
        "affine_exclusive_scan", a, b, first, GROUPS, tail_a=a, tail_b=b, tail_entry_states=first, **words
    )
    near(entries, np.stack([after(head, group) for head in range(HEADS) for group in range(GROUPS)]), steps=4)
    factor, term = (
        held(t).astype(np.float64) for t in call("reduce_affine_transforms", a, b, GROUPS, **words)
    )
    last = np.stack([after(head, GROUPS) for head in range(HEADS)])
    np.testing.assert_allclose(factor @ FIRST + term, last, rtol=1e-4, atol=1e-5)
    packed = rounded(np.concatenate([factor, term], -1)[None].astype(np.float32), BF16)
    entry, carry = call("chain_affine_transforms", put(one, packed, BF16), first, **words)
    assert np.array_equal(held(entry), FIRST) and carry.dtype is F32
    near(carry, packed[0][..., :DEPTH].astype(np.float64) @ FIRST + packed[0][..., DEPTH:], steps=4)


def test_a_summary_does_what_the_chunks_do(one: MeshDevice):
    """Two groups of a head, of two chunks each: the state behind a group is A S + B of the one before it."""
    shapes = (
        (2, 2, 32, 32),
        (2, 2, 32, 32),
        (2, 2, 32, 32),
        (2, 2, 32, 32),
        (2, 2, 32, 32),
        (2, 2, 32, 1),
        (2, 2, 32, 32),
    )
    terms = [put(one, RNG.normal(0, 0.1, shape).astype(np.float32)) for shape in shapes]
    first = RNG.normal(size=(2, 32, 32)).astype(np.float32)
    words = {"groups_per_head": 2, **start(one)}
    _, last = call(
        "recurrent_chunk_scan", *terms, put(one, first), tail_entry_states=put(one, first[:1]), **words
    )
    a, b, tail_a, tail_b = call("summarize_chunk_recurrence", *terms, **words)
    assert all(tensor.dtype is BF16 for tensor in (a, b, tail_a, tail_b))
    found = held(a).astype(np.float64) @ first + held(b)
    np.testing.assert_allclose(found, held(last), atol=2**-6 * np.abs(held(last)).max())
    (packed,) = call("summarize_chunk_recurrence", *terms, packed_head=True, **start(one))
    assert np.array_equal(held(packed)[0], np.concatenate([held(a), held(b)], -1))
    with pytest.raises(RuntimeError, match="packed_head requires groups_per_head == 1"):
        call("summarize_chunk_recurrence", *terms, packed_head=True, **words)


@pytest.mark.parametrize("offset", [0, 32])
def test_a_convolution_looks_at_four_tokens(one: MeshDevice, offset: int):
    x = rounded(RNG.normal(size=(1, 64, 160)).astype(np.float32), BF16)
    before = rounded(RNG.normal(size=(1, 3, 128)).astype(np.float32), BF16)
    taps = rounded(RNG.normal(size=(4, 128)).astype(np.float32), BF16)
    history = put(one, before, BF16, ROW)
    words = {
        "program_config": QkvCausalConv1dSiluProgramConfig(channel_chunk_size=32),
        "predecessor_carry": history,
        "input_column_offset": offset,
    }
    given = (put(one, x, BF16), history, *(put(one, tap, BF16) for tap in taps), 32, 32, 64)
    found = call("qkv_causal_conv1d_silu", *given, **words, **start(one, 128))
    longer = np.concatenate([before, x[..., offset : offset + 128]], 1).astype(np.float64)
    total = sum(taps[i] * longer[:, i : i + 64] for i in range(4))
    for tensor, wanted in zip(found, np.split(total / (1 + np.exp(-total)), [32, 64], -1), strict=True):
        assert tensor.dtype is BF16
        near(tensor, wanted, steps=2)


def test_what_does_not_fit(one: MeshDevice):
    a, b, first = put(one, A), put(one, B), put(one, FIRST)
    words = {"local_rows": 96, **start(one)}
    for given, message in (
        ((a, b, 4), "leading dimension must be divisible by groups_per_head"),
        ((b, a, 3), "a must contain square KxK matrices"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call("reduce_affine_transforms", *given, **words)
    with pytest.raises(RuntimeError, match="do not fit 1 ranks and the state"):
        call("chain_affine_transforms", a, first, **words)


def test_a_start_inside_means_nothing_to_one_rank(one: MeshDevice):
    found = (
        call(
            "reduce_affine_transforms", put(one, A), put(one, B), GROUPS, local_rows=96, **start(one, number)
        )
        for number in (0, 32)
    )
    assert np.array_equal(*(held(pair[0]) for pair in found))


def test_rows_are_whole_chunks_of_groups(one: MeshDevice):
    with pytest.raises(
        RuntimeError, match="must contain a positive whole number of 32-token chunks per group"
    ):
        call("reduce_affine_transforms", put(one, A), put(one, B), GROUPS, local_rows=64, **start(one))
