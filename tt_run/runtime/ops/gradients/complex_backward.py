"""Backward operations of complex tensors, and the plain ones that take them too. Source: reference library 0.81.1.

PyTorch's automatic differentiation computes the gradients, in its convention (the conjugate of the derivative).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy.typing as npt

from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, Operation, operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.elementwise import complex_numbers, unary
from tt_run.runtime.ops.elementwise.complex_numbers import ComplexTensor, parts_of
from tt_run.runtime.ops.gradients import backward
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine_all

Array = npt.NDArray[Any]
Forward = Callable[[Any], Any]


def _polar(z: Any) -> Any:
    return torch_cpu.library().polar(z.real, z.imag)


_FORWARD: dict[str, tuple[Forward | str, bool]] = {
    "real": ("real", False),
    "imag": ("imag", False),
    "angle": ("angle", False),
    "conj": ("conj", True),
    "polar": (_polar, True),
    "abs": ("abs", False),
    "reciprocal": ("reciprocal", True),
}
"""The functions, and whether their results are complex."""


def _gradient(name: str, gradient: Any, real: Any, imag: Any) -> list[Any]:
    """Gradients of both parts, from torch tensors; the gradient is one tensor or a pair."""
    torch = torch_cpu.library()
    forward, to_complex = _FORWARD[name]
    function = torch_cpu.torch_function(forward) if isinstance(forward, str) else forward
    z = torch.complex(real, imag).requires_grad_()
    with torch.enable_grad():
        result = function(z)
    (found,) = torch.autograd.grad(result, [z], torch.complex(*gradient) if to_complex else gradient[0])
    found = found.resolve_conj()
    return [found.real, found.imag]


def _backward(
    name: str, grad_tensor: Tensor | ComplexTensor, input_tensor: object, memory_config: MemoryConfig | None
) -> list[ComplexTensor]:
    real, imag = parts_of(input_tensor)
    to_complex = _FORWARD[name][1]
    gradient: tuple[Any, ...] = parts_of(grad_tensor) if to_complex else (grad_tensor,)
    given = [*gradient, real, imag]
    on_device(*given, kind=f"{name}_bw")

    def on_shards(*shards: Any) -> list[Any]:
        *first, a, b = shards
        return _gradient(name, first, a, b)

    def on_stacks(*stacks: Array) -> tuple[Array, ...]:
        return torch_cpu.on_each(on_shards, stacks)

    found = combine_all(on_stacks, *(t.shards for t in given))
    # The part that is the given gradient itself lies where that does.
    places = [memory_config] * 2
    if name in _HANDED_ON:
        places[_HANDED_ON[name]] = gradient[0].memory_config()
    parts = [
        settle((real, imag), Shards(finish(s.data, real.dtype), s.index), real.dtype, memory_config=place)
        for s, place in zip(found, places, strict=True)
    ]
    return [ComplexTensor((parts[0], parts[1]))]


_HANDED_ON = {"real": 0, "imag": 1, "conj": 0}
"""The part of a gradient that is given as it is."""


_PAIRS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, alpha: a + alpha * b,
    "sub": lambda a, b, alpha: a - alpha * b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}
"""The functions of two complex operands."""


def _pair(name: str) -> Callable[..., list[ComplexTensor]]:
    """Gradients of two complex operands; `alpha` stands behind those of add and sub."""

    def of_complex(
        grad_tensor: ComplexTensor,
        input_tensor: ComplexTensor,
        other_tensor: ComplexTensor,
        *alpha: float,
        memory_config: MemoryConfig | None = None,
        **named: float,
    ) -> list[ComplexTensor]:
        factors = (*alpha, *named.values())
        if len(factors) != (name in ("add", "sub")) or set(named) - {"alpha"}:
            raise TypeError(
                f"{name}_bw of complex tensors takes {'alpha' if name in ('add', 'sub') else 'no factor'}"
            )
        operands = (input_tensor, other_tensor)
        given = [part for z in (grad_tensor, *operands) for part in parts_of(z)]
        on_device(*given, kind=f"{name}_bw")

        def on_shards(*shards: Any) -> list[Any]:
            torch = torch_cpu.library()
            gradient, a, b = (torch.complex(*shards[i : i + 2]) for i in (0, 2, 4))
            with torch.enable_grad():
                result = _PAIRS[name](a.requires_grad_(), b.requires_grad_(), *factors)
            found = (g.resolve_conj() for g in torch.autograd.grad(result, [a, b], gradient))
            return [part for g in found for part in (g.real, g.imag)]

        found = combine_all(lambda *stacks: torch_cpu.on_each(on_shards, stacks), *(t.shards for t in given))
        dtype = given[2].dtype
        # The first gradient of a sum is the given one, and lies where that does.
        handed_on = [part.memory_config() for part in given[:2]] if name in ("add", "sub") else []
        places = [*handed_on, *([memory_config] * 4)]
        parts = [
            settle(given[2:4], Shards(finish(s.data, dtype), s.index), dtype, memory_config=place)
            for s, place in zip(found, places, strict=False)
        ]
        return [ComplexTensor((parts[0], parts[1])), ComplexTensor((parts[2], parts[3]))]

    return of_complex


def _golden(name: str) -> Callable[..., Any]:
    def golden(gradient: Any, z: Any, **_: Any) -> Any:
        torch = torch_cpu.library()
        pair = (gradient.real, gradient.imag) if gradient.is_complex() else (gradient,)
        real, imag = _gradient(name, pair, z.real.clone(), z.imag.clone())
        return [torch.cat((real, imag), dim=-1)]

    return golden


def _golden_pair(name: str) -> Callable[..., Any]:
    """The gradients of two complex operands, parts side by side; a factor after them is that of add and sub."""

    def golden(gradient: Any, a: Any, b: Any, *factors: Any, **_: Any) -> Any:
        torch = torch_cpu.library()
        left, right = (z.detach().clone().requires_grad_() for z in (a, b))
        factors = factors or ((1.0,) if name in ("add", "sub") else ())
        with torch.enable_grad():
            result = _PAIRS[name](left, right, *factors)
        found = torch.autograd.grad(result, [left, right], gradient)
        return [torch.cat((z.real, z.imag), dim=-1) for z in found]

    return golden


def _declared(name: str) -> Operation:
    def compute(
        grad_tensor: Tensor | ComplexTensor,
        input_tensor: ComplexTensor,
        *,
        memory_config: MemoryConfig,
    ) -> list[ComplexTensor]:
        return _backward(name, grad_tensor, input_tensor, memory_config)

    compute.__doc__ = f"The gradient of `{name}`'s complex operand."
    return operation(f"ttnn.{name}_bw", family=families.COMPLEX, engine=families.TORCH, golden=_golden(name))(
        compute
    )


COMPLEX_BACKWARD = {f"{name}_bw": _declared(name) for name in ("real", "imag", "angle", "conj", "polar")}


def _takes_complex(
    plain: Operation,
    place: int,
    of_complex: Callable[..., Any],
    golden: Callable[..., Any] | None = None,
    placed: bool = True,
) -> None:
    """Let an operation of real tensors take complex ones as well: its operand number `place` tells. `placed`: a call has to say where the
    result lies.

    `golden` is what it is compared with then, where it is not what a function of real tensors gives of complex ones.
    """
    real = plain.compute

    @wraps(real)
    def compute(*args: Any, **kwargs: Any) -> Any:
        operand = args[place] if len(args) > place else kwargs.get("input_tensor")
        if not isinstance(operand, ComplexTensor):
            return real(*args, **kwargs)
        if placed and kwargs.get("memory_config") is None:
            raise ArgumentMismatch("memory_config must be given for complex tensors")
        return of_complex(*args, **kwargs)

    own = inspect.signature(real)
    operands = {"grad_tensor", "input_tensor", "other_tensor"}
    compute.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[
            p.replace(annotation=f"{p.annotation} | ComplexTensor") if name in operands else p
            for name, p in own.parameters.items()
        ]
    )
    plain.compute, plain.kinds = compute, None
    of_real = plain.golden
    if golden is None or not callable(of_real):
        return

    @wraps(of_real)
    def either(*args: Any, **kwargs: Any) -> Any:
        operand = args[place] if len(args) > place else None
        return (golden if getattr(operand, "is_complex", bool)() else of_real)(*args, **kwargs)

    plain.golden = either


def _absolute(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    return complex_numbers.absolute(input_tensor, memory_config)


def _reciprocal(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> ComplexTensor:
    return complex_numbers.reciprocal(input_tensor, memory_config)


def _bw(name: str) -> Callable[..., list[ComplexTensor]]:
    def of_complex(
        grad_tensor: Any, input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None
    ) -> list[ComplexTensor]:
        return _backward(name, grad_tensor, input_tensor, memory_config)

    return of_complex


# Complex tensors exist only where this module is loaded, so it is time enough to take them here.
_takes_complex(unary.PLAIN["abs"], 0, _absolute)
_takes_complex(unary.PLAIN["reciprocal"], 0, _reciprocal)
_takes_complex(backward.UNARY["abs_bw"], 1, _bw("abs"), _golden("abs"))
_takes_complex(backward.UNARY["reciprocal_bw"], 1, _bw("reciprocal"))
for _name in _PAIRS:
    _takes_complex(
        backward.BINARY[f"{_name}_bw"], 1, _pair(_name), _golden_pair(_name), _name in ("mul", "div")
    )
