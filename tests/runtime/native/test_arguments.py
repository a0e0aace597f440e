"""Arguments of the wrong kind are a TypeError that names the argument, wherever the call would have noticed them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tt_run.runtime import ops, queues, trace
from tt_run.runtime.ccl.collectives import all_gather
from tt_run.runtime.core_work import grid_to_cores, split_work_to_cores
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.mesh import MeshDevice, MeshShape, close_mesh_device, open_mesh_device
from tt_run.runtime.mesh.pictures.as_text import visualize_mesh_device
from tt_run.runtime.native.arguments import mismatch, nearest, public
from tt_run.runtime.sockets.config import SocketConfig, SocketConnection, SocketMemoryConfig
from tt_run.runtime.sockets.socket import create_socket_pair
from tt_run.runtime.tensor.borders import arrays, files
from tt_run.runtime.tensor.conversion import devices, layouts
from tt_run.runtime.tensor.creation import allocation
from tt_run.runtime.tensor.distribution import composers, mappers, per_device
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor


@pytest.fixture(scope="module")
def device() -> Iterator[MeshDevice]:
    mesh = open_mesh_device(MeshShape(1, 2))
    yield mesh
    mesh.close()


def array() -> Any:
    return np.ones((32, 32), np.float32)


def host() -> Tensor:
    made = arrays.from_torch(array())
    assert made is not None
    return made


def test_arguments_that_have_to_be_named(device: MeshDevice) -> None:
    with pytest.raises(TypeError, match=r"help: after 'dtype' arguments are named: .*layout=…, device=…"):
        arrays.from_torch(array(), DataType.BFLOAT16, Layout.TILE, device)
    with pytest.raises(TypeError, match=r"help: after 'dim' arguments are named: cluster_axis=…"):
        all_gather(host(), 3, 1)


def test_a_shape_in_numbers_alone(device: MeshDevice) -> None:
    with pytest.raises(TypeError, match=r"help: write ttnn.MeshShape\(1, 2\)$"):
        open_mesh_device(1, 2)
    with pytest.raises(TypeError, match=r"help: write ttnn.MeshShape\(2, 1\)$"):
        device.create_submesh((2, 1))
    with pytest.raises(TypeError, match=r"must be MeshShape \| None, got float$"):
        open_mesh_device(1.5)


CALLS: dict[str, tuple[Callable[[MeshDevice], Any], str]] = {
    "dtype": (lambda d: arrays.from_torch(array(), dtype="bf16"), "dtype"),
    "mapper": (lambda d: arrays.from_torch(array(), mesh_mapper=5), "argument 'mesh_mapper' must be"),
    "memory": (lambda d: arrays.from_torch(array(), memory_config=5), "argument 'memory_config' must be MemoryConfig"),
    "composer": (lambda d: arrays.to_torch(host(), mesh_composer=5), "argument 'mesh_composer' must be MeshToTensor"),
    "read": (lambda d: arrays.to_torch(5), "argument 'tensor' must be Tensor, got int"),
    "move": (lambda d: devices.to_device(5, d), "argument 'tensor' must be Tensor, got int"),
    "fetch": (lambda d: devices.from_device(None), "argument 'tensor' must be Tensor, got NoneType"),
    "layout": (lambda d: layouts.to_layout(host(), 5), "layout must be a ttnn.Layout, got 5"),
    "parts": (lambda d: per_device.get_device_tensors(5), "argument 'tensor' must be Tensor"),
    "dump": (lambda d: files.dump_tensor("a.tensorbin", 5), "argument 'tensor' must be Tensor"),
    "cut": (lambda d: mappers.ShardTensorToMesh(5, 0), "argument 'mesh_device' must be MeshDevice, got int"),
    "spread": (lambda d: mappers.distribute_tensor(host(), 5), "argument 'mapper' must be Mapper, got int"),
    "compose": (lambda d: composers.aggregate_tensor(host(), 5), "argument 'composer' must be MeshToTensor"),
    "close": (lambda d: close_mesh_device(5), "argument 'mesh_device' must be MeshDevice, got int"),
    "submesh": (lambda d: d.create_submesh((1, 1)), "argument 'submesh_shape' must be MeshShape, got tuple"),
    "offset": (lambda d: d.create_submesh(MeshShape(1, 1), (0, 1)), "argument 'offset' must be MeshCoordinate"),
    "draw": (lambda d: visualize_mesh_device(5), "argument 'mesh_device' must be MeshDevice"),
    "capture": (lambda d: trace.begin_trace_capture(5), "argument 'mesh_device' must be MeshDevice"),
    "event": (lambda d: queues.record_event(5), "argument 'mesh_device' must be MeshDevice"),
    "socket": (lambda d: create_socket_pair(d, 5, 6), "argument 'receiver_mesh_device' must be MeshDevice"),
    "operation": (lambda d: ops.to_layout(5, Layout.TILE), "argument 'tensor' must be Tensor, got int"),
    "shape": (lambda d: ops.reshape(devices.to_device(host(), d), [32.0, 32]), "expected a sequence of ints, got [32.0, 32]"),
    "lengths": (lambda d: Shape("ab"), "a Shape is made of a sequence, not of str; help: (1, 1, 32, 32)"),
    "core": (lambda d: SocketConnection(5, 6), "SocketConnection(): 'sender_core' must be MeshCoreCoord, got int"),
    "fifo": (lambda d: SocketMemoryConfig(BufferType.L1, "4k"), "'fifo_size' must be int, got str"),
    "ends": (lambda d: SocketConfig([5], SocketMemoryConfig(BufferType.L1, 8)), "expected a SocketConnection, got int"),
    "config": (lambda d: MemoryConfig(5), "needs a ttnn.TensorMemoryLayout"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_argument_is_named(device: MeshDevice, name: str) -> None:
    call, text = CALLS[name]
    with pytest.raises(TypeError) as error:
        call(device)
    assert text in "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        ("int", [1, np.int64(2)], [1.5, "1", None]),
        ("float | None", [1, 2.5, np.float32(1), None], ["1", [1]]),
        ("Sequence[int] | int", [[1, 2], (3,), 4], ["12", [1.5], 2.5]),
        ("str", ["a"], [1]),
        ("SomethingElse", [1, "a", None], []),
    ],
)
def test_what_annotations_take(annotation: str, good: list[Any], bad: list[Any]) -> None:
    def function(value: Any) -> None:
        pass

    function.__annotations__["value"] = annotation
    assert [value for value in good if mismatch(function, (value,), {}, ValueError())] == []
    assert [value for value in bad if not mismatch(function, (value,), {}, ValueError())] == []


def test_errors_from_further_inside_stay_what_they_are() -> None:
    @public
    def function(value: int) -> Any:
        raise AttributeError("inside")

    with pytest.raises(AttributeError, match="inside"):
        function(1)
    with pytest.raises(TypeError, match="argument 'value' must be int, got str"):
        function("a")  # type: ignore[arg-type]


def test_the_nearest_keyword_is_named() -> None:
    with pytest.raises(TypeError, match="help: 'mesh_shap': did you mean 'mesh_shape'"):
        open_mesh_device(mesh_shap=MeshShape(1, 1))  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("axis", "cluster_axis"),
        ("mapper", "mesh_mapper"),
        ("mesh_maper", "mesh_mapper"),
        ("row", None),
        ("foo", None),
    ],
)
def test_the_keyword_that_was_meant(word: str, meant: str | None) -> None:
    def call(cluster_axis: int, mesh_mapper: object, row_of_starts: int, row_of_ends: int) -> None: ...

    assert nearest(call, {word: 1}) == (f"\nhelp: {word!r}: did you mean {meant!r}?" if meant else "")


def test_arguments_by_the_names_of_each_form(device: MeshDevice) -> None:
    core, cores = CoreCoord(0, 0), CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))
    grid = CoreRangeSet([cores])
    assert grid.contains(core=core) and grid.contains(core_range=cores) and grid.contains(core_range_set=grid)
    assert grid_to_cores(start=core, end=core) == [core]
    assert split_work_to_cores(core_grid=grid, units_to_divide=2)[0] == 2
    tiles = host().to(target_layout=Layout.TILE)
    assert tiles.to(device=device, mem_config=L1_MEMORY_CONFIG).memory_config() == L1_MEMORY_CONFIG
    for made in (
        allocation.allocate_tensor_on_device(tensor_spec=tiles.spec, mesh_device=device),
        allocation.allocate_tensor_on_device(
            shape=tiles.shape, dtype=tiles.dtype, layout=tiles.layout, mesh_device=device
        ),
    ):
        assert made.spec == tiles.spec
    with pytest.raises(TypeError, match="unexpected keyword argument 'devices'"):
        tiles.to(devices=device)
