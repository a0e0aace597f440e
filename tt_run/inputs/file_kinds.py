"""What kind of input a file is, told by its keys, so that one that is given to the wrong option can be told so."""

from __future__ import annotations

import re
from pathlib import Path

from mgd.diagnostics import Label, Position
from tt_run.inputs.findings import Findings
from tt_run.inputs.site import Site, is_file

_KINDS = (
    (r"(?m)^[\"']?rank_bindings[\"']?\s*:", "rank bindings", "--rank-binding"),
    (
        r"(?m)^[\"']?subcontext_id_to_rank_bindings[\"']?\s*:",
        "a mapping of rank bindings",
        "--rank-bindings-mapping",
    ),
    (
        r"(?m)^[\"']?subcontext_id_to_mesh_graph_descriptor[\"']?\s*:",
        "a mapping of mesh graph descriptors",
        "--mesh-graph-descriptor-mapping",
    ),
    (
        r"(?m)^[\"']?rank_to_cluster_mock_cluster_desc[\"']?\s*:",
        "a mock cluster mapping",
        "--mock-cluster-rank-binding",
    ),
    (
        r"(?m)^[\"']?(?:rank_pinnings|mesh_host_pinnings)[\"']?\s*:",
        "a rank pinning file",
        "--rank-pinning-file",
    ),
    (
        r"(?m)^\s*(?:mesh_descriptors|graph_descriptors|top_level_instance)\s*[:{]",
        "a mesh graph descriptor",
        "-m",
    ),
    (r"(?m)^(?:import|from)\s+\w+", "a Python program", ""),
    (r"(?m)^\s*rank\s+\d+\s*=", "a rankfile", "--mpi-args '--rankfile FILE'"),
    (r"(?m)^[\"']?ethernet_connections[\"']?\s*:", "a cluster descriptor", "--mock-cluster-rank-binding"),
)
MOST_BYTES = 1 << 20


def is_of_another_kind(path: Path, site: Site, findings: Findings, wanted: str, option: str) -> bool:
    """Whether a file of lines that cannot be read is an input of another kind, which is told in place of its lines."""
    found = kind_of(path, site)
    if found is None or found[0] == wanted:
        return False
    what, taken = found
    file = site.shown(path)
    help = f"write {taken} {file} in place of {option}" if taken else f"write {option} FILE"
    findings.fatal("TTR028", f"{option} {file}: the file holds {what}", Label(Position(file)), help=help)
    return True


def kind_of(path: Path, site: Site) -> tuple[str, str] | None:
    """The kind of input that a file is, in words, and the option that takes it (none takes a program); None where its keys do not tell."""
    if not is_file(path) or path.stat().st_size > MOST_BYTES:
        return None
    try:
        text = site.read_text(path)
    except (OSError, UnicodeDecodeError):
        return None
    return next(((kind, option) for pattern, kind, option in _KINDS if re.search(pattern, text)), None)
