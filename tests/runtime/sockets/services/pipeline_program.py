"""A pipeline of two ranks as public runners write it: the host streams tokens to the first mesh, that one activations to the second, which
tells the host what it has finished.
"""

import struct

import numpy as np
import ttnn

CHUNKS, ROWS, WIDTH = 3, 4, 64
WORKERS = ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))
REPLICATED = ttnn.MeshMapperConfig([ttnn.PlacementReplicate(), ttnn.PlacementReplicate()])
OVER_ROWS = ttnn.MeshMapperConfig([ttnn.PlacementShard(0), ttnn.PlacementReplicate()])
END = 0xFFFF_FFFF

mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
rank = int(ttnn.distributed_context_get_rank())
prefill = ttnn.experimental.deepseek_prefill
activations = ttnn.TensorSpec((ROWS, WIDTH), ttnn.bfloat16, ttnn.TILE_LAYOUT)
common = {
    "global_spec": activations,
    "mapper": ttnn.create_mesh_mapper(
        mesh, ttnn.MeshMapperConfig([ttnn.PlacementReplicate(), ttnn.PlacementShard(1)])
    ),
    "fifo_size_bytes": 4096,
    "sender_worker_cores": WORKERS,
    "receiver_worker_cores": WORKERS,
    "metadata_size_bytes": 12,
    "sender_rank": 0,
    "receiver_rank": 1,
}


def record(*words):
    row = np.array(words, np.uint32).reshape(1, 1, 1, -1)
    mapper = ttnn.create_mesh_mapper(mesh, REPLICATED)
    return ttnn.from_torch(row, dtype=ttnn.uint32, device=mesh, mesh_mapper=mapper)


def first_stage():
    tokens = ttnn.H2DStreamService(
        mesh,
        ttnn.TensorSpec((ROWS, WIDTH), ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT),
        mapper=ttnn.create_mesh_mapper(
            mesh, ttnn.MeshMapperConfig([ttnn.PlacementReplicate(), ttnn.PlacementShard(1)])
        ),
        worker_cores=WORKERS,
        metadata_size_bytes=12,
    )
    onward = ttnn.D2DStreamService.create_sender(sender_mesh=mesh, **common)
    for chunk in range(CHUNKS + 1):
        slot = chunk if chunk < CHUNKS else END
        ids = np.arange(ROWS * WIDTH, dtype=np.uint32).reshape(ROWS, WIDTH) % 100 + chunk
        tokens.forward_to_tensor_bytes(ids, metadata=struct.pack("<3I", slot, 0, WIDTH))
        taken, metadata = prefill.inbound_socket_service_sync(tokens, metadata_size_bytes=12)
        hidden = ttnn.to_layout(ttnn.typecast(taken, ttnn.bfloat16), ttnn.TILE_LAYOUT)
        onward.wait_for_fabric_links()
        prefill.outbound_socket_service_sync(onward, ttnn.multiply(hidden, 2.0), metadata=metadata)
        ttnn.deallocate(hidden)
        onward.release_fabric_links()
    tokens.barrier()


def second_stage():
    inbound = ttnn.D2DStreamService.create_receiver(receiver_mesh=mesh, **common)
    done = ttnn.D2HStreamService(mesh, None, 4096, worker_cores=WORKERS, metadata_size_bytes=12)
    while True:
        inbound.wait_for_fabric_links()
        inbound.release_fabric_links()
        hidden, metadata = prefill.inbound_socket_service_sync(inbound, metadata_size_bytes=12)
        slot = int(ttnn.to_torch(ttnn.get_device_tensors(metadata)[0]).flatten()[0]) & END
        if slot == END:
            break
        whole = ttnn.to_torch(
            hidden,
            mesh_composer=ttnn.create_mesh_composer(
                mesh, ttnn.MeshComposerConfig([0, 1], mesh_shape_override=ttnn.MeshShape(1, 2))
            ),
        )
        wanted = (np.arange(ROWS * WIDTH).reshape(ROWS, WIDTH) % 100 + slot) * 2.0
        assert np.array_equal(
            np.asarray(whole.float() if hasattr(whole, "float") else whole, np.float32), wanted
        ), whole
        prefill.outbound_socket_service_sync(done, metadata=record(slot, 0, WIDTH))
    print("finished", [struct.unpack("<3I", done.read_metadata())[0] for _ in range(CHUNKS)])


(first_stage if rank == 0 else second_stage)()
ttnn.distributed_context_barrier()
print("rank", rank, "done")
