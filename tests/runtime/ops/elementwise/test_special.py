"""Special functions against PyTorch in float64."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.golden import check
from tests.runtime.ops.tensors import BF16, F32, I32, held, message, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.special import SPECIAL

# Name -> smallest and largest argument, and the other arguments.
CASES: dict[str, tuple[float, float, tuple[int, ...]]] = {
    "digamma": (0.1, 20, ()),
    "lgamma": (0.1, 20, ()),
    "erfinv": (-0.99, 0.99, ()),
    "i0": (-5, 5, ()),
    "i1": (-5, 5, ()),
    "multigammaln": (1.6, 20, ()),
    "polygamma": (0.5, 10, (2,)),
}


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("name", sorted(CASES))
def test_values(one: MeshDevice, name: str, dtype: DataType):
    low, high, arguments = CASES[name]
    x = np.random.default_rng(0).uniform(low, high, (2, 33, 7))
    check(one, name, [x], *arguments, dtype=dtype)


@pytest.mark.torch
def test_each_device_by_itself(mesh: MeshDevice):
    pytest.importorskip("torch")
    digamma = catalog.find("ttnn.digamma")
    assert digamma is not None
    x = np.random.default_rng(0).uniform(0.1, 9, (8, 5, 13)).astype(np.float32)
    cut = digamma(put(mesh, x, shard=0))
    for device in range(8):
        alone = digamma(put(mesh, x[device : device + 1]))
        assert held(cut, device).tobytes() == held(alone).tobytes()


@pytest.mark.torch
def test_integers_are_refused(one: MeshDevice):
    with pytest.raises(RuntimeError) as error:
        SPECIAL["lgamma"](put(one, [[1, 2]], I32))
    assert (
        message(error.value)
        == "Unary: UnaryOpType::LGAMMA does not support integer input dtype DataType::INT32"
    )
