"""Where a GRPO trainer gets its batches of completions from, each with what its rewards are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.trainers.completion import Tokens
from tt_run.runtime.train.trainers.rollouts import (
    Reward,
    RolloutBatch,
    RolloutSampler,
    dispatch_reward,
    reward_names,
)

Columns = dict[str, list[Any]]
_ABOVE_ONE = 1e-3  # of a log-probability: what rounding may add to that of a certain token


@dataclass
class ScoredRolloutBatch:
    """A batch with the reward of each completion, [batch] float32, and what each function said of it, by the function's name."""

    rollout: RolloutBatch
    rewards: np.ndarray
    reward_components: dict[str, np.ndarray]


class RolloutBatchSource(ABC):
    """Gives scored batches, one after the other, and takes the weights after each step."""

    @abstractmethod
    def __iter__(self) -> Iterator[ScoredRolloutBatch]:
        """The batches of a training."""

    @abstractmethod
    def update_weights(self, model: Any, step: int) -> None:
        """Take the weights after optimizer step `step`, counted from 1."""

    def skip(self, batches: int) -> None:
        """Leave out the first batches: a run that goes on has them behind."""
        if batches:
            raise NotImplementedError(
                f"{type(self).__name__}: a run that goes on leaves {batches} batches out, which this source cannot; help: define skip(batches)"
            )

    def close(self) -> None:  # noqa: B027 - nothing to give back unless a source says otherwise
        """Give back what it holds; called however training ends."""


def validate_rollout_batch(
    rollout: RolloutBatch, *, num_prompts: int, num_generations: int, max_completion_length: int
) -> None:
    """Raise RuntimeError, with row and values, for a batch of other sizes and for log-probabilities that are none."""
    rows = num_prompts * num_generations
    if (len(rollout.prompts), len(rollout.completions)) != (rows, rows):
        raise RuntimeError(
            f"expected {rows} rows, got {len(rollout.prompts)} prompts / {len(rollout.completions)} completions"
        )
    told, wanted = rollout.logprobs, (rows, max_completion_length)
    if not isinstance(told, np.ndarray) or told.shape != wanted or told.dtype != np.float32:
        has = f"{told.dtype} {list(told.shape)}" if isinstance(told, np.ndarray) else type_name(told)
        raise RuntimeError(f"logprobs must be a float32 array of shape {list(wanted)}, got {has}")
    for row, completion in enumerate(rollout.completions):
        if len(completion) > max_completion_length:
            raise RuntimeError(
                f"row {row}: completion length {len(completion)} > max_completion_length {max_completion_length}"
            )
        own = told[row, : len(completion)]
        wrong = ~np.isfinite(own) | (own > _ABOVE_ONE)
        if wrong.any():
            first = int(wrong.argmax())
            raise RuntimeError(
                f"row {row}: invalid behavior log-probs (non-finite or > 0): {own[first]} of token {first}"
            )


def pad_logprobs(
    completions: Sequence[Tokens], token_logprobs: Sequence[Sequence[float]], width: int
) -> np.ndarray:
    """[rows, width] float32: the log-probability of each token, zeros behind a completion. Raises RuntimeError where they are not as many as tokens."""
    out = np.zeros((len(completions), width), np.float32)
    for row, (completion, own) in enumerate(zip(completions, token_logprobs, strict=True)):
        if len(own) != len(completion) or len(own) > width:
            raise RuntimeError(f"row {row}: {len(own)} log-probs for {len(completion)} tokens of {width}")
        out[row, : len(own)] = own
    return out


def tokenize_prompts(dataset: Any, tokenizer: Any, num_prompts: int) -> tuple[list[Tokens], Columns]:
    """The first `num_prompts` prompts in tokens, and the other columns of their rows. Raises ValueError for rows without a prompt."""
    rows = [dataset[i] for i in range(num_prompts)]
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or "prompt" not in row:
            has = ", ".join(map(str, row)) if isinstance(row, Mapping) else type_name(row)
            raise ValueError(
                f"GRPOTrainer: row {number} of the data set has no 'prompt', it has {has}; help: {{'prompt': '…'}}"
            )
    prompts = [list(tokenizer.encode(row["prompt"])) for row in rows]
    names = [name for name in rows[0] if name != "prompt"] if rows else []
    return prompts, {name: [row[name] for row in rows] for name in names}


def text_of(tokenizer: Any, tokens: Tokens) -> str:
    """Tokens as text, without the special ones where a tokenizer can leave them out."""
    try:
        return str(tokenizer.decode(tokens, skip_special_tokens=True))
    except TypeError:
        return str(tokenizer.decode(tokens))


