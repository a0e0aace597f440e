"""Mesh graph descriptors as the planner reads them: a file in, a mesh graph out, problems as findings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mgd
from mgd.diagnostics import Diagnostic, Label, Position
from mgd.expanding.instances import expand_checked
from mgd.graph import Mesh, MeshGraph
from mgd.lean import replace
from tt_run.inputs.document import read_text
from tt_run.inputs.findings import Findings
from tt_run.inputs.site import Site
from tt_run.plan.request import CheckLevel

YAML_SUFFIXES = (".yaml", ".yml")
OTHER_FILE = "not a mesh graph descriptor"  # which mgd says of files of another kind


def read_descriptor(
    path: Path, site: Site, findings: Findings, level: CheckLevel, named: Position | None = None
) -> MeshGraph | None:
    """The mesh graph that the descriptor at `path` describes; None, with the descriptor's own findings, when it has errors.

    A file that is no descriptor at all stops the plan, unless `level` only warns; what the rules refuse is for the check. `named` is where
    another file names this one: the mistake is there when this one is of another kind.
    """
    if path.suffix in YAML_SUFFIXES:
        return _expanded(lambda: mgd.load(path), findings, level, named)
    text = read_text(path, site, findings)
    if text is None:
        return None
    return _expanded(lambda: mgd.loads(text, file=site.shown(path)), findings, level, named)


def read_text_descriptor(text: str, file: str, findings: Findings, level: CheckLevel) -> MeshGraph | None:
    """The same for a descriptor in memory; `file` is the name that positions show."""
    return _expanded(lambda: mgd.loads(text, file=file), findings, level)


def _expanded(
    load: Callable[[], mgd.Descriptor], findings: Findings, level: CheckLevel, named: Position | None = None
) -> MeshGraph | None:
    try:
        descriptor = load()
    except mgd.MgdError as error:
        found = [_with_namer(each, named) if named else each for each in error.diagnostics]
        (findings.broken if level is CheckLevel.ERROR else findings.judged).extend(found)
        return None
    found = mgd.check(descriptor)
    findings.judged.extend(found)
    if any(finding.is_error for finding in found):
        return None
    graph = expand_checked(descriptor)
    repeated = _repeated_id(graph)
    if repeated is not None:
        (findings.broken if level is CheckLevel.ERROR else findings.judged).append(repeated)
        return None
    return graph


def _with_namer(found: Diagnostic, named: Position) -> Diagnostic:
    """A finding about a file of another kind, with the place that names the file."""
    if OTHER_FILE not in found.message:
        return found
    return replace(found, labels=(*found.labels, Label(named, "named here as the descriptor")))


def _repeated_id(graph: MeshGraph) -> Diagnostic | None:
    """What is wrong when several meshes have one id: a rank names its mesh by the id alone."""
    first: dict[int, Mesh] = {}
    for mesh in graph.meshes:
        if mesh.mesh_id in first:
            return Diagnostic(
                "TTR124",
                f"several meshes have the id {mesh.mesh_id}, so no rank can say which one is its own",
                tuple(
                    Label(each.position, text)
                    for each, text in ((mesh, "again"), (first[mesh.mesh_id], "first here"))
                    if each.position is not None
                ),
                "give every mesh of the graph an id of its own",
            )
        first[mesh.mesh_id] = mesh
    return None
