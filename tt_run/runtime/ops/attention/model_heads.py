"""Heads of the widths that one model has (Falcon-7B, Segformer), and heads of queries in two. PyTorch computes them. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare
from tt_run.runtime.ops.reduction.outer_dims import check_two_parts
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import whole_tiles

HEAD_WIDTH = 32
"""Columns of each head of Segformer."""


def _heads(x: Any, count: int, turned: bool = False) -> Any:
    batch, _, length, width = x.shape
    out = x.reshape(batch, length, count, width // count)
    return out.permute(0, 2, 3, 1) if turned else out.permute(0, 2, 1, 3)


def _in_whole_rows(x: Any) -> Any:
    spare = whole_tiles(x.shape[-2]) - x.shape[-2]
    return library().nn.functional.pad(x, (0, 0, 0, spare)) if spare else x


def _check_spread(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for results that are to lie on cores."""
    if (arguments["memory_config"] or given[0].memory_config()).is_sharded():
        word = name.rpartition(".")[2]
        raise fatal(
            f"Sharded output memory config is not supported for {word}",
            hint="memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )


def _segformer_heads(x: Any) -> Any:
    """Heads 32 wide of one projection. The reference gives three results and writes the first of them alone."""
    if x.shape[-1] % HEAD_WIDTH:
        raise fatal(
            f"nlp_create_qkv_heads_segformer: heads are {HEAD_WIDTH} wide, and {x.shape[-1]} is no multiple of it",
            hint=f"ttnn.pad the last dimension to {-(-x.shape[-1] // HEAD_WIDTH) * HEAD_WIDTH}",
        )
    heads = _heads(_in_whole_rows(x), x.shape[-1] // HEAD_WIDTH)
    return [heads, heads.new_zeros(heads.shape), heads.new_zeros(heads.shape)]


def _falcon_heads(x: Any) -> Any:
    """71 heads of queries, one of keys, one of values, each 64 wide."""
    if x.shape[-1] != 73 * 64:
        raise fatal(
            f"nlp_create_qkv_heads_falcon7b needs a width of {73 * 64}, got {x.shape[-1]}",
            hint="ttnn.experimental.nlp_create_qkv_heads(x, num_heads=…, num_kv_heads=…) takes other widths",
        )
    q, k, v = _in_whole_rows(x).split((71 * 64, 64, 64), -1)
    return [_heads(q, 71), _heads(k, 1), _heads(v, 1)]


def _heads_in_two(x: Any, num_heads: int, split_head_dim: int) -> list[Any]:
    if x.shape[-1] % max(num_heads, 1):
        raise fatal(
            f"nlp_create_q_heads_split: {x.shape[-1]} columns are not those of {num_heads} heads",
            hint=f"num_heads={math.gcd(x.shape[-1], max(num_heads, 1))}",
        )
    found = _heads(x, num_heads)
    check_two_parts("nlp_create_q_heads_split", found.shape, split_head_dim)
    return [found[..., :split_head_dim].contiguous(), found[..., split_head_dim:].contiguous()]


HEADS = declare(
    families.HEADS,
    Row("experimental.nlp_create_qkv_heads_falcon7b", f"(input: Tensor, *, {PLACED})", _falcon_heads,
        "Falcon-7B's 71 heads of queries, one of keys and one of values, with the rows of whole tiles.", check=_check_spread),
    Row("experimental.nlp_create_qkv_heads_segformer",
        f"(input: Tensor, *, {PLACED}, output_tensors: Sequence[Tensor] | None = None)", _segformer_heads,
        "Heads 32 wide of Segformer's queries, keys or values, with the rows of whole tiles: the first result, as many zeros twice.",
        check=_check_spread),
    Row("experimental.nlp_create_q_heads_split",
        f"(input: Tensor, *, num_heads: int, split_head_dim: int, {PLACED})", _heads_in_two,
        "Heads of (B, 1, S, H D) in two: their first split_head_dim columns and the others."),
)  # fmt: skip
