"""Llama, Qwen3 and DeepSeek against `transformers`: tiny random models, loaded from their files; logits, loss and every gradient."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip, transformers_or_skip
from tests.sweep import sweep, thinned
from tt_run.runtime import ops
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models import llama_forms
from tt_run.runtime.train.models.cache import GrowingCache, KvCache, KvCacheConfig
from tt_run.runtime.train.models.decoders import flops
from tt_run.runtime.train.models.decoders.deepseek import DeepSeek, MultiHeadLatentAttention
from tt_run.runtime.train.models.decoders.export import halved, save_to_hf_format, split_keys_values
from tt_run.runtime.train.models.decoders.llama import DecoderLlama, GroupedQueryAttention
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig, LlamaRopeScalingConfig
from tt_run.runtime.train.models.decoders.mixture import DeepSeekConfig
from tt_run.runtime.train.models.decoders.qwen3 import (
    ConcatLastDim,
    Qwen3,
    Qwen3Config,
    build_attn_mask,
    create_qwen3_config_from_hf,
)
from tt_run.runtime.train.models.decoders.weights import (
    key_or_value,
    load_decoder_llama,
    load_deepseek,
    load_from_hf,
    load_from_safetensors,
    load_weights_from_hf,
)
from tt_run.runtime.train.models.loading import interleaved, joint_keys_values
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType
from tt_run.runtime.train.ops import pieces, unary
from tt_run.runtime.train.ops.attention import scaled_dot_product_attention
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.ops.rope import build_rope_params
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel import named_mesh
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper, synchronize_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_array, whole_parameter

pytestmark = pytest.mark.torch
BATCH, LENGTH, ENTRIES = 2, 32, 96


def batch(seed: int = 1, mapper: Any = None, count: int = BATCH) -> tuple[np.ndarray, Tensor, Tensor]:
    draw = np.random.default_rng(seed).integers(0, ENTRIES, (count, LENGTH + 1), np.uint32)
    x, y = (np.ascontiguousarray(a) for a in (draw[:, :-1], draw[:, 1:]))
    ids = Tensor.from_numpy(x.reshape(count, 1, 1, LENGTH), Layout.ROW_MAJOR, DataType.UINT32, mapper)
    return draw, ids, Tensor.from_numpy(y, Layout.ROW_MAJOR, DataType.UINT32, mapper)


def causal(length: int = LENGTH) -> Tensor:
    mask = Tensor.from_numpy(np.tril(np.ones((1, 1, length, length), np.float32)))
    mask.set_requires_grad(False)
    return mask


def perturbed(torch: Any, model: Any) -> Any:
    """A model whose norms and biases are not ones and zeros, so that a mistake about them shows."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model.eval()


def compare(torch: Any, ours: Any, theirs: Any, load: Any, entries: int = ENTRIES) -> None:
    """Logits, and the gradients of both after the other's have been brought into our names by the same loader."""
    load(ours, theirs.state_dict())
    draw, ids, targets = batch()
    tokens = torch.tensor(draw.astype(np.int64))
    logits = ours(ids, causal())
    if not isinstance(ours, DeepSeek):  # which needs a mask
        assert ours(ids, None).to_numpy().tobytes() == logits.to_numpy().tobytes(), "without one it is causal"
    expected = theirs(input_ids=tokens[:, :-1]).logits
    np.testing.assert_allclose(
        logits.to_numpy()[:, 0, :, :entries], expected.detach().numpy()[..., :entries], rtol=3e-4, atol=3e-5
    )
    cross_entropy_loss(logits, targets).backward()
    torch.nn.functional.cross_entropy(expected.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    AutoContext.get_instance().reset_graph()
    slopes = {
        name: p.grad if p.grad is not None else torch.zeros_like(p) for name, p in theirs.named_parameters()
    }
    found = {
        name: whole_array(t.get_value().derive(t.get_grad().shards)) for name, t in ours.parameters().items()
    }
    load(ours, slopes)
    for name, tensor in ours.parameters().items():
        wanted = whole_parameter(tensor)
        scale = max(float(np.abs(wanted).max()), 1e-3)
        assert float(np.abs(found[name] - wanted).max()) <= 3e-4 * scale, name


@pytest.mark.parametrize("runner", sweep(RunnerType, quick=[RunnerType.Default]))
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attention_bias": True, "num_key_value_heads": 4},
        {"tie_word_embeddings": True, "num_key_value_heads": 1},
        {"rope_parameters": {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 16}},
    ],
    ids=["plain", "bias", "tied", "scaled"],
)  # fmt: skip
def test_llama(opened: Any, changes: dict[str, Any], runner: RunnerType) -> None:
    torch, transformers = torch_or_skip(), transformers_or_skip()
    opened()
    sizes = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=ENTRIES)  # fmt: skip  # noqa: C408
    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**{**sizes, "rms_norm_eps": 1e-5, "max_position_embeddings": 64, **changes})
    )
    given = changes.get("rope_parameters", {})
    config = LlamaConfig(
        **{**sizes, "num_key_value_heads": changes.get("num_key_value_heads", 2)},
        max_position_embeddings=64,
        attention_bias=changes.get("attention_bias", False),
        rope_theta=given.get("rope_theta", 10000.0),
        rope_scaling=LlamaRopeScalingConfig(
            given.get("factor", 0.0), 4.0, 1.0, given.get("original_max_position_embeddings", 0)
        ),
        weight_tying=WeightTyingType.Enabled
        if "tie_word_embeddings" in changes
        else WeightTyingType.Disabled,
        runner_type=runner,
    )
    compare(torch, DecoderLlama(config), perturbed(torch, theirs), load_decoder_llama)


