"""Programs of random operations over a 2x4 mesh: `FIRST COUNT [--steps] [--torch] [--apart]` prints a digest per program and device.

What is drawn depends on the seed and on shapes alone, which are the same on every rank; so must be what comes out. `--steps` prints a
digest of every step as well, which shows where two splits go apart.
"""

import hashlib
import random
import sys

import numpy as np
import ttnn
from random_kinds import MORE, MORE_OF_PYTORCH

from tt_run.runtime.comm.world import Group

if "--apart" in sys.argv:
    # As if every rank were on a host of its own: messages instead of shared memory, bfloat16 in 16 bits on the wire.
    Group.on_one_host = property(lambda group: group.size == 1)
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
E = ttnn.experimental
DTYPES = (ttnn.bfloat16, ttnn.bfloat16, ttnn.float32, ttnn.bfloat8_b)
FLOATS = (ttnn.bfloat16, ttnn.float32, ttnn.bfloat8_b)
LARGEST = 1 << 16  # elements of a shard that is worked on further
STEPS = 24

UNARY = [
    "relu",
    "gelu",
    "silu",
    "tanh",
    "sigmoid",
    "exp",
    "log1p",
    "sqrt",
    "abs",
    "neg",
    "square",
    "sin",
    "cos",
    "floor",
    "sign",
    "erf",
    "mish",
    "softplus",
    "rsqrt",
    "hardswish",
    "elu",
    "softsign",
    "isfinite",
    "gtz",
    "log_sigmoid",
    "selu",
    "cbrt",
    "atan",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "divide",
    "squared_difference",
    "gt",
    "eq",
    "logical_and",
    "hypot",
    "atan2",
    "logaddexp",
    "remainder",
    "ldexp",
]
BACKWARD = [
    "tanh_bw",
    "gelu_bw",
    "silu_bw",
    "sigmoid_bw",
    "exp_bw",
    "log_sigmoid_bw",
    "lgamma_bw",
    "erf_bw",
    "softplus_bw",
]


def first_tensors(draw, values):
    """Tensors cut over the mesh in different ways."""
    for dims in ((0, 3), (2, 3), (None, 3), (0, None), (None, None)):
        shape = [1, draw.choice([1, 2]), draw.choice([32, 64]), draw.choice([32, 64, 96])]
        for axis, dim in enumerate(dims):
            if dim is not None:
                shape[dim] *= (2, 4)[axis]
        mapper = ttnn.ShardTensor2dMesh(mesh, (2, 4), dims)
        if dims == (None, None):
            mapper = ttnn.ReplicateTensorToMesh(mesh)
        data = values.standard_normal(shape).astype(np.float32)
        yield ttnn.from_torch(
            data, dtype=draw.choice(DTYPES), layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=mapper
        )


def fitting(draw, pool, a):
    """A tensor that broadcasts against `a`, or a number."""
    fits = [
        b
        for b in pool
        if len(b.shape) == len(a.shape)
        and all(m == n or 1 in (m, n) for m, n in zip(a.shape, b.shape, strict=True))
    ]
    return draw.choice([*fits, 0.75, -1.5]) if fits else 0.5


def unary(draw, pool, a):
    return getattr(ttnn, draw.choice(UNARY))(a)


def binary(draw, pool, a):
    other = fitting(draw, pool, a)
    fused, name = draw.random() < 0.2, draw.choice(BINARY)
    if name in ("atan2", "hypot") and isinstance(other, float):  # which take no number
        other = ttnn.full_like(a, other)
    words = {"activations": [ttnn.UnaryOpType.SILU]} if fused and name not in ("atan2", "hypot") else {}
    return getattr(ttnn, name)(a, other, **words)


def product(draw, pool, a):
    fits = [b for b in pool if b.shape[-2] == a.shape[-1] and b.shape[1] in (1, a.shape[1])]
    if fits:
        return ttnn.matmul(a, draw.choice(fits))
    b = draw.choice(pool)
    if b.shape[-1] == a.shape[-1] and b.shape[1] in (1, a.shape[1]):
        return ttnn.matmul(a, b, transpose_b=True)
    return ttnn.matmul(a, ttnn.transpose(a, -2, -1), activation=draw.choice([None, "gelu"]))


def reduction(draw, pool, a):
    dim = draw.choice([-1, -2, 1, 0, (-2, -1)])
    return getattr(ttnn, draw.choice(["sum", "mean", "max", "min", "std", "var"]))(a, dim=dim, keepdim=True)


