"""What norms refuse, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.normalisation.test_norms import sample
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.products.test_program_checks import BLOCK, HEIGHT, WIDTH, cut, zeros
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, CoreGrid
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.blocks import LayerNormDefaultProgramConfig, LayerNormShardedMultiCoreProgramConfig

X = (1, 1, 64, 64)
COLUMNS, BLOCKS, ROWS = cut(WIDTH, (1, 0), 64, 32), cut(BLOCK, (1, 1), 32, 32), cut(HEIGHT, (1, 0), 32, 64)


def program(grid: tuple[int, int], subblock: int, high: int, wide: int, inplace: bool = False) -> Any:
    return LayerNormShardedMultiCoreProgramConfig(
        compute_with_storage_grid_size=grid, subblock_w=subblock, block_h=high, block_w=wide, inplace=inplace
    )


@pytest.mark.parametrize(
    ("memory", "words", "config", "asked"),
    [
        (COLUMNS, "std::get: wrong index for variant", LayerNormDefaultProgramConfig(), None),
        (COLUMNS, "shard_spec.grid size 2x1 does not fit within program_config grid 1x1", program((1, 1), 1, 2, 1), None),
        (COLUMNS, "block_h (1) must equal ceil(Mt / num_cores_r) (2); Mt=2, num_cores_r=1", program((2, 1), 1, 1, 1), None),
        (COLUMNS, "block_w (2) must equal to K (in tiles) / num_cores (1)", program((2, 1), 1, 2, 2), None),
        (COLUMNS, "block_w must be divisible by subblock_w.", program((2, 1), 2, 2, 1), None),
        (COLUMNS, "subblock_w must be greater than 0.", program((2, 1), 0, 2, 1), None),
        (BLOCKS, "block_w (2) must equal to K (in tiles) / num_cores_c (1)", program((2, 2), 1, 1, 2), None),
        (cut(BLOCK, (1, 1), 32, 32, turned=True), "block_w (2) must equal to K (in tiles) / num_cores_r (1)", program((2, 2), 1, 1, 2), None),
        (cut(WIDTH, (3, 0), 64, 32), "Shard-padded width (4x32 = 128) does not align with tensor width 64: trailing pad 64 must be less than "
            "one shard width (32)", program((4, 1), 1, 2, 1), None),
        (cut(BLOCK, (3, 1), 32, 32), "Shard layout requires 2x2 = 4 shards but shard grid has 8 cores", program((4, 2), 1, 1, 1), None),
        (None, "bad optional access", program((2, 1), 1, 2, 1), None),
        (None, "Output memory config must be sharded for inplace operation", program((2, 1), 1, 2, 1, True), None),
        (None, "Input and output buffer types must match, got input: BufferType::DRAM vs output: BufferType::L1", program((2, 1), 1, 2, 1), L1_MEMORY_CONFIG),
    ],
)  # fmt: skip
def test_programs(one: MeshDevice, memory: Any, words: str, config: object, asked: Any):
    with pytest.raises(RuntimeError) as caught:
        ops.rms_norm(zeros(one, X, memory), program_config=config, memory_config=asked)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "config", [program((2, 1), 1, 2, 1), program((4, 1), 1, 2, 1), program((2, 1), 1, 2, 1, True)]
)
def test_programs_that_fit(one: MeshDevice, config: object):
    found = ops.rms_norm(zeros(one, X, COLUMNS), program_config=config)
    assert found.memory_config() == COLUMNS


@pytest.mark.parametrize("kind", [WIDTH, BLOCK])
def test_the_last_piece_of_a_row_may_be_shorter(one: MeshDevice, kind: Any):
    x = put(one, sample(BF16, 1, 1, 64, 96), BF16)
    place = cut(kind, (1, 0), 64, 64)
    found = ops.rms_norm(ops.to_memory_config(x, place), program_config=program((2, 1), 1, 2, 2))
    assert found.memory_config() == place
    assert (held(found) == held(ops.rms_norm(x))).all()


def rows(one: MeshDevice, *shape: int, layout: Layout = ROW) -> Tensor:
    return put(one, sample(BF16, *shape), BF16, layout)


@pytest.mark.parametrize(
    ("shape", "layout", "words"),
    [
        ((1, 1, 1, 64), ROW, "Gamma's last padded dim needs to equal tile width and gamma's volume needs to align"),
        ((1, 1, 1, 32), ROW, "Gamma's last padded dim needs to equal tile width"),
        ((1, 32), TILE, "Input and gamma padded widths must match and gamma logical width must be >= input logical width"),
        ((64, 1), TILE, "Input and gamma padded widths must match"),
        ((1, 1, 64, 64), TILE, "Gamma tensor height must equal tile height (32), got: 64"),
    ],
)  # fmt: skip
def test_weights(one: MeshDevice, shape: tuple[int, ...], layout: Layout, words: str):
    with pytest.raises(RuntimeError) as caught:
        ops.layer_norm(zeros(one, X), weight=rows(one, *shape, layout=layout))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "layout", "words"),
    [
        ((1, 96), ROW, "Beta tensor dimensions must align with input tensor. Got beta padded shape: 96, physical volume: 96, input padded"),
        ((1, 32), TILE, "otherwise valid input columns would be offset by beta padding"),
    ],
)  # fmt: skip
def test_biases(one: MeshDevice, shape: tuple[int, ...], layout: Layout, words: str):
    with pytest.raises(RuntimeError) as caught:
        ops.rms_norm(zeros(one, X), bias=rows(one, *shape, layout=layout))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("width", "shape", "layout", "words"),
    [
        (64, (24,), TILE, "Input and gamma last logical and padded dims must match, got input: logical[-1]=64 padded[-1]=64"),
        (40, (50,), TILE, "vs gamma: logical[-1]=50 padded[-1]=64"),
        (64, (96,), ROW, "Gamma tensor dimensions must align with input tensor. Got gamma padded shape: 96, physical volume: 96"),
    ],
)  # fmt: skip
def test_weights_after_statistics(
    one: MeshDevice, width: int, shape: tuple[int, ...], layout: Layout, words: str
):
    x, statistics = (put(one, sample(BF16, 1, 1, 32, n), BF16) for n in (width, 32))
    with pytest.raises(RuntimeError) as caught:
        ops.rms_norm_post_all_gather(x, statistics, weight=rows(one, *shape, layout=layout))
    assert words in str(caught.value)


def test_a_weight_may_be_longer_than_a_row_within_its_tile(one: MeshDevice):
    x, weight = put(one, sample(F32, 2, 64, 5), F32), sample(F32, 1, 32, seed=1)
    found = ops.rms_norm(x, weight=put(one, weight, F32))
    wanted = ops.rms_norm(x, weight=put(one, weight[:, :5].copy(), F32))
    assert found.shards.data.tobytes() == wanted.shards.data.tobytes()


def test_of_weights_of_several_tiles_the_first_row_counts(one: MeshDevice):
    x, weight = put(one, sample(F32, 2, 64, 32), F32), sample(F32, 5, 1, 4, 32, seed=1)
    found = ops.rms_norm(x, weight=put(one, weight, F32))
    wanted = ops.rms_norm(x, weight=put(one, weight[0, 0, :1].copy(), F32))
    assert found.shards.data.tobytes() == wanted.shards.data.tobytes()


def test_rows_that_are_tilized_on_the_way(one: MeshDevice):
    values = sample(BF16, 3, 4, 32)
    fused = named("experimental.dit_rms_norm_unary_fused")
    found = fused(put(one, values, BF16, ROW))
    assert found.layout is ROW
    assert held(found).tolist() == held(fused(put(one, values, BF16))).tolist()
    softmax = named("scale_mask_softmax")(put(one, values, BF16, ROW))
    assert softmax.layout is TILE
    assert held(softmax).tolist() == held(named("scale_mask_softmax")(put(one, values, BF16))).tolist()


def test_residuals_and_rows(one: MeshDevice):
    x = zeros(one, X, COLUMNS)
    with pytest.raises(RuntimeError, match="residual tensor b should be sharded if input a is sharded"):
        ops.rms_norm(x, residual_input_tensor=zeros(one, X))
    with pytest.raises(RuntimeError, match="Both a and b should have the same memory config"):
        ops.rms_norm(x, residual_input_tensor=zeros(one, X, BLOCKS))
    with pytest.raises(RuntimeError, match="Residual tensor must have TILE layout"):
        ops.rms_norm(zeros(one, X), residual_input_tensor=rows(one, *X))
    with pytest.raises(RuntimeError, match="Gamma and beta must have the same layout!"):
        ops.layer_norm(zeros(one, X), weight=rows(one, 1, 64, layout=TILE), bias=rows(one, 2, 32))
    with pytest.raises(
        RuntimeError, match=r"ROW_MAJOR input requires W \(50\) to be a multiple of tile width"
    ):
        ops.layer_norm(rows(one, 1, 1, 64, 50))


def images(one: MeshDevice, memory: Any = None, layout: Layout = ROW, shape: Any = X) -> Tensor:
    return from_torch(sample(BF16, *shape), BF16, layout=layout, device=one, memory_config=memory)


@pytest.mark.parametrize(
    ("given", "others", "words"),
    [
        ({"layout": TILE}, {"inplace": True}, "In-place operation not supported: Tile layout requires non-inplace tensors."),
        ({}, {"inplace": True}, "inplace groupnorm not supported for unsharded tensors"),
        ({}, {"inplace": True, "output_layout": TILE}, "In-place operation not allowed: Input and output tensor layouts differ. (input_layout=Layout::ROW_MAJOR, output_layout=Layout::TILE)"),
        ({"memory": COLUMNS}, {}, "Unsupported memory layout: Input tensor cannot be width-sharded."),
        ({}, {"dtype": DataType.FLOAT32}, "group_norm output dtype must match input dtype (DataType::BFLOAT16), got dtype=DataType::FLOAT32"),
        ({"memory": ROWS}, {"core_grid": CoreGrid(x=1, y=1)}, "shard_spec.grid size 2x1 does not fit within program_config grid 1x1"),
        ({"memory": ROWS}, {}, "Only L1 buffers can have an associated circular buffer!"),
        ({"memory": ROWS}, {"memory_config": L1_MEMORY_CONFIG}, "Cannot set circular buffer size"),
        ({"shape": (64, 64)}, {}, "Input tensor must have rank 4. (rank=2)"),
        ({"shape": (1, 2, 64, 64)}, {}, "input tensor shape[1] must be 1!"),
    ],
)  # fmt: skip
def test_group_norms(one: MeshDevice, given: dict[str, Any], others: dict[str, Any], words: str):
    with pytest.raises(RuntimeError) as caught:
        ops.group_norm(images(one, **given), num_groups=2, **{"inplace": False, **others})
    assert words in str(caught.value)


def test_parameters_of_group_norms(one: MeshDevice):
    for word, name in (("weight", "Gamma"), ("bias", "Beta")):
        with pytest.raises(RuntimeError, match=f"{name} tensor must have ROW_MAJOR layout"):
            ops.group_norm(
                images(one), num_groups=2, inplace=False, **{word: rows(one, 1, 1, 1, 64, layout=TILE)}
            )
        with pytest.raises(
            RuntimeError, match=rf"{name} tensor inner dimension must equal tile width \(32\), got: 64"
        ):
            ops.group_norm(images(one), num_groups=2, inplace=False, **{word: rows(one, 1, 1, 1, 64)})
    with pytest.raises(RuntimeError, match="Gamma and beta must have the same layout"):
        ops.group_norm(
            images(one), num_groups=2, inplace=False, weight=rows(one, 1, 1, 2, 32), bias=rows(one, 1, 1, 1, 64, layout=TILE)
        )  # fmt: skip


def test_a_norm_in_place_stays_where_it_is(one: MeshDevice):
    found = ops.group_norm(images(one, ROWS), num_groups=2, memory_config=DRAM_MEMORY_CONFIG)
    assert found.memory_config() == ROWS


@pytest.mark.parametrize(
    ("shape", "dtypes", "words"),
    [
        ((1, 4, 1, 1), {"running_mean": BF16, "running_var": BF16, "weight": F32}, "batch_norm: weight dtype (DataType::FLOAT32) must match other parameter tensors dtype (DataType::BFLOAT16)"),
        ((1, 4, 1, 1), {"weight": DataType.BFLOAT8_B}, "batch_norm only supports bfloat16, float32. Got: DataType::BFLOAT8_B"),
        ((4,), {"weight": BF16}, "batch_norm supports tensors of rank 4"),
        ((1, 1, 1, 4), {"weight": BF16}, "weight_shape[1] must be the same as input's channel size."),
    ],
)  # fmt: skip
def test_batch_norms(one: MeshDevice, shape: tuple[int, ...], dtypes: dict[str, DataType], words: str):
    batch_norm: Any = catalog.find("ttnn.batch_norm")
    given = {name: put(one, sample(BF16, *shape), dtype) for name, dtype in dtypes.items()}
    with pytest.raises(RuntimeError) as caught:
        batch_norm(put(one, sample(BF16, 1, 4, 32, 40), BF16), training=True, **given)
    assert words in str(caught.value)
    with pytest.raises(RuntimeError, match="Input tensor must be interleaved"):
        batch_norm(zeros(one, (1, 4, 32, 64), cut(HEIGHT, (3, 0), 32, 64)), training=True)
