"""The user's own words for mpirun (`--mpi-args`): what the plan must know of them (specification: tt-run sections 7 and 8).

The words are passed on as they are; only rankfile placement is taken out, because its spelling depends on the version of
Open MPI.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from mgd.diagnostics import Diagnostic
from tt_run.errors import UsageError

_RANKFILE = ("--rankfile", "-rankfile", "-rf")
_MAP_BY = ("--map-by", "-map-by")
_HOST = ("--host", "-host", "-H")
_HOSTFILE = (
    "--hostfile",
    "-hostfile",
    "--machinefile",
    "-machinefile",
    "--default-hostfile",
    "-default-hostfile",
)
_BIND_TO = ("--bind-to", "-bind-to")
_COUNT = ("-np", "--np", "-n", "-c", "--n")
_MCA = ("--mca", "-mca")
_RANKFILE_POLICY = re.compile(r"rankfile:(?P<options>.*)", re.IGNORECASE)
_FILE_OPTION = re.compile(r"file=(?P<file>[^,:\s]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MpiArgs:
    """The user's words by meaning. `words` are those passed on, without the rankfile; `qualifiers` are what else the
    rankfile policy said, e.g. ("oversubscribe",)."""

    words: tuple[str, ...] = ()
    rankfile: str | None = None
    qualifiers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()  # each token of --host lists, e.g. "a:2"
    hostfile: str | None = None
    names_hosts: bool = False
    bind_to: str | None = None
    oversubscribe: bool = False
    tag_output: bool = False
    mca: dict[str, str] = field(default_factory=dict)
    mca_rankfile: str | None = None  # --mca rmaps_rankfile_path F: ignored by Open MPI 5


def split_mpi_args(text: str) -> tuple[str, ...]:
    """The words of the option, by shell rules. Raises UsageError when quotes do not close."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(
            Diagnostic("TTR006", f"--mpi-args cannot be split into words: {error}", help="close the quotes")
        ) from None


def read_mpi_args(words: tuple[str, ...], ranks: int | None = None) -> MpiArgs:
    """The meaning of the words.

    Raises UsageError for `:` (it would start another application context), for a process count that is not `ranks` (the
    rank bindings say how many there are; None when not known yet), and for an option without its value.
    """
    reader = _Reader(list(words), ranks)
    reader.run()
    if reader.problems:
        raise UsageError(reader.problems)
    return MpiArgs(words=tuple(reader.kept), **reader.found)  # type: ignore[arg-type]


class _Reader:
    """One pass over the words."""

    def __init__(self, words: list[str], ranks: int | None) -> None:
        self.words, self.ranks = words, ranks
        self.kept: list[str] = []
        self.found: dict[str, object] = {"mca": {}, "hosts": ()}
        self.problems: list[Diagnostic] = []

    def run(self) -> None:
        while self.words:
            word = self.words.pop(0)
            name, equals, value = word.partition("=") if word.startswith("-") else (word, "", "")
            self._one(word, name, value if equals else None)

    def _one(self, word: str, name: str, inline: str | None) -> None:
        if word == ":":
            self._problem(
                "TTR006",
                "--mpi-args holds ':', which would start another program",
                "leave ':' out: tt-run makes one part for each rank",
            )
        elif name in _RANKFILE:
            _, self.found["rankfile"] = self._value(name, inline)
        elif name in _MAP_BY:
            self._map_by(name, inline)
        elif name in _HOST:
            spelled, value = self._value(name, inline)
            self.kept += spelled
            self.found["hosts"] = (*self.found["hosts"], *filter(None, (value or "").split(",")))  # type: ignore[misc]
            self.found["names_hosts"] = True
        elif name in _HOSTFILE:
            spelled, self.found["hostfile"] = self._value(name, inline)
            self.kept += spelled
            self.found["names_hosts"] = True
        elif name in _BIND_TO:
            spelled, self.found["bind_to"] = self._value(name, inline)
            self.kept += spelled
        elif name in _COUNT:
            self._count(name, inline)
        elif name in _MCA:
            self._mca(name, inline)
        else:
            self.kept.append(word)
            self.found["oversubscribe"] = self.found.get("oversubscribe", False) or name in (
                "--oversubscribe",
                "-oversubscribe",
            )
            self.found["tag_output"] = self.found.get("tag_output", False) or name in (
                "--tag-output",
                "-tag-output",
            )

    def _value(self, name: str, inline: str | None) -> tuple[list[str], str | None]:
        """The words that spell an option with its value, and the value."""
        if inline is not None:
            return [f"{name}={inline}"], inline
        if not self.words:
            self._problem("TTR006", f"{name} in --mpi-args has no value", f"write {name} VALUE")
            return [name], None
        value = self.words.pop(0)
        return [name, value], value

    def _map_by(self, name: str, inline: str | None) -> None:
        spelled, policy = self._value(name, inline)
        match = _RANKFILE_POLICY.search(policy or "")
        file = _FILE_OPTION.search(match["options"]) if match else None
        if match is None or file is None:
            self.kept += spelled
            return
        rest = policy[: match.start()] + match["options"].replace(file.group(0), "")  # type: ignore[index]
        self.found["rankfile"] = file["file"]
        self.found["qualifiers"] = tuple(filter(None, re.split(r"[,:]", rest)))

    def _mca(self, name: str, inline: str | None) -> None:
        spelled, key = self._value(name, inline)
        if key is None or not self.words:
            self._problem(
                "TTR006", f"{name} in --mpi-args needs a name and a value", f"write {name} btl self,tcp"
            )
            return
        value = self.words.pop(0)
        self.kept += [*spelled, value]
        self.found["mca"][key] = value  # type: ignore[index]
        if key == "rmaps_rankfile_path":
            self.found["mca_rankfile"] = value

    def _count(self, name: str, inline: str | None) -> None:
        _, value = self._value(name, inline)
        if value is not None and self.ranks is not None and value != str(self.ranks):
            self._problem(
                "TTR007",
                f"--mpi-args says {name} {value}, but there are {self.ranks} ranks",
                f"leave {name} out: the rank bindings say how many ranks there are",
            )

    def _problem(self, code: str, message: str, help: str) -> None:
        self.problems.append(Diagnostic(code, message, help=help))
