"""`GRPOTrainer`: groups of completions of one prompt are compared by a reward, and the better ones made more likely.

The loss is that of PPO with the group's mean as baseline: -mean over completions of the mean over its tokens of
min(ratio * advantage, clip(ratio, 1 - epsilon, 1 + epsilon) * advantage), where ratio is new over old probability.
"""

from __future__ import annotations

import inspect
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tt_run.runtime.train import stacks
from tt_run.runtime.train.common import checkpoints
from tt_run.runtime.train.common.config import GRPOSettings
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import create_optimizer, get_loss_over_devices, no_grad
from tt_run.runtime.train.context import AutoContext
from tt_run.runtime.train.distributed import synchronize_gradients
from tt_run.runtime.train.ops import binary, unary
from tt_run.runtime.train.settings import ConfigError, Report
from tt_run.runtime.train.tensor import Tensor
from tt_run.runtime.train.trainers.callback import TrainerCallback
from tt_run.runtime.train.trainers.completion import GRPOCompleter, Tokens, rows_of

Reward = Callable[..., Sequence[float]]


@dataclass
class GRPOConfig:
    """How many completions are made and trained on at a time, and how.

    A micro-batch has `per_device_train_batch_size` completions on each device, `num_generations` for each prompt; a step has
    `gradient_accumulation_steps` micro-batches and is taken `num_iterations` times on the same completions. Raises ValueError for counts
    below 1.
    """

    epsilon: float = 0.2
    per_device_train_batch_size: int = 4
    num_iterations: int = 1
    gradient_accumulation_steps: int = 1
    logging_steps: int = 1
    output_dir: str = "grpo"
    checkpointing: bool = False
    checkpoint_interval: int = 100
    prompts_to_train: int = 1000
    temperature: float = 1.0
    max_completion_length: int = 128
    num_generations: int = 4
    warmup_steps: int = 0
    batch_size: int | None = None

    def __post_init__(self) -> None:
        for name in (
            "per_device_train_batch_size",
            "num_iterations",
            "gradient_accumulation_steps",
            "num_generations",
            "checkpoint_interval",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"GRPOConfig: {name} must be positive, got {getattr(self, name)}")
        if self.batch_size is not None:
            warnings.warn(
                "grpo_config: 'batch_size' is ignored; it follows from the other sizes. help: remove it",
                stacklevel=3,
            )


def get_grpo_config(yaml_config: Mapping[str, Any], output_dir: str = "") -> GRPOConfig:
    """The settings under `training_config.grpo_config`. Raises ConfigError when there are none, and for those that do not exist."""
    training = yaml_config.get("training_config") or {}
    given = training.get("grpo_config")
    if not isinstance(given, Mapping):
        raise ConfigError("training_config must contain a 'grpo_config' section")
    report, settings = Report(lambda path: "", ("training_config", "grpo_config")), GRPOSettings()
    settings.fill(given, report)
    report.settle()
    fields = {"output_dir": output_dir, **settings.given}
    if "micro_batch_size" in fields:
        warnings.warn("grpo_config: 'micro_batch_size' is now 'per_device_train_batch_size'", stacklevel=2)
        fields.setdefault("per_device_train_batch_size", fields.pop("micro_batch_size"))
    return GRPOConfig(**fields)


@dataclass(frozen=True)
class Generation:
    """Prompts and completions side by side, with how much better than its group each is, and how long that took."""

    prompts: list[Tokens]
    completions: list[Tokens]
    advantages: np.ndarray
    rewards: np.ndarray
    seconds: float


def advantages_of(rewards: np.ndarray, group: int) -> np.ndarray:
    """Rewards less the mean of their group of `group` neighbours."""
    grouped = np.asarray(rewards, np.float32).reshape(-1, group)
    return (grouped - grouped.mean(axis=1, keepdims=True)).reshape(-1)


