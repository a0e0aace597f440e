"""The settings of GRPO: how many completions are made and trained on at a time, and how fast."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.native.arguments import check_fields
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.common.config import GRPOSettings, RemoteRolloutFileConfig
from tt_run.runtime.train.common.documents import places, section_of
from tt_run.runtime.train.settings import ConfigError, ConfigurationProblems, saying_where

SCHEDULES = ("constant", "cosine")
REPORTS = ("none", "wandb")
ROLLOUTS = (("ttml", "in_process"), ("ttt", "remote_sync"))
"""Who makes completions, and where: the model that is trained, or tt-transformers on another rank. Other pairs mean nothing."""
ROLLOUT_SOURCES = tuple(source for source, _ in ROLLOUTS)
ROLLOUT_MODES = tuple(mode for _, mode in ROLLOUTS)


@dataclass
class RemoteRolloutConfig:
    """What the rank that makes completions has in "remote_sync": its mesh, its batches, and how it draws."""

    mesh_shape: list[int]
    max_batch_size: int
    max_seq_len: int
    seed: int | None = None
    top_k: int = 32
    top_p: float = 1.0
    architecture_model_id: str | None = None


@dataclass
class GRPOConfig:
    """How many completions are made and trained on at a time, and how.

    A micro-batch has `per_device_train_batch_size` completions on each device, `num_generations` for each prompt; a step has
    `gradient_accumulation_steps` micro-batches and is taken `num_iterations` times on the same completions. Raises ValueError for counts
    below 1. After `warmup_steps` the rate stays ("constant") or falls along a half cosine to `min_lr_rate` of itself ("cosine"); gradients are
    clipped to `clip_grad_norm_max_norm` with `use_clip_grad_norm`; `log_completions` prints the first `num_completions_to_print` of a step.
    With `rollout_mode="remote_sync"` another rank makes the completions, with weights of every `weight_sync_every`-th step. Figures go to `grpo_metrics.csv` in `output_dir`, if one is given, and with `report_to="wandb"` to a run named `run_name`.
    """

    epsilon: float = 0.2
    per_device_train_batch_size: int = 4
    num_iterations: int = 1
    gradient_accumulation_steps: int = 1
    logging_steps: int = 1
    output_dir: str = ""
    checkpointing: bool = False
    checkpoint_interval: int = 100
    prompts_to_train: int = 1000
    temperature: float = 1.0
    max_completion_length: int = 128
    num_generations: int = 4
    warmup_steps: int = 0
    batch_size: int | None = None
    lr_scheduler_type: str = "constant"
    min_lr_rate: float = 0.0
    use_clip_grad_norm: bool = False
    clip_grad_norm_max_norm: float = 1.0
    log_completions: bool = False
    num_completions_to_print: int = 0
    report_to: str = "none"
    run_name: str | None = None
    disable_default_monitor: bool = False
    rollout_source: str = "ttml"
    rollout_mode: str = "in_process"
    weight_sync_every: int = 1
    remote_rollout: RemoteRolloutConfig | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name in (
            "per_device_train_batch_size",
            "num_iterations",
            "gradient_accumulation_steps",
            "num_generations",
            "weight_sync_every",
            *(["checkpoint_interval"] if self.checkpointing else []),
        ):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"GRPOConfig: {name} must be positive, got {getattr(self, name)}; help: GRPOConfig({name}=1)"
                )
        if self.epsilon < 0.0:
            raise ValueError(f"GRPOConfig: epsilon must be at least 0, got {self.epsilon}; help: epsilon=0.2")
        if self.lr_scheduler_type not in SCHEDULES:
            raise ValueError(
                f"GRPOConfig: lr_scheduler_type must be one of {', '.join(SCHEDULES)}, got {self.lr_scheduler_type!r}; help: lr_scheduler_type={SCHEDULES[0]!r}"
            )
        if not 0.0 <= self.min_lr_rate <= 1.0:
            raise ValueError(
                f"GRPOConfig: min_lr_rate must be in [0.0, 1.0], got {self.min_lr_rate}; help: GRPOConfig(min_lr_rate=0.1)"
            )
        if self.use_clip_grad_norm and self.clip_grad_norm_max_norm <= 0.0:
            raise ValueError(
                f"GRPOConfig: clip_grad_norm_max_norm must be positive, got {self.clip_grad_norm_max_norm}; help: GRPOConfig(clip_grad_norm_max_norm=1.0)"
            )
        if self.report_to not in REPORTS:
            raise ValueError(
                f"GRPOConfig: report_to must be one of {', '.join(REPORTS)}, got {self.report_to!r}; help: report_to={REPORTS[0]!r}"
            )
        if self.num_completions_to_print < 0:
            raise ValueError(
                f"GRPOConfig: num_completions_to_print must be at least 0, got {self.num_completions_to_print}; help: GRPOConfig(num_completions_to_print=0)"
            )
        for name, known in (("rollout_source", ROLLOUT_SOURCES), ("rollout_mode", ROLLOUT_MODES)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"GRPOConfig: '{name}' must be one of {', '.join(known)}, got {getattr(self, name)!r}; help: {name}={known[0]!r}"
                )
        if (self.rollout_source, self.rollout_mode) not in ROLLOUTS:
            pairs = ", ".join(f"{source} {mode}" for source, mode in ROLLOUTS)
            raise ValueError(
                f"GRPOConfig: rollout_source and rollout_mode must be one of {pairs}, got {self.rollout_source} {self.rollout_mode}; help: rollout_source='ttml', rollout_mode='in_process'"
            )
        if self.batch_size is not None:
            events.warn(
                "grpo_config: 'batch_size' is ignored; it follows from the other sizes. help: remove it",
                UserWarning,
            )

    def rate_factor(self, step: int, total: int) -> float:
        """What the learning rate is multiplied by at a 0-based step of `total`."""
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        if self.lr_scheduler_type == "constant":
            return 1.0
        passed = min((step - self.warmup_steps) / max(total - self.warmup_steps, 1), 1.0)
        return self.min_lr_rate + (1.0 - self.min_lr_rate) * 0.5 * (1.0 + math.cos(math.pi * passed))


@naming_faults
def get_grpo_config(yaml_config: Mapping[str, Any], output_dir: str = "") -> GRPOConfig:
    """The settings under `training_config.grpo_config`. Raises ConfigError when there are none, and for those that do not exist."""
    training = section_of(yaml_config, "training_config")
    given, place, path = training.get("grpo_config"), places(yaml_config), ("training_config", "grpo_config")
    if not isinstance(given, Mapping):
        told = (
            "training_config must contain a 'grpo_config' section; help: grpo_config: below training_config"
        )
        at = place(path)
        raise ConfigError(f"{at}: {told}" if at else told)
    report, settings = ConfigurationProblems(place, path), GRPOSettings()
    settings.fill(given, report)
    report.settle()
    fields = {"output_dir": output_dir, **settings.given}
    if "micro_batch_size" in fields:
        events.warn("grpo_config: 'micro_batch_size' is now 'per_device_train_batch_size'", UserWarning)
        fields.setdefault("per_device_train_batch_size", fields.pop("micro_batch_size"))
    if yaml_config.get("remote_rollout_config") is not None:
        fields["remote_rollout"] = _remote(yaml_config)
    with saying_where([(given, place, path)]):
        return GRPOConfig(**fields)


def _remote(yaml_config: Mapping[str, Any]) -> RemoteRolloutConfig:
    given = RemoteRolloutFileConfig(yaml_config).given
    missing = [name for name in ("mesh_shape", "max_batch_size", "max_seq_len") if name not in given]
    report = ConfigurationProblems(places(yaml_config), ("remote_rollout_config",))
    for name in missing:
        report.below(name).wrong(
            " is missing", "[1, 1]" if name == "mesh_shape" else "1024" if name == "max_seq_len" else "1"
        )
    report.settle()
    return RemoteRolloutConfig(**given)
