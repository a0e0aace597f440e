"""How wrong the model is, by class of point: the median and the 90th percentile over rows that calibration left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from mgd.resources import configs_root
from tt_run.hardware.data_files import DataFile
from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model.work import Collective, Kernel, Matmul


@dataclass(frozen=True, slots=True)
class Error:
    """Relative errors of one class of points, and over how many rows."""

    rows: int
    median: float
    p90: float


@cache
def errors() -> dict[str, Error]:
    """The errors of the shipped numbers by class; empty when the file is missing."""
    path = configs_root() / "hardware" / "errors.yaml"
    if not path.exists():
        return {}
    data = DataFile(path)
    top = data.fields(data.document.root, "the file of errors", ("classes",))
    found = {}
    for name, (_, node) in data.fields(top["classes"][1] if "classes" in top else None, "classes").items():
        fields = data.fields(node, name, ("rows", "median", "p90"))
        rows, median, p90 = (
            data.number(fields[key][1] if key in fields else None, f"{name}.{key}")
            for key in ("rows", "median", "p90")
        )
        found[name] = Error(int(rows), median, p90)
    data.settle()
    return found


GUESSED = ("carried", "assumed")
"""Sources of numbers that no measurement told."""


def has_measurements(hw: Hardware, work: Matmul | Kernel | Collective) -> bool:
    """Whether measurements tell how wrong the prediction of such a work is: of its kernel, program or algorithm, if not of its shape."""
    if isinstance(work, Kernel):
        number = hw.numbers.get(f"kernels.{work.name}.fixed")
        return number is not None and number.source not in GUESSED
    if isinstance(work, Matmul):
        return work.program not in ("few", "batched")
    return work.kind == "all_reduce" or f"collectives.{work.implementation}.{work.kind}.setup" in hw
