"""Values in a record: arrays as bytes, and the form around them as text. Digests tell whether two are alike without keeping them.

bfloat16 values are stored in their 16 bits, what compresses well is compressed, and what was written before is named instead of
written again.
"""

from __future__ import annotations

import math
import pickle
import struct
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from tt_run.runtime.record.clocks import REAL
from tt_run.runtime.record.pickles import pickled
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
DIGEST_BYTES = 8

_PART = struct.Struct("<BQ")
_AGAIN = struct.Struct("<BQQ")  # such a part whose data is a place
_RAW, _PACKED, _HALVES, _SAME = 0, 1, 2, 4  # bits of how an array is written; _SAME is followed by its place
_SAMPLE, _WORTH = 16384, 0.6  # bytes that are tried first, and the ratio below which compressing pays
_UNTRIED = 31  # arrays of a kind that are not tried after one that did not pay, each time twice as many,
_LONGEST_UNTRIED = 255  # to this: a trial of 2 KiB costs as much as recording six such calls
_NAMED = 256  # bytes from which an array that comes again is named
_SMALL = 4096  # and up to which it is written as it is: what it could save costs more
_FREE, _SHARE = (
    0.1,
    0.05,
)  # seconds, and a share of the time since the record was opened, that compressing may take
_REMEMBERED = 4096  # arrays that may be named again
_FEW = 4096  # words that are looked at in one go
_SINGLE = np.dtype(np.float32)
_any_bit = np.bitwise_or.reduce
_xxh3: Callable[[Any], bytes] = xxhash.xxh3_64_digest


def digest(array: Array) -> bytes:
    """Eight bytes that are equal for equal bits, in memory order of a C-contiguous array of the shape (XXH3)."""
    try:
        return _xxh3(array)
    except ValueError:  # it lies in memory in another order, or its element type has no buffers
        return _xxh3(_bytes_of(array))


def row_digests(stack: Array) -> bytes:
    """The digest of each row of a stack, one after the other."""
    rows = len(stack)
    if rows == 1:
        return digest(stack)
    if stack.flags.c_contiguous:
        try:
            return b"".join([_xxh3(row) for row in stack])
        except ValueError:  # an element type without buffers, or single numbers
            pass
    data = _bytes_of(stack)
    size = len(data) // rows if rows else 0
    return b"".join([_xxh3(data[row * size : (row + 1) * size]) for row in range(rows)])


def _bytes_of(array: Array) -> memoryview:
    """The bytes of an array in memory order of a C-contiguous one of its shape."""
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    return array.reshape(-1).view(np.uint8).data


class Flat:
    """A value taken apart: `form` is a nested tuple that can be a key, `arrays` what it holds, each array once."""

    __slots__ = ("_seen", "arrays", "form")

    def __init__(self, value: Any) -> None:
        self.arrays: list[Array] = []
        self._seen: dict[int, int] = {}
        self.form: tuple[Any, ...] = self._take(value)

    def _take(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Shards):
            return ("p", self._array(value.data), tuple(map(int, value.index)))
        if value is None or type(value) in (bool, int, float, str):
            # Python takes 0, False and -0.0 for one key.
            return ("v", value, repr(value) if type(value) is float else type(value).__name__)
        if type(value) is bytes:
            return ("b", self._array(np.frombuffer(value, np.uint8)))
        if type(value) in (list, tuple):
            return ("l" if type(value) is list else "t", *(self._take(item) for item in value))
        if type(value) is dict and all(type(key) is int for key in value):
            return ("d", *((key, self._take(item)) for key, item in value.items()))
        return ("k", self._array(np.frombuffer(pickled(value), np.uint8)))

    def _array(self, array: Array) -> tuple[Any, ...]:
        number = self._seen.get(id(array))
        if number is None:
            number = self._seen[id(array)] = len(self.arrays)
            self.arrays.append(array)
        kind = array.dtype.name if array.dtype.kind == "V" else array.dtype.str
        return ("a", number, kind, array.shape)

    def digests(self) -> list[bytes]:
        """Of each array: of a stack of collectives that of each row, one after the other, of any other array one."""
        return digests_of(self.form, self.arrays)


