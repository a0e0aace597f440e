"""The Python examples of the public documents under `tt-run --emulate`: only downloads, undefined names and sizes are replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.e2e.launch import ROOT, environment, tt_run
from tests.sweep import sweep
from tt_run import contract
from tt_run.runtime.mesh import system_mesh
from tt_run.runtime.train.autograd import device

PROGRAMS = Path(__file__).parent / "programs"
N150 = ("--emulate", "--system", "n150", "python")
TEXT = ROOT / "configs" / "training" / "data" / "shakespeare.txt"

DOWNLOADS = '''
"""Stands in for huggingface_hub and transformers: nothing is downloaded."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def hf_hub_download(repo_id, filename):
    return str(HERE / filename)


class AutoTokenizer:
    vocab_size = 60

    @staticmethod
    def from_pretrained(name):
        return AutoTokenizer()

    def encode(self, text, return_tensors):
        return np.array([[ord(c) % 60 for c in text]], np.int64)

    def decode(self, ids):
        return " ".join(str(int(i)) for i in ids)
'''


def lines(out: str, word: str) -> list[str]:
    return [text.split(word, 1)[1].strip() for text in out.splitlines() if word in text]


def test_linear_regression() -> None:
    ran = tt_run(*N150, PROGRAMS / "guide_linear_regression.py").check()
    losses = [float(text) for text in lines(ran.out, "Loss:")]
    assert len(losses) == 10
    assert losses[-1] < 0.001 < losses[0]
    (prediction,) = lines(ran.out, "Prediction for [1, 1]:")
    assert float(prediction) == pytest.approx(1.0, abs=0.02)


@pytest.mark.wide
def test_nanogpt() -> None:
    ran = tt_run(*N150, PROGRAMS / "guide_nanogpt.py", TEXT).check()
    losses = [float(text) for text in lines(ran.out, "Loss:")]
    assert len(losses) == 3
    assert losses[-1] < losses[0] - 0.2
    assert lines(ran.out, "Vocab size:") == ["70"]
    text = ran.out.split("Generated text:\n[0] ")[1].removesuffix("\n").replace("\n[0] ", "\n")
    assert len(text) == 6


def llama_files(folder: Path) -> None:
    """A Llama of one block with 60 tokens in Hugging Face's names and bfloat16, as a file written here byte by byte."""
    generator = np.random.default_rng(0)
    width, heads, groups, hidden = 64, 4, 2, 128
    head = width // heads
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (60, width),
        "lm_head.weight": (60, width),
        "model.norm.weight": (width,),
        "model.layers.0.input_layernorm.weight": (width,),
        "model.layers.0.post_attention_layernorm.weight": (width,),
        "model.layers.0.self_attn.q_proj.weight": (width, width),
        "model.layers.0.self_attn.k_proj.weight": (groups * head, width),
        "model.layers.0.self_attn.v_proj.weight": (groups * head, width),
        "model.layers.0.self_attn.o_proj.weight": (width, width),
        "model.layers.0.mlp.gate_proj.weight": (hidden, width),
        "model.layers.0.mlp.up_proj.weight": (hidden, width),
        "model.layers.0.mlp.down_proj.weight": (width, hidden),
    }
    header, body = {}, b""
    for name, shape in shapes.items():
        raw = generator.standard_normal(shape).astype(ml_dtypes.bfloat16).tobytes()
        header[name] = {
            "dtype": "BF16",
            "shape": list(shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
    (folder / "downloads.py").write_text(DOWNLOADS)
    configs = folder / "tt-train" / "configs" / "model_configs"
    configs.mkdir(parents=True)
    (configs / "tinyllama.yaml").write_text(
        "transformer_config:\n  model_type: llama\n  runner_type: memory_efficient\n  num_heads: 4\n  num_groups: 2\n"
        "  embedding_dim: 64\n  intermediate_dim: 128\n  dropout_prob: 0.0\n  num_blocks: 1\n  vocab_size: 60\n"
        "  max_sequence_length: 64\n  theta: 10000.0\n  weight_tying: disabled\n"
    )


@pytest.mark.wide
def test_tinyllama(tmp_path: Path) -> None:
    llama_files(tmp_path)
    env = {"TT_METAL_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    ran = tt_run(*N150, PROGRAMS / "guide_tinyllama.py", env=env).check()
    assert "not loaded" not in ran.out
    (generated,) = lines(ran.out, "Generated:")
    ids = [int(word) for word in generated.split()]
    assert len(ids) == len("The capital of France is")
    assert all(0 <= number < 64 for number in ids)
    assert len(set(ids)) > 1


@pytest.mark.wide
def test_modules_memory_and_rates() -> None:
    ran = tt_run(*N150, PROGRAMS / "guide_modules.py").check()
    names = (
        "GPTMLP/fc1/bias,GPTMLP/fc1/weight,GPTMLP/fc2/bias,GPTMLP/fc2/weight,LayerNorm/beta,LayerNorm/gamma"
    )
    assert ran.field("names") == [names]
    assert [ran.field(word) for word in ("gradients", "deterministic", "random")] == [["True"]] * 3
    for phase in ("MODEL_CREATION", "FORWARD_PASS", "BACKWARD_PASS", "ITERATION_COMPLETE"):
        assert f"--- {phase} ---" in ran.out
    (rates,) = lines(ran.out, "Samples/s:")
    samples, tokens = (float(word) for word in rates.replace("Tokens/s:", "").split(","))
    assert tokens == pytest.approx(16 * samples, rel=1e-3)
    assert samples > 0


@pytest.mark.wide
def test_parallelism() -> None:
    ran = tt_run("--emulate", "--system", "galaxy", "python", PROGRAMS / "guide_parallelism.py").check()
    errors = lines(ran.out, "error ")
    expected = [
        "RuntimeError: ParallelismContext is not initialized.",
        "RuntimeError: mesh_shape [1, 32] does not fit the mesh graph descriptor's device topology [8, 4]",
        "RuntimeError: mesh_shape [32, 1] does not fit the mesh graph descriptor's device topology [8, 4]",
        "RuntimeError: mesh_shape must be a list/tuple of 2 integers: [rows, cols]",
        "RuntimeError: mesh_shape must be a list/tuple of 2 integers: [rows, cols]",
        *(
            f"RuntimeError: Physical chip id {chip} not found in control plane chip mapping. You are"
            for chip in (32, 99)
        ),
        "RuntimeError: open_device was called after the device was created.",
        "RuntimeError: The number of parallelization axes must be equal to the number of mesh shape dimensions",
        "RuntimeError: The number of parallelization axes must be equal to the number of mesh shape dimensions",
        *["RuntimeError: ParallelismContext is not initialized."] * 2,
        "RuntimeError: ParallelismContext is already initialized.",
        "RuntimeError: Output features must be divisible by the TP size. Output features = 12, TP size = 8",
        "RuntimeError: Input features must be divisible by the TP size. Input features = 12, TP size = 8",
        "RuntimeError: DistributedContext is not initialized.",
        "RuntimeError: SocketManager is not initialized. Do not forget to call initialize_socket_manager.",
        "RuntimeError: the tensor is sharded over 32 devices",
    ]
    assert len(errors) == len(expected)
    for text, start in zip(errors, expected, strict=True):
        assert text.startswith(start)
    assert lines(ran.out, "axes")[-1] == "0 4 1 8"
    assert "shape [2, 1, 1, 1]" in ran.out
    assert ran.field("batch") == ["4"]
    assert lines(ran.out, "mesh ")[-1] == "[4, 8]"
    assert lines(ran.out, "opened") == ["[1, 8]", "[8, 4]", "[1, 1]"]


OPEN = """
import sys, ttml
ctx = ttml.autograd.AutoContext.get_instance()
ctx.open_device([int(side) for side in sys.argv[1].split("x")])
print("opened", list(ctx.get_device().shape), ctx.get_device().get_num_devices())
"""
LINE = str(ROOT / "configs" / "mgd" / "galaxy_1x32_mesh_graph_descriptor.textproto")


@pytest.mark.parametrize(
    ("shape", "env", "told"),
    [
        pytest.param("1x8", {}, "", id="8 devices choose the T3000 as a line", marks=pytest.mark.wide),
        pytest.param("1x32", {}, "", id="32 devices choose the Galaxy as a line", marks=pytest.mark.wide),
        pytest.param("4x8", {}, "laid out row by row", id="the guide's example on the file that is chosen"),
        pytest.param(
            "4x8",
            {"TT_MESH_GRAPH_DESC_PATH": LINE, "TT_RUN_MESH_SHAPE": "any"},
            "row by row",
            marks=pytest.mark.wide,
        ),
    ],
)
def test_a_descriptor_is_chosen(shape: str, env: dict[str, str], told: str) -> None:
    ran = run_alone(OPEN, shape, env)
    rows, columns = shape.split("x")
    assert ran.stdout == f"opened [{rows}, {columns}] {int(rows) * int(columns)}\n"
    assert told in ran.stderr
    assert bool(ran.stderr) == bool(told)


@pytest.mark.parametrize(
    ("shape", "env", "told"),
    sweep(
        [
            ("4x8", {"TT_MESH_GRAPH_DESC_PATH": LINE}, "mesh_shape [4, 8] does not fit"),
            ("4x8", {"TT_MESH_GRAPH_DESC_PATH": LINE, "TT_RUN_MESH_SHAPE": "yes"}, "is not one of fit, any"),
            ("1x8", {"TT_MESH_GRAPH_DESC_PATH": "/absent.textproto"}, "/absent.textproto"),
        ],
        quick=["1x8"],
    ),
)
def test_a_descriptor_that_does_not_do(shape: str, env: dict[str, str], told: str) -> None:
    ran = run_alone(OPEN, shape, env)
    assert ran.returncode not in (0, -9)
    assert told in ran.stderr


def test_a_process_keeps_the_system_that_it_has_met(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (contract.MESH_GRAPH_DESC_PATH, contract.SYSTEM):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(device, "_chosen", None)
    system_mesh()
    assert not device._choose_descriptor(8) and contract.SYSTEM not in os.environ


def run_alone(code: str, word: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A program of one process that no launcher started: the shims are on its path."""
    words = {"PYTHONPATH": f"{ROOT / 'tt_run' / 'shims'}:{ROOT}", **env}
    return subprocess.run(
        [sys.executable, "-c", code, word], env=environment(words), capture_output=True, text=True, timeout=60
    )
