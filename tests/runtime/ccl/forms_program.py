"""The experimental forms of the collectives over a 2x4 mesh: checked against NumPy; prints a digest of each device's result."""

import hashlib
import sys

import numpy as np
import ttnn

from tt_run.runtime.comm.world import Group

MESH = (2, 4)
rng = np.random.default_rng(7)
if "--apart" in sys.argv:
    # As if every rank were on a host of its own: messages instead of shared memory, bfloat16 in 16 bits on the wire.
    Group.on_one_host = property(lambda group: group.size == 1)
mesh = ttnn.open_mesh_device(ttnn.MeshShape(*MESH), l1_small_size=16384)
grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))])
semaphores = [ttnn.create_global_semaphore(mesh, grid, 0) for _ in range(3)]
E = ttnn.experimental
offset = ttnn.CoreCoord(0, 6)


def put(values, dims, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT):
    """Values cut over rows and columns of the mesh along `dims`, and the shard of each device."""
    mapper = ttnn.ShardTensor2dMesh(mesh, MESH, dims)
    tensor = ttnn.from_torch(values, dtype=dtype, layout=layout, device=mesh, mesh_mapper=mapper)
    return tensor, cut(values, dims)


def cut(values, dims):
    rows = [values] * 2 if dims[0] is None else np.split(values, 2, dims[0])
    return [part for row in rows for part in ([row] * 4 if dims[1] is None else np.split(row, 4, dims[1]))]


def random(*shape):
    """Small whole numbers: every sum and product of them is exact in bfloat16 and float32."""
    return rng.integers(-2, 3, shape).astype(np.float32)


def along(shards, axis, position):
    """The shards of a device's group, and its place in it."""
    row, column = divmod(position, 4)
    group = [column + 4 * r for r in range(2)] if axis == 0 else [4 * row + c for c in range(4)]
    group = list(range(8)) if axis is None else group
    return [shards[p] for p in group], group.index(position)


def check(label, tensors, wanted=None):
    """Compare with `wanted(position)`; print what each device of this rank holds."""
    tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    for number, tensor in enumerate(tensors):
        for position, shard in enumerate_shards(tensor):
            assert shard.shape == tuple(tensor.shape), (label, number, shard.shape, tensor.shape)
            if wanted is not None:
                expected = wanted(position)
                expected = expected[number] if isinstance(expected, tuple) else expected
                assert np.array_equal(shard, expected), (
                    label,
                    number,
                    position,
                    shard.shape,
                    np.shape(expected),
                )
            print(
                "digest",
                f"{label}/{number}".replace(" ", ""),
                position,
                hashlib.sha256(shard.tobytes()).hexdigest()[:12],
            )


def number(value):
    """A number that every device holds."""
    return ttnn.from_torch(
        np.array([value], np.uint32),
        dtype=ttnn.uint32,
        device=mesh,
        mesh_mapper=ttnn.ReplicateTensorToMesh(mesh),
    )


def enumerate_shards(tensor):
    """The places of this rank's devices with what they hold."""
    return zip(mesh.local_positions, tensor.shards.each(), strict=True)


