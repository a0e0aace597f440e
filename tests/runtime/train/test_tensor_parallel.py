"""The forms of tensor parallelism by their names: where embeddings lie, cut positions, adapters over cut layers; against one device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.train.test_building import opened_mesh  # noqa: F401 - the fixture
from tests.sweep import thinned
from tt_run.runtime import queues
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train import testing
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.cache import KvCache
from tt_run.runtime.train.models.decoders.llama import DecoderLlama, GroupedQueryAttention
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.modules.initial import manual_seed
from tt_run.runtime.train.modules.linear import FeatureParallelEmbedding
from tt_run.runtime.train.modules.lora import LoraConfig, LoraModel, ParallelLoraLinear
from tt_run.runtime.train.ops import binary, ring_attention, rope, sequence_parallel, unary
from tt_run.runtime.train.ops.attention import scaled_dot_product_attention
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel.named_mesh import Mesh, mesh, sync_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_array, whole_parameter
from tt_run.runtime.train.parallel.tensor_parallel import EmbeddingPlacement, TPStrategy, is_sequence_parallel

ENTRIES, LENGTH = 64, 64
SIZES: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": ENTRIES, "max_position_embeddings": LENGTH, "attention_bias": True}  # fmt: skip
CUT: dict[str, Any] = {"embedding_placement": EmbeddingPlacement.VocabParallel}
LORA = LoraConfig(
    rank=4, target_modules=["qkv_linear", "out_linear", "w_gate_up", "w2"], trainable_modules=["_norm"]
)


def trained(context: Any, adapted: bool, **changes: Any) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses of three steps of SGD, and the whole parameters after them."""
    manual_seed(3)
    model: Any = DecoderLlama(LlamaConfig(**SIZES, **changes))
    if adapted:
        manual_seed(4)
        model = LoraModel(model, LORA)
    optimizer, losses = SGD(model.parameters(), SGDConfig.make(lr=0.5)), []
    mask = Tensor.from_numpy(np.tril(np.ones((1, 1, LENGTH, LENGTH), np.float32)))
    for step in range(3):
        text = np.random.default_rng(step).integers(0, ENTRIES, (2, LENGTH + 1), np.uint32)
        ids = Tensor.from_numpy(text[:, :-1].reshape(2, 1, 1, -1).copy(), Layout.ROW_MAJOR, DataType.UINT32)
        goal = Tensor.from_numpy(text[:, 1:].copy(), Layout.ROW_MAJOR, DataType.UINT32)
        optimizer.zero_grad()
        loss = cross_entropy_loss(model(ids, mask), goal)
        losses.append(float(loss.to_numpy().item()))
        loss.backward()
        context.reset_graph()
        sync_gradients(model.parameters())
        optimizer.step()
    return losses, {name: whole_parameter(tensor) for name, tensor in model.parameters().items()}


def test_a_tensor_of_a_mesh_is_read_with_its_copies(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((2, 2), ("dp", "tp"))
    x = Tensor.from_numpy(
        np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2), mapper=mesh().axis_mapper("tp", 3)
    )
    joined = testing.read_mesh_tensor(x, {"dp": 0, "tp": 3})
    np.testing.assert_array_equal(joined, np.arange(4.0).reshape(1, 1, 2, 2).repeat(2, axis=0))
    testing.assert_within_ulp([1.0, 2.0], [1.0, 2.0], "same", 0.0)
    with pytest.raises(AssertionError, match=r"near: ulp=2.00 \(limit 1.0\)"):
        testing.assert_within_ulp([1.0 + 2.0**-6], [1.0], "near", 1.0)
    with pytest.raises(AssertionError, match="distinct dims"):
        testing.mesh_composer({"dp": 1})
    with (
        pytest.raises(pytest.skip.Exception, match="large: 8 chip"),
        testing.device_mesh((8, 8), ("dp", "tp"), "large"),
    ):
        pass
    with testing.device_mesh((1, 2), ("dp", "tp"), "small") as small:
        assert small.axis_size("tp") == 2


