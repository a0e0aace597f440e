"""How many programs a call compiles: what the reference's test suites count."""

from __future__ import annotations

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG
from tt_run.testing.cache_entries import CacheEntriesCounter

CORES = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 3))])
# Calls one after the other, and how many programs each compiles: counted on the reference library 0.81.1.
COUNTS = {
    "permute": [
        (lambda x: ops.permute(x, (0, 1, 3, 2)), 1),
        (lambda x: ops.permute(x, (0, 2, 1, 3)), 1),
        (lambda x: ops.permute(x, (0, 1, 3, 2)), 0),
    ],
    "sum": [
        (lambda x: ops.sum(x, dim=-1, keepdim=True), 1),
        (lambda x: ops.sum(x, dim=3, keepdim=True), 0),
        (lambda x: ops.sum(x, dim=-2, keepdim=True), 1),
        (lambda x: ops.sum(x, dim=-1, keepdim=True, sub_core_grids=CORES), 1),
        (lambda x: ops.max(x, dim=-1, keepdim=True), 1),
    ],
    "scalars": [
        (lambda x: ops.add(x, 1.0), 1),
        (lambda x: ops.add(x, 2), 0),
        (lambda x: ops.add(x, 2.0, memory_config=L1_MEMORY_CONFIG), 1),
        (lambda x: ops.add(x, 2.0, dtype=F32), 1),
        (lambda x: ops.add(x, x), 1),
        (lambda x: ops.add(x, x, output_tensor=x), 0),
    ],
    "matmul and linear": [
        (lambda x: ops.matmul(x, x), 1),
        (lambda x: ops.linear(x, x), 0),
        (lambda x: ops.matmul(x, x, transpose_b=True), 1),
    ],
    "concat": [(lambda x: ops.concat([x, x], dim=2), 1), (lambda x: ops.concat([x, x], dim=3), 1)],
    "pad": [
        (lambda x: ops.pad(x, ((0, 0), (0, 0), (0, 32), (0, 0)), 0.0), 1),
        (lambda x: ops.pad(x, ((0, 0), (0, 0), (0, 32), (0, 0)), 1.0), 1),
    ],
    "views": [
        (lambda x: ops.reshape(x, (1, 64, 64)), 0),
        (lambda x: ops.squeeze(x, 0), 0),
        (lambda x: ops.reshape(x, (1, 1, 32, 128)), 1),
        (lambda x: ops.to_memory_config(x, L1_MEMORY_CONFIG), 1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_programs_of_calls(one: MeshDevice, name: str):
    x = put(one, np.ones((1, 1, 64, 64)), BF16)
    found = []
    one.clear_program_cache()
    for call, _ in COUNTS[name]:
        counter = CacheEntriesCounter(one)
        counter.decorator(call)(x)
        found.append(counter.total)
    assert found == [count for _, count in COUNTS[name]]


@pytest.mark.parametrize(
    ("shape", "dim", "index", "source", "kind", "layout", "programs"),
    [
        ([100], -1, [80], [90], BF16, TILE, 8),
        ([100], -1, [80], [80], BF16, TILE, 5),
        ([6, 8, 200], -1, [2, 5, 100], [3, 40, 1000], F32, ROW, 2),
        ([50, 20], 0, [50, 20], [200, 80], F32, ROW, 5),
        ([10, 10, 10], 1, [2, 30, 10], [2, 30, 10], BF16, TILE, 8),
        ([50, 200], 0, [49, 199], [51, 201], BF16, TILE, 10),
    ],
)
def test_a_scatter_is_several_programs(one: MeshDevice, shape, dim, index, source, kind, layout, programs):
    x = put(one, np.zeros(shape), kind, layout)
    at = put(one, np.zeros(index, np.int32), I32, layout)
    values = put(one, np.ones(source), kind, layout)
    one.clear_program_cache()
    counter = CacheEntriesCounter(one)
    with counter.measure():
        ops.scatter(x, dim, at, values)
    assert counter.total == programs
    counter.reset()
    assert counter.total == 0


@pytest.mark.parametrize(
    ("elements", "tests", "programs"), [([10], [20], 1), ([10, 10], [20, 20], 4), ([5, 1, 10], [20], 3)]
)
def test_a_search_is_in_lines(one: MeshDevice, elements: list[int], tests: list[int], programs: int):
    found = [put(one, np.zeros(shape, np.int32), I32, ROW) for shape in (elements, tests)]
    one.clear_program_cache()
    counter = CacheEntriesCounter(one)
    for _ in range(2):
        counter.decorator(catalog.find("ttnn.experimental.isin"))(*found)
    assert counter.total == programs


@pytest.mark.torch
def test_a_product_by_groups_learns_its_shapes_when_it_runs(one: MeshDevice):
    product = catalog.find("ttnn.experimental.group_attn_matmul")
    one.clear_program_cache()
    counter = CacheEntriesCounter(one)
    for depth, keys, heads, groups, programs in ((96, 320, 4, 2, 1), (64, 256, 6, 3, 1), (64, 128, 6, 3, 2)):
        queries = put(one, np.ones((1, heads, 32, depth)), BF16)
        counter.decorator(product)(
            queries,
            put(one, np.ones((32, groups, depth, keys)), BF16),
            compute_with_storage_grid_size=CoreCoord(8, 8),
        )
        assert counter.total == programs