def gathers():
    x, shards = put(random(1, 2, 64, 256), (2, 3))

    def buffer(like, axis, dim):
        return ttnn.zeros(
            [n * {0: 2, 1: 4}[axis] if i == dim else n for i, n in enumerate(like.shape)],
            dtype=like.dtype,
            layout=like.layout,
            device=mesh,
        )

    for axis in (0, 1):
        joined = lambda p, step=1, a=axis: np.concatenate(along(shards, a, p)[0][::step], 3)  # noqa: E731
        check(
            f"reversed {axis}",
            E.all_gather_async_reversed(x, 3, axis, mesh, ttnn.Topology.Linear, semaphores[:2]),
            lambda p, j=joined: j(p, -1),
        )
        check(
            f"strided {axis}", E.strided_all_gather_async(x, None, 3, semaphores, cluster_axis=axis), joined
        )
        out = buffer(x, axis, 3)
        assert E.high_bw_all_gather(x, 3, out, cluster_axis=axis).storage is out.storage
        check(f"high_bw {axis}", out, joined)
        outs = [buffer(x, axis, 2), buffer(x, axis, 2)]
        found = E.ring_attention_all_gather_async(
            [x, x],
            outs,
            2,
            multi_device_global_semaphore=semaphores,
            cluster_axis=axis,
            mesh_device=mesh,
            topology=ttnn.Topology.Linear,
        )
        check(f"ring {axis}", found, lambda p, a=axis: np.concatenate(along(shards, a, p)[0], 2))
    weight = ttnn.ones((1, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
    for axis in (0, 1):
        fused = ttnn.fused_rms_minimal(x, None, axis, mesh, semaphores[0], weight=weight, epsilon=1.0)
        stats = ttnn.all_gather(ttnn.rms_norm_pre_all_gather(x, dtype=ttnn.float32), 3, cluster_axis=axis)
        plain = ttnn.rms_norm_post_all_gather(x, stats, weight=weight, epsilon=1.0)
        check(f"rms {axis}", fused, dict(enumerate_shards(plain)).get)
    one = ttnn.zeros((1, 2, 32, 256), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
    y, parts = put(random(3, 2, 32, 256), (None, 3))
    start = number(2)
    for label, words in (
        ("slot", {"input_batch_index": 2}),
        (
            "user",
            {"input_batch_index_tensor": number(0), "batch_slot_num_layers": 3, "batch_slot_layer_idx": 2},
        ),
    ):
        check(
            f"high_bw {label}",
            E.high_bw_all_gather(y, 3, one, cluster_axis=1, **words),
            lambda p: np.concatenate([s[2:3] for s in along(parts, 1, p)[0]], 3),
        )
    z, parts = put(random(1, 2, 32, 256), (None, 3))
    for label, words in (
        ("size", {"gathered_dim_size": 128}),
        ("prefix", {"gathered_prefix_tensor": start, "gathered_slab_global": 64}),
    ):
        held = ttnn.ones((1, 2, 32, 256), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)

        def active(p, n=32):
            shards_ = [s.copy() for s in along(parts, 1, p)[0]]
            for shard in shards_:
                shard[..., n:] = 1
            return np.concatenate(shards_, 3)

        check(f"high_bw {label}", E.high_bw_all_gather(z, 3, held, cluster_axis=1, **words), active)
    heads, parts = put(random(1, 32, 32, 64), (None, 1))
    joined = E.all_gather_concat(heads, heads, 1, 1, mesh, semaphores[0], 4, ttnn.DRAM_MEMORY_CONFIG)
    check(
        "concat", joined, lambda p: np.concatenate(along(parts, 1, p)[0], 1)[:, :, :4].reshape(1, 1, 32, 256)
    )


def sums():
    x, shards = put(random(1, 1, 32, 1024), (None, 3))
    for axis, members in ((0, 2), (1, 4)):

        def scattered(p, a=axis, n=members):
            group, place = along(shards, a, p)
            return np.split(sum(group[1:], group[0]), n, 3)[place]

        check(
            f"strided sum {axis}",
            E.strided_reduce_scatter_async(
                x, None, 3, semaphores, mm_block_ht=1, mm_block_wt=1, cluster_axis=axis
            ),
            scattered,
        )
        check(f"direct {axis}", E.reduce_scatter_minimal_direct(x, 3, cluster_axis=axis), scattered)
        check(
            f"llama {axis}",
            E.llama_reduce_scatter(x, x, 3, semaphores[0], ttnn.SubDeviceId(0), axis, mesh),
            scattered,
        )
        parts = ttnn.split(x, 64, 3)
        check(
            f"moe {axis}",
            E.deepseek_moe_reduce_scatter(parts, ttnn.DRAM_MEMORY_CONFIG, 3, cluster_axis=axis),
            scattered,
        )
    buffers = E.reduce_scatter_minimal_direct_create_persistent_buffers(x, 3, cluster_axis=1)
    found = E.reduce_scatter_minimal_direct(x, 3, cluster_axis=1, persistent_buffers=buffers)
    assert found.storage is buffers[0].storage
    # Users in dimension 2; 4 query and 2 key heads of 32.
    qkv, shards = put(random(1, 1, 8, 4 * 256), (None, 3))
    offsets, _ = put(
        np.array([[0], [2], [4], [6]]).repeat(2, 0).reshape(8, 1).astype(np.int32),
        (None, 0),
        ttnn.int32,
        ttnn.ROW_MAJOR_LAYOUT,
    )

    def heads(part):
        q, k, v = part[..., :128], part[..., 128:192], part[..., 192:]
        n = part.shape[2]
        return q.reshape(1, n, 4, 32), k.reshape(1, n, 2, 32), v.reshape(1, n, 2, 32)

    def reduced(p):
        group, place = along(shards, 1, p)
        total = sum(group[1:], group[0])
        return (total, *heads(total[:, :, 2 * place : 2 * place + 2]))

    check(
        "qkv",
        E.all_reduce_create_qkv_heads(
            qkv, qkv, offsets, 1, mesh, semaphores[0], 4, num_kv_heads=2, slice_size=2
        ),
        reduced,
    )
    # Of 32 users each device of a row keeps its own eight; keys and values have the rows of queries, the first ones count.
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(1, 0), ttnn.CoreCoord(7, 3))])
    columns = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, 0))])
    wide, shards = put(random(1, 1, 32, 4 * 256), (None, 3), layout=ttnn.ROW_MAJOR_LAYOUT)
    row = ttnn.MemoryConfig(
        ttnn.TensorMemoryLayout.WIDTH_SHARDED,
        ttnn.BufferType.L1,
        ttnn.ShardSpec(columns, (32, 32), ttnn.ShardOrientation.ROW_MAJOR),
    )
    by_user = ttnn.MemoryConfig(
        ttnn.TensorMemoryLayout.HEIGHT_SHARDED,
        ttnn.BufferType.L1,
        ttnn.ShardSpec(cores, (32, 32), ttnn.ShardOrientation.ROW_MAJOR),
    )
    wide = ttnn.to_memory_config(wide, row)

    def scattered_heads(p):
        group, place = along(shards, 1, p)
        q, k, v = heads(sum(group[1:], group[0])[:, :, 8 * place : 8 * place + 8])
        return q, *(np.concatenate([part, np.zeros_like(part)], 2) for part in (k, v))

    found = E.llama_rs_create_heads(
        wide,
        wide,
        3,
        semaphores[0],
        ttnn.SubDeviceId(0),
        1,
        mesh,
        ttnn.Topology.Linear,
        num_heads=4,
        num_kv_heads=2,
        qkv_memory_config=by_user,
    )
    check("rs heads", found, scattered_heads)
    starts = [part.memory_config().shard_spec.grid.ranges()[0].start for part in found]
    assert [(at.x, at.y) for at in starts] == [(1, 0), (2, 1), (3, 2)], starts


