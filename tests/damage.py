"""Files of every kind damaged at random, as disks, editors, other versions and people damage them: for the tests that nothing gives a traceback."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import yaml

# In the place of a value: what a reader may take for something else, or choke on.
ODD: list[Any] = [
    None, True, 0, -1, 2**63, 2**70, 1e308, float("nan"), "", " ", "\u2028", "é", "0,1", "[", "{", "../../x", "/dev/null", "%s", "${HOME}",
    [], {}, [[]], [None], {"": 1}, {1: 2}, "9" * 400, "x" * 5000, "\x07", "0x10", "1:30", "yes", "2024-01-01", "~", "\ud800",
]  # fmt: skip
PIECES = [
    "{", "}", "[", "]", ":", ",", '"', "'", "#", "\\", "\0", "\x85", "\r\n", "\t", "- ", "&a ", "*a", "? ", "!!python/object:x ", "---\n", "...\n",
    "99999999999999999999", "-1", "0", "1e999", "nan", "=", "\ufeff", "é", "\udcff", "\x1b[31m", "<<: *a", "|\n", "%", "@", "null", "[[" * 60,
]  # fmt: skip


def damaged_tree(tree: Any, chance: Random) -> Any:
    """A copy of a tree of lists and maps with one to three places changed, taken away, doubled, renamed, wrapped or exchanged."""
    tree = copy.deepcopy(tree)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            walk(node[key])

    walk(tree)
    if not places:
        return chance.choice(ODD)
    for _ in range(chance.choice([1, 1, 2, 3])):
        node, key = chance.choice(places)
        other, place = chance.choice(places)
        try:
            match chance.randrange(6):
                case 0:
                    node[key] = copy.deepcopy(chance.choice(ODD))
                case 1:
                    del node[key]
                case 2 if isinstance(node, list):
                    node.insert(key, copy.deepcopy(node[key]))
                case 3 if isinstance(node, dict):
                    node[chance.choice(["", "x", f"{key}s", str(key).upper()])] = node.pop(key)
                case 4:
                    node[key] = [node[key]]
                case _:
                    node[key] = copy.deepcopy(other[place])
        except (KeyError, IndexError):  # an earlier change has taken it away
            continue
    return tree


def damaged_text(text: str, chance: Random) -> str:
    """A text with one to four places cut, doubled, moved, overwritten with something telling, or all that follows cut off."""
    for _ in range(chance.choice([1, 1, 2, 4])):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice([0, 1, 2, 5, 20, 80]))
        match chance.randrange(5):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:end] * chance.randint(1, 3) + text[end:]
            case 2:
                text = text[:start]
            case 3:
                lines = text.splitlines(keepends=True) or [""]
                lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
                text = "".join(lines)
            case _:
                text = text[:start] + chance.choice(PIECES) + text[end:]
    return text


def damaged_bytes(data: bytes, chance: Random) -> bytes:
    """Bytes with one to four places flipped, cut, doubled or cut off."""
    for _ in range(chance.choice([1, 1, 2, 4])):
        start = chance.randint(0, len(data))
        end = min(len(data), start + chance.choice([0, 1, 8, 100]))
        match chance.randrange(4):
            case 0:
                data = data[:start] + data[end:]
            case 1:
                data = data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]
            case 2:
                data = data[:end] + data[start:end] + data[end:]
            case _:
                data = data[:start]
    return data


def damage_file(path: Path, chance: Random) -> str:
    """Damages a file in its place, by its kind; what was done to it."""
    data = path.read_bytes()
    kind = chance.choice(
        ["text", "text", "tree", "tree", "bytes", "bytes", "empty", "lost", "folder", "loop", "end"]
    )
    if kind == "tree":
        load: Callable[[str], Any] = json.loads if path.suffix == ".json" else yaml.safe_load
        try:
            tree = damaged_tree(load(data.decode()), chance)
            dumped = (
                json.dumps(tree, default=str) if path.suffix == ".json" else yaml.dump(tree, sort_keys=False)
            )
            path.write_bytes(dumped.encode("utf-8", "surrogatepass"))
        except (ValueError, TypeError, yaml.YAMLError):
            kind = "bytes"
    if kind == "text":
        text = damaged_text(data.decode("utf-8", "surrogateescape"), chance)
        path.write_bytes(text.encode("utf-8", "surrogatepass" if "\ud800" in text else "surrogateescape"))
    elif kind == "bytes":
        path.write_bytes(damaged_bytes(data, chance))
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "end":
        path.write_bytes(data + chance.choice([b"\0" * 4096, b"\xff", data]))
    elif kind in ("lost", "folder", "loop"):
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind == "loop":
            path.symlink_to(path.name)
    return f"{kind} {path.name}"


def damaged_copy(folder: Path, place: Path, chance: Random) -> str:
    """A copy of a folder in `place` with one to three of its files damaged; what was done to them."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, symlinks=True, ignore=lambda _, names: [n for n in names if n == "stdin"])
    files = sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    chosen = chance.sample(files, min(len(files), chance.choice([1, 1, 2, 3])))
    return ", ".join(damage_file(path, chance) for path in chosen)