def running(draw, pool, a):
    return getattr(ttnn, draw.choice(["cumsum", "cumprod"]))(a, draw.choice([1, 2, 3]))


def normal(draw, pool, a):
    kind = draw.choice(["softmax", "layer_norm", "rms_norm", "softmax"])
    if kind == "softmax":
        return ttnn.softmax(a, dim=draw.choice([-1, -2]))
    rows = [b for b in pool if b.shape[-1] == a.shape[-1]]
    weight = ttnn.reshape(ttnn.max(draw.choice(rows), dim=[0, 1, 2]), [1, a.shape[-1]])
    return getattr(ttnn, kind)(a, weight=weight, epsilon=1e-5)


def movement(draw, pool, a):
    b, h, w = a.shape[1:]
    return draw.choice(
        [
            lambda: ttnn.transpose(a, -2, -1),
            lambda: ttnn.permute(a, (0, 2, 1, 3)),
            lambda: ttnn.concat([a, ttnn.neg(a)], dim=draw.choice([1, 2, 3])),
            lambda: ttnn.slice(a, [0, 0, 0, 0], [1, b, max(1, h // 2), w]),
            lambda: ttnn.slice(a, [0, 0, 0, w // 4], [1, b, h, w], [1, 1, 1, draw.choice([1, 3])]),
            lambda: ttnn.pad(a, [(0, 0), (0, 0), (0, 5), (0, 3)], 0.5),
            lambda: ttnn.reshape(a, [1, h, b, w]),
            lambda: ttnn.repeat(a, [1, 2, 1, 1]),
            lambda: ttnn.roll(a, 7, 3),
            lambda: ttnn.tilize_with_zero_padding(ttnn.untilize(a)),
        ]
    )()


def choosing(draw, pool, a):
    kind = draw.choice(["topk", "sort", "where", "clamp", "tril"])
    if kind == "topk":
        return ttnn.topk(a, min(32, a.shape[-1]), dim=-1, largest=draw.random() < 0.7)[0]
    if kind == "sort":
        return ttnn.sort(a, dim=-1, descending=draw.random() < 0.5)[0]
    if kind == "where":
        return ttnn.where(ttnn.gtz(a), a, 0.25)
    return ttnn.clamp(a, -1.0, 1.5) if kind == "clamp" else ttnn.tril(a)


def convert(draw, pool, a):
    return ttnn.typecast(a, draw.choice(FLOATS))


def attention(draw, pool, a):
    a = ttnn.typecast(a, ttnn.bfloat16) if a.dtype == ttnn.float32 else a
    if draw.random() < 0.5:
        return ttnn.transformer.scaled_dot_product_attention(a, a, a, is_causal=draw.random() < 0.6)
    state = ttnn.mean(a, dim=1, keepdim=True)
    return ttnn.transformer.scaled_dot_product_attention(a, state, state, is_causal=False, scale=0.2)


def gather(draw, pool, a):
    words = {"dim": draw.choice([1, 2, 3]), "cluster_axis": draw.choice([0, 1])}
    return ttnn.all_gather(a, **words)


def scatter(draw, pool, a):
    axis = draw.choice([0, 1])
    return ttnn.reduce_scatter(a, dim=draw.choice([1, 2, 3]), cluster_axis=axis)


def total(draw, pool, a):
    return ttnn.all_reduce(a, cluster_axis=draw.choice([0, 1, None]))


def partition(draw, pool, a):
    dim, axis = draw.choice([2, 3]), draw.choice([0, 1])
    if a.layout == ttnn.TILE_LAYOUT and a.padded_shape[dim] % (32 * (2, 4)[axis]):
        a = ttnn.to_layout(a, ttnn.ROW_MAJOR_LAYOUT)
    return ttnn.mesh_partition(a, dim, axis)


def exchange(draw, pool, a):
    words = draw.sample([1, 2, 3], 2)
    return E.all_to_all_async_generic(a, *words, cluster_axis=draw.choice([0, 1]))


def send(draw, pool, a):
    here = ttnn.MeshCoordinate(draw.randrange(2), draw.randrange(4))
    if draw.random() < 0.5:
        return ttnn.broadcast(a, here, cluster_axis=draw.choice([None, 0, 1]))
    there = ttnn.MeshCoordinate(draw.randrange(2), draw.randrange(4))
    return ttnn.add(ttnn.point_to_point(a, here, there, output_tensor=ttnn.clone(a)), a)


def chance(draw, pool, a):
    noise = ttnn.rand(list(a.shape), device=mesh, dtype=ttnn.bfloat16, seed=draw.randrange(1, 99))
    return ttnn.multiply(a, noise)


def gradient(draw, pool, a):
    return getattr(ttnn, draw.choice(BACKWARD))(a, a)[0]


def fused_norm(draw, pool, a):
    """Rows, or images, that are cut along an axis of the mesh; or whole on each device."""
    axis, kind = draw.choice([0, 1, 1, None]), draw.choice(["rms", "layer", "group"])
    if kind == "group":
        words = {"num_groups": draw.choice([2, 4]), "activation": draw.choice([None, "silu"])}
        image = ttnn.reshape(a, [a.shape[1], 1, a.shape[2], a.shape[3]])
        return ttnn.permute(
            E.dit_fused_distributed_groupnorm(
                image, cluster_axis=axis or 0, mesh_device=mesh, multi_device_global_semaphore=[], **words
            ),
            (1, 0, 2, 3),
        )
    form = getattr(E, f"dit_fused_distributed_{kind}norm")
    return form(a, axis, mesh, [], epsilon=1e-5, dtype=draw.choice([None, ttnn.float32]))


def scores(draw, pool, a):
    """Every device's rows look at the mean of its heads, as far as a position reaches."""
    q = ttnn.typecast(a, ttnn.bfloat16)
    keys = ttnn.mean(q, dim=1, keepdim=True)
    words = {"chunk_start_idx": draw.randrange(64), "seq_shard_axes": draw.choice([None, [0], [1]])}
    if draw.random() < 0.5:
        found = E.indexer_score_msa(q, keys, num_groups=1, scale=0.25, **words)
    else:
        gates = ttnn.permute(ttnn.max(q, dim=-1, keepdim=True), (0, 3, 2, 1))
        found = E.indexer_score_dsa(q, keys, gates, **words)
    return ttnn.clamp(ttnn.to_layout(found, ttnn.TILE_LAYOUT), -8.0, 8.0)


def experts(draw, pool, a):
    """Tokens to experts along an axis (two a device), and back: each token's sum of what came from its two."""
    axis, (rows, width) = draw.choice([0, 1]), a.shape[2:]
    members, prefill = (2, 4)[axis], E.deepseek_prefill
    number, rank = 2 * members, [divmod(p, 4)[axis] for p in range(8)]
    mapper = ttnn.ShardTensorToMesh(mesh, dim=0)

    def each(values, dtype):
        return ttnn.from_torch(
            np.asarray(values), dtype=dtype, device=mesh, mesh_mapper=mapper, layout=ttnn.ROW_MAJOR_LAYOUT
        )

    chosen = np.array([draw.sample(range(number), 2) for _ in range(8 * rows)]).reshape(8, rows, 2)
    ids, table = each(chosen, ttnn.uint16), each([np.arange(number) // 2] * len(rank), ttnn.int32)
    counted = ttnn.to_layout(ttnn.reshape(ids, [rows, 2]), ttnn.TILE_LAYOUT)
    counts = prefill.masked_bincount(counted, table, number, 2)
    starts, total, region, _ = prefill.offset_cumsum(counts, axis, 1, 2, ttnn.DRAM_MEMORY_CONFIG)
    tokens = ttnn.reshape(ttnn.slice(a, [0, 0, 0, 0], [1, 1, rows, width]), [1, rows, width])
    tokens = ttnn.to_layout(ttnn.typecast(tokens, ttnn.bfloat16), ttnn.ROW_MAJOR_LAYOUT)
    sizes = {
        "dispatch_group_size": members,
        "experts_per_chip": 2,
        "num_experts_per_tok": 2,
        "cluster_axis": axis,
    }
    sent, notes = prefill.dispatch(
        tokens, ids, starts, table, num_routed_experts=number, metadata_len=3,
        max_dispatch_buffer_token_size=rows * 2 * members + 64, **sizes,
    )  # fmt: skip
    back = prefill.combine(ttnn.multiply(sent, 1.5), notes, total, region, seq_len_per_chip=rows, **sizes)
    return ttnn.sum(
        ttnn.permute(ttnn.to_layout(ttnn.reshape(back, [1, rows, 2, width]), ttnn.TILE_LAYOUT), (0, 2, 1, 3)),
        dim=1,
        keepdim=True,
    )


def image(draw, pool, a):
    """Convolved, pooled or enlarged: the rows as a picture four wide, the columns as its channels."""
    batch, (rows, channels) = a.shape[1], a.shape[2:]
    flat = ttnn.to_layout(ttnn.typecast(a, ttnn.bfloat16), ttnn.ROW_MAJOR_LAYOUT)
    flat = ttnn.reshape(flat, [1, 1, batch * rows, channels])
    sizes = {"batch_size": batch, "input_h": rows // 4, "input_w": 4, "channels": channels}
    kind = draw.choice(["max", "avg", "conv", "upsample"])
    if kind == "upsample":
        found = ttnn.upsample(ttnn.reshape(flat, [batch, rows // 4, 4, channels]), 2)
        return ttnn.to_layout(ttnn.reshape(found, [1, batch, rows * 4, channels]), ttnn.TILE_LAYOUT)
    if kind == "conv":
        weights = (
            np.random.default_rng(draw.randrange(99)).normal(size=(32, channels, 3, 3)).astype(np.float32)
        )
        return ttnn.conv2d(
            input_tensor=flat, weight_tensor=ttnn.from_torch(weights, dtype=ttnn.bfloat16), device=mesh,
            in_channels=channels, out_channels=32, batch_size=batch, input_height=rows // 4, input_width=4,
            kernel_size=(3, 3), padding=(1, 1), stride=(draw.choice([1, 2]), 1),
        )  # fmt: skip
    words = {"kernel_size": [2, 2], "stride": [draw.choice([1, 2]), 1], "padding": [1, 0]}
    if kind == "max":
        found = ttnn.max_pool2d(
            flat, *sizes.values(), words["kernel_size"], words["stride"], words["padding"], [1, 1]
        )
    else:
        found = ttnn.avg_pool2d(
            flat, *sizes.values(), words["kernel_size"], words["stride"], words["padding"]
        )
    # Off the cores, whose pieces are no tiles.
    return ttnn.to_layout(ttnn.to_memory_config(found, ttnn.DRAM_MEMORY_CONFIG), ttnn.TILE_LAYOUT)


KINDS = [
    *(unary, unary, binary, binary, binary, product, product, reduction, running, normal, normal),
    *(movement, movement, choosing, convert, attention, chance),
    *(gather, scatter, scatter, total, total, partition, exchange, send),
    *(fused_norm, scores, experts, *MORE),
    *([gradient, gradient, image, *MORE_OF_PYTORCH] if "--torch" in sys.argv else []),
]


def made(result):
    """The tensors of a result."""
    return [t for t in (result if isinstance(result, (list, tuple)) else [result]) if t is not None]


def held(tensor):
    """The places of this rank's devices and the bytes they hold."""
    shards = zip(mesh.local_positions, tensor.shards.each(), strict=True)
    return [(place, b"none" if shard is None else np.asarray(shard).tobytes()) for place, shard in shards]


def run(seed):
    """One program: what a step makes joins the tensors that later steps choose from; what is refused is left out."""
    draw, values = random.Random(seed), np.random.default_rng(seed)
    pool = list(first_tensors(draw, values))
    digests = {place: hashlib.sha256() for place in mesh.local_positions}
    for step in range(STEPS):
        kind, a = draw.choice(KINDS), draw.choice(pool)
        told = f"{kind.__name__} {list(a.shape)} {a.dtype.name}"
        try:
            result = kind(draw, pool, a)
        except RuntimeError as error:
            print(
                "refused", seed, step, told, str(error).partition("info:")[2][:90].strip().replace("\n", " ")
            )
            continue
        for place, content in (each for tensor in made(result) for each in held(tensor)):
            digests[place].update(content)
            if "--steps" in sys.argv:
                print("step", seed, step, place, hashlib.sha256(content).hexdigest()[:12], told)
        result = made(result)[0]
        if result.dtype in FLOATS and len(result.shape) == 4 and result.logical_volume() <= LARGEST:
            pool[draw.randrange(len(pool))] = result
    for place, digest in digests.items():
        print("digest", seed, place, digest.hexdigest()[:16])


first, count = map(int, sys.argv[1:3])
for seed in range(first, first + count):
    run(seed)
