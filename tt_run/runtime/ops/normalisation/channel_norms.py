"""Norms and turns of images by channel: batch_norm, rotate. Source: reference library 0.81.1.

PyTorch computes them: its functions are the golden ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from tt_run.runtime.enums import DataType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine_all

Array = npt.NDArray[Any]


def _golden_batch_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    training: bool = False,
    eps: float = 1e-05,
    momentum: float = 0.1,
    weight: Any = None,
    bias: Any = None,
    **_: Any,
) -> Any:
    mean, var, scale, shift = (
        None if p is None else p.reshape(-1).clone() for p in (running_mean, running_var, weight, bias)
    )
    if mean is None and var is not None:
        mean = var.new_zeros(var.shape)
    if var is None and mean is not None:
        var = mean.new_ones(mean.shape)
    return torch_cpu.torch_function("nn.functional.batch_norm")(
        x, mean, var, scale, shift, training, momentum, eps
    )


_TAKEN = (DataType.BFLOAT16, DataType.FLOAT32)
_INTERLEAVED = TensorMemoryLayout.INTERLEAVED


def _check_parameters(x: Tensor, given: Mapping[str, Tensor]) -> None:
    """Raises RuntimeError for parameters that are not (1, C, 1, 1), of two types, or in shards, and for images in those."""
    channels = x.shape[1]
    for tensor in (x, *given.values()):
        if len(tensor.shape) != 4:
            raise fatal(
                "batch_norm supports tensors of rank 4", hint=f"parameters of shape (1, {channels}, 1, 1)"
            )
        if tensor.dtype not in _TAKEN:
            raise fatal(
                f"batch_norm only supports bfloat16, float32. Got: {cpp(tensor.dtype)}",
                hint=as_type("tensor", "bfloat16"),
            )
    first = next(iter(given.values()), x).dtype
    for name, tensor in given.items():
        if tensor.dtype is not first:
            raise fatal(
                f"batch_norm: {name} dtype ({cpp(tensor.dtype)}) must match other parameter tensors dtype ({cpp(first)})",
                hint=f"{name}=ttnn.typecast({name}, ttnn.{first.name.lower()})",
            )
    for name, tensor in (("Input", x), *given.items()):
        if tensor.memory_config().memory_layout is not _INTERLEAVED:
            raise fatal(
                f"{name} tensor must be interleaved", hint="ttnn.to_memory_config(…, ttnn.DRAM_MEMORY_CONFIG)"
            )
        if name != "Input" and tensor.shape[1] != channels:
            raise fatal(
                f"{name}_shape[1] must be the same as input's channel size.",
                hint=f"give it {channels} values, in the shape [1, {channels}, 1, 1]",
            )


@operation("ttnn.batch_norm", family=families.NORM, engine=families.TORCH, golden=_golden_batch_norm)
def batch_norm(
    input: Tensor,
    *,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    training: bool = False,
    eps: float = 1e-05,
    momentum: float = 0.1,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    output: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) weight + bias by channel of [N, C, H, W]; parameters are [1, C, 1, 1].

    In training the batch's own mean and variance count, and the running ones, where given, are moved towards them in place. Raises
    RuntimeError outside of training without running statistics.
    """
    if len(input.shape) < 4:
        raise fatal(
            f"batch_norm not supported for tensors with rank < 4. (rank={len(input.shape)})",
            hint="ttnn.reshape(tensor, (N, C, H, W))",
        )
    if not training and (running_mean is None or running_var is None):
        raise fatal(
            "running_mean and running_var must be defined in evaluation mode",
            hint="running_mean=…, running_var=…, or training=True",
        )
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    given = {name: tensor for name, tensor in named.items() if tensor is not None}
    operands = [input, *given.values()]
    on_device(*operands, kind="batch_norm")
    channels = input.shape[1]
    if output is not None and output.dtype is not input.dtype:
        raise fatal(
            f"batch_norm: output dtype ({cpp(output.dtype)}) must match input dtype ({cpp(input.dtype)})",
            hint=f"an output of {input.dtype}",
        )
    _check_parameters(input, given)

    def on_shards(x: Any, *parameters: Any) -> list[Any]:
        flat = {name: p.reshape(-1).clone() for name, p in zip(given, parameters, strict=True)}
        mean, var = flat.get("running_mean"), flat.get("running_var")
        if training and (mean is None) != (var is None):
            mean = x.new_zeros(channels) if mean is None else mean
            var = x.new_ones(channels) if var is None else var
        normalised = torch_cpu.torch_function("nn.functional.batch_norm")
        result = normalised(x, mean, var, flat.get("weight"), flat.get("bias"), training, momentum, eps)
        return [result, *(s.reshape(1, channels, 1, 1) for s in (mean, var) if s is not None)]

    def on_stacks(*stacks: Array) -> tuple[Array, ...]:
        return torch_cpu.on_each(on_shards, stacks)

    result, *statistics = combine_all(on_stacks, *(t.shards for t in operands))
    if training and statistics:
        for old, new in zip((running_mean, running_var), statistics, strict=True):
            if old is not None:
                data = finish(new.data.reshape(len(new.data), *old.shape), old.dtype)
                old.overwrite(Shards(data, new.index))
    shards = Shards(finish(result.data, input.dtype), result.index)
    if memory_config is not None and memory_config.is_sharded() and memory_config.shard_spec is None:
        raise fatal("bad optional access", hint="memory_config=ttnn.DRAM_MEMORY_CONFIG")
    return settle(operands, shards, input.dtype, memory_config=memory_config, output_tensor=output)


