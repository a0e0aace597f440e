"""Layers cut over several devices against PyTorch's whole ones: values, every gradient, and SGD, which hides no factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.transformer import PositionalEmbedding, TrainablePositionalEmbedding
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.layers import RMSNormLayer
from tt_run.runtime.train.modules.linear import (
    ColumnParallelLinear,
    FeatureParallelEmbedding,
    LinearLayer,
    RowParallelLinear,
    VocabParallelEmbedding,
)
from tt_run.runtime.train.ops import binary, distributed, unary
from tt_run.runtime.train.ops.embedding import embedding
from tt_run.runtime.train.ops.loss import mse_loss
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper, synchronize_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_array, whole_parameter

INPUTS, OUTPUTS, BATCH = 8, 12, 5
TOLERANCE = {"float32": 3e-6, "bfloat16": 3e-2}  # relative to the largest element; see test_ops
LAYERS = {
    "column": lambda: ColumnParallelLinear(INPUTS, OUTPUTS, gather_output=True),
    "column-no-bias": lambda: ColumnParallelLinear(INPUTS, OUTPUTS, False, True),
    "row": lambda: RowParallelLinear(INPUTS, OUTPUTS),
    "row-no-bias": lambda: RowParallelLinear(INPUTS, OUTPUTS, False),
}


def near(ours: np.ndarray, theirs: Any, bound: float, what: str) -> None:
    expected = theirs.detach().numpy().reshape(ours.shape)
    assert float(np.abs(ours - expected).max()) <= bound * float(np.abs(expected).max()), what


def slope(tensor: Tensor) -> np.ndarray:
    """The whole gradient; it lies as the value does."""
    return whole_array(tensor.get_value().derive(tensor.get_grad().shards))


def draw(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.torch
@pytest.mark.parametrize("arithmetic", ["float32", "bfloat16"])
@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("name", LAYERS)
def test_a_cut_layer_is_the_whole_one(opened: Any, name: str, parts: int, arithmetic: str) -> None:
    torch = torch_or_skip()
    context = opened((1, parts), arithmetic, tp=parts > 1)
    layer = LAYERS[name]()
    named = {path.split("/")[1]: tensor for path, tensor in layer.parameters().items()}
    twins = {n: torch.tensor(whole_parameter(t), requires_grad=True) for n, t in named.items()}
    x = Tensor.from_numpy(draw(BATCH, 1, 3, INPUTS), new_type=DataType.BFLOAT16)
    y = Tensor.from_numpy(draw(BATCH, 1, 3, OUTPUTS, seed=2), new_type=DataType.BFLOAT16)
    tx = torch.tensor(x.to_numpy(), requires_grad=True)
    optimizer = SGD(layer.parameters(), SGDConfig.make(lr=0.5))
    bound = TOLERANCE[arithmetic]
    for step in range(2):
        optimizer.zero_grad()
        x.set_grad(None)
        out = layer(x)
        bias = twins["bias"].view(-1) if "bias" in twins else None
        expected = torch.nn.functional.linear(tx, twins["weight"][0, 0], bias)
        near(out.to_numpy(), expected, bound, f"value at step {step}")
        mse_loss(out, y).backward()
        context.reset_graph()
        tx.grad = None
        torch.nn.functional.mse_loss(expected, torch.tensor(y.to_numpy())).backward()
        near(slope(x), tx.grad, 3 * bound, f"gradient of the input at step {step}")
        optimizer.step()
        for n, twin in twins.items():
            near(slope(named[n]), twin.grad, 3 * bound, f"gradient of {n} at step {step}")
            with torch.no_grad():
                twin -= 0.5 * twin.grad
            twin.grad = None
            near(whole_parameter(named[n]), twin, 3 * bound, f"{n} after step {step}")


def test_the_arguments_of_cut_tables_and_norms(opened: Any) -> None:
    """Initialisers before names of axes, and how a norm is computed before where its positions lie, as the reference's package has them."""
    opened((1, 2), tp=True)
    for kind in (VocabParallelEmbedding, FeatureParallelEmbedding):
        table: Any = kind(64, 64, initial.constant(3.0), None)
        assert (whole_parameter(table.weight.tensor) == 3).all()
        assert (table.num_embeddings, table.embedding_dim, table.tp_size, table.cluster_axis) == (
            64,
            64,
            2,
            1,
        )
        with pytest.raises(TypeError, match=f"{kind.__name__}: num_embeddings must be int, got str"):
            kind("64", 64)
    x = Tensor.from_numpy(draw(1, 1, 4, 64))
    plain, composite = RMSNormLayer(64, 1e-5), RMSNormLayer(64, 1e-5, True)
    assert composite.use_composite and composite.sequence_axis is None
    assert plain(x).to_numpy().tobytes() == composite(x).to_numpy().tobytes()


