"""Linear layers between which positions are cut over the tensor-parallel axis: a collective and a product as one operation.

A device has two implementations, one after the other and overlapped; both have these values.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from tt_run.runtime import queues
from tt_run.runtime.ccl import collectives
from tt_run.runtime.train.autograd.axis_placement import members
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import distributed
from tt_run.runtime.train.ops.matmul import LinearGradients, linear, linear_value
from tt_run.runtime.train.parallel.tensor_parallel import SEQUENCE_DIM

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

_COMPUTE, _COLLECTIVES = 0, 1
"""The command queues of the two streams of an overlapped backward pass."""


class SPLinearImpl(enum.Enum):
    """COMPOSED: the collective, then the product. FUSED: both overlapped on devices; the values are the same."""

    COMPOSED = "composed"
    FUSED = "fused"


class SPOverlapMode(enum.Enum):
    """OFF: one command queue. BACKWARD: sums for gradients of inputs go to the second queue, beside products for those of weights."""

    OFF = "off"
    BACKWARD = "backward"


_chosen = SPLinearImpl.COMPOSED
_chosen_backward: SPLinearImpl | None = None
_overlap = SPOverlapMode.OFF


def set_sp_linear_impl(impl: SPLinearImpl | str) -> None:
    """Choose the implementation that devices run, forward and backward. Raises ValueError for another name than 'composed' and 'fused'."""
    global _chosen, _chosen_backward
    try:
        _chosen, _chosen_backward = SPLinearImpl(impl), None
    except ValueError:
        raise ValueError(
            f"the implementation is 'composed' or 'fused', not {impl!r}; help: set_sp_linear_impl('composed')"
        ) from None


def get_sp_linear_impl() -> SPLinearImpl:
    """The implementation that is chosen."""
    return _chosen


def set_sp_linear_backward_impl(impl: SPLinearImpl | str | None) -> None:
    """Choose another implementation for the backward pass; 'same' or None is that of the forward pass. Raises ValueError for other names."""
    global _chosen_backward
    try:
        _chosen_backward = None if impl is None or impl == "same" else SPLinearImpl(impl)
    except ValueError:
        raise ValueError(
            f"the implementation of the backward pass is 'same', 'composed' or 'fused', not {impl!r}; help: set_sp_linear_backward_impl('same')"
        ) from None


def get_sp_linear_backward_impl() -> SPLinearImpl:
    """The implementation of the backward pass."""
    return _chosen_backward or _chosen


def set_sp_overlap(mode: SPOverlapMode | str) -> None:
    """Choose the command queues of the composed backward pass: values stay, predicted times change.

    Raises ValueError for another name than 'off' and 'backward', RuntimeError where the mesh has not two queues and cores for the second.
    """
    global _overlap
    try:
        wanted = SPOverlapMode(mode)
    except ValueError:
        raise ValueError(
            f"the overlap is 'off' or 'backward', not {mode!r}; help: set_sp_overlap('off')"
        ) from None
    context = AutoContext.get_instance()
    if wanted is SPOverlapMode.BACKWARD and context.num_command_queues() != 2:
        raise RuntimeError(
            "sp_overlap needs the device opened with two command queues; help: open_device(shape, num_command_queues=2)"
        )
    if wanted is SPOverlapMode.BACKWARD and not context.has_ccl_sub_device():
        raise RuntimeError(
            "sp_overlap needs the CCL sub-device, so that collectives on the second queue have cores of their own; help: enable_ccl_sub_device(1, 0)"
        )
    _overlap = wanted


def get_sp_overlap() -> SPOverlapMode:
    """The mode that is chosen."""
    return _overlap


def sp_overlap_stats() -> tuple[int, int]:
    """How many gradients of weights are put off, and buffers kept: none, for both are done within the rule of their layer."""
    return 0, 0


def sp_column_parallel_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, cluster_axis: int | None = None
) -> Tensor:
    """Parts of positions [B, 1, S / T, in] and of output features -> [B, 1, S, out / T] on each device."""
    if _overlaps() and members(x.get_value(), cluster_axis) > 1:
        return _overlapped_column(x, weight, bias, cluster_axis)
    return linear(distributed.all_gather(x, SEQUENCE_DIM, cluster_axis), weight, bias)


def sp_row_parallel_linear(x: Tensor, weight: Tensor, cluster_axis: int | None = None) -> Tensor:
    """Parts of input features [B, 1, S, in / T] -> the sum of the products, of which each device keeps its positions [B, 1, S / T, out]."""
    return distributed.reduce_scatter(linear(x, weight), SEQUENCE_DIM, cluster_axis)


def _overlaps() -> bool:
    """Whether backward passes use two queues. A mesh that was opened plainly since has one, and they use it."""
    context = AutoContext.get_instance()
    composed = get_sp_linear_backward_impl() is SPLinearImpl.COMPOSED
    return _overlap is SPOverlapMode.BACKWARD and composed and context.has_ccl_sub_device()


@recorded
def _overlapped_column(x: Tensor, weight: Tensor, bias: Tensor | None, axis: int | None) -> Tensor:
    """As composed; the sum over the axis is issued to the second queue while the first computes the gradients of the parameters."""
    gathered = collectives.all_gather(x.get_value(), SEQUENCE_DIM, cluster_axis=axis)
    gradients = LinearGradients(gathered, weight, bias)
    device = gathered.device()
    assert device is not None

    def rule(gradient: Value) -> None:
        own = None
        if x.get_requires_grad():
            whole = gradients.of_input(gradient)
            queues.wait_for_event(_COLLECTIVES, queues.record_event(device, _COMPUTE))
            with queues.issuing(_COLLECTIVES):
                own = distributed.own_part(whole, SEQUENCE_DIM, axis)
        gradients.add_to_parameters(gradient)
        if own is not None:
            queues.wait_for_event(_COMPUTE, queues.record_event(device, _COLLECTIVES))
            x.add_grad(own)

    inputs = (x, weight) if bias is None else (x, weight, bias)
    return result(linear_value(gathered, weight, bias), inputs, rule)
