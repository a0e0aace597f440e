"""Borders of the neighbouring shards, in one process: what is refused, and borders of one dimension alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tt_run.runtime import catalog, events
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.listeners.ledger import Ledger
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensor2dMesh
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.traffic import Fabric

IMAGE = np.random.default_rng(0).integers(1, 99, (1, 1, 4, 8, 2)).astype(np.float32)


@pytest.fixture
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(2, 2))
    yield device
    device.close()


def call(name: str, *words: Any, **named: Any) -> Any:
    operation = catalog.find(f"ttnn.experimental.{name}")
    assert operation is not None
    return operation(*words, **named)


def image(mesh: MeshDevice, values: Any = IMAGE) -> Tensor:
    mapper = ShardTensor2dMesh(mesh, mesh_shape=(2, 2), dims=(2, 3))
    return from_torch(values, DataType.FLOAT32, layout=Layout.ROW_MAJOR, device=mesh, mesh_mapper=mapper)


def semaphores(mesh: MeshDevice) -> list[Any]:
    core = CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))})
    return [create_global_semaphore(mesh, core, 0) for _ in range(3)]


@pytest.mark.parametrize(("batch", "frames"), [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_frames_come_in_front_of_one_batch(mesh: MeshDevice, batch: int, frames: int) -> None:
    """(batch, frames, rows, columns, channels): two frames of zeros before those of one."""
    tensor = image(mesh, np.tile(IMAGE, (batch, frames, 1, 1, 1)))
    words = [2], [1], [1], "zeros", [0], semaphores(mesh)[:1], semaphores(mesh)[:1]
    if batch == 1:
        found = call("neighbor_pad_async", tensor, *words, t_front_pad=2)
        assert tuple(found.shape) == (1, frames + 2, 4, 4, 2)
        assert not found.shards.data[:, :, :2].any() and found.shards.data[:, :, 2:].any()
    else:
        with pytest.raises(RuntimeError, match="t_front_pad only supports B=1 tensors, got B=2"):
            call("neighbor_pad_async", tensor, *words, t_front_pad=2)


@pytest.mark.parametrize(
    ("before", "after", "taken"),
    [(2, 2, True), (0, 0, True), (-1, 0, False), (0, -1, False), (3, 0, False), (0, 3, False)],
)
def test_borders_come_from_one_shard(mesh: MeshDevice, before: int, after: int, taken: bool) -> None:
    """A shard has two rows."""
    words = [2], [before], [after], "zeros", [0], semaphores(mesh)[:1], semaphores(mesh)[:1]
    if taken:
        assert tuple(call("neighbor_pad_async", image(mesh), *words).shape) == (
            1,
            1,
            2 + before + after,
            4,
            2,
        )
        return
    refused = f"padding {before} and {after} of dimension 2 must be between 0 and the 2 rows"
    if min(before, after) < 0:
        refused = r"padding_(left|right) must be whole numbers from 0, got \[-1\]"
    with pytest.raises(TypeError if min(before, after) < 0 else RuntimeError, match=refused):
        call("neighbor_pad_async", image(mesh), *words)


@pytest.mark.parametrize(("above", "beside"), [(1, 0), (0, 1), (0, 0)])
def test_borders_that_a_tensor_carries_are_left_out(mesh: MeshDevice, above: int, beside: int) -> None:
    """With or without them, the borders that its neighbours give are the same."""

    def borders(carries: bool) -> list[Any]:
        given = image(mesh)
        if carries:
            for dim, axis, width in ((2, 0, above), (3, 1, beside)):
                if width:
                    words = (
                        [dim],
                        [width],
                        [width],
                        "replicate",
                        [axis],
                        semaphores(mesh)[:1],
                        semaphores(mesh)[:1],
                    )
                    given = call("neighbor_pad_async", given, *words)
        buffer = from_torch(
            np.zeros((2 * 4 + 2 * 4, 2), np.float32),
            DataType.FLOAT32,
            layout=Layout.ROW_MAJOR,
            device=mesh,
            mesh_mapper=ReplicateTensorToMesh(mesh),
        )
        words = 1, 1, 0, 1, Topology.Linear, *semaphores(mesh), 3, 1, 1, 1, 1
        named = {"input_pad_h": above, "input_pad_w": beside} if carries else {}
        return list(call("neighbor_pad_halo", given, buffer, *words, **named).shards.each())

    for own, other in zip(borders(True), borders(False), strict=True):
        assert own.any() and np.array_equal(own, other)


def test_borders_around_a_tensor_need_their_rows(mesh: MeshDevice) -> None:
    given = image(mesh)
    few = from_torch(np.zeros((2 * 4 + 2 * 2, 2), np.float32), DataType.FLOAT32, device=mesh)
    with pytest.raises(RuntimeError, match=r"the borders of .* are 16 rows of 2, and the compact buffer is"):
        call("halo_scatter", few, given, 1, 1)


@pytest.mark.torch
@pytest.mark.parametrize(("rows", "columns"), [(4, 8), (3, 7)])
def test_parts_of_a_video_make_the_whole_with_their_neighbours_borders(
    mesh: MeshDevice, rows: int, columns: int
) -> None:
    """Of a video that is smaller than its parts together, what lies beyond it counts as zero."""
    torch = pytest.importorskip("torch")
    make = np.random.default_rng(3).integers
    video = make(-4, 5, (1, 3, 4, 8, 32)).astype(np.float32)
    filters, bias = make(-2, 3, (32, 32, 3, 3, 3)).astype(np.float32), make(-2, 3, (1, 32)).astype(np.float32)
    mapper = ShardTensor2dMesh(mesh, mesh_shape=(2, 2), dims=(2, 3))

    def put(array: Any, dtype: DataType = DataType.FLOAT32, **words: Any) -> Tensor:
        return from_torch(array, dtype, layout=Layout.ROW_MAJOR, device=mesh, **words)

    parts = put(video, mesh_mapper=mapper)
    buffer = put(np.zeros((3 * (2 * 4 + 2 * 4), 32), np.float32), mesh_mapper=ReplicateTensorToMesh(mesh))
    call("neighbor_pad_halo", parts, buffer, 1, 1, 0, 1, Topology.Linear, *semaphores(mesh), 3, 1, 1, 1, 1)
    starts = np.array([[(row, column) for column in (0, 4)] for row in (0, 2)], np.uint32)
    found = call(
        "conv3d",
        input_tensor=parts,
        weight_tensor=put(filters),
        bias_tensor=put(bias),
        device=mesh,
        dtype=DataType.FLOAT32,
        output_channels=32,
        kernel_size=(3, 3, 3),
        padding=(1, 1, 1),
        halo_buffer=buffer,
        logical_h_mask=rows,
        logical_w_mask=columns,
        pad_offset_tensor=put(
            starts, DataType.UINT32, mesh_mapper=ShardTensor2dMesh(mesh, mesh_shape=(2, 2), dims=(0, 1))
        ),
    )
    video[:, :, rows:] = video[:, :, :, columns:] = 0
    planes = torch.from_numpy(video.transpose(0, 4, 1, 2, 3).copy())
    whole = torch.nn.functional.conv3d(
        planes, torch.from_numpy(filters), torch.from_numpy(bias[0]), padding=1
    )
    whole = whole.permute(0, 2, 3, 4, 1).numpy()
    places = [(high, wide) for high in (0, 2) for wide in (0, 4)]
    for shard, (high, wide) in zip(found.shards.each(), places, strict=True):
        np.testing.assert_array_equal(shard, whole[:, :, high : high + 2, wide : wide + 4])


def test_the_ledger_books_the_rows_that_move(mesh: MeshDevice) -> None:
    ledger = Ledger(Fabric((2, 4)))
    leave = events.subscribe(ledger.note)
    try:
        # Two rows of 1 x 1 x 4 x 2 numbers go ahead along the first axis, none back.
        call(
            "neighbor_pad_async",
            image(mesh),
            [2],
            [2],
            [0],
            "zeros",
            [0],
            semaphores(mesh)[:1],
            semaphores(mesh)[:1],
        )
        sent = {key[1:]: int(count.bytes) for key, count in ledger.links.items()}
        assert sent == {(0, 4): 2 * 8 * 4, (1, 5): 2 * 8 * 4}
        ledger.links.clear()
        # Of four rows on each of two devices, rows 2 to 7 become three on each: only row 4 moves.
        rows = from_torch(
            np.zeros((8, 4, 2), np.float32),
            DataType.FLOAT32,
            layout=Layout.ROW_MAJOR,
            device=mesh,
            mesh_mapper=ShardTensor2dMesh(mesh, mesh_shape=(2, 2), dims=(0, None)),
        )
        call("slice_reshard_async", rows, 0, 2, 6, 0, *semaphores(mesh)[:2])
        assert {key[1:]: int(count.bytes) for key, count in ledger.links.items()} == {
            (4, 0): 8 * 4,
            (5, 1): 8 * 4,
        }
    finally:
        leave()