class GRPOTrainer:
    """Trains the model of a completer; `reward_func` gets those of completions, prompts and columns of the data set that it names.

    `dataset` is anything with rows `{"prompt": text, ...}` by number. `optimizer_dict` is an optimizer's configuration. Raises ValueError
    for sizes that do not divide.
    """

    def __init__(
        self,
        completer: GRPOCompleter,
        dataset: Any,
        config: GRPOConfig,
        reward_func: Reward,
        optimizer_dict: Mapping[str, Any],
        callbacks: Sequence[TrainerCallback] | None = None,
        model_source: str | None = None,
    ) -> None:
        self.completer, self.dataset, self.config = completer, dataset, config
        self.reward_func, self.optimizer_dict = reward_func, optimizer_dict
        self.callbacks, self.model_source = list(callbacks or ()), model_source
        self.model = completer.model
        self.optimizer: Any = create_optimizer(self.model, optimizer_dict)
        self.placing = Placing.current()
        self.steps = 0
        self.each = config.per_device_train_batch_size * self.placing.size
        if self.each % config.num_generations:
            raise ValueError(
                f"per_device_train_batch_size * devices ({self.each}) must be divisible by num_generations ({config.num_generations})"
            )
        self.prompts_per_step = self.each // config.num_generations * config.gradient_accumulation_steps

    def train(self) -> None:
        """Go through the prompts once."""
        config, total = self.config, min(self.config.prompts_to_train, len(self.dataset))
        if total % self.prompts_per_step:
            raise ValueError(
                f"prompts_to_train ({total}) must be divisible by the {self.prompts_per_step} prompts of a step"
            )
        base = self.optimizer.get_lr()
        self._tell("on_train_begin")
        for start in range(0, total, self.prompts_per_step):
            rows = [self.dataset[i] for i in range(start, start + self.prompts_per_step)]
            made = self.generation(rows)
            old = list(self._old_probabilities(made))
            for number in range(config.num_iterations):
                begun = time.perf_counter()
                self.optimizer.set_lr(base * self._warm())
                loss = self._one_step(made, old)
                self.steps += 1
                if config.logging_steps and self.steps % config.logging_steps == 0:
                    facts = self._figures(made, loss, time.perf_counter() - begun, number == 0)
                    self._tell("on_step_end", self.steps, **facts)
                if config.checkpointing and self.steps % config.checkpoint_interval == 0:
                    self._tell("on_save", self.steps, str(self.save()))
        self._tell("on_train_end")

    def generation(self, rows: Sequence[Mapping[str, Any]]) -> Generation:
        """Completions of some rows, and their rewards."""
        config, tokenizer = self.config, self.completer.tokenizer
        prompts = [list(tokenizer.encode(row["prompt"])) for row in rows]
        begun = time.perf_counter()
        completions = self.completer.generate(prompts)
        seconds = time.perf_counter() - begun
        wide = [prompt for prompt in prompts for _ in range(config.num_generations)]
        if len(completions) != len(wide):
            raise ValueError(
                f"the completer gave {len(completions)} completions for {len(prompts)} prompts, {config.num_generations} each are wanted"
            )
        names = [name for name in rows[0] if name != "prompt"]
        columns = {n: [row[n] for row in rows for _ in range(config.num_generations)] for n in names}
        told = self._reward(
            [_text(tokenizer, c) for c in completions], [_text(tokenizer, p) for p in wide], columns
        )
        return Generation(wide, completions, advantages_of(told, config.num_generations), told, seconds)

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
        folder = Path(self.config.output_dir) / "checkpoints" / f"grpo_step_{self.steps}"
        checkpoints.save(folder / "checkpoint", step=self.steps, model=self.model, optimizer=self.optimizer)
        checkpoints.export_safetensors(folder / "model.safetensors", self.model)
        state = {"global_step": self.steps, "learning_rate": self.optimizer.get_lr()}
        for name, facts in (("grpo_config.json", asdict(self.config)), ("trainer_state.json", state)):
            (folder / name).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        return folder

    # --- parts of a step ---------------------------------------------------------------------------------------------

    def _micro_batches(self, made: Generation) -> Iterator[slice]:
        for start in range(0, len(made.completions), self.each):
            yield slice(start, start + self.each)

    def _old_probabilities(self, made: Generation) -> Iterator[tuple[Tensor, Tensor]]:
        self.model.eval()
        with no_grad():
            for part in self._micro_batches(made):
                old, mask = self.completer.compute_nlog_probs(made.prompts[part], made.completions[part])
                old.set_requires_grad(False)
                yield old, _shares(mask)
        self.model.train()

    def _one_step(self, made: Generation, old: Sequence[tuple[Tensor, Tensor]]) -> float:
        self.model.train()
        self.optimizer.zero_grad()
        total = 0.0
        for part, (before, mask) in zip(self._micro_batches(made), old, strict=True):
            new, _ = self.completer.compute_nlog_probs(made.prompts[part], made.completions[part])
            advantage = rows_of(made.advantages[part].reshape(-1, 1), self.placing)
            loss = self.loss(before, new, mask, advantage, len(made.completions))
            total += get_loss_over_devices(loss)
            loss.backward(False)
            AutoContext.get_instance().reset_graph()
        synchronize_gradients(self.model.parameters())
        self._tell("on_before_optimizer_step")
        self.optimizer.step()
        return total

    def _warm(self) -> float:
        return min(1.0, (self.steps + 1) / self.config.warmup_steps) if self.config.warmup_steps else 1.0

    def _figures(self, made: Generation, loss: float, seconds: float, first: bool) -> dict[str, float]:
        lengths = [len(completion) for completion in made.completions]
        return {
            "loss": loss,
            "reward_mean": float(made.rewards.mean()),
            "reward_std": float(made.rewards.std()),
            "mean_completion_len": sum(lengths) / len(lengths),
            "min_completion_len": min(lengths),
            "max_completion_len": max(lengths),
            "lr": self.optimizer.get_lr(),
            "step_time_s": seconds,
            "generation_time_s": made.seconds if first else 0.0,
        }

    def _reward(
        self, completions: list[str], prompts: list[str], columns: Mapping[str, list[Any]]
    ) -> np.ndarray:
        pool = {"completions": completions, "prompts": prompts, **columns}
        parameters = inspect.signature(self.reward_func).parameters
        if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
            pool = {name: pool[name] for name in parameters if name in pool}
        rewards = np.asarray(self.reward_func(**pool), np.float32)
        if rewards.shape != (len(completions),):
            raise ValueError(f"reward_func gave {rewards.shape} rewards for {len(completions)} completions")
        return rewards

    def _tell(self, hook: str, *facts: Any, **figures: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self, *facts, **figures)


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
