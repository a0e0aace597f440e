"""What delta attention's operations refuse, in the reference's words. Source: reference library 0.81.1 and its tests."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, TILE, U32, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import ShardStrategy
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import create_sharded_memory_config

FLAT, BETA = (1, 64, 64), (1, 64, 2)


def call(device: MeshDevice, name: str, shapes: Any, *arguments: Any, **words: Any) -> Any:
    operation = catalog.find(f"ttnn.experimental.kda.{name}")
    assert operation is not None
    tensors = [put(device, np.ones(shape, np.float32), BF16, TILE) for shape in shapes]
    return operation(*tensors, *arguments, **words)


@pytest.mark.parametrize(
    ("changed", "heads", "words", "message"),
    [
        ({}, 0, {}, "num_heads must be positive"),
        ({1: (1, 2, 32, 64)}, 2, {}, "q, k, v, and g must be rank 3 production-flat tensors"),
        ({0: (2, 64, 64)}, 2, {}, "q, k, v, and g must have leading dimension 1"),
        ({3: (1, 64, 32)}, 2, {}, "q, k, and g must have matching shapes"),
        ({2: (1, 32, 64)}, 2, {}, "q, k, v, and g must have matching sequence lengths"),
        (dict.fromkeys(range(4), (1, 48, 64)), 2, {}, "sequence length must be positive and divisible by 32"),
        ({}, 3, {}, "flat widths must be divisible by num_heads"),
        (dict.fromkeys((0, 1, 3), (1, 64, 96)), 2, {}, "K and V must be positive and tile aligned"),
        ({2: (1, 64, 96)}, 2, {}, "K and V must be positive and tile aligned"),
        ({4: (1, 32, 2)}, 2, {}, "beta logits must be token-major [1, num_chunks * 32, columns]"),
        ({}, 2, {"beta_logits_column_offset": 1}, "with a tile-aligned column offset"),
        ({}, 2, {"output_bf16_mask": 0x40}, "unsupported KDA prep BF16 mask 0x40"),
        ({}, 2, {"gate_scale": float("inf")}, "gate_scale must be finite"),
    ],
)
def test_chunks(one: MeshDevice, changed: Any, heads: int, words: Any, message: str) -> None:
    shapes = [changed.get(at, BETA if at == 4 else FLAT) for at in range(5)]
    with pytest.raises(RuntimeError, match=re.escape(f"prepare_chunk_recurrence: {message}" if "aligned column" not in message else message)):  # fmt: skip
        call(one, "prepare_chunk_recurrence", shapes, heads, **words)


def test_an_end_needs_a_start(one: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="prepare_chunk_recurrence: actual_end requires actual_start"):
        call(one, "prepare_chunk_recurrence", [FLAT] * 4 + [BETA], 2, actual_end=put(one, [64], U32))


@pytest.mark.parametrize(
    ("rows", "gate", "weight", "heads", "words", "message"),
    [
        ((2, 32, 32), (1, 32, 64), (32,), 0, {}, "num_heads must be positive"),
        ((32, 32), (1, 32, 64), (32,), 2, {}, "input must be [B*H,T,V]"),
        ((2, 32, 32), (32, 64), (32,), 2, {}, "gate must be rank 3 [B,T,W]"),
        ((3, 32, 32), (1, 32, 64), (32,), 2, {}, "leading dimension must be divisible by num_heads"),
        ((2, 31, 32), (1, 31, 64), (32,), 2, {}, "sequence must be positive and tile aligned"),
        ((2, 32, 16), (1, 32, 64), (16,), 2, {}, "value_dim must be positive and tile aligned"),
        ((2, 32, 32), (1, 32, 96), (32,), 2, {"gate_column_offset": 5}, "gate_column_offset must be tile aligned"),
        ((2, 32, 32), (1, 32, 32), (32,), 2, {}, "must be [B, T, W] and hold H*V = 64 columns at gate_column_offset 0"),
        ((2, 32, 32), (1, 32, 64), (64,), 2, {}, "weight volume must equal V"),
        ((2, 32, 32), (1, 32, 64), (32,), 2, {"epsilon": 0.0}, "epsilon must be finite and positive"),
        ((2, 32, 32), (1, 32, 64), (32,), 2, {"output_dtype": U32}, "output_dtype must be FLOAT32 or BFLOAT16"),
        (
            (2, 32, 32), (1, 32, 64), (32,), 2,
            {"memory_config": create_sharded_memory_config([1, 1, 32, 64], CoreGrid(x=1, y=1), ShardStrategy.HEIGHT)},
            "output memory configuration must be interleaved",
        ),
    ],
)  # fmt: skip
def test_gated_heads(one: MeshDevice, rows: Any, gate: Any, weight: Any, heads: int, words: Any, message: str) -> None:  # fmt: skip
    with pytest.raises(RuntimeError, match=re.escape(message)):
        call(one, "sigmoid_gated_rms_norm", [rows, gate, weight], heads, **words)


@pytest.mark.parametrize(
    ("a", "b", "groups", "message"),
    [
        ((64, 64), (64, 32), 1, "inputs must be rank 3"),
        ((2, 32, 32), (1, 32, 32), 1, "inputs must have matching leading dimensions"),
        ((2, 32, 64), (2, 32, 32), 1, "a must contain square KxK matrices"),
        ((2, 32, 32), (2, 64, 32), 1, "a and b must have matching K dimensions"),
        ((2, 16, 16), (2, 16, 32), 1, "K and V must be positive and tile aligned"),
        ((2, 32, 32), (2, 32, 32), 0, "groups_per_head must be positive"),
        ((3, 32, 32), (3, 32, 32), 2, "leading dimension must be divisible by groups_per_head"),
    ],
)
def test_transitions(one: MeshDevice, a: Any, b: Any, groups: int, message: str) -> None:
    start = put(one, [0], U32)
    with pytest.raises(RuntimeError, match=f"reduce_affine_transforms: {message}"):
        call(one, "reduce_affine_transforms", [a, b], groups, actual_start=start, local_rows=32)


def test_states(one: MeshDevice) -> None:
    start, tails = put(one, [0], U32), [put(one, np.ones((2, 32, 32)), F32) for _ in range(3)]
    words = dict(zip(("tail_a", "tail_b", "tail_entry_states"), tails, strict=True))
    with pytest.raises(
        RuntimeError, match=r"initial_state shape must be \[batch_heads, K, V\]: \[2, 32, 32\]"
    ):
        call(one, "affine_exclusive_scan", [(2, 32, 32), (2, 32, 32), (1, 32, 32)], 1, actual_start=start, local_rows=32, **words)  # fmt: skip
