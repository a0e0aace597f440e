"""What a recorded run has left: where, how much, and what to type next."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mgd.diagnostics import on_one_line
from tt_run.inputs.site import from_here
from tt_run.plan.model import LaunchPlan

_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def recorded(folder: Path, run: str, plan: LaunchPlan, shown: str) -> str:
    """One or two lines about the records of a run; `shown` is the folder as the user wrote it."""
    files = {
        int(found[1]): path
        for path in (folder / run).glob("rank-*.record")
        if (found := re.match(r"rank-(\d+)\.", path.name))
    }
    size = sum(path.stat().st_size for path in (folder / run).glob("rank-*.record"))
    ranks = f"{len(files)} of {len(plan.ranks)} ranks"
    missing = [rank for rank in plan.ranks if rank.rank not in files]
    if not files and not missing:
        return ""
    text = f"--record: {on_one_line(from_here(folder / run))}: {ranks}, {_amount(size)}"
    if files:
        text += f"; tt-run replay {shown} --rank {min(files)}"
    here = (None, "localhost", os.uname().nodename)
    hosts = sorted({str(rank.host) for rank in missing if rank.host not in here})
    if hosts:
        text += f"\nthe other ranks wrote on their hosts, {', '.join(hosts)}: copy {from_here(folder / run)} from there"
    elif missing:
        text += "\na rank without a record ended before it opened a mesh or used MPI"
    return text


def _amount(size: int) -> str:
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
