"""What all optimizers share: parameters by name, learning rate, step count, state that can be saved."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.observation import emit, trained
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import NamedParameters
from tt_run.runtime.train.optimizers.update import Slot

Array = npt.NDArray[Any]
Step = Callable[[Any], None]
Settings = TypeVar("Settings")
MASTER = "master_weights"
"""The name, among states, of float32 copies from which parameters are rounded."""
FORMER_NAMES = {
    MASTER: "master",
    "first_moment": "exp_avg",
    "second_moment": "exp_avg_sq",
    "momentum_buffer": "momentum",
    "theta": "momentum",
}
"""What a state was called in files that were written before it had the reference's name."""


def emits_step(step: Step) -> Step:
    """Emit an event of kind "step" for each call of an optimizer's `step`, when somebody listens."""

    @functools.wraps(step)
    def run(optimizer: Any) -> None:
        start = events.now()
        step(optimizer)
        if events.listening:
            values = [tensor.get_value() for tensor in optimizer._parameters.values()]
            specs = tuple(value.spec for value in values)
            emit("step", f"ttml.{optimizer.get_name()}.step", start, operands=specs)

    return run


def of_state(state: Mapping[str, Any], name: str, owner: object) -> Any:
    """What a saved state holds under a name. Raises KeyError, listing what it holds, for a state that is none of the owner's."""
    if name in state:
        return state[name]
    names = ", ".join(sorted(map(str, state))) or "nothing"
    raise KeyError(
        f"{type(owner).__name__}: the saved state has no {name!r}; it holds {names}. help: take what get_state_dict() of the same class gave"
    )


def checked_settings(optimizer: object, given: object, kind: type[Settings]) -> Settings:
    """The settings given to an optimizer. Raises TypeError unless they are of its kind, RuntimeError for a rate that is none."""
    if isinstance(given, kind):
        rate = getattr(given, "lr", 0.0)
        if not 0.0 <= rate < math.inf:
            raise RuntimeError(
                f"{type(optimizer).__name__}: lr is at least 0 and finite, not {rate}; help: lr=1e-3"
            )
        return given
    raise TypeError(
        f"{type(optimizer).__name__}() takes settings of {kind.__name__}, not {type_name(given)}; "
        f"help: ttml.optimizers.{kind.__name__}.make(lr=1e-3)"
    )


class NothingToTrain(UserWarning):
    """An optimizer has no parameter that takes gradients."""


def warn_of_nothing(optimizer: object, parameters: Mapping[str, Tensor]) -> None:
    """Say that an optimizer will change nothing: it was given no parameters, or frozen ones alone."""
    name = type(optimizer).__name__
    why, hint = (
        "it was given no parameters",
        f"{name}(model.parameters(), config), after ttml.materialize_module(model) of a lazy one",
    )
    if parameters:
        why = f"none of its {len(parameters)} parameters takes gradients"
        hint = "tensor.set_requires_grad(True) before it is made"
    events.warn(f"{name} has nothing to train: {why}; help: {hint}", NothingToTrain)


