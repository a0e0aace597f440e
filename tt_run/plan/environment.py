"""The environment of each rank, built in the order in which later settings override earlier ones (reference launcher 0.81.1)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mgd.diagnostics import Position
from tt_run import contract
from tt_run.inputs.environment import (
    FACTORY_DESCRIPTOR,
    EnvVar,
    expander,
    managed,
    passed_through,
    per_rank_folders,
)
from tt_run.inputs.findings import Findings, counted
from tt_run.inputs.site import Site
from tt_run.plan.derived_ranks import CHOSEN_BY_THE_PROGRAM
from tt_run.plan.rank_source import RankSource
from tt_run.plan.request import LaunchRequest
from tt_run.plan.slots import Seating

# A rank writes into a pipe and cannot ask the terminal. Where there is none: wide enough for the picture of a mesh with four columns.
_COLUMNS = "132"
_NARROWEST = 40
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def rank_environments(
    request: LaunchRequest, source: RankSource, seating: Seating, site: Site, findings: Findings
) -> list[dict[str, EnvVar]]:
    """What each rank sees, in rank order: name to value and origin."""
    bindings = source.bindings
    passed = passed_through(site)
    common = {**passed, **managed(site)}
    expand = expander(site, findings)
    shared = {name: expand(name, setting) for name, setting in bindings.global_env.items()}
    if bindings.subcontext_sizes:
        sizes = ",".join(map(str, bindings.subcontext_sizes))
        shared[contract.SUBCONTEXT_SIZES] = EnvVar(sizes, f"sub-contexts of {bindings.file}")
    factory = (
        EnvVar(source.factory_descriptor, "factory system descriptor") if source.factory_descriptor else None
    )
    descriptors: dict[Path, EnvVar] = {}
    emulation = _emulation(request, source, seating, site) if request.emulate else {}
    asked = _asked_for(request, source, site)
    environments: list[dict[str, EnvVar]] = []
    for binding in bindings.bindings:
        rank = binding.rank
        path = bindings.descriptor_of(binding)
        if path not in descriptors:
            at = binding.descriptor_position or bindings.descriptor_position
            origin = f"mesh_graph_desc_path ({at})" if at else "derived"
            descriptors[path] = EnvVar(str(path), origin)
        variables = dict(common)
        variables[contract.MESH_ID] = EnvVar(
            str(binding.mesh_id), _origin("mesh_id", binding.mesh_id_position)
        )
        if path != CHOSEN_BY_THE_PROGRAM:
            variables[contract.MESH_GRAPH_DESC_PATH] = descriptors[path]
        variables[contract.RANK] = EnvVar(str(rank), "rank")
        if binding.mesh_host_rank is not None:
            variables[contract.MESH_HOST_RANK] = EnvVar(
                str(binding.mesh_host_rank), _origin("mesh_host_rank", binding.host_rank_position)
            )
        if binding.subcontext_id is not None:
            variables[contract.SUBCONTEXT_ID] = EnvVar(str(binding.subcontext_id), "sub-context")
        if rank in bindings.mock:
            variables[contract.MOCK_CLUSTER_DESC_PATH] = EnvVar(bindings.mock[rank], "mock cluster mapping")
        if factory is not None:
            variables[FACTORY_DESCRIPTOR] = factory
        host = seating.seats[rank].host or site.hostname
        variables.update(per_rank_folders(site, host, rank, passed))
        variables.update(emulation)
        variables.update(shared)
        for name, setting in binding.env.items():
            variables[name] = expand(name, setting)
        if request.emulate:
            variables["PYTHONPATH"] = _with_shims(variables["PYTHONPATH"])
            variables.update(asked)
        environments.append(variables)
    return environments


def _origin(key: str, at: Position | None) -> str:
    return f"{key} ({at})" if at is not None and at.line else f"{key} (derived from the descriptor)"


def shims_folder() -> Path:
    """The folder that holds the emulated `ttnn` and `ttml`."""
    return Path(__file__).resolve().parents[1] / "shims"


def emulated_path(site: Site) -> str:
    """PATH with the folder of this Python first, so that `python` in an emulated job is the one that has the emulation."""
    folder = str(Path(sys.executable).parent)
    path = site.get("PATH") or ""
    return path if path.split(os.pathsep)[0] == folder else os.pathsep.join(filter(None, (folder, path)))


def _with_shims(path: EnvVar) -> EnvVar:
    """PYTHONPATH with the emulated packages first, whatever else was asked for."""
    shims = str(shims_folder())
    if path.value.split(os.pathsep)[0] == shims:
        return path
    value = f"{shims}:{path.value}" if path.value else shims
    return EnvVar(value, f"--emulate, then {path.origin}")


def _asked_for(request: LaunchRequest, source: RankSource, site: Site) -> dict[str, EnvVar]:
    """The options of emulated ranks, which the command line has the last word on; what the described chips lack is lost beside `--degrade`."""
    asked = {
        each.variable: EnvVar(
            str(site.cwd / site.expand_user(each.value)) if each.is_file else each.value, each.option
        )
        for each in request.of_ranks
    }
    lacking = source.placed.lacking if source.placed is not None else ()
    if lacking:
        given = asked.get(contract.DEGRADE)
        words, origins = list(lacking), ["the described chips"]
        if given is not None:
            words, origins = [given.value, *words], [given.origin, *origins]
        asked[contract.DEGRADE] = EnvVar("\n".join(words), " and ".join(origins))
    return asked


def _columns(site: Site, count: int) -> EnvVar:
    """How wide a rank may write: the shell's word, else the terminal less the `[rank] ` in front of each line."""
    if site.get("COLUMNS"):
        return EnvVar(str(site.get("COLUMNS")), "shell")
    if site.columns:
        return EnvVar(
            str(max(_NARROWEST, site.columns - len(f"[{count - 1}] "))), "the terminal, less the prefix"
        )
    return EnvVar(_COLUMNS, "default: pictures of meshes")


def _emulation(request: LaunchRequest, source: RankSource, seating: Seating, site: Site) -> dict[str, EnvVar]:
    """What an emulated rank gets on top: who it is among how many, and its share of the cores."""
    count = len(source.bindings.bindings)
    crowd = seating.most_on_one_host
    variables = {
        "PATH": EnvVar(emulated_path(site), "shell, this Python's folder first"),
        contract.EMULATE: EnvVar("1", "--emulate"),
        contract.WORLD_SIZE: EnvVar(str(count), "number of ranks"),
        "COLUMNS": _columns(site, count),
    }
    threads = EnvVar(
        str(max(1, site.cores // crowd)),
        f"default: {counted(site.cores, 'core')} over {counted(crowd, 'rank')} of a host",
    )
    for name in _THREADS:
        given = site.get(name)
        variables[name] = EnvVar(given, "shell") if given else threads
    return variables
