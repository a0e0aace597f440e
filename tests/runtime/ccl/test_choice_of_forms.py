"""Which of several forms of arguments a refusal speaks of: the nearest, the first of those that are equally near."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tt_run.runtime.ccl.forms import choose
from tt_run.runtime.errors import ArgumentMismatch


def of_dim(dim: int) -> Any:
    return "dim", dim


def of_two(dim: int, num_devices: int) -> Any:
    return "two", dim, num_devices


def of_axis(cluster_axis: int | None, other: object = None) -> Any:
    return "axis", cluster_axis, other


def zeta(zeta: object) -> Any:
    return "zeta", zeta


def alpha(alpha: object) -> Any:
    return "alpha", alpha


@pytest.mark.parametrize(
    ("args", "words", "forms", "found"),
    [
        ((3,), {}, (of_dim, of_axis), ("dim", 3)),
        ((None,), {}, (of_dim, of_axis), ("axis", None, None)),
        ((3, 4), {}, (of_dim, of_two, of_axis), ("two", 3, 4)),
        ((3, "4"), {}, (of_dim, of_two, of_axis), ("axis", 3, "4")),
        ((), {"alpha": 1}, (zeta, alpha), ("alpha", 1)),
        ((), {}, (zeta, alpha), "missing a required argument: 'zeta' (form 1)"),
        ((), {}, (alpha, zeta), "missing a required argument: 'alpha' (form 1)"),
        ((), {}, (of_two, zeta), "missing a required argument: 'zeta' (form 2)"),
        (("3",), {}, (of_dim, of_two), "dim must be int, not str (form 1)"),
        (("3",), {}, (of_two, of_dim), "dim must be int, not str (form 2)"),
        (("3", "4"), {}, (of_dim, of_two), "too many positional arguments (form 1)"),
        (("3", "4"), {}, (of_two, of_dim), "dim must be int, not str (form 1)"),
        (("3", 4), {}, (of_dim, of_two), "dim must be int, not str (form 2)"),
        (("3",), {}, (of_axis,), "cluster_axis must be int or None, not str (form 1)"),
        ((3,), {"beta": 1}, (of_dim,), "got an unexpected keyword argument 'beta' (form 1)"),
    ],
)  # fmt: skip
def test_the_first_form_that_fits_is_called(
    args: tuple[Any, ...], words: dict[str, Any], forms: tuple[Callable[..., Any], ...], found: Any
) -> None:
    if not isinstance(found, str):
        assert choose(args, words, *forms) == found
        return
    with pytest.raises(ArgumentMismatch) as error:
        choose(args, words, *forms)
    assert str(error.value).partition("\n")[0] == found
    assert len(error.value.signatures) == len(forms)
