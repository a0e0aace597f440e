"""`ttnn.get_golden_function`: what an operation computes, as a function of torch tensors. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.ops.dispatch import FastOperation


def get_golden_function(operation: FastOperation) -> Callable[..., Any]:
    """The function of torch tensors that an operation is compared with; numbers and other arguments are the operation's own.

    Raises RuntimeError for an operation without one.
    """
    golden = operation.golden
    if golden is None:
        raise RuntimeError(f"{operation} does not have a golden function")
    return torch_cpu.named(golden) if isinstance(golden, str) else golden
