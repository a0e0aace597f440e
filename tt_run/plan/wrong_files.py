"""Files that are given to the option of another kind of file: told in place of everything that is wrong with them as the kind that they are not."""

from __future__ import annotations

import shlex

from mgd.diagnostics import Diagnostic, Label, Position
from tt_run.inputs.file_kinds import kind_of
from tt_run.inputs.findings import Findings
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.site import Site
from tt_run.plan.request import LaunchRequest

_TAKEN = {
    "rank_binding": ("--rank-binding",),
    "rank_bindings_mapping": ("--rank-bindings-mapping",),
    "mesh_graph_descriptor": ("-m",),
    "mesh_graph_descriptor_mapping": ("--mesh-graph-descriptor-mapping",),
    "mock_cluster_rank_binding": ("--mock-cluster-rank-binding",),
    "rank_pinning_file": ("--rank-pinning-file",),
    "factory_system_descriptor": ("--factory-system-descriptor",),
}


def wrong_files(request: LaunchRequest, site: Site) -> list[Diagnostic]:
    """A finding for each file of the request that is of another kind than its option takes."""
    search = PathSearch(site, Findings())
    found = []
    for name, options in _TAKEN.items():
        text = getattr(request, name)
        path = search.find(text, "file") if text else None
        kind = kind_of(path, site) if path is not None else None
        if path is None or kind is None or kind[1] in options:
            continue
        what, option = kind
        given = options[0] if options[0] == "-m" else "--" + name.replace("_", "-")
        line = option.replace("FILE", text) if "FILE" in option else f"{option} {shlex.quote(text)}"
        is_program = not option
        help = f"write {given} FILE python {text}" if is_program else f"write {line} in place of {given}"
        found.append(
            Diagnostic(
                "TTR028",
                f"{given} {text}: the file holds {what}",
                (Label(Position(site.shown(path))),),
                help,
            )
        )
    return found


def lost_descriptors(request: LaunchRequest, site: Site) -> list[Diagnostic]:
    """The finding for a mesh graph descriptor of the command line that is not there, with the name that was probably meant."""
    findings = Findings()
    if request.mesh_graph_descriptor:
        PathSearch(site, findings).find(request.mesh_graph_descriptor, "mesh graph descriptor")
    return findings.broken