def digests_of(form: Any, arrays: list[Array]) -> list[bytes]:
    """Of each array that a form speaks of."""
    return digests_with(stacks_of(form), arrays)


def digests_with(stacks: set[int], arrays: list[Array]) -> list[bytes]:
    """The same for who has asked `stacks_of` before."""
    return [row_digests(array) if n in stacks else digest(array) for n, array in enumerate(arrays)]


def stacks_of(form: Any) -> set[int]:
    """The numbers of the arrays that are stacks of rows."""
    if form[0] == "p":
        return {form[1][1]}
    if form[0] in "lt":
        return set().union(*map(stacks_of, form[1:]))
    return set().union(*(stacks_of(item) for _, item in form[1:])) if form[0] == "d" else set()


def assemble(form: Any, arrays: list[Array]) -> Any:
    """The value that was taken apart."""
    kind = form[0]
    if kind == "v":
        return form[1]
    if kind == "a":
        return arrays[form[1]]
    if kind == "p":
        return Shards.unchecked(arrays[form[1][1]], tuple(form[2]))
    if kind == "b":
        return arrays[form[1][1]].tobytes()
    if kind == "k":
        return pickle.loads(arrays[form[1][1]].tobytes())
    if kind == "d":
        return {key: assemble(item, arrays) for key, item in form[1:]}
    items = [assemble(item, arrays) for item in form[1:]]
    return items if kind == "l" else tuple(items)


def array_forms(form: Any) -> dict[int, tuple[str, tuple[int, ...]]]:
    """Element type and shape of each array by its number."""
    if form[0] == "a":
        return {form[1]: (form[2], tuple(form[3]))}
    found: dict[int, tuple[str, tuple[int, ...]]] = {}
    parts = (
        [item for _, item in form[1:]]
        if form[0] == "d"
        else [p for p in form[1:] if isinstance(p, (list, tuple))]
    )
    for part in parts:
        if part and isinstance(part[0], str):
            found |= array_forms(part)
    return found


Known = tuple[bytes, int]
"""An array that was written: its digest and bytes."""