@pytest.mark.parametrize(
    ("strategy", "placement", "adapted"),
    thinned(
        [
            (TPStrategy.TENSOR, EmbeddingPlacement.VocabParallel, False),
            (TPStrategy.TENSOR, EmbeddingPlacement.FeatureParallel, True),
            (None, EmbeddingPlacement.Replicated, True),
            (TPStrategy.TENSOR_SEQUENCE, EmbeddingPlacement.Replicated, False),
            (TPStrategy.TENSOR_SEQUENCE, EmbeddingPlacement.VocabParallel, False),
            (TPStrategy.TENSOR_SEQUENCE, EmbeddingPlacement.FeatureParallel, False),
        ],
        3,
    ),
)
def test_a_form_trains_as_one_device(
    opened_mesh: Any,  # noqa: F811
    strategy: TPStrategy | None,
    placement: EmbeddingPlacement,
    adapted: bool,
) -> None:
    """Cut positions beside a whole table too, which go by their own names."""
    losses, expected = trained(opened_mesh((1, 1), ("_", "__")), adapted)
    context = opened_mesh((1, 2), ("dp", "tp"))
    form: dict[str, Any] = (
        {"tp_strategy": strategy} if strategy else {"use_tp": True, "sequence_parallel": True}
    )
    found, parameters = trained(context, adapted, **form, embedding_placement=placement)
    assert found == pytest.approx(losses, rel=2e-5)
    for name, array in expected.items():
        np.testing.assert_allclose(parameters[name], array, atol=2e-5, err_msg=name)


def test_parameters_that_meet_a_part_of_the_positions_are_marked(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 2), ("dp", "tp"))
    marked = {
        strategy: {
            name.removeprefix("Llama/")
            for name, tensor in DecoderLlama(LlamaConfig(**SIZES, **CUT, tp_strategy=strategy))
            .parameters()
            .items()
            if is_sequence_parallel(tensor)
        }
        for strategy in (TPStrategy.TENSOR, TPStrategy.TENSOR_SEQUENCE)
    }
    inside = ("attention_norm/gamma", "mlp_norm/gamma", "attention/out_linear/bias")
    assert marked[TPStrategy.TENSOR] == set()
    assert marked[TPStrategy.TENSOR_SEQUENCE] == {f"blocks/0/{name}" for name in inside} | {"ln_fc/gamma"}


def test_what_cut_positions_do_not_allow(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 2), ("dp", "tp"))
    sequence: dict[str, Any] = {"tp_strategy": TPStrategy.TENSOR_SEQUENCE}
    with pytest.raises(ValueError, match=r"max_position_embeddings divisible by 32 \* tp = 64, got 32"):
        LlamaConfig(**{**SIZES, **sequence, **CUT, "max_position_embeddings": 32})
    attention = GroupedQueryAttention(64, 4, 4, 0.0, rope.build_rope_params(LENGTH, 16), **sequence)
    with pytest.raises(NotImplementedError, match="sequence_parallel does not support a KvCache"):
        attention(
            Tensor.from_numpy(np.zeros((1, 1, 32, 64), np.float32)), None, KvCache(1, 1, 2, LENGTH, 16), 0, 1
        )
    model = DecoderLlama(LlamaConfig(**SIZES, **CUT, **sequence))
    short = Tensor.from_numpy(np.zeros((1, 1, 1, 32), np.uint32), Layout.ROW_MAJOR)
    with pytest.raises(ValueError, match="input sequence length divisible by 32"):
        model(short)
    cache = KvCache(num_layers=1, batch_size=1, num_groups=1, max_seq_len=LENGTH, head_dim=16)
    with pytest.raises(NotImplementedError, match="sequence_parallel does not support a KvCache"):
        model(short, kv_cache=cache, new_tokens=32)


def test_an_embedding_cut_by_columns(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 2), ("dp", "tp"))
    with pytest.raises(ValueError, match="must be divisible by the tensor-parallel size 2"):
        FeatureParallelEmbedding(8, 65, axis_name="tp")
    with pytest.raises(ValueError, match="must be a multiple of 32"):
        FeatureParallelEmbedding(8, 32, axis_name="tp")
    table = FeatureParallelEmbedding(8, 64, axis_name="tp", gather_output=False)
    ids = Tensor.from_numpy(np.arange(4, dtype=np.uint32).reshape(1, 1, 1, 4), Layout.ROW_MAJOR)
    assert (table.embedding_dim_per_partition, table(ids).shape()) == (32, [1, 1, 4, 32])
    cut = Tensor.from_numpy(
        np.zeros((1, 1, 1, 4), np.uint32), Layout.ROW_MAJOR, mapper=mesh().axis_mapper("tp", 3)
    )
    with pytest.raises(ValueError, match="expects ids replicated across TP axis 'tp'"):
        table(cut)


