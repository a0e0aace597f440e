"""CONTRIBUTING names every folder, and what it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RUNTIME = ROOT / "tt_run" / "runtime"
ENDINGS = r"\.(?:py|pyi|md|ya?ml|json|html|textproto|txt)$"
MADE_BY_A_RECIPE = {"expected.txt", "bad.textproto", "words.txt", ".venv/bin/activate"}
"""Files that the reader makes, and one of the environment, which may lie elsewhere."""


def blocks() -> Iterator[str]:
    """Rows of a table, points of a list and paragraphs, each as one."""
    yield from re.split(r"\n\n|\n(?=- |\|)", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))


def named_paths(block: str) -> list[str]:
    words = [word for quoted in re.findall(r"`([^`]+)`", block) for word in quoted.split()]
    return [
        word
        for word in words
        if re.fullmatch(r"[\w./-]+", word)
        and ("/" in word or re.search(ENDINGS, word))
        and "NAME" not in word
    ]


def places(block: str) -> list[Path]:
    """Where the short names of a block may be: in a folder that it names, beside what it names, or in a folder beside that."""
    found = [ROOT, RUNTIME]
    for word in named_paths(block):
        for path in [base / word for base in found]:
            if path.exists():
                found += [path, path.parent, path.parent.parent]
    return found


@pytest.mark.parametrize(
    "block", [block for block in blocks() if named_paths(block)], ids=lambda block: block[:40]
)
def test_what_is_named_is_there(block: str) -> None:
    bases = places(block)
    gone = [
        word
        for word in named_paths(block)
        if word not in MADE_BY_A_RECIPE and not any((base / word).exists() for base in bases)
    ]
    assert not gone, f"CONTRIBUTING.md names what is not there (moved?): {gone}"


def test_commands_of_the_environment_are_called_once_it_is_activated() -> None:
    """Before, a shell of a newcomer does not find them."""
    said = TEXT.find("`. .venv/bin/activate`")
    called = [
        found.start() for found in re.finditer(r"`(?:[A-Z_]+=1 )?(?:pytest|mgd|tt-run)(?: [^`]+)?`", TEXT)
    ]
    assert called and 0 <= said < min(called)


@pytest.mark.parametrize("folder", ["tt_run", "tt_run/runtime", ""])
def test_every_room_is_named(folder: str) -> None:
    """Folders and modules at the top of the tree, of the package and of the runtime stand in its tables."""
    table = "\n".join(block for block in blocks() if block.startswith("|"))
    named = {base / word for word in named_paths(table) for base in (ROOT, RUNTIME)}
    # A folder is named where something in it is.
    named |= {parent for path in named for parent in path.parents}
    not_ours = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    rooms = [
        path
        for path in sorted((ROOT / folder).iterdir())
        if path.name[0] not in "._"
        and f"{path.name}/" not in not_ours
        and (path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py"))))
    ]
    missing = [str(path.relative_to(ROOT)) for path in rooms if path not in named]
    assert rooms and not missing, f"say in a table of CONTRIBUTING.md what these hold: {missing}"


def test_every_variable_of_developers_is_named() -> None:
    """Those that scripts and tests read; what users set is in docs/reference/variables.md."""
    named = TEXT + (ROOT / "docs/reference/variables.md").read_text(encoding="utf-8")
    files = [
        path
        for folder in ("scripts", "tests", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in ("", ".py", ".sh")
    ]
    reads = re.compile(r"environ(?:\.get\(|\[)\"(TT_RUN_\w+)\"|\$\{?(TT_RUN_\w+)")
    found = {
        name
        for path in files
        for names in reads.findall(path.read_text(encoding="utf-8", errors="ignore"))
        for name in names
        if name
    }
    missing = sorted(name for name in found if name not in named)
    assert len(found) > 10 and not missing, f"say in CONTRIBUTING.md what these do: {missing}"
