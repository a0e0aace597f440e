"""Complex tensors: a pair of real ones, and the operations that take it. Source: reference library 0.81.1. NumPy computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, Operation, operation
from tt_run.runtime.ops.declaration.element_types import check_pair, check_unary
from tt_run.runtime.ops.elementwise import unary
from tt_run.runtime.ops.elementwise.ternary import ternary
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
Pair = tuple[Array, Array]


class ComplexTensor:
    """A complex tensor: `real` and `imag` are tensors of one shape. Made by `ttnn.complex_tensor(real, imag)`."""

    __slots__ = ("imag", "real")

    def __init__(self, parts: tuple[Tensor, Tensor]) -> None:
        self.real, self.imag = parts

    def deallocate(self, force: bool = False) -> None:
        """Give back both parts."""
        self.real.deallocate(force)
        self.imag.deallocate(force)


@operation("ttnn.complex_tensor", family=families.COMPLEX, golden="complex", direct=True)
def complex_tensor(real: Tensor, imag: Tensor) -> ComplexTensor:
    """A complex tensor of these parts. Raises RuntimeError for parts of different shapes."""
    if not (isinstance(real, Tensor) and isinstance(imag, Tensor)):
        raise TypeError("ttnn.complex_tensor takes two tensors, the real and the imaginary part")
    if real.shape != imag.shape:
        raise fatal(
            f"the real part has shape {real.shape}, the imaginary part {imag.shape}",
            hint="ttnn.reshape one of them to the other's shape",
        )
    return ComplexTensor((real, imag))


def parts_of(value: object) -> tuple[Tensor, Tensor]:
    """Both parts of a complex tensor; anything else leads to the list of signatures."""
    if not isinstance(value, ComplexTensor):
        raise ArgumentMismatch(
            f"expected a ComplexTensor, got {type(value).__name__}; ttnn.complex_tensor makes one"
        )
    return value.real, value.imag


def _part(
    function: Callable[[Array, Array], Array], value: object, memory_config: MemoryConfig | None
) -> Tensor:
    real, imag = parts_of(value)
    return ternary(function, (real, imag), real.dtype, memory_config, None, as_pair=True)


def _check(name: str, value: object) -> None:
    """Raises RuntimeError for parts of integers that a function is not of."""
    real, imag = parts_of(value)
    if name in _PAIRS_OF:
        check_pair(_PAIRS_OF[name], imag.dtype, real.dtype)
    if name in _UNARY_OF:
        check_unary(_UNARY_OF[name], imag.dtype, integers=False)


_PAIRS_OF = {"abs": "hypot", "angle": "atan2"}
_UNARY_OF = {"polar": "cos", "reciprocal": "recip"}
"""The operations of real numbers that some of complex ones begin with."""


def _to_real(name: str, function: Callable[[Array, Array], Array], doc: str, golden: Any) -> Operation:
    def compute(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
        _check(name, input_tensor)
        return _part(function, input_tensor, memory_config)

    compute.__doc__ = doc
    return operation(f"ttnn.{name}", family=families.COMPLEX, golden=golden)(compute)


def to_complex(
    function: tuple[Callable[[Array, Array], Array], Callable[[Array, Array], Array]],
    value: object,
    memory_config: MemoryConfig | None = None,
) -> ComplexTensor:
    """A complex tensor whose parts are two functions of the parts of another."""
    return ComplexTensor((_part(function[0], value, memory_config), _part(function[1], value, memory_config)))


def reciprocal(value: ComplexTensor, memory_config: MemoryConfig | None = None) -> ComplexTensor:
    """1 / z."""
    _check("reciprocal", value)
    return to_complex(RECIPROCAL, value, memory_config)


def _one_part(name: str, place: int, doc: str) -> Operation:
    def compute(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
        part = parts_of(input_tensor)[place]
        return unary.apply(part, np.positive, memory_config, name="identity", integers=True)

    compute.__doc__ = doc
    return operation(f"ttnn.{name}", family=families.COMPLEX, golden=name)(compute)


@operation("ttnn.conj", family=families.COMPLEX, golden="conj")
def conj(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> ComplexTensor:
    """The conjugate. The real part stays where it lies; `memory_config` places the imaginary one."""
    real, imag = parts_of(input_tensor)
    kept = unary.apply(real, np.positive, name="identity", integers=True)
    return ComplexTensor((kept, unary.apply(imag, np.negative, memory_config, name="neg", integers=True)))


def _to_complex(name: str, real: Any, imag: Any, doc: str, golden: Any) -> Operation:
    def compute(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> ComplexTensor:
        _check(name, input_tensor)
        return to_complex((real, imag), input_tensor, memory_config)

    compute.__doc__ = doc
    return operation(f"ttnn.{name}", family=families.COMPLEX, golden=golden)(compute)


RECIPROCAL = (lambda a, b: a / (a * a + b * b), lambda a, b: -b / (a * a + b * b))
"""The parts of 1 / z."""

COMPLEX = {
    "real": _one_part("real", 0, "The real part."),
    "imag": _one_part("imag", 1, "The imaginary part."),
    "angle": _to_real("angle", lambda a, b: np.arctan2(b, a), "The angle to the real axis.", "angle"),
    "is_real": _to_real("is_real", lambda a, b: b == 0, "1 where the imaginary part is 0, else 0.", "isreal"),
    "is_imag": _to_real(
        "is_imag", lambda a, b: a == 0, "1 where the real part is 0, else 0.", lambda z, **_: z.real == 0
    ),
    "conj": conj,
    "polar": _to_complex(
        "polar",
        lambda r, t: np.cos(t) * r,
        lambda r, t: np.sin(t) * r,
        "The complex number of a radius, the real part, and an angle, the imaginary one.",
        lambda z, **_: z.real * (z.imag * 1j).exp(),
    ),
}


def absolute(value: ComplexTensor, memory_config: MemoryConfig | None = None) -> Tensor:
    """The distance from zero of a complex tensor's elements."""
    _check("abs", value)
    return _part(np.hypot, value, memory_config)
