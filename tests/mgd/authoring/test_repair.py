"""`mgd fix`: every fixable rule is repaired, nothing else is touched, and the meaning stays."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mgd
from mgd.authoring.compare import differences
from mgd.authoring.repair import _touch, repair, repaired_codes
from mgd.errors import ParseError
from mgd.rules import all_rules
from mgd.systems import System
from tests.examples import examples
from tests.mgd.authoring.texts import SMALL, comments, text_of, untidy
from tests.mgd.fixtures import EACH_SYSTEM

MESH = """mesh_descriptors {
  name: "M0"
  arch: BLACKHOLE
  device_topology { dims: [2, 4] }
  host_topology { dims: [1, 1] }  # one host
  channels { count: 2 policy: RELAXED }
}
"""
PAIR = """graph_descriptors {
  name: "G0"
  type: "FABRIC"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
  instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
  connections { nodes { mesh { mesh_descriptor: "M0" mesh_id: 0 } } nodes { mesh { mesh_descriptor: "M0" mesh_id: 1 } } channels { count: 4 } }
}
top_level_instance { graph { graph_descriptor: "G0" graph_id: 0 } }
"""
LONE = 'top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }\n'
LINK = PAIR.splitlines()[5]


def connected(*links: str) -> str:
    return MESH + PAIR.replace(LINK, "\n".join(f"  {link}" for link in links))


def link(a: str, b: str, rest: str) -> str:
    nodes = " ".join(f'nodes {{ mesh {{ mesh_descriptor: "M0" {end} }} }}' for end in (a, b))
    return f"connections {{ {nodes} {rest} }}"


def listed(*channels: str) -> str:
    """Links of two meshes in one list."""
    links = (link("mesh_id: 0", "mesh_id: 1", each).removeprefix("connections ") for each in channels)
    return connected(f"connections [{', '.join(links)}]")


def between(*channels: str) -> str:
    """Links of the same two devices."""
    return connected(*(link("mesh_id: 0 device_id: 3", "mesh_id: 1 device_id: 0", each) for each in channels))


# code, text before, text after
CASES = [
    (
        "MGD023",
        MESH + PAIR.replace("channels { count: 4 }", "channels { count: 4 } directional: true"),
        MESH + PAIR.replace("channels { count: 4 }", "channels { count: 4 } "),
    ),
    (
        "MGD062",
        MESH + LONE + "pinnings { logical_fabric_node_id [{ chip_id: 1 }, { chip_id: 1 }, { chip_id: 0 }] "
        "physical_asic_position: [{ tray_id: 1 }, { tray_id: 2 }] }\n",
        MESH + LONE + "pinnings { logical_fabric_node_id [{ chip_id: 1 }, { chip_id: 0 }] "
        "physical_asic_position: [{ tray_id: 1 }, { tray_id: 2 }] }\n",
    ),
    (
        "MGD066",
        connected(
            link("mesh_id: 0", "mesh_id: 1", "channels { count: 2 }"),
            link("mesh_id: 1", "mesh_id: 0", "channels { count: 4 }"),
        ),
        connected(link("mesh_id: 1", "mesh_id: 0", "channels { count: 4 }")),
    ),
    (
        "MGD066",
        connected(
            link("mesh_id: 0 device_id: 3", "mesh_id: 1 device_id: 0", "channels { count: 1 }"),
            link("mesh_id: 1 device_id: 0", "mesh_id: 0 device_id: 3", "channels { count: 1 }"),
        ),
        connected(link("mesh_id: 0 device_id: 3", "mesh_id: 1 device_id: 0", "channels { count: 2 }")),
    ),
    (
        "MGD067",
        MESH + LONE.replace("mesh_id: 0", "mesh_id: 0 device_id: 3"),
        MESH + LONE.replace("0 }", "0 }"),
    ),
    (
        "MGD070",
        MESH.replace("[2, 4]", "[2, 4] dim_types: [RING, LINE]") + LONE,
        MESH.replace("[2, 4]", "[2, 4] dim_types: [LINE, LINE]") + LONE,
    ),
    (
        "MGD070",
        MESH.replace("[2, 4]", "[2, 4] dim_types: 2 dim_types: RING") + LONE,
        MESH.replace("[2, 4]", "[2, 4] dim_types: LINE dim_types: RING") + LONE,
    ),
    ("MGD109", MESH.replace("  channels", "  chanels") + LONE, MESH + LONE),
    ("MGD109", "zzzzz: 3\n" + MESH + LONE, MESH + LONE),
    ("MGD109", MESH.replace("name:", "Name: 3\n  name:") + LONE, MESH + LONE),
    (
        "MGD113",
        MESH.replace("[2, 4]", "[2, 4] types: [LINE, RING]") + LONE,
        MESH.replace("[2, 4]", "[2, 4] dim_types: [LINE, RING]") + LONE,
    ),
    ("MGD113", MESH.replace("name:", "id:") + LONE, MESH + LONE),
    (
        "MGD113",
        MESH + PAIR.replace(f"{LINK}\n", "  graph_topology { layout_type: RING }\n  channels { count: 3 }\n"),
        MESH + PAIR.replace(f"{LINK}\n", "  graph_topology { layout_type: RING  channels { count: 3 } }\n"),
    ),
    (
        "MGD113",
        MESH
        + PAIR.replace(
            f"{LINK}\n",
            "  graph_topology { layout_type: RING channels { count: 2 } }\n  channels { count: 3 }\n",
        ),
        MESH + PAIR.replace(f"{LINK}\n", "  graph_topology { layout_type: RING channels { count: 2 } }\n"),
    ),
    ("MGD113", MESH + PAIR.replace("  type:", "  channels { count: 3 }\n  type:"), MESH + PAIR),
    ("MGD066", listed("channels { count: 2 }", "channels { count: 4 }"), listed("channels { count: 4 }")),
    (
        "MGD066",
        between("channels { count: 0x1 }", "channels { count: 0X1 }"),
        between("channels { count: 2 }"),
    ),
]


@pytest.mark.parametrize(
    ("code", "before", "after"), CASES, ids=[f"{case[0]}-{n}" for n, case in enumerate(CASES)]
)
def test_the_repair_of_a_rule(code: str, before: str, after: str) -> None:
    assert code in {each.code for each in mgd.check(mgd.loads(before))}
    done = repair(before)
    assert [line.split() for line in done.text.splitlines()] == [line.split() for line in after.splitlines()]
    assert {each.code for each in done.done} == {code}
    assert not _fixable(done.text)
    assert comments(done.text) == comments(before)


def test_every_rule_that_claims_a_repair_has_one_and_is_tested() -> None:
    claimed = {rule.code for rule in all_rules().values() if rule.fixable}
    assert claimed == set(repaired_codes()) == {code for code, _, _ in CASES}


def test_a_nested_reference_of_the_old_schema_moves_into_sub_ref() -> None:
    old = 'nodes { graph { graph_descriptor: "P" graph_id: 0 mesh { mesh_descriptor: "M0" mesh_id: 1 } } }'
    text = MESH + (
        'graph_descriptors { name: "P" type: "POD" instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } } '
        'instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } } }\n'
        'graph_descriptors { name: "C" type: "CLUSTER" instances { graph { graph_descriptor: "P" graph_id: 0 } } '
        f'instances {{ graph {{ graph_descriptor: "P" graph_id: 1 }} }} connections {{ {old} '
        f"{old.replace('graph_id: 0', 'graph_id: 1')} channels {{ count: 1 }} }} }}\n"
        'top_level_instance { graph { graph_descriptor: "C" graph_id: 0 } }\n'
    )
    fixed = repair(text).text
    assert not _fixable(fixed)
    ends = mgd.expand(mgd.loads(fixed)).connections[0].nodes
    assert [str(node) for node in ends] == ["C(0)/P(0)/M0(1)", "C(0)/P(1)/M0(1)"]


@pytest.mark.parametrize("system", EACH_SYSTEM)
def test_a_shipped_text_needs_no_repair(system: System) -> None:
    done = repair(text_of(system))
    assert done.text == text_of(system) and not done.done


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mistakes_put_into_any_layout_are_taken_out_again(data: st.DataObject) -> None:
    system = data.draw(st.sampled_from(SMALL))
    tidy = text_of(system)
    mistakes = [
        ("top_level_instance {", "nonsense_field { a: [1, 2] } top_level_instance {"),
        ("mesh_id: 0 }", "mesh_id: 0 device_id: 0 }"),
        ("  arch:", "  types_of_things: 3\n  arch:"),
    ]
    chosen = data.draw(st.lists(st.sampled_from(mistakes), min_size=1, unique=True))
    for find, put in chosen:
        at = tidy.rfind(find) if "device_id" not in put else tidy.find(find, tidy.find("instance"))
        if at >= 0:
            tidy = tidy[:at] + put + tidy[at + len(find) :]
    messy = data.draw(untidy(tidy))
    fixed = repair(messy).text
    assert not _fixable(fixed)
    assert set(comments(fixed)) <= set(comments(messy))  # those inside a removed field go with it
    assert not differences(mgd.expand(mgd.loads(fixed)), mgd.expand(mgd.load(system.path)))


def test_two_hundred_of_a_kind() -> None:
    """And more, since what does not touch is repaired at once."""
    for count in (200, 300):
        text = "".join(f"zzz{n} {{ a: 1 }}\n" for n in range(count)) + MESH + LONE
        done = repair(text)
        assert done.text == MESH + LONE and len(done.done) == count


@pytest.mark.parametrize(
    ("end", "left"),
    [
        (" zzz: 1", " "),
        (" zzz: 1  ", " "),
        (" zzz: 1 # why", " # why"),
        ("\nzzz: 1", "\n"),
        ("\n  zzz: 1  ", "\n"),
    ],
)
def test_a_field_at_the_end_of_the_text_goes(end: str, left: str) -> None:
    assert repair(MESH + LONE.strip() + end).text == MESH + LONE.strip() + left


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        ("3", "4", "7"),
        ("0x3", "4", "7"),
        ("3", "0XA", "13"),
        ("03", "4", ""),
        ("3", "010", ""),
        ("3", "0", ""),
    ],
)
def test_counts_between_two_devices_are_added_where_they_are_plain(
    first: str, second: str, total: str
) -> None:
    """Octal numbers, and a count of 0, are for a person."""
    between = LINK.replace("mesh_id: 0 }", "mesh_id: 0 device_id: 3 }").replace(
        "mesh_id: 1 }", "mesh_id: 1 device_id: 0 }"
    )
    links = [between.replace("count: 4", f"count: {count}") for count in (first, second)]
    text = MESH + PAIR.replace(LINK, "\n".join(links))
    wanted = MESH + PAIR.replace(LINK, between.replace("count: 4", f"count: {total}")) if total else text
    assert repair(text).text == wanted


def test_a_text_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ParseError):
        repair("mesh_descriptors {")


def _fixable(text: str) -> list[str]:
    return [each.code for each in mgd.check(mgd.loads(text)) if all_rules()[each.code].fixable]


@pytest.mark.parametrize(
    ("a", "b", "touch"),
    [
        ((0, 5), (5, 9), False),
        ((0, 5), (4, 9), True),
        ((0, 9), (2, 3), True),
        ((3, 3), (3, 6), True),
        ((3, 3), (3, 3), True),
        ((3, 3), (2, 3), False),
        ((3, 3), (5, 5), False),
    ],
)
def test_edits_beside_each_other_do_not_touch(a: tuple[int, int], b: tuple[int, int], touch: bool) -> None:
    one, other = (*a, "x"), (*b, "y")
    assert _touch(one, other) == _touch(other, one) == touch
