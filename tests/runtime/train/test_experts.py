"""Tokens grouped by experts and back, what experts make of them, and a mixture whose experts are dealt over devices; against dense mixtures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.test_building import opened_mesh  # noqa: F401 - the fixture
from tt_run.runtime import events
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.factory import TransformerModelFactory
from tt_run.runtime.train.common.trainer import Trainer
from tt_run.runtime.train.common.utils import initialize_device
from tt_run.runtime.train.models.decoders.deepseek import DeepSeek, _mixture
from tt_run.runtime.train.models.decoders.expert_parallel import SparseMoE, SparseMoEEP, SparseMoETP
from tt_run.runtime.train.models.decoders.mixture import DeepSeekConfig, MoE
from tt_run.runtime.train.modules.initial import manual_seed
from tt_run.runtime.train.ops import binary, experts, pieces, unary
from tt_run.runtime.train.ops.matmul import linear
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.sharded_parameters import whole_array as whole_value
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

WIDTH, INNER, EXPERTS, CHOSEN, BATCH, LENGTH = 32, 64, 8, 2, 2, 32
CONFIG = DeepSeekConfig(
    dim=WIDTH, moe_inter_dim=INNER, n_routed_experts=EXPERTS, n_activated_experts=CHOSEN, n_shared_experts=1,
    vocab_size=64, n_layers=1, n_dense_layers=0, n_heads=2, q_lora_rank=0, kv_lora_rank=32, qk_nope_head_dim=32,
    qk_rope_head_dim=32, v_head_dim=32, max_seq_len=LENGTH, moe_type="sparse_ep", moe_axis_name="ep",
)  # fmt: skip


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(array: Any) -> Any:
    return Tensor.from_numpy(np.asarray(array, np.uint32), Layout.ROW_MAJOR, DataType.UINT32).get_value()


def routed(own: list[int]) -> tuple[Tensor, Tensor, np.ndarray, experts.MoEGroupOutputs]:
    """Tokens and weights, the experts of each token, and what grouping makes of them."""
    tokens, weights = (
        Tensor.from_numpy(numbers(n, BATCH, 1, LENGTH, w)) for n, w in ((0, WIDTH), (1, CHOSEN))
    )
    order = np.random.default_rng(2).random((BATCH, 1, LENGTH, EXPERTS)).argsort(axis=-1)[..., :CHOSEN]
    found = experts.moe_group_op(tokens, integers(order), weights, integers(own), len(own), CHOSEN)
    return tokens, weights, order, found


@pytest.mark.parametrize("own", [list(range(EXPERTS)), [5, 1]])
def test_grouped_tokens_come_back_weighed(opened_mesh: Any, own: list[int]) -> None:  # noqa: F811
    opened_mesh((1, 1))
    tokens, weights, order, found = routed(own)
    offsets, plan = (v.to_numpy().ravel().astype(np.int64) & 0xFFFFFFFF for v in (found.offsets, found.plan))
    assert not (offsets % 32).any()
    rows, each = found.grouped.to_numpy()[0, 0], tokens.to_numpy().reshape(-1, WIDTH)
    for place, expert in enumerate(own):
        block = slice(offsets[place], offsets[place + 1])
        held = plan[block][plan[block] != experts.EMPTY]
        assert sorted(held) == sorted(np.nonzero((order.reshape(-1, CHOSEN) == expert).any(axis=1))[0])
        np.testing.assert_array_equal(rows[block][plan[block] != experts.EMPTY], each[held])
        assert not rows[block][plan[block] == experts.EMPTY].any()
    back = experts.moe_ungroup_op(
        found.grouped, found.grouped_scores, integers(order), integers(own), found.plan, found.offsets,
        len(own), CHOSEN, BATCH, 1, LENGTH,
    )  # fmt: skip
    here = np.isin(order, own)
    share = (weights.to_numpy() * here).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(back.to_numpy(), tokens.to_numpy() * share, rtol=1e-5, atol=1e-6)
    upstream = numbers(3, BATCH, 1, LENGTH, WIDTH)
    back.set_grad(Tensor.from_numpy(upstream).get_value())
    back.backward()
    np.testing.assert_allclose(tokens.get_grad().to_numpy(), upstream * share, rtol=1e-5, atol=1e-6)
    dots = (upstream * tokens.to_numpy()).sum(axis=-1, keepdims=True) * here
    np.testing.assert_allclose(weights.get_grad().to_numpy(), dots, rtol=1e-4, atol=1e-5)


def test_grouping_tells_who_listens_of_both_its_tensors(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 1))
    heard: list[events.Event] = []
    end = events.subscribe(heard.append)
    try:
        *_, found = routed([5, 1])
    finally:
        end()
    (event,) = [one for one in heard if one.name == "ttml.moe_group_op"]
    held = [each.get_value().spec for each in (found.grouped, found.grouped_scores)]
    assert [*event.results] == [(tuple(spec.shape), spec.dtype.name.lower()) for spec in held]


def test_blocks_of_rows_pass_their_experts(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 1))
    shapes = ((1, 1, INNER, WIDTH), (1, 1, INNER, WIDTH), (1, 1, WIDTH, INNER))
    sides = []
    for _ in range(2):
        x = Tensor.from_numpy(numbers(4, 1, 1, 96, WIDTH))
        sides.append(
            (x, [[Tensor.from_numpy(numbers(9 * n + e, *s)) for e in range(3)] for n, s in enumerate(shapes)])
        )
    (x, lists), (y, others) = sides
    out = experts.moe_ffn_swiglu_fw(x, integers([0, 64, 64, 96]), *lists)
    blocks = []
    for expert, (first, last) in ((0, (0, 64)), (2, (64, 96))):
        block = pieces.cut(y, (0, 0, first, 0), (1, 1, last, WIDTH))
        gate, up, down = (kind[expert] for kind in others)
        blocks.append(linear(binary.mul(unary.silu(linear(block, gate)), linear(block, up)), down))
    expected = pieces.concat(blocks, 2)
    np.testing.assert_allclose(out.to_numpy(), expected.to_numpy(), rtol=1e-4, atol=1e-4)
    for side in (out, expected):
        side.set_grad(Tensor.from_numpy(numbers(5, 1, 1, 96, WIDTH)).get_value())
        side.backward()
    np.testing.assert_allclose(x.get_grad().to_numpy(), y.get_grad().to_numpy(), rtol=1e-4, atol=1e-3)
    for ours, theirs in zip(lists, others, strict=True):
        for expert in (0, 2):
            a, b = (side[expert].get_grad().to_numpy() for side in (ours, theirs))
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)
        assert not ours[1].get_grad().to_numpy().any()
    with pytest.raises(RuntimeError, match="3, 3 and 2 experts"):
        experts.moe_ffn_swiglu_fw(x, integers([0, 64, 64, 96]), *lists[:2], lists[2][:2])


def trained(context: Any, config: DeepSeekConfig = CONFIG) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Logits of a DeepSeek and its whole gradients."""
    manual_seed(3)
    model = DeepSeek(config)
    ids = np.random.default_rng(0).integers(0, 64, (BATCH, 1, 1, LENGTH), np.uint32)
    mask = Tensor.from_numpy(np.tril(np.ones((1, 1, LENGTH, LENGTH), np.float32)))
    out = model(Tensor.from_numpy(ids, Layout.ROW_MAJOR, DataType.UINT32), mask)
    weight = Tensor.from_numpy(numbers(6, *out.shape()))
    weight.set_requires_grad(False)
    unary.mean(binary.mul(out, weight)).backward()
    gradients = {
        name: whole_parameter(tensor, tensor.get_grad().shards.data)
        for name, tensor in model.parameters().items()
        if tensor.is_grad_initialized()
    }
    context.reset_graph()
    return out.to_numpy(), gradients


