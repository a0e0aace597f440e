"""Meshes for the tests of the runtime, and events that end with a test."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator

import pytest

from tt_run.runtime import events
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.tools import hooks


@pytest.fixture(scope="module")
def mesh() -> Iterator[MeshDevice]:
    """A 2x4 mesh of one rank."""
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


@pytest.fixture(scope="module")
def row() -> Iterator[MeshDevice]:
    """A 1x2 mesh of one rank."""
    device = open_mesh_device(MeshShape(1, 2))
    yield device
    device.close()


@pytest.fixture(scope="module")
def one() -> Iterator[MeshDevice]:
    """A single device."""
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()


@pytest.fixture
def without_looking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The lists of hooks look at every operation from when they are asked for: not beyond the test."""
    lists = "tt_run.runtime.tools.hook_lists"
    monkeypatch.setattr(events, "_befores", [*events._befores])
    monkeypatch.setattr(events, "listening", events.listening)
    monkeypatch.setattr(hooks, "_leave", [*hooks._leave])
    monkeypatch.setattr(hooks, "_watchers", [*hooks._watchers])
    monkeypatch.setattr(FastOperation, "watching", FastOperation.watching)
    was_there = lists in sys.modules
    yield
    if not was_there:
        sys.modules.pop(lists, None)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What is logged as a warning or more during the test."""
    handler = logging.StreamHandler(io.StringIO())
    logging.getLogger().addHandler(handler)
    yield handler.stream
    logging.getLogger().removeHandler(handler)