def test_embeddings_of_positions(opened: Any) -> None:
    """Positions before the width, then dropout, as the reference's package has them; more positions than there are is refused."""
    opened()
    fixed, learned = PositionalEmbedding(32, 64), TrainablePositionalEmbedding(32, 64, 1.0)
    x = Tensor.from_numpy(np.zeros((1, 1, 16, 64), np.float32))
    table = fixed(x).to_numpy()[0, 0]
    np.testing.assert_allclose(table[5, :2], [np.sin(5), np.cos(5)], rtol=1e-6)
    assert learned.weight.tensor.shape() == [1, 1, 32, 64]
    assert not learned(x).to_numpy().any()
    learned.eval()
    assert (learned(x).to_numpy() == learned.weight.tensor.to_numpy()[:, :, :16]).all()
    for layer in (fixed, learned):
        with pytest.raises(
            ValueError, match=r"sequence length \(33\) does not match the expected value \(32\); help"
        ):
            layer(Tensor.from_numpy(np.zeros((1, 1, 33, 64), np.float32)))
        with pytest.raises(ValueError, match=r"must have 4 dimensions\. Got rank 2; help"):
            layer(Tensor.from_numpy(np.zeros((16, 64), np.float32)))


def test_the_arguments_of_cut_layers_in_either_order(opened: Any) -> None:
    """Initialisers behind has_bias, as the reference's package has them, or a flag and an axis, as the documents have them."""
    context = opened((1, 2), tp=True)
    ones, twos = initial.constant(1.0), initial.constant(2.0)
    for kind, flag in ((ColumnParallelLinear, "gather_output"), (RowParallelLinear, "input_is_parallel")):
        layer: Any = kind(INPUTS, OUTPUTS, True, ones, twos, True, False)
        assert (layer.in_features, layer.out_features, layer.cluster_axis) == (INPUTS, OUTPUTS, 1)
        assert getattr(layer, flag) and not layer.sequence_parallel and layer.axis_name is None
        for word, value in (("weight", 1), ("bias", 2)):
            assert (whole_parameter(layer.parameters()[f"{kind.__name__}/{word}"]) == value).all()
        documents: Any = kind(INPUTS, OUTPUTS, False, True, 1)
        assert getattr(documents, flag) and documents.axis == 1 and documents.bias is None
        with pytest.raises(
            TypeError, match=r"weight_init must be a function .*not 0.5; help: weight_init=ttml"
        ):
            kind(INPUTS, OUTPUTS, True, 0.5)
        with pytest.raises(TypeError, match=f"{kind.__name__}: out_features must be int, got str; help"):
            kind(INPUTS, "12")
    with pytest.raises(ValueError, match="sequence_parallel requires input_is_parallel=True"):
        RowParallelLinear(INPUTS, OUTPUTS, sequence_parallel=True)
    context.reset_graph()


