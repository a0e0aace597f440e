"""How wrong the model is, by class of point: the median and the 90th percentile over rows that calibration left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from mgd.resources import configs_root


@dataclass(frozen=True, slots=True)
class Error:
    """Relative errors of one class of points, and over how many rows."""

    rows: int
    median: float
    p90: float


@cache
def errors() -> dict[str, Error]:
    """The errors of the shipped numbers by class; empty when the file is missing."""
    import yaml

    path = configs_root() / "hardware" / "errors.yaml"
    if not path.exists():
        return {}
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    return {name: Error(**found) for name, found in document["classes"].items()}