@pytest.mark.parametrize(
    "changes", [{}, {"tie_word_embeddings": True, "attention_bias": True}], ids=["plain", "tied"]
)
def test_qwen3(opened: Any, changes: dict[str, Any]) -> None:
    torch, transformers = torch_or_skip(), transformers_or_skip()
    opened()
    hf = transformers.Qwen3Config(
        vocab_size=ENTRIES, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=64, **changes,
    )  # fmt: skip
    config = create_qwen3_config_from_hf(hf, 64)
    assert (config.head_dim, config.num_key_value_heads, config.attention_bias) == (
        32,
        2,
        "attention_bias" in changes,
    )
    compare(torch, Qwen3(config), perturbed(torch, transformers.Qwen3ForCausalLM(hf)), load_from_hf)
    made = create_qwen3_config_from_hf(hf, config.max_position_embeddings, RunnerType.MemoryEfficient)
    assert made.runner_type is RunnerType.MemoryEfficient
    if config.weight_tying is WeightTyingType.Disabled:
        with pytest.raises(ValueError, match="the model has a head of its own"):
            load_weights_from_hf(Qwen3(config), {}, config, tie_word_embeddings=True)


def test_latent_attention_without_a_mask_is_causal(opened: Any) -> None:
    opened()
    config = DeepSeekConfig(vocab_size=32, dim=64, n_layers=1, n_heads=2, q_lora_rank=0, kv_lora_rank=32, qk_nope_head_dim=32, qk_rope_head_dim=32, v_head_dim=32, max_seq_len=32)  # fmt: skip
    attention = MultiHeadLatentAttention(config, build_rope_params(32, 32))
    x = Tensor.from_numpy(np.random.default_rng(0).standard_normal((2, 1, 32, 64), np.float32))
    causal = Tensor.from_numpy(np.tril(np.ones((1, 1, 32, 32), np.float32)))
    assert attention(x).to_numpy().tobytes() == attention(x, causal).to_numpy().tobytes()


