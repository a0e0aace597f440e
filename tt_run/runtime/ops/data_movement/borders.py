"""Operations that make tensors or carry them between program, host and devices: functions of `tt_run.runtime.tensor` under their names.

They stay outside of traces and of the stream of events, as on hardware, and word wrong arguments themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import Operation, operation
from tt_run.runtime.ops.declaration.families import Family
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.tensor.borders import arrays, files
from tt_run.runtime.tensor.conversion import copies, devices, layouts
from tt_run.runtime.tensor.creation import allocation, from_shape


def _borders(family: Family, *functions: Callable[..., Any]) -> dict[str, Operation]:
    goldens = creation_goldens.BORDERS
    return {
        f.__name__: operation(
            f"ttnn.{f.__name__}", family=family, direct=True, golden=goldens.get(f.__name__)
        )(f)
        for f in functions
    }


BORDERS = {
    **_borders(
        families.CREATION,
        from_shape.zeros,
        from_shape.ones,
        from_shape.full,
        from_shape.empty,
        from_shape.arange,
        from_shape.rand,
        from_shape.from_buffer,
        from_shape.zeros_like,
        from_shape.ones_like,
        from_shape.full_like,
        from_shape.empty_like,
    ),
    **_borders(
        families.BORDER,
        arrays.from_torch,
        arrays.to_torch,
        files.as_tensor,
        files.dump_tensor,
        files.load_tensor,
        devices.to_device,
        devices.from_device,
        layouts.to_dtype,
        copies.copy_host_to_device_tensor,
        copies.copy_device_to_host_tensor,
        copies.deallocate,
        allocation.allocate_tensor_on_device,
        allocation.allocate_tensor_on_host,
    ),
}
