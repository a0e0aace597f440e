"""Classes that stand for native ones: what Python says of them when a call does not fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet, corerange_to_cores
from tt_run.runtime.enums import BufferType
from tt_run.runtime.native.refusals import native_functions
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import Shape, Tile

CALLS: dict[str, tuple[Callable[[], object], str, str]] = {
    "one number": (lambda: CoreCoord(1), "1. __init__(self, arg0: int, arg1: int, /) -> None", "whole number"),
    "below zero": (lambda: CoreCoord(-1, 2), "CoreCoord, int, int", "must not be negative"),
    "keywords": (lambda: CoreCoord(x=1, y=2), "kwargs = { x: int, y: int }", "keyword arguments"),
    "one corner": (lambda: CoreRange(CoreCoord(0, 0)), "start: ttnn._ttnn.tensor.CoreCoord, end:", "'end'"),
    "one range": (lambda: CoreRangeSet(CoreRange((0, 0), (1, 1))), "collections.abc.Set", "not iterable"),
    "by place": (lambda: CoreGrid(2, 3), "__init__(self, *, x: int, y: int) -> None", "positional"),
    "no orientation": (lambda: ShardSpec(CoreRangeSet(), [32, 32]), "shard_orientation: ttnn._ttnn", "missing"),
    "memory": (lambda: MemoryConfig(BufferType.L1), "2. __init__(self, buffer_type:", "TensorMemoryLayout"),
    "lengths": (lambda: Shape(1, 2), "ttnn._ttnn.types.Shape, int, int", "positional"),
    "tile": (lambda: Tile(32, 32), "transpose_tile: bool = False", "a height and a width"),
    "function": (lambda: corerange_to_cores(3), "max_cores: int | None = None", "core_range_set"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_signatures_are_listed_and_the_fault_is_below(name: str) -> None:
    call, listed, fault = CALLS[name]
    with pytest.raises(TypeError, match="incompatible function arguments") as error:
        call()
    notes = getattr(error.value, "__notes__", [str(error.value)])
    assert listed in str(error.value)
    assert fault in "\n".join(notes)


def test_a_missing_attribute_names_the_native_class() -> None:
    with pytest.raises(AttributeError, match=r"'ttnn\._ttnn\.tensor\.CoreCoord' object has no attribute 'z'"):
        CoreCoord(0, 0).z  # noqa: B018
    assert not hasattr(Shape([1]), "with_tile_padding")
    with pytest.raises(
        TypeError, match=r"'<' not supported between instances of 'ttnn\._ttnn\.types\.Shape'"
    ):
        Shape([1]) < Shape([2])  # noqa: B015


def test_functions_are_found_by_their_last_name() -> None:
    assert native_functions()["close_mesh_device"] == "ttnn._ttnn.multi_device.close_mesh_device()"
