"""The documentation is true: every command in it runs, in the order of its page, and prints what the page says. The README has a test of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, environment
from tests.e2e.shown import broken_links, commands, pages

PAGES = [page for page in pages() if page.name != "README.md"]


@pytest.mark.timeout(300)
@pytest.mark.wide
@pytest.mark.parametrize(
    "page", [p for p in PAGES if commands(p.read_text(encoding="utf-8"))], ids=lambda page: page.stem
)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    # Whoever follows the tutorial has installed tt-run, and has nothing of the checkout.
    for name in ("configs", "examples") if page.name != "tutorial.md" else ():
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "train.py").write_text("")
    for name, content in re.findall(r'^```python title="(.*?)"\n(.*?)^```', text, re.M | re.S):
        (tmp_path / name).write_text(content)
    here = tmp_path
    for shown in commands(text):
        if shown.over_hosts:
            continue  # tests/multihost/test_guide.py
        if shown.command.startswith("cd "):
            here = (here / shown.command.split()[1]).resolve()
            continue
        if page.name != "tutorial.md" and ("examples/" in shown.command or "configs/" in shown.command):
            here = tmp_path
        ran = subprocess.run(
            ["timeout", "-k", "5", "110", "sh", "-c", shown.command],
            cwd=here,
            # Plugins that happen to be installed are none of the page's business, and Hypothesis takes a second in every rank.
            env=environment()
            | {
                "COLUMNS": "100",
                "PYTEST_ADDOPTS": "-p no:cacheprovider",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        printed = (ran.stdout + ran.stderr).decode(errors="replace")
        assert ran.returncode == shown.code, f"$ {shown.command}{os.linesep}{printed}"
        assert not shown.missing(printed), f"$ {shown.command}{os.linesep}{printed}"
        if "all_gather.py" in shown.command:  # they copy bits, so their hashes are the same on every machine
            hashes = [line for line in shown.lines if "sha256" in line]
            assert all(line in printed for line in hashes), f"$ {shown.command}{os.linesep}{printed}"


def programs(page: str) -> list[str]:
    """The whole programs of a page: blocks of Python that import what they use."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [
        block
        for block in re.findall(r"^```python.*?\n(.*?)^```", text, re.M | re.S)
        if "import ttnn" in block
    ]


@pytest.mark.wide
@pytest.mark.parametrize(
    ("page", "start"),
    [
        ("tutorial.md", "tt-run --emulate --system t3000 --split 1x2 python"),
        pytest.param("testing.md", "pytest -q -p tt_run.pytest", marks=pytest.mark.wide),
    ],
)
def test_programs_on_a_page_run(page: str, start: str, tmp_path: Path) -> None:
    [program] = programs(page)
    (tmp_path / "test_program.py").write_text(program)
    ran = subprocess.run(
        ["timeout", "-k", "5", "110", *start.split(), "test_program.py"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout or "[1] 8 devices hold 4.0" in ran.stdout, ran.stdout


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert not broken_links(page)


def test_the_questions_of_the_first_page_are_answered() -> None:
    """Each row of its table leads to a page that is in the site."""
    rows = [
        row
        for row in (ROOT / "docs/index.md").read_text().splitlines()
        if row.startswith("| ") and "?" in row
    ]
    assert len(rows) >= 8
    assert all("](" in row for row in rows)


def test_the_site_has_every_page() -> None:
    """mkdocs itself warns about a page outside of the navigation, and warnings are errors there; this says it before CI builds the site."""
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    written = [
        *(p.name for p in PAGES),
        *(f"reference/{p.name}" for p in (ROOT / "docs/reference").glob("*.md")),
    ]
    left_out = [name for name in written if f" {name}\n" not in f"{listed}\n"]
    assert not left_out, f"write these into nav of mkdocs.yml: {left_out}"


@pytest.mark.parametrize("page", ["operations", "ttnn-names", "ttml-names"])
def test_every_name_that_is_here_has_a_sentence(page: str) -> None:
    text = (ROOT / f"docs/reference/{page}.md").read_text(encoding="utf-8")
    rows = [re.split(r"(?<!\\)\|", row)[1:-1] for row in text.splitlines() if row.startswith("| `")]
    assert len(rows) > 500
    states = {cells[0].strip(): {cell.strip() for cell in cells[1:]} for cells in rows}
    assert not [name for name, said in states.items() if "" in said and not said & {"absent", "kernel"}]
