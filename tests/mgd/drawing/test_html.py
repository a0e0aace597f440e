"""The page: one file that loads nothing, with the facts of every line, and in a browser without an error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mgd
from mgd.drawing.html import draw_html
from mgd.drawing.marks import Marks
from mgd.drawing.svg import bundle_panels
from mgd.drawing.traffic import Traffic
from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph
from mgd.systems import find


@pytest.fixture(scope="module")
def graph() -> MeshGraph:
    return mgd.expand(mgd.load(find("closetbox").path))


def test_the_page_holds_all_it_needs(graph: MeshGraph) -> None:
    page = draw_html(graph, title="</script>@FACTS@<b>")
    assert not re.search(r"(src|href)=|url\(|@import|https?://(?!www\.w3\.org)", page)
    assert "</script>@FACTS@" not in page and "&lt;/script&gt;@FACTS@&lt;b&gt;" in page
    found = re.search(r'id="facts">(.*?)</script>', page, re.S)
    assert found
    facts = json.loads(found[1])
    assert sum(len(each) for each in facts["lines"]) == 28
    told = {words for each in facts["lines"] for words in each}
    assert (
        "mesh 0 of pod 0 to mesh 1 of pod 0: 2 channels RELAXED" in told
        and "pod 0 to pod 1: 2 channels RELAXED" in told
    )
    assert facts["meshes"]["3"] == "mesh 3: 2x4 WORMHOLE_B0, 1 host, 2 channels RELAXED"


@pytest.mark.parametrize(
    ("marks", "traffic", "lines"),
    [
        (Marks(), None, 1),
        (Marks(links=frozenset({("0", "1")})), None, 15),
        (Marks(), Traffic(), 15),
        (Marks(links=frozenset({("0", "1")})), Traffic(), 15),
    ],
)
def test_lines_of_the_page_are_those_of_its_picture(
    marks: Marks, traffic: Traffic | None, lines: int
) -> None:
    """Six meshes, every pair linked, share a rail where no link has something of its own to show."""
    meshes = tuple(
        Mesh(i, "M0", "WORMHOLE_B0", (1, 2), (1, 1), ("LINE", "LINE"), 2, "RELAXED") for i in range(6)
    )
    links = tuple(InterLink(a, b, 1, "RELAXED") for a in range(6) for b in range(a + 1, 6))
    page = draw_html(MeshGraph(meshes, links), marks=marks, traffic=traffic)
    found = re.search(r'id="facts">(.*?)</script>', page, re.S)
    assert found
    facts = json.loads(found[1])
    assert len(facts["lines"]) == len(facts["ends"]) == lines
    assert {int(number) for number in re.findall(r'data-line="(\d+)"', page)} == set(range(lines))


@pytest.mark.wide
def test_what_a_person_does_with_it(chromium: Any, graph: MeshGraph, tmp_path: Path) -> None:
    """Pointing, choosing, searching, keys, light and dark: without an error and without a request."""
    path = tmp_path / "page.html"
    path.write_text(draw_html(graph, title="x"), encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1200, "height": 800}, color_scheme="light")
    wrong: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    told, find = page.locator("#told"), page.locator("#find")
    width = "document.querySelector('svg').viewBox.baseVal.width"

    page.locator("g.mesh >> nth=2").hover(position={"x": 5, "y": 5})
    assert "mesh 2: 2x4 WORMHOLE_B0" in told.inner_text()
    page.locator("[data-line] >> nth=0").dispatch_event("click")
    assert "channels RELAXED" in told.inner_text()
    find.fill("2:5")
    assert "linked to 1, 4, 6" in told.inner_text()
    find.fill("mesh 3")
    ends = bundle_panels(graph)
    lines = [number for number, meshes in enumerate(ends) if 3 in meshes]
    assert len(lines) == 3 and "3 lines lead" in told.inner_text()
    chosen = page.locator("[data-line].chosen").evaluate_all(
        "all => all.map((each) => Number(each.dataset.line))"
    )
    assert chosen == lines
    page.keyboard.press("Enter")  # mesh ids repeat from pod to pod: the next one
    assert page.locator("g.mesh >> nth=7").evaluate("each => each.classList.contains('chosen')")
    assert page.locator("[data-line].chosen").count() == 3
    find.fill("mesh 99")
    assert "Nothing is called" in told.inner_text()

    page.locator("#stage").focus()
    whole = page.evaluate(width)
    page.keyboard.press("+")
    assert page.evaluate(width) < whole
    page.keyboard.press("0")
    assert page.evaluate(width) == whole
    page.mouse.move(500, 400)
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"{width} < {whole}")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("svg .chosen").count() >= 1
    page.keyboard.press("Escape")
    assert page.locator("svg .chosen").count() == 0
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    assert not wrong and requests == [path.as_uri()]
    page.close()
