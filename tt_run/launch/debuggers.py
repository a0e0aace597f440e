"""Which ranks have a debugger: what `--debug-rank` and `--debugpy` say, checked, and left in the run folder for the ranks' Python hook."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tt_run import contract
from tt_run.inputs.findings import all_ranks
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import LaunchPlan

_LAST_PORT = 65535
_HELP = "write --debug-rank 1, or --debugpy 1:5678 for an editor"


def editors(texts: Sequence[str]) -> list[tuple[int, int]] | None:
    """Rank and port of each --debugpy, None where one cannot be read."""
    found = [re.fullmatch(r"(\d+):([1-9]\d{0,4})", text) for text in texts]
    if not all(each and int(each[2]) <= _LAST_PORT for each in found):
        return None
    return [(int(each[1]), int(each[2])) for each in found if each]


def unfit_debuggers(options: LaunchOptions, plan: LaunchPlan) -> tuple[Diagnostic, ...]:
    """A finding for each debugger that no rank of the plan can have."""
    asked = editors(options.debugpy)
    if asked is None:
        return (_finding(f"--debugpy {' '.join(options.debugpy)} is not understood", _HELP),)
    found = []
    ranks = [*([options.debug_rank] if options.debug_rank is not None else []), *(rank for rank, _ in asked)]
    for rank in ranks:
        if rank >= len(plan.ranks):
            wrong = f"there is no rank {rank}; the job has {all_ranks(len(plan.ranks))}"
            last = len(plan.ranks) - 1
            found.append(
                _finding(wrong, f"write --debug-rank {last}, or --debugpy {last}:5678 for an editor")
            )
    if not found:
        found += _twice(ranks, asked, plan)
    if options.debug_rank is not None and not found:
        host = plan.ranks[options.debug_rank].host
        if host not in (None, "localhost", os.uname().nodename):
            found.append(
                _finding(
                    f"rank {options.debug_rank} runs on {host}, which has not this terminal",
                    f"write --debugpy {options.debug_rank}:5678, and ssh -L 5678:localhost:5678 {host}",
                )
            )
        if options.stdin:
            found.append(
                _finding(
                    "--debug-rank and --stdin both read this terminal",
                    "leave --stdin out, or write --debugpy RANK:PORT",
                )
            )
    return tuple(found)


def _twice(ranks: Sequence[int], asked: Sequence[tuple[int, int]], plan: LaunchPlan) -> list[Diagnostic]:
    """A finding for the first rank that is given two debuggers, and for the first port that two ranks of a host are to wait on."""
    rank = next((each for at, each in enumerate(ranks) if each in ranks[:at]), None)
    if rank is not None:
        return [
            _finding(
                f"rank {rank} is given two debuggers",
                f"keep one of them, --debug-rank {rank} or --debugpy {rank}:5678",
            )
        ]
    places = [(plan.ranks[each].host, port) for each, port in asked]
    again = next((at for at, place in enumerate(places) if place in places[:at]), None)
    if again is None:
        return []
    first, (other, port) = asked[places.index(places[again])][0], asked[again]
    free = next(
        each for each in range(port + 1, port + 2 + len(asked)) if each not in [used for _, used in asked]
    )
    wrong = f"ranks {first} and {other} of one host would both wait on port {port}"
    return [_finding(wrong, f"write --debugpy {other}:{free if free <= _LAST_PORT else 5678}")]


def write_debuggers(options: LaunchOptions, run_dir: Path) -> None:
    """Leave for the ranks what was asked for; nothing when nothing was."""
    lines = [f"{options.debug_rank} terminal\n"] if options.debug_rank is not None else []
    lines += [f"{rank} {port}\n" for rank, port in editors(options.debugpy) or ()]
    if lines:
        (run_dir / contract.DEBUGGERS_FILE).write_text("".join(lines), encoding="utf-8")


def _finding(wrong: str, help: str) -> Diagnostic:
    return Diagnostic("TTR047", wrong, help=help)
