"""Modules cut as objects: gathered by hand and ahead of time, with the numbers of data parallelism; and functions around forward passes."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.test_building import bits, opened_mesh  # noqa: F401 - the fixture
from tt_run.runtime import events
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.utils import no_grad
from tt_run.runtime.train.models.runner import RunnerType, run
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import binary
from tt_run.runtime.train.ops.loss import mse_loss
from tt_run.runtime.train.optimizers import registry
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel import fsdp, fsdp_memory, fsdp_module
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.fsdp_module import FSDPModule, fully_shard, setup_prefetching
from tt_run.runtime.train.parallel.named_mesh import sync_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

WIDTH, LAYERS = 32, 4


def chain() -> ModuleList:
    return ModuleList(LinearLayer(WIDTH, WIDTH, bias) for bias in (True, False) * (LAYERS // 2))


def train(context: Any, layers: Any, named: ModuleList, parts: int = 1, steps: int = 3) -> list[float]:
    """Losses of steps of so many micro-batches each."""
    mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
    optimizer = registry.create_optimizer({"type": "SGD", "lr": 0.1, "momentum": 0.9}, named.parameters())
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(parts):
            draw = (
                np.random.default_rng(parts * step + part)
                .standard_normal((2, 8, 1, 3, WIDTH))
                .astype(np.float32)
            )
            x, y = (Tensor.from_numpy(array, mapper=mapper) for array in draw)
            for layer in layers:
                x = layer(x)
            loss = mse_loss(x, y)
            losses.append(float(loss.get_value().shards.data.mean()))
            loss.backward()
            context.reset_graph()
        sync_gradients(named.parameters(), ("dp",))
        fsdp_module.synchronize_fsdp_gradients()
        optimizer.step()
    return losses


@pytest.mark.parametrize("ahead", [0, 1, 2, 9])
@pytest.mark.parametrize("reshard", [True, False])
def test_ahead_or_not_the_numbers_are_those_of_data_parallelism(
    opened_mesh: Any,  # noqa: F811
    ahead: int,
    reshard: bool,
) -> None:
    context = opened_mesh((1, 4), ("_", "dp"))
    plain = chain()
    expected = train(context, plain, plain), bits(plain)
    context = opened_mesh((1, 4), ("_", "fsdp"))
    layers = chain()
    cut = [fully_shard(layer, reshard_after_forward=reshard) for layer in layers]  # type: ignore[arg-type]
    setup_prefetching(cut, ahead, ahead)
    assert all(fsdp.is_fsdp_managed(tensor) for tensor in layers.parameters().values())
    assert (train(context, cut, layers), bits(layers)) == expected


def test_micro_batches_add_up(opened_mesh: Any) -> None:  # noqa: F811
    """The mean over the axis is taken of each, so what rounding leaves differs."""
    context = opened_mesh((1, 4), ("_", "dp"))
    plain = chain()
    expected = train(context, plain, plain, parts=3)
    context = opened_mesh((1, 4), ("_", "fsdp"))
    layers = chain()
    cut = [fully_shard(layer) for layer in layers]  # type: ignore[arg-type]
    setup_prefetching(cut)
    np.testing.assert_allclose(train(context, cut, layers, parts=3), expected, rtol=1e-6)


def test_when_parameters_are_gathered(opened_mesh: Any) -> None:  # noqa: F811
    """Each layer's once in either pass; ahead of time they come before the layer, or the gradient of the layer, in front of it."""

    def order(ahead: int) -> list[str]:
        context = opened_mesh((1, 4), ("_", "fsdp"))
        cut = [fully_shard(LinearLayer(WIDTH, WIDTH, False)) for _ in range(3)]
        setup_prefetching(cut, ahead, ahead)
        seen: list[str] = []
        stop = events.subscribe(lambda event: seen.append(event.name))
        try:
            x = Tensor.from_numpy(np.ones((1, 1, 2, WIDTH), np.float32))
            for module in cut:
                x = module(x)
            seen.append("|")
            x.backward()
            context.reset_graph()
        finally:
            stop()
        words = {"all_gather": "gather", "ttml.linear": "use", "ttml.linear backward": "slope", "|": "|"}
        return [words[name] for name in seen if name in words]

    assert order(0) == [*["gather", "use"] * 3, "|", *["gather", "slope"] * 3]
    assert order(1) == ["gather", "gather", "use", "gather", "use", "use", "|", "gather", "gather", "slope", "gather", "slope", "slope"]  # fmt: skip


