"""Reductions over dimensions of the shard: sum, mean, extremes, moments, products.

They see the logical elements only, so tile padding takes no part. A reduced dimension keeps its placement; across devices the
collectives reduce. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.kernels import ordered_sums, torch_bfloat16
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, Operation, operation
from tt_run.runtime.ops.declaration.operands import axes_of, axis_of, on_device, settle
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import asked_shards, fitted_shards
from tt_run.runtime.ops.reduction.product_places import of_product
from tt_run.runtime.ops.reduction.reduced_places import Step, of_spread, of_total, reshaped
from tt_run.runtime.ops.reduction.reduction_checks import (
    check_argmax,
    check_prod,
    check_running,
    check_spread,
    check_total,
    has_nothing_to_reduce,
)
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, convert, convert_each, is_float, quantize
from tt_run.runtime.values.float_warnings import restore, silence

Array = npt.NDArray[Any]
Dims = int | Sequence[int] | None
Shaped = tuple[int, ...]
Scaled = Callable[[Array, float], Array]
_LONG = 64  # elements of a row from which on one call for each row takes less than one for each column


# Extremes, moments and products come back in tiles, of row-major tensors too; sums and means mostly in the layout of what they are taken of.
def reduced(
    tensor: Tensor,
    dim: Dims,
    keepdim: bool,
    function: Callable[[Array], Array],
    *,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    layout: Layout | None = None,
    output_tensor: Tensor | None = None,
    place: MemoryConfig | None = None,
    moments: bool = False,
    stepped: Callable[[Sequence[int]], Step | None] | None = None,
    of_sums: Callable[[Array, int], Array] | None = None,
) -> Tensor:
    """`function` (rows -> one value per row) over dimensions `dim` of every shard, None for all; into `place` whatever else would follow.

    `of_sums` gives the same of the sums of rows and their length.

    Of a tensor on cores `stepped` says where the result with its ones lies, None where it is cut anew. `moments` of a number are in tiles as well, which else keeps its layout.
    """
    on_device(tensor, kind="reduction")
    shape = tuple(tensor.shape)
    axes = axes_of(dim, len(shape))
    if not shape:
        axes = ()
    target = dtype or tensor.dtype
    whole, left = (ordered_sums.reduced_shape(shape, axes, keep) for keep in (True, keepdim))
    if output_tensor is not None and output_tensor.logical_volume() == math.prod(left):
        left = tuple(output_tensor.shape)

    beside = (
        of_sums is not None
        and tensor.shards.stack.size >= ordered_sums.WORTH
        and is_float(tensor.dtype)
        and ordered_sums.lie_beside(shape, axes)
    )

    def compute(stack: Array) -> Array:
        before = silence()
        try:
            if beside and of_sums is not None:
                count = math.prod(shape[axis] for axis in axes)
                values = of_sums(ordered_sums.total_beside(stack, axes), count)
            else:
                values = function(ordered_sums.rows_of(stack, axes))
        finally:
            restore(before)
        # A block float's row is what it is as long as the reduced dimensions are there; what leaves them out has other neighbours.
        found = finish(values.reshape(len(stack), *(whole or (1,))), target).reshape(len(stack), *left)
        return quantize(found, target) if target in BLOCK_FLOATS and left and left != whole else found

    if has_nothing_to_reduce(tensor) and (axes or not moments):
        layout = tensor.layout
    if place is not None:
        memory_config, layout = place, Layout.TILE
    elif output_tensor is None and (memory_config is not None or tensor.is_sharded()):
        if memory_config is not None and memory_config.is_sharded():
            layout = Layout.TILE
        if memory_config is None or memory_config.is_sharded():
            known = None if stepped is None or has_nothing_to_reduce(tensor) else stepped(axes)
            memory_config = _on_cores(
                tensor, axes, left, target, layout or tensor.layout, known, memory_config
            )
    shards = tensor.shards.map(compute, either=beside)
    return settle(
        (tensor,), shards, target, memory_config=memory_config, layout=layout, output_tensor=output_tensor
    )


def _on_cores(
    tensor: Tensor,
    axes: Sequence[int],
    left: Shaped,
    dtype: DataType,
    layout: Layout,
    known: Step | None,
    asked: MemoryConfig | None,
) -> MemoryConfig | None:
    """Where a reduction lies that is cut over cores: as `known` for the result with its ones, or cut anew."""
    if known is None:
        kept = ordered_sums.reduced_shape(tuple(tensor.shape), axes, True)
        asked = asked_shards.anew(tensor, asked) or asked
        place = fitted_shards.of_reduction(tensor, kept, layout, asked)
    else:
        kept, place = known.shape, known.place
    return place if place is None or kept == left else _left(tensor, kept, left, dtype, layout, place)


def _left(
    tensor: Tensor, kept: Shaped, left: Shaped, dtype: DataType, layout: Layout, place: MemoryConfig
) -> MemoryConfig:
    """Where a total in this place lies once its ones are taken out: a reshape to what is `left`."""
    return reshaped(tensor, Step(kept, place, layout), left, dtype)


def place_of_total(name: str, tensor: Tensor, asked: MemoryConfig | None) -> MemoryConfig | None:
    """Where the total of all elements lies, without dimensions."""
    found = of_total(name, tensor, range(len(tensor.shape)), asked)
    return asked if found is None else _left(tensor, found.shape, (), tensor.dtype, Layout.TILE, found.place)


def _unless_alone(tensor: Tensor, function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function, but a tensor without dimensions stays what it is, whatever the scalar."""
    return function if len(tensor.shape) else lambda rows: rows[..., 0]


