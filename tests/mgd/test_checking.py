"""Rules as a whole: any descriptor is answered, expansions exist exactly for accepted ones, findings are ordered and placed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgd.checking import check
from mgd.descriptor import Descriptor
from mgd.errors import RejectedError
from mgd.expansion import expand
from mgd.facts import summary
from mgd.reading import loads
from mgd.text.writer import write
from tests.examples import examples
from tests.mgd.fixtures import TOP, fabric, link, mesh
from tests.mgd.text.strategies import messages
from tests.mgd.text.test_oracle import SLOW


@settings(max_examples=examples(40), deadline=None, suppress_health_check=SLOW)
@given(messages())
def test_any_descriptor_is_answered(value: Descriptor) -> None:
    read = loads(write(value), file="any.textproto")
    found = check(read)
    places = [each.position for each in found]
    assert all(place is not None and place.file == "any.textproto" for place in places)
    assert [(p.line, p.column) for p in places if p] == sorted((p.line, p.column) for p in places if p)
    in_memory = check(value)
    assert {each.code for each in in_memory} | {"MGD056"} == {each.code for each in found} | {"MGD056"}
    if any(each.is_error for each in found):
        with pytest.raises(RejectedError):
            expand(value)
    else:
        assert summary(expand(value)) == summary(expand(read))


_DIMS = st.sampled_from(["2, 4", "1, 1", "0, 4", "3, 3", "4", "2, 2, 2", "8, 4"])
_HOSTS = st.sampled_from(["1, 1", "1, 2", "2, 2", "0, 1", "1"])
_END = st.sampled_from(["0", "1", "2", "0.0", "1.3", "1.99", "7"])


@st.composite
def systems(draw: st.DrawFn) -> str:
    """Descriptors that are almost right: a few meshes, links and pins, each with a chance of a mistake."""
    arch = draw(st.sampled_from(["WORMHOLE_B0", "BLACKHOLE"]))
    text = mesh(draw(_DIMS), hosts=draw(_HOSTS), arch=arch)
    count = draw(st.integers(0, 4))
    links = "".join(draw(st.lists(st.builds(link, _END, _END), max_size=3)))
    layout = draw(st.sampled_from(["", "RING", "ALL_TO_ALL", "INVALID_TYPE"]))
    if layout:
        links += f"graph_topology {{ layout_type: {layout} channels {{ count: 2 }} }}"
    for number in range(draw(st.integers(0, 2))):
        node = draw(
            st.sampled_from(["chip_id: 1", "mesh_id: 9", 'mesh_id_regex: ".*"', 'chip_id_regex: "0-3"'])
        )
        text += f"pinnings {{ logical_fabric_node_id {{ {node} }} physical_asic_position {{ tray_id: {number} }} }}\n"
    return text + (
        fabric(count, links, kind=draw(st.sampled_from(["FABRIC", "POD", "MESH"]))) if count else TOP
    )


@settings(max_examples=examples(150), deadline=None, suppress_health_check=SLOW)
@given(systems())
def test_what_is_accepted_expands_and_what_is_not_does_not(text: str) -> None:
    read = loads(text)
    if any(each.is_error for each in check(read)):
        with pytest.raises(RejectedError):
            expand(read)
        return
    graph = expand(read)
    facts = summary(graph)
    assert facts["total_devices"] == sum(each.dims[0] * each.dims[1] for each in graph.meshes)
    assert facts["intra_links"] == sum(len(each.grid_links()) for each in graph.meshes)
    assert facts["inter_connections_directed"] == sum(
        len(list(each.directed())) for each in graph.connections
    )
    ids = {each.mesh_id for each in graph.meshes}
    assert all({each.a, each.b} <= ids for each in graph.links)


def test_runtime_profile_only_adds_weight() -> None:
    text = mesh(extra="express_connections { src: 0 dst: 1 }") + fabric(2, link("0", "1"), kind="POD")
    full, runtime = (check(loads(text), profile) for profile in ("full", "runtime"))
    assert [each.code for each in full] == [each.code for each in runtime]
    assert not any(each.is_error for each in full)
    assert {each.code for each in runtime if each.is_error} == {"MGD051", "MGD053"}
    with pytest.raises(ValueError, match="profile is one of full, runtime"):
        check(loads(text), "strict")


def test_no_follow_on_noise() -> None:
    codes = [each.code for each in check(loads(mesh("2, 2, 2", hosts="1, 1, 1") + TOP)) if each.is_error]
    assert codes == ["MGD008"]
    missing = mesh() + fabric(1, 'instances { mesh { mesh_descriptor: "MO" mesh_id: 1 } }' + link("0", "1"))
    assert [each.code for each in check(loads(missing)) if each.is_error] == ["MGD017"]


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (101, "101st"),
        (111, "111th"),
        (112, "112th"),
        (122, "122nd"),
    ],
)
def test_the_place_of_a_descriptor_without_a_name(place: int, told: str) -> None:
    names = [f"M{number}" for number in range(place)]
    text = "".join(mesh(name=name) for name in [*names[1:], ""]) + TOP
    [found] = [each for each in check(loads(text)) if each.code == "MGD003"]
    assert found.message == f"the {told} mesh descriptor has no name"


@pytest.mark.parametrize(("dim", "codes"), [(0, []), (1, []), (2, ["MGD029"])])
def test_express_links_run_along_rows_and_columns(dim: int, codes: list[str]) -> None:
    links = f"express_links {{ dim_idx: {dim} pattern {{ start: 0 step: 4 }} }}"
    read = loads(mesh("8, 8", arch="BLACKHOLE", extra=links) + TOP)
    assert [each.code for each in check(read) if each.is_error] == codes
