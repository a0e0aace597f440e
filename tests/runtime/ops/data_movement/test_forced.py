"""Operations with the choice of a kernel taken have the values of those without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tt_run.shims.ttnn as ttnn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

OPERATIONS = ttnn._ttnn.operations.data_movement


@pytest.fixture
def device() -> Iterator[ttnn.MeshDevice]:
    opened = ttnn.open_device(device_id=0)
    yield opened
    ttnn.close_device(opened)


@pytest.mark.parametrize("kernel", ["native", "codegen"])
def test_values(kernel: str, device: ttnn.MeshDevice) -> None:
    def forced(name: str) -> Any:
        return getattr(OPERATIONS, f"{name}_force_{kernel}")

    values = torch.arange(32 * 32, dtype=torch.int32).reshape(32, 32)
    x = ttnn.from_torch(values, layout=ttnn.TILE_LAYOUT, device=device)
    index = ttnn.from_torch(values.flip(1) % 32, dtype=ttnn.uint32, layout=ttnn.TILE_LAYOUT, device=device)
    assert torch.equal(ttnn.to_torch(forced("repeat")(x, [2, 1])), values.repeat(2, 1))
    assert torch.equal(ttnn.to_torch(forced("repeat_interleave")(x, 2, 0)), values.repeat_interleave(2, 0))
    assert torch.equal(
        ttnn.to_torch(forced("gather")(x, 1, index)), values.gather(1, (values.flip(1) % 32).long())
    )
    assert forced("untilize")(x).layout == ttnn.ROW_MAJOR_LAYOUT


def test_arguments() -> None:
    with pytest.raises(TypeError, match="repeat_dims"):
        OPERATIONS.repeat_force_native(3)
