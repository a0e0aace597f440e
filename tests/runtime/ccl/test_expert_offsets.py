"""Offsets of experts' tokens in the buffers of a group of devices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor


def test_offsets_follow_from_the_counts_of_all_devices() -> None:
    mesh = open_mesh_device(MeshShape(2, 4))
    counts = np.random.default_rng(0).integers(0, 90, (8, 16)).astype(np.uint32)
    tensor = from_torch(
        counts.reshape(-1), dtype=DataType.UINT32, device=mesh, mesh_mapper=ShardTensorToMesh(mesh, dim=0)
    )
    offset_cumsum = catalog.find("ttnn.experimental.deepseek_prefill.offset_cumsum")
    assert offset_cumsum is not None
    found = offset_cumsum(tensor, 1, 1, 4, DRAM_MEMORY_CONFIG)
    offsets, totals, regions, table = (t.to_numpy(ConcatMeshToTensor(mesh, dim=0)) for t in found)
    for row in range(2):
        group = counts[4 * row : 4 * row + 4].astype(np.int64)
        tiled = (-(-group.sum(0) // 32) * 32).reshape(4, 4)
        region = (np.cumsum(tiled, 1) - tiled).reshape(-1)
        for column in range(4):
            place = 4 * row + column
            assert np.array_equal(offsets[place], group[:column].sum(0) + region)
            assert np.array_equal(totals[place], group.sum(0))
            assert np.array_equal(regions[place], region)
            assert np.array_equal(table[4 * place + 2], group[:2].sum(0) + region)
    mesh.close()


@pytest.mark.parametrize(("length", "choices", "taken"), [(1, 1, True), (0, 1, False), (1, 0, False)])
def test_tokens_come_back_from_one_on(row: MeshDevice, length: int, choices: int, taken: bool) -> None:
    """A sequence of one token with one expert is the smallest there is."""

    def each(*dims: int, dtype: DataType = DataType.INT32) -> Tensor:
        values = np.zeros((2, *dims), np.float32 if dtype is DataType.BFLOAT16 else np.int32)
        return from_torch(values, dtype, device=row, mesh_mapper=ShardTensorToMesh(row, dim=0))

    combine = catalog.find("ttnn.experimental.deepseek_prefill.combine")
    assert combine is not None
    given = each(1, 32, 32, dtype=DataType.BFLOAT16), each(1, 32, 3), each(4), each(4)
    sizes = {
        "dispatch_group_size": 2,
        "experts_per_chip": 2,
        "num_experts_per_tok": choices,
        "seq_len_per_chip": length,
        "cluster_axis": 1,
    }
    if taken:
        assert tuple(combine(*given, **sizes).shape) == (1, 1, 1, 1, 32)
    else:
        with pytest.raises(
            RuntimeError, match=r"seq_len_per_chip \d+ and num_experts_per_tok \d+ must be positive"
        ):
            combine(*given, **sizes)
