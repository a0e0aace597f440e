"""`ttnn.comparison`: how far a calculated tensor is from the golden one, as tests of the reference ask. PyTorch computes it.

Source: results of reference library 0.81.1.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.tensor.borders import arrays
from tt_run.runtime.tensor.tensor import Tensor

_log = logging.getLogger("ttnn")
Array = npt.NDArray[Any]


def _plain(tensor: Any) -> Any:
    return arrays.to_torch(tensor) if isinstance(tensor, Tensor) else tensor


def correlation(expected: Array, actual: Array) -> float:
    """Pearson's correlation of two arrays; 1 for equal ones, and for constants that are close; not finite counts as 0."""
    one, other = (
        np.nan_to_num(np.asarray(a, np.float64), posinf=0, neginf=0).reshape(-1) for a in (expected, actual)
    )
    if np.array_equal(one, other):
        return 1.0
    if one.min() == one.max() or other.min() == other.max():
        return float(np.allclose(one, other, rtol=1e-2, atol=1e-4))
    return float(np.corrcoef(one, other)[0, 1])


def comp_pcc(
    golden: Any, calculated: Any, pcc: float = 0.99, rtol: float = 1e-05, atol: float = 1e-04
) -> tuple[bool, float]:
    """Whether two tensors correlate at least as `pcc` says, and how far. Where values are not finite, or one tensor is constant, 1 or 0.

    `rtol` and `atol` count for constants. Raises RuntimeError for shapes that do not broadcast.
    """
    torch = library()
    golden, calculated = torch.broadcast_tensors(_plain(golden), _plain(calculated))
    unordered = [bool(torch.isnan(t).all()) and t.numel() > 0 for t in (golden, calculated)]
    if all(unordered):
        return True, 1.0
    if any(unordered):
        _log.error("One tensor is all nan, the other is not.")
        return False, 0.0
    one, other = (
        torch.nan_to_num(t.detach().to(torch.float64), posinf=0, neginf=0) for t in (golden, calculated)
    )
    if torch.equal(one, other):
        return True, 1.0
    constant = [bool((t == t.flatten()[0]).all()) for t in (one, other)]
    if any(constant):
        found = float(all(constant) and torch.allclose(one, other, rtol, atol))
    else:
        found = correlation(one.numpy(), other.numpy())
    return found >= pcc, found


def ulp(x: Any) -> Any:
    """The distance from each element of a floating-point tensor to the next number away from zero, NaN where it is not finite.

    A `ttnn` tensor gives one. Raises RuntimeError for tensors of integers.
    """
    torch = library()
    values = _plain(x)
    if not values.is_floating_point():
        raise RuntimeError(f"ulp: a tensor of {values.dtype} has no units of least precision")
    size = values.detach().abs()
    limits = torch.finfo(size.dtype)
    most = torch.tensor(limits.max, dtype=size.dtype)
    below = most - torch.nextafter(most, torch.zeros_like(most))
    step = torch.nextafter(size, torch.full_like(size, float("inf"))) - size
    step = torch.where(size == most, below, step)
    step = torch.where(torch.isfinite(size), step, torch.full_like(step, float("nan")))
    if not isinstance(x, Tensor):
        return step
    return arrays.from_torch(step, dtype=x.dtype, layout=x.layout, device=x.device())


def comp_ulp(
    golden: Any, calculated: Any, ulp_threshold: float, allow_nonfinite: bool = False
) -> tuple[Any, str]:
    """Whether two tensors are nowhere further apart than `ulp_threshold` units of the golden one's least precision, and where they are most.

    The unit is that of the calculated tensor's element type. `allow_nonfinite`: infinities and NaN may stand where both have the same.
    """
    torch = library()
    golden, calculated = torch.broadcast_tensors(_plain(golden), _plain(calculated))
    if not allow_nonfinite and not torch.isfinite(calculated).all():
        return False, "Calculated tensor contains non-finite values"
    finite = torch.isfinite(golden)
    if not torch.equal(finite, torch.isfinite(calculated)) or not torch.equal(
        torch.nan_to_num(golden[~finite].double()), torch.nan_to_num(calculated[~finite].double())
    ):
        return False, "Tensors are not finite at the same positions"
    unit = ulp(golden.to(calculated.dtype)).to(golden.dtype)
    apart = ((calculated - golden).abs() / unit).masked_fill(~finite, 0)
    most = float(apart.max()) if apart.numel() else 0.0
    passed = torch.tensor(most <= ulp_threshold)
    text = f"Max ULP Delta: {most}"
    if passed:
        return passed, text
    place = torch.unravel_index(apart.argmax(), apart.shape)
    at = [int(index) for index in place]
    one, other, least = (t[place].item() for t in (calculated, golden, unit))
    return passed, f"{text} @ {at} = |calculated {one} - golden {other}| / ULP(golden) {least}"
