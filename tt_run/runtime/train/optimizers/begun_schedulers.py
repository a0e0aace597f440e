"""The schedules of `ttml.schedulers`: each sets the rate of its step 0 when it is made, as PyTorch's do and upstream's classes of C++.

Those of `ttml.common.schedulers` (`schedulers.py`) leave the rate alone until their first step. Here all schedules of an optimizer take parts of
one base, the rate that it had when the first of them was made; and a state that is taken back sets the rate, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_run.runtime.train.optimizers import schedulers as plain
from tt_run.runtime.train.optimizers.base import OptimizerBase


class _Begun(plain.SchedulerBase):
    def _start(self) -> None:
        self._base_lr = getattr(self._optimizer, "get_initial_lr", self._optimizer.get_lr)()
        self.begin()

    def set_state_dict(self, dict: Mapping[str, Any]) -> None:
        """Take back what `get_state_dict` gave, and set the rate that was set last. Raises KeyError for a state that is none."""
        super().set_state_dict(dict)
        self._optimizer.set_lr(self._last_lr)


class LambdaScheduler(_Begun, plain.LambdaScheduler):
    """base * f(step). Of a callable that is no function its attributes are saved with the state, as torch does."""

    def __init__(self, optimizer: OptimizerBase, lr_lambda: Callable[[int], float]) -> None:
        super().__init__(optimizer, lr_lambda)
        self._start()


class StepScheduler(_Begun, plain.StepScheduler):
    """base * gamma ** (step // step_size)."""

    def __init__(self, optimizer: OptimizerBase, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, step_size, gamma)
        self._start()


class LinearScheduler(_Begun, plain.LinearScheduler):
    """From base * start_factor to base * end_factor in total_steps, then constant.

    Raises ValueError for a start_factor outside of (0, 1], for with 0 the first step would do nothing, and an end_factor outside of [0, 1].
    """

    def __init__(
        self, optimizer: OptimizerBase, start_factor: float, end_factor: float, total_steps: int
    ) -> None:
        if not 0.0 < start_factor <= 1.0:
            raise ValueError(
                f"start_factor is above 0 and at most 1, got {start_factor}; help: start_factor=0.1"
            )
        if not 0.0 <= end_factor <= 1.0:
            raise ValueError(f"end_factor is between 0 and 1, got {end_factor}; help: end_factor=1.0")
        super().__init__(optimizer, start_factor, end_factor, total_steps)
        self._start()


class CosineAnnealingScheduler(_Begun, plain.CosineAnnealingScheduler):
    """eta_min + (base - eta_min) * (1 + cos(pi * step / T_max)) / 2, which rises again after T_max, as torch's does."""

    def __init__(self, optimizer: OptimizerBase, T_max: int, eta_min: float = 0.0) -> None:
        super().__init__(optimizer, T_max, eta_min)
        self._start()


class SequentialScheduler(_Begun, plain.SequentialScheduler):
    """One scheduler after another, each counting its steps from its own start; the first one's rate at step 0 is set at once.

    `milestones` are as in `ttml.common.schedulers.SequentialScheduler`. Raises ValueError as that does.
    """

    def __init__(
        self, optimizer: OptimizerBase, schedulers: Sequence[plain.SchedulerBase], milestones: Sequence[int]
    ) -> None:
        super().__init__(optimizer, schedulers, milestones)
        first = self._schedulers[0]
        first.begin()
        self._base_lr, self._last_lr = first.base_lr, first.get_last_lr()
