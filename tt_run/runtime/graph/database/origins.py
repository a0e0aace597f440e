"""Where the sources of a report come from, as it may be told to others. Source: reference library 0.81.1."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_SCHEMES = ("http", "https", "ssh", "git")
_ON_HOST = re.compile(r"[^@]*@(?P<rest>[^@]*:[^@]*)")


def sanitize_git_remote_url(url: str) -> str:
    """The address of a repository without names, passwords, queries and fragments; other forms than git's addresses as they are."""
    text = (url or "").strip()
    if "://" not in text:
        short = _ON_HOST.fullmatch(text)
        return short["rest"] if short else text
    parts = urlsplit(text)
    if parts.scheme not in _SCHEMES:
        return text
    place = parts.netloc.rpartition("@")[2]
    host, colon, port = place.rpartition(":")
    if colon and (port.isdigit() or not port):
        place = f"{host.lower()}:{int(port)}" if port else host.lower()
    elif not colon:
        place = place.lower()
    return urlunsplit((parts.scheme, place, parts.path, "", ""))
