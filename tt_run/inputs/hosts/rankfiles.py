"""Rankfiles: which host and slots each MPI rank gets (as the reference launcher 0.81.1 and Open MPI's grammar have them)."""

from __future__ import annotations

import re
from pathlib import Path

from mgd.diagnostics import Label, Position
from mgd.lean import dataclass
from tt_run.inputs.document import read_text
from tt_run.inputs.file_kinds import is_of_another_kind
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.names import host_name_problem
from tt_run.inputs.site import Site

# Texts, not compiled patterns: most launches have no rankfile, and compiling these takes as long as reading one.
_LINE = r"(?ai)\s*rank\s+(?P<rank>\d{1,9})\s*=\s*(?P<host>[^\s=]+)(?:\s+slots?\s*=\s*(?P<slot>[^\s=]+))?\s*\Z"
_CORES = r"\d+(-\d+)?"
_SLOT = rf"(?a)(\*|{_CORES}(:(\*|{_CORES}))?(,{_CORES}(:(\*|{_CORES}))?)*)\Z"


@dataclass(frozen=True, slots=True)
class RankfileLine:
    """`rank N=HOST slot=S`; `slot` is None when the line leaves the binding open."""

    rank: int
    host: str
    slot: str | None = None
    position: Position | None = None

    def __str__(self) -> str:
        return f"rank {self.rank}={self.host}" + (f" slot={self.slot}" if self.slot is not None else "")


@dataclass(frozen=True, slots=True)
class Rankfile:
    """The lines of a rankfile in written order. `has_crlf` tells of Windows line ends, which Open MPI refuses."""

    lines: tuple[RankfileLine, ...]
    path: Path | None = None
    file: str = ""
    has_crlf: bool = False

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts, each once, in the order of their first line."""
        return tuple(dict.fromkeys(line.host for line in self.lines))

    @property
    def is_in_order(self) -> bool:
        """True when the ranks stand ascending, the only order that Open MPI 5 always takes."""
        ranks = [line.rank for line in self.lines]
        return ranks == sorted(ranks)

    @property
    def trouble(self) -> str:
        """Why Open MPI would misread the file, empty when it would not."""
        if self.has_crlf:
            return "it has CRLF line ends"
        return "" if self.is_in_order else "its ranks are not in ascending order"

    def by_rank(self) -> dict[int, RankfileLine]:
        """The line of each rank; the first one of a rank that stands twice."""
        found: dict[int, RankfileLine] = {}
        for line in self.lines:
            found.setdefault(line.rank, line)
        return found

    def normal_text(self) -> str:
        """The file as every Open MPI takes it: ascending, `slot=`, LF line ends, no comments."""
        return "".join(f"{line}\n" for line in sorted(self.lines, key=lambda line: line.rank))


def parse_rankfile(text: str, file: str, findings: Findings, path: Path | None = None) -> Rankfile:
    """The rankfile written in `text`. Lines that are none are findings; `slot=` and `slots=`, any case, blanks around `=`,
    comments from `#` on, blank lines and CRLF are understood."""
    lines: list[RankfileLine] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        content = raw.rstrip("\r").partition("#")[0]
        if not content.strip():
            continue
        position = Position(file, number, len(content) - len(content.lstrip()) + 1)
        match = re.match(_LINE, content)
        if match is None or host_name_problem(match["host"]):
            findings.error(
                "TTR116",
                "a line of the rankfile cannot be read",
                Label(position, content.strip()),
                help="write: rank 0=hostname slot=0",
            )
            continue
        slot = match["slot"]
        if slot is not None and not re.match(_SLOT, slot):
            findings.error(
                "TTR116",
                f"rank {match['rank']} has a slot that cannot be read",
                Label(position, f"slot={slot}"),
                help="a slot is 0, 0-3, 0:0-3, 0,2 or *",
            )
        lines.append(RankfileLine(int(match["rank"]), match["host"], slot, position))
    return Rankfile(tuple(lines), path, file, "\r\n" in text)


def read_rankfile(path: Path, site: Site, findings: Findings) -> Rankfile | None:
    """The rankfile at `path`, or None with a finding when it cannot be read."""
    if is_of_another_kind(path, site, findings, "a rankfile", "--rankfile"):
        return None
    text = read_text(path, site, findings)
    return None if text is None else parse_rankfile(text, site.shown(path), findings, path)
