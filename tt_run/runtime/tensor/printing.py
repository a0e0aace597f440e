"""The text of tensors (reference library 0.81.1): 4 decimals, two values at either end of a long dimension.

One block per shard on this rank; device shards are preceded by a line with device id and coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.arguments import public

Array = npt.NDArray[Any]

_OPENING = "ttnn.Tensor("
_ENDS = 2  # values shown at either end of a dimension
_PROFILES = ("short", "full", "empty")
_SCI_MODES = {
    None: None,
    "default": None,
    True: True,
    "true": True,
    "enable": True,
    False: False,
    "false": False,
    "disable": False,
}


@dataclass(frozen=True)
class PrintOptions:
    """How much of a tensor is shown; `scientific` None decides by the range of each shard."""

    profile: str = "short"
    scientific: bool | None = None
    precision: int = 4


_options = PrintOptions()


@public
def set_printoptions(*, profile: str, sci_mode: str | bool | None = None, precision: int = 4) -> None:
    """Set how tensors print: profile `short`, `full` or `empty`; sci_mode True, False or `default`; digits after the point.

    Raises RuntimeError for an unknown profile or mode.
    """
    global _options
    name = str(profile).lower()
    mode = sci_mode.lower() if isinstance(sci_mode, str) else sci_mode
    if name not in _PROFILES:
        raise fatal(
            "bad optional access",
            hint=f"{profile!r} is no profile of printing; use one of {', '.join(_PROFILES)}",
        )
    if mode not in _SCI_MODES:
        raise fatal(
            f"Unrecognized sci_mode {sci_mode!r}; use True, False or 'default'",
            hint="ttnn.set_printoptions(sci_mode='default')",
        )
    _options = PrintOptions(name, _SCI_MODES[mode], precision)


def tensor_text(
    shape: object, dtype: DataType, layout: Layout, shards: Iterable[tuple[str, Array]] | None
) -> str:
    """The text of a tensor: its local shards, one block each below a line that says where it is. None for one that was freed."""
    tail = f"shape={shape}, dtype={cpp(dtype)}, layout={cpp(layout)})"
    if shards is None:
        return f"{_OPENING}<buffer is not allocated>, {tail}"
    return "\n".join(f"{place}{_OPENING}{values_text(shard)}, {tail}" for place, shard in shards)


def values_text(values: Array) -> str:
    """The nested brackets of one shard."""
    if _options.profile == "empty":
        return "..."
    return _nested(values, 0, _formatter(values))


def _formatter(values: Array) -> Callable[[Any], str]:
    if values.dtype.kind in "iu":
        return lambda value: f"{value:5d}"
    precision = _options.precision
    scientific = _spread_out(values) if _options.scientific is None else _options.scientific
    if scientific:
        return lambda value: f"{value:{precision + 7}.{precision}e}"
    return lambda value: f"{value:{precision + 3}.{precision}f}"


def _spread_out(values: Array) -> bool:
    """Whether four decimals would hide some of the values: judged on all of them, the elided ones too."""
    magnitudes = np.abs(values[np.isfinite(values) & (values != 0)]).astype(np.float64)
    if not magnitudes.size:
        return False
    low, high = float(magnitudes.min()), float(magnitudes.max())
    return high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4


def _nested(values: Array, depth: int, text: Callable[[Any], str]) -> str:
    if not values.ndim:
        return text(values.item())
    indent = " " * (len(_OPENING) + depth + 1)
    between = {1: ", ", 2: ",\n" + indent}.get(values.ndim, ",\n\n" + indent)
    size = len(values)
    elided = _options.profile == "short" and size > 2 * _ENDS
    shown = [*range(_ENDS), *range(size - _ENDS, size)] if elided else range(size)
    items = [
        text(values[i].item()) if values.ndim == 1 else _nested(values[i], depth + 1, text) for i in shown
    ]
    if elided:
        items.insert(_ENDS, " ..." if values.ndim == 1 else "...")
    return "[" + between.join(items) + "]"
