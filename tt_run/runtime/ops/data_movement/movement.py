"""Operations that move elements without computing: shape, order, selection and joining of shards.

They act on each shard alone, so placements stay as they were, also where a dimension moved. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import as_type, fatal, in_range, type_name
from tt_run.runtime.kernels.ordering import in_order
from tt_run.runtime.ops.data_movement import reinterpreting
from tt_run.runtime.ops.data_movement.conversions import check_copy
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.operands import axis_of, ints, on_device, place_of, settle, volume
from tt_run.runtime.ops.declaration.places import check_filled
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.ops.placement import (
    asked_shards,
    larger_shards,
    reordered_shards,
    row_widths,
    viewed_shards,
)
from tt_run.runtime.tensor.conversion import framing
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, convert_each, quantize, stored_dtype

Array = npt.NDArray[Any]


def moved(
    tensor: Tensor,
    function: Callable[[Array], Array],
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    *,
    view: bool = False,
) -> Tensor:
    """`function` of the stack of shards, which only moves elements; dtype, layout and placement of the input. A `view` does not move them."""
    placed(tensor)
    dtype = tensor.dtype
    shards = tensor.shards.map(lambda stack: in_c_order(function(stack), dtype), either=True)
    return settle(
        (tensor,),
        shards,
        dtype,
        memory_config=memory_config,
        output_tensor=output_tensor,
        view=function if view else None,
    )


def unmoved(tensor: Tensor, memory_config: MemoryConfig | None = None) -> bool:
    """Whether an operation that changes nothing gives the tensor itself back: on a device, and to lie where it lies."""
    return tensor.device() is not None and memory_config in (None, tensor.memory_config())


def seen_as(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The same buffer under another shape. Raises RuntimeError for one that it, or its pieces on cores, do not fit."""
    place = viewed_shards.of_view(tensor, shape)
    return moved(tensor, lambda s: s.reshape(len(s), *shape), place, view=True)


