"""A value with a gradient and a place in the graph: what a `ttml.autograd.Tensor` is before arrays and operators come in.

Two arithmetics are offered. bfloat16, the default because a device computes so: operations read `get_value(HALF)`, so float32 values
enter them rounded to bfloat16. float32 (`AutoContext.set_arithmetic`): every floating tensor is float32 and nothing is rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.autocast import AutocastTensor
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.device_tensor import readable
from tt_run.runtime.train.autograd.graph import NodeId, PreferredPrecision
from tt_run.runtime.values.at_rest import dense

if TYPE_CHECKING:
    from typing_extensions import Self

    from tt_run.runtime.tensor.spec.tensor_spec import Shape
    from tt_run.runtime.tensor.tensor import Tensor as Value
    from tt_run.runtime.train.autograd.joint_layout import JointLayout

FLOATS = (DataType.BFLOAT16, DataType.FLOAT32)


class Variable:
    """Wraps a `ttnn.Tensor`; `shape()` is the shape of one device's shard."""

    __slots__ = (
        "__weakref__",
        "_cast",
        "_gradient",
        "_node",
        "_requires_grad",
        "_seeded",
        "_zeroed",
        "fsdp_axis",
        "fsdp_dim",
        "joint",
        "passed_on",
        "sequence_parallel",
        "unrecorded",
    )

    def __init__(self, value: Value | Variable | None = None, requires_grad: bool = True) -> None:
        if isinstance(value, Variable):
            requires_grad = value.get_requires_grad()
            value = value.get_value(PreferredPrecision.FULL)
        self._cast = AutocastTensor(value)
        self._gradient: Value | None = None
        self._zeroed = self._seeded = False
        self.passed_on = False
        """Whether the gradient went on to what the tensor was made of, in a pass over a graph that is kept: the next pass brings another."""
        self.fsdp_axis: int | None = None
        """The mesh axis along which `fully_shard` cut the parameter, and the dimension that it cut."""
        self.fsdp_dim: int | None = None
        self.joint: JointLayout | None = None
        """How a parameter's rows are dealt to tensor-parallel devices; None where they lie as in the model."""
        self.sequence_parallel = False
        """Whether each device of the tensor-parallel axis meets other positions with the parameter."""
        self.unrecorded = False
        """Whether an operation made the tensor while no gradients were recorded."""
        self._requires_grad = requires_grad
        self._node: NodeId | None = None

    def sibling(self, value: Value, requires_grad: bool = True) -> Self:
        """Another one around a value, of the same class."""
        return type(self)(value, requires_grad)

    # --- value -------------------------------------------------------------------------------------------------------

    def get_value(self, precision: PreferredPrecision | None = None) -> Value:
        """The mesh tensor. HALF rounds float32 to bfloat16; the default is what the context's arithmetic asks for."""
        return self._cast.get_tensor(precision)

    def set_value(self, value: Value) -> None:
        """Replace the value; the gradient stays. Raises TypeError for what is no `ttnn` tensor."""
        self._cast.set_tensor(value)

    def assign(self, other: Variable) -> None:
        """Take the value of another tensor in the element type of one's own. Raises RuntimeError for one of another shape per device."""
        if not isinstance(other, Variable):
            raise TypeError(
                f"assign: a tensor is taken from a ttml.autograd.Tensor, not {type_name(other)}; help: ttml.autograd.Tensor.from_numpy(array)"
            )
        value = other.get_value(PreferredPrecision.NATIVE)
        if self._cast.has_tensor():
            own = self.get_value(PreferredPrecision.NATIVE)
            if tuple(value.shape) != tuple(own.shape):
                raise RuntimeError(
                    f"assign: a tensor of shape {list(own.shape)} cannot take {list(value.shape)}; "
                    "help: a tensor of the same shape, as ttml.ops.reshape.reshape makes it"
                )
            if own.dtype is not value.dtype and own.dtype in FLOATS and value.dtype in FLOATS:
                value = stacks.as_dtype(value, own.dtype)
        self.set_value(value)

    # --- gradient ----------------------------------------------------------------------------------------------------

    def get_grad(self) -> Value:
        """The gradient. Raises RuntimeError before the first one arrives."""
        if self._gradient is None:
            raise RuntimeError("the tensor has no gradient; help: backward() on a loss that depends on it")
        return self._gradient

    get_grad_rw = get_grad

    def get_grad_tensor(self) -> Self | None:
        """The gradient as an autograd tensor, None when there is none."""
        return None if self._gradient is None else self.sibling(self._gradient, requires_grad=False)

    def is_grad_initialized(self) -> bool:
        """Whether a gradient has arrived since the last `zero_grad` of a remote optimizer, or ever."""
        return self._gradient is not None

    def set_grad(self, grad: Value | None) -> None:
        """Replace the gradient; None takes it away. Raises RuntimeError when the shapes differ."""
        if grad is not None:
            grad = readable(grad)
            self._check_shape(grad)
        self._gradient, self._zeroed, self._seeded, self.passed_on = grad, False, False, False

    def zero_grad(self) -> None:
        """Set an existing gradient to zero; a tensor without one stays without."""
        if self._gradient is not None:
            self._gradient, self._zeroed, self.passed_on = stacks.zeros_of(self._gradient), True, False

    def set_grad_from_tensor(self, grad_tensor: Variable) -> None:
        """`set_grad` with the value of an autograd tensor."""
        self.set_grad(grad_tensor.get_value())

    def add_grad(self, grad: Value) -> None:
        """Accumulate; nothing happens when the tensor requires no gradient. Raises RuntimeError when the shapes differ.

        A gradient that went on in an earlier pass over a kept graph is replaced: the reference adds here too, so that a second pass brings
        to parameters what the first one brought once more.
        """
        if not self._requires_grad:
            return
        grad = readable(grad)
        self._check_shape(grad)
        if self._gradient is None or self.passed_on:
            self._gradient = grad
        elif self._zeroed:
            # Nothing has arrived since zero_grad: adding to zeros would cost a pass over the whole gradient.
            self._gradient = stacks.as_dtype(grad, self._gradient.dtype)
        else:
            self._gradient = stacks.add(self._gradient, grad)
        self._zeroed = self.passed_on = False
        if dense.is_tight and self._node is None:
            self._gradient.rest()

    def _check_shape(self, gradient: Value) -> None:
        expected = tuple(self.get_value(PreferredPrecision.FULL).shape)
        if tuple(gradient.shape) != expected:
            raise RuntimeError(
                f"Shapes of gradients are not equal. Expected: {list(expected)}, got: {list(gradient.shape)}; "
                "help: a gradient has the shape of its tensor"
            )

    def set_requires_grad(self, requires_grad: bool) -> None:
        """Whether gradients accumulate here."""
        self._requires_grad = requires_grad

    def get_requires_grad(self) -> bool:
        """Whether gradients accumulate here; True by default, also for inputs."""
        return self._requires_grad

    # --- graph -------------------------------------------------------------------------------------------------------

    def backward(self, retain_graph: bool = False) -> None:
        """Run the backward rules of everything this tensor depends on, from the gradient that was set on it, else from ones.

        Raises RuntimeError when nothing was recorded for it, and on a second call without `retain_graph`.
        """
        if self._node is None and self.unrecorded:
            raise RuntimeError(
                "[Tensor::backward] This backward function should not be called! The tensor was made while no gradients were "
                "recorded: under no_grad, or inside a block that the memory-efficient runner computes again. "
                "help: compute the loss outside of no_grad"
            )
        if self._node is None:
            raise RuntimeError(
                "[Tensor::backward] This tensor has no associated gradient function.\n"
                "help: call it on what operations have made, of tensors that require gradients"
            )
        if self._gradient is None or self._seeded:
            # A second pass over a retained graph starts from ones again, not from the seed of the first.
            self.set_grad(stacks.full_like(self.get_value(), 1.0))
            self._seeded = True
        self.passed_on = False
        AutoContext.get_instance().graph.backward(self._node, retain_graph)

    def get_node(self) -> NodeId | None:
        """The node that made this tensor, None for a leaf."""
        return self._node

    def set_node(self, node: NodeId | None) -> None:
        """Tie the tensor to a node. Raises RuntimeError when it is tied to one already."""
        if self._node is not None:
            raise RuntimeError("Graph node is already set for this tensor! help: clean_node() first")
        self._node = node

    def clean_node(self) -> None:
        """Make the tensor a leaf again."""
        self._node = None

    @property
    def _fsdp_shard_dim(self) -> int | None:
        """`fsdp_dim`, by the name that programs know."""
        return self.fsdp_dim

    # --- facts -------------------------------------------------------------------------------------------------------

    def shape(self) -> list[int]:
        """Logical shape of one device's shard."""
        return list(self.get_value(PreferredPrecision.FULL).shape)

    def get_shape(self) -> Shape:
        """Logical shape of one device's shard, as ttnn has it."""
        return self.get_value(PreferredPrecision.FULL).shape

    def get_rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape())

    def dtype(self) -> DataType:
        """Type of the stored value."""
        return self.get_value(PreferredPrecision.FULL).dtype

    def to_string(self) -> str:
        """The text of the value."""
        return str(self.get_value(PreferredPrecision.FULL))

    def __repr__(self) -> str:
        shape = "no value" if not self._cast.has_tensor() else f"shape={self.shape()}, dtype={self.dtype()}"
        return f"ttml.autograd.Tensor({shape}, requires_grad={self._requires_grad})"
