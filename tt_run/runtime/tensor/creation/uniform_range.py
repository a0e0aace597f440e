"""Bounds of uniform random values, and the numbers of a type next to them. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tt_run.runtime.errors import fatal


def check_range(low: float, high: float, stored: Any = np.float32) -> None:
    """Raises RuntimeError for bounds with nothing between them that a type holds, subnormal numbers aside (reference library 0.81.1)."""
    if not low < high:
        raise fatal(
            f"Uniform range lower bound must be less than upper bound, got [{low:g}, {high:g})",
            hint="exchange the bounds, or use ttnn.full for one value",
        )
    if high - low > float(np.finfo(np.float32).max):
        raise fatal(
            f"Requested range [{low:g}, {high:g}) is too wide for a finite FP32 scale",
            hint="bounds that are closer together, and a product with the result",
        )
    if not first_at_least(low, stored) < high:
        raise fatal(
            f"Requested range [{low:g}, {high:g}) contains no value representable in the output dtype without subnormals",
            hint="dtype=ttnn.float32, or bounds that are further apart",
        )


def first_at_least(bound: float, stored: Any) -> float:
    """The first number of a type from a bound on that is no subnormal one."""
    smallest = float(ml_dtypes.finfo(stored).smallest_normal)
    if -smallest < bound < smallest:
        return 0.0 if bound <= 0 else smallest
    near = stored(bound)
    return float(near) if float(near) >= bound else float(np.nextafter(near, stored(np.inf)))


def last_below(bound: float, stored: Any) -> float:
    """The last number of a type below a bound that is no subnormal one."""
    smallest = float(ml_dtypes.finfo(stored).smallest_normal)
    if -smallest < bound <= smallest:
        return 0.0 if bound > 0 else -smallest
    near = stored(bound)
    return float(near) if float(near) < bound else float(np.nextafter(near, stored(-np.inf)))
