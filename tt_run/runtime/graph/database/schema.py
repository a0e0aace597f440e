"""The tables of a report's database, by the columns that `ttnn-visualizer` reads. Source: reference library 0.81.1, schema 3.5."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tt_run.runtime.errors import fatal

DATABASE_SCHEMA_VERSION = "3.5"

_RANK = "rank int NOT NULL DEFAULT 0"
_COMPARED = ("tensor_id int", "golden_tensor_id int", "matches int", "desired_pcc float", "actual_pcc float")
_BUFFER = ("operation_id int", "device_id int", "address int")

TABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "devices": (
        (
            "device_id int", "num_y_cores int", "num_x_cores int", "num_y_compute_cores int", "num_x_compute_cores int",
            "worker_l1_size int", "l1_num_banks int", "l1_bank_size int", "address_at_first_l1_bank int",
            "address_at_first_l1_cb_buffer int", "num_banks_per_storage_core int", "num_compute_cores int", "num_storage_cores int",
            "total_l1_memory int", "total_l1_for_tensors int", "total_l1_for_interleaved_buffers int",
            "total_l1_for_sharded_buffers int", "cb_limit int", _RANK,
        ),
        "",
    ),
    "operations": (("operation_id int", "name text", "duration float", _RANK), "operation_id, rank"),
    "operation_arguments": (("operation_id int", "name text", "value text", _RANK), ""),
    "sub_device_managers": (
        ("device_id int", "sub_device_manager_id int", _RANK),
        "device_id, sub_device_manager_id, rank",
    ),
    "sub_devices": (
        ("device_id int", "sub_device_manager_id int", "sub_device_id int", "worker_core_ranges text", _RANK),
        "device_id, sub_device_manager_id, sub_device_id, rank",
    ),
    "operation_executions": (
        (
            "execution_id int", "operation_id int", "device_id int", "physical_device_id int", "runtime_id int",
            "global_call_count int", "command_queue_id int", _RANK,
        ),
        "execution_id, rank",
    ),
    "execution_sub_devices": (
        ("execution_id int", "device_id int", "sub_device_manager_id int", "sub_device_id int", _RANK),
        "execution_id, device_id, sub_device_manager_id, sub_device_id, rank",
    ),
    "tensors": (
        (
            "tensor_id int", "shape text", "dtype text", "layout text", "memory_config text", "device_id int", "address int",
            "buffer_type int", _RANK, "storage_type text",
        ),
        "tensor_id, rank",
    ),
    "device_tensors": (("tensor_id int", "device_id int", "address int", _RANK), ""),
    "buffers": ((*_BUFFER, "max_size_per_bank int", "buffer_type int", "buffer_layout int", _RANK), ""),
    "captured_graph": (("operation_id int", "captured_graph text", _RANK), ""),
    "nodes": (("operation_id int", "unique_id int", "node_operation_id int", "name text", _RANK), ""),
    "edges": (
        (
            "operation_id int", "source_unique_id int", "sink_unique_id int", "source_output_index int", "sink_input_index int",
            "key int", _RANK,
        ),
        "",
    ),
    "report_metadata": (("key text UNIQUE", "value text"), ""),
    "errors": (
        (
            "operation_id int", "operation_name text", "error_type text", "error_message text", "stack_trace text", "timestamp text",
            _RANK,
        ),
        "",
    ),
    "source_files": (("id INTEGER PRIMARY KEY", "path text UNIQUE NOT NULL", "contents text"), ""),
    "stack_traces": (
        ("operation_id int", "stack_trace text", "source_file_id int REFERENCES source_files(id)", _RANK),
        "",
    ),
    "input_tensors": (("operation_id int", "input_index int", "tensor_id int", _RANK), ""),
    "output_tensors": (("operation_id int", "output_index int", "tensor_id int", _RANK), ""),
    "tensor_lifetime": (
        (
            "tensor_id int", "producer_operation_id int", "last_use_operation_id int", "deallocate_operation_id int",
            "producer_source_file text", "producer_source_line int", "last_use_source_file text", "last_use_source_line int", _RANK,
        ),
        "tensor_id, rank",
    ),
    "tensor_consumers": (
        ("tensor_id int", "operation_id int", "input_index int", _RANK),
        "tensor_id, operation_id, input_index, rank",
    ),
    "tensor_producers": (
        ("tensor_id int", "operation_id int", "output_index int", _RANK),
        "tensor_id, operation_id, output_index, rank",
    ),
    "local_tensor_comparison_records": ((*_COMPARED, _RANK), "tensor_id, rank"),
    "global_tensor_comparison_records": ((*_COMPARED, _RANK), "tensor_id, rank"),
    "buffer_chunks": (
        (
            *_BUFFER, "bank_id int", "core_x int", "core_y int", "chunk_address int", "chunk_size int", "page_size int", "num_pages int",
            "buffer_type int", _RANK,
        ),
        "",
    ),
}  # fmt: skip
"""Of each table its columns, and those that are unique together."""


def _statement(table: str) -> str:
    columns, unique = TABLES[table]
    rules = (*columns, f"UNIQUE({unique})") if unique else columns
    return f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(rules)})"


CREATE_SOURCE_FILES_TABLE_SQL = _statement("source_files")
CREATE_STACK_TRACES_TABLE_WITH_SOURCE_SQL = _statement("stack_traces")
CREATE_INDEX_STACK_TRACES_SOURCE_FILE_SQL = (
    "CREATE INDEX IF NOT EXISTS idx_stack_traces_source_file_id ON stack_traces (source_file_id)"
)


def create_database_schema(cursor: sqlite3.Cursor) -> None:
    """Make the tables that are not there yet."""
    for table in TABLES:
        cursor.execute(_statement(table))
    cursor.execute(CREATE_INDEX_STACK_TRACES_SOURCE_FILE_SQL)


def save_database_schema_version(cursor: sqlite3.Cursor) -> None:
    """Note in the database by which schema it is written."""
    insert(cursor, "report_metadata", [("schema_version", DATABASE_SCHEMA_VERSION)])


def insert(cursor: sqlite3.Cursor, table: str, rows: Iterable[tuple[Any, ...]]) -> int:
    """Write whole rows, of which a later one takes the place of an earlier one that it must differ from; how many."""
    listed = list(rows)
    places = ", ".join("?" * len(TABLES[table][0]))
    cursor.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({places})", listed)
    return len(listed)


def discard_older(path: Path) -> None:
    """Remove a database of an older schema: there is no way from one to the other. Raises RuntimeError for a file that is no such database."""
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(path)) as database:
            found = database.execute(
                "SELECT value FROM report_metadata WHERE key = 'schema_version'"
            ).fetchone()
    except sqlite3.Error as error:
        raise fatal(
            f"{path} is no database of a report: {error}", hint="another folder, or --db-name"
        ) from None
    if found is None or _numbers(found[0]) < _numbers(DATABASE_SCHEMA_VERSION):
        path.unlink()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
