"""Prefill of mixtures of experts: the networks of experts over the tokens in their buffers. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import one_on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.experts.expert_prefill import rows_of_expert
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.choices import RoutedExpertActivation

Array = npt.NDArray[Any]


_OAI_LIMIT, _OAI_SLOPE = np.float32(7), np.float32(1.702)


def _swiglu_oai(gate: Array, up: Array) -> Array:
    """The gate of GPT-OSS and MiniMax-M3: both sides limited, a steeper sigmoid, one added to the other side."""
    gate = np.minimum(gate, _OAI_LIMIT)
    return np.asarray(gate / (1 + np.exp(-_OAI_SLOPE * gate)) * (np.clip(up, -_OAI_LIMIT, _OAI_LIMIT) + 1))


def _activated(kind: RoutedExpertActivation) -> Callable[[Array, Array], Array]:
    def silu(x: Array) -> Array:
        return x / (1 + np.exp(-x))

    known: dict[RoutedExpertActivation, Callable[[Array, Array], Array]] = {
        RoutedExpertActivation.Silu: lambda gate, up: silu(gate) * up,
        RoutedExpertActivation.ClampedSiluGlu: lambda gate, up: (
            silu(np.minimum(gate, 10)) * np.clip(up, -10, 10)
        ),
        RoutedExpertActivation.SwiGluOai: _swiglu_oai,
    }
    if kind not in known:
        raise fatal(
            f"activation {kind} is not emulated; these are: {', '.join(map(str, known))}",
            hint=f"activation_type={next(iter(known))}",
        )
    return known[kind]


def _expert(
    x: Array, gate: Array, up: Array, down: Array, kind: RoutedExpertActivation, biases: Sequence[Array] = ()
) -> Array:
    sides = [x @ matrix.reshape(matrix.shape[-2:]) for matrix in (gate, up)]
    if biases:
        sides = [side + bias.reshape(-1) for side, bias in zip(sides, biases[:2], strict=True)]
    with np.errstate(over="ignore"):  # of a sigmoid far below zero: its result is right
        hidden = _activated(kind)(*sides)
    out: Array = hidden @ down.reshape(down.shape[-2:])
    return out + biases[2].reshape(-1) if biases else out


@operation("ttnn.experimental.deepseek_prefill.routed_expert_ffn", family=families.EXPERTS)
def routed_expert_ffn(
    x: Tensor,
    gate_proj: Tensor,
    up_proj: Tensor,
    down_proj: Tensor,
    *,
    compute_kernel_config: object = None,
    output: Tensor | None = None,
) -> Tensor:
    """One expert: silu(x @ gate_proj) * (x @ up_proj) @ down_proj, rounded once."""
    given = (x, gate_proj, up_proj, down_proj)
    on_device(*given, kind="expert")

    def compute(rows: Array, gate: Array, up: Array, down: Array) -> Array:
        return finish(_expert(rows, gate, up, down, RoutedExpertActivation.Silu), x.dtype)

    shards = one_on_each_device(compute, *given)
    return settle(given, shards, x.dtype, output_tensor=output)


@operation("ttnn.experimental.deepseek_prefill.unified_routed_expert_moe", family=families.EXPERTS)
def unified_routed_expert_moe(
    dispatched_buffer: Tensor,
    expert_region_offsets: Tensor,
    expert_token_counts: Tensor,
    global_expert_idx_table: Tensor,
    gate_projs: Sequence[Tensor],
    up_projs: Sequence[Tensor],
    down_projs: Sequence[Tensor],
    max_dispatched_tokens_per_expert: int,
    *,
    compute_kernel_config: object = None,
    activation: RoutedExpertActivation = RoutedExpertActivation.Silu,
    gate_biases: Sequence[Tensor] | None = None,
    up_biases: Sequence[Tensor] | None = None,
    down_biases: Sequence[Tensor] | None = None,
    min_active_tokens: int = 0,
    max_active_tokens: int = 4294967295,
) -> Tensor:
    """Every local expert on its own rows of the buffer; rows of no expert are zero.

    Biases, all three or none, are rows for each expert. Raises RuntimeError for an activation that is not emulated.
    """
    return every_expert(
        dispatched_buffer, (expert_region_offsets, expert_token_counts, global_expert_idx_table),
        (gate_projs, up_projs, down_projs), (gate_biases, up_biases, down_biases), activation,
        (min_active_tokens, max_active_tokens), dispatched_buffer.dtype,
    )  # fmt: skip


Triples = tuple[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]]
Biases = tuple[Sequence[Tensor] | None, Sequence[Tensor] | None, Sequence[Tensor] | None]


def every_expert(
    x: Tensor,
    regions: tuple[Tensor, Tensor, Tensor],
    weights: Triples,
    biases: Biases,
    activation: RoutedExpertActivation,
    active: tuple[int, int],
    dtype: DataType,
    memory_config: MemoryConfig | None = None,
    output: Tensor | None = None,
) -> Tensor:
    """Each local expert on its own rows; `regions`: where they begin, how many they are, and the experts that a device has."""
    local = len(weights[0])
    told = [b for b in biases if b]
    if len(told) not in (0, 3) or any(len(group) != local for group in (*weights, *told)):
        raise fatal(
            f"weights and biases must be of the same {local} experts, and biases all three or none",
            hint=f"give {local} tensors in each list of weights, and as many biases in all three or leave those out",
        )
    given = (x, *regions, *(t for group in (*weights, *told) for t in group))
    on_device(*given, kind="experts")

    def compute(buffer: Array, first: Array, number: Array, table: Array, *matrices: Array) -> Array:
        out = np.zeros(buffer.shape, np.float32)
        for i in range(local):
            tokens = int(number.reshape(-1)[int(table.reshape(-1)[i])])
            if not active[0] <= tokens <= active[1]:
                continue
            where = rows_of_expert(first, number, table, i)
            own = [matrices[group * local + i] for group in range(3 + len(told))]
            out[..., where, :] = _expert(buffer[..., where, :], own[0], own[1], own[2], activation, own[3:])
        return finish(out, dtype)

    layout = None if dtype is x.dtype else Layout.TILE
    return settle(
        given,
        one_on_each_device(compute, *given),
        dtype,
        layout=layout,
        memory_config=memory_config,
        output_tensor=output,
    )


@operation("ttnn.experimental.deepseek_prefill.moe_fused_swiglu", family=families.EXPERTS)
def moe_fused_swiglu(
    input: Tensor,
    w_gates: Sequence[Tensor],
    w_ups: Sequence[Tensor],
    w_downs: Sequence[Tensor],
    counts: Tensor,
    global_expert_idx_table: Tensor,
    *,
    input_m_tiles: int | None = None,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    core_grid: Any = None,
    output: Tensor | None = None,
    expert_region_offsets: Tensor | None = None,
    read_x_at_offset: bool = False,
    activation: RoutedExpertActivation = RoutedExpertActivation.Silu,
    gate_biases: Sequence[Tensor] | None = None,
    up_biases: Sequence[Tensor] | None = None,
    down_biases: Sequence[Tensor] | None = None,
    min_active_tokens: int = 0,
    max_active_tokens: int = 4294967295,
) -> Tensor:
    """`unified_routed_expert_moe` by its other kernel: the same values, as bfloat8_b tiles unless `dtype` or `output` says otherwise.

    Raises RuntimeError without expert_region_offsets and read_x_at_offset: which rows are an expert's is not documented then.
    """
    if expert_region_offsets is None or not read_x_at_offset:
        raise fatal(
            "moe_fused_swiglu is emulated for rows at their regions only",
            hint="expert_region_offsets=…, read_x_at_offset=True",
        )
    target = output.dtype if output is not None else dtype or DataType.BFLOAT8_B
    return every_expert(
        input, (expert_region_offsets, counts, global_expert_idx_table), (w_gates, w_ups, w_downs),
        (gate_biases, up_biases, down_biases), activation, (min_active_tokens, max_active_tokens), target,
        memory_config, output,
    )  # fmt: skip
