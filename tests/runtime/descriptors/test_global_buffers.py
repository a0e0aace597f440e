"""Global circular buffers: objects that programs pass on. They say where they would lie, and refuse what no device has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, ROW, U32, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.descriptors.global_buffers import create_global_circular_buffer
from tt_run.runtime.enums import BufferType
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device


@pytest.fixture(scope="module")
def one() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()


def core(x: int, y: int) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(x, y), CoreCoord(x, y))])


def test_a_global_circular_buffer_says_where_it_would_lie(one: MeshDevice) -> None:
    pairs = [(CoreCoord(1, 1), core(4, 4)), (CoreCoord(2, 2), core(2, 3))]
    buffer = create_global_circular_buffer(one, pairs, 3200)
    assert (str(buffer.sender_cores()), str(buffer.receiver_cores())) == (
        "{[1-1 - 1-1], [2-2 - 2-2]}",
        "{[2-3 - 2-3], [4-4 - 4-4]}",
    )
    assert (buffer.size(), buffer.sender_core_type()) == (3200, "worker")


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([], "At least one sender required"),
        ([((1, 1), (1, 1))], "Duplicate cores found"),
        ([((1, 1), (4, 4)), ((2, 2), (4, 4))], "Duplicate receiver cores found"),
        ([((1, 1), (4, 4)), ((1, 1), (5, 4))], r"core ranges \[1-1 - 1-1\] and \[1-1 - 1-1\] overlap"),
        ([((1, 1), (40, 4))], r"shard core \(40, 4\) has no L1 bank on this device, which has 64"),
    ],
)
def test_cores_that_no_global_circular_buffer_has(
    one: MeshDevice, pairs: list[tuple[tuple[int, int], tuple[int, int]]], said: str
) -> None:
    with pytest.raises(RuntimeError, match=said):
        create_global_circular_buffer(one, [(CoreCoord(*a), core(*b)) for a, b in pairs], 64)
    with pytest.raises(RuntimeError, match="only be created for L1"):
        create_global_circular_buffer(one, [(CoreCoord(0, 0), core(1, 0))], 64, BufferType.DRAM)


def test_the_prefetcher_is_accepted_and_changes_nothing(one: MeshDevice) -> None:
    prefetcher, matmul = catalog.find("ttnn.dram_prefetcher"), catalog.find("ttnn.matmul")
    assert prefetcher is not None and matmul is not None
    values = np.random.default_rng(0).uniform(-1, 1, (1, 1, 64, 64)).astype(np.float32)
    weight, inputs = put(one, values, BF16), put(one, values, BF16)
    addresses = put(one, np.array([[weight.buffer_address()]]), U32, ROW)
    buffer = create_global_circular_buffer(one, [(CoreCoord(0, 0), core(1, 0))], 4096)
    before = matmul(inputs, weight).to_numpy()
    tile = prefetcher([weight, addresses], 1, buffer)
    assert (tuple(tile.shape), tile.dtype) == ((32, 32), BF16)
    tile.deallocate(True)
    assert np.array_equal(matmul(inputs, weight, global_cb=buffer).to_numpy(), before)
    for arguments, said in (
        (([weight, addresses], 1), "exactly one delivery target"),
        (([weight, addresses], 0, buffer), "at least 1 layer"),
        (([addresses], 1, buffer), "at least one weight tensor"),
        (([weight, weight], 1, buffer), "must be row major"),
    ):
        with pytest.raises(RuntimeError, match=said):
            prefetcher(*arguments)
