"""The user's own words for mpirun (`--mpi-args`): what the plan must know of them (reference launcher 0.81.1).

The words are passed on as they are; only rankfile placement is taken out, because its spelling depends on the version of
Open MPI.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass, field, replace
from tt_run.errors import UsageError
from tt_run.inputs.findings import counted
from tt_run.inputs.hosts.names import host_name_problem

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

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
_OVERSUBSCRIBE = ("--oversubscribe", "-oversubscribe")
RANKFILE_POLICY = ("rankfile:file=", "")
"""What stands before and after the name of a rankfile in a --map-by policy, where the user says no more."""

_FILE_OF_POLICY = r"(?i)rankfile:(?:.*[:,])?file=(?P<file>[^,:\s]*)"


@dataclass(frozen=True, slots=True)
class MpiArgs:
    """The user's words by meaning. `words` are those passed on, without the rankfile, which stood before
    `words[rankfile_at]`; `policy` is what stood around its name, e.g. ("rankfile:file=", ":oversubscribe"); `hosts` is
    each token of --host lists, e.g. "a:2"."""

    words: tuple[str, ...] = ()
    rankfile: str | None = None
    rankfile_at: int = 0
    policy: tuple[str, str] = RANKFILE_POLICY
    hosts: tuple[str, ...] = ()
    hostfile: str | None = None
    bind_to: str | None = None
    oversubscribe: bool = False
    mca: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str | None] = field(default_factory=dict)  # -x NAME=VALUE; None for -x NAME


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
    while reader.left:
        reader.take()
    if reader.problems:
        raise UsageError(reader.problems)
    return reader.result


def host_token(token: str) -> tuple[str, int | None]:
    """A token of a --host list: the name, and the slots after a colon (None: it has none)."""
    name, colon, count = token.rpartition(":")
    is_count = count.isascii() and count.isdigit() and len(count) < 10
    return (name, int(count)) if colon and name and is_count else (token, None)


def _token_problem(token: str) -> str:
    """What is wrong with a token of a --host list, empty for nothing. Names with several colons are addresses."""
    name, colon, count = token.rpartition(":")
    if colon and ":" not in name and host_token(token)[1] is None and count != "*":
        return f"{token!r} has no slot count after ':'" if name else f"{token!r} has no host before ':'"
    return host_name_problem(token)


@dataclass()
class _Reader:
    """One pass over the words: `left` are those to come, `result` what is known so far."""

    left: list[str]
    ranks: int | None
    result: MpiArgs = field(default_factory=MpiArgs)
    problems: list[Diagnostic] = field(default_factory=list)

    def take(self) -> None:
        """Reads one option with its value, or one other word."""
        word = self.left.pop(0)
        name, equals, rest = word.partition("=")
        inline = rest if equals else None
        if word == ":":
            help = "leave ':' out: tt-run makes one part for each rank"
            self._problem("TTR006", "--mpi-args holds ':', which would start another program", help)
        elif name in _RANKFILE:
            self._rankfile(self._value(name, inline)[1], RANKFILE_POLICY)
        elif name in _MAP_BY:
            self._map_by(*self._value(name, inline))
        elif name in _HOST:
            value = self._kept(name, inline) or ""
            for problem in filter(None, map(_token_problem, filter(None, value.split(",")))):
                self._problem("TTR015", f"{name} in --mpi-args: {problem}", f"write {name} host1:2,host2:2")
            self._know(hosts=(*self.result.hosts, *filter(None, value.split(","))))
        elif name in _HOSTFILE:
            self._know(hostfile=self._kept(name, inline))
        elif name in _BIND_TO:
            self._know(bind_to=self._kept(name, inline))
        elif name in _COUNT:
            self._count(name, self._value(name, inline)[1])
        elif name in _MCA:
            self._mca(name, inline)
        elif word == "-x":
            variable, equals, value = (self._kept(word, None) or "").partition("=")
            self._know(exports={**self.result.exports, variable: value if equals else None})
        else:
            self._keep([word])
            if name in _OVERSUBSCRIBE:
                self._know(oversubscribe=True)

    def _value(self, name: str, inline: str | None) -> tuple[list[str], str | None]:
        """The words that spell an option with its value, and the value; None with a problem when it is missing."""
        if inline is not None:
            return [f"{name}={inline}"], inline
        if not self.left:
            self._problem("TTR006", f"{name} in --mpi-args has no value", f"write {name} VALUE")
            return [name], None
        value = self.left.pop(0)
        return [name, value], value

    def _kept(self, name: str, inline: str | None) -> str | None:
        """The value of an option that is passed on as it is."""
        spelled, value = self._value(name, inline)
        self._keep(spelled)
        return value

    def _map_by(self, spelled: list[str], policy: str | None) -> None:
        match = re.search(_FILE_OF_POLICY, policy or "")
        if policy is None or match is None:
            self._keep(spelled)
            return
        around = (policy[: match.start("file")], policy[match.end("file") :])
        is_plain = around[0].lower() == RANKFILE_POLICY[0] and not around[1]
        policy_around = RANKFILE_POLICY if is_plain else around
        self._rankfile(match["file"], policy_around)

    def _rankfile(self, file: str | None, policy: tuple[str, str]) -> None:
        known = self.result.rankfile
        if known is not None and file is not None and known != file:
            help = "keep one of them"
            self._problem("TTR006", f"--mpi-args names two rankfiles, {known} and {file}", help)
        self._know(rankfile=file, rankfile_at=len(self.result.words), policy=policy)

    def _mca(self, name: str, inline: str | None) -> None:
        spelled, key = self._value(name, inline)
        if key is None or not self.left:
            self._problem(
                "TTR006", f"{name} in --mpi-args needs a name and a value", f"write {name} btl self,tcp"
            )
            return
        value = self.left.pop(0)
        self._keep([*spelled, value])
        self._know(mca={**self.result.mca, key: value})

    def _count(self, name: str, value: str | None) -> None:
        if value is not None and self.ranks is not None and value != str(self.ranks):
            self._problem(
                "TTR007",
                f"--mpi-args says {name} {value}, but the bindings have {counted(self.ranks, 'rank')}",
                f"leave {name} out: the rank bindings say how many ranks there are",
            )

    def _keep(self, words: list[str]) -> None:
        self._know(words=(*self.result.words, *words))

    def _know(self, **facts: Any) -> None:
        self.result = replace(self.result, **facts)

    def _problem(self, code: str, message: str, help: str) -> None:
        self.problems.append(Diagnostic(code, message, help=help))
