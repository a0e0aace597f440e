"""Runtime arguments of kernels: a list of whole numbers for each core."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.errors import type_name
from tt_run.runtime.native.classes import Native, native

_WORD = 1 << 32


def as_words(values: Iterable[int]) -> list[int]:
    """The values as 32-bit words. Raises TypeError for what is none."""
    found = []
    for value in values:
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"kernel arguments are whole numbers, not {type_name(value)}") from None
        if not 0 <= number < _WORD:
            raise TypeError(f"kernel arguments are words of 32 bits, from 0 to {_WORD - 1}, not {number}")
        found.append(number)
    return found


@native("ttnn._ttnn.program_descriptor.RuntimeArgs")
class RuntimeArgs(metaclass=Native):
    """Arguments by core: `args[x][y] = [1, 2]`, `args[x][y].append(3)`, `args.append(core, [1, 2])`."""

    def __init__(self, entries: Iterable[tuple[CoreCoord, Iterable[int]]] = ()) -> None:
        self._of: dict[CoreCoord, list[int]] = {}
        for entry in entries:
            if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], CoreCoord)):
                raise TypeError(
                    "runtime arguments are ttnn.RuntimeArgs() or a list of pairs of a CoreCoord and its words"
                )
            self.append(*entry)

    def append(self, coord: CoreCoord, values: Iterable[int]) -> None:
        """Give a core its arguments."""
        self._of[coord] = as_words(values)

    def clear(self) -> None:
        """Forget all arguments."""
        self._of.clear()

    def get(self, idx: int) -> tuple[CoreCoord, list[int]]:
        """The core that was given its arguments as number `idx`, and they. Raises IndexError beyond the last."""
        return self.to_list()[idx]

    def to_list(self) -> list[tuple[CoreCoord, list[int]]]:
        """Cores and their arguments, in the order in which they came."""
        return list(self._of.items())

    def __iter__(self) -> Iterator[tuple[CoreCoord, list[int]]]:
        return iter(self.to_list())

    def __len__(self) -> int:
        return len(self._of)

    def __getitem__(self, x: int) -> _Column:
        if x < 0:
            raise TypeError(f"a core's column is 0 or more, not {x}")
        return _Column(self._of, x)


class _Column:
    """The cores of one column; a core that is asked for gets an empty list."""

    def __init__(self, of: dict[CoreCoord, list[int]], x: int) -> None:
        self._of, self._x = of, x

    def __getitem__(self, y: int) -> list[int]:
        return self._of.setdefault(CoreCoord(self._x, y), [])

    def __setitem__(self, y: int, values: Iterable[int]) -> None:
        self._of[CoreCoord(self._x, y)] = as_words(values)


def runtime_args(given: RuntimeArgs | Iterable[tuple[CoreCoord, Iterable[int]]]) -> RuntimeArgs:
    """The arguments in either form. Raises TypeError for another one."""
    return given if isinstance(given, RuntimeArgs) else RuntimeArgs(given)
