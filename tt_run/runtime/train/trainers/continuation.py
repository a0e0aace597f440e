"""Logits behind texts that grow token by token: where the model keeps keys and values, only new tokens are computed."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import round_up_to_tile
from tt_run.runtime.train.models.cache import KvCache, KvCacheConfig
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3
from tt_run.runtime.train.models.llama import Llama
from tt_run.runtime.train.modules.lora import LoraModel
from tt_run.runtime.train.parallel.sharded_parameters import whole_array

Tokens = list[int]


class Continuation:
    """Texts of one batch, each of which gets at most so many tokens, one at a time.

    All texts count as growing, those that have ended too. What is held are the positions that every text has; texts of other lengths are
    computed again from there on. A model without a cache computes whole texts each time.
    """

    def __init__(self, model: Any, placing: Placing, texts: Sequence[Tokens], tokens: int) -> None:
        self._model, self._placing = model, placing
        self._lengths = [len(text) for text in texts]
        self._cache = cache_for(model, placing, len(texts), max(self._lengths, default=0) + max(tokens, 0))

    def logits(self, texts: Sequence[Tokens]) -> np.ndarray:
        """Logits of the token after each text, [texts, vocabulary with its padding]. Every rank of the mesh must call it."""
        cache = self._cache
        if cache is None:
            return last_logits(self._model, self._placing, texts)
        held, end = cache.position, max(self._lengths)
        ids = padded([text[held:end] for text in texts], end - held)
        logits = self._model(
            self._placing.ids(ids, (len(texts), 1, 1, end - held)),
            causal(held, end),
            kv_cache=cache,
            new_tokens=min(self._lengths) - held,
        )
        every = whole_array(logits.get_value())[:, 0]
        self._lengths = [length + 1 for length in self._lengths]
        # A text that has ended may end among what is held: nobody asks for what comes behind it.
        return np.stack([every[row, max(len(text) - 1 - held, 0)] for row, text in enumerate(texts)])


def cache_for(model: Any, placing: Placing, rows: int, length: int) -> KvCache | None:
    """An empty cache for so many texts of a model; None for one that keeps none, and where positions are cut."""
    while isinstance(model, LoraModel):
        model = model.model
    if placing.positions_size > 1 or not isinstance(model, (DecoderLlama, Llama, Qwen3)):
        return None
    config: Any = model.config
    takes = inspect.signature(type(model).forward).parameters  # a program's own class may not
    if getattr(config, "sequence_parallel", False) or "kv_cache" not in takes:
        return None
    if isinstance(model, Llama):
        layers, groups, width = config.num_blocks, config.num_groups, config.embedding_dim // config.num_heads
    else:
        layers, groups = config.num_hidden_layers, config.num_key_value_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return KvCache(KvCacheConfig(layers, rows // placing.size, groups, length, width))


def last_logits(model: Any, placing: Placing, texts: Sequence[Tokens]) -> np.ndarray:
    """Logits of the token after each text, [texts, vocabulary with its padding]. Every rank of the mesh must call it."""
    length = round_up_to_tile(max(len(text) for text in texts))
    ids = padded(texts, length)
    logits = model(placing.ids(ids, (len(texts), 1, 1, length)), causal(0, length))
    every = placing.whole(logits.get_value())[:, 0]
    return np.stack([every[row, len(text) - 1] for row, text in enumerate(texts)])


def padded(rows: Sequence[Tokens], length: int) -> np.ndarray:
    """Token ids [rows, length], zeros behind each row."""
    out = np.zeros((len(rows), length), np.uint32)
    for number, row in enumerate(rows):
        out[number, : len(row)] = row
    return out


def causal(held: int, end: int) -> Tensor:
    """Each new position sees those up to itself, [1, 1, new, all]."""
    seen = np.arange(end) <= np.arange(held, end)[:, None]
    mask = Tensor.from_numpy(
        seen.astype(np.float32).reshape(1, 1, end - held, end), new_type=DataType.BFLOAT16
    )
    mask.set_requires_grad(False)
    return mask
