"""The system that nobody named: from the first mesh that a program opens."""

from __future__ import annotations

import pytest

from tt_run import contract
from tt_run.runtime.mesh.default_system import choose_system
from tt_run.runtime.mesh.geometry.arrange import places_in
from tt_run.runtime.mesh.geometry.shape import MeshShape


@pytest.mark.parametrize(
    ("shape", "system"),
    [
        ((2, 4), None),
        ((1, 8), None),
        ((1, 1), None),
        ((8, 4), "galaxy"),
        ((4, 8), "galaxy"),
        ((4, 4), "galaxy"),
        ((64, 64), None),
    ],
)
def test_the_first_mesh_chooses(shape: tuple[int, int], system: str | None) -> None:
    environment: dict[str, str] = {}
    choose_system(MeshShape(shape), environment)
    assert environment.get(contract.SYSTEM) == system


@pytest.mark.parametrize("named", [contract.SYSTEM, contract.MESH_GRAPH_DESC_PATH])
def test_what_is_named_stays(named: str) -> None:
    environment = {named: "n300"}
    choose_system(MeshShape(8, 4), environment)
    assert environment == {named: "n300"}


def test_a_mesh_that_is_too_large_names_systems_with_room_for_it() -> None:
    with pytest.raises(RuntimeError, match="help: 8x4 fits --system galaxy, "):
        places_in(MeshShape(2, 4), MeshShape(8, 4), None)
    with pytest.raises(
        RuntimeError, match=r"help: mgd new --shape 640x4 -o mesh\.textproto, then tt-run --emulate -m mesh"
    ):
        places_in(MeshShape(2, 4), MeshShape(640, 4), None)
