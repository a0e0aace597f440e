"""Telling MGD 1.0 from other YAML by its section names, also where it is broken."""

from __future__ import annotations

import re

_SECTION = re.compile(
    rb"(?m)^\{?[ \t]*[\"']?(ChipSpec|Board|Mesh|RelaxedGraph|Graph)[\"']?[ \t]*:(?=[\s\[{]|\Z)"
)


def is_first_format(data: bytes) -> bool:
    """True when a text has the sections of MGD 1.0 at its left margin: ChipSpec, or two of the others.

    Looks at lines, not at YAML, so that a file with broken syntax is recognised too. Source: reference library 0.81.1.
    """
    sections = {found[1] for found in _SECTION.finditer(data)}
    return b"ChipSpec" in sections or len(sections) > 1
