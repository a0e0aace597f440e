"""Rank-binding files."""

from __future__ import annotations

import pytest

from tests.tt_run.sandbox import TWO_RANKS, Sandbox, codes, only, places
from tt_run.inputs.bindings import RankBindings, read_rank_bindings


def read(sandbox: Sandbox, text: str) -> RankBindings | None:
    sandbox.write("mesh.textproto", "stub")
    return read_rank_bindings(sandbox.write("rb.yaml", text), sandbox.search, sandbox.findings)


def one_rank(extra: str) -> str:
    return f"rank_bindings:\n  - {{rank: 0, mesh_id: 0{extra}}}\nmesh_graph_desc_path: mesh.textproto\n"


def test_everything_that_a_binding_says(sandbox: Sandbox) -> None:
    bindings = read(sandbox, TWO_RANKS + "global_env: {TT_LOGGER_LEVEL: Debug}\n")
    assert bindings is not None
    second = bindings.bindings[1]
    assert (second.rank, second.mesh_id, second.mesh_host_rank) == (1, 0, 1)
    assert second.env["TT_VISIBLE_DEVICES"].value == "2,3"
    assert str(second.env["TT_VISIBLE_DEVICES"].position) == "rb.yaml:11:7"
    assert str(second.mesh_id_position) == "rb.yaml:8:14"
    assert bindings.global_env["TT_LOGGER_LEVEL"].value == "Debug"
    assert bindings.descriptor == sandbox.cwd / "mesh.textproto"
    assert not sandbox.findings.judged


def test_ranks_come_in_order_whatever_the_file_says(sandbox: Sandbox) -> None:
    bindings = read(
        sandbox,
        "rank_bindings: [{rank: 2, mesh_id: 2}, {rank: 0, mesh_id: 0}, {rank: 1, mesh_id: 1}]\n"
        "mesh_graph_desc_path: mesh.textproto\n",
    )
    assert bindings is not None
    assert [(each.rank, each.mesh_id) for each in bindings.bindings] == [(0, 0), (1, 1), (2, 2)]


def test_a_rank_twice_and_a_gap_are_told_together(sandbox: Sandbox) -> None:
    text = "rank_bindings:\n" + "".join(f"  - {{rank: {r}, mesh_id: 0}}\n" for r in (0, 0, 3))
    assert read(sandbox, text + "mesh_graph_desc_path: mesh.textproto\n") is None
    assert places(only(sandbox.findings.broken, "TTR110")) == ["rb.yaml:3:12", "rb.yaml:2:12"]
    gap = only(sandbox.findings.broken, "TTR111")
    assert gap.message == "Ranks must be contiguous from 0 to 1; missing: 1..2"
    assert [label.text for label in gap.labels] == ["rank 3 is bound, 2 is not"]
    assert gap.help == "bind rank 1, or renumber the ranks after it"


def test_a_rank_with_the_number_of_another_is_one_mistake(sandbox: Sandbox) -> None:
    text = "rank_bindings:\n" + "".join(f"  - {{rank: {r}, mesh_id: 0}}\n" for r in (1, 1, 2))
    assert read(sandbox, text + "mesh_graph_desc_path: mesh.textproto\n") is None
    assert codes(sandbox.findings.broken) == ["TTR110"]


def test_a_key_that_is_mistyped_is_one_mistake(sandbox: Sandbox) -> None:
    text = "rank_bindings:\n  - {rank: 0, mesh_ids: 0}\nmesh_graph_desc_path: mesh.textproto\n"
    assert read(sandbox, text) is None
    finding = only(sandbox.findings.broken, "TTR105")
    assert (places(finding), finding.help) == (["rb.yaml:2:15"], "write 'mesh_id'")
    assert not sandbox.findings.judged


def test_several_gaps_are_told_in_order(sandbox: Sandbox) -> None:
    text = "rank_bindings:\n" + "".join(f"  - {{rank: {r}, mesh_id: 0}}\n" for r in (1, 3, 6))
    assert read(sandbox, text + "mesh_graph_desc_path: mesh.textproto\n") is None
    gap = only(sandbox.findings.broken, "TTR111")
    assert gap.message == "Ranks must be contiguous from 0 to 2; missing: 0, 2, 4..5"
    assert [label.text for label in gap.labels] == ["rank 1 is bound, 0 is not"]
    assert places(gap) == ["rb.yaml:2:12"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "TTR104"),
        ("- a\n- b\n", "TTR104"),
        ("rank_bindings: []\nmesh_graph_desc_path: mesh.textproto\n", "TTR109"),
        ("rank_bindings: {}\nmesh_graph_desc_path: mesh.textproto\n", "TTR104"),
        ("mesh_graph_desc_path: mesh.textproto\n", "TTR105"),
        ("rank_bindings: [{rank: 0, mesh_id: 0}]\n", "TTR105"),
        ("rank_bindings: [{rank: 0}]\nmesh_graph_desc_path: mesh.textproto\n", "TTR105"),
        ("rank_bindings: [0]\nmesh_graph_desc_path: mesh.textproto\n", "TTR104"),
        ("rank_bindings: [{rank: 0, mesh_id: 0}]\nmesh_graph_desc_path: absent.textproto\n", "TTR101"),
        ("rank_bindings: [{rank: 0, mesh_id: 0}]\nmesh_graph_desc_path: ''\n", "TTR104"),
        (one_rank(", mesh_host_rank: -1"), "TTR104"),
        (one_rank(", subcontext_size: 0"), "TTR104"),
        (one_rank(", env_overrides: "), "TTR104"),
        (one_rank(", env_overrides: {A: true}"), "TTR104"),
        (one_rank(", env_overrides: {A: [b]}"), "TTR104"),
        (one_rank(", env_overrides: {1: b}"), "TTR104"),
        (one_rank(', env_overrides: {A: "a\\0b"}'), "TTR117"),
        (one_rank(", mesh_graph_desc_path: absent.textproto"), "TTR101"),
    ],
)
def test_what_cannot_be_understood(sandbox: Sandbox, text: str, code: str) -> None:
    assert read(sandbox, text) is None
    finding = only(sandbox.findings.broken, code)
    assert finding.position is not None and finding.position.file == "rb.yaml"


