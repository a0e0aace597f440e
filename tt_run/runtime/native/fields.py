"""Attributes that configuration objects have take what the reference's take: a misspelt one, or a value of another kind, is refused.

The signatures of the reference's attributes say what each takes (`reference_signatures.txt`); a class named there that has `_implicit`
makes itself of other values, as a core makes itself of a pair. Source: reference library 0.81.1.
"""

from __future__ import annotations

import enum
import numbers
import operator
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.errors import incompatible, type_name
from tt_run.runtime.native.classes import members, native_class
from tt_run.runtime.native.refusals import signatures, with_note

_NOTHING = object()
"""What stands for a value that an attribute does not take."""

_WORD = 64
"""Bits of the widest number that the reference keeps."""


class Checked:
    """Mixed into classes whose attributes may be set after they are made."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, _admitted(self, name, value))


@dataclass(frozen=True, slots=True)
class _Place:
    """What one attribute of a class takes; without kinds anything, and None as well where that is its default."""

    kinds: tuple[str, ...]
    signature: tuple[str, ...]
    none: bool


@lru_cache(maxsize=4096)
def _place(cls: type, name: str) -> _Place | None:
    """The place of an attribute; None for one that there is none of."""
    bound: str = getattr(cls, "_bound_name", "")
    own = getattr(cls, "__dataclass_fields__", {})
    signature = signatures().get(f"{bound}.{name}=")
    if signature is None:
        return _Place((), (), True) if name in own or name[0] == "_" or bound not in members() else None
    text = signature[0].partition("arg: ")[2].rpartition(") ->")[0].removesuffix(", /")
    return _Place(tuple(text.split(" | ")), tuple(signature), name in own and own[name].default is None)


def _admitted(owner: object, name: str, value: Any) -> Any:
    """The value that an attribute becomes. Raises AttributeError for a name without a place, TypeError for another kind of value."""
    cls: Any = type(owner)
    place = _place(cls, name)
    if place is None:
        bound = cls._bound_name
        # With the name and the object, Python's traceback suggests the nearest attribute.
        raise AttributeError(f"'{bound}' object has no attribute '{name}'", name=name, obj=owner)
    if not place.kinds or (value is None and place.none):
        return value
    found = taken(value, place.kinds)
    if found is _NOTHING:
        kinds = " or ".join(kind.rpartition(".")[2] for kind in place.kinds)
        grid = "; ttnn.CoreCoord(grid.x, grid.y) of a CoreGrid" if type(value).__name__ == "CoreGrid" else ""
        why = f"{name} must be {kinds}, not {type_name(value)}{grid}"
        raise with_note(incompatible("", place.signature, (owner, value)), why)
    return found


def taken(value: Any, kinds: Sequence[str]) -> Any:
    """The value as the first of the kinds that takes it; a kind of which nothing is known takes everything."""
    for kind in kinds:
        found = _as(value, kind)
        if found is not _NOTHING:
            return found
    return _NOTHING


def _as(value: Any, kind: str) -> Any:
    if kind == "None":
        return value if value is None else _NOTHING
    if kind == "bool":
        return value if isinstance(value, bool) else _NOTHING
    if kind == "int":
        return _count(value)
    if kind == "float":
        return float(value) if isinstance(value, numbers.Real) else _NOTHING
    if kind in ("str", "os.PathLike"):
        return value if isinstance(value, (str, os.PathLike)) else _NOTHING
    if kind == "collections.abc.Sequence[int]":
        return _counts(value)
    wanted = native_class(kind)
    return value if wanted is None else _instance(value, wanted)


def _count(value: Any) -> Any:
    """A whole number from 0 on; members of enumerations are none."""
    if isinstance(value, enum.Enum) or not hasattr(value, "__index__"):
        return _NOTHING
    try:
        number = int(operator.index(value))
    except TypeError:
        # An array has an index where it is one whole number.
        return _NOTHING
    return number if 0 <= number < 1 << _WORD else _NOTHING


def _counts(value: Any) -> Any:
    """A list of whole numbers from 0 on, of whatever can be asked for its length and its parts in order."""
    if (
        isinstance(value, (str, bytes, Mapping))
        or not hasattr(value, "__len__")
        or not hasattr(value, "__getitem__")
    ):
        return _NOTHING
    found = [_count(each) for each in value]
    return _NOTHING if _NOTHING in found else found


def _instance(value: Any, wanted: type) -> Any:
    if isinstance(value, wanted):
        return value
    if issubclass(wanted, enum.Enum):
        # The reference reads whole numbers as members.
        known = isinstance(value, int) and value in {member.value for member in wanted}
        return wanted(value) if known else _NOTHING
    implicit = getattr(wanted, "_implicit", None)
    made = implicit(value) if implicit is not None else None
    return _NOTHING if made is None else made
