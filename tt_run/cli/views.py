"""Looking without running: dry run, a rank's environment, versions, explanations."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.lean import replace
from tt_run import contract
from tt_run.cli.surroundings import Surroundings
from tt_run.contract import Exit
from tt_run.errors import LauncherError, UsageError
from tt_run.inputs.findings import all_ranks
from tt_run.inputs.secrets import masked, masked_words
from tt_run.launch.line import writing_command
from tt_run.launch.mpirun import find_launcher
from tt_run.plan.model import LaunchPlan


def print_plan(plan: LaunchPlan, around: Surroundings, form: str) -> int:
    """The dry run: on standard output what would be started, as shell lines, JSON or a table.

    The shell lines stand alone: the same job without tt-run, as the reference prints it.
    """
    from tt_run.launch.line import build_line, build_mpmd_line
    from tt_run.launch.wrapper import words_of_ranks
    from tt_run.plan.render import plan_json, plan_table

    launcher, machine, run_dir = around.shown_launcher, around.machine, around.run_dir
    alone = build_mpmd_line(plan, launcher, machine, around.options, run_dir)
    if form == "table":
        print(plan_table(plan))
    elif form == "json":
        line = build_line(plan, launcher, machine, around.options, run_dir, words_of_ranks(plan, run_dir))
        view = plan_json(plan, line.launcher, line.command, line.global_args) | line.as_json()
        _print_json({**view, "command_without_wrapper": masked_words(alone.command)})
    else:
        for file in plan.generated_files:
            print(writing_command(file.path, file.text))
        for text in alone.shell_lines():
            print(text)
        for text in alone.defaults_told():
            print(f"tt-run: {text}", file=sys.stderr)
    return Exit.OK


def _print_json(view: object) -> None:
    import json  # takes longer than a dry run that does without

    print(json.dumps(view, ensure_ascii=False))


def print_env(plan: LaunchPlan, rank: int, run_dir: Path, form: str) -> int:
    """What one rank will see, each variable with its origin. Raises UsageError for a rank that the plan does not have."""
    from tt_run.launch.wrapper import rank_environment
    from tt_run.plan.render import environment_of, environment_view

    if rank >= len(plan.ranks):
        wrong = f"--print-env {rank}: the plan has {all_ranks(len(plan.ranks))}"
        raise UsageError(Diagnostic("TTR035", wrong, help="write --print-env 0"))
    ranks = tuple(replace(each, env=rank_environment(plan, each, run_dir)) for each in plan.ranks)
    if form == "json":
        view = {
            name: {"value": masked(name, variable.value), "origin": variable.origin}
            for name, variable in environment_of(replace(plan, ranks=ranks), rank).items()
        }
        _print_json(view)
    else:
        print(environment_view(replace(plan, ranks=ranks), rank))
    return Exit.OK


_OF_ONE_PROCESS = (
    "PATH",
    "PYTHONPATH",
    contract.MESH_GRAPH_DESC_PATH,
    contract.MESH_ID,
    contract.MESH_HOST_RANK,
    contract.MOCK_CLUSTER_DESC_PATH,
    contract.CLUSTER_TYPE,
    contract.DEVICE_IDS,
    contract.VISIBLE_DEVICES,
)
"""What tells a program which devices are emulated, of all that a rank has."""


def print_shell_env(plan: LaunchPlan, asked: Collection[str], form: str) -> int:
    """What a program needs to be emulated without the launcher, as lines for a shell; `asked` are the variables of options for ranks.

    Raises UsageError for a plan of several ranks: they need a launch.
    """
    if len(plan.ranks) > 1:
        wrong = f"--shell-env is for one process, and the plan has {len(plan.ranks)} ranks"
        help = "leave out --split and bindings: one process hosts every device; tt-run --emulate … PROGRAM starts the ranks"
        raise UsageError(Diagnostic("TTR021", wrong, help=help))
    names = (*_OF_ONE_PROCESS, *asked)
    values = {name: each.value for name, each in sorted(plan.ranks[0].env.items()) if name in names}
    if form == "json":
        _print_json(values)
    else:
        print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in values.items()))
        if sys.stdout.isatty():
            print('tt-run: eval "$(tt-run --emulate … --shell-env)" takes them over', file=sys.stderr)
    return Exit.OK


NUMERICAL = ("numpy", "scipy", "ml_dtypes", "torch")


def print_version() -> int:
    """Versions of tt-run, of what the bits of its numbers depend on, and of the launcher that it would use."""
    import os
    from importlib.metadata import version

    from mgd.cli.output import page_width
    from mgd.folding import fold

    print(f"tt-run {version('tt-run')}")
    numerical = ", ".join(f"{name} {_version_of(name)}" for name in NUMERICAL)
    line = f"Python {sys.version.split()[0]}, {numerical}; {os.uname().machine}"
    print(fold(line, page_width(sys.stdout, 0), "  "))
    try:
        launcher = find_launcher(os.environ)
    except LauncherError as error:
        print(f"mpirun: {error.diagnostics[0].message}")
        return Exit.OK
    line = f"{launcher.title} ({launcher.path}, {launcher.source})"
    print(fold(line, page_width(sys.stdout, 0), "  "))
    return Exit.OK


def _version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def print_codes() -> int:
    """Every code of the launcher, of emulated ranks and of replays, with its title."""
    from mgd.cli.output import page_width
    from mgd.folding import fold
    from tt_run.rules import GUARD, LAUNCH, REPLAY

    width = page_width(sys.stdout, 0)
    for family in (LAUNCH, GUARD, REPLAY):
        for rule in family.rules().values():
            print(f"{rule.code}  {fold(rule.title, width, ' ' * 8, 8)}")
    print(
        "\n" + fold("tt-run explain TTR204 tells all of one; mgd explain lists those of descriptors", width)
    )
    return Exit.OK


def _of_exit_code(code: str) -> str:
    """What an exit code of tt-run means; empty for what is none."""
    from signal import Signals

    from tt_run.contract import EXIT_MEANING

    number = int(code) if code.isdecimal() and code == code.lstrip("0") and len(code) < 4 else 0
    if number in EXIT_MEANING and number != Exit.OK:
        return EXIT_MEANING[number]
    try:
        return f"ranks, or mpirun, were killed by {Signals(number - 128).name}"
    except ValueError:
        return ""


def explain(code: str) -> int:
    """The help page of a finding of any family, or what an exit code means. Raises UsageError for an unknown code, with the nearest one."""
    from mgd.catalogue import find, nearest
    from mgd.catalogue.pages import page
    from mgd.cli.output import page_width, wants_colour
    from mgd.folding import fold
    from tt_run.rules import FAMILIES

    rule = find(code, FAMILIES)
    found = [family.find(code) for family in FAMILIES] if code.isdecimal() else []
    alike = [each.code for each in found if each is not None]
    meaning = _of_exit_code(code)
    if meaning:
        print(fold(f"exit code {code}: {meaning}", page_width(sys.stdout, 0), "  "))
        if alike:
            print(f"findings of that number: tt-run explain {' '.join(alike)}")
        return Exit.OK
    if len(alike) > 1:
        hint = f"write {' or '.join(f'tt-run explain {each}' for each in alike)}"
        raise UsageError(Diagnostic("TTR037", f"{code} is the number of {' and of '.join(alike)}", help=hint))
    if rule is None:
        near = nearest(code, FAMILIES, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        hint = f"{meant}tt-run explain lists every code"
        raise UsageError(Diagnostic("TTR037", f"there is no code {code}", help=hint))
    print(page(rule, colour=wants_colour(sys.stdout), width=page_width(sys.stdout, 0)))
    return Exit.OK
