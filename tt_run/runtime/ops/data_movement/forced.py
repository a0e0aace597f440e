"""Operations with the choice between the two kernels of the reference taken: the values are the same. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar, cast

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.native.arguments import public
from tt_run.runtime.ops.data_movement.conversions import untilize
from tt_run.runtime.ops.data_movement.picking import gather
from tt_run.runtime.ops.data_movement.repeating import repeat, repeat_interleave
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


def _renamed(forced: Function, name: str) -> Function:
    """The same function as `forced` under the name of the other kernel, by which it also refuses arguments."""
    plain = cast("FunctionType", forced.__wrapped__)  # type: ignore[attr-defined]
    copy = FunctionType(plain.__code__, plain.__globals__, name, plain.__defaults__, plain.__closure__)
    copy.__kwdefaults__, copy.__annotations__ = plain.__kwdefaults__, plain.__annotations__
    copy.__doc__, copy.__module__, copy.__qualname__ = plain.__doc__, plain.__module__, name
    return cast("Function", public(copy))


@public
def gather_force_native(
    input: Tensor,
    dim: int,
    index: Tensor,
    *,
    sparse_grad: bool = False,
    memory_config: MemoryConfig | None = None,
    out: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """`ttnn.gather`."""
    return gather(
        input,
        dim,
        index,
        sparse_grad=sparse_grad,
        memory_config=memory_config,
        out=out,
        sub_core_grids=sub_core_grids,
    )


gather_force_codegen = _renamed(gather_force_native, "gather_force_codegen")


@public
def repeat_force_native(
    input_tensor: Tensor, repeat_dims: Sequence[int], *, memory_config: MemoryConfig | None = None
) -> Tensor:
    """`ttnn.repeat`."""
    return repeat(input_tensor, repeat_dims, memory_config=memory_config)


repeat_force_codegen = _renamed(repeat_force_native, "repeat_force_codegen")


@public
def repeat_interleave_force_native(
    input_tensor: Tensor, repeats: int, dim: int, *, memory_config: MemoryConfig | None = None
) -> Tensor:
    """`ttnn.repeat_interleave`."""
    return repeat_interleave(input_tensor, repeats, dim, memory_config=memory_config)


repeat_interleave_force_codegen = _renamed(repeat_interleave_force_native, "repeat_interleave_force_codegen")


@public
def untilize_force_native(
    input_tensor: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    use_multicore: bool = True,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """`ttnn.untilize`."""
    return untilize(
        input_tensor, memory_config=memory_config, use_multicore=use_multicore, sub_core_grids=sub_core_grids
    )


@public
def untilize_force_codegen(input_tensor: Tensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    """`ttnn.untilize`."""
    return untilize(input_tensor, memory_config=memory_config)
