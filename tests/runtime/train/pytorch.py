"""PyTorch as the reference of the training tests: required in CI, optional elsewhere."""

from __future__ import annotations

import os
from typing import Any

import pytest


def torch_or_skip() -> Any:
    """The torch module; without it the test skips, or fails where TT_RUN_REQUIRE_TORCH is set."""
    try:
        import torch
    except ImportError:
        if os.environ.get("TT_RUN_REQUIRE_TORCH"):
            pytest.fail("PyTorch is required here (TT_RUN_REQUIRE_TORCH): pip install torch")
        pytest.skip("PyTorch is not installed: pip install torch")
    return torch


def transformers_or_skip() -> Any:
    """The transformers module; without it as `torch_or_skip`."""
    torch_or_skip()
    try:
        import transformers
    except ImportError:
        if os.environ.get("TT_RUN_REQUIRE_TORCH"):
            pytest.fail("transformers is required here (TT_RUN_REQUIRE_TORCH): pip install transformers")
        pytest.skip("transformers is not installed")
    return transformers
