"""Softmax, norms and embedding against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, TILE, U32, held, near, put, rounded
from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.lookup import EmbeddingsType
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tuning.blocks import (
    LayerNormDefaultProgramConfig,
    LayerNormShardedMultiCoreProgramConfig,
    SoftmaxDefaultProgramConfig,
)
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.values.shards import Shards

DTYPES = [F32, BF16, BFP8]


def sample(dtype: DataType, *shape: int, seed: int = 3) -> np.ndarray:
    return rounded(np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 3, dtype)


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normal(x: np.ndarray, epsilon: float, centre: bool) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True) if centre else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_softmax(one: MeshDevice, dim: int, dtype: DataType):
    x = sample(dtype, 3, 33, 40)
    near(
        ops.softmax(put(one, x, dtype), dim),
        rounded(softmax(x.astype(float), dim).astype(np.float32), dtype),
        steps=4,
    )


def test_softmax_extremes(one: MeshDevice):
    x = np.array([[1e4, 1e4 - 1, -np.inf], [-np.inf] * 3], np.float32)
    found = held(ops.softmax(put(one, x)))
    np.testing.assert_allclose(found[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 0], rtol=1e-6)
    assert np.isnan(found[1]).all()  # as in the golden function


@pytest.mark.parametrize(("shape", "dim"), [((2, 3, 5, 7), -1), ((3, 5, 7), -2)])
def test_rows_that_softmax_tilizes_on_the_way(one: MeshDevice, shape: tuple[int, ...], dim: int):
    x = sample(F32, *shape)
    found = ops.softmax(put(one, x, layout=ROW), dim)
    assert found.layout is TILE
    near(found, softmax(x.astype(float), dim), steps=4)
    with pytest.raises(RuntimeError, match="must be tilized"):
        ops.softmax(put(one, x, layout=ROW), 0)


@pytest.mark.parametrize("dim", [-1, 0])
def test_softmax_as_written_warns_where_a_device_gives_zeros(one: MeshDevice, dim: int):
    """The values of the golden function, which knows the stable form alone; at the program's line it says that a device's are others."""
    x = np.array([[1000, 1001, 0], [-300, -301, -302], [1, 2, 3], [-np.inf] * 3], np.float32)
    x = x if dim == -1 else x.T
    with pytest.warns(
        RuntimeWarning, match=r"(?s)in 2 rows, whose largest scores reach 1001; a device gives zeros.*help"
    ) as heard:
        found = ops.softmax(put(one, x), dim, numeric_stable=False)
    assert heard[0].filename == __file__
    near(found, held(ops.softmax(put(one, x), dim)), steps=4)
    harmless = put(one, np.clip(x, -80, 80))
    near(ops.softmax(harmless, dim, numeric_stable=False), held(ops.softmax(harmless, dim)), steps=8)


def test_masked_softmax_as_written_warns_too(one: MeshDevice):
    scores, mask = np.full((1, 1, 32, 32), 100, np.float32), np.zeros((1, 1, 32, 32), np.float32)
    mask[..., 16:] = -np.inf
    for call in (ops.scale_mask_softmax, ops.scale_mask_softmax_in_place):
        with pytest.warns(RuntimeWarning, match="in 32 rows, whose largest scores reach 200"):
            found = held(call(put(one, scores), 2.0, put(one, mask), numeric_stable=False))
        assert (found[..., :16] == 1 / 16).all() and not found[..., 16:].any()
    with pytest.warns(RuntimeWarning, match="in 32 rows"):
        ops.softmax_in_place(put(one, scores), numeric_stable=False)


def test_default_programs_are_taken(one: MeshDevice):
    x = sample(F32, 2, 3, 8, 7)
    found = ops.softmax_in_place(put(one, x), program_config=SoftmaxDefaultProgramConfig())
    near(found, softmax(x.astype(float)), steps=4)
    near(
        ops.layer_norm(put(one, x), program_config=LayerNormDefaultProgramConfig()),
        held(ops.layer_norm(put(one, x))),
        steps=0,
    )


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("in_place", [True, False])
def test_a_mask_of_heads_one_below_the_other(one: MeshDevice, causal: bool, in_place: bool):
    x, mask = sample(F32, 2, 3, 8, 7), sample(F32, 2, 1, 4, 7)
    given = np.concatenate([mask, mask], axis=2) if causal else mask[:, :, :1]
    operation = ops.scale_mask_softmax_in_place if in_place else ops.scale_mask_softmax
    found = operation(put(one, x), 0.3, put(one, mask), is_causal_mask=causal)
    near(found, softmax(x.astype(float) * 0.3 + given), steps=4)


def test_masks_are_the_same_for_all_heads(one: MeshDevice):
    x = put(one, sample(F32, 2, 3, 32, 64))
    words = (
        (ops.scale_mask_softmax, "Mask intermediate dimension 1 must be 1, got: {}"),
        (
            ops.scale_mask_softmax_in_place,
            "Non-sharded mask intermediate dimensions must be 1, got {} at dimension 1",
        ),
    )
    for call, sentence in words:
        for shape, length in (((2, 3, 32, 64), 3), ((2, 32, 64), 32), ((2, 64), 64)):
            with pytest.raises(RuntimeError, match=sentence.format(length)):
                call(x, 0.5, put(one, np.zeros(shape, np.float32)))
    with pytest.raises(RuntimeError, match="batch sizes must match, got input: 2 vs mask: 32"):
        ops.scale_mask_softmax(x, 0.5, put(one, np.zeros((32, 64), np.float32)))
    low = put(one, sample(F32, 4, 32, 64))
    mask = put(one, sample(F32, 1, 1, 1, 64, seed=5))
    near(
        ops.scale_mask_softmax_in_place(low, 0.5, mask),
        softmax(sample(F32, 4, 32, 64).astype(float) * 0.5 + held(mask)[0]),
        steps=4,
    )


def test_a_mask_in_rows_is_cut_to_the_width_of_tiles(one: MeshDevice):
    x, mask = sample(F32, 2, 3, 32, 64), sample(F32, 2, 1, 2, 32, seed=4)
    t = put(one, x)
    found = ops.scale_mask_softmax_in_place(t, 0.5, put(one, mask, layout=ROW))
    near(found, softmax(x.astype(float) * 0.5 + mask.reshape(2, 1, 1, 64)), steps=4)
    with pytest.raises(RuntimeError, match="Non-sharded mask shape must match expected shape"):
        ops.scale_mask_softmax_in_place(t, 0.5, put(one, np.zeros((2, 1, 1, 64), np.float32), layout=ROW))


def test_masked_softmax(one: MeshDevice):
    x, mask = (
        sample(F32, 2, 3, 5, 7),
        np.where(np.random.default_rng(0).random((2, 1, 5, 7)) < 0.4, -np.inf, 0.0),
    )
    mask[..., 0] = 0  # a row that is masked whole has no number
    wanted = softmax(x.astype(float) * 0.3 + mask)
    near(ops.scale_mask_softmax(put(one, x), 0.3, put(one, mask)), wanted, steps=4)
    near(ops.scale_mask_softmax(put(one, x)), softmax(x.astype(float)), steps=4)
    for call in (ops.scale_mask_softmax, ops.scale_mask_softmax_in_place):
        with pytest.raises(RuntimeError, match="Scale value must not be set when mask is not present"):
            call(put(one, x), 0.3)
    t = put(one, x)
    found = ops.scale_mask_softmax_in_place(t, 0.3, put(one, mask))
    assert found.buffer_address() == t.buffer_address()
    near(t, wanted, steps=4)
    u = put(one, x)
    near(ops.softmax_in_place(u), softmax(x.astype(float)), steps=4)
    near(
        getattr(ops, "transformer.attention_softmax")(
            put(one, x), head_size=16, attention_mask=put(one, mask)
        ),
        softmax(x / 4 + mask),
        steps=4,
    )
    near(
        getattr(ops, "transformer.attention_softmax")(put(one, x), head_size=None),
        softmax(x.astype(float)),
        steps=4,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_norms(one: MeshDevice, name: str, dtype: DataType):
    centre = name == "layer_norm"
    operation = getattr(ops, name)
    for shape in ((1, 1, 33, 64), (5, 30)):
        width = shape[-1]
        x, r = sample(dtype, *shape), sample(dtype, *shape, seed=4)
        w, b = sample(dtype, 1, width, seed=5), sample(dtype, width, seed=6)
        t, tr, tw, tb = (put(one, v, dtype) for v in (x, r, w, b))
        plain = normal(x.astype(float), 1e-5, centre)
        near(operation(t, epsilon=1e-5), rounded(plain.astype(np.float32), dtype), steps=8)
        near(
            operation(t, epsilon=1e-5, weight=tw, bias=tb),
            rounded((plain * w + b).astype(np.float32), dtype),
            steps=8,
        )
        added = normal(x.astype(float) + r, 1e-12, centre)
        near(
            operation(t, residual_input_tensor=tr, bias=tb),
            rounded((added + b).astype(np.float32), dtype),
            steps=8,
        )


def test_norms_take_weights_in_tile_rows(one: MeshDevice):
    x, w = sample(F32, 4, 64), sample(F32, 2, 32, seed=1)
    near(
        ops.rms_norm(put(one, x), weight=put(one, w, F32, ROW)),
        normal(x.astype(float), 1e-12, False) * w.reshape(-1),
        steps=8,
    )
    with pytest.raises(RuntimeError, match="Input and gamma padded widths must match"):
        ops.rms_norm(put(one, x), weight=put(one, w[:1]))
    with pytest.raises(RuntimeError, match="residual logical and padded shapes"):
        ops.layer_norm(put(one, x), residual_input_tensor=put(one, w))


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_distributed_norms(mesh: MeshDevice, name: str):
    """Statistics per shard, gathered as all_gather does, give the norm of the whole."""
    x, w, b = sample(F32, 1, 1, 32, 8 * 24), sample(F32, 1, 8 * 24, seed=1), sample(F32, 1, 8 * 24, seed=2)
    t, tw, tb = put(mesh, x, shard=3), put(mesh, w, shard=1), put(mesh, b, shard=1)
    exact = {"compute_kernel_config": WormholeComputeKernelConfig(fp32_dest_acc_en=True)}
    stats = getattr(ops, f"{name}_pre_all_gather")(t, dtype=F32, **exact)
    assert stats.shape == (1, 1, 32, 64 if name == "layer_norm" else 32)
    gathered = np.concatenate([held(stats, d) for d in range(8)], axis=-1)
    everywhere = stats.derive(Shards.replicated(gathered, 8))
    y = getattr(ops, f"{name}_post_all_gather")(t, everywhere, epsilon=1e-5, weight=tw, bias=tb, **exact)
    whole = normal(x.astype(float), 1e-5, name == "layer_norm") * w + b
    for device in range(8):
        np.testing.assert_allclose(
            held(y, device), whole[..., device * 24 : device * 24 + 24], rtol=1e-4, atol=1e-4
        )
    assert getattr(ops, f"{name}_pre_all_gather")(t, **exact).dtype is BF16
    with pytest.raises(RuntimeError, match="columns for each device"):
        getattr(ops, f"{name}_post_all_gather")(t, t, **exact)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_statistics_of_shards_over_cores_are_means(one: MeshDevice, name: str):
    """That of the elements before that of their squares, and a residual is added to the tensor itself (tests of reference library 0.81.1)."""
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
    memory = MemoryConfig(
        TensorMemoryLayout.WIDTH_SHARDED,
        BufferType.L1,
        ShardSpec(grid, (32, 32), ShardOrientation.ROW_MAJOR),
    )
    x, more = (sample(F32, 1, 1, 32, 64, seed=seed) for seed in (0, 1))
    t, residual = (ops.to_memory_config(put(one, each), memory) for each in (x, more))
    before = getattr(ops, f"{name}_pre_all_gather")
    exact = {"compute_kernel_config": WormholeComputeKernelConfig(fp32_dest_acc_en=True)}
    grid = {"compute_with_storage_grid_size": (2, 1), "subblock_w": 1, "block_h": 1, "block_w": 1}
    words = exact | {"program_config": LayerNormShardedMultiCoreProgramConfig(**grid, inplace=False)}
    with pytest.raises(RuntimeError, match="a tensor that is cut over cores needs a program for them"):
        before(t, **exact)
    stats = held(before(t, dtype=F32, residual_input_tensor=residual, **words))
    total = (x + more).astype(float)
    assert np.array_equal(held(t), x + more)
    means = [total.mean(-1), (total**2).mean(-1)][-stats.shape[-1] // 32 :]
    np.testing.assert_allclose(stats[..., ::32], np.stack(means, axis=-1), rtol=1e-5, atol=1e-6)
    post, tiles = getattr(ops, f"{name}_post_all_gather"), stats.shape[-1] // 32
    with pytest.raises(RuntimeError, match="Stats must be sharded"):
        post(t, put(one, stats), epsilon=1e-5, **words)
    first = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))])
    spec = ShardSpec(first, (32, 32 * tiles), ShardOrientation.ROW_MAJOR)
    alone = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, spec)
    assert before(t, **words).memory_config() == alone
    y = post(t, ops.to_memory_config(put(one, stats), alone), epsilon=1e-5, **words)
    np.testing.assert_allclose(held(y), normal(total, 1e-5, name == "layer_norm"), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("float32_too")
def test_a_distributed_norm_by_heads(one: MeshDevice):
    """Statistics, norm, split into heads and rotation, against each step in NumPy."""
    x, w = sample(F32, 1, 1, 32, 128), sample(F32, 1, 128, seed=1)
    cos, sin, turn = (sample(F32, 1, 1, rows, wide, seed=2) for rows, wide in ((32, 64), (32, 64), (32, 32)))
    pre, post = (getattr(ops, f"experimental.wan_fused_rmsnorm_{step}_allgather") for step in ("pre", "post"))
    t, tw = put(one, x), put(one, w)
    stats = pre(t, dtype=F32)
    heads = (normal(x.astype(float), 1e-5, False) * w).reshape(32, 2, 64).transpose(1, 0, 2)[None]
    near(post(t, stats, num_heads_per_device=2, weight=tw), heads, steps=16)
    rotation = dict(
        zip(
            ("rope_cos", "rope_sin", "transformation_mat"),
            (put(one, v) for v in (cos, sin, turn)),
            strict=True,
        )
    )
    turned = np.concatenate([heads[..., :32] @ turn[0, 0], heads[..., 32:] @ turn[0, 0]], -1)
    near(post(t, stats, num_heads_per_device=2, weight=tw, **rotation), heads * cos + turned * sin, steps=64)
    with pytest.raises(RuntimeError, match="in 3 heads"):
        post(t, stats, num_heads_per_device=3)
    with pytest.raises(RuntimeError, match="go together"):
        post(t, stats, rope_cos=rotation["rope_cos"])


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_group_norm(one: MeshDevice, dtype: DataType):
    x = sample(dtype, 2, 1, 20, 96)
    w, b = sample(dtype, 1, 1, 1, 96, seed=1), sample(dtype, 1, 1, 1, 96, seed=2)
    groups = x.astype(float).reshape(2, 20, 3, 32)
    mean, var = groups.mean((1, 3), keepdims=True), groups.var((1, 3), keepdims=True)
    wanted = ((groups - mean) / np.sqrt(var + 1e-5)).reshape(x.shape) * w + b
    rows = [put(one, p.reshape(1, 1, 3, 32), dtype, ROW) for p in (w, b)]
    found = ops.group_norm(
        put(one, x, dtype), num_groups=3, epsilon=1e-5, weight=rows[0], bias=rows[1], inplace=False
    )
    near(found, rounded(wanted.astype(np.float32), dtype), steps=8)
    with pytest.raises(RuntimeError, match="must be divisible by the number of groups"):
        ops.group_norm(put(one, x, dtype), num_groups=5)


@pytest.mark.parametrize(
    ("shape", "place", "words", "message"),
    [
        ((1, 1, 64, 64), None, {}, "Tile layout requires non-inplace tensors"),
        ((2, 4, 16, 32), None, {"inplace": False}, r"input tensor shape\[1\] must be 1!"),
        ((2, 1, 100, 64), ROW, {"inplace": False}, r"product of NHW dimensions \(200\) must be divisible"),
        ((1, 1, 64, 64), ROW, {}, "inplace groupnorm not supported for unsharded tensors"),
        ((1, 1, 64, 64), (TensorMemoryLayout.WIDTH_SHARDED, (64, 32)), {}, "cannot be width-sharded"),
        ((1, 1, 64, 64), (TensorMemoryLayout.BLOCK_SHARDED, (64, 32)), {"num_groups": 1}, r"per_core_N \(32\) must be divisible"),
    ],
)  # fmt: skip
def test_images_that_groups_do_not_take(
    one: MeshDevice, shape: tuple[int, ...], place: Any, words: dict[str, Any], message: str
):
    tensor = put(one, np.ones(shape), BF16, TILE if place is None else ROW)
    if isinstance(place, tuple):
        grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
        spec = ShardSpec(grid, place[1], ShardOrientation.ROW_MAJOR)
        tensor = ops.to_memory_config(tensor, MemoryConfig(place[0], BufferType.L1, spec))
    with pytest.raises(RuntimeError, match=message):
        ops.group_norm(tensor, **({"num_groups": 2} | words))


@pytest.mark.parametrize(
    ("step", "shape", "place", "words", "message"),
    [
        ("pre", (1, 64, 64), None, {}, "index out of range. 3 not in"),
        ("post", (64, 64), None, {}, "index out of range. 3 not in"),
        ("post", (1, 1, 64, 64), (TensorMemoryLayout.HEIGHT_SHARDED, (32, 64)), {}, "Height sharded inputs are not supported"),
        ("post", (1, 1, 64, 64), (TensorMemoryLayout.WIDTH_SHARDED, (64, 32)), {"cut_too": True}, "needs a program for them"),
        ("post", (1, 1, 64, 64), (TensorMemoryLayout.WIDTH_SHARDED, (64, 32)), {"memory_config": DRAM_MEMORY_CONFIG, "cut_too": True}, "Sharded inputs require"),
        ("pre", (1, 1, 64, 64), (TensorMemoryLayout.HEIGHT_SHARDED, (32, 64)), {}, "Shard width 64 must match physical width 32"),
        ("post", (1, 1, 64, 64), None, {"memory_config": L1_HEIGHT_SHARDED_MEMORY_CONFIG}, "bad optional access"),
    ],
)  # fmt: skip
def test_places_of_distributed_norms_are_refused(
    one: MeshDevice, step: str, shape: tuple[int, ...], place: Any, words: dict[str, Any], message: str
):
    tensor = put(one, np.ones(shape), BF16)
    if place is not None:
        grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
        spec = ShardSpec(grid, place[1], ShardOrientation.ROW_MAJOR)
        tensor = ops.to_memory_config(tensor, MemoryConfig(place[0], BufferType.L1, spec))
    stats = () if step == "pre" else (put(one, np.ones((*shape[:-1], 32)), BF16),)
    if words.get("cut_too"):
        first = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))])
        spec = ShardSpec(first, (64, 32), ShardOrientation.ROW_MAJOR)
        place = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, spec)
        stats = (ops.to_memory_config(stats[0], place),)
    words = {name: value for name, value in words.items() if name != "cut_too"}
    with pytest.raises(RuntimeError, match=message):
        getattr(ops, f"rms_norm_{step}_all_gather")(tensor, *stats, **words)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_weights_in_rows_are_as_wide_as_a_tile(one: MeshDevice, name: str):
    x, w = sample(F32, 1, 1, 32, 64), sample(BF16, 64, seed=1)
    with pytest.raises(RuntimeError, match="Gamma's last padded dim needs to equal tile width"):
        getattr(ops, name)(put(one, x), weight=put(one, w, BF16, ROW))
    found = getattr(ops, name)(put(one, x), epsilon=1e-5, weight=put(one, w.reshape(1, 1, 2, 32), BF16, ROW))
    near(found, normal(x.astype(float), 1e-5, name == "layer_norm") * w, steps=16)


def test_embedding(one: MeshDevice):
    table, ids = sample(BF16, 32, 64), np.array([[1, 31, 0, 7, 7, 2, 3, 4]], np.uint32)
    found = ops.embedding(put(one, ids, U32, ROW), put(one, table, BF16, ROW))
    assert (found.shape, found.dtype, found.layout) == ((1, 8, 64), BF16, ROW)
    assert np.array_equal(held(found), table[ids.astype(int)])
    assert (
        ops.embedding(put(one, ids, U32, ROW), put(one, table, BF16), layout=TILE, dtype=F32).layout is TILE
    )
    four = put(one, table.reshape(1, 1, 32, 64), BF16, ROW)
    assert np.array_equal(held(ops.embedding(put(one, ids, U32, ROW), four)), table[ids.astype(int)])
    line = ops.embedding(put(one, ids.reshape(1, 1, 1, 8), U32, ROW), put(one, table, BF16))
    assert (line.shape, line.layout) == ((1, 8, 64), TILE)
    with pytest.raises(RuntimeError, match="must be 1"):
        ops.embedding(put(one, ids.reshape(1, 2, 4), U32, ROW), four)
    with pytest.raises(RuntimeError, match="id 40 is outside of the table of 32 rows"):
        ops.embedding(put(one, [[40]], U32, ROW), four)


def test_ids_on_cores_are_refused(one: MeshDevice):
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 1))])
    spec = ShardSpec(cores, (4, 8), ShardOrientation.ROW_MAJOR)
    place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)
    ids = ops.to_memory_config(put(one, np.zeros((8, 8)), U32, ROW), place)
    with pytest.raises(RuntimeError, match="Embedding does not currently support sharded inputs"):
        ops.embedding(ids, put(one, np.zeros((32, 64)), BF16, ROW), memory_config=DRAM_MEMORY_CONFIG)


def test_kinds_of_tables(one: MeshDevice):
    """A padded table names its padding, a binary one has two rows; rows that are cut over cores are cut by rows."""
    ids, table = put(one, np.zeros((1, 32)), U32, ROW), put(one, np.zeros((64, 64)), BF16, ROW)
    place = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1)
    for words, message in (
        ({"embeddings_type": EmbeddingsType.PADDED}, "Pad token must be specified"),
        ({"embeddings_type": EmbeddingsType.BINARY}, "must have 2 embeddings"),
        ({"memory_config": place}, "only supports height sharded Row Major outputs"),
    ):
        with pytest.raises(RuntimeError, match=message):
            ops.embedding(ids, table, **words)


def test_embedding_of_sharded_ids_and_tables(mesh: MeshDevice):
    table = sample(BF16, 16, 8 * 4)
    ids = np.arange(16, dtype=np.uint32).reshape(8, 2)
    by_ids = ops.embedding(put(mesh, ids, U32, ROW, shard=0), put(mesh, table, BF16, ROW))
    by_width = ops.embedding(put(mesh, ids, U32, ROW), put(mesh, table, BF16, ROW, shard=1))
    for device in range(8):
        assert np.array_equal(held(by_ids, device), table[ids[device : device + 1].astype(int)])
        assert np.array_equal(
            held(by_width, device), table[ids.astype(int)][..., device * 4 : device * 4 + 4]
        )


def test_tables_and_results_of_embedding(one: MeshDevice):
    ids = put(one, np.arange(4, dtype=np.uint32).reshape(1, 4), U32, ROW)
    with pytest.raises(RuntimeError, match="Weights tensor must have BFLOAT16 dtype"):
        ops.embedding(ids, put(one, sample(F32, 8, 32), F32, ROW))
    table = put(one, sample(BF16, 8, 32), BF16, ROW)
    with pytest.raises(RuntimeError, match="Can only typecast output embeddings when producing TILE_LAYOUT"):
        ops.embedding(ids, table, dtype=BFP8)
    assert ops.embedding(ids, table, dtype=BFP8, layout=TILE).dtype is BFP8


@pytest.mark.parametrize("into", ["add", "add_", "copy", "assign", "typecast", "slice_write"])
def test_what_is_written_into_is_distributed_as_it_says_with_what_is_written(mesh: MeshDevice, into: str):
    """A shard wins over a copy, in either direction; what is replaced as a whole lies as its source does."""
    layout = TILE if into.startswith("add") else ROW
    for theirs, ours in ((0, None), (None, 0), (None, None)):
        source, target = (
            put(mesh, np.ones((8 if dim == 0 else 1, 32)), F32, layout, shard=dim) for dim in (theirs, ours)
        )
        calls = {
            "add": lambda a=source, b=target: ops.add(a, a, output_tensor=b),
            "add_": lambda a=source, b=target: ops.add_(b, a),
            "copy": lambda a=source, b=target: ops.copy(a, b),
            "assign": lambda a=source, b=target: ops.assign(a, b),
            "typecast": lambda a=source, b=target: ops.typecast(a, F32, output_tensor=b),
            "slice_write": lambda a=source, b=target: getattr(ops, "experimental.slice_write")(
                a, b, [0, 0], [1, 32], [1, 1]
            ),
        }
        whole = into in ("copy", "assign", "typecast")
        wanted = (source if whole or ours is None else target).tensor_topology()
        written = calls[into]()
        assert written.tensor_topology() == target.tensor_topology() == wanted


@pytest.mark.parametrize("name", ["softmax", "scale_mask_softmax", "layer_norm", "rms_norm"])
def test_integers_are_refused(one: MeshDevice, name: str):
    with pytest.raises(
        RuntimeError, match="Input tensor must be FLOAT32, BFLOAT16, or BFLOAT8_B, got: DataType::INT32"
    ):
        getattr(ops, name)(put(one, np.ones((2, 3)), DataType.INT32))
    with pytest.raises(RuntimeError, match="groupnorm works on floating-point tensors"):
        ops.group_norm(put(one, np.ones((1, 1, 2, 4)), DataType.INT32), num_groups=2)


def test_weights_in_a_tile_of_their_own(one: MeshDevice):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1, 1, 43, 64)).astype(np.float32)
    tile = rng.uniform(0.5, 1, (1, 32, 64)).astype(np.float32)
    row = put(one, tile[:, :1])
    for norm in (ops.rms_norm, ops.layer_norm):
        assert (
            held(norm(put(one, x), weight=put(one, tile))).tolist()
            == held(norm(put(one, x), weight=row)).tolist()
        )


@pytest.mark.parametrize(
    ("tiles", "words"),
    [
        ({"x": (16, 32)}, "LayerNorm TILE input requires tile shape 32x32, got: 16x32"),
        (
            {"residual_input_tensor": (16, 32)},
            "Input and residual tile shapes must match, got input: 32x32 vs residual: 16x32",
        ),
        ({"weight": (32, 16)}, "Input and gamma tile shapes must match"),
        ({"bias": (16, 32)}, "Input and beta tile shapes must match"),
    ],
)
def test_tiles_that_a_layer_norm_does_not_take(one: MeshDevice, tiles: dict[str, Any], words: str):
    x, *rest = (
        from_torch(
            np.ones((32, 64) if word in ("x", "residual_input_tensor") else 64, np.float32),
            dtype=BF16,
            layout=TILE,
            tile=Tile(tiles.get(word, (32, 32))),
            device=one,
        )
        for word in dict.fromkeys(["x", *tiles])
    )
    with pytest.raises(RuntimeError, match=words):
        ops.layer_norm(x, **dict(zip([w for w in tiles if w != "x"], rest, strict=True)))


def in_blocks(one: MeshDevice, x: np.ndarray, layout: Any = TILE) -> Any:
    """Blocks of 32 x 64 on two cores, one above the other."""
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 1))])
    spec = ShardSpec(cores, [32, 64], ShardOrientation.ROW_MAJOR)
    place = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, spec)
    return ops.to_memory_config(put(one, x, BF16, layout), place)


@pytest.mark.parametrize("norm", [ops.layer_norm, ops.rms_norm])
@pytest.mark.parametrize("inplace", [True, False])
def test_a_norm_in_place_is_its_operand(one: MeshDevice, norm: Any, inplace: bool):
    x = sample(BF16, 1, 1, 64, 64)
    tensor = in_blocks(one, x)
    program = LayerNormShardedMultiCoreProgramConfig(
        compute_with_storage_grid_size=(1, 2), subblock_w=2, block_h=1, block_w=2, inplace=inplace
    )
    found = norm(tensor, program_config=program)
    assert held(tensor).tolist() == (held(found).tolist() if inplace else x.tolist())
    ops.deallocate(found)
    assert tensor.is_allocated() is not inplace


@pytest.mark.parametrize("words", [{}, {"inplace": True}, {"inplace": False}])
def test_a_group_norm_of_blocks_is_its_operand_unless_told_otherwise(one: MeshDevice, words: Any):
    x = sample(BF16, 1, 1, 64, 64)
    tensor = in_blocks(one, x, ROW)
    if words.get("inplace") is False:
        words = {**words, "memory_config": tensor.memory_config()}
    found = ops.group_norm(tensor, num_groups=2, core_grid=CoreGrid(y=2, x=1), **words)
    assert held(tensor).tolist() == (x.tolist() if "memory_config" in words else held(found).tolist())
    assert held(found).tolist() != x.tolist()


def test_statistics_that_leave_no_variance(one: MeshDevice) -> None:
    stats = np.zeros((1, 1, 3, 64), np.float32)
    stats[..., 0], stats[..., 32] = (
        [64.0, 16.0, 15.0],
        32.0,
    )  # sums of squares and of 64 elements whose mean is 0.5
    x = np.ones((1, 1, 3, 64), np.float32)
    given = put(one, x, BF16), put(one, stats, BF16)
    wide, narrow = (held(ops.layer_norm_post_all_gather(*given, epsilon=e))[0, 0, :, 0] for e in (0.25, 1e-3))
    assert wide[:2].tolist() == [0.5, 1.0]
    assert np.isnan(narrow).tolist() == [False, False, True]
