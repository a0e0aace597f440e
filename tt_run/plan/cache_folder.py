"""Where files that tt-run makes for itself are kept."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tt_run.inputs.site import Site


def kept_path(name: str, text: str, site: Site) -> Path:
    """Where a derived descriptor is kept: named by its content, so that runs at the same time can share it."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return cache_folder(site) / "descriptors" / f"{name}_{digest}.textproto"


def cache_folder(site: Site) -> Path:
    """The folder for files that tt-run makes for itself: $XDG_CACHE_HOME/tt-run, else ~/.cache/tt-run.

    Containers often have a home that cannot be written: it is .cache/tt-run of the launch directory then.
    """
    given, home = site.get("XDG_CACHE_HOME"), site.get("HOME")
    wished = [Path(given)] if given and Path(given).is_absolute() else [Path(home) / ".cache"] if home else []
    parents = [folder for folder in wished if site.can_make(folder)] or [site.cwd / ".cache"]
    return parents[0] / "tt-run"
