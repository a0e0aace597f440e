"""The operations of tables against their golden functions in float64: a row here for each row there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import check
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, U32, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.events import PACKAGE
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.halves import HALVES as GATED
from tt_run.runtime.ops.elementwise.pairs import PAIRS, TRIPLES, WHOLE
from tt_run.runtime.ops.elementwise.parametric import PARAMETRIC
from tt_run.runtime.tools.golden import get_golden_function
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam

SHAPE = (2, 3, 33, 8)
ONE, TWO, THREE = [SHAPE], [SHAPE, SHAPE], [SHAPE, SHAPE, SHAPE]
HALVES = [(2, 1, 32, 64)]

# Name -> shapes of the operands, smallest and largest element, other arguments by position, and by name.
CASES: dict[str, list[tuple[list[tuple[int, ...]], float, float, tuple[Any, ...], dict[str, Any]]]] = {
    "hardmish": [(ONE, -4, 4, (), {})],
    "sigmoid_accurate": [(ONE, -4, 4, (), {})],
    "logit": [(ONE, 0.01, 0.99, (), {}), (ONE, -1, 2, (), {"eps": 0.1}), (ONE, 0, 1, (), {"eps": 0.7})],
    "xielu": [(ONE, -4, 4, (), {}), (ONE, -4, 4, (), {"alpha_p": 0.5, "alpha_n": 1.5})],
    "softcap": [(ONE, -40, 40, (30.0,), {})],
    "heaviside": [(ONE, -2, 2, (0.5,), {})],
    "threshold": [(ONE, -2, 2, (0.5, -7.0), {})],
    "relu_max": [(ONE, -2, 9, (6.0,), {})],
    "relu_min": [(ONE, -2, 9, (1.5,), {})],
    "rdiv": [(ONE, 0.5, 4, (3.0,), {}), (ONE, 0.5, 4, (7.0,), {"rounding_mode": "floor"})],
    "rpow": [(ONE, -2, 3, (2.5,), {})],
    "fill": [(ONE, -2, 3, (2.5,), {})],
    "polyval": [(ONE, -2, 2, ([1.0, -2.0, 0.5],), {})],
    "addalpha": [(TWO, -2, 2, (0.5,), {}), ([SHAPE, (1, 1, 33, 1)], -2, 2, (3.0,), {})],
    "subalpha": [(TWO, -2, 2, (0.5,), {})],
    "isclose": [(TWO, -1, 1, (), {"atol": 0.5}), (TWO, -1, 1, (), {"rtol": 0.8})],
    "div_no_nan": [(TWO, -2, 2, (), {}), (ONE, -2, 2, (), {"value": 0.0}), (ONE, -2, 2, (2.0,), {})],
    "clamped_silu_glu": [(TWO, -9, 9, (5.0,), {})],
    "situ_glu": [(TWO, -9, 9, (4.0, 25.0), {})],
    "mac": [(THREE, -2, 2, (), {}), (TWO, -2, 2, (0.5,), {}), (ONE, -2, 2, (2.0, 0.5), {})],
    "snake_beta": [([SHAPE, (8,), (8,)], 0.5, 2, (), {})],
    "outer": [([(5,), (7,)], -2, 2, (), {}), ([(2, 5), (2, 7)], -2, 2, (), {})],
    "glu": [(HALVES, -4, 4, (), {}), (HALVES, -4, 4, (3,), {})],
    "reglu": [(HALVES, -4, 4, (), {})],
    "swiglu": [(HALVES, -4, 4, (), {})],
    "geglu": [(HALVES, -4, 4, (), {})],
}  # fmt: skip
INTEGERS = {"bitwise_not", "unary_chain"}


def test_every_row_has_a_case():
    assert {*PARAMETRIC, *PAIRS, *TRIPLES, *WHOLE, *GATED} == {*CASES} | INTEGERS


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("name", sorted(CASES))
def test_values(one: MeshDevice, name: str, dtype: DataType):
    for number, (shapes, low, high, arguments, keywords) in enumerate(CASES[name]):
        operands = [np.random.default_rng([number, i]).uniform(low, high, s) for i, s in enumerate(shapes)]
        check(one, name, operands, *arguments, dtype=dtype, **keywords)


@pytest.mark.torch
def test_bits_of_integers(one: MeshDevice):
    x = np.array([[0, 1, -1, 2**31 - 1, -(2**31)]], np.int32)
    check(one, "bitwise_not", [x], dtype=I32, layout=ROW)


def test_a_chain_of_functions(one: MeshDevice):
    chain = catalog.find("ttnn.unary_chain")
    assert chain is not None
    x = np.array([[-1.0, 4.0, 9.0]], np.float32)
    steps = [
        UnaryWithParam(UnaryOpType.RELU),
        UnaryWithParam(UnaryOpType.SQRT),
        UnaryWithParam(UnaryOpType.POWER, 3.0),
    ]
    assert held(chain(put(one, x), steps)).tolist() == [[0, 8, 27]]


def step(op_type: UnaryOpType, *types: DataType) -> UnaryWithParam:
    return UnaryWithParam(op_type, *(float(dtype.value) for dtype in types))


@pytest.mark.torch
def test_a_chain_into_other_types(one: MeshDevice):
    chain = catalog.find("ttnn.unary_chain")
    assert chain is not None
    x = np.array([[-1.0, 4.5, 1.0 + 2.0**-9]], np.float32)
    over = [
        UnaryWithParam(UnaryOpType.RELU),
        step(UnaryOpType.TYPECAST, BF16, I32),
        UnaryWithParam(UnaryOpType.NEG),
    ]
    found = chain(put(one, x, BF16), over)
    assert (found.dtype, held(found).tolist()) == (BF16, [[0, -4, -1]])
    found = chain(put(one, x, BF16), over[:2])
    assert (found.dtype, held(found).tolist()) == (I32, [[0, 4, 1]])
    bits = np.array([[0x3F80_0001, 0x4000_0000]], np.uint32)
    again = [step(UnaryOpType.BITCAST, U32, F32)]
    with pytest.raises(
        RuntimeError, match=r"BITCAST cannot share a chain with other ops \(chain has 2 ops\)"
    ):
        chain(put(one, bits, U32), [*again, UnaryWithParam(UnaryOpType.NEG)])
    found = chain(put(one, bits, U32), again)
    assert (found.dtype, held(found).tolist()) == (F32, bits.view(np.float32).tolist())
    torch = pytest.importorskip("torch")
    golden = get_golden_function(chain)
    assert golden(torch.from_numpy(x), over).tolist() == [[0, -4, -1]]
    assert golden(torch.from_numpy(bits.view(np.int32)), again).tolist() == held(found).tolist()


def test_steps_between_types_of_other_sizes(one: MeshDevice):
    chain = catalog.find("ttnn.unary_chain")
    assert chain is not None
    with pytest.raises(RuntimeError, match="not types of the same size"):
        chain(put(one, np.ones((1, 4)), BF16), [step(UnaryOpType.BITCAST, BF16, F32)])
    with pytest.raises(RuntimeError, match="TYPECAST takes the values of two data types"):
        chain(put(one, np.ones((1, 4)), BF16), [step(UnaryOpType.TYPECAST, F32)])


@pytest.mark.torch
def test_the_next_value_of_a_type(one: MeshDevice):
    x, y = np.array([[1.0, 1.0, 0.0, -3.0]]), np.array([[2.0, 0.0, 1.0, -3.0]])
    for dtype in (F32, BF16):
        torch = pytest.importorskip("torch")
        kind = torch.float32 if dtype is F32 else torch.bfloat16
        nextafter = catalog.find("ttnn.nextafter")
        assert nextafter is not None
        wanted = torch.nextafter(torch.tensor(x).to(kind), torch.tensor(y).to(kind)).float().numpy()
        assert held(nextafter(put(one, x, dtype), put(one, y, dtype))).tolist() == wanted.tolist()


def test_slopes_by_channel(one: MeshDevice):
    prelu = catalog.find("ttnn.prelu")
    assert prelu is not None
    x = np.random.default_rng(0).uniform(-2, 2, (2, 3, 4, 5)).astype(np.float32)
    w = np.array([0.5, 0.25, 2.0], np.float32)
    wanted = np.where(x > 0, x, w.reshape(1, 3, 1, 1) * x)
    assert held(prelu(put(one, x), put(one, w))).tolist() == wanted.tolist()
    for other in ([0.5, 0.25, 2.0], put(one, w[:2])):
        with pytest.raises(RuntimeError, match=r"list of one weight|numbers = 2 and channel size = 3"):
            prelu(put(one, x), other)
    assert held(prelu(put(one, x), [0.5])).tolist() == held(prelu(put(one, x), 0.5)).tolist()
    assert held(prelu(put(one, x), 0.5)).tolist() == np.where(x > 0, x, np.float32(0.5) * x).tolist()


# Functions that are fused into other operations: parameters, and what becomes of 0.25 and 2.
FUSED: dict[str, tuple[list[float], list[float]]] = {
    "RDIV": ([2.0, 0.0], [8, 1]),
    "RPOW": ([4.0], [2**0.5, 16]),
    "HEAVISIDE": ([3.0], [1, 1]),
    "THRESHOLD": ([1.0, -5.0], [-5, 2]),
    "MAXIMUM": ([1.0], [1, 2]),
    "MINIMUM": ([1.0], [0.25, 1]),
    "REMAINDER": ([0.75], [0.25, 0.5]),
    "FILL": ([3.0], [3, 3]),
    "WHERE_TSS": ([1.0, 2.0], [1, 1]),
    "MAC_TSS": ([2.0, 3.0], [3.5, 7]),
    "UNARY_GT": ([1.0], [0, 1]),
    "UNARY_NE": ([2.0], [1, 0]),
    "LGAMMA": ([], [1.2880225, 0.0]),
    "DIGAMMA": ([], [-4.2274534, 0.42278433]),
    "I0": ([], [1.0156861, 2.2795853]),
    "POLYGAMMA": ([1.0], [17.197329, 0.64493406]),
    "HARDMISH": ([], [0.25, 2]),
}


@pytest.mark.parametrize("name", sorted(FUSED))
def test_fused_functions(one: MeshDevice, name: str):
    parameters, wanted = FUSED[name]
    add = catalog.find("ttnn.add")
    assert add is not None
    step = UnaryWithParam(UnaryOpType[name], parameters)
    found = held(add(put(one, [[0.0, 1.0]]), put(one, [[0.25, 1.0]]), activations=[step])).tolist()[0]
    assert found == pytest.approx(wanted, rel=1e-5, abs=2e-6)


def test_what_a_row_refuses_is_told_at_the_line_of_the_program(one: MeshDevice):
    """The function that has the row's signature is made, not read from a file, and is no part of the program all the same."""
    polyval = catalog.find("ttnn.polyval")
    assert polyval is not None
    with pytest.raises(RuntimeError, match="coeffs is empty") as refused:
        polyval(put(one, np.ones((32, 32)), F32), [])
    files = [entry.frame.code.raw.co_filename for entry in refused.traceback]
    assert [file for file in files if not file.startswith(PACKAGE)] == [__file__]
