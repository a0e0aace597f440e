"""Windows of four tokens pooled into one key, over a sequence that is cut over devices: each hands its last windows to the next.

A state is 64 rows: two tiles by the parity of a window. A window leaves its first half (Ca) in the tile of the other parity, where its
successor looks, and its second half (Cb) behind those of its own. Source: reference library 0.81.1 and its tests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, result_topology
from tt_run.runtime.ccl.calls import CallContext, gathered
from tt_run.runtime.ccl.exchange.gather import every_shard
from tt_run.runtime.ccl.fused.expert_groups import in_groups
from tt_run.runtime.ccl.plans import planned
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Topology
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
_RATE = 4
_ROWS = 64


class _State(NamedTuple):
    """Keys and scores of the last windows, [..., 64, D] each."""

    keys: Array
    scores: Array


def _check(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: tuple[int, ...]) -> Intent:
    checks.members_of(tensor, device, cluster_axis)
    return Intent(None, None, (), f"state {asked}", 2 * _ROWS * asked[0])


EXCHANGE = Collective(
    "deepseek_prefill.compressor_state_exchange",
    _check,
    every_shard,
    traffic.CHAIN,
    result_topology.unchanged,
)


@operation("ttnn.experimental.deepseek_prefill.compressor_state_exchange", family=families.COLLECTIVE)
@whole_call
def compressor_state_exchange(
    local_kv_state: Tensor,
    local_score_state: Tensor,
    initial_kv_state: Tensor,
    initial_score_state: Tensor,
    *,
    cluster_axis: int = 0,
    topology: Topology = Topology.Linear,
) -> tuple[Tensor, Tensor]:
    """The states [B, 1, 64, D] of each device's predecessor along the axis; the first gets the initial ones.

    Raises RuntimeError for states of other shapes and types than each other's.
    """
    states = (local_kv_state, local_score_state)
    on_device(*states, initial_kv_state, initial_score_state, kind="compressor")
    for tensor in (local_score_state, initial_kv_state, initial_score_state):
        if tensor.shape != local_kv_state.shape or tensor.dtype is not local_kv_state.dtype:
            raise fatal(
                f"states must be alike: {local_kv_state.shape} and {tensor.shape}, {tensor.dtype}",
                hint="make all four states with one shape and type: ttnn.zeros(local_kv_state.shape, dtype=local_kv_state.dtype, …)",
            )
    if local_kv_state.shape[-2] != _ROWS:
        raise fatal(
            f"a state has {_ROWS} rows, got {local_kv_state.shape}",
            hint=f"ttnn.slice(state, […], […]) to {_ROWS} rows: shape [B, 1, {_ROWS}, D]",
        )
    plan = planned(
        EXCHANGE, local_kv_state, cluster_axis, (local_kv_state.shape[-1],), (topology, None, None)
    )
    found: list[dict[int, Array]] = [{}, {}]
    with CallContext(plan, local_kv_state) as call:
        every = [gathered(call, state) for state in states]
        for position, group in in_groups(plan.lanes.groups, plan.lanes.positions):
            rank, local = group.index(position), plan.lanes.locals[position]
            for number, initial in enumerate((initial_kv_state, initial_score_state)):
                first = initial.shards.each()[local]
                found[number][position] = every[number][group[rank - 1]] if rank else np.asarray(first)
    made = [
        settle(
            (state,),
            Shards.from_each([rows.get(p) for p in plan.lanes.positions], like=state.shards.data),
            state.dtype,
        )
        for state, rows in zip(states, found, strict=True)
    ]
    return made[0], made[1]


COMPRESSOR = Collective(
    "deepseek_prefill.csa_compressor", _check, every_shard, traffic.CHAIN, result_topology.unchanged
)


@operation("ttnn.experimental.deepseek_prefill.csa_compressor", family=families.COLLECTIVE)
@whole_call
def csa_compressor(
    kv: Tensor,
    gate: Tensor,
    position_bias: Tensor,
    initial_kv_state: Tensor,
    initial_score_state: Tensor,
    *,
    seq_len_actual: int,
    first_token_position: int = 0,
    cluster_axis: int = 0,
    topology: Topology = Topology.Linear,
) -> tuple[Tensor, Tensor, Tensor]:
    """Each window's keys weighted by softmax of their scores, with those of the window before: pooled [1, 1, S/4, D] and both states.

    kv and gate [1, 1, S, 2D] hold Ca and Cb side by side, position_bias [1, 1, 4, 2D] is added to the gate. Windows that
    seq_len_actual tokens of the whole sequence do not fill are zero. Raises RuntimeError for shapes that do not fit and other types.
    """
    given = (kv, gate, position_bias, initial_kv_state, initial_score_state)
    on_device(*given, kind="compressor")
    length, depth = kv.shape[-2], kv.shape[-1] // 2
    if (
        gate.shape != kv.shape
        or tuple(position_bias.shape)[-2:] != (_RATE, 2 * depth)
        or length % _RATE
        or depth % 32
        or any(tuple(t.shape)[-2:] != (_ROWS, depth) for t in given[3:])
    ):
        raise fatal(
            f"csa_compressor: {', '.join(str(t.shape) for t in given)} do not fit each other",
            hint=f"kv and gate [1, 1, S, 2D] with S a multiple of {_RATE} and D of 32, position_bias [1, 1, {_RATE}, 2D], states [1, 1, {_ROWS}, D]",
        )
    if any(t.dtype is not DataType.BFLOAT16 for t in given):
        raise fatal("csa_compressor takes bfloat16 tensors", hint=as_type("tensor", "bfloat16"))
    if first_token_position % _RATE or seq_len_actual < 0:
        raise fatal(
            f"first_token_position {first_token_position} must be a multiple of {_RATE}, and seq_len_actual {seq_len_actual} at least 0",
            hint=f"first_token_position={first_token_position // _RATE * _RATE}, and seq_len_actual=0 or more",
        )
    asked = (depth, seq_len_actual, first_token_position)
    plan = planned(COMPRESSOR, kv, cluster_axis, asked, (topology, None, None))
    found: list[dict[int, Array]] = [{}, {}, {}]
    with CallContext(plan, kv) as call:
        keys, gates = gathered(call, kv), gathered(call, gate)
        for position, group in in_groups(plan.lanes.groups, plan.lanes.positions):
            local = plan.lanes.locals[position]
            bias, first, second = (np.asarray(t.shards.each()[local]) for t in given[2:])
            state = _State(first.reshape(_ROWS, depth), second.reshape(_ROWS, depth))
            for rank, source in enumerate(group):
                start = rank * length
                held = _Slab(
                    keys[source].reshape(length, -1),
                    gates[source].reshape(length, -1),
                    bias.reshape(_RATE, -1),
                    first_token_position + start,
                    max(0, min(length, seq_len_actual - start)),
                )
                if source == position:
                    found[0][position] = held.pooled(state)[None, None]
                state = held.after(state)
                if source == position:
                    found[1][position], found[2][position] = (part[None, None] for part in state)
                    break
    shapes = (length // _RATE, depth), (_ROWS, depth), (_ROWS, depth)
    made = [
        settle(
            given,
            Shards.from_each(
                [rows.get(p) for p in plan.lanes.positions], like=np.empty((0, 1, 1, *shape), np.float32)
            ),
            DataType.BFLOAT16,
        )
        for rows, shape in zip(found, shapes, strict=True)
    ]
    return made[0], made[1], made[2]


class _Slab(NamedTuple):
    """The tokens of one device: keys and gates [S, 2D], the bias of a window, where they begin, and how many are real."""

    keys: Array
    gates: Array
    bias: Array
    start: int
    real: int

    def scores(self) -> Array:
        """Gates with the bias, as the state holds them."""
        return finish(self.gates + np.tile(self.bias, (len(self.gates) // _RATE, 1)), DataType.BFLOAT16)

    def after(self, state: _State) -> _State:
        """The state with these tokens written into it."""
        depth = state.keys.shape[-1]
        keys, scores, fresh = state.keys.copy(), state.scores.copy(), self.scores()
        for row in range(max(0, self.real - 2 * _ROWS), self.real):
            window, slot = divmod(self.start + row, _RATE)
            own = 32 * (window % 2)
            for place, half in ((32 - own + slot, slice(0, depth)), (own + _RATE + slot, slice(depth, None))):
                keys[place], scores[place] = self.keys[row, half], fresh[row, half]
        return _State(keys, scores)

    def pooled(self, before: _State) -> Array:
        """One key for each window; zeros for those that are not whole."""
        depth, windows = before.keys.shape[-1], self.real // _RATE
        out = np.zeros((len(self.keys) // _RATE, depth), np.float32)
        if not windows:
            return out
        scores = self.scores()
        place = 32 * (self.start // _RATE % 2)

        def pairs(values: Array, first: Array) -> Array:
            rows = values[: windows * _RATE].reshape(windows, _RATE, -1)
            earlier = np.concatenate([first[None, place : place + _RATE], rows[:-1, :, :depth]])
            return np.concatenate([earlier, rows[..., depth:]], 1)

        weights = pairs(scores, before.scores)
        weights = np.exp(weights - weights.max(1, keepdims=True))
        weights /= np.add.reduce(weights, axis=1, keepdims=True)
        out[:windows] = np.add.reduce(pairs(self.keys, before.keys) * weights, axis=1)
        return finish(out, DataType.BFLOAT16)
