"""Learning-rate schedules: the classes of `ttml.common.schedulers`, and the two that training configurations name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from types import FunctionType
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.optimizers.base import OptimizerBase, of_state


class SchedulerBase:
    """Sets the optimizer's learning rate after each of its steps; `base_lr` is the rate the optimizer started with.

    `_settings` names the attributes that a state holds beside the count of steps, each behind "m".
    """

    _settings: tuple[str, ...] = ()

    def __init__(self, optimizer: OptimizerBase) -> None:
        if not callable(getattr(optimizer, "get_lr", None)):
            raise TypeError(
                f"{type(self).__name__}() takes an optimizer first, not {type_name(optimizer)}; help: {type(self).__name__}(optimizer, …)"
            )
        if not getattr(optimizer, "supports_lr_scheduling", True):
            hint = getattr(optimizer, "lr_scheduling_hint", "")
            raise ValueError(f"{type(self).__name__}: {optimizer.get_name()} has more than one rate. {hint}")
        self._optimizer = optimizer
        self._base_lr = optimizer.get_lr()
        self._last_step = 0
        self._last_lr = self._base_lr

    @property
    def base_lr(self) -> float:
        """The rate that the schedule is a part of."""
        return self._base_lr

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        raise TypeError(f"{type(self).__name__} defines no rate()")

    def _keeps(self, names: Sequence[str]) -> bool:
        """Whether a state of this kind of schedule has such names beside its settings."""
        return False

    def step(self) -> None:
        """One step further: set the optimizer's learning rate."""
        self._last_step += 1
        self._last_lr = self.rate(self._last_step)
        self._optimizer.set_lr(self._last_lr)

    def begin(self) -> None:
        """Set the optimizer's learning rate to that of step 0."""
        self._last_step = 0
        self._last_lr = self.rate(0)
        self._optimizer.set_lr(self._last_lr)

    def get_last_lr(self) -> float:
        """The rate this scheduler set last."""
        return self._last_lr

    def get_current_lr(self) -> float:
        """The rate the optimizer has."""
        return self._optimizer.get_lr()

    def get_state_dict(self) -> dict[str, Any]:
        """What a later run needs to go on, the schedule's own settings with it: `{"m_last_step": …, "m_last_lr": …, "m_base_lr": …, …}`."""
        names = ("_last_step", "_last_lr", "_base_lr", *self._settings)
        return {f"m{name}": getattr(self, name) for name in names}

    def set_state_dict(self, dict: Mapping[str, Any]) -> None:
        """Take back what `get_state_dict` gave. Raises TypeError and KeyError for a state that is none, ValueError for that of another kind of schedule."""
        if not isinstance(dict, Mapping):
            raise TypeError(
                f"{type(self).__name__}: a state is what get_state_dict() gave, not {type_name(dict)}; help: save that of the same class"
            )
        base = ("_last_step", "_last_lr", "_base_lr")
        others = [key for key in dict if key.startswith("m_") and key[1:] not in (*base, *self._settings)]
        if others and not any(f"m{name}" in dict for name in self._settings) and not self._keeps(others):
            raise ValueError(
                f"{type(self).__name__}: the saved state is of another schedule, it has {', '.join(others)}; "
                "help: make the schedule that was saved"
            )
        for name in base:
            former = name.lstrip("_")
            setattr(self, name, dict[former] if former in dict else of_state(dict, f"m{name}", self))
        for name in self._settings:
            if f"m{name}" in dict:
                setattr(self, name, dict[f"m{name}"])


