"""What an operation asks of a device, by class: how much arithmetic, how many bytes of memory.

Counted from shapes and element types alone, so a prediction needs no values. Bytes are those of the operands and results in
their own element types on the device, each read or written once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType
from tt_run.runtime.tensor.tensor import Tensor

# Block floats keep 16 elements under one exponent byte.
_ELEMENT_BYTES = {
    DataType.BFLOAT16: 2.0,
    DataType.FLOAT32: 4.0,
    DataType.UINT32: 4.0,
    DataType.INT32: 4.0,
    DataType.UINT16: 2.0,
    DataType.UINT8: 1.0,
    DataType.INT8: 1.0,
    DataType.FP8_E4M3: 1.0,
    DataType.BFLOAT8_B: 1.0625,
    DataType.BFLOAT4_B: 0.5625,
}


@dataclass(frozen=True)
class DeviceCall:
    """One call of an operation on one device: the tensors that go in and come out, and the other arguments."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> DeviceCall:
        """The call of an operation with these arguments, and what it gave back."""
        return cls(tuple(tensors((args, tuple(kwargs.values())))), tuple(tensors(result)), kwargs)


def tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in arguments or results, in order; lists and tuples are looked into."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def elements(shape: Any) -> int:
    """Number of elements of a shape."""
    return math.prod(int(n) for n in shape)


def _of_results(call: DeviceCall) -> int:
    return sum(elements(t.shape) for t in call.outputs)


def _of_operands(call: DeviceCall) -> int:
    return sum(elements(t.shape) for t in call.inputs)


def _of_products(call: DeviceCall) -> int:
    """Two for each multiply-and-add: every element of the result is a row of the first operand times a column."""
    transposed = bool(call.arguments.get("transpose_a"))
    first = call.inputs[0].shape
    inner = int(first[-2] if transposed and len(first) > 1 else first[-1])
    return 2 * inner * elements(call.outputs[0].shape)


def _of_attention(call: DeviceCall) -> int:
    """Both products of [batch, heads, rows, width] queries with the keys that they may see."""
    query, key = call.inputs[0].shape, call.inputs[1].shape
    return 4 * elements(query) * int(key[-2])


def _of_windows(call: DeviceCall) -> int:
    """One for every element of a window, for each element of the result; the window from the kernel's size."""
    window = call.arguments.get("kernel_size", (1, 1))
    return elements((window,) if isinstance(window, int) else window) * _of_results(call)


def _of_filters(call: DeviceCall) -> int:
    """Two for each multiply-and-add: each element of the result sees one filter of [out, in / groups, height, width]."""
    weight = call.inputs[1].shape
    return 2 * (elements(weight) // max(int(weight[0]), 1)) * elements(call.outputs[0].shape)


def _nothing(call: DeviceCall) -> int:
    return 0


@dataclass(frozen=True)
class Cost:
    """A class of cost: its name, and the floating-point operations of one call on one device."""

    name: str
    flops: Callable[[DeviceCall], int]

    def bytes(self, call: DeviceCall) -> int:
        """Bytes of operands and results on one device."""
        return round(
            sum(_ELEMENT_BYTES.get(t.dtype, 4.0) * elements(t.shape) for t in (*call.inputs, *call.outputs))
        )


ELEMENTWISE = Cost("elementwise", _of_results)
REDUCTION = Cost("reduction", _of_operands)
NORM = Cost("norm", lambda call: 8 * elements(call.inputs[0].shape))
MATMUL = Cost("matmul", _of_products)
ATTENTION = Cost("attention", _of_attention)
CONVOLUTION = Cost("convolution", _of_filters)
POOL = Cost("pool", _of_windows)
MOVEMENT = Cost("data movement", _nothing)
CREATION = Cost("creation", _nothing)
COLLECTIVE = Cost("collective", _nothing)
SORT = Cost("sort", lambda call: elements(call.inputs[0].shape))
