"""`AutocastTensor`: a value in the precision it was made with, and in bfloat16 for operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import arithmetic, stacks
from tt_run.runtime.train.autograd.device_tensor import readable
from tt_run.runtime.train.autograd.graph import PreferredPrecision

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

_AS_STORED = (PreferredPrecision.FULL, PreferredPrecision.NATIVE)


class AutocastTensor:
    """Holds a `ttnn.Tensor`; its bfloat16 form is made when it is first asked for, and once."""

    __slots__ = ("_half", "_value")

    def __init__(self, value: Value | AutocastTensor | None = None) -> None:
        own = value._value if isinstance(value, AutocastTensor) else value
        self._value: Value | None = None if own is None else readable(own)
        self._half: Value | None = None

    def has_tensor(self) -> bool:
        """Whether a value was given."""
        return self._value is not None

    def set_tensor(self, tensor: Value) -> None:
        """Replace the value."""
        self._value, self._half = readable(tensor), None

    def get_tensor(self, precision: PreferredPrecision | None = None) -> Value:
        """The value. HALF rounds float32 to bfloat16; the default is what the context's arithmetic asks for.

        Raises RuntimeError before a value was given.
        """
        if self._value is None:
            raise RuntimeError("the tensor has no value yet; set_value(ttnn_tensor) gives it one")
        if self._value.dtype is not DataType.FLOAT32 or precision in _AS_STORED:
            return self._value
        if precision is None and arithmetic.precision() is PreferredPrecision.FULL:
            return self._value
        if self._half is None:
            self._half = stacks.as_dtype(self._value, DataType.BFLOAT16)
        return self._half
