"""`GRPOTrainer`: groups of completions of one prompt are compared by a reward, and the better ones made more likely.

The loss is that of PPO with the group's mean as baseline: -mean over completions of the mean over its tokens of
min(ratio * advantage, clip(ratio, 1 - epsilon, 1 + epsilon) * advantage), where ratio is new over old probability.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tt_run.runtime.errors import type_name
from tt_run.runtime.train import stacks
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import create_optimizer, get_loss_over_devices, no_grad
from tt_run.runtime.train.context import AutoContext
from tt_run.runtime.train.distributed import synchronize_gradients
from tt_run.runtime.train.ops import binary, unary
from tt_run.runtime.train.optimizers.clipping import clip_grad_norm
from tt_run.runtime.train.tensor import Tensor
from tt_run.runtime.train.trainers.callback import TrainerCallback
from tt_run.runtime.train.trainers.completion import GRPOCompleter, Tokens, rows_of
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig
from tt_run.runtime.train.trainers.grpo_monitor import GRPOMonitor
from tt_run.runtime.train.trainers.grpo_saving import save_checkpoint
from tt_run.runtime.train.trainers.rollouts import Reward, advantages_of, dispatch_reward, reward_names

Columns = dict[str, list[Any]]


class GRPOTrainer:
    """Trains the model of a completer by one `reward_func`, or the sum of several `reward_funcs`; each gets those of completions, prompts and
    columns of the data set that it names.

    `dataset` is anything with rows `{"prompt": text, ...}` by number. `optimizer_dict` is an optimizer's configuration. The figures of a step
    are `metrics`; callbacks may add to them. Raises ValueError for sizes that do not divide, and unless one kind of reward is given.
    """

    _batch_figures: Mapping[str, Any] = {}

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
    ) -> None:
        if optimizer_dict is None:
            raise ValueError("GRPOTrainer: optimizer_dict is required; help: {'type': 'AdamW', 'lr': 1e-5}")
        if (reward_func is None) == (reward_funcs is None) or not (reward_func or reward_funcs):
            raise ValueError(
                "GRPOTrainer: pass exactly one of reward_func (a function) and reward_funcs (functions, at least one)"
            )
        if not hasattr(completer, "model"):
            raise TypeError(
                f"GRPOTrainer: completer must be a GRPOCompleter, which has a model, not {type_name(completer)}"
            )
        if config.rollout_mode == "remote_sync":
            raise ValueError(
                "GRPOTrainer: rollout_mode 'remote_sync' generates with tt-transformers on another rank, which is not emulated; "
                "help: rollout_mode: in_process, and a completer that asks the other rank, as examples/training/grpo_remote_rollout.py has"
            )
        self.completer, self.dataset, self.config = completer, dataset, config
        self.reward_func, self.optimizer_dict = reward_func, optimizer_dict
        self.reward_funcs = (
            [reward_func] if callable(reward_func) else list(reward_funcs or reward_func or ())
        )
        self.callbacks, self.model_source = list(callbacks or ()), model_source
        # By name too: programs written before the trainer had a monitor bring their own, which writes the same file.
        if not config.disable_default_monitor and not any(
            isinstance(one, GRPOMonitor) or type(one).__name__ == "GRPOMonitor" for one in self.callbacks
        ):
            self.callbacks.append(GRPOMonitor(config))
        self.model = completer.model
        self.optimizer: Any = create_optimizer(self.model, optimizer_dict)
        self.placing = Placing.current()
        self.metrics: dict[str, Any] = {"step": 0}
        self._old: tuple[list[Tokens], list[tuple[Tensor, Tensor]]] | None = None
        self._base_rate = self.optimizer.get_lr()
        self.each = config.per_device_train_batch_size * self.placing.size
        if self.each % config.num_generations:
            raise ValueError(
                f"per_device_train_batch_size * devices ({self.each}) must be divisible by num_generations ({config.num_generations})"
            )
        self._generation_batch_prompts = (
            self.each // config.num_generations * config.gradient_accumulation_steps
        )

    @property
    def steps(self) -> int:
        """Optimizer steps taken."""
        return int(self.metrics["step"])

    def train(self) -> None:
        """Go through the prompts once."""
        self._setup()
        self._tell("on_train_begin")
        self.metrics = {"step": 0}
        self._reset_step_metrics()
        for prompts, columns in self._iter_prompt_batches():
            begun = time.perf_counter()
            completions = self.completer.generate(prompts)
            self.metrics["generation_time_s"] = time.perf_counter() - begun
            self._train_on(prompts, columns, completions)
        self._tell("on_train_end")

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
        )

    # --- parts of a step, by the names that trainers derived from this one use ---------------------------------------

    def _setup(self) -> None:
        """The prompts in tokens and the other columns of their rows. Raises ValueError for rows without a prompt, and for none."""
        total = min(self.config.prompts_to_train, len(self.dataset))
        if not total:
            raise ValueError("GRPOTrainer: the data set has no rows; help: rows {'prompt': text, …}")
        if total % self._generation_batch_prompts:
            raise ValueError(
                f"prompts_to_train ({total}) must be divisible by the {self._generation_batch_prompts} prompts of a step"
            )
        rows = [self.dataset[i] for i in range(total)]
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping) or "prompt" not in row:
                has = ", ".join(map(str, row)) if isinstance(row, Mapping) else type_name(row)
                raise ValueError(f"GRPOTrainer: row {number} of the data set has no 'prompt', it has {has}")
        self._prompts: list[Tokens] = [list(self.completer.tokenizer.encode(row["prompt"])) for row in rows]
        names = [name for name in rows[0] if name != "prompt"] if rows else []
        self._extra_dataset_columns: Columns = {name: [row[name] for row in rows] for name in names}

    def _iter_prompt_batches(self) -> Iterator[tuple[list[Tokens], Columns]]:
        """The prompts that are completed together, with their columns."""
        each = self._generation_batch_prompts
        for start in range(0, len(self._prompts), each):
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
        advantages = self._compute_advantages(self._compute_rewards(wide, completions, wide_columns))
        for _ in range(self.config.num_iterations):
            self._optimize(wide, completions, advantages)
            self._apply_gradients()
            self.metrics = {**self._batch_figures, **self.metrics, "step": self.metrics["step"] + 1}
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
        tokenizer, config = self.completer.tokenizer, self.config
        texts = [_text(tokenizer, completion) for completion in completions]
        asked = [_text(tokenizer, prompt) for prompt in prompts]
        told = [
            np.asarray(dispatch_reward(function, texts, asked, columns), np.float32)
            for function in self.reward_funcs
        ]
        rewards = np.asarray(np.sum(told, axis=0), np.float32)
        lengths = [len(completion) for completion in completions]
        each: dict[str, Any] = {}
        if len(told) > 1:
            names = reward_names(self.reward_funcs)
            each = {f"{name}_mean": float(part.mean()) for name, part in zip(names, told, strict=True)}
        self._batch_figures = {
            **each,
            "reward_mean": float(rewards.mean()),
            "reward_std": float(rewards.std()),
            "mean_completion_len": sum(lengths) / len(lengths),
            "min_completion_len": min(lengths),
            "max_completion_len": max(lengths),
        }
        shown = config.num_completions_to_print if config.log_completions else 0
        if shown:
            samples = {"prompts": asked, "completions": texts, "rewards": rewards.tolist()}
            self._batch_figures |= {name: values[:shown] for name, values in samples.items()}
            for text, reward in list(zip(texts, rewards, strict=True))[:shown]:
                print(f"[completion, reward {reward:.4g}] {text}")
        return rewards

    def _compute_advantages(self, rewards: np.ndarray) -> np.ndarray:
        """How much better than its group each completion is."""
        return advantages_of(rewards, self.config.num_generations)

    def _optimize(self, prompts: list[Tokens], completions: list[Tokens], advantages: np.ndarray) -> None:
        """The gradients of a step, micro-batch by micro-batch; probabilities are compared with those before its batch's first step."""
        if self._old is None or self._old[0] is not completions:
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
        """The optimizer's step at the rate of the schedule."""
        batches = len(self._prompts) // self._generation_batch_prompts
        factor = self.config.rate_factor(self.steps, batches * self.config.num_iterations)
        self.optimizer.set_lr(self._base_rate * factor)
        synchronize_gradients(self.model.parameters())
        self._each_timed("on_before_optimizer_step")
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
        """Save every `checkpoint_interval` steps, if asked to."""
        if self.config.checkpointing and self.steps % self.config.checkpoint_interval == 0:
            self._tell("on_save", self.steps, str(self.save()))

    def _micro_batches(self, completions: list[Tokens]) -> Iterator[slice]:
        for start in range(0, len(completions), self.each):
            yield slice(start, start + self.each)

    def _old_probabilities(
        self, prompts: list[Tokens], completions: list[Tokens]
    ) -> Iterator[tuple[Tensor, Tensor]]:
        self.model.eval()
        with no_grad():
            for part in self._micro_batches(completions):
                old, mask = self.completer.compute_nlog_probs(prompts[part], completions[part])
                old.set_requires_grad(False)
                yield old, _shares(mask)
        self.model.train()

    def _tell(self, hook: str, *facts: Any, **figures: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self, *facts, **figures)

    def _each_timed(self, hook: str) -> None:
        for callback in self.callbacks:
            self._time_callback(callback, hook, self)

    def _time_callback(self, callback: Any, hook: str, *facts: Any, **figures: Any) -> None:
        """Call a hook; the seconds of a callback in a step are a figure of it, but for the monitor's, which comes when the figures are read."""
        begun = time.perf_counter()
        getattr(callback, hook)(*facts, **figures)
        if not isinstance(callback, GRPOMonitor):
            name = f"{type(callback).__name__}_time_s"
            self.metrics[name] = self.metrics.get(name, 0.0) + time.perf_counter() - begun


def _text(tokenizer: Any, tokens: Tokens) -> str:
    try:
        return str(tokenizer.decode(tokens, skip_special_tokens=True))
    except TypeError:
        return str(tokenizer.decode(tokens))


def _shares(mask: Tensor) -> Tensor:
    """Each completion's weight spread over its tokens."""
    value = stacks.compute(
        lambda m: m / np.maximum(m.sum(axis=-1, keepdims=True, dtype=np.float32), np.float32(1)),
        mask.get_value(),
    )
    return Tensor(value, requires_grad=False)
