"""What the comparison with golden tensors found, beside reports and in their database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tt_run.runtime.comm.world import world
from tt_run.runtime.graph.database.rows import tensor_row
from tt_run.runtime.graph.database.schema import create_database_schema, insert, save_database_schema_version
from tt_run.runtime.tools.comparison_records import (
    has_comparison_records,
    kept_records,
    reset_comparison_records_data,
)

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


def flush_comparison_records_to_db(report_dir: str | Path) -> None:
    """Write what was kept into `comparison_records.json` and `db.sqlite` of a folder, and forget it; nothing where there are no records."""
    if not has_comparison_records():
        return
    folder = Path(report_dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / COMPARED).write_text(json.dumps(kept_records()), encoding="utf-8")
    with closing(sqlite3.connect(folder / "db.sqlite")) as database:
        cursor = database.cursor()
        create_database_schema(cursor)
        save_database_schema_version(cursor)
        import_tensor_comparison_records(cursor, kept_records(), world().rank)
        database.commit()
    reset_comparison_records_data()


def write_beside(report: Path) -> None:
    """Write what was kept beside a report, and forget it; nothing where there are no records."""
    if has_comparison_records():
        report.with_suffix(COMPARED_SUFFIX).write_text(json.dumps(kept_records()), encoding="utf-8")
        reset_comparison_records_data()
