"""Reports of captured graphs, of one rank or of all, as one database; by itself or as `python -m ttnn.graph_report`."""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_run.runtime.errors import sentence_of
from tt_run.runtime.graph.calls import SUFFIX
from tt_run.runtime.graph.database.buffers import Pages, chunks
from tt_run.runtime.graph.database.comparisons import (
    COMPARED,
    COMPARED_SUFFIX,
    import_tensor_comparison_records,
)
from tt_run.runtime.graph.database.functions import params
from tt_run.runtime.graph.database.rows import import_devices, import_graph, import_metadata
from tt_run.runtime.graph.database.schema import (
    TABLES,
    create_database_schema,
    discard_older,
    insert,
    save_database_schema_version,
)
from tt_run.runtime.graph.extract import visualize

SUPPORTED_REPORT_VERSION = 1
_OF_RANK = re.compile(r"graph_capture_(\d+)_of_\d+\.json", re.IGNORECASE)
_STRIDE = 10000
"""By how much the operations of a rank's further reports are numbered higher."""
_TOLD = {
    "operations": "operations", "tensors": "tensors", "buffers": "buffers", "devices": "devices", "errors": "errors",
    "stack_traces": "stack traces", "buffer_chunks": "pieces of buffers on cores", "comparisons": "comparisons with golden tensors",
}  # fmt: skip


@dataclass(slots=True)
class ImportedReport:
    """A report, with the devices numbered from 0, as it is written."""

    path: Path
    content: dict[str, Any]
    rank: int

    @property
    def world_size(self) -> int:
        """Of how many ranks it is one."""
        return int(self.content["metadata"].get("world_size", 1))

    def beside(self, suffix: str) -> Any:
        """What a file beside it has; None without one."""
        path = self.path.with_suffix(suffix)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def import_report(
    report_path: str | Path, output_dir: str | Path, db_name: str = "db.sqlite", generate_svgs: bool = False
) -> Path:
    """Write a report, or all of a folder (those of ranks, if there are any), into the database of a folder; the database.

    What the database had of the same ranks is replaced. The cluster's description and the lives of tensors are written beside it, with
    `generate_svgs` pictures of the graphs as well. Raises FileNotFoundError without a report, ValueError for what is none or of another
    version, RuntimeError where `db_name` is a file that is no such database.
    """
    reports = [_read(path) for path in _listed(Path(report_path))]
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / db_name
    discard_older(database)
    with closing(sqlite3.connect(database)) as connection:
        cursor = connection.cursor()
        create_database_schema(cursor)
        save_database_schema_version(cursor)
        _replace(cursor, {report.rank for report in reports})
        before: Counter[int] = Counter()
        for report in reports:
            _import(cursor, report, before[report.rank] * _STRIDE, folder, pictures=generate_svgs)
            before[report.rank] += 1
        connection.commit()
    return database


def _replace(cursor: sqlite3.Cursor, ranks: set[int]) -> None:
    for table, (columns, _) in TABLES.items():
        if any(column.startswith("rank ") for column in columns):
            cursor.executemany(f"DELETE FROM {table} WHERE rank = ?", [(rank,) for rank in ranks])


def _listed(path: Path) -> list[Path]:
    if not path.exists():
        raise FileNotFoundError(
            f"there is no report at {path}\nhelp: ttnn.graph.end_graph_capture_to_file({str(path)!r})"
        )
    if path.is_file():
        return [path]
    ranks = {int(found[1]): each for each in path.iterdir() if (found := _OF_RANK.fullmatch(each.name))}
    if ranks:
        return [ranks[rank] for rank in sorted(ranks)]
    beside = (SUFFIX, COMPARED_SUFFIX, ".tensor_lifetime.json")
    return [
        each
        for each in sorted(path.glob("*.json"))
        if not each.name.endswith(beside)
        and not re.fullmatch(r"config(_\d+_of_\d+)?\.json", each.name)
        and each.name != COMPARED
    ]


def _read(path: Path) -> ImportedReport:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"Graph report must be a JSON object: {path}")
    metadata = content.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError(f"Graph report missing metadata object: {path}")
    if metadata.get("rank") is None:
        raise ValueError(f"Graph report metadata missing required field rank: {path}")
    if content.get("version") != SUPPORTED_REPORT_VERSION:
        raise ValueError(f"{path} has version {content.get('version')}, expected {SUPPORTED_REPORT_VERSION}")
    _renumber(content)
    return ImportedReport(path, content, int(metadata["rank"]))


