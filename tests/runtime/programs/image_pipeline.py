"""Images in the shape of a served network: down and up again on cores, one image a device, replayed over two command queues.

Down: convolutions whose results say which cores the next step takes, and a pool. Up: an enlargement, and a join with what came before,
piece by piece. While one batch is computed, the next is written and the last one read.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import ttnn

from tests.runtime.programs.common import Bench, cores, on_cores, weights

SIDE, DEEP, GRADES = 16, 32, 10
COMPUTE, MOVE = 0, 1
HEIGHT = ttnn.TensorMemoryLayout.HEIGHT_SHARDED


class Convolution:
    """Filters with the settings of a served network; they stay on the device as the first call has laid them."""

    def __init__(self, bench: Bench, inner: int, outer: int, side: int, step: int = 1, size: int = 3) -> None:
        self.filters = weights(outer, size * size, inner, 1).reshape(outer, inner, size, size) * size**-1
        self.offset, self.step, self.border = torch.randn(outer) * 0.1, step, size // 2
        self.held = [
            ttnn.from_torch(values, dtype=ttnn.float32, mesh_mapper=ttnn.ReplicateTensorToMesh(bench.mesh))
            for values in (self.filters, self.offset.reshape(1, 1, 1, -1))
        ]
        self.sizes = {
            "device": bench.mesh, "in_channels": inner, "out_channels": outer, "batch_size": 1, "input_height": side,
            "input_width": side, "kernel_size": (size, size), "stride": (step, step), "padding": (size // 2, size // 2),
        }  # fmt: skip
        self.config = ttnn.Conv2dConfig(
            weights_dtype=ttnn.bfloat16, shard_layout=HEIGHT, deallocate_activation=True,
            activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU), reshard_if_not_optimal=step == 1,
        )  # fmt: skip

    def __call__(self, images: ttnn.Tensor) -> ttnn.Tensor:
        found, self.held = ttnn.conv2d(
            input_tensor=images, weight_tensor=self.held[0], bias_tensor=self.held[1], conv_config=self.config,
            return_weights_and_bias=True, **self.sizes,
        )  # fmt: skip
        return found

    def on_host(self, images: torch.Tensor) -> torch.Tensor:
        return F.relu(F.conv2d(images, self.filters, self.offset, self.step, self.border))


class Network:
    def __init__(self, bench: Bench) -> None:
        half = SIDE // 2
        self.first, self.second = Convolution(bench, DEEP, DEEP, SIDE), Convolution(bench, DEEP, 64, half)
        self.last, self.flat = (
            Convolution(bench, 64 + DEEP, DEEP, SIDE),
            Convolution(bench, DEEP, 64, SIDE, size=1),
        )
        self.grades = weights(64, GRADES)
        self.held = bench.put(self.grades)

    def __call__(self, images: ttnn.Tensor) -> ttnn.Tensor:
        wide = self.first(images)
        kept = ttnn.to_layout(wide, ttnn.ROW_MAJOR_LAYOUT)
        small = ttnn.max_pool2d(
            input_tensor=wide, batch_size=1, input_h=SIDE, input_w=SIDE, channels=DEEP, kernel_size=[2, 2], stride=[2, 2],
            padding=[0, 0], dilation=[1, 1], deallocate_input=True,
        )  # fmt: skip
        deep = ttnn.to_layout(self.second(small), ttnn.ROW_MAJOR_LAYOUT)
        pieces = cores((0, 0, 7, 0))  # one row of pixels each
        rows = ttnn.to_memory_config(
            ttnn.reshape(ttnn.to_memory_config(deep, ttnn.L1_MEMORY_CONFIG), (1, SIDE // 2, SIDE // 2, 64)),
            on_cores(HEIGHT, pieces, (SIDE // 2, 64)),
        )
        grown = ttnn.reshape(ttnn.upsample(rows, (2, 2)), (1, 1, SIDE * SIDE, 64))
        place = kept.memory_config()
        piece = place.shard_spec.shape
        apart = on_cores(HEIGHT, place.shard_spec.grid, (piece[0], 64))
        joint = on_cores(HEIGHT, place.shard_spec.grid, (piece[0], 64 + piece[1]))
        both = ttnn.concat([ttnn.reshard(grown, apart), kept], dim=-1, memory_config=joint)
        done = self.flat(self.last(both))
        means = ttnn.avg_pool2d(
            input_tensor=done, batch_size=1, input_h=SIDE, input_w=SIDE, channels=64, kernel_size=[SIDE, SIDE],
            stride=[1, 1], padding=[0, 0, 0, 0], output_layout=ttnn.TILE_LAYOUT,
        )  # fmt: skip
        return ttnn.linear(means, self.held, memory_config=ttnn.DRAM_MEMORY_CONFIG)

    def on_host(self, images: torch.Tensor) -> torch.Tensor:
        wide = self.first.on_host(images)
        grown = F.interpolate(self.second.on_host(F.max_pool2d(wide, 2)), scale_factor=2)
        done = self.flat.on_host(self.last.on_host(torch.cat([grown, wide], 1)))
        return done.mean((2, 3)) @ self.grades


def main() -> None:
    torch.manual_seed(0)
    mesh = ttnn.open_mesh_device(
        ttnn.MeshShape(2, 4), l1_small_size=32768, trace_region_size=1 << 20, num_command_queues=2
    )
    bench, count = Bench(mesh), mesh.get_num_devices()
    network = Network(bench)
    batches = [torch.randn(count, DEEP, SIDE, SIDE) for _ in range(3)]
    given = [
        ttnn.from_torch(
            batch.permute(0, 2, 3, 1).reshape(count, 1, SIDE * SIDE, DEEP), dtype=ttnn.bfloat16,
            mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=0),
        )
        for batch in batches
    ]  # fmt: skip
    in_dram = on_cores(HEIGHT, cores((0, 0, 7, 0)), (SIDE * SIDE // 8, DEEP), ttnn.BufferType.DRAM)
    in_l1 = on_cores(HEIGHT, cores((0, 0, 7, 0)), (SIDE * SIDE // 8, DEEP))
    source = ttnn.allocate_tensor_on_device(
        given[0].spec.shape, given[0].dtype, given[0].layout, mesh, in_dram
    )

    def write(batch: ttnn.Tensor, free: ttnn.MeshEvent) -> ttnn.MeshEvent:
        ttnn.wait_for_event(MOVE, free)
        ttnn.copy_host_to_device_tensor(batch, source, cq_id=MOVE)
        return ttnn.record_event(mesh, MOVE)

    ttnn.wait_for_event(COMPUTE, write(given[0], ttnn.record_event(mesh, COMPUTE)))
    network(ttnn.reshard(source, in_l1))  # lays the filters
    images = ttnn.reshard(source, in_l1)
    address, spec = images.buffer_address(), images.spec
    trace = ttnn.begin_trace_capture(mesh, cq_id=COMPUTE)
    result = network(images)
    ttnn.end_trace_capture(mesh, trace, cq_id=COMPUTE)
    images = ttnn.allocate_tensor_on_device(spec, mesh)
    assert images.buffer_address() == address

    read = [ttnn.allocate_tensor_on_host(result.spec, mesh) for _ in given]
    free = ttnn.record_event(mesh, COMPUTE)
    for batch, into in zip(given, read, strict=True):
        ttnn.wait_for_event(COMPUTE, write(batch, free))
        images = ttnn.reshard(source, in_l1, images)
        free = ttnn.record_event(mesh, COMPUTE)
        ttnn.execute_trace(mesh, trace, cq_id=COMPUTE, blocking=False)
        ttnn.wait_for_event(MOVE, ttnn.record_event(mesh, COMPUTE))
        ttnn.copy_device_to_host_tensor(result, into, blocking=False, cq_id=MOVE)
    ttnn.synchronize_device(mesh)
    for batch, into in zip(batches, read, strict=True):
        grades = ttnn.to_torch(into, mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim=0)).float()
        bench.check("grades", grades.reshape(count, GRADES), network.on_host(batch))
    ttnn.release_trace(mesh, trace)
    bench.close()


main()
