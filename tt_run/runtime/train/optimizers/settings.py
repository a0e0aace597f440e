"""The settings of optimizers, as configuration files name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tt_run.runtime.train.kinds import flag, list_of, number, text, whole_number
from tt_run.runtime.train.settings import ConfigurationProblems, Section, Setting

UPSTREAM = "upstream's configuration files"
GUIDE = "TTML Onboarding Guide"
ALIASES = {"learning_rate": "lr", "eps": "epsilon", "use_kahan_summation": "kahan_summation"}
"""Settings with two names, by the older one."""


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

    types: ClassVar[set[str]] = set()
    """The types whose settings these are, in small letters; the registry enters them."""

    def fill(self, given: Any, report: ConfigurationProblems) -> None:
        """As any section; of another type than those here the program that registers it knows the settings."""
        kind = given.get("type") if isinstance(given, Mapping) else None
        if isinstance(kind, str) and kind.lower() not in self.types:
            self.given = dict(given)
            return
        super().fill(given, report)
        for name, other in ALIASES.items():
            if name in self.given and other in self.given and self.given[name] != self.given[other]:
                report.below(name).wrong(
                    f" is the same as {other}, which is {self.given[other]}; help: keep one of the two"
                )

    def first(self, *names: str) -> object | None:
        """The first of some settings that was given."""
        return next((self.given[name] for name in names if name in self.given), None)
