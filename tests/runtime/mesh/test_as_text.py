"""Pictures of meshes and tensors, as text and as SVG."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runtime.mpi import ROOT, run_ranks
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.mesh.geometry.ranges import compute_distribution_to_mesh_mapping
from tt_run.runtime.mesh.pictures.as_svg import tensor_svg
from tt_run.runtime.mesh.pictures.as_text import (
    visualize_mesh_device,
    visualize_system_mesh,
    visualize_tensor,
)
from tt_run.runtime.mesh.pictures.tensor_parts import placed_shards, shard_colors


class Shard:
    """A placement that shards."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def __repr__(self) -> str:
        return f"PlacementShard({self.dim})"


class Replicate:
    """A placement that replicates."""

    def __repr__(self) -> str:
        return "PlacementReplicate()"


@dataclass
class Placing:
    """A tensor as far as pictures look at it."""

    shape: tuple[int, ...]
    mesh: MeshDevice
    placings: list[Any]
    distribution: MeshShape
    on_device: bool = True
    local_rows: int = 2
    dtype: Any = field(default_factory=lambda: SimpleNamespace(name="FLOAT32"))
    layout: Any = field(default_factory=lambda: SimpleNamespace(name="TILE"))

    def tensor_topology(self) -> Any:
        coords = compute_distribution_to_mesh_mapping(self.distribution, self.mesh.shape)
        return SimpleNamespace(
            distribution_shape=lambda: self.distribution,
            placements=lambda: self.placings,
            mesh_coords=lambda: coords,
        )

    def device(self) -> MeshDevice | None:
        return self.mesh if self.on_device else None

    def host_buffer(self) -> Any:
        assert not self.on_device
        return SimpleNamespace(
            shape=lambda: self.mesh.shape, is_local=lambda coord: coord[0] < self.local_rows
        )

    def storage_type(self) -> str:
        return f"StorageType.{'DEVICE' if self.on_device else 'HOST'}"


@pytest.fixture
def mesh(monkeypatch: pytest.MonkeyPatch) -> Iterator[MeshDevice]:
    monkeypatch.setenv("COLUMNS", "300")
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_the_system_mesh(mesh: MeshDevice, capsys: pytest.CaptureFixture[str]) -> None:
    visualize_system_mesh()
    lines = printed(capsys)
    assert lines[:5] == [
        "",
        "SystemMesh Global Shape: MeshShape([2, 4])",
        "",
        "SystemMesh Local Shape: MeshShape([2, 4])",
        "",
    ]
    assert lines[5].strip() == "SystemMesh Global Shape: (2, 4) | Local Shape: (2, 4)"
    assert lines[6] == "┌" + "┬".join(["─" * 30] * 4) + "┐"
    assert lines[7].startswith("│          Dev. ID: 4          │          Dev. ID: 0          │")
    assert lines[8].endswith("│            (0, 3)            │")
    assert len(lines) == 13


def test_a_mesh_device_has_a_line_left_for_tensors(
    mesh: MeshDevice, capsys: pytest.CaptureFixture[str]
) -> None:
    visualize_mesh_device(mesh)
    lines = printed(capsys)
    assert lines[0].strip() == "MeshDevice(rows=2, cols=4)" and len(lines[0]) == 125
    assert lines[4] == "│" + "│".join([" " * 30] * 4) + "│"


def test_the_form_of_the_documents_shows_the_shape_of_each_shard(
    mesh: MeshDevice, capsys: pytest.CaptureFixture[str]
) -> None:
    visualize_mesh_device(mesh, tensor=Placing((1, 1, 32, 32), mesh, [Shard(3)], MeshShape([2])))
    lines = printed(capsys)
    assert "│  ttnn.Shape([1, 1, 32, 32])  │  ttnn.Shape([1, 1, 32, 32])  │" in lines[4]
    assert lines[4].count("ttnn.Shape") == 2