def test_adapters_of_cut_layers_are_cut_with_them(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 2), ("dp", "tp"))
    model = LoraModel(DecoderLlama(LlamaConfig(**SIZES, tp_strategy=TPStrategy.TENSOR)), LORA)
    block: Any = model.model.blocks[0]  # type: ignore[attr-defined]
    query, out = block.attention.qkv_linear, block.attention.out_linear
    assert isinstance(query, ParallelLoraLinear) and isinstance(out, ParallelLoraLinear)
    assert [t.tensor.shape() for t in (query.lora_A, query.lora_B)] == [[1, 1, 4, 64], [1, 1, 64, 4]]
    assert [t.tensor.shape() for t in (out.lora_A, out.lora_B)] == [[1, 1, 4, 32], [1, 1, 64, 4]]


ZIGZAG = np.array([0, 1, 14, 15, 2, 3, 12, 13, 4, 5, 10, 11, 6, 7, 8, 9])  # of 16 positions over four devices


@pytest.mark.parametrize("kind", ["Causal", "None", "mask", "zigzag", "zigzag mask"])
def test_attention_over_cut_positions_is_that_of_the_whole(opened_mesh: Any, kind: str) -> None:  # noqa: F811
    draw = [np.random.default_rng(i).standard_normal((1, heads, 16, 8), np.float32) for i, heads in enumerate((4, 2, 2))]  # fmt: skip
    mask = np.tril(np.ones((1, 1, 16, 16), np.float32))
    if "mask" in kind:
        mask[..., 0] = 0
        mask[..., 0, 0] = 1

    def run(mapper: Any, attend: Any) -> list[np.ndarray]:
        here = order if mapper else slice(None)
        parts = [Tensor.from_numpy(array[:, :, here], mapper=mapper) for array in draw]
        out = attend(*parts)
        unary.mean(binary.mul(out, out)).backward()
        found = [
            whole_array(out.get_value()),
            *(whole_array(p.get_value().derive(p.get_grad().shards)) for p in parts),
        ]
        return [array[:, :, np.argsort(order) if mapper else here] for array in found]

    layout = ring_attention.RingLayout.Zigzag if "zigzag" in kind else ring_attention.RingLayout.Contiguous
    order = ZIGZAG if "zigzag" in kind else np.arange(16)

    opened_mesh((1, 1), ("_", "__"))
    given = None if kind == "None" else Tensor.from_numpy(mask)
    value, *slopes = run(None, lambda q, k, v: scaled_dot_product_attention(q, k, v, given))
    opened_mesh((1, 4), ("_", "cp"))
    types = ring_attention.AttentionMaskType
    own = Tensor.from_numpy(mask) if "mask" in kind else None
    seen = getattr(types, kind, types.Causal)
    found, *other = run(
        mesh().axis_mapper("cp", 2),
        lambda q, k, v: ring_attention.ring_attention_sdpa(q, k, v, own, seen, layout=layout),
    )
    np.testing.assert_allclose(found, value, atol=1e-6)
    # The mean is that of a quarter of the positions on each device.
    for mine, theirs in zip(other, slopes, strict=True):
        np.testing.assert_allclose(mine, 4 * theirs, atol=1e-6)


def test_a_zigzag_takes_two_stretches_for_each_device(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 4), ("_", "cp"))
    cut = mesh().axis_mapper("cp", 2)
    odd, even = (Tensor.from_numpy(np.ones((1, 1, n, 8), np.float32), mapper=cut) for n in (12, 16))
    zigzag = ring_attention.RingLayout.Zigzag
    with pytest.raises(ValueError, match=r"12 positions do not divide into 8 stretches.*a multiple of 8"):
        ring_attention.ring_attention_sdpa(odd, odd, odd, layout=zigzag)
    with pytest.raises(ValueError, match=r"mask_type=Causal, or layout=RingLayout\.Contiguous"):
        ring_attention.ring_attention_sdpa(
            even, even, even, mask_type=getattr(ring_attention.AttentionMaskType, "None"), layout=zigzag
        )


