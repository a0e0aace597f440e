"""Models against PyTorch: logits, every gradient, 20 steps of training; what must be the same bits among ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.runtime.train import references
from tests.runtime.train.pytorch import torch_or_skip
from tests.sweep import sweep
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.data import build_causal_mask
from tt_run.runtime.train.models.cache import KvCache, KvCacheConfig
from tt_run.runtime.train.models.gpt import (
    GPT2TransformerConfig,
    NanoGPTConfig,
    create_gpt2_model,
    create_nanogpt,
)
from tt_run.runtime.train.models.llama import LlamaConfig, create_llama_model
from tt_run.runtime.train.models.pipeline import PipelineParallelConfig
from tt_run.runtime.train.models.runner import RunnerType, WeightTyingType
from tt_run.runtime.train.ops import rope
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.optimizers.adamw import AdamW, AdamWConfig

BLOCKS, HEADS, WIDTH, LENGTH, VOCABULARY, BATCH = 2, 4, 64, 32, 96, 3

# Largest difference relative to the largest element. float32: order of sums. bfloat16: one rounding (2^-9) per operation through two
# blocks for logits; gradients meet twice as many and sums with cancellation.
LOGITS = {"float32": 5e-6, "bfloat16": 4e-2}
GRADIENTS = {"float32": 3e-5, "bfloat16": 1.2e-1}
CURVE = {"float32": 2e-5, "bfloat16": 2e-2}

NANO = NanoGPTConfig(VOCABULARY, LENGTH, WIDTH, BLOCKS, HEADS, 0.0)
GPT2 = GPT2TransformerConfig(HEADS, WIDTH, 0.0, BLOCKS, VOCABULARY, LENGTH)
LLAMA = LlamaConfig(HEADS, 2, WIDTH, 96, num_blocks=BLOCKS, vocab_size=VOCABULARY, max_sequence_length=LENGTH)
SCALING = {
    "scaling_factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_context_length": 64,
}
SCALED = replace(LLAMA, **SCALING)


def gpt_reference(torch: Any, p: dict[str, Any], ids: Any) -> Any:
    return references.gpt(torch, p, ids, BLOCKS, HEADS)


def llama_reference(scaling: dict[str, float] | None) -> Callable[..., Any]:
    rates = references.frequencies(WIDTH // HEADS, 10000.0, scaling)
    return lambda torch, p, ids: references.llama(torch, p, ids, BLOCKS, HEADS, 2, rates)


CASES = {
    "nanogpt": (lambda: create_nanogpt(NANO), gpt_reference),
    "nanogpt-untied": (
        lambda: create_nanogpt(replace(NANO, weight_tying=WeightTyingType.Enabled)),
        gpt_reference,
    ),
    "gpt2": (lambda: create_gpt2_model(GPT2), gpt_reference),
    "gpt2-tied": (
        lambda: create_gpt2_model(replace(GPT2, weight_tying=WeightTyingType.Enabled)),
        gpt_reference,
    ),
    "llama": (lambda: create_llama_model(LLAMA), llama_reference(None)),
    "llama-scaled": (lambda: create_llama_model(SCALED), llama_reference(SCALING)),
    "llama-tied": (
        lambda: create_llama_model(replace(LLAMA, weight_tying=WeightTyingType.Enabled)),
        llama_reference(None),
    ),
}


def text(step: int = 0) -> np.ndarray:
    return np.random.default_rng(step).integers(0, VOCABULARY, (BATCH, LENGTH + 1)).astype(np.uint32)


def ids(array: np.ndarray) -> Tensor:
    return Tensor.from_numpy(
        array.reshape(len(array), 1, 1, -1), layout=Layout.ROW_MAJOR, new_type=DataType.UINT32
    )


def mask(length: int = LENGTH) -> Tensor:
    tensor = Tensor.from_numpy(build_causal_mask(length), new_type=DataType.BFLOAT16)
    tensor.set_requires_grad(False)
    return tensor


def loss_of(model: Any, windows: np.ndarray) -> Tensor:
    logits = model(ids(windows[:, :-1].copy()), mask())
    targets = Tensor.from_numpy(windows[:, 1:].copy(), layout=Layout.ROW_MAJOR, new_type=DataType.UINT32)
    return cross_entropy_loss(logits, targets)


def theirs(torch: Any, model: Any) -> dict[str, Any]:
    """Parameters by name without the root, as torch has them."""
    return {
        name.split("/", 1)[1]: torch.tensor(tensor.to_numpy(), requires_grad=True)
        for name, tensor in model.parameters().items()
    }


def assert_close(ours: np.ndarray, other: Any, bound: float, what: str) -> None:
    expected = other.detach().numpy().reshape(ours.shape)
    assert float(np.abs(ours - expected).max()) <= bound * max(float(np.abs(expected).max()), 1e-5), what


@pytest.mark.torch
@pytest.mark.parametrize("arithmetic", sweep(["float32", "bfloat16"], quick=["bfloat16"]))
@pytest.mark.parametrize("name", CASES)
def test_logits_and_all_gradients(opened: Any, name: str, arithmetic: str) -> None:
    torch = torch_or_skip()
    context = opened((1, 1), arithmetic)
    make, reference = CASES[name]
    model = make()
    parameters = theirs(torch, model)
    windows = text()
    inputs, targets = (torch.tensor(part.astype(np.int64)) for part in (windows[:, :-1], windows[:, 1:]))
    expected = reference(torch, parameters, inputs)
    logits = model(ids(windows[:, :-1].copy()), mask())
    bare = model(ids(windows[:, :-1].copy()), None)
    assert bare.to_numpy().tobytes() == logits.to_numpy().tobytes(), "without a mask it is causal"
    assert logits.shape() == [BATCH, 1, LENGTH, VOCABULARY]
    assert_close(logits.to_numpy(), expected, LOGITS[arithmetic], "logits")
    context.reset_graph()
    loss_of(model, windows).backward()
    torch.nn.functional.cross_entropy(expected.reshape(-1, VOCABULARY), targets.reshape(-1)).backward()
    for path, tensor in model.parameters().items():
        gradient = np.asarray(tensor.get_grad().shards.data[0])
        assert_close(gradient, parameters[path.split("/", 1)[1]].grad, GRADIENTS[arithmetic], path)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "arithmetic"),
    [
        *(pytest.param("nanogpt", each, marks=pytest.mark.slow) for each in ("float32", "bfloat16")),
        pytest.param("gpt2", "float32", marks=pytest.mark.wide),
        pytest.param("gpt2", "bfloat16", marks=pytest.mark.wide),
        pytest.param("llama", "float32", marks=pytest.mark.wide),
        ("llama", "bfloat16"),
    ],
)
def test_twenty_steps_follow_the_same_curve(opened: Any, name: str, arithmetic: str) -> None:
    torch = torch_or_skip()
    context = opened((1, 1), arithmetic)
    make, reference = CASES[name]
    model = make()
    parameters = theirs(torch, model)
    optimizer = AdamW(model.parameters(), AdamWConfig.make(lr=1e-3, epsilon=1e-6))
    other = torch.optim.AdamW(parameters.values(), lr=1e-3, eps=1e-6, weight_decay=0.01)
    ours, curve = [], []
    for step in range(20):
        windows = text(step % 4)
        optimizer.zero_grad()
        loss = loss_of(model, windows)
        ours.append(float(loss.get_value().item()))
        loss.backward()
        context.reset_graph()
        optimizer.step()
        other.zero_grad()
        logits = reference(torch, parameters, torch.tensor(windows[:, :-1].astype(np.int64)))
        value = torch.nn.functional.cross_entropy(
            logits.reshape(-1, VOCABULARY), torch.tensor(windows[:, 1:].astype(np.int64)).reshape(-1)
        )
        value.backward()
        other.step()
        curve.append(float(value.detach()))
    np.testing.assert_allclose(ours, curve, rtol=CURVE[arithmetic])
    assert ours[-1] < ours[0] - 0.2


@pytest.mark.parametrize("arithmetic", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["nanogpt", "llama"])
def test_recomputed_blocks_give_the_same_bits(opened: Any, kind: str, arithmetic: str) -> None:
    def gradients(runner: RunnerType) -> dict[str, bytes]:
        context = opened((1, 1), arithmetic)
        if kind == "nanogpt":
            model: Any = create_nanogpt(replace(NANO, dropout=0.3, runner_type=runner))
        else:
            model = create_llama_model(replace(LLAMA, dropout_prob=0.3, runner_type=runner))
        losses = []
        for step in range(2):
            loss = loss_of(model, text(step))
            losses.append(loss.to_numpy().tobytes())
            loss.backward()
            context.reset_graph()
        found = {
            name: np.asarray(t.get_grad().shards.data).tobytes() for name, t in model.parameters().items()
        }
        return {**found, "losses": b"".join(losses), "next": context.generator.bytes(8)}

    assert gradients(RunnerType.Default) == gradients(RunnerType.MemoryEfficient)


def test_cache_gives_the_logits_of_the_whole_sequence(opened: Any) -> None:
    opened()
    model = create_llama_model(LLAMA)
    model.eval()
    tokens = text()[:1, :10]
    whole = model(ids(tokens), mask(10)).to_numpy()
    cache = KvCache(KvCacheConfig(BLOCKS, 1, 2, LENGTH, WIDTH // HEADS))
    found, start = [], 0
    for count in (4, 1, 3, 2):
        seen = build_causal_mask(10)[:, :, start : start + count, : start + count]
        out = model(ids(tokens[:, start : start + count]), Tensor.from_numpy(seen), cache, count)
        found.append(out.to_numpy())
        start += count
    np.testing.assert_allclose(np.concatenate(found, axis=2), whole, rtol=1e-4, atol=1e-5)
    assert cache.get_cache_position() == 10
    cache.reset()
    with pytest.raises(RuntimeError, match="exceed the parameters"):
        model(ids(np.zeros((1, 33), np.uint32)), None, cache, 33)


@pytest.mark.parametrize("width", [16, 64])
def test_rope_scaling_follows_the_rule(width: int) -> None:
    scaling = rope.RopeScalingParams(
        int(SCALING["original_context_length"]), SCALING["scaling_factor"], 4.0, 1.0
    )
    parameters = rope.build_rope_params(128, width, 10000.0, scaling)
    angles = np.outer(np.arange(128), references.frequencies(width, 10000.0, SCALING))
    np.testing.assert_allclose(parameters.cos, np.cos(angles), atol=1e-6)
    np.testing.assert_allclose(parameters.sin, np.sin(angles), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"embedding_dim": 60}, "embedding_dim should be divisible by 32"),
        ({"max_sequence_length": 50}, "max_sequence_length should be divisible by 32"),
        ({"num_groups": 3}, "do not divide"),
    ],
)
def test_sizes_that_do_not_divide(opened: Any, settings: dict[str, int], text: str) -> None:
    opened()
    with pytest.raises(RuntimeError, match=text):
        create_llama_model(replace(LLAMA, **settings))


@pytest.mark.parametrize(
    ("blocks", "counts", "words"),
    [
        (4, {0: -1, 1: 5}, "has -1 blocks; help: a whole number for each rank, 0 or more"),
        (4, {0: 2.5, 1: 1.5}, "has 2.5 blocks; help"),
        (4, {0: 1, 1: 1}, r"must match number of blocks per rank.*help: counts whose sum is 4"),
        (4, {0: 2, "1": 2}, r"names ranks \[0, '1'\], the job has ranks 0..1; help"),
    ],
)
def test_stages_that_cannot_be(blocks: int, counts: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PipelineParallelConfig(blocks, counts).stage(0, 2)


def test_a_stage_may_have_no_block() -> None:
    stages = PipelineParallelConfig(4, {0: 0, 1: 3, 2: 1})
    assert [stages.stage(rank, 3) for rank in range(3)] == [range(0), range(3), range(3, 4)]
