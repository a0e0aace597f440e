"""Activations in the program of a product: the values of those it knows, and refusals in the words of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.products.test_products import sample
from tests.runtime.ops.tensors import BF16, F32, held, near, put
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import CoreGrid
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.tuning.matmul import MatmulMultiCoreReuseMultiCastProgramConfig


def program(activation: Any) -> Any:
    return MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=(2, 2), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=1,
        per_core_N=1, transpose_mcast=False, fused_activation=activation,
    )  # fmt: skip


def of(name: str, *params: float) -> UnaryWithParam:
    return UnaryWithParam(UnaryOpType[name], *params)


def scaled(x: Any, scale: float, alpha: float) -> Any:
    return scale * np.where(x > 0, x, alpha * (np.exp(np.minimum(x, 0)) - 1))


VALUES: list[tuple[UnaryWithParam, Any]] = [
    (of("HARDTANH"), lambda x: np.clip(x, -1, 1)),
    (of("HARDTANH", -0.5), lambda x: np.clip(x, -0.5, 1)),
    (of("HARDTANH", -2.0, 2.0), lambda x: np.clip(x, -2, 2)),
    (of("RELU6"), lambda x: np.clip(x, 0, 6)),
    (of("RELU6", 3.0), lambda x: np.clip(x, 0, 3)),
    (of("RELU", 3.0), lambda x: np.maximum(x, 0)),
    (of("SELU"), lambda x: scaled(x, 1.0507009873554805, 1.6732632423543772)),
    (of("SELU", 1.5, 1.1), lambda x: scaled(x, 1.5, 1.1)),
    (of("SOFTPLUS"), lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))),
    (of("SOFTPLUS", 2.0), lambda x: np.where(2 * x > 20, x, np.log1p(np.exp(np.minimum(2 * x, 20))) / 2)),
    (of("SIGMOID", 0.0), lambda x: 1 / (1 + np.exp(-x))),
]


@pytest.mark.parametrize(("activation", "wanted"), VALUES)
def test_a_program_fills_up_the_parameters_of_its_activation(
    one: MeshDevice, activation: UnaryWithParam, wanted: Any
) -> None:
    x, w = sample((64, 32), F32, 1), sample((32, 64), F32, 2)
    exact = x.astype(float) @ w
    near(ops.matmul(put(one, x), put(one, w), program_config=program(activation)), wanted(exact), steps=64)


def test_the_calls_own_activation_follows_that_of_its_program(one: MeshDevice) -> None:
    x, w = put(one, sample((64, 32), BF16, 1), BF16), put(one, sample((32, 64), BF16, 2), BF16)
    found = ops.linear(x, w, program_config=program(of("HARDTANH")), activation="relu")
    assert np.array_equal(held(found), np.clip(held(ops.matmul(x, w)), 0, 1))


UNKNOWN = "Unsupported UnaryOpType for fused activation: UnaryOpType::{}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"program_config": program(of("MISH"))}, UNKNOWN.format("MISH")),
        ({"program_config": program(of("ELU", 1.0))}, UNKNOWN.format("ELU")),
        ({"activation": "exp", "core_grid": CoreGrid(y=2, x=2)}, UNKNOWN.format("EXP")),
        (
            {"program_config": program(of("SOFTPLUS", 0.0))},
            "SOFTPLUS activation beta parameter cannot be zero",
        ),
        ({"program_config": program(of("SIGMOID", 5.0))}, "Invalid Vector mode value: 5"),
        ({"activation": of("HARDTANH")}, "Undefined non-parametrized op type UnaryOpType::HARDTANH"),
    ],
)
def test_activations_that_a_program_does_not_know(one: MeshDevice, given: dict[str, Any], words: str) -> None:
    x, w = put(one, sample((64, 32), BF16, 1), BF16), put(one, sample((32, 64), BF16, 2), BF16)
    with pytest.raises(RuntimeError, match=words):
        ops.matmul(x, w, **given)
