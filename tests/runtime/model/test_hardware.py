"""Hardware files: every number has unit and source, systems inherit, and what is written reads the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tt_run.runtime.model.hardware import (
    ARCHITECTURES,
    UNITS,
    HardwareError,
    adjusted,
    load,
    parse,
    shipped,
    write,
)

DOCUMENT = """
architecture: wormhole
sources:
  sheet: {text: "data sheet", date: 2026-01-01}
  fit: {text: "fitted", date: 2026-01-02, fitted: true}
numbers:
  chip:
    clock: {value: 1.0, unit: GHz, source: sheet}
  dram:
    interleaved: {value: 190, unit: GB/s, source: fit}
systems:
  one: {}
  two:
    devices: 2
    like: one
    numbers:
      chip:
        clock: {value: 0.9, unit: GHz, source: sheet}
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hardware.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shipped_numbers_have_unit_source_and_date(architecture: str) -> None:
    file = load(shipped(architecture))
    sources = file.document["sources"]
    everything = [*file.common.values(), *(n for own in file.systems.values() for n in own.values())]
    assert len(everything) > 100
    for number in everything:
        assert number.unit in UNITS
        assert sources[number.source]["date"], number
        assert number.value > 0


def test_a_system_overrides_and_converts(tmp_path: Path) -> None:
    file = load(written(tmp_path, DOCUMENT))
    assert file.system("one")["chip.clock"] == 1000  # cycles per microsecond
    two = file.system("two")
    assert two["chip.clock"] == 900
    assert two["dram.interleaved"] == 190_000  # bytes per microsecond
    assert two.devices == 2
    assert two.read == {"chip.clock", "dram.interleaved"}
    assert file.place_of("two", "chip.clock") == "systems.two.numbers.chip.clock"
    assert file.place_of("one", "chip.clock") == "numbers.chip.clock"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_written_reads_the_same(architecture: str) -> None:
    import yaml

    file = load(shipped(architecture))
    again = parse(yaml.safe_load(write(file.document)), "again")
    assert (again.common, again.systems) == (file.common, file.systems)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("unit: GB/s", "unit: furlongs", "dram.interleaved: unknown unit 'furlongs'"),
        ("source: fit}", "source: rumour}", "source 'rumour' is not under `sources`"),
        ("value: 190", "value: fast", "'fast' is not a number"),
        ("architecture: wormhole", "architecture: grayskull", "`architecture` must be one of"),
        ("like: one", "like: three", "names no system above it"),
        ("  one: {}", "  one: {numbers: {chip: {clock: 3}}}", "a number is written {value, unit, source}"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(HardwareError) as caught:
        load(written(tmp_path, DOCUMENT.replace(old, new)))
    assert said in str(caught.value)


def test_a_missing_number_or_system_is_named(tmp_path: Path) -> None:
    file = load(written(tmp_path, DOCUMENT))
    with pytest.raises(HardwareError, match=r"has no number dram\.sharded"):
        file.system("one")["dram.sharded"]
    with pytest.raises(HardwareError, match="no system 'three'; it describes one, two"):
        file.system("three")
    with pytest.raises(HardwareError, match="No such file"):
        load(tmp_path / "absent.yaml")


def test_numbers_can_be_set_and_scaled(tmp_path: Path) -> None:
    one = load(written(tmp_path, DOCUMENT)).system("one")
    other = adjusted(one, ["dram.interleaved=200", "chip.*=2"])
    assert (other["dram.interleaved"], other["chip.clock"]) == (200_000, 2000)
    assert one["chip.clock"] == 1000
    for text, said in (
        ("dram.interleved=3", "did you mean dram.interleaved?"),
        ("dram.interleaved", "write KEY=VALUE"),
        ("dram.interleaved=-1", "above 0"),
    ):
        with pytest.raises(HardwareError) as caught:
            adjusted(one, [text])
        assert said in str(caught.value)