@pytest.mark.parametrize("records", [True, False])
def test_what_stays_whole_follows_its_parameter(opened_mesh: Any, records: bool) -> None:  # noqa: F811
    """In one graph too: a step, a value that is set, numbers written in place; and gradients reach what was gathered without them before."""
    opened_mesh((1, 4), ("_", "fsdp"))
    layer = fsdp.fully_shard(LinearLayer(WIDTH, WIDTH, False), reshard_after_forward=False)  # type: ignore[arg-type]
    (weight,) = layer.parameters().values()
    x = Tensor.from_numpy(np.eye(WIDTH, dtype=np.float32)[None, None])

    def seen() -> np.ndarray:
        with contextlib.nullcontext() if records else no_grad():
            return np.asarray(layer(x).to_numpy()[0, 0].T)

    def expected() -> np.ndarray:
        return whole_parameter(weight)[0, 0]

    with no_grad():
        layer(x)
    np.testing.assert_array_equal(seen(), expected())
    layer(x).backward()
    assert weight.is_grad_initialized()
    before = seen()
    SGD({"weight": weight}, SGDConfig.make(1.0)).step()
    np.testing.assert_array_equal(seen(), expected())
    assert not np.array_equal(seen(), before)
    weight.set_value((weight * 2.0).get_value())
    np.testing.assert_array_equal(seen(), expected())
    value = weight.get_value(PreferredPrecision.FULL)
    value.overwrite(stacks.full_like(value, 3.0).shards)
    assert (seen() == 3.0).all()


