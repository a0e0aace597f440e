"""What fused products are made of: the product with what is fused into it, and its parts along N."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.products.minimal import unchecked
from tt_run.runtime.ops.products.minimal_checks import MinimalCall
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]


def fused_product(call: MinimalCall, memory_config: MemoryConfig | None) -> Tensor:
    """The product with what is fused into it, rounded once. Raises RuntimeError for parts that exclude each other."""
    base, factor, scale = call.ternary
    if call.gated and (base is not None or call.activation is not None):
        raise fatal(
            "fuse_swiglu excludes fused_activation and the fused addcmul",
            hint="leave fuse_swiglu out, or fused_activation and the three of addcmul",
        )
    if base is not None and (factor is None or scale is None):
        raise fatal(
            "the fused addcmul needs both of its tensors and the scalar",
            hint="give all three, or none and ttnn.addcmul(…) on the result",
        )
    return unchecked(call, memory_config)[0]


def in_chunks(whole: Tensor, count: int, sizes: Sequence[int]) -> list[Tensor]:
    """A product cut along N."""
    width = whole.shape[-1]
    lengths = list(sizes) or [width // max(count, 1)] * count
    if sum(lengths) != width:
        raise fatal(
            f"{width} columns cannot be cut into {lengths or count}",
            "N % chunks == 0",
            hint=f"sizes whose sum is {width}, or a number of parts that divides it",
        )
    if len(lengths) == 1:
        return [whole]
    ends = np.cumsum(lengths).tolist()
    cuts = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    return [whole.derive(whole.shards.map(partial(_columns, cut))) for cut in cuts]


def _columns(cut: slice, values: Array) -> Array:
    return values[..., cut].copy()
