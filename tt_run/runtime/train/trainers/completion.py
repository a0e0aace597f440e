"""What GRPO asks of a model: completions of prompts, and the log-probabilities of their tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.generate import Sampling, next_token
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import no_grad, round_up_to_tile, run_mode
from tt_run.runtime.train.modules.base import RunMode
from tt_run.runtime.train.ops import shapes
from tt_run.runtime.train.ops.loss import ReduceType, cross_entropy_loss
from tt_run.runtime.train.trainers.continuation import Continuation, causal, padded

Tokens = list[int]


class GRPOCompleter(ABC):
    """A model with what makes completions of it: derive for each kind of model."""

    @abstractmethod
    def generate(self, prompts: list[Tokens]) -> list[Tokens]:
        """Completions, some for each prompt and those of one prompt side by side."""

    @abstractmethod
    def generate_str(self, prompt_strs: list[str]) -> list[str]:
        """As `generate`, from and to text."""

    @abstractmethod
    def compute_nlog_probs(self, prompts: list[Tokens], completions: list[Tokens]) -> tuple[Tensor, Tensor]:
        """Minus the log-probability of each next token of prompt and completion, and ones where it is the completion's, both [B, T]."""

    @property
    @abstractmethod
    def tokenizer(self) -> Any:
        """What has encode and decode."""

    @property
    @abstractmethod
    def model(self) -> Any:
        """The model that is trained."""


class ModelCompleter(GRPOCompleter):
    """Completions of any model `model(ids, mask) -> logits`.

    Tokens are drawn from the context's generator, so a seed repeats them on any split over ranks. `stop` is the token that ends a completion,
    which it then holds. Batches are cut over the data-parallel axis.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        num_generations: int = 1,
        max_completion_length: int = 32,
        temperature: float = 1.0,
        stop: int | None = None,
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        self.num_generations, self.limit, self.stop = num_generations, max_completion_length, stop
        self.sampling = Sampling(temperature, top_k=0)
        self.placing = Placing.current()

    @property
    def tokenizer(self) -> Any:
        """What has encode and decode."""
        return self._tokenizer

    @property
    def model(self) -> Any:
        """The model."""
        return self._model

    def generate_str(self, prompt_strs: list[str]) -> list[str]:
        """As `generate`, from and to text."""
        return [
            self._tokenizer.decode(c) for c in self.generate([self._tokenizer.encode(p) for p in prompt_strs])
        ]

    def generate(self, prompts: list[Tokens]) -> list[Tokens]:
        """`num_generations` completions for each prompt, those of one prompt side by side."""
        texts = [list(prompt) for prompt in prompts for _ in range(self.num_generations)]
        starts = [len(text) for text in texts]
        ended = [False] * len(texts)
        generator = AutoContext.get_instance().generator
        behind = Continuation(self._model, self.placing, texts, self.limit)
        with run_mode(self._model, RunMode.EVAL), no_grad():
            for _ in range(self.limit):
                if all(ended):
                    break
                logits = behind.logits(texts)[:, : self._known()]
                for row, text in enumerate(texts):
                    if not ended[row]:
                        text.append(next_token(logits[row], self.sampling, text, generator))
                        ended[row] = text[-1] == self.stop
        return [text[start:] for text, start in zip(texts, starts, strict=True)]

    def _known(self) -> int | None:
        """The tokens that have a text; rows of the padded vocabulary have none."""
        return getattr(self._tokenizer, "vocab_size", None) or None

    def compute_nlog_probs(self, prompts: list[Tokens], completions: list[Tokens]) -> tuple[Tensor, Tensor]:
        """Minus the log-probability of each next token, and ones where it is the completion's; [B, T] with T a multiple of 32."""
        rows = [[*prompt, *completion] for prompt, completion in zip(prompts, completions, strict=True)]
        weights, length = completion_mask(prompts, completions)
        ids, targets = padded([row[:-1] for row in rows], length), padded([row[1:] for row in rows], length)
        logits = self._model(self.placing.ids(ids, (len(rows), 1, 1, length)), causal(0, length))
        each = cross_entropy_loss(logits, self.placing.ids(targets, (len(rows), length)), ReduceType.NONE)
        own = each.shape()[0]
        return shapes.reshape(each, (own, length)), rows_of(weights, self.placing)


def completion_mask(prompts: Sequence[Tokens], completions: Sequence[Tokens]) -> tuple[np.ndarray, int]:
    """Ones where the next token is the completion's, [B, T] float32; and T, a multiple of 32."""
    sizes = [(len(p), len(p) + len(c)) for p, c in zip(prompts, completions, strict=True)]
    length = round_up_to_tile(max(end for _, end in sizes) - 1)
    weights = np.zeros((len(sizes), length), np.float32)
    for number, (start, end) in enumerate(sizes):
        weights[number, start - 1 : end - 1] = 1.0
    return weights, length


def rows_of(array: np.ndarray, placing: Placing) -> Tensor:
    """An array with a row for each completion as a tensor, cut over the data-parallel axis, that takes no gradient."""
    values = np.asarray(array, np.float32)
    tensor = Tensor.from_numpy(values, new_type=DataType.FLOAT32, mapper=placing.mapper(values.ndim))
    tensor.set_requires_grad(False)
    return tensor


def shares_of(mask: Tensor) -> Tensor:
    """Each completion's weight spread over its tokens."""
    value = stacks.compute(
        lambda m: m / np.maximum(m.sum(axis=-1, keepdims=True, dtype=np.float32), np.float32(1)),
        mask.get_value(),
    )
    return Tensor(value, requires_grad=False)