def _scaled(values: Array, scalar: float) -> Array:
    return values if scalar == 1.0 else values * np.float32(scalar)


def _sum(rows: Array, scalar: float) -> Array:
    return _scaled(ordered_sums.total(rows), scalar)


def _mean(rows: Array, scalar: float) -> Array:
    if not rows.shape[-1]:
        return np.full(rows.shape[:-1], np.nan, np.float32)  # of nothing
    return _scaled(ordered_sums.mean(rows), scalar)


def _mean_of_sums(sums: Array, count: int) -> Array:
    return np.divide(sums, np.float32(count))


def _max(rows: Array, scalar: float) -> Array:
    return _scaled(np.max(rows, axis=-1), scalar)


def _min(rows: Array, scalar: float) -> Array:
    return _scaled(np.min(rows, axis=-1), scalar)


def _var(rows: Array, scalar: float, correction: bool) -> Array:
    return _scaled(ordered_sums.variance(rows, int(correction)), scalar * scalar)


def _std(rows: Array, scalar: float, correction: bool) -> Array:
    return _scaled(np.sqrt(ordered_sums.variance(rows, int(correction))), abs(scalar))


def layout_of_total(
    name: str, tensor: Tensor, dim: Dims, memory_config: MemoryConfig | None = None
) -> Layout | None:
    """TILE where the reference reduces rows in tiles: shards, whole matrices, sums of integers, and of BFLOAT16 over batch dimensions.

    Rows that leave their cores before they are reduced, on the way of a batch dimension to where they lie, stay rows.
    """
    rank = len(tensor.shape)
    axes = axes_of(dim, rank)
    matrices = rank > 1 and axes == (rank - 2, rank - 1)
    batches = name == "sum" and tensor.dtype is DataType.BFLOAT16 and any(axis < rank - 2 for axis in axes)
    whole = name == "sum" and not is_float(tensor.dtype)
    leave = (
        memory_config is not None and not memory_config.is_sharded() and max(axes, default=rank) < rank - 2
    )
    on_cores = tensor.memory_config().is_sharded() and not leave
    return Layout.TILE if matrices or batches or whole or on_cores else None


def _total(name: str, function: Scaled, of_sums: Callable[[Array, int], Array], doc: str) -> Operation:
    def compute(
        input_tensor: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        memory_config: MemoryConfig | None = None,
        compute_kernel_config: object = None,
        scalar: float = 1.0,
        correction: bool | None = None,
        sub_core_grids: CoreRangeSet | None = None,
        fast_and_approximate_mode: bool = False,
        output_layout: Layout | None = None,
    ) -> Tensor:
        check_total(name, input_tensor, dim, memory_config, sub_core_grids)
        return reduced(
            input_tensor,
            dim,
            keepdim,
            _unless_alone(input_tensor, lambda rows: function(rows, scalar)),
            memory_config=memory_config,
            layout=output_layout or layout_of_total(name, input_tensor, dim, memory_config),
            stepped=lambda axes: of_total(name, input_tensor, axes, memory_config, scalar),
            of_sums=lambda sums, count: _scaled(of_sums(sums, count), scalar),
        )

    return _named(name, compute, doc)


