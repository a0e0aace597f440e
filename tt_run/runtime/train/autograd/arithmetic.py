"""The arithmetic of a training program: bfloat16, as devices compute, or float32, for comparisons and debugging."""

from __future__ import annotations

import os

from tt_run import contract
from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.graph import PreferredPrecision

_BY_NAME = {"bfloat16": PreferredPrecision.HALF, "float32": PreferredPrecision.FULL}

_chosen: PreferredPrecision | None = None


def precision() -> PreferredPrecision:
    """HALF under bfloat16 arithmetic, FULL under float32. Raises ValueError for a name in TT_RUN_ARITHMETIC that is neither."""
    if _chosen is None:
        restart()
    assert _chosen is not None
    return _chosen


def restart() -> None:
    """Take what TT_RUN_ARITHMETIC says, bfloat16 without it: how every program starts. Raises ValueError as `choose`."""
    choose(os.environ.get(contract.ARITHMETIC, "bfloat16"))


def choose(name: str) -> None:
    """Compute so from now on. Raises ValueError for a name other than bfloat16 and float32."""
    global _chosen
    if name not in _BY_NAME:
        raise ValueError(
            f"unknown arithmetic {name!r}; one of {', '.join(_BY_NAME)} ({contract.ARITHMETIC}); help: set_arithmetic('bfloat16')"
        )
    _chosen = _BY_NAME[name]


def name() -> str:
    """The name of the arithmetic in force."""
    return next(own for own, kind in _BY_NAME.items() if kind is precision())


def storage_dtype(wanted: DataType) -> DataType:
    """The type in which a floating tensor is kept: what was asked for, or FLOAT32 throughout under float32 arithmetic."""
    return DataType.FLOAT32 if precision() is PreferredPrecision.FULL else wanted
