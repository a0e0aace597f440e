"""The schema as the parser wants it: per message a table of slots, made once from `mgd._schema`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import cache

from mgd import _schema, descriptor
from mgd.lean import dataclass, field

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

INT, ENUM, BOOL, STRING, MESSAGE = range(5)
_KINDS = {"int32": INT, "uint32": INT, "enum": ENUM, "bool": BOOL, "string": STRING, "message": MESSAGE}
_RANGES = {"int32": (-(1 << 31), (1 << 31) - 1), "uint32": (0, (1 << 32) - 1)}

BOOLS = {"true": True, "True": True, "t": True, "false": False, "False": False, "f": False}


@dataclass(slots=True, eq=False, repr=False)
class Slot:
    """Where a field's value goes. `bit` marks it as seen (0 for a repeated field, shared by the members of a oneof)."""

    name: str
    index: int
    bit: int
    kind: int
    repeated: bool
    type_name: str
    oneof: bool = False
    low: int = 0
    high: int = 0
    names: dict[str, enum.IntEnum] = field(default_factory=dict)
    message: Grammar | None = None

    @property
    def wanted(self) -> str:
        """What stands on the right of the colon, in words."""
        return {
            INT: "an integer",
            ENUM: f"a{'n' * (self.type_name[:1] in 'AEIO')} {self.type_name} name",
            BOOL: "true or false",
            STRING: "a quoted string",
        }.get(self.kind, "a message in braces")


@dataclass(slots=True, eq=False, repr=False)
class Grammar:
    """One message: its slots by name, the defaults in order, which slots are lists, and what makes the value."""

    name: str
    build: Callable[..., Any]
    slots: dict[str, Slot]
    defaults: list[Any]
    lists: tuple[int, ...]


UNKNOWN = Grammar("", lambda *_: None, {}, [], ())
"""The inside of an unknown field: nothing in it is known, its syntax still counts."""


@cache
def root_grammar() -> Grammar:
    """The tables of the whole schema, from its root message."""
    made = {name: Grammar(name, _class(name), {}, [], ()) for name in _schema.MESSAGES}
    for name, fields in _schema.MESSAGES.items():
        grammar = made[name]
        for index, each in enumerate(fields):
            grammar.slots[each.name] = _slot(index, each, made)
            grammar.defaults.append(_default(each))
        grammar.lists = tuple(i for i, each in enumerate(fields) if each.repeated)
    return made[_schema.ROOT]


def _class(name: str) -> Callable[..., Any]:
    made: Callable[..., Any] = getattr(descriptor, "Descriptor" if name == _schema.ROOT else name)
    return made


def _slot(index: int, each: _schema.SchemaField, made: dict[str, Grammar]) -> Slot:
    type_name = each.type if isinstance(each.type, str) else each.type.__name__
    slot = Slot(
        each.name, index, 0 if each.repeated else (1 if each.oneof else 2 << index), _KINDS[each.kind], each.repeated,
        type_name, each.oneof,
    )  # fmt: skip
    if each.kind in _RANGES:
        slot.low, slot.high = _RANGES[each.kind]
    elif not isinstance(each.type, str):
        slot.names = dict(each.type.__members__)
    elif each.type:
        slot.message = made[each.type]
    return slot


def _default(each: _schema.SchemaField) -> Any:
    if each.repeated:
        return ()
    if each.kind == "message" or each.optional:
        return None
    if not isinstance(each.type, str):
        return each.type(0)
    return {"string": "", "bool": False}.get(each.kind, 0)
