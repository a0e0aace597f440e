"""Hardware data files: every number that the model uses, with its unit, source and date.

A file describes one architecture. Its `numbers` are a tree whose leaves are `{value, unit, source}`, with `most` where physics sets a
bound that calibration must respect; `sources` gives the text and the date
of each source. Numbers that came out of a fit have a source with `fitted: true`; calibration may change those and no others. `systems`
are what one can buy: a system may override any number of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mgd.resources import configs_root

# unit -> what one of it is in the units that the model computes with: microseconds, bytes, bytes per microsecond, cycles.
UNITS: dict[str, float] = {
    "us": 1.0,
    "ns": 1e-3,
    "ms": 1e3,
    "s": 1e6,
    "B": 1.0,
    "KiB": 1024.0,
    "MB": 1e6,
    "GB": 1e9,
    "GB/s": 1e3,
    "GHz": 1e3,
    "ns/B": 1e-3,
    "FLOP/cycle": 1.0,
    "TFLOPS": 1e6,
    "cycles": 1.0,
    "cycles/tile": 1.0,
    "cycles/KiB": 1 / 1024,
    "cores": 1.0,
    "channels": 1.0,
    "banks": 1.0,
    "devices": 1.0,
    "elements": 1.0,
    "ratio": 1.0,
    "hops": 1.0,
}
"""Units that a data file may use. Clocks count cycles per microsecond, bandwidths bytes per microsecond."""

ARCHITECTURES = ("wormhole", "blackhole")


class HardwareError(ValueError):
    """A hardware file that cannot be used, or a number that it does not give: the message names file and key."""


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a data file as written there, and where it comes from."""

    value: float
    unit: str
    source: str
    fitted: bool = False

    @property
    def base(self) -> float:
        """The value in the model's own units (microseconds, bytes, bytes per microsecond, cycles)."""
        return self.value * UNITS[self.unit]


@dataclass()
class Hardware:
    """One system of one architecture: what a key is worth. `read` collects the keys that were asked for."""

    architecture: str
    system: str
    devices: int
    numbers: Mapping[str, Number]
    path: str = "<memory>"
    read: set[str] = field(default_factory=set)

    def __getitem__(self, key: str) -> float:
        """The number under `key`, in the model's units. Raises HardwareError when the file has none."""
        number = self.numbers.get(key)
        if number is None:
            raise HardwareError(
                f"{self.path}: {self.architecture} has no number {key} (system {self.system})"
            )
        self.read.add(key)
        return number.base

    def __contains__(self, key: str) -> bool:
        return key in self.numbers

    def get(self, key: str, default: float) -> float:
        """The number under `key`, or `default` (in the model's units)."""
        return self[key] if key in self.numbers else default

    def first(self, *keys: str) -> float:
        """The first of `keys` that the file has; Raises HardwareError when it has none of them."""
        return self[next((key for key in keys if key in self.numbers), keys[0])]


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


def scaled(hw: Hardware, factors: Mapping[str, float]) -> Hardware:
    """The hardware with some numbers multiplied: all whose keys begin so, each by the longest beginning that fits."""
    numbers = dict(hw.numbers)
    for key, number in numbers.items():
        start = max((s for s in factors if key.startswith(s)), key=len, default=None)
        if start is not None:
            numbers[key] = replace(number, value=number.value * factors[start])
    return Hardware(hw.architecture, hw.system, hw.devices, numbers, hw.path)


def adjusted(hw: Hardware, settings: Iterable[str]) -> Hardware:
    """The hardware with other numbers: `KEY=VALUE` in the file's unit, `KEY*=FACTOR` for all keys that begin so.

    Raises HardwareError for what is no such text, and for a key that the file has not, with the nearest.
    """
    for text in settings:
        name, sign, value = text.partition("=")
        times = name.endswith("*")
        key = name.removesuffix("*").strip()
        try:
            number = float(value)
        except ValueError:
            sign = ""
            number = 0.0
        if not sign or not number > 0:
            raise HardwareError(f"{text!r}: write KEY=VALUE or KEY*=FACTOR with a number above 0")
        known = any(k.startswith(key) for k in hw.numbers) if times else key in hw.numbers
        if not known:
            from difflib import get_close_matches

            near = get_close_matches(key, hw.numbers, 1)
            raise HardwareError(
                f"{hw.architecture} has no number {key}" + (f"; did you mean {near[0]}?" if near else "")
            )
        if times:
            hw = scaled(hw, {key: number})
        else:
            numbers = {**hw.numbers, key: replace(hw.numbers[key], value=number)}
            hw = Hardware(hw.architecture, hw.system, hw.devices, numbers, hw.path)
    return hw


def shipped(architecture: str) -> Path:
    """The data file that ships for an architecture."""
    return configs_root() / "hardware" / f"{architecture}.yaml"


def load(path: Path) -> HardwareFile:
    """Read a hardware file. Raises HardwareError naming the key when a number lacks unit or source, or has an unknown one."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except OSError as error:
        raise HardwareError(f"{path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise HardwareError(f"{path}: not YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(document, dict) or document.get("architecture") not in ARCHITECTURES:
        raise HardwareError(f"{path}: `architecture` must be one of {', '.join(ARCHITECTURES)}")
    return parse(document, str(path))


def parse(document: Mapping[str, Any], path: str) -> HardwareFile:
    """A hardware file from its document; see `load`."""
    sources = document.get("sources") or {}
    systems = document.get("systems") or {}
    own: dict[str, dict[str, Number]] = {}
    owners: dict[str, dict[str, str]] = {}
    for name, system in systems.items():
        like = system.get("like")
        if like is not None and like not in own:
            raise HardwareError(f"{path}: systems.{name}: `like: {like}` names no system above it")
        mine = dict(_numbers(system.get("numbers") or {}, "", sources, path))
        own[name] = {**(own[like] if like else {}), **mine}
        owners[name] = {**(owners[like] if like else {}), **dict.fromkeys(mine, name)}
    return HardwareFile(
        document["architecture"],
        dict(_numbers(document.get("numbers") or {}, "", sources, path)),
        own,
        owners,
        {name: int(system.get("devices", 1)) for name, system in systems.items()},
        document,
        path,
    )


def _numbers(
    tree: Mapping[str, Any], prefix: str, sources: Mapping[str, Any], path: str
) -> Iterator[tuple[str, Number]]:
    for name, below in tree.items():
        key = f"{prefix}{name}"
        if not isinstance(below, Mapping):
            raise HardwareError(f"{path}: {key}: a number is written {{value, unit, source}}")
        if "value" not in below:
            yield from _numbers(below, f"{key}.", sources, path)
            continue
        unit, source = str(below.get("unit")), str(below.get("source"))
        if unit not in UNITS:
            raise HardwareError(f"{path}: {key}: unknown unit {unit!r}; known: {', '.join(UNITS)}")
        if source not in sources:
            raise HardwareError(f"{path}: {key}: source {source!r} is not under `sources`")
        value = below["value"]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise HardwareError(f"{path}: {key}: {value!r} is not a number")
        yield key, Number(float(value), unit, source, bool(sources[source].get("fitted")))


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
