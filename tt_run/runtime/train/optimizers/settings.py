"""The settings of optimizers, as configuration files name them."""

from __future__ import annotations

from tt_run.runtime.train.kinds import flag, list_of, number, text, whole_number
from tt_run.runtime.train.settings import Section, Setting

UPSTREAM = "upstream's configuration files"
GUIDE = "TTML Onboarding Guide"


class OptimizerConfig(Section):
    """An optimizer's settings; which of them it has depends on its `type`. Keys that are not given stay None: the optimizer's own default."""

    section = "optimizer"
    type: Setting[str | None] = Setting(text, None, UPSTREAM)
    lr: Setting[float | None] = Setting(number(0.0), None, UPSTREAM)
    learning_rate: Setting[float | None] = Setting(number(0.0), None, GUIDE)
    beta1: Setting[float | None] = Setting(number(0.0, below=1.0), None, UPSTREAM)
    beta2: Setting[float | None] = Setting(number(0.0, below=1.0), None, UPSTREAM)
    epsilon: Setting[float | None] = Setting(number(0.0), None, UPSTREAM)
    eps: Setting[float | None] = Setting(number(0.0), None, GUIDE)
    weight_decay: Setting[float | None] = Setting(number(0.0), None, UPSTREAM)
    amsgrad: Setting[bool | None] = Setting(flag, None, UPSTREAM)
    stochastic_rounding: Setting[bool | None] = Setting(flag, None, UPSTREAM)
    kahan_summation: Setting[bool | None] = Setting(flag, None, UPSTREAM)
    use_kahan_summation: Setting[bool | None] = Setting(flag, None, GUIDE)
    momentum: Setting[float | None] = Setting(number(0.0), None, UPSTREAM)
    dampening: Setting[float | None] = Setting(number(), None, UPSTREAM)
    nesterov: Setting[bool | None] = Setting(flag, None, UPSTREAM)
    ns_steps: Setting[int | None] = Setting(whole_number(1), None, UPSTREAM)
    adamw_modules: Setting[list[str] | None] = Setting(list_of(text), None, UPSTREAM)

    def first(self, *names: str) -> object | None:
        """The first of some settings that was given."""
        return next((self.given[name] for name in names if name in self.given), None)
