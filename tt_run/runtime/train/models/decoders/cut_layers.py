"""Layers that are whole on one device and cut over a tensor-parallel axis on several: the same numbers are drawn either way."""

from __future__ import annotations

from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.models.transformer import tensor_parallel_size
from tt_run.runtime.train.modules.base import ModuleBase
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer, RowParallelLinear


def parts_of(use_tp: bool) -> int:
    """Devices that share the model: those of the tensor-parallel axis where it is used, else one."""
    return tensor_parallel_size() if use_tp else 1


def axis_of(use_tp: bool) -> int | None:
    """The mesh axis that the model is cut over, None where it is whole."""
    if parts_of(use_tp) == 1:
        return None
    return AutoContext.get_instance().get_parallelism_context().get_tp_axis()


def wide(
    inputs: int, outputs: int, cut: bool, bias: bool = False, axis_name: str | None = None
) -> ModuleBase:
    """A layer whose output features are cut over the axis, or a whole one."""
    if cut:
        return ColumnParallelLinear(inputs, outputs, bias, axis_name=axis_name)
    return LinearLayer(inputs, outputs, bias)


def narrow(
    inputs: int, outputs: int, cut: bool, bias: bool = False, axis_name: str | None = None
) -> ModuleBase:
    """A layer whose input features come cut over the axis, and whose products are summed over it; or a whole one."""
    if cut:
        return RowParallelLinear(inputs, outputs, bias, input_is_parallel=True, axis_name=axis_name)
    return LinearLayer(inputs, outputs, bias)
