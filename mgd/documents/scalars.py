"""What a scalar of YAML 1.1 is and stands for, as PyYAML resolves it; PyYAML's own tables decide."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

_TAG = "tag:yaml.org,2002:"
_KINDS = {"str": "text", "timestamp": "date", "value": "text"}
_TRUE = ("yes", "true", "on")
_INFINITE = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}


def kind_of(text: str) -> str:
    """The kind of a plain scalar: text, int, float, bool, null, date, merge, or base60 for numbers such as `12:30`."""
    patterns = _patterns()
    for tag, pattern in (*patterns.get(text[:1], ()), *patterns.get(None, ())):
        if pattern.match(text):
            return _kind(tag, text)
    return "text"


def kind_of_tagged(tag: str, text: str) -> str | None:
    """The kind of a scalar with an explicit tag; None for a tag that is unknown or that its text does not fit."""
    name = tag.removeprefix(_TAG)
    if tag in ("!", f"{_TAG}str"):
        return "text"
    if name not in ("int", "float", "bool", "null") or not tag.startswith(_TAG):
        return None
    found = kind_of(text)
    decimal = found == "int" and text.lstrip("+-").isdigit()
    return name if found == name or (name == "float" and decimal) else None


def value_of(kind: str, text: str) -> Any:
    """What a scalar stands for in Python; base60 and dates are their text."""
    if kind == "int":
        return integer(text)
    if kind == "float":
        plain = text.replace("_", "").lower()
        return float(_INFINITE.get(plain, plain))
    if kind == "bool":
        return text.lower() in _TRUE
    return None if kind == "null" else text


def integer(text: str) -> int:
    """The integer that YAML 1.1 reads: decimal, 0x, 0b, and octal after a leading 0."""
    digits = text.replace("_", "")
    sign = -1 if digits[:1] == "-" else 1
    digits = digits.lstrip("+-")
    if digits[:2] in ("0x", "0b"):
        return sign * int(digits[2:], 16 if digits[1] == "x" else 2)
    return sign * int(digits, 8 if digits[:1] == "0" else 10)


def _kind(tag: str, text: str) -> str:
    name = tag.removeprefix(_TAG)
    if name in ("int", "float") and ":" in text:
        return "base60"
    return _KINDS.get(name, name)


@cache
def _patterns() -> dict[str | None, list[tuple[str, Any]]]:
    import yaml

    found: dict[str | None, list[tuple[str, Any]]] = yaml.SafeLoader.yaml_implicit_resolvers
    return found
