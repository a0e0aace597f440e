"""`ttnn.comparison` and `ttnn.config_serialization`: answers recorded from the reference library 0.81.1."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, held, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tools import config_dicts, tolerances
from tt_run.runtime.tools.reflection import pop_argument
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.tuning.blocks import LayerNormDefaultProgramConfig
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.tuning.matmul import MatmulMultiCoreReuseMultiCast1DProgramConfig

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("golden", "calculated", "found"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 2, 3, 4], [1, 2.01, 3, 4], 0.9999929),
        ([1, 2, 3, 4], [-1, -2, -3, -4], -1.0),
        ([1, 2, 3], [1, 2, INF], -0.5),
        ([1, 2, NAN], [1, 2, NAN], 1.0),
        ([1, 2], [NAN, NAN], 0.0),
        ([NAN, NAN], [NAN, NAN], 1.0),
        ([1, 1, 1], [1.0001, 1.0001, 1.0001], 1.0),
        ([5], [6], 0.0),
        ([1, 2, 3], [1, 1, 1], 0.0),
    ],
)
def test_correlation(golden, calculated, found):
    passed, pcc = tolerances.comp_pcc(torch.tensor(golden).float(), torch.tensor(calculated).float())
    assert (passed, pcc) == (found >= 0.99, pytest.approx(found, abs=1e-6))


def test_units_of_least_precision(one: MeshDevice):
    x = torch.tensor([0.0, 1.0, -3.0, 65000.0, INF, NAN])
    for dtype, wanted in (
        (torch.float32, [1.4013e-45, 1.1921e-07, 2.3842e-07, 3.9062e-03]),
        (torch.bfloat16, [9.1835e-41, 7.8125e-03, 1.5625e-02, 256.0]),
        (torch.float16, [5.9605e-08, 9.7656e-04, 1.9531e-03, 32.0]),
    ):
        unit = tolerances.ulp(x.to(dtype))
        assert unit.dtype is dtype
        assert unit[:4].double().tolist() == pytest.approx(wanted, rel=1e-4)
        assert unit[4:].isnan().all()
    most = torch.tensor(torch.finfo(torch.float32).max)
    assert float(tolerances.ulp(most)) == pytest.approx(2.0282e31, rel=1e-4)
    assert held(tolerances.ulp(put(one, np.float32([1, 3]), BF16))).tolist() == [0.0078125, 0.015625]
    with pytest.raises(RuntimeError, match="has no units of least precision"):
        tolerances.ulp(torch.tensor([1, 2]))


def test_distance_in_units():
    golden = torch.tensor([1.0, 2.0, 3.0, 4.0]).bfloat16()
    near = (golden.float() + 0.02).bfloat16()
    words = "Max ULP Delta: 3.0 @ [0] = |calculated 1.0234375 - golden 1.0| / ULP(golden) 0.0078125"
    assert tolerances.comp_ulp(golden, near, 1) == (torch.tensor(False), words)
    assert tolerances.comp_ulp(golden, near, 4) == (torch.tensor(True), "Max ULP Delta: 3.0")
    square = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert "@ [1, 1] =" in tolerances.comp_ulp(square, square + torch.tensor([[0, 0], [0, 0.5]]), 1)[1]
    infinite, apart = torch.tensor([INF, 1.0]), "Tensors are not finite at the same positions"
    assert tolerances.comp_ulp(infinite, infinite, 1)[1] == "Calculated tensor contains non-finite values"
    assert tolerances.comp_ulp(infinite, infinite, 1, True)[1] == "Max ULP Delta: 0.0"
    assert tolerances.comp_ulp(infinite, -infinite, 1, True) == (False, apart)
    with pytest.raises(RuntimeError, match=r"must match|mismatch"):
        tolerances.comp_ulp(golden, golden[:2], 1)


def test_configurations_as_dictionaries():
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))])
    memory = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(cores, [32, 64], ShardOrientation.ROW_MAJOR)
    )  # fmt: skip
    found = config_dicts.memory_config_to_dict(memory)
    assert (found["memory_layout"], found["buffer_type"]) == (
        "TensorMemoryLayout.HEIGHT_SHARDED",
        "BufferType.L1",
    )
    assert (found["is_sharded"], found["interleaved"], found["hash"]) == (True, False, hash(memory))
    assert found["shard_spec"].startswith('ShardSpec{grid=[{"start":{"x":0,"y":0}')
    compute = config_dicts.compute_kernel_config_to_dict(WormholeComputeKernelConfig(fp32_dest_acc_en=True))
    assert (compute["math_approx_mode"], compute["fp32_dest_acc_en"]) == ("True", True)
    program = MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=(8, 4), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=2,
        fuse_batch=True, fused_activation=UnaryWithParam(UnaryOpType.GELU), mcast_in0=True,
    )  # fmt: skip
    settings = config_dicts.program_config_to_dict(program)
    assert settings["compute_with_storage_grid_size"] == {"x": 8, "y": 4}
    assert (settings["hop_cores"], settings["per_core_N"]) == ([], 2)
    assert settings["fused_activation"] == {"op_type": 2, "param": []}
    assert list(settings)[-1] == "type" and json.loads(json.dumps(settings)) == settings
    other = LayerNormDefaultProgramConfig()
    assert config_dicts.program_config_to_dict(other) == {
        "type": "LayerNormDefaultProgramConfig", "repr": repr(other)
    }  # fmt: skip


def test_an_argument_is_taken_by_position_or_by_name():
    assert pop_argument("x", (1, 2), {"x": 3}) == (1, [2], {"x": 3})
    assert pop_argument("x", (), {"x": 3, "y": 1}) == (3, [], {"y": 1})
    with pytest.raises(ValueError, match="Missing argument: x"):
        pop_argument("x", (), {"y": 1})
