"""What a record tells about a call's values on each device: digests of what it sent and got, and the values where they were kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.record import play
from tt_run.runtime.record.arrays import DIGEST_BYTES, array_forms, stacks_of
from tt_run.runtime.record.facts import Facts
from tt_run.runtime.record.folder import NoRecord, header_of
from tt_run.runtime.record.replaying import Story
from tt_run.runtime.record.soundness import reading

Array = npt.NDArray[Any]
Device = tuple[int, int]
"""A mesh id, and a physical number on it."""
Place = tuple[int, int]
"""The number of an array, and of a row in it."""
_REPLAY_SECONDS = 600.0


@dataclass(frozen=True)
class RecordedCall:
    """A call of one rank in a record."""

    story: Story
    number: int

    @cached_property
    def facts(self) -> Facts:
        """What it is called."""
        return self.story.facts_of(self.number)

    @cached_property
    def sent(self) -> bytes:
        """The digests of what the rank gave."""
        return self.story.begun[self.number - 1].digests

    @cached_property
    def got(self) -> bytes | None:
        """The digests of what it got; None where it never ended."""
        frame = self.story.ended.get(self.number)
        return None if frame is None else frame.digests

    @cached_property
    def error(self) -> str:
        """The error that ended it, if one did."""
        frame = self.story.raised.get(self.number)
        return "" if frame is None else str(json.loads(frame.digests)["message"])

    def sent_by(self, device: int) -> bytes | None:
        """The digest of what one of the rank's devices gave, None for nothing."""
        row = dict(zip(self.facts.devices, self.facts.rows, strict=False)).get(device, -1)
        return self.sent[DIGEST_BYTES * row : DIGEST_BYTES * (row + 1)] or None if row >= 0 else None

    def got_by(self, device: int) -> list[bytes]:
        """The digests of what one of the rank's devices got: one, or one for each result."""
        got = self.got or b""
        with reading(self.story.path, self.story.place_of(self.number)):
            starts = self._starts
            places = [starts[number] + row for number, row in self.places_of(device)]
        found = [got[DIGEST_BYTES * place : DIGEST_BYTES * (place + 1)] for place in places]
        return [each for each in found if each]

    def places_of(self, device: int) -> list[Place]:
        """Where a device's results lie in what the call gave."""
        form = self.story.form_of(self.number)
        if form is None or self.facts.kind != "collective" or device not in self.facts.devices:
            return []
        local = self.facts.devices.index(device)
        found: list[Place] = []
        for part, locals_ in zip(form[1:], self.facts.parts, strict=False):
            if local in locals_:
                for piece in part[1:] if part[0] == "l" else [part]:
                    found.append((piece[1][1], piece[2][locals_.index(local)]))
        return found

    @cached_property
    def _starts(self) -> list[int]:
        """The place of each array's first digest."""
        form = self.story.form_of(self.number)
        starts = [0]
        if form is None:  # the call never ended
            return starts
        kinds, stacks = array_forms(form), stacks_of(form)
        for number in range(len(kinds)):
            starts.append(starts[-1] + (kinds[number][1][0] if number in stacks else 1))
        return starts

    @cached_property
    def seen(self) -> tuple[Array | None, list[Array]]:
        """What was sent, as rows, and what came back, as arrays: from the record, else from a replay up to here; empty where neither can."""
        kept = self.story.arrays_of(self.number)
        if self.facts.kind not in ("collective", "entered"):
            return None, kept
        found = _by_replay(self)
        return found if found is not None else (None, kept)


def calls_of(story: Story) -> Iterator[RecordedCall]:
    """The calls of a record in order."""
    return (RecordedCall(story, number) for number in range(1, len(story.begun) + 1))


def _by_replay(call: RecordedCall) -> tuple[Array | None, list[Array]] | None:
    """What a replay of the recorded program has at a call; None where the program is not here, has changed, or differs before."""
    story = call.story
    with tempfile.TemporaryDirectory(prefix="tt-run-diff-") as folder:
        path = Path(folder) / "values.npz"
        try:
            header = header_of(story.path)
            words, where = play.words_of(header, ()), header["cwd"]
        except NoRecord:
            return None
        if not Path(where).is_dir() or play.has_changed(header["program"]):
            return None
        how = json.dumps({"dump": [call.number, str(path)]})
        try:
            subprocess.run(
                words,
                cwd=where,
                env=play.environment_of(header, story.path.resolve(), how, os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_REPLAY_SECONDS,
                check=False,
            )
            with np.load(path) as found:
                results = [found[f"got{n}"] for n in range(len(found.files) - 1)]
                return found["sent"], results
        except (OSError, subprocess.TimeoutExpired, ValueError):
            return None


def dump(path: str, sent: Array, got: list[Array]) -> None:
    """What a replay has at the call that it was asked for; the process has nothing more to do."""
    arrays: dict[str, Any] = {"sent": sent, **{f"got{n}": array for n, array in enumerate(got)}}
    np.savez(path, **arrays)
    sys.stdout.flush()
    os._exit(0)
