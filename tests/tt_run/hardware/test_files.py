"""Hardware files: every number has unit and source, systems inherit, and what is written reads the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tt_run.hardware.data_files import MOST, HardwareError
from tt_run.hardware.files import OPEN, load, shipped, write
from tt_run.hardware.numbers import ARCHITECTURES, UNITS, adjusted
from tt_run.hardware.systems import hardware_of

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
def test_written_reads_the_same(tmp_path: Path, architecture: str) -> None:
    file = load(shipped(architecture))
    again = load(written(tmp_path, write(file.document)))
    assert (again.common, again.systems) == (file.common, file.systems)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("unit: GB/s", "unit: GB/S", "9:37: dram.interleaved: unknown unit 'GB/S'; did you mean GB/s?"),
        ("source: fit}", "source: fitt}", "9:51: dram.interleaved: source 'fitt' is not under `sources`; did you"),
        ("value: 190", "value: fast", "9:26: dram.interleaved: 'fast' is not a number\n"),
        ("value: 190", "value: 2e-05", "9:26: dram.interleaved: '2e-05' is not a number; write 2.0e-05, with a point"),
        ("value: 190", "value: 0", "9:26: dram.interleaved: 0 is not a finite number above 0"),
        ("value: 190", "value: .inf", "9:26: dram.interleaved: inf is not a finite number above 0"),
        (", unit: GHz, source: sheet}\n  dram", ", source: sheet}\n  dram", "7:5: chip.clock: no unit"),
        ("value: 190, ", "", "9:5: dram.interleaved: no value; a number is written"),
        ("value: 190", "vale: 190", "9:19: dram.interleaved: unknown key 'vale'; did you mean value?\n"),
        ("fit}", "fit, mots: 3}", "9:56: dram.interleaved: unknown key 'mots'; did you mean most?"),
        ("fit}", "fit, most: x}", "9:62: dram.interleaved.most: 'x' is not a number"),
        ("interleaved:", "interleved:", "9:5: dram.interleved: no such number; did you mean dram.interleaved?"),
        ("  dram:", "  chip:", "8:3: numbers: chip stands there twice, first in line 6"),
        ("architecture: wormhole", "architecture: grayskull", "1:15: `architecture` must be one of wormhole, b"),
        ("architecture:", "arch:", "1:1: a hardware file: unknown key 'arch'; known: architecture,"),
        ("like: one", "like: ona", "14:11: systems.two: `like: ona` names no system above it; did you mean one?"),
        ("devices: 2", "devices: two", "13:14: systems.two.devices: two is not a whole number above 0"),
        ("devices: 2", "devises: 2", "13:5: systems.two: unknown key 'devises'; did you mean devices?"),
        ("  one: {}", "  one: {numbers: {chip: {clock: 3}}}", "11:26: chip.clock: a number is written {value, unit"),
        ("  one: {}", "  one: 3", "11:8: systems.one is a map of keys, not 3"),
        ("data sheet", "\x07", "3:18: not YAML: the character U+0007 may not stand in YAML"),
        ("data sheet", "data\n\tsheet\" x", "4:9: not YAML: "),
        ("  one: {}", "  ? [1]\n  : {}", "11:5: systems: a key is a word, not [1]"),
        (DOCUMENT, "- 1", "1:1: a hardware file is a map of keys, not [1]"),
        (DOCUMENT, "", "`architecture` must be one of"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in DOCUMENT
    path = written(tmp_path, DOCUMENT.replace(old, new, 1).removeprefix("\n"))
    with pytest.raises(HardwareError) as caught:
        load(path)
    where = f"{path}:" if said[0].isdigit() else ""
    assert f"{where}{said}" in f"{caught.value}\n"


def test_all_findings_are_told_at_once_and_the_list_ends(tmp_path: Path) -> None:
    rows = "\n".join(f"    c{n}: {{value: 1, unit: m, source: sheet}}" for n in range(12))
    with pytest.raises(HardwareError) as caught:
        load(written(tmp_path, DOCUMENT.replace("  dram:", f"{rows}\n  dram:")))
    lines = str(caught.value).splitlines()
    assert len(lines) == MOST + 1
    assert lines[-1] == f"and {2 * 12 - MOST} more"  # unit and name of each


def test_numbers_of_further_kernels_may_stand_there(tmp_path: Path) -> None:
    more = "kernels: {mine: {fixed: {value: 9, unit: cycles, source: fit}}}"
    assert load(written(tmp_path, DOCUMENT.replace("  dram:", f"  {more}\n  dram:"))).system("one")["kernels.mine.fixed"] == 9  # fmt: skip


def test_a_file_that_would_multiply_itself_ends_at_once(tmp_path: Path) -> None:
    levels = [f"a{n}: &a{n} {{{', '.join(f'k{i}: *a{n - 1}' for i in range(9))}}}" for n in range(1, 12)]
    with pytest.raises(HardwareError, match=r"hardware\.yaml:\d+:\d+: not YAML: aliases and merge keys make"):
        load(written(tmp_path, "a0: &a0 {x: 1}\n" + "\n".join(levels)))


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


def test_numbers_that_a_file_may_leave_out(tmp_path: Path) -> None:
    """A number for one kind stands before the one for all, and what has neither is named by the first."""
    hw = load(written(tmp_path, DOCUMENT)).system("one")
    assert hw.get("chip.clock", 7.0) == 1000.0  # cycles in a microsecond
    assert hw.get("chip.cores", 7.0) == 7.0
    assert hw.first("chip.cores", "chip.clock") == hw.first("chip.clock", "dram.interleaved") == 1000.0
    with pytest.raises(HardwareError, match=r"chip\.cores"):
        hw.first("chip.cores", "dram.cores")


def test_what_is_fitted_and_what_is_known_is_told_apart(tmp_path: Path) -> None:
    """Calibration moves the numbers of a fitted source alone, and writes a source as it was read."""
    numbers = load(written(tmp_path, DOCUMENT)).system("one").numbers
    assert (numbers["dram.interleaved"].fitted, numbers["chip.clock"].fitted) == (True, False)
    for value, text in ((True, "true"), (False, "false")):
        assert write({"fit": {"fitted": value}}).split() == ["fit:", "fitted:", text]


@pytest.mark.parametrize(
    ("arch", "devices", "clock"),
    [
        ("WORMHOLE_B0", 1, "wormhole"),
        ("wormhole", 32, "wormhole"),
        ("BLACKHOLE", 1, "blackhole"),
        ("blackhole", 8, "blackhole"),
    ],
)
def test_a_mesh_has_the_numbers_of_its_architecture(arch: str, devices: int, clock: str) -> None:
    system = {("wormhole", 1): "n150", ("blackhole", 1): "p150", ("blackhole", 8): "p150x8"}.get(
        (clock, devices), "galaxy"
    )
    assert hardware_of(arch, devices, None).numbers == load(shipped(clock)).system(system).numbers


@pytest.mark.parametrize("missing", [MOST, MOST + 1])
def test_what_a_file_lacks_is_named_up_to_a_few(tmp_path: Path, missing: int) -> None:
    """The file that comes with tt-run, without so many of its numbers."""
    whole = load(shipped("wormhole")).system("n150").numbers
    wanted = [key for key in sorted(whole) if not OPEN.fullmatch(key)]
    kept = wanted[missing:]
    tree: dict[str, Any] = {}
    for key in kept:
        place = tree
        for word in key.split(".")[:-1]:
            place = place.setdefault(word, {})
        place[key.rpartition(".")[2]] = {"value": 1.0, "unit": whole[key].unit, "source": "s"}
    top = {"architecture": "wormhole", "sources": {"s": {"text": "t", "date": "2026-01-01"}}, "numbers": tree}
    text = write({**top, "systems": {"n150": {"devices": 1}}})
    with pytest.raises(HardwareError) as error:
        hardware_of("wormhole", 1, str(written(tmp_path, text)))
    named = ", ".join(wanted[:MOST]) + (", …" if missing > MOST else "")
    assert f"system n150 lacks {missing} numbers ({named}); change a copy of " in str(error.value)