@pytest.mark.parametrize("rank", [0, 24])
def test_deepseek(opened: Any, rank: int) -> None:
    torch, transformers = torch_or_skip(), transformers_or_skip()
    opened()
    hf = transformers.DeepseekV3Config(
        vocab_size=ENTRIES, hidden_size=64, intermediate_size=96, moe_intermediate_size=32, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=4, n_shared_experts=1, n_routed_experts=8, routed_scaling_factor=1.5,
        kv_lora_rank=16, q_lora_rank=rank or None, qk_rope_head_dim=8, v_head_dim=12, qk_nope_head_dim=16, n_group=4,
        topk_group=2, num_experts_per_tok=3, first_k_dense_replace=1, norm_topk_prob=True, rms_norm_eps=1e-5,
        max_position_embeddings=64, rope_interleave=True,
    )  # fmt: skip
    theirs = perturbed(torch, transformers.DeepseekV3ForCausalLM(hf))
    for layer in theirs.model.layers:
        for name in ("q_a_layernorm", "kv_a_layernorm"):
            if getattr(layer.self_attn, name, None) is not None:
                getattr(layer.self_attn, name).variance_epsilon = 1e-5
        if hasattr(layer.mlp, "gate"):
            layer.mlp.gate.e_score_correction_bias.copy_(torch.linspace(-0.1, 0.1, 8))
    ours = DeepSeek(
        DeepSeekConfig(
            vocab_size=ENTRIES, dim=64, inter_dim=96, moe_inter_dim=32, n_layers=3, n_dense_layers=1, n_heads=4,
            n_routed_experts=8, n_shared_experts=1, n_activated_experts=3, n_expert_groups=4, n_limited_groups=2, route_scale=1.5,
            q_lora_rank=rank, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12, max_seq_len=64,
        )
    )  # fmt: skip
    compare(torch, ours, theirs, load_deepseek)
    for moe in ours.get_moe_layers():
        counts = moe._token_counts.tensor.to_numpy()
        assert counts.sum() == BATCH * LENGTH * 3
        shares = moe.read_activation_probabilities()
        np.testing.assert_allclose(shares, counts.ravel() / (BATCH * LENGTH), rtol=1e-6)
        before = moe._expert_bias.tensor.to_numpy().copy()
        moe.update_expert_bias(0.5)
        assert not moe.read_activation_probabilities().any()
        moved = (moe._expert_bias.tensor.to_numpy() - before).ravel()
        assert abs(moved.sum()) < 1e-5 and moe._token_counts.tensor.to_numpy().sum() == 0
        assert np.corrcoef(moved, counts.ravel())[0, 1] < 0


def both_llamas(transformers: Any) -> tuple[Any, Any, Any]:
    sizes = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, vocab_size=ENTRIES)  # fmt: skip  # noqa: C408
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, rms_norm_eps=1e-5))
    return lambda: DecoderLlama(LlamaConfig(**sizes)), theirs, load_decoder_llama


def both_qwen3(transformers: Any) -> tuple[Any, Any, Any]:
    hf = transformers.Qwen3Config(
        vocab_size=ENTRIES, hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=64,
    )  # fmt: skip
    return lambda: Qwen3(create_qwen3_config_from_hf(hf, 64)), transformers.Qwen3ForCausalLM(hf), load_from_hf


def both_deepseeks(transformers: Any) -> tuple[Any, Any, Any]:
    hf = transformers.DeepseekV3Config(
        vocab_size=ENTRIES, hidden_size=64, intermediate_size=96, moe_intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, n_shared_experts=1, n_routed_experts=4, routed_scaling_factor=1.5,
        kv_lora_rank=16, q_lora_rank=None, qk_rope_head_dim=8, v_head_dim=12, qk_nope_head_dim=16, n_group=2,
        topk_group=1, num_experts_per_tok=2, first_k_dense_replace=1, norm_topk_prob=True, rms_norm_eps=1e-5,
        max_position_embeddings=64, rope_interleave=True,
    )  # fmt: skip
    theirs = transformers.DeepseekV3ForCausalLM(hf)
    for layer in theirs.model.layers:
        layer.self_attn.kv_a_layernorm.variance_epsilon = 1e-5
    config = DeepSeekConfig(
        vocab_size=ENTRIES, dim=64, inter_dim=96, moe_inter_dim=32, n_layers=2, n_dense_layers=1, n_heads=2,
        n_routed_experts=4, n_shared_experts=1, n_activated_experts=2, n_expert_groups=2, n_limited_groups=1, route_scale=1.5,
        q_lora_rank=0, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12, max_seq_len=64,
    )  # fmt: skip
    return lambda: DeepSeek(config), theirs, load_deepseek


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(both_llamas, marks=pytest.mark.slow),
        both_qwen3,
        pytest.param(both_deepseeks, marks=pytest.mark.wide),
    ],
)
def test_twenty_steps(opened: Any, pair: Any) -> None:
    """Losses of twenty steps of SGD with momentum, and the parameters after them, beside those of `transformers`."""
    torch, transformers = torch_or_skip(), transformers_or_skip()
    context = opened()
    make, theirs, load = pair(transformers)
    perturbed(torch, theirs)
    ours = make()
    load(ours, theirs.state_dict())
    one = SGD(ours.parameters(), SGDConfig.make(0.05, 0.9, 0.0, 0.01, False))
    other = torch.optim.SGD(theirs.parameters(), 0.05, 0.9, 0.0, 0.01)
    mask = causal()
    for step in range(20):
        draw, ids, targets = batch(step)
        tokens = torch.tensor(draw.astype(np.int64))
        one.zero_grad()
        loss = cross_entropy_loss(ours(ids, mask), targets)
        loss.backward()
        context.reset_graph()
        one.step()
        other.zero_grad()
        logits = theirs(input_ids=tokens[:, :-1]).logits
        expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        expected.backward()
        other.step()
        assert float(loss.to_numpy().item()) == pytest.approx(float(expected.detach()), rel=1e-4), step
    twin = make()
    load(twin, theirs.state_dict())
    after = twin.parameters()
    for name, tensor in ours.parameters().items():
        np.testing.assert_allclose(tensor.to_numpy(), after[name].to_numpy(), atol=2e-4, err_msg=name)


