"""Integers in operations of real numbers: taken where a device takes them, with results of its types and the golden functions' values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U8, U16, U32, held, put
from tests.runtime.ops.value_cases import CALLS
from tests.sweep import sweep
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.whole_numbers import TAKEN

pytestmark = pytest.mark.torch
OPERANDS = {"i": I32, "u": U32, "h": U16, "b": U8, "f": BF16}
RESULTS = {**OPERANDS, "F": F32}


def op(name: str) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found


def results(found: Any) -> list[DataType]:
    return [t.dtype for t in (found if isinstance(found, (list, tuple)) else [found]) if t is not None]


FORMS = sorted(name for name in set(TAKEN) & set(CALLS) if any(not call.shapes for call in CALLS[name]))


@pytest.mark.parametrize("name", sweep(FORMS, quick=FORMS[::6]))
def test_every_form_gives_the_types_it_names(one: MeshDevice, name: str):
    calls = [call for call in CALLS[name] if not call.shapes]
    for letters, (made, tiles) in TAKEN[name].items():
        call = next(call for call in calls if call.operands == len(letters))
        for layout in (TILE,) if tiles or "f" in letters else (TILE, ROW):
            given = [put(one, np.full((1, 2, 3, 5), 2), OPERANDS[letter], layout) for letter in letters]
            found = op(name)(*given, *call.arguments, **call.keywords)
            assert results(found) == [RESULTS[letter] for letter in made], letters
            if tiles and layout is TILE and "f" not in letters:
                rows = [put(one, np.full((1, 2, 3, 5), 2), OPERANDS[letter], ROW) for letter in letters]
                with pytest.raises(RuntimeError, match=r"integer input dtype|non-sharded input tensor|TILE"):
                    op(name)(*rows, *call.arguments, **call.keywords)


GRADIENT, X, Y = [[3, -5, 7]], [[4, -2, 0]], [[5, 3, 2]]


@pytest.mark.parametrize(
    ("name", "operands", "rest", "wanted"),
    [
        ("add_bw", (GRADIENT, X, Y), (), [GRADIENT, GRADIENT]),
        ("subalpha_bw", (GRADIENT, X, Y), (2.0,), [GRADIENT, [[-6, 10, -14]]]),
        ("rsub_bw", (GRADIENT, X, Y), (), [[[-3, 5, -7]], GRADIENT]),
        ("relu_bw", (GRADIENT, X), (), [[[3, 0, 0]]]),
        ("clamp_bw", (GRADIENT, X), (-2.0, 1.0), [[[0, -5, 7]]]),
        ("square_bw", (GRADIENT, X), (), [[[24, 20, 0]]]),
        ("floor_bw", (GRADIENT, X), (), [[[0, 0, 0]]]),
        ("frac_bw", (GRADIENT, X), (), [GRADIENT]),
        ("neg_bw", (GRADIENT, X), (), [[[-3, 5, -7]]]),
        ("div_bw", (GRADIENT, X), (2.0,), [[[1, -2, 3]]]),
        ("where_bw", (GRADIENT, X, X, Y), (), [[[3, -5, 0]], [[0, 0, 7]]]),
        ("addcmul_bw", (GRADIENT, X, X, Y), (1.0,), [GRADIENT, [[15, -15, 14]], [[12, 10, 0]]]),
        ("squared_difference_bw", (GRADIENT, X, Y), (), [[[-6, 50, -28]], [[6, -50, 28]]]),
        ("l1_loss", (X, Y), (), [[[1, 5, 2]]]),
        ("mse_loss", (X, Y), (), [[[1, 25, 4]]]),
        ("div_no_nan", (X, Y), (), [[[4 / 5, -2 / 3, 0]]]),
        ("polyval", (X,), ([1.0, -2.0, 0.5],), [[[8.5, 8.5, 0.5]]]),
        ("isclose", (X, Y), (), [[[0, 0, 0]]]),
        ("lerp_bw", (GRADIENT, X, Y), (0.25,), [[[2.25, -3.75, 5.25]], [[0.75, -1.25, 1.75]]]),
    ],
)
def test_values(one: MeshDevice, name: str, operands: Any, rest: Any, wanted: Any):
    found = op(name)(*(put(one, values, I32) for values in operands), *rest)
    found = found if isinstance(found, (list, tuple)) else [found]
    assert len(found) == len(wanted)
    for each, values in zip(found, wanted, strict=True):
        assert np.allclose(held(each), values, rtol=1e-6), name


def test_integers_beyond_float32_stay_what_they_are(one: MeshDevice):
    large = [[2**31 - 1, -(2**31), 2**24 + 1]]
    gradient = put(one, large, I32)
    assert held(op("frac_bw")(gradient, put(one, X, I32))[0]).tolist() == large
    wide = put(one, [[2**32 - 1, 2**24 + 1, 0]], U32)
    assert held(op("frac_bw")(wide, wide)[0]).tolist() == [[2**32 - 1, 2**24 + 1, 0]]


def test_what_no_form_names_is_refused_with_the_cast(one: MeshDevice):
    x = put(one, X, I32)
    with pytest.raises(
        RuntimeError, match=r"(?s)ttnn.typecast.*MUL_BW requires floating-point the grad_output tensor"
    ):
        op("mul_bw")(x, x, x)
    with pytest.raises(RuntimeError, match="Addcdiv TTT does not support INT32 inputs"):
        op("addcdiv")(x, x, x)
    with pytest.raises(RuntimeError, match="requires all input tensors to have the same dtype"):
        op("addcmul")(x, x, put(one, X, BF16))
    with pytest.raises(RuntimeError, match="l1_loss"):
        op("l1_loss")(x, put(one, X, BF16))