def _extreme(name: str, function: Scaled, doc: str) -> Operation:
    def compute(
        input_tensor: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        memory_config: MemoryConfig | None = None,
        compute_kernel_config: object = None,
        scalar: float = 1.0,
        correction: bool | None = None,
        sub_core_grids: CoreRangeSet | None = None,
        fast_and_approximate_mode: bool = False,
    ) -> Tensor:
        check_total(name, input_tensor, dim, memory_config, sub_core_grids)
        return reduced(
            input_tensor,
            dim,
            keepdim,
            _unless_alone(input_tensor, lambda rows: function(rows, scalar)),
            memory_config=memory_config,
            layout=Layout.TILE,
            stepped=lambda axes: of_total(name, input_tensor, axes, memory_config, scalar),
        )

    return _named(name, compute, doc)


def _spread(name: str, function: Callable[[Array, float, bool], Array], doc: str) -> Operation:
    def compute(
        input_tensor: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        memory_config: MemoryConfig | None = None,
        compute_kernel_config: object = None,
        scalar: float = 1.0,
        correction: bool = True,
        sub_core_grids: CoreRangeSet | None = None,
    ) -> Tensor:
        check_spread(input_tensor, dim, memory_config, sub_core_grids, compute_kernel_config)
        return reduced(
            input_tensor,
            dim,
            keepdim,
            _unless_alone(input_tensor, lambda rows: function(rows, scalar, correction)),
            memory_config=memory_config,
            layout=Layout.TILE,
            moments=True,
            stepped=lambda axes: of_spread(input_tensor, axes, memory_config),
        )

    return _named(name, compute, doc)


_GOLDEN = {
    "sum": goldens.reduction("sum"),
    "mean": goldens.reduction("mean"),
    "max": goldens.reduction("amax"),
    "min": goldens.reduction("amin"),
    "var": goldens.moment("var", root=False),
    "std": goldens.moment("std", root=True),
}


def _named(name: str, compute: Callable[..., Tensor], doc: str) -> Operation:
    compute.__doc__ = f"{doc} over `dim` (None: all dimensions), of the elements times `scalar`."
    return operation(f"ttnn.{name}", family=families.REDUCTION, golden=_GOLDEN[name])(compute)


REDUCTIONS: dict[str, Operation] = {
    "sum": _total("sum", _sum, lambda sums, _: sums, "The sum"),
    "mean": _total("mean", _mean, _mean_of_sums, "The mean"),
    "max": _extreme("max", _max, "The largest element"),
    "min": _extreme("min", _min, "The smallest element"),
    "var": _spread("var", _var, "The variance, with Bessel's correction unless `correction` is False,"),
    "std": _spread(
        "std", _std, "The standard deviation, with Bessel's correction unless `correction` is False,"
    ),
}


