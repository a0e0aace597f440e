"""Muon for the matrices between a model's ends, AdamW for everything else: embeddings, norms, biases, heads, joint matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.kinds import list_of, number, text, whole_number
from tt_run.runtime.train.optimizers.base import NothingToTrain, OptimizerBase, of_state, warn_of_nothing
from tt_run.runtime.train.optimizers.muon import MuonComposite, MuonConfig
from tt_run.runtime.train.settings import ConfigurationProblems, Place, Section, Setting

ADAMW_MODULES = frozenset({"tok_emb", "pos_emb", "fc", "kv_linear", "qkv_linear"})
"""Modules whose weights are AdamW's: ends of the model, and matrices made of several that would each have to be orthogonal."""
_KEYS = ("type", "muon", "adamw", "adamw_modules")


class MuonSettings(Section):
    """What `muon:` may hold."""

    section = "muon"
    lr = Setting(number(0.0), 0.02, "upstream's muon_optimizer")
    momentum = Setting(number(0.0), 0.95, "upstream's muon_optimizer")
    ns_steps = Setting(whole_number(1), 5, "upstream's muon_optimizer")


class MuonBesideAnother:
    """Two optimizers in one, the second made by `create`; `config` is `{"muon": {…}, "adamw": {…}, "adamw_modules": […]}`, and `place` says where.

    Each has a rate of its own, so a schedule goes to `muon_optimizer()` and another to `adamw_optimizer()`.
    """

    supports_lr_scheduling = False
    lr_scheduling_hint = (
        "Attach one scheduler to .muon_optimizer() and another to .adamw_optimizer() instead."
    )

    def __init__(
        self,
        config: Mapping[str, Any],
        params: Mapping[str, Tensor],
        create: Callable[[Any, Mapping[str, Tensor], ConfigurationProblems], Any],
        place: Place,
    ) -> None:
        report, settings = ConfigurationProblems(place, ("optimizer",)), MuonSettings()
        for key in config:
            if key not in _KEYS:
                report.below(str(key)).unknown(_KEYS)
        settings.fill(config.get("muon"), report.below("muon"))
        named = config.get("adamw_modules")
        kept = None if named is None else list_of(text).read(named, report.below("adamw_modules"))
        report.settle()
        modules: Collection[str] = kept or ADAMW_MODULES
        matrices = {name: tensor for name, tensor in params.items() if _is_matrix(name, modules)}
        others = {name: tensor for name, tensor in params.items() if name not in matrices}
        with warnings.catch_warnings():
            # One of the two may have no parameters.
            warnings.simplefilter("ignore", NothingToTrain)
            self._muon = MuonComposite(
                matrices, MuonConfig.make(settings.lr, settings.momentum, settings.ns_steps)
            )
            self._adamw = create(config.get("adamw"), others, report.below("adamw"))
        if not any(tensor.get_requires_grad() for tensor in params.values()):
            warn_of_nothing(self, params)
        self._names = sorted(matrices), sorted(others)

    def muon_optimizer(self) -> MuonComposite:
        """The optimizer of the matrices."""
        return self._muon

    def adamw_optimizer(self) -> Any:
        """The optimizer of everything else."""
        return self._adamw

    def get_name(self) -> str:
        """The class name."""
        return type(self).__name__

    def zero_grad(self) -> None:
        """Set existing gradients to zero."""
        self._muon.zero_grad()
        self._adamw.zero_grad()

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self._muon.step()
        self._adamw.step()

    def get_lr(self) -> float:
        """The rate of Muon."""
        return self._muon.get_lr()

    def set_lr(self, lr: float) -> None:
        """Set the rate of Muon."""
        self._muon.set_lr(lr)

    def get_adamw_lr(self) -> float:
        """The rate of AdamW."""
        found: float = self._adamw.get_lr()
        return found

    def set_adamw_lr(self, lr: float) -> None:
        """Set the rate of AdamW."""
        self._adamw.set_lr(lr)

    def get_steps(self) -> int:
        """Steps taken."""
        return self._muon.get_steps()

    def set_steps(self, steps: int) -> None:
        """Set the number of steps taken."""
        self._muon.set_steps(steps)
        self._adamw.set_steps(steps)

    def get_state_dict(self) -> dict[str, Any]:
        """The state of both."""
        return {"muon": self._muon.get_state_dict(), "adamw": self._adamw.get_state_dict()}

    def set_state_dict(self, dict: Mapping[str, Any]) -> None:
        """Take back what `get_state_dict` gave. Raises KeyError for a state that is none."""
        muon, adamw = (of_state(dict, name, self) for name in ("muon", "adamw"))
        self._muon.set_state_dict(muon)
        self._adamw.set_state_dict(adamw)

    def print_stats(self) -> None:
        """Print how large each parameter and its gradient are."""
        self._muon.print_stats()
        self._adamw.print_stats()

    def print_param_groups(self) -> None:
        """Print which parameters are whose."""
        for title, names in zip(("Muon", "AdamW"), self._names, strict=True):
            print(f"  {title} parameters ({len(names)}):")
            for name in names:
                print(f"    - {name}")


OptimizerBase.register(MuonBesideAnother)


def _is_matrix(name: str, others: Collection[str]) -> bool:
    return name.endswith("/weight") and not any(part in others for part in name.split("/"))
