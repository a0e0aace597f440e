"""`GRPOTrainer`: groups of completions of one prompt are compared by a reward, and the better ones made more likely.

The loss is that of PPO with the group's mean as baseline: -mean over completions of the mean over its tokens of
min(ratio * advantage, clip(ratio, 1 - epsilon, 1 + epsilon) * advantage), where ratio is new over old probability.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np

from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common import checkpoints
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import create_optimizer, get_loss_over_devices, no_grad, run_mode
from tt_run.runtime.train.modules.base import RunMode
from tt_run.runtime.train.ops import binary, unary
from tt_run.runtime.train.optimizers.clipping import clip_grad_norm
from tt_run.runtime.train.parallel.distributed import synchronize_gradients
from tt_run.runtime.train.trainers import grpo_forms
from tt_run.runtime.train.trainers.batch_source import (
    Columns,
    RolloutBatchSource,
    ScoredRolloutBatch,
    rewards_of,
    text_of,
    tokenize_prompts,
)
from tt_run.runtime.train.trainers.callback import TrainerCallback
from tt_run.runtime.train.trainers.completion import (
    GRPOCompleter,
    Tokens,
    completion_mask,
    rows_of,
    shares_of,
)
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig
from tt_run.runtime.train.trainers.grpo_monitor import GRPOMonitor
from tt_run.runtime.train.trainers.grpo_saving import Batch, Resumed, resumed, save_checkpoint
from tt_run.runtime.train.trainers.remote_rollout import build_rollout_batch_source
from tt_run.runtime.train.trainers.reports import bars_closed
from tt_run.runtime.train.trainers.rollout_rank import RolloutRank
from tt_run.runtime.train.trainers.rollouts import (
    Reward,
    RolloutBatch,
    RolloutSampler,
    advantages_of,
    figures_of,
    place_old_nlog_probs,
)


class GRPOTrainer:
    """Trains a model by one `reward_func`, or the sum of several `reward_funcs`; each gets those of completions, prompts and columns of the
    data set that it names.

    The model is a completer's, or, with `transformer_config`, `device_config` and `model_source`, built here on devices opened here; its
    completions are then a `TTMLRolloutSampler`'s, and log-probabilities are compared with those at which their tokens were drawn.
    `dataset`, or what `dataset_func()` gives, is anything with rows `{"prompt": text, ...}` by number. `optimizer_dict` is an optimizer's
    configuration. The figures of a step are `metrics`; callbacks may add to them. Raises ValueError for sizes that do not divide, and unless
    one kind of reward is given, TypeError for arguments of neither form.
    """

    rollout_batch_source: RolloutBatchSource | None = None
    model: Any = None
    _serves: RolloutRank | None = None
    _resumed = Resumed()
    _batch: Batch | None = None
    """What the steps that are left train on; None between batches."""

    @overload
    def __init__(
        self,
        completer: GRPOCompleter,
        dataset: Any,
        config: GRPOConfig,
        reward_func: Reward | Sequence[Reward] | None = None,
        optimizer_dict: Mapping[str, Any] | None = None,
        callbacks: Sequence[TrainerCallback] | None = None,
        model_source: str | None = None,
        reward_funcs: Sequence[Reward] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        transformer_config: Any,
        device_config: Any,
        model_source: str,
        dataset_func: Callable[[], Any],
        config: GRPOConfig,
        reward_func: Reward | Sequence[Reward] | None = None,
        optimizer_dict: Mapping[str, Any] | None = None,
        callbacks: Sequence[TrainerCallback] | None = None,
        reward_funcs: Sequence[Reward] | None = None,
    ) -> None: ...
    def __init__(self, *given: Any, **named: Any) -> None:
        request = grpo_forms.trainer_request(given, named)
        self.completer, self.dataset, self.config = request.completer, request.dataset, request.config
        self.reward_func, self.reward_funcs = request.reward_func, request.reward_funcs
        self.optimizer_dict, self.model_source = request.optimizer_dict, request.model_source
        self.callbacks = request.callbacks
        self.rollout_sampler: RolloutSampler | None = request.sampler
        self.metrics: dict[str, Any] = {"step": 0}
        if request.serves is not None:
            self.rollout_sampler, self._serves = request.serves.sampler, request.serves
            return
        self._batch_figures, config = dict[str, Any](), request.config
        # By name too: programs written before the trainer had a monitor bring their own, which writes the same file.
        if not config.disable_default_monitor and not any(
            isinstance(one, GRPOMonitor) or type(one).__name__ == "GRPOMonitor" for one in self.callbacks
        ):
            self.callbacks.append(GRPOMonitor(config))
        self.model = self.completer.model
        self.optimizer: Any = create_optimizer(self.model, self.optimizer_dict)
        self.placing = Placing.current()
        self._old: tuple[list[Tokens], list[tuple[Tensor, Tensor]]] | None = None
        self._base_rate = self.optimizer.get_lr()
        self.each = config.per_device_train_batch_size * self.placing.size
        if self.each % config.num_generations:
            raise ValueError(
                f"per_device_train_batch_size * devices ({self.each}) must be divisible by num_generations ({config.num_generations}); help: a per_device_train_batch_size that is a multiple of it"
            )
        self._generation_batch_prompts = (
            self.each // config.num_generations * config.gradient_accumulation_steps
        )
        if self.rollout_sampler is not None or config.rollout_mode == "remote_sync":
            self._setup()
            self.rollout_batch_source = self._batch_source(self.rollout_sampler)
            self._trained = False

    @property
    def tokenizer(self) -> Any:
        """What has encode and decode."""
        return self.completer.tokenizer

    @property
    def steps(self) -> int:
        """Optimizer steps taken."""
        return int(self.metrics["step"])

    def train(self) -> None:
        """Go through the prompts once; with completions of another rank, that rank serves them meanwhile. Raises RuntimeError for a second time with a sampler, whose weights' numbers only rise."""
        with bars_closed(self.callbacks):
            if self._serves is not None:
                self._serves.serve()
            elif self.rollout_batch_source is not None:
                self._train_on_source(self.rollout_batch_source)
            else:
                self._setup()
                self._train_on_completer()

    def _train_on_completer(self) -> None:
        self._begin()
        for prompts, columns in islice(self._iter_prompt_batches(), self._gone_on(), None):
            begun = time.perf_counter()
            completions = self.completer.generate(prompts)
            self.metrics["generation_time_s"] = time.perf_counter() - begun
            self._train_on(prompts, columns, completions)
        self._tell("on_train_end")

    def _begin(self) -> None:
        self._tell("on_train_begin")
        self.metrics = {"step": self._resumed.step}
        self._reset_step_metrics()

    def _gone_on(self) -> int:
        """The steps of the batch that a checkpoint was written within; how many batches are behind then."""
        checkpoints.restore_generators(self._resumed.generators)
        batch, self._resumed = self._resumed.batch, Resumed()
        if batch is not None:
            self._batch_figures = batch.figures
            self._old = batch.completions, batch.before
            self._step_on(batch.prompts, batch.completions, batch.advantages)
        return self.steps // self.config.num_iterations

    def loss(self, old: Tensor, new: Tensor, mask: Tensor, advantage: Tensor, completions: int) -> Tensor:
        """The clipped loss of a micro-batch as its part of the mean over `completions` of all devices."""
        epsilon = self.config.epsilon
        ratio = unary.exp(binary.sub(old, new))
        clipped = unary.clip(ratio, 1.0 - epsilon, 1.0 + epsilon)
        better = binary.minimum(binary.mul(ratio, advantage), binary.mul(clipped, advantage))
        rows, length = old.shape()
        # Averaging gradients over devices divides by their number again.
        share = -float(rows * length) * self.placing.size / completions
        return binary.mul(unary.mean(binary.mul(better, mask)), share)

    def save(self) -> Path:
        """Write a checkpoint, and beside it the weights alone and the settings; gives its folder. Every rank of the mesh must call it."""
        return save_checkpoint(
            self.model,
            self.steps,
            self.config.output_dir,
            tokenizer=getattr(self.completer, "tokenizer", None),
            grpo_config=self.config,
            optimizer=self.optimizer,
            model_source=self.model_source,
            facts={
                "settings": self._places(),
                **({"batch": self._unfinished(self._batch)} if self._batch else {}),
            },
        )

    def resume(self, path: str | Path) -> None:
        """Go on from the folder that `save` gave, with the next `train()`: with the same bits as a run that was not stopped.

        Raises ValueError when it is of another model or of other settings, NotImplementedError for trainers whose completions are made
        elsewhere: what their ranks have drawn and which weights they have is in no checkpoint.
        """
        if type(self).train is not GRPOTrainer.train or self.config.rollout_mode == "remote_sync":
            raise NotImplementedError(
                "GRPOTrainer.resume: completions that are made elsewhere are not in a checkpoint; help: rollout_mode='in_process'"
            )
        self._resumed = resumed(path, self.model, self.optimizer, self._places())
        self.metrics["step"] = self._resumed.step

    def _places(self) -> dict[str, int]:
        """The settings by which a step's number says which prompts it trains on."""
        config = self.config
        each = getattr(self, "_generation_batch_prompts", 0)
        return {"prompts of a step": each, "num_generations": config.num_generations, "num_iterations": config.num_iterations}  # fmt: skip

    def _unfinished(self, batch: Batch) -> dict[str, Any]:
        batch.before = self._old[1] if self._old is not None and self._old[0] is batch.completions else []
        return batch.facts()

    # --- parts of a step, by the names that trainers derived from this one use ---------------------------------------

    def _setup(self) -> None:
        """The prompts in tokens and the other columns of their rows. Raises ValueError for rows without a prompt, and for none."""
        total = min(self.config.prompts_to_train, len(self.dataset))
        if not total:
            raise ValueError("GRPOTrainer: the data set has no rows; help: rows {'prompt': text, …}")
        if total % self._generation_batch_prompts:
            raise ValueError(
                f"prompts_to_train ({total}) must be divisible by the {self._generation_batch_prompts} prompts of a step; help: a multiple of it in prompts_to_train"
            )
        self._prompts, self._extra_dataset_columns = tokenize_prompts(self.dataset, self.tokenizer, total)

    def _batch_source(self, sampler: RolloutSampler | None) -> RolloutBatchSource:
        """Where the batches come from: a sampler, or another rank."""
        return build_rollout_batch_source(
            self.config,
            sampler=sampler,
            prompts=self._prompts,
            extra_columns=self._extra_dataset_columns,
            batch_prompts=self._generation_batch_prompts,
            tokenizer=self.tokenizer,
            reward_funcs=self.reward_funcs,
        )

    def _train_on_source(self, source: RolloutBatchSource) -> None:
        """The steps on the batches of a source; probabilities are compared with those at which their tokens were drawn."""
        if self._trained:
            raise RuntimeError(
                "GRPOTrainer.train() can only be called once: steps start at 0, weight versions only increase; help: another GRPOTrainer"
            )
        self._trained = True
        self._begin()
        try:
            if self.steps:
                source.update_weights(self.model, self.steps)
            source.skip(self._gone_on())
            batches = iter(source)
            while (scored := self._next_scored(batches)) is not None:
                rollout = scored.rollout
                self._old = rollout.completions, list(self._drawn_probabilities(rollout))
                advantages = self._compute_advantages(scored.rewards)
                self._step_on(rollout.prompts, rollout.completions, advantages)
        finally:
            source.close()
        self._tell("on_train_end")

    def _next_scored(self, batches: Iterator[ScoredRolloutBatch]) -> ScoredRolloutBatch | None:
        """The next batch, with its figures noted; None after the last."""
        begun, scored = time.perf_counter(), next(batches, None)
        self.metrics["generation_time_s"] = time.perf_counter() - begun
        if scored is not None:
            rollout = scored.rollout
            self._note_batch(rollout.prompts, rollout.completions, scored.rewards, scored.reward_components)
            self._batch_figures |= {"rollout_weight_version": rollout.weight_version}
        return scored

    def _drawn_probabilities(self, rollout: RolloutBatch) -> Iterator[tuple[Tensor, Tensor]]:
        """Of each micro-batch minus the log-probabilities that came with it, and the weight of each token."""
        for part in self._micro_batches(rollout.completions):
            prompts, completions = rollout.prompts[part], rollout.completions[part]
            mask, length = completion_mask(prompts, completions)
            old = place_old_nlog_probs(prompts, completions, rollout.logprobs[part], length)
            yield rows_of(old, self.placing), shares_of(rows_of(mask, self.placing))

    def _iter_prompt_batches(self) -> Iterator[tuple[list[Tokens], Columns]]:
        """The prompts that are completed together, with their columns."""
        for start in range(0, len(self._prompts), each := self._generation_batch_prompts):
            part = slice(start, start + each)
            columns = {name: values[part] for name, values in self._extra_dataset_columns.items()}
            yield self._prompts[part], columns

    def _expand_prompts_and_columns(
        self, prompts: Sequence[Tokens], columns: Mapping[str, Sequence[Any]]
    ) -> tuple[list[Tokens], Columns]:
        """Each prompt, and each entry of a column, once for every completion of it."""
        times = range(self.config.num_generations)
        wide = {name: [value for value in values for _ in times] for name, values in columns.items()}
        return [prompt for prompt in prompts for _ in times], wide

    def _train_on(self, prompts: list[Tokens], columns: Columns, completions: list[Tokens]) -> None:
        """The steps of one batch of completions."""
        wide, wide_columns = self._expand_prompts_and_columns(prompts, columns)
        if len(completions) != len(wide):
            raise ValueError(
                f"the completer gave {len(completions)} completions for {len(prompts)} prompts, {self.config.num_generations} each are wanted"
            )
        self._step_on(
            wide,
            completions,
            self._compute_advantages(self._compute_rewards(wide, completions, wide_columns)),
        )

    def _step_on(self, wide: list[Tokens], completions: list[Tokens], advantages: np.ndarray) -> None:
        """The steps on completions, each with its prompt and its advantage."""
        self._batch = Batch(wide, completions, advantages, vars(self).get("_batch_figures", {}))
        left = self.config.num_iterations - self.metrics.get("step", 0) % self.config.num_iterations
        for number in reversed(range(left)):
            self._optimize(wide, completions, advantages)
            self._apply_gradients()
            # A program's trainer that makes itself and its rewards has no figures.
            self.metrics = {**vars(self).get("_batch_figures", {}), "step": 0, **self.metrics}
            self.metrics["step"] += 1
            self._batch = self._batch if number else None
            if self.rollout_batch_source is not None:
                self.rollout_batch_source.update_weights(self.model, self.steps)
            self._step_taken()
            self._publish_step_metrics()
            self._maybe_checkpoint()
            self._reset_step_metrics()

    def _step_taken(self) -> None:
        """For trainers that do something between a step and what is told of it."""

    def _compute_rewards(
        self, prompts: list[Tokens], completions: list[Tokens], columns: Columns
    ) -> np.ndarray:
        """The reward of each completion, the sum of those of all functions."""
        texts, asked = ([text_of(self.tokenizer, one) for one in some] for some in (completions, prompts))
        rewards, each = rewards_of(self.reward_funcs, texts, asked, columns)
        self._note_batch(prompts, completions, rewards, each)
        return rewards

    def _note_batch(
        self,
        prompts: list[Tokens],
        completions: list[Tokens],
        rewards: np.ndarray,
        each: Mapping[str, np.ndarray],
    ) -> None:
        """The figures of a batch; print completions where that is asked for."""
        config = self.config
        self._batch_figures = figures_of(completions, rewards, each)
        shown = config.num_completions_to_print if config.log_completions else 0
        if shown:
            asked, texts = (
                [text_of(self.tokenizer, tokens) for tokens in some[:shown]]
                for some in (prompts, completions)
            )
            told_of = rewards[:shown].tolist()
            self._batch_figures |= {"prompts": asked, "completions": texts, "rewards": told_of}
            for text, reward in zip(texts, told_of, strict=True):
                print(f"[completion, reward {reward:.4g}] {text}")

    def _compute_advantages(self, rewards: np.ndarray) -> np.ndarray:
        """How much better than its group each completion is."""
        return advantages_of(rewards, self.config.num_generations)

    def _optimize(self, prompts: list[Tokens], completions: list[Tokens], advantages: np.ndarray) -> None:
        """The gradients of a step, micro-batch by micro-batch; probabilities are compared with those before its batch's first step."""
        if self._old is None or self._old[0] is not completions or not self._old[1]:
            self._old = completions, list(self._old_probabilities(prompts, completions))
        self.model.train()
        self.optimizer.zero_grad()
        total = 0.0
        for part, (before, mask) in zip(self._micro_batches(completions), self._old[1], strict=True):
            new, _ = self.completer.compute_nlog_probs(prompts[part], completions[part])
            advantage = rows_of(advantages[part].reshape(-1, 1), self.placing)
            loss = self.loss(before, new, mask, advantage, len(completions))
            total += get_loss_over_devices(loss)
            loss.backward(False)
            AutoContext.get_instance().reset_graph()
        self.metrics["loss"] = total

    def _apply_gradients(self) -> None:
        batches = len(self._prompts) // self._generation_batch_prompts
        factor = self.config.rate_factor(self.steps, batches * self.config.num_iterations)
        self.optimizer.set_lr(self._base_rate * factor)
        synchronize_gradients(self.model.parameters())
        for callback in self.callbacks:
            self._time_callback(callback, "on_before_optimizer_step", self)
        if self.config.use_clip_grad_norm:
            clip_grad_norm(self.model.parameters(), self.config.clip_grad_norm_max_norm)
        self.optimizer.step()
        self.metrics["lr"] = self.optimizer.get_lr()

    def _reset_step_metrics(self) -> None:
        """Forget the figures of the last step but its number."""
        self.metrics = {"step": self.metrics["step"], "generation_time_s": 0.0}
        self._step_start_time = time.perf_counter()

    def _publish_step_metrics(self) -> None:
        """Tell the callbacks; the monitor last, when what the others added and took is among the figures."""
        monitors = [callback for callback in self.callbacks if isinstance(callback, GRPOMonitor)]
        for callback in [one for one in self.callbacks if one not in monitors] + monitors:
            self.metrics["step_time_s"] = time.perf_counter() - self._step_start_time
            figures = {name: value for name, value in self.metrics.items() if name != "step"}
            self._time_callback(callback, "on_step_end", self, self.metrics["step"], **figures)

    def _maybe_checkpoint(self) -> None:
        if self.config.checkpointing and self.steps % self.config.checkpoint_interval == 0:
            self._tell("on_save", self.steps, str(self.save()))

    def _micro_batches(self, completions: list[Tokens]) -> Iterator[slice]:
        return (slice(start, start + self.each) for start in range(0, len(completions), self.each))

    def _old_probabilities(
        self, prompts: list[Tokens], completions: list[Tokens]
    ) -> Iterator[tuple[Tensor, Tensor]]:
        with run_mode(self.model, RunMode.EVAL), no_grad():
            for part in self._micro_batches(completions):
                old, mask = self.completer.compute_nlog_probs(prompts[part], completions[part])
                old.set_requires_grad(False)
                yield old, shares_of(mask)

    def _tell(self, hook: str, *facts: Any, **figures: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self, *facts, **figures)

    def _time_callback(self, callback: Any, hook: str, *facts: Any, **figures: Any) -> None:
        """Call a hook; the seconds of a callback in a step are a figure of it, but for the monitor's, which comes when the figures are read."""
        begun = time.perf_counter()
        getattr(callback, hook)(*facts, **figures)
        if not isinstance(callback, GRPOMonitor):
            name = f"{type(callback).__name__}_time_s"
            self.metrics[name] = self.metrics.get(name, 0.0) + time.perf_counter() - begun
