"""Where the descriptors for the tests are, and how a whole file is judged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mgd.checking import check
from mgd.diagnostics import Diagnostic
from mgd.errors import MgdError
from mgd.reading import load
from mgd.systems import systems
from tests.sweep import sweep

ROOT = Path(__file__).resolve().parents[2]
RULE_FOLDERS = ROOT / "tests" / "corpus" / "mgd"
# For a test that says something of each system that ships: one of each kind is quick.
KINDS = (
    "n150", "n300-x2", "loudbox", "t3000-two-hosts", "t3000-four-meshes", "t3000-switch", "closetbox", "galaxy-torus-xy",
    "galaxy-four-hosts", "tg", "quad-bh-galaxy-8x4x4-z", "bh-glx-split-4x2",
)  # fmt: skip
EACH_SYSTEM = sweep((pytest.param(system, id=system.name) for system in systems()), quick=KINDS)


def recorded() -> Path:
    """The recorded answers of the reference; a checkout has them beside it, an installation does not."""
    return Path(os.environ.get("TT_RUN_CORPUS") or ROOT.parent / "shared" / "corpus") / "mgd"


def findings(path: Path, profile: str = "full") -> list[Diagnostic]:
    """Everything that is found in a file, whether it can be read or not."""
    try:
        return check(load(path), profile)
    except MgdError as error:
        return list(error.diagnostics)


def mesh(
    dims: str = "2, 4", *, name: str = "M0", arch: str = "WORMHOLE_B0", hosts: str = "1, 1", extra: str = ""
) -> str:
    """The text of a mesh descriptor."""
    return (
        f'mesh_descriptors {{ name: "{name}" arch: {arch} device_topology {{ dims: [ {dims} ] }} '
        f"host_topology {{ dims: [ {hosts} ] }} channels {{ count: 2 }} {extra} }}\n"
    )


TOP = 'top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }\n'


def fabric(meshes: int, links: str = "", *, kind: str = "FABRIC") -> str:
    """The text of a graph of that many meshes M0, and of its instantiation."""
    instances = "".join(
        f'instances {{ mesh {{ mesh_descriptor: "M0" mesh_id: {i} }} }}\n' for i in range(meshes)
    )
    return (
        f'graph_descriptors {{ name: "G0" type: "{kind}" {instances} {links} }}\n'
        'top_level_instance { graph { graph_descriptor: "G0" graph_id: 0 } }\n'
    )


def link(a: str, b: str, channels: str = "count: 2") -> str:
    """The text of a connection; an end is `0` for mesh 0 or `0.3` for its device 3."""
    return f"connections {{ {_end(a)} {_end(b)} channels {{ {channels} }} }}\n"


def _end(word: str) -> str:
    number, _, device = word.partition(".")
    inner = f'mesh_descriptor: "M0" mesh_id: {number}' + (f" device_id: {device}" if device else "")
    return f"nodes {{ mesh {{ {inner} }} }}"
