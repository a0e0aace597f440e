"""What the comparison with golden tensors found, in a report's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from tt_run.runtime.graph.database.rows import tensor_row
from tt_run.runtime.graph.database.schema import insert

COMPARED, COMPARED_SUFFIX = "comparison_records.json", ".comparison_records.json"
_KEYS = (
    ("tensor_id", int),
    ("golden_tensor_id", int),
    ("matches", bool),
    ("desired_pcc", float),
    ("actual_pcc", float),
)


def import_tensor_comparison_records(
    cursor: sqlite3.Cursor, comparison_data: Mapping[str, Any], rank: int = 0
) -> dict[str, int]:
    """Write records of comparisons by operation (`local_`) and from the program's start (`global_`), and their tensors; how many of each."""
    tables = ("local_tensor_comparison_records", "global_tensor_comparison_records")
    counts = {
        table: insert(
            cursor,
            table,
            [
                (*(kind(record[key]) for key, kind in _KEYS), int(record.get("rank", rank)))
                for record in comparison_data.get(table, [])
            ],
        )
        for table in tables
    }
    known = {row[0] for row in cursor.execute("SELECT tensor_id FROM tensors WHERE rank = ?", (rank,))}
    rows = [tensor_row(each, rank) for each in comparison_data.get("tensors", [])]
    return counts | {"tensors": insert(cursor, "tensors", [row for row in rows if row[0] not in known])}
