"""What a training step in bfloat16 makes is packed until its end: the same bits, in the bytes of a device."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from tests.sweep import sweep
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.elementwise import evaluate, finish
from tt_run.runtime.tensor.conversion.devices import from_device
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.graph import GradMode
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.trainer import Trainer
from tt_run.runtime.train.models.gpt import NanoGPTConfig, create_nanogpt
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops.unary import mean
from tt_run.runtime.train.optimizers.adamw import AdamW, AdamWConfig
from tt_run.runtime.values import at_rest
from tt_run.runtime.values.at_rest import dense
from tt_run.runtime.values.bfloat16 import to_wire
from tt_run.runtime.values.scratch_arrays import BLOCK

WIDTH = 320  # weights and activations that count, and no multiple of a block


def steps(opened: Any, devices: int = 1) -> list[bytes]:
    """Losses and weights of four steps of a small NanoGPT."""
    opened((1, devices), "bfloat16", ddp=devices > 1)
    model = create_nanogpt(NanoGPTConfig(96, 64, WIDTH, 2, 4, 0.1))
    trainer = Trainer(
        model,
        AdamW(model.parameters(), AdamWConfig.make(lr=1e-2)),
        sequence_length=64,
        batch_size=4 * devices,
    )
    text = np.random.default_rng(0).integers(0, 96, (4 * devices, 65)).astype(np.uint32)
    found = [
        np.float32(trainer.step(lambda: (text[:, :-1].copy(), text[:, 1:].copy()))[0]).tobytes()
        for _ in range(4)
    ]
    weights = model.parameters()
    return [*found, *(weights[name].get_value().shards.data.tobytes() for name in sorted(weights))]


@pytest.mark.parametrize("devices", [1, pytest.param(4, marks=pytest.mark.wide)])
def test_steps_have_the_same_bits_packed_and_dense(
    opened: Any, monkeypatch: pytest.MonkeyPatch, devices: int
) -> None:
    class Loose(at_rest.Dense):
        """Never tight: everything stays dense."""

        is_tight = property(lambda self: False, lambda self, value: None)  # type: ignore[assignment]

    monkeypatch.setattr(at_rest, "TIGHT", 0)
    packed = steps(opened, devices)
    monkeypatch.setattr(dense, "__class__", Loose)
    assert steps(opened, devices) == packed


def layer_and_optimizer() -> tuple[LinearLayer, AdamW, Tensor]:
    layer = LinearLayer(WIDTH, WIDTH)
    data = np.random.default_rng(1).standard_normal((1, 1, 64, WIDTH)).astype(np.float32)
    return layer, AdamW(layer.parameters(), AdamWConfig.make(lr=1e-2)), Tensor.from_numpy(data)


def one_step(layer: LinearLayer, optimizer: AdamW, data: Tensor, context: Any) -> None:
    optimizer.zero_grad()
    mean(layer(data)).backward()
    context.reset_graph()
    optimizer.step()


def test_gradients_and_stepped_weights_are_at_rest(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_rest, "TIGHT", 0)
    context = opened((1, 1), "bfloat16")
    layer, optimizer, data = layer_and_optimizer()
    weight = layer.parameters()[next(name for name in layer.parameters() if "weight" in name)]
    for _ in range(3):
        one_step(layer, optimizer, data, context)
    for value in (weight.get_grad(), weight.get_value()):
        buffer = value._storage
        assert buffer._shards is None and buffer._packed is not None, "it lies as float32"
        assert np.array_equal(to_wire(value.shards.data), buffer.bits)


@pytest.mark.parametrize("arithmetic", sweep(["float32", "bfloat16"], quick=["bfloat16"]))
def test_no_gradient_of_an_earlier_step_is_held(opened: Any, arithmetic: str) -> None:
    context = opened((1, 1), arithmetic)
    layer, optimizer, data = layer_and_optimizer()
    weight = layer.parameters()[next(name for name in layer.parameters() if "weight" in name)]
    one_step(layer, optimizer, data, context)
    held = weight.get_grad().shards.data
    gone = weakref.ref(held.base)
    del held
    optimizer.zero_grad()
    gc.collect()
    assert gone() is None


def test_room_is_tight_while_a_step_in_bfloat16_is_recorded(opened: Any) -> None:
    context = opened((1, 1), "bfloat16")
    layer, _, data = layer_and_optimizer()
    dense.is_tight = False
    loss = mean(layer(data))
    assert dense.is_tight
    loss.backward()
    context.reset_graph()
    assert not dense.is_tight
    layer(data)
    context.set_gradient_mode(GradMode.DISABLED)
    layer(data)
    assert not dense.is_tight, "text that is generated reads the same weights over and over"
    context = opened((1, 1), "float32")
    layer, _, data = layer_and_optimizer()
    mean(layer(data))
    assert not dense.is_tight


@pytest.mark.parametrize("odd", [1.0, np.nan, -np.nan, np.inf, 3.4e38, 1e-40])
def test_the_bits_that_are_kept_are_those_of_the_results(odd: float) -> None:
    a, b = np.random.default_rng(2).standard_normal((2, 1, 3, BLOCK + 100)).astype(np.float32)
    a[0, 1, 7] = odd
    for kernel in (np.add, lambda x, y: x * y + x):
        for second in (b, b[:, :1]):
            kept: list[np.ndarray] = []
            values = evaluate(kernel, DataType.BFLOAT16, a, second, kept=kept)
            assert np.array_equal(kept[0], to_wire(values)) and kept[0].shape == values.shape
            assert np.array_equal(
                values.view(np.uint32), evaluate(kernel, DataType.BFLOAT16, a, second).view(np.uint32)
            )
    kept = []
    values = finish(a.copy(), DataType.BFLOAT16, kept)
    assert np.array_equal(kept[0], to_wire(values))
    assert finish(b[:, :1, :100].copy(), DataType.BFLOAT16, kept) is not None and len(kept) == 1


def test_what_is_written_in_place_is_what_is_packed_later(opened: Any) -> None:
    """Results whose bits were kept may be changed in their own memory by whoever writes them back."""
    opened((1, 1), "bfloat16")
    data = np.random.default_rng(1).standard_normal((1, 1, 8 * 64, WIDTH)).astype(np.float32)
    value = Tensor.from_numpy(data).get_value()
    dense.is_tight = True
    try:
        made = stacks.elementwise(np.multiply, value, value)
        assert made.shards.bits is not None
        held = made.shards
        held.data[...] = 2
        made.overwrite(held)
        made.rest()
        assert made._storage._shards is None and (made.shards.data == 2).all()
    finally:
        dense.is_tight = False


def test_what_was_taken_off_before_a_step_stays(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimizer writes into bits of the parameter alone, whoever has the numbers that these were made of."""
    monkeypatch.setattr(at_rest, "TIGHT", 0)
    context = opened((1, 1), "bfloat16")
    layer, optimizer, data = layer_and_optimizer()
    weight = layer.parameters()[next(name for name in layer.parameters() if "weight" in name)]
    one_step(layer, optimizer, data, context)
    dense.is_tight = True
    weight.set_value(stacks.elementwise(lambda x: x * 2, weight.get_value()))
    kept = from_device(weight.get_value())
    before = kept.shards.data.copy()
    dense.is_tight = False
    for _ in range(2):
        one_step(layer, optimizer, data, context)
    kept.rest()
    assert np.array_equal(kept.shards.data, before)
    assert not np.array_equal(weight.get_value().shards.data, before)
