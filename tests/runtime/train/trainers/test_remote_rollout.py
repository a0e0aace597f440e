"""Completions of another rank: the trainer asks it over MPI, sends it weights, and it has the same numbers afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.launch import tt_run
from tests.runtime.train.trainers.source import source
from tt_run.runtime.mesh import distributed
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.runner import WeightTyingType
from tt_run.runtime.train.trainers.batch_source import pad_logprobs
from tt_run.runtime.train.trainers.model_source import (
    build_for_completions,
    load_tokenizer,
    weights_ref_hf_dict,
)
from tt_run.runtime.train.trainers.received_weights import take_hf_weights
from tt_run.runtime.train.trainers.remote_rollout import MPIRolloutClient, MPIRolloutServer
from tt_run.runtime.train.trainers.sampler import TTMLRolloutSampler
from tt_run.runtime.train.trainers.ttt_sampler import (
    TTTRolloutSampler,
    bf16_attn_bfp8_mlp_optimizations,
    llama_stop_and_pad,
)
from tt_run.runtime.train.trainers.weight_bridge import HostWeightBridge

PROGRAM = Path(__file__).parents[1] / "programs" / "remote_rollout.py"
BRIDGE = PROGRAM.with_name("weight_bridge.py")
SIZES: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 96}  # fmt: skip


@pytest.mark.wide
@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "every", "versions"),
    [("llama", 1, "0123"), ("qwen3", 2, "0022")],
)
def test_a_rank_makes_completions_for_another(tmp_path: Path, kind: str, every: int, versions: str) -> None:
    folder = source(tmp_path, kind)
    words = ("--emulate", "--system", "n300", "--meshes", "2", "python", PROGRAM, folder, kind, str(every))
    ran = tt_run(*words, torch=True, timeout=110).check()
    assert list(ran.field("version")) == list(versions)
    weights = list(ran.field("weights"))
    assert len(weights) == 2 and len(set(weights)) == 1


@pytest.mark.wide
@pytest.mark.torch
@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_both_ranks_make_the_trainer(tmp_path: Path, kind: str) -> None:
    """Rank 0 trains; rank 1 has a model on each device of a mesh of its own and serves, with the weights of each step at the end."""
    folder = source(tmp_path, kind)
    words = ("--emulate", "--system", "n300", "--meshes", "2", "python", PROGRAM, folder, kind, "1", "both")
    ran = tt_run(*words, torch=True, timeout=110).check()
    assert list(ran.field("version")) == list("0123")
    assert ran.field("served") == ["4"] and len(ran.field("weights")) == 1


@pytest.mark.torch
@pytest.mark.parametrize("kind", [pytest.param("llama", marks=pytest.mark.wide), "qwen3"])
def test_models_on_each_device_make_the_completions_of_one(opened: Any, tmp_path: Path, kind: str) -> None:
    """Those of `TTMLRolloutSampler`, and with weights that came over those of a model that has them; with MLPs in half the bits nearly so."""
    folder, prompts = str(source(tmp_path, kind)), [[2, 3, 4], [5, 6], [7, 8, 9, 10]]
    mesh = opened((1, 2), ddp=True).get_device()
    with AutoContext.get_instance().standing_on(mesh.create_submeshes(MeshShape(1, 1))[0]):
        model = build_for_completions(folder, 33)
        theirs = TTMLRolloutSampler(model, load_tokenizer(folder), 5, 0.0, 2)
        expected = theirs.generate(prompts)
    settings: dict[str, Any] = {
        "mesh_device": mesh, "model_source": folder, "max_batch_size": 2, "max_seq_len": 33, "instruct": True, "stop_token_ids": [0, 1],
        "pad_token_id": 0, "completions_per_prompt": 2, "max_completion_length": 5, "temperature": 0.0,
    }  # fmt: skip
    sampler = TTTRolloutSampler(**settings, optimizations=lambda layers, name: None)
    found = sampler.generate(prompts)
    assert found.completions == expected.completions and found.prompts == expected.prompts
    np.testing.assert_allclose(found.logprobs, expected.logprobs, atol=2e-2)
    other = TTTRolloutSampler(**settings, optimizations=lambda layers, name: None, dummy_weights=True)
    assert other.generate(prompts).completions != expected.completions
    other.update_weights([weights_ref_hf_dict(m) for m in sampler.models], version=1)
    assert other.generate(prompts).completions == expected.completions and other.weight_version == 1
    halved = TTTRolloutSampler(**settings, optimizations=bf16_attn_bfp8_mlp_optimizations)
    near = halved.generate_and_get_log_probs(prompts, max_new_tokens=1)[1]
    first = [[float(row[0])] for row in expected.logprobs[::2]]
    assert near != first and np.allclose(near, first, atol=0.3)
    for act, kind_of, words in (
        (lambda: sampler.generate_tokens([[1]] * 5), ValueError, r"got 5 prompts; one call serves 1..4 \(2 devices x max_batch_size=2\)"),
        (lambda: sampler.generate_tokens([[1], []]), ValueError, "prompt 1 has no tokens"),
        (lambda: sampler.generate_tokens([[1]], max_new_tokens=33), ValueError, r"max_new_tokens \(33\) must be smaller than max_seq_len \(33\)"),
        (lambda: sampler.generate_tokens([[1] * 30], max_new_tokens=4), ValueError, "1 prompt.* longer than 29 tokens .* with 30 tokens"),
        (lambda: sampler.update_weights([{}], version=1), RuntimeError, "got 1 dicts but sampler has 2 submeshes"),
    ):  # fmt: skip
        with pytest.raises(kind_of, match=words):
            act()
    assert llama_stop_and_pad(folder) == ([1], 0)


@pytest.mark.wide
def test_every_submesh_gets_the_weights() -> None:
    words = ("--emulate", "--system", "n300-x2", "--meshes", "2", "python", BRIDGE)
    held = tt_run(*words, timeout=110).check().field("holds")
    assert len(held) == 5 and len(set(held)) == 1


@pytest.mark.parametrize("tied", [False, True])
def test_weights_come_back_into_a_model(opened: Any, tied: bool) -> None:
    opened((1, 2), ddp=True)
    tying = WeightTyingType.Enabled if tied else WeightTyingType.Disabled
    one, other = (DecoderLlama(LlamaConfig(**SIZES, attention_bias=True, weight_tying=tying)) for _ in "ab")
    for tensor in one.parameters().values():
        shifted = tensor.to_numpy() + np.arange(tensor.to_numpy().size, dtype=np.float32).reshape(
            tensor.shape()
        )
        tensor.set_value(Tensor.from_numpy(shifted).get_value())
    sent = weights_ref_hf_dict(one)
    take_hf_weights(other, sent)
    for name, tensor in one.parameters().items():
        assert tensor.to_numpy().tobytes() == other.parameters()[name].to_numpy().tobytes(), name
    del sent["model.layers.1.self_attn.k_proj.weight"]
    with pytest.raises(ValueError, match=r"no 'model.layers.1.self_attn.k_proj.weight', which .*qkv_linear"):
        take_hf_weights(other, sent)
    with pytest.raises(TypeError, match="taken by ttml Llama and Qwen3 models, not int"):
        take_hf_weights(3, sent)


def test_ends_that_are_not_where_they_belong(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = opened().get_device()
    monkeypatch.setattr(distributed, "distributed_context_is_initialized", lambda: False)
    with pytest.raises(RuntimeError, match=r"HostWeightBridge: ttnn distributed context is not initialized"):
        HostWeightBridge.init_sender(mesh=mesh, peer_rank=1)
    monkeypatch.undo()
    distributed.init_distributed_context()
    bridge = HostWeightBridge.init_sender(mesh=mesh, peer_rank=1)
    for act, kind, words in (
        (lambda: HostWeightBridge.init_receiver(mesh=mesh, peer_rank=0, submeshes=[mesh]), RuntimeError, r"role='receiver' but local MPI rank is 0 \(expected 1\)"),
        (lambda: HostWeightBridge(role="both", peer_rank=1), ValueError, "role must be 'sender' or 'receiver', got 'both'"),
        (lambda: HostWeightBridge.init_sender(mesh=None, peer_rank=1), ValueError, "requires a mesh"),
        (bridge.receive_weights, RuntimeError, "receive_weights called on a sender"),
        (lambda: bridge.send_weights({"w": Tensor.from_numpy(np.ones((1, 1, 1, 4), np.uint32)).get_value()}), ValueError, "'w' has dtype=.*expected ttnn.bfloat16"),
        (lambda: MPIRolloutServer(peer_rank=0, bridge=bridge, sampler=None), RuntimeError, r"MPIRolloutServer must run on TTT_RANK=1 \(got local rank 0\)"),  # type: ignore[arg-type]
        (lambda: MPIRolloutClient(peer_rank=3, bridge=bridge), RuntimeError, r"peer_rank must be TTT_RANK=1 \(got 3\)"),
    ):  # fmt: skip
        with pytest.raises(kind, match=words):
            act()


def test_log_probabilities_of_tokens_that_are_there() -> None:
    assert pad_logprobs([[1, 2], []], [[-1.0, -2.0], []], 3).tolist() == [[-1, -2, 0], [0, 0, 0]]
    with pytest.raises(RuntimeError, match="row 0: 1 log-probs for 2 tokens of 3"):
        pad_logprobs([[1, 2]], [[-1.0]], 3)
