"""Where the sources of a program read a variable, as far as their text tells: its script and the modules beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from mgd.diagnostics import Position
from tt_run.inputs.site import Site, is_file

MOST_FILES = 100
MOST_BYTES = 1 << 19  # of one file: a larger one is data, or generated
_READ = r"""(?:["']|\$\{?)([A-Za-z_][A-Za-z0-9_]*)"""
_IMPORTED = r"(?m)^\s*(?:from|import)\s+([\w.]+)"


def mentioned_names(program: tuple[str, ...], names: Collection[str], site: Site) -> dict[str, Position]:
    """The names that the program's sources hold in quotes or after a `$`, each with its first place."""
    found: dict[str, Position] = {}
    for path, text in _sources(program, site):
        for number, line in enumerate(text.splitlines(), start=1):
            for match in re.finditer(_READ, line):
                if match[1] in names and match[1] not in found:
                    found[match[1]] = Position(site.shown(path), number, match.start(1) + 1)
    return found


def texts(program: tuple[str, ...], site: Site) -> Iterator[str]:
    """The texts of those sources."""
    return (text for _, text in _sources(program, site))


def _sources(program: tuple[str, ...], site: Site) -> Iterator[tuple[Path, str]]:
    """The files of the program that are text, and those that its Python files import from their own folders."""
    pending = [path for path in (site.cwd / word for word in program) if is_file(path)]
    if "-m" in program[:-1]:
        pending += _module(site.cwd, program[program.index("-m") + 1])
    seen: set[Path] = set()
    while pending and len(seen) < MOST_FILES:
        path = pending.pop(0)
        if path in seen or not is_file(path) or path.stat().st_size > MOST_BYTES:
            continue
        seen.add(path)
        try:
            text = site.read_text(path)
        except (OSError, UnicodeDecodeError):
            continue
        yield path, text
        if path.suffix == ".py":
            pending += (file for name in re.findall(_IMPORTED, text) for file in _module(path.parent, name))


def _module(folder: Path, name: str) -> list[Path]:
    base = folder.joinpath(*name.split("."))
    if not base.name:
        return []
    return [
        file
        for file in (base.with_suffix(".py"), base / "__init__.py", base / "__main__.py")
        if is_file(file)
    ]
