"""The emulated `ttnn` and `ttml` for this process: what `tt-run --emulate` does for ranks, without a launcher or MPI."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, MutableMapping
from contextlib import suppress
from pathlib import Path

from tt_run import contract

_ARCH = "ARCH_NAME"
# Any of these in a folder makes it a checkout of the reference, or what is taken over from one.
_OF_A_CHECKOUT = ("tt_metal", "tt-train", "tests/ttnn", "tests/tt_eager", "tests/sweep_framework")
FOLDER = Path(__file__).resolve().parent.parent / "shims"


def activate(
    system: str | None = None, environment: MutableMapping[str, str] = os.environ, path: list[str] = sys.path
) -> None:
    """Put the shims first on the path of this process and its children; `system` names the machine to emulate.

    Raises RuntimeError when another `ttnn` is loaded already, or a mesh of another system was opened; ValueError for a system that is none.
    """
    if wrong := unknown_system(system):
        raise ValueError(wrong)
    known = environment.get(contract.SYSTEM) or contract.DEFAULT_SYSTEM
    if system and system != known and environment is os.environ and _is_system_read():
        raise RuntimeError(
            f"this process has {known} already, whose mesh was opened; help: restart it, and write activate({system!r}) first"
        )
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


def _is_system_read() -> bool:
    """Whether the emulation has been asked for its devices, after which they stay."""
    module = sys.modules.get("tt_run.runtime.mesh.system")
    return module is not None and module.system_mesh.cache_info().currsize > 0


def unknown_system(system: str | None) -> str:
    """What is wrong with the name of a system, with those that were probably meant; empty for a good one and for none."""
    from mgd.systems import UnknownSystem, find

    try:
        if system:
            find(system)
    except UnknownSystem as error:
        return str(error)
    return ""


def name_architecture(environment: MutableMapping[str, str] = os.environ) -> None:
    """Say in `ARCH_NAME` which chips are emulated: helpers of the reference's suites look there, as its own machines have it set.

    What the user has set stays, but what a process above this one has set here follows the system. Of an unknown system, or of a
    descriptor alone, nothing is said.
    """
    from mgd.systems import UnknownSystem, find

    if environment.get(_ARCH, "") != environment.get(contract.PYTEST_ARCH, ""):
        return
    for word in (_ARCH, contract.PYTEST_ARCH):
        environment.pop(word, None)
    system = environment.get(contract.SYSTEM)
    if not system and environment.get(contract.MESH_GRAPH_DESC_PATH):
        return
    with suppress(UnknownSystem):
        environment[_ARCH] = environment[contract.PYTEST_ARCH] = find(
            system or contract.DEFAULT_SYSTEM
        ).arch.lower()


def name_home(roots: Iterable[Path], environment: MutableMapping[str, str] = os.environ) -> None:
    """Say in `TT_METAL_HOME` which of the roots is a checkout of the reference; what the user has set stays."""
    if environment.get(contract.METAL_HOME):
        return
    for root in roots:
        if any((root / name).is_dir() for name in _OF_A_CHECKOUT):
            environment[contract.METAL_HOME] = str(root)
            return
