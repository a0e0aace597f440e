"""Ranks of an allocation that are tied to hosts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mgd.resources import configs_root
from tests.tt_run.sandbox import Sandbox, codes, only, places
from tt_run.errors import InputError, RefusedError, UsageError
from tt_run.launch.rankfile import choose_rankfile

THREE_MESHES = """\
mesh_descriptors {
  name: "M0"
  arch: WORMHOLE_B0
  device_topology { dims: [2, 2] }
  host_topology { dims: [1, 1] }
  channels { count: 2 policy: RELAXED }
}
graph_descriptors {
  name: "G0"
  type: "FABRIC"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
  instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
  instances { mesh { mesh_descriptor: "M0" mesh_id: 2 } }
  graph_topology { layout_type: ALL_TO_ALL channels { count: 1 policy: RELAXED } }
}
top_level_instance { graph { graph_descriptor: "G0" graph_id: 0 } }
"""


@pytest.fixture
def pinned(sandbox: Sandbox) -> Sandbox:
    """Three meshes of one host each; `pins` writes what is tied."""
    sandbox.write("meshes.textproto", THREE_MESHES)
    return sandbox


def pins(sandbox: Sandbox, *entries: str) -> None:
    sandbox.write("pins.yaml", "rank_pinnings:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries))


def request(**more: object) -> dict[str, object]:
    named = {"mesh_graph_descriptor": "meshes.textproto", "hosts": "a,b,c", "rank_pinning_file": "pins.yaml"}
    return {**named, **more}


def test_pinned_ranks_go_first_and_the_others_fill_the_rest(pinned: Sandbox) -> None:
    pins(pinned, "rank: 0, host: c", "mesh_id: 2, mesh_host_rank: 0, host: b, env_overrides: {COLOUR: red}")
    plan = pinned.plan(**request())
    assert [rank.host for rank in plan.ranks] == ["c", "a", "b"]
    assert plan.ranks[0].why == "host block 0 of mesh 0 is pinned to c (pins.yaml:2:5)"
    assert plan.ranks[2].env["COLOUR"].value == "red" and "COLOUR" not in plan.ranks[1].env
    texts = {file.path.name: file.text for file in plan.generated_files}
    assert texts["rankfile"] == "rank 0=c slot=0\nrank 1=a slot=0\nrank 2=b slot=0\n"
    assert 'COLOUR: "red"' in texts["rank_bindings.yaml"]


def test_mpirun_is_given_a_rankfile(pinned: Sandbox) -> None:
    pins(pinned, "rank: 0, host: c")
    plan = pinned.plan(**request())
    used = choose_rankfile(plan, Path("/run"))
    assert used is not None and used.path == Path("/run/rankfile")
    assert used.text == "rank 0=c slot=0\nrank 1=a slot=0\nrank 2=b slot=0\n"
    assert plan.placement.source == "--hosts and rank pins"
    assert plan.placement.rankfile == pinned.cwd / "pins.yaml"


def test_two_ranks_may_share_a_host_with_slots(pinned: Sandbox) -> None:
    pins(pinned, "rank: 0, host: b", "rank: 2, host: b")
    plan = pinned.plan(**request(hosts="a:1,b:2"))
    assert [(rank.host, rank.slot) for rank in plan.ranks] == [("b", "0"), ("a", "0"), ("b", "1")]


def test_without_pins_nothing_changes(pinned: Sandbox) -> None:
    pins(pinned, "rank: 0, host: a")
    free = pinned.plan(**request(rank_pinning_file=None))
    kept = pinned.plan(**request())
    assert [rank.host for rank in free.ranks] == [rank.host for rank in kept.ranks] == ["a", "b", "c"]
    assert free.placement.rankfile is None
    assert free.generated_files[0].path.parent != kept.generated_files[0].path.parent  # other inputs


@pytest.mark.parametrize(
    ("entries", "code", "at"),
    [
        (["rank: 3, host: a"], "TTR121", ["pins.yaml:2:5"]),
        (["mesh_id: 7, mesh_host_rank: 0, host: a"], "TTR121", ["pins.yaml:2:5"]),
        (["rank: 0, host: d"], "TTR121", ["pins.yaml:2:21"]),
        (
            ["rank: 1, host: a", "mesh_id: 1, mesh_host_rank: 0, host: b"],
            "TTR122",
            ["pins.yaml:3:5", "pins.yaml:2:5"],
        ),
        (["host: a"], "TTR105", ["pins.yaml:2:5"]),
        (["rank: 1"], "TTR105", ["pins.yaml:2:5"]),
        (["rank: 1, mesh_id: 1, host: a"], "TTR105", ["pins.yaml:2:5"]),
        (["rank: x, host: a"], "TTR104", ["pins.yaml:2:12"]),
        (["rank: 1, hots: a"], "TTR105", ["pins.yaml:2:15"]),
    ],
)
def test_a_pin_that_means_nothing(pinned: Sandbox, entries: list[str], code: str, at: list[str]) -> None:
    pins(pinned, *entries)
    found = pinned.refusal(**request())
    assert [
        place.rpartition("/")[2] for place in places(next(each for each in found if each.code == code))
    ] == at


@pytest.mark.parametrize(
    ("entry", "helped"),
    [
        ("mesh_id: 0, mesh_host_rank: 0, host: a", "with several descriptors mesh ids repeat: write rank: N"),
        ("rank: 7, host: a", "name one of them"),
    ],
)
def test_with_several_descriptors_a_mesh_id_pins_nothing(sandbox: Sandbox, entry: str, helped: str) -> None:
    listed = "".join(f"  {i}: {configs_root()}/mgd/n300_mesh_graph_descriptor.textproto\n" for i in range(2))
    sandbox.write("map.yaml", f"subcontext_id_to_mesh_graph_descriptor:\n{listed}")
    pins(sandbox, entry)
    several = {"mesh_graph_descriptor": None, "mesh_graph_descriptor_mapping": "map.yaml", "hosts": "a,b"}
    assert only(sandbox.refusal(**request(**several)), "TTR121").help == helped


def test_a_mesh_that_is_not_there_is_answered_with_the_ranks(pinned: Sandbox) -> None:
    pins(pinned, "mesh_id: 7, mesh_host_rank: 0, host: a")
    assert only(pinned.refusal(**request()), "TTR121").help == "name one of them"


def test_more_pins_than_slots(pinned: Sandbox) -> None:
    pins(pinned, "rank: 0, host: a", "rank: 1, host: a")
    finding = only(pinned.refusal(RefusedError, **request()), "TTR183")
    assert "2 ranks are pinned to a, --hosts gives it 1 slot" in finding.message
    assert len(finding.labels) == 2


def test_a_mesh_over_several_hosts_is_not_pinned(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    pins(sandbox, "rank: 1, host: a")
    found = sandbox.refusal(InputError, **request(mesh_graph_descriptor="mesh.textproto"))
    assert codes(found) == ["TTR123"]


@pytest.mark.parametrize(
    "change", [{"hosts": None}, {"mesh_graph_descriptor": None, "rank_binding": "rb.yaml"}]
)
def test_pins_need_an_allocation(pinned: Sandbox, change: dict[str, object]) -> None:
    pinned.two_ranks()
    assert "TTR016" in codes(pinned.refusal(UsageError, **request(emulate=True, **change)))


def test_pins_on_described_machines(pinned: Sandbox) -> None:
    """Two T3000 of one kind, each with room for two of the meshes."""
    one = (configs_root() / "mock/t3000.yaml").read_text()
    pinned.write("m0.yaml", one)
    pinned.write("m1.yaml", re.sub(r"\b300(\d)\b", r"400\1", one))
    pinned.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: m0.yaml, 1: m1.yaml}\n")
    pinned.write(
        "meshes.textproto",
        THREE_MESHES.replace(
            "graph_topology { layout_type: ALL_TO_ALL channels { count: 1 policy: RELAXED } }", ""
        ),
    )
    asked = request(hosts=None, mock_cluster_rank_binding="mock.yaml")
    free = pinned.plan(**{**asked, "rank_pinning_file": None})
    assert free.placed is not None
    first, second = free.placed.physical.hosts
    assert [mesh.host_of(0) for mesh in free.placed.meshes] == [first, first, second]
    pins(pinned, f"rank: 0, host: {second}", f"rank: 2, host: {first}")
    kept = pinned.plan(**asked)
    assert kept.placed is not None
    assert [mesh.host_of(0) for mesh in kept.placed.meshes][::2] == [second, first]
    pins(pinned, *(f"rank: {rank}, host: {first}" for rank in range(3)))
    finding = pinned.refusal(RefusedError, **asked)[0]
    assert finding.code == "TTR175" and f"were not pinned to {first}" in finding.message


CABLE = (
    "connections { nodes { mesh { mesh_descriptor: 'M0' mesh_id: 0 } } nodes { mesh { mesh_descriptor: 'M0' mesh_id: 1 } } "
    "channels { count: 1 policy: STRICT } }"
)


def test_a_group_takes_its_places_in_an_order_that_fits(pinned: Sandbox) -> None:
    """Written in turn, the two meshes that are cabled to each other would come to lie on machines that are not."""
    one = (configs_root() / "mock/t3000.yaml").read_text()
    pinned.write("m0.yaml", one)
    pinned.write("m1.yaml", re.sub(r"\b300(\d)\b", r"400\1", one))
    pinned.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: m0.yaml, 1: m1.yaml}\n")
    everybody = "graph_topology { layout_type: ALL_TO_ALL channels { count: 1 policy: RELAXED } }"
    pinned.write("meshes.textproto", THREE_MESHES.replace(everybody, CABLE))
    asked = request(hosts=None, mock_cluster_rank_binding="mock.yaml")
    free = pinned.plan(**{**asked, "rank_pinning_file": None})
    assert free.placed is not None
    first, second = free.placed.physical.hosts
    ranks = ", ".join(f"{{mesh_id: {number}, mesh_host_rank: 0}}" for number in range(3))
    offered = ((first, "0,1"), (second, "0,1"), (first, "2,3"))
    places = ", ".join(f'{{hostname: {host}, TT_VISIBLE_DEVICES: "{seen}"}}' for host, seen in offered)
    group = f"mesh_host_pinnings: [{{mesh_host_ranks: [{ranks}], host_placements: [{places}]}}]\n"
    pinned.write("pins.yaml", group)
    plan = pinned.plan(**asked)
    assert plan.placed is not None
    assert [mesh.host_of(0) for mesh in plan.placed.meshes] == [first, first, second]
    pinned.write("pins.yaml", group.replace(first, second))
    assert pinned.refusal(RefusedError, **asked)[0].code.startswith("TTR17")


GROUP = """\
mesh_host_pinnings:
  - mesh_host_ranks:
      - {mesh_id: 0, mesh_host_rank: 0}
      - {mesh_id: 2, mesh_host_rank: 0}
    host_placements:
      - {hostname: elsewhere, TT_VISIBLE_DEVICES: "0"}
      - {hostname: c, TT_VISIBLE_DEVICES: "0,1"}
      - {hostname: b, TT_VISIBLE_DEVICES: "2,3"}
