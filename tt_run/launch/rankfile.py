"""Rankfiles as the launcher reads them: the user's own where that works, otherwise a corrected copy (reference launcher 0.81.1)."""

from __future__ import annotations

import re
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass
from tt_run.errors import UsageError
from tt_run.plan.model import LaunchPlan


@dataclass(frozen=True, slots=True)
class RankfileUse:
    """The rankfile that the launcher is given; `text` is None for the user's own file and the content of a copy otherwise."""

    path: Path
    text: str | None = None
    why: str = ""


def choose_rankfile(plan: LaunchPlan, run_dir: Path) -> RankfileUse | None:
    """The rankfile to name on the line, None when the plan has none. Reads and writes nothing."""
    placement = plan.placement
    if placement.rankfile is None:
        return None
    trouble = placement.rankfile_trouble
    if re.search(r"[:,\s]", str(placement.rankfile)):
        trouble = "its path holds a colon, comma or blank, which mpirun's policy parser splits at"
    if not trouble or not placement.rankfile_copy:
        return RankfileUse(placement.rankfile)
    return RankfileUse(run_dir / "rankfile", placement.rankfile_copy, trouble)


def rankfile_words(
    path: str, policy: tuple[str, str], syntax: str, major: int | None, *, unchecked: bool = False
) -> tuple[str, ...]:
    """The words that make the launcher use a rankfile.

    `auto` asks for the form of Open MPI 5 where that is the version, and the older one otherwise. The `mca` form is refused on Open
    MPI 5, which ignores it silently and puts the ranks elsewhere, unless `unchecked`. Raises UsageError.
    """
    form = ("map-by" if major is not None and major >= 5 else "rankfile") if syntax == "auto" else syntax
    if form == "map-by":
        return ("--map-by", path.join(policy))
    if form == "rankfile":
        return ("--rankfile", path)
    if major is not None and major >= 5 and not unchecked:
        raise UsageError(
            Diagnostic(
                "TTR503",
                "--rankfile-syntax mca: Open MPI 5 ignores rmaps_rankfile_path and places the ranks elsewhere",
                help="use --rankfile-syntax auto",
            )
        )
    return ("--mca", "rmaps_rankfile_path", path)