def rewards_of(
    functions: Sequence[Reward], completions: list[str], prompts: list[str], columns: Mapping[str, list[Any]]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The sum of what all functions say of each completion, float32, and what each says, by its name."""
    told = [
        np.asarray(dispatch_reward(function, completions, prompts, columns), np.float32)
        for function in functions
    ]
    return np.asarray(np.sum(told, axis=0), np.float32), dict(zip(reward_names(functions), told, strict=True))


def score_rollout(
    rollout: RolloutBatch,
    prompts: Sequence[Tokens],
    extra_columns: Mapping[str, Sequence[Any]],
    *,
    tokenizer: Any,
    reward_funcs: Sequence[Reward],
    num_generations: int,
) -> ScoredRolloutBatch:
    """The rewards of a batch made of `prompts`, of which it has each `num_generations` times. Raises RuntimeError when it has others."""
    times = range(num_generations)
    if [list(prompt) for prompt in rollout.prompts] != [list(p) for p in prompts for _ in times]:
        raise RuntimeError(
            "RolloutBatch.prompts must hold each prompt repeated num_generations times, in order "
            f"(got {len(rollout.prompts)} prompts for {len(prompts)} x {num_generations})"
        )
    columns = {name: [value for value in values for _ in times] for name, values in extra_columns.items()}
    texts = [text_of(tokenizer, completion) for completion in rollout.completions]
    asked = [str(tokenizer.decode(prompt)) for prompt in rollout.prompts]
    return ScoredRolloutBatch(rollout, *rewards_of(reward_funcs, texts, asked, columns))


class PromptBatches(RolloutBatchSource):
    """Goes through `batch_prompts` prompts at a time, and scores the completions that `completed` gives of them."""

    def __init__(
        self,
        *,
        prompts: list[Tokens],
        extra_columns: Columns,
        batch_prompts: int,
        tokenizer: Any,
        reward_funcs: Sequence[Reward],
        num_generations: int,
        max_completion_length: int,
    ) -> None:
        self._prompts, self._columns = prompts, extra_columns
        self._each, self._tokenizer, self._rewards = batch_prompts, tokenizer, reward_funcs
        self._generations, self._limit = num_generations, max_completion_length

    def skip(self, batches: int) -> None:
        """Begin behind the prompts of so many batches."""
        first = batches * self._each
        self._prompts = self._prompts[first:]
        self._columns = {name: values[first:] for name, values in self._columns.items()}

    @abstractmethod
    def completed(self, prompts: list[Tokens]) -> RolloutBatch:
        """The completions of these prompts."""

    def __iter__(self) -> Iterator[ScoredRolloutBatch]:
        """The batches, as they are asked for. Raises RuntimeError for completions that are no batch of the prompts."""
        for start in range(0, len(self._prompts), self._each):
            part = slice(start, start + self._each)
            prompts = [list(prompt) for prompt in self._prompts[part]]
            rollout = self.completed(prompts)
            validate_rollout_batch(
                rollout,
                num_prompts=len(prompts),
                num_generations=self._generations,
                max_completion_length=self._limit,
            )
            yield score_rollout(
                rollout,
                prompts,
                {name: values[part] for name, values in self._columns.items()},
                tokenizer=self._tokenizer,
                reward_funcs=self._rewards,
                num_generations=self._generations,
            )


class InProcessRolloutBatchSource(PromptBatches):
    """Has the sampler make the completions, when they are asked for."""

    def __init__(
        self,
        *,
        sampler: RolloutSampler,
        prompts: list[Tokens],
        extra_columns: Columns,
        batch_prompts: int,
        tokenizer: Any,
        reward_funcs: Sequence[Reward],
        num_generations: int,
        max_completion_length: int,
    ) -> None:
        super().__init__(
            prompts=prompts,
            extra_columns=extra_columns,
            batch_prompts=batch_prompts,
            tokenizer=tokenizer,
            reward_funcs=reward_funcs,
            num_generations=num_generations,
            max_completion_length=max_completion_length,
        )
        self.sampler = sampler

    def completed(self, prompts: list[Tokens]) -> RolloutBatch:
        """The sampler's batch."""
        return self.sampler.generate(prompts)

    def update_weights(self, model: Any, step: int) -> None:
        """The sampler has the model itself: it notes the number."""
        self.sampler.update_weights(None, version=step)

    def close(self) -> None:
        """Give back what the sampler holds."""
        self.sampler.close()
