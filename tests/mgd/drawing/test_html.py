"""The page: one file that loads nothing, with the facts of every line, and in a browser without an error."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import mgd
from mgd.drawing.html import draw_html
from mgd.graph import MeshGraph
from mgd.systems import find

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


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


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_runs_it_without_an_error(graph: MeshGraph, tmp_path: Path) -> None:
    """A script at the end does what a person would, and writes what came of it into the page's title."""
    act = """<script>
      const said = (text) => document.getElementById("told").textContent.includes(text);
      const find = document.getElementById("find");
      const type = (text) => { find.value = text; find.dispatchEvent(new Event("input")); };
      const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      const view = document.querySelector("svg").viewBox.baseVal;
      const results = [];
      document.querySelector("[data-line]").dispatchEvent(new MouseEvent("click", {bubbles: true}));
      results.push(said("channels RELAXED"));
      type("2:5"); results.push(said("linked to 1, 4, 6"));
      type("rank 7"); results.push(said("rank 7"));
      type("mesh 99"); results.push(said("Nothing is called"));
      const before = view.width; press("+"); results.push(view.width < before);
      press("0"); results.push(view.width === before);
      press("t"); results.push(document.documentElement.classList.contains("dark"));
      document.title = results.join(" ");
    </script></body>"""
    page = tmp_path / "page.html"
    page.write_text(draw_html(graph, title="x").replace("</body>", act), encoding="utf-8")
    words = [
        str(BROWSER),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/home",
    ]
    done = subprocess.run(
        [*words, "--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    title = re.search("<title>(.*?)</title>", done.stdout)
    assert title and title[1] == " ".join(["true"] * 7), title and title[1]
