"""What tensors borrow from the operations layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import Layout
from tt_run.runtime.tensor import operators
from tt_run.runtime.tensor.borders.arrays import from_torch

TENSOR: Any = from_torch(np.arange(4, dtype=np.float32))


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "_installed", {})


def test_operators_call_what_is_installed() -> None:
    operators.install(
        {name: lambda a, b, name=name: (name, b) for name in ("add", "radd", "sub", "rsub", "mul", "rmul")}
    )
    operators.install(
        {name: lambda a, b, name=name: (name, b) for name in ("truediv", "rtruediv", "matmul", "pow")}
    )
    operators.install(
        {name: lambda a, b, name=name: (name, b) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
    )
    t = TENSOR
    assert [t + 1, 1 + t, t - 1, 1 - t, t * 2, 2 * t] == [
        ("add", 1), ("radd", 1), ("sub", 1), ("rsub", 1), ("mul", 2), ("rmul", 2),
    ]  # fmt: skip
    assert [t / 2, 2 / t, t @ 3, t**2] == [("truediv", 2), ("rtruediv", 2), ("matmul", 3), ("pow", 2)]
    assert [t == 1, t != 1, t < 1, t <= 1, t > 1, t >= 1] == [
        (n, 1) for n in ("eq", "ne", "lt", "le", "gt", "ge")
    ]


def test_without_operations_python_words_the_error() -> None:
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        TENSOR + 1
    with pytest.raises(TypeError, match=r"bad operand type for unary -: 'ttnn\._ttnn\.tensor\.Tensor'"):
        _ = -TENSOR
    assert (TENSOR == 1) is False


def test_methods_may_be_replaced_by_recorded_ones() -> None:
    assert TENSOR[1].item() == 1
    assert TENSOR.reshape(2, 2).shape == [2, 2]
    seen: list[Any] = []
    operators.install(
        {
            name: lambda *a, name=name: seen.append((name, a[1:]))
            for name in ("getitem", "reshape", "to_layout")
        }
    )
    TENSOR[1]
    TENSOR.reshape(2, 2)
    TENSOR.to(Layout.TILE)
    assert seen == [("getitem", (1,)), ("reshape", ((2, 2),)), ("to_layout", (Layout.TILE,))]
