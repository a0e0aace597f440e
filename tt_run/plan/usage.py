"""What is wrong with a request as it was written, before its files are understood (reference launcher 0.81.1)."""

from __future__ import annotations

import re
import shlex

from mgd.diagnostics import Diagnostic
from tt_run.errors import InputError, UsageError
from tt_run.inputs.hosts.lists import parse_hosts
from tt_run.inputs.site import Site
from tt_run.plan.request import LaunchRequest

MOST_MESHES = 256
_SPLIT = r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})\Z"

_OF_DESCRIPTORS = ("TTR011", "TTR016")

SOURCES = {
    "rank_binding": "--rank-binding",
    "rank_bindings_mapping": "--rank-bindings-mapping",
    "mesh_graph_descriptor": "--mesh-graph-descriptor",
    "mesh_graph_descriptor_mapping": "--mesh-graph-descriptor-mapping",
    "system": "--system",
}


def refuse_misuse(request: LaunchRequest, site: Site) -> None:
    """Raises UsageError with everything that is wrong with the request itself, InputError for a lone descriptor that is not there.

    What an option asks for beside its file is asked for only where the file is there and of its kind: hosts for a descriptor that is none
    would be the second mistake.
    """
    sources = _source_problems(request)
    hosts = _hosts_problems(request) or ([] if sources else _allocation_problems(request))
    if any(problem.code in _OF_DESCRIPTORS for problem in hosts):
        from tt_run.plan.wrong_files import lost_descriptors, wrong_files

        if lost := lost_descriptors(request, site):
            raise InputError(lost)
        hosts = wrong_files(request, site) or hosts
    problems = [*sources, *_emulation_problems(request), *hosts]
    if request.clean_env and request.inherit_env:
        problems.append(
            Diagnostic(
                "TTR025",
                "--clean-env and --inherit-env are mutually exclusive",
                help="keep one of them: --clean-env",
            )
        )
    if not any(request.program[:1]):
        problems.append(
            Diagnostic(
                "TTR003",
                "no program to start",
                help="add it after the options: tt-run … python script.py",
            )
        )
    if problems:
        raise UsageError(problems)


def _source_problems(request: LaunchRequest) -> list[Diagnostic]:
    given = [option for name, option in SOURCES.items() if getattr(request, name) is not None]
    if len(given) > 1:
        return [
            Diagnostic(
                "TTR001",
                f"{' and '.join(given)} are mutually exclusive",
                help=f"do not combine them: keep {given[0]}",
            )
        ]
    if request.system is not None and request.mock_cluster_rank_binding is not None:
        return [
            Diagnostic(
                "TTR026",
                "--system and --mock-cluster-rank-binding are mutually exclusive: a system brings chips of its own",
                help="write -m FILE in place of --system",
            )
        ]
    if not given and not request.emulate and request.mock_cluster_rank_binding is None:
        options = ", ".join(SOURCES.values())
        without = f"--system t3000{f' --split {request.split}' if request.split is not None else ''}"
        program = shlex.join(request.program or ("python", "script.py"))
        if program.endswith(".py") and " " not in program:
            program = f"python {program.removeprefix('./')}"
        return [
            Diagnostic(
                "TTR002",
                f"nothing says which ranks to start: one of {options} must be specified",
                help=f"write tt-run --emulate {without} {program} without hardware, or name your bindings: --rank-binding FILE",
            )
        ]
    return []


def _emulation_problems(request: LaunchRequest) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    if request.of_ranks and not request.emulate:
        names = ", ".join(each.option for each in request.of_ranks)
        problems.append(Diagnostic("TTR022", f"{names}: only emulated ranks know it", help="add --emulate"))
    if request.rank_binding is not None and request.split is not None:
        problems.append(
            Diagnostic(
                "TTR008",
                "--split is for --system: rank bindings say themselves how the mesh is cut",
                help="leave --split out, or write --system t3000 in place of --rank-binding",
            )
        )
    elif request.system is None and (request.emulate or any(getattr(request, name) for name in SOURCES)):
        for value, option in ((request.split, "--split"), (request.meshes, "--meshes")):
            if value is not None:
                problems.append(
                    Diagnostic(
                        "TTR008",
                        f"{option} needs --system",
                        help=f"add --system t3000, or leave {option} out",
                    )
                )
    if request.split is not None and not re.match(_SPLIT, request.split):
        is_empty = re.fullmatch(r"0*x[0-9]+|[0-9]+x0+|0+x[0-9]+", request.split)
        wrong = "each side has at least one host" if is_empty else "not of the form ROWSxCOLUMNS"
        problems.append(Diagnostic("TTR008", f"--split {request.split}: {wrong}", help="write --split 1x2"))
    if request.meshes is not None and request.meshes < 1:
        problems.append(
            Diagnostic("TTR008", f"--meshes {request.meshes}: at least one mesh", help="write --meshes 2")
        )
    elif request.meshes is not None and request.meshes > MOST_MESHES:
        problems.append(
            Diagnostic(
                "TTR008",
                f"--meshes {request.meshes}: at most {MOST_MESHES}, since each is linked to every other",
                help="write a descriptor with the links that are there, and -m FILE",
            )
        )
    return problems


def _hosts_problems(request: LaunchRequest) -> list[Diagnostic]:
    try:
        parse_hosts("localhost" if request.hosts is None else request.hosts)
    except UsageError as error:
        return list(error.diagnostics)
    return []


def _allocation_problems(request: LaunchRequest) -> list[Diagnostic]:
    allocates = request.mesh_graph_descriptor is not None or request.mesh_graph_descriptor_mapping is not None
    if allocates and not request.emulate and not request.hosts and request.mock_cluster_rank_binding is None:
        return [
            Diagnostic(
                "TTR011",
                "--hosts is required with --mesh-graph-descriptor, to say where the ranks go, or a mock cluster",
                help="add --hosts host1:2,host2:2, or --mock-cluster-rank-binding FILE",
            )
        ]
    if request.rank_pinning_file is not None and not (
        allocates and (request.hosts or request.mock_cluster_rank_binding)
    ):
        return [
            Diagnostic(
                "TTR016",
                "--rank-pinning-file needs an allocation: -m or -M, with --hosts or a mock cluster",
                help="add them, or leave it out: rank bindings with a rankfile say themselves where ranks go",
            )
        ]
    return []


def split_of(request: LaunchRequest) -> tuple[int, int] | None:
    """The hosts of each mesh along rows and columns as `--split` says, None when it is not given."""
    match = re.match(_SPLIT, request.split or "")
    return (int(match[1]), int(match[2])) if match else None
