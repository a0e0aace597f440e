"""Which of several tensors a result lies like that is computed of two of them at a time. Measured on reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tt_run.runtime.enums import BufferType
from tt_run.runtime.tensor.tensor import Tensor


class OfTwo(NamedTuple):
    """A result of two operands lies like the one on the most cores, the first of several such.

    A first one in L1 that is not on cores keeps its place, unless the result is `chosen`, as by `where`.
    """

    first: Carrier
    second: Carrier
    chosen: bool = False


Carrier = int | OfTwo


def carrier_of(carrier: Carrier, given: Sequence[Tensor], alike: Sequence[bool]) -> int | None:
    """The number of the tensor on cores that a result lies like, None where it is none of them; only those `alike` in shape count."""

    def on_cores(place: int) -> bool:
        return place < len(given) and alike[place] and given[place].is_sharded()

    found = _found(carrier, given, on_cores)
    return found if on_cores(found) else None


def _found(carrier: Carrier, given: Sequence[Tensor], on_cores: Callable[[int], bool]) -> int:
    if isinstance(carrier, int):
        return carrier
    first, second = (_found(part, given, on_cores) for part in (carrier.first, carrier.second))
    if not on_cores(second):
        return first
    if on_cores(first):
        return second if _cores(given[second]) > _cores(given[first]) else first
    kept = (
        not carrier.chosen
        and first < len(given)
        and given[first].memory_config().buffer_type is BufferType.L1
    )
    return first if kept else second


def _cores(tensor: Tensor) -> int:
    spec = tensor.memory_config().shard_spec
    return 0 if spec is None else spec.grid.num_cores()
