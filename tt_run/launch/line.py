"""The launcher's command line, made from a plan at the last moment and never read back (reference launcher 0.81.1)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from mgd.lean import dataclass, field
from tt_run.launch.defaults import (
    OVERSUBSCRIBE_WORDS,
    PLACEMENT_WORDS,
    GivenWords,
    default_words,
    job_around,
    launcher_environment,
    unwanted_hostfiles,
)
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher
from tt_run.launch.options import LaunchOptions
from tt_run.launch.rankfile import RankfileUse, choose_rankfile, rankfile_words
from tt_run.launch.sequence import hosts_in_sequence, sequence_rankfile, sequence_words, without_placement
from tt_run.plan.model import Default, LaunchPlan, RankPlan

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class LaunchLine:
    """One launcher call: global words, application contexts, and the environment that the launcher itself gets.

    `environment` is set on top of the parent's, `unset` is taken out of it. `defaults` tells what was added and why.
    """

    launcher: str
    global_args: tuple[str, ...]
    contexts: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    defaults: tuple[Default, ...] = ()
    rankfile: RankfileUse | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """The argument vector."""
        return (self.launcher, *self.global_args, *self.contexts)

    def shell_lines(self) -> tuple[str, ...]:
        """The same as lines that can be pasted into a shell; a corrected rankfile is written by the first one."""
        before = ["env", *(word for name in self.unset for word in ("-u", name))] if self.unset else []
        if self.environment:
            before = (before or ["env"]) + [f"{name}={value}" for name, value in self.environment.items()]
        lines = [shlex.join((*before, *self.command))]
        if self.rankfile is not None and self.rankfile.text is not None:
            lines.insert(0, writing_command(self.rankfile.path, self.rankfile.text))
        return tuple(lines)

    def as_json(self) -> dict[str, Any]:
        """What the line adds to the JSON of a plan: the launcher's environment, and every default with its reason."""
        return {
            "launcher_env": dict(self.environment),
            "launcher_unset": list(self.unset),
            "defaults": [{"words": list(default.words), "why": default.why} for default in self.defaults],
        }

    def defaults_told(self) -> list[str]:
        """What tt-run added by itself and why, a line for each reason."""
        by_reason: dict[str, list[str]] = {}
        for default in self.defaults:
            by_reason.setdefault(default.why, []).append(shlex.join(default.words))
        return [f"added {' '.join(words)} ({why})" for why, words in by_reason.items()]


def writing_command(path: Path, text: str) -> str:
    """A shell line that writes a small file."""
    folder, file = shlex.quote(str(path.parent)), shlex.quote(str(path))
    return f"mkdir -p {folder} && printf %s {shlex.quote(text)} > {file}"


def build_line(
    plan: LaunchPlan,
    launcher: Launcher,
    machine: Machine,
    options: LaunchOptions,
    run_dir: Path,
    per_rank: tuple[str, ...],
) -> LaunchLine:
    """The line that runs the plan: `per_rank` are the words of the rank wrapper, the same on every rank.

    Raises UsageError for a rankfile syntax that this launcher ignores.
    """
    contexts: list[str] = []
    if options.mpmd:
        for index, _rank in enumerate(plan.ranks):
            contexts += [":"] * bool(index) + ["-np", "1", *per_rank]
    else:
        contexts += ["-np", str(len(plan.ranks)), *per_rank]
    return _line(plan, launcher, machine, options, run_dir, tuple(contexts), ())


def build_mpmd_line(
    plan: LaunchPlan, launcher: Launcher, machine: Machine, options: LaunchOptions, run_dir: Path
) -> LaunchLine:
    """The same job without tt-run's wrapper: one context per rank with its variables, as the reference prints it.

    Every context names every variable, because `-x` of the first one reaches all the others; a variable that a rank must not have is
    removed again by `env -u`.
    """
    names = sorted({name for rank in plan.ranks for name in rank.env})
    contexts: list[str] = []
    for index, rank in enumerate(plan.ranks):
        contexts += [":"] * bool(index) + _context(rank, names, machine.environ)
    return _line(plan, launcher, machine, options, run_dir, tuple(contexts), ("--tag-output",))


