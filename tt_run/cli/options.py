"""The options of `tt-run`, as click reads them, in the groups in which the help shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

WHAT, WHERE, HOW, WATCH, EMULATE, LOOK = (
    "What to launch",
    "Where the ranks go",
    "How they are started",
    "Watching the run",
    "Emulation",
    "Looking without running",
)


class GroupedOption(click.Option):
    """An option that knows its group in the help text."""

    def __init__(self, *args: Any, group: str = "", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group = group


def _option(group: str, *names: str, **attributes: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=GroupedOption, group=group, **attributes)


OPTIONS: tuple[Callable[[Any], Any], ...] = (
    _option(WHAT, "--rank-binding", metavar="FILE", help="Rank bindings (YAML)."),
    _option(WHAT, "--rank-bindings-mapping", metavar="FILE", help="Several rank bindings as sub-contexts."),
    _option(
        WHAT,
        "-m",
        "--mesh-graph-descriptor",
        metavar="FILE",
        help="Allocate ranks for a mesh graph descriptor.",
    ),
    _option(
        WHAT,
        "-M",
        "--mesh-graph-descriptor-mapping",
        metavar="FILE",
        help="The same for several descriptors.",
    ),
    _option(WHAT, "--mock-cluster-rank-binding", metavar="FILE", help="Mock cluster descriptors by rank."),
    _option(
        WHAT, "--factory-system-descriptor", metavar="FILE", help="Factory system descriptor for every rank."
    ),
    _option(WHERE, "--hosts", metavar="A:2,B:2", help="Hosts, with the number of ranks on each."),
    _option(
        WHERE, "--mpi-args", metavar="WORDS", default="", help="Words for mpirun, e.g. '--rankfile FILE'."
    ),
    _option(
        WHERE,
        "--rankfile-syntax",
        type=click.Choice(["auto", "rankfile", "map-by", "mca"]),
        default="auto",
        metavar="FORM",
        help="How mpirun is told: auto, rankfile, map-by, mca.",
    ),
    _option(WHERE, "--tcp-interface", metavar="NAME", help="Network interface for MPI between hosts."),
    _option(WHERE, "--no-scheduler", is_flag=True, help="Ignore a Slurm or MPIJob allocation."),
    _option(WHERE, "--force-rediscovery", is_flag=True, help="Allocate anew, whatever was found before."),
    _option(HOW, "--bare", is_flag=True, help="Add no word of its own to mpirun's line."),
    _option(HOW, "--mpmd", is_flag=True, help="One application context per rank."),
    _option(HOW, "--stdin", is_flag=True, help="Rank 0 reads this terminal; otherwise nobody does."),
    _option(HOW, "--debug-gdbserver", is_flag=True, help="Each rank under gdbserver, port 20000 + rank."),
    _option(HOW, "--tracy", metavar="WORDS", help="Each rank under the Tracy profiler; '' for its defaults."),
    _option(HOW, "--skip-executable-check", is_flag=True, help="The program need not exist on this machine."),
    _option(HOW, "--skip-mgd-check", is_flag=True, help="The descriptor need not exist on this machine."),
    _option(WATCH, "--log-dir", metavar="DIR", help="Run folder [tt-run-logs/<time>-<pid>]."),
    _option(
        WATCH, "--tee", metavar="WHICH", default="all", help="Console: all, first, errors, none, or 0,3."
    ),
    _option(WATCH, "--no-prefix", is_flag=True, help="No [rank] in front of lines."),
    _option(
        WATCH,
        "--timeout",
        metavar="SEC",
        type=click.FloatRange(min=0, min_open=True),
        help="End the run after this long.",
    ),
    _option(
        WATCH,
        "--start-timeout",
        metavar="SEC",
        type=click.FloatRange(min=0, min_open=True),
        help="All ranks must have started by then.",
    ),
    _option(
        WATCH,
        "--hang-timeout",
        metavar="SEC",
        default="auto",
        help="End when no rank makes progress for so long; auto: when ranks wait for one that has ended; off.",
    ),
    _option(
        WATCH,
        "--max-restarts",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        help="Run again after a failure.",
    ),
    _option(WATCH, "--report", metavar="FILE", help="Write plan, outcomes and verdict as JSON."),
    _option(
        WATCH,
        "--annotations",
        type=click.Choice(["github", "none"]),
        default="none",
        metavar="FORM",
        help="github: mark the failing line.",
    ),
    _option(EMULATE, "--emulate", is_flag=True, help="ttnn and ttml without hardware."),
    _option(EMULATE, "--system", metavar="NAME", help="A ready system: n300, t3000, galaxy, …"),
    _option(EMULATE, "--split", metavar="RxC", help="Cut each mesh over so many hosts."),
    _option(
        EMULATE, "--meshes", metavar="N", type=click.IntRange(min=1), help="So many meshes of the system."
    ),
    _option(
        EMULATE,
        "--guard",
        type=click.Choice(["on", "off"]),
        metavar="on|off",
        help="Check collectives against each other [on].",
    ),
    _option(EMULATE, "--ledger", metavar="FILE", help="Bytes per link, collective and axis."),
    _option(EMULATE, "--timeline", metavar="FILE", help="Trace events for Perfetto."),
    _option(LOOK, "--dry-run", is_flag=True, help="Print what would run."),
    _option(
        LOOK,
        "--format",
        "output_format",
        type=click.Choice(["shell", "json", "table"]),
        default="shell",
        metavar="FORM",
        help="shell, json or table.",
    ),
    _option(
        LOOK,
        "--check",
        type=click.Choice(["error", "warn", "off"]),
        default="error",
        metavar="LEVEL",
        help="Joint check of all inputs: error, warn, off.",
    ),
    _option(LOOK, "--check-only", is_flag=True, help="Stop after the check."),
    _option(
        LOOK,
        "--print-env",
        metavar="RANK",
        type=click.IntRange(min=0),
        help="A rank's variables and their origins.",
    ),
    _option(LOOK, "--explain", metavar="CODE", help="What a finding such as TTR204 means."),
    _option(LOOK, "--doctor", is_flag=True, help="What this machine offers for a launch."),
    _option(LOOK, "-v", "--verbose", is_flag=True, help="Say more."),
    _option(LOOK, "--version", is_flag=True, help="Versions of tt-run and mpirun."),
)
