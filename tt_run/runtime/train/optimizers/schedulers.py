"""Learning-rate schedules: the classes of ttml, and the two that training configurations name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.optimizers.base import OptimizerBase


class SchedulerBase:
    """Sets the optimizer's learning rate after each of its steps; `base_lr` is the rate the optimizer started with."""

    def __init__(self, optimizer: OptimizerBase) -> None:
        if not callable(getattr(optimizer, "get_lr", None)):
            raise TypeError(f"{type(self).__name__}() takes an optimizer first, not {type_name(optimizer)}")
        if not getattr(optimizer, "supports_lr_scheduling", True):
            hint = getattr(optimizer, "lr_scheduling_hint", "")
            raise ValueError(f"{type(self).__name__}: {optimizer.get_name()} has more than one rate. {hint}")
        self._optimizer = optimizer
        self.base_lr = optimizer.get_lr()
        self._last_step = 0
        self._last_lr = self.base_lr

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        raise TypeError(f"{type(self).__name__} defines no rate()")

    def step(self) -> None:
        """One step further: set the optimizer's learning rate."""
        self._last_step += 1
        self._last_lr = self.rate(self._last_step)
        self._optimizer.set_lr(self._last_lr)

    def get_last_lr(self) -> float:
        """The rate this scheduler set last."""
        return self._last_lr

    def get_current_lr(self) -> float:
        """The rate the optimizer has."""
        return self._optimizer.get_lr()

    def get_state_dict(self) -> dict[str, Any]:
        """What a later run needs to go on."""
        return {"last_step": self._last_step, "last_lr": self._last_lr, "base_lr": self.base_lr}

    def set_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `get_state_dict` gave."""
        self._last_step, self._last_lr = int(state["last_step"]), float(state["last_lr"])
        self.base_lr = float(state["base_lr"])


class LambdaScheduler(SchedulerBase):
    """base * f(step)."""

    def __init__(self, optimizer: OptimizerBase, function: Callable[[int], float]) -> None:
        super().__init__(optimizer)
        self._function = function

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        return self.base_lr * self._function(step)


class StepScheduler(SchedulerBase):
    """base * gamma ** (step // step_size)."""

    def __init__(self, optimizer: OptimizerBase, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer)
        if step_size < 1:
            raise ValueError(f"step_size must be positive, got {step_size}")
        self._size, self._gamma = step_size, gamma

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        return float(self.base_lr * self._gamma ** (step // self._size))


class LinearScheduler(SchedulerBase):
    """From base * start_factor to base * end_factor in total_steps, then constant."""

    def __init__(
        self, optimizer: OptimizerBase, start_factor: float, end_factor: float, total_steps: int
    ) -> None:
        super().__init__(optimizer)
        if total_steps < 1:
            raise ValueError(f"total_steps must be positive, got {total_steps}")
        self._start, self._end, self._total = start_factor, end_factor, total_steps

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        return self.base_lr * (self._start + (self._end - self._start) * min(step / self._total, 1.0))


class CosineAnnealingScheduler(SchedulerBase):
    """eta_min + (base - eta_min) * (1 + cos(pi * step / T_max)) / 2 until T_max, then eta_min: no restart."""

    def __init__(self, optimizer: OptimizerBase, T_max: int, eta_min: float = 0.0) -> None:
        super().__init__(optimizer)
        if T_max < 1:
            raise ValueError(f"T_max must be positive, got {T_max}")
        self._period, self._least = T_max, eta_min

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        turn = math.pi * min(step, self._period) / self._period
        return self._least + (self.base_lr - self._least) * (1 + math.cos(turn)) / 2


class SequentialScheduler(SchedulerBase):
    """One scheduler after another, each counting its steps from its own start.

    `milestones` are either as many as the schedulers, and say how many steps each runs (the last one stays in force after its own), or
    one fewer, and say at which steps one takes over from the next, as torch has it. Raises ValueError for anything else.
    """

    def __init__(
        self, optimizer: OptimizerBase, schedulers: Sequence[SchedulerBase], milestones: Sequence[int]
    ) -> None:
        super().__init__(optimizer)
        given = [int(milestone) for milestone in milestones]
        if schedulers and len(given) == len(schedulers) and min(given) > 0:
            given = list(itertools.accumulate(given[:-1]))
        if not schedulers or len(given) != len(schedulers) - 1 or given != sorted(set(given)):
            raise ValueError(
                f"{len(schedulers)} schedulers need a positive number of steps for each, or {len(schedulers) - 1} ascending milestones "
                f"between them, got {list(milestones)}"
            )
        self._schedulers, self._milestones = list(schedulers), given

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        number = sum(step > milestone for milestone in self._milestones)
        start = self._milestones[number - 1] if number else 0
        return self._schedulers[number].rate(step - start)


def identity(base: float, total_steps: int) -> Callable[[int], float]:
    """The schedule `identity` of training configurations: constant. Takes the 0-based step."""
    return lambda step: base


def warmup_linear(base: float, total_steps: int) -> Callable[[int], float]:
    """The schedule `warmup_linear`: up over the first tenth, then down to one hundredth of the base. Takes the 0-based step."""
    warm = int(0.1 * total_steps)
    decay = max(total_steps - warm, 1)

    def rate(step: int) -> float:
        count = step + 1
        if warm and count <= warm:
            return base * count / warm
        return base * max(0.0, 1.0 - 0.99 * (count - warm) / decay)

    return rate


@dataclass(frozen=True)
class WarmupHoldDecay:
    """The schedule of `scheduler_config`: up from 0 to max_lr, held, down to min_lr at total_steps; all of it linear.

    beta1 of AdamW goes from beta1_start to beta1_end over beta1_warmup_steps, and is left alone when that is 0.
    """

    max_lr: float = 1e-3
    min_lr: float = 0.0
    warmup_steps: int = 100
    hold_steps: int = 0
    total_steps: int = 1000
    beta1_start: float = 0.85
    beta1_end: float = 0.95
    beta1_warmup_steps: int = 0

    def lr_at(self, step: int) -> float:
        """The rate at a 0-based step."""
        if step < self.warmup_steps:
            return self.max_lr * step / self.warmup_steps
        held = self.warmup_steps + self.hold_steps
        passed = min(max(step - held, 0) / max(self.total_steps - held, 1), 1.0)
        return self.max_lr + (self.min_lr - self.max_lr) * passed

    def beta1_at(self, step: int) -> float | None:
        """AdamW's beta1 at a 0-based step; None when it does not change."""
        if not self.beta1_warmup_steps:
            return None
        passed = min(step / self.beta1_warmup_steps, 1.0)
        return self.beta1_start + (self.beta1_end - self.beta1_start) * passed


class SpeedrunScheduler:
    """`scheduler_config` as upstream's loops use it: `lr_at(step)` and `beta1_at(step)` of a `SchedulerConfig`."""

    def __init__(self, cfg: Any) -> None:
        self.cfg = cfg
        self._schedule: WarmupHoldDecay = cfg.schedule()

    def lr_at(self, step: int) -> float:
        """The rate at a 0-based step."""
        return self._schedule.lr_at(step)

    def beta1_at(self, step: int) -> float | None:
        """AdamW's beta1 at a 0-based step; None when it does not change."""
        return self._schedule.beta1_at(step)


class OptimParamSetter:
    """Sets what a schedule gives on an optimizer."""

    def __init__(self, optim: OptimizerBase) -> None:
        self.optim = optim

    def set_lr(self, lr: float) -> None:
        """Set the learning rate of the next step."""
        self.optim.set_lr(float(lr))


SCHEDULES = {"identity": identity, "warmup_linear": warmup_linear}
"""Schedules by the name that `scheduler_type` gives."""
