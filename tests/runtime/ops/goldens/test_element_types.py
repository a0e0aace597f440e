"""The element types of golden functions: as the reference library 0.81.1 has them for torch tensors of each type."""

from __future__ import annotations

from typing import Any

import pytest

from tt_run.runtime import catalog
from tt_run.runtime.tools.golden import get_golden_function

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("name", "operands", "others"),
    [
        ("mish", 1, ()),
        ("softcap", 1, (2.0,)),
        ("clamped_silu_glu", 2, (1.5,)),
        ("rms_norm", 1, ()),
        ("scale_mask_softmax", 1, (0.5,)),
        ("scale_mask_softmax_in_place", 1, ()),
        ("scale_causal_mask_hw_dims_softmax_in_place", 1, ()),
    ],
)
def test_some_widen_bfloat16(name: str, operands: int, others: tuple[Any, ...]) -> None:
    golden = get_golden_function(catalog.every()[f"ttnn.{name}"])
    values = [torch.linspace(-2, 3, 12).reshape(3, 4) / (n + 1) for n in range(operands)]
    narrow = [value.bfloat16() for value in values]
    result = golden(*narrow, *others)
    assert result.dtype is torch.float32
    assert torch.equal(result, golden(*(value.float() for value in narrow), *others))
    wide = golden(*(value.double() for value in values), *others)
    assert wide.dtype is torch.float64


@pytest.mark.parametrize("name", ["gelu", "silu", "exp", "softmax", "multiply"])
def test_most_keep_their_operands_type(name: str) -> None:
    golden = get_golden_function(catalog.every()[f"ttnn.{name}"])
    x = torch.ones(2, 3, dtype=torch.bfloat16)
    others = {"softmax": (-1,), "multiply": (x,)}.get(name, ())
    assert golden(x, *others).dtype is torch.bfloat16