def test_softmax_routing_and_a_vocabulary_that_is_no_tile(opened: Any) -> None:
    """DeepSeek V2's way: softmax scores, no groups, weights not shared out."""
    torch = torch_or_skip()
    opened()
    config = DeepSeekConfig(
        vocab_size=70, dim=32, inter_dim=32, moe_inter_dim=32, n_layers=1, n_dense_layers=0, n_heads=2, n_routed_experts=4,
        n_expert_groups=1, n_shared_experts=0, score_func="softmax", route_scale=2.0, q_lora_rank=0, kv_lora_rank=16,
        qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, max_seq_len=32,
    )  # fmt: skip
    model = DeepSeek(config)
    with pytest.raises(ValueError, match="Mask is required"):
        model(batch()[1])
    assert model(
        Tensor.from_numpy(np.zeros((1, 1, 1, 32), np.uint32), Layout.ROW_MAJOR), causal()
    ).shape() == [1, 1, 32, 70]
    moe = model.get_moe_layers()[0]
    x = Tensor.from_numpy(np.random.default_rng(1).standard_normal((2, 1, 5, 32), np.float32))
    p = {n.split("MoE/")[1]: torch.tensor(t.to_numpy()[0, 0]) for n, t in moe.parameters().items()}
    tx, nn = torch.tensor(x.to_numpy()), torch.nn.functional
    scores = nn.linear(tx, p["gate/weight"]).softmax(-1)
    top = scores.topk(2, -1).indices
    expected = torch.zeros_like(tx)
    for expert in range(4):
        w1, w2, w3 = (p[f"experts/{expert}/w{i}/weight"] for i in (1, 2, 3))
        out = nn.linear(nn.silu(nn.linear(tx, w1)) * nn.linear(tx, w3), w2)
        expected += out * (scores[..., expert] * (top == expert).any(-1))[..., None] * 2.0
    np.testing.assert_allclose(moe(x).to_numpy(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score_func": "relu"}, "not one of sigmoid, softmax"),
        ({"n_routed_experts": 7}, "do not divide into 2 groups"),
        ({"n_activated_experts": 5}, "5 experts cannot be chosen"),
    ],
)
def test_sizes_of_experts_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DeepSeekConfig(**changes)


def test_files_of_hugging_face(opened: Any, tmp_path: Path) -> None:
    torch, transformers = torch_or_skip(), transformers_or_skip()
    opened()
    hf = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, vocab_size=ENTRIES
    )  # fmt: skip
    theirs = perturbed(torch, transformers.LlamaForCausalLM(hf))
    theirs.save_pretrained(tmp_path)
    sizes = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, vocab_size=ENTRIES)  # fmt: skip  # noqa: C408
    one, other = DecoderLlama(LlamaConfig(**sizes)), DecoderLlama(LlamaConfig(**sizes))
    load_from_safetensors(one, tmp_path, one.config)
    load_decoder_llama(other, theirs.state_dict())
    assert {n: t.to_numpy().tobytes() for n, t in one.parameters().items()} == {
        n: t.to_numpy().tobytes() for n, t in other.parameters().items()
    }
    save_to_hf_format({n: t.to_numpy() for n, t in one.parameters().items()}, tmp_path / "back", one.config)
    back = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "back").state_dict()
    for name, array in theirs.state_dict().items():
        np.testing.assert_array_equal(back[name].float().numpy(), array.float().numpy(), err_msg=name)
    with pytest.raises(ValueError, match="blocks/0/attention/w9 is no parameter of a Llama"):
        save_to_hf_format({"Llama/blocks/0/attention/w9": np.zeros((2, 2))}, tmp_path / "bad", one.config)