class OptimizerBase(ABC):
    """Updates the parameters of a model. Parameters without gradient are skipped.

    `_states` names the state arrays of each parameter. Raises TypeError when `parameters` is no mapping of names to tensors.
    """

    _states: tuple[str, ...] = ()
    _kept: ClassVar[Mapping[str, str]] = {}
    """What a state calls the settings that it holds beside the rate, and what they are called in `_config`."""
    _config: Any = None
    _zeroes: bool = True
    """Whether `zero_grad` leaves zeros; else it takes gradients away, and what gets none before the next step stays as it is."""

    def __init__(
        self, parameters: Mapping[str, Tensor], *, lr: float = 0.0, rounded: bool = True, master: bool = False
    ) -> None:
        held = parameters.items() if isinstance(parameters, Mapping) else [("", parameters)]
        wrong = [(name, value) for name, value in held if not isinstance(value, Tensor) or not name]
        if wrong:
            name, value = wrong[0]
            raise TypeError(
                f"an optimizer takes model.parameters(), a dict of names and tensors, not {type(parameters).__name__}"
                f"{f' whose {name!r} is {type_name(value)}' if name else ''}; help: {type(self).__name__}(model.parameters(), config)"
            )
        self._parameters = dict(parameters)
        trained(self._parameters)
        self._lr = lr
        self._initial_lr: float | None = None
        self._steps = 0
        self._slots = {
            name: Slot(tensor, len(self._states), rounded)
            for name, tensor in self._parameters.items()
            if tensor.get_requires_grad()
        }
        if not self._slots:
            warn_of_nothing(self, parameters)
        if master:
            for slot in self._slots.values():
                slot.keep_master()

    @abstractmethod
    def step(self) -> None:
        """Update every parameter that has a gradient."""

    def updates(self, parameters: Mapping[str, Tensor]) -> bool:
        """Whether any of these tensors is one that this optimizer was made for."""
        own = {id(tensor) for tensor in self._parameters.values()}
        return any(id(tensor) in own for tensor in parameters.values())

    def zero_grad(self) -> None:
        """Set existing gradients to zero, or take them away: as the optimizer of this name does in the reference."""
        for tensor in self._parameters.values():
            if self._zeroes:
                tensor.zero_grad()
            else:
                tensor.set_grad(None)

    def get_name(self) -> str:
        """The class name."""
        return type(self).__name__

    def get_lr(self) -> float:
        """Learning rate of the next step."""
        return self._lr

    def set_lr(self, lr: float) -> None:
        """Set the learning rate of the next step. Raises TypeError for what is no number, ValueError for one that is not finite."""
        if not isinstance(lr, Real):
            raise TypeError(f"set_lr: a rate is a number, not {lr!r}; help: set_lr(1e-3)")
        if not math.isfinite(lr):
            raise ValueError(f"set_lr: a rate is finite, not {lr}; help: set_lr(1e-3)")
        self._lr = float(lr)

    def get_initial_lr(self) -> float:
        """The learning rate when this was first asked, as the first schedule does: what schedules take parts of."""
        if self._initial_lr is None:
            self._initial_lr = float(self.get_lr())
        return self._initial_lr

    def get_steps(self) -> int:
        """Steps taken."""
        return self._steps

    def set_steps(self, steps: int) -> None:
        """Set the number of steps taken, which bias corrections depend on. Raises TypeError for what is no whole number from 0 on."""
        if not isinstance(steps, Integral) or isinstance(steps, bool) or steps < 0:
            raise TypeError(
                f"set_steps: a number of steps is a whole number, 0 or above, not {steps!r}; help: set_steps(0)"
            )
        self._steps = int(steps)

    def get_parameters(self) -> dict[str, Tensor]:
        """The parameters by name."""
        return dict(self._parameters)

    def get_state_dict(self) -> dict[str, Any]:
        """Everything that a later run needs to go on with the same bits: lr, steps, the other settings, and for each state the tensors of all parameters.

        `{"lr": …, "steps": …, "beta1": …, "exp_avg": NamedParameters, …}`. A tensor of state lies over the mesh as its parameter does, and a value that
        is set on it is the optimizer's.
        """
        state: dict[str, Any] = {"lr": self._lr, "steps": self._steps}
        if self._initial_lr is not None:
            state["initial_lr"] = self._initial_lr
        state |= {label: getattr(self._config, name) for label, name in self._kept.items()}
        for label in self._labels():
            state[label] = NamedParameters(
                (name, slot.tensor_of(self._place(label))) for name, slot in self._slots.items()
            )
        return state

    def set_state_dict(self, dict: Mapping[str, Any]) -> None:
        """Take back what `get_state_dict` gave; rate and settings that it does not hold stay.

        Raises KeyError with the names when a parameter's state is missing, ValueError for a state of another shape, or of settings that need
        other states.
        """
        if not isinstance(dict, Mapping):
            raise TypeError(
                f"{self.get_name()}: a state is what get_state_dict() gave, not {type_name(dict)}; help: set_state_dict(optimizer.get_state_dict())"
            )
        former = {now: dict[old] for now, old in FORMER_NAMES.items() if now not in dict and old in dict}
        state = {**former, **dict}
        steps = int(of_state(state, "steps", self))
        missing = [
            f"{label}/{name}"
            for name in self._slots
            for label in self._labels()
            if name not in state.get(label, ())
        ]
        if missing:
            raise KeyError(
                f"{self.get_name()}: the saved state has no {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}; "
                "help: take what get_state_dict() of the same class gave"
            )
        settings = {
            name: state[label]
            for label, name in self._kept.items()
            if isinstance(state.get(label), (bool, int, float))
        }
        if settings:
            self._config = replace(self._config, **self._fitting(settings))
        self._lr, self._steps = float(state.get("lr", self._lr)), steps
        self._initial_lr = state.get("initial_lr", self._initial_lr)
        for name, slot in self._slots.items():
            slot.take_state([slot.array_of(state[label][name], f"{label}/{name}") for label in self._states])
            if slot.master is not None:
                slot.take_master(slot.array_of(state[MASTER][name], f"{MASTER}/{name}"))

    def _fitting(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Settings that a state holds. Raises ValueError for those with which the optimizer would keep other states."""
        return settings

    def _labels(self) -> tuple[str, ...]:
        kept = any(slot.master is not None for slot in self._slots.values())
        return (*self._states, MASTER) if kept else self._states

    def _place(self, label: str) -> int | None:
        """Which of a slot's arrays a name means; None for the master."""
        return None if label == MASTER else self._states.index(label)

    def print_stats(self) -> None:
        """Print how large each parameter and its gradient are (root mean squares on the first device of this rank)."""
        print_sizes(self._parameters)


def print_sizes(parameters: Mapping[str, Tensor]) -> None:
    """A line for each parameter: root mean squares of value and gradient on the first device of this rank."""
    for name, tensor in parameters.items():
        text = f"{name}: rms {_rms(tensor.get_value(PreferredPrecision.FULL).shards.data):.3e}"
        if tensor.is_grad_initialized():
            text += f", gradient rms {_rms(tensor.get_grad().shards.data):.3e}"
        print(text)


def _rms(stack: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(stack[0], dtype=np.float32)))) if stack.size else 0.0