class LambdaScheduler(SchedulerBase):
    """base * f(step). Of a callable that is no function its attributes are saved with the state, as torch does."""

    def __init__(self, optimizer: OptimizerBase, lr_lambda: Callable[[int], float]) -> None:
        super().__init__(optimizer)
        if not callable(lr_lambda):
            raise TypeError(
                f"LambdaScheduler: lr_lambda is called with the step, got {lr_lambda!r}; help: lambda step: 0.95**step"
            )
        self._lr_lambda = lr_lambda

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps. Raises TypeError when the callable gives no number."""
        share = self._lr_lambda(step)
        if not isinstance(share, Real):
            raise TypeError(
                f"LambdaScheduler: lr_lambda({step}) gave {share!r}, which is no number; help: lambda step: 0.95**step"
            )
        return self._base_lr * float(share)

    def _keeps(self, names: Sequence[str]) -> bool:
        return "m_lr_lambda" in names

    def get_state_dict(self) -> dict[str, Any]:
        """As any schedule, with `m_lr_lambda`: the attributes of the callable, None for a function."""
        plain = isinstance(self._lr_lambda, FunctionType)
        kept = None if plain else dict(getattr(self._lr_lambda, "__dict__", {}))
        return {**super().get_state_dict(), "m_lr_lambda": kept}

    def set_state_dict(self, dict: Mapping[str, Any]) -> None:
        """Take back what `get_state_dict` gave; a function stays as it is."""
        super().set_state_dict(dict)
        if dict.get("m_lr_lambda"):
            vars(self._lr_lambda).update(dict["m_lr_lambda"])


def _require_numbers(owner: SchedulerBase, **given: Any) -> None:
    """Raise TypeError for a setting of a schedule that is no number."""
    for name, value in given.items():
        if not isinstance(value, Real) or isinstance(value, bool):
            raise TypeError(
                f"{type(owner).__name__}: {name} is a number, not {value!r}; help: {name}={1 if 'T_max' in name or 'step' in name else 0.1}"
            )


def _require_chain(schedulers: Any, milestones: Any) -> None:
    """Raise TypeError for what is no list of schedules, or of numbers of steps; None among schedules is told with their number."""
    plain = not isinstance(schedulers, Sequence) or any(
        each is not None and not isinstance(each, SchedulerBase) for each in schedulers
    )
    steps = not isinstance(milestones, Sequence) or not all(isinstance(each, Integral) for each in milestones)
    if plain or steps:
        wrong = f"schedulers, not {schedulers!r:.60}" if plain else f"milestones, not {milestones!r}"
        raise TypeError(
            f"SequentialScheduler takes a list of {wrong}; help: SequentialScheduler(optimizer, [first, second], [100])"
        )


class StepScheduler(SchedulerBase):
    """base * gamma ** (step // step_size)."""

    _settings = ("_step_size", "_gamma")

    def __init__(self, optimizer: OptimizerBase, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer)
        _require_numbers(self, step_size=step_size, gamma=gamma)
        if step_size < 1:
            raise ValueError(f"step_size must be positive, got {step_size}; help: step_size=1 or more")
        self._step_size, self._gamma = step_size, gamma

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        return float(self._base_lr * self._gamma ** (step // self._step_size))


class LinearScheduler(SchedulerBase):
    """From base * start_factor to base * end_factor in total_steps, then constant."""

    _settings = ("_start_factor", "_end_factor", "_total_steps")

    def __init__(
        self, optimizer: OptimizerBase, start_factor: float, end_factor: float, total_steps: int
    ) -> None:
        super().__init__(optimizer)
        _require_numbers(self, start_factor=start_factor, end_factor=end_factor, total_steps=total_steps)
        if total_steps < 1:
            raise ValueError(f"total_steps must be positive, got {total_steps}; help: total_steps=1 or more")
        self._start_factor, self._end_factor, self._total_steps = start_factor, end_factor, total_steps

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        share = min(step / self._total_steps, 1.0)
        return self._base_lr * (self._start_factor + (self._end_factor - self._start_factor) * share)


class CosineAnnealingScheduler(SchedulerBase):
    """eta_min + (base - eta_min) * (1 + cos(pi * step / T_max)) / 2, which rises again after T_max, as torch's does."""

    _settings = ("_T_max", "_eta_min")

    def __init__(self, optimizer: OptimizerBase, T_max: int, eta_min: float = 0.0) -> None:
        super().__init__(optimizer)
        _require_numbers(self, T_max=T_max, eta_min=eta_min)
        if T_max < 1:
            raise ValueError(f"T_max must be positive, got {T_max}; help: T_max=1 or more")
        self._T_max, self._eta_min = T_max, eta_min

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        turn = math.pi * step / self._T_max
        return self._eta_min + (self._base_lr - self._eta_min) * (1 + math.cos(turn)) / 2


class SequentialScheduler(SchedulerBase):
    """One scheduler after another, each counting its steps from its own start.

    `milestones` are either as many as the schedulers, and say how many steps each runs (then the rate stays), or one fewer, and say at which
    steps one takes over from the next with its own rate at step 0, as torch has it (the last one then goes on). Raises ValueError for
    anything else.
    """

    def __init__(
        self, optimizer: OptimizerBase, schedulers: Sequence[SchedulerBase], milestones: Sequence[int]
    ) -> None:
        super().__init__(optimizer)
        _require_chain(schedulers, milestones)
        given = [int(milestone) for milestone in milestones]
        lengths: list[float] = [*given]
        self._takes_over = bool(schedulers) and len(given) == len(schedulers) - 1
        if self._takes_over and given == sorted({*given} - {0}):
            starts = [0, *given]
            lengths = [*(late - early for early, late in pairwise(starts)), math.inf]
        if not schedulers or len(lengths) != len(schedulers) or min(lengths) <= 0 or None in schedulers:
            raise ValueError(
                f"{len(schedulers)} schedulers need a positive number of steps for each, or {len(schedulers) - 1} ascending milestones "
                f"between them, got {list(milestones)}; help: SequentialScheduler(optimizer, [first, second], [100])"
            )
        for number, scheduler in enumerate(schedulers):
            if scheduler._optimizer is not optimizer:
                raise ValueError(
                    f"SequentialScheduler: scheduler {number} sets the rate of another optimizer; "
                    f"help: {type(scheduler).__name__}(optimizer, …) of the same one"
                )
        self._schedulers, self._lengths = list(schedulers), lengths
        self._current_scheduler_index = self._current_step_in_scheduler = 0

    def _keeps(self, names: Sequence[str]) -> bool:
        return "m_current_scheduler_index" in names

    def step(self) -> None:
        """One step of the scheduler whose turn it is; nothing happens after the last one's steps."""
        if self._current_scheduler_index == len(self._schedulers):
            return
        current = self._schedulers[self._current_scheduler_index]
        self._last_step += 1
        self._current_step_in_scheduler += 1
        ends = self._current_step_in_scheduler >= self._lengths[self._current_scheduler_index]
        if ends:
            self._current_scheduler_index += 1
            self._current_step_in_scheduler = 0
        if ends and self._takes_over:
            current = self._schedulers[self._current_scheduler_index]
            current.begin()
        else:
            current.step()
        self._last_lr = current.get_last_lr()

    def get_state_dict(self) -> dict[str, Any]:
        """Where in the row it is, and the state of each scheduler: `scheduler_0/m_last_step` and so on."""
        state = super().get_state_dict()
        for name in ("_current_scheduler_index", "_current_step_in_scheduler"):
            state[f"m{name}"] = getattr(self, name)
        for number, scheduler in enumerate(self._schedulers):
            state |= {f"scheduler_{number}/{key}": held for key, held in scheduler.get_state_dict().items()}
        return state

    def set_state_dict(self, dict: Mapping[str, Any]) -> None:
        """Take back what `get_state_dict` gave."""
        super().set_state_dict(dict)
        if "m_current_scheduler_index" not in dict:  # of a file from before schedulers kept their own states
            self._current_scheduler_index = self._current_step_in_scheduler = 0
            passed, self._last_step = self._last_step, 0
            rate, last = self._optimizer.get_lr(), self._last_lr
            for _ in range(passed):
                self.step()
            self._last_lr = last
            self._optimizer.set_lr(rate)
            return
        self._current_scheduler_index = int(dict["m_current_scheduler_index"])
        self._current_step_in_scheduler = int(of_state(dict, "m_current_step_in_scheduler", self))
        for number, scheduler in enumerate(self._schedulers):
            prefix = f"scheduler_{number}/"
            own = {key[len(prefix) :]: held for key, held in dict.items() if key.startswith(prefix)}
            scheduler.set_state_dict(own)


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
    beta1_start: float | None = 0.85
    beta1_end: float | None = 0.95
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
        if not self.beta1_warmup_steps or self.beta1_start is None or self.beta1_end is None:
            return None
        passed = min(step / self.beta1_warmup_steps, 1.0)
        return self.beta1_start + (self.beta1_end - self.beta1_start) * passed


class SpeedrunScheduler:
    """`scheduler_config` as upstream's loops use it: `lr_at(step)` and `beta1_at(step)` of a `SchedulerConfig`, or of anything with its fields."""

    def __init__(self, cfg: Any) -> None:
        self.cfg = cfg

    def lr_at(self, step: int) -> float:
        """The rate at a 0-based step."""
        return self._schedule().lr_at(step)

    def beta1_at(self, step: int) -> float | None:
        """AdamW's beta1 at a 0-based step; None when it does not change."""
        return self._schedule().beta1_at(step)

    def _schedule(self) -> WarmupHoldDecay:
        """Read anew each time, for a program may change its settings as it goes."""
        return WarmupHoldDecay(**{name: getattr(self.cfg, name) for name in WarmupHoldDecay.__match_args__})


class OptimParamSetter:
    """Sets what a schedule gives on an optimizer."""

    def __init__(self, optim: OptimizerBase) -> None:
        self.optim = optim

    def set_lr(self, lr: float) -> None:
        """Set the learning rate of the next step."""
        self.optim.set_lr(float(lr))


SCHEDULES = {"identity": identity, "warmup_linear": warmup_linear}
"""Schedules by the name that `scheduler_type` gives."""
