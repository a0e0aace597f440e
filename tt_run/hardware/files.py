"""Hardware data files: every number that the model uses, with its unit, source and date.

A file describes one architecture. Its `numbers` are a tree whose leaves are `{value, unit, source}`, with `most` where physics sets a
bound that calibration must respect; `sources` gives the text and the date
of each source. Numbers that came out of a fit have a source with `fitted: true`; calibration may change those and no others. `systems`
are what one can buy: a system may override any number of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

from mgd.documents import Mapping as Map
from mgd.documents import Node
from mgd.lean import dataclass
from mgd.resources import configs_root
from tt_run.hardware.data_files import DataFile, HardwareError, nearest_known
from tt_run.hardware.numbers import ARCHITECTURES, UNITS, Hardware, Number

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

# The keys of a file, of a system, of a source and of a number.
TOP = ("architecture", "sources", "numbers", "systems")
SYSTEM = ("devices", "like", "numbers")
SOURCE = ("text", "date", "fitted")
NUMBER = ("value", "unit", "source", "most")
# Numbers that a file may give and the shipped ones need not: of further kernels, collectives and packets, and what was measured.
OPEN = re.compile(
    r"kernels\.[^.]+\.(fixed|per_tile)|measured\..+|fabric\.packet\.[^.]+\.[^.]+\.(handling|per_byte)"
    r"|collectives\.[^.]+\.([^.]+\.)?(setup|local|efficiency(_line|_ring)?)"
)


@dataclass(frozen=True, slots=True)
class HardwareFile:
    """A data file as read: numbers common to the architecture, and per system what differs (keys are dotted paths)."""

    architecture: str
    common: Mapping[str, Number]
    systems: Mapping[str, Mapping[str, Number]]
    owners: Mapping[str, Mapping[str, str]]
    devices: Mapping[str, int]
    document: Mapping[str, Any]
    path: str

    def system(self, name: str) -> Hardware:
        """What holds for one system. Raises HardwareError with the names that exist."""
        if name not in self.systems:
            raise HardwareError(f"{self.path}: no system {name!r}; it describes {', '.join(self.systems)}")
        return Hardware(
            self.architecture, name, self.devices[name], {**self.common, **self.systems[name]}, self.path
        )

    def place_of(self, system: str, key: str) -> str:
        """Where the number that `system` uses under `key` stands: `numbers.KEY` or `systems.SYSTEM.numbers.KEY`."""
        owner = self.owners[system].get(key)
        return f"systems.{owner}.numbers.{key}" if owner else f"numbers.{key}"


def shipped(architecture: str) -> Path:
    """The data file that ships for an architecture."""
    return configs_root() / "hardware" / f"{architecture}.yaml"


def load(path: Path) -> HardwareFile:
    """Read a hardware file. Raises HardwareError with file and line for what is no such file: a number without unit or source, a misspelt key."""
    data = DataFile(path)
    top = data.fields(data.document.root, "a hardware file", TOP)
    architecture = top["architecture"][1] if "architecture" in top else None
    if architecture is None or architecture.value() not in ARCHITECTURES:
        data.refuse(
            architecture or data.document.root, f"`architecture` must be one of {', '.join(ARCHITECTURES)}"
        )
        data.settle()
    found = _Numbers(data, top["sources"][1] if "sources" in top else None)
    common = dict(found.below(top["numbers"][1] if "numbers" in top else None, ""))
    systems = data.fields(top["systems"][1] if "systems" in top else None, "systems")
    own: dict[str, dict[str, Number]] = {}
    owners: dict[str, dict[str, str]] = {}
    devices: dict[str, int] = {}
    for name, (_, node) in systems.items():
        system = data.fields(node, f"systems.{name}", SYSTEM)
        like = str(system["like"][1].value()) if "like" in system else None
        if like is not None and like not in own:
            data.refuse(
                system["like"][1],
                f"systems.{name}: `like: {like}` names no system above it; {nearest_known(like, own)}",
            )
            like = None
        mine = dict(found.below(system["numbers"][1] if "numbers" in system else None, ""))
        own[name] = {**(own[like] if like else {}), **mine}
        owners[name] = {**(owners[like] if like else {}), **dict.fromkeys(mine, name)}
        devices[name] = (
            data.positive_integer(system["devices"][1], f"systems.{name}.devices")
            if "devices" in system
            else 1
        )
    if path != shipped(str(top["architecture"][1].value())):
        found.check_names(_shipped_names())
    data.settle()
    content = data.document.value()
    return HardwareFile(content["architecture"], common, own, owners, devices, content, str(path))


@cache
def _shipped_names() -> frozenset[str]:
    files = [load(shipped(name)) for name in ARCHITECTURES]
    return frozenset(
        key for file in files for numbers in (file.common, *file.systems.values()) for key in numbers
    )


class _Numbers:
    """Reads the trees of numbers of a file whose sources are known."""

    def __init__(self, data: DataFile, sources: Node | None) -> None:
        self.data = data
        self.fitted: dict[str, bool] = {}
        for name, (_, node) in data.fields(sources, "sources").items():
            fields = data.fields(node, f"sources.{name}", SOURCE)
            self.fitted[name] = "fitted" in fields and fields["fitted"][1].value() is True
        self.keys: dict[str, Node] = {}

    def below(self, node: Node | None, prefix: str) -> Iterator[tuple[str, Number]]:
        """Every number of a tree by its dotted key. Notes what is wrong."""
        for name, (at, below) in self.data.fields(node, prefix.rstrip(".") or "numbers").items():
            key = f"{prefix}{name}"
            if below.kind not in ("mapping", "null"):
                self.data.refuse(at, f"{key}: a number is written {{value, unit, source}}")
            elif isinstance(below, Map) and not below.fields.keys().isdisjoint(("value", "unit", "source")):
                yield key, self._number(at, below, key)
            else:
                yield from self.below(below, f"{key}.")

    def _number(self, at: Node, node: Node, key: str) -> Number:
        fields = self.data.fields(node, key, NUMBER)
        self.keys.setdefault(key, at)
        words = {}
        for name, known, wrong in (
            ("unit", UNITS, "unknown unit {0!r}; {1}"),
            ("source", self.fitted, "source {0!r} is not under `sources`; {1}"),
        ):
            words[name] = str(fields[name][1].value()) if name in fields else ""
            if name not in fields:
                self.data.refuse(at, f"{key}: no {name}; a number is written {{value, unit, source}}")
            elif words[name] not in known:
                self.data.refuse(
                    fields[name][1], f"{key}: {wrong.format(words[name], nearest_known(words[name], known))}"
                )
        if "most" in fields:
            self.data.number(fields["most"][1], f"{key}.most", above=0)
        value = 1.0
        if "value" in fields:
            value = self.data.number(fields["value"][1], key, above=0)
        elif fields.keys() <= set(NUMBER):
            self.data.refuse(at, f"{key}: no value; a number is written {{value, unit, source}}")
        return Number(value, words["unit"], words["source"], self.fitted.get(words["source"], False))

    def check_names(self, known: Collection[str]) -> None:
        """Notes numbers that nothing would read."""
        for key, node in self.keys.items():
            if key not in known and not OPEN.fullmatch(key):
                self.data.refuse(node, f"{key}: no such number; {nearest_known(key, known)}")


def write(document: Mapping[str, Any]) -> str:
    """The text of a hardware file: block style, one line per number."""
    return "\n".join(_lines(document, 0)) + "\n"


def _lines(tree: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name, below in tree.items():
        head = "  " * depth + f"{_word(name)}:"
        if below is None or below == {}:
            yield f"{head} {{}}"
        elif isinstance(below, Mapping) and "value" not in below and "text" not in below:
            yield head
            yield from _lines(below, depth + 1)
        elif isinstance(below, Mapping):
            yield head + " {" + ", ".join(f"{k}: {_word(v)}" for k, v in below.items()) + "}"
        else:
            yield f"{head} {_word(below)}"


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.5g}" if "e" not in f"{value:.5g}" else repr(float(f"{value:.5g}"))
    text = str(value)
    plain = (
        text.replace("_", "").replace("-", "").replace("/", "").replace(" ", "").replace(".", "").isalnum()
    )
    return (
        text
        if (plain and not text[:1].isspace()) or isinstance(value, int)
        else '"' + text.replace('"', "'") + '"'
    )
