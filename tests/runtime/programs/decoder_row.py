"""A decoder over a row of devices: prefill into a paged cache, whole and in chunks, then decoding by a captured trace."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import ttnn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from common import HIFI2, TILE, WIDTH, Bench, cores, cosines, divisor, on_cores, rms, turned, turning, weights

DIM, HEADS, KV, HEAD, HIDDEN, VOCAB = 512, 16, 8, 64, 1024, 1024
USERS, LONGEST, BLOCK, PROMPT, STEPS = 2, 128, 32, 64, 3
QKV = HEAD * (HEADS + 2 * KV)
SDPA = {"compute_with_storage_grid_size": (8, 7), "exp_approx_mode": False}

torch.manual_seed(0)
ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4), trace_region_size=20_000_000)
mesh.reshape(ttnn.MeshShape(1, 8))
bench = Bench(mesh)
DEVICES = mesh.get_num_devices()
Q, K = HEADS // DEVICES, KV // DEVICES

W = {
    "embedding": torch.randn(VOCAB, DIM),
    "first": 1 + 0.1 * torch.randn(DIM),
    "second": 1 + 0.1 * torch.randn(DIM),
    "last": 1 + 0.1 * torch.randn(DIM),
    "q": weights(DIM, HEADS * HEAD),
    "k": weights(DIM, KV * HEAD),
    "v": weights(DIM, KV * HEAD),
    "o": weights(HEADS * HEAD, DIM),
    "gate": weights(DIM, HIDDEN),
    "up": weights(DIM, HIDDEN),
    "down": weights(HIDDEN, DIM),
    "out": weights(DIM, VOCAB),
}
COS, SIN = cosines(torch.arange(LONGEST), HEAD)


def in_torch(tokens: torch.Tensor) -> torch.Tensor:
    """The logits of every position."""
    users, length = tokens.shape
    x = W["embedding"][tokens]
    h = rms(x, W["first"])
    q, k, v = ((h @ W[n]).view(users, length, -1, HEAD).transpose(1, 2) for n in "qkv")
    q, k = (turned(t, COS[:length], SIN[:length]) for t in (q, k))
    k, v = (t.repeat_interleave(HEADS // KV, 1) for t in (k, v))
    later = torch.full((length, length), float("-inf")).triu(1)
    a = torch.softmax(q @ k.transpose(-1, -2) * HEAD**-0.5 + later, -1) @ v
    x = x + a.transpose(1, 2).reshape(users, length, -1) @ W["o"]
    h = rms(x, W["second"])
    x = x + (torch.nn.functional.silu(h @ W["gate"]) * (h @ W["up"])) @ W["down"]
    return rms(x, W["last"]) @ W["out"]


# Weights of decoding are spread over the banks of DRAM, activations over the cores that multiply them.
banks = mesh.dram_grid_size()


def banked(rows: int, columns: int) -> ttnn.MemoryConfig:
    each = -(-columns // (TILE * banks.x)) * TILE
    return on_cores(WIDTH, cores((0, 0, banks.x - 1, banks.y - 1)), (rows, each), ttnn.BufferType.DRAM)


def spread(width: int) -> ttnn.MemoryConfig:
    return ttnn.create_sharded_memory_config(
        (TILE, width // grid(width).num_cores),
        grid(width),
        ttnn.ShardStrategy.WIDTH,
        ttnn.ShardOrientation.ROW_MAJOR,
        use_height_and_width_as_shard_shape=True,
    )


def grid(width: int) -> ttnn.CoreGrid:
    return ttnn.CoreGrid(y=1, x=divisor(width // TILE, 8))


def by_banks(rows: int, columns: int, count: int) -> object:
    return ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(
        in0_block_w=divisor(rows // (TILE * count), 8),
        per_core_M=1,
        per_core_N=-(-columns // (TILE * count)),
        fused_activation=None,
    )


def by_blocks(height: int, rows: int, columns: int) -> object:
    return ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=(8, 7),
        in0_block_w=divisor(rows // TILE, 4),
        out_subblock_h=1,
        out_subblock_w=1,
        per_core_M=-(-height // (TILE * 7)),
        per_core_N=-(-columns // (TILE * 8)),
        transpose_mcast=False,
        fused_activation=None,
        fuse_batch=True,
    )


RESIDUAL = spread(DIM // DEVICES)
LINKS = {"num_links": 1, "topology": ttnn.Topology.Linear, "chunks_per_sync": 10}
LINKS |= {"num_workers_per_link": 2, "num_buffers_per_channel": 2}
barrier, gathers, scatters = bench.semaphores(1)[0], bench.semaphores(2), bench.semaphores(3)


def gathered(x: ttnn.Tensor, memory: ttnn.MemoryConfig) -> ttnn.Tensor:
    return ttnn.experimental.all_gather_async(
        x,
        persistent_output_buffer=None,
        dim=3,
        multi_device_global_semaphore=gathers,
        memory_config=memory,
        barrier_semaphore=barrier,
        **LINKS,
    )


def summed(x: ttnn.Tensor, memory: ttnn.MemoryConfig) -> ttnn.Tensor:
    found = ttnn.experimental.reduce_scatter_minimal_async(
        x,
        persistent_output_buffers=None,
        dim=3,
        multi_device_global_semaphore=scatters,
        barrier_semaphore=barrier,
        memory_config=memory,
        intermediate_memory_config=ttnn.DRAM_MEMORY_CONFIG,
        **LINKS,
    )
    x.deallocate(True)
    return found


parts = [torch.cat([torch.chunk(W[n], DEVICES, 1)[i] for n in "qkv"], 1) for i in range(DEVICES)]
B8 = ttnn.bfloat8_b
QKV_W = bench.put(torch.cat(parts, 1)[None, None], (None, 3), banked(DIM, QKV // DEVICES), B8)
O_W = bench.put(W["o"][None, None], (None, 2), banked(HEADS * HEAD // DEVICES, DIM), B8)
GATE_W, UP_W = (
    bench.put(W[n][None, None], (None, 3), banked(DIM, HIDDEN // DEVICES), B8) for n in ("gate", "up")
)
DOWN_W = bench.put(W["down"][None, None], (None, 2), banked(HIDDEN // DEVICES, DIM), B8)
OUT_W = bench.put(W["out"][None, None], (None, 3), banked(DIM, VOCAB // DEVICES), B8)
NORMS = {n: bench.rows(W[n].view(1, 1, DIM // TILE, TILE)) for n in ("first", "second", "last")}
TOKENS_W = bench.rows(W["embedding"][None, None], (None, 3))
COS_T, SIN_T, TURN = (bench.put(t) for t in (COS[None, None], SIN[None, None], turning()))
ON_USERS = ttnn.num_cores_to_corerangeset(USERS, bench.size, row_wise=True)


def by_user(rows: int, columns: int) -> ttnn.MemoryConfig:
    return ttnn.create_sharded_memory_config(
        shape=(rows, columns),
        core_grid=ON_USERS,
        strategy=ttnn.ShardStrategy.HEIGHT,
        orientation=ttnn.ShardOrientation.ROW_MAJOR,
        use_height_and_width_as_shard_shape=True,
    )


TURN_EACH = bench.put(turning().repeat(1, 1, USERS, 1), memory=by_user(TILE, TILE))
blocks = USERS * LONGEST // BLOCK
CACHE = [bench.put(torch.zeros(blocks, K, BLOCK, HEAD), dtype=B8) for _ in range(2)]
TABLE = torch.randperm(blocks).reshape(USERS, -1).to(torch.int32)


def norm(x: ttnn.Tensor, name: str, decoding: bool) -> ttnn.Tensor:
    if not decoding:
        x = gathered(x, ttnn.DRAM_MEMORY_CONFIG)
        return ttnn.rms_norm(x, epsilon=1e-5, weight=NORMS[name], compute_kernel_config=HIFI2)
    count = grid(DIM).num_cores
    program = ttnn.LayerNormShardedMultiCoreProgramConfig(
        compute_with_storage_grid_size=[count, 1],
        subblock_w=divisor(DIM // count // TILE, 4),
        block_h=1,
        block_w=DIM // count // TILE,
        inplace=False,
    )
    return ttnn.rms_norm(
        gathered(x, spread(DIM)),
        epsilon=1e-5,
        weight=NORMS[name],
        program_config=program,
        memory_config=spread(DIM),
        compute_kernel_config=HIFI2,
    )


def times(
    x: ttnn.Tensor,
    w: ttnn.Tensor,
    rows: int,
    columns: int,
    decoding: bool,
    memory: ttnn.MemoryConfig = ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG,
) -> ttnn.Tensor:
    count = x.memory_config().shard_spec.num_cores() if decoding else 0
    return ttnn.linear(
        x,
        w,
        dtype=ttnn.bfloat16,
        memory_config=memory if decoding else ttnn.DRAM_MEMORY_CONFIG,
        program_config=by_banks(rows, columns, count) if decoding else by_blocks(x.shape[-2], rows, columns),
        compute_kernel_config=HIFI2,
    )


def attend_prefill(x: ttnn.Tensor, pages: ttnn.Tensor, chunk: ttnn.Tensor, start: int | None) -> ttnn.Tensor:
    length = x.shape[-2]
    qkv = times(x, QKV_W, DIM, QKV // DEVICES, False)
    q, k, v = ttnn.experimental.nlp_create_qkv_heads(
        qkv,
        num_heads=Q,
        num_kv_heads=K,
        transpose_k_heads=False,
        memory_config=ttnn.DRAM_MEMORY_CONFIG,
    )
    at = start or 0
    cos, sin = (t[:, :, at : at + length, :] for t in (COS_T, SIN_T))
    q, k = (ttnn.experimental.rotary_embedding_llama(t, cos, sin, TURN, is_decode_mode=False) for t in (q, k))
    q, k, v = (ttnn.typecast(t, dtype=B8) for t in (q, k, v))
    for cache, new in zip(CACHE, (k, v), strict=True):
        ttnn.experimental.paged_fill_cache(cache, new, chunk, batch_idx=0)
    program = ttnn.SDPAProgramConfig(**SDPA, q_chunk_size=32, k_chunk_size=32)
    if start is None:
        a = ttnn.transformer.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=HEAD**-0.5, program_config=program
        )
    else:
        a = ttnn.transformer.chunked_scaled_dot_product_attention(
            input_tensor_q=q,
            input_tensor_k=CACHE[0],
            input_tensor_v=CACHE[1],
            page_table_tensor=pages,
            chunk_start_idx=start,
            program_config=program,
        )
    a = ttnn.experimental.nlp_concat_heads(ttnn.reshape(a, [1, Q, -1, HEAD]))
    return summed(times(a, O_W, HEADS * HEAD // DEVICES, DIM, False), ttnn.DRAM_MEMORY_CONFIG)


def attend_decode(
    x: ttnn.Tensor, pos: ttnn.Tensor, turns: list[ttnn.Tensor], pages: ttnn.Tensor
) -> ttnn.Tensor:
    qkv = times(x, QKV_W, DIM, QKV // DEVICES, True)
    flat = ttnn.sharded_to_interleaved(qkv, ttnn.L1_MEMORY_CONFIG, ttnn.bfloat16)
    ttnn.deallocate(qkv)
    flat = ttnn.reshape(flat, (1, 1, USERS, flat.shape[3]), (1, 1, TILE, flat.shape[3]))
    q, k, v = ttnn.experimental.nlp_create_qkv_heads_decode(
        flat, num_heads=Q, num_kv_heads=K, memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG
    )
    q, k = (
        ttnn.experimental.rotary_embedding_llama(t, *turns, TURN_EACH, is_decode_mode=True) for t in (q, k)
    )
    for cache, new in zip(CACHE, (k, v), strict=True):
        ttnn.experimental.paged_update_cache(cache, new, update_idxs_tensor=pos, page_table=pages)
    a = ttnn.transformer.paged_scaled_dot_product_attention_decode(
        q,
        *CACHE,
        cur_pos_tensor=pos,
        page_table_tensor=pages,
        scale=HEAD**-0.5,
        program_config=ttnn.SDPAProgramConfig(**SDPA, q_chunk_size=0, k_chunk_size=0),
        memory_config=ttnn.DRAM_MEMORY_CONFIG,
    )
    a = ttnn.experimental.nlp_concat_heads_decode(ttnn.to_memory_config(a, by_user(TILE, HEAD)), num_heads=Q)
    # The shards asked for are the operand's; the product is wider, and lies where its program says.
    o = times(a, O_W, HEADS * HEAD // DEVICES, DIM, True, a.memory_config())
    return ttnn.to_memory_config(summed(o, RESIDUAL), RESIDUAL)


def feed(x: ttnn.Tensor, decoding: bool) -> ttnn.Tensor:
    gate, up = (times(x, w, DIM, HIDDEN // DEVICES, decoding) for w in (GATE_W, UP_W))
    h = ttnn.mul(
        gate,
        up,
        input_tensor_a_activations=[ttnn.UnaryOpType.SILU],
        dtype=B8,
        memory_config=gate.memory_config(),
    )
    if decoding:
        h = ttnn.to_memory_config(h, spread(HIDDEN // DEVICES))
    memory = RESIDUAL if decoding else ttnn.DRAM_MEMORY_CONFIG
    return summed(times(h, DOWN_W, HIDDEN // DEVICES, DIM, decoding), memory)


def logits_of(x: ttnn.Tensor, decoding: bool) -> ttnn.Tensor:
    x = norm(x, "last", decoding)
    if not decoding:
        x = ttnn.interleaved_to_sharded(x, spread(DIM))
    found = times(x, OUT_W, DIM, VOCAB // DEVICES, True)
    return ttnn.sharded_to_interleaved(found, memory_config=ttnn.L1_MEMORY_CONFIG)


def prefill(user: int, chunk: int | None) -> ttnn.Tensor:
    """The logits of a prompt's last tile."""
    step = chunk or PROMPT
    pages = bench.rows(TABLE[user : user + 1, : PROMPT // BLOCK], dtype=ttnn.int32)
    for at in range(0, PROMPT, step):
        tokens = bench.rows(prompts[user, at : at + step].reshape(1, 1, 1, -1), dtype=ttnn.uint32)
        own = TABLE[user : user + 1, at // BLOCK : (at + step) // BLOCK]
        x = ttnn.unsqueeze_to_4D(ttnn.embedding(tokens, TOKENS_W, layout=ttnn.TILE_LAYOUT))
        start = at if chunk else None
        filled = bench.rows(own, dtype=ttnn.int32)
        x = ttnn.add(x, attend_prefill(norm(x, "first", False), pages, filled, start))
        x = ttnn.add(x, feed(norm(x, "second", False), False))
    last = x.shape[2] - TILE
    return logits_of(ttnn.slice(x, (0, 0, last, 0), (1, 1, last + TILE, x.shape[-1])), False)


def decode(tokens: ttnn.Tensor, pos: ttnn.Tensor, places: ttnn.Tensor, pages: ttnn.Tensor) -> ttnn.Tensor:
    """The logits of a token of each user; the positions go on by themselves."""
    x = ttnn.unsqueeze_to_4D(ttnn.embedding(tokens, TOKENS_W, layout=ttnn.TILE_LAYOUT))
    x = ttnn.to_memory_config(x, RESIDUAL)
    turns = []
    for table in (COS_T, SIN_T):
        own = ttnn.unsqueeze_to_4D(ttnn.embedding(places, table, layout=ttnn.TILE_LAYOUT))
        own = ttnn.transpose(own, 1, 2)[:, :USERS, :, :]
        turns.append(ttnn.interleaved_to_sharded(own, by_user(TILE, HEAD)))
    x = ttnn.add(x, attend_decode(norm(x, "first", True), pos, turns, pages), memory_config=RESIDUAL)
    x = ttnn.add(x, feed(norm(x, "second", True), True), memory_config=RESIDUAL)
    found = logits_of(x, True)
    ttnn.plus_one(pos, skip_negative_entries=True)
    ttnn.plus_one(places)
    return found


prompts = torch.randint(0, VOCAB, (USERS, PROMPT + STEPS))
wanted = in_torch(prompts)
for user, chunk in enumerate((None, 32)):
    got = bench.whole(prefill(user, chunk), (0, 3))[0, 0]
    bench.check(f"prompt {user}", got, wanted[user, PROMPT - TILE : PROMPT])


def on_host(step: int) -> list[ttnn.Tensor]:
    def host(values: torch.Tensor, dtype: ttnn.DataType) -> ttnn.Tensor:
        mapper = ttnn.ReplicateTensorToMesh(mesh)
        return ttnn.from_torch(values, dtype=dtype, layout=ttnn.ROW_MAJOR_LAYOUT, mesh_mapper=mapper)

    tokens = torch.nn.functional.pad(prompts[:, PROMPT + step], (0, TILE - USERS))
    places = torch.full((1, TILE), PROMPT + step)
    pos = torch.full((USERS,), PROMPT + step, dtype=torch.int32)
    typed = ((tokens.reshape(1, 1, 1, -1), ttnn.uint32), (pos, ttnn.int32), (places, ttnn.uint32))
    return [host(*each) for each in (*typed, (TABLE, ttnn.int32))]


held = [ttnn.to_device(t, mesh, memory_config=ttnn.DRAM_MEMORY_CONFIG) for t in on_host(0)]
decode(*held)
for new, old in zip(on_host(0), held, strict=True):
    ttnn.copy_host_to_device_tensor(new, old)
trace = ttnn.begin_trace_capture(mesh, cq_id=0)
output = decode(*held)
ttnn.end_trace_capture(mesh, trace, cq_id=0)
for new, old in zip(on_host(0), held, strict=True):
    ttnn.copy_host_to_device_tensor(new, old)
for step in range(STEPS):
    ttnn.copy_host_to_device_tensor(on_host(step)[0], held[0])
    ttnn.execute_trace(mesh, trace, cq_id=0, blocking=False)
    event = ttnn.record_event(mesh, 0)
    host = output.cpu(blocking=False, cq_id=0)
    ttnn.event_synchronize(event)
    bench.check(f"step {step}", bench.whole(host, (0, 3))[0, 0, :USERS], wanted[:, PROMPT + step])
ttnn.release_trace(mesh, trace)
bench.close()
