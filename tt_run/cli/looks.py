"""Looking without running: dry run, a rank's environment, versions, explanations."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tt_run.contract import Exit
from tt_run.errors import LauncherError, UsageError
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher, find_launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import LaunchPlan


def print_plan(
    plan: LaunchPlan,
    launcher: Launcher,
    machine: Machine,
    options: LaunchOptions,
    run_dir: Path,
    output_format: str,
) -> int:
    """The dry run: on standard output what would be started, as shell lines, JSON or a table."""
    from tt_run.cli.views import plan_view
    from tt_run.launch.line import build_line, build_mpmd_line
    from tt_run.launch.wrapper import wrapper_words

    alone = build_mpmd_line(plan, launcher, machine, options, run_dir)
    if output_format == "shell":
        for file in plan.generated_files:
            folder, path = shlex.quote(str(file.path.parent)), shlex.quote(str(file.path))
            print(f"mkdir -p {folder} && printf %s {shlex.quote(file.text)} > {path}")
        for text in alone.shell_lines():
            print(text)
        if alone.told_defaults():
            print(f"tt-run: added {alone.told_defaults()}", file=sys.stderr)
        return Exit.OK
    if output_format == "table":
        from tt_run.cli.table import print_table

        return print_table(plan)
    line = build_line(plan, launcher, machine, options, run_dir, wrapper_words(run_dir, len(plan.ranks)))
    print(
        json.dumps(
            {**plan_view(plan, line), "without_wrapper": list(alone.command)}, indent=1, ensure_ascii=False
        )
    )
    return Exit.OK


def print_env(plan: LaunchPlan, rank: int, run_dir: Path, output_format: str) -> int:
    """What one rank will see, each variable with its origin. Raises UsageError for a rank that the plan does not have."""
    from tt_run.launch.wrapper import rank_environment

    if rank >= len(plan.ranks):
        raise UsageError(
            Diagnostic(
                "TTR035",
                f"--print-env {rank}: the plan has ranks 0 to {len(plan.ranks) - 1}",
                help="--print-env 0",
            )
        )
    environment = rank_environment(plan, plan.ranks[rank], run_dir)
    if output_format == "json":
        view = {
            name: {"value": variable.value, "origin": variable.origin}
            for name, variable in environment.items()
        }
        print(json.dumps(view, indent=1, ensure_ascii=False))
        return Exit.OK
    for name, variable in sorted(environment.items()):
        print(f"{name}={shlex.quote(variable.value)}  # {variable.origin}")
    for name in plan.unset:
        if name not in environment:
            print(f"unset {name}")
    return Exit.OK


def print_version() -> int:
    """Versions of tt-run and of the launcher that it would use."""
    import os
    from importlib.metadata import version

    print(f"tt-run {version('tt-run')}")
    try:
        launcher = find_launcher(os.environ)
    except LauncherError as error:
        print(f"mpirun: {error.diagnostics[0].message}")
        return Exit.OK
    number = ".".join(map(str, launcher.version)) if launcher.version else "of unknown version"
    print(f"Open MPI {number} ({launcher.path}, {launcher.source})")
    return Exit.OK


def explain(code: str) -> int:
    """The help page of a finding. Raises UsageError for an unknown code, with the nearest one."""
    from tt_run.cli.explain import page

    print(page(code))
    return Exit.OK
