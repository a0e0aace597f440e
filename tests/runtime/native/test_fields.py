"""Attributes of configuration objects: what they take, become and refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from tt_run.runtime.enums import DataType, MathFidelity, ShardOrientation
from tt_run.runtime.tensor.spec.memory_config import NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.spec.topology import PlacementShard
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.tuning.blocks import SDPAProgramConfig
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.tuning.conv import Conv2dConfig
from tt_run.runtime.tuning.delta_rule import ChunkGdnFusedProgramConfig
from tt_run.runtime.tuning.multicast import McastConfig

GRID = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))])

SPEC = ShardSpec(GRID, [32, 64], ShardOrientation.ROW_MAJOR)


def attention(**changes: Any) -> SDPAProgramConfig:
    given = {"compute_with_storage_grid_size": (8, 8), "q_chunk_size": 32, "k_chunk_size": 64}
    return SDPAProgramConfig(**{**given, **changes})


@pytest.mark.parametrize(
    ("owner", "name", "value", "becomes"),
    [
        (attention(), "compute_with_storage_grid_size", (4, 2), CoreCoord(4, 2)),
        (attention(), "exp_approx_mode", None, None),
        (Conv2dConfig(), "weights_dtype", 0, DataType.BFLOAT16),
        (SPEC, "shape", (64, 64), [64, 64]),
        (SPEC, "shape", np.array([64, 64]), [64, 64]),
        (SPEC, "shape", Shape([64, 64]), [64, 64]),
        (SPEC, "shape", [np.int64(64), True], [64, 1]),
        (Conv2dConfig(), "act_block_h_override", np.int32(64), 64),
        (NdShardSpec([1, 32, 32], GRID), "shard_shape", [2, np.int64(32), 32], Shape([2, 32, 32])),
        (ChunkGdnFusedProgramConfig(), "pool_extra_share", 1, 1.0),
    ],
)
def test_an_attribute_becomes_what_is_set(owner: Any, name: str, value: Any, becomes: Any) -> None:
    setattr(owner, name, value)
    found = getattr(owner, name)
    assert found == becomes and type(found) is type(becomes)
    if isinstance(found, list):
        assert {type(each) for each in found} == {int}


def test_whole_numbers_of_numpy_make_tiles_and_placements() -> None:
    tile = Tile([np.int64(16), 32])
    assert tile.tile_shape == [16, 32] and repr(tile) == "Tile with shape: [16, 32]"
    assert repr(PlacementShard(np.int64(-1))) == "PlacementShard(-1)"


def test_a_function_becomes_an_activation() -> None:
    config = Conv2dConfig(activation=UnaryOpType.RELU)
    assert isinstance(config.activation, UnaryWithParam)
    assert repr(UnaryWithParam((UnaryOpType.LEAKY_RELU, 0.5))) == repr(
        UnaryWithParam(UnaryOpType.LEAKY_RELU, 0.5)
    )


@pytest.mark.parametrize(
    ("owner", "name", "value", "kind"),
    [
        (attention(), "q_chunk_size", "32", "int"),
        (attention(), "q_chunk_size", -1, "int"),
        (attention(), "compute_with_storage_grid_size", CoreGrid(x=8, y=8), "ttnn._ttnn.tensor.CoreCoord"),
        (WormholeComputeKernelConfig(), "fp32_dest_acc_en", 1, "bool"),
        (WormholeComputeKernelConfig(), "math_fidelity", "HiFi4", "ttnn._ttnn.tensor.MathFidelity"),
        (McastConfig(), "handshake", None, "bool"),
    ],
)
def test_another_kind_of_value_is_refused(owner: Any, name: str, value: Any, kind: str) -> None:
    with pytest.raises(TypeError) as refused:
        setattr(owner, name, value)
    assert str(refused.value).startswith(
        "(): incompatible function arguments. The following argument types are supported:\n"
        f"    1. (self, arg: {kind}, /) -> None\n\nInvoked with types: {owner._bound_name}, "
    )


def test_a_constructor_lists_its_signature_for_a_wrong_kind() -> None:
    with pytest.raises(TypeError, match=r"^__init__\(\): incompatible function arguments"):
        attention(k_chunk_size="64")
    with pytest.raises(TypeError, match=r"1\. __init__\(self, \*, math_fidelity"):
        WormholeComputeKernelConfig(math_fidelity=4.0)  # type: ignore[arg-type]
    assert WormholeComputeKernelConfig(math_fidelity=MathFidelity.HiFi2).math_fidelity is MathFidelity.HiFi2


def test_a_misspelt_attribute_is_refused() -> None:
    with pytest.raises(AttributeError, match="object has no attribute 'q_chunksize'") as refused:
        attention().q_chunksize = 64  # type: ignore[attr-defined]
    assert refused.value.name == "q_chunksize"
