"""What comparison mode found, kept until the program writes it down: `ttnn.graph.record_tensor_comparison_data` and what reads it.

A record says the numbers of a tensor and of its golden one, the correlation wanted and found, and whether that was enough.
"""

from __future__ import annotations

import sys
from typing import Any

Record = dict[str, Any]

_LEVELS = ("local_tensor_comparison_records", "global_tensor_comparison_records")
_kept: dict[str, list[Record]] = {name: [] for name in (*_LEVELS, "tensors")}


def record_tensor_comparison_data(
    *,
    local_tensor_comparison_records: list[Record] | None = None,
    global_tensor_comparison_records: list[Record] | None = None,
    tensors: list[Record] | None = None,
) -> None:
    """Keep records of results that were compared operation by operation, of those that were compared as a whole, and what tensors they are of."""
    for name, records in zip(
        _kept, (local_tensor_comparison_records, global_tensor_comparison_records, tensors), strict=True
    ):
        _kept[name] += records or []


def has_comparison_records() -> bool:
    """Whether any are kept."""
    return any(_kept[level] for level in _LEVELS)


def reset_comparison_records_data() -> None:
    """Forget them."""
    for records in _kept.values():
        records.clear()


def kept_records() -> dict[str, Any]:
    """They and their tensors, in the form in which a report has them beside it."""
    return {"version": 1, **_kept}


def note(record: Record) -> None:
    """Hand a record of one operation's result to `ttnn.graph`, where a program may have put a function of its own."""
    graph = sys.modules.get("ttnn.graph")
    keep = record_tensor_comparison_data if graph is None else graph.record_tensor_comparison_data
    keep(local_tensor_comparison_records=[record])
