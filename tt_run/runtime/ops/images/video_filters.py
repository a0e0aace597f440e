"""Filters of `experimental.conv3d` as the matrix that it reads: its order of rows, and what it refuses. Source: reference library 0.81.1.

The input channels are cut into blocks, and the rows go by block, then by place in the kernel, then by channel of the block. A matrix
that was prepared for another size of blocks has the same shape and gives other numbers, there as here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.errors import fatal
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]

L1_ALIGNMENT = 16
"""Channels of a block begin at multiples of this many bytes of L1."""


@dataclass(frozen=True)
class Rows:
    """How the rows of a matrix of filters go: kernel, input channels, channels of a block, output channels."""

    kernel: tuple[int, ...]
    channels: int
    block: int
    out: int

    @property
    def count(self) -> int:
        """Rows of the matrix."""
        return math.prod(self.kernel) * self.channels

    def filters(self, matrix: Any) -> Any:
        """A matrix of PyTorch as filters `(out, in, kt, kh, kw)`."""
        parts = matrix.reshape(self.channels // self.block, *self.kernel, self.block, self.out)
        return parts.permute(5, 0, 4, 1, 2, 3).reshape(self.out, self.channels, *self.kernel)


def block(kernel: tuple[int, ...], asked: int) -> int:
    """Channels of a block: as asked, else (0) the fewest whose rows fill tiles and whose bytes are aligned, of filters as of their convolution."""
    return asked or math.lcm(L1_ALIGNMENT, TILE_SIZE // math.gcd(math.prod(kernel), TILE_SIZE))


def check(rows: Rows, steps: tuple[int, ...], groups: int) -> None:
    """Raises RuntimeError for steps and groups of zero, and for channels that groups or blocks do not divide."""
    if min(steps) < 1:
        raise fatal(
            f"stride must be greater than 0, got {steps}",
            "stride[0] > 0 && stride[1] > 0 && stride[2] > 0",
            hint="stride=(1, 1, 1)",
        )
    if groups < 1:
        raise fatal("groups must be greater than 0", "args.groups > 0", hint="groups=1")
    for what, count in (("input channels", rows.channels), ("output channels", rows.out)):
        if count % groups:
            raise fatal(
                f"{what.capitalize()} must be divisible by groups. Got {what} {count} and groups {groups}",
                hint=f"groups={math.gcd(count, groups)}",
            )
    if rows.channels % rows.block:
        raise fatal(
            f"Input channels ({rows.channels}) must be divisible by C_in_block ({rows.block})",
            "C_in % args.config.C_in_block == 0",
            hint="pad the channels of the input with zeros, and prepare the weights with alignment=32",
        )
    if rows.block % L1_ALIGNMENT:
        raise fatal(
            f"C_in_block ({rows.block}) must be a multiple of {L1_ALIGNMENT}",
            "args.config.C_in_block % l1_alignment == 0",
            hint=f"C_in_block={-(-rows.block // L1_ALIGNMENT) * L1_ALIGNMENT} in the config, or 0 for all channels",
        )


def check_weights(shape: tuple[int, ...], rows: Rows) -> None:
    """Raises RuntimeError when a matrix of filters has other rows or columns."""
    if len(shape) != 2:
        raise fatal(
            f"Unsupported weight tensor rank: {len(shape)}",
            hint="ttnn.experimental.prepare_conv3d_weights(weight_tensor=…, groups=…, device=…) makes the matrix",
        )
    if shape[0] != rows.count:
        raise fatal(
            f"Weight patch size must match input patch size. got {shape[0]} vs {rows.count}",
            "weight_tensor.logical_shape()[0] == patch_size",
            hint="prepare_conv3d_weights with the kernel_size, groups and C_in_block of the call",
        )
    if shape[1] != rows.out:
        raise fatal(
            f"Weight output channels must match input output channels. got {shape[1]} vs {rows.out}",
            "weight_tensor.logical_shape()[1] == args.output_channels",
            hint=f"output_channels={shape[1]}, or a matrix of {rows.out} columns",
        )


def matrix(stack: Array, groups: int, asked: int, alignment: int) -> Array:
    """Filters `(devices, out, in / groups, kt, kh, kw)` as matrices `(devices, kt*kh*kw*in, out)`, in blocks of `asked` channels."""
    devices, out, inner, *kernel = stack.shape
    channels = -(-inner * groups // alignment) * alignment
    dense = np.zeros((devices, out, channels, *kernel), stack.dtype)
    for group in range(groups):
        of = slice(group * (out // groups), (group + 1) * (out // groups))
        dense[:, of, group * inner : (group + 1) * inner] = stack[:, of]
    size = block(tuple(kernel), asked)
    if channels % size:
        raise fatal(
            "C_in_aligned must be divisible by C_in_block",
            f"{channels} % {size} == 0",
            hint=f"C_in_block={math.gcd(channels, size)}, or alignment={size}",
        )
    blocks = dense.reshape(devices, out, channels // size, size, *kernel)
    return blocks.transpose(0, 2, 4, 5, 6, 3, 1).reshape(devices, -1, out)
