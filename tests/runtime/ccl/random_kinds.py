"""Further kinds of steps for `random_program`: each a function of what is drawn, of the tensors there are, and of the one to work on."""

import numpy as np
import ttnn

E = ttnn.experimental
FLOATS = (ttnn.bfloat16, ttnn.float32, ttnn.bfloat8_b)

MORE_UNARY = [
    "acosh", "asinh", "atanh", "ceil", "cosh", "deg2rad", "erfc", "exp2", "expm1", "frac", "gez", "hardmish", "hardsigmoid", "hardtanh",
    "identity", "isinf", "isnan", "lez", "logical_not", "ltz", "nez", "rad2deg", "reciprocal", "relu6", "signbit", "sinh", "softsign",
    "swish", "tan", "tanhshrink", "trunc", "xielu", "log", "log2", "log10", "eqz", "clone", "sigmoid_accurate",
]  # fmt: skip
WITH_NUMBERS = {
    "leaky_relu": ({"negative_slope": 0.3}, {"negative_slope": -0.2}),
    "celu": ({"alpha": 0.5},),
    "elu": ({"alpha": 2.0},),
    "hardshrink": ({"lambd": 0.7},),
    "softshrink": ({"lambd": 0.3},),
    "softplus": ({"beta": 2.0, "threshold": 3.0},),
    "selu": ({"scale": 2.0, "alpha": 0.7},),
    "hardtanh": ({"min_val": -0.5, "max_val": 0.75},),
    "round": ({"decimals": 1},),
    "logit": ({"eps": 0.2},),
    "clamp": ({"min": -0.5}, {"max": 0.25}),
    "tril": ({"diagonal": 1},),
    "triu": ({"diagonal": -2},),
    "cumsum": ({"dim": 3, "reverse_order": True},),
    "std": ({"dim": -1, "keepdim": True, "correction": False}, {"dim": (1, 3), "keepdim": True}),
    "prod": ({"dim": 3, "keepdim": True}, {"dim": 1, "keepdim": True}),
    "argmax": ({"dim": -1, "keepdim": True},),
    "softmax": ({"dim": 1}, {"dim": -1, "numeric_stable": False}),
    "sum": ({"dim": 2, "keepdim": True, "scalar": 0.5},),
}
BESIDE_NUMBERS = {
    "fill": (1.5,),
    "softcap": (2.0,),
    "heaviside": (0.5,),
    "relu_max": (0.75,),
    "relu_min": (-0.5,),
    "rpow": (1.5,),
    "rdiv": (2.5,),
    "pow": (2.0, 3.0),
    "threshold": ((0.1, -2.0),),
    "polyval": (([1.0, -2.0, 0.5],),),
    "prelu": (0.3,),
    "roll": ((3, 2), (-1, 3)),
    "repeat_interleave": ((2, 2), (2, 3)),
    "transpose": ((1, 2), (1, 3)),
}
MORE_BINARY = [
    "ne", "lt", "le", "ge", "logical_or", "logical_xor", "rsub", "fmod", "floor_div", "div_no_nan", "xlogy", "logaddexp2", "isclose",
    "bias_gelu", "nextafter", "clamped_silu_glu", "addalpha", "subalpha",
]  # fmt: skip
LAST_NUMBERS = {"clamped_silu_glu": (1.0,), "addalpha": (0.5,), "subalpha": (0.5,)}
BITS = [
    "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift", "logical_right_shift", "maximum",
    "subtract",
]  # fmt: skip
MORE_BACKWARD = [
    "abs_bw", "cos_bw", "cosh_bw", "deg2rad_bw", "erfc_bw", "exp2_bw", "expm1_bw", "hardsigmoid_bw", "hardswish_bw", "i0_bw", "neg_bw",
    "relu_bw", "relu6_bw", "selu_bw", "sin_bw", "sinh_bw", "softsign_bw", "square_bw", "tan_bw", "tanhshrink_bw", "celu_bw", "elu_bw",
    "hardshrink_bw", "softshrink_bw", "hardtanh_bw", "leaky_relu_bw", "digamma_bw", "reciprocal_bw", "rsqrt_bw", "sqrt_bw", "log1p_bw",
    "multigammaln_bw", "add_bw", "mul_bw", "div_bw", "atan2_bw", "hypot_bw", "xlogy_bw", "logaddexp_bw", "max_bw", "squared_difference_bw",
]  # fmt: skip
OF_PYTORCH = [
    "digamma", "lgamma", "erfinv", "i0", "i1", "multigammaln",
]  # fmt: skip
OF_PYTORCH_BESIDE = {
    "moreh_cumsum": 2,
    "moreh_softmax": 3,
    "moreh_softmin": 2,
    "moreh_logsoftmax": 3,
    "polygamma": 1,
}


