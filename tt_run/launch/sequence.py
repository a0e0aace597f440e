"""Where ranks go on Open MPI before 5.0.10, which fills the launching host first whatever the order of the hosts is.

Its mapper by sequence does not: `--map-by seq --host c,a,a,b` puts each rank where the plan says. Nor does it pin emulated ranks to cores by
the slots of a rankfile, as Open MPI 4.1 does, which does not start a rank whose slot is no core.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tt_run.launch.defaults import BINDING_WORDS, PLACEMENT_WORDS, GivenWords, slots_are_ordinals
from tt_run.launch.mpirun import Launcher
from tt_run.launch.options import LaunchOptions
from tt_run.launch.rankfile import RankfileUse
from tt_run.plan.model import LaunchPlan

IN_ORDER = (5, 0, 10)
"""The first release that fills hosts in the order in which they are named."""


def hosts_in_sequence(plan: LaunchPlan, options: LaunchOptions, launcher: Launcher) -> tuple[str, ...]:
    """The host of each rank, to be named one by one; empty where this Open MPI does what the plan says by the other words."""
    hosts = tuple(rank.host for rank in plan.ranks if rank.host is not None)
    if not plan.placement.hosts or len(hosts) < len(plan.ranks):
        return ()
    if plan.placement.rankfile is not None:
        return hosts if launcher.major == 4 and _pins_nothing(plan, options) else ()
    return hosts if plan.placement.is_multi_host and _is_out_of_order(hosts, launcher) else ()


def _pins_nothing(plan: LaunchPlan, options: LaunchOptions) -> bool:
    """Whether a rankfile only counts ranks. Open MPI 4.1 pins them by it all the same, which ranks with devices get as from the reference."""
    pins = GivenWords(plan.mpi_args, {}).has(*BINDING_WORDS) or not slots_are_ordinals(plan)
    return plan.emulate and not (pins or options.bare) and options.rankfile_syntax == "auto"


def _is_out_of_order(hosts: Sequence[str], launcher: Launcher) -> bool:
    """Whether the launcher would fill another host first. Only where it could it is asked for its release, which starts it."""
    here = os.uname().nodename
    if here not in hosts or hosts[0] == here:
        return False
    return launcher.major == 4 or (launcher.release is not None and launcher.release < IN_ORDER)


def sequence_words(hosts: Sequence[str]) -> tuple[str, ...]:
    """The words for one application context with all ranks."""
    return ("--map-by", "seq", "--host", ",".join(hosts))


def sequence_rankfile(hosts: Sequence[str], run_dir: Path) -> RankfileUse:
    """What holds the order where there is a context for each rank, over which the mapper by sequence does not reach."""
    before: Counter[str] = Counter()
    lines = []
    for rank, host in enumerate(hosts):
        lines.append(f"rank {rank}={host} slot={before[host]}\n")
        before[host] += 1
    why = "this Open MPI fills the launching host first"
    return RankfileUse(run_dir / "rankfile", "".join(lines), why)


def without_placement(words: Sequence[str]) -> tuple[str, ...]:
    """The user's words for mpirun without those that name hosts."""
    kept = []
    left = iter(words)
    for word in left:
        if word in PLACEMENT_WORDS:
            next(left, None)
        elif word.partition("=")[0] not in PLACEMENT_WORDS:
            kept.append(word)
    return tuple(kept)
