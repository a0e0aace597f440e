"""GRPO whose completions are made elsewhere while the trainer steps: one batch ahead, or as fast as they come.

What is trained on was then made with older weights; the loss is that of `GRPOTrainer`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.train.trainers.completion import Tokens
from tt_run.runtime.train.trainers.grpo import Columns, GRPOTrainer


@dataclass(frozen=True)
class FullyAsyncRolloutBatch:
    """Completions as the side that makes them hands them over: `num_generations` for each prompt, each with its tokens' log-probabilities.

    `behavior_version` counts the weights that made them, 0 those at the start.
    """

    prompts: list[Tokens]
    extra_columns: Columns
    completions: list[Tokens]
    behavior_version: int
    behavior_logprobs: list[list[float]]
    group_id: str

    def validate(self, num_generations: int) -> None:
        """Raises ValueError, with the batch and both counts, for rows that do not belong together."""
        expected = len(self.prompts) * num_generations
        for name, rows in (("completions", self.completions), ("behavior logprobs", self.behavior_logprobs)):
            if len(rows) != expected:
                raise ValueError(
                    f"rollout {self.group_id!r} has {len(rows)} {name} for {len(self.prompts)} prompts, {num_generations} each are wanted"
                )
        for row, (tokens, told) in enumerate(zip(self.completions, self.behavior_logprobs, strict=True)):
            if len(tokens) != len(told):
                raise ValueError(
                    f"rollout {self.group_id!r} row {row} has {len(tokens)} tokens but {len(told)} behavior logprobs; help: a log-probability for each token"
                )
        for name, values in self.extra_columns.items():
            if len(values) != len(self.prompts):
                raise ValueError(
                    f"rollout {self.group_id!r} column {name!r} has {len(values)} rows for {len(self.prompts)} prompts"
                )


def _require(trainer: GRPOTrainer, methods: tuple[str, ...]) -> None:
    missing = [name for name in methods if not hasattr(trainer.completer, name)]
    if missing:
        raise TypeError(
            f"{type(trainer).__name__} requires the completer to expose {', '.join(f'{name}()' for name in missing)}; "
            f"{type(trainer.completer).__name__} does not"
        )


class FullyAsyncGRPOTrainer(GRPOTrainer):
    """Steps on whatever batch its completer has next, and hands it the weights after each step.

    The completer has `start_async_rollouts(batches, initial_version=)`, `await_async_rollout() -> FullyAsyncRolloutBatch`,
    `publish_weights(version)` and `close_async_rollouts()`; the last is called however training ends. Raises TypeError for another.
    """

    last_rollout_batch: FullyAsyncRolloutBatch | None = None

    def train(self) -> None:
        """Go through the prompts once."""
        _require(
            self, ("start_async_rollouts", "await_async_rollout", "publish_weights", "close_async_rollouts")
        )
        completer: Any = self.completer
        self._setup()
        self._tell("on_train_begin")
        self.metrics = {"step": 0}
        self._reset_step_metrics()
        batches = list(self._iter_prompt_batches())
        completer.start_async_rollouts(batches, initial_version=0)
        try:
            for _ in batches:
                begun = time.perf_counter()
                batch = completer.await_async_rollout()
                if not isinstance(batch, FullyAsyncRolloutBatch):
                    raise TypeError(
                        f"await_async_rollout() must return FullyAsyncRolloutBatch, got {type(batch).__name__}"
                    )
                batch.validate(self.config.num_generations)
                self.last_rollout_batch = batch
                self.metrics["generation_wait_s"] = time.perf_counter() - begun
                self._train_on(batch.prompts, batch.extra_columns, batch.completions)
        finally:
            completer.close_async_rollouts()
        self._tell("on_train_end")

    def _step_taken(self) -> None:
        completer: Any = self.completer
        completer.publish_weights(self.steps)
        if self.last_rollout_batch is not None:
            self.metrics["behavior_version"] = self.last_rollout_batch.behavior_version


class OneStepAsyncGRPOTrainer(GRPOTrainer):
    """While it steps on one batch the next is being made, with the weights before that step.

    The completer has `push_weights()`, `submit_generate(prompts)` and `await_generate() -> completions`. Raises TypeError for another, and
    ValueError for more than one iteration on a batch.
    """

    def train(self) -> None:
        """Go through the prompts once."""
        if self.config.num_iterations != 1:
            raise ValueError(
                f"OneStepAsyncGRPOTrainer requires num_iterations == 1 (got {self.config.num_iterations}); help: GRPOConfig(num_iterations=1)"
            )
        _require(self, ("submit_generate", "await_generate", "push_weights"))
        completer: Any = self.completer
        self._setup()
        self._tell("on_train_begin")
        self.metrics = {"step": 0}
        self._reset_step_metrics()
        batches = self._iter_prompt_batches()
        coming = self._async_gen_next_batch(batches)
        while coming is not None:
            prompts, columns = coming
            completions = completer.await_generate()
            coming = self._async_gen_next_batch(batches)
            self._train_on(prompts, columns, completions)
        self._tell("on_train_end")

    def _async_gen_next_batch(
        self, batches: Iterator[tuple[list[Tokens], Columns]]
    ) -> tuple[list[Tokens], Columns] | None:
        """Have the next batch made with the weights of now; its prompts and columns, None after the last."""
        batch = next(batches, None)
        if batch is not None:
            completer: Any = self.completer
            completer.push_weights()
            completer.submit_generate(batch[0])
        return batch
