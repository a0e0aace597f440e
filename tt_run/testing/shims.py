"""The emulated `ttnn` and `ttml` for this process: what `tt-run --emulate` does for ranks, without a launcher or MPI."""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping
from pathlib import Path

from tt_run import contract

FOLDER = Path(__file__).resolve().parent.parent / "shims"


def activate(
    system: str | None = None, environment: MutableMapping[str, str] = os.environ, path: list[str] = sys.path
) -> None:
    """Put the shims first on the path of this process and its children; `system` names the machine to emulate.

    Raises RuntimeError when another `ttnn` is loaded already.
    """
    loaded = sys.modules.get("ttnn")
    home = str(getattr(loaded, "__file__", "") or "")
    if loaded is not None and not home.startswith(str(FOLDER)):
        raise RuntimeError(f"another ttnn is loaded already, from {home}; the emulation must come first")
    if str(FOLDER) not in path:
        path.insert(0, str(FOLDER))
    before = environment.get("PYTHONPATH", "")
    if str(FOLDER) not in before.split(os.pathsep):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(FOLDER), before)))
    if system:
        environment[contract.SYSTEM] = system