class Packer:
    """Arrays on their way into a record; it knows what is there already, what was not worth compressing, and what compressing has cost."""

    def __init__(self, clock: Callable[[], float] = REAL["perf_counter"]) -> None:
        self._clock, self._begun, self._spent = clock, clock(), 0.0
        self._places: OrderedDict[Known, int] = OrderedDict()
        self._fresh: list[tuple[Known, int]] = []
        self._untried: dict[tuple[np.dtype[Any], int], tuple[int, int]] = {}
        """How many arrays of a kind are left alone still, and how many after the next trial that does not pay."""
        self._room, self._used = np.empty(0, np.uint16), 0
        """For the halves of the arrays of one body, again and again: fresh memory costs as much as filling it."""

    def pack(self, arrays: list[Array], digests: list[bytes]) -> list[Any]:
        """The parts of a frame's body. Call `written` with the place of the body."""
        parts: list[Any] = []
        data: bytes | memoryview
        length = 0
        self._used = 0
        for array, found in zip(arrays, digests, strict=True):
            size = array.nbytes
            if size < _NAMED:
                parts += (_PART.pack(_RAW, size), array.tobytes())
                length += _PART.size + size
                continue
            key = (found, size)
            place = self._places.get(key)
            if place is not None:
                parts.append(_AGAIN.pack(_SAME, 8, place))
                length += _AGAIN.size
                continue
            self._fresh.append((key, length))
            if size <= _SMALL:
                how, data = _RAW, array.tobytes()
            else:
                how, data = self._packed(*self._halved(array), (array.dtype, size))
            parts += (_PART.pack(how, len(data)), data)
            length += _PART.size + len(data)
        return parts

    def written(self, at: int) -> None:
        """Where the body of the last `pack` has gone."""
        places = self._places
        for key, offset in self._fresh:
            places[key] = at + offset
        self._fresh.clear()
        while len(places) > _REMEMBERED:
            places.popitem(last=False)

    def _halved(self, array: Array) -> tuple[int, bytes | memoryview]:
        """float32 values that are bfloat16 ones, in 16 bits each; others as they are."""
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        if array.size <= _FEW and array.ndim and array.dtype == _SINGLE:  # calls cost more than bytes
            if _any_bit(array.view(np.uint32), axis=None) & 0xFFFF:
                return _RAW, array.data.cast("B")
            return _HALVES, array.view(np.uint16)[..., 1::2].tobytes()
        flat = array.reshape(-1)
        if flat.dtype != _SINGLE:
            return _RAW, flat.view(np.uint8).data
        words = flat.view(np.uint32)
        count = len(words)
        # Most others show it at once.
        if (count > _FEW and _any_bit(words[:64]) & 0xFFFF) or _any_bit(words) & 0xFFFF:
            return _RAW, words.data.cast("B")
        if self._used + count > len(self._room):  # what was handed out of the old one stays as it is
            self._room, self._used = np.empty(max(count, 2 * len(self._room)), np.uint16), 0
        halves = self._room[self._used : self._used + count]
        self._used += count
        if count > _FEW:  # half the time of a copy in steps
            np.right_shift(words, 16, out=halves, casting="unsafe")
        else:
            halves[:] = words.view(np.uint16)[1::2]
        return _HALVES, halves.data.cast("B")

    def _packed(
        self, how: int, data: bytes | memoryview, kind: tuple[np.dtype[Any], int]
    ) -> tuple[int, bytes | memoryview]:
        """The same compressed where a piece of it shows that it pays, and while there is time for it; of a kind that did not, only now and
        then one is tried."""
        left, pause = self._untried.get(kind, (0, _UNTRIED))
        if left:
            self._untried[kind] = left - 1, pause
            return how, data
        begun = self._clock()
        if self._spent > _FREE + _SHARE * (begun - self._begun):
            return how, data
        try:
            return self._tried(how, data, kind, pause)
        finally:
            self._spent += self._clock() - begun

    def _tried(
        self, how: int, data: bytes | memoryview, kind: tuple[np.dtype[Any], int], pause: int
    ) -> tuple[int, bytes | memoryview]:
        middle = len(data) // 2
        sample = data[middle - _SAMPLE : middle] if middle > _SAMPLE else data
        tried = zlib.compress(sample, 1)
        if len(tried) < _WORTH * len(sample):
            self._untried.pop(kind, None)
            return how | _PACKED, tried if sample is data else zlib.compress(data, 1)
        self._untried[kind] = pause, min(2 * pause + 1, _LONGEST_UNTRIED)
        return how, data


def unpack(body: memoryview, form: Any, whole_file: Any) -> list[Array]:
    """The arrays of a frame's body, as copies. `whole_file(place)` gives the file from a place on."""
    kinds = array_forms(form)
    arrays, at = [], 0
    for number in range(len(kinds)):
        how, length = _PART.unpack_from(body, at)
        data = body[at + _PART.size : at + _PART.size + length]
        at += _PART.size + length
        if how == _SAME:
            earlier = whole_file(struct.unpack("<Q", data)[0])
            how, length = _PART.unpack_from(earlier, 0)
            data = earlier[_PART.size : _PART.size + length]
        arrays.append(_decoded(how, data, *kinds[number]))
    return arrays


def _decoded(how: int, data: memoryview, kind: str, shape: tuple[int, ...]) -> Array:
    raw = zlib.decompress(data) if how & _PACKED else data
    if how & _HALVES:
        words = np.zeros(2 * math.prod(shape), np.uint16)
        words[1::2] = np.frombuffer(raw, np.uint16)
        return words.view(dtype_of(kind)).reshape(shape)
    return np.frombuffer(raw, np.uint8).copy().view(dtype_of(kind)).reshape(shape)


def dtype_of(kind: str) -> np.dtype[Any]:
    """The element type of a form's text."""
    if kind[0] in "<>|=":
        return np.dtype(kind)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, kind))
