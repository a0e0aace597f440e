"""A rank that hosts no device of a mesh makes the calls on it as the others do, and gets results that are like theirs."""

import pytest

from tests.runtime.mpi import ROOT, mpirun, run_ranks

PROGRAM = """
import numpy as np
import ttnn

parent = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
mesh = parent.create_submesh(ttnn.MeshShape(1, 2))  # of rank 0
E, rows = ttnn.experimental, ttnn.ROW_MAJOR_LAYOUT
semaphores = []

def put(shape, dim, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT):
    mapper = ttnn.ReplicateTensorToMesh(mesh) if dim is None else ttnn.ShardTensorToMesh(mesh, dim=dim)
    return ttnn.from_torch(np.ones(shape), dtype=dtype, layout=layout, device=mesh, mesh_mapper=mapper)

def show(tensor):
    print(tensor.shape, tensor.padded_shape, tensor.dtype, tensor.layout, tensor.memory_config())

x, one = put((1, 1, 32, 128), 3), put((1, 1, 1, 128), 3)
show(E.dit_fused_distributed_rmsnorm(x, 1, mesh, semaphores, weight=one))
show(E.dit_fused_distributed_layernorm(x, 1, mesh, semaphores, weight=one, bias=one))
image = put((2, 1, 64, 64), 2)
group = {"num_groups": 4, "cluster_axis": 1, "mesh_device": mesh, "multi_device_global_semaphore": semaphores}
show(E.dit_fused_distributed_groupnorm(image, **group))
pixels, compact = put((1, 2, 4, 8, 4), 3, layout=rows), put((40, 4), None, layout=rows)
show(E.halo_scatter(compact, pixels, 1, 1))
counts = put((2, 16), 0, ttnn.uint32, rows)
for tensor in E.deepseek_prefill.offset_cumsum(counts, 1, 1, 2, ttnn.DRAM_MEMORY_CONFIG):
    show(tensor)
stats, number = put((2, 1, 32, 1), None, ttnn.float32), put((1,), None, ttnn.uint32, rows)
sums = put((1, 4, 32, 1), None, ttnn.float32)
given = [put((2, 1, 32, 128), 3, ttnn.float32), put((1, 1, 32, 128), 3, ttnn.float32), stats, stats, put((2, 1, 1, 128), 3, ttnn.float32)]
for tensor in E.deepseek_prefill.attn_res_gather_softmax(*given, sums, None, cluster_axis=1, site=1, inv_hidden_size=1 / 128, eps=1e-6):
    show(tensor)
taps, history = [put((1, 96), None) for _ in range(4)], put((1, 3, 96), None, layout=rows)
config = ttnn.QkvCausalConv1dSiluProgramConfig(channel_chunk_size=32)
for tensor in E.kda.qkv_causal_conv1d_silu_with_carry(
    put((1, 256, 96), 1), history, *taps, 32, 32, 32, program_config=config, exchange_buffer=put((1, 6, 96), None, layout=rows),
    exchange_semaphores=semaphores, actual_start=number, sequence_parallel_axis=1,
):
    show(tensor)
"""


@pytest.mark.wide
@pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")
def test_results_are_alike_on_ranks_without_devices() -> None:
    descriptor = str(ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto")
    first, second = (
        run_ranks(2, PROGRAM, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}, timeout=60).check().ranks
    )
    assert first.stdout == second.stdout and len(first.stdout.splitlines()) == 13
