"""A launch directory of its own for each test, and a machine that is made up."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mgd.diagnostics import Diagnostic
from tt_run.errors import TtRunError
from tt_run.inputs.findings import Findings
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.site import Site
from tt_run.plan.build import build_plan
from tt_run.plan.launcher import LauncherFacts
from tt_run.plan.model import LaunchPlan
from tt_run.plan.request import CheckLevel, LaunchRequest

MESH_2X4_TWO_HOSTS = """\
mesh_descriptors {
  name: "M0"
  arch: WORMHOLE_B0
  device_topology { dims: [2, 4] }
  host_topology { dims: [1, 2] }
  channels { count: 2 policy: RELAXED }
}

top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
"""

TWO_RANKS = """\
rank_bindings:
  - rank: 0
    mesh_id: 0
    mesh_host_rank: 0
    env_overrides:
      TT_VISIBLE_DEVICES: "0,1"
  - rank: 1
    mesh_id: 0
    mesh_host_rank: 1
    env_overrides:
      TT_VISIBLE_DEVICES: "2,3"
mesh_graph_desc_path: mesh.textproto
"""


class Sandbox:
    """Files below `root`, launched from `root/CWD` with `root/HOME` as home directory."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.cwd, self.home = self.root / "CWD", self.root / "HOME"
        for folder in (self.cwd, self.home):
            folder.mkdir()
        self.site = Site(
            environ={"PATH": "/usr/bin:/bin", "HOME": str(self.home), "USER": "tester"},
            cwd=self.cwd,
            hostname="vm",
            cores=8,
            interfaces=frozenset({"lo", "eth0"}),
        )
        self.findings = Findings()

    def write(self, name: str, text: str) -> Path:
        """A file below the launch directory (or any absolute path)."""
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def set(self, **variables: str) -> None:
        """Further variables of the launching shell."""
        self.site = dataclasses.replace(self.site, environ={**self.site.environ, **variables})

    @property
    def search(self) -> PathSearch:
        return PathSearch(self.site, self.findings)

    def two_ranks(self, bindings: str = TWO_RANKS, descriptor: str = MESH_2X4_TWO_HOSTS) -> None:
        """rb.yaml and mesh.textproto: a 2x4 mesh over two ranks."""
        self.write("rb.yaml", bindings)
        self.write("mesh.textproto", descriptor)

    def plan(self, launcher: LauncherFacts | None = None, **request: Any) -> LaunchPlan:
        """The plan of a request; by default `tt-run --rank-binding rb.yaml true`."""
        return build_plan(self.request(**request), self.site, launcher)

    def refusal(
        self, error: type[TtRunError] = TtRunError, launcher: LauncherFacts | None = None, **request: Any
    ) -> tuple[Diagnostic, ...]:
        """The findings with which a request is turned down."""
        with pytest.raises(error) as caught:
            build_plan(self.request(**request), self.site, launcher)
        return caught.value.diagnostics

    @staticmethod
    def request(**fields: Any) -> LaunchRequest:
        sources = (
            "rank_bindings_mapping",
            "mesh_graph_descriptor",
            "mesh_graph_descriptor_mapping",
            "system",
        )
        defaults: dict[str, Any] = {"program": ("true",)}
        if not any(fields.get(name) for name in sources):
            defaults["rank_binding"] = "rb.yaml"
        if isinstance(fields.get("check"), str):
            fields["check"] = CheckLevel(fields["check"])
        return LaunchRequest(**{**defaults, **fields})


def codes(findings: Iterable[Diagnostic]) -> list[str]:
    return [finding.code for finding in findings]


def only(findings: Iterable[Diagnostic], code: str) -> Diagnostic:
    """The one finding with that code."""
    found = [finding for finding in findings if finding.code == code]
    assert len(found) == 1, f"{len(found)} findings {code} in {codes(findings)}"
    return found[0]


def places(finding: Diagnostic) -> list[str]:
    """The positions of a finding as text."""
    return [str(label.position) for label in finding.labels]
