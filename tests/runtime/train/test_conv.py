"""`ttml.ops.conv`, and four taps along positions, against PyTorch: values and gradients; prepared filters; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.train.conftest import Opened
from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import binary, depthwise, unary
from tt_run.runtime.train.ops.conv import conv3d, prepare_conv3d_weight

Sizes = tuple[int, ...]
# batch, channels, outputs, (depth, height, width), kernel, and the settings of the call
CASES: list[tuple[int, int, int, Sizes, Sizes, dict[str, Any]]] = [
    (1, 8, 6, (4, 5, 6), (3, 3, 3), {"padding": (1, 1, 1)}),
    (2, 4, 6, (5, 6, 7), (3, 3, 3), {"stride": (1, 2, 3), "padding": (0, 1, 2)}),
    (1, 6, 10, (6, 7, 8), (3, 2, 1), {"dilation": (2, 1, 2), "groups": 2, "padding": (2, 1, 0)}),
    (2, 3, 4, (3, 4, 4), (1, 2, 2), {"stride": (1, 2, 2)}),
    (1, 4, 4, (4, 5, 6), (3, 3, 3), {"padding": (3, 4, 3), "stride": (2, 2, 2)}),
]


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def volume(array: np.ndarray) -> Tensor:
    return Tensor.from_numpy(np.ascontiguousarray(array), Layout.ROW_MAJOR)


@pytest.mark.parametrize(("batch", "channels", "outputs", "space", "kernel", "settings"), CASES)
def test_values_and_gradients(
    opened: Opened, batch: int, channels: int, outputs: int, space: Sizes, kernel: Sizes, settings: Any
) -> None:
    torch = torch_or_skip()
    opened()
    x = drawn(0, batch, channels, *space)
    w, b = drawn(1, outputs, channels // settings.get("groups", 1), *kernel), drawn(2, outputs)
    theirs = [torch.tensor(array, requires_grad=True) for array in (x, w, b)]
    expected = torch.nn.functional.conv3d(*theirs, **settings)
    slope = drawn(3, *expected.shape)
    expected.backward(torch.tensor(slope))

    ours = [volume(x.transpose(0, 2, 3, 4, 1)), volume(w), volume(b.reshape(1, 1, 1, -1))]
    for prepared in (None, prepare_conv3d_weight(ours[1].get_value(), settings.get("groups", 1))):
        for tensor in ours:
            tensor.set_grad(None)
        out = conv3d(*ours, prepared, **settings)
        out.set_grad(volume(slope.transpose(0, 2, 3, 4, 1)).get_value())
        out.backward()
        pairs = [
            (out.to_numpy(), expected.detach().numpy().transpose(0, 2, 3, 4, 1)),
            (ours[0].get_grad_tensor().to_numpy(), theirs[0].grad.numpy().transpose(0, 2, 3, 4, 1)),  # type: ignore[union-attr]
            (ours[1].get_grad_tensor().to_numpy(), theirs[1].grad.numpy()),  # type: ignore[union-attr]
            (ours[2].get_grad_tensor().to_numpy().reshape(-1), theirs[2].grad.numpy()),  # type: ignore[union-attr]
        ]
        for found, wanted in pairs:
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_prepared_filters_are_matrices_of_tiles(opened: Opened) -> None:
    opened()
    weight = volume(drawn(0, 40, 32, 3, 3, 3)).get_value()
    made = prepare_conv3d_weight(weight, groups=2)
    assert (made.groups, made.c_in_block, len(made.forward), len(made.transposed)) == (2, 32, 2, 2)
    assert {tuple(form.shape) for form in (*made.forward, *made.transposed)} == {(27 * 32, 32)}
    with pytest.raises(ValueError, match="built for shape"):
        conv3d(volume(drawn(1, 1, 4, 5, 6, 32)), Tensor(weight), None, made, groups=1)


@pytest.mark.parametrize(
    ("shape", "filters", "bias", "settings", "message"),
    [
        ((1, 4, 5, 6, 8), (8, 8, 3, 3, 3), None, {"groups": 0}, "groups must be non-zero"),
        ((1, 4, 5, 6, 8), (8, 8, 3, 3, 3), None, {"groups": 2}, "weight in_channels 8 .* groups 2"),
        ((1, 4, 5, 6, 6), (8, 3, 3, 3, 3), None, {"groups": 4}, "input channels 6 .* divisible by groups 4"),
        ((1, 4, 5, 6, 9), (8, 3, 3, 3, 3), None, {"groups": 3}, "out_channels 8 .* divisible by groups 3"),
        ((1, 4, 5, 6, 8), (8, 8, 3, 3, 3), None, {"padding_mode": "replicate"}, "padding_mode"),
        ((1, 4, 5, 6, 8), (8, 8, 3, 3, 3), None, {"stride": (0, 1, 1)}, "stride must be three"),
        ((1, 4, 5, 6, 8), (8, 8, 3, 3, 3), None, {"dilation": (3, 1, 1)}, "effective kernel"),
        ((4, 5, 6, 8), (8, 8, 3, 3, 3), None, {}, "input must have rank 5"),
        ((1, 4, 5, 6, 8), (8, 8, 3, 3), None, {}, "weight must have rank 5"),
        ((1, 4, 5, 6, 8), (8, 8, 3, 3, 3), (1, 9), {}, "bias must have 8 elements"),
    ],
)
def test_sizes_that_do_not_fit_are_told(
    opened: Opened, shape: Sizes, filters: Sizes, bias: Sizes | None, settings: Any, message: str
) -> None:
    opened()
    given = None if bias is None else volume(np.zeros(bias, np.float32))
    with pytest.raises(ValueError, match=message):
        conv3d(volume(np.zeros(shape, np.float32)), volume(np.zeros(filters, np.float32)), given, **settings)


def bf16(array: np.ndarray, layout: Layout = Layout.TILE) -> Tensor:
    return Tensor.from_numpy(np.ascontiguousarray(array, np.float32), layout, DataType.BFLOAT16)


@pytest.mark.torch
@pytest.mark.parametrize(("arithmetic", "near"), [("bfloat16", 0.05), ("float32", 1e-5)])
def test_four_taps_along_positions(opened: Any, arithmetic: str, near: float) -> None:
    """Forwards, backwards, and with the slope of silu; then fused, with gradients of the operand and of every tap."""
    torch = torch_or_skip()
    opened((1, 1), arithmetic)
    draw = np.random.default_rng(7)
    x, d = (draw.standard_normal((64, 96)).astype(np.float32) for _ in range(2))
    taps = [draw.standard_normal(96).astype(np.float32) * 0.5 for _ in range(4)]

    def theirs(u: Any, t: Any) -> Any:
        padded = torch.nn.functional.pad(u, (0, 0, 3, 0))
        return sum(t[j] * padded[j : j + 64] for j in range(4))

    rows, own = (
        bf16(x[None, None], Layout.ROW_MAJOR).get_value(),
        [bf16(t.reshape(1, 1, 1, 96)) for t in taps],
    )
    values: Any = [tap.get_value() for tap in own]
    seen, t = torch.tensor(x, requires_grad=True), [torch.tensor(tap, requires_grad=True) for tap in taps]
    forward = theirs(seen, t)
    gate = torch.sigmoid(forward)
    for found, expected in (
        (depthwise.depthwise_conv1d_k4(rows, *values), forward),
        (depthwise.depthwise_conv1d_k4(rows, *values, anti_causal=True), theirs(seen.flip(0), t).flip(0)),
        (depthwise.depthwise_conv1d_k4(rows, *values, silu_grad=bf16(d[None, None]).get_value()), torch.tensor(d) * gate * (1 + forward * (1 - gate))),
    ):  # fmt: skip
        assert found.layout is Layout.TILE and found.dtype is DataType[arithmetic.upper()]
        np.testing.assert_allclose(
            found.to_numpy()[0, 0].astype(np.float32), expected.detach(), rtol=near, atol=near
        )
    joint, parts = bf16(x[None, None]), (32, 32, 32)
    out = depthwise.fused_causal_conv1d_silu(joint, own, parts)
    assert [part.shape() for part in out] == [[1, 1, 64, 32]] * 3
    terms = []
    for number, part in enumerate(out):
        weight = bf16(d[None, None, :, 32 * number : 32 * number + 32])
        weight.set_requires_grad(False)
        terms.append(unary.mean(binary.mul(part, weight)))
    binary.add(binary.add(terms[0], terms[1]), terms[2]).backward()
    silu = torch.nn.functional.silu(forward)
    sum((silu[:, n : n + 32] * torch.tensor(d[:, n : n + 32])).mean() for n in (0, 32, 64)).backward()
    np.testing.assert_allclose(np.concatenate([p.to_numpy() for p in out], -1)[0, 0].astype(np.float32), silu.detach(), rtol=near, atol=near)  # fmt: skip
    for mine, twin in ((joint, seen), *zip(own, t, strict=True)):
        found = mine.get_grad().to_numpy().astype(np.float32).reshape(twin.shape)
        assert np.corrcoef(found.ravel(), twin.grad.numpy().ravel())[0, 1] > 0.999
        np.testing.assert_allclose(found, twin.grad.numpy(), atol=near * float(twin.grad.abs().max()))


def test_what_four_taps_do_not_take(opened: Any) -> None:
    opened((1, 1), "bfloat16")
    rows, tap = (bf16(np.ones(shape), layout).get_value() for shape, layout in (((1, 1, 32, 32), Layout.ROW_MAJOR), ((1, 1, 1, 32), Layout.TILE)))  # fmt: skip
    call: Any = depthwise.depthwise_conv1d_k4
    for given, said in (
        ((bf16(np.ones((1, 1, 32, 32))).get_value(), *[tap] * 4), "input must be ROW_MAJOR, got TILE"),
        ((bf16(np.ones((1, 1, 30, 32)), Layout.ROW_MAJOR).get_value(), *[tap] * 4), "T must be a positive multiple of 32, got 30"),
        ((bf16(np.ones((2, 1, 32, 32)), Layout.ROW_MAJOR).get_value(), *[tap] * 4), r"input must be \[1, 1, T, C\]"),
        ((rows, tap, tap, bf16(np.ones((1, 1, 1, 64))).get_value(), tap), "tap2 must hold C = 32 values"),
        ((rows, *[Tensor.from_numpy(np.ones((1, 1, 1, 32), np.float32)).get_value(PreferredPrecision.FULL)] * 4), "tap0 must be BFLOAT16, got FLOAT32"),
        ((rows, *[tap] * 4, False, bf16(np.ones((1, 1, 64, 32))).get_value()), "silu_grad must match the input shape"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=said):
            call(*given)
    with pytest.raises(ValueError, match="3 taps and widths"):
        depthwise.fused_causal_conv1d_silu(
            bf16(np.ones((1, 1, 32, 32))), [bf16(np.ones((1, 1, 1, 32)))] * 3, (32,)
        )
