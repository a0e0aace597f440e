"""Qwen3.8 against `transformers`, over a tensor-parallel axis against one device, without values, and what goes with it."""

from __future__ import annotations

import json
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.launch import tt_run
from tests.runtime.train.pytorch import torch_or_skip, transformers_or_skip
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders import qwen38_config, qwen38_flops, qwen38_lora
from tt_run.runtime.train.models.decoders.qwen38 import Qwen38GatedDeltaNet, Qwen38Transformer
from tt_run.runtime.train.models.decoders.qwen38_config import Qwen38Config, qkv_shard_permutation
from tt_run.runtime.train.models.decoders.qwen38_files import load_from_safetensors
from tt_run.runtime.train.models.safetensors import write
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.parallel import named_mesh
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper, synchronize_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_array, whole_parameter
from tt_run.runtime.values import shapes as values

pytestmark = pytest.mark.torch
PROGRAM = Path(__file__).parent / "programs" / "qwen38.py"
BATCH, LENGTH, ENTRIES = 2, 32, 96
SIZES: dict[str, Any] = dict(  # noqa: C408
    hidden_size=64, intermediate_size=96, num_hidden_layers=4, vocab_size=ENTRIES, num_attention_heads=4, num_key_value_heads=2,
    head_dim=32, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=32,
    max_position_embeddings=64,
)  # fmt: skip


def config(**changes: Any) -> Qwen38Config:
    return Qwen38Config(**{**SIZES, "delta_chunk_size": 16, **changes})


def batch(mapper: Any = None, count: int = BATCH) -> tuple[np.ndarray, Tensor, Tensor]:
    draw = np.random.default_rng(1).integers(0, ENTRIES, (count, LENGTH + 1), np.uint32)
    x, y = (np.ascontiguousarray(a) for a in (draw[:, :-1], draw[:, 1:]))
    ids = Tensor.from_numpy(x.reshape(count, 1, 1, LENGTH), Layout.ROW_MAJOR, DataType.UINT32, mapper)
    return draw, ids, Tensor.from_numpy(y, Layout.ROW_MAJOR, DataType.UINT32, mapper)


