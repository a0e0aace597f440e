"""The numbers of a system: what a key is worth in the model's own units, and the same system with other numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from mgd.lean import dataclass, field
from tt_run.hardware.data_files import HardwareError

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

    def worth(self, value: float) -> Number:
        """The same number with another value."""
        return Number(value, self.unit, self.source, self.fitted)


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


def scaled(hw: Hardware, factors: Mapping[str, float]) -> Hardware:
    """The hardware with some numbers multiplied: all whose keys begin so, each by the longest beginning that fits."""
    numbers = dict(hw.numbers)
    for key, number in numbers.items():
        start = max((s for s in factors if key.startswith(s)), key=len, default=None)
        if start is not None:
            numbers[key] = number.worth(number.value * factors[start])
    return Hardware(hw.architecture, hw.system, hw.devices, numbers, hw.path)


@dataclass(frozen=True, slots=True)
class NumberChange:
    """What one `--set` says: a number's value in the file's unit, or a factor for all keys that begin so."""

    key: str
    value: float | None = None
    factor: float | None = None


def read_change(text: str) -> NumberChange:
    """`KEY=VALUE` or `KEY*=FACTOR`. Raises HardwareError for what is no such text, or no number above 0."""
    name, _, said = text.partition("=")
    try:
        number = float(said)
    except ValueError:
        number = 0.0
    if not 0 < number < inf:
        raise HardwareError(f"{text!r}: write KEY=VALUE or KEY*=FACTOR with a number above 0")
    key = name.removesuffix("*").strip()
    return NumberChange(key, factor=number) if name.endswith("*") else NumberChange(key, value=number)


def adjusted(hw: Hardware, settings: Iterable[str]) -> Hardware:
    """The hardware with other numbers: `KEY=VALUE` in the file's unit, `KEY*=FACTOR` for all keys that begin so.

    Raises HardwareError for what is no such text, and for a key that the file has not, with the nearest.
    """
    for change in map(read_change, settings):
        key = change.key
        known = key in hw.numbers if change.factor is None else any(k.startswith(key) for k in hw.numbers)
        if not known:
            from difflib import get_close_matches

            near = get_close_matches(key, hw.numbers, 1)
            raise HardwareError(
                f"{hw.architecture} has no number {key}" + (f"; did you mean {near[0]}?" if near else ""),
                near=near[0] if near else None,
            )
        if change.factor is not None:
            hw = scaled(hw, {key: change.factor})
        elif change.value is not None:
            numbers = {**hw.numbers, key: hw.numbers[key].worth(change.value)}
            hw = Hardware(hw.architecture, hw.system, hw.devices, numbers, hw.path)
    return hw
