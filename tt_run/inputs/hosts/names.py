"""Names of hosts, which become parts of folder names (kernel caches, logs) and words of a remote shell."""

from __future__ import annotations


def host_name_problem(name: str) -> str:
    """What is wrong with the name of a host, empty for one that may be used."""
    if name.startswith("-"):
        return f"{name!r} looks like an option, not a host"
    if any(char.isspace() or not char.isprintable() for char in name):
        return f"{name!r} holds a blank or a control character"
    if "/" in name or "\\" in name or not name.strip("."):
        return f"{name!r} is a path, not a host"
    if "=" in name:
        return f"{name!r} holds '=', which no host's name does"
    return ""
