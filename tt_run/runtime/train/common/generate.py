"""Text from a model: temperature, the most likely k, the nucleus p, a penalty on repetition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.cached_text import generate_to_the_end
from tt_run.runtime.train.common.data import build_causal_mask
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import no_grad, run_mode
from tt_run.runtime.train.modules.base import ModuleBase, RunMode

Array = npt.NDArray[Any]

GREEDY_BELOW = 0.01


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn. A temperature below 0.01 takes the most likely one; top_k 0 and top_p 1 restrict nothing."""

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 1.0
    repetition_penalty: float = 1.0


def next_token(logits: Array, sampling: Sampling, seen: Sequence[int], generator: np.random.Generator) -> int:
    """Draw a token from the logits of one position."""
    scores = np.asarray(logits, np.float64).copy()
    if sampling.repetition_penalty != 1.0:
        repeated = np.unique(np.asarray(seen, np.int64))
        repeated = repeated[repeated < scores.size]
        values = scores[repeated]
        scores[repeated] = np.where(
            values > 0, values / sampling.repetition_penalty, values * sampling.repetition_penalty
        )
    if sampling.temperature < GREEDY_BELOW:
        return int(scores.argmax())
    scores /= sampling.temperature
    if 0 < sampling.top_k < scores.size:
        scores[scores < np.partition(scores, -sampling.top_k)[-sampling.top_k]] = -np.inf
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    if sampling.top_p < 1.0:
        order = np.argsort(-chances, kind="stable")
        beyond = np.cumsum(chances[order]) - chances[order] >= sampling.top_p
        chances[order[beyond]] = 0.0
        chances /= chances.sum()
    return int(generator.choice(chances.size, p=chances))


@overload
def generate(
    model: ModuleBase,
    prompt_tokens: Sequence[int],
    *,
    max_new_tokens: int,
    sequence_length: int,
    vocab_size: int,
    sampling: Sampling | None = None,
    seed: int = 0,
    pad: int = 0,
    on_token: Callable[[int], None] | None = None,
    share: Callable[[Callable[[], int]], int] | None = None,
) -> list[int]: ...
@overload
def generate(
    model: ModuleBase,
    prompt_tokens: Sequence[int] | npt.NDArray[Any],
    transformer_config: Any,
    temperature: float = 0.0,
    composer: Any = None,
) -> npt.NDArray[Any]: ...
def generate(
    model: ModuleBase,
    prompt_tokens: Any,
    transformer_config: Any = None,
    temperature: float = 0.0,
    composer: Any = None,
    **words: Any,
) -> Any:
    """Token ids behind a prompt, one after the other; `on_token` is called with each.

    The model sees the last `sequence_length` tokens, padded on the left with `pad`. Only ids below `vocab_size`, those the tokenizer
    has, are drawn. Every rank of a mesh must call it with the same arguments. In a pipeline only the last rank has logits: `share` is given
    the draw and returns the token on every rank. The model's mode comes back afterwards.

    With a `transformer_config` (`num_blocks`, `num_heads`, `num_groups`, `embedding_dim`, `vocab_size`, `max_sequence_length`) instead of the words: the
    prompt and what follows it as an array, up to that length, by keys and values that are kept; `sample_op` draws at a `temperature`.
    """
    if transformer_config is None:
        missing = [name for name in ("max_new_tokens", "sequence_length", "vocab_size") if name not in words]
        if missing:
            raise TypeError(
                f"generate: there is no {', '.join(missing)}, and no transformer_config either; "
                "help: generate(model, prompt_tokens, max_new_tokens=20, sequence_length=256, vocab_size=96)"
            )
        return _generate(model, prompt_tokens, **words)
    if words:
        raise TypeError(
            f"generate: with a transformer_config takes no {', '.join(words)}; help: leave either out"
        )
    return generate_to_the_end(model, prompt_tokens, transformer_config, temperature, composer)


def _generate(
    model: ModuleBase,
    prompt: Sequence[int],
    *,
    max_new_tokens: int,
    sequence_length: int,
    vocab_size: int,
    sampling: Sampling | None = None,
    seed: int = 0,
    pad: int = 0,
    on_token: Callable[[int], None] | None = None,
    share: Callable[[Callable[[], int]], int] | None = None,
) -> list[int]:
    sampling = sampling or Sampling()
    generator = np.random.default_rng(seed)
    running = [pad] * max(0, sequence_length - len(prompt)) + [int(token) for token in prompt][
        -sequence_length:
    ]
    placing = Placing.current().of_positions()
    placing.check(1, sequence_length)
    mask = Tensor.from_numpy(build_causal_mask(sequence_length), new_type=DataType.BFLOAT16)
    made: list[int] = []
    try:
        with no_grad(), run_mode(model, RunMode.EVAL):
            for _ in range(max_new_tokens):
                ids = np.array(running, np.uint32)
                logits = model(placing.ids(ids, (1, 1, 1, sequence_length)), mask)

                def draw(logits: Tensor = logits) -> int:
                    last = last_logits(logits, placing)[:vocab_size]
                    return next_token(last, sampling, [*prompt, *made], generator)

                token = draw() if share is None else share(draw)
                made.append(token)
                running = [*running[1:], token]
                if on_token is not None:
                    on_token(token)
    finally:
        AutoContext.get_instance().reset_graph()
    return made


def last_logits(logits: Tensor, placing: Placing | None = None) -> Array:
    """The logits of the last position of the first sequence; where positions are cut, every rank of the mesh must call it.

    Raises RuntimeError when devices hold different ones for another reason.
    """
    value = logits.get_value(PreferredPrecision.FULL)
    if placing is not None and placing.positions_size > 1:
        return placing.whole(value)[0, 0, -1]
    if not is_replicated(value, None):
        raise RuntimeError(
            "generation needs the same logits on every device; do not shard the prompt; help: replicate it: ttml.autograd.Tensor.from_numpy(prompt)"
        )
    return np.asarray(value.shards.row(0))[0, 0, -1]
