"""Places that operations refuse for an operand or a result, in the reference's words."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores, lying
from tests.runtime.ops.tensors import BF16, F32, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import BufferType, ShardOrientation
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.places import PLACES
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)

CUT = ((128, 256), HEIGHT, (3, 0), (32, 256))
BY_WIDTH = MemoryConfig(WIDTH, BufferType.L1, ShardSpec(cores((3, 0)), (128, 64), ShardOrientation.ROW_MAJOR))
NAMELESS = MemoryConfig(BLOCK, BufferType.L1)


def op(name: str) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found


def test_names_are_parameters():
    for name, places in PLACES.items():
        named = inspect.signature(op(name).compute).parameters
        for place in places:
            assert place.result in named or place.operand_cut is not None, name


@pytest.mark.parametrize(
    ("name", "rest", "word", "asked", "sentence"),
    [
        ("typecast", (F32,), "memory_config", NAMELESS, "bad optional access"),
        ("softmax", (-1,), "memory_config", NAMELESS, "bad optional access"),
        ("pad", ([(0, 0), (0, 0), (0, 32), (0, 0)], 0.0), "memory_config", NAMELESS, "bad optional access"),
        ("typecast", (F32,), "memory_config", DRAM_MEMORY_CONFIG, "memory layout to match. Input layout: .*HEIGHT_SHARDED"),
        ("typecast", (F32,), "memory_config", BY_WIDTH, "Output layout: .*WIDTH_SHARDED"),
        ("clone", (), "memory_config", BY_WIDTH, "the same memory layout when both are sharded"),
        ("layer_norm", (), "memory_config", L1_MEMORY_CONFIG, "Sharded inputs require sharded outputs"),
        ("move", (), "memory_config", DRAM_MEMORY_CONFIG, "Expected output tensor memory config to be sharded"),
        ("sharded_to_interleaved", (), "memory_config", BY_WIDTH, "must be Interleaved"),
    ],
)  # fmt: skip
def test_what_lies_in_shards(
    one: MeshDevice, name: str, rest: Any, word: str, asked: MemoryConfig, sentence: str
):
    with pytest.raises(RuntimeError, match=rf"(?s)help: leave {word} out.*{sentence}"):
        op(name)(lying(one, *CUT, TILE), *rest, **{word: asked})


def test_halves_are_turned_of_what_is_not_cut(one: MeshDevice):
    with pytest.raises(RuntimeError, match=r"(?s)ttnn.sharded_to_interleaved\(.*RotateHalf does not"):
        op("experimental.rotate_half")(lying(one, *CUT, TILE))


def test_what_is_not_cut_may_become_so(one: MeshDevice):
    x = put(one, np.ones((1, 1, 128, 256)), BF16)
    assert op("layer_norm")(x, memory_config=BY_WIDTH).memory_config().memory_layout is WIDTH
    assert (held(op("typecast")(x, F32, memory_config=L1_MEMORY_CONFIG)) == 1).all()