def theirs_of(tied: bool = False) -> tuple[Any, Any]:
    torch, transformers = torch_or_skip(), transformers_or_skip()
    if not hasattr(transformers, "Qwen3_5ForCausalLM"):
        pytest.skip("this version of transformers has no Qwen3.5")
    hf = transformers.Qwen3_5TextConfig(
        **SIZES, tie_word_embeddings=tied,
        rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1]},
    )  # fmt: skip
    torch.manual_seed(3)
    model = transformers.Qwen3_5ForCausalLM(hf).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return torch, model


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"delta_rule_impl": "composite", "recompute_deltanet": True},
        {"tie_word_embeddings": True, "recompute_layers": True},
    ],
    ids=["fused", "composite", "tied"],
)
def test_logits_and_gradients(opened: Any, changes: dict[str, Any]) -> None:
    """Those of `transformers`, brought into our names by the same loader."""
    torch, theirs = theirs_of("tie_word_embeddings" in changes)
    opened()
    sizes = config(**changes)
    ours = Qwen38Transformer(sizes)
    told = load_from_safetensors(ours, theirs.state_dict(), sizes, dtype=DataType.FLOAT32)
    assert told["loaded"] == len(ours.parameters()) and not told["unexpected"] and not told["missing"]
    draw, ids, targets = batch()
    tokens = torch.tensor(draw.astype(np.int64))
    logits, expected = ours(ids), theirs(input_ids=tokens[:, :-1]).logits
    np.testing.assert_allclose(logits.to_numpy()[:, 0], expected.detach().numpy(), rtol=3e-4, atol=5e-5)
    cross_entropy_loss(logits, targets).backward()
    torch.nn.functional.cross_entropy(expected.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    AutoContext.get_instance().reset_graph()
    slopes = {name: p.grad for name, p in theirs.named_parameters()}
    # A norm's weight is loaded with 1 added, its gradient without.
    slopes = {
        n: s - 1 if n.endswith("norm.weight") and "linear_attn" not in n else s for n, s in slopes.items()
    }
    found = {
        name: whole_array(t.get_value().derive(t.get_grad().shards)) for name, t in ours.parameters().items()
    }
    load_from_safetensors(ours, slopes, sizes, dtype=DataType.FLOAT32)
    for name, tensor in ours.parameters().items():
        wanted = whole_parameter(tensor)
        scale = max(float(np.abs(wanted).max()), 1e-3)
        assert float(np.abs(found[name] - wanted).max()) <= 5e-4 * scale, name


@pytest.mark.parametrize("form", [pytest.param((1, 2), marks=pytest.mark.wide), (2, 2)])
def test_over_axes_as_on_one_device(
    opened: Any, form: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tensor parallel over columns, data parallel over rows."""

    def slopes(cut: bool) -> dict[str, np.ndarray]:
        context = opened(form, ddp=form[0] > 1, tp=True) if cut else opened()
        names = named_mesh.Mesh(form if cut else (1, 1), ("dp", "tp"))
        monkeypatch.setattr(
            named_mesh, "_open", named_mesh.OpenMesh(names, weakref.ref(context.get_device()))
        )
        model = Qwen38Transformer(config(use_tp=cut))
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 0) if cut and form[0] > 1 else None
        _, ids, targets = batch(mapper, 4)
        logits = model(ids)
        if cut:
            from tt_run.runtime.train.ops.vocab_parallel import vocab_parallel_cross_entropy_loss as loss

            loss(logits, targets, cluster_axis=1).backward()
        else:
            cross_entropy_loss(logits, targets).backward()
        context.reset_graph()
        synchronize_gradients(model.parameters())
        found = {}
        for name, tensor in model.parameters().items():
            array = whole_array(tensor.get_value().derive(tensor.get_grad().shards))
            found[name] = array if tensor.joint is None else tensor.joint.gathered(array)
        if cut:
            joint = model.parameters()["Qwen38Transformer/layers/0/linear_attn/in_proj_qkv/weight"]
            order = qkv_shard_permutation(model.config, form[1])
            assert np.array_equal(whole_array(joint.get_value()), whole_parameter(joint)[:, :, order])
        return found

    alone, cut = slopes(False), slopes(True)
    assert alone.keys() == cut.keys()
    for name, expected in alone.items():
        assert np.abs(cut[name] - expected).max() <= 3e-5 * max(np.abs(expected).max(), 1e-3), name


@pytest.mark.parametrize(
    ("system", "form", "kind", "splits"),
    [
        pytest.param("n300-x2", (1, 4), "float32", ["2x1", "4x1"], marks=pytest.mark.wide),
        pytest.param("n300-x2", (1, 4), "bfloat16", ["4x1"], marks=pytest.mark.slow),
        pytest.param("t3000", (2, 4), "float32", ["2x1", "1x2", "2x2"], marks=pytest.mark.slow),
    ],
)
def test_any_split_over_ranks_trains_with_the_same_bits(
    system: str, form: tuple[int, int], kind: str, splits: list[str]
) -> None:
    """Both kinds of attention over real ranks: losses that every rank prints, and all parameters after three steps."""

    def run(*words: str) -> tuple[list[str], list[str]]:
        given = (*words, "python", PROGRAM, *map(str, form), kind)
        ran = tt_run("--emulate", "--system", system, *given, timeout=110).check()
        return sorted(ran.field("loss")), sorted(ran.field("sha256"))

    losses, (digest,) = run()
    assert len(losses) == 3
    for split in splits:
        ranks = int(split[0]) * int(split[-1])
        assert run("--split", split) == (sorted(losses * ranks), [digest] * ranks), split


def test_files_and_what_they_lack(opened: Any, tmp_path: Path) -> None:
    """A checkpoint by the names of the whole model, whose images and further predictions are passed over."""
    opened()
    sizes = config(vocab_size=90)
    model = Qwen38Transformer(sizes)
    generator = np.random.default_rng(0)
    shapes = {
        "lm_head.weight": (90, 64),
        "model.language_model.embed_tokens.weight": (90, 64),
        "model.visual.patch.weight": (3, 3),
        "mtp.fc.weight": (3, 3),
        "model.language_model.layers.0.linear_attn.conv1d.weight": (sizes.qkv_proj_dim, 1, 4),
        "model.language_model.layers.0.linear_attn.odd.weight": (3, 3),
    }
    arrays = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    write(tmp_path / "model.safetensors", arrays)
    told = load_from_safetensors(model, tmp_path, sizes, strict=False)
    assert (told["loaded"], told["skipped"]) == (6, 2)
    assert told["unexpected"] == ["model.language_model.layers.0.linear_attn.odd.weight"]
    table = model.parameters()["Qwen38Transformer/embed_tokens/weight"]
    assert table.shape() == [1, 1, 96, 64] and not table.to_numpy()[:, :, 90:].any()
    assert table.dtype() is DataType.BFLOAT16
    with pytest.raises(RuntimeError, match=r"parameters not loaded, e\.g\. .*strict=False"):
        load_from_safetensors(model, tmp_path, sizes)
    write(tmp_path / "model.safetensors", {"lm_head.weight": np.zeros((64, 64), np.float32)})
    with pytest.raises(
        ValueError, match=r"lm_head.weight: checkpoint gives \[1, 1, 64, 64\], model expects \[1, 1, 90, 64\]"
    ):
        load_from_safetensors(model, tmp_path, sizes)


def test_adapters_train_both_kinds_of_attention(opened: Any) -> None:
    opened()
    model = qwen38_lora.apply_lora(Qwen38Transformer(config()), rank=4)
    summary = qwen38_lora.trainable_summary(model)
    named = [name for name, tensor in model.parameters().items() if tensor.get_requires_grad()]
    assert summary["trainable"] == summary["adapters"] and 0 < summary["fraction"] < 0.5
    assert len(named) == 2 * (3 * 3 + 4) and all("lora_" in name for name in named)
    _, ids, targets = batch()
    cross_entropy_loss(model(ids), targets).backward()
    tensors = model.parameters()
    assert all(tensors[name].is_grad_initialized() for name in named)
    AutoContext.get_instance().reset_graph()


def test_the_27b_without_values(opened: Any) -> None:
    """Four layers of the published sizes, forward and backward, cost no memory to speak of."""
    opened()
    with values.only(strict=True):
        sizes = Qwen38Config(num_hidden_layers=4, max_position_embeddings=256, delta_rule_impl="composite")
        model = Qwen38Transformer(sizes)
        ids = Tensor.from_numpy(np.zeros((1, 1, 1, 128), np.uint32), Layout.ROW_MAJOR, DataType.UINT32)
        logits = model(ids)
        logits.backward()
        assert logits.shape() == [1, 1, 128, 248320]
        assert all(tensor.is_grad_initialized() for tensor in model.parameters().values())
    AutoContext.get_instance().reset_graph()


def test_configurations(tmp_path: Path, opened: Any) -> None:
    opened()
    written = {
        "text_config": {
            **SIZES,
            "rope_parameters": {"rope_theta": 5000, "partial_rotary_factor": 0.5},
            "eos_token_id": 1,
        }
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(written))
    read = Qwen38Config.from_hf_json(path)
    assert (read.rope_theta, read.rotary_dim, read.gva_repeats) == (5000.0, 16, 2)
    assert read.layer_types == ["linear_attention"] * 3 + ["full_attention"]
    assert (read.qkv_proj_dim, read.is_full_attention(3)) == (2 * 32 + 128, True)
    for changes, words in (
        ({"delta_rule_impl": "quick"}, "delta_rule_impl is one of fused, composite, not 'quick'"),
        ({"layer_types": ["full_attention"]}, "for each of 4 layers"),
        ({"num_key_value_heads": 3}, "num_attention_heads 4 is no multiple of num_key_value_heads 3"),
    ):
        with pytest.raises(ValueError, match=words):
            config(**changes)
    with pytest.raises(ValueError, match="must be a multiple of linear_num_key_heads"):
        _ = config(linear_num_key_heads=3).gva_repeats
    with pytest.raises(ValueError, match="must both divide tp=4"):
        qkv_shard_permutation(config(), 4)
    with pytest.raises(ValueError, match="keep no state from call to call"):
        Qwen38Transformer(config())(batch()[1], past_key_values=object())
    names = {
        "a/lm_head/weight": 2,
        "a/linear_attn/A_log": 3,
        "a/conv_tap_0": 3,
        "a/q_norm/weight": None,
        "norm_weight": None,
    }
    assert {name: qwen38_config.tp_shard_dim(name) for name in names} == names


def test_operations_follow_from_the_weights() -> None:
    """Frozen weights cost two of three passes, and attention alone grows with the length."""
    sizes = config()
    frozen, trained = (qwen38_flops.qwen38_flops(sizes, 2, 64, train_base=train) for train in (False, True))
    assert (frozen.mlp, trained.mlp) == (128 * 4 * 4 * 3 * 64 * 96, 128 * 4 * 6 * 3 * 64 * 96)
    longer = qwen38_flops.qwen38_flops(sizes, 1, 128)
    assert longer.delta_net == frozen.delta_net and longer.attention > frozen.attention
    assert qwen38_flops.flops_per_token(sizes, 2, 64) == frozen.total / 128


def test_both_forms_of_linear_attention(opened: Any) -> None:
    opened()
    sizes = config()
    layer = Qwen38GatedDeltaNet(sizes, 0)
    x = Tensor.from_numpy(np.random.default_rng(0).standard_normal((BATCH, 1, LENGTH, 64), np.float32))
    fused = layer(x).to_numpy()
    sizes.delta_rule_impl = "composite"
    np.testing.assert_allclose(layer(x).to_numpy(), fused, rtol=1e-4, atol=1e-7)
    AutoContext.get_instance().reset_graph()