@operation("ttnn.prod", family=families.REDUCTION, golden=goldens.prod)
def prod(
    input_tensor: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    dims: Sequence[int] | None = None,
    output_tensor: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """The product over `dim` (None: all dimensions). Also `prod(x, output_tensor, dims=…)`, which keeps the dimensions."""
    if isinstance(dim, Tensor):
        dim, output_tensor = None, dim
    if dims is not None and output_tensor is None:
        raise ArgumentMismatch("prod: over several dims the product goes into an output_tensor")
    over: Dims = dim if dims is None else dims
    check_prod(input_tensor, over, dims is not None, output_tensor)
    place = None
    if isinstance(over, int) and len(input_tensor.shape):
        place = of_product(input_tensor, axis_of(over, len(input_tensor.shape)), keepdim, memory_config)
    return reduced(
        input_tensor,
        over,
        keepdim or dims is not None,
        lambda rows: np.multiply.reduce(rows, axis=-1),
        memory_config=memory_config,
        layout=Layout.TILE,
        output_tensor=output_tensor,
        place=place,
    )


@operation("ttnn.argmax", family=families.REDUCTION, golden=goldens.argmax)
def argmax(
    input_tensor: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    sub_core_grids: CoreRangeSet | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    enable_secondary_dm: bool | None = None,
) -> Tensor:
    """Position of the largest element along `dim`, the first of equals; in the flattened shard without a dim. UINT32, ROW_MAJOR."""
    check_argmax(input_tensor, dim, keepdim, memory_config, sub_core_grids, output_tensor)
    return reduced(
        input_tensor,
        dim,
        keepdim,
        lambda rows: np.argmax(rows, axis=-1),
        dtype=DataType.UINT32,
        memory_config=memory_config,
        layout=Layout.ROW_MAJOR,
        output_tensor=output_tensor,
    )


def _accumulated(function: np.ufunc, values: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    """`function.accumulate`, row after row where rows are long: NumPy would go along `axis`, from one line of the cache to another."""
    if math.prod(values.shape[axis + 1 :]) < _LONG or not values.size:
        found: Array = function.accumulate(values, axis=axis, dtype=dtype)
        return found
    found = np.empty(values.shape, dtype)
    rows, results = np.moveaxis(values, axis, 0), np.moveaxis(found, axis, 0)
    results[0] = rows[0]
    for number in range(1, len(rows)):
        function(results[number - 1], rows[number], results[number], dtype=dtype)
    return found


def _running(
    tensor: Tensor, dim: int, function: np.ufunc, dtype: DataType | None, reverse: bool, **options: Any
) -> Tensor:
    """A running reduction along `dim`, in order."""
    check_running(tensor, dim, options.get("output_tensor"), options.get("memory_config"))
    axis = axis_of(dim, len(tensor.shape)) + 1 if len(tensor.shape) else 0
    target = dtype or tensor.dtype
    shards = tensor.shards
    if (
        target is DataType.BFLOAT16
        and shards.bfloat16 is not None
        and axis == len(tensor.shape)
        and not reverse
    ):
        made = torch_bfloat16.running(function, shards.bfloat16)
        if made is not None:
            return settle((tensor,), shards.holding(made), target, **options)

    def compute(stack: Array) -> Array:
        if stack.ndim == 1:
            return convert_each(stack.copy(), target)  # a number has nothing before it
        forward = np.flip(stack, axis) if reverse else stack
        wide = np.float32 if stack.dtype.kind == "f" else np.int64
        with np.errstate(all="ignore"):  # what overflows is infinite, as on a device
            values = _accumulated(function, forward, axis, np.dtype(wide))
        return convert(np.ascontiguousarray(np.flip(values, axis) if reverse else values), target)

    return settle((tensor,), shards.map(compute), target, **options)


@operation("ttnn.cumsum", family=families.RUNNING, golden=goldens.running("cumsum"))
def cumsum(
    input: Tensor,
    dim: int,
    *,
    dtype: DataType | None = None,
    reverse_order: bool = False,
    out: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    disable_compensated_sum: bool = False,
) -> Tensor:
    """Running sum along `dim`, from the end if reverse_order.

    `out` has the result's type. The reference takes any, but what it returns then names `dtype` or the operand's type, whatever type the buffer
    of `out` was made for (seen in its graph capture): here that is refused.
    """
    return _running(input, dim, np.add, dtype, reverse_order, memory_config=memory_config, output_tensor=out)


@operation("ttnn.cumprod", family=families.RUNNING, golden=goldens.running("cumprod"))
def cumprod(
    input_tensor: Tensor,
    dim: int,
    *,
    dtype: DataType | None = None,
    reverse_order: bool = False,
    out: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Running product along `dim`, from the end if reverse_order.

    `out` has the result's type. The reference takes any, but what it returns then names `dtype` or the operand's type, whatever type the buffer
    of `out` was made for (seen in its graph capture): here that is refused.
    """
    return _running(
        input_tensor, dim, np.multiply, dtype, reverse_order, memory_config=memory_config, output_tensor=out
    )
