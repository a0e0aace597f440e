"""Completions with keys and values kept: the logits of whole passes, whatever the lengths of the texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.train.test_building import opened_mesh  # noqa: F401 - the fixture
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import no_grad
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3, Qwen3Config
from tt_run.runtime.train.models.gpt import NanoGPTConfig, create_nanogpt
from tt_run.runtime.train.models.llama import Llama
from tt_run.runtime.train.models.llama import LlamaConfig as OlderConfig
from tt_run.runtime.train.modules.lora import LoraConfig, LoraModel
from tt_run.runtime.train.trainers.continuation import Continuation, last_logits

ENTRIES, STEPS = 48, 5
DECODER: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 2, "intermediate_size": 32, "vocab_size": ENTRIES, "max_position_embeddings": 64}  # fmt: skip


def adapted() -> LoraModel:
    return LoraModel(DecoderLlama(LlamaConfig(**DECODER)), LoraConfig(target_modules=["qkv_linear"]))


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: DecoderLlama(LlamaConfig(**DECODER)), (2, 1)),
        (lambda: Qwen3(Qwen3Config(**DECODER, head_dim=32)), (1, 1)),
        (lambda: Llama(OlderConfig(2, 1, 32, 32, num_blocks=2, vocab_size=ENTRIES, max_sequence_length=64)), (1, 1)),
        (adapted, (1, 1)),
    ],
    ids=["llama", "qwen3", "older", "adapters"],
)  # fmt: skip
def test_only_new_tokens_are_computed(opened_mesh: Any, make: Any, shape: tuple[int, int]) -> None:  # noqa: F811
    opened_mesh(shape, ("dp", "tp"))
    model, seen = make(), list[int]()
    model.eval()
    inner = model.model if isinstance(model, LoraModel) else model
    embedding = inner.model.embed_tokens if isinstance(inner, Qwen3) else inner.tok_emb
    look_up = embedding.forward
    embedding.__dict__["forward"] = lambda ids: (seen.append(ids.shape()[-1]), look_up(ids))[1]
    draw = np.random.default_rng(0)
    texts = [draw.integers(0, ENTRIES, size).tolist() for size in (7, 5, 9, 5)]
    behind = Continuation(model, Placing.current(), texts, STEPS)
    with no_grad():
        for step in range(STEPS):
            found = behind.logits(texts)
            widths, seen[:] = seen[:], []
            assert widths == [9 if step == 0 else 5]
            expected = last_logits(model, Placing.current(), texts)
            seen.clear()
            for row, text in enumerate(texts):
                if row == 3 and step > 1:  # has ended
                    continue
                np.testing.assert_allclose(found[row], expected[row], rtol=1e-4, atol=1e-5)
                text.append(int(expected[row, :ENTRIES].argmax()))


def test_a_model_without_a_cache_computes_all(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 1))
    model = create_nanogpt(NanoGPTConfig(ENTRIES, 64, 32, 1, 2, 0.0))
    model.eval()
    texts = [[1, 2, 3], [4]]
    with no_grad():
        found = Continuation(model, Placing(), texts, 2).logits(texts)
        np.testing.assert_array_equal(found, last_logits(model, Placing(), texts))
