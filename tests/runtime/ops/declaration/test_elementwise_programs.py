"""How many programs calls of elementwise operations make: counts of `num_program_cache_entries` of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE
from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import DataType, Layout, ShardStrategy
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    L1_MEMORY_CONFIG,
    MemoryConfig,
    create_sharded_memory_config,
)
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam

Shape = tuple[int, ...]
Call = Callable[[Callable[..., Any]], Any]

TWO = create_sharded_memory_config((64, 64), CoreGrid(y=1, x=2), ShardStrategy.HEIGHT)
FOUR = create_sharded_memory_config((128, 64), CoreGrid(y=1, x=4), ShardStrategy.HEIGHT)


def of(
    name: str,
    *given: Shape | float,
    kind: DataType = BF16,
    layout: Layout = TILE,
    place: MemoryConfig | None = None,
    **words: Any,
) -> Call:
    """A call of an operation with tensors of the given shapes, and with numbers."""

    def call(tensor: Callable[..., Any]) -> Any:
        placed = [tensor(each, kind, layout, place) if isinstance(each, tuple) else each for each in given]
        return getattr(ops, name)(*placed, **words)

    return call


def activated(*params: float) -> dict[str, Any]:
    return {"activations": [UnaryWithParam(UnaryOpType.POWER, *params)]}


S, B = (64, 64), (2, 64, 64)
COUNTS = {
    "tiles of any shape": [(of("relu", S), 1), (of("relu", (33, 33)), 0), (of("relu", (2, 3, 64, 96)), 0)],
    "rows": [(of("relu", (4, 8), layout=ROW), 1), (of("relu", (8, 8), layout=ROW), 1)],
    "types and places": [
        (of("exp", S), 1),
        (of("exp", S, kind=F32), 1),
        (of("exp", S, place=L1_MEMORY_CONFIG), 1),
        (of("exp", S, memory_config=L1_MEMORY_CONFIG), 1),
        (of("exp", S, place=L1_MEMORY_CONFIG, memory_config=L1_MEMORY_CONFIG), 0),
    ],
    "numbers of one operand": [
        (of("leaky_relu", S, 0.5), 1),
        (of("leaky_relu", (32, 32), 0.5), 0),
        (of("leaky_relu", S, 0.25), 1),
    ],
    "other names": [
        (of("silu", S), 1),
        (of("swish", S), 0),
        (of("clip", S, 0.0, 1.0), 1),
        (of("clamp", S, 0.0, 1.0), 0),
        (of("clamp", S, 0.0, 2.0), 1),
        (of("add", S, S), 1),
        (of("add_", (32, 32), (32, 32)), 0),
    ],
    "what is repeated": [
        (of("add", S, S), 1),
        (of("add", B, S), 0),
        (of("add", S, (64, 1)), 1),
        (of("add", (32, 64), (32, 1)), 0),
        (of("add", S, (1, 64)), 1),
        (of("add", S, (1, 1)), 1),
        (of("add", (64, 1), (1, 1)), 0),
        (of("add", (1, 1), (64, 1)), 1),
        (of("add", (64, 1), S), 1),
        (of("add", (64, 1), (1, 64)), 1),
        (of("add", (1, 64), (64, 1)), 1),
        (of("add", (1, 1), (1, 1)), 0),
    ],
    "pairs in rows": [
        (of("add", (4, 8), (4, 8), layout=ROW), 1),
        (of("add", (2, 4, 16), (4, 16), layout=ROW), 0),
    ],
    "numbers beside a tensor": [(of("multiply", S, 2.0), 1), (of("multiply", (32, 32), 3), 0)],
    "numbers of one operand after all": [
        (of("maximum", S, 2.0), 1),
        (of("maximum", S, 3.0), 1),
        (of("maximum", S, 3), 1),
        (of("pow", S, 3.0), 1),
        (of("pow", S, 3), 0),
    ],
    "pieces": [
        (of("relu", S, place=TWO), 1),
        (of("relu", (32, 64), place=TWO), 0),
        (of("relu", (128, 64), place=FOUR), 1),
        (of("multiply", S, S, place=TWO), 1),
        (of("multiply", (2, 32, 64), (2, 32, 64), place=TWO), 0),
        (of("multiply", (32, 64), (32, 64), place=TWO), 1),
    ],
    "activations": [
        (of("add", S, S), 1),
        (of("add", S, S, activations=[]), 0),
        (of("add", S, S, **activated(2.0)), 1),
        (of("add", S, S, **activated(3.0)), 1),
    ],
    "what is so anyway": [
        (of("add", S, S), 1),
        (of("add", S, S, dtype=BF16, fast_and_approximate_mode=True), 0),
        (of("add", S, S, fast_and_approximate_mode=False), 1),
        (of("multiply", S, S), 1),
        (of("multiply", S, S, fast_and_approximate_mode=False), 0),
        (of("hardtanh", S), 1),
        (of("hardtanh", S, min_val=-1.0, max_val=1.0), 0),
        (of("sigmoid", S), 1),
        (of("sigmoid_accurate", S), 0),
    ],
    "three tensors": [
        (of("addcmul", S, S, S), 1),
        (of("addcmul", B, B, B), 0),
        (of("addcmul", S, S, S, value=2.0), 0),
        (of("addcmul", (32, 64), (32, 64), (32, 64)), 1),
        (of("addcmul", B, S, S), 1),
        (of("addcmul", (3, 64, 64), S, S), 0),
    ],
    "numbers for tensors": [
        (of("where", S, S, 2.0), 1),
        (of("where", (32, 32), (32, 32), 3), 0),
        (of("where", S, 2.0, S), 1),
        (of("where", S, 1.0, 2.0), 1),
        (of("where", (32, 32), 1, 2), 0),
        (of("where", S, 1.0, 3.0), 1),
        (of("lerp", S, S, 0.5), 1),
        (of("lerp", (32, 32), (32, 32), 0.5), 1),
    ],
    "scales": [
        (of("quantize", S, 0.5, 1, kind=F32), 1),
        (of("quantize", (30, 30), 0.25, 2, kind=F32), 0),
        (of("dequantize", S, 0.5, 1, kind=I32), 1),
    ],
}


@pytest.mark.parametrize("calls", COUNTS.values(), ids=COUNTS)
def test_programs_that_calls_make(one: MeshDevice, calls: list[tuple[Call, int]]) -> None:
    def tensor(shape: Shape, dtype: DataType, layout: Layout, place: MemoryConfig | None) -> Any:
        return from_torch(np.ones(shape), dtype=dtype, layout=layout, device=one, memory_config=place)

    one.clear_program_cache()
    made = []
    for call, _count in calls:
        before = one.num_program_cache_entries()
        call(tensor)
        made.append(one.num_program_cache_entries() - before)
    assert made == [count for _call, count in calls]
