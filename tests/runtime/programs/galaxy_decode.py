"""One token of a galaxy's decoder, piece by piece: sub-devices, weights fetched ahead, buffers that stay, heads of each column's users."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import ttnn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from common import HEIGHT, HIFI2, TILE, WIDTH, Bench, cores, cosines, on_cores, rms, turned, turning, weights

DIM, HEADS, HEAD, USERS, ROWS, COLUMNS = 512, 8, 128, 32, 2, 4
OWN = USERS // COLUMNS
B8 = ttnn.bfloat8_b

torch.manual_seed(0)
ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
mesh = ttnn.open_mesh_device(ttnn.MeshShape(ROWS, COLUMNS))
bench = Bench(mesh)
SENDERS = [ttnn.CoreCoord(0, y) for y in range(4)]
WORKING = cores((1, 0, bench.size.x - 1, bench.size.y - 1))
manager = mesh.create_sub_device_manager(
    [ttnn.SubDevice([cores((0, 0, 0, bench.size.y - 1))]), ttnn.SubDevice([WORKING])], 0
)
mesh.load_sub_device_manager(manager)
WORKER = ttnn.SubDeviceId(1)
mesh.set_sub_device_stall_group([ttnn.SubDeviceId(0), WORKER])
flags = [ttnn.create_global_semaphore(mesh, WORKING, 0) for _ in range(3)]
AXIS = {"mesh_device": mesh, "topology": ttnn.Topology.Linear, "num_links": 1}


def first(count: int) -> ttnn.CoreRangeSet:
    return ttnn.num_cores_to_corerangeset_in_subcoregrids(ttnn.CoreCoord(1, 0), count, WORKING, row_wise=True)


def in_columns(width: int, count: int) -> ttnn.MemoryConfig:
    return on_cores(WIDTH, first(count), (TILE, width // count))


def by_user(count: int, rows: int = TILE, columns: int = HEAD) -> ttnn.MemoryConfig:
    return on_cores(HEIGHT, first(count), (rows, columns))


def normed(x: ttnn.Tensor, residual: ttnn.Tensor, weight: ttnn.Tensor) -> ttnn.Tensor:
    """The norm of a sum, over the columns of the mesh; the sum stays in `residual`."""
    stats = bench.put(
        torch.zeros(1, 1, TILE, TILE * COLUMNS), memory=on_cores(WIDTH, first(1), (TILE, TILE * COLUMNS))
    )
    program = ttnn.LayerNormShardedMultiCoreProgramConfig(
        compute_with_storage_grid_size=(bench.size.x, bench.size.y),
        subblock_w=1,
        block_h=1,
        block_w=1,
        inplace=False,
    )
    return ttnn.fused_rms_minimal(
        x,
        program,
        1,
        mesh,
        flags[0],
        topology=ttnn.Topology.Linear,
        residual_input_tensor=residual,
        num_links=1,
        epsilon=1e-5,
        weight=weight,
        stats=stats,
        memory_config=in_columns(DIM // COLUMNS, 4),
    )


def attention(x: ttnn.Tensor, w: ttnn.Tensor, positions: torch.Tensor) -> ttnn.Tensor:
    """[1, 1, users, DIM / columns] to [1, 1, users, heads * HEAD] on every device of a row."""
    program = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=(8, 5),
        in0_block_w=1,
        out_subblock_h=1,
        out_subblock_w=1,
        per_core_M=1,
        per_core_N=1,
        fuse_batch=True,
        fused_activation=None,
        mcast_in0=True,
        untilize_out=True,
    )
    qkv = ttnn.matmul(
        ttnn.to_memory_config(x, ttnn.L1_MEMORY_CONFIG),
        w,
        program_config=program,
        memory_config=ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG,
        dtype=ttnn.bfloat16,
    )
    heads = by_user(3 * OWN + 1)
    q, k, v = ttnn.experimental.llama_rs_create_heads(
        input_tensor=qkv,
        intermediate_packet_buffer=bench.rows(
            torch.zeros(1, 1, TILE, 512 * 5), memory=in_columns(512 * 5, 5)
        ),
        dim=3,
        cross_device_semaphore=flags[1],
        subdevice_id=WORKER,
        cluster_axis=1,
        num_heads=HEADS,
        num_kv_heads=1,
        memory_config=heads,
        qkv_memory_config=heads,
        use_optimal_ccl_for_llama=True,
        **AXIS,
    )
    tables = []
    for values in cosines(positions, HEAD):
        # Twice the users of each column, for queries and for keys, a row for every head.
        twice = torch.cat([torch.cat([own, own]) for own in values.chunk(COLUMNS)])
        rows = twice[None, :, None].expand(1, -1, HEADS, -1)
        tables.append(bench.rows(rows, (None, 1), by_user(2 * OWN, HEADS)))
    turns = bench.put(turning().repeat(1, 1, 2 * OWN, 1), memory=by_user(2 * OWN, TILE, TILE))
    q, k = ttnn.experimental.rotary_embedding_llama_fused_qk(q, k, *tables, turns)
    cache = [bench.put(torch.zeros(OWN * 4, 1, TILE, HEAD), dtype=B8) for _ in range(2)]
    pages = bench.rows(torch.arange(OWN * 4, dtype=torch.int32).reshape(OWN, 4), dtype=ttnn.int32)
    at = bench.rows(positions.to(torch.int32), (None, 0), dtype=ttnn.int32)
    ttnn.experimental.paged_fused_update_cache(
        cache[0], k, cache[1], v, update_idxs_tensor=at, page_table=pages
    )
    found = ttnn.transformer.paged_scaled_dot_product_attention_decode(
        q,
        *cache,
        cur_pos_tensor=at,
        page_table_tensor=pages,
        scale=HEAD**-0.5,
        program_config=ttnn.SDPAProgramConfig(
            compute_with_storage_grid_size=(8, 4),
            sub_core_grids=first(32),
            exp_approx_mode=False,
            q_chunk_size=0,
            k_chunk_size=0,
        ),
        memory_config=by_user(OWN),
    )
    return ttnn.experimental.all_gather_concat(
        found,
        bench.put(torch.zeros(1, 32, TILE, HEAD), memory=by_user(32)),
        1,
        cluster_axis=1,
        multi_device_global_semaphore=flags[2],
        num_heads=HEADS,
        memory_config=in_columns(HEADS * HEAD, 8),
        subdevice_id=WORKER,
        **AXIS,
    )


def fetched_product(x: ttnn.Tensor, w: ttnn.Tensor, columns: int) -> ttnn.Tensor:
    """x @ w on a ring of cores that get the weights from senders beside the banks."""
    rows = int(w.shape[-2])
    ring = cores(*((1, y, 2, y) for y in range(4)))
    buffers = ttnn.create_global_circular_buffer(
        mesh, [(s, cores((1, s.y, 2, s.y))) for s in SENDERS], 400 * 1088
    )
    there = torch.tensor([[w.buffer_address()]]).repeat(len(SENDERS), 1)
    by_sender = on_cores(HEIGHT, cores(*((s.x, s.y, s.x, s.y) for s in SENDERS)), (1, 1))
    addresses = bench.rows(there, memory=by_sender, dtype=ttnn.uint32)
    running = ttnn.dram_prefetcher(
        [w, addresses], num_layers=1, global_cb=buffers, enable_performance_mode=True
    )
    mesh.set_sub_device_stall_group([WORKER])
    program = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=(8, 4),
        in0_block_w=rows // 8 // TILE,
        out_subblock_h=1,
        out_subblock_w=columns // 8 // TILE,
        per_core_M=1,
        per_core_N=columns // 8 // TILE,
        fuse_batch=True,
        fused_activation=None,
        mcast_in0=False,
        gather_in0=True,
        hop_cores=ttnn.CoreRangeSet([]),
        num_global_cb_receivers=2,
        untilize_out=False,
    )
    found = ttnn.linear(
        ttnn.to_memory_config(x, on_cores(WIDTH, ring, (TILE, rows // 8))),
        w,
        program_config=program,
        memory_config=on_cores(WIDTH, ring, (TILE, columns // 8)),
        compute_kernel_config=HIFI2,
        dtype=B8,
        global_cb=buffers,
        sub_device_id=WORKER,
    )
    ttnn.deallocate(running)
    return found


def summed(x: ttnn.Tensor, columns: int) -> ttnn.Tensor:
    """The sum over the rows of the mesh, by a buffer that has room for every part."""
    buffer = bench.put(
        torch.zeros(1, 1, TILE, columns * ROWS), memory=in_columns(columns * ROWS, 8), dtype=B8
    )
    return ttnn.experimental.all_reduce_async(
        ttnn.to_memory_config(x, in_columns(columns, 8)),
        buffer,
        cluster_axis=0,
        multi_device_global_semaphore=flags[0],
        memory_config=in_columns(columns, 8),
        dtype=ttnn.bfloat16,
        subdevice_id=WORKER,
        use_optimal_ccl_for_llama=True,
        **AXIS,
    )


PER_ROW = (HEADS + 2) * HEAD
x, skipped, gain = torch.randn(1, 1, USERS, DIM), torch.randn(1, 1, USERS, DIM), 1 + 0.1 * torch.randn(DIM)
w_qkv, w_out = weights(DIM, ROWS * PER_ROW), weights(ROWS * HEADS * HEAD, DIM)
positions = torch.arange(USERS) * 3 % 96
own = in_columns(DIM // COLUMNS, 4)
residual = bench.put(skipped, (None, 3), own)
h = normed(bench.put(x, (None, 3), own), residual, bench.rows(gain.reshape(1, 1, -1, TILE), (None, 2)))
a = attention(h, bench.put(w_qkv[None, None], (3, 2)), positions)
banks = on_cores(WIDTH, cores((0, 0, 3, 0)), (HEADS * HEAD, DIM // 4), kept=ttnn.BufferType.DRAM)
o = summed(fetched_product(a, bench.put(w_out[None, None], (2, None), banks, B8), DIM), DIM)

total = x + skipped
bench.check("sum", bench.whole(residual, (0, 3))[:1], total)
h_ = rms(total, gain)
bench.check("norm", bench.whole(h, (0, 3))[:1], h_)
parts = (h_ @ w_qkv)[0, 0].reshape(USERS, ROWS, HEADS + 2, HEAD).transpose(0, 1)
cos, sin = (t[None, :, None] for t in cosines(positions, HEAD))
q_, k_ = (turned(t, cos, sin) for t in (parts[:, :, :HEADS], parts[:, :, HEADS : HEADS + 1]))
# The cache holds this token's key and value, and as many zeros as there are positions before it.
new = torch.exp((q_ * k_).sum(-1) * HEAD**-0.5)
share = new / (new + positions[None, :, None])
a_ = (share[..., None] * parts[:, :, HEADS + 1 :]).reshape(ROWS, 1, USERS, HEADS * HEAD)
bench.check("attention", bench.whole(a, (0, 1))[:, :1], a_)
o_ = torch.cat(list(a_), -1) @ w_out
bench.check("output", bench.whole(o, (0, 1))[:1, :1], o_[None])
mesh.reset_sub_device_stall_group()
bench.close()