@pytest.mark.parametrize("make", ["llama", "qwen3"])
def test_a_cache_gives_the_logits_of_the_whole(opened: Any, make: str) -> None:
    context = opened()
    model: Any
    if make == "llama":
        model = DecoderLlama(LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, vocab_size=ENTRIES))  # fmt: skip
    else:
        model = Qwen3(Qwen3Config(vocab_size=ENTRIES, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=64))  # fmt: skip
    draw, ids, _ = batch()
    expected = model(ids, causal()).to_numpy()
    width = 16 if make == "llama" else 32
    cache = KvCache(KvCacheConfig(2, BATCH, 2, 64, width))
    found = []
    for first, last in ((0, 20), (20, 21), (21, 32)):
        part = np.ascontiguousarray(draw[:, first:last]).reshape(BATCH, 1, 1, -1)
        mask = build_attn_mask(last - first, kv_cache=cache, max_seq_len=64)
        tokens = Tensor.from_numpy(part, Layout.ROW_MAJOR, DataType.UINT32)
        found.append(model(tokens, mask, cache, last - first).to_numpy())
    np.testing.assert_allclose(np.concatenate(found, 2), expected, rtol=1e-4, atol=1e-5)
    context.reset_graph()


def in_tiles(model: Any, cache: KvCache, draw: np.ndarray) -> np.ndarray:
    """Logits of 20 tokens, one, and the rest up to 32, each padded to a tile as their masks are."""
    found = []
    for first, last in ((0, 20), (20, 21), (21, 32)):
        part = np.zeros((BATCH, 1, 1, 32), np.uint32)
        part[:, 0, 0, : last - first] = draw[:, first:last]
        mask = np.zeros((BATCH, 1, 32, 32), np.float32)
        mask[:, :, : last - first] = np.tri(last - first, 32, k=first)
        tokens = Tensor.from_numpy(part, Layout.ROW_MAJOR, DataType.UINT32)
        logits = model(tokens, Tensor.from_numpy(mask), kv_cache=cache, new_tokens=last - first).to_numpy()
        found.append(logits[:, :, : last - first])
        assert cache.get_cache_position() == last
    return np.concatenate(found, 2)


def test_new_tokens_that_are_padded_to_a_tile(opened: Any) -> None:
    """A mask of whole tiles has more columns than tokens are held, and fewer than with the padding; a cache just long enough will do."""
    context = opened()
    model = llama_forms.Llama(llama_forms.LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, vocab_size=ENTRIES))  # fmt: skip
    draw, ids, _ = batch()
    expected = model(ids, causal()).to_numpy()
    found = in_tiles(model, KvCache(2, BATCH, 2, 32, 16), draw)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    context.reset_graph()


class BufferedAttention(GroupedQueryAttention):
    """Attention of a program's own: it writes device tensors into the cache's buffers and reads as many rows as the mask has."""

    def forward_kv(self, input: Tensor, mask: Any, kv_cache: KvCache, layer_idx: int, new_tokens: Any) -> Tensor:  # fmt: skip
        query, key, value = self._heads(input, kv_cache.get_cache_position())
        kv_cache.update(layer_idx, key.get_value(), value.get_value(), new_tokens)
        seen = mask.shape()[-1]
        held = kv_cache.get_k_cache(layer_idx), kv_cache.get_v_cache(layer_idx)
        assert held[0].shape[2] == 64
        key, value = (Tensor(ops.slice(t, [0, 0, 0, 0], [*t.shape[:2], seen, t.shape[3]]), False) for t in held)  # fmt: skip
        return self._out(query, key, value, mask)


class OwnLlama(llama_forms.Llama):
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        for block in self.blocks:
            old = block.attention
            block.attention = BufferedAttention(
                old.embedding_size, old.num_heads, old.num_groups, old.dropout_prob, old.rope_params
            )


@pytest.mark.parametrize("vocabulary, padded", ((96, 96), (97, 128)))
def test_a_llama_tells_how_many_rows_its_table_has(opened: Any, vocabulary: int, padded: int) -> None:
    opened()
    model = DecoderLlama(
        LlamaConfig(hidden_size=64, num_hidden_layers=1, num_attention_heads=2, vocab_size=vocabulary)
    )
    assert model.padded_vocab_size == padded == model.tok_emb.weight.tensor.shape()[2]


