"""Layers of `tt_lib.fallback_ops`: PyTorch's, with weights from mesh tensors, called with mesh tensors. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.tools.fallback.crossing import crossing
from tt_run.runtime.tools.fallback.functions import Pair, last_dimensions, of_shape

_nn: Any = library().nn
_Module: Any = _nn.Module


class _Layer(_Module):
    """A layer of PyTorch as `pt_fallback`."""

    @crossing
    def forward(self, input: Any) -> Any:
        """The layer's result."""
        return self.pt_fallback(input)


class Conv2d(_Layer):
    """A convolution of images [N, C, H, W]."""

    @crossing
    def __init__(
        self,
        weights: Any,
        biases: Any,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair | str = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__()
        sizes = (_pair(each) for each in (kernel_size, stride, padding, dilation))
        self.pt_fallback = _nn.Conv2d(in_channels, out_channels, *sizes, groups, bias, padding_mode)
        self.pt_fallback.weight = _nn.Parameter(weights)
        self.pt_fallback.bias = None if biases is None else _nn.Parameter(biases.reshape(biases.shape[-1]))


class BatchNorm2d(_Layer):
    """Normalisation of channels over a batch, or by running statistics."""

    @crossing
    def __init__(
        self,
        weights: Any,
        biases: Any,
        running_mean: Any,
        running_var: Any,
        num_batches_tracked: Any,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.pt_fallback = _nn.BatchNorm2d(num_features, eps, momentum, affine, track_running_stats)
        self.pt_fallback.weight = _nn.Parameter(weights.reshape(num_features))
        self.pt_fallback.bias = _nn.Parameter(biases.reshape(num_features))
        self.pt_fallback.running_mean = running_mean.reshape(num_features)
        self.pt_fallback.running_var = running_var.reshape(num_features)
        self.pt_fallback.num_batches_tracked = library().tensor(num_batches_tracked.item())


class GroupNorm(_Layer):
    """Normalisation over groups of channels."""

    @crossing
    def __init__(
        self, weights: Any, biases: Any, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True
    ) -> None:  # fmt: skip
        super().__init__()
        self.pt_fallback = _nn.GroupNorm(num_groups, num_channels, eps, affine)
        self.pt_fallback.weight = _nn.Parameter(weights.reshape(num_channels))
        self.pt_fallback.bias = _nn.Parameter(biases.reshape(num_channels))


class LayerNorm(_Layer):
    """Normalisation over the last dimensions."""

    @crossing
    def __init__(
        self,
        weights: Any,
        biases: Any,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-05,
        elementwise_affine: bool = True,
    ) -> None:
        super().__init__()
        shape = last_dimensions(normalized_shape)
        self.pt_fallback = _nn.LayerNorm(shape, eps, elementwise_affine)
        self.pt_fallback.weight = _nn.Parameter(of_shape(weights, shape))
        self.pt_fallback.bias = _nn.Parameter(of_shape(biases, shape))


class _Pool(_Layer):
    """A pool of images whose channels may come last."""

    channels_last: bool
    reshape_2d = False

    @crossing
    def forward(self, input: Any) -> Any:
        """The smaller images, as one row of pixels where that is asked for."""
        images = input.permute(0, 3, 1, 2) if self.channels_last else input
        images = self.pt_fallback(images)
        if self.channels_last:
            images = images.permute(0, 2, 3, 1)
        return images.reshape(1, 1, -1, images.shape[3]) if self.reshape_2d else images


class MaxPool2d(_Pool):
    """The largest element of each window."""

    @crossing
    def __init__(
        self,
        kernel_size: Pair,
        stride: Pair | None = None,
        padding: Pair = 0,
        dilation: Pair = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        channels_last: bool = False,
        reshape_2d: bool = False,
    ) -> None:
        super().__init__()
        sizes = (_pair(each) for each in (kernel_size, stride, padding, dilation))
        self.pt_fallback = _nn.MaxPool2d(*sizes, return_indices, ceil_mode)
        self.channels_last, self.reshape_2d = channels_last, reshape_2d


class AdaptiveAvgPool2d(_Pool):
    """The means of windows that share an image out."""

    @crossing
    def __init__(self, output_size: Any, channels_last: bool = False) -> None:
        super().__init__()
        self.pt_fallback = _nn.AdaptiveAvgPool2d(_pair(output_size))
        self.channels_last = channels_last


def _pair(size: Any) -> Any:
    """A size of both dimensions, which comes through the crossing as a list, as PyTorch's layers take it."""
    return tuple(size) if isinstance(size, list) else size
