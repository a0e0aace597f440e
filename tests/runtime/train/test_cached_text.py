"""Text by keys and values that are kept, as `ttml.common.generate` of the reference makes it, and what it is made with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.sweep import sweep
from tt_run.runtime.train.autograd.graph import GradMode
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.cached_text import (
    create_causal_mask_kv_cache,
    positions_to_tensor,
    tokens_to_tensor_kv_cache,
)
from tt_run.runtime.train.common.generate import generate
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import get_device_peak_tflops_bf16, no_grad
from tt_run.runtime.train.memory import MemoryUsageTracker
from tt_run.runtime.train.memory_snapshots import memory_snapshot
from tt_run.runtime.train.models import llama_forms
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3, Qwen3Config
from tt_run.runtime.train.models.llama import LlamaConfig, create_llama_model
from tt_run.runtime.train.ops import unary

VOCABULARY, LENGTH = 40, 40
CONFIG = SimpleNamespace(
    num_blocks=2,
    num_heads=4,
    num_groups=2,
    embedding_dim=128,
    vocab_size=VOCABULARY,
    max_sequence_length=LENGTH,
)


def llama() -> Any:
    return create_llama_model(
        LlamaConfig(
            num_heads=4,
            num_groups=2,
            embedding_dim=128,
            num_blocks=2,
            vocab_size=64,
            max_sequence_length=64,
            dropout_prob=0.0,
        )
    )


def decoder(kind: Any, config: Any, **more: Any) -> Any:
    return kind(
        config(
            hidden_size=128,
            num_attention_heads=4,
            num_key_value_heads=2,
            num_hidden_layers=2,
            intermediate_size=128,
            vocab_size=64,
            max_position_embeddings=64,
            **more,
        )
    )


MODELS = {
    "llama": llama,
    "decoder": lambda: decoder(llama_forms.Llama, llama_forms.LlamaConfig),
    "qwen3": lambda: decoder(Qwen3, Qwen3Config, head_dim=32),
}


def most_likely(model: Any, prompt: list[int]) -> list[int]:
    """The whole text again for each token."""
    text = list(prompt)
    model.eval()
    with no_grad():
        while len(text) < LENGTH:
            mask = create_causal_mask_kv_cache(len(text))
            logits = model(tokens_to_tensor_kv_cache(text), mask).to_numpy()
            text.append(int(logits[0, 0, len(text) - 1, :VOCABULARY].argmax()))
    model.train()
    return text


@pytest.mark.parametrize(
    ("kind", "length", "shape"),
    sweep(
        [
            pytest.param(kind, length, shape, id=f"{kind}-{length}-{shape[1]}")
            for kind in MODELS
            for length in (1, 5, 32, 33)
            for shape in ((1, 1), (1, 2))
        ],
        quick=["llama-5-1", "qwen3-1-2", "decoder-33-1"],
    ),
)
def test_kept_keys_and_values_change_no_token(
    opened: Any, kind: str, length: int, shape: tuple[int, int]
) -> None:
    context = opened(shape, "float32", tp=shape[1] > 1)
    model = MODELS[kind]()
    prompt = [(7 * i + 3) % VOCABULARY for i in range(length)]
    expected = most_likely(model, prompt)
    assert generate(model, prompt, CONFIG).tolist() == expected
    assert model.get_run_mode().name == "TRAIN"
    assert context.get_gradient_mode() is GradMode.ENABLED


def test_warm_text_repeats_with_numpy_s_seed(opened: Any) -> None:
    opened()
    model = llama()

    def drawn(seed: int) -> list[int]:
        np.random.seed(seed)
        return list(generate(model, np.array([1, 2, 3]), transformer_config=CONFIG, temperature=5.0))

    first = drawn(1)
    assert first == drawn(1)
    assert first != drawn(2)
    assert first[:3] == [1, 2, 3]
    assert max(first) < VOCABULARY
    with pytest.raises(TypeError, match="takes no max_new_tokens; help: leave either out"):
        generate(model, [1], CONFIG, max_new_tokens=3)  # type: ignore[call-overload]


def test_masks_and_ids_are_of_whole_tiles(opened: Any) -> None:
    opened()
    mask = create_causal_mask_kv_cache(3, 31).to_numpy()
    assert mask.shape == (1, 1, 32, 64)
    assert [int(row.sum()) for row in mask[0, 0, :4]] == [32, 33, 34, 0]
    assert mask[0, 0, 1, 32] == 1
    ids = tokens_to_tensor_kv_cache([5, 6]).to_numpy()
    assert ids.shape == (1, 1, 1, 32)
    assert ids.flatten()[:3].tolist() == [5, 6, 0]


def test_positions(opened: Any) -> None:
    opened((1, 4), ddp=True)
    mapper = Placing.current().mapper(4)
    assert positions_to_tensor([0, 3], 2, 4).to_numpy().shape == (2, 1, 1, 1)
    assert positions_to_tensor([0, 1, 2, 3], 4, 4, mapper).shape() == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="expected 3 positions, got 2"):
        positions_to_tensor([0, 3], 3, 4)
    with pytest.raises(ValueError, match=r"positions outside \[0, 4\): \[\(0, -1\), \(2, 4\)\]"):
        positions_to_tensor([-1, 0, 4], 3, 4)
    with pytest.raises(ValueError, match="batch of 2 rows does not divide across 4 batch shards"):
        positions_to_tensor([0, 3], 2, 4, mapper)


def test_peak_is_that_of_all_cores(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened()
    assert get_device_peak_tflops_bf16() in (64.0, 72.0)
    context = opened()
    monkeypatch.setattr(type(context.get_device()), "arch", lambda self: SimpleNamespace(name="GRAYSKULL"))
    with pytest.raises(ValueError, match="Unknown device GRAYSKULL"):
        get_device_peak_tflops_bf16()


def test_phases_end_where_a_tensor_passes(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened()
    x = Tensor.from_numpy(np.ones((1, 1, 32, 32), np.float32))
    assert memory_snapshot(x, "FORWARD") is x
    monkeypatch.setenv("TTML_TRACK_MEMORY", "1")
    assert memory_snapshot(x) is x
    MemoryUsageTracker.begin_capture()
    unary.mean(memory_snapshot(unary.relu(x), "FORWARD", "BACKWARD")).backward()
    MemoryUsageTracker.end_capture()
    names = [name.partition("__") for name, _ in MemoryUsageTracker.get_dram_usage_all()]
    MemoryUsageTracker.clear()
    assert [name for name, _, _ in names] == ["FORWARD", "BACKWARD", "END_TRACE"]
    assert int(names[1][2]) == int(names[0][2]) + 1
    assert len(names[0][2]) == 6
    gradient = x.get_grad_tensor()
    assert gradient is not None
    np.testing.assert_array_equal(gradient.to_numpy(), np.full((1, 1, 32, 32), 2.0**-10))