def test_a_program_derives_a_llama_with_attention_of_its_own(opened: Any) -> None:
    """Which the model then calls; the cache, made from sizes in order, takes padded device tensors and counts after the last layer."""
    opened()
    config = llama_forms.LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, vocab_size=ENTRIES)  # fmt: skip
    model = OwnLlama(config)
    assert isinstance(model, OwnLlama) and isinstance(config, llama_forms.LlamaConfig)
    assert isinstance(llama_forms.Llama(llama_forms.LlamaConfig()), llama_forms.Llama)
    with pytest.raises(TypeError, match="OwnLlama is derived from Llama, which needs"):
        OwnLlama(llama_forms.LlamaConfig())
    draw, ids, _ = batch()
    expected = model(ids, causal()).to_numpy()
    cache = KvCache(2, BATCH, 2, 64, 16)
    with pytest.raises(RuntimeError, match="layer 1 holds nothing yet"):
        cache.get_k_cache(1)
    np.testing.assert_allclose(in_tiles(model, cache, draw), expected, rtol=1e-4, atol=1e-5)
    AutoContext.get_instance().reset_graph()


def a_llama(cut: bool) -> DecoderLlama:
    return DecoderLlama(LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, vocab_size=ENTRIES, attention_bias=True, use_tp=cut))  # fmt: skip


def a_deepseek(cut: bool, **changes: Any) -> DeepSeek:
    sizes = dict(vocab_size=ENTRIES, dim=64, inter_dim=64, moe_inter_dim=32, n_layers=2, n_dense_layers=1, n_heads=4, n_routed_experts=4, q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=16, v_head_dim=16, max_seq_len=LENGTH)  # fmt: skip  # noqa: C408
    return DeepSeek(DeepSeekConfig(**{**sizes, "use_tp": cut, **changes}))  # type: ignore[arg-type]


def a_qwen3(cut: bool, **changes: Any) -> Qwen3:
    return Qwen3(Qwen3Config(vocab_size=ENTRIES, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=LENGTH, use_tp=cut, **changes))  # fmt: skip


def test_deepseek_is_its_form_in_pytorch(opened: Any) -> None:
    """Weights copied by name: the same logits, and the same experts for each token with the same weights."""
    torch = torch_or_skip()
    from tt_run.runtime.train.models.decoders.torch_deepseek import ModelArgs, Transformer

    opened()
    ours = a_deepseek(False, n_activated_experts=2, n_expert_groups=2, n_limited_groups=2)
    sizes = {name: getattr(ours.config, name) for name in ModelArgs.__dataclass_fields__}
    torch.manual_seed(1)
    theirs = Transformer(ModelArgs(**sizes))
    parameters = ours.parameters()
    renamed = {"embed": "tok_emb", "layers": "blocks"}
    for name, weight in theirs.named_parameters():
        first, *rest = name.split(".")
        path = "/".join(("DeepSeek", renamed.get(first, first), *rest))
        if path not in parameters:
            path = path.removesuffix("weight") + ("gamma" if "norm" in path else "weight")
        array = weight.detach().numpy()
        shape = parameters[path].shape()
        parameters[path].assign(Tensor.from_numpy(array.reshape(shape)))
    draw, ids, _ = batch()
    tokens = torch.tensor(draw[:, :-1].astype(np.int64))
    expected = theirs(tokens).detach().numpy()
    np.testing.assert_allclose(ours(ids, causal()).to_numpy()[:, 0], expected, rtol=3e-4, atol=3e-5)
    x = np.random.default_rng(3).standard_normal((1, 1, 8, 64), np.float32)
    moe, twin = ours.get_moe_layers()[0], theirs.get_moe_layers()[0]
    scores, wishes, experts = moe.compute_routing(Tensor.from_numpy(x))
    weights, chosen = twin.gate(torch.tensor(x[0, 0]))
    found = np.asarray(experts.shards.data[0])[0, 0].astype(np.int64)
    assert found.tolist() == chosen.tolist() and experts.dtype is DataType.UINT16
    picked = np.take_along_axis(scores.to_numpy()[0, 0], found, axis=-1)
    np.testing.assert_allclose(np.asarray(wishes.shards.data[0])[0, 0], picked, rtol=1e-6)
    shares = picked / picked.sum(-1, keepdims=True) * ours.config.route_scale
    np.testing.assert_allclose(shares, weights.detach(), rtol=1e-4)
    twin.update_expert_bias()
    moe(Tensor.from_numpy(x))
    moe.update_expert_bias()
    assert float(np.abs(moe._expert_bias.tensor.to_numpy()).max()) > 0


