"""How blocks of a transformer are run: as they are, or recomputed in the backward pass to save memory."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import GradMode, Graph
from tt_run.runtime.train.autograd.operation import naming_faults, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules import substitution

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


_Kind = TypeVar("_Kind", bound="Named")


class Named(enum.Enum):
    """Choices that a configuration names in lower case."""

    @classmethod
    def from_string(cls: type[_Kind], text: str) -> _Kind:
        """The member that a configuration names. Raises ValueError listing the names."""
        wanted = text.strip().lower().replace("_", "").replace("-", "")
        for member in cls:
            if member.name.lower() == wanted:
                return member
        names = [_snake(member.name) for member in cls]
        raise ValueError(
            f"{cls.__name__}: {text!r} is not one of {', '.join(names)}; help: {(difflib.get_close_matches(text, names, n=1) or names)[0]!r}"
        )


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


class RunnerType(Named):
    """Default keeps all activations; MemoryEfficient keeps those between blocks and recomputes the rest."""

    Default = 0
    MemoryEfficient = 1


class WeightTyingType(Named):
    """Whether the output layer shares the embedding's weight."""

    Disabled = 0
    Enabled = 1


Block = Callable[..., Tensor]


def run(block: Block, tensor: Tensor, runner: RunnerType) -> Tensor:
    """Apply a block in the chosen way; the result and the gradients are the same bits."""
    context = AutoContext.get_instance()
    if runner is RunnerType.Default or not context.records:
        return block(tensor)
    return _recomputed(block, tensor, context)


@naming_faults
def memory_efficient_runner(forward: Callable[..., Tensor], tensor: Tensor, *args: Any) -> Tensor:
    """`forward(tensor, *args)`, whose activations are computed again in the backward pass instead of kept. Results are the same bits.

    Raises TypeError for a `forward` that cannot be called, and for another first argument than a tensor.
    """
    return run(lambda x: forward(x, *args), tensor, RunnerType.MemoryEfficient)


def _recomputed(block: Block, tensor: Tensor, context: AutoContext) -> Tensor:
    """Forward without a graph; backward repeats the block on a detached input with the generator as it was."""
    before = context.generator.bit_generator.state
    context.set_gradient_mode(GradMode.DISABLED)
    try:
        # Parameters are no operands here: of those that are trained, this result knows.
        made = block(tensor)
        # Parameters that are gathered for use are gathered now, and not when the backward pass runs the block again.
        seen = substitution.current()
    finally:
        context.set_gradient_mode(GradMode.ENABLED)

    def rule(gradient: Value) -> None:
        after = context.generator.bit_generator.state
        outer = context.graph
        context.graph = Graph(outer.generation - 1, within=outer)
        context.generator.bit_generator.state = before
        try:
            inside = Tensor(tensor.get_value(), tensor.get_requires_grad())
            with substitution.again(seen):
                out = block(inside)
            out.set_grad(gradient)
            node = out.get_node()
            if node is not None:
                context.graph.backward(node, retain=False)
        finally:
            context.graph = outer
            context.generator.bit_generator.state = after
        if inside.is_grad_initialized():
            tensor.add_grad(inside.get_grad())

    gathered = [substitute for what in seen for _, _, substitute in what]
    return result(made.get_value(), (tensor, made, *gathered), rule)