def golden_rotate(
    x: Any, angle: float, center: tuple[float, float] | None = None, fill: float = 0.0, expand: bool = False,
    interpolation_mode: str = "nearest", **_: Any,
) -> Any:  # fmt: skip
    """Images [N, H, W, C] turned counter-clockwise; the way of torchvision, whose function is the golden one."""
    if expand:
        raise fatal(
            "expand=True is not supported. Only same-size rotation (expand=False) is implemented",
            "!expand",
            hint="leave expand out; ttnn.pad the image before for a result that loses no corner",
        )
    if interpolation_mode not in ("nearest", "bilinear"):
        raise fatal(
            f"Only 'nearest' and 'bilinear' interpolation_mode are supported, got {interpolation_mode!r}",
            hint="interpolation_mode='nearest'",
        )
    if x.dim() != 4:
        raise fatal(
            f"Input tensor must be 4D (N, H, W, C), got rank {x.dim()}", hint="ttnn.unsqueeze_to_4D(tensor)"
        )
    torch = torch_cpu.library()
    dtype, x = x.dtype, x.float()  # places among the pixels are float32 whatever the images are
    height, width = x.shape[1], x.shape[2]
    middle = (width / 2, height / 2) if center is None else center
    turn = math.radians(angle)
    kind = {"dtype": x.dtype, "device": x.device}
    across = torch.arange(width, **kind) + 0.5 - middle[0]
    down = (torch.arange(height, **kind) + 0.5 - middle[1]).unsqueeze(1)
    columns = math.cos(turn) * across - math.sin(turn) * down + middle[0]
    rows = math.sin(turn) * across + math.cos(turn) * down + middle[1]
    grid = torch.stack((columns * (2 / width) - 1, rows * (2 / height) - 1), dim=-1).expand(
        len(x), -1, -1, -1
    )
    planes = x.permute(0, 3, 1, 2)
    planes = torch.cat((planes, planes.new_ones(planes[:, :1].shape)), dim=1)
    found = torch_cpu.torch_function("nn.functional.grid_sample")(
        planes, grid, mode=interpolation_mode, padding_mode="zeros", align_corners=False
    )
    images, inside = found[:, :-1], found[:, -1:]
    if interpolation_mode == "nearest":
        turned = images.where(inside >= 0.5, images.new_full((), fill))
    else:
        turned = images * inside + (1 - inside) * fill
    return turned.permute(0, 2, 3, 1).to(dtype)


TURNED = declare(
    families.POOL,
    Row("rotate", "(input_tensor: Tensor, angle: float, *, center: tuple[float, float] | None = None, fill: float = 0.0, "
        f"expand: bool = False, interpolation_mode: str = 'nearest', {PLACED})", golden_rotate,
        "Images [N, H, W, C] turned counter-clockwise by an angle in degrees, `fill` where nothing is.", integers=False),
)  # fmt: skip
