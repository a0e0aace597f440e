"""AdamW with decoupled weight decay, as torch.optim.AdamW defines it.

`AdamW` keeps its moments in the type of the parameter, bfloat16 as a rule, as devices do; `AdamWFullPrecision` keeps moments and a
master copy in float32 and rounds the parameter from that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tt_run.runtime.native.arguments import check_fields
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import NamedParameters
from tt_run.runtime.train.optimizers.base import OptimizerBase, checked_settings, emits_step
from tt_run.runtime.train.optimizers.update import BLOCK
from tt_run.runtime.values.scratch_arrays import scratch

Array = npt.NDArray[Any]


@dataclass()
class AdamWConfig:
    """Settings of AdamW. Raises RuntimeError for a beta outside of [0, 1) and for two ways of rounding at once, TypeError for a setting of another kind."""

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.01
    amsgrad: bool = False
    stochastic_rounding: bool = False
    use_kahan_summation: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.stochastic_rounding and self.use_kahan_summation:
            raise RuntimeError(
                "AdamW: with kahan_summation nothing is lost by rounding; help: stochastic_rounding or kahan_summation, not both"
            )
        for name in ("beta1", "beta2"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise RuntimeError(f"AdamW: {name} is in [0, 1), not {getattr(self, name)}; help: {name}=0.9")
        if self.epsilon < 0.0:
            raise RuntimeError(f"AdamW: epsilon is at least 0, not {self.epsilon}; help: epsilon=1e-8")

    @staticmethod
    def make(
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        stochastic_rounding: bool = False,
        use_kahan_summation: bool = False,
    ) -> AdamWConfig:
        """The settings."""
        return AdamWConfig(
            lr, beta1, beta2, epsilon, weight_decay, amsgrad, stochastic_rounding, use_kahan_summation
        )


class AdamW(OptimizerBase):
    """p -= lr * wd * p, then p -= lr * m^ / (sqrt(v^) + eps) with bias-corrected moments.

    `use_kahan_summation` keeps what rounding the parameter lost and adds it to the next update; `amsgrad` divides by the largest v^.
    `stochastic_rounding` rounds a bfloat16 parameter up or down by chance, by a generator of the context's seed, the step and the
    parameter's place among the names: the same on every device, after a resume, and on any split over ranks.
    """

    _states: tuple[str, ...] = ("exp_avg", "exp_avg_sq")
    _kept: ClassVar[Mapping[str, str]] = {
        name: name for name in ("beta1", "beta2", "epsilon", "weight_decay", "amsgrad", "stochastic_rounding")
    }

    def __init__(self, parameters: Mapping[str, Tensor], config: AdamWConfig) -> None:
        self._config = checked_settings(self, config, AdamWConfig)
        extra = ("max_exp_avg_sq",) if config.amsgrad else ()
        self._states = (*type(self)._states, *extra)
        super().__init__(parameters, lr=config.lr, rounded=self._rounded(), master=self._master())

    def _rounded(self) -> bool:
        return True

    def _master(self) -> bool:
        # Kahan summation needs an exact sum before rounding: the float32 master holds value and compensation in one.
        return self._config.use_kahan_summation

    def _fitting(self, settings: dict[str, Any]) -> dict[str, Any]:
        kept = bool(settings.get("amsgrad", self._config.amsgrad))
        if kept is not self._config.amsgrad:
            raise ValueError(
                f"{self.get_name()}: the saved state is of amsgrad={kept}, the optimizer of amsgrad={self._config.amsgrad}, "
                f"and their states differ; help: make it with amsgrad={kept}"
            )
        return settings

    @emits_step
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self._steps += 1
        config = self._config
        beta1, beta2 = np.float32(config.beta1), np.float32(config.beta2)
        rest1, rest2 = np.float32(1.0 - config.beta1), np.float32(1.0 - config.beta2)
        rate = np.float32(self._lr / (1.0 - config.beta1**self._steps))
        root = np.float32(1.0 / math.sqrt(1.0 - config.beta2**self._steps))
        shrink = np.float32(1.0 - self._lr * config.weight_decay)
        epsilon = np.float32(config.epsilon)

        def kernel(p: Array, g: Array, m: Array, v: Array, *more: Array) -> None:
            square = scratch("adamw", 1, BLOCK)[0][: g.size]
            m *= beta1
            m += np.multiply(g, rest1, out=square)
            v *= beta2
            np.multiply(g, g, out=square)
            square *= rest2
            v += square
            largest = v
            if config.amsgrad:
                largest = np.maximum(more[0], v, out=more[0])
            np.sqrt(largest, out=square)
            square *= root
            square += epsilon
            np.divide(m, square, out=square)
            square *= rate
            p *= shrink
            p -= square

        seed = AutoContext.get_instance().get_seed()
        for place, name in enumerate(sorted(self._slots)):
            draw = None
            if config.stochastic_rounding:
                draw = np.random.Generator(np.random.Philox([seed, self._steps, place]))
            self._slots[name].step(kernel, draw=draw)


class AdamWFullPrecision(AdamW):
    """AdamW with float32 moments and a float32 master copy of every parameter. Raises RuntimeError for stochastic rounding, of which it has none."""

    _kept: ClassVar[Mapping[str, str]] = {
        name: name for name in ("beta1", "beta2", "epsilon", "weight_decay", "amsgrad")
    }

    def __init__(self, parameters: Mapping[str, Tensor], config: AdamWConfig) -> None:
        super().__init__(parameters, config)
        if config.stochastic_rounding:
            raise RuntimeError(
                "AdamWFullPrecision: parameters are rounded from float32 copies, and nothing is lost; help: AdamW for stochastic_rounding"
            )

    def _rounded(self) -> bool:
        return False

    def _master(self) -> bool:
        return True


class AdamWComposite(AdamW):
    """The same mathematics, made of several kernels on devices; its moments have names of their own, and `zero_grad` takes gradients away."""

    _states = ("first_moment", "second_moment")
    _kept: ClassVar[Mapping[str, str]] = {}
    _zeroes = False

    def get_state_dict(self) -> dict[str, Any]:
        """As `AdamW`, with empty groups for what the settings do not ask for."""
        state = OptimizerBase.get_state_dict(self)
        return {**{name: NamedParameters() for name in ("max_exp_avg_sq", "kahan_compensation")}, **state}


class MorehAdamW(AdamWComposite):
    """The same mathematics; another kernel on devices. Raises RuntimeError for a Kahan sum, which that has not."""

    def __init__(self, parameters: Mapping[str, Tensor], config: AdamWConfig) -> None:
        if config.use_kahan_summation:
            raise RuntimeError(
                "MorehAdamW: Kahan summation is not supported. Use default AdamWComposite instead. help: kahan_summation=False"
            )
        super().__init__(parameters, config)

    def get_state_dict(self) -> dict[str, Any]:
        """`{"first_moment": …, "second_moment": …, "steps": …, "lr": …}`."""
        return OptimizerBase.get_state_dict(self)


AdamWFullPrecisionConfig = AdamWConfig
