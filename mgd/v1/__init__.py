"""MGD 1.0, the YAML form: read, checked with its own rules, converted to 2.0 and back (reference library 0.81.1).

`load` and `loads` give a `Descriptor` whose positions point into the YAML; `to_textproto` is its 2.0 text,
`to_yaml` the 1.0 text of a descriptor that 1.0 has words for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mgd.v1.backward import to_yaml as to_yaml
    from mgd.v1.reading import loads as loads
    from mgd.v1.textproto import to_textproto as to_textproto

_HOMES = {"loads": "mgd.v1.reading", "to_textproto": "mgd.v1.textproto", "to_yaml": "mgd.v1.backward"}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'mgd.v1' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
