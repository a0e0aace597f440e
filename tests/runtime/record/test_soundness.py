"""Records that were cut or changed are refused with file and place, or read as far as they go; nothing else comes of them."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tt_run.contract import Exit
from tt_run.runtime.record import compare, frames
from tt_run.runtime.record.arrays import Flat
from tt_run.runtime.record.facts import Facts
from tt_run.runtime.record.folder import NoRecord, header_of
from tt_run.runtime.record.frames import FrameWriter, call_text
from tt_run.runtime.record.recording import Recording
from tt_run.runtime.record.replaying import Story
from tt_run.runtime.record.soundness import Damaged, check_form
from tt_run.runtime.values.shards import Shards

HEADER: dict[str, Any] = {
    "rank": 0,
    "size": 1,
    "host": "vm",
    "argv": [sys.executable, "prog.py"],
    "cwd": "/nonexistent",
    "executable": sys.executable,
    "environment": {"A": "b"},
    "hidden": [],
    "files": {},
    "program": {},
    "random": [3, [1, 2], None],
    "numpy": ["MT19937", [1, 2], 0, 0, 0.0],
}
FACTS = ["collective", "all_gather", "all_gather(x)", "prog.py:6", [0], False, 0, [0], [0], [[0]], [0]]


def write(path: Path, header: Any = HEADER, calls: int = 3) -> Path:
    made = FrameWriter(path, 1 << 20)
    made.write_json(frames.HEADER, header)
    made.write_json(frames.FACT, FACTS)
    flat = Flat([Shards(np.zeros((1, 6), np.int64), (0,))])
    made.write_json(frames.FORM, flat.form)
    for number in range(1, calls + 1):
        made.write(frames.BEGIN, call_text(number, 0, b"d" * 16))
        if number < calls:  # the last one never ended
            made.write(frames.END, call_text(number, 0, b"e" * 16), [b"\0" * 80])
    return path


def diff(a: Path, b: Path) -> int:
    return compare.main([str(a), str(b), "", "text"])


def test_a_call_that_never_ended_is_compared(tmp_path: Path) -> None:
    pair = [write(tmp_path / name / "rank-0000.record", calls=calls) for name, calls in (("a", 3), ("b", 4))]
    assert diff(pair[0], pair[0]) == Exit.OK
    assert diff(*pair) == Exit.FAILED


@pytest.mark.parametrize(
    "change",
    [
        {"rank": None},
        {"rank": 7},
        {"size": "2"},
        {"argv": []},
        {"argv": [1]},
        {"environment": {"A": None}},
        {"program": {"path": "/x"}},
        {"random": [3, ["x"], None]},
        {"cwd": "\0", "files": {"X": 1}},
    ],
    ids=str,
)
def test_a_header_that_is_none(
    tmp_path: Path, change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "rank-0000.record", {**HEADER, **change})
    with pytest.raises(NoRecord, match=r"rank-0000.record is damaged: what begins at byte \d+"):
        header_of(path)
    assert diff(path, path) == Exit.UNREADABLE
    assert "error[TTP003]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "form",
    [
        None,
        [],
        {},
        "a",
        ["x"],
        ["a", 0, "<f4", [-1]],
        ["a", 0, "<f4", [10**9, 10**9]],
        ["p", ["v", 1], [0]],
        ["d", 1],
    ],
)
def test_a_form_that_is_none(form: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError, IndexError)):
        check_form(form)


def test_the_forms_of_values_are_sound() -> None:
    for value in (None, 1.5, [np.zeros((2, 0))], {1: b"x"}, (np.ones(3), {2: ["y"]}), object):
        check_form(json.loads(json.dumps(Flat(value).form)))


def test_bytes_that_were_changed_anywhere(tmp_path: Path) -> None:
    """What is refused is refused by name; what is read is a story that can be asked for every value."""
    good = write(tmp_path / "rank-0000.record").read_bytes()
    chance = random.Random(20261122)
    path = tmp_path / "changed.record"
    refused = 0
    for _ in range(1500):
        changed = bytearray(good)
        for _ in range(chance.choice((1, 2, 5))):
            at = chance.randrange(len(changed))
            changed[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        path.write_bytes(bytes(changed))
        try:
            story = Story(path)
            for number in range(1, len(story.begun) + 1):
                story.value_of(number) if number in story.ended else story.facts_of(number)
        except ValueError as error:
            assert str(path) in str(error)
            refused += isinstance(error, Damaged)
    assert refused > 100


def test_a_value_that_was_changed_is_damage_and_no_other_program(tmp_path: Path) -> None:
    path = tmp_path / "rank-0000.record"
    made = FrameWriter(path, 1 << 20)
    made.write_json(frames.HEADER, HEADER)
    recording = Recording(made)
    facts = Facts("collective", "all_gather", "all_gather(x)", "prog.py:6", (0, 1))
    value = np.random.default_rng(1).random(600, np.float32)
    recording.call(facts, b"", lambda: [Shards(value.reshape(1, 600), (0,))])
    assert np.array_equal(Story(path).value_of(1)[0].data[0], value)
    whole = bytearray(path.read_bytes())
    whole[whole.index(value[300:320].tobytes())] ^= 1
    path.write_bytes(whole)
    with pytest.raises(Damaged, match="not those that were digested"):
        Story(path).value_of(1)


def test_a_record_of_another_version_says_which(tmp_path: Path) -> None:
    path = write(tmp_path / "rank-0000.record")
    path.write_bytes(path.read_bytes().replace(frames.MAGIC, b"tt-run record 4\n"))
    with pytest.raises(
        NoRecord, match="is a record of version 4, and this tt-run reads version 5: record the run again"
    ):
        header_of(path)


def test_facts_that_were_changed_are_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "rank-0000.record")
    path.write_bytes(path.read_bytes().replace(b"prog.py:6", b"prog.py:7"))
    with pytest.raises(Damaged, match=r"what begins at byte \d+ is not as it was written \(its checksum"):
        Story(path)


@pytest.mark.parametrize("kind", [frames.ENTROPY, frames.CLOCK, frames.INPUT, frames.END])
def test_a_record_that_was_cut_reads_to_the_cut(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "rank-0000.record"
    made = FrameWriter(path, 1 << 20)
    made.write_json(frames.HEADER, HEADER)
    made.write(kind, call_text(1, 0), [b"x" * 50])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert [frame.kind for frame in frames.read_frames(path)] == [frames.HEADER]


@pytest.mark.parametrize(("device", "told"), [(None, (None, None)), ((1, 6), (1, 6))])
def test_a_difference_that_is_no_devices_names_none(device: Any, told: tuple[Any, Any]) -> None:
    nowhere: Any = (None, None)
    found = compare.Comparison(nowhere, True, difference=compare.Difference(nowhere, "the lengths", device))
    said = compare.json_of(found)
    assert said["same"] is False
    assert (said["difference"]["mesh"], said["difference"]["device"]) == told
