"""Operations that are a collective and more: what each of them is as work, its collective known from its own event.

Matmuls fused with a collective run beside it; heads and norms of decoders follow theirs. What fused decoders reach is measured on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tt_run.runtime.model.operations import Operand
from tt_run.runtime.model.work import Collective, Kernel, Matmul, Together, Work
from tt_run.runtime.tile import tiles

NORM_CORES = 16  # cores that a decoder's norm with its gather runs on
Products = Callable[[Operand, Operand, int], Matmul]
"""Rows' operand, weights, number of rows -> the matmul, as the call's tuning has it."""


def is_fused(name: str) -> bool:
    """Whether an operation computes beside its collective, by its short name."""
    return name in HEADS or name in ("fused_rms_minimal", "llama_rs_matmul") or "matmul" in name


def works_of(
    name: str, inputs: Sequence[Operand], collectives: Sequence[Collective], product: Products
) -> list[Work]:
    """The works of one call; `inputs` are its tensors in order, `collectives` those that it called."""
    if name == "fused_rms_minimal":
        # Measured as one: its few sums travel while the rest is added up.
        return [Kernel("rms_all_gather", tiles(inputs[0].shape[-1]), cores=NORM_CORES)]
    if name in HEADS:
        return [*collectives, Kernel(HEADS[name], 1)]
    products = _products(name, inputs, collectives, product)
    if not products or not collectives:
        return [*products, *collectives]
    return [Together((products[-1], *collectives)), *products[:-1]]


HEADS = {
    "llama_rs_create_heads": "create_heads_decode",
    "all_reduce_create_qkv_heads": "create_heads_decode",
    "all_gather_concat": "concat_heads_decode",
}
"""Operation -> the kernel that follows its collective."""


def _products(
    name: str, inputs: Sequence[Operand], collectives: Sequence[Collective], product: Products
) -> list[Matmul]:
    """The matmuls of a call: of its first tensor, gathered where it has fewer columns than the weights rows, with one or two weights."""
    if len(inputs) < 2:
        return []
    first, weights = inputs[0], inputs[1]
    inner = weights.shape[-2]
    size = collectives[0].size if collectives and first.shape[-1] != inner else 1
    rows = max(first.elements * size // inner, 1)
    found = [product(first, weights, rows)]
    # Of llama_rs_matmul the second weights, not the tensor that it scatters.
    second = [other for other in inputs[2:] if other.shape[-2:] == weights.shape[-2:]]
    return found + [product(first, other, rows) for other in second[:1] if name == "llama_rs_matmul"]
