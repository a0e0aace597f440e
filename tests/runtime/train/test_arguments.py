"""Calls that fail: the argument, or the dimension, that is to blame is named, and never by a library below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.linear_regression import create_linear_regression_model
from tt_run.runtime.train.ops import attention, binary, distributed, dropout, loss, matmul, norms, unary
from tt_run.runtime.train.optimizers.adamw import AdamW, AdamWConfig
from tt_run.runtime.train.optimizers.muon import Muon, MuonConfig
from tt_run.runtime.train.optimizers.schedulers import StepScheduler
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig

Call = Callable[[Tensor], Any]


@pytest.fixture(scope="module")
def tensor() -> Tensor:
    context = AutoContext.get_instance()
    context.close_device()
    context.open_device()
    return of(1, 1, 32, 64)


def of(*shape: int) -> Tensor:
    return Tensor.from_numpy(np.ones(shape, np.float32))


@pytest.mark.parametrize(
    "sizes",
    [
        {"in_features": 32, "out_features": 1},
        {"input_features": 32, "output_features": 1},
        {"input_features": 32},
    ],
)
def test_linear_regression_takes_both_names_of_its_sizes(tensor: Tensor, sizes: dict[str, int]):
    assert create_linear_regression_model(**sizes)(of(4, 1, 1, 32)).shape() == [4, 1, 1, 1]
    with pytest.raises(TypeError, match="in_features or input_features, not both"):
        create_linear_regression_model(32, input_features=32)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: matmul.linear(t, 3), "ttml.linear(): incompatible function arguments: 'weight' must be"),
        (lambda t: matmul.matmul_op(None, t), "'a' must be a ttml.autograd.Tensor, not NoneType"),
        (lambda t: unary.gelu(np.ones((2, 2))), "not numpy.ndarray; help: ttml.autograd.Tensor.from_numpy("),
        (lambda t: loss.mse_loss(t, target="x"), "'target' must be a ttml.autograd.Tensor, not str"),
        (lambda t: norms.rmsnorm(t, gamma=[1.0]), "'gamma' must be a ttml.autograd.Tensor, not list"),
        (lambda t: attention.scaled_dot_product_attention(t, t, "x"), "must be a ttml.autograd.Tensor, not str"),
        (lambda t: dropout.dropout(t, None), "'probability' must be a float, not NoneType"),
        (lambda t: unary.log_softmax(t, None), "'dim' must be an int, not NoneType"),
        (lambda t: distributed.all_reduce(t, 1), "'noop_backward' must be a bool, not int; help: cluster_axis=1"),
        (lambda t: AdamW({"t": t}, {"lr": 1e-3}), "AdamW() takes settings of AdamWConfig, not dict"),
        (lambda t: SGD({"t": t}, 0.1), "SGDConfig.make(lr=1e-3)"),
        (lambda t: Muon({"t": t}, SGDConfig()), "Muon() takes settings of MuonConfig, not tt_run.runtime"),
        (lambda t: StepScheduler(t, 1), "StepScheduler() takes an optimizer first, not"),
    ],
)  # fmt: skip
def test_an_argument_of_another_kind_is_named(tensor: Tensor, call: Call, says: str):
    with pytest.raises(TypeError) as error:
        call(tensor)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: binary.add(t, of(1, 1, 32, 32)), "do not broadcast: dimension -1 is 64 and 32"),
        (lambda t: binary.minimum(t, of(2, 3, 16, 1)), "do not broadcast: dimension -2 is 32 and 16"),
        (lambda t: matmul.matmul_op(t, t), "the inner sizes differ, 64 and 32"),
        (
            lambda t: matmul.matmul_op(t, of(1, 1, 32, 8), True, True),
            "the inner sizes differ, 32 and 8: shapes [1, 1, 32, 64] transposed and [1, 1, 32, 8] transposed",
        ),
        (lambda t: matmul.matmul_op(of(2, 1, 8, 8), of(3, 1, 8, 8)), "shapes [2, 1] and [3, 1] do not"),
        (
            lambda t: matmul.linear(t, of(1, 1, 8, 64), of(1, 1, 1, 16)),
            "the bias has shape [1, 1, 1, 16], the weight has 8 outputs (shape [1, 1, 8, 64])",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_told(tensor: Tensor, call: Call, says: str):
    with pytest.raises(RuntimeError) as error:
        call(tensor)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: matmul.linear(t), "missing a required argument: 'weight'"),
        (lambda t: matmul.linear(t, wieght=t), "help: 'wieght': did you mean 'weight'?"),
    ],
)
def test_a_call_that_does_not_bind_is_told_without_our_frames(tensor: Tensor, call: Call, says: str):
    with pytest.raises(TypeError) as error:
        call(tensor)
    assert str(error.value).startswith("ttml.linear(): incompatible function arguments: ")
    assert says in str(error.value) and error.value.__suppress_context__


@pytest.mark.parametrize(
    ("kind", "name"), [(AdamWConfig, "lr"), (SGDConfig, "momentum"), (MuonConfig, "ns_steps")]
)
def test_a_setting_of_another_kind(kind: type, name: str):
    with pytest.raises(TypeError, match=f"'{name}' must be (float|int), got str"):
        kind(**{name: "0.1"})
