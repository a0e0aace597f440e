"""Planning 2,000 ranks: read, checked against their descriptor and planned, against `yaml.safe_load` of the bindings alone."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import yaml

from tests.bench.common import Row, paired
from tt_run.inputs.site import Site
from tt_run.plan.build import build_plan
from tt_run.plan.request import LaunchRequest

RANKS, HOSTS_OF_A_MESH = 2000, 4
TARGET = 0.5


def run() -> list[Row]:
    """Ratios of one process's CPU time, so that other work on the machine does not count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        text = _bindings()
        (folder / "bindings.yaml").write_text(text, encoding="utf-8")
        (folder / "system.textproto").write_text(_descriptor(RANKS // HOSTS_OF_A_MESH), encoding="utf-8")
        site = Site({"PATH": "/usr/bin:/bin", "HOME": name}, folder, "bench", cores=2)
        hosts = ",".join(f"host{number}:{HOSTS_OF_A_MESH}" for number in range(RANKS // HOSTS_OF_A_MESH))
        request = LaunchRequest(program=("true",), rank_binding="bindings.yaml", hosts=hosts)

        def plan() -> None:
            found = build_plan(request, site)
            assert len(found.ranks) == RANKS and not found.findings

        def load() -> None:
            with (folder / "bindings.yaml").open(encoding="utf-8") as stream:
                yaml.safe_load(stream)

        result = paired(plan, load, rounds=5, clock=time.process_time)
    detail = result.detail("build_plan", "yaml.safe_load")
    return [
        Row("plan of 2,000 ranks against yaml.safe_load of the file", result.ratio, TARGET, detail=detail)
    ]


def _bindings() -> str:
    """Entries as people write them, in block style: about 200 kB."""
    lines = ["rank_bindings:"]
    for rank in range(RANKS):
        mesh, host = divmod(rank, HOSTS_OF_A_MESH)
        lines += [
            f"  - rank: {rank}",
            f"    mesh_id: {mesh}",
            f"    mesh_host_rank: {host}",
            "    env_overrides:",
        ]
        lines.append(f'      TT_VISIBLE_DEVICES: "{2 * host},{2 * host + 1}"')
    return "\n".join(
        [*lines, "global_env:", "  TT_LOGGER_LEVEL: Info", "mesh_graph_desc_path: system.textproto", ""]
    )


def _descriptor(meshes: int) -> str:
    """A chain of 4x4 meshes over 2x2 hosts each."""
    mesh = 'mesh { mesh_descriptor: "M" mesh_id: %d }'
    lines = ['mesh_descriptors {\n  name: "M"\n  arch: WORMHOLE_B0\n  device_topology { dims: [4, 4] }']
    lines += ["  host_topology { dims: [2, 2] }\n  channels { count: 2 policy: RELAXED }\n}"]
    lines += ['graph_descriptors {\n  name: "G"\n  type: "FABRIC"']
    lines += [f"  instances {{ {mesh % number} }}" for number in range(meshes)]
    for number in range(meshes - 1):
        ends = " ".join(f"nodes {{ {mesh % end} }}" for end in (number, number + 1))
        lines.append(f"  connections {{ {ends} channels {{ count: 2 policy: RELAXED }} }}")
    return "\n".join([*lines, '}\ntop_level_instance { graph { graph_descriptor: "G" graph_id: 0 } }', ""])