def test_how_experts_lie_over_the_axis_that_a_configuration_names(opened_mesh: Any) -> None:  # noqa: F811
    """`moe_parallel_type` deals them whole or cuts each; an axis that the mesh has not, or of one device, leaves them whole."""
    config = replace(CONFIG, moe_type="sparse", moe_tp_axis_name="ep")
    opened_mesh((1, 1), ("_", "ep"))
    manual_seed(3)
    tokens, whole = numbers(7, 2, 1, LENGTH, WIDTH), _mixture(config)
    assert type(whole) is MoE and type(_mixture(replace(config, moe_tp_axis_name="other"))) is MoE
    manual_seed(3)
    expected = {"tp": whole, "ep": SparseMoEEP(config, axis_name="ep")}
    outs = {kind: mixture(Tensor.from_numpy(tokens)).to_numpy() for kind, mixture in expected.items()}
    opened_mesh((1, 4), ("_", "ep"))
    for kind, mixture in expected.items():
        manual_seed(3)
        cut = _mixture(replace(config, moe_parallel_type=kind))
        assert type(cut) is type(mixture)
        np.testing.assert_allclose(
            cut(Tensor.from_numpy(tokens)).to_numpy(), outs[kind], rtol=1e-4, atol=1e-5
        )
    with pytest.raises(ValueError, match=r"moe_parallel_type: 'dp' is not one of tp, which .* help: 'tp'"):
        replace(config, moe_parallel_type="dp")


