"""What whole parameters of cut modules cost each device: which blocks to keep whole, and keeping all while text is made."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.common.utils import get_available_device_memory_in_bytes
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.parallel.fsdp import STATE, FSDPState
from tt_run.runtime.values.dtypes import element_size


def fsdp_units(module: AbstractModuleBase) -> list[AbstractModuleBase]:
    """The modules that `fully_shard` wrapped, this one and those below it, parents first."""
    return [unit for unit in module.modules() if STATE in unit.__dict__]  # type: ignore[misc]


def parameter_bytes(module: AbstractModuleBase, bytes_per_element: int = 2) -> int:
    """Bytes of a module's parameters as they are before `fully_shard`, those that are not made yet too."""
    found: dict[int, Any] = {}
    for part in module.modules():
        held_here = part._tensors.held() if isinstance(part, AbstractModuleBase) else ()
        found.update({id(held): held for _, held in held_here})
    return bytes_per_element * sum(map(_elements, found.values()))


def _elements(held: Any) -> int:
    """The numbers of a parameter on one device, were it not cut by `fully_shard`."""
    tensor: Any = held.peek_tensor() if isinstance(held, Parameter) else held
    if isinstance(held, Parameter) and held.is_lazy:
        return math.prod(tensor.shape)
    device, axis = tensor.get_value().device(), tensor.fsdp_axis
    return math.prod(tensor.shape()) * (1 if axis is None or device is None else int(device.shape[axis]))


def unsharded_bytes(module: AbstractModuleBase) -> int:
    """Bytes of the whole parameters of all wrapped modules, on each device."""
    total = 0
    for unit in fsdp_units(module):
        state: FSDPState = unit.__dict__[STATE]
        for tensor in state.managed:
            value = tensor.get_value(PreferredPrecision.NATIVE)
            parts = 1 if id(tensor) in state.shards else state.axis_size
            total += parts * math.prod(value.padded_shape) * element_size(value.dtype)
    return total


def blocks_to_keep_gathered(blocks: Sequence[AbstractModuleBase], budget_gib: float = 0.0) -> set[int]:
    """The numbers of the last blocks, for `fully_shard(block, reshard_after_forward=False)`: always the last one, which the backward pass reads first.

    As many before it stay whole as have room in so many GiB of bfloat16; `math.inf` keeps all. Ask before `fully_shard`.
    """
    keep, used = set(range(len(blocks))[-1:]), 0
    for number in range(len(blocks) - 2, -1, -1):
        used += parameter_bytes(blocks[number])
        if used > budget_gib * 2**30:
            break
        keep.add(number)
    return keep


@contextlib.contextmanager
def unshard_for_inference(
    module: AbstractModuleBase, max_fraction_of_free_dram: float = 0.5
) -> Iterator[bool]:
    """A block in which all wrapped modules keep whole parameters from one forward pass without gradients to the next; whether they do.

    They do not, with a warning, where whole parameters take more than this share of the memory that a device has left.
    """
    units = [unit.__dict__[STATE] for unit in fsdp_units(module)]
    needed, free = unsharded_bytes(module), get_available_device_memory_in_bytes()
    if units and needed > max_fraction_of_free_dram * free:
        events.warn(
            f"unshard_for_inference: whole parameters take {needed / 2**30:.2f} GiB of each device, which has {free / 2**30:.2f} GiB left "
            f"(limit {max_fraction_of_free_dram:.0%}); each forward pass gathers them",
            UserWarning,
        )
        units = []
    try:
        for state in units:
            state.stays_whole = True
        yield bool(units)
    finally:
        for state in units:
            state.stays_whole = False
            state.reshard()