def test_a_tensor_on_devices(mesh: MeshDevice, capsys: pytest.CaptureFixture[str]) -> None:
    visualize_tensor(Placing((1, 1, 32, 32), mesh, [Shard(0), Shard(3)], MeshShape(2, 4)))
    lines = printed(capsys)
    assert "Placement Configuration" in lines[0] and len(lines[0]) == 300
    assert lines[1].startswith("│ [PlacementShard(0), PlacementShard(3)] ")
    assert lines[3].strip() == "Tensor(storage: StorageType.DEVICE)"
    assert lines[5].startswith("│         Dev. ID: 4           │         Dev. ID: 0           │")
    assert lines[6].startswith("│           (0, 0)             │")
    assert lines[7].startswith("│      [0:1, :, :, 0:32]       │     [0:1, :, :, 32:64]       │")
    assert lines[8].startswith("│    Shape: [1, 1, 32, 32]     │")
    assert lines[9].startswith("│       Dtype: FLOAT32         │")
    assert lines[10].startswith("│        Layout: TILE          │")


def test_a_tensor_on_the_host_has_no_device_line(
    mesh: MeshDevice, capsys: pytest.CaptureFixture[str]
) -> None:
    visualize_tensor(Placing((2, 2), mesh, [Replicate()], MeshShape([5]), on_device=False))
    text = capsys.readouterr().out
    assert "Dev. ID" not in text and "StorageType.HOST" in text
    assert text.count("[:, :]") == 5, "three of the eight devices hold nothing"