def same_or_seen_as(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The same tensor, under another shape where it has another: of one shape it is no view of its own."""
    return tensor.alias() if tuple(shape) == tuple(tensor.shape) else seen_as(tensor, shape)


def stays(tensor: Tensor, shape: Sequence[int], memory_config: MemoryConfig | None = None) -> bool:
    """Whether a tensor has another shape without moving: its rows stay, and of tiles whole ones or the same number of rows.

    Source: captures of reference library 0.81.1.
    """
    if tensor.device() is None or memory_config not in (None, tensor.memory_config()):
        return False
    old, new = (
        (1, *dims)[-2:] if len(dims) < 2 else tuple(dims)[-2:] for dims in (tuple(tensor.shape), shape)
    )
    if not shape or old[-1] != new[-1]:
        return False
    rows = tensor.get_tile().edges[0]
    return tensor.layout is Layout.ROW_MAJOR or old[0] == new[0] or not (old[0] % rows or new[0] % rows)


def placed(tensor: Tensor) -> None:
    """Checks a tensor that may be on the host as well, as those of reshaping and padding may."""
    if not isinstance(tensor, Tensor) or tensor.device() is not None:
        on_device(tensor, kind="data movement")


def check_moves(tensor: Tensor) -> None:
    """Raises RuntimeError for elements that a device does not move to another shape: those of 8 and 16 bits without a sign."""
    if tensor.device() is not None and tensor.dtype in (DataType.UINT16, DataType.UINT8):
        raise fatal(
            "Can only work with bfloat16/float32 or int32/uint32 tensors", hint=as_type("tensor", "uint32")
        )


def in_c_order(values: Array, dtype: DataType) -> Array:
    """Moved elements in C order; block floats share their exponents with new neighbours."""
    values = in_order(values)
    return convert_each(values, dtype) if dtype in BLOCK_FLOATS else values


def resolve_shape(shape: Sequence[int], old: Sequence[int]) -> tuple[int, ...]:
    """A requested shape with its one -1 filled in. Raises RuntimeError when the volumes differ."""
    wanted = ints(shape)
    total = volume(old)
    if wanted.count(-1) > 1:
        raise fatal(
            "Shape cannot have more than 1 elements that is set to -1! "
            f"Shape used: ({','.join(map(str, wanted))},)",
            hint="one -1 stands for what is left; give the others their numbers",
        )
    if wanted.count(-1) == 1:
        known = volume([d for d in wanted if d != -1])
        if known and total % known == 0:
            wanted = tuple(total // known if d == -1 else d for d in wanted)
    if any(d < 0 for d in wanted) or volume(wanted) != total:
        raise fatal(
            "Invalid arguments to reshape",
            hint=f"shape {list(wanted)} does not hold the {total} elements of {list(old)}{_with_rest(wanted, total)}",
        )
    return wanted


def _with_rest(wanted: Sequence[int], total: int) -> str:
    """A shape that does, with one dimension left to be counted."""
    for back in range(1, len(wanted) + 1):
        known = volume([d for i, d in enumerate(wanted) if i != len(wanted) - back])
        if known > 0 and total % known == 0:
            fitting = [-1 if i == len(wanted) - back else d for i, d in enumerate(wanted)]
            return f"; {fitting} would, its -1 is {total // known}"
    return ""


def _either(given: Sequence[Any] | None, alias: Sequence[Any] | None, name: str) -> Sequence[Any]:
    """The value of a parameter that goes by two names."""
    if given is not None and alias is not None:
        raise ArgumentMismatch(f"{name!r} is given twice, under two names")
    value = alias if given is None else given
    if value is None:
        raise ArgumentMismatch(f"missing argument {name!r}")
    return value


@operation("ttnn.reshape", family=families.MOVEMENT, golden=goldens.reshape)
def reshape(
    input_tensor: Tensor,
    shape: Sequence[int] | None = None,
    padded_shape: Sequence[int] | None = None,
    *,
    logical_shape: Sequence[int] | None = None,
    memory_config: MemoryConfig | None = None,
    pad_value: float | None = None,
    reshape_tile_mode: object = None,
    sub_core_grids: CoreRangeSet | None = None,
    skip_padding_fill: bool = False,
) -> Tensor:
    """The same elements in row-major order under another shape; one length may be -1. Padding follows from the layout.

    With `padded_shape` the buffer, padding included, is taken for that shape, of which `shape` is the corner that counts. A `ttnn.Shape`
    of other elements is what the buffer is taken for.
    """
    placed(input_tensor)
    asked = _either(shape, logical_shape, "shape")
    given = ints(asked)
    if -1 not in given and volume(given) != volume(tuple(input_tensor.shape)):
        if padded_shape is not None:
            cut = reinterpreting.corner(input_tensor, given, ints(padded_shape))
            full = input_tensor.device() is not None and input_tensor.shape == input_tensor.padded_shape
            return moved(input_tensor, cut, memory_config, view=full and memory_config is None)
        if isinstance(asked, Shape) and given:
            return moved(input_tensor, reinterpreting.under(input_tensor, given), memory_config)
    wanted = resolve_shape(given, tuple(input_tensor.shape))
    if wanted == tuple(input_tensor.shape) and memory_config in (None, input_tensor.memory_config()):
        if input_tensor.layout is not Layout.TILE and input_tensor.shape != input_tensor.padded_shape:
            viewed_shards.of_view(
                input_tensor, wanted
            )  # the reference takes rows without their padding for other rows
        return input_tensor.alias()
    stayed = stays(input_tensor, wanted, memory_config)
    if not stayed and wanted != tuple(input_tensor.shape):
        check_moves(input_tensor)
    memory_config = asked_shards.of_reshape(input_tensor, memory_config, wanted, stayed)
    return moved(input_tensor, lambda s: s.reshape(len(s), *wanted), memory_config, view=stayed)


@operation("ttnn.view", family=families.MOVEMENT, golden=goldens.reshape)
def view(input_tensor: Tensor, shape: Sequence[int] | int, *others: int) -> Tensor:
    """`reshape` that moves nothing; the new shape as a sequence or as numbers. Raises RuntimeError for another last dimension."""
    on_device(input_tensor, kind="data movement")
    if not isinstance(shape, int) and not hasattr(shape, "__getitem__"):
        raise ArgumentMismatch(f"shape must be of type int | Sequence[int], not {type_name(shape)}")
    given = (shape, *others) if isinstance(shape, int) else shape
    wanted = resolve_shape(given, tuple(input_tensor.shape))
    if len(input_tensor.shape) and wanted and wanted[-1] != input_tensor.shape[-1]:
        raise fatal(
            f"The last dimension can not change in view, attempting to change last dimension from {input_tensor.shape[-1]} "
            f"to {wanted[-1]}, use reshape instead",
            hint="ttnn.reshape(input_tensor, shape)",
        )
    if input_tensor.layout is Layout.TILE and wanted and not stays(input_tensor, wanted):
        old, new = ((1, *dims)[-2] for dims in (tuple(input_tensor.shape), wanted))
        raise fatal(
            f"Invalid second last dims for TILED reshape, from {old} to {new}, use reshape instead",
            hint="ttnn.reshape(input_tensor, shape)",
        )
    if wanted == tuple(input_tensor.shape):
        place = input_tensor.memory_config() if input_tensor.is_sharded() else None
        return moved(input_tensor, lambda s: s, place, view=True)
    return seen_as(input_tensor, wanted)


@operation("ttnn.permute", family=families.MOVEMENT, golden="permute")
def permute(
    input_tensor: Tensor,
    dims: Sequence[int],
    pad_value: float = 0.0,
    *,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Dimensions in the order `dims`."""
    on_device(input_tensor, kind="permute")
    rank = len(input_tensor.shape)
    given = ints(dims)
    order = [axis_of(d, rank) for d in given] if len(given) == rank else []
    if len(given) != rank or sorted(order) != list(range(rank)):
        each = f"each of 0 to {rank - 1} once" if rank else "[] for a scalar"
        raise fatal(
            "The number of dimensions in the tensor input does not match the length of the desired ordering",
            hint=f"{rank} dimensions, ordered {list(dims)}: write {each}",
        )
    alone = order[:2] == [1, 0] and rank == 4 and input_tensor.shape[0] == input_tensor.shape[1] == 1
    if (order == sorted(order) or (alone and order[2:] == [2, 3])) and not pad_value:
        if unmoved(input_tensor, memory_config):
            return input_tensor.alias()
        _check_named(memory_config)
    elif memory_config is not None:
        row_widths.check_whole(input_tensor, memory_config)
    place = reordered_shards.of_order(input_tensor, order, memory_config)
    result = moved(input_tensor, lambda s: s.transpose(0, *(d + 1 for d in order)), place)
    return framing.fill_padding(result, pad_value) if pad_value else result


@operation(
    "ttnn.transpose",
    family=families.MOVEMENT,
    golden=lambda x, first, second, **_: x.transpose(first, second),
)
def transpose(
    input_tensor: Tensor,
    dim1: int,
    dim2: int,
    pad_value: float = 0.0,
    *,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Dimensions dim1 and dim2 exchanged."""
    on_device(input_tensor, kind="data movement")
    rank = len(input_tensor.shape)
    first, second = (place_of(dim, rank) + 1 for dim in (dim1, dim2))
    if rank == 1 and input_tensor.layout is Layout.TILE:
        raise fatal("Can't convert shape rank", hint="a tensor of one dimension has nothing to exchange")
    alike = first == second or input_tensor.shape[first - 1] == input_tensor.shape[second - 1] == 1
    if alike and unmoved(input_tensor, memory_config):
        return input_tensor.alias()
    # What exchanges lengths of 1 above the pages is a copy, of which a device makes no other cut.
    inside = 2 if input_tensor.layout is Layout.TILE else 1
    if first == second or (alike and max(first, second) <= rank - inside):
        _check_named(memory_config)
        check_copy(input_tensor, memory_config)
    order = list(range(rank))
    order[first - 1], order[second - 1] = second - 1, first - 1
    place = reordered_shards.of_order(input_tensor, order, memory_config, exchanged=True)
    return moved(input_tensor, lambda s: s.swapaxes(first, second), place)


def _check_named(asked: MemoryConfig | None) -> None:
    """Raises RuntimeError for a copy in the same order into shards that name no cores."""
    if asked is not None and asked.nameless:
        raise fatal("bad optional access", hint="memory_config=ttnn.create_sharded_memory_config(…)")


def _within(dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise fatal(
            f"Dimension out of range (expected to be in range of [{-rank},{rank - 1}], but got {dim})",
            hint=in_range("dim", rank) if rank else None,
        )
    return dim % rank


@operation("ttnn.squeeze", family=families.MOVEMENT, golden=goldens.squeeze)
def squeeze(input_tensor: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without its dimensions of length 1, all of them or those named."""
    placed(input_tensor)
    shape = tuple(input_tensor.shape)
    listed = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    drop = {_within(d, max(len(shape), 1)) for d in listed}  # a scalar may be asked for its dimension 0
    wanted = [length for d, length in enumerate(shape) if not (d in drop and length == 1)]
    if wanted == list(shape):
        return input_tensor.alias()
    stayed = stays(input_tensor, wanted)
    pieces = input_tensor.is_sharded() and input_tensor.memory_config().shard_spec is None
    place = None
    if pieces or not stayed:
        place = asked_shards.of_reshape(input_tensor, None, wanted, stayed)
    return moved(input_tensor, lambda s: s.reshape(len(s), *wanted), place, view=stayed)


@operation("ttnn.unsqueeze", family=families.MOVEMENT, golden="unsqueeze")
def unsqueeze(input_tensor: Tensor, dim: int) -> Tensor:
    """A dimension of length 1 put in at `dim`."""
    placed(input_tensor)
    place = _within(dim, len(input_tensor.shape) + 1)
    shape = tuple(input_tensor.shape)
    wanted = (*shape[:place], 1, *shape[place:])
    stayed = stays(input_tensor, wanted)
    if not stayed:
        check_moves(input_tensor)
    memory_config = asked_shards.of_reshape(input_tensor, None, wanted, stayed)
    return moved(input_tensor, lambda s: np.expand_dims(s, place + 1), memory_config, view=stayed)


@operation("ttnn.unsqueeze_to_4D", family=families.MOVEMENT, golden=creation_goldens.unsqueeze_to_4d)
def unsqueeze_to_4D(tensor: Tensor) -> Tensor:
    """Dimensions of length 1 put in front until there are four."""
    placed(tensor)
    missing = 4 - len(tensor.shape)
    if missing < 0:
        raise fatal("Tensor rank is greater than 4", hint=f"it is {len(tensor.shape)}")
    if not missing:
        return tensor.alias()
    wanted = (1,) * missing + tuple(tensor.shape)
    pieces = tensor.is_sharded() and tensor.memory_config().shard_spec is None
    place = asked_shards.of_reshape(tensor, None, wanted, True) if pieces else None
    return moved(tensor, lambda s: s.reshape(len(s), *wanted), place, view=True)


@operation("ttnn.pad", family=families.MOVEMENT, golden=goldens.pad)
def pad(
    input_tensor: Tensor,
    padding: Sequence[Any] | None = None,
    input_tensor_start: Sequence[int] | float | None = None,
    value: float | None = None,
    *,
    output_padded_shape: Sequence[int] | None = None,
    use_multicore: bool = True,
    memory_config: MemoryConfig | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """`value` put around the elements: (before, after) per dimension, the last ones if fewer are given.

    Also `pad(x, padding, value)` and `pad(x, output_shape, input_tensor_start, value)`.
    """
    placed(input_tensor)
    if isinstance(input_tensor_start, (int, float)):
        value, input_tensor_start = input_tensor_start, None
    if value is None:
        raise ArgumentMismatch("pad takes the value of what is added, which has no default: value=0.0")
    shape = tuple(input_tensor.shape)
    padding = _either(padding, output_padded_shape, "padding")
    if input_tensor_start is None:
        widths = [ints(pair) for pair in padding]
        if len(widths) > len(shape):
            raise fatal(
                "ttnn.pad: padding len can't be larger than input tensor rank",
                hint="at most one (before, after) for each dimension",
            )
        widths = [(0, 0)] * (len(shape) - len(widths)) + widths
    else:
        pairs = zip(ints(padding), ints(input_tensor_start), shape, strict=True)
        widths = [(start, total - start - length) for total, start, length in pairs]
    if len(widths) != len(shape) or any(len(w) != 2 or min(w) < 0 for w in widths):
        raise fatal(
            f"padding {list(map(tuple, widths))} does not fit a tensor of shape {list(shape)}",
            hint="one (before, after) for each dimension, 0 or more",
        )
    if input_tensor.layout is Layout.TILE and input_tensor.device() is not None and any(w[0] for w in widths):
        raise fatal(
            "ttnn.pad: on device tile padding does not support front padding",
            hint="ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT) first",
        )
    if not any(map(any, widths)):
        return input_tensor.alias()  # wherever a call wants it
    if input_tensor.dtype is DataType.UINT8 and input_tensor.device() is not None:
        raise fatal("Cannot pad RM tensor with specified format", hint=as_type("tensor", "uint16"))
    grown = any(map(any, widths[:-2])) or any(
        whole_tiles(length) != whole_tiles(length + sum(around))
        for length, around in list(zip(shape, widths, strict=True))[-2:]
    )
    if grown and input_tensor.dtype is DataType.BFLOAT4_B and input_tensor.device() is not None:
        raise fatal("Cannot pad tilized tensor with specified format", hint=as_type("tensor", "bfloat16"))
    padded = [length + sum(around) for length, around in zip(shape, widths, strict=True)]
    if input_tensor.device() is not None:
        check_filled(input_tensor)
        row_widths.check_padded(input_tensor, memory_config, padded[-1])
    if memory_config is None:
        memory_config = larger_shards.of_padding(input_tensor, padded)
    fill = np.array(value).astype(stored_dtype(input_tensor.dtype))
    if fill.dtype == np.float32:
        fill = quantize(fill.reshape(1), input_tensor.dtype)[0]
    return moved(input_tensor, lambda s: np.pad(s, [(0, 0), *widths], constant_values=fill), memory_config)
