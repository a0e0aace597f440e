"""Descriptors and texts from the schema, for hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st

from mgd import _schema, descriptor
from mgd.lean import replace

_RANGES = {"int32": (-(1 << 31), (1 << 31) - 1), "uint32": (0, (1 << 32) - 1)}
DEEPEST = 6
Values = Callable[[_schema.SchemaField], st.SearchStrategy[Any]]
NAMES = st.sampled_from(
    ["M0", "M1", "G0", "SW0", "FABRIC", "POD", "a b", "é", 'quo"te', "back\\slash", "tab\t", ""]
)


def said(field: _schema.SchemaField) -> st.SearchStrategy[Any]:
    """Scalars that differ from the default and have one reading in every parser."""
    if field.kind == "string":
        return st.sampled_from(["M0", "G0", "FABRIC", "a b"])
    if field.kind == "enum":
        assert not isinstance(field.type, str)
        return st.sampled_from([each for each in field.type if each])
    return st.just(True) if field.kind == "bool" else st.integers(2, 99)


def scalars(field: _schema.SchemaField) -> st.SearchStrategy[Any]:
    if field.kind == "string":
        return NAMES | st.text(max_size=6).filter(_encodable)
    if field.kind == "bool":
        return st.booleans()
    if field.kind == "enum":
        assert not isinstance(field.type, str)
        return st.sampled_from(list(field.type)) | st.sampled_from([9, 77])
    low, high = _RANGES[field.kind]
    return st.integers(0, 9) | st.integers(low, high)


def _encodable(text: str) -> bool:
    return not any(0xD800 <= ord(c) < 0xE000 for c in text) and "\0" not in text


def _schema_default(field: _schema.SchemaField) -> Any:
    if isinstance(field.type, str):
        return {"string": "", "bool": False}.get(field.kind, 0)
    return field.type(0)


@cache
def messages(name: str = _schema.ROOT, depth: int = 0, values: Values = scalars) -> st.SearchStrategy[Any]:
    """Messages of a type, with any of their fields, nested up to a few levels."""
    parts = []
    fields = _schema.MESSAGES[name]
    oneof = [field.name for field in fields if field.oneof]
    for field in fields:
        if field.kind == "message" and depth > DEEPEST:
            parts.append(st.just(() if field.repeated else None))
            continue
        inner = messages(str(field.type), depth + 1, values) if field.kind == "message" else values(field)
        if field.repeated:
            parts.append(st.lists(inner, max_size=2).map(tuple))
        elif field.kind == "message" or field.optional:
            parts.append(st.none() | inner)
        else:
            parts.append(inner if values is scalars else st.just(_schema_default(field)) | inner)
    build = getattr(descriptor, "Descriptor" if name == _schema.ROOT else name)
    made = st.tuples(*parts).map(lambda values: build(*values))
    if oneof:
        keep = st.sampled_from([*oneof, ""])
        made = st.tuples(made, keep).map(
            lambda pair: replace(pair[0], **{each: None for each in oneof if each != pair[1]})
        )
    return made


def styled(chance: Random, value: Any) -> list[str]:
    """The tokens of a message, written in one of the many ways that the format allows."""
    tokens: list[str] = []
    _fields(chance, _schema.ROOT, value, tokens)
    return tokens


def _fields(chance: Random, name: str, value: Any, tokens: list[str]) -> None:
    for field in _schema.MESSAGES[name]:
        written = getattr(value, field.name)
        many = list(written) if field.repeated else [written]
        if written is None or (
            not field.repeated and not field.optional and field.kind != "message" and not written
        ):
            continue
        if field.repeated and chance.random() < 0.5:
            _name(chance, field, tokens)
            tokens.append("[")
            for index, each in enumerate(many):
                tokens += [","] * (index > 0)
                _single(chance, field, each, tokens)
            tokens.append("]")
            tokens += chance.choice([[], [","], [";"]])
            continue
        for each in many:
            _name(chance, field, tokens)
            _single(chance, field, each, tokens)
            tokens += chance.choice([[], [], [","], [";"]])


def _name(chance: Random, field: _schema.SchemaField, tokens: list[str]) -> None:
    tokens.append(field.name)
    if field.kind != "message" or chance.random() < 0.5:
        tokens.append(":")


def _single(chance: Random, field: _schema.SchemaField, value: Any, tokens: list[str]) -> None:
    if field.kind == "message":
        opening, closing = chance.choice(["{}", "{}", "<>"])
        tokens.append(opening)
        _fields(chance, str(field.type), value, tokens)
        tokens.append(closing)
    elif field.kind == "string":
        half = chance.randint(0, len(value))
        pieces = [value[:half], value[half:]] if chance.random() < 0.3 else [value]
        tokens += [_quoted(chance, piece) for piece in pieces]
    elif field.kind == "bool":
        tokens.append(chance.choice(["true", "True", "t", "1"] if value else ["false", "False", "f", "0"]))
    elif field.kind == "enum" and hasattr(value, "name") and chance.random() < 0.7:
        tokens.append(value.name)
    else:
        sign, size = ("-", -int(value)) if value < 0 else ("", int(value))
        forms = [str(size), hex(size), f"0{size:o}"] if field.kind != "enum" else [str(size)]
        tokens.append(sign + chance.choice(forms))


def _quoted(chance: Random, text: str) -> str:
    mark = chance.choice("\"'")
    parts = []
    for byte in text.encode():
        plain = 32 <= byte <= 126 and chr(byte) not in "\\\"'"
        parts.append(chr(byte) if plain else f"\\{byte:03o}")
    return f"{mark}{''.join(parts)}{mark}"
