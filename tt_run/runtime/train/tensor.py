"""`ttml.autograd.Tensor`: a mesh tensor with a gradient and a place in the graph (ttml specification, section 3).

Two arithmetics are offered. bfloat16, the default because a device computes so: operations read `get_value(HALF)`, so float32 values
enter them rounded to bfloat16. float32 (`AutoContext.set_arithmetic`): every floating tensor is float32 and nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train import values
from tt_run.runtime.train.autocast import AutocastTensor
from tt_run.runtime.train.graph import NodeId, PreferredPrecision
from tt_run.runtime.train.reading import readable
from tt_run.runtime.values.dtypes import convert, is_float, stored_dtype

if TYPE_CHECKING:
    from tt_run.runtime.tensor.spec.tensor_spec import Shape
    from tt_run.runtime.tensor.tensor import Tensor as Value
    from tt_run.runtime.train.placed import Joint

Array = npt.NDArray[Any]

_ACCEPTED = ("float32", "int32", "uint32", "bfloat16")
_NUMPY_TYPES = (DataType.BFLOAT16, DataType.FLOAT32, DataType.UINT32, DataType.INT32)


class Tensor:
    """Wraps a `ttnn.Tensor`; `shape()` is the shape of one device's shard."""

    __slots__ = (
        "__weakref__",
        "_cast",
        "_gradient",
        "_node",
        "_requires_grad",
        "_seeded",
        "_zeroed",
        "joint",
    )

    def __init__(self, value: Value | None = None, requires_grad: bool = True) -> None:
        self._cast = AutocastTensor(value)
        self._gradient: Value | None = None
        self._zeroed = self._seeded = False
        self.joint: Joint | None = None
        """How a parameter's rows are dealt to tensor-parallel devices; None where they lie as in the model."""
        self._requires_grad = requires_grad
        self._node: NodeId | None = None

    # --- to and from NumPy -------------------------------------------------------------------------------------------

    @staticmethod
    def from_numpy(
        numpy_tensor: Array,
        layout: Layout = Layout.TILE,
        new_type: DataType | None = None,
        mapper: Any = None,
    ) -> Tensor:
        """A tensor from a float32, int32, uint32 or bfloat16 array; on every device when no mapper distributes it.

        64-bit arrays are taken when `new_type` says what they become. Raises RuntimeError for them without it, TypeError for other types.
        """
        from tt_run.runtime.tensor.borders.arrays import from_torch
        from tt_run.runtime.train.context import AutoContext

        context = AutoContext.get_instance()
        array = np.asarray(numpy_tensor)
        if array.dtype.name not in _ACCEPTED:
            if array.dtype.itemsize == 8 and new_type is None:
                raise RuntimeError(
                    f"Unsupported precision: expected 32 bits, got 64 bits ({array.dtype}). help: give new_type, or an array of 32 bits"
                )
            if new_type is None:
                raise TypeError(f"Unsupported type: {array.dtype}. help: one of {', '.join(_ACCEPTED)}")
        if new_type is not None and new_type not in _NUMPY_TYPES:
            raise TypeError(f"Unsupported type: {new_type}")
        target = new_type or _own_type(array)
        if is_float(target):
            target = context.storage_dtype(target)
        value = from_torch(
            np.ascontiguousarray(array),
            dtype=target,
            layout=layout,
            device=context.get_device(),
            mesh_mapper=mapper,
        )
        assert value is not None
        return Tensor(value)

    def to_numpy(self, new_type: DataType | None = None, composer: Any = None) -> Array:
        """The full-precision value as an array. A tensor over several devices needs a composer unless all hold the same.

        bfloat16 comes as float32. Raises RuntimeError for a sharded tensor without composer, TypeError for a type NumPy has not.
        """
        from tt_run.runtime.tensor.borders.arrays import to_numpy
        from tt_run.runtime.train.distributed import first_shard

        value = self.get_value(PreferredPrecision.FULL)
        if new_type is not None and new_type not in _NUMPY_TYPES:
            raise TypeError(f"Unsupported type: {new_type}")
        array = first_shard(value) if composer is None else to_numpy(value, composer)
        if new_type is None or new_type is value.dtype:
            return array
        return (
            convert(array.astype(np.float32), new_type)
            if is_float(new_type)
            else array.astype(stored_dtype(new_type))
        )

    # --- value -------------------------------------------------------------------------------------------------------

    @property
    def tensor(self) -> Tensor:
        """Itself: a layer's `weight.tensor` reads as that of a `Parameter`."""
        return self

    def get_value(self, precision: PreferredPrecision | None = None) -> Value:
        """The mesh tensor. HALF rounds float32 to bfloat16; the default is what the context's arithmetic asks for."""
        return self._cast.get_tensor(precision)

    def set_value(self, value: Value) -> None:
        """Replace the value; the gradient stays."""
        self._cast.set_tensor(value)

    def assign(self, other: Tensor) -> None:
        """Take the value of another tensor."""
        self.set_value(other.get_value())

    # --- gradient ----------------------------------------------------------------------------------------------------

    def get_grad(self) -> Value:
        """The gradient. Raises RuntimeError before the first one arrives."""
        if self._gradient is None:
            raise RuntimeError("the tensor has no gradient; call backward() on a loss that depends on it")
        return self._gradient

    get_grad_rw = get_grad

    def get_grad_tensor(self) -> Tensor | None:
        """The gradient as an autograd tensor, None when there is none."""
        return None if self._gradient is None else Tensor(self._gradient, requires_grad=False)

    def is_grad_initialized(self) -> bool:
        """Whether a gradient has arrived since the last `zero_grad` of a remote optimizer, or ever."""
        return self._gradient is not None

    def set_grad(self, gradient: Value | None) -> None:
        """Replace the gradient; None takes it away. Raises RuntimeError when the shapes differ."""
        if gradient is not None:
            self._check_shape(gradient)
            gradient = readable(gradient)
        self._gradient, self._zeroed, self._seeded = gradient, False, False

    def zero_grad(self) -> None:
        """Set an existing gradient to zero; a tensor without one stays without."""
        if self._gradient is not None:
            self._gradient, self._zeroed = values.full_like(self._gradient, 0.0), True

    def set_grad_from_tensor(self, gradient: Tensor) -> None:
        """`set_grad` with the value of an autograd tensor."""
        self.set_grad(gradient.get_value())

    def add_grad(self, gradient: Value) -> None:
        """Accumulate; nothing happens when the tensor requires no gradient. Raises RuntimeError when the shapes differ."""
        if not self._requires_grad:
            return
        self._check_shape(gradient)
        if self._gradient is None:
            self._gradient = readable(gradient)
        elif self._zeroed:
            # Nothing has arrived since zero_grad: adding to zeros would cost a pass over the whole gradient.
            self._gradient = values.as_dtype(gradient, self._gradient.dtype)
        else:
            self._gradient = values.add(self._gradient, gradient)
        self._zeroed = False

    def _check_shape(self, gradient: Value) -> None:
        expected = tuple(self.get_value(PreferredPrecision.FULL).shape)
        if tuple(gradient.shape) != expected:
            raise RuntimeError(
                f"Shapes of gradients are not equal. Expected: {list(expected)}, got: {list(gradient.shape)}"
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
        from tt_run.runtime.train.context import AutoContext

        if self._node is None:
            raise RuntimeError("[Tensor::backward] This tensor has no associated gradient function.")
        if self._gradient is None or self._seeded:
            # A second pass over a retained graph starts from ones again, not from the seed of the first.
            self.set_grad(values.full_like(self.get_value(), 1.0))
            self._seeded = True
        AutoContext.get_instance().graph.backward(self._node, retain_graph)

    def get_node(self) -> NodeId | None:
        """The node that made this tensor, None for a leaf."""
        return self._node

    def set_node(self, node: NodeId | None) -> None:
        """Tie the tensor to a node. Raises RuntimeError when it is tied to one already."""
        if self._node is not None:
            raise RuntimeError("Graph node is already set for this tensor!")
        self._node = node

    def clean_node(self) -> None:
        """Make the tensor a leaf again."""
        self._node = None

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the value, not gradient and graph. Raises RuntimeError for a sharded tensor; checkpoints hold those whole."""
        value = self.get_value(PreferredPrecision.FULL)
        return _unpickled, (self.to_numpy(), value.dtype, value.layout, self._requires_grad)

    def __repr__(self) -> str:
        shape = "no value" if not self._cast.has_tensor() else f"shape={self.shape()}, dtype={self.dtype()}"
        return f"ttml.autograd.Tensor({shape}, requires_grad={self._requires_grad})"

    # --- arithmetic --------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Tensor:
        from tt_run.runtime.train.ops import binary

        return binary.add(self, other)

    def __sub__(self, other: Any) -> Tensor:
        from tt_run.runtime.train.ops import binary

        return binary.sub(self, other)

    def __mul__(self, other: Any) -> Tensor:
        from tt_run.runtime.train.ops import binary

        return binary.mul(self, other)

    def __rmul__(self, other: float) -> Tensor:
        return self * other

    def __truediv__(self, other: Any) -> Tensor:
        from tt_run.runtime.train.ops import binary

        return binary.div(self, other)

    __div__ = __truediv__


def _own_type(array: Array) -> DataType:
    if array.dtype == ml_dtypes.bfloat16:
        return DataType.BFLOAT16
    return {"float32": DataType.FLOAT32, "int32": DataType.INT32, "uint32": DataType.UINT32}[array.dtype.name]


def _unpickled(array: Array, dtype: DataType, layout: Layout, requires_grad: bool) -> Tensor:
    tensor = Tensor.from_numpy(array, layout, dtype)
    tensor.set_requires_grad(requires_grad)
    return tensor


def create_tensor(value: Value | None = None, requires_grad: bool = True) -> Tensor:
    """An autograd tensor around a mesh tensor, or one that gets its value later."""
    return Tensor(value, requires_grad)


def get_links(*tensors: Tensor | Iterable[Tensor | None] | None) -> list[NodeId]:
    """The nodes that made some tensors, for `AutoContext.add_backward_node`; leaves and None have none.

    Takes one sequence of tensors, or the tensors themselves.
    """
    given: list[Tensor | None] = []
    for tensor in tensors:
        given += [tensor] if tensor is None or isinstance(tensor, Tensor) else list(tensor)
    nodes = [tensor.get_node() for tensor in given if tensor is not None]
    return [node for node in nodes if node is not None]


def empty_like(tensor: Tensor) -> Tensor:
    """A tensor of the same shape, type and place; its elements are zeros."""
    return Tensor(
        values.full_like(tensor.get_value(PreferredPrecision.FULL), 0.0), tensor.get_requires_grad()
    )
