"""Where results of operands lie that are cut over cores in several ways. Source: captures of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import BY_ROW
from tests.runtime.ops.tensors import BF16, put
from tt_run.runtime.enums import BufferType, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)


def cut(kind: TensorMemoryLayout, end: tuple[int, int], piece: tuple[int, int]) -> MemoryConfig:
    return MemoryConfig(kind, BufferType.L1, ShardSpec(cores(end), piece, BY_ROW))


def asked(kind: TensorMemoryLayout) -> MemoryConfig:
    return MemoryConfig(kind, BufferType.L1)


ROWS, FEW_ROWS = cut(HEIGHT, (3, 0), (32, 128)), cut(HEIGHT, (1, 0), (64, 128))
COLUMNS, BLOCKS, FEW_BLOCKS = (
    cut(WIDTH, (3, 0), (128, 32)),
    cut(BLOCK, (1, 1), (64, 64)),
    cut(BLOCK, (1, 0), (128, 64)),
)
LINE = cut(BLOCK, (3, 0), (128, 32))

PAIRS: dict[str, Callable[..., Any]] = {
    "add": ops.add,
    "div": ops.div,
    "floor_div": ops.floor_div,
    "div_no_nan": ops.div_no_nan,
    "eq": ops.eq,
    "isclose": ops.isclose,
    "where": lambda a, b, **words: ops.where(a, b, b, **words),
    "addcmul": lambda a, b, **words: ops.addcmul(a, b, b, **words),
}


def here(one: MeshDevice, place: MemoryConfig) -> Any:
    return ops.to_memory_config(put(one, np.ones((1, 1, 128, 128)), BF16), place)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        (ROWS, BLOCKS, ROWS),  # as many cores: the first
        (BLOCKS, ROWS, BLOCKS),
        (COLUMNS, FEW_BLOCKS, COLUMNS),
        (FEW_BLOCKS, COLUMNS, COLUMNS),  # the one on more
        (FEW_ROWS, LINE, LINE),
        (FEW_ROWS, ROWS, ROWS),
        (DRAM_MEMORY_CONFIG, BLOCKS, BLOCKS),
    ],
)
def test_the_operand_on_the_most_cores_says_it(
    one: MeshDevice, name: str, first: MemoryConfig, second: MemoryConfig, where: MemoryConfig
) -> None:
    assert PAIRS[name](here(one, first), here(one, second)).memory_config() == where


def test_lerp_lies_where_its_first_operand_does(one: MeshDevice) -> None:
    for weight in (here(one, ROWS), 0.5):
        for place in (FEW_ROWS, DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG):
            assert ops.lerp(here(one, place), here(one, COLUMNS), weight).memory_config() == place


@pytest.mark.parametrize("number_first", [False, True])
@pytest.mark.parametrize(
    ("predicate", "value", "wanted", "where"),
    [
        (DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, None, L1_MEMORY_CONFIG),
        (ROWS, DRAM_MEMORY_CONFIG, None, DRAM_MEMORY_CONFIG),
        (ROWS, COLUMNS, None, COLUMNS),
        (ROWS, COLUMNS, asked(BLOCK), ROWS),  # asked for without cores
        (DRAM_MEMORY_CONFIG, COLUMNS, asked(BLOCK), COLUMNS),
        (ROWS, COLUMNS, L1_MEMORY_CONFIG, L1_MEMORY_CONFIG),
    ],
)
def test_a_choice_beside_a_number_lies_where_the_tensor_does(
    one: MeshDevice,
    number_first: bool,
    predicate: MemoryConfig,
    value: MemoryConfig,
    wanted: Any,
    where: MemoryConfig,
) -> None:
    tensor = here(one, value)
    values = (1.0, tensor) if number_first else (tensor, 1.0)
    assert ops.where(here(one, predicate), *values, memory_config=wanted).memory_config() == where


@pytest.mark.parametrize("name", ["where", "addcmul", "floor_div"])
def test_asked_for_without_cores_takes_those_of_what_is_cut(one: MeshDevice, name: str) -> None:
    plain = here(one, DRAM_MEMORY_CONFIG)
    assert PAIRS[name](plain, here(one, COLUMNS), memory_config=asked(BLOCK)).memory_config() == LINE
    for held, kind in ((COLUMNS, HEIGHT), (BLOCKS, WIDTH), (ROWS, BLOCK)):
        with pytest.raises(RuntimeError):
            PAIRS[name](plain, here(one, held), memory_config=asked(kind))


def test_zeros_of_a_divisor_are_looked_for_on_its_cores(one: MeshDevice) -> None:
    found = ops.div_no_nan(here(one, ROWS), here(one, COLUMNS), memory_config=asked(WIDTH))
    assert found.memory_config() == ROWS
    with pytest.raises(RuntimeError):
        ops.div_no_nan(here(one, ROWS), here(one, COLUMNS), memory_config=asked(HEIGHT))


def test_the_most_cores_count_for_three_operands_of_several_shapes(one: MeshDevice) -> None:
    row = ops.to_memory_config(put(one, np.ones((1, 1, 1, 128)), BF16), cut(HEIGHT, (0, 0), (32, 128)))
    found = ops.addcmul(here(one, DRAM_MEMORY_CONFIG), row, here(one, ROWS))
    assert found.memory_config() == ROWS
