"""Transitions of delta attention's state, S -> A S + B, one after the other, and the convolution before it; of whole sequences on each device.

Computed in float64 and rounded once. Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.attention.delta_attention import bounds, whole
from tt_run.runtime.ops.attention.delta_checks import check_state, check_transitions
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.delta_rule import QkvCausalConv1dSiluProgramConfig
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
_HISTORY = 3


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

    Raises RuntimeError for shapes that do not fit, a sequence that is cut over devices, and a start inside of local_rows.
    """
    given = _transitions("reduce_affine_transforms", a, b, groups_per_head, sequence_parallel_axis)

    def composed(factors: Array, terms: Array, start: Array) -> list[Array]:
        bounds("reduce_affine_transforms", (start,), local_rows)
        first, *rest = _groups(factors, terms, groups_per_head)
        total, added = first
        for factor, term in rest:
            total, added = factor @ total, factor @ added + term
        return [_rounded(total), _rounded(added)]

    found = on_each_device(composed, *given, actual_start)
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

    Tails belong to sequences that wrap around. Raises RuntimeError as `reduce_affine_transforms` does.
    """
    given = _transitions("affine_exclusive_scan", a, b, groups_per_head, sequence_parallel_axis)
    check_state("affine_exclusive_scan", initial_state, b, groups_per_head)

    def scanned(factors: Array, terms: Array, first: Array, start: Array) -> list[Array]:
        bounds("affine_exclusive_scan", (start,), local_rows)
        states = [first.astype(np.float64)]
        for factor, term in _groups(factors, terms, groups_per_head)[:-1]:
            states.append(factor @ states[-1] + term)
        return [_rounded(np.stack(states, 1).reshape(terms.shape))]

    (shards,) = on_each_device(scanned, *given, initial_state, actual_start)
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
    """This rank's entry state and the last state, of transitions [A | B] [1, B*H, K, K + V] and the state [B*H, K, V]: float32.

    Raises RuntimeError for shapes that do not fit, and for a sequence that is cut over devices.
    """
    whole("chain_affine_transforms", transforms, sequence_parallel_axis)
    on_device(transforms, initial_state, actual_start, kind="kda")
    heads, depth, width = tuple(initial_state.shape) if len(initial_state.shape) == 3 else (0, 0, 0)
    if tuple(transforms.shape) != (1, heads, depth, depth + width):
        raise fatal(
            f"transforms {transforms.shape} do not fit one rank and the state {initial_state.shape}",
            hint=f"ttnn.reshape(transforms, {[1, heads, depth, depth + width]}), with the state [B*H, K, V]",
        )

    def chained(packed: Array, first: Array, start: Array) -> list[Array]:
        step, state = packed[0].astype(np.float64), first.astype(np.float64)
        return [_rounded(state), _rounded(step[..., :depth] @ state + step[..., depth:])]

    found = on_each_device(chained, transforms, initial_state, actual_start)
    one, other = (_made(initial_state, shards, memory_config) for shards in found)
    return one, other


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

    What was before the first token is `history` [1, 3, Q+K+V]. Raises RuntimeError for shapes that do not fit, a sequence that is cut
    over devices, and a start inside of the T rows.
    """
    name, taps = "qkv_causal_conv1d_silu", (tap0, tap1, tap2, tap3)
    whole(name, input, sequence_parallel_axis)
    given = (input, history, *taps, actual_start)
    on_device(*given, kind="kda")
    channels = q_width + k_width + v_width
    rows = input.shape[1] if len(input.shape) == 3 else 0
    stop = input_column_offset + channels
    if not rows or input.shape[0] != 1 or not 0 <= input_column_offset <= stop <= input.shape[2]:
        raise fatal(
            f"{name}: input {input.shape} must be [1, T, W] with {channels} channels from {input_column_offset} on",
            hint=f"input_column_offset=0 and at least {channels} columns: ttnn.pad(input, …) adds some",
        )
    if tuple(history.shape) != (1, _HISTORY, channels) or any(t.logical_volume() != channels for t in taps):
        raise fatal(
            f"{name}: history {history.shape} must be [1, 3, {channels}], and each tap have {channels} elements",
            hint=f"ttnn.reshape(history, [1, {_HISTORY}, {channels}])",
        )

    def convolved(x: Array, before: Array, *rest: Array) -> list[Array]:
        *weights, start = rest
        bounds(name, (start,), rows)
        own = x[..., input_column_offset:stop]
        longer = np.concatenate([before, own], 1).astype(np.float64)
        total = sum(tap.reshape(-1) * longer[:, i : i + rows] for i, tap in enumerate(weights))
        with np.errstate(over="ignore"):
            values = finish((total / (1 + np.exp(-total))).astype(np.float32), DataType.BFLOAT16)
        return [np.ascontiguousarray(p) for p in np.split(values, [q_width, q_width + k_width], -1)]

    q, k, v = (
        settle((input,), shards, DataType.BFLOAT16, layout=Layout.TILE, memory_config=memory_config)
        for shards in on_each_device(convolved, *given)
    )
    return q, k, v


def _transitions(name: str, a: Tensor, b: Tensor, groups: int, axis: int) -> tuple[Tensor, Tensor]:
    whole(name, a, axis)
    on_device(a, b, kind="kda")
    check_transitions(name, a, b, groups)
    return a, b


def _groups(factors: Array, terms: Array, groups: int) -> list[tuple[Array, Array]]:
    """The transitions of each group of all heads, in order."""
    split = [v.astype(np.float64).reshape(-1, groups, *v.shape[1:]) for v in (factors, terms)]
    return [(split[0][:, group], split[1][:, group]) for group in range(groups)]


def _rounded(values: Array) -> Array:
    return values.astype(np.float32)


def _made(like: Tensor, shards: Shards, memory_config: MemoryConfig | None) -> Tensor:
    return settle((like,), shards, DataType.FLOAT32, layout=Layout.TILE, memory_config=memory_config)
