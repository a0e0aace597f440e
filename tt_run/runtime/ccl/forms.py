"""Operations with several forms of arguments: which one a call means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tt_run.runtime.enums import ReduceType
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch
from tt_run.runtime.tensor.tensor import Tensor


def choose(args: tuple[Any, ...], kwargs: dict[str, Any], *forms: Callable[..., Tensor]) -> Tensor:
    """Call the first form that the arguments fit, by number, names and kinds."""
    for form in forms:
        try:
            bound = inspect.signature(form).bind(*args, **kwargs)
        except TypeError:
            continue
        if all(_fits(name, value) for name, value in bound.arguments.items()):
            return form(*args, **kwargs)
    listed = "; ".join(
        f"({', '.join(inspect.signature(form).parameters)})".replace("'", "") for form in forms
    )
    raise ArgumentMismatch(f"the arguments fit none of the forms {listed}")


_KINDS: dict[str, tuple[type, ...]] = {
    "input_tensor": (Tensor,),
    "dim": (int,),
    "num_devices": (int,),
    "cluster_axis": (int, type(None)),
    "mesh_device": (MeshDevice, type(None)),
    "persistent_output_buffer": (Tensor, type(None)),
    "buffer_tensor": (Tensor,),
    "math_op": (ReduceType,),
}


def _fits(name: str, value: Any) -> bool:
    return name not in _KINDS or isinstance(value, _KINDS[name])
