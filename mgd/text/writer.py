"""A descriptor as text format: every field that says something, in the order of the schema."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from mgd import _schema
from mgd.descriptor import Descriptor

_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}

_SILENT = ("string", "bool", "enum")
"""Kinds whose default is not written; numbers always are, because `mesh_id: 0` is what a reader looks for."""


def write(descriptor: Descriptor) -> str:
    """The text of a descriptor; reading it gives an equal one. Each top-level field is one line: `mgd fmt` lays it out."""
    return "\n".join([*_fields(_schema.ROOT, descriptor), ""])


def quoted(text: str) -> str:
    """A string literal; control characters become octal escapes."""
    parts = [_ESCAPES.get(c) or (c if c >= " " and c != "\x7f" else f"\\{ord(c):03o}") for c in text]
    return f'"{"".join(parts)}"'


def _fields(name: str, message: Any) -> Iterator[str]:
    for field in _schema.MESSAGES[name]:
        value = getattr(message, field.name)
        if field.repeated:
            if field.kind == "message":
                yield from (f"{field.name} {_value(field, each)}" for each in value)
            elif value:
                yield f"{field.name}: [ {', '.join(_value(field, each) for each in value)} ]"
        elif value is None or (field.kind in _SILENT and not field.optional and not value):
            continue
        elif field.kind == "message":
            yield f"{field.name} {_value(field, value)}"
        else:
            yield f"{field.name}: {_value(field, value)}"


def _value(field: _schema.SchemaField, value: Any) -> str:
    if field.kind == "message":
        inner = " ".join(_fields(str(field.type), value))
        return f"{{ {inner} }}" if inner else "{}"
    if field.kind == "string":
        return quoted(value)
    if field.kind == "bool":
        return "true" if value else "false"
    return value.name if isinstance(value, enum.Enum) else str(int(value))