def test_a_narrow_terminal_gets_narrow_cells(
    mesh: MeshDevice, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    visualize_mesh_device(mesh)
    lines = printed(capsys)
    assert max(map(len, lines)) <= 80
    assert "Dev. ID: 6" in "\n".join(lines)


@pytest.mark.parametrize(
    ("placings", "distribution", "last"),
    [
        ([Shard(-1)], MeshShape([8]), "[:, :, 28:32]"),
        ([Shard(0), Replicate()], MeshShape(2, 4), "[2:4, :, :]"),
        ([Replicate(), Shard(1)], MeshShape(2, 4), "[:, 9:12, :]"),
        ([Shard(7)], MeshShape([8]), "[:, :, :]"),
        ([Replicate()], MeshShape([8]), "[:, :, :]"),
    ],
)
def test_which_part_the_last_device_holds(
    mesh: MeshDevice, placings: list[Any], distribution: MeshShape, last: str
) -> None:
    shards = placed_shards(Placing((2, 3, 4), mesh, placings, distribution))
    assert len(shards) == 8
    assert shards[MeshCoordinate(1, 3)].slices == last


def test_equal_parts_share_a_colour(mesh: MeshDevice) -> None:
    shards = placed_shards(Placing((2, 2), mesh, [Replicate(), Shard(1)], MeshShape(2, 4)))
    colors = shard_colors(shards.values())
    assert len(colors) == len(set(colors.values())) == 4
    assert colors[shards[MeshCoordinate(0, 1)].ranges] == colors[shards[MeshCoordinate(1, 1)].ranges]
    assert colors[shards[MeshCoordinate(0, 0)].ranges] == "#cc6a6a"


def test_what_other_hosts_hold_is_remote(mesh: MeshDevice, capsys: pytest.CaptureFixture[str]) -> None:
    tensor = Placing((64, 128), mesh, [Shard(0), Shard(1)], MeshShape(2, 4), on_device=False, local_rows=1)
    visualize_tensor(tensor)
    said = capsys.readouterr().out
    assert said.count("Local") == said.count("Remote") == 4 and said.index("Local") < said.index("Remote")


def test_the_svg_of_a_placement(mesh: MeshDevice) -> None:
    tensor = Placing((1, 1, 32, 32), mesh, [Replicate(), Shard(3)], MeshShape(2, 2))
    text = tensor_svg(tensor)
    assert text == tensor_svg(tensor)
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    boxes = [box.get("fill") for box in root.iter(f"{space}rect") if box.get("rx")]
    assert len(boxes) == 8 and boxes.count("#e6e6e6") == 4
    assert boxes[0] == boxes[4] != boxes[1]
    assert "(0, 1) holds [:, :, :, 32:64]" in root.findtext(f"{space}desc", "")
    assert "4 devices hold 2 distinct parts" in text and "device 4  (0, 0)" in text


@pytest.mark.parametrize(
    ("shape", "placings", "distribution", "parts"),
    [
        ((1, 1, 32, 32), [Replicate(), Shard(3)], MeshShape(2, 2), [(0, 0, 110, 160), (110, 0, 110, 160)]),
        ((1, 1, 32, 32), [Shard(2)], MeshShape([2]), [(0, 0, 220, 80), (0, 80, 220, 80)]),
        ((5,), [Shard(0)], MeshShape([2]), [(0, 0, 110, 160), (110, 0, 110, 160)]),
        ((2, 3, 4), [Shard(0)], MeshShape([2]), [(0, 0, 220, 160)] * 2),
    ],
)
def test_how_the_svg_is_laid_out(
    mesh: MeshDevice,
    shape: tuple[int, ...],
    placings: list[Any],
    distribution: MeshShape,
    parts: list[tuple[int, ...]],
) -> None:
    """Devices in the mesh's rows and columns, the whole tensor to the right of them cut into its parts, all of it on the page."""
    root = ElementTree.fromstring(tensor_svg(Placing(shape, mesh, placings, distribution)))
    rects = [each for each in root.iter("{http://www.w3.org/2000/svg}rect") if each.get("x")]
    at = [tuple(int(each.get(key, "")) for key in ("x", "y", "width", "height")) for each in rects]
    devices, tensor = at[:8], at[8:]
    assert devices == [
        (16 + 176 * column, 56 + 100 * row, 168, 92) for row in range(2) for column in range(4)
    ]
    assert sorted((x - 728, y - 56, width, height) for x, y, width, height in tensor) == parts
    page = int(root.get("width", "")), int(root.get("height", ""))
    assert page == (956, 272) and all(x + width < page[0] and y + h < page[1] for x, y, width, h in at)
    words = [
        (int(each.get("x", "")), int(each.get("y", "")), each.text)
        for each in root.iter("{http://www.w3.org/2000/svg}text")
    ]
    for (x, y, width, height), (row, column) in zip(devices, product(range(2), range(4)), strict=True):
        inside = [word for at_x, at_y, word in words if at_x == x + width // 2 and y < at_y < y + height]
        assert f"({row}, {column})" in str(inside[0])


def test_the_picture_goes_to_a_file_on_request(mesh: MeshDevice, tmp_path: Path) -> None:
    tensor = Placing((2, 2), mesh, [Replicate()], MeshShape([8]))
    visualize_tensor(tensor, svg=tmp_path / "placement.svg")
    assert (tmp_path / "placement.svg").read_text() == tensor_svg(tensor)


def test_what_is_remote_is_said() -> None:
    program = (
        "from tt_run.runtime.mesh import *\nfrom tt_run.runtime.mesh.pictures.as_text import *\n"
        "visualize_system_mesh()\nvisualize_mesh_device(open_mesh_device())\n"
    )
    env = {"COLUMNS": "300", "TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs/mgd/t3k_2x4_two_hosts.textproto")}
    lines = run_ranks(2, program, env=env).check().ranks[0].stdout.splitlines()
    assert lines[5].strip() == "SystemMesh Global Shape: (2, 4) | Local Shape: (2, 2)"
    row = "│            Local             │            Local             │           Remote             │           Remote             │"
    assert lines[7] == row
    assert "│          Dev. ID: 2          │" in lines[8] and lines[8].endswith(
        "│           Unknown            │"
    )
    device = lines[lines.index(next(line for line in lines if "MeshDevice(rows" in line)) :]
    assert device[2].count("Remote") == 2
    assert device[3].count("Unknown ID") == 2
    assert len(device[2:6]) == 4 and device[5].strip("│ ") == ""


def test_what_cannot_be_drawn_is_logged(capsys: pytest.CaptureFixture[str], logged: io.StringIO) -> None:
    visualize_tensor(3)  # type: ignore[arg-type]
    assert capsys.readouterr().out == ""
    assert "Error visualizing tensor" in logged.getvalue()


def test_a_long_annotation_ends_in_an_ellipsis(capsys: pytest.CaptureFixture[str]) -> None:
    mesh = open_mesh_device(MeshShape(2, 4))
    shape = (10**6, 10**6, 10**6, 10**6, 10**6, 10**6)
    visualize_tensor(Placing(shape, mesh, [Shard(0), Shard(5)], MeshShape(2, 4)))
    out = capsys.readouterr().out
    mesh.close()
    assert "…" in out
    assert "Layout" not in out
