"""What the devices of a cut sequence tell each other in delta attention: the last state, and the tokens before and behind. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.collectives import gather_as
from tt_run.runtime.ccl.fused.ring_places import number
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention.chronology import Chronology, chronology, on_each_rank
from tt_run.runtime.ops.attention.delta_checks import HISTORY, check_convolution
from tt_run.runtime.ops.attention.delta_transitions import convolved
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.delta_rule import QkvCausalConv1dSiluProgramConfig
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
_TOLD = 2 * HISTORY
"""Rows that each rank tells: the last of its first segment, and the last that hold tokens."""


@operation("ttnn.experimental.kda.select_final_carry", family=families.COLLECTIVE)
@whole_call
def select_final_carry(
    rank_final: Tensor,
    prefix_final: Tensor,
    *,
    actual_start: Tensor,
    local_rows: int,
    actual_end: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    sequence_parallel_axis: int = 0,
    num_links: int | None = None,
) -> Tensor:
    """The state behind the last token, float32 [B*H, K, V]: `rank_final` of the rank whose tail has that token, else `prefix_final`.

    Of a `rank_final` in groups [B*H, G, K, V] the last one counts. Raises RuntimeError for shapes that do not fit.
    """
    name, axis = "select_final_carry", sequence_parallel_axis
    extents = tuple(on_device(rank_final, prefix_final, actual_start, kind="kda").shape)
    if not 0 <= axis < len(extents):
        raise fatal(
            f"{name}: sequence_parallel_axis {axis} is out of range for a {len(extents)}-D mesh",
            hint=f"sequence_parallel_axis is 0 to {len(extents) - 1}",
        )
    heads, *state = rank_final.shape
    if [heads, *state[-2:]] != list(prefix_final.shape) or len(rank_final.shape) not in (3, 4):
        raise fatal(
            f"{name}: rank_final {rank_final.shape} must be [B*H, K, V] or [B*H, groups, K, V] of prefix_final {prefix_final.shape}",
            hint="ttnn.reshape(rank_final, …)",
        )
    bounds = tuple(t for t in (actual_start, actual_end) if t is not None)
    members = extents[axis]
    end = None if actual_end is None else number(actual_end)

    def last(at: Chronology, states: Array) -> list[Array]:
        return [np.ascontiguousarray(states if states.ndim == 3 else states[:, -1])[None]]

    def chosen(at: Chronology, states: Array) -> list[Array]:
        return [states[at.owner].copy()]

    found = prefix_final.shards
    if chronology(0, members, local_rows, number(actual_start), end).apart:
        (own,) = on_each_rank(name, axis, local_rows, bounds, last, rank_final)
        told = gather_as(name, _made(prefix_final, own), 0, axis, (None, num_links, None))
        (found,) = on_each_rank(name, axis, local_rows, bounds, chosen, told)
    return settle((prefix_final,), found, DataType.FLOAT32, memory_config=memory_config or DRAM_MEMORY_CONFIG)


@operation("ttnn.experimental.kda.qkv_causal_conv1d_silu_with_carry", family=families.COLLECTIVE)
@whole_call
def qkv_causal_conv1d_silu_with_carry(
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
    exchange_buffer: Tensor,
    exchange_semaphores: Sequence[Any],
    actual_end: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    sequence_parallel_axis: int = 0,
    input_column_offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As `qkv_causal_conv1d_silu`, where the ranks tell each other the tokens before; and the last three tokens of all, rows [1, 3, Q+K+V].

    Raises RuntimeError for shapes that do not fit.
    """
    name, axis = "qkv_causal_conv1d_silu_with_carry", sequence_parallel_axis
    widths, taps = (q_width, k_width, v_width), (tap0, tap1, tap2, tap3)
    check_convolution(name, input, (history,), taps, sum(widths), input_column_offset)
    members = tuple(on_device(input, history, *taps, actual_start, kind="kda").shape)[axis]
    bounds = tuple(t for t in (actual_start, actual_end) if t is not None)
    rows, columns = input.shape[1], slice(input_column_offset, input_column_offset + sum(widths))

    def told(at: Chronology, x: Array) -> list[Array]:
        own = x[0, :, columns]
        recent = np.concatenate([np.zeros_like(own[:HISTORY]), own[: at.valid]])[-HISTORY:]
        return [np.concatenate([own[at.head - HISTORY : at.head], recent])[None]]

    def carried(at: Chronology, all_told: Array, first: Array) -> list[Array]:
        """What is before this rank, and what is left behind the last token of all."""
        by_rank = all_told.reshape(members, 2, HISTORY, -1)
        before = by_rank[(at.rank - 1) % members, 0]
        alone = at.owner == at.first and not at.apart
        earlier = first[0] if alone else by_rank[(at.owner - 1) % members, 0]
        recent = by_rank[at.owner, 1][max(HISTORY - at.last, 0) :]
        return [before[None].copy(), np.concatenate([earlier, recent])[None, -HISTORY:]]

    (own,) = on_each_rank(name, axis, rows, bounds, told, input)
    known = _made(history, own)
    if members > 1:
        known = gather_as(name, known, 1, axis)
    before, behind = (
        _made(history, shards) for shards in on_each_rank(name, axis, rows, bounds, carried, known, history)
    )
    given = (input, history, before, *taps)
    return *convolved(given, bounds, widths, input_column_offset, axis, memory_config), behind


def _made(like: Tensor, shards: Shards) -> Tensor:
    return settle((like,), shards, like.dtype, layout=like.layout, memory_config=DRAM_MEMORY_CONFIG)
