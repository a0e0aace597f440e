"""Mesh Graph Descriptors: parse, check, expand, draw, convert, author.

```
descriptor = mgd.load("t3k.textproto")       # values as written, with positions; ParseError lists every syntax error
findings = mgd.check(descriptor)             # every violation at once, as diagnostics
graph = mgd.expand(descriptor)               # meshes, hosts, links and pins; RejectedError when a rule refuses it
```
Names are imported when they are first used: `import mgd` itself costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would take as long as `mgd --help` takes
if TYPE_CHECKING:
    from typing import Any

    from mgd.checking import check as check
    from mgd.descriptor import Descriptor as Descriptor
    from mgd.diagnostics import Diagnostic as Diagnostic
    from mgd.diagnostics import Position as Position
    from mgd.diagnostics import Severity as Severity
    from mgd.errors import MgdError as MgdError
    from mgd.errors import ParseError as ParseError
    from mgd.errors import RejectedError as RejectedError
    from mgd.errors import UnreadableError as UnreadableError
    from mgd.errors import UnsayableError as UnsayableError
    from mgd.expansion import expand as expand
    from mgd.facts import summary as summary
    from mgd.graph import Mesh as Mesh
    from mgd.graph import MeshGraph as MeshGraph
    from mgd.reading import load as load
    from mgd.reading import loads as loads

_HOMES = {
    "check": "mgd.checking",
    "Descriptor": "mgd.descriptor",
    "Diagnostic": "mgd.diagnostics",
    "Position": "mgd.diagnostics",
    "Severity": "mgd.diagnostics",
    "MgdError": "mgd.errors",
    "ParseError": "mgd.errors",
    "RejectedError": "mgd.errors",
    "UnreadableError": "mgd.errors",
    "UnsayableError": "mgd.errors",
    "expand": "mgd.expansion",
    "Mesh": "mgd.graph",
    "MeshGraph": "mgd.graph",
    "load": "mgd.reading",
    "loads": "mgd.reading",
    "summary": "mgd.facts",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mgd' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
