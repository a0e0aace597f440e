"""A Llama whose layers are joint: what was saved when they were apart is loaded, rules for Hugging Face's files, parts of cut ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.test_building import opened_mesh  # noqa: F401
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train import checkpointing
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.joint_layout import JointLayout
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common import checkpoints
from tt_run.runtime.train.models import safetensors
from tt_run.runtime.train.models.decoders import llama_files as files
from tt_run.runtime.train.models.decoders.llama import DecoderLlama, GroupedQueryAttention, LlamaMLP, Share
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.decoders.weights import load_from_safetensors
from tt_run.runtime.train.models.runner import WeightTyingType
from tt_run.runtime.train.modules.base import NamedParameters
from tt_run.runtime.train.modules.joint_names import joint_names, joints_of, part_names
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops import binary, rope, shapes, unary
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.optimizers import registry
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter
from tt_run.runtime.train.trainers.model_source import load_checkpoint, weights_ref_hf_dict

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 64,
}
ROWS = {"qkv_linear": {"q_linear": 64, "kv_linear": 64}, "w_gate_up": {"w1": 96, "w3": 96}}


def llama(**more: Any) -> DecoderLlama:
    return DecoderLlama(LlamaConfig(**SIZES, **more))


def step(model: Any, optimizer: Any, seed: int = 0) -> None:
    draw = np.random.default_rng(seed).integers(0, 64, (2, 9), np.uint32)
    x, y = (np.ascontiguousarray(a) for a in (draw[:, :-1].reshape(2, 1, 1, 8), draw[:, 1:]))
    ids, targets = (Tensor.from_numpy(a, Layout.ROW_MAJOR, DataType.UINT32) for a in (x, y))
    optimizer.zero_grad()
    cross_entropy_loss(model(ids), targets).backward()
    AutoContext.get_instance().reset_graph()
    optimizer.step()


def wholes(model: Any) -> dict[str, np.ndarray]:
    return {name: whole_parameter(tensor) for name, tensor in model.parameters().items()}


def apart(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As a model whose layers are apart would have it."""
    found: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        layer = next((joint for joint in ROWS if joint in name), None)
        if layer is None:
            found[name] = array
            continue
        axis = -2 if name.endswith("/weight") else -1
        first = next(iter(ROWS[layer].values()))
        for part, own in zip(ROWS[layer], np.split(array, [first], axis), strict=True):
            found[name.replace(layer, part)] = own
    return found