def experts_alone(cut: bool) -> DeepSeek:
    return a_deepseek(False, moe_tp_axis_name="tp" if cut else None, q_lora_rank=0)


def a_tied_qwen3(cut: bool) -> Qwen3:
    return a_qwen3(cut, weight_tying=WeightTyingType.Enabled)


@pytest.mark.parametrize(
    ("form", "make"),
    thinned(
        [
            ((1, 2), a_llama),
            ((2, 1), a_llama),
            ((2, 2), a_llama),
            ((1, 2), a_deepseek),
            ((2, 2), a_deepseek),
            ((2, 2), experts_alone),
            ((1, 2), a_qwen3),
            ((1, 2), a_tied_qwen3),
        ],
        3,
    ),
)
def test_a_model_over_axes_is_that_of_one_device(
    opened: Any, form: tuple[int, int], make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data parallel over rows, tensor parallel over columns, both: loss and gradients."""

    def slopes(cut: bool) -> dict[str, np.ndarray]:
        context = opened(form, ddp=form[0] > 1, tp=form[1] > 1) if cut else opened()
        names = named_mesh.Mesh(form if cut else (1, 1), ("dp", "tp"))
        monkeypatch.setattr(
            named_mesh, "_open", named_mesh.OpenMesh(names, weakref.ref(context.get_device()))
        )
        model = make(cut and form[1] > 1)
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 0) if cut and form[0] > 1 else None
        _, ids, targets = batch(mapper=mapper, count=4)
        cross_entropy_loss(model(ids, causal()), targets).backward()
        context.reset_graph()
        synchronize_gradients(model.parameters())
        found = {}
        for name, tensor in model.parameters().items():
            array = whole_array(tensor.get_value().derive(tensor.get_grad().shards))
            found[name] = array if tensor.joint is None else tensor.joint.gathered(array)
        return found

    alone, cut = slopes(False), slopes(True)
    for name, expected in alone.items():
        assert np.abs(cut[name] - expected).max() <= 2e-5 * max(np.abs(expected).max(), 1e-3), name


@pytest.mark.parametrize(
    ("count", "model"),
    [
        (flops.llama, lambda: DecoderLlama(LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3, vocab_size=96))),
        (flops.qwen3, lambda: Qwen3(Qwen3Config(vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=64, attention_bias=False))),
    ],
)  # fmt: skip
def test_operations_per_token_follow_from_the_parameters(opened: Any, count: Any, model: Any) -> None:
    opened()
    made = model()
    parameters = sum(int(np.prod(t.shape())) for t in made.parameters().values())
    heads = made.config.num_attention_heads * getattr(made.config, "head_dim", 16)
    assert count(made.config, 128) == 6 * parameters + 12 * 3 * heads * 128


def test_operations_of_experts_count_those_that_are_chosen() -> None:
    base = DeepSeekConfig()
    more = DeepSeekConfig(n_routed_experts=16)
    busier = DeepSeekConfig(n_activated_experts=3)
    expert = 3 * base.dim * base.moe_inter_dim
    moe = base.n_layers - base.n_dense_layers
    assert flops.deepseek(more, 64) - flops.deepseek(base, 64) == 6 * moe * 8 * base.dim
    assert flops.deepseek(busier, 64) - flops.deepseek(base, 64) == 6 * moe * expert


def test_pieces(opened: Any) -> None:
    """Cut, join, and what moves heads, with gradients that find their places."""
    opened()
    x = Tensor.from_numpy(np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6))
    first, second = pieces.split(x, (2, 4), -1)
    joined = ConcatLastDim.apply(second, first)
    assert joined.to_numpy()[0, 0, 0].tolist() == [2, 3, 4, 5, 0, 1]
    unary.mean(joined * 24.0 + pieces.concat([first * 48.0, second], 3)).backward()
    assert np.allclose(
        x.get_grad().to_numpy()[0, 0, 0], [3, 3, 1 + 1 / 24, 1 + 1 / 24, 1 + 1 / 24, 1 + 1 / 24]
    )
    with pytest.raises(ValueError, match=r"autograd_split sizes \[2, 3\] must tile dim 3 \(size 6\); help"):
        pieces.split(x, (2, 3), 3)
    with pytest.raises(ValueError, match="autograd_split dim 4 out of range for rank-4 tensor; help"):
        pieces.split(x, (2, 4), 4)
    with pytest.raises(ValueError, match="is no part of"):
        pieces.cut(x, (0, 0, 0, 0), (1, 1, 5, 6))


@pytest.mark.parametrize("form", [(16, 6), (16,)])
def test_keys_and_values_of_one_matrix(form: tuple[int, ...]) -> None:
    """Two groups of eight rows; what lies behind both is padding."""
    draw = np.random.default_rng(0)
    keys, values = (draw.standard_normal(form).astype(np.float32) for _ in range(2))
    joint = joint_keys_values(keys, values, 2)
    assert joint[:16].tolist() == interleaved(keys, 2).tolist() != keys.tolist()
    rows = torch_or_skip().tensor(keys)
    assert halved(interleaved(rows, num_heads=2), num_heads=2).equal(rows)
    column = rows.reshape(16, -1)[:, 0]
    assert halved(interleaved(column)).tolist() == column.tolist()
    for padded in (joint, np.concatenate([joint, joint[:3]])):
        one, other = split_keys_values(padded, 16, 2)
        assert (one.tolist(), other.tolist()) == (keys.tolist(), values.tolist())
    assert key_or_value("model.layers.5.self_attn.v_proj.bias") == (5, "v", "bias")
    assert key_or_value("layers.0.self_attn.k_proj.weight") == (0, "k", "weight")
    for name in ("model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.kv_proj.weight", "x"):
        assert key_or_value(name) is None


def test_a_cache_that_learns_its_sizes(opened: Any) -> None:
    """Attention of a program's own, token by token, is that over all tokens at once."""
    opened()
    draw = np.random.default_rng(1)
    q, k, v = (draw.standard_normal((1, 2, 7, 8)).astype(np.float32) for _ in range(3))
    expected = scaled_dot_product_attention(
        *(Tensor.from_numpy(part) for part in (q, k, v)), causal(7)
    ).to_numpy()
    cache, found = GrowingCache(1, 12), []
    for first, last in ((0, 4), (4, 5), (5, 6), (6, 7)):
        mask = cache.get_attn_mask(last - first)
        new = [Tensor.from_numpy(part[:, :, first:last]) for part in (q, k, v)]
        keys, values = cache.update(0, *new[1:])
        assert keys.shape()[2] == mask.shape()[3] == (4 if first == 0 else 12)
        found.append(scaled_dot_product_attention(new[0], keys, values, mask).to_numpy())
        assert cache.get_seq_length() == last
    np.testing.assert_allclose(np.concatenate(found, axis=2), expected, atol=1e-6)
    cache.reset()
    assert cache.get_seq_length() == 0
    model = Qwen3(Qwen3Config(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=32))  # fmt: skip
    assert (model.blocks, model.tok_emb) == (model.model.layers, model.model.embed_tokens)
    assert (model.ln_fc, model.fc) == (model.model.norm, model.lm_head)

    def given(array: np.ndarray) -> Tensor:
        return Tensor.from_numpy(array, Layout.ROW_MAJOR, DataType.UINT32)

    text = draw.integers(0, 64, (2, 1, 1, 7), np.uint32)
    whole, past = model(given(text), causal(7)).to_numpy(), GrowingCache(2, 32)
    parts = [
        model(given(text[..., a:b].copy()), past.get_attn_mask(b - a), past_key_values=past).to_numpy()
        for a, b in ((0, 4), (4, 5), (5, 6), (6, 7))
    ]
    np.testing.assert_allclose(np.concatenate(parts, axis=2), whole, atol=1e-5)
    with pytest.raises(TypeError, match="two names of one cache"):
        model(given(text), None, past, past_key_values=past)
    past.clear()
    again = model(given(text[:1]), past.get_attn_mask(7), past_key_values=past).to_numpy()
    np.testing.assert_allclose(again, whole[:1], atol=1e-5)
    with pytest.raises(NotImplementedError, match="compressed"):
        GrowingCache(1, 12, compressed=True)
