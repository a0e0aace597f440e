"""What golden functions of `ttnn.operations` are made of: gradients, stored values, and those of attention by their names.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.kernels.torch_cpu import torch_function
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.questions import torch_dtype
from tt_run.runtime.tools.golden import get_golden_function

if TYPE_CHECKING:
    import torch

_SUFFIX = "_golden"


def golden_to_output_dtype(tensor: Any, dtype: DataType | None) -> Any:
    """The values that a tensor of an element type holds of a golden result; what is no torch tensor stays."""
    import torch

    if dtype is None or not isinstance(tensor, torch.Tensor):
        return tensor
    if dtype in (DataType.BFLOAT8_B, DataType.BFLOAT4_B):
        return to_torch(from_torch(tensor.contiguous(), dtype=dtype, layout=Layout.TILE))
    return tensor.to(torch_dtype(dtype))


def golden_prepare_grad_inputs(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The tensors, each with a gradient wanted; what they came from stays known."""
    for each in inputs:
        if not each.requires_grad:
            each.requires_grad_(True)
    return inputs


def golden_compute_gradients(output: Any, inputs: Any, grad_output: Any) -> list[Any]:
    """The gradients in the order of the inputs, None for one that the output does not depend on."""
    import torch

    return list(torch.autograd.grad(output, inputs, grad_outputs=grad_output, allow_unused=True))


def torch_squared_difference(x: Any, y: Any, *_: Any, **__: Any) -> Any:
    """The square of the difference of two torch tensors."""
    return (x - y).square()


def torch_mac(input: Any, tensor1: Any, tensor2: Any) -> Any:
    """The product of two torch tensors, added to a third."""
    return input * tensor1 + tensor2


def torch_reglu(input_tensor: Any, *_: Any, **__: Any) -> Any:
    """The first half of a torch tensor's last dimension times what is positive of the second."""
    return _gated(input_tensor, "relu")


def torch_swiglu(input_tensor: Any, *_: Any, **__: Any) -> Any:
    """The first half times `silu` of the second."""
    return _gated(input_tensor, "nn.functional.silu")


def torch_geglu(input_tensor: Any, *_: Any, **__: Any) -> Any:
    """The first half times `gelu` of the second."""
    return _gated(input_tensor, "nn.functional.gelu")


def _gated(tensor: Any, gate: str) -> Any:
    half = tensor.shape[-1] // 2
    return tensor[..., :half] * torch_function(gate)(tensor[..., half:])


def __getattr__(name: str) -> Any:
    """`NAME_golden`: the golden function of `ttnn.transformer.NAME`."""
    operation = (
        catalog.find(f"ttnn.transformer.{name.removesuffix(_SUFFIX)}") if name.endswith(_SUFFIX) else None
    )
    if operation is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return get_golden_function(operation)
