"""FlatBuffers, as much of the format as the reference's tensor files need: tables that are read with every offset checked, and written.

A table is read by the numbers of its fields, which the schema of the file gives. What is written is laid out from its root on, so
that every offset points forward; a field of None is left out. The package `flatbuffers` has no verifier in Python, so a damaged file
would be read as another tensor. Source: the FlatBuffers binary format.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from mgd.lean import dataclass

_WIDEST = 8
_LONGEST = 1 << 24  # entries of one vector; a header of a tensor file is far from it


class Table:
    """A table at a place of a buffer. Whatever points outside of the buffer raises ValueError."""

    def __init__(self, buffer: bytes, place: int) -> None:
        self._buffer, self._place = buffer, place
        self._fields = place - self._number("i", place)
        self._size = self._number("H", self._fields)

    @classmethod
    def root(cls, buffer: bytes) -> Table:
        """The table that a buffer begins with."""
        return cls(buffer, cls._at(buffer, "I", 0))

    def number(self, field: int, kind: str, default: int = 0) -> int:
        """A number in place; `kind` is its letter in `struct`."""
        offset = self._offset(field)
        return self._number(kind, self._place + offset) if offset else default

    def numbers(self, field: int, kind: str = "I") -> list[int]:
        """A vector of numbers; an empty one where the field is missing."""
        start, count = self._vector(field)
        width = struct.calcsize(f"<{kind}")
        return [self._number(kind, start + width * each) for each in range(count)]

    def struct(self, field: int, kinds: str) -> tuple[int, ...]:
        """What an offset points to, as numbers of these kinds side by side. Raises ValueError where the field is missing."""
        place = self._followed(field)
        if place is None:
            raise ValueError(f"field {field} is missing")
        width = struct.calcsize(f"<{kinds[0]}")
        return tuple(self._number(kind, place + width * each) for each, kind in enumerate(kinds))

    def table(self, field: int) -> Table | None:
        """Another table, or None where the field is missing."""
        place = self._followed(field)
        return None if place is None else Table(self._buffer, place)

    def needed(self, field: int) -> Table:
        """Another table. Raises ValueError where the field is missing."""
        found = self.table(field)
        if found is None:
            raise ValueError(f"field {field} is missing")
        return found

    def tables(self, field: int) -> list[Table]:
        """A vector of tables; an empty one where the field is missing."""
        start, count = self._vector(field)
        places = range(start, start + 4 * count, 4)
        return [Table(self._buffer, place + self._number("I", place)) for place in places]

    def _offset(self, field: int) -> int:
        place = 4 + 2 * field
        return self._number("H", self._fields + place) if place < self._size else 0

    def _followed(self, field: int) -> int | None:
        offset = self._offset(field)
        if not offset:
            return None
        place = self._place + offset
        return place + self._number("I", place)

    def _vector(self, field: int) -> tuple[int, int]:
        place = self._followed(field)
        if place is None:
            return 0, 0
        count = self._number("I", place)
        if count > _LONGEST:
            raise ValueError(f"a vector of {count} entries")
        return place + 4, count

    def _number(self, kind: str, place: int) -> int:
        return self._at(self._buffer, kind, place)

    @staticmethod
    def _at(buffer: bytes, kind: str, place: int) -> int:
        if place < 0 or place + struct.calcsize(f"<{kind}") > len(buffer):
            raise ValueError(f"an offset points to byte {place} of {len(buffer)}")
        return int(struct.unpack_from(f"<{kind}", buffer, place)[0])


@dataclass(frozen=True)
class ScalarField:
    """A number that stands in its table; `kind` is its letter in `struct`."""

    kind: str
    value: int


@dataclass(frozen=True)
class Numbers:
    """A vector of numbers of one kind."""

    values: Sequence[int]
    kind: str = "I"


@dataclass(frozen=True)
class Struct:
    """Numbers of one kind side by side, without a count."""

    values: Sequence[int]
    kind: str


@dataclass(frozen=True)
class Fields:
    """A table: its fields in the order of their numbers."""

    fields: Sequence[Part | None]


@dataclass(frozen=True)
class Tables:
    """A vector of tables."""

    tables: Sequence[Fields]


Part = ScalarField | Numbers | Struct | Fields | Tables


def flatbuffer_bytes(root: Fields) -> bytes:
    """A buffer that begins with a table."""
    made = bytearray(4)
    _point(made, 0, _put(made, root))
    return bytes(made)


def _put(made: bytearray, part: Part) -> int:
    """Write a part behind what there is, and what it points to behind it; where it stands."""
    if isinstance(part, Fields):
        return _put_table(made, part)
    if isinstance(part, Tables):
        place = _put_numbers(made, Numbers([0] * len(part.tables)), counted=True)
        for each, table in enumerate(part.tables):
            _point(made, place + 4 + 4 * each, _put(made, table))
        return place
    assert isinstance(part, (Numbers, Struct))
    return _put_numbers(made, part, counted=isinstance(part, Numbers))


def _put_numbers(made: bytearray, part: Numbers | Struct, *, counted: bool) -> int:
    width = struct.calcsize(f"<{part.kind}")
    ahead = 4 if counted else 0
    made.extend(b"\0" * (-(len(made) + ahead) % max(width, 4)))
    place = len(made)
    if counted:
        made.extend(struct.pack("<I", len(part.values)))
    made.extend(struct.pack(f"<{len(part.values)}{part.kind}", *part.values))
    return place


def _put_table(made: bytearray, table: Fields) -> int:
    offsets, size = [], 4
    for part in table.fields:
        if part is None:
            offsets.append(0)
            continue
        width = struct.calcsize(f"<{part.kind}") if isinstance(part, ScalarField) else 4
        size += -size % width
        offsets.append(size)
        size += width
    made.extend(b"\0" * (len(made) % 2))
    fields = len(made)
    made.extend(struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), size, *offsets))
    made.extend(b"\0" * (-len(made) % _WIDEST))
    place = len(made)
    made.extend(struct.pack("<i", place - fields) + b"\0" * (size - 4))
    for offset, part in zip(offsets, table.fields, strict=True):
        if isinstance(part, ScalarField):
            struct.pack_into(f"<{part.kind}", made, place + offset, part.value)
        elif part is not None:
            _point(made, place + offset, _put(made, part))
    return place


def _point(made: bytearray, place: int, target: int) -> None:
    struct.pack_into("<I", made, place, target - place)