"""


def test_groups_of_the_newer_form(pinned: Sandbox) -> None:
    """Host ranks take places on the hosts of the launch, in written order; what is left over stays free."""
    pinned.write("pins.yaml", GROUP)
    plan = pinned.plan(**request())
    assert [rank.host for rank in plan.ranks] == ["c", "a", "b"]
    visible = [rank.env.get("TT_VISIBLE_DEVICES") for rank in plan.ranks]
    assert [each and each.value for each in visible] == ["0,1", None, "2,3"]
    assert visible[0] is not None and visible[0].origin.startswith("host_placements (pins.yaml:7:")


def test_a_mesh_of_several_hosts_can_be_pinned_whole(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    ranks = ", ".join(f"{{mesh_id: 0, mesh_host_rank: {number}}}" for number in (0, 1))
    places = ", ".join(f'{{hostname: {host}, TT_VISIBLE_DEVICES: "0,1"}}' for host in ("b", "a"))
    group = f"mesh_host_pinnings: [{{mesh_host_ranks: [{ranks}], host_placements: [{places}]}}]\n"
    sandbox.write("pins.yaml", group)
    plan = sandbox.plan(**request(mesh_graph_descriptor="mesh.textproto", hosts="a,b"))
    assert [rank.host for rank in plan.ranks] == ["b", "a"]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (
            '      - {hostname: elsewhere, TT_VISIBLE_DEVICES: "0"}\n      - {hostname: c',
            "      - {hostname: c",
            None,
        ),
        ('      - {hostname: b, TT_VISIBLE_DEVICES: "2,3"}\n      ', "", None),
        ("hostname: c, ", "", "TTR105"),
        ("mesh_id: 2, ", "", "TTR105"),
        ("mesh_id: 2", "mesh_id: 9", "TTR121"),
        ("mesh_id: 2", "mesh_id: 0", "TTR122"),
        ("hostname: c", "host: c", "TTR105"),
        ("mesh_id: 2", "mesh_id: two", "TTR104"),
    ],
)
def test_what_a_group_may_not_say(pinned: Sandbox, old: str, new: str, code: str | None) -> None:
    pinned.write("pins.yaml", GROUP.replace(old, new))
    if code is None:
        assert pinned.plan(**request()).ranks[0].host == "c"
    else:
        assert code in codes(pinned.refusal(InputError, **request()))


def test_more_host_ranks_than_places(pinned: Sandbox) -> None:
    lines = GROUP.splitlines(keepends=True)
    pinned.write("pins.yaml", "".join(lines[:6]))
    finding = only(pinned.refusal(InputError, **request()), "TTR125")
    assert "2 host ranks and 1 place" in finding.message
    assert finding.position is not None and finding.position.line == 6


def test_more_ranks_than_a_host_has_slots_for(pinned: Sandbox) -> None:
    last = '  instances { mesh { mesh_descriptor: "M0" mesh_id: 2 } }\n'
    more = "".join(last.replace("mesh_id: 2", f"mesh_id: {number}") for number in range(3, 7))
    pinned.write("meshes.textproto", THREE_MESHES.replace(last, last + more))
    pins(pinned, *(f"rank: {rank}, host: a" for rank in range(7)))
    found = only(pinned.refusal(RefusedError, **request(hosts="a:6,b:6")), "TTR183")
    assert found.message == "7 ranks are pinned to a, --hosts gives it 6 slots"
    assert found.help == "give it more: --hosts a:7"
    assert [label.text for label in found.labels] == ["rank 6 here", *(f"rank {n} there" for n in range(4))]


def test_hosts_that_a_pin_may_name_are_told(pinned: Sandbox) -> None:
    for count, more in ((8, ""), (9, ", …")):
        pins(pinned, "rank: 0, host: z")
        hosts = [f"h{n}" for n in range(count)]
        found = only(pinned.refusal(InputError, **request(hosts=",".join(hosts))), "TTR121")
        assert [label.text for label in found.labels] == [f"the hosts are {', '.join(hosts[:8])}{more}"]


def test_every_pin_that_means_nothing_is_told(pinned: Sandbox) -> None:
    pins(pinned, "rank: 3, host: a", "rank: 1, host: z", "mesh_id: 9, mesh_host_rank: 0, host: b")
    found = [each.message for each in pinned.refusal(InputError, **request()) if each.code == "TTR121"]
    assert found == [
        "rank 3 does not exist",
        "rank 1 is pinned to z, which is none of the hosts",
        "mesh 9, host rank 0 does not exist",
    ]
