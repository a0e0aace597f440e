"""`ttml.autograd.Tensor`: a mesh tensor with a gradient and a place in the graph, from and to NumPy, with operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import type_name
from tt_run.runtime.tensor.borders.arrays import from_torch, to_numpy
from tt_run.runtime.train.autograd import arithmetic, stacks
from tt_run.runtime.train.autograd.axis_placement import first_shard
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import NodeId, PreferredPrecision
from tt_run.runtime.train.autograd.variable import Variable
from tt_run.runtime.train.ops import binary
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.dtypes import convert, is_float, stored_dtype

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]

_ACCEPTED = ("float32", "int32", "uint32", "bfloat16")
_NUMPY_TYPES = (DataType.BFLOAT16, DataType.FLOAT32, DataType.UINT32, DataType.INT32)
_READABLE_TYPES = (*_NUMPY_TYPES, DataType.FP8_E4M3, DataType.INT8)


class _OneElement(np.ndarray):
    """An array of one element, which a loss is: NumPy 2.4 and later refuse `float(loss.to_numpy())`, programs were written before."""

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())


class Tensor(Variable):
    """Wraps a `ttnn.Tensor`; `shape()` is the shape of one device's shard."""

    __slots__ = ()

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
            raise TypeError(f"Unsupported type: {new_type}. help: one of {', '.join(map(str, _NUMPY_TYPES))}")
        target = new_type or _own_type(array)
        if is_float(target):
            target = arithmetic.storage_dtype(target)
        value = from_torch(
            array if shapes.active() else np.ascontiguousarray(array),
            dtype=target,
            layout=layout,
            device=context.get_device(),
            mesh_mapper=mapper,
        )
        assert value is not None
        return Tensor(value)

    def to_numpy(
        self,
        new_type: DataType | None = None,
        composer: Any = None,
        precision: PreferredPrecision = PreferredPrecision.FULL,
    ) -> Array:
        """The value as an array. A tensor over several devices needs a composer unless all hold the same.

        bfloat16 and FP8 come as float32; with `precision` NATIVE bfloat16 comes in its own two bytes, with HALF float32 is rounded to bfloat16 first.
        `float()` reads an array of one element, of any shape. Raises RuntimeError for a sharded tensor without composer, TypeError for a type NumPy has not.
        """
        value = self.get_value(precision)
        if new_type is not None and new_type not in _READABLE_TYPES:
            raise TypeError(f"Unsupported type: {new_type}. help: one of {', '.join(map(str, _NUMPY_TYPES))}")
        array = first_shard(value) if composer is None else to_numpy(value, composer)
        if new_type is not None and new_type is not value.dtype:
            array = (
                convert(array.astype(np.float32), new_type)
                if is_float(new_type)
                else array.astype(stored_dtype(new_type))
            )
        if precision is PreferredPrecision.NATIVE and (new_type or value.dtype) is DataType.BFLOAT16:
            array = array.astype(BFLOAT16)
        return array.view(_OneElement) if array.size == 1 else array

    @property
    def tensor(self) -> Tensor:
        """Itself: a layer's `weight.tensor` reads as that of a `Parameter`."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the value, not gradient and graph. Raises RuntimeError for a sharded tensor; checkpoints hold those whole."""
        value = self.get_value(PreferredPrecision.FULL)
        return _unpickled, (self.to_numpy(), value.dtype, value.layout, self._requires_grad)

    # --- operators ---------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Tensor:
        return binary.add(self, other)

    def __sub__(self, other: Any) -> Tensor:
        return binary.sub(self, other)

    def __mul__(self, other: Any) -> Tensor:
        return binary.mul(self, other)

    def __truediv__(self, other: Any) -> Tensor:
        return binary.div(self, other)

    def __rmul__(self, other: float) -> Tensor:
        return self * other

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
        if not isinstance(tensor, Iterable | None | Tensor):
            raise TypeError(
                f"get_links takes tensors or a sequence of them, not {type_name(tensor)}; help: get_links([tensor])"
            )
        given += [tensor] if tensor is None or isinstance(tensor, Tensor) else list(tensor)
    nodes = [tensor.get_node() for tensor in given if tensor is not None]
    return [node for node in nodes if node is not None]


@overload
def empty_like(tensor: Tensor) -> Tensor: ...
@overload
def empty_like(tensor: Value) -> Value: ...
def empty_like(tensor: Tensor | Value) -> Tensor | Value:
    """A tensor of the same kind, shape, type and place; its elements are zeros."""
    if not isinstance(tensor, Tensor):
        return stacks.full_like(tensor, 0.0)
    return Tensor(
        stacks.full_like(tensor.get_value(PreferredPrecision.FULL), 0.0), tensor.get_requires_grad()
    )


@overload
def zeros_like(tensor: Tensor) -> Tensor: ...
@overload
def zeros_like(tensor: Value) -> Value: ...
def zeros_like(tensor: Tensor | Value) -> Tensor | Value:
    """Zeros of the same shape, type and place, as a tensor of the same kind: of an autograd tensor one that takes no gradient."""
    return _filled(tensor, 0.0)


@overload
def ones_like(tensor: Tensor) -> Tensor: ...
@overload
def ones_like(tensor: Value) -> Value: ...
def ones_like(tensor: Tensor | Value) -> Tensor | Value:
    """Ones of the same shape, type and place, as a tensor of the same kind: of an autograd tensor one that takes no gradient."""
    return _filled(tensor, 1.0)


def _filled(tensor: Tensor | Value, number: float) -> Tensor | Value:
    if not isinstance(tensor, Tensor):
        return stacks.full_like(tensor, number)
    return Tensor(stacks.full_like(tensor.get_value(PreferredPrecision.FULL), number), requires_grad=False)
