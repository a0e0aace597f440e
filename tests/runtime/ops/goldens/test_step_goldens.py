"""Golden functions of gradient descent, of clipping and of `bcast`: the values of the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import pytest

from tt_run.runtime import catalog
from tt_run.runtime.ops.elementwise.bcast import BcastOpDim, BcastOpMath, bcast
from tt_run.runtime.ops.elementwise.unary import GeluVariant
from tt_run.runtime.ops.goldens import common
from tt_run.runtime.ops.moreh.steps import moreh_clip_grad_norm, moreh_sgd
from tt_run.runtime.tools.golden import get_golden_function

torch = pytest.importorskip("torch")


def test_sgd_gives_the_parameter_and_its_momentum() -> None:
    golden = get_golden_function(moreh_sgd)
    p, g, m = torch.ones(2), torch.full((2,), 0.5), torch.ones(2)
    moved, none = golden(p, g, lr=0.1)
    assert none is None and torch.allclose(moved, torch.full((2,), 0.95))
    _, started = golden(p, g, m, lr=0.1, momentum=0.9)
    assert torch.equal(started, g)
    moved, kept = golden(
        p,
        g,
        m,
        lr=0.1,
        momentum=0.9,
        dampening=0.3,
        weight_decay=0.2,
        nesterov=True,
        momentum_initialized=True,
    )
    assert torch.allclose(kept, torch.full((2,), 1.39))
    assert torch.allclose(moved, torch.full((2,), 0.8049))


def test_clipping_gives_the_joint_norm_and_leaves_the_gradients() -> None:
    golden = get_golden_function(moreh_clip_grad_norm)
    gradients = [torch.ones(2), torch.full((3,), -2.0)]
    assert torch.allclose(golden(gradients, 1.0), torch.tensor([[14.0**0.5]]))
    assert torch.equal(golden(gradients, 1.0, float("inf")), torch.tensor([[2.0]]))
    assert torch.equal(gradients[0], torch.ones(2))
    with pytest.raises(RuntimeError, match="non-finite"):
        golden([torch.tensor([float("inf")])], 1.0, 2.0, True)


@pytest.mark.parametrize(
    ("other", "math", "dim", "expected"),
    [
        ([[2.0, 2, 2], [9, 9, 9]], "MUL", "H", [[0.0, 2, 4], [6, 8, 10]]),
        ([[1.0, 9], [2, 7]], "SUB", "W", [[-1.0, 0, 1], [1, 2, 3]]),
        ([[3.0, 4]], "ADD", "HW", [[3.0, 4, 5], [6, 7, 8]]),
    ],
)
def test_bcast_spreads_the_first_row_or_column(other: Any, math: str, dim: str, expected: Any) -> None:
    golden = get_golden_function(bcast)
    x = torch.arange(6.0).reshape(1, 1, 2, 3)
    found = golden(x, torch.tensor([[other]]), getattr(BcastOpMath, math), getattr(BcastOpDim, dim))
    assert torch.equal(found, torch.tensor([[expected]]))


def test_a_moving_average_starts_from_zero() -> None:
    torch = pytest.importorskip("torch")
    ema = catalog.find("ttnn.ema")
    assert ema is not None
    found = get_golden_function(ema)(torch.tensor([[[[8.0, 8.0, 0.0]]]]), 0.75)
    assert found.tolist() == [[[[2.0, 3.5, 2.625]]]]


@pytest.mark.parametrize(
    ("variant", "form"), [(GeluVariant.Tanh, "tanh"), (GeluVariant.Accurate, "none"), (None, "none")]
)
def test_a_gelu_is_of_its_variant(variant: Any, form: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.linspace(-3, 3, 31, dtype=torch.float64)
    expected = torch.nn.functional.gelu(x, approximate=form)
    assert torch.equal(common.gelu(x, variant=variant), expected)
