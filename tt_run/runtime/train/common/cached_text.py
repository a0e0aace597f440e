"""`ttml.common.generate` and `ttml.common.sampling`: text from a model that keeps keys and values, and what such programs give it at each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.utils import build_logits_mask, no_grad, round_up_to_tile, run_mode
from tt_run.runtime.train.models.cache import KvCache
from tt_run.runtime.train.modules.base import ModuleBase, RunMode
from tt_run.runtime.train.ops.sample import sample_op

NAMED = 8
SEEDS = 10**7


def create_causal_mask_kv_cache(query_seq_len: int, prompt_len: int = 0) -> Tensor:
    """Ones where `query_seq_len` tokens behind `prompt_len` may look: at those, themselves and each other's past; rows and columns of whole tiles,
    zeros in the padding."""
    rows, columns = round_up_to_tile(query_seq_len), round_up_to_tile(prompt_len + query_seq_len)
    mask = np.tri(rows, columns, prompt_len, np.float32)
    mask[query_seq_len:] = 0.0
    return Tensor.from_numpy(mask[None, None], Layout.TILE, DataType.BFLOAT16)


def tokens_to_tensor_kv_cache(tokens: Sequence[int]) -> Tensor:
    """Ids as [1, 1, 1, T], zeros behind them up to a whole tile."""
    ids = np.zeros((1, 1, 1, round_up_to_tile(len(tokens))), np.uint32)
    ids[..., : len(tokens)] = tokens
    return Tensor.from_numpy(ids, Layout.ROW_MAJOR, DataType.UINT32)


def positions_to_tensor(
    positions: Sequence[int], B: int, tokens: int, dp_mapper: Any = None, num_shards: int | None = None
) -> Tensor:
    """A position of each of `B` rows of `tokens` as [B, 1, 1, 1], what `sample_op` takes.

    `dp_mapper` cuts the rows over `num_shards` parts, over all devices without a number. Raises ValueError for another number of positions, those
    that no row has, and rows that do not divide.
    """
    rows = [int(position) for position in positions]
    if len(rows) != B:
        raise ValueError(f"expected {B} positions, got {len(rows)}; help: one for each row of the batch")
    beyond = [(row, position) for row, position in enumerate(rows) if not 0 <= position < tokens]
    if beyond:
        raise ValueError(
            f"positions outside [0, {tokens}): {beyond[:NAMED]}; (row, position) each; help: positions count from 0"
        )
    if dp_mapper is not None:
        parts = num_shards or AutoContext.get_instance().get_device().get_num_devices()
        if B % parts:
            raise ValueError(
                f"batch of {B} rows does not divide across {parts} batch shards; help: a multiple of {parts}, or num_shards: the parts that the mapper cuts"
            )
    return Tensor.from_numpy(
        np.array(rows, np.uint32).reshape(B, 1, 1, 1), Layout.ROW_MAJOR, DataType.UINT32, dp_mapper
    )


def generate_to_the_end(
    model: ModuleBase,
    prompt: Sequence[int] | npt.NDArray[Any],
    config: Any,
    temperature: float = 0.0,
    composer: Any = None,
) -> npt.NDArray[Any]:
    """A prompt and what follows it, up to `config.max_sequence_length`, by keys and values that are kept; the most likely tokens at temperature 0.

    NumPy's global generator draws the seeds of `sample_op`. `composer` joins the drawn ids of devices. The model's mode comes back afterwards.
    """
    vocabulary = config.vocab_size
    padded = round_up_to_tile(vocabulary)
    hidden = None if padded == vocabulary else build_logits_mask(vocabulary, padded)
    cache = KvCache(
        config.num_blocks,
        1,
        config.num_groups,
        config.max_sequence_length,
        config.embedding_dim // config.num_heads,
    )
    text = np.array(prompt)
    with no_grad(), run_mode(model, RunMode.EVAL):
        while len(text) < config.max_sequence_length:
            held = cache.get_cache_position()
            fresh = text[held:]
            mask = create_causal_mask_kv_cache(len(fresh), held)
            logits = model(
                tokens_to_tensor_kv_cache(fresh.tolist()), mask, kv_cache=cache, new_tokens=len(fresh)
            )
            drawn = sample_op(logits, temperature, np.random.randint(SEEDS), hidden)
            text = np.append(text, int(drawn.to_numpy(composer=composer).flatten()[len(fresh) - 1]))
    return text
