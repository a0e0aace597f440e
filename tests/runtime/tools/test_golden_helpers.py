"""What golden functions are made of."""

from __future__ import annotations

import pytest

import tt_run.shims.ttnn as ttnn
from tt_run.runtime.tools.golden_helpers import (
    golden_compute_gradients,
    golden_prepare_grad_inputs,
    golden_to_output_dtype,
)

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_values_as_they_are_stored() -> None:
    exact = torch.tensor([[1.1, 100.0]])
    assert torch.equal(golden_to_output_dtype(exact, ttnn.bfloat16), exact.bfloat16())
    assert golden_to_output_dtype(exact, ttnn.bfloat8_b).tolist() == [[1.0, 100.0]]
    assert golden_to_output_dtype(exact, None) is exact
    assert golden_to_output_dtype("text", ttnn.bfloat16) == "text"


def test_gradients_in_the_order_of_inputs() -> None:
    x, unused, y = golden_prepare_grad_inputs(*(torch.tensor([value]) for value in (2.0, 3.0, 5.0)))
    gradients = golden_compute_gradients(x * y, [x, unused, y], torch.tensor([1.0]))
    assert gradients == [torch.tensor([5.0]), None, torch.tensor([2.0])]


def test_torch_functions_by_the_modules_of_their_operations() -> None:
    x, y = torch.randn(2, 2, 8, generator=torch.Generator().manual_seed(1))
    first, second = x[:, :4], x[:, 4:]
    unary = ttnn.operations.unary
    assert torch.equal(unary.torch_reglu(x), first * second.clamp(min=0))
    assert torch.equal(unary.torch_swiglu(x), first * torch.nn.functional.silu(second))
    assert torch.equal(unary.torch_geglu(x), first * torch.nn.functional.gelu(second))
    assert torch.equal(ttnn.operations.binary.torch_squared_difference(x, y), (x - y) ** 2)
    assert torch.equal(ttnn.operations.ternary.torch_mac(x, y, x), x * y + x)
    assert ttnn.operations.creation.golden_to_output_dtype is golden_to_output_dtype
    assert ttnn.operations.unary_backward.golden_compute_gradients is golden_compute_gradients


def test_attention_by_the_name_of_its_golden_function() -> None:
    q, k, v = torch.randn(3, 1, 2, 32, 32, generator=torch.Generator().manual_seed(0))
    golden = ttnn.operations.transformer.scaled_dot_product_attention_golden
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(golden(q, k, v, is_causal=True), expected)
    assert not hasattr(ttnn.operations.transformer, "unknown_golden")