def function(draw, pool, a):
    return getattr(ttnn, draw.choice(MORE_UNARY))(a)


def with_numbers(draw, pool, a):
    name = draw.choice(sorted(WITH_NUMBERS))
    return getattr(ttnn, name)(a, **draw.choice(WITH_NUMBERS[name]))


def beside_numbers(draw, pool, a):
    name = draw.choice(sorted(BESIDE_NUMBERS))
    given = draw.choice(BESIDE_NUMBERS[name])
    return getattr(ttnn, name)(a, *(given if isinstance(given, tuple) else (given,)))


def like(draw, pool, a):
    """A tensor of the shape of `a`: another one, or `a` turned round."""
    same = [b for b in pool if tuple(b.shape) == tuple(a.shape)]
    return draw.choice(same) if draw.random() < 0.6 else ttnn.roll(a, 5, 3)


def pair(draw, pool, a):
    name, b = draw.choice(MORE_BINARY), like(draw, pool, a)
    return getattr(ttnn, name)(a, b, *LAST_NUMBERS.get(name, ()))


def triple(draw, pool, a):
    b, c = like(draw, pool, a), like(draw, pool, a)
    return draw.choice(
        [
            lambda: ttnn.addcmul(a, b, c, value=0.5),
            lambda: ttnn.addcdiv(a, b, ttnn.add(ttnn.abs(c), 1.0), value=0.5),
            lambda: ttnn.mac(a, b, c),
            lambda: ttnn.lerp(a, b, 0.3),
            lambda: ttnn.lerp(a, b, c),
            lambda: ttnn.where(ttnn.gtz(a), b, c),
            lambda: ttnn.clamp(a, ttnn.minimum(b, c), ttnn.maximum(b, c)),
        ]
    )()


def in_place(draw, pool, a):
    """Written over a copy, by an operation or in a room."""
    room = ttnn.clone(a)
    kind = draw.choice(["add_", "multiply_", "subtract_", "squared_difference_", "room", "dtype"])
    if kind == "room":
        return ttnn.add(a, like(draw, pool, a), output_tensor=room)
    if kind == "dtype":
        return ttnn.multiply(a, like(draw, pool, a), dtype=draw.choice(FLOATS))
    return getattr(ttnn, kind)(room, like(draw, pool, a))


def whole(draw, pool, a):
    """Over whole numbers, and back."""
    kind = draw.choice([ttnn.int32, ttnn.int32, ttnn.uint32, ttnn.uint16])
    numbers = [
        ttnn.typecast(ttnn.multiply(ttnn.abs(ttnn.clamp(b, -3.0, 3.0)), 5.0), kind)
        for b in (a, like(draw, pool, a))
    ]
    found = getattr(ttnn, draw.choice(BITS))(*numbers)
    return ttnn.clamp(ttnn.typecast(found, ttnn.float32), -64.0, 64.0)


def picked(draw, pool, a):
    """Elements in other places, by numbers that the tensor itself gives."""
    order = ttnn.sort(a, dim=-1, descending=draw.random() < 0.5)[1]
    return draw.choice(
        [
            lambda: ttnn.gather(a, 3, order),
            lambda: ttnn.scatter(a, 3, order, like(draw, pool, a)),
            lambda: ttnn.topk(a, 32, dim=-1, largest=False)[0],
            lambda: ttnn.sort(a, dim=2)[0],
        ]
    )()


def parts(draw, pool, a):
    _, b, h, w = a.shape
    return draw.choice(
        [
            lambda: ttnn.split(a, max(32, w // 2), 3),
            lambda: ttnn.chunk(a, 2, 2),
            lambda: ttnn.narrow(a, 3, 0, 32),
            lambda: ttnn.squeeze(ttnn.unsqueeze(a, 0), 0),
            lambda: ttnn.expand(ttnn.mean(a, dim=1, keepdim=True), [1, 3, h, w]),
            lambda: ttnn.permute(ttnn.permute(a, (3, 1, 0, 2)), (2, 1, 3, 0)),
            lambda: ttnn.reshape(ttnn.reshape(a, [b * h, w]), [1, b, h, w]),
            lambda: ttnn.to_layout(ttnn.to_layout(a, ttnn.ROW_MAJOR_LAYOUT), ttnn.TILE_LAYOUT),
            lambda: ttnn.to_memory_config(a, ttnn.L1_MEMORY_CONFIG),
            lambda: ttnn.concat([a, a, ttnn.abs(a)], dim=1),
            lambda: ttnn.stack([a, ttnn.neg(a)], 0),
            lambda: ttnn.slice(a, [0, 0, 0, 0], [1, b, h, w], [1, 1, 2, 1]),
        ]
    )()


def heads(draw, pool, a):
    """Heads of 32 columns made of rows and joined again, and what attention does with them."""
    rows = ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, a.shape[3] - a.shape[3] % 32])
    rows = ttnn.typecast(rows, ttnn.bfloat16) if rows.dtype == ttnn.float32 else rows
    q, k, v = E.nlp_create_qkv_heads(
        ttnn.concat([rows, rows, rows], dim=3), num_heads=rows.shape[3] // 32, transpose_k_heads=False
    )
    found = ttnn.transformer.scaled_dot_product_attention(q, k, v, is_causal=True, sliding_window_size=7)
    return E.nlp_concat_heads(found)


