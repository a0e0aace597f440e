"""What files of a run hold, held against the schema of what was written: a damaged part is left out instead of met in the midst of a page."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from mgd.resources import configs_root

_KINDS: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "object": (dict,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_BAD = object()


def conforming(value: Any, schema: str, complete: bool = False) -> Any:
    """The value without what is not of the kind that the schema `schema` of `configs/schemas/outputs/` gives it; None where all of it is not.

    Keys that are missing are not looked for, since an older version may have written the file; with `complete` an entry of a list is left
    out as a whole where it lacks one, or is a list of which a part is left out.
    """
    found = _sound(value, _schema(schema), complete)
    return None if found is _BAD else found


@cache
def _schema(name: str) -> Any:
    path = configs_root() / "schemas" / "outputs" / f"{name}.schema.json"
    return json.loads(path.read_text(encoding="utf-8"))


def _sound(value: Any, schema: Any, complete: bool, is_entry: bool = False) -> Any:
    if not isinstance(schema, dict):  # true: anything
        return value
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        return _BAD
    if isinstance(value, list):
        items = [_sound(item, schema.get("items", True), complete, is_entry=complete) for item in value]
        kept = [item for item in items if item is not _BAD]
        short = max(schema.get("minItems", 0), len(value) if is_entry else 0)
        return kept if len(kept) >= short else _BAD
    if isinstance(value, dict):
        parts, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found = {key: _sound(part, parts.get(key, others), complete) for key, part in value.items()}
        whole = {key: part for key, part in found.items() if part is not _BAD}
        return _BAD if is_entry and any(key not in whole for key in schema.get("required", ())) else whole
    return value


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS[kind])
