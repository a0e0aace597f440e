"""What the tests of a file must not leave to the next file, which runs in the same process in any order: the first to run would look guilty."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

# Pytest's own, and what PyTorch sets when it is imported.
_NOT_OURS = ("PYTEST_", "TORCH")
_before: dict[str, Any] = {}


def note(item: pytest.Item) -> bool:
    """Keep how things are before the first test of a file; whether it is the first."""
    if is_first := _before.get("file") != item.path:
        _before.update(file=item.path, state=_state())
    return is_first


def compare(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test of a file, put back what is not as before it. Raises AssertionError that names it."""
    if nextitem is not None and nextitem.path == item.path:
        return
    if device := sys.modules.get("tt_run.runtime.mesh.device"):
        # A mesh that a test has not closed counts as open until it is collected, at a time that nobody knows.
        device.MeshDevice._roots.clear()
    before, after = _before["state"], _state()
    if before == after:
        return
    os.environ.clear()
    os.environ.update(before["environment"])
    os.chdir(before["folder"])
    if fabric := sys.modules.get("tt_run.runtime.ccl.exchange.fabric"):
        fabric.set_fabric_config(fabric.FabricConfig.DISABLED)
    changed = {
        name: sorted(_changes(before[name], after[name])) for name in before if before[name] != after[name]
    }
    raise AssertionError(f"{item.path.name} left behind for other tests: {changed}")


def _state() -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)}
    fabric = sys.modules.get("tt_run.runtime.ccl.exchange.fabric")
    config = fabric.get_fabric_config().name if fabric else "DISABLED"
    return {"environment": environment, "folder": Path.cwd(), "fabric": config}


def _changes(before: Any, after: Any) -> set[str]:
    """Names of variables, or the two values."""
    if not isinstance(before, dict):
        return {before, after}
    return {name for name, _ in before.items() ^ after.items()}
