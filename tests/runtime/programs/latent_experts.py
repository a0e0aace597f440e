"""Decoding with latent attention, then experts on every device: users of a row apart for attention, tokens of all rows for experts."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import torch
import ttnn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from common import HIFI2, TILE, Bench, cosines, rms, turned, turning, weights

ROWS, COLUMNS, USERS, HEADS = 2, 4, 32, 64
PLAIN, TURNED, LATENT, QUERY, VALUE, DIM = 64, 64, 128, 192, 64, 512
EXPERTS, CHOSEN, INNER, TOKENS = 16, 4, 128, 8
OWN = USERS // COLUMNS
L1 = ttnn.L1_MEMORY_CONFIG
B8 = ttnn.bfloat8_b

torch.manual_seed(0)
ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
mesh = ttnn.open_mesh_device(ttnn.MeshShape(ROWS, COLUMNS))
bench = Bench(mesh)


def gathered(x: ttnn.Tensor, dim: int) -> ttnn.Tensor:
    return ttnn.experimental.all_gather_async(
        x,
        dim=dim,
        cluster_axis=1,
        memory_config=L1,
        topology=ttnn.Topology.Linear,
        multi_device_global_semaphore=bench.semaphores(2),
        barrier_semaphore=bench.semaphores(1)[0],
        num_links=1,
    )


def by_core(count: int, columns: int) -> ttnn.MemoryConfig:
    return ttnn.create_sharded_memory_config(
        shape=(TILE, columns),
        core_grid=ttnn.num_cores_to_corerangeset(count, bench.size, row_wise=True),
        strategy=ttnn.ShardStrategy.HEIGHT,
        orientation=ttnn.ShardOrientation.ROW_MAJOR,
        use_height_and_width_as_shard_shape=True,
    )


def attention() -> None:
    """Keys and values are one latent row of a position; queries are brought into its space."""
    x, gain_q, gain_k = torch.randn(ROWS, 1, USERS, DIM), torch.randn(QUERY), torch.randn(LATENT)
    w_in, w_q = weights(DIM, QUERY + LATENT + TURNED), weights(QUERY, HEADS * (PLAIN + TURNED))
    w_k, w_v = weights(HEADS, PLAIN, LATENT), weights(HEADS, LATENT, VALUE)
    w_out = weights(HEADS * VALUE, DIM)
    positions = torch.arange(USERS) * 5 % 60
    scale = (PLAIN + TURNED) ** -0.5

    parts = ttnn.linear(
        bench.put(x, (0, 3), L1),
        bench.put(w_in[None, None], (None, 2), dtype=B8),
        memory_config=L1,
        compute_kernel_config=HIFI2,
    )
    parts = ttnn.experimental.fast_reduce_nc(
        gathered(parts, 1), dims=[1], output=None, compute_kernel_config=None, memory_config=L1
    )
    ends = [0, QUERY, QUERY + LATENT, QUERY + LATENT + TURNED]
    q, kv, turning_k = (
        ttnn.slice(parts, [0, 0, 0, a], [1, 1, USERS, b], memory_config=L1)
        for a, b in itertools.pairwise(ends)
    )
    q, kv = (
        ttnn.rms_norm(t, epsilon=1e-6, weight=bench.rows(g.reshape(1, 1, -1, TILE)))
        for t, g in ((q, gain_q), (kv, gain_k))
    )
    cos, sin = cosines(positions, TURNED)
    tables = [bench.put(t[None, :, None], memory=by_core(USERS, TURNED)) for t in (cos, sin)]
    turns = bench.put(turning().repeat(1, 1, USERS, 1), memory=by_core(USERS, TILE))

    def turn(t: ttnn.Tensor) -> ttnn.Tensor:
        t = ttnn.to_memory_config(t, memory_config=by_core(USERS, TURNED))
        t = ttnn.experimental.rotary_embedding_llama(t, *tables, turns, is_decode_mode=True)
        return ttnn.to_memory_config(t, memory_config=L1)

    swap = {"dims": (0, 2, 1, 3), "memory_config": L1}
    turning_k = ttnn.permute(turn(ttnn.permute(turning_k, **swap)), **swap)
    new = ttnn.concat([ttnn.to_memory_config(kv, L1), turning_k], dim=-1, memory_config=L1)
    new = ttnn.permute(ttnn.pad(new, [(0, 0), (0, TILE - 1), (0, 0), (0, 0)], 0), (0, 2, 1, 3))
    new = ttnn.mesh_partition(new, dim=1, cluster_axis=1, memory_config=L1)
    cache = bench.put(torch.zeros(OWN * 2, 1, TILE, LATENT + TURNED), dtype=B8)
    pages = bench.rows(torch.arange(OWN * 2, dtype=torch.int32).reshape(OWN, 2), dtype=ttnn.int32)
    at = bench.rows(positions.to(torch.int32), (None, 0), dtype=ttnn.int32)
    ttnn.experimental.paged_update_cache(
        cache,
        ttnn.to_memory_config(new, memory_config=by_core(OWN, LATENT + TURNED)),
        update_idxs_tensor=at,
        page_table=pages,
        mesh_coords={ttnn.MeshCoordinate(r, c) for r in range(ROWS) for c in range(COLUMNS)},
    )

    local = HEADS // COLUMNS
    q = ttnn.linear(q, bench.put(w_q[None, None], (None, 3), dtype=B8), memory_config=L1)
    q = ttnn.reshape(q, (USERS, 1, local, PLAIN + TURNED))
    plain = ttnn.permute(ttnn.slice(q, [0, 0, 0, 0], [USERS, 1, local, PLAIN]), (1, 2, 0, 3))
    plain = ttnn.linear(plain, bench.put(w_k[None], (None, 1), dtype=B8), memory_config=L1)
    turned_q = ttnn.slice(q, [0, 0, 0, PLAIN], [USERS, 1, local, PLAIN + TURNED], memory_config=L1)
    turned_q = turn(ttnn.permute(turned_q, (1, 0, 2, 3)))
    q = ttnn.concat([ttnn.permute(plain, (0, 2, 1, 3)), turned_q], dim=-1, memory_config=L1)
    q = ttnn.experimental.all_to_all_async_generic(
        q, in_dim=2, out_dim=1, cluster_axis=1, topology=ttnn.Topology.Linear, num_links=1, memory_config=L1
    )
    pieces = OWN * HEADS // TILE
    a = ttnn.transformer.paged_flash_multi_latent_attention_decode(
        ttnn.to_memory_config(q, by_core(pieces, LATENT + TURNED)),
        cache,
        page_table_tensor=pages,
        cur_pos_tensor=at,
        head_dim_v=LATENT,
        scale=scale,
        program_config=ttnn.SDPAProgramConfig(
            compute_with_storage_grid_size=bench.size, q_chunk_size=0, k_chunk_size=32, exp_approx_mode=False
        ),
        memory_config=by_core(pieces, LATENT),
    )
    a = ttnn.permute(ttnn.to_memory_config(a, memory_config=L1), (0, 2, 1, 3))
    v = ttnn.linear(a, bench.put(w_v[None], dtype=B8), memory_config=L1)
    v = ttnn.reshape(gathered(ttnn.permute(v, (0, 2, 1, 3)), 1), (1, 1, USERS, HEADS * VALUE))
    out = ttnn.linear(v, bench.put(w_out[None, None], (None, 3), dtype=B8), memory_config=L1)

    p = (x @ w_in)[:, 0]
    q_ = (rms(p[..., :QUERY], gain_q, 1e-6) @ w_q).reshape(ROWS, USERS, HEADS, -1)
    kv_ = rms(p[..., QUERY : QUERY + LATENT], gain_k, 1e-6)
    k_ = turned(p[..., QUERY + LATENT :], cos, sin)
    near = torch.einsum("ruhn,hnk->ruhk", q_[..., :PLAIN], w_k)
    far = turned(q_[..., PLAIN:], cos[:, None], sin[:, None])
    score = torch.exp(((near * kv_[:, :, None]).sum(-1) + (far * k_[:, :, None]).sum(-1)) * scale)
    share = score / (score + positions[None, :, None])
    v_ = torch.einsum("ruhk,hkv->ruhv", share[..., None] * kv_[:, :, None], w_v)
    bench.check("attention", bench.whole(out, (0, 3))[:, 0], v_.reshape(ROWS, USERS, -1) @ w_out)


def experts() -> None:
    """Each token goes to the devices of its experts and comes back, weighed."""
    devices, hidden = ROWS * COLUMNS, DIM // 2
    each, batch = EXPERTS // devices, TOKENS * ROWS
    x = torch.randn(1, 1, batch, hidden)
    shares, chosen = torch.rand(batch, EXPERTS).topk(CHOSEN, -1)
    gate, up, down = (weights(EXPERTS, *s) for s in ((hidden, INNER), (hidden, INNER), (INNER, hidden)))

    tokens = gathered(bench.put(x, (2, 3), L1), -1)
    tokens = ttnn.reshape(ttnn.to_layout(tokens, ttnn.ROW_MAJOR_LAYOUT), shape=(TOKENS, 1, 1, hidden))
    index = bench.rows(chosen.reshape(batch, 1, 1, CHOSEN).to(torch.int32), (0, None), dtype=ttnn.uint16)
    where = torch.eye(devices, dtype=torch.int32).repeat_interleave(each, 0)[None, None]
    mapping = bench.rows(where, dtype=ttnn.uint16)
    along = {"cluster_axis": 0, "memory_config": L1, "num_links": 1, "topology": ttnn.Topology.Linear}
    sent, told = ttnn.all_to_all_dispatch(tokens, index, mapping, **along)
    h = ttnn.repeat(ttnn.reshape(sent, shape=(1, 1, batch, hidden)), repeat_dims=ttnn.Shape((1, each, 1, 1)))
    h = ttnn.to_layout(h, ttnn.TILE_LAYOUT)
    on_devices = ttnn.ShardTensorToMesh(mesh, dim=1)
    w_gate, w_up, w_down = (
        ttnn.from_torch(w[None], B8, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=on_devices)
        for w in (gate, up, down)
    )
    first, second = (ttnn.linear(h, w, memory_config=L1) for w in (w_gate, w_up))
    y = ttnn.mul(first, second, input_tensor_a_activations=[ttnn.UnaryOpType.SILU], memory_config=L1)
    y = ttnn.to_layout(ttnn.linear(y, w_down, memory_config=L1), ttnn.ROW_MAJOR_LAYOUT)
    y = ttnn.reshape(y, shape=(each, batch, 1, hidden))
    back = ttnn.all_to_all_combine(y, told, mapping, **along)
    back = ttnn.to_layout(ttnn.reshape(back, shape=(CHOSEN, 1, TOKENS, hidden)), ttnn.TILE_LAYOUT)
    scales = ttnn.repeat(
        bench.rows(shares.reshape(1, 1, batch, CHOSEN), (2, None)), ttnn.Shape((hidden, 1, 1, 1))
    )
    scales = ttnn.to_layout(ttnn.permute(scales, (3, 1, 2, 0)), ttnn.TILE_LAYOUT)
    total = ttnn.sum(ttnn.mul(back, scales, memory_config=L1), dim=0, keepdim=True)
    total = ttnn.experimental.reduce_scatter_minimal_async(
        total,
        persistent_output_buffers=None,
        dim=3,
        multi_device_global_semaphore=bench.semaphores(3),
        barrier_semaphore=bench.semaphores(1)[0],
        num_links=1,
        cluster_axis=1,
        memory_config=L1,
        topology=ttnn.Topology.Linear,
    )

    def one(token: torch.Tensor, expert: int) -> torch.Tensor:
        return (torch.nn.functional.silu(token @ gate[expert]) * (token @ up[expert])) @ down[expert]

    wanted = torch.stack(
        [sum(shares[t, k] * one(x[0, 0, t], chosen[t, k]) for k in range(CHOSEN)) for t in range(batch)]
    )
    bench.check("experts", bench.whole(total, (2, 3))[0, 0], wanted)


attention()
experts()
bench.close()
