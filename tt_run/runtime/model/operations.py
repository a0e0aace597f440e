"""From an operation's class and the shapes of its operands to the work that it is on one device.

Classes are those of the operations' declarations (`elementwise`, `matmul`, `norm`, …). What depends on a program's own tuning and is not
visible in shapes (block sizes, sub-blocks) is taken as the library chooses it by default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tt_run.runtime.model.work import FORMAT_BYTES, Kernel, Matmul, Work
from tt_run.runtime.tile import TILE_SIZE, tiles

FEW_ROWS = 4 * TILE_SIZE  # up to so many rows the library shares a matmul by columns
KERNELS = {
    "elementwise": "binary",
    "reduction": "reduction",
    "data movement": "movement",
    "creation": "movement",
    "pool": "reduction",
}
"""Class of cost -> the kernel of the data files that stands for it."""
NAMED = (
    # Beginning of an operation's name, its kernel on tensors in DRAM, its kernel on tensors in L1.
    ("nlp_create_qkv_heads", "create_heads", "create_heads_decode"),
    ("create_qkv_heads", "create_heads", "create_heads_decode"),
    ("split_query_key_value", "create_heads", "create_heads_decode"),
    ("nlp_concat_heads", "concat_heads", "concat_heads_decode"),
    ("concatenate_heads", "concat_heads", "concat_heads_decode"),
    ("rotary_embedding", "rotary", "rotary_decode"),
    ("typecast", "typecast", "typecast"),
    ("to_memory_config", "movement", "reshard"),
    ("interleaved_to_sharded", "to_sharded", "to_sharded"),
    ("sharded_to_interleaved", "to_interleaved", "to_interleaved"),
    ("reshard", "movement", "reshard"),
    ("plus_one", "plus_one_positions", "plus_one"),
    ("sampling", "sampling", "sampling"),
)
CACHES = ("paged_update_cache", "update_cache", "paged_fill_cache", "fill_cache", "paged_fused_update_cache")
"""Operations that write into a key or value cache: what they write counts, not the cache."""
HOST = "host and device"
"""The class of operations that carry tensors between host and devices."""
FREE = frozenset({"view", "unsqueeze", "squeeze", "unsqueeze_to_4D", "deallocate", "reallocate"})
"""Operations that move nothing on a device."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor on one device: its shape, its element type, and whether it lies in DRAM."""

    shape: tuple[int, ...]
    dtype: str = "bfloat16"
    in_dram: bool = True
    sharded: bool = False

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def tiles(self) -> int:
        """Tiles that it fills, the last two dimensions padded."""
        if not self.shape:
            return 1
        rows = self.shape[-2] if len(self.shape) > 1 else 1
        return math.prod(self.shape[:-2]) * tiles(rows) * tiles(self.shape[-1])

    @property
    def bytes(self) -> float:
        """Bytes of its tiles."""
        return self.tiles * TILE_SIZE * TILE_SIZE * FORMAT_BYTES.get(self.dtype, FORMAT_BYTES["float32"])


def work_of(
    name: str,
    kind: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    *,
    fidelity: str = "HiFi2",
    transposed: bool = False,
    traced: bool = False,
    ring: bool = False,
    causal: bool | None = None,
) -> Work | None:
    """The work of one call on one device; None for what costs nothing there. `kind` is its class of cost.

    `ring` says that a matmul's program passes the activations round a ring of cores; `causal`, that attention looks back only: None where
    a call does not say, which takes it from as many queries as keys.
    """
    if name in FREE or kind == "collective" or not (inputs or outputs):
        return None
    if kind == "matmul" and len(inputs) > 1 and outputs:
        return _matmul(inputs, outputs[0], fidelity, transposed, traced, ring)
    dram = sum(operand.bytes for operand in (*inputs, *outputs) if operand.in_dram)
    if kind in ("attention", "convolution") and len(inputs) > 1:
        return _products(kind, inputs, outputs, dram, traced, causal)
    if kind == "norm" and inputs:
        return _norm(inputs[0], dram, traced)
    return _tilewise(name, kind, inputs, outputs, dram, traced)


