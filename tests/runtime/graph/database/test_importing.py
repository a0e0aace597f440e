"""Captures of the emulation as databases: what programs did, from which lines; of ranks together; and files that are no reports."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.graph import capturing
from tt_run.runtime.graph.database.importing import import_report, main
from tt_run.runtime.graph.database.schema import TABLES
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.elementwise.binary import add
from tt_run.runtime.ops.products.operations import matmul
from tt_run.runtime.tensor.creation.from_shape import empty
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG


def rows(database: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def report(one: MeshDevice, tmp_path: Path) -> Path:
    """A sum, a product in L1 and what went wrong with a third operation."""
    path = tmp_path / "report.json"
    operand = empty((64, 64), DataType.BFLOAT16, Layout.TILE, device=one)
    other = empty((32, 32), DataType.BFLOAT16, Layout.TILE, device=one)
    with capturing.full_graph_capture(str(path)):
        total = add(operand, operand)
        product = matmul(total, operand, memory_config=L1_MEMORY_CONFIG)
        total.deallocate()
        with pytest.raises(RuntimeError):
            matmul(product, other)
    product.deallocate()
    return path


def test_operations_tensors_and_buffers_of_a_program(report: Path, tmp_path: Path) -> None:
    database = import_report(report, tmp_path / "out")
    assert [name for (name,) in rows(database, "SELECT name FROM operations ORDER BY operation_id")] == [
        "ttnn.add", "ttnn.matmul", "ttnn.matmul",
    ]  # fmt: skip
    (summed,) = rows(database, "SELECT tensor_id FROM output_tensors WHERE operation_id = 1")
    assert rows(
        database, "SELECT tensor_id FROM input_tensors WHERE operation_id = 2 AND input_index = 0"
    ) == [summed]
    # The product lies in L1, 4 tiles on as many cores; the sum has left DRAM.
    assert len(rows(database, "SELECT * FROM buffers WHERE operation_id = 2 AND buffer_type = 1")) == 1
    cores = rows(
        database,
        "SELECT core_x, core_y, chunk_size FROM buffer_chunks WHERE operation_id = 2 ORDER BY core_x",
    )
    assert cores == [(0, 0, 2048), (1, 0, 2048), (2, 0, 2048), (3, 0, 2048)]
    assert rows(database, "SELECT operation_id, error_type FROM errors") == [(3, "RuntimeError")]
    (devices,) = rows(database, "SELECT device_id, num_x_compute_cores, l1_num_banks FROM devices")
    assert devices == (0, 8, 64)


def test_each_operation_has_its_line_and_each_tensor_its_life(report: Path, tmp_path: Path) -> None:
    database = import_report(report, tmp_path / "out")
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = 1 + next(number for number, each in enumerate(text) if "total = add(" in each)
    (stack,) = rows(database, "SELECT stack_trace FROM stack_traces WHERE operation_id = 1")
    assert f'File "{__file__}", line {line}, in report' in stack[0].splitlines()[0]
    assert rows(database, "SELECT path FROM source_files") == [(__file__,)]
    (life,) = rows(
        database,
        "SELECT producer_operation_id, last_use_operation_id, producer_source_line FROM tensor_lifetime "
        "WHERE tensor_id = (SELECT tensor_id FROM output_tensors WHERE operation_id = 1)",
    )
    assert life == (1, 2, line)
    beside = json.loads((tmp_path / "out" / "report.tensor_lifetime.json").read_text())
    assert {each["producer_operation_id"] for each in beside} >= {1, 2}


def test_importing_again_writes_the_same(report: Path, tmp_path: Path) -> None:
    database = import_report(report, tmp_path)
    before = {table: rows(database, f"SELECT COUNT(*) FROM {table}") for table in TABLES}
    assert import_report(report, tmp_path) == database
    assert {table: rows(database, f"SELECT COUNT(*) FROM {table}") for table in TABLES} == before


def test_reports_of_ranks_become_one_database(report: Path, tmp_path: Path) -> None:
    content = json.loads(report.read_text())
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in (1, 0):
        content["metadata"] |= {"rank": rank, "world_size": 2}
        (folder / f"graph_capture_{rank + 1}_of_2.json").write_text(json.dumps(content))
    (folder / "config.json").write_text("{}")
    database = import_report(folder, folder, "all.sqlite")
    assert rows(database, "SELECT rank, COUNT(*) FROM operations GROUP BY rank ORDER BY rank") == [
        (0, 3),
        (1, 3),
    ]
    assert {path.name for path in folder.glob("cluster_descriptor*")} == {
        "cluster_descriptor_1_of_2.yaml", "cluster_descriptor_2_of_2.yaml",
    }  # fmt: skip


def test_further_reports_of_a_rank_are_numbered_on(report: Path, tmp_path: Path) -> None:
    folder = tmp_path / "twice"
    folder.mkdir()
    for name in ("a.json", "b.json"):
        (folder / name).write_text(report.read_text())
    database = import_report(folder, tmp_path / "out")
    numbers = [
        number for (number,) in rows(database, "SELECT operation_id FROM operations ORDER BY operation_id")
    ]
    assert numbers == [1, 2, 3, 10001, 10002, 10003]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "missing metadata object"),
        ('{"metadata": {}}', "missing required field rank"),
        ('{"metadata": {"rank": 0}, "version": 9}', "has version 9, expected 1"),
        (None, "there is no report at"),
    ],
)
def test_what_is_no_report_is_told(
    text: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    if text is not None:
        path.write_text(text)
    assert main([str(path), str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and words in said and str(path) in said
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_no_database_stays(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine " * 200)
    assert main([str(report), str(tmp_path), "--db-name", "notes.txt"]) == 1
    assert "is no database of a report" in capsys.readouterr().err and notes.read_text().startswith("mine")


def test_a_database_of_an_older_schema_is_replaced(report: Path, tmp_path: Path) -> None:
    old = tmp_path / "db.sqlite"
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("CREATE TABLE report_metadata (key text UNIQUE, value text)")
        connection.execute("INSERT INTO report_metadata VALUES ('schema_version', '2.1')")
    database = import_report(report, tmp_path)
    assert rows(database, "SELECT value FROM report_metadata WHERE key = 'schema_version'") == [("3.5",)]
