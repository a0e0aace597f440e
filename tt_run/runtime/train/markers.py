"""Markers of a program's phases in the timeline: what remains of profiling where no kernels run.

On hardware a marker runs no-ops that a device profile shows; here it is an event, and `tt-run --emulate --timeline FILE` has it between
the operations around it. Without a timeline it costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.operation import result
from tt_run.runtime.values.dtypes import is_float

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value
    from tt_run.runtime.train.autograd.tensor import Tensor


@overload
def profiler_marker(x: None, name: str, dump_results: bool = False) -> None: ...
@overload
def profiler_marker(x: Tensor, name: str, dump_results: bool = False) -> Tensor: ...
def profiler_marker(x: Tensor | None, name: str, dump_results: bool = False) -> Tensor | None:
    """Mark the forward pass with "[FWD] name" and, when its gradient comes by, the backward pass with "[BWD] name".

    Go on with the tensor that is returned, which holds the same value. Without a tensor the name stands by itself.
    """
    context = AutoContext.get_instance()
    profiler, device = context.get_profiler(), context.get_device()
    if x is None:
        profiler.read_results(device, name, dump_results=dump_results)
        return None
    profiler.read_results(device, f"[FWD] {name}", dump_results=dump_results)
    value = x.get_value()
    if not (is_float(value.dtype) and x.get_requires_grad() and context.records):
        return x

    def rule(gradient: Value) -> None:
        profiler.read_results(device, f"[BWD] {name}", dump_results=dump_results)
        x.add_grad(gradient)

    return result(value, (x,), rule)


def profiler_marker_start(x: Any, name: str, dump_results: bool = False) -> Any:
    """The beginning of a zone: `profiler_marker` with "[START] name"."""
    return profiler_marker(x, f"[START] {name}", dump_results)


def profiler_marker_end(x: Any, name: str, dump_results: bool = False) -> Any:
    """The end of a zone: `profiler_marker` with "[END] name"."""
    return profiler_marker(x, f"[END] {name}", dump_results)
