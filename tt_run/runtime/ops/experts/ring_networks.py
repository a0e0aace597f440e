"""The network of an expert as `ttnn.experimental.moe_compute` has it, from weights packed for the ring. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.kernels.functions import gelu_tanh
from tt_run.runtime.ops.experts.ring_layout import WIDE, Packing, Ring, ring_packings, unpack
from tt_run.runtime.ops.experts.ring_routes import Route
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.choices import MoEActivationFunction

Array = npt.NDArray[Any]
Gate = Callable[[Array, Array], Array]
Matrices = tuple[Array, ...]
Packings = tuple[Packing, Packing]
_LIMIT, _SLOPE = np.float32(7), np.float32(1.702)  # of SWIGLU, whatever the call says


class Network(NamedTuple):
    """What experts compute from packed weights of a layer; `dropped` are tokens whose choices are all one: they came from nowhere."""

    ring: Ring
    packings: Packings
    layer: int
    gate: Gate
    dropped: bool = False


def gate_of(kind: MoEActivationFunction, limit: float | None) -> Gate:
    """The function of both sides of the first product. Raises RuntimeError for a limit where there is none, or none where there is."""
    if (kind is MoEActivationFunction.CLAMPED_SILU) != (limit is not None):
        raise fatal(
            "activation_limit is required for CLAMPED_SILU and must be omitted for other activations",
            "(activation_type == CLAMPED_SILU) == activation_limit.has_value()",
            hint="activation_limit=7.0" if limit is None else "leave activation_limit out",
        )
    if limit is not None and not (np.isfinite(limit) and limit > 0):
        raise fatal(
            f"activation_limit must be finite and positive, got {limit:g}",
            "std::isfinite(*activation_limit) && *activation_limit > 0.0f",
            hint="activation_limit=7.0",
        )
    bound = np.float32(limit or 0)
    known: dict[MoEActivationFunction, Gate] = {
        MoEActivationFunction.SILU: lambda gate, up: _sigmoid(gate) * gate * up,
        MoEActivationFunction.GELU: lambda gate, up: gelu_tanh(gate) * up,
        MoEActivationFunction.SWIGLU: _swiglu,
        MoEActivationFunction.CLAMPED_SILU: lambda gate, up: (
            _sigmoid(np.minimum(gate, bound)) * np.minimum(gate, bound) * np.clip(up, -bound, bound)
        ),
    }
    return known[kind]


def check_packed(ring: Ring, first: Tensor, second: Tensor, layer: int) -> None:
    """Raises RuntimeError unless both tensors have the shape of weights packed for the ring, and the layer."""
    for name, tensor, packing, maker in (
        ("w0_w1", first, ring_packings(ring)[0], "prepare_w0_w1_tensor"),
        ("w2", second, ring_packings(ring)[1], "prepare_w2_tensor"),
    ):
        layers, experts = first.shape[1], first.shape[2]
        groups, rows = packing.piece
        wanted = [packing.banks, layers, experts, groups, rows * TILE_SIZE, WIDE * TILE_SIZE]
        if list(tensor.shape) != wanted:
            raise fatal(
                f"moe_compute: {name} tensor {tensor.shape} is not packed for {layers} layers x {experts} experts over a ring of "
                f"{ring.cores}, which needs {wanted}",
                hint=f"ttnn.experimental.moe_compute_utils.{maker}_{'with_bias' if ring.bias else 'for_moe_compute'}, "
                "with the hidden_size and intermediate_size of the call",
            )
    if not 0 <= layer < first.shape[1]:
        raise fatal(f"layer_id {layer} of {first.shape[1]} layers", hint="layer_id=0 for the first of them")


def expert_of(network: Network, first: Array, second: Array, expert: int) -> Matrices:
    """The matrices (gate, up, down) of an expert; a bias is the first of the last 32 rows."""
    ring, packings, layer = network[:3]
    one = (slice(None), slice(layer, layer + 1), slice(expert, expert + 1))
    gate, up = unpack(first[one], packings[0], ring.hidden + ring.bias, ring.intermediate, 0)[0]
    down = unpack(second[one], packings[1], ring.intermediate + ring.bias, ring.hidden, 0)[0, 0]
    return tuple(np.asarray(side, np.float32) for side in (gate, up, down))


def computed(
    tokens: Array,
    ring: Ring,
    weights: Callable[[int], Matrices],
    found: Sequence[Route],
    gate: Gate,
) -> list[Array]:
    """gate(x W0, x W1) W2 of each expert's tokens, in float32, rounded once to bfloat16.

    `weights` gives those of an expert, and is asked for none that has no tokens.
    """
    outputs = []
    for number, route in enumerate(found):
        rows = tokens[route.tokens]
        if not len(rows):
            outputs.append(np.zeros((0, tokens.shape[1]), np.float32))
            continue
        left, right, down = weights(number)
        sides = [_product(rows, matrix, ring.bias) for matrix in (left, right)]
        with np.errstate(over="ignore"):  # of a sigmoid far below zero: its result is right
            hidden = gate(*sides)
        outputs.append(finish(np.ascontiguousarray(_product(hidden, down, ring.bias)), DataType.BFLOAT16))
    return outputs


def _product(rows: Array, matrix: Array, bias: bool) -> Array:
    depth = rows.shape[1]
    out: Array = rows @ matrix[:depth]
    return out + matrix[depth] if bias else out


def _sigmoid(values: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-values)))


def _swiglu(gate: Array, up: Array) -> Array:
    """That of GPT-OSS: both sides limited, a steeper sigmoid, one added to the other side."""
    gate = np.minimum(gate, _LIMIT)
    return np.asarray((np.clip(up, -_LIMIT, _LIMIT) + 1) * gate * _sigmoid(_SLOPE * gate))
