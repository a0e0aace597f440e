"""Operations against PyTorch, where it is installed: the functions whose NumPy twin in these tests is our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import I32, ROW, held, near, put
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.unary import GeluVariant

torch = pytest.importorskip("torch", reason="compares with PyTorch")
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
functional = torch.nn.functional

UNARY: dict[str, Any] = {
    "gelu": functional.gelu,
    "silu": functional.silu,
    "mish": functional.mish,
    "hardswish": functional.hardswish,
    "hardsigmoid": functional.hardsigmoid,
    "softplus": functional.softplus,
    "log_sigmoid": functional.logsigmoid,
    "selu": functional.selu,
    "elu": functional.elu,
    "celu": functional.celu,
    "softshrink": functional.softshrink,
    "hardshrink": functional.hardshrink,
    "tanhshrink": functional.tanhshrink,
    "softsign": functional.softsign,
    "relu6": functional.relu6,
    "erf": torch.erf,
    "erfc": torch.erfc,
    "rsqrt": lambda t: torch.rsqrt(t.abs()),
    "frac": torch.frac,
}


def sample(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 3


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(one: MeshDevice, name: str):
    x = sample(5, 77)
    t = ops.abs(put(one, x)) if name == "rsqrt" else put(one, x)
    near(getattr(ops, name)(t), UNARY[name](torch.from_numpy(x).double()).numpy(), steps=8)


def test_gelu_by_tanh(one: MeshDevice):
    x = sample(5, 77)
    wanted = functional.gelu(torch.from_numpy(x).double(), approximate="tanh").numpy()
    near(ops.gelu(put(one, x), variant=GeluVariant.Tanh), wanted, steps=4)
    exact = functional.gelu(torch.from_numpy(x).double()).numpy()
    for options in ({"fast_and_approximate_mode": True}, {"variant": GeluVariant.FastLut}):
        near(ops.gelu(put(one, x), **options), exact, steps=4)
    near(ops.add(put(one, x), 0.0, activations=["gelu_tanh"]), wanted, steps=4)
    near(ops.add(put(one, x), 0.0, activations=["gelu_approx"]), exact, steps=4)


def test_norms_and_attention(one: MeshDevice):
    x, w, b = sample(2, 3, 20, 64), sample(64, seed=1), sample(64, seed=2)
    tx, tw, tb = (torch.from_numpy(v).double() for v in (x, w, b))
    found = ops.layer_norm(put(one, x), weight=put(one, w), bias=put(one, b), epsilon=1e-5)
    near(found, functional.layer_norm(tx, (64,), tw, tb, 1e-5).numpy(), steps=16)
    q, k, v = (sample(2, 4, 20, 32, seed=s) for s in range(3))
    wanted = functional.scaled_dot_product_attention(
        *(torch.from_numpy(t).double() for t in (q, k, v)), is_causal=True
    )
    sdpa = ops.registry["ttnn.transformer.scaled_dot_product_attention"]
    near(sdpa(put(one, q), put(one, k), put(one, v)), wanted.numpy(), steps=32)
    images = sample(2, 1, 30, 32)
    channels_first = torch.from_numpy(images).double().permute(0, 3, 1, 2)
    groups = functional.group_norm(channels_first, 4, eps=1e-5).permute(0, 2, 3, 1)
    near(
        ops.group_norm(put(one, images), num_groups=4, epsilon=1e-5, inplace=False), groups.numpy(), steps=16
    )


def test_indexing(one: MeshDevice):
    x = torch.from_numpy(sample(4, 9))
    index = torch.randint(0, 9, (4, 5), generator=torch.Generator().manual_seed(1))
    source = torch.from_numpy(sample(4, 5, seed=3))
    at = put(one, index.numpy().astype(np.int32), I32, ROW)
    near(ops.gather(put(one, x, layout=ROW), 1, at), x.gather(1, index).numpy())
    added = x.double().scatter_reduce(1, index, source.double(), reduce="sum")
    summed = ops.scatter(put(one, x, layout=ROW), 1, at, put(one, source, layout=ROW), reduce="add")
    near(summed, added.numpy(), steps=4)
    near(ops.repeat_interleave(put(one, x), 2, 0), x.repeat_interleave(2, 0).numpy())
    near(ops.std(put(one, x), 1), x.double().std(1).numpy(), steps=8)
    assert held(ops.topk(put(one, x), 3)[1]).tolist() == x.topk(3).indices.tolist()


def test_golden_functions_of_operations_and_activations():
    import torch

    from tt_run.runtime.tools.activation_goldens import get_golden_function_for_activation as of
    from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam

    x = torch.tensor([-1.0, 2.0])
    assert of(None) is None
    for activation in ("relu", UnaryOpType.RELU, UnaryWithParam(UnaryOpType.RELU)):
        assert of(activation)(x).tolist() == [0, 2]
    assert torch.equal(of("gelu_approx")(x), torch.nn.functional.gelu(x))
    with pytest.raises(RuntimeError, match="Unsupported activation: nope"):
        of("nope")
    with pytest.raises(RuntimeError, match="3 is not supported as activation function"):
        of(3)
    a, b = torch.arange(4.0).reshape(1, 4), torch.arange(4.0, 8.0).reshape(1, 4)
    assert ops.concat.golden_function([a, b], 1, 2).tolist() == [[0, 1, 4, 5, 2, 3, 6, 7]]
