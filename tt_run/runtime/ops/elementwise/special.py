"""Special functions: gamma and its logarithm's derivatives, Bessel functions, the inverse error function. Source: reference library 0.81.1.

PyTorch computes them: NumPy has none, and PyTorch's are those of the golden functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.functions import BESSEL_LIMIT
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import PLACED, UNARY_TAIL, Row, declare
from tt_run.runtime.tensor.tensor import Tensor

_UNARY = f"(input_tensor: Tensor, {UNARY_TAIL})"


def _i1(x: Any) -> Any:
    return torch_cpu.torch_function("special.i1")(x.clamp(-BESSEL_LIMIT, BESSEL_LIMIT))


_ORDERS = 11
"""The highest derivative of the digamma function."""


def check_order(order: int) -> None:
    """Raises RuntimeError for a derivative of the digamma function that is not computed."""
    if not 1 <= order <= _ORDERS:
        raise fatal(
            f"polygamma order must be in range [1, {_ORDERS}], got {order}",
            hint="ttnn.digamma(tensor) is of order 0" if order == 0 else f"k=1 to {_ORDERS}",
        )


def _check_order(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    check_order(arguments["k"])


def _polygamma(x: Any, order: int) -> Any:
    return x.polygamma(order)


SPECIAL = declare(
    families.UNARY,
    Row("digamma", _UNARY, "special.digamma", "The logarithmic derivative of the gamma function.", integers=False),
    Row("lgamma", _UNARY, "special.gammaln", "The logarithm of the absolute value of the gamma function.", integers=False),
    Row("erfinv", _UNARY, "special.erfinv", "The inverse of the error function; infinite at -1 and 1.", integers=False),
    Row("i0", _UNARY, "special.i0", "The modified Bessel function of the first kind and order 0.", integers=False),
    Row("i1", _UNARY, _i1,
        "The modified Bessel function of the first kind and order 1, of x limited to 88.5 on both sides as a device does.", integers=False),
    Row(
        "multigammaln", f"(input_tensor: Tensor, *, {PLACED})", lambda x: x.mvlgamma(4),
        "The logarithm of the multivariate gamma function of dimension 4.", integers=False,
    ),
    Row(
        "polygamma", f"(input_tensor: Tensor, k: int, *, {PLACED})", _polygamma,
        "The derivative of order k of the digamma function.", integers=False, check=_check_order,
    ),
)  # fmt: skip