@pytest.mark.parametrize("parts", [2, 4])
def test_a_column_layer_feeds_a_row_layer_without_a_gather(opened: Any, parts: int) -> None:
    def trained(shape: tuple[int, int], tp: bool) -> list[np.ndarray]:
        context = opened(shape, tp=tp)
        first: Any = ColumnParallelLinear(INPUTS, OUTPUTS) if tp else LinearLayer(INPUTS, OUTPUTS)
        second: Any = (
            RowParallelLinear(OUTPUTS, INPUTS, input_is_parallel=True) if tp else LinearLayer(OUTPUTS, INPUTS)
        )
        parameters = {f"{i}/{n}": t for i, m in enumerate((first, second)) for n, t in m.parameters().items()}
        optimizer = SGD(parameters, SGDConfig.make(lr=0.3, momentum=0.9))
        x = Tensor.from_numpy(draw(BATCH, 1, 3, INPUTS))
        for _ in range(4):
            optimizer.zero_grad()
            mse_loss(second(unary.gelu(first(x))), x).backward()
            context.reset_graph()
            optimizer.step()
        return [
            whole_parameter(tensor)
            for _, tensor in sorted(parameters.items(), key=lambda p: p[0][0] + p[0][-4:])
        ]

    for ours, single in zip(trained((1, parts), True), trained((1, 1), False), strict=True):
        np.testing.assert_allclose(ours, single, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("parts", [2, 4])
def test_a_cut_vocabulary_is_the_whole_one(opened: Any, parts: int) -> None:
    context = opened((1, parts), tp=True)
    module = VocabParallelEmbedding(16, 6)
    (table,) = module.parameters().values()
    plain = Tensor.from_numpy(whole_parameter(table))
    ids = np.random.default_rng(4).integers(0, 16, (3, 1, 1, 9)).astype(np.uint32)
    given = Tensor.from_numpy(ids, layout=Layout.ROW_MAJOR)
    ours, expected = module(given), embedding(given, plain)
    assert ours.to_numpy().tobytes() == expected.to_numpy().tobytes()
    weights = Tensor.from_numpy(draw(3, 1, 9, 6))
    for out in (ours, expected):
        unary.mean(binary.mul(out, weights)).backward()
    context.reset_graph()
    np.testing.assert_allclose(slope(table), slope(plain), rtol=1e-6)
    assert module.num_embeddings_per_partition == 16 // parts
    with pytest.raises(ValueError, match=f"15 must be divisible by the tensor-parallel size {parts}"):
        VocabParallelEmbedding(15, 6)
    with pytest.raises(ValueError, match="has 32 rows per device but ownership offsets assume 16"):
        VocabParallelEmbedding(16 * parts, 6, weight_init=lambda *_: Tensor.from_numpy(draw(3, 1, 32, 6)))
    cut = shard_tensor_to_mesh_mapper(context.get_device(), 3)
    with pytest.raises(ValueError, match="VocabParallelEmbedding expects ids replicated across TP axis 1"):
        module(Tensor.from_numpy(np.zeros((1, 1, 1, 4), np.uint32), Layout.ROW_MAJOR, mapper=cut))


@pytest.mark.parametrize("said", [(), (0,), ([0],)])
def test_gradients_of_data_parallel_groups_are_averaged_once(opened: Any, said: Any) -> None:
    """Over the axes that were initialised, or over those that the call names."""
    context = opened((2, 2), ddp=True, tp=True)
    layer = ColumnParallelLinear(INPUTS, OUTPUTS, gather_output=True)
    device = context.get_device()
    cut = shard_tensor_to_mesh_mapper(device, 0, context.get_parallelism_context().get_ddp_axis())
    x, y = draw(4, 1, 1, INPUTS), draw(4, 1, 1, OUTPUTS, seed=2)
    mse_loss(layer(Tensor.from_numpy(x, mapper=cut)), Tensor.from_numpy(y, mapper=cut)).backward()
    synchronize_gradients(layer.parameters(), *said)
    found = {n: slope(t) for n, t in layer.parameters().items()}
    context.reset_graph()
    for tensor in layer.parameters().values():
        tensor.set_grad(None)
    mse_loss(layer(Tensor.from_numpy(x)), Tensor.from_numpy(y)).backward()
    for name, tensor in layer.parameters().items():
        np.testing.assert_allclose(found[name], slope(tensor), rtol=2e-5, atol=1e-7)


def test_explicit_flags_keep_their_meaning(opened: Any) -> None:
    """A gradient that differs from device to device is summed by all_reduce's backward, unless that is told to do nothing."""
    context = opened((1, 4), tp=True)
    cut = shard_tensor_to_mesh_mapper(context.get_device(), 3, 1)
    scale = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 1, 4)
    for noop, expected in ((False, 10.0), (True, None)):
        x = Tensor.from_numpy(np.ones((1, 1, 1, 4), np.float32), mapper=cut)
        total = distributed.all_reduce(x, noop, 1)
        assert total.to_numpy().item() == 4.0
        unary.mean(binary.mul(total, Tensor.from_numpy(scale, mapper=cut))).backward()
        context.reset_graph()
        gradient = slope(x).ravel()
        assert gradient.tolist() == (scale.ravel().tolist() if noop else [expected] * 4)


def test_ring_shift_moves_and_its_gradient_returns(opened: Any) -> None:
    context = opened((1, 4), tp=True)
    cut = shard_tensor_to_mesh_mapper(context.get_device(), 3, 1)
    x = Tensor.from_numpy(np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4), mapper=cut)
    moved = distributed.ring_shift(x, 1)
    assert whole_array(moved.get_value()).ravel().tolist() == [3, 0, 1, 2]
    weights = Tensor.from_numpy(np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 1, 4), mapper=cut)
    unary.mean(binary.mul(moved, weights)).backward()
    assert slope(x).ravel().tolist() == [2, 3, 4, 1]