def decoded(draw, pool, a):
    """One query of each of 8 heads against a cache that is first filled with the rows."""
    w = a.shape[3]
    cache = ttnn.zeros([1, 1, 64, w], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=a.device())
    rows = ttnn.typecast(ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, w]), ttnn.bfloat16)
    ttnn.fill_cache(cache, rows, 0)
    q = ttnn.slice(rows, [0, 0, 0, 0], [1, 1, 8, w])
    return ttnn.transformer.scaled_dot_product_attention_decode(
        q, cache, cache, cur_pos=[draw.randrange(1, 60)], scale=draw.choice([None, 0.2])
    )


def layers(draw, pool, a):
    w = a.shape[3]
    weight = ttnn.matmul(ttnn.transpose(a, -2, -1), a)  # [1, b, w, w]
    weight = ttnn.multiply(ttnn.mean(weight, dim=1, keepdim=True), 0.05)
    row = ttnn.mean(weight, dim=2, keepdim=True)
    square = ttnn.reshape(weight, [w, w])
    kind = draw.choice(["linear", "minimal", "addmm", "residual", "scaled"])
    if kind == "linear":
        return ttnn.linear(a, weight, bias=row, activation=draw.choice([None, "relu", "silu"]))
    if kind == "minimal":
        return E.minimal_matmul(a, square)
    if kind == "addmm":
        return ttnn.reshape(ttnn.addmm(square, square, square, alpha=0.5, beta=2.0), [1, 1, w, w])
    if kind == "residual":
        return ttnn.layer_norm(a, residual_input_tensor=ttnn.roll(a, 3, 3), epsilon=1e-3)
    mask = ttnn.multiply(ttnn.max(ttnn.gtz(a), dim=[1, 2], keepdim=True), -9.0)
    return ttnn.scale_mask_softmax(a, 0.3, mask)


def asynchronous(draw, pool, a):
    """The collectives of models, which take semaphores."""
    mesh, axis = a.device(), draw.choice([0, 1])
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))])
    s = [ttnn.create_global_semaphore(mesh, grid, 0) for _ in range(3)]
    dim = draw.choice([2, 3])
    return draw.choice(
        [
            lambda: E.all_gather_async(a, None, 3, s[:2], cluster_axis=axis),
            lambda: E.all_gather_async_reversed(a, dim, axis, mesh, ttnn.Topology.Linear, s[:2]),
            lambda: E.strided_all_gather_async(a, None, 3, s, cluster_axis=axis),
            lambda: E.reduce_scatter_minimal_async(a, None, dim, s, cluster_axis=axis),
            lambda: E.reduce_scatter_minimal_direct(a, 3, cluster_axis=axis),
            lambda: E.strided_reduce_scatter_async(
                a, None, 3, s, mm_block_ht=1, mm_block_wt=1, cluster_axis=axis
            ),
            lambda: E.all_reduce_async(a, cluster_axis=axis, mesh_device=mesh, math_op=ttnn.ReduceType.Sum),
            lambda: ttnn.all_broadcast(a, cluster_axis=axis),
            lambda: ttnn.fused_rms_minimal(
                a,
                None,
                axis,
                mesh,
                s[0],
                epsilon=1e-3,
                weight=ttnn.ones_like(ttnn.reshape(ttnn.max(a, dim=[0, 1, 2]), [1, a.shape[3]])),
            ),
        ]
    )()


