"""Optimizers by name: those of `ttml`, and those that a program registers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.optimizers import adamw, combined, muon, sgd
from tt_run.runtime.train.optimizers.settings import OptimizerConfig
from tt_run.runtime.train.settings import (
    ConfigError,
    ConfigurationProblems,
    Path,
    Place,
    saying_where,
    value_words,
)

Parameters = Mapping[str, Tensor]
Creator = Callable[[Mapping[str, Any], Parameters], Any]

_RATE = ("lr", "learning_rate")
_ADAMW = (
    *_RATE,
    *("beta1", "beta2", "epsilon", "eps", "weight_decay"),
    *("amsgrad", "stochastic_rounding", "kahan_summation", "use_kahan_summation"),
)
_SGD = (*_RATE, "momentum", "dampening", "weight_decay", "nesterov")
_MUON = (*_RATE, "momentum", "ns_steps")

registered: dict[str, Creator] = {}
"""What programs registered, by type."""


@dataclass(frozen=True)
class Known:
    """An optimizer of `ttml`: the settings it reads, and how it is made from them."""

    settings: tuple[str, ...]
    make: Callable[[OptimizerConfig, Parameters], Any]


def _given(config: OptimizerConfig, **names: tuple[str, ...]) -> dict[str, Any]:
    """Arguments of a settings class, only those that were given: the others keep its defaults."""
    found = {name: config.first(*keys) for name, keys in names.items()}
    return {name: value for name, value in found.items() if value is not None}


def _adamw(kind: type[adamw.AdamW]) -> Known:
    def make(config: OptimizerConfig, parameters: Parameters) -> adamw.AdamW:
        settings = _given(
            config,
            lr=_RATE,
            beta1=("beta1",),
            beta2=("beta2",),
            epsilon=("epsilon", "eps"),
            weight_decay=("weight_decay",),
            amsgrad=("amsgrad",),
            stochastic_rounding=("stochastic_rounding",),
            use_kahan_summation=("kahan_summation", "use_kahan_summation"),
        )
        return kind(parameters, adamw.AdamWConfig(**settings))

    return Known(_ADAMW, make)


def _sgd(kind: type[sgd.SGD]) -> Known:
    def make(config: OptimizerConfig, parameters: Parameters) -> sgd.SGD:
        names = {name: (name,) for name in ("momentum", "dampening", "weight_decay", "nesterov")}
        return kind(parameters, sgd.SGDConfig(**_given(config, lr=_RATE, **names)))

    return Known(_SGD, make)


def _muon(kind: type[muon.Muon]) -> Known:
    def make(config: OptimizerConfig, parameters: Parameters) -> muon.Muon:
        settings = _given(config, lr=_RATE, momentum=("momentum",), ns_steps=("ns_steps",))
        return kind(parameters, muon.MuonConfig(**settings))

    return Known(_MUON, make)


KNOWN: dict[str, Known] = {
    "AdamW": _adamw(adamw.AdamW),
    "AdamWFullPrecision": _adamw(adamw.AdamWFullPrecision),
    "MorehAdamW": _adamw(adamw.MorehAdamW),
    "AdamWComposite": _adamw(adamw.AdamWComposite),
    "SGD": _sgd(sgd.SGD),
    "SGDComposite": _sgd(sgd.SGDComposite),
    "Muon": _muon(muon.Muon),
    "MuonComposite": _muon(muon.MuonComposite),
    "NoOp": Known((*_RATE,), lambda config, parameters: muon.NoOp(parameters)),
}
OptimizerConfig.types.update(name.lower() for name in KNOWN)


def register_optimizer(type: str, creator: Creator) -> None:
    """Make `{"type": type, …}` mean `creator(config, params)`; a name registered again means the last one."""
    if not callable(creator):
        raise TypeError(
            f"register_optimizer({type!r}): the creator is called with (config, params), got {creator!r}; help: a function of a configuration (dict) and parameters (dict)"
        )
    registered[type] = creator


def _nowhere(path: Path) -> str:
    """The place of settings that a program gives: none."""
    return ""


def type_of(config: Mapping[str, Any], place: Place = _nowhere) -> str:
    """The optimizer that a configuration means, AdamW without a type, in the spelling of the class. Raises ConfigError listing those there are."""
    if not isinstance(config, Mapping):
        raise ConfigError(
            f"an optimizer's configuration is a map, not {value_words(config)}; help: {{'type': 'AdamW', 'lr': 1e-3}}"
        )
    kind = config.get("type", "AdamW")
    if isinstance(kind, str) and kind in registered:
        return kind
    words = (kind if isinstance(kind, str) else value_words(kind)).lower()
    names = {name.lower(): name for name in (*KNOWN, *registered, "MuonWithAdamW")}
    found = names.get(words)
    if found is None:
        near = difflib.get_close_matches(words, names, n=1)
        hint = f"; help: did you mean {names[near[0]]!r}?" if near else "; help: type: AdamW"
        at = place(("optimizer", "type"))
        told = f"optimizer.type: {value_words(kind)} is not one of {', '.join(sorted(names.values()))}{hint}"
        raise ConfigError(f"{at}: {told}" if at else told)
    return found


def create_optimizer(config: Mapping[str, Any], params: Parameters) -> Any:
    """The optimizer of a configuration `{"type": …, "lr": …}` over `model.parameters()`.

    Raises ConfigError for a type that is not known, and for settings that are wrong or that the type does not read.
    """
    return placed_optimizer(config, params, _nowhere)


def placed_optimizer(config: Mapping[str, Any], params: Parameters, place: Place) -> Any:
    """The same of settings that stand in a file, where `place` says of each."""
    name = type_of(config, place)
    if name in registered:
        return registered[name](config, params)
    if name == "MuonWithAdamW":
        return MuonWithAdamW(config, params, place)
    return _known_optimizer(name, config, params, ConfigurationProblems(place, ("optimizer",)))


def _known_optimizer(
    name: str, config: Mapping[str, Any], params: Parameters, report: ConfigurationProblems
) -> Any:
    known, made = KNOWN[name], OptimizerConfig()
    for key in config:
        if key in OptimizerConfig.settings and key not in (*known.settings, "type"):
            report.below(key).wrong(f" is no setting of {name}; it has {', '.join(known.settings)}")
    made.fill(config, report)
    report.settle()
    with saying_where([(config, report.place, report.path)]):
        return known.make(made, params)


class MuonWithAdamW(combined.MuonBesideAnother):
    """Muon for matrices and AdamW for the rest: `{"muon": {…}, "adamw": {…}, "adamw_modules": […]}`. Raises as `create_optimizer`."""

    def __init__(self, config: Mapping[str, Any], params: Parameters, place: Place = _nowhere) -> None:
        def beside(settings: Any, others: Parameters, report: ConfigurationProblems) -> Any:
            if settings is not None and not isinstance(settings, Mapping):
                report.wrong(f" is a map of settings, not {value_words(settings)}", "{lr: 0.001}")
                report.settle()
            return _known_optimizer("AdamW", settings or {}, others, report)

        super().__init__(config, params, beside, place)


def register_muon() -> None:
    """Make the type `MuonWithAdamW` known, which it is already: programs call this."""
    register_optimizer("MuonWithAdamW", MuonWithAdamW)
