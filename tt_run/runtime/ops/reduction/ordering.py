"""Operations whose result is a choice of elements: topk, sort, nonzero, sampling.

Equal elements are taken in the order of their places, so results are the same on every machine. Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import as_type, fatal, in_tiles
from tt_run.runtime.kernels.ordering import in_order
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.composites import compile_isin
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import axis_of, on_device, settle, volume, write_into
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement.sharded_results import in_dram
from tt_run.runtime.ops.reduction.choice_checks import check_sampling, check_seeds, check_topk
from tt_run.runtime.tensor.creation import from_shape
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]


def _order(values: Array, axis: int, descending: bool, first: int | None = None) -> Array:
    """Places of the elements in sorted order along `axis`, equal ones in their own order, of the `first` few if given; NaN is the largest.

    An element's rank and its place make one whole number, so no two are equal and any way of sorting gives the same order.
    """
    turned = np.moveaxis(values, axis, -1)
    length = turned.shape[-1]
    place = np.arange(length, dtype=np.uint64)
    keys = _ranks(in_order(turned)).astype(np.uint64)
    if descending:
        keys ^= np.uint64(0xFFFFFFFF)
    keys <<= np.uint64(32)
    keys |= place
    if first is not None and first < length:
        keys = np.ascontiguousarray(np.partition(keys, first - 1, axis=-1)[..., :first])
    keys.sort(axis=-1)
    keys &= np.uint64(0xFFFFFFFF)
    return np.moveaxis(keys.astype(np.int64), -1, axis)


def _ranks(values: Array) -> Array:
    """Whole numbers in the order of the values: the bits of a float32, turned round below zero; zeros and NaNs are one each."""
    if values.dtype != np.float32:
        return (values.astype(np.int64) + (1 << 31 if values.dtype.kind == "i" else 0)).astype(np.uint32)
    bits = (values + np.float32(0)).view(np.uint32)
    negative = (bits.view(np.int32) >> np.int32(31)).view(np.uint32)
    ranks: Array = bits ^ (negative | np.uint32(0x80000000))
    unordered = np.isnan(values)
    if unordered.any():
        ranks[unordered] = 0xFFFFFFFF
    return ranks


def _chosen(
    tensor: Tensor,
    axis: int,
    places: Shards,
    memory_config: MemoryConfig | None,
    outputs: tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, Tensor]:
    """The elements at `places` along `axis` (of the stack), and the places themselves."""
    values = combine(
        lambda stack, at: (
            np.ascontiguousarray(np.take_along_axis(stack, at.astype(np.int64), axis=axis))
            if axis
            else stack.copy()
        ),
        tensor.shards,
        places,
    )
    many = axis > 0 and tensor.shape[axis - 1] > np.iinfo(np.uint16).max + 1
    wide = many or (axis > 0 and tensor.dtype in (DataType.FLOAT32, DataType.UINT16))
    kind = DataType.UINT32 if wide else DataType.UINT16
    indices = Shards(places.data.astype(np.uint32 if wide else np.uint16), places.index)
    first = settle(
        (tensor,),
        values,
        tensor.dtype,
        memory_config=memory_config,
        output_tensor=outputs[0] if outputs else None,
    )
    if outputs and outputs[1].dtype in (DataType.UINT32, DataType.INT32):
        kind = outputs[1].dtype
        indices = indices.map(lambda s: s.astype(np.uint32 if kind is DataType.UINT32 else np.int32))
    second = settle(
        (tensor,), indices, kind, memory_config=memory_config, output_tensor=outputs[1] if outputs else None
    )
    return first, second


@operation("ttnn.topk", family=families.SORT, golden=goldens.topk)
def topk(
    input_tensor: Tensor,
    k: int = 32,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    memory_config: MemoryConfig | None = None,
    sub_core_grids: CoreRangeSet | None = None,
    indices_tensor: Tensor | None = None,
    output_tensor: tuple[Tensor, Tensor] | None = None,
    stable: bool = False,
) -> list[Tensor]:
    """The k largest (or smallest) elements along `dim`, in order, and their places (UINT16, or UINT32 where they need it or the elements are FLOAT32).

    No elements have no places either: both are empty, of the tensor's own element type.
    """
    check_topk(input_tensor, k, dim, memory_config, sub_core_grids, indices_tensor, output_tensor)
    rank = len(input_tensor.shape)
    if output_tensor is None and rank and (not k or 0 in input_tensor.shape):
        lengths = [k if place == dim % rank else length for place, length in enumerate(input_tensor.shape)]
        none = input_tensor.shards.map(lambda s: np.zeros((len(s), *lengths), s.dtype))
        return [
            settle((input_tensor,), none, input_tensor.dtype, memory_config=memory_config) for _ in range(2)
        ]
    axis = axis_of(dim, rank) if rank else -1
    places = input_tensor.shards.map(
        lambda s: _order(s, axis + 1, largest, k) if rank else np.zeros(s.shape, np.int64)
    )
    # Along another dimension the tensor is turned round and back, to where it lies.
    memory_config = memory_config if axis == len(input_tensor.shape) - 1 else None
    values, indices = _chosen(input_tensor, axis + 1, places, memory_config, output_tensor)
    if indices_tensor is not None:
        on_device(input_tensor, indices_tensor, kind="topk")
        named = combine(
            lambda n, p: np.take_along_axis(n, p.astype(np.int64), axis=axis + 1),
            indices_tensor.shards,
            places,
        )
        indices = settle((input_tensor, indices_tensor), named, indices_tensor.dtype)
    return [values, indices]


@operation("ttnn.sort", family=families.SORT, golden=goldens.sort)
def sort(
    input_tensor: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: bool = False,
    *,
    memory_config: MemoryConfig | None = None,
    out: tuple[Tensor, Tensor] | None = None,
) -> list[Tensor]:
    """All elements along `dim` in order, and their places."""
    on_device(input_tensor, kind="sort")
    rank = len(input_tensor.shape)
    # A tensor without dimensions is one element, whatever it is sorted along.
    refusal = f"Sort dim {dim} is out of range for rank-{rank} tensor"
    if not rank and dim not in (0, -1):
        raise fatal(refusal, hint="dim=0 or -1: the tensor has one element")
    axis = axis_of(dim, rank, refusal) + 1 if rank else 0
    if out is not None:
        _check_places(input_tensor, *out)
    _check_sorted(input_tensor, axis - 1)
    places = input_tensor.shards.map(
        lambda s: _order(s, axis, descending) if rank else np.zeros(s.shape, np.int64)
    )
    # Along another dimension the tensor is turned round and back, to where it lies.
    return [*_chosen(input_tensor, axis, places, memory_config if axis == rank else None, out)]


_FEWEST_IN_ROWS = 64
_SORTED = (DataType.BFLOAT16, DataType.UINT16, DataType.FLOAT32)


def _check_sorted(given: Tensor, axis: int) -> None:
    """Raises RuntimeError for types that no kernel sorts, and for a few elements of rows: it sorts powers of two of them, of tiles as many as
    tiles have. What has one element along the dimension needs no kernel.
    """
    length = given.shape[axis] if axis >= 0 else 1
    if length > 1 and given.dtype not in _SORTED:
        raise fatal(
            f"Input tensor data type must be BFLOAT16, UINT16, or FLOAT32, got {cpp(given.dtype)}",
            hint=as_type("input_tensor", "bfloat16"),
        )
    if given.layout is Layout.TILE or not 1 < length <= _FEWEST_IN_ROWS // 4:
        return
    raise fatal(
        f"Input shape inner dim {1 << (length - 1).bit_length()} must be a power of two >= {_FEWEST_IN_ROWS}. Use ttnn.sort, which pads "
        "the sort dimension with +/-infinity to the next power of two.",
        hint=in_tiles("input_tensor"),
    )


def _check_places(given: Tensor, values: Tensor, indices: Tensor) -> None:
    """Outputs to sort into have the shape and the types of what comes; places of wide elements are wide themselves."""
    for word, output in (("values", values), ("indices", indices)):
        if output.shape != given.shape:
            raise fatal(
                f"Preallocated sort output tensors must match the input shape {given.shape}, got {word} shape {output.shape}",
                hint=f"ttnn.zeros({given.shape}, …)",
            )
    if values.dtype is not given.dtype:
        raise fatal(
            f"Preallocated sort values tensor dtype must match the input dtype {cpp(given.dtype)}, got {cpp(values.dtype)}",
            hint=f"dtype={given.dtype}",
        )
    if indices.dtype not in (DataType.UINT16, DataType.UINT32):
        raise fatal(
            f"Preallocated sort indices tensor dtype must be UINT16 or UINT32, got {cpp(indices.dtype)}",
            hint="dtype=ttnn.uint32",
        )
    if given.dtype in (DataType.FLOAT32, DataType.UINT16) and indices.dtype is not DataType.UINT32:
        raise fatal(
            "Preallocated sort indices tensor dtype must be UINT32 when input dtype is FLOAT32 or UINT16, "
            f"got {cpp(indices.dtype)}",
            hint="dtype=ttnn.uint32",
        )


@operation("ttnn.nonzero", family=families.SORT, golden=goldens.nonzero)
def nonzero(input_tensor: Tensor, *, memory_config: MemoryConfig | None = None) -> list[Tensor]:
    """How many elements of the shard are not zero, and their places: [1, 1, 1, 8] with the count first, [1, 1, 1, 4 * volume].

    UINT32, ROW_MAJOR. A place is its four coordinates one after the other. The places
    fill the front of the second tensor; behind them are zeros. Source: golden function of the reference library 0.81.1.
    """
    on_device(input_tensor, kind="nonzero")
    if len(input_tensor.shape) != 4:
        raise fatal(
            f"non_zero_indices: input must be rank-4, got rank {len(input_tensor.shape)}",
            hint="ttnn.unsqueeze_to_4D(tensor)",
        )
    size = volume(tuple(input_tensor.shape))

    def count(stack: Array) -> Array:
        found = np.zeros((len(stack), 1, 1, 1, 8), np.uint32)
        found[:, 0, 0, 0, 0] = np.count_nonzero(stack.reshape(len(stack), size), axis=1)
        return found

    def places(stack: Array) -> Array:
        found = np.zeros((len(stack), 1, 1, 1, 4 * size), np.uint32)
        for row, values in zip(found, stack, strict=True):
            at = np.argwhere(values).reshape(-1)
            row[0, 0, 0, : len(at)] = at
        return found

    return [
        settle(
            (input_tensor,),
            input_tensor.shards.map(f),
            DataType.UINT32,
            memory_config=memory_config or in_dram(input_tensor),
            layout=Layout.ROW_MAJOR,
        )
        for f in (count, places)
    ]


class _Seeds:
    """The random state of `sampling`: one seed for all users, or one for each."""

    def __init__(self) -> None:
        self.common = 0
        self.of_user: dict[int, int] = {}
        self.drawn = 0


_seeds = _Seeds()
_GOES_ON = (1 << 32) - 1


@operation("ttnn.manual_seed", family=families.RANDOM)
def manual_seed(
    seeds: int | Tensor = 0,
    *,
    device: MeshDevice | None = None,
    user_ids: int | Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """Start the random numbers of `sampling` anew: for everyone, or for the users listed, each with its own seed.

    The largest number of 32 bits is no seed: who is given it goes on as before. The result is one number that says nothing.
    """
    check_seeds(seeds, user_ids, device)
    _start(_listed(seeds), user_ids)
    mesh = seeds.device() if isinstance(seeds, Tensor) else device
    return from_shape.full((1,), 0, DataType.UINT32, Layout.ROW_MAJOR, mesh)


def _start(values: list[int], user_ids: int | Tensor | None) -> None:
    if set(values) == {_GOES_ON}:
        return
    _seeds.drawn = 0
    if user_ids is None:
        _seeds.common, _seeds.of_user = values[0], {}
        return
    users = _listed(user_ids)
    if len(values) not in (1, len(users)):
        raise fatal(
            f"manual_seed got {len(values)} seeds for {len(users)} users",
            hint="give a seed for each user, or one number for all",
        )
    each = zip(users, values * (len(users) // len(values)), strict=True)
    _seeds.of_user.update((user, seed) for user, seed in each if seed != _GOES_ON)


def _listed(value: int | Tensor) -> list[int]:
    return [value] if isinstance(value, int) else [int(v) for v in value.shards.row(0).ravel()]


@operation("ttnn.sampling", family=families.SORT, golden=goldens.sampled)
def sampling(
    input_values_tensor: Tensor,
    input_indices_tensor: Tensor,
    k: Tensor,
    p: Tensor,
    temp: Tensor,
    *,
    seed: int | None = None,
    sub_core_grids: CoreRangeSet | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """One token per user from its k likeliest whose probabilities reach p: values and indices [1, 1, users, width] -> [1, 1, 1, users].

    `temp` multiplies the logits, as the device's does. Users draw from random streams of their own, the same on every device and
    every split; without `seed` those of `manual_seed` go on.
    """
    tensors = (input_values_tensor, input_indices_tensor, k, p, temp)
    on_device(*tensors, kind="sampling")
    check_sampling(
        input_values_tensor,
        input_indices_tensor,
        {"k": k, "p": p, "temp": temp},
        sub_core_grids,
        output_tensor,
    )
    users, width = input_values_tensor.shape[-2:]
    draw = _seeds.drawn
    _seeds.drawn += 1
    chance = np.array([_chance(user, seed, draw) for user in range(users)], np.float32)

    def compute(values: Array, names: Array, *settings: Array) -> Array:
        counts, limits, scales = (s.reshape(len(s), volume(s.shape[1:])) for s in settings)
        out = np.zeros((len(values), 1, 1, 1, users), np.int32)
        for device in range(len(values)):
            logits, labels = values[device].reshape(users, width), names[device].reshape(users, width)
            for user in range(users):
                place = _draw(
                    logits[user] * scales[device, user],
                    int(counts[device, user]),
                    limits[device, user],
                    chance[user],
                )
                out[device, 0, 0, 0, user] = labels[user, place]
        return out

    kind = output_tensor.dtype if output_tensor is not None else DataType.UINT32
    shards = combine(compute, *(t.shards for t in tensors)).map(
        lambda s: s.astype(np.int32 if kind is DataType.INT32 else np.uint32)
    )
    if output_tensor is not None:
        return write_into(output_tensor, shards, kind, input_values_tensor)
    return settle(tensors, shards, kind, layout=Layout.ROW_MAJOR)


def _chance(user: int, seed: int | None, draw: int) -> float:
    """A number in [0, 1) of the user's stream."""
    start = seed if seed is not None else _seeds.of_user.get(user, _seeds.common)
    step = 0 if seed is not None else draw
    return float(
        np.random.Generator(
            np.random.Philox(key=[start & (2**64 - 1), user], counter=[step, 0, 0, 0])
        ).random()
    )


