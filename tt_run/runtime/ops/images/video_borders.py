"""What lies around a device's part of a video: its neighbours' borders, and what the whole video does not have.

Source: refusals and shapes of reference library 0.81.1, and how programs of video decoders call it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import as_type, fatal, in_rows
from tt_run.runtime.kernels import borders
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Around:
    """Borders of neighbours, and the height and width of the whole video (0: any) with the first row and column of each device."""

    halo: Tensor | None
    height: int
    width: int
    starts: Tensor | None

    def check(
        self,
        video: Tensor,
        kernel: tuple[int, ...],
        spread: tuple[int, ...],
        mode: str,
        above: int,
        beside: int,
    ) -> None:
        """Raises RuntimeError for borders and starts of another kind, for too few borders, and for windows that have none."""
        if self.starts is not None and self.starts.dtype is not DataType.UINT32:
            raise fatal(
                f"Pad offset tensor must be uint32. got {cpp(self.starts.dtype)}",
                hint=as_type("pad_offset_tensor", "uint32"),
            )
        halo = self.halo
        if halo is None:
            return
        if mode != "zeros":
            raise fatal(f'Halo mode requires padding_mode "zeros". got {mode}', hint="padding_mode='zeros'")
        if math.prod(kernel) == 1 or set(spread) != {1}:
            raise fatal(
                f"Halo mode requires a kernel with spatial reuse and no dilation. got kernel_size={kernel}, dilation={spread}",
                hint="ttnn.experimental.halo_scatter(halo_buffer, input_tensor, …), and a convolution of that",
            )
        if halo.layout is not Layout.ROW_MAJOR:
            raise fatal("Halo buffer must be row-major.", hint=in_rows("halo_buffer"))
        if halo.dtype is not video.dtype:
            raise fatal(
                f"Halo buffer dtype must match the input dtype. got {cpp(halo.dtype)} vs {cpp(video.dtype)}",
                hint=as_type("halo_buffer", video.dtype.name.lower()),
            )
        sizes = [tensor.shape[-1] * tensor.element_size() for tensor in (halo, video)]
        if sizes[0] != sizes[1]:
            raise fatal(
                f"Halo buffer page size ({sizes[0]} B) must match the input's ({sizes[1]} B); the reader fetches halo sticks with the input's "
                "row size",
                hint=f"rows of {video.shape[-1]} channels",
            )
        *outer, rows, columns, _ = video.shape
        frames, held = math.prod(outer), math.prod(tuple(halo.shape)[:-1])
        needed = borders.rows_around(frames, rows, columns, above, beside)
        if held < needed:
            raise fatal(
                f"Halo buffer holds {held} pages but the [Htop|Hbot|Wleft|Wright] sections need {needed} (N*T_in={frames}, H_in={rows}, "
                f"W_in={columns}, pad_h={above}, pad_w={beside})",
                hint="the buffer that ttnn.experimental.neighbor_pad_halo filled",
            )

    def put(self, video: Tensor, above: int, beside: int) -> Tensor:
        """The video with these borders around it, and zeros where the whole video has nothing."""
        inside = self.halo is None
        if self.halo is not None:

            def around(halo: Array, shard: Array) -> Array:
                return borders.with_borders(
                    halo.reshape(-1, halo.shape[-1]), shard, above, beside, inside=False
                )

            shards = combine(_each(around), self.halo.shards, video.shards)
            video = video.derive(shards, memory_config=DRAM_MEMORY_CONFIG)
        if self.starts is None or not (self.height or self.width):
            return video
        before = (0, 0) if inside else (above, beside)
        cut = partial(_cut, limits=(self.height, self.width), before=before)
        return video.derive(combine(_each(cut), video.shards, self.starts.shards))


def _cut(video: Array, starts: Array, limits: tuple[int, int], before: tuple[int, int]) -> Array:
    """A shard with zeros in the rows and columns that lie behind the limits, counted from its first ones' places in the whole."""
    first = starts.reshape(-1)
    if len(first) < len(limits):
        raise fatal(
            f"conv3d: pad_offset_tensor must hold the first row and column of each device, got {tuple(starts.shape)}",
            hint="[1, 2] on each device: (h_start, w_start)",
        )
    out = video.copy()
    for axis, (start, limit, shift) in enumerate(zip(first, limits, before, strict=False), video.ndim - 3):
        behind = np.arange(video.shape[axis]) + int(start) - shift >= limit
        if limit and behind.any():
            out[(slice(None),) * axis + (behind,)] = 0
    return out


def _each(function: Any) -> Any:
    return lambda *stacks: np.stack([function(*rows) for rows in zip(*stacks, strict=True)])
