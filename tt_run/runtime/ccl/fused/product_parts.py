"""What fused products are made of: the product with what is fused into it, and its parts along N."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.broadcast import align
from tt_run.runtime.ops.declaration.operands import settle
from tt_run.runtime.ops.products.minimal import columns, scaled_sum, unchecked
from tt_run.runtime.ops.products.minimal_checks import (
    Faults,
    MinimalCall,
    blocks,
    cores,
    cut,
    depth,
    fused,
    operands,
)
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.shards import Shards, combine

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


@dataclass(frozen=True)
class Gathered:
    """What `all_gather_minimal_matmul_async` is asked for besides its product: the parts along N, and who sends over how many links."""

    held: int
    dim: int
    chunks: int
    sizes: Sequence[int]
    links: int
    workers: int
    turned: bool


def check_gathered(call: MinimalCall, asked: Gathered) -> None:
    """Raises RuntimeError for what `all_gather_minimal_matmul_async` does not take; of `call` the input is gathered, of which a rank held columns."""
    for look in (
        operands,
        depth,
        partial(_gates, asked),
        partial(_cuts, asked),
        fused,
        partial(_own_blocks, asked),
        blocks,
    ):
        for message, hint in look(call):
            raise fatal(message, hint=hint)
    for message, hint in _senders(asked, call):
        raise fatal(message, hint=hint)


def _gates(asked: Gathered, call: MinimalCall) -> Faults:
    if not call.gated:
        return
    name, pair = f"{call.name} fuse_swiglu", 2 * TILE_SIZE
    if call.activation is not None or call.ternary[2] is not None:
        yield f"{name} is mutually exclusive with fused_activation / ternary", "leave one of the two out"
    if asked.chunks > 1:
        yield f"{name} does not yet support chunks > 1", "chunks=1, and ttnn.split of the result"
    if call.wide % pair:
        yield (
            f"{name} requires weight width N={call.wide} to be a multiple of 2*TILE_WIDTH={pair}",
            f"pad the weight to a multiple of {pair} columns",
        )


def _cuts(asked: Gathered, call: MinimalCall) -> Faults:
    chunks, sizes = asked.chunks, list(asked.sizes)
    if chunks < 1:
        yield f"minimal_matmul requires chunks >= 1, got chunks={chunks}", "chunks=1"
    if asked.dim != -1:
        yield f"minimal_matmul currently only supports dim=-1, got dim={asked.dim}", "dim=-1"
    if not sizes and chunks > 1:
        yield from cut(call.wide, chunks)
    if sizes and len(sizes) != chunks:
        yield (
            f"chunk_sizes must have exactly chunks={chunks} entries, got {len(sizes)}",
            f"chunks={len(sizes)}",
        )
    for place, size in enumerate(sizes):
        if size < 1:
            yield f"chunk_sizes[{place}] must be > 0", "leave empty parts out"
        if size % TILE_SIZE:
            yield (
                f"chunk_sizes[{place}]={size} must be a multiple of TILE_WIDTH={TILE_SIZE}",
                "sizes of whole tiles",
            )
    if sizes and sum(sizes) != call.wide:
        yield (
            f"chunk_sizes must sum to the output width N={call.wide}, got {sum(sizes)}",
            f"sizes whose sum is {call.wide}",
        )
    base, factor, scale = call.ternary
    if scale is None and base is not None and factor is not None:
        yield "fused_ternary_scalar must be provided when addcmul input tensors are provided", "scalar=1.0"


def _own_blocks(asked: Gathered, call: MinimalCall) -> Faults:
    block, held = getattr(call.config, "K_block_size", 0), -(-asked.held // TILE_SIZE)
    if block > held:
        yield (
            f"K_block_size ({block}) must be <= K tiles per device ({held})",
            f"K_block_size={held}",
        )


def _senders(asked: Gathered, call: MinimalCall) -> Faults:
    """The cores that send are one row of the grid, or one column; each link has its share of them."""
    grid = cores(call, call.config)
    high = call.high * math.prod(call.x.shape[:-2])
    axis = grid.x if asked.turned or high > call.wide else grid.y
    if -(-axis // max(asked.workers, 1)) != asked.links:
        yield (
            f"The in0 sender axis ({axis}) must form exactly num_links ({asked.links}) groups of num_workers_per_link ({asked.workers})",
            f"num_links={max(asked.links, 1)}, num_workers_per_link={-(-axis // max(asked.links, 1))}",
        )


def _added(tensor: Tensor, ternary: tuple[Tensor, Tensor, float], dtype: DataType) -> Shards:
    base, factor, scale = ternary

    def added(values: Array, a: Array, b: Array) -> Array:
        rank = max(values.ndim, a.ndim, b.ndim) - 1
        values, a, b = (align(each, rank) for each in (values, a, b))
        return convert(scaled_sum(np.float32(scale), values, a, b), dtype)

    return combine(added, tensor.shards, base.shards, factor.shards)


def added_to_sums(
    sums: Tensor, base: Tensor | None, factor: Tensor | None, scale: float | None, output: Tensor | None
) -> Tensor:
    """base + scale * sums * factor, of the sums that each device has.

    Raises RuntimeError where one of the three is missing, and for shapes that are not those of the sums.
    """
    if base is None or factor is None:
        raise fatal(
            "Both addcmul_input_tensor1 and addcmul_input_tensor2 must be provided together.",
            hint="give both, or none and ttnn.addcmul(…) on the result",
        )
    if scale is None:
        raise fatal(
            "fused_ternary_scalar must be set when addcmul inputs are provided.",
            hint="fused_ternary_scalar=1.0",
        )
    rows, width = math.prod(sums.shape[:-1]), sums.shape[-1]
    for number, given, fitting in ((1, base, [rows]), (2, factor, [1, rows])):
        if math.prod(given.shape[:-1]) not in fitting or given.shape[-1] != width:
            raise fatal(
                f"addcmul_input_tensor{number} has shape {list(given.shape)}, the scattered sums {list(sums.shape)}",
                hint=f"what each device has of it: [{' or '.join(map(str, fitting))}, {width}] "
                f"({width} is N / ring_size)",
            )
    return settle((sums, base, factor), _added(sums, (base, factor, scale), sums.dtype), sums.dtype,
        memory_config=sums.memory_config(), output_tensor=output,
    )  # fmt: skip


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
    return [whole.derive(whole.shards.map(partial(columns, cut))) for cut in cuts]