def test_all_problems_of_a_file_are_told_at_once(sandbox: Sandbox) -> None:
    text = (
        "rank_bindings:\n  - {rank: x, mesh_id: 0}\n  - {rank: 1, mesh_id: -2, envs: {}}\nglobal_env: [a]\n"
    )
    assert read(sandbox, text) is None
    assert codes(sandbox.findings.broken) == ["TTR104", "TTR104", "TTR105", "TTR104"]
    assert codes(sandbox.findings.judged) == ["TTR106"]


@pytest.mark.parametrize("key", ["mesh_host_rank", "subcontext_id", "mesh_graph_desc_path"])
def test_null_means_not_given(sandbox: Sandbox, key: str) -> None:
    bindings = read(sandbox, one_rank(f", {key}: ~"))
    assert bindings is not None
    assert bindings.bindings[0].mesh_host_rank is None and bindings.bindings[0].descriptor is None


@pytest.mark.parametrize(
    ("name", "why", "kept"),
    [
        ("A B", "holds a blank", ["A B"]),
        (" ", "is blank", [" "]),
        ("", "is empty", []),
        ("A=B", "holds '='", ["A"]),
        ("=B", "holds '='", []),
    ],
)
def test_names_that_no_variable_can_have(sandbox: Sandbox, name: str, why: str, kept: list[str]) -> None:
    """An error in any case; without the check, what a system would make of NAME=VALUE."""
    bindings = read(sandbox, one_rank(f', env_overrides: {{"{name}": c}}'))
    assert bindings is not None
    finding = only(sandbox.findings.judged, "TTR117")
    assert finding.is_error and finding.labels[0].text == f"the name {why}"
    assert list(bindings.bindings[0].env) == kept


@pytest.mark.parametrize(
    ("name", "known", "value"), [("A B", "A B", "c"), ("A=B", "A", "B=c"), ("A=", "A", "=c")]
)
def test_an_odd_name_means_what_mpirun_makes_of_it(
    sandbox: Sandbox, name: str, known: str, value: str
) -> None:
    bindings = read(sandbox, one_rank(f', env_overrides: {{"{name}": c}}'))
    assert bindings is not None
    assert {key: setting.value for key, setting in bindings.bindings[0].env.items()} == {known: value}


def test_descriptors_of_a_mock_cluster_in_the_binding_file_cover_every_rank(sandbox: Sandbox) -> None:
    text = TWO_RANKS + "mock_cluster_rank_binding: {0: a.yaml, 7: b.yaml}\n"
    assert read(sandbox, text) is None
    assert places(only(sandbox.findings.broken, "TTR114")) == ["rb.yaml:13:1", "rb.yaml:7:11"]
    whole = read(sandbox, text.replace("7: b", "7: c, 1: b"))
    assert whole is not None
    assert whole.mock == {0: "a.yaml", 1: "b.yaml"}


def test_a_descriptor_beside_the_binding_file_is_found(sandbox: Sandbox) -> None:
    sandbox.write("sub/near.textproto", "stub")
    text = "rank_bindings: [{rank: 0, mesh_id: 0}]\nmesh_graph_desc_path: near.textproto\n"
    bindings = read_rank_bindings(sandbox.write("sub/rb.yaml", text), sandbox.search, sandbox.findings)
    assert bindings is not None
    assert bindings.descriptor == sandbox.cwd / "sub/near.textproto"


def test_a_rank_may_have_its_own_descriptor(sandbox: Sandbox) -> None:
    sandbox.write("own.textproto", "stub")
    bindings = read(sandbox, one_rank(", mesh_graph_desc_path: own.textproto"))
    assert bindings is not None
    assert bindings.descriptor_of(bindings.bindings[0]) == sandbox.cwd / "own.textproto"
    without = read(sandbox, one_rank(', mesh_graph_desc_path: ""'))
    assert without is not None
    assert without.descriptor_of(without.bindings[0]) == sandbox.cwd / "mesh.textproto"


def test_a_mistyped_rank_may_be_huge(sandbox: Sandbox) -> None:
    text = "rank_bindings: [{rank: 0, mesh_id: 0}, {rank: 99999999999999999999, mesh_id: 0}]\n"
    assert read(sandbox, text + "mesh_graph_desc_path: mesh.textproto\n") is None
    assert only(sandbox.findings.broken, "TTR111").message.endswith("missing: 1..99999999999999999998")
