"""From an operation's class and the shapes of its operands to the work that it is on one device.

Classes are those of the operations' declarations (`elementwise`, `matmul`, `norm`, …). What depends on a program's own tuning and is not
visible in shapes (block sizes, sub-blocks) is taken as the library chooses it by default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tt_run.runtime.model.compute import tiles
from tt_run.runtime.model.work import FORMAT_BYTES, TILE, Kernel, Matmul, Work

FEW_ROWS = 4 * TILE  # up to so many rows the library shares a matmul by columns
KERNELS = {
    "elementwise": "binary",
    "reduction": "reduction",
    "data movement": "movement",
    "creation": "movement",
    "sort": "topk",
    "pool": "reduction",
}
"""Class of cost -> the kernel of the data files that stands for it."""
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
        return self.tiles * TILE * TILE * FORMAT_BYTES.get(self.dtype, FORMAT_BYTES["float32"])


def work_of(
    name: str,
    kind: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    *,
    fidelity: str = "HiFi2",
    transposed: bool = False,
    traced: bool = False,
) -> Work | None:
    """The work of one call on one device; None for what costs nothing there. `kind` is its class of cost."""
    if name in FREE or kind == "collective" or not (inputs or outputs):
        return None
    if kind == "matmul" and len(inputs) > 1 and outputs:
        return _matmul(inputs, outputs[0], fidelity, transposed, traced)
    dram = sum(operand.bytes for operand in (*inputs, *outputs) if operand.in_dram)
    if kind in ("attention", "convolution") and len(inputs) > 1:
        return _products(kind, inputs, dram, traced)
    largest = max((operand.tiles for operand in (*outputs, *inputs)), default=1)
    if kind == "norm" and inputs:
        rows = -(-inputs[0].tiles // tiles(inputs[0].shape[-1]))
        return Kernel("norm_after_gather", inputs[0].tiles, dram, cores=rows, traced=traced)
    return Kernel(KERNELS.get(kind, "other"), largest, dram, traced=traced)


def _matmul(
    inputs: Sequence[Operand], output: Operand, fidelity: str, transposed: bool, traced: bool
) -> Matmul:
    """Leading dimensions that only the first operand has are rows; those of both are a batch."""
    first, second = inputs[0], inputs[1]
    k = first.shape[-2] if transposed and len(first.shape) > 1 else first.shape[-1]
    n = output.shape[-1]
    batch = max(math.prod(second.shape[:-2]), 1)
    m = max(output.elements // max(n * batch, 1), 1)
    program = "2d" if m > FEW_ROWS else "dram_sharded" if second.sharded and second.in_dram else "1d"
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


def _products(kind: str, inputs: Sequence[Operand], dram: float, traced: bool) -> Kernel:
    """Attention and convolution as their multiplications of tiles."""
    first, second = inputs[0], inputs[1]
    if kind == "attention":
        rows = first.shape[-2] if len(first.shape) > 1 else 1
        keys = second.shape[-2] if len(second.shape) > 1 else 1
        heads = math.prod(first.shape[:-2])
        products = 2 * heads * tiles(rows) * tiles(keys) * tiles(first.shape[-1])
        # One query row at a time is decoding: reading keys and values bounds it.
        name = "sdpa_decode_long" if rows <= TILE and keys > TILE else "sdpa"
        return Kernel(name, products / 2 if rows == keys else products, dram, traced=traced)
    filters = second.elements // max(second.shape[0], 1)
    products = math.ceil(first.elements * filters / TILE**3)
    return Kernel("sdpa", max(products, 1), dram, traced=traced)
