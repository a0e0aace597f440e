"""Large bfloat16 tensors are kept in 16 bits where PyTorch is loaded: programs have the bits that they have without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.sweep import thinned
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.activation import UnaryOpType
from tt_run.runtime.values import torch_rounding

pytestmark = pytest.mark.torch
SHAPE = (2, 300, 512)

PROGRAMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "a residual": lambda a, b: ops.layer_norm(ops.add(ops.relu(a), b)),
    "a gate": lambda a, b: ops.multiply(ops.silu(a), ops.sigmoid(b)),
    "a fused gate": lambda a, b: ops.multiply(a, b, input_tensor_a_activations=[UnaryOpType.SILU]),
    "halves": lambda a, b: ops.geglu(ops.reshape(ops.add(a, b), (1, 2, 300, 512)), 3),
    "distances": lambda a, b: ops.sqrt(ops.square(ops.subtract(a, b))),
    "roots of anything": lambda a, b: ops.maximum(ops.rsqrt(a), ops.reciprocal(b)),
    "weights": lambda a, b: ops.softmax(ops.leaky_relu(ops.minimum(a, b), 0.01)),
    "weights as a kernel makes them": lambda a, b: ops.softmax(ops.multiply(a, b), numeric_stable=False),
    "masked weights": lambda a, b: ops.scale_mask_softmax(
        a, 0.3, ops.unsqueeze(ops.slice(b, [0, 0, 0], [1, 1, 512]), 0)
    ),
    "a norm with its residual": lambda a, b: ops.layer_norm(a, residual_input_tensor=b),
    "numbers": lambda a, b: ops.add(ops.multiply(a, 1.7), ops.rsub(ops.divide(ops.subtract(2.5, b), 0.3), 4)),
    "quotients": lambda a, b: ops.multiply(0.5, ops.rsub(ops.divide(a, b), a)),
    "a product": lambda a, b: ops.rms_norm(ops.matmul(a, ops.transpose(b, 1, 2))),
    "another shape": lambda a, b: ops.abs(ops.reshape(ops.add(a, b), (600, 512))),
    "a norm alone": lambda a, b: ops.concat([ops.layer_norm(a), ops.rms_norm(b)], 0),
    "powers": lambda a, b: ops.add(ops.pow(a, 2.0), ops.multiply(ops.pow(b, 3), ops.pow(2.0, a))),
    "roots": lambda a, b: ops.add(ops.pow(a, 0.5), ops.pow(b, -1.0)),
    "what is left": lambda a, b: ops.add(
        ops.remainder(a, b), ops.multiply(ops.fmod(a, 0.3), ops.floor_div(a, b))
    ),
    "what is left of a number": lambda a, b: ops.add(ops.floor_div(a, 0.3), ops.remainder(b, -1.5)),
    "limits": lambda a, b: ops.maximum(ops.minimum(ops.clamp(a, -1.0, 1.0), 0.5), -0.0),
    "steps": lambda a, b: ops.add(ops.threshold(a, 0.5, -0.0), ops.prelu(b, 0.1)),
    "a shrunk one": lambda a, b: ops.multiply(ops.hardshrink(a, lambd=0.3), ops.softshrink(b, lambd=0.3)),
    "rounded": lambda a, b: ops.add(ops.round(ops.multiply(a, 7.0)), ops.deg2rad(ops.frac(b))),
    "one value": lambda a, b: ops.add(ops.fill(a, 0.3), b),
    "sums of exponentials": lambda a, b: ops.add(ops.logaddexp(a, b), ops.logaddexp2(a, 0.5)),
    "angles": lambda a, b: ops.add(ops.asin(a), ops.acos(b)),
    "in place": lambda a, b: ops.add(a, b, output_tensor=ops.clone(b)),
}


def inputs(torch: Any) -> tuple[Any, Any]:
    random = torch.Generator().manual_seed(0)
    a, b = (torch.randn(SHAPE, generator=random).bfloat16() for _ in range(2))
    a[0, 0, :4] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
    b[1, 2, :3] = torch.tensor([1e38, -1e38, 1e-40])
    a[1, 7], b[1, 7] = 20, 20  # products whose exponentials overflow
    return a, b


def bits(result: Any) -> np.ndarray:
    import torch

    found: np.ndarray = result.view(torch.int16).numpy()
    return found


@pytest.mark.filterwarnings("ignore:softmax with numeric_stable=False")
@pytest.mark.parametrize("name", thinned(PROGRAMS, 3))
def test_bits_are_those_without_pytorch(name: str, one: MeshDevice, monkeypatch: pytest.MonkeyPatch):
    import torch

    found = []
    for loaded in (True, False):
        if not loaded:
            monkeypatch.setattr(torch_rounding, "_from_numpy", None)
            monkeypatch.setattr(torch_rounding, "_is_refused", True)
        a, b = (from_torch(x, layout=Layout.TILE, device=one) for x in inputs(torch))
        found.append(bits(to_torch(PROGRAMS[name](a, b))))
    assert np.array_equal(*found)


def test_what_comes_from_torch_goes_back_bit_for_bit(one: MeshDevice):
    import torch

    given = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16).repeat(8).view(torch.bfloat16)
    tensor = from_torch(given, device=one)
    assert tensor.shards.bfloat16 is not None
    first = to_torch(tensor)
    assert np.array_equal(bits(first), bits(given))
    first.zero_()  # it belongs to the caller
    given_bits = bits(given).copy()
    given.zero_()  # as what was given does
    assert np.array_equal(bits(to_torch(tensor)), given_bits)


def test_every_device_has_the_elements_of_one(mesh: MeshDevice):
    import torch

    given = torch.randn(512, 512).bfloat16()
    tensor = from_torch(given, layout=Layout.TILE, device=mesh)
    assert len(tensor.shards.index) > 1 and tensor.shards.bfloat16 is not None
    doubled = ops.add(tensor, tensor)
    assert doubled.shards.bfloat16 is not None and doubled.dtype is DataType.BFLOAT16
    assert np.array_equal(doubled.shards.data[0], (given + given).float().numpy())


@pytest.mark.listening
@pytest.mark.parametrize(("name", "numbers"), [("threshold", (0.5, 1.0)), ("prelu", (0.25,))])
def test_results_of_declared_functions_stay_in_16_bits(
    name: str, numbers: tuple[float, ...], one: MeshDevice
):
    import torch

    tensor = from_torch(torch.randn(512, 512).bfloat16(), layout=Layout.TILE, device=one)
    found = getattr(ops, name)(tensor, *numbers)
    assert tensor.shards.bfloat16 is not None and found.shards.bfloat16 is not None


IMAGES = (4, 40, 36, 33)
POOLS: dict[str, Callable[[Tensor], Tensor]] = {
    "max": lambda x: ops.max_pool2d(x, *IMAGES, [3, 3], [2, 2], [1, 1], [1, 1]),
    "max of dilated windows, uneven borders": lambda x: ops.max_pool2d(x, *IMAGES, [3, 2], [1, 2], [1, 0, 1, 1], [2, 1]),
    "mean": lambda x: ops.avg_pool2d(x, *IMAGES, [3, 3], [2, 2], [1, 1]),
    "mean of what is inside": lambda x: ops.avg_pool2d(
        x, *IMAGES, [3, 3], [2, 2], [1, 0, 1, 1], count_include_pad=False
    ),
    "mean by a divisor": lambda x: ops.avg_pool2d(x, *IMAGES, [2, 5], [1, 1], [1, 2], divisor_override=7),
}  # fmt: skip


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("name", POOLS)
def test_pools_of_such_elements(name: str, nan: bool, one: MeshDevice):
    """The bits of pools of float32, as which the tensor is read by then."""
    import torch

    batch, height, width, channels = IMAGES
    given = torch.randn(1, 1, batch * height * width, channels).bfloat16()
    if nan:
        given.view(torch.int16)[0, 0, 500, 3] = -63  # a NaN with a sign and digits
    x = from_torch(given, device=one)
    assert x.shards.bfloat16 is not None
    first = bits(to_torch(POOLS[name](x)))
    assert x.shards.data.dtype == np.float32 and x.shards.bfloat16 is None
    assert np.array_equal(bits(to_torch(POOLS[name](x))), first)


def test_one_value_is_held_in_such_elements(one: MeshDevice):
    import torch

    filled = ops.fill(from_torch(torch.randn(SHAPE).bfloat16(), layout=Layout.TILE, device=one), 0.3)
    assert filled.shards.bfloat16 is not None
    assert bool((to_torch(filled) == torch.tensor(0.3).bfloat16()).all())
