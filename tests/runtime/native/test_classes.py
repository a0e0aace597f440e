"""Classes go by their native names, list the reference's members, and are pickled by their home."""

from __future__ import annotations

import enum
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice, MeshShape
from tt_run.runtime.native.classes import home_of, members
from tt_run.runtime.sockets.config import SocketConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.blocks import SDPAProgramConfig


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Tensor, "ttnn._ttnn.tensor.Tensor"),
        (Shape, "ttnn._ttnn.types.Shape"),
        (SocketConfig, "ttnn._ttnn.mesh_socket.SocketConfig"),
        (SDPAProgramConfig, "ttnn._ttnn.operations.transformer.SDPAProgramConfig"),
    ],
)
def test_a_class_is_named_and_lists_members_as_the_reference_does(kind: type, name: str) -> None:
    assert repr(kind) == f"<class '{name}'>"
    assert [word for word in dir(kind) if word[0] != "_"] == members()[name]


def test_a_class_has_what_its_objects_keep() -> None:
    assert isinstance(CoreCoord.x, property) and CoreCoord.x.fget(CoreCoord(3, 1)) == 3
    kinds = (CoreRange, SDPAProgramConfig, SocketConfig)
    missing = [
        name
        for kind in kinds
        for name in members()[f"{kind.__module__}.{kind.__qualname__}"]
        if not hasattr(kind, name)
    ]
    assert not missing
    with pytest.raises(
        AttributeError, match=r"type object 'ttnn\._ttnn\.tensor\.CoreCoord' has no attribute 'z'"
    ):
        CoreCoord.z  # noqa: B018


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: MeshShape(2, 2).foo, "'ttnn._ttnn.multi_device.MeshShape' object has no attribute 'foo'"),  # type: ignore[attr-defined]
        (lambda: MeshShape(2, 2)(), "'ttnn._ttnn.multi_device.MeshShape' object is not callable"),  # type: ignore[operator]
        (lambda: len(CoreCoord(1, 2)), "object of type 'ttnn._ttnn.tensor.CoreCoord' has no len()"),  # type: ignore[arg-type]
        (lambda: CoreCoord(1, 2)[0], "'ttnn._ttnn.tensor.CoreCoord' object is not subscriptable"),  # type: ignore[index]
    ],
)
def test_pythons_own_refusals_name_a_class_as_of_the_reference(act: Callable[[], object], text: str) -> None:
    with pytest.raises((AttributeError, TypeError)) as caught:
        act()
    assert str(caught.value) == text


def test_the_name_of_a_class_has_no_module_in_it() -> None:
    class Own(CoreCoord):
        pass

    assert [kind.__name__ for kind in (Tensor, CoreCoord, Own)] == ["Tensor", "CoreCoord", "Own"]
    assert [type.__repr__(kind) for kind in (Tensor,)] == ["<class 'ttnn._ttnn.tensor.Tensor'>"]


def test_attributes_of_objects_are_found_without_a_detour() -> None:
    """A `__getattr__` would make every look at a tensor take ten times as long."""
    kinds = (Tensor, Shape, CoreCoord, MeshShape, MeshDevice)
    assert not [kind for kind in kinds if any("__getattr__" in vars(each) for each in kind.__mro__)]


def test_an_object_lists_what_its_class_lists() -> None:
    assert [word for word in dir(CoreCoord(1, 2)) if word[0] != "_"] == ["from_json", "to_json", "x", "y"]


@pytest.mark.parametrize("value", [MeshShape(2, 4), CoreRange(CoreCoord(0, 0), CoreCoord(1, 1)), Layout.TILE])
def test_pickles_are_read_without_the_shims(value: Any) -> None:
    text = pickle.dumps(value)
    assert pickle.loads(text) == value
    assert b"ttnn" not in text


def test_a_class_is_found_at_home() -> None:
    assert home_of(DataType) == ("tt_run.runtime.enums", "DataType")
    assert issubclass(DataType, enum.Enum) and DataType.__module__ == "ttnn._ttnn.tensor"
