"""The way from tensors to PyTorch and back for operations of the host.

What comes back has at least four dimensions, is bfloat16 where PyTorch has float32, tiled where whole tiles fit, and on the device of the
first tensor that lies on one. `output_layout` and `output_on_device` of a call say otherwise. Source: reference library 0.81.1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.opening import get_default_device
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.conversion.devices import moved_to
from tt_run.runtime.tensor.conversion.layouts import to_layout
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Function = TypeVar("Function", bound=Callable[..., Any])
_SIGNED = {"uint16": "int16", "uint32": "int32"}
"""PyTorch computes little with unsigned integers."""


@dataclass
class _Way:
    """Where results go."""

    layout: Layout
    on_device: bool
    device: MeshDevice | None = None

    def plain(self, value: Any) -> Any:
        """Nested arguments with torch tensors in place of mesh tensors; notes the device of the first that lies on one."""
        if isinstance(value, Tensor):
            if self.on_device and self.device is None:
                self.device = value.device()
            return _computable(to_torch(value))
        if isinstance(value, dict):
            return {word: self.plain(each) for word, each in value.items()}
        return [self.plain(each) for each in value] if isinstance(value, (list, tuple)) else value

    def placed(self, value: Any) -> Any:
        """Nested results with mesh tensors in place of torch tensors."""
        torch = library()
        if isinstance(value, (list, tuple)):
            return [self.placed(each) for each in value]
        if not isinstance(value, torch.Tensor):
            return value
        whole = value.reshape((*(1,) * (4 - value.dim()), *value.shape))
        made = from_torch(whole.bfloat16() if whole.dtype == torch.float32 else whole)
        assert made is not None
        height, width = made.shape[2], made.shape[3]
        tiled = self.layout is Layout.TILE and height % TILE_SIZE == 0 and width % TILE_SIZE == 0
        if tiled:
            made = to_layout(made, Layout.TILE)
        # Rows of an odd width stay on the host, as in the reference.
        if not self.on_device or not (tiled or width % 2 == 0):
            return made
        device = self.device or get_default_device()
        if device is None:
            raise fatal(
                "no tensor of the call lies on a device, and no device is the default one",
                hint="ttnn.SetDefaultDevice(device), or output_on_device=False where the function has it",
            )
        return moved_to(made, device)


def _computable(tensor: Any) -> Any:
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind == "bfloat16":
        return tensor.float()
    return tensor.to(getattr(library(), _SIGNED[kind])) if kind in _SIGNED else tensor


def crossing(function: Function) -> Function:
    """A function of torch tensors as one of mesh tensors."""

    @functools.wraps(function)
    def on_host(*args: Any, **kwargs: Any) -> Any:
        way = _Way(kwargs.get("output_layout", Layout.TILE), kwargs.get("output_on_device", True))
        given, named = [way.plain(each) for each in args], way.plain(kwargs)
        return way.placed(function(*given, **named))

    return on_host  # type: ignore[return-value]