def _draw(logits: Array, k: int, p: float, chance: float) -> int:
    """The place of the chosen element."""
    order = np.argsort(-logits, kind="stable")[: max(k, 1)]
    weights = np.exp(logits[order] - logits[order[0]])
    weights /= weights.sum()
    reached = np.cumsum(weights)
    kept = int(np.searchsorted(reached, p)) + 1
    return int(
        order[
            np.searchsorted(reached[:kept], chance * reached[:kept][-1], side="right").clip(
                0, min(kept, len(order)) - 1
            )
        ]
    )


@operation("ttnn.experimental.isin", family=families.SORT)
def isin(
    elements: Tensor,
    test_elements: Tensor,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """0xFFFFFFFF where an element is among the test elements, else 0; the other way round with `invert`. UINT32."""
    given = (elements, test_elements)
    on_device(*given, kind="isin")
    if elements.dtype is not test_elements.dtype:
        raise fatal(
            f"elements.dtype: {elements.dtype.name}, test_elements.dtype: {test_elements.dtype.name}, they must be equal",
            hint="ttnn.typecast one of them to the other's element type",
        )

    for tensor in given:
        if len(tensor.shape) > 1 and tensor.dtype in (DataType.UINT16, DataType.UINT8):
            raise fatal(
                "Can only work with bfloat16/float32 or int32/uint32 tensors",
                hint="ttnn.typecast(tensor, ttnn.uint32), or ttnn.reshape(tensor, (-1,))",
            )

    def among(stack: Array, tests: Array) -> Array:
        found = np.array([np.isin(a, b, invert=invert) for a, b in zip(stack, tests, strict=True)]).reshape(
            stack.shape
        )
        return np.where(found, np.uint32(0xFFFFFFFF), np.uint32(0)).astype(np.uint32)

    compile_isin(elements, test_elements)
    return settle(given, combine(among, *(t.shards for t in given)), DataType.UINT32, output_tensor=out)
