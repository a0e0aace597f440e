"""Gates that route tokens on one core each: 256 experts in a square of 16 x 16 scores, one or two squares a token.

Logits stand row by row in their squares; biases and the experts' ids stand column by column, as the device reads them. Results are written
into tensors that the caller made, in the first places of a token's first row. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import on_each_device
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
_SIDE = 16
_GROUPS, _GROUPS_KEPT, _COUNTED = 8, 4, 2
"""Groups of experts, how many of them a token keeps, and how many scores of a group are its rank."""
_SLOTS = 8
_CHOICES = (4, 6, 8)


@operation("ttnn.experimental.deepseek.moe.generalized_moe_gate", family=families.EXPERTS)
def generalized_moe_gate(
    input_tensor: Tensor,
    *,
    bias_tensor: Tensor,
    input_indices_tensor: Tensor,
    output_tensor: Tensor,
    output_indices_tensor: Tensor,
    eps: float = 1e-20,
    scaling_factor: float = 2.5,
    enable_sigmoid: bool = False,
    topk: int = 8,
    output_softmax: bool = False,
    grouped: bool = False,
) -> tuple[Tensor, Tensor]:
    """The topk experts with the largest score + bias, largest first: their scores (scaled to sum to scaling_factor) and ids.

    Logits, bias and ids [..., 16, 16], one or two squares a token; results go into the first topk places of each token's tile, zeros into
    the rest. With `grouped` only the four best of eight groups count, topk is 8. Raises RuntimeError for tensors that are not sharded by
    height, another topk, and squares that the outputs do not fit.
    """
    given = (input_tensor, bias_tensor, input_indices_tensor)
    return _routed(
        given,
        (output_tensor, output_indices_tensor),
        np.float32(eps),
        np.float32(scaling_factor),
        enable_sigmoid,
        8 if grouped else topk,
        output_softmax and not grouped,
        grouped,
    )


@operation("ttnn.experimental.deepseek.moe.deepseek_moe_gate", family=families.EXPERTS)
def deepseek_moe_gate(
    input_tensor: Tensor,
    *,
    bias_tensor: Tensor,
    input_indices_tensor: Tensor,
    output_tensor: Tensor,
    output_indices_tensor: Tensor,
    eps: float = 1e-20,
    scaling_factor: float = 2.5,
    enable_sigmoid: bool = False,
) -> tuple[Tensor, Tensor]:
    """`generalized_moe_gate` for 256 experts in eight groups, of which a token keeps four: eight experts a token."""
    given = (input_tensor, bias_tensor, input_indices_tensor)
    outputs = (output_tensor, output_indices_tensor)
    return _routed(
        given, outputs, np.float32(eps), np.float32(scaling_factor), enable_sigmoid, 8, False, True
    )


def _routed(
    given: tuple[Tensor, Tensor, Tensor],
    outputs: tuple[Tensor, Tensor],
    eps: np.float32,
    scale: np.float32,
    sigmoid: bool,
    topk: int,
    softmax: bool,
    grouped: bool,
) -> tuple[Tensor, Tensor]:
    _check(given, outputs, topk, grouped)
    tokens = math.prod(tuple(outputs[0].shape)[:-2])

    def gate(logits: Array, bias: Array, ids: Array) -> tuple[Array, Array]:
        scores: Array = logits.reshape(tokens, -1).astype(np.float32)
        if sigmoid:
            scores = 1 / (1 + np.exp(-scores))
        ranked: Array = scores + _by_column(bias, tokens)
        if grouped:
            ranked = _best_groups(ranked)
        chosen = np.argsort(-ranked, -1, kind="stable")[:, :topk]
        weights: Array = np.take_along_axis(scores, chosen, -1)
        if softmax:
            weights = np.exp(weights - weights.max(-1, keepdims=True))
        total = weights.sum(-1, keepdims=True)
        weights = weights / (total if softmax else total + eps) * scale
        named = np.take_along_axis(_by_column(ids, tokens), chosen, -1)
        return (
            _placed(outputs[0], finish(weights, DataType.BFLOAT16)),
            _placed(outputs[1], named.astype(np.uint16)),
        )

    for output, shards in zip(outputs, on_each_device(gate, *given), strict=True):
        output.overwrite(shards)
    return outputs


def _by_column(squares: Array, tokens: int) -> Array:
    """Values of squares that stand column by column, one row for each token."""
    return squares.reshape(tokens, -1, _SIDE, _SIDE).swapaxes(-1, -2).reshape(tokens, -1)


def _best_groups(ranked: Array) -> Array:
    """Scores with minus infinity for the experts of the groups that a token does not keep."""
    groups = ranked.reshape(len(ranked), _GROUPS, -1)
    ranks = np.sort(groups, -1)[..., -_COUNTED:].sum(-1)
    best = np.argsort(-ranks, -1, kind="stable")[:, :_GROUPS_KEPT]
    kept = np.full_like(groups, -np.inf)
    np.put_along_axis(kept, best[..., None], np.take_along_axis(groups, best[..., None], 1), 1)
    return kept.reshape(ranked.shape)


def _placed(output: Tensor, values: Array) -> Array:
    """The values of each token in the first places of its tile's first row."""
    room = np.zeros((len(values), *tuple(output.shape)[-2:]), values.dtype)
    room[:, 0, : values.shape[-1]] = values
    return room.reshape(tuple(output.shape))


def _check(given: tuple[Tensor, ...], outputs: tuple[Tensor, ...], topk: int, grouped: bool) -> None:
    on_device(*given, *outputs, kind="gate")
    if topk not in _CHOICES:
        raise fatal(f"topk must be 4, 6 or 8, got {topk}", hint="topk=8")
    for tensor, dtype in zip((*given, *outputs), _DTYPES, strict=True):
        if tensor.dtype is not dtype:
            raise fatal(
                f"the gate needs {cpp(dtype)} here, got {cpp(tensor.dtype)} of shape {tensor.shape}",
                hint=f"ttnn.typecast(tensor, ttnn.{dtype.name.lower()})",
            )
        if tensor.memory_config().memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED:
            raise fatal(
                f"all five tensors of the gate must be sharded by height, one token a core; {tensor.shape} is "
                f"{tensor.memory_config().memory_layout}",
                hint="ttnn.to_memory_config(tensor, ttnn.create_sharded_memory_config(...))",
            )
    tokens = math.prod(tuple(outputs[0].shape)[:-2])
    for tensor in given:
        *outer, height, width = tuple(tensor.shape)
        squares = math.prod(outer) // max(tokens, 1)
        if (height, width) != (_SIDE, _SIDE) or squares * tokens != math.prod(outer) or squares not in (1, 2):
            raise fatal(
                f"{tensor.shape} is not one or two squares of 16 x 16 scores for each of {tokens} tokens",
                hint=f"ttnn.reshape(scores, (…, {tokens}, {_SIDE}, {_SIDE})) for {_SIDE * _SIDE} experts",
            )
        if grouped and squares != 1:
            raise fatal(
                f"groups need 256 experts, one square a token; {tensor.shape} has {squares}",
                hint="ttnn.slice the scores to 256 experts, or ask without groups",
            )
    for output in outputs:
        if output.shape[-1] < _SLOTS or math.prod(tuple(output.shape)[:-2]) != tokens:
            raise fatal(
                f"an output {output.shape} has no room for {_SLOTS} values of {tokens} tokens",
                hint=f"an output of {tokens} rows of at least {_SLOTS}",
            )


_DTYPES = (DataType.BFLOAT16, DataType.BFLOAT16, DataType.UINT16, DataType.BFLOAT16, DataType.UINT16)
