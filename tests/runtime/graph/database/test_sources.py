"""Which files of a stack may be read, what is kept of them, and what is told of where the sources come from."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tt_run.runtime.graph.database import schema, sources
from tt_run.runtime.graph.database.lifetimes import compute_tensor_lifetime_records
from tt_run.runtime.graph.database.origins import sanitize_git_remote_url


@pytest.mark.parametrize(
    "stack, file",
    [
        ('  File "/a/b.py", line 3, in f\n    x()', "/a/b.py"),
        ("Traceback\n  rel.py:12:3\n", "rel.py"),
        ('File "/a", line 2\n/b:7', "/b"),  # Python's own lines say in which function
        ("nothing of the kind", None),
        (None, None),
    ],
)
def test_the_first_file_of_a_stack(stack: str | None, file: str | None) -> None:
    assert sources.extract_stack_trace_file(stack) == file


def test_only_files_that_a_program_can_be_loaded_from_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text("x = 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in (str(program), "program.py", f" {program} "):
        assert sources.normalize_existing_source_file_path(name) == str(program.resolve())
    assert sources.read_source_file(str(program)) == "x = 1\n"
    for other in ("/etc/passwd", str(tmp_path), "program.py\0", "", None):
        assert sources.normalize_existing_source_file_path(other) is None
    assert sources.read_source_file("/etc/passwd") is None


def test_a_file_has_one_number() -> None:
    given = [("a", "1"), ("b", "2"), ("a", "3")]
    with closing(sqlite3.connect(":memory:")) as database:
        cursor = database.cursor()
        cursor.execute(schema.CREATE_SOURCE_FILES_TABLE_SQL)
        assert [sources.get_source_file_id(cursor, *each) for each in given] == [1, 2, 1]


def test_lifetimes_from_rows_of_tables() -> None:
    told = compute_tensor_lifetime_records(
        [(1, "ttnn.add"), (2, "ttnn.mul"), (3, "ttnn.deallocate")],
        [(2, 0, 7), (2, 1, 8), (3, 0, 7)],
        [(1, 0, 7)],
        [(1, '  File "/a.py", line 3, in f')],
        {8, 7},
    )
    seven, eight = told
    names = ("tensor_id", "producer_operation_id", "last_use_operation_id", "deallocate_operation_id")
    assert [seven[name] for name in names] == [7, 1, 2, 3]
    assert (seven["producer_source_file"], seven["producer_source_line"]) == ("/a.py", 3)
    assert [eight[name] for name in names] == [8, None, 2, None]


@pytest.mark.parametrize(
    "url, told",
    [
        ("https://user:token@Example.com/a/b.git?x=1#f", "https://example.com/a/b.git"),
        ("git@example.com:o/r.git", "example.com:o/r.git"),
        ("ssh://git@example.com:org/repo.git", "ssh://example.com:org/repo.git"),
        ("ssh://git@h:22/x", "ssh://h:22/x"),
        ("https://token@[::1]/a", "https://[::1]/a"),
        ("file:///a/b", "file:///a/b"),
        (" /plain/x ", "/plain/x"),
        ("", ""),
    ],
)
def test_addresses_without_secrets(url: str, told: str) -> None:
    assert sanitize_git_remote_url(url) == told
