"""Telling MGD 1.0 and the files of the launcher from each other by their keys, also where they are broken."""

from __future__ import annotations

import re

_SECTION = re.compile(
    rb"(?m)^\{?[ \t]*[\"']?(ChipSpec|Board|Mesh|RelaxedGraph|Graph)[\"']?[ \t]*:(?=[\s\[{]|\Z)"
)

OTHER_KINDS = {
    "rank_bindings": ("rank bindings", "--rank-binding"),
    "rank_pinnings": ("a rank pinning file", "--rank-pinning-file"),
    "mesh_host_pinnings": ("a rank pinning file", "--rank-pinning-file"),
    "rank_to_cluster_mock_cluster_desc": ("a mock cluster mapping", "--mock-cluster-rank-binding"),
    "ethernet_connections": ("a cluster descriptor", "--mock-cluster-rank-binding"),
}
"""Files of the launcher, by a key that each has: what they are, and the option of tt-run that takes them."""
_OTHER_KEY = re.compile(rf"(?m)^[\"']?({'|'.join(OTHER_KINDS)})[\"']?[ \t]*:")


def other_kind(text: str) -> tuple[str, str, int] | None:
    """The kind of a launcher's file, its option and where the key is that tells it, at the left margin of a text."""
    found = _OTHER_KEY.search(text)
    return (*OTHER_KINDS[found[1]], found.start(1)) if found else None


def is_first_format(data: bytes) -> bool:
    """True when a text has the sections of MGD 1.0 at its left margin: ChipSpec, or two of the others.

    Looks at lines, not at YAML, so that a file with broken syntax is recognised too. Source: reference library 0.81.1.
    """
    sections = {found[1] for found in _SECTION.finditer(data)}
    return b"ChipSpec" in sections or len(sections) > 1
