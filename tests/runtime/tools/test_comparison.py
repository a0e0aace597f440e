"""Comparison mode: operations against their golden functions, as programs switch it; and that golden functions are right and found."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
import tt_run.runtime.tools.comparison_mode  # noqa: F401 - what follows the switch, as in a program
from tests.runtime.ops.tensors import BF16, F32, ROW, U32, held, put
from tt_run.runtime import catalog, events
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.ops.elementwise.unary import GeluVariant
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tools import comparison, tensor_ids
from tt_run.runtime.tools.golden import get_golden_function
from tt_run.runtime.tools.registration import attach_golden_function

assert comparison  # it follows the setting once it is imported
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def pair() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 2))
    yield device
    device.close()


@pytest.fixture
def comparing() -> Iterator[None]:
    pytest.importorskip("torch")
    CONFIG.enable_comparison_mode = True
    CONFIG.comparison_mode_should_raise_exception = True
    assert events.listening
    try:
        yield
    finally:
        CONFIG.enable_comparison_mode = False
        CONFIG.comparison_mode_should_raise_exception = False


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    return operation(*arguments, **keywords)


X = np.random.default_rng(0).uniform(0.2, 0.9, (2, 4, 32, 64)).astype(np.float32)
W = np.random.default_rng(1).uniform(-1, 1, (64, 32)).astype(np.float32)
ONE = [
    "abs",
    "acos",
    "asin",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "celu",
    "cos",
    "cosh",
    "deg2rad",
    "elu",
    "eqz",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "gelu",
    "gez",
    "gtz",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "identity",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "lez",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_sigmoid",
    "logical_not",
    "ltz",
    "mish",
    "neg",
    "nez",
    "rad2deg",
    "reciprocal",
    "relu",
    "relu6",
    "round",
    "rsqrt",
    "selu",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "softplus",
    "softshrink",
    "softsign",
    "sqrt",
    "square",
    "swish",
    "tan",
    "tanh",
    "tanhshrink",
    "trunc",
    "softmax",
    "layer_norm",
    "rms_norm",
    "sum",
    "mean",
    "max",
    "min",
    "var",
    "std",
    "prod",
    "squeeze",
    "clone",
]
TWO = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "div",
    "floor_div",
    "rsub",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "squared_difference",
    "ldexp",
    "logaddexp",
    "logaddexp2",
    "hypot",
    "atan2",
    "xlogy",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "add_",
    "gt_",
]
CALLS: dict[str, Any] = {
    "linear": lambda d: call("linear", put(d, X), put(d, W), bias=put(d, W[:1])),
    "matmul": lambda d: call("matmul", put(d, X), put(d, W)),
    "reduced": lambda d: call("sum", put(d, X), dim=(1, 2), keepdim=True, scalar=2.0),
    "moments": lambda d: call("std", put(d, X), -1, scalar=2.0, correction=False),
    "scalar": lambda d: call("divide", put(d, X), 3.0, rounding_mode="floor"),
    "where": lambda d: call("where", put(d, X > 0.5), put(d, X), 2.0),
    "clamp": lambda d: call("clamp", put(d, X), 0.3, 0.6),
    "addcmul": lambda d: call("addcmul", put(d, X), put(d, X), put(d, X), value=0.5),
    "permute": lambda d: call("permute", put(d, X), (0, 2, 1, 3)),
    "reshape": lambda d: call("reshape", put(d, X), (8, -1)),
    "concat": lambda d: call("concat", [put(d, X), put(d, X)], dim=1),
    "slice": lambda d: call("slice", put(d, X), [0, 1, 0, 0], [2, 3, 32, 64], [1, 1, 2, 1]),
    "pad": lambda d: call("pad", put(d, X), ((0, 0), (0, 32)), 1.5),
    "repeat": lambda d: call("repeat", put(d, X), (1, 2, 1, 1)),
    "topk": lambda d: call("topk", put(d, X), 4),
    "argmax": lambda d: call("argmax", put(d, X), dim=-1),
    "sort": lambda d: call("sort", put(d, X), descending=True),
    "cumsum": lambda d: call("cumsum", put(d, X), 2, reverse_order=True),
    "embedding": lambda d: call("embedding", put(d, [[1, 5, 2]], U32, ROW), put(d, W, BF16, ROW)),
    "attention": lambda d: call(
        "transformer.scaled_dot_product_attention", *[put(d, 8 * X - 4, BF16)] * 3, is_causal=True
    ),
    "tanh gelu": lambda d: call("gelu", put(d, X), variant=GeluVariant.Tanh),
    "split": lambda d: call("split", put(d, X), 2, dim=1),
    "roll": lambda d: call("roll", put(d, X), 3, 2),
}


@pytest.mark.usefixtures("comparing")
@pytest.mark.parametrize("name", ONE)
def test_one_operand(pair: MeshDevice, name: str):
    call(name, put(pair, X, shard=0))


@pytest.mark.usefixtures("comparing")
@pytest.mark.parametrize("name", TWO)
def test_two_operands(pair: MeshDevice, name: str):
    call(name, put(pair, X, shard=0), put(pair, X[::-1], shard=0))


@pytest.mark.usefixtures("comparing")
@pytest.mark.parametrize("name", sorted(CALLS))
def test_calls(pair: MeshDevice, name: str):
    CALLS[name](pair)


def test_every_named_golden_function_is_there():
    pytest.importorskip("torch")
    for name, operation in catalog.every().items():
        if isinstance(operation.golden, str):
            assert callable(torch_cpu.torch_function(operation.golden)), name


def test_keywords_that_place_are_ignored():
    torch = pytest.importorskip("torch")
    relu = catalog.find("ttnn.relu")
    assert relu is not None
    golden = get_golden_function(relu)
    assert golden(torch.tensor([-1.0, 2.0]), device=None, memory_config=None).tolist() == [0, 2]


@pytest.mark.usefixtures("comparing")
def test_a_wrong_result_is_told(pair: MeshDevice, monkeypatch: pytest.MonkeyPatch, logged: io.StringIO):
    relu = catalog.find("ttnn.relu")
    assert relu is not None
    monkeypatch.setattr(relu, "golden", lambda x: -x)
    with pytest.raises(
        RuntimeError, match=r"ttnn\.relu: Comparing output tensor 0 against CPU failed: pcc is -1\.0"
    ):
        relu(put(pair, X))
    CONFIG.comparison_mode_should_raise_exception = False
    assert held(relu(put(pair, X))).tolist() == X.tolist()
    assert "should be >= 0.9999" in logged.getvalue()


def test_what_operations_gave_while_they_were_compared(pair: MeshDevice, comparing: None) -> None:
    x = put(pair, X, BF16)
    result = call("relu", x)
    assert result.tensor_id in tensor_ids.produced
    assert x.tensor_id not in tensor_ids.produced


def test_it_ends_when_switched_off(pair: MeshDevice):
    assert not events.listening
    CONFIG.enable_comparison_mode = True
    assert events.listening
    CONFIG.enable_comparison_mode = False
    assert not events.listening


def test_what_stands_between_an_operation_and_its_golden_function(pair: MeshDevice, comparing: None) -> None:
    """A golden function of other units: arguments are made for it, and its result made comparable."""
    doubled = FastOperation("ttnn.own_test.doubled", lambda x, factor: ops.multiply(x, 2 * factor))
    seen: list[Any] = []

    def inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return args, {"percent": 100 * kwargs["factor"]}

    def outputs(output: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        seen.append((output, args, kwargs))
        return output / 100

    def golden(x: Any, percent: float) -> Any:
        return x * 2 * percent

    x = put(pair, X, F32, ROW)
    attach_golden_function(
        doubled, golden, preprocess_golden_function_inputs=inputs, postprocess_golden_function_outputs=outputs
    )
    assert np.array_equal(held(doubled(x, factor=3)), X * 6)
    assert [(args, kwargs) for _, args, kwargs in seen] == [((x,), {"factor": 3})]
    attach_golden_function(doubled, lambda x, percent: -x * percent, preprocess_golden_function_inputs=inputs)
    with pytest.raises(RuntimeError, match="Comparing output tensor 0 against CPU failed"):
        doubled(x, factor=3)
