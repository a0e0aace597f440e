"""`mgd show` and `mgd describe`."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mgd.systems import System, systems
from tests.mgd.cli.run import Mgd
from tests.mgd.fixtures import EACH_SYSTEM, KINDS, TOP, fabric, link, mesh
from tests.sweep import sweep, thinned


def test_a_system_by_name(mgd: Mgd) -> None:
    result = mgd("show", "t3000-two-hosts")
    assert result.code == 0
    assert "│  0 ─── 1 ─┼─┼─ 2 ─── 3  │" in result.out and "╭ rank 1 ───╮" in result.out


@pytest.mark.parametrize("system", EACH_SYSTEM)
def test_every_system_is_drawn_plain_and_within_120_columns(mgd: Mgd, system: System) -> None:
    result = mgd("show", system.name, "--width", 120)
    assert result.code == 0 and "\x1b" not in result.out
    assert max(map(len, result.out.splitlines())) <= 120
    assert result.out == mgd("show", system.name, "--width", 120).out


def test_the_page_is_as_wide_as_it_is_told(mgd: Mgd, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = mgd("show", "bh-glx-split-4x2").out
    monkeypatch.setenv("COLUMNS", "60")
    narrow = mgd("show", "bh-glx-split-4x2").out
    assert max(map(len, narrow.splitlines()[1:])) <= 60 < max(map(len, wide.splitlines()))
    legend = mgd("show", "quad-galaxy-32x4").out.splitlines()[-2:]
    assert legend == ["  rows    neighbouring rows are linked; the lines are left", "          out"]


RECORDED = Path(__file__).with_name("pictures.json")
ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpus" / "mgd"
LINKS = """graph_descriptors { name: "G0" type: "FABRIC" %s }
top_level_instance { graph { graph_descriptor: "G0" graph_id: 0 } }
"""
DRAWN = {
    "express": mesh("8, 6", arch="BLACKHOLE", extra="express_links { dim_idx: 0 pattern { step: 2 } } express_links { dim_idx: 1 pattern { step: 3 } }")
    + TOP,
    "express in memory order": mesh("2, 4", extra="express_connections { src: 0 dst: 3 } express_connections { src: 1 dst: 5 }") + TOP,
    "torus": mesh("4, 4", hosts="2, 2").replace("dims: [ 4, 4 ]", "dims: [ 4, 4 ] dim_types: [ RING, RING ]") + TOP,
    "ring of rows": mesh("4, 2").replace("dims: [ 4, 2 ]", "dims: [ 4, 2 ] dim_types: [ RING, LINE ]") + TOP,
    "ring of columns": mesh("2, 4").replace("dims: [ 2, 4 ]", "dims: [ 2, 4 ] dim_types: [ LINE, RING ]") + TOP,
    "a long line": mesh("1, 40", hosts="1, 4", arch="BLACKHOLE") + TOP,
    "a tall line": mesh("40, 1", hosts="4, 1", arch="BLACKHOLE") + TOP,
    "large": mesh("40, 60", hosts="4, 3") + TOP,
    "a chain of seven": mesh("1, 2") + fabric(7, "".join(link(str(i), str(i + 1)) for i in range(6))),
    "a ring of nine": mesh("2, 2") + fabric(9, "".join(link(str(i), str((i + 1) % 9)) for i in range(9))),
    "a star of six": mesh("2, 2") + fabric(6, "".join(link("0", str(i), "count: 1 policy: RELAXED") for i in range(1, 6))),
    "all to all of five": mesh("2, 2") + fabric(5, "graph_topology { layout_type: ALL_TO_ALL channels { count: 2 } }"),
    "devices": mesh() + fabric(3, link("0.3", "1.4", "count: 1") + link("0.7", "1.0") + link("1.2", "2.2", "count: 3 policy: RELAXED")),
    "islands and itself": mesh() + mesh("1, 2", name="M1") + fabric(4, link("0", "1") + link("2", "2") + link("0", "3", "count: 2 policy: RELAXED")),
    "thirty": mesh("1, 2") + fabric(30, "".join(link(str(i), str(j)) for i in range(30) for j in range(i + 1, 30, 3))),
    "links beyond": mesh() + fabric(2, link("0.3", "1.9") + link("0", "7") + link("0.1", "1.1") + link("1.12", "0.0")),
    "switches": mesh() + 'switch_descriptors { name: "SW" arch: WORMHOLE_B0 device_topology { dims: [ 1, 2 ] } channels { count: 2 } }'
    + LINKS % ("".join(f'instances {{ mesh {{ mesh_descriptor: "M0" mesh_id: {i} }} }}' for i in range(2))
    + 'instances { switch { switch_descriptor: "SW" switch_id: 2 } }'
    + "".join(
        f'connections {{ nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: {i} }} }} nodes {{ switch {{ switch_descriptor: "SW" switch_id: 2 }} }} '
        "channels { count: 1 } }" for i in range(2)
    )),
}  # fmt: skip
SYSTEMS = [each.name for each in systems()]
SOURCES = [
    *SYSTEMS,
    *DRAWN,
    *(
        f"{path.parent.name}/{path.stem}"
        for path in sorted(CORPUS.glob("*/bad*.textproto"))
        if path.parent.name[:6] != "MGD090"
    ),
]
# Of each rule one picture is quick.
FIRST = {name.partition("/")[0]: name for name in reversed(SOURCES) if "/" in name}.values()


@pytest.mark.parametrize("name", thinned(sweep(SOURCES, quick=[*KINDS, *DRAWN, *FIRST]), 2))
def test_every_picture_is_as_recorded(mgd: Mgd, name: str) -> None:
    """Systems, further graphs, and what each rule refuses, as text and as SVG; what is accepted also narrow, described and as a page.

    `TT_RUN_WRITE_EXPECTED=1 pytest tests/mgd/cli/test_pictures.py` records them anew, for eyes that have looked at those that changed.
    """
    text = (
        DRAWN[name].encode()
        if name in DRAWN
        else b""
        if name in SYSTEMS
        else (CORPUS / f"{name}.textproto").read_bytes()
    )
    forms = [("show", "--width", 120), ("show", "--svg", "-")]
    if name in SYSTEMS or name in DRAWN:
        forms += [
            ("show", "--all", "--width", 60),
            ("show", "--html", "-"),
            ("describe",),
            ("describe", "--json"),
        ]
    drawn = []
    for verb, *form in forms:
        result = mgd(verb, name if name in SYSTEMS else "-", *form, stdin=text)
        said = (result.out + result.err).replace(
            str(ROOT), ""
        )  # where the checkout lies is no part of a picture
        drawn.append(hashlib.sha256(said.encode()).hexdigest()[:12])
    recorded = json.loads(RECORDED.read_text())
    if os.environ.get("TT_RUN_WRITE_EXPECTED"):
        recorded[name] = " ".join(drawn)
        RECORDED.write_text(
            json.dumps({each: recorded[each] for each in SOURCES if each in recorded}, indent=0) + "\n"
        )
    assert recorded.get(name) == " ".join(drawn), (
        f"look at what mgd {[' '.join(map(str, form)) for form in forms]} draws of {name}, "
        f"then record it: TT_RUN_WRITE_EXPECTED=1 pytest tests/mgd/cli/test_pictures.py -k {name}"
    )


def test_svg_to_a_file_and_to_standard_output(mgd: Mgd, tmp_path: Path) -> None:
    target = tmp_path / "t3000.svg"
    assert mgd("show", "t3000", "--svg", target).code == 0
    assert target.read_text(encoding="utf-8") == mgd("show", "t3000", "--svg", "-").out
    assert mgd("show", "n300", "--svg", target).code == 0, "a picture may be drawn anew"
    assert target.read_text(encoding="utf-8") == mgd("show", "n300", "--svg", "-").out
    ElementTree.fromstring(target.read_text(encoding="utf-8"))
    result = mgd("show", "t3000", "--svg", tmp_path / "none" / "x.svg")
    assert result.code == 2 and "no such file" in result.err


def test_a_rejected_descriptor_is_drawn_with_its_mistakes(mgd: Mgd, bad: str) -> None:
    result = mgd("show", "-", stdin=bad)
    assert result.code == 1
    assert "╭ ✗ rank 0 ─" in result.out and "✗ MGD012 <stdin>:6:29" in result.out
    assert 'class="host s-bad f-bad"' in mgd("show", "-", "--svg", "-", stdin=bad).out


def test_the_failing_link_is_crossed_out(mgd: Mgd) -> None:
    text = (
        'mesh_descriptors { name: "M" arch: BLACKHOLE device_topology { dims: [2, 2] } host_topology { dims: [1, 1] } '
        'channels { count: 2 } } graph_descriptors { name: "G" type: "FABRIC" '
        'instances { mesh { mesh_descriptor: "M" mesh_id: 0 } } instances { mesh { mesh_descriptor: "M" mesh_id: 1 } } '
        'connections { nodes { mesh { mesh_descriptor: "M" mesh_id: 0 device_id: 3 } } '
        'nodes { mesh { mesh_descriptor: "M" mesh_id: 1 device_id: 9 } } channels { count: 2 } } } '
        'top_level_instance { graph { graph_descriptor: "G" graph_id: 0 } }'
    )
    result = mgd("show", "-", stdin=text)
    assert result.code == 1
    assert "0:D3 ═✗═ 1:D9" in result.out and "2 ─── 3✗" in result.out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mesh_descriptors {",
        'mesh_descriptors { name: "M" }',
        'mesh_descriptors { name: "M" arch: 1 device_topology { dims: [2147483647, 2147483647] } }',
        'graph_descriptors { name: "G" type: "A" instances { graph { graph_descriptor: "G" } } } '
        'top_level_instance { graph { graph_descriptor: "G" } }',
    ],
)
def test_what_has_no_shape_is_told_as_by_check(mgd: Mgd, text: str) -> None:
    result = mgd("show", "-", stdin=text)
    assert result.code == 1 and "error[MGD" in result.err and result.out == ""


def test_describe_counts(mgd: Mgd) -> None:
    result = mgd("describe", "--json", "galaxy-torus-xy")
    facts = json.loads(result.out)
    assert (facts["devices"], facts["hosts"], facts["links_in_meshes"]) == (32, 1, 64)
    (kind,) = facts["kinds"]
    # Two cuts through 4 columns of a closed dimension, 4 channels each; 4 + 2 hops to the far corner.
    assert (kind["bisection_channels"], kind["diameter"], kind["wraps"]) == (32, 6, 12)
    assert facts["between_meshes"] is None


@pytest.mark.parametrize(
    ("system", "diameter", "bisection", "islands"),
    [("tg", 2, 4, 1), ("five-loudboxes", 4, 2, 1), ("dual-bh-lb", None, 0, 2), ("exabox", 1, 12, 1)],
)
def test_describe_what_lies_between_meshes(
    mgd: Mgd, system: str, diameter: int | None, bisection: int, islands: int
) -> None:
    among = json.loads(mgd("describe", "--json", system).out)["between_meshes"]
    assert among == {"islands": islands, "diameter": diameter, "bisection_channels": bisection}


def test_describe_for_people(mgd: Mgd) -> None:
    result = mgd("describe", "t3000")
    assert result.code == 0
    assert "devices               8" in result.out and "4 channels" in result.out and "4 hops" in result.out
    assert "2 islands" in mgd("describe", "dual-bh-lb").out
    assert mgd("describe", "closetbox").code == 0


def test_describe_refuses_what_is_rejected(mgd: Mgd, bad: str) -> None:
    result = mgd("describe", "-", stdin=bad)
    assert result.code == 1 and "error[MGD012]" in result.err


def test_show_writes_a_page(mgd: Mgd, tmp_path: Path) -> None:
    target = tmp_path / "p.html"
    assert mgd("show", "t3k", "--html", target).code == 0
    assert "<!doctype html>" in target.read_text()
    assert mgd("show", "t3k", "--html", "-").out == target.read_text()


@pytest.mark.parametrize(
    ("words", "help"),
    [
        (("--svg", "t3000"), "mgd show --svg t3000.svg t3000"),
        (("t3000", "--svg"), "mgd show --svg t3000.svg t3000"),
        (("--html", "pod.textproto"), "mgd show --html pod.html pod.textproto"),
    ],
)
def test_a_picture_without_a_file_of_its_own_is_told_how(mgd: Mgd, words: tuple[str, ...], help: str) -> None:
    result = mgd("show", *words)
    assert result.code == 2 and help in " ".join(result.err.split())


def test_a_picture_never_replaces_a_descriptor(mgd: Mgd, tmp_path: Path) -> None:
    target = tmp_path / "pod.textproto"
    target.write_text("mine")
    result = mgd("show", "--svg", target, "t3000")
    assert result.code == 2 and "is a descriptor, which the picture would replace" in " ".join(
        result.err.split()
    )
    assert target.read_text() == "mine"
