"""`SFTConfig`: the settings of supervised fine-tuning."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any, TypeVar

from tt_run.runtime.native.arguments import check_fields

Config = TypeVar("Config")


def _also_lr(kind: type[Config]) -> type[Config]:
    """Let programs say `lr` for `learning_rate`, as older ones do."""
    make = kind.__init__

    @functools.wraps(make)
    def init(self: Config, *args: Any, lr: float | None = None, **settings: Any) -> None:
        if lr is not None and "learning_rate" in settings:
            raise TypeError(f"{kind.__name__}() takes learning_rate or lr, not both; help: leave lr out")
        make(self, *args, **(settings if lr is None else {**settings, "learning_rate": lr}))

    # Whoever publishes the class wraps what is no wrapper yet.
    del init.__wrapped__
    init.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    kind.__init__ = init  # type: ignore[method-assign,assignment]
    kind.lr = property(lambda config: config.learning_rate)  # type: ignore[attr-defined]
    return kind


@_also_lr
@dataclass
class SFTConfig:
    """How long to train, and how. Raises TypeError for counts that are none, ValueError for those that are negative
    or zero where that means nothing.

    Intervals of 0 turn evaluation and checkpoints off, a `max_grad_norm` of 0 clipping. Without an optimizer of its own the trainer makes an
    AdamW with these settings. `gradient_checkpointing` computes activations again in the backward pass instead of keeping them. A bar of
    progress (`ProgressBar`) is shown each `log_interval` steps where standard error is a terminal, unless it is 0 or `disable_progress_bar`.
    """

    max_steps: int = 1000
    gradient_accumulation_steps: int = 1
    eval_interval: int = 200
    save_interval: int = 500
    checkpoint_dir: str = "checkpoints"
    checkpoint_prefix: str = ""
    seed: int | None = None
    max_seq_len: int = 1024
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    warmup_steps: int = 0
    max_grad_norm: float = 0.0
    log_interval: int = 1
    gradient_checkpointing: bool = False
    disable_progress_bar: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("max_steps", "gradient_accumulation_steps", "max_seq_len"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"SFTConfig: {name} must be at least 1, not {getattr(self, name)}; help: SFTConfig({name}=1)"
                )
        for name in (
            "eval_interval",
            "save_interval",
            "log_interval",
            "warmup_steps",
            "max_grad_norm",
            "learning_rate",
        ):
            if getattr(self, name) < 0:
                raise ValueError(
                    f"SFTConfig: {name} cannot be negative, not {getattr(self, name)}; help: SFTConfig({name}=0) turns it off"
                )
