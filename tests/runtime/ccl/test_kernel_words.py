"""What kernels that send through the fabric are compiled with, by the fabric that was chosen."""

from __future__ import annotations

import pytest

from tt_run.runtime.ccl import kernel_words
from tt_run.runtime.ccl.kernel_words import get_fabric_kernel_defines
from tt_run.runtime.enums import FabricConfig


@pytest.mark.parametrize(
    ("chosen", "api", "defined"),
    [
        (FabricConfig.FABRIC_1D, "Linear", [("API_TYPE_Linear", "1")]),
        (FabricConfig.FABRIC_2D, "Mesh", [("API_TYPE_Mesh", "1"), ("FABRIC_2D", "1")]),
    ],
)
def test_names(
    monkeypatch: pytest.MonkeyPatch, chosen: FabricConfig, api: str, defined: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(kernel_words, "get_fabric_config", lambda: chosen)
    assert get_fabric_kernel_defines(api) == defined


def test_no_fabric_and_no_such_api() -> None:
    with pytest.raises(RuntimeError, match="un-initialized fabric context"):
        get_fabric_kernel_defines()
    with pytest.raises(ValueError, match="'Linear' or 'Mesh', got: X"):
        get_fabric_kernel_defines("X")
