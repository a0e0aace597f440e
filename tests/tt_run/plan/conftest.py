"""What every plan of these tests looks like and what is found of it, as it was when a person last read it: `words/`, a file for each module.

TT_RUN_WRITE_EXPECTED=1 writes what the tests that run say anew; the difference is for reading.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mgd.diagnostics import Diagnostic
from tests.tt_run.sandbox import Sandbox
from tt_run.plan.model import LaunchPlan
from tt_run.plan.render import plan_table

ROOT = Path(__file__).resolve().parents[3]
WORDS = Path(__file__).with_name("words")
MODULES = ("test_build", "test_checks", "test_inheritance", "test_pins")


class Recorded(Sandbox):
    """A sandbox that keeps in words what its plans say."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.said: list[str] = []

    def plan(self, *words: Any, **request: Any) -> LaunchPlan:
        plan = super().plan(*words, **request)
        table = [f"  {line}".rstrip() for line in plan_table(plan).splitlines() if line]
        if not plan.findings:  # those of a check are of a plan that looks as the others do
            self.said += table
        self.said += told(plan.findings)
        return plan

    def refusal(self, *words: Any, **request: Any) -> tuple[Diagnostic, ...]:
        found = super().refusal(*words, **request)
        self.said += ["  refused", *told(found)]
        return found


def told(findings: Iterable[Diagnostic]) -> Iterator[str]:
    for each in findings:
        yield f"  {each.severity.value} {each.code}: {each.message}"
        yield from (f"    {label.position} {label.text}".rstrip() for label in each.labels)
        yield from (f"    help: {line}" for line in each.help.splitlines())
        yield from (f"    note: {note}" for note in each.notes)


@pytest.fixture
def sandbox(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = Recorded(tmp_path)
    yield made
    module = request.module.__name__.rpartition(".")[2]
    if module not in MODULES or not made.said:
        return
    text = "\n".join(made.said).replace(str(made.root), "SANDBOX").replace(str(ROOT), "CHECKOUT")
    text = re.sub(r"\b[0-9a-f]{12,}\b", "HASH", text)
    file, name = WORDS / f"{module}.txt", request.node.name
    sections = dict(
        re.findall(
            r"(?ms)^== (.*?)\n(.*?)(?=^== |\Z)", file.read_text(encoding="utf-8") if file.exists() else ""
        )
    )
    if os.environ.get("TT_RUN_WRITE_EXPECTED"):
        sections[name] = f"{text}\n"
        written = "".join(f"== {each}\n{said}" for each, said in sorted(sections.items()))
        file.write_text(written, encoding="utf-8")
    assert name in sections, "run this once with TT_RUN_WRITE_EXPECTED=1 and read what it writes"
    assert f"{text}\n" == sections[name]
