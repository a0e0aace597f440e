"""The predicted operations one by one, in the form in which the device profiler of the reference tells measured ones.

`tt-perf-report` reads it. Columns that a profiler measures and nobody predicts are left out.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from tt_run.runtime.enums import Layout
from tt_run.runtime.model.work import Cost, Matmul, Work
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.tensor.tensor import Tensor

SUFFIX = ".csv"
DEVICE, MARK = "tt_dnn_device", "signpost"
_CALLS = 1024
"""Between the numbers of two calls, as there."""
_INPUTS = 3
_TENSOR = (
    "W_PAD[LOGICAL]",
    "Z_PAD[LOGICAL]",
    "Y_PAD[LOGICAL]",
    "X_PAD[LOGICAL]",
    "LAYOUT",
    "DATATYPE",
    "MEMORY",
)
_WHICH = (*(f"INPUT_{place}" for place in range(_INPUTS)), "OUTPUT_0")
COLUMNS = (
    "OP CODE", "OP TYPE", "GLOBAL CALL COUNT", "DEVICE ID", "DEVICE ARCH", "ATTRIBUTES", "MATH FIDELITY", "CORE COUNT",
    "AVAILABLE WORKER CORE COUNT", "HOST START TS", "HOST END TS", "OP TO OP LATENCY [ns]", "DEVICE FW DURATION [ns]",
    "DEVICE KERNEL DURATION [ns]", "BOUND", "SITE", *(f"{which}_{word}" for which in _WHICH for word in _TENSOR),
)  # fmt: skip
Row = list[Any]


class DeviceRows:
    """Rows of this rank, for its first device of each mesh that operations run on: the others do the same."""

    def __init__(self, arch: str, cores: int) -> None:
        self.rows: list[Row] = []
        self._arch, self._cores = arch.lower(), cores
        self._ended: dict[int, int] = {}

    def add(
        self, code: str, work: Work, cost: Cost, device: int, start: float, site: str,
        config: object = None, read: Any = (), written: Any = (),
    ) -> None:  # fmt: skip
        """One piece of work: the code of its program, what it costs, when it begins in microseconds, its tensors anywhere within."""
        given, made = list(tensors(read))[:_INPUTS], next(iter(tensors(written)), None)
        told = [given[place] if place < len(given) else None for place in range(_INPUTS)]
        began, took = round(start * 1e3), round(cost.us * 1e3)
        gap = max(began - self._ended.get(device, began), 0)
        self._ended[device] = began + took
        attributes = "" if config is None else f"{{'program_config': '{config!r}'}}".replace(", ", "; ")
        self.rows.append(
            [
                code, DEVICE, (len(self.rows) + 1) * _CALLS, device, self._arch, attributes,
                work.fidelity if isinstance(work, Matmul) else "", self._used(work), self._cores, began, began + took, gap, took, took,
                cost.bound, site, *(word for tensor in (*told, made) for word in _told(tensor)),
            ]
        )  # fmt: skip

    def signpost(self, name: str) -> None:
        """A mark of the program."""
        latest = max(self._ended.values(), default=0)
        row: Row = [""] * len(COLUMNS)
        row[:3] = name, MARK, (len(self.rows) + 1) * _CALLS
        row[COLUMNS.index("HOST START TS")] = row[COLUMNS.index("HOST END TS")] = latest
        self.rows.append(row)

    def _used(self, work: Work) -> int:
        """The cores that it runs on, as far as it says so."""
        grid = getattr(work, "grid", None)
        cores: int | None = getattr(work, "cores", None)
        return grid[0] * grid[1] if grid else cores or self._cores


def _told(tensor: Tensor | None) -> Sequence[str]:
    if tensor is None:
        return [""] * len(_TENSOR)
    padded, own = _four(tuple(tensor.padded_shape)), _four(tuple(tensor.shape))
    sizes = [f"{whole}[{logical}]" for whole, logical in zip(padded, own, strict=True)]
    memory = tensor.memory_config()
    place = (
        "HOST" if tensor.device() is None else f"DEV_0_{memory.buffer_type.name}_{memory.memory_layout.name}"
    )
    layout = "TILE" if tensor.layout is Layout.TILE else "ROW_MAJOR"
    return [*sizes, layout, tensor.dtype.name, place]


def _four(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Four lengths; what there are more of in front counts in the first."""
    whole = (1,) * 4 + dims
    return (math.prod(whole[:-3]), *whole[-3:])


def table(parts: Sequence[dict[str, Any]]) -> str:
    """The rows of all ranks as CSV, in the order in which they begin; marks, which all ranks make, are those of the first."""
    kind, start = COLUMNS.index("OP TYPE"), COLUMNS.index("HOST START TS")
    rows: list[Row] = [
        row
        for number, part in enumerate(parts)
        for row in part["device_rows"]
        if row[kind] == DEVICE or number == 0
    ]
    rows.sort(key=itemgetter(start))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue()