def exchanges():
    x, shards = put(random(1, 8, 128, 256), (None, 1))

    def exchanged(p, axis, join, split):
        group, place = along(shards, axis, p)
        return np.concatenate([np.split(s, len(group), split)[place] for s in group], join)

    for axis in (0, 1, None):
        for join, split in ((1, 2), (2, 3), (0, 2)):
            label = f"generic {axis} {join} {split}"
            check(
                label,
                E.all_to_all_async_generic(x, join, split, cluster_axis=axis),
                lambda p, a=axis, j=join, s=split: exchanged(p, a, j, s),
            )
    out = ttnn.zeros((1, 2, 128 * 8, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
    check(
        "all_to_all", E.all_to_all_async(x, x, out, 2, 3, semaphores[0]), lambda p: exchanged(p, None, 2, 3)
    )
    cut_, parts = put(random(64, 2, 8, 4), (None, 0), layout=ttnn.ROW_MAJOR_LAYOUT)
    for start, length in ((0, 64), (8, 32), (12, 40), (5, 8)):

        def sliced(p, a=start, n=length):
            group, place = along(parts, 1, p)
            return np.split(np.concatenate(group, 0)[a : a + n], 4, 0)[place]

        check(
            f"reshard {start} {length}",
            E.slice_reshard_async(cut_, 0, start, length, 1, *semaphores[:2]),
            sliced,
        )


def halos():
    values = random(1, 2, 8, 16, 4)
    x, _shards = put(values, (2, 3), layout=ttnn.ROW_MAJOR_LAYOUT)

    def padded(p, above=1, below=1, left=1, right=1, mode="constant"):
        row, column = divmod(p, 4)
        whole = np.pad(values, ((0, 0), (0, 0), (above, below), (left, right), (0, 0)), mode=mode)
        return whole[:, :, 4 * row : 4 * row + 4 + above + below, 4 * column : 4 * column + 4 + left + right]

    for mode, name in (("zeros", "constant"), ("replicate", "edge")):
        one = E.neighbor_pad_async(x, [2], [2], [1], mode, [0], semaphores[:1], semaphores[:1])
        check(f"pad {mode}", one, lambda p, n=name: padded(p, 2, 1, 0, 0, n))
        two = E.neighbor_pad_async(x, [2, 3], [1, 2], [1, 0], mode, [0, 1], semaphores[:2], semaphores[:1])
        check(f"pad both {mode}", two, lambda p, n=name: padded(p, 1, 1, 2, 0, n))
        led = E.neighbor_pad_async(
            x, [2], [1], [1], mode, [0], semaphores[:1], semaphores[:1], logical_h=6, t_front_pad=1
        )

        def hidden(p, n=name):
            whole = np.pad(values[:, :, :6], ((0, 0), (1, 0), (0, 2), (0, 0), (0, 0)))
            row, column = divmod(p, 4)
            whole = np.pad(whole, ((0, 0), (0, 0), (1, 1), (0, 0), (0, 0)), mode=n)
            return whole[:, :, 4 * row : 4 * row + 6, 4 * column : 4 * column + 4]

        check(f"pad hidden rows {mode}", led, hidden)
        buffer = ttnn.zeros(
            (2 * (2 * 4 + 2 * 6), 4), dtype=ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT, device=mesh
        )

        def compact(p, n=name):
            image = padded(p, mode=n).reshape(2, 6, 6, 4)
            bands = (image[:, :1, 1:-1], image[:, -1:, 1:-1], image[:, :, :1], image[:, :, -1:])
            return np.concatenate([band.reshape(-1, 4) for band in bands])

        arguments = (1, 1, 0, 1, ttnn.Topology.Linear, *semaphores, 3, 1, 1, 1, 1)
        assert E.neighbor_pad_halo(x, buffer, *arguments, padding_mode=mode).storage is buffer.storage
        check(f"halo {mode}", buffer, compact)
        around = E.halo_scatter(buffer, x, 1, 1)
        check(f"scatter {mode}", around, lambda p, n=name: padded(p, mode=n))
        framed = ttnn.zeros((1, 2, 6, 6, 4), dtype=ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT, device=mesh)
        check(
            f"fold {mode}",
            E.neighbor_pad_halo(
                around,
                buffer,
                *arguments,
                padding_mode=mode,
                input_pad_h=1,
                input_pad_w=1,
                padded_output=framed,
            ),
            lambda p, n=name: padded(p, mode=n),
        )


def products():
    x, parts = put(random(1, 1, 32, 256), (None, 3))
    w, rows = put(random(1, 1, 256, 128), (None, None))
    whole = np.concatenate(parts[:4], 3)
    bias = random(1, 1, 1, 128)
    b, _ = put(bias, (None, None))
    line = mesh.create_submeshes(ttnn.MeshShape(1, 4))
    both = E.strided_all_gather_minimal_matmul_async(
        x, w, None, 3, semaphores, offset, cluster_axis=1, bias=b, chunks=2
    )
    check("strided ag mm", both, lambda p: (whole, *np.split(whole @ rows[0] + bias, 2, 3)))
    senders = {"multi_device_global_semaphore": semaphores, "num_links": 2, "num_workers_per_link": 4}
    found = E.all_gather_minimal_matmul_async(
        x, w, **senders, bias_tensor=b, cluster_axis=1, chunks=2, chunk_sizes=[32, 96]
    )
    check("ag minimal mm", found, lambda p: tuple(np.split(whole @ rows[0] + bias, [32], 3)))
    for label, weights, dim in (("4D", rows[0], 2), ("2D", rows[0][0, 0], 0)):
        part, _ = put(weights, (dim, None))
        found = E.all_gather_minimal_matmul_async(x, part, **senders, cluster_axis=1, fsdp_cluster_axis=0)
        check(f"ag fsdp {label}", found, lambda p: whole @ rows[0])
        kept = put(np.zeros_like(rows[0]), (None, None))[0]  # four dimensions, as programs keep it
        found = E.all_gather_minimal_matmul_async(
            x, part, **senders, cluster_axis=1, fsdp_cluster_axis=0, persistent_weight_buffer=kept
        )
        check(f"ag fsdp kept {label}", found, lambda p: whole @ rows[0])
    base, gate = random(1, 1, 32, 128), random(1, 1, 1, 128)
    a, g = put(base, (None, None))[0], put(gate, (None, None))[0]
    found = E.all_gather_minimal_matmul_async(
        x,
        w,
        **senders,
        cluster_axis=1,
        scalar=2.0,
        addcmul_input_tensor1=a,
        addcmul_input_tensor2=g,
        dtype=ttnn.float32,
    )
    check("ag addcmul", found, lambda p: base + 2 * (whole @ rows[0]) * gate)
    check(
        "ag swiglu",
        E.all_gather_minimal_matmul_async(x, w, **senders, cluster_axis=1, fuse_swiglu=True),
    )
    check(
        "llama ag mm",
        E.llama_all_gather_matmul_async(x, w, x, 3, 1, mesh, ttnn.Topology.Linear, semaphores[0]),
        lambda p: whole @ rows[0],
    )
    k, columns = put(random(1, 1, 256, 512), (None, 2))
    partial = [x_ @ k_ for x_, k_ in zip(parts, columns, strict=False)]

    def scattered(p):
        group, place = along(partial, 1, p)
        return np.split(sum(group[1:], group[0]), 4, 3)[place]

    exact = {"dtype": ttnn.float32}
    out = E.minimal_matmul_strided_reduce_scatter_async(
        x, k, 3, semaphores, offset, compute_kernel_config=None, cluster_axis=1, **exact
    )
    check("mm rs", out, lambda p: (partial[p], scattered(p)))
    rest, gate = put(random(1, 1, 64, 512), (2, 3)), put(random(1, 1, 1, 512), (None, 3))
    check(
        "mm rs and more",
        E.minimal_matmul_strided_reduce_scatter_async(
            x, k, 3, semaphores, offset, compute_kernel_config=None, cluster_axis=1, **exact,
            fused_ternary_scalar=0.5, addcmul_input_tensor1=rest[0], addcmul_input_tensor2=gate[0],
        ),
        lambda p: (partial[p], rest[1][p] + 0.5 * scattered(p) * gate[1][p]),
    )  # fmt: skip
    check(
        "rs mm",
        E.llama_rs_matmul(
            x, k, x, 3, semaphores[0], 1, mesh, second_weight_tensor=ttnn.multiply(k, 2.0), **exact
        ),
        lambda p: (partial[p], 2 * partial[p], scattered(p)),
    )
    for number, part in enumerate(line):

        def row(values, dim, d=part):
            return ttnn.from_torch(
                values,
                dtype=ttnn.float32,
                layout=ttnn.TILE_LAYOUT,
                device=d,
                mesh_mapper=ttnn.ShardTensorToMesh(d, dim=dim)
                if dim is not None
                else ttnn.ReplicateTensorToMesh(d),
            )

        _gathered, product = E.all_gather_matmul_async(
            row(whole, 3), row(rows[0], None), None, 3, semaphores[:2], offset, activation="relu"
        )
        mine = [np.asarray(s) for s in product.shards.each()]
        assert all(np.array_equal(s, np.maximum(whole @ rows[0], 0)) for s in mine), "all_gather_matmul_async"
        first, second = E.matmul_reduce_scatter_async(
            row(whole, 3), row(np.concatenate(columns[:4], 2), 2), None, None, 3, semaphores, offset
        )
        assert second.shape[3] * 4 == first.shape[3]
        for name, tensor in (("ag", product), ("rs", second)):
            for place, shard in zip(part.local_positions, tensor.shards.each(), strict=True):
                digest = hashlib.sha256(np.asarray(shard).tobytes()).hexdigest()[:12]
                print("digest", f"line/{number}/{name}", part.positions[place], digest)


def norms():
    x, parts = put(random(1, 1, 32, 256), (None, 3), ttnn.float32)
    scale, weights = put(random(1, 1, 1, 256), (None, 3), ttnn.float32)
    found = ttnn.fused_rms_minimal(x, None, 1, mesh, semaphores[0], weight=scale, epsilon=1e-6)
    check("rms", found)
    for position, shard in zip(mesh.local_positions, found.shards.each(), strict=True):
        whole = np.concatenate(along(parts, 1, position)[0], 3)
        expected = parts[position] / np.sqrt((whole**2).mean(-1, keepdims=True) + 1e-6) * weights[position]
        assert np.allclose(shard, expected, rtol=1e-5), position


def attentions():
    """A sequence over the columns, its last keys padding, and a joined one on every device."""
    (q, qs), (k, ks), (v, vs) = (put(random(1, heads, 128, 32), (None, 2)) for heads in (2, 1, 1))
    (jq, jqs), (jk, jks), (jv, jvs) = (put(random(1, heads, 32, 32), (None, None)) for heads in (2, 1, 1))
    buffers = [put(np.zeros((1, 1, 128, 32), np.float32), (None, None))[0] for _ in range(2)]
    length = ttnn.from_torch(
        np.array([[100]], np.int32), device=mesh, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh)
    )

    def expected(p, end, joined):
        keys, values = (np.concatenate(along(part, 1, p)[0], 2)[0, 0, :end] for part in (ks, vs))
        queries = qs[p][0]
        if joined:
            queries = np.concatenate([queries, jqs[p][0]], 1)
            keys, values = np.concatenate([keys, jks[p][0, 0]]), np.concatenate([values, jvs[p][0, 0]])
        scores = queries @ keys.T * 0.125
        sums = np.log(np.exp(scores).sum(-1, keepdims=True))
        whole = np.exp(scores - sums) @ values
        return whole[:, :32], whole[:, 32:] if joined else jqs[p][0], sums

    T = ttnn.transformer
    common = {
        "joint_strategy": "rear", "program_config": None, "scale": 0.125, "dim": 2, "num_links": 1, "cluster_axis": 1,
        "multi_device_global_semaphore": semaphores, "mesh_device": mesh, "topology": ttnn.Topology.Ring,
        "persistent_output_buffer_k": buffers[0], "persistent_output_buffer_v": buffers[1],
    }  # fmt: skip

    def ring(*tensors, **keywords):
        return T.ring_joint_scaled_dot_product_attention(*tensors, ccl_core_grid_offset=offset, **keywords)

    def exp_ring(*tensors, **keywords):
        return T.exp_ring_joint_scaled_dot_product_attention(*tensors, **keywords)

    for name, attention in (("", ring), ("exp_", exp_ring)):
        for number, (joint, end, told) in enumerate(
            (((jq, jk, jv), 100, 100), ((jq, jk, jv), 100, length), ((), 128, 128))
        ):
            results = attention(q, k, v, *joint, logical_n=told, **common)
            results = results if joint else (results[0], results[2])
            check(f"{name}joint{number}", results)
            for tensor, which in zip(results, (0, 1, 2) if joint else (0, 2), strict=True):
                for position, shard in enumerate_shards(tensor):
                    right = expected(position, end, bool(joint))[which]
                    assert np.allclose(shard[0], right, rtol=2e-2, atol=2e-2), (name, number, position)

    results = ring(q, k, v, jq, jk, jv, logical_n=100, is_causal=True, sliding_window_size=40, **common)
    check("causal_ring", results)

    latent = {**common, "persistent_output_buffer_kv": buffers[0]}
    for word in ("joint_strategy", "persistent_output_buffer_k", "persistent_output_buffer_v"):
        del latent[word]
    results = T.ring_mla(q, k, head_dim_v=16, logical_n=100, ccl_core_grid_offset=offset, **latent)
    check("ring_mla", results)
    for position, shard in enumerate_shards(results[0]):
        keys, first = np.concatenate(along(ks, 1, position)[0], 2)[0, 0], 32 * (position % 4)
        scores = qs[position][0] @ keys.T * 0.125
        seen = np.arange(128) <= np.minimum(np.arange(32)[:, None] + first, 99)
        weights = np.where(seen, np.exp(scores), 0)
        sums = weights.sum(-1, keepdims=True)
        assert np.allclose(shard[0], weights / sums @ keys[:, :16], rtol=2e-2, atol=2e-2), position
        (_, told) = next(pair for pair in enumerate_shards(results[1]) if pair[0] == position)
        assert np.allclose(told[0], np.log(sums), rtol=2e-2, atol=2e-2), position


def experts():
    tokens = random(8, 4, 1, 32)
    choices = rng.integers(0, 8, (8, 4, 1, 2)).astype(np.uint16)
    scores = random(8, 4, 1, 2)
    mapping = np.eye(8, dtype=np.uint16).reshape(1, 1, 8, 8)
    flat = {"layout": ttnn.ROW_MAJOR_LAYOUT}
    t, words = put(tokens, (None, 0), **flat)
    c, chosen = put(choices, (None, 0), ttnn.uint16, **flat)
    s, marks = put(scores, (None, 0), **flat)
    m, _ = put(mapping, (None, None), ttnn.uint16, **flat)

    def dispatched(p, shared=()):
        every, picked, told = (
            np.concatenate([q.reshape(-1, q.shape[-1]) for q in along(part, 1, p)[0]])
            for part in (words, chosen, marks)
        )
        here = (picked == p).any(1) | (p in shared)
        return np.where(here[:, None], every, 0)[None], picked[None], told[None]

    check("metadata", E.all_to_all_dispatch_metadata(t, c, s, m, cluster_axis=1), dispatched)
    check(
        "shared",
        E.all_to_all_dispatch_metadata(t, c, s, m, cluster_axis=1, shared_expert_ids=[3]),
        lambda p: dispatched(p, (3,)),
    )


SLOTS, CAPACITY = 3, 256
OWNED = np.full((8, 16), -1)  # the place in its row of the mesh of each expert's device: two a device
for _p in range(8):
    OWNED[_p, 8 * (_p // 4) : 8 * (_p // 4) + 8] = np.arange(8) // 2


def routes(chosen, real):
    """Tokens each device sends to each expert, and (expert, source, token, slot) of all that a device gets."""
    counts, sent = np.zeros((8, 16), np.int64), {p: [] for p in range(8)}
    for source, (count, left) in enumerate(real):
        first = chosen.shape[1] - count if left else 0
        for token, slot in np.ndindex(count, SLOTS):
            expert = chosen[source, first + token, slot]
            if expert < 16 and OWNED[source, expert] >= 0:
                counts[source, expert] += 1
                sent[source // 4 * 4 + OWNED[source, expert]].append((expert, source, first + token, slot))
    return counts, sent


def filled(words, region, sent):
    """The buffer of each device and where its rows came from."""
    buffers = np.zeros((8, CAPACITY, words.shape[-1]), np.float32)
    notes = np.zeros((8, CAPACITY, 3), np.int32)
    for p in range(8):
        before = dict.fromkeys(range(16), 0)
        for expert, source, token, slot in sorted(sent[p]):
            at = region[p, expert] + before[expert]
            before[expert] += 1
            if at < CAPACITY:
                buffers[p, at], notes[p, at] = words[source, token], (source, token, slot)
    return buffers, notes


def returned(p, length, buffers, notes, region, total):
    out = np.zeros((1, 1, length, SLOTS, buffers.shape[-1]), np.float32)
    for q in range(p // 4 * 4, p // 4 * 4 + 4):
        for expert in (2 * q, 2 * q + 1):
            for at in range(region[q, expert], min(region[q, expert] + total[q, expert], CAPACITY)):
                source, token, slot = notes[q, at]
                if source == p:
                    out[0, 0, token, slot] = buffers[q, at]
    return out


def prefill():
    """Tokens to the experts of each row of the mesh and back, against loops over single tokens."""
    prefill, length = E.deepseek_prefill, 40
    words = random(8, length, 32)
    chosen = np.stack([rng.permutation(16)[:SLOTS] for _ in range(8 * length)]).reshape(8, length, SLOTS)
    chosen[:, 5, 0] = 16  # no expert
    real = np.array([[length - 4 * (p % 3), p % 2] for p in range(8)])
    counts, sent = routes(chosen, real)
    total = np.concatenate([np.repeat(counts[r : r + 4].sum(0)[None], 4, 0) for r in (0, 4)])
    tiled = (-(-total // 32) * 32).reshape(8, 8, 2)
    region = (np.cumsum(tiled, -1) - tiled).reshape(8, 16)
    offsets = np.stack([region[p] + counts[p // 4 * 4 : p].sum(0) for p in range(8)])
    buffers, notes = filled(words, region, sent)

    def each(values, dtype):
        mapper = ttnn.ShardTensorToMesh(mesh, dim=0)
        return ttnn.from_torch(
            values, dtype=dtype, device=mesh, mesh_mapper=mapper, layout=ttnn.ROW_MAJOR_LAYOUT
        )

    tokens, indices = each(words, ttnn.bfloat16), each(chosen, ttnn.uint16)
    holders, starts = each(OWNED, ttnn.int32), each(offsets, ttnn.int32)
    sizes = {
        "experts_per_chip": 2, "num_routed_experts": 16, "num_experts_per_tok": SLOTS, "metadata_len": 3,
        "max_dispatch_buffer_token_size": CAPACITY, "cluster_axis": 1,
    }  # fmt: skip
    given, config = (tokens, indices, starts, holders), each(real, ttnn.uint32)
    found = prefill.dispatch(*given, dispatch_group_size=4, padding_config=config, **sizes)
    check("prefill dispatch", found, lambda p: (buffers[p][None, None], notes[p][None, None]))
    config = each(
        np.where(real[:, 1:] == 1, [[length, 0]], real), ttnn.uint32
    )  # the ring knows the right side only
    plain = prefill.dispatch(*given, dispatch_group_size=4, padding_config=config, **sizes)
    every = each(np.concatenate([np.tile(offsets[r : r + 4], (4, 1)) for r in (0, 4)]), ttnn.int32)
    numbers = (each(total, ttnn.int32), each(region, ttnn.int32))
    ring = {"topology": ttnn.Topology.Ring, "memory_config": ttnn.DRAM_MEMORY_CONFIG, "num_links": 2}
    again = prefill.dispatch_fabric2d(
        tokens,
        indices,
        every,
        holders,
        *numbers,
        padding_config=config,
        seq_len_per_chip=length,
        **ring,
        **sizes,
    )
    check("prefill fabric2d", again, lambda p: tuple(dict(enumerate_shards(t))[p] for t in plain))
    back = {
        "experts_per_chip": 2,
        "num_experts_per_tok": SLOTS,
        "seq_len_per_chip": length,
        "cluster_axis": 1,
    }
    wanted = lambda p: returned(p, length, buffers, notes, region, total)  # noqa: E731
    check("prefill combine", prefill.combine(*found, *numbers, dispatch_group_size=4, **back), wanted)
    check(
        "prefill combine fabric2d", prefill.combine_fabric2d(*found, *numbers, every, **back, **ring), wanted
    )
    held = each(np.arange(16).reshape(8, 2), ttnn.int32)
    weights = [
        [put(random(*shape), (None, None))[0] for _ in range(2)] for shape in ((32, 64), (32, 64), (64, 32))
    ]
    fused = prefill.moe_fused_swiglu(
        found[0], *weights, numbers[0], held, expert_region_offsets=numbers[1], read_x_at_offset=True
    )
    plain = prefill.combine_fabric2d(fused, found[1], *numbers, every, **back, **ring)
    names = "fwd_arrived_semaphore", "final_arrived_semaphore", "expert_go_semaphore"
    hybrid = prefill.hybrid_routed_expert_moe(
        found[0], numbers[1], numbers[0], held, *weights, CAPACITY, dispatched_metadata=found[1], expert_offsets=every,
        combine_axis=1, num_experts_per_tok=SLOTS, seq_len_per_chip=length, **dict(zip(names, semaphores, strict=True)),
    )  # fmt: skip
    check("prefill hybrid", hybrid, lambda p: dict(enumerate_shards(plain))[p])


def close(label, tensor, wanted):
    """As `check`, for values that are rounded: `wanted` within one unit in the last place of the largest."""
    check(label, tensor)
    for position, shard in enumerate_shards(tensor):
        expected = np.asarray(wanted(position), np.float64)
        assert shard.shape == expected.shape, (label, shard.shape, expected.shape)
        seen = np.isfinite(expected)
        assert np.array_equal(np.isneginf(shard), ~seen), label
        scale = np.abs(expected[seen]).max()
        assert np.allclose(shard[seen], expected[seen], rtol=2**-7, atol=2**-8 * scale), (label, position)


def diffusion():
    """Norms of rows of 4 x 64 columns (and of images of 4 x 32 positions) that are cut along a row of the mesh."""
    rows, axis, exact = rng.normal(3, 2, (1, 1, 64, 256)).astype(np.float32), 1, {"dtype": ttnn.float32}
    x, parts = put(rows, (None, 3), ttnn.float32)
    w, scales = put(rng.normal(size=(1, 1, 1, 256)).astype(np.float32), (None, 3), ttnn.float32)
    table, tables = put(rng.normal(size=(1, 1, 96, 256)).astype(np.float32), (None, 3), ttnn.float32)
    picks = put(np.array([[[[2, 0]]]]), (None, None), ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)[0]
    angles = rng.uniform(0, 6, (1, 1, 64, 32)).astype(np.float32)
    turn = np.zeros((1, 1, 32, 32), np.float32)
    turn[0, 0, range(1, 32, 2), range(0, 32, 2)], turn[0, 0, range(0, 32, 2), range(1, 32, 2)] = -1, 1
    rope = {
        "rope_cos": put(np.cos(angles), (None, None), ttnn.float32)[0],
        "rope_sin": put(np.sin(angles), (None, None), ttnn.float32)[0],
        "transformation_mat": put(turn, (None, None), ttnn.float32)[0],
    }
    power = np.sqrt((rows.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5)
    spread = np.sqrt(rows.astype(np.float64).var(-1, keepdims=True) + 1e-5)
    mean = rows.astype(np.float64).mean(-1, keepdims=True)
    buffer = E.dit_fused_distributed_rmsnorm_create_stats_buffer(x, axis, mesh, weight=w)
    assert E.dit_fused_distributed_rmsnorm_create_stats_buffer(x, None, mesh) is None
    assert (
        E.dit_fused_distributed_layernorm_create_stats_buffer(x, axis, mesh).shape[-1] == 2 * buffer.shape[-1]
    )
    close(
        "dit rms",
        E.dit_fused_distributed_rmsnorm(
            x, axis, mesh, semaphores, weight=w, persistent_output_buffer=buffer, **exact
        ),
        lambda p: parts[p] / power * scales[p],
    )

    def mapped(p):
        tokens = tables[p].reshape(3, 32, -1)[[2, 0]].reshape(1, 1, 64, -1)
        return parts[p] / power * tokens + tokens

    close(
        "dit rms table",
        E.dit_fused_distributed_rmsnorm(
            x, axis, mesh, semaphores, weight=table, bias=table, affine_tile_row_map=picks
        ),
        mapped,
    )

    def rotated(p, by_head=False):
        values = parts[p].astype(np.float64)
        heads = (
            (values / (1 if by_head else power) * (1 if by_head else scales[p]))
            .reshape(1, 64, 2, 32)
            .transpose(0, 2, 1, 3)
        )
        if by_head:
            heads = heads / np.sqrt((heads**2).mean(-1, keepdims=True) + 1e-5)
            heads = heads * scales[p].reshape(1, 2, 1, 32)
        return heads * np.cos(angles) + (heads @ turn[0, 0]) * np.sin(angles)

    heads = {"num_heads_per_device": 2, "weight": w, **rope, **exact}
    close("dit rms heads", E.dit_fused_distributed_rmsnorm(x, axis, mesh, semaphores, **heads), rotated)
    close(
        "dit rms by head",
        E.dit_fused_distributed_rmsnorm(x, axis, mesh, [], per_head_norm=True, **heads),
        lambda p: rotated(p, True),
    )
    whole, _ = put(rows, (None, None), ttnn.float32)
    close("dit rms local", E.dit_fused_distributed_rmsnorm(whole, None, mesh, []), lambda p: rows / power)
    close(
        "dit layer",
        E.dit_fused_distributed_layernorm(x, axis, mesh, semaphores, weight=w, bias=w, **exact),
        lambda p: (parts[p] - mean) / spread * scales[p] + scales[p],
    )
    images = rng.normal(5, 2, (2, 1, 128, 64)).astype(np.float32)
    y, pieces = put(images, (None, 2), ttnn.float32)
    c, channels = put(rng.normal(size=(1, 1, 1, 64)).astype(np.float32), (None, None), ttnn.float32)
    grouped = images.astype(np.float64).reshape(2, 128, 4, 16)
    middle, wide = grouped.mean((1, 3), keepdims=True), np.sqrt(grouped.var((1, 3), keepdims=True) + 1e-5)

    def by_group(p):
        values = (pieces[p].reshape(2, 32, 4, 16) - middle) / wide
        values = values.reshape(2, 1, 32, 64) * channels[p] + channels[p]
        return values / (1 + np.exp(-values))

    group = {"num_groups": 4, "cluster_axis": axis, "mesh_device": mesh}
    assert E.dit_fused_distributed_groupnorm_create_stats_buffer(y, **group).shape[-1] == 8
    found = E.dit_fused_distributed_groupnorm(
        y, **group, multi_device_global_semaphore=semaphores, weight=c, bias=c, activation="silu"
    )
    close("dit group", found, by_group)


def windows():
    """Four tokens to a key, over sequences of 2 x 16 tokens cut along the columns of the mesh; the loops of the reference's test."""
    prefill, depth = E.deepseek_prefill, 32
    for real, first in ((32, 0), (27, 4), (11, 8)):
        given = [random(1, 1, n, d) for n, d in ((32, 64), (32, 64), (4, 64), (64, 32), (64, 32))]
        kv, gate, bias, keys, scores = (v[0, 0] for v in given)
        keys, scores, wanted = keys.copy(), scores.copy(), []
        for rank in range(2):
            pooled = np.zeros((4, depth))
            for window in range(max(0, min(16, real - 16 * rank)) // 4):
                rows = slice(16 * rank + 4 * window, 16 * rank + 4 * window + 4)
                number = (first + rows.start) // 4
                place = slice(32 * (number % 2), 32 * (number % 2) + 4)
                earlier = (keys[place], scores[place]) if not window else (
                    kv[rows.start - 4 : rows.start, :depth], (gate[rows.start - 4 : rows.start] + bias)[:, :depth]
                )  # fmt: skip
                both = np.concatenate([earlier[1], (gate[rows] + bias)[:, depth:]])
                shares = np.exp(both) / np.exp(both).sum(0)
                pooled[window] = (np.concatenate([earlier[0], kv[rows, depth:]]) * shares).sum(0)
            for token in range(16 * rank, min(16 * rank + 16, real)):
                number, slot = divmod(first + token, 4)
                own = 32 * (number % 2)
                keys[32 - own + slot], scores[32 - own + slot] = (
                    kv[token, :depth],
                    (gate[token] + bias[slot])[:depth],
                )
                keys[own + 4 + slot], scores[own + 4 + slot] = (
                    kv[token, depth:],
                    (gate[token] + bias[slot])[depth:],
                )
            wanted.append((pooled[None, None], keys.copy()[None, None], scores.copy()[None, None]))
        tensors = [put(v, (2 if v.shape[2] == 32 else None, None))[0] for v in given]
        found = prefill.csa_compressor(
            *tensors, seq_len_actual=real, first_token_position=first, cluster_axis=0
        )
        close(f"window {real}", found[0], lambda p, w=wanted: w[p // 4][0])
        check(f"window states {real}", found[1:], lambda p, w=wanted: w[p // 4][1:])
    last = [put(random(1, 1, 256, 32), (None, 2)) for _ in range(4)]
    moved = prefill.compressor_state_exchange(*(t for t, _ in last), cluster_axis=1)
    parts = [shards for _, shards in last]
    check(
        "state exchange",
        moved,
        lambda p: (parts[0][p - 1], parts[1][p - 1]) if p % 4 else (parts[2][p], parts[3][p]),
    )


def delta():
    """Delta attention over 512 tokens that lie in ranks of 128 and begin inside of one, against its recurrence token by token."""
    kda, rows, groups, wide = E.kda, 128, 2, 32
    widths = (wide, wide, wide)
    x, gates = (rng.normal(0, 0.5, (512, n)).astype(np.float32) for n in (3 * wide, wide))
    logits, taps = (
        rng.normal(size=(512, wide)).astype(np.float32),
        rng.normal(0, 0.5, (4, 3 * wide)).astype(np.float32),
    )
    before, first = (
        rng.normal(size=(3, 3 * wide)).astype(np.float32),
        rng.normal(0, 0.1, (1, wide, wide)).astype(np.float32),
    )
    x, gates, logits, taps, before = (halved(v) for v in (x, -np.abs(gates) / 8, logits, taps, before))
    config = ttnn.QkvCausalConv1dSiluProgramConfig(channel_chunk_size=32)
    one = lambda n: put(np.array([n]), (None,) * 2, ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)[0]  # noqa: E731
    whole = lambda v, *kind: put(v, (None, None), *kind)[0]  # noqa: E731
    mixed = by_taps(np.concatenate([before, x]), taps)
    for start, tokens in ((288, 512), (320, 481), (288, 70), (256, 130), (320, 1)):
        places = [(position, *where(start, position % 4, rows)) for position in range(8)]
        laid = lambda v: put(placed(v, start, rows)[None], (None, 1))[0]  # noqa: E731, B023
        bounds = {"actual_start": one(start), "sequence_parallel_axis": 1}
        if tokens < 512:
            bounds["actual_end"] = one(start + tokens)
        history = whole(before[None], ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
        room = whole(np.zeros((1, 12, 3 * wide)), ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
        *parts, behind = kda.qkv_causal_conv1d_silu_with_carry(
            laid(x), history, *(whole(tap[None]) for tap in taps), *widths, program_config=config, exchange_buffer=room,
            exchange_semaphores=semaphores, **bounds,
        )  # fmt: skip
        label = f"delta {start} {tokens}"
        check(f"{label} carry", behind, lambda p: np.concatenate([before, x[:tokens]])[None, -3:])  # noqa: B023
        for position, part in enumerate_shards(parts[0]):
            for mine, logical, _ in places[position][1]:
                assert np.allclose(part[0, mine], mixed[logical, :wide], atol=2**-6)
        terms = kda.prepare_chunk_recurrence(*parts, laid(gates), laid(logits), 1, **bounds)
        terms = [ttnn.reshape(t, (groups, 2, *tuple(t.shape)[2:])) for t in terms]
        summary = kda.summarize_chunk_recurrence(*terms, groups_per_head=groups, **bounds)
        local = {"local_rows": rows, **bounds}
        composed = kda.reduce_affine_transforms(*summary[:2], groups, **local)
        packed = ttnn.typecast(ttnn.unsqueeze(ttnn.concat(composed, 2), 0), ttnn.bfloat16)
        chain = {k: v for k, v in local.items() if k != "actual_end"}
        state = whole(first, ttnn.float32)
        entry, prefix = kda.chain_affine_transforms(
            ttnn.all_gather(packed, 0, cluster_axis=1), state, **chain
        )
        tails = {"tail_a": summary[2], "tail_b": summary[3], "tail_entry_states": prefix}
        entries = kda.affine_exclusive_scan(*summary[:2], entry, groups, **tails, **local)
        out, last = kda.recurrent_chunk_scan(
            *terms, entries, tail_entry_states=prefix, groups_per_head=groups, **bounds
        )
        final = kda.select_final_carry(ttnn.reshape(last, (1, groups, wide, wide)), prefix, **local)
        wanted, left = by_token(mixed, gates, logits[:, 0], first[0], tokens)
        check(label, [out, final])
        for position, shard in enumerate_shards(out):
            for mine, logical, _ in places[position][1]:
                seen = logical[logical < tokens]
                assert np.allclose(
                    shard.reshape(rows, wide)[mine][: len(seen)],
                    wanted[seen],
                    atol=0.02 * np.abs(wanted).max(),
                ), label
        for _, shard in enumerate_shards(final):
            assert np.allclose(shard[0], left, atol=0.02 * np.abs(left).max()), label


def halved(values):
    """Values as bfloat16 has them."""
    return (values.astype(np.float32).view(np.uint32) + 0x8000 & 0xFFFF0000).view(np.float32)


def where(start, rank, rows):
    """The tokens of a rank: pairs of its rows and their places in the sequence."""
    first, head, step = start // rows % 4, rows - start % rows, (rank - start // rows) % 4
    if step:
        return ([(np.arange(rows), head + (step - 1) * rows + np.arange(rows), rank)],)
    tail = np.arange(head, rows)
    return ([(np.arange(head), np.arange(head), first), (tail, tail + 3 * rows, first)],)


def placed(values, start, rows):
    """A sequence in the order in which the ranks hold it."""
    held = np.zeros_like(values)
    for rank in range(4):
        for mine, logical, _ in where(start, rank, rows)[0]:
            held[rank * rows + mine] = values[logical]
    return held


def by_taps(longer, taps):
    total = sum(taps[i].astype(np.float64) * longer[i : len(longer) - 3 + i] for i in range(4))
    return total / (1 + np.exp(-total))


def by_token(mixed, gates, logits, state, tokens):
    """S = exp(g) S + beta k (v - k . exp(g) S), y = q . S."""
    q, k, v = np.split(mixed, 3, 1)
    q = q / np.sqrt((q * q).sum(1, keepdims=True) + 1e-6) / np.sqrt(32)
    k = k / np.sqrt((k * k).sum(1, keepdims=True) + 1e-6)
    state, out = state.astype(np.float64), np.zeros((512, 32))
    for t in range(tokens):
        state = state * np.exp(np.float64(gates[t]))[:, None]
        state = state + np.outer(k[t], v[t] - k[t] @ state) / (1 + np.exp(-np.float64(logits[t])))
        out[t] = q[t] @ state
    return out, state


def indexer():
    """The scores of keys that lie on a row of the mesh are those of keys that were gathered before."""
    keys, queries, gates = random(2, 1, 256, 16), random(1, 2, 128, 16), random(1, 1, 128, 2)
    local, _ = put(keys, (None, 2))
    whole, _ = put(keys[1:], (None, None))
    buffer, _ = put(np.zeros((1, 1, 256, 16), np.float32), (None, None))
    q, w = put(queries, (None, 2))[0], put(gates, (None, 2))[0]
    dealt = {"block_cyclic_sp_axis": 1, "block_cyclic_chunk_local": 32}
    within = {"chunk_start_idx": 96, "kv_len": 192}
    for label, words in (("at the end", {}), ("plain", within), ("dealt", {**within, **dealt})):
        found = E.ring_indexer_score_dsa(
            q, buffer, w, local, semaphores, cluster_axis=1, topology=ttnn.Topology.Ring, cache_batch_idx=1, **words
        )  # fmt: skip
        plain = E.indexer_score_dsa(q, whole, w, seq_shard_axes=[1], **words)
        check(f"indexer {label}", found, lambda p, t=plain: dict(enumerate_shards(t))[p])
        check(f"indexer keys {label}", buffer, lambda p: keys[1:])
    number = lambda n: put(np.array([[[[n]]]]), (None, None), ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)[0]  # noqa: E731
    found = E.ring_indexer_score_dsa(
        q, buffer, w, local, semaphores, cluster_axis=1, topology=ttnn.Topology.Ring, cache_batch_idx_tensor=number(0),
        index_cache_num_layers=2, index_cache_layer_idx=1, chunk_start_idx_tensor=number(96), valid_end_tensor=number(170), **dealt,
    )  # fmt: skip
    check("indexer tensors", found, lambda p: dict(enumerate_shards(plain))[p])


def residual():
    """The live stream of rows of 4 x 32 columns joins the softmax over earlier ones."""
    rows, before = (
        rng.normal(size=(1, 1, 32, 128)).astype(np.float32),
        rng.normal(size=(2, 1, 32, 128)).astype(np.float32),
    )
    more, query = (
        rng.normal(size=(1, 1, 32, 128)).astype(np.float32),
        rng.normal(size=(2, 1, 1, 128)).astype(np.float32),
    )
    highest, weight = (
        rng.normal(size=(2, 1, 32, 1)).astype(np.float32),
        rng.uniform(1, 3, (2, 1, 32, 1)).astype(np.float32),
    )
    cut_up = [put(v, (None, 3), ttnn.float32) for v in (before, rows, query, more)]
    told = [put(v, (None, None), ttnn.float32)[0] for v in (highest, weight)]
    stats = put(np.zeros((1, 8, 32, 1), np.float32), (None, None), ttnn.float32)[0]
    for pending in (None, cut_up[3][0]):
        live = rows.astype(np.float64) + (0 if pending is None else more)
        score = (live * query[1]).sum(-1, keepdims=True) / np.sqrt((live**2).mean(-1, keepdims=True) + 1e-6)
        peak = np.maximum(highest[1:], score)
        old, new = np.exp(highest[1:] - peak), np.exp(score - peak)
        mixed = cut((before[1:] * old + live * new) / (weight[1:] * old + new), (None, 3))
        found = E.deepseek_prefill.attn_res_gather_softmax(
            cut_up[0][0], cut_up[1][0], *told, cut_up[2][0], stats, semaphores[0], cluster_axis=1, site=1,
            inv_hidden_size=1 / 128, eps=1e-6, pending=pending,
        )  # fmt: skip
        assert len(found) == (1 if pending is None else 2)
        close(f"residual {pending is not None}", found[0], lambda p, m=mixed: m[p])
        for tensor in found[1:]:
            check("residual sum", tensor, lambda p: cut_up[1][1][p] + cut_up[3][1][p])


def ring_experts():
    """A layer of experts in one call along the rows of the mesh, against loops over single tokens; its parts combined again."""
    tokens, choices, hidden, between = 16, 2, 128, 384
    words = np.repeat(random(2, tokens, hidden), 4, 0).astype(
        np.float32
    )  # each row of the mesh has its own tokens
    chosen = np.repeat(
        np.stack([[rng.permutation(16)[:choices] for _ in range(tokens)] for _ in range(2)]), 4, 0
    ).astype(np.uint16)
    scores = np.full((8, tokens, choices), 0.5, np.float32)
    gate, up = (rng.standard_normal((1, 16, hidden, between)).astype(np.float32) / 16 for _ in range(2))
    down = rng.standard_normal((1, 16, between, hidden)).astype(np.float32) / 16
    owner = np.tile((np.arange(16) // 2).astype(np.uint16), (8, 1))

    def each(values, dtype, layout=ttnn.ROW_MAJOR_LAYOUT, dim=0):
        mapper = ttnn.ShardTensorToMesh(mesh, dim=dim)
        return ttnn.from_torch(
            values,
            dtype=dtype,
            device=mesh,
            mesh_mapper=mapper,
            layout=layout,
            memory_config=ttnn.L1_MEMORY_CONFIG,
        )

    tiled = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "dim": 1}
    sizes = {"L": 1, "E": 2, "K": hidden, "N": between}
    sides = [each(values, **tiled) for values in (gate, up, down)]
    packed = (
        E.prepare_w0_w1_tensor_for_moe_compute(*sides[:2], **sizes),
        E.prepare_w2_tensor_for_moe_compute(sides[2], **sizes),
    )
    mapping = put(owner, (None, None), ttnn.uint16, ttnn.ROW_MAJOR_LAYOUT)[0]
    given = each(words, ttnn.bfloat16), each(chosen, ttnn.uint16), each(scores, ttnn.bfloat16), mapping
    slots = E.moe_compute(
        *given, *packed, layer_id=0, output_height_shard_dim=2, intermediate_size=between, cluster_axis=1,
        topology=ttnn.Topology.Ring, num_links=1,
    )  # fmt: skip

    def wanted(p):
        out, group = np.zeros((choices, 4, hidden), np.float32), range(p // 4 * 4, p // 4 * 4 + 4)
        for token, slot in np.ndindex(4, choices):
            expert = chosen[p, p % 4 * 4 + token, slot]
            if expert // 2 in group:
                x = words[p, p % 4 * 4 + token]
                side = x @ gate[0, expert]
                out[slot, token] = side / (1 + np.exp(-side)) * (x @ up[0, expert]) @ down[0, expert]
        return out

    for number, slot in enumerate(slots[:3]):
        check(f"ring experts {number}", slot)
    check("ring experts staged", slots[4])
    check("ring experts", slots[5])
    found = dict(enumerate_shards(slots[5]))
    for p, shard in found.items():
        assert np.allclose(shard, wanted(p), rtol=0.03, atol=0.05), p
        assert np.array_equal(shard == 0, wanted(p) == 0), p
    cores = E.get_moe_combine_cores(mesh, 2, 4, hidden)
    again = E.selective_reduce_combine(
        slots[4], slots[1], slots[2], slots[0], hidden, tokens, 1, choices, 1, ttnn.Topology.Ring, 1, 2, 4, cores,
        ttnn.CoreRangeSet([]),
    )  # fmt: skip
    check("ring combine", again, lambda p: found[p])


PARTS = (
    gathers,
    sums,
    exchanges,
    halos,
    products,
    norms,
    attentions,
    experts,
    prefill,
    ring_experts,
    diffusion,
    windows,
    indexer,
    residual,
    delta,
)
for part in PARTS:
    part()
ttnn.close_mesh_device(mesh)
sys.stdout.flush()