def test_whole_parameters_and_gradients_by_hand(opened_mesh: Any) -> None:  # noqa: F811
    context = opened_mesh((1, 4), ("_", "fsdp"))
    layer = LinearLayer(WIDTH, WIDTH, False)
    whole = layer.get_weight().to_numpy()
    module = fully_shard(layer)
    weight = layer.get_weight()
    (held,) = module._sharded_params.values()
    assert (held.original_tensor, held.shard_dim, held.full_tensor) == (weight, 2, None)
    assert weight.shape() == [1, 1, WIDTH // 4, WIDTH]
    module.unshard()
    assert weight.to_numpy().tobytes() == whole.tobytes()
    (held,) = module._sharded_params.values()
    assert held.full_tensor is not None and list(held.sharded_tensor.shape) == [1, 1, 8, WIDTH]
    mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
    slopes = np.random.default_rng(0).standard_normal((4, 1, WIDTH, WIDTH)).astype(np.float32)
    weight.set_grad(Tensor.from_numpy(slopes, mapper=mapper).get_value())
    fsdp_module.synchronize_fsdp_gradients()
    assert weight.get_grad_tensor().shape() == weight.shape() == [1, 1, WIDTH // 4, WIDTH]
    module.all_gather_gradients()
    mean = ((slopes[0] + slopes[1] + slopes[2] + slopes[3]) * np.float32(0.25))[None]
    assert weight.get_grad_tensor().to_numpy().tobytes() == mean.tobytes()
    assert weight.shape() == [1, 1, WIDTH, WIDTH]
    module.reduce_scatter_gradients()
    assert weight.get_grad_tensor().shape() == [1, 1, WIDTH // 4, WIDTH]
    assert "num_sharded_params=1" in repr(module) and module.in_features == WIDTH
    fsdp_module.clear_fsdp_registry()
    fsdp_module.synchronize_fsdp_gradients()


def test_which_axis_is_cut(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((2, 2), ("a", "b"))
    with pytest.raises(RuntimeError, match=r"shape \[2, 2\] has two axes to cut over; help: cluster_axis=1"):
        fully_shard(LinearLayer(WIDTH, WIDTH))
    with pytest.raises(RuntimeError, match="cluster_axis=2 is no axis"):
        fully_shard(LinearLayer(WIDTH, WIDTH), cluster_axis=2)
    layer = LinearLayer(WIDTH, WIDTH, False)
    module = FSDPModule(layer, shard_dim=3, cluster_axis=0)
    assert layer.get_weight().shape() == [1, 1, WIDTH, WIDTH // 2] and list(module.parameters()) == ["LinearLayer/weight"]  # fmt: skip
    with pytest.raises(RuntimeError, match="already wrapped"):
        fully_shard(layer, cluster_axis=0)
    named = fully_shard(LinearLayer(WIDTH, WIDTH, False), mesh_axis="b")
    assert fsdp.fsdp_axis_of(named.get_weight()) == 1
    opened_mesh((1, 1), ("a", "b"))
    alone = fully_shard(LinearLayer(WIDTH, WIDTH, False))
    assert next(iter(alone.parameters().values())).shape() == [1, 1, WIDTH, WIDTH]


def test_functions_around_a_forward_pass(opened: Any) -> None:
    opened()
    layer, seen = LinearLayer(4, 4), []
    assert not layer.has_pre_forward_hooks() and not layer.has_post_forward_hooks()
    first = layer.register_pre_forward_hook(lambda module, x: seen.append(("first", module, x)))
    layer.register_pre_forward_hook(lambda module, x: seen.append(("second", module, x)))
    after = layer.register_post_forward_hook(lambda module, x, out: seen.append((out, module, x)))
    x = Tensor.from_numpy(np.ones((1, 1, 1, 4), np.float32))
    out = layer.call_with_hooks(x)
    assert seen == [("first", layer, x), ("second", layer, x), (out, layer, x)]
    layer.remove_pre_forward_hook(first)
    layer.remove_post_forward_hook(after)
    layer.call_with_hooks(x)
    assert seen[3:] == [("second", layer, x)] and not layer.has_post_forward_hooks()
    with pytest.raises(KeyError, match="no hook has the number"):
        layer.remove_pre_forward_hook(first)
    layer.clear_all_hooks()
    assert not layer.has_pre_forward_hooks()
    layer(x)
    assert len(seen) == 4


def test_blocks_that_have_room_stay_whole(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 2), ("dp", "fsdp"))
    layers: Any = chain()
    # Every other layer has a bias, and each product 32 x 32 numbers of two bytes.
    small, large = 2 * WIDTH * WIDTH, 2 * (WIDTH * WIDTH + WIDTH)
    assert fsdp_memory.parameter_bytes(layers) == 2 * (small + large)
    gib = 2.0**30
    for room, kept in (
        (0.0, {3}),
        (large / gib, {2, 3}),
        ((large + small - 1) / gib, {2, 3}),
        (np.inf, {0, 1, 2, 3}),
    ):
        assert fsdp_memory.blocks_to_keep_gathered(list(layers), room) == kept
    assert fsdp_memory.blocks_to_keep_gathered([]) == set()
    for layer in layers:
        fsdp.fully_shard(layer)
    assert fsdp_memory.parameter_bytes(layers) == 2 * (small + large)
    assert [unit.get_name() for unit in fsdp_memory.fsdp_units(layers)] == ["LinearLayer"] * LAYERS
    # Devices hold whole tiles of float32 here: a bias of 16 numbers of each is a tile.
    assert fsdp_memory.unsharded_bytes(layers) == 2 * 4 * 32 * 32 * (LAYERS + 2)


def test_text_is_made_with_parameters_that_stay_whole(opened_mesh: Any) -> None:  # noqa: F811
    context = opened_mesh((1, 2), ("dp", "fsdp"))
    layers: Any = chain()
    for layer in layers:
        fsdp.fully_shard(layer)
    x, gathers = Tensor.from_numpy(np.ones((1, 1, 4, WIDTH), np.float32)), list[str]()

    def out() -> np.ndarray:
        y = x
        for layer in layers:
            y = layer(y)
        context.reset_graph()
        return y.to_numpy()

    expected, cut = out(), bits(layers)
    stop = events.subscribe(lambda event: gathers.append(event.name) if event.name == "all_gather" else None)
    try:
        with no_grad(), fsdp_memory.unshard_for_inference(layers) as kept:
            assert kept
            np.testing.assert_array_equal(out(), expected)
            assert len(gathers) == 6
            np.testing.assert_array_equal(out(), expected)
            assert len(gathers) == 6
        assert bits(layers) == cut
        with (
            pytest.warns(UserWarning, match="each forward pass gathers them"),
            no_grad(),
            fsdp_memory.unshard_for_inference(layers, 1e-12) as kept,
        ):
            assert not kept
            np.testing.assert_array_equal(out(), expected)
        assert len(gathers) == 12
    finally:
        stop()


class Scaled(AbstractModuleBase):
    """Reads what it holds by its attributes, as programs write their own layers."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = Parameter(
            Tensor.from_numpy(np.linspace(0.5, 1.5, WIDTH, dtype=np.float32).reshape(1, 1, 1, WIDTH))
        )
        self.shift = Tensor.from_numpy(np.linspace(-1, 1, WIDTH, dtype=np.float32).reshape(1, 1, 1, WIDTH))
        self.again = self.gain

    def forward(self, x: Tensor) -> Tensor:
        return binary.add(binary.mul(binary.mul(x, self.gain.tensor), self.again.tensor), self.shift)


@pytest.mark.parametrize("runner", [RunnerType.Default, RunnerType.MemoryEfficient])
def test_a_programs_own_layer_sees_whole_parameters(opened_mesh: Any, runner: RunnerType) -> None:  # noqa: F811
    """Its gradients and the parameters after steps are those of data parallelism."""
    found = []
    for name in ("dp", "fsdp"):
        context = opened_mesh((1, 2), ("_", name))
        model = Scaled()
        held = {key: id(tensor) for key, tensor in model.parameters().items()}
        if name == "fsdp":
            fsdp.fully_shard(model)
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
        optimizer = SGD(model.parameters(), SGDConfig.make(lr=0.1, momentum=0.9))
        for step in range(3):
            draw = np.random.default_rng(step).standard_normal((2, 4, 1, 3, WIDTH)).astype(np.float32)
            x, y = (Tensor.from_numpy(array, mapper=mapper) for array in draw)
            mse_loss(run(model, x, runner), y).backward()
            context.reset_graph()
            sync_gradients(model.parameters(), (name,))
            optimizer.step()
        assert {key: id(tensor) for key, tensor in model.parameters().items()} == held
        assert model.shift is model.parameters()["Scaled/shift"]
        found.append({key: whole_parameter(tensor) for key, tensor in model.parameters().items()})
    assert [*found[0]] == [*found[1]] == ["Scaled/gain", "Scaled/shift"]
    for key, array in found[0].items():
        np.testing.assert_allclose(found[1][key], array, rtol=1e-6, atol=1e-7)