def _norm(first: Operand, dram: float, traced: bool) -> Kernel:
    """A row of tiles is one core's work, unless the tensor is sharded over cores."""
    if first.sharded:
        return Kernel("layer_norm_decode", first.tiles, traced=traced)
    rows = -(-first.tiles // tiles(first.shape[-1]))
    return Kernel("norm_after_gather", first.tiles, dram, cores=rows, traced=traced)


def _tilewise(
    name: str,
    kind: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    dram: float,
    traced: bool,
) -> Kernel:
    """Operations whose time follows from their tiles or their bytes."""
    in_l1 = not any(operand.in_dram for operand in (*inputs, *outputs))
    if kind == HOST:
        return Kernel("host", 1, sum(operand.bytes for operand in (outputs or inputs)))
    if name in CACHES:
        written = inputs[1] if len(inputs) > 1 else inputs[0]
        in_dram = written.in_dram
        return Kernel(
            "update_cache" if in_dram else "update_cache_decode",
            written.tiles,
            2 * written.bytes,
            traced=traced,
        )
    if name == "embedding" and outputs:
        return Kernel("embedding_decode", outputs[0].tiles, 2 * outputs[0].bytes, traced=traced)
    largest = max((operand.tiles for operand in (*outputs, *inputs)), default=1)
    for start, outside, inside in NAMED:
        if name.startswith(start):
            return Kernel(inside if in_l1 else outside, largest, dram, traced=traced)
    if kind == "sort":
        # Measured as a whole, over the cores that it takes.
        return Kernel("topk", largest, dram, cores=1, traced=traced)
    found = "binary_decode" if in_l1 and kind == "elementwise" else KERNELS.get(kind, "other")
    return Kernel(found, largest, dram, traced=traced)


def _matmul(
    inputs: Sequence[Operand], output: Operand, fidelity: str, transposed: bool, traced: bool, ring: bool
) -> Matmul:
    """Leading dimensions that only the first operand has are rows; those of both are a batch."""
    first, second = inputs[0], inputs[1]
    k = first.shape[-2] if transposed and len(first.shape) > 1 else first.shape[-1]
    n = output.shape[-1]
    batch = max(math.prod(second.shape[:-2]), 1)
    m = max(output.elements // max(n * batch, 1), 1)
    banked = second.sharded and second.in_dram
    if m > FEW_ROWS:
        program = "2d"
    else:
        program = "ring" if ring else "dram_sharded" if banked else "few"
    if batch > 1:
        program = "batched"
    formats = ("bfloat16", "bfloat8_b", "bfloat4_b", "float32")
    weights = second.dtype if second.dtype in formats else "bfloat16"
    return Matmul(
        m,
        k,
        n,
        batch=batch,
        activations=first.dtype if first.dtype in formats else "bfloat16",
        weights=weights,
        output=output.dtype if output.dtype in formats else "bfloat16",
        fidelity="LoFi" if weights == "bfloat4_b" else fidelity,
        program=program,
        traced=traced,
    )


def _products(
    kind: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    dram: float,
    traced: bool,
    causal: bool | None,
) -> Kernel:
    """Attention and convolution as their multiplications of tiles."""
    first, second = inputs[0], inputs[1]
    if kind == "attention":
        rows = first.shape[-2] if len(first.shape) > 1 else 1
        keys = second.shape[-2] if len(second.shape) > 1 else 1
        heads = math.prod(first.shape[:-2])
        products = 2 * heads * tiles(rows) * tiles(keys) * tiles(first.shape[-1])
        if rows <= TILE_SIZE and keys > rows:
            # Decoding reads the keys and values once; that bounds it.
            return Kernel("sdpa_decode", tiles(first.shape[-1]) * heads, dram, cores=None, traced=traced)
        half = rows == keys if causal is None else causal
        return Kernel("sdpa", products / 2 if half else products, dram, traced=traced)
    # Each element of the result sees one filter of [out, in / groups, height, width].
    seen = second.elements // max(second.shape[0], 1)
    products = math.ceil((outputs[0] if outputs else first).elements * seen / TILE_SIZE**3)
    return Kernel("sdpa", max(products, 1), dram, traced=traced)
