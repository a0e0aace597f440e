"""What a rule says of one call: how operands must lie, which collectives go before and after, how the result lies; and where rules are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import distributed
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.parallel.layouts import Layout

Rule = Callable[..., "ShardingPlan"]
Call = TypeVar("Call", bound=Callable[..., Any])


class CCL(ABC):
    """A collective on one operand or result."""

    mesh_axis: int

    @abstractmethod
    def __call__(self, tensor: Tensor) -> Tensor:
        """What it makes of a tensor."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Its name and arguments."""

    def log_dict(self, *, arg_idx: int | None = None, out_idx: int | None = None) -> dict[str, Any]:
        """Its name and arguments for a trace, with the number of the operand or result."""
        numbers = {"arg_idx": arg_idx, "out_idx": out_idx}
        return {**{name: number for name, number in numbers.items() if number is not None}, **self.facts()}


@dataclass(frozen=True)
class Broadcast(CCL):
    """Nothing now, and the sum of the gradients over an axis."""

    mesh_axis: int

    def __call__(self, tensor: Tensor) -> Tensor:
        return distributed.broadcast(tensor, self.mesh_axis)

    def facts(self) -> dict[str, Any]:
        """Its name and arguments."""
        return {"type": "broadcast", "mesh_axis": self.mesh_axis}


@dataclass(frozen=True)
class AllReduce(CCL):
    """The sum over an axis; with `noop_backward` each device takes the gradient as it is."""

    mesh_axis: int
    noop_backward: bool = False

    def __call__(self, tensor: Tensor) -> Tensor:
        return distributed.all_reduce(tensor, self.noop_backward, self.mesh_axis)

    def facts(self) -> dict[str, Any]:
        """Its name and arguments."""
        return {"type": "all_reduce", "mesh_axis": self.mesh_axis, "noop_backward": self.noop_backward}


@dataclass(frozen=True)
class AllGather(CCL):
    """Shards of an axis side by side on a dimension; `gather_grad_replicated` says that the gradient is the same on every device."""

    dim: int
    mesh_axis: int
    gather_grad_replicated: bool = False

    def __call__(self, tensor: Tensor) -> Tensor:
        kind = GradOutputType.REPLICATED if self.gather_grad_replicated else GradOutputType.SHARDED
        return distributed.all_gather(tensor, self.dim % tensor.get_rank(), self.mesh_axis, kind)

    def facts(self) -> dict[str, Any]:
        """Its name and arguments."""
        axis, same = self.mesh_axis, self.gather_grad_replicated
        return {"type": "all_gather", "dim": self.dim, "mesh_axis": axis, "grad_replicated": same}


@dataclass(frozen=True)
class Scatter(CCL):
    """Of a tensor that every device of an axis holds, each keeps its own part of a dimension."""

    dim: int
    mesh_axis: int

    def __call__(self, tensor: Tensor) -> Tensor:
        return distributed.scatter(tensor, self.dim % tensor.get_rank(), self.mesh_axis)

    def facts(self) -> dict[str, Any]:
        """Its name and arguments."""
        return {"type": "scatter", "dim": self.dim, "mesh_axis": self.mesh_axis}


OptionalCCL = Broadcast | AllReduce | AllGather | Scatter | None


@dataclass
class ShardingPlan:
    """How one call goes: a layout and perhaps a collective for each operand, a layout and perhaps collectives for the result.

    `added_after` is the operand that is added once, after the collectives of the result: a bias where products are summed. `named` says
    that the result is told to lie as `output_layout`; without it, as the operation itself says, which moves dimensions.
    """

    input_layouts: list[Layout]
    output_layout: Layout
    pre_collectives: list[OptionalCCL] | None = None
    post_collectives: list[OptionalCCL] | None = None
    added_after: int | None = None
    named: bool = True


class PlanCache:
    """Plans by what they were made of; the one that was used longest ago goes first."""

    def __init__(self, maxsize: int = 1024) -> None:
        self.maxsize = maxsize
        self._cache: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """A plan, None where there is none."""
        if key in self._cache:
            self._cache.move_to_end(key)
        return self._cache.get(key)

    def put(self, key: Hashable, plan: Any) -> None:
        """Keep a plan."""
        self._cache[key] = plan
        self._cache.move_to_end(key)
        if len(self._cache) > self.maxsize:
            self._cache.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        self._cache.clear()

    def __len__(self) -> int:
        return len(self._cache)


OP_RULES: dict[str, Rule] = {}
"""Rules by the name of the operation."""
MODULE_RULES: dict[Any, Callable[..., Any]] = {}
"""What programs say of their own classes of modules."""


def register_rule(op_name: str) -> Callable[[Call], Call]:
    """Say that a function is the rule of an operation, from now on: `rule(*layouts, runtime=…, **keywords)` gives a `ShardingPlan`."""

    def kept(rule: Call) -> Call:
        OP_RULES[op_name] = rule
        return rule

    return kept


def get_rule(op_name: str) -> Rule | None:
    """The rule of an operation, None without one."""
    return OP_RULES.get(op_name)


def register_module_rule(module_type: Any) -> Callable[[Call], Call]:
    """Say that a function cuts modules of a class: `rule(module, mesh_device, policy, prefix)`; `distribute_module` calls it."""

    def kept(rule: Call) -> Call:
        MODULE_RULES[module_type] = rule
        return rule

    return kept


def get_module_rule(module_type: Any) -> Callable[..., Any] | None:
    """The rule of a class, of a class it derives from, or of an object's; None without one."""
    if module_type in MODULE_RULES:
        return MODULE_RULES[module_type]
    kind = module_type if isinstance(module_type, type) else type(module_type)
    return next(
        (rule for known, rule in MODULE_RULES.items() if isinstance(known, type) and issubclass(kind, known)),
        None,
    )
