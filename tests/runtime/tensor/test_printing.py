"""The text of tensors (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tensor.printing import set_printoptions, values_text


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    set_printoptions(profile="short")


def text(values: Any, dtype: Any = np.float32, **options: Any) -> str:
    return str(from_torch(np.array(values, dtype), **options))


def test_a_row_of_floats_is_seven_wide() -> None:
    assert text([1, 2.5, -3]) == (
        "ttnn.Tensor([ 1.0000,  2.5000, -3.0000], shape=Shape([3]), dtype=DataType::FLOAT32, layout=Layout::ROW_MAJOR)"
    )


def test_integers_are_five_wide() -> None:
    assert text([[1, -2], [30000, 123456]], np.int32) == (
        "ttnn.Tensor([[    1,    -2],\n"
        "             [30000, 123456]], shape=Shape([2, 2]), dtype=DataType::INT32, layout=Layout::ROW_MAJOR)"
    )


def test_long_dimensions_show_two_at_either_end() -> None:
    assert text(np.arange(5), np.uint8).startswith("ttnn.Tensor([    0,     1,  ...,     3,     4], shape=")
    rows = text(np.arange(12).reshape(6, 2), np.uint16)
    assert rows.startswith(
        "ttnn.Tensor([[    0,     1],\n"
        "             [    2,     3],\n"
        "             ...,\n"
        "             [    8,     9],\n"
        "             [   10,    11]], shape="
    )


def test_blocks_are_apart_by_an_empty_line() -> None:
    assert text(np.zeros((2, 1, 2)), np.int32).startswith(
        "ttnn.Tensor([[[    0,     0]],\n\n             [[    0,     0]]], shape="
    )
    assert "\n\n             ...,\n\n" in text(np.zeros((6, 1, 2)), np.int32)


def test_scalars_and_empty_tensors() -> None:
    assert text(3.0).startswith("ttnn.Tensor( 3.0000, shape=Shape([]), dtype=")
    assert text([]).startswith("ttnn.Tensor([], shape=Shape([0]), dtype=")
    assert text(np.zeros((2, 0))).startswith("ttnn.Tensor([[],\n             []], shape=Shape([2, 0])")


@pytest.mark.parametrize(("values", "scientific"), [
    ([1, 1000], False),
    ([1, 1001], True),
    ([1e8, 1e8], False),
    ([1.1e8], True),
    ([0.0, 0.0], False),
    ([np.float32(1e-4)], True),
    ([np.nan, np.inf, 5], False),
    ([0, 1, 2, 3, 0.0001, 5, 6, 7], True),
])  # fmt: skip
def test_scientific_by_the_range_of_all_values(values: list[float], scientific: bool) -> None:
    assert ("e+" in text(values) or "e-" in text(values)) is scientific


def test_scientific_is_eleven_wide_and_others_keep_seven() -> None:
    assert values_text(np.array([1, 2000], np.float32)) == "[ 1.0000e+00,  2.0000e+03]"
    assert values_text(np.array([np.nan, np.inf, -np.inf], np.float32)) == "[    nan,     inf,    -inf]"


def test_options() -> None:
    set_printoptions(profile="full")
    assert text(np.arange(6), np.int32).startswith("ttnn.Tensor([    0,     1,     2,     3,     4,     5]")
    set_printoptions(profile="empty")
    assert text([1.0]).startswith("ttnn.Tensor(..., shape=Shape([1])")
    set_printoptions(profile="short", sci_mode=True, precision=2)
    assert text([1.0]).startswith("ttnn.Tensor([ 1.00e+00]")
    set_printoptions(profile="short", sci_mode=False, precision=1)
    assert text([1.0, 1e6]).startswith("ttnn.Tensor([ 1.0, 1000000.0]")


def test_options_are_checked() -> None:
    with pytest.raises(RuntimeError, match="is no profile of printing"):
        set_printoptions(profile="long")
    with pytest.raises(RuntimeError, match="sci_mode"):
        set_printoptions(profile="short", sci_mode="sometimes")
    with pytest.raises(TypeError, match="profile"):
        set_printoptions(sci_mode=True)  # type: ignore[call-arg]


def test_mesh_tensors_print_one_block_per_shard(row: MeshDevice) -> None:
    host = from_torch(np.array([1, 2], np.float32), mesh_mapper=ShardTensorToMesh(row, 0), layout=Layout.TILE)
    blocks = str(host).split("\n")
    assert [b[:20] for b in blocks] == ["ttnn.Tensor([ 1.0000", "ttnn.Tensor([ 2.0000"]
    assert host is not None
    lines = str(host.to(row)).split("\n")
    assert lines[::2] == [f"device_id: {row.get_device_ids()[i]}, MeshCoordinate([0, {i}])" for i in range(2)]
    assert lines[1::2] == blocks


def test_one_device_prints_what_the_host_does(one: MeshDevice) -> None:
    host = from_torch(np.array([1, 2], np.float32), layout=Layout.TILE)
    assert str(host.to(one)) == str(host)


def test_replicas_print_once_per_device(row: MeshDevice) -> None:
    host = from_torch(
        np.zeros(1, np.float32), mesh_mapper=ReplicateTensorToMesh(row), dtype=DataType.BFLOAT16
    )
    assert str(host).count("ttnn.Tensor([ 0.0000]") == 2


def test_a_freed_tensor_says_so(row: MeshDevice) -> None:
    tensor = from_torch(np.zeros(1, np.float32), device=row)
    assert tensor is not None
    tensor.deallocate()
    assert str(tensor).startswith("ttnn.Tensor(<buffer is not allocated>, shape=Shape([1])")


@pytest.mark.parametrize("size", [4, 5])
def test_what_is_shown_of_a_long_dimension(size: int) -> None:
    shown = values_text(np.arange(size))
    assert shown == ("[    0,     1,     2,     3]" if size == 4 else "[    0,     1,  ...,     3,     4]")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1e8], "[100000000.0000]"),
        ([1.5e-4, 1e-4 * 1.001], "[ 0.0002,  0.0001]"),
        ([-5000.0, 1.0], "[-5.0000e+03,  1.0000e+00]"),
        ([np.nan, 2000.0, 1.0], "[        nan,  2.0000e+03,  1.0000e+00]"),
    ],
)
def test_the_range_of_numbers_decides(values: list[float], shown: str) -> None:
    assert values_text(np.array(values, np.float32)) == shown


@pytest.mark.parametrize("mode", ["default", "DEFAULT", None])
def test_options_go_back(mode: str | None) -> None:
    for scientific in (True, "enable", "True"):
        set_printoptions(profile="FULL", sci_mode=scientific)
        assert values_text(np.array([1.0], np.float32)) == "[ 1.0000e+00]"
    for plain in (False, "disable", "false"):
        set_printoptions(profile="short", sci_mode=plain)
        assert values_text(np.array([1e9], np.float32)) == "[1000000000.0000]"
    set_printoptions(profile="short", sci_mode=mode)
    assert values_text(np.array([1e9], np.float32)) == "[ 1.0000e+09]"