def _context(rank: RankPlan, names: list[str], environ: Mapping[str, str]) -> list[str]:
    words = ["-np", "1"]
    for name, variable in rank.env.items():
        words += ["-x", _export(name, variable.value, environ)]
    absent = [name for name in names if name not in rank.env]
    argv = list(rank.argv)
    if ":" in argv:  # a lone colon would start the next context
        argv = ["sh", "-c", "exec " + shlex.join(argv)]
    if absent:
        argv = ["env", *(word for name in absent for word in ("-u", name)), *argv]
    return words + argv


def _export(name: str, value: str, environ: Mapping[str, str]) -> str:
    """The word of -x: a secret of the shell by name alone, which mpirun takes from there, so that no log shows it."""
    from tt_run.inputs.secrets import masked  # few launches hand on variables by words

    shown = masked(name, value)
    return f"{name}={shown}" if shown == value or environ.get(name) != value else name


def _line(
    plan: LaunchPlan,
    launcher: Launcher,
    machine: Machine,
    options: LaunchOptions,
    run_dir: Path,
    contexts: tuple[str, ...],
    tags: tuple[str, ...],
) -> LaunchLine:
    # The version matters only for these words; asking for it may start a process.
    major = launcher.major
    defaults = default_words(plan, machine, options, major)
    rankfile = choose_rankfile(plan, run_dir)
    sequence = hosts_in_sequence(plan, options, launcher)
    if sequence and ":" in contexts:
        rankfile, sequence = rankfile or sequence_rankfile(sequence, run_dir), ()
    elif sequence:
        rankfile = None
    environment = launcher_environment(plan, machine, options, major)
    front = [default for default in defaults if default.words[0] in ("--bind-to", *OVERSUBSCRIBE_WORDS)]
    global_args = [word for default in front for word in default.words]
    global_args += tags
    global_args += [word for default in defaults if default not in front for word in default.words]
    if sequence:
        global_args += (*without_placement(plan.mpi_args), *sequence_words(sequence))
    else:
        # Where the user had named the rankfile: mpirun reads some of its words in order.
        at = plan.placement.rankfile_at
        global_args += plan.mpi_args[:at]
        global_args += _rankfile_words(plan, rankfile, options, major)
        global_args += plan.mpi_args[at:]
        global_args += _host_words(plan, rankfile)
    told = (*defaults, *(Default((f"{name}={d.words[0]}",), d.why) for name, d in environment.items()))
    return LaunchLine(
        launcher=launcher.path,
        global_args=tuple(global_args),
        contexts=contexts,
        environment={name: default.words[0] for name, default in environment.items()},
        unset=(
            *(name for name in plan.unset if name in machine.environ),
            *unwanted_hostfiles(plan, machine.environ),
            *job_around(machine.environ, major),
        ),
        defaults=told,
        rankfile=rankfile,
    )


def _rankfile_words(
    plan: LaunchPlan, rankfile: RankfileUse | None, options: LaunchOptions, major: int | None
) -> tuple[str, ...]:
    if rankfile is None:
        return ()
    path = _relative(rankfile.path, plan.cwd)
    policy, syntax = plan.placement.rankfile_policy, options.rankfile_syntax
    return rankfile_words(path, policy, syntax, major, unchecked=options.unchecked)


def _host_words(plan: LaunchPlan, rankfile: RankfileUse | None) -> list[str]:
    """The hosts of the plan, unless the user's own words name them."""
    if not plan.placement.hosts or GivenWords(plan.mpi_args, {}).has(*PLACEMENT_WORDS):
        return []
    if plan.placement.hostfile is not None:
        return ["--hostfile", str(plan.placement.hostfile)]
    named = [
        host.name if rankfile is not None else f"{host.name}:{host.slots}" for host in plan.placement.hosts
    ]
    return ["--host", ",".join(named)]


def _relative(path: Path, cwd: Path) -> str:
    """The path from the launch directory where it is below it: the form that every version's policy parser accepts."""
    if not path.is_absolute():
        return str(path)
    relative = os.path.relpath(path, cwd)
    return str(path) if relative.startswith("..") else relative