def test_names_and_the_choice_of_an_implementation() -> None:
    assert TPStrategy.from_flags(True, enable_sp=True) is TPStrategy.TENSOR_SEQUENCE
    assert TPStrategy.from_flags(False) is TPStrategy.NONE
    assert EmbeddingPlacement.from_string("vocab_parallel") is EmbeddingPlacement.VocabParallel
    with pytest.raises(ValueError, match="enable_sp requires enable_tp"):
        TPStrategy.from_flags(False, enable_sp=True)
    with pytest.raises(
        ValueError, match="'sideways' is not one of replicated, vocab_parallel, feature_parallel"
    ):
        EmbeddingPlacement.from_string("sideways")
    try:
        sequence_parallel.set_sp_linear_impl("fused")
        assert sequence_parallel.get_sp_linear_impl() is sequence_parallel.SPLinearImpl.FUSED
        with pytest.raises(ValueError, match="'composed' or 'fused'"):
            sequence_parallel.set_sp_linear_impl("eager")
        sequence_parallel.set_sp_linear_backward_impl("composed")
        assert sequence_parallel.get_sp_linear_backward_impl() is sequence_parallel.SPLinearImpl.COMPOSED
        with pytest.raises(ValueError, match="'same', 'composed' or 'fused'"):
            sequence_parallel.set_sp_linear_backward_impl("eager")
        # Choosing both passes takes the choice for one of them back.
        sequence_parallel.set_sp_linear_impl("fused")
        assert sequence_parallel.get_sp_linear_backward_impl() is sequence_parallel.SPLinearImpl.FUSED
    finally:
        sequence_parallel.set_sp_linear_impl("composed")


def test_sums_of_the_backward_pass_from_a_second_queue_have_the_same_bits(opened_mesh: Any) -> None:  # noqa: F811
    context = opened_mesh((1, 2), ("dp", "tp"))
    with pytest.raises(RuntimeError, match="num_command_queues=2"):
        sequence_parallel.set_sp_overlap("backward")
    context.close_device()
    context.open_device((1, 2), None, 2)
    context.imply_parallelism(Mesh((1, 2), ("dp", "tp")).parallelism())
    whole = context.full_compute_grid_size()
    with pytest.raises(RuntimeError, match="needs the CCL sub-device"):
        sequence_parallel.set_sp_overlap("backward")
    with pytest.raises(RuntimeError, match="got 1 columns and 1 rows"):
        context.enable_ccl_sub_device(1, 1)
    with pytest.raises(RuntimeError, match="must leave compute cores"):
        context.enable_ccl_sub_device(whole.x, 0)
    context.enable_ccl_sub_device(1, 0)
    assert context.get_device().compute_with_storage_grid_size().x == whole.x - 1
    assert context.full_compute_grid_size() == whole
    form = {**CUT, "tp_strategy": TPStrategy.TENSOR_SEQUENCE}
    one_queue = trained(context, True, **form)
    heard = Heard()
    queues.follow(heard)
    sequence_parallel.set_sp_overlap("backward")
    try:
        two_queues = trained(context, True, **form)
    finally:
        sequence_parallel.set_sp_overlap("off")
        queues._followers.remove(heard)
    assert one_queue[0] == two_queues[0]
    for name, value in one_queue[1].items():
        np.testing.assert_array_equal(two_queues[1][name], value, name)
    # Three products cut by columns, three steps: each lets the second queue wait for the first, and the first for the second.
    assert heard.waiting == [1, 0] * 3 * 3
    context.close_device()
    assert not context.has_ccl_sub_device()


class Heard(queues.Follower):
    """Which queue waited, in order."""

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def waits(self, queue: int, event: queues.MeshEvent) -> None:
        self.waiting.append(queue)


def test_adapters_of_a_model_follow_from_the_seed_alone(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 2), ("dp", "tp"))
    manual_seed(0)
    forms = [
        DecoderLlama(LlamaConfig(**SIZES, **CUT, tp_strategy=strategy))
        for strategy in (TPStrategy.TENSOR, TPStrategy.TENSOR_SEQUENCE)
    ]
    one, other = (LoraModel(model, LORA).parameters() for model in forms)
    adapters = [name for name in one if name.endswith("lora_A")]
    assert len(adapters) == 4
    for name in adapters:
        np.testing.assert_array_equal(whole_parameter(one[name]), whole_parameter(other[name]), name)