def test_an_older_checkpoint_goes_on_with_its_optimizer(opened: Any, tmp_path: Path) -> None:
    context = opened()
    model = llama(attention_bias=True)
    optimizer = registry.create_optimizer({"type": "AdamW", "lr": 0.01}, model.parameters())
    step(model, optimizer)
    saved = checkpoints.load(checkpoints.save(tmp_path / "run", step=1, model=model, optimizer=optimizer))
    state = {name: entry for name, entry in saved.optimizer.items() if isinstance(entry, np.ndarray)}
    older = checkpoints.Checkpoint(1, apart(saved.parameters), {**{k: v for k, v in saved.optimizer.items() if k not in state}, **apart(state)})  # fmt: skip
    assert "Llama/blocks/1/attention/kv_linear/bias" in older.parameters and len(older.parameters) > len(saved.parameters)  # fmt: skip
    step(model, optimizer, 1)
    expected = wholes(model)
    context.set_seed(7)
    other = llama(attention_bias=True)
    fresh = registry.create_optimizer({"type": "AdamW", "lr": 0.01}, other.parameters())
    assert checkpoints.apply(older, other, fresh) == 1
    step(other, fresh, 1)
    for name, array in wholes(other).items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_older_files_of_parameters_fill_the_joint_layers(opened: Any, tmp_path: Path) -> None:
    context = opened()
    arrays = apart(wholes(llama()))
    expected = wholes(llama())  # of another draw
    context.set_seed(11)
    expected = wholes(source := llama())
    arrays = apart(expected)
    safetensors.write(tmp_path / "model.safetensors", arrays)
    for load in (
        lambda model: checkpoints.import_safetensors(tmp_path, model),
        lambda model: load_checkpoint(model, str(tmp_path)),
    ):
        model = llama()
        load(model)
        assert all(np.array_equal(array, expected[name]) for name, array in wholes(model).items())
    older = NamedParameters(
        {name: Tensor.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    )
    # The pieces need not follow one another in the file.
    shuffled = NamedParameters({name: older[name] for name in sorted(older, key=lambda name: name[::-1])})
    optimizer = registry.create_optimizer({"type": "SGD", "lr": 0.1, "momentum": 0.9}, shuffled)
    optimizer.set_state_dict({**optimizer.get_state_dict(), "momentum": shuffled})
    checkpointing.save_checkpoint(str(tmp_path / "older"), model_params=shuffled, optimizer=optimizer)
    model = llama()
    live = registry.create_optimizer({"type": "SGD", "lr": 0.1, "momentum": 0.9}, model.parameters())
    step(model, live)
    checkpointing.load_checkpoint(str(tmp_path / "older"), model_params=model.parameters(), optimizer=live)
    assert all(np.array_equal(array, expected[name]) for name, array in wholes(model).items())
    momenta = live.get_state_dict()["momentum"]
    assert momenta.keys() == model.parameters().keys()
    for name, tensor in momenta.items():
        np.testing.assert_array_equal(whole_parameter(tensor), expected[name], err_msg=name)
    assert source.parameters().keys() == model.parameters().keys()


def hugging_face(bias: bool = False) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(5)
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (64, 64), "lm_head.weight": (64, 64), "model.norm.weight": (64,)}  # fmt: skip
    for number in range(2):
        root = f"model.layers.{number}"
        shapes |= {f"{root}.{norm}_layernorm.weight": (64,) for norm in ("input", "post_attention")}
        layers = {"self_attn.q_proj": (64, 64), "self_attn.k_proj": (32, 64), "self_attn.v_proj": (32, 64), "self_attn.o_proj": (64, 64),
                  "mlp.gate_proj": (96, 64), "mlp.up_proj": (96, 64), "mlp.down_proj": (64, 96)}  # fmt: skip
        for layer, shape in layers.items():
            shapes[f"{root}.{layer}.weight"] = shape
            if bias and layer.startswith("self_attn"):
                shapes[f"{root}.{layer}.bias"] = shape[:1]
    return {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("bias", [False, True])
def test_each_device_has_its_rows_of_every_block(opened: Any, tmp_path: Path, parts: int, bias: bool) -> None:
    """Queries, keys and values of a device's own heads lie below one another in its part; so do gate and up."""
    opened((1, parts), tp=parts > 1)
    stored = hugging_face(bias)
    safetensors.write(tmp_path / "model.safetensors", stored)
    model = llama(use_tp=parts > 1, attention_bias=bias)
    load_from_safetensors(model, tmp_path, model.config)
    q, k, v = (stored[f"model.layers.1.self_attn.{kind}_proj.weight"] for kind in "qkv")
    blocks = [files.interleaved(q, 4), files.interleaved(k, 2), v]
    name = "Llama/blocks/1/attention/qkv_linear/weight"
    parameter = model.parameters()[name]
    own = np.concatenate([shard[0, 0] for shard in parameter.get_value().shards.data])
    np.testing.assert_array_equal(own, files.assemble(blocks, files.ROW_DIM, parts, name).astype(own.dtype))
    np.testing.assert_array_equal(whole_parameter(parameter)[0, 0], np.concatenate(blocks).astype(own.dtype))
    held = weights_ref_hf_dict(model) if parts == 1 else {}
    for kind, block in zip("qkv", blocks, strict=True) if held else ():
        found = held[f"model.layers.1.self_attn.{kind}_proj.weight"].to_numpy()[0, 0]
        np.testing.assert_array_equal(found, block.astype(found.dtype))
    if bias:
        found = whole_parameter(model.parameters()["Llama/blocks/0/attention/qkv_linear/bias"]).ravel()
        np.testing.assert_array_equal(
            found[96:], stored["model.layers.0.self_attn.v_proj.bias"].astype(found.dtype)
        )


def test_what_a_file_lacks_is_said_before_anything_is_loaded(opened: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    opened()
    model, stored = llama(), hugging_face()
    before = wholes(model)
    safetensors.write(
        tmp_path / "model.safetensors", {k: v for k, v in stored.items() if "1.self_attn.v_proj" not in k}
    )
    with pytest.raises(RuntimeError, match=r"blocks/1/attention/qkv_linear/weight: the checkpoint has no layers\.1\.self_attn\.v_proj\.weight"):  # fmt: skip
        load_from_safetensors(model, tmp_path)
    assert all(np.array_equal(array, before[name]) for name, array in wholes(model).items())
    safetensors.write(
        tmp_path / "model.safetensors", {k: v for k, v in stored.items() if k != "lm_head.weight"}
    )
    with pytest.raises(RuntimeError, match="help: its weights are tied"):
        load_from_safetensors(model, tmp_path)
    extra = {**stored, "model.more.weight": np.zeros((2, 2), np.float32)}
    safetensors.write(tmp_path / "model.safetensors", extra)
    capsys.readouterr()
    load_from_safetensors(llama(attention_bias=True), tmp_path)
    said = capsys.readouterr().out
    assert f"Loaded {len(model.parameters())} parameters from {len(stored)} checkpoint tensors." in said
    assert (
        "Left at initial values: 4 biases" in said
        and "1 checkpoint tensors were not used: more.weight" in said
    )


@pytest.mark.parametrize("parts", [1, 2])
def test_layers_that_joint_ones_were_made_of_give_their_features(opened: Any, parts: int) -> None:
    """A program's own attention and feed-forward over `q_linear`, `kv_linear`, `w1`, `w3` are those over the joint layers."""

    class Attention(GroupedQueryAttention):
        def forward_no_kv(self, input: Tensor, mask: Tensor | None = None) -> Tensor:
            query, key, value = shapes.grouped_heads_creation(
                self.q_linear(input), self.kv_linear(input), self.num_heads, self.num_groups
            )
            query, key = rope.rope(query, self.rope_params), rope.rope(key, self.rope_params)
            return self.out_linear(shapes.heads_fusion(self.sdpa(query, key, value, mask)))

    class FeedForward(LlamaMLP):
        def forward(self, input: Tensor) -> Tensor:
            return self.w2(binary.mul(unary.silu(self.w1(input)), self.w3(input)))

    context = opened((1, parts), tp=parts > 1)
    found = []
    for own in (False, True):
        context.set_seed(7)
        model = llama(use_tp=parts > 1)
        for block in model.blocks if own else ():
            block.attention.__class__, block.mlp.__class__ = Attention, FeedForward
        optimizer = registry.create_optimizer({"type": "SGD", "lr": 0.1}, model.parameters())
        step(model, optimizer)
        found.append(wholes(model))
    assert found[0].keys() == found[1].keys()
    for name, array in found[0].items():
        assert np.abs(array - found[1][name]).max() < 1e-5, name


def test_a_layer_set_in_the_place_of_a_part_counts(opened: Any) -> None:
    opened()
    attention = llama().blocks[0].attention
    own = LinearLayer(64, 64)
    attention.q_linear = own
    assert attention.q_linear is own
    assert isinstance(GroupedQueryAttention.kv_linear, Share)


def test_rules_cover_the_model_and_no_other(opened: Any) -> None:
    opened()
    for tying in WeightTyingType:
        config = LlamaConfig(**SIZES, weight_tying=tying)
        names = set(DecoderLlama(config).parameters())
        rules = list(files.rules(config, names))
        files.check_coverage(names, rules)
        assert len(rules) == len({rule.param for rule in rules}) == len(names)
    with pytest.raises(RuntimeError, match="exactly one of Llama/fc/weight, Llama/tok_emb/weight"):
        list(files.rules(LlamaConfig(**SIZES, weight_tying=WeightTyingType.Enabled), {*files.TIED_NAMES}))
    config = LlamaConfig(**SIZES)
    older = {name.replace("qkv_linear", "q_linear") for name in DecoderLlama(config).parameters()}
    with pytest.raises(RuntimeError, match=r"(?s)disagree about its parameters:\n  no rule feeds       Llama/blocks/0/attention/q_linear/weight.*no such parameter   Llama/blocks/0/attention/qkv_linear"):  # fmt: skip
        files.check_coverage(older, list(files.rules(config, older)))
    biased = {*DecoderLlama(LlamaConfig(**SIZES, attention_bias=True)).parameters()}
    files.check_coverage(biased, list(files.rules(config, biased)))
    with pytest.raises(RuntimeError, match=r"no rule feeds .*qkv_linear/bias"):
        files.check_coverage(biased, list(files.rules(config, biased)), {"layers.0.self_attn.q_proj.bias"})


def test_arrays_of_rules() -> None:
    first, second = np.arange(8.0).reshape(4, 2), np.arange(8.0, 12.0).reshape(2, 2)
    assert files.assemble([first], files.ROW_DIM, 3, "w") is first
    whole = np.concatenate([first, second])
    for dim in (None, files.COLUMN_DIM):
        np.testing.assert_array_equal(files.assemble([first, second], dim, 2, "w"), whole)
    cut = files.assemble([first, second], files.ROW_DIM, 2, "w")
    np.testing.assert_array_equal(cut, JointLayout(0, (2, 1), 2).dealt(whole))
    np.testing.assert_array_equal(JointLayout(0, (2, 1), 2).gathered(cut), whole)
    with pytest.raises(RuntimeError, match="w: block 0 has 4 rows, not divisible over 3 devices"):
        files.assemble([first, second], files.ROW_DIM, 3, "w")
    with pytest.raises(RuntimeError, match="w: block 1 has 3 columns, expected 2"):
        files.assemble([first, np.zeros((2, 3))], None, 1, "w")
    padded = files.pad_to(first, (6, 3), "w")
    np.testing.assert_array_equal(padded[:4, :2], first)
    np.testing.assert_array_equal(padded, files.pad_to(first, (6, 3), "w"))
    assert padded[4:].any() and padded[:, 2].any()
    with pytest.raises(RuntimeError, match="would discard weights"):
        files.pad_to(first, (3, 2), "w")
    with pytest.raises(RuntimeError, match="but the parameter is"):
        files.require_shape(first, (2, 4), "w")
    turned = files.to_bf16_4d(first.T)
    assert turned.shape == (1, 1, 2, 4) and turned.flags.c_contiguous
    np.testing.assert_array_equal(turned[0, 0].astype(np.float64), first.T)
    assert (
        files.canonical("model.wte.weight") == files.canonical("embed_tokens.weight") == "embed_tokens.weight"
    )


def test_where_the_axis_of_tensor_parallelism_cuts(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 2), ("dp", "tp"))
    parameters = llama(use_tp=True).parameters()
    found = {
        name: files.sharded_dim(tensor, name) for name, tensor in parameters.items() if "blocks/0" in name
    }
    cut = {name.split("/")[4]: dim for name, dim in found.items() if dim is not None}
    assert cut == {"qkv_linear": 2, "out_linear": 3, "w_gate_up": 2, "w2": 3} and len(found) == 6


def test_names_of_parts_and_of_joint_layers() -> None:
    assert [
        joint_names(text) for text in (r"q_linear$", r".*\.(q_linear|kv_linear|w1)", "qkv_linear", "w2")
    ] == [
        "qkv_linear$",
        r".*\.(qkv_linear|qkv_linear|w_gate_up)",
        "qkv_linear",
        "w2",
    ]
    assert part_names("mlp.w_gate_up$") == r"mlp.\b(w1|w3)$"
    assert joints_of({"a/w1/weight"}, ["a/w_gate_up/weight"]) == {}  # one of two parts
