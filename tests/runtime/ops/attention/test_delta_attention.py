"""Delta attention with a decay for each key against its recurrence, token by token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, ROW, U32, held, near, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice

HEADS, ROWS, K, V = 2, 96, 32, 64
RNG = np.random.default_rng(4)


def call(name: str, *args: Any, **words: Any) -> Any:
    found = catalog.find(f"ttnn.experimental.kda.{name}")
    assert found is not None
    return found(*args, **words)


def number(one: MeshDevice, value: int) -> Any:
    return put(one, np.array([value]), U32, ROW)


def sequence() -> tuple[np.ndarray, ...]:
    q, k = (rounded(0.3 * RNG.normal(size=(1, ROWS, HEADS * K)), BF16) for _ in range(2))
    v = rounded(0.2 * RNG.normal(size=(1, ROWS, HEADS * V)), BF16)
    g = rounded(-0.001 - 0.05 * RNG.random((1, ROWS, HEADS * K)), BF16)
    return q, k, v, g, rounded(RNG.normal(size=(1, ROWS, 40)), BF16)


def by_token(parts: tuple[np.ndarray, ...], first: np.ndarray, real: int) -> tuple[np.ndarray, np.ndarray]:
    """S = exp(g) S + beta k (v - k . exp(g) S); y = q . S for each head: outputs [H, T, V] and the last states."""
    q, k, v, g, beta = (p[0].astype(np.float64) for p in parts)
    q, k, g = (p.reshape(ROWS, HEADS, K) for p in (q, k, 2.0 * g))
    q = q / np.sqrt((q * q).sum(-1, keepdims=True) + 1e-6) / np.sqrt(K)
    k = k / np.sqrt((k * k).sum(-1, keepdims=True) + 1e-6)
    v, beta = v.reshape(ROWS, HEADS, V), 1 / (1 + np.exp(-beta[:, 32 : 32 + HEADS]))
    out, state = np.zeros((HEADS, ROWS, V)), first.astype(np.float64).copy()
    for head in range(HEADS):
        for t in range(real):
            state[head] *= np.exp(g[t, head])[:, None]
            state[head] += beta[t, head] * np.outer(k[t, head], v[t, head] - k[t, head] @ state[head])
            out[head, t] = q[t, head] @ state[head]
    return out, state


@pytest.mark.parametrize("real", [ROWS, 70])
@pytest.mark.parametrize("mask", [0, 0x37])
def test_chunks_are_the_recurrence(one: MeshDevice, real: int, mask: int) -> None:
    parts = sequence()
    words = {"actual_start": number(one, ROWS), "actual_end": number(one, ROWS + real)}
    terms = call(
        "prepare_chunk_recurrence", *(put(one, p, BF16) for p in parts), HEADS, gate_scale=2.0, output_bf16_mask=mask,
        beta_logits_column_offset=32, **words,
    )  # fmt: skip
    assert [t.dtype for t in terms] == [BF16 if mask >> i & 1 else F32 for i in range(7)]
    first = 0.1 * RNG.normal(size=(HEADS, K, V)).astype(np.float32)
    states = put(one, first, F32)
    found, last = call("recurrent_chunk_scan", *terms, states, tail_entry_states=states, **words)
    wanted, state = by_token(parts, first, real)
    assert found.dtype is BF16
    tokens = held(found).reshape(HEADS, ROWS, V)[:, :real]
    np.testing.assert_allclose(tokens, wanted[:, :real], atol=2**-6 * np.abs(wanted).max())
    near(last, state, steps=2**16 if mask else 64)


def test_groups_begin_with_their_own_states(one: MeshDevice) -> None:
    parts = sequence()
    terms = call("prepare_chunk_recurrence", *(put(one, p, BF16) for p in parts), HEADS)
    grouped = [put(one, held(t).reshape(HEADS * 3, 1, *held(t).shape[2:]), F32) for t in terms]
    first = put(one, RNG.normal(size=(HEADS * 3, K, V)).astype(np.float32), F32)
    words: dict[str, Any] = {"actual_start": number(one, 0)}
    tails = [put(one, np.zeros((n, K, V), np.float32), F32) for n in (HEADS, 1)]
    out, last = call(
        "recurrent_chunk_scan",
        *grouped,
        first,
        groups_per_head=3,
        actual_end=number(one, 64),
        tail_entry_states=tails[0],
        **words,
    )
    for group in (0, 1, 3, 4):
        alone = [put(one, held(t)[group : group + 1], F32) for t in (*grouped, first)]
        wanted, state = call("recurrent_chunk_scan", *alone, tail_entry_states=tails[1], **words)
        assert np.array_equal(held(out)[group], held(wanted)[0])
        assert np.array_equal(held(last)[group], held(state)[0])
    assert np.array_equal(held(last)[[2, 5]], held(last)[[1, 4]])


def test_heads_are_normed_and_gated(one: MeshDevice) -> None:
    x, gate = RNG.normal(size=(4, 32, 64)).astype(np.float32), rounded(RNG.normal(size=(2, 32, 192)), BF16)
    weight = rounded(RNG.normal(size=64), BF16)
    found = call(
        "sigmoid_gated_rms_norm",
        put(one, x, F32),
        put(one, gate, BF16),
        put(one, weight, BF16),
        2,
        gate_column_offset=64,
    )
    normed = x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5) * weight
    flat = normed.reshape(2, 2, 32, 64).transpose(0, 2, 1, 3).reshape(2, 32, 128)
    near(found, flat / (1 + np.exp(-gate[..., 64:].astype(np.float64))), steps=8)


def test_what_is_refused(one: MeshDevice) -> None:
    q, k, v, g, beta = (put(one, p, BF16) for p in sequence())
    with pytest.raises(RuntimeError, match="flat widths must be divisible by num_heads"):
        call("prepare_chunk_recurrence", q, k, v, g, beta, 3)
    with pytest.raises(RuntimeError, match="unsupported KDA prep BF16 mask 0x8"):
        call("prepare_chunk_recurrence", q, k, v, g, beta, HEADS, output_bf16_mask=8)
    for start, words in (
        (put(one, [0], BF16, ROW), "actual_start must be UINT32, got DataType::BFLOAT16"),
        (put(one, [0], U32), "actual_start must use ROW_MAJOR layout"),
        (put(one, [0, 0], U32, ROW), "actual_start must be a scalar"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call("prepare_chunk_recurrence", q, k, v, g, beta, HEADS, actual_start=start)
    with pytest.raises(RuntimeError, match="invalid sequence_parallel_axis"):
        call("prepare_chunk_recurrence", q, k, v, g, beta, HEADS, sequence_parallel_axis=2)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("epsilon", [1e-5, 0.5])
def test_gated_rows_in_both_types(one: MeshDevice, dtype: Any, epsilon: float) -> None:
    x = rounded(RNG.normal(size=(HEADS, ROWS, V)), BF16)
    gate, weight = rounded(RNG.normal(size=(1, ROWS, HEADS * V)), BF16), rounded(RNG.normal(size=V), BF16)
    given = put(one, x, F32), put(one, gate, BF16), put(one, weight, BF16)
    found = call("sigmoid_gated_rms_norm", *given, HEADS, epsilon=epsilon, output_dtype=dtype)
    wide = x.astype(np.float64)
    normed = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + epsilon) * weight
    wanted = normed.swapaxes(0, 1).reshape(1, ROWS, HEADS * V) / (1 + np.exp(-gate.astype(np.float64)))
    assert found.dtype is dtype
    near(found, wanted, steps=16 if dtype is F32 else 0.01)