def borders(draw, pool, a):
    """Images with the edges of the neighbours around them."""
    mesh = a.device()
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))])
    s = [ttnn.create_global_semaphore(mesh, grid, 0) for _ in range(2)]
    _, b, h, w = a.shape
    image = ttnn.to_layout(ttnn.typecast(a, ttnn.bfloat16), ttnn.ROW_MAJOR_LAYOUT)
    image = ttnn.reshape(image, [1, b, h // 4, 4, w])
    mode = draw.choice(["zeros", "replicate"])
    found = E.neighbor_pad_async(image, [2], [1], [1], mode, [draw.choice([0, 1])], s[:1], s[:1])
    found = ttnn.reshape(found, [1, b, (h // 4 + 2) * 4, w])
    return ttnn.to_layout(found, ttnn.TILE_LAYOUT)


def products(draw, pool, a):
    """A product with what is gathered for it, or summed after it."""
    mesh = a.device()
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))])
    s = [ttnn.create_global_semaphore(mesh, grid, 0) for _ in range(3)]
    weight = ttnn.mean(ttnn.matmul(ttnn.transpose(a, -2, -1), a), dim=1, keepdim=True)
    weight = ttnn.typecast(ttnn.multiply(weight, 0.05), a.dtype)
    if draw.random() < 0.5:
        four = ttnn.repeat(weight, [1, 1, 4, 1])
        return E.llama_all_gather_matmul_async(a, four, a, 3, 1, mesh, ttnn.Topology.Linear, s[0])
    wide = ttnn.repeat(weight, [1, 1, 1, 4])
    return E.minimal_matmul_strided_reduce_scatter_async(
        a, wide, 3, s, ttnn.CoreCoord(0, 6), compute_kernel_config=None, cluster_axis=1
    )


def noise(draw, pool, a):
    seed = draw.randrange(1, 99)
    return draw.choice(
        [
            lambda: E.dropout(a, probability=0.3, scale=1.5, seed=seed),
            lambda: ttnn.add(a, ttnn.randn(list(a.shape), device=a.device(), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, seed=seed)),
            lambda: ttnn.uniform(ttnn.typecast(a, ttnn.float32), -1.0, 1.0, seed),
            lambda: ttnn.bernoulli(ttnn.sigmoid(ttnn.typecast(a, ttnn.float32)), seed),
        ]
    )()  # fmt: skip


def gradients(draw, pool, a):
    name = draw.choice(MORE_BACKWARD)
    two = name in (
        "add_bw",
        "mul_bw",
        "div_bw",
        "atan2_bw",
        "hypot_bw",
        "xlogy_bw",
        "logaddexp_bw",
        "max_bw",
        "squared_difference_bw",
    )
    given = [a, like(draw, pool, a), *([like(draw, pool, a)] if two else [])]
    return getattr(ttnn, name)(*given)


def special(draw, pool, a):
    if draw.random() < 0.4:
        name = draw.choice(sorted(OF_PYTORCH_BESIDE))
        return getattr(ttnn, name)(ttnn.add(ttnn.abs(a), 0.5), OF_PYTORCH_BESIDE[name])
    return getattr(ttnn, draw.choice(OF_PYTORCH))(ttnn.clamp(a, -0.9, 0.9))


def tiled(a):
    """In tiles, off the cores, whose pieces are none."""
    return ttnn.to_layout(ttnn.to_memory_config(a, ttnn.DRAM_MEMORY_CONFIG), ttnn.TILE_LAYOUT)


def images(draw, pool, a):
    """Convolved backwards or along one dimension, pooled to a size, or sampled."""
    b, (rows, channels) = a.shape[1], a.shape[2:]
    flat = ttnn.to_layout(ttnn.typecast(a, ttnn.bfloat16), ttnn.ROW_MAJOR_LAYOUT)
    flat = ttnn.reshape(flat, [1, 1, b * rows, channels])
    sizes = {"batch_size": b, "input_h": rows // 4, "input_w": 4, "channels": channels}
    kind = draw.choice(["adaptive", "adaptive", "transposed", "bilinear"])
    if kind == "adaptive":
        form = draw.choice([ttnn.adaptive_avg_pool2d, ttnn.adaptive_max_pool2d])
        return tiled(form(flat, *sizes.values(), [4, 2]))
    if kind == "bilinear":
        found = ttnn.upsample(ttnn.reshape(flat, [b, rows // 4, 4, channels]), 2, mode="bilinear")
        return tiled(ttnn.reshape(found, [1, b, rows * 4, channels]))
    weights = np.random.default_rng(draw.randrange(99)).normal(size=(channels, 32, 2, 2)).astype(np.float32)
    return ttnn.conv_transpose2d(
        input_tensor=flat, weight_tensor=ttnn.from_torch(weights, dtype=ttnn.bfloat16), device=a.device(),
        in_channels=channels, out_channels=32, batch_size=b, input_height=rows // 4, input_width=4,
        kernel_size=(2, 2), stride=(2, 2), padding=(0, 0),
    )  # fmt: skip


MORE = [
    *(function, with_numbers, beside_numbers, pair, triple, in_place, whole, picked, parts, heads, decoded),
    *(layers, layers, asynchronous, asynchronous, asynchronous, borders, products, noise),
]
MORE_OF_PYTORCH = [gradients, gradients, special, images]
