"""Functions of one operand: which of them need no rounding, and what they do with no parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tt_run.runtime.kernels import functions
from tt_run.runtime.kernels.activations import FUNCTIONS, Applied, is_closed


@pytest.mark.parametrize(
    ("function", "closed"),
    [
        (FUNCTIONS["identity"], True),
        (FUNCTIONS["relu"], True),
        (FUNCTIONS["exp"], False),
        (Applied(functions.limited, (-1.0, 0.5)), True),
        (Applied(functions.limited, (None, 0.5)), True),
        (Applied(functions.limited, (-1.0, 0.1)), False),  # no bfloat16 is 0.1
        (Applied(functions.power, (2.0,)), False),
    ],
)
def test_what_only_chooses_among_values_rounds_nothing(function: Any, closed: bool) -> None:
    assert is_closed(function) is closed


def test_limits_that_are_left_out() -> None:
    x = np.array([-3.0, -0.5, 0.5, 1.5], np.float32)
    assert functions.hardtanh(x).tolist() == [-1.0, -0.5, 0.5, 1.0]