def test_experts_cut_over_devices_are_those_of_one(opened_mesh: Any) -> None:  # noqa: F811
    """`sparse_tp`: logits and every gradient as on one device; tokens that the axis cuts by the batch come back cut."""
    config = replace(CONFIG, moe_type="sparse_tp")
    logits, gradients = trained(opened_mesh((1, 1)), config)
    cut, others = trained(opened_mesh((1, 4), ("_", "ep")), config)
    np.testing.assert_allclose(cut, logits, rtol=1e-4, atol=1e-5)
    assert others.keys() == gradients.keys() and sum("/w_gate/" in name for name in gradients) == EXPERTS
    for name, gradient in gradients.items():
        np.testing.assert_allclose(others[name], gradient, rtol=1e-3, atol=1e-6, err_msg=name)
    opened_mesh((1, 2), ("_", "dp"))
    manual_seed(3)
    mixture = SparseMoETP(config, axis_name="dp")
    assert mixture.w_gate[0].tensor.shape() == [1, 1, INNER // 2, WIDTH]
    tokens = numbers(7, 2, 1, LENGTH, WIDTH)
    whole = Tensor.from_numpy(tokens)
    dealt = Tensor.from_numpy(
        tokens, mapper=shard_tensor_to_mesh_mapper(AutoContext.get_instance().get_device(), 0, 1)
    )
    outs, upstream = (mixture(whole), mixture(dealt)), numbers(8, 2, 1, LENGTH, WIDTH)
    assert outs[1].shape() == [1, 1, LENGTH, WIDTH]
    np.testing.assert_array_equal(whole_value(outs[1].get_value()), outs[0].to_numpy())
    for x, out in zip((whole, dealt), outs, strict=True):
        weight = Tensor.from_numpy(upstream, mapper=None if x is whole else shard_tensor_to_mesh_mapper(AutoContext.get_instance().get_device(), 0, 1))  # fmt: skip
        weight.set_requires_grad(False)
        unary.mean(binary.mul(out, weight)).backward()
    # The mean is that of half the tokens on each device.
    found = whole_value(dealt.get_value().derive(dealt.get_grad().shards))
    np.testing.assert_allclose(found, 2 * whole.get_grad().to_numpy(), rtol=1e-4, atol=1e-7)
    with pytest.raises(ValueError, match="33 features of an expert do not divide over the 2 devices of 'dp'"):
        SparseMoETP(replace(config, moe_inter_dim=33), axis_name="dp")


def test_a_sparse_mixture_computes_what_a_dense_one_does(opened_mesh: Any) -> None:  # noqa: F811
    """`SparseMoE`: parameters of the same names, the same numbers and the same gradients, of tokens too."""
    opened_mesh((1, 1))
    found = []
    for kind in (MoE, SparseMoE):
        manual_seed(3)
        mixture, x = kind(CONFIG), Tensor.from_numpy(numbers(7, BATCH, 1, LENGTH, WIDTH))
        out = mixture(x)
        out.set_grad(Tensor.from_numpy(numbers(8, *out.shape())).get_value())
        out.backward(False)
        gradients = {
            name.partition("/")[2]: t.get_grad().to_numpy()
            for name, t in mixture.parameters().items()
            if t.is_grad_initialized()
        }
        found.append({"out": out.to_numpy(), "x": x.get_grad().to_numpy(), **gradients})
    assert found[0].keys() == found[1].keys() and len(found[0]) == 2 + 1 + 3 * EXPERTS + 3
    for name, array in found[0].items():
        np.testing.assert_allclose(found[1][name], array, rtol=1e-3, atol=1e-5, err_msg=name)


def test_experts_dealt_over_devices_are_those_of_one(opened_mesh: Any) -> None:  # noqa: F811
    """The same logits and gradients from the same seed, and the numbers of a dense mixture with the same weights."""
    logits, gradients = trained(opened_mesh((1, 1)))
    dealt, others = trained(opened_mesh((1, 4), ("_", "ep")))
    np.testing.assert_allclose(dealt, logits, rtol=1e-4, atol=1e-5)
    alike = [n for n in gradients if "/w_" not in n]
    assert len(alike) > 5 and len(gradients) - len(alike) == 3 * EXPERTS
    for name in alike:
        np.testing.assert_allclose(others[name], gradients[name], rtol=1e-3, atol=1e-6, err_msg=name)
    for kind in ("w_gate", "w_up", "w_down"):
        ours = np.concatenate([g for n, g in others.items() if f"/{kind}/" in n], axis=1)
        order = [device * 2 + place for device in range(4) for place in range(2)]
        found = ours.reshape(8, *ours.shape[2:])
        single = {int(n.rsplit("/", 1)[1]): g for n, g in gradients.items() if f"/{kind}/" in n}
        for place, expert in enumerate(order):
            np.testing.assert_allclose(found[place], single[expert][0, 0], rtol=1e-3, atol=1e-6)
    opened_mesh((1, 1))
    sparse, dense = SparseMoEEP(CONFIG), MoE(CONFIG)
    for expert in range(EXPERTS):
        for name, kind in (("w1", sparse.w_gate), ("w3", sparse.w_up), ("w2", sparse.w_down)):
            getattr(dense.experts[expert], name).weight.tensor.assign(kind[expert].tensor)
    dense.gate.weight.tensor.assign(sparse.gate.weight.tensor)
    for name in ("w1", "w2", "w3"):
        getattr(dense.shared_experts, name).weight.tensor.assign(
            getattr(sparse.shared_experts, name).weight.tensor
        )
    x = Tensor.from_numpy(numbers(7, BATCH, 1, LENGTH, WIDTH))
    np.testing.assert_allclose(sparse(x).to_numpy(), dense(x).to_numpy(), rtol=1e-4, atol=1e-5)
    opened_mesh((1, 4), ("_", "ep"))
    with pytest.raises(ValueError, match="6 experts do not divide over the 4 devices of 'ep'"):
        SparseMoEEP(DeepSeekConfig(n_routed_experts=6, moe_axis_name="ep"))


@pytest.mark.parametrize("kind", [pytest.param("dense", marks=pytest.mark.wide), "sparse_ep"])
def test_the_tokens_of_all_devices_move_the_bias(opened_mesh: Any, kind: str) -> None:  # noqa: F811
    """Data-parallel copies would choose apart from each other, and from one device, if each counted its own tokens."""
    given = numbers(8, 4, 1, LENGTH, WIDTH)

    def run(shape: tuple[int, int], cut: int | None) -> tuple[np.ndarray, np.ndarray]:
        opened_mesh(shape, ("dp", "ep"))
        manual_seed(3)
        moe = {"dense": MoE, "sparse_ep": SparseMoEEP}[kind](replace(CONFIG, moe_axis_name=None))
        device = AutoContext.get_instance().get_device()
        mapper = None if cut is None else shard_tensor_to_mesh_mapper(device, 0, cut)
        x = Tensor.from_numpy(given, mapper=mapper)
        for _ in range(3):
            moe(x)
            moe.update_expert_bias(0.05)
        return moe._expert_bias.tensor.to_numpy(), whole_value(moe(x).get_value())

    bias, out = run((1, 1), None)
    found, cut_out = run((4, 1), 0)
    assert np.abs(bias).max() > 0.04
    np.testing.assert_array_equal(found, bias)
    np.testing.assert_allclose(cut_out, out, atol=1e-6)


@pytest.mark.filterwarnings("ignore:fully_shard")
@pytest.mark.parametrize(
    ("shape", "kinds", "runner"),
    [
        pytest.param((1, 4), ("tp",), "default", marks=pytest.mark.wide),
        ((1, 4), ("tp",), "memory_efficient"),
        pytest.param((2, 2), ("ddp", "tp"), "default", marks=pytest.mark.wide),
        ((2, 2), ("fsdp", "tp"), "default"),
    ],
)
def test_a_configuration_deals_experts(
    opened: Any, shape: tuple[int, int], kinds: tuple[str, ...], runner: str
) -> None:
    """`moe_type: sparse_ep` beside every other kind: losses of three clipped steps of SGD as on one device."""

    def run(mesh: tuple[int, int], names: tuple[str, ...], kept: str) -> list[float]:
        context = opened((1, 1), "float32")
        context.close_device()
        context._parallelism = None
        latent = {
            "q_lora_rank": 0,
            "kv_lora_rank": 32,
            "qk_nope_head_dim": 32,
            "qk_rope_head_dim": 32,
            "v_head_dim": 32,
        }
        experts_of = {
            "moe_inter_dim": 32,
            "n_routed_experts": 8,
            "n_shared_experts": 1,
            "n_activated_experts": 2,
        }
        sizes = {
            "embedding_dim": 64,
            "num_heads": 4,
            "num_blocks": 1,
            "vocab_size": 128,
            "max_sequence_length": 32,
        }
        config: dict[str, Any] = {
            "transformer_config": {
                "model_type": "deepseek", "moe_type": "sparse_ep", "n_dense_layers": 0, "inter_dim": 64,
                "runner_type": kept, "moe_hyperparam": experts_of, **latent, **sizes,
            },
            "device_config": {"mesh_shape": list(mesh), **{f"enable_{name}": True for name in names}},
        }  # fmt: skip
        initialize_device(config)
        context.set_seed(7)
        model = TransformerModelFactory(config).create_model()
        optimizer = SGD(model.parameters(), SGDConfig.make(lr=0.5))
        trainer = Trainer(model, optimizer, sequence_length=32, batch_size=4, clip=1.0)
        draws = iter([np.random.default_rng(s).integers(0, 128, (4, 33), np.uint32) for s in range(3)])

        def batches() -> tuple[np.ndarray, np.ndarray]:
            draw = next(draws)
            return np.ascontiguousarray(draw[:, :-1]), np.ascontiguousarray(draw[:, 1:])

        return [trainer.step(batches)[0] for _ in range(3)]

    np.testing.assert_allclose(run(shape, kinds, runner), run((1, 1), (), "default"), rtol=2e-5)
