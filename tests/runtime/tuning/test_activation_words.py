"""Activations by their names, with the parameters that the reference gives them."""

from __future__ import annotations

import pytest

from tt_run.runtime.tuning.activation_words import string_to_unary_with_param


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("relu", "RELU"),
        ("gelu", "GELU, params=[0]"),
        ("gelu_approx", "GELU, params=[1]"),
        ("sigmoid", "SIGMOID, params=[4, 0]"),
        ("hardtanh", "HARDTANH, params=[-1, 1]"),
        ("selu", "SELU, params=[1.050701, 1.6732632]"),
        ("xielu", "XIELU, params=[0.8, 0.8]"),
    ],
)
def test_names(word: str, shown: str) -> None:
    assert repr(string_to_unary_with_param(word)) == f"UnaryWithParam(op_type=UnaryOpType::{shown})"


@pytest.mark.parametrize("word", ["elu", "RELU", ""])
def test_names_that_have_none(word: str) -> None:
    with pytest.raises(RuntimeError, match=f"Unknown unary op: {word}"):
        string_to_unary_with_param(word)


def test_another_kind_of_argument() -> None:
    with pytest.raises(TypeError, match=r"string_to_unary_with_param\(arg: str"):
        string_to_unary_with_param(3)  # type: ignore[arg-type]
