"""Checkpoints and weight files: the same bits after a resume, on the same mesh and on another; files of Hugging Face's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.train import references
from tests.runtime.train.pytorch import torch_or_skip
from tests.runtime.train.test_models import (
    BLOCKS,
    GPT2,
    LENGTH,
    LLAMA,
    NANO,
    gpt_reference,
    ids,
    loss_of,
    mask,
    text,
)
from tt_run.runtime.train.common import checkpoints
from tt_run.runtime.train.common.checkpoints import export_safetensors, import_safetensors
from tt_run.runtime.train.models import safetensors
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig as DecoderConfig
from tt_run.runtime.train.models.gpt import (
    create_distributed_gpt2_model,
    create_distributed_nanogpt,
    create_gpt2_model,
    create_nanogpt,
)
from tt_run.runtime.train.models.llama import LlamaConfig, create_distributed_llama_model, create_llama_model
from tt_run.runtime.train.models.safetensors import Weights
from tt_run.runtime.train.optimizers.adamw import AdamW, AdamWConfig
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

DROPPED = GPT2.__class__(4, 64, 0.2, BLOCKS, 96, LENGTH)


def steps(context: Any, model: Any, optimizer: Any, numbers: range) -> None:
    for number in numbers:
        optimizer.zero_grad()
        loss_of(model, text(number)).backward()
        context.reset_graph()
        optimizer.step()


def made(context: Any, parallel: bool) -> tuple[Any, Any]:
    model = create_distributed_gpt2_model(DROPPED) if parallel else create_gpt2_model(DROPPED)
    return model, AdamW(model.parameters(), AdamWConfig.make(lr=1e-3))


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("arithmetic", ["float32", "bfloat16"])
def test_resume_gives_the_bits_of_an_unbroken_run(
    opened: Any, tmp_path: Path, parts: int, arithmetic: str
) -> None:
    def start() -> Any:
        return opened((1, parts), arithmetic, tp=parts > 1)

    context = start()
    model, optimizer = made(context, parts > 1)
    steps(context, model, optimizer, range(2))
    path = checkpoints.save(tmp_path / "run_step_2", step=2, model=model, optimizer=optimizer)
    steps(context, model, optimizer, range(2, 4))
    expected = {name: whole_parameter(tensor).tobytes() for name, tensor in model.parameters().items()}
    context = start()
    context.set_seed(99)
    model, optimizer = made(context, parts > 1)
    assert checkpoints.apply(checkpoints.load(path), model, optimizer) == 2
    assert optimizer.get_steps() == 2
    steps(context, model, optimizer, range(2, 4))
    assert {name: whole_parameter(t).tobytes() for name, t in model.parameters().items()} == expected


def test_a_checkpoint_of_a_sharded_model_goes_on_another_mesh(opened: Any, tmp_path: Path) -> None:
    context = opened((1, 4), tp=True)
    model, optimizer = made(context, True)
    model.eval()
    steps(context, model, optimizer, range(1))
    path = checkpoints.save(tmp_path / "cut", step=1, model=model, optimizer=optimizer)
    saved = {name: whole_parameter(tensor).tobytes() for name, tensor in model.parameters().items()}
    expected = model(ids(text()[:, :-1].copy()), mask()).to_numpy()
    for parts in (1, 2):
        context = opened((1, parts), tp=parts > 1)
        context.set_seed(5)
        model, optimizer = made(context, parts > 1)
        checkpoints.apply(checkpoints.load(path), model, optimizer)
        model.eval()
        assert {name: whole_parameter(t).tobytes() for name, t in model.parameters().items()} == saved
        found = model(ids(text()[:, :-1].copy()), mask()).to_numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        state = checkpoints.load(
            checkpoints.save(tmp_path / "again", step=1, model=model, optimizer=optimizer)
        )
        for key, entry in checkpoints.load(path).optimizer.items():
            assert np.array_equal(state.optimizer[key], entry), key


def test_what_is_no_checkpoint_is_refused(opened: Any, tmp_path: Path) -> None:
    context = opened()
    file = tmp_path / "x.npz"
    file.write_bytes(b"no archive")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        checkpoints.load(file)
    with pytest.raises(FileNotFoundError):
        checkpoints.load(tmp_path / "none.npz")
    model, _ = made(context, False)
    path = checkpoints.save(tmp_path / "gpt", step=1, model=model)
    with pytest.raises(ValueError, match="another model"):
        checkpoints.apply(checkpoints.load(path), create_llama_model(LLAMA))
    wide = create_gpt2_model(DROPPED.__class__(4, 96, 0.2, BLOCKS, 96, LENGTH))
    with pytest.raises(ValueError, match=r"saved with shape \[.*\], the model has"):
        checkpoints.apply(checkpoints.load(path), wide)


def test_the_latest_checkpoint(tmp_path: Path) -> None:
    assert checkpoints.latest(tmp_path / "run") is None
    for name in ("run_step_9", "run_step_10", "runner_step_99"):
        (tmp_path / f"{name}.npz").touch()
    assert checkpoints.latest(tmp_path / "run") == tmp_path / "run_step_10.npz"
    (tmp_path / "run_final.npz").touch()
    assert checkpoints.latest(tmp_path / "run") == tmp_path / "run_final.npz"


# --- safetensors -----------------------------------------------------------------------------------------------------


def write_safetensors(folder: Path, arrays: dict[str, np.ndarray], name: str = "model.safetensors") -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for key, array in arrays.items():
        kind = {"float32": "F32", "bfloat16": "BF16", "float16": "F16"}[array.dtype.name]
        raw = array.tobytes()
        header[key] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    encoded = json.dumps(header).encode()
    (folder / name).write_bytes(len(encoded).to_bytes(8, "little") + encoded + body)


WIDTH, HEADS, GROUPS, HIDDEN, VOCABULARY = 64, 4, 2, 96, 50
CONFIG = LlamaConfig(HEADS, GROUPS, WIDTH, HIDDEN, num_blocks=1, vocab_size=64, max_sequence_length=32)


def llama_arrays() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(8)
    block = "layers.0."
    shapes = {
        "embed_tokens": (VOCABULARY, WIDTH),
        "lm_head": (VOCABULARY, WIDTH),
        "norm": (WIDTH,),
        f"{block}input_layernorm": (WIDTH,),
        f"{block}post_attention_layernorm": (WIDTH,),
        f"{block}self_attn.q_proj": (WIDTH, WIDTH),
        f"{block}self_attn.k_proj": (WIDTH // 2, WIDTH),
        f"{block}self_attn.v_proj": (WIDTH // 2, WIDTH),
        f"{block}self_attn.o_proj": (WIDTH, WIDTH),
        f"{block}mlp.gate_proj": (HIDDEN, WIDTH),
        f"{block}mlp.up_proj": (HIDDEN, WIDTH),
        f"{block}mlp.down_proj": (WIDTH, HIDDEN),
    }
    return {f"{name}.weight": 0.2 * draw.standard_normal(shape, np.float32) for name, shape in shapes.items()}


@pytest.mark.torch
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("prefix", ["", "model."])
def test_a_loaded_llama_computes_what_its_file_means(
    opened: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], parts: int, prefix: str
) -> None:
    torch = torch_or_skip()
    opened((1, parts), tp=parts > 1)
    arrays = llama_arrays()
    # One matrix the other way round, and a tensor that no Llama has.
    stored = {prefix + k: v for k, v in arrays.items()} | {"rotary.inv_freq": np.ones(3, np.float32)}
    turned = f"{prefix}layers.0.mlp.up_proj.weight"
    stored[turned] = np.ascontiguousarray(stored[turned].T)
    write_safetensors(tmp_path, stored)
    model = create_distributed_llama_model(CONFIG) if parts > 1 else create_llama_model(CONFIG)
    before = {name: whole_parameter(tensor) for name, tensor in model.parameters().items()}
    model.load_from_safetensors(str(tmp_path))
    assert "ignored: rotary.inv_freq" in capsys.readouterr().out
    tokens = np.random.default_rng(3).integers(0, VOCABULARY, (2, 12)).astype(np.uint32)
    model.eval()
    found = model(ids(tokens), mask(12)).to_numpy()[:, 0, :, :VOCABULARY]
    rates = references.frequencies(WIDTH // HEADS, 10000.0)
    twins = {name: torch.tensor(array) for name, array in arrays.items()}
    expected = references.hugging_face_llama(
        torch, twins, torch.tensor(tokens.astype(np.int64)), HEADS, GROUPS, rates
    ).numpy()
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
    table = whole_parameter(model.parameters()["llama/tok_emb/weight"])
    assert table[0, 0, VOCABULARY:].tobytes() == before["llama/tok_emb/weight"][0, 0, VOCABULARY:].tobytes()


@pytest.mark.torch
@pytest.mark.parametrize("parts", [1, 2])
def test_a_loaded_gpt2_computes_what_its_file_means(opened: Any, tmp_path: Path, parts: int) -> None:
    torch = torch_or_skip()
    opened((1, parts), tp=parts > 1)
    source = create_gpt2_model(GPT2)
    arrays = {n.split("/", 1)[1]: t.to_numpy() for n, t in source.parameters().items()}
    names = {
        "ln1": "ln_1",
        "ln2": "ln_2",
        "attention/qkv_linear": "attn.c_attn",
        "attention/out_linear": "attn.c_proj",
    }
    names |= {"mlp/fc1": "mlp.c_fc", "mlp/fc2": "mlp.c_proj"}
    stored = {}
    for name, array in arrays.items():
        root, _, kind = name.rpartition("/")
        kind = {"gamma": "weight", "beta": "bias"}.get(kind, kind)
        if root.startswith("blocks/"):
            _, number, part = root.split("/", 2)
            matrix = (
                array[0, 0].T
                if kind == "weight" and part.partition("/")[0] in ("attention", "mlp")
                else array.reshape(-1)
            )
            stored[f"transformer.h.{number}.{names[part]}.{kind}"] = np.ascontiguousarray(matrix)
        else:
            new = {
                "tok_emb": "transformer.wte",
                "pos_emb": "transformer.wpe",
                "fc": "lm_head",
                "ln_f": "transformer.ln_f",
            }[root]
            stored[f"{new}.{kind}"] = array[0, 0] if array.shape[2] > 1 else array.reshape(-1)
    write_safetensors(tmp_path, stored)
    model = create_distributed_gpt2_model(GPT2) if parts > 1 else create_gpt2_model(GPT2)
    model.load_from_safetensors(str(tmp_path))
    model.eval()
    tokens = text()[:, :-1].copy()
    expected = gpt_reference(
        torch, {n: torch.tensor(a) for n, a in arrays.items()}, torch.tensor(tokens.astype(np.int64))
    )
    np.testing.assert_allclose(model(ids(tokens), mask()).to_numpy()[:, 0], expected.numpy(), atol=1e-5)


def test_a_nanogpt_is_cut_over_devices(opened: Any) -> None:
    opened((1, 2), tp=True)
    whole, cut = (make(NANO).parameters() for make in (create_nanogpt, create_distributed_nanogpt))
    halved = [(a, b) for a, b in zip(whole.values(), cut.values(), strict=True) if a.shape() != b.shape()]
    assert halved and all(np.prod(a.shape()) == 2 * np.prod(b.shape()) for a, b in halved)


def test_bad_weight_files(opened: Any, tmp_path: Path) -> None:
    opened()
    model = create_llama_model(CONFIG)
    with pytest.raises(FileNotFoundError, match=r"No \.safetensors files found in"):
        model.load_from_safetensors(str(tmp_path))
    write_safetensors(tmp_path, {"lm_head.weight": np.zeros((70, 60), np.float32)})
    with pytest.raises(
        RuntimeError, match=r"lm_head.weight: the file has shape \[70, 60\], the model wants \[64, 64\]"
    ):
        model.load_from_safetensors(str(tmp_path))
    whole = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[:-4])
    with pytest.raises(ValueError, match="cut short or damaged"):
        Weights(str(tmp_path))
    for length, rest in ((2**64 - 1, b"\xff" * 32), (9, b"{}"), (10, b"{}      "), (1, b"{}")):
        (tmp_path / "model.safetensors").write_bytes(length.to_bytes(8, "little") + rest)
        with pytest.raises(ValueError, match=f"is no safetensors file: its header would have {length} bytes"):
            Weights(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    assert not Weights(str(tmp_path))


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_types_of_weight_files(tmp_path: Path, kind: Any) -> None:
    array = np.linspace(-2, 2, 24).astype(kind).reshape(2, 3, 4)
    write_safetensors(tmp_path, {"model.a": array})
    write_safetensors(tmp_path, {"b": array[0]}, "second.safetensors")
    found = Weights(str(tmp_path))
    assert sorted(found) == ["a", "b"]
    assert found["a"].tobytes() == array.astype(np.float32).tobytes()


@pytest.mark.parametrize("arithmetic", ["float32", "bfloat16"])
def test_weights_alone_go_through_safetensors(opened: Any, tmp_path: Path, arithmetic: str) -> None:
    """Written from a model that is cut over devices, read by the package itself and into a model on one device."""
    sizes: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": 64}  # fmt: skip
    opened((1, 2), arithmetic, tp=True)
    cut = DecoderLlama(DecoderConfig(**sizes, use_tp=True))
    export_safetensors(tmp_path / "model.safetensors", cut)
    expected = {name: whole_parameter(tensor) for name, tensor in cut.parameters().items()}
    opened((1, 1), arithmetic)
    other = DecoderLlama(DecoderConfig(**sizes))
    import_safetensors(tmp_path, other)
    for name, tensor in other.parameters().items():
        assert np.array_equal(tensor.to_numpy(), expected[name]), name
    with pytest.raises(ValueError, match="is of another model"):
        import_safetensors(tmp_path, DecoderLlama(DecoderConfig(**{**sizes, "num_hidden_layers": 2})))
    package = pytest.importorskip("safetensors")
    with package.safe_open(tmp_path / "model.safetensors", "np") as stored:
        assert set(stored.keys()) == set(expected)
    with pytest.raises(TypeError, match="has type complex64"):
        safetensors.write(tmp_path / "x", {"x": np.zeros(2, np.complex64)})