def _renumber(content: dict[str, Any]) -> None:
    """Number the devices from 0, whatever the machine calls them."""
    known = sorted({int(device.get("device_id", 0)) for device in content.get("devices", [])})
    numbers = {old: new for new, old in enumerate(known)}

    def renamed(held: dict[str, Any], *keys: str) -> dict[str, Any]:
        changed = {
            key: numbers.get(int(held[key]), int(held[key])) for key in keys if held.get(key) is not None
        }
        return {**held, **changed}

    content["devices"] = [renamed(device, "device_id") for device in content.get("devices", [])]
    for node in content.get("graph", []):
        said = params(node)
        if "device_id" in said:
            node["params"] = said = renamed(said, "device_id")
        if "device_tensors" in said:
            told = [
                renamed(each, "device_id", "mesh_device_id") for each in json.loads(said["device_tensors"])
            ]
            node["params"] = {**said, "device_tensors": json.dumps(told)}
    snapshots = content.get("per_operation_buffers") or {}
    content["per_operation_buffers"] = {
        key: [renamed(each, "device_id") for each in listed] for key, listed in snapshots.items()
    }


def _import(
    cursor: sqlite3.Cursor, report: ImportedReport, base: int, folder: Path, *, pictures: bool
) -> None:
    content, rank = report.content, report.rank
    import_devices(cursor, content["devices"], rank)
    graph = content.get("graph") or []
    records = content.get("python_io")
    records = report.beside(SUFFIX) if records is None else records
    written = import_graph(
        cursor,
        graph,
        base,
        content["devices"],
        records,
        content["per_operation_buffers"] or None,
        rank,
        record_tensor_lifetime=any(record.get("python_stack_trace") for record in records or ()),
    )
    if written["tensor_lifetime"]:
        path = folder / f"{report.path.stem}.tensor_lifetime.json"
        path.write_text(json.dumps(written["tensor_lifetime"], indent=2), encoding="utf-8")
    insert(cursor, "buffer_chunks", _pieces(content, written, rank))
    if pictures:
        (folder / "graphs").mkdir(exist_ok=True)
        visualize(graph, file_name=folder / "graphs" / f"{report.path.stem}.svg")
    compared = content.get("comparison_records") or report.beside(COMPARED_SUFFIX)
    if compared:
        import_tensor_comparison_records(cursor, compared, rank)
    import_metadata(cursor, content["metadata"])
    suffix = f"_{rank + 1}_of_{report.world_size}" if report.world_size > 1 else ""
    for key, name in (
        ("cluster_descriptor", "cluster_descriptor"),
        ("mesh_coordinate_mapping", "physical_chip_mesh_coordinate_mapping"),
    ):
        if content.get(key):
            (folder / f"{name}{suffix}.yaml").write_text(content[key], encoding="utf-8")


def _pieces(content: Mapping[str, Any], written: Mapping[str, Any], rank: int) -> Iterator[tuple[Any, ...]]:
    """Rows for the pages of each operation's buffers, as devices told them."""
    told, buffers = content.get("buffer_pages_by_address"), content["per_operation_buffers"]
    operations, ends = written["graph_counter_to_op_id"], written["graph_counter_to_end"]
    if told and buffers:
        pages = Pages(told)
        for key, listed in buffers.items():
            start = int(key)
            if start in operations:
                held = [page for each in listed for page in pages.at(int(each["address"]), ends[start])]
                yield from chunks(operations[start], held, rank)
    elif content.get("buffer_pages") and operations:
        yield from chunks(min(operations.values()), content["buffer_pages"], rank)


def summary(database: Path) -> str:
    """What a database has, one kind of row in each line."""
    with closing(sqlite3.connect(database)) as connection:
        found = {table: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in TABLES}
    found["comparisons"] = (
        found["local_tensor_comparison_records"] + found["global_tensor_comparison_records"]
    )
    return "\n".join(f"  {found[table]:>6} {words}" for table, words in _TOLD.items() if found[table])


def main(words: list[str] | None = None) -> int:
    """`python -m ttnn.graph_report REPORT FOLDER`: the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m ttnn.graph_report",
        description="Write reports of captured graphs into a database for ttnn-visualizer.",
    )
    parser.add_argument("report_path", help="a report, or the folder that the reports of all ranks are in")
    parser.add_argument("output_dir", help="the folder for the database")
    parser.add_argument("--db-name", default="db.sqlite", help="the database's name")
    parser.add_argument("--svg", action="store_true", help="draw the graphs, too")
    given = parser.parse_args(words)
    try:
        database = import_report(given.report_path, given.output_dir, given.db_name, generate_svgs=given.svg)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"error: {sentence_of(error) if isinstance(error, RuntimeError) else error}", file=sys.stderr)
        return 1
    print(f"{database}\n{summary(database)}\nOpen it: ttnn-visualizer --profiler-path {database.parent}")
    return 0
