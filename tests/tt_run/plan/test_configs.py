"""The files that ship with the project make plans without a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgd.resources import configs_root
from tests.tt_run.sandbox import Sandbox

ROOT = configs_root()
BINDINGS = sorted((ROOT / "bindings").glob("**/*.yaml"))
RANKFILES = {2: "two_hosts.txt", 4: "two_hosts_two_ranks_each.txt"}


def relative(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def is_mapping(path: str) -> bool:
    return "subcontext_id_to_rank_bindings" in (ROOT / path).read_text()


@pytest.mark.parametrize("path", relative(BINDINGS))
def test_bindings(sandbox: Sandbox, path: str) -> None:
    """Emulated on one machine, where ranks of several hosts may use the same device numbers (notes)."""
    field = "rank_bindings_mapping" if is_mapping(path) else "rank_binding"
    plan = sandbox.plan(emulate=True, **{field: str(ROOT / path)})
    assert [finding for finding in plan.findings if finding.severity.value != "note"] == []
    assert all(rank.devices for rank in plan.ranks)


@pytest.mark.parametrize(("count", "name"), RANKFILES.items())
def test_rankfiles(sandbox: Sandbox, count: int, name: str) -> None:
    binding = {2: "t3k_2x4_two_hosts.yaml", 4: "t3k_2x4_four_hosts.yaml"}[count]
    words = f"--rankfile {ROOT / 'rankfiles' / name}"
    plan = sandbox.plan(rank_binding=str(ROOT / "bindings" / binding), mpi_args=words)
    assert plan.findings == ()
    assert {rank.host for rank in plan.ranks} == {"host1", "host2"}


def test_hostfile(sandbox: Sandbox) -> None:
    words = f"--hostfile {ROOT / 'hosts/two_loudboxes.txt'}"
    plan = sandbox.plan(rank_binding=str(ROOT / "bindings/t3k_2x4_two_hosts.yaml"), mpi_args=words)
    assert plan.findings == ()
    assert [rank.host for rank in plan.ranks] == ["loudbox-01", "loudbox-02"]
    five = sandbox.plan(
        rank_binding=str(ROOT / "bindings/t3k_2x4_two_hosts.yaml"),
        mpi_args=f"--hostfile {ROOT / 'hosts/five_loudboxes.txt'}",
    )
    assert sum(host.slots for host in five.placement.hosts) == 5


@pytest.mark.parametrize("hosts", ["two", "four"])
def test_mock_mappings(sandbox: Sandbox, hosts: str) -> None:
    plan = sandbox.plan(
        rank_binding=str(ROOT / f"bindings/t3k_2x4_{hosts}_hosts.yaml"),
        mock_cluster_rank_binding=str(ROOT / f"mock/t3000_{hosts}_ranks.yaml"),
    )
    assert plan.findings == ()
    described = {rank.env["TT_METAL_MOCK_CLUSTER_DESC_PATH"].value for rank in plan.ranks}
    assert described == {str(ROOT / "mock/t3000.yaml")}


@pytest.mark.parametrize(
    ("descriptor", "machine", "visible"),
    [
        ("t3k_2x4_two_hosts", "t3000", ["0,1", "2,3"]),
        ("t3k_mesh_graph_descriptor", "t3000", ["0,1,2,3"]),
        ("n300_mesh_graph_descriptor", "n300", ["0"]),
    ],
)
def test_allocation_on_a_described_machine(
    sandbox: Sandbox, descriptor: str, machine: str, visible: list[str]
) -> None:
    plan = sandbox.plan(
        mesh_graph_descriptor=str(ROOT / f"mgd/{descriptor}.textproto"),
        mock_cluster_rank_binding=str(ROOT / f"mock/{machine}.yaml"),
    )
    assert [rank.env["TT_VISIBLE_DEVICES"].value for rank in plan.ranks] == visible
    assert [rank.env["TT_VISIBLE_DEVICES"].origin for rank in plan.ranks] == [
        "placement on the mock cluster"
    ] * len(visible)
    assert plan.findings == ()
    assert "phase2_mock_mapping.yaml" in {file.path.name for file in plan.generated_files}
