"""The candidates of a comparison: systems, splits, words of the program and numbers of the hardware, every combination of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from mgd.lean import dataclass

LINKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ()),
    ("channels x2", ("fabric.channels*=2",)),
    ("link rate x2", ("fabric.packet*=0.5", "fabric.cap*=2")),
)
"""What `--vary-links` compares: as described, twice the channels between neighbours, twice the rate of each."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One combination: where it runs, what the program is called with, which numbers are changed."""

    system: str
    split: str
    values: tuple[tuple[str, str], ...]
    links: str
    settings: tuple[str, ...]
    program: tuple[str, ...]
    lost: str = ""
    chosen: tuple[str, ...] = ()
    """Of the settings, those of which other candidates have another value."""
    hardware: str = ""

    @property
    def label(self) -> str:
        """What sets it apart, in a few words."""
        words = [self.system, self.split, *(f"{n}={v}" for n, v in self.values), *self.chosen, self.links]
        words += [f"without {self.lost}"] if self.lost else []
        return " ".join(word for word in words if word)

    def facts(self) -> dict[str, Any]:
        """What sets it apart, one key for each: lost links and chips and changed numbers are taken apart."""
        from tt_run.degraded import read_losses
        from tt_run.hardware.numbers import read_change

        changes = map(read_change, self.settings)
        losses = read_losses(self.lost)
        return {
            "system": self.system,
            "split": [int(word) for word in self.split.split("x")] if self.split else None,
            "values": dict(self.values),
            "hardware": self.hardware or None,
            "settings": [{"key": one.key, "value": one.value, "factor": one.factor} for one in changes],
            "degraded": [
                {"mesh": one.mesh_id, "device": one.device, "other": one.other, "cables": one.cables}
                for one in losses
            ],
        }

    def words(self, target: str, memory: str, shapes: bool) -> list[str]:
        """The command line of its launch, which writes its prediction to `target` and what devices hold to `memory`."""
        options = ["--emulate"]
        options += ["-m", self.system] if self.is_descriptor else ["--system", self.system]
        options += ["--split", self.split] if self.split else []
        options += ["--shapes-only"] if shapes else []
        options += [f"--hardware={self.hardware}"] if self.hardware else []
        options += [f"--set={text}" for text in self.settings]
        options += [f"--degrade={self.lost}"] if self.lost else []
        return [*options, f"--predict={target}", f"--memory={memory}", "--", *self.program]

    @property
    def is_descriptor(self) -> bool:
        """Whether the system is a descriptor's file, such as one with missing links."""
        return self.system.endswith((".textproto", ".yaml"))


def candidates(
    systems: Sequence[str],
    splits: Sequence[str],
    varied: Sequence[tuple[str, Sequence[str]]],
    settings: Sequence[str],
    program: Sequence[str],
    vary_links: bool = False,
    degraded: Sequence[str] = (),
    hardware: str = "",
) -> list[Candidate]:
    """Every combination, in the order in which they were named. `{NAME}` in the program's words becomes the value of NAME.

    `degraded` says for each further candidate what it lost. A setting `KEY=A,B` has several values; `hardware` is a file of constants.
    """
    names = [name for name, _ in varied]
    found = []
    links = LINKS if vary_links else LINKS[:1]
    several = [alternatives(text) for text in settings]
    for system, split, values, numbers, (label, factors), lost in product(
        systems,
        splits or [""],
        product(*(each for _, each in varied)),
        product(*several),
        links,
        ("", *degraded),
    ):
        chosen = tuple(zip(names, values, strict=True))
        words = tuple(_filled(word, chosen) for word in program)
        told = tuple(text for text, each in zip(numbers, several, strict=True) if len(each) > 1)
        found.append(
            Candidate(system, split, chosen, label, (*numbers, *factors), words, lost, told, hardware)
        )
    return found


def alternatives(setting: str) -> list[str]:
    """`KEY=A,B` as `KEY=A` and `KEY=B`."""
    key, sign, values = setting.partition("=")
    return [f"{key}{sign}{value.strip()}" for value in values.split(",")]


def _filled(word: str, values: tuple[tuple[str, str], ...]) -> str:
    for name, value in values:
        word = word.replace("{" + name + "}", value)
    return word
