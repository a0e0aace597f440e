"""Numbers of tensors and operations, which programs read and set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tt_run.shims.ttnn as ttnn

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.listening, pytest.mark.torch]


@pytest.fixture
def device() -> Iterator[ttnn.MeshDevice]:
    opened = ttnn.open_device(device_id=0)
    yield opened
    ttnn.close_device(opened)


def test_tensors_are_numbered_from_where_a_program_says(device: ttnn.MeshDevice) -> None:
    native = ttnn._ttnn
    begun = native.get_tensor_id()
    native.set_tensor_id(begun + 1000)
    made = ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=device)
    assert made.tensor_id >= begun + 1000
    before = native.get_tensor_id()
    assert native.get_tensor_id() == before
    assert native.fetch_and_increment_tensor_id() == before
    assert native.get_tensor_id() == before + 1


def test_what_runs_on_a_device_is_counted(device: ttnn.MeshDevice) -> None:
    native = ttnn._ttnn
    native.set_device_operation_id(40)
    a = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    assert native.get_device_operation_id() == 40
    ttnn.softmax(ttnn.add(a, a), -1)
    assert native.get_device_operation_id() == 42
    ttnn.reshape(a, (1, 32, 32))
    ttnn.to_torch(a)
    assert native.fetch_and_increment_device_operation_id() == 42
    assert native.get_device_operation_id() == 43


def test_calls_count_in_the_slow_mode_alone(device: ttnn.MeshDevice) -> None:
    native = ttnn._ttnn
    native.set_python_operation_id(7)
    a = ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=device)
    ttnn.add(a, a)
    assert native.get_python_operation_id() == 7
    with ttnn.manage_config("enable_fast_runtime_mode", False):
        ttnn.add(a, a)
    assert native.fetch_and_increment_python_operation_id() == 8


@pytest.mark.parametrize("kind", ["tensor", "python_operation", "device_operation"])
def test_a_number_is_a_whole_one(kind: str) -> None:
    with pytest.raises(TypeError, match=rf"set_{kind}_id\(\): incompatible function arguments"):
        getattr(ttnn._ttnn, f"set_{kind}_id")(-7)
