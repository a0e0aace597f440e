"""Descriptions of kernels: they hold what they are given, and nothing runs them."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.descriptors import arguments, buffers, kernels, refused
from tt_run.runtime.descriptors.overlapped import OverlappedTensor
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardStrategy
from tt_run.runtime.mesh import MeshCoordinate, MeshCoordinateRange, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, create_sharded_memory_config
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tuning.choices import NOC


def cores(x: int, y: int) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(x, y), CoreCoord(x + 1, y + 1))])


def kernel(x: int) -> kernels.KernelDescriptor:
    return kernels.KernelDescriptor(
        kernel_source="k.cpp",
        core_ranges=cores(x, 0),
        compile_time_args=[1, 2],
        runtime_args=[(CoreCoord(x, 0), [7])],
        config=kernels.ReaderConfigDescriptor(),
    )


def test_runtime_arguments() -> None:
    args = arguments.RuntimeArgs()
    args[0][1] = [1, 2]
    args[0][1].append(3)
    args.append(CoreCoord(2, 2), [4])
    assert args.to_list() == [(CoreCoord(0, 1), [1, 2, 3]), (CoreCoord(2, 2), [4])]
    assert (len(args), args.get(1)) == (2, (CoreCoord(2, 2), [4]))
    for wrong, message in (
        ([[1, 2]], "list of pairs"),
        ([(CoreCoord(0, 0), [1.5])], "whole numbers, not float"),
    ):
        with pytest.raises(TypeError, match=message):
            kernels.KernelDescriptor(runtime_args=wrong)
    with pytest.raises(TypeError, match="words of 32 bits"):
        args.append(CoreCoord(0, 0), [-1])


def test_kernels_keep_what_they_are_given() -> None:
    made = kernel(0)
    made.extend_runtime_args_uniform([8])
    made.append_runtime_args_from(kernel(0))
    assert made.runtime_args.to_list() == [(CoreCoord(0, 0), [7, 8, 7])]
    assert (made.compile_time_args, made.source_type) == (
        [1, 2],
        kernels.KernelDescriptor.SourceType.FILE_PATH,
    )
    assert kernels.DataMovementConfigDescriptor().noc is NOC.NOC_0
    assert str(NOC.NOC_0) == "NOC.RISCV_0_default"
    with pytest.raises(TypeError, match="needs core_ranges and config"):
        kernels.KernelDescriptor(kernel_source="k.cpp", core_ranges=cores(0, 0))


def test_programs_merge_where_their_cores_differ() -> None:
    programs = [kernels.ProgramDescriptor(kernels=[kernel(x)]) for x in (0, 4)]
    assert len(kernels.merge_program_descriptors(programs).kernels) == 2
    with pytest.raises(RuntimeError, match="overlapping kernel core ranges between descriptor 0 and 1"):
        kernels.merge_program_descriptors([programs[0], programs[0]])
    where = MeshCoordinateRange(MeshCoordinate(0, 0), MeshCoordinate(0, 1))
    mesh_program = kernels.MeshProgramDescriptor()
    mesh_program[where] = programs[1]
    assert where in mesh_program
    assert mesh_program[where] is programs[1]


def test_circular_buffers() -> None:
    form = buffers.CBFormatDescriptor(
        buffer_index=0,
        data_format=DataType.BFLOAT16,
        page_size=2048,
        tile=buffers.TileDescriptor(Tile((16, 32))),
    )
    made = buffers.CBDescriptor(total_size=4096, core_ranges=cores(0, 0), format_descriptors=[form])
    assert (form.data_format_as_uint8, form.tile.height) == (5, 16)
    assert (made.has_buffer(), made.buffer_address(), buffers.get_cb_address(made)) == (False, None, 0)
    mesh = open_mesh_device(MeshShape(1, 1))
    memory = create_sharded_memory_config(
        (32, 64), cores(0, 0), ShardStrategy.HEIGHT, use_height_and_width_as_shard_shape=True
    )
    values = np.arange(128 * 64, dtype=np.float32).reshape(1, 1, 128, 64)
    tensor = from_torch(values, device=mesh, dtype=DataType.FLOAT32, layout=Layout.TILE, memory_config=memory)
    inside = buffers.cb_descriptor_from_sharded_tensor(3, tensor, address_offset=64)
    assert (inside.total_size, inside.format_descriptors[0].page_size) == (2 * 4096, 4096)
    assert buffers.get_cb_address(inside) == tensor.buffer_address() + 64
    # The second core of four holds rows 32 to 63.
    assert np.array_equal(tensor.extract_shard(CoreCoord(1, 0)).to_numpy()[0, 0], values[0, 0, 32:64])
    with pytest.raises(RuntimeError, match="holds no shard"):
        tensor.extract_shard(4)
    assert OverlappedTensor(
        tensor, (64, 64), (32, 32), cores(0, 0), DataType.BFLOAT16, (32, 32)
    ).get_tile() == Tile((32, 32))
    with pytest.raises(RuntimeError, match="must be sharded"):
        buffers.cb_descriptor_from_sharded_tensor(0, from_torch(values, device=mesh))


def test_what_only_kernels_use_refuses() -> None:
    for name in ("TensorAccessorArgs", "setup_fabric_connection", "setup_routing_plane_connection"):
        with pytest.raises(RuntimeError, match=f"ttnn.{name} is not emulated"):
            getattr(refused, name)(None)


def test_memory_configurations_of_their_own_cores() -> None:
    memory = MemoryConfig(buffer_type=BufferType.L1)
    memory.experimental_set_per_core_allocation(True)
    assert "per_core_allocation=1,range_lockstep_allocation=0" in str(memory)
    with pytest.raises(RuntimeError, match="only supported for L1 buffers"):
        MemoryConfig().experimental_set_range_lockstep_allocation(True)


def test_programs_that_are_alike_share_a_number() -> None:
    def number(faces: buffers.FaceGeometry | None) -> int:
        form = buffers.CBFormatDescriptor(0, DataType.BFLOAT16, 2048)
        form.face_geometry = faces
        buffer = buffers.CBDescriptor(2048, cores(0, 0), [form])
        return kernels.compute_program_descriptor_hash(kernels.ProgramDescriptor([kernel(0)], [], [buffer]))

    assert number(None) == number(None) != number(buffers.FaceGeometry(1, 4))
    copied = kernels.KernelDescriptor(kernel(0))
    copied.compile_time_args.append(9)
    assert kernel(0).compile_time_args == [1, 2]
