"""Rankfiles as the launcher reads them: the user's own where that works, otherwise a corrected copy (specification: tt-run section 8)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tt_run.errors import UsageError
from tt_run.plan.model import LaunchPlan, RankPlan


@dataclass(frozen=True, slots=True)
class RankfileUse:
    """The rankfile that the launcher is given; `text` is None for the user's own file and the content of a copy otherwise."""

    path: Path
    text: str | None = None
    why: str = ""


def rankfile_text(ranks: tuple[RankPlan, ...]) -> str:
    """One line per rank, ascending from 0, LF line ends: what every Open MPI accepts."""
    lines = (f"rank {rank.rank}={rank.host}" + (f" slot={rank.slot}" if rank.slot else "") for rank in ranks)
    return "".join(f"{line}\n" for line in lines)


def choose_rankfile(plan: LaunchPlan, run_dir: Path) -> RankfileUse | None:
    """The rankfile to name on the line, None when the plan has none. Reads the user's file, writes nothing."""
    given = plan.placement.rankfile
    if given is None:
        return None
    trouble = _trouble(given)
    if not trouble:
        return RankfileUse(given)
    ranks = tuple(sorted(plan.ranks, key=lambda rank: rank.rank))
    if any(rank.host is None for rank in ranks):
        return RankfileUse(given)
    return RankfileUse(run_dir / "rankfile", rankfile_text(ranks), trouble)


def _trouble(path: Path) -> str:
    """Why Open MPI would misread the file, or an empty text."""
    if re.search(r"[:,\s]", str(path)):
        return "its path holds a colon, comma or blank, which mpirun's policy parser splits at"
    try:
        content = path.read_bytes()
    except OSError:
        return ""
    if b"\r" in content:
        return "it has CRLF line ends"
    text = content.decode(errors="replace")
    numbers = [int(number) for number in re.findall(r"rank\s+(\d+)\s*=\s*\S", text, re.IGNORECASE)]
    return "" if numbers == sorted(numbers) else "its ranks are not in ascending order"


def rankfile_words(path: str, qualifiers: tuple[str, ...], syntax: str, major: int | None) -> tuple[str, ...]:
    """The words that make the launcher use a rankfile.

    `auto` asks for the form of Open MPI 5 where that is the version, and the older one otherwise. The `mca` form is refused on Open
    MPI 5, which ignores it silently and puts the ranks elsewhere. Raises UsageError.
    """
    form = ("map-by" if major is not None and major >= 5 else "rankfile") if syntax == "auto" else syntax
    if form == "map-by":
        return ("--map-by", ":".join((f"rankfile:file={path}", *qualifiers)))
    if form == "rankfile":
        return ("--rankfile", path)
    if major is not None and major >= 5:
        raise UsageError(
            Diagnostic(
                "TTR503",
                "--rankfile-syntax mca: Open MPI 5 ignores rmaps_rankfile_path and places the ranks elsewhere",
                help="use --rankfile-syntax auto",
            )
        )
    return ("--mca", "rmaps_rankfile_path", path)
