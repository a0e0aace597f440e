"""Workflow commands of GitHub Actions, which mark lines of a pull request."""

from __future__ import annotations

from mgd.diagnostics import Position


def workflow_command(level: str, title: str, text: str, at: Position | None = None) -> str:
    """One command; `level` is error, warning or notice, `at` the line to mark."""
    place = f"file={_property(at.file)},line={max(1, at.line)}," if at is not None else ""
    if at is not None and at.column:
        place += f"col={at.column},"
    return f"::{level} {place}title={_property(title)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
