from __future__ import annotations

import pytest

from tests.mgd.cli.run import Mgd

GOOD = """# A small mesh.
mesh_descriptors {
  name: "M0"
  arch: WORMHOLE_B0
  device_topology { dims: [2, 4] }
  host_topology { dims: [1, 2] }
  channels { count: 2 policy: RELAXED }
}

top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
"""


@pytest.fixture
def mgd(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Mgd:
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return Mgd(capsys, monkeypatch)


@pytest.fixture
def good() -> str:
    return GOOD


@pytest.fixture
def bad() -> str:
    """Two mistakes: hosts that do not divide, and no channels."""
    return GOOD.replace("[1, 2]", "[1, 3]").replace("count: 2", "count: 0")
