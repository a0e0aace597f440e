"""Losses: distances of predictions from what they should be. Source: reference library 0.81.1. NumPy computes them, in one fixed order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, NamedEnum
from tt_run.runtime.kernels import ordered_sums
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.native.classes import native
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.broadcast import align, check_broadcast
from tt_run.runtime.ops.declaration.dispatch import Operation, operation
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle
from tt_run.runtime.ops.elementwise.binary_functions import squared_difference
from tt_run.runtime.ops.placement import larger_shards
from tt_run.runtime.ops.reduction.reductions import layout_of_total, place_of_total
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@native("ttnn._ttnn.operations.loss.LossReductionMode")
class LossReductionMode(NamedEnum):
    """What becomes of the losses of single elements: nothing, their mean, their sum."""

    NONE = 0
    MEAN = 1
    SUM = 2


_REDUCTIONS: dict[LossReductionMode, Callable[[Array], Array]] = {
    LossReductionMode.SUM: ordered_sums.total,
    LossReductionMode.MEAN: ordered_sums.mean,
}


_WHOLE = {
    LossReductionMode.NONE: [{DataType.INT32}, {DataType.UINT32}, {DataType.UINT16}],
    LossReductionMode.SUM: [{DataType.INT32}, {DataType.UINT32}],
    LossReductionMode.MEAN: [],
}
"""Integers whose losses are taken, which are integers of the same type."""


def _place(
    given: tuple[Tensor, Tensor],
    dtype: DataType,
    reduction: LossReductionMode,
    layout: Layout,
    asked: MemoryConfig | None,
) -> MemoryConfig | None:
    """Where distances lie, and their total once they lie so."""
    lengths = np.broadcast_shapes(*(tuple(t.shape) for t in given))
    place = asked or larger_shards.of_pair(given, lengths, layout, None, None)
    if reduction is LossReductionMode.NONE or not math.prod(lengths):
        return place
    nothing = given[0].shards.map(lambda stack: np.broadcast_to(np.float32(0), (len(stack), *lengths)))
    distances = settle(given, nothing, dtype, memory_config=place, layout=layout)
    return place_of_total(reduction.name.lower(), distances, asked or given[0].memory_config())


def _loss(name: str, distance: Callable[[Array, Array], Array], path: str, doc: str) -> Operation:
    def golden(
        reference: Any, prediction: Any, reduction: LossReductionMode | str = LossReductionMode.NONE, **_: Any
    ) -> Any:
        from tt_run.runtime.kernels.torch_cpu import torch_function

        word = reduction if isinstance(reduction, str) else reduction.name
        return torch_function(path)(reference, prediction, reduction=word.lower())

    def compute(
        input_reference: Tensor,
        input_prediction: Tensor,
        *,
        reduction: LossReductionMode = LossReductionMode.NONE,
        memory_config: MemoryConfig | None = None,
        output_tensor: Tensor | None = None,
    ) -> Tensor:
        given = (input_reference, input_prediction)
        on_device(*given, kind="loss")
        whole = {t.dtype for t in given} in _WHOLE[reduction]
        if not whole:
            floating(name, *given)
        check_broadcast(input_reference.shape, input_prediction.shape)
        dtype, rank = input_reference.dtype, max(len(t.shape) for t in given)

        def on_stacks(a: Array, b: Array) -> Array:
            real = (align(s.astype(np.float64) if whole else np.ascontiguousarray(s), rank) for s in (a, b))
            values = distance(*real)
            if reduction is not LossReductionMode.NONE:
                values = _REDUCTIONS[reduction](ordered_sums.rows_of(values, range(values.ndim - 1)))
            return finish(values, dtype)

        shards = combine(on_stacks, *(t.shards for t in given))
        tiled = Layout.TILE if any(t.layout is Layout.TILE for t in given) else None
        if reduction is not LossReductionMode.NONE and input_reference.logical_volume():
            tiled = tiled or layout_of_total(reduction.name.lower(), input_reference, None)
        place = memory_config
        if output_tensor is None and any(t.is_sharded() for t in (*given, *([place] if place else ()))):
            place = _place(given, dtype, reduction, tiled or Layout.ROW_MAJOR, place)
        return settle(given, shards, dtype, memory_config=place, output_tensor=output_tensor, layout=tiled)

    compute.__doc__ = f"{doc}; its sum or mean over all elements by `reduction`, rounded once."
    return operation(f"ttnn.{name}", family=families.LOSS, golden=golden)(compute)


LOSSES = {
    "l1_loss": _loss("l1_loss", lambda a, b: np.abs(a - b), "nn.functional.l1_loss", "|a - b|"),
    "mse_loss": _loss("mse_loss", squared_difference, "nn.functional.mse_loss", "(a - b)²"),
}
