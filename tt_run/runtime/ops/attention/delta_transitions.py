"""Transitions of delta attention's state, S -> A S + B, one after the other, and the convolution before it.

Computed in float64 and rounded once. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.attention.chronology import Chronology, check_rows, members_along, on_each_rank
from tt_run.runtime.ops.attention.delta_checks import (
    check_convolution,
    check_state,
    check_summary,
    check_transitions,
)
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.delta_rule import QkvCausalConv1dSiluProgramConfig
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@operation("ttnn.experimental.kda.reduce_affine_transforms", family=families.ATTENTION)
def reduce_affine_transforms(
    a: Tensor,
    b: Tensor,
    groups_per_head: int,
    *,
    actual_start: Tensor,
    local_rows: int,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    sequence_parallel_axis: int = 0,
    actual_end: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Transitions A [B*H*G, K, K] and B [B*H*G, K, V] of G groups as one of each head: [B*H, K, K] and [B*H, K, V], float32.

    Of a rank with a tail those of its head; of one without tokens the one that changes nothing. Raises RuntimeError for shapes that do not fit.
    """
    name = "reduce_affine_transforms"
    given = _transitions(name, a, b, groups_per_head)
    check_rows(name, local_rows, groups_per_head)

    def composed(at: Chronology, factors: Array, terms: Array) -> list[Array]:
        used = -(-at.head_chunks() * TILE_SIZE * groups_per_head // local_rows)
        total, added = _nothing(len(factors) // groups_per_head, *terms.shape[1:])
        for factor, term in _groups(factors, terms, groups_per_head)[:used]:
            total, added = factor @ total, factor @ added + term
        return [_rounded(total), _rounded(added)]

    named = _bounds(actual_start, actual_end)
    found = on_each_rank(name, sequence_parallel_axis, local_rows, named, composed, *given)
    one, other = (_made(a, shards, memory_config) for shards in found)
    return one, other


@operation("ttnn.experimental.kda.affine_exclusive_scan", family=families.ATTENTION)
def affine_exclusive_scan(
    a: Tensor,
    b: Tensor,
    initial_state: Tensor,
    groups_per_head: int,
    *,
    actual_start: Tensor,
    local_rows: int,
    tail_a: Tensor,
    tail_b: Tensor,
    tail_entry_states: Tensor,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    sequence_parallel_axis: int = 0,
    actual_end: Tensor | None = None,
) -> Tensor:
    """The state with which each of G groups begins, from the first one's [B*H, K, V] on: [B*H*G, K, V], float32.

    Where a rank has a tail, its groups go on from tail_entry_states and by the tail's transitions. Raises RuntimeError as
    `reduce_affine_transforms` does.
    """
    name = "affine_exclusive_scan"
    given = _transitions(name, a, b, groups_per_head)
    check_rows(name, local_rows, groups_per_head)
    check_state(name, initial_state, b, groups_per_head)

    def scanned(at: Chronology, *shards: Array) -> list[Array]:
        factors, terms, first, behind, added, seed = shards
        entries = [first.astype(np.float64)]
        heads, tails = (_groups(*pair, groups_per_head) for pair in ((factors, terms), (behind, added)))
        group, inside = divmod(at.head, local_rows // groups_per_head) if at.tail else (groups_per_head, 0)
        for place in range(1, groups_per_head):
            after = seed.astype(np.float64) if place == group + bool(inside) else entries[-1]
            if place == group and not inside:
                entries.append(after)
                continue
            factor, term = (tails if place > group else heads)[place - 1]
            entries.append(factor @ after + term)
        return [_rounded(np.stack(entries, 1).reshape(terms.shape))]

    states = (initial_state, tail_a, tail_b, tail_entry_states)
    on_device(a, *states, kind="kda")
    named = _bounds(actual_start, actual_end)
    (shards,) = on_each_rank(name, sequence_parallel_axis, local_rows, named, scanned, *given, *states)
    return _made(a, shards, memory_config)


@operation("ttnn.experimental.kda.chain_affine_transforms", family=families.ATTENTION)
def chain_affine_transforms(
    transforms: Tensor,
    initial_state: Tensor,
    *,
    actual_start: Tensor,
    local_rows: int,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    sequence_parallel_axis: int = 0,
) -> tuple[Tensor, Tensor]:
    """This rank's entry state and the last state, of each rank's transitions [A | B] [P, B*H, K, K + V] and the state [B*H, K, V]: float32.

    Transitions follow each other from the rank on that holds the first token. Raises RuntimeError for shapes that do not fit.
    """
    name = "chain_affine_transforms"
    members = members_along(name, transforms, sequence_parallel_axis)
    on_device(transforms, initial_state, actual_start, kind="kda")
    heads, depth, width = tuple(initial_state.shape) if len(initial_state.shape) == 3 else (0, 0, 0)
    if tuple(transforms.shape) != (members, heads, depth, depth + width):
        raise fatal(
            f"transforms {transforms.shape} do not fit {members} ranks and the state {initial_state.shape}",
            hint=f"ttnn.reshape(transforms, {[members, heads, depth, depth + width]}), with the state [B*H, K, V]",
        )

    check_rows(name, local_rows)

    def chained(at: Chronology, packed: Array, first: Array) -> list[Array]:
        states = [first.astype(np.float64)]
        for step in range(members):
            own = packed[(at.first + step) % members].astype(np.float64)
            states.append(own[..., :depth] @ states[-1] + own[..., depth:])
        return [_rounded(states[at.step]), _rounded(states[-1])]

    given = (transforms, initial_state)
    found = on_each_rank(name, sequence_parallel_axis, local_rows, (actual_start,), chained, *given)
    one, other = (_made(initial_state, shards, memory_config) for shards in found)
    return one, other


@operation("ttnn.experimental.kda.summarize_chunk_recurrence", family=families.ATTENTION)
def summarize_chunk_recurrence(
    v_beta: Tensor,
    kd: Tensor,
    q_decay: Tensor,
    intra: Tensor,
    k_dec_t: Tensor,
    final_decay: Tensor,
    t_inv: Tensor,
    *,
    actual_start: Tensor,
    groups_per_head: int = 1,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    sequence_parallel_axis: int = 0,
    actual_end: Tensor | None = None,
    packed_head: bool = False,
) -> tuple[Tensor, ...]:
    """What each group of chunks does to the state, S -> A S + B: A and B of its head, then of its tail, bfloat16 [B*H*G, K, K] and [B*H*G, K, V].

    `packed_head`: the head's alone as one [A | B], [1, B*H, K, K + V]. Raises RuntimeError for shapes that do not fit.
    """
    name, given = "summarize_chunk_recurrence", (v_beta, kd, k_dec_t, final_decay, t_inv)
    on_device(*given, q_decay, intra, kind="kda")
    check_summary(
        name, (v_beta, kd, q_decay, intra, k_dec_t, final_decay, t_inv), groups_per_head, packed_head
    )
    chunks = v_beta.shape[1]

    def summed(at: Chronology, *shards: Array) -> list[Array]:
        v, k, turned, decay, inverse = (a.astype(np.float64) for a in shards)
        heads = len(v) // groups_per_head
        pairs = [_nothing(len(v), k.shape[-1], v.shape[-1]) for _ in ("head", "tail")]
        for chunk in range(at.chunks()):
            group, n = divmod(chunk, chunks)
            (factor, term), rows = pairs[chunk >= at.head_chunks()], slice(group, None, groups_per_head)
            for state, values in ((factor, np.zeros((heads, 1, 1))), (term, v[rows, n])):
                u = inverse[rows, n] @ (values - k[rows, n] @ state[rows])
                state[rows] = decay[rows, n] * state[rows] + turned[rows, n] @ u
        if packed_head:
            return [_half(np.concatenate(pairs[0], -1)[None])]
        return [_half(values) for pair in pairs for values in pair]

    rows = groups_per_head * chunks * TILE_SIZE
    named = _bounds(actual_start, actual_end)
    found = on_each_rank(name, sequence_parallel_axis, rows, named, summed, *given)
    return tuple(_made(v_beta, shards, memory_config, DataType.BFLOAT16) for shards in found)


@operation("ttnn.experimental.kda.qkv_causal_conv1d_silu", family=families.ATTENTION)
def qkv_causal_conv1d_silu(
    input: Tensor,
    history: Tensor,
    tap0: Tensor,
    tap1: Tensor,
    tap2: Tensor,
    tap3: Tensor,
    q_width: int,
    k_width: int,
    v_width: int,
    *,
    program_config: QkvCausalConv1dSiluProgramConfig,
    actual_start: Tensor,
    predecessor_carry: Tensor,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    sequence_parallel_axis: int = 0,
    input_column_offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """silu(tap0 x[t-3] + tap1 x[t-2] + tap2 x[t-1] + tap3 x[t]) of every channel of [1, T, W], cut into q, k and v; bfloat16.

    What was before the first token is `history` [1, 3, Q+K+V], before a rank's first one or a tail `predecessor_carry`. Raises RuntimeError
    for shapes that do not fit.
    """
    widths, taps = (q_width, k_width, v_width), (tap0, tap1, tap2, tap3)
    check_convolution(
        "qkv_causal_conv1d_silu", input, (history, predecessor_carry), taps, sum(widths), input_column_offset
    )
    given = (input, history, predecessor_carry, *taps)
    return convolved(
        given, (actual_start,), widths, input_column_offset, sequence_parallel_axis, memory_config
    )


def convolved(
    given: tuple[Tensor, ...],
    bounds: Sequence[Tensor],
    widths: tuple[int, int, int],
    offset: int,
    axis: int,
    memory_config: MemoryConfig | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v of the input, its history, what is before a rank, and four taps."""
    on_device(*given, *bounds, kind="kda")
    rows, (q_width, k_width, _) = given[0].shape[1], widths
    stop = offset + sum(widths)

    def compute(at: Chronology, x: Array, history: Array, carry: Array, *taps: Array) -> list[Array]:
        own, total = x[0, :, offset:stop], np.zeros((rows, sum(widths)))
        for begin, end in ((0, at.head), (at.head, rows)):
            before = history if at.step == 0 and begin == 0 else carry
            longer = np.concatenate([before[0], own[begin:end]]).astype(np.float64)
            for place, tap in enumerate(taps):
                total[begin:end] += tap.reshape(-1) * longer[place : place + end - begin]
        with np.errstate(over="ignore"):
            values = finish((total / (1 + np.exp(-total))).astype(np.float32)[None], DataType.BFLOAT16)
        return [np.ascontiguousarray(p) for p in np.split(values, [q_width, q_width + k_width], -1)]

    found = on_each_rank("qkv_causal_conv1d_silu", axis, rows, bounds, compute, *given)
    q, k, v = (
        settle(given[:1], shards, DataType.BFLOAT16, layout=Layout.TILE, memory_config=memory_config)
        for shards in found
    )
    return q, k, v


def _bounds(start: Tensor, end: Tensor | None) -> tuple[Tensor, ...]:
    return tuple(t for t in (start, end) if t is not None)


def _nothing(heads: int, depth: int, width: int) -> tuple[Array, Array]:
    """The transitions that change nothing."""
    return np.tile(np.eye(depth), (heads, 1, 1)), np.zeros((heads, depth, width))


def _transitions(name: str, a: Tensor, b: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    on_device(a, b, kind="kda")
    check_transitions(name, a, b, groups)
    return a, b


def _groups(factors: Array, terms: Array, groups: int) -> list[tuple[Array, Array]]:
    """The transitions of each group of all heads, in order."""
    split = [v.astype(np.float64).reshape(-1, groups, *v.shape[1:]) for v in (factors, terms)]
    return [(split[0][:, group], split[1][:, group]) for group in range(groups)]


def _rounded(values: Array) -> Array:
    return values.astype(np.float32)


def _half(values: Array) -> Array:
    return finish(values.astype(np.float32), DataType.BFLOAT16)


def _made(
    like: Tensor, shards: Shards, memory_config: MemoryConfig | None, dtype: DataType = DataType.FLOAT32
) -> Tensor:
    return settle((like,), shards, dtype, layout=Layout.TILE, memory_config=memory_config)
