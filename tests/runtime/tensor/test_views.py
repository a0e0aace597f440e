"""What an operation makes of a tensor without moving it: both are the same bytes, as in reference library 0.81.1."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_larger_shards import HEIGHT, WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import BY_ROW
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, held, put
from tests.sweep import sweep
from tt_run.runtime import catalog
from tt_run.runtime.enums import BufferType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.conversion.copies import deallocate
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tuning.blocks import LayerNormShardedMultiCoreProgramConfig

SHAPE = (2, 1, 32, 64)
NUMBERS = (np.arange(4096) % 251).astype(np.float32)
ROWS = MemoryConfig(HEIGHT, BufferType.L1, ShardSpec(cores((0, 1)), (32, 64), BY_ROW))


def call(name: str, *words: Any, **named: Any) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found(*words, **named)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda t: ops.reshape(t, (1, 2, 32, 64)),
    "experimental.view": lambda t: call("experimental.view", t, (64, 64)),
    "Tensor.reshape": lambda t: t.reshape([64, 64]),
    "padded reshape": lambda t: ops.reshape(t, (64, 64), (1, 64, 64)),
    "unsqueeze": lambda t: ops.unsqueeze(t, 0),
    "squeeze": lambda t: ops.squeeze(t, 1),
    "chain": lambda t: ops.reshape(ops.reshape(ops.squeeze(t, 1), (1, 2, 32, 64)), (64, 64)),
    "chunk": lambda t: call("chunk", t, 1, 0)[0],
    "split": lambda t: call("split", t, 2, 0)[0],
    "roll": lambda t: call("roll", t, (2, -32), (0, 2)),
    "slice": lambda t: t[:, :, :, :],
    "permute": lambda t: ops.permute(t, (0, 1, 2, 3)),
    "repeat": lambda t: ops.repeat(t, (1, 1, 1, 1)),
    "concat": lambda t: ops.concat([t], 1),
    "longer repeat": lambda t: ops.repeat(ops.squeeze(t, 1), (1, 1, 1, 1)),
    "longer expand": lambda t: call("expand", ops.squeeze(t, 1), (1, 2, 32, 64)),
    "fill_implicit_tile_padding": lambda t: call("fill_implicit_tile_padding", t, 1.0),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", [TILE, ROW], ids=str)
def test_what_is_written_into_one_is_in_the_other(one: MeshDevice, view: str, layout: Any) -> None:
    first = put(one, np.zeros(SHAPE), BF16, layout)
    seen = VIEWS[view](first)
    assert seen.buffer_address() == first.buffer_address()
    ops.copy(put(one, NUMBERS.reshape(SHAPE), BF16, layout), first)
    assert np.array_equal(held(seen).reshape(-1), NUMBERS)
    ops.copy(put(one, NUMBERS[::-1].reshape(tuple(seen.shape)), BF16, layout), seen)
    assert np.array_equal(held(first).reshape(-1), NUMBERS[::-1])


@pytest.mark.parametrize("view", ["chunk", "split", "roll", "slice", "permute", "repeat"])
def test_pieces_on_cores_stay_as_well(one: MeshDevice, view: str) -> None:
    first = ops.to_memory_config(put(one, np.zeros(SHAPE), BF16), ROWS)
    assert VIEWS[view](first).buffer_address() == first.buffer_address()


COPIES: dict[str, Callable[[Any], Any]] = {
    "split by columns": lambda t: call("split", t, 64, 3)[0],
    "roll of everything": lambda t: call("roll", t, 0),
    "broadcast_to": lambda t: call("experimental.broadcast_to", t, SHAPE),
    "elsewhere": lambda t: ops.permute(t, (0, 1, 2, 3), memory_config=L1_MEMORY_CONFIG),
    "reshard": lambda t: call("reshard", ops.to_memory_config(t, ROWS), ROWS),
}


@pytest.mark.parametrize("copy", COPIES)
def test_what_is_copied_is_another_tensor(one: MeshDevice, copy: str) -> None:
    first = put(one, np.zeros(SHAPE), BF16)
    seen = COPIES[copy](first)
    ops.copy(put(one, np.ones(SHAPE), BF16), first)
    assert not held(seen).any()


def test_one_tensor_joined_comes_into_dram(one: MeshDevice) -> None:
    first = ops.to_memory_config(put(one, np.zeros(SHAPE), BF16), L1_MEMORY_CONFIG)
    assert ops.concat([first], 1).memory_config().buffer_type is BufferType.DRAM
    assert ops.concat([first], 1, memory_config=L1_MEMORY_CONFIG).buffer_address() == first.buffer_address()


def test_a_part_sees_the_whole(one: MeshDevice) -> None:
    first = put(one, np.zeros(SHAPE), BF16)
    half = call("narrow", first, 0, 0, 1)
    flat = ops.reshape(half, (32, 64))
    ops.copy(put(one, NUMBERS.reshape(SHAPE), BF16), first)
    assert np.array_equal(held(flat).reshape(-1), NUMBERS[:2048])
    ops.copy(put(one, np.ones((32, 64)), BF16), flat)
    assert np.array_equal(held(first).reshape(-1), [*np.ones(2048), *NUMBERS[2048:]])
    assert held(half).all()


def test_a_part_of_a_tile_sees_the_whole(one: MeshDevice) -> None:
    first = put(one, np.zeros((1, 1, 32, 64)), BF16)
    users = ops.reshape(first, (1, 1, 4, 64), (1, 1, 32, 64))
    assert users.buffer_address() == first.buffer_address()
    ops.copy(put(one, NUMBERS[:2048].reshape(1, 1, 32, 64), BF16), first)
    assert np.array_equal(held(users).reshape(-1), NUMBERS[:256])
    ops.copy(put(one, np.zeros((1, 1, 4, 64)), BF16), users)
    assert np.array_equal(held(first).reshape(-1), [*np.zeros(256), *NUMBERS[256:2048]])


def test_dimensions_of_one_that_change_places_stay(one: MeshDevice) -> None:
    first = put(one, np.zeros((1, 1, 32, 64)), BF16)
    assert ops.permute(first, (1, 0, 2, 3)).buffer_address() == first.buffer_address()
    assert ops.permute(first, (0, 2, 1, 3)).buffer_address() != first.buffer_address()


def test_views_outlive_what_they_were_made_of(one: MeshDevice) -> None:
    first = put(one, np.zeros(SHAPE), BF16)
    views = [VIEWS["reshape"](first), VIEWS["experimental.view"](first), call("narrow", first, 0, 0, 1)]
    del first
    gc.collect()
    ops.copy(put(one, np.ones((1, 2, 32, 64)), BF16), views[0])
    assert all(held(view).all() for view in views)
    deallocate(views[0])
    assert held(views[1]).all()


def test_every_device_of_a_mesh(mesh: MeshDevice) -> None:
    first = put(mesh, np.zeros((1, 1, 32, 64)), BF16)
    seen = ops.reshape(first, (32, 64))
    parts = put(mesh, np.arange(8).reshape(8, 1, 1, 1) * np.ones((8, 1, 32, 64)), BF16, shard=0)
    ops.copy(parts, first)  # the same on all of them before, another on each of them now
    assert [held(seen, device)[0, 0] for device in range(8)] == list(range(8))


def test_views_of_views_without_end(one: MeshDevice) -> None:
    first = put(one, np.zeros(SHAPE), BF16)
    seen = first
    for turn in range(2000):
        seen = ops.reshape(seen, (64, 64) if turn % 2 else (1, 2, 32, 64))
    ops.copy(put(one, np.ones(SHAPE), BF16), first)
    assert held(seen).all()


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_norms_in_place(one: MeshDevice, norm: str) -> None:
    cut = MemoryConfig(WIDTH, BufferType.L1, ShardSpec(cores((1, 0)), (32, 64), BY_ROW))
    values = NUMBERS.reshape(1, 1, 32, 128)
    for inplace in (True, False):
        first = ops.to_memory_config(put(one, values, BF16), cut)
        program = LayerNormShardedMultiCoreProgramConfig(
            compute_with_storage_grid_size=(2, 1), subblock_w=2, block_h=1, block_w=2, inplace=inplace
        )
        found = getattr(ops, norm)(first, program_config=program, memory_config=cut)
        assert np.array_equal(held(found), held(first)) is inplace
        assert (found.buffer_address() == first.buffer_address()) is inplace


def test_group_norm_in_place(one: MeshDevice) -> None:
    for inplace in (True, False):
        first = ops.to_memory_config(put(one, NUMBERS.reshape(1, 1, 64, 64), BF16, ROW), ROWS)
        place = {} if inplace else {"memory_config": ROWS}
        found = ops.group_norm(first, num_groups=2, inplace=inplace, **place)
        assert np.array_equal(held(found), held(first)) is inplace
        assert (found.buffer_address() == first.buffer_address()) is inplace


@pytest.mark.parametrize("name", ["softmax_in_place", "scale_mask_softmax_in_place"])
def test_a_softmax_in_place_outlives_its_input(one: MeshDevice, name: str) -> None:
    first = put(one, NUMBERS.reshape(1, 1, 64, 64), BF16)
    found = call(name, first)
    assert found.buffer_address() == first.buffer_address()
    assert np.array_equal(held(found), held(first))
    deallocate(first)
    assert held(found).any()


WRITTEN: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda x, t: call("add_", t, x),
    "logical_not_": lambda x, t: call("logical_not_", t),
    "add": lambda x, t: ops.add(x, x, output_tensor=t),
    "relu": lambda x, t: call("relu", x, output_tensor=t),
    "typecast": lambda x, t: ops.typecast(x, BF16, output_tensor=t),
    "matmul": lambda x, t: ops.matmul(x, x, optional_output_tensor=t),
    "copy": lambda x, t: ops.copy(x, t),
    "slice": lambda x, t: call("slice", x, [0] * 4, [1, 1, 64, 64], output_tensor=t),
    "full_like": lambda x, t: call("full_like", x, 2.0, optional_tensor=t),
    "full": lambda x, t: call("full", (1, 1, 64, 64), 2.0, optional_tensor=t),
    "fill_cache": lambda x, t: call("fill_cache", t, x, 0),
    "add_bw": lambda x, t: call("add_bw", x, x, x, input_grad=t)[0],
    "mesh_partition": lambda x, t: call("mesh_partition", t, 3),
}


@pytest.mark.parametrize(
    "write", [pytest.param(each, marks=pytest.mark.torch) if each == "add_bw" else each for each in WRITTEN]
)
def test_what_is_written_into_is_returned_as_another_tensor(one: MeshDevice, write: str) -> None:
    room = put(one, NUMBERS.reshape(1, 1, 64, 64), BF16)
    result = WRITTEN[write](put(one, np.ones((1, 1, 64, 64)), BF16), room)
    assert result is not room and result.buffer_address() == room.buffer_address()
    # As of every buffer that two tensors have, nothing is given back while the other is used.
    deallocate(result, force=False)
    assert room.is_allocated() and np.array_equal(held(result), held(room))
    deallocate(result)
    assert not room.is_allocated()


SHARED: dict[str, Callable[[Any], Any]] = {
    "alias": lambda t: ops.to_layout(t, TILE),
    "view": VIEWS["reshape"],
    "view of own shape": lambda t: call("experimental.view", t, SHAPE),
    "alias of a view": lambda t: ops.to_layout(ops.squeeze(t, 1), TILE),
    "part": lambda t: call("narrow", t, 0, 0, 1),
    "written": lambda t: call("add_", t, t),
    "shard": lambda t: get_device_tensors(t)[0],
}


@pytest.mark.parametrize("name", sweep(["move", "reallocate"], quick=["move"]))
@pytest.mark.parametrize("kind", SHARED)
def test_what_another_tensor_has_is_not_moved(one: MeshDevice, name: str, kind: str) -> None:
    first = put(one, NUMBERS.reshape(SHAPE), BF16)
    other = SHARED[kind](first)
    for tensor in (first, other):
        found = call(name, tensor, memory_config=L1_MEMORY_CONFIG)
        assert found is not tensor and found.buffer_address() == first.buffer_address()
        assert found.memory_config() == first.memory_config()
    # Neither goes while the other is used, whichever of them was there first.
    deallocate(other, force=False)
    deallocate(first, force=False)
    assert first.is_allocated() and other.is_allocated()
    del other, found, tensor
    gc.collect()
    moved = call(name, first, memory_config=L1_MEMORY_CONFIG)
    assert not first.is_allocated() and moved.memory_config() == L1_MEMORY_CONFIG


@pytest.mark.parametrize("name", ["move", "reallocate"])
def test_shards_on_cores_that_another_tensor_has_are_not_moved(one: MeshDevice, name: str) -> None:
    first = ops.to_memory_config(put(one, NUMBERS.reshape(SHAPE), BF16), ROWS)
    other = ops.to_layout(first, TILE)
    with pytest.raises(RuntimeError, match="Expect input tensor to be deallocated after move op"):
        call(name, first)
    del other
    gc.collect()
    assert call(name, first).memory_config() == ROWS


@pytest.mark.parametrize("write", [
    lambda rows, room: ops.copy(rows, room),
    lambda rows, room: call("assign", rows, room),
    lambda rows, room: call("assign", rows, memory_config=L1_MEMORY_CONFIG, dtype=F32),
])  # fmt: skip
def test_rows_are_not_copied_into_another_type(one: MeshDevice, write: Callable[[Any, Any], Any]) -> None:
    for layout in (ROW, TILE):
        values, room = put(one, NUMBERS.reshape(SHAPE), BF16, layout), put(one, np.zeros(SHAPE), F32, layout)
        if layout is TILE:
            assert np.array_equal(held(write(values, room)).reshape(-1), NUMBERS)
            continue
        with pytest.raises(RuntimeError, match="Only tile layout supports dtype conversion"):
            write(values, room)


def test_a_scalar_has_no_dimensions_to_order(one: MeshDevice) -> None:
    scalar = call("sum", put(one, np.ones((32, 32)), BF16))
    assert ops.permute(scalar, []).buffer_address() == scalar.buffer_address()
    with pytest.raises(RuntimeError, match="does not match the length of the desired ordering"):
        ops.permute(scalar, [0, 1, 2, 3])


def test_one_tensor_is_joined_along_any_dimension(one: MeshDevice) -> None:
    scalar = call("sum", put(one, np.ones((32, 32)), BF16))
    assert held(ops.concat([scalar], -1)) == 1024
    assert ops.concat([scalar], 7).buffer_address() == scalar.buffer_address()


def test_own_shape_is_the_same_tensor(one: MeshDevice) -> None:
    first = put(one, NUMBERS.reshape(SHAPE), BF16)
    view = call("experimental.view", first, SHAPE)
    same = [
        first.reshape(list(SHAPE)),
        ops.squeeze(first, 0),
        call("unsqueeze_to_4D", first),
        call("narrow", first, 2, 0, 32),
    ]
    deallocate(first)
    assert not any(one.is_allocated() for one in same) and view.is_allocated()


def test_a_list_of_results_holds_others(one: MeshDevice) -> None:
    x = put(one, NUMBERS.reshape(1, 1, 64, 64), BF16)
    values, indices = call("topk", x, 32)
    again = call("topk", x, 32, output_tensor=(values, indices))
    assert [each.storage for each in again] == [values.storage, indices.storage]
    assert again[0] is not values and again[1] is not indices


def test_joined_tensors_take_no_room_for_the_result(one: MeshDevice) -> None:
    x = put(one, np.zeros(SHAPE), BF16)
    with pytest.raises(RuntimeError, match="optional output tensor currently unsupported!"):
        ops.concat([x, x], 1, output_tensor=x)
