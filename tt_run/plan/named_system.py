"""The ranks of a named system (`--system`), cut by `--split` and multiplied by `--meshes`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from mgd import systems
from mgd.authoring import variants
from mgd.diagnostics import Diagnostic
from mgd.errors import MgdError
from mgd.lean import replace
from tt_run.errors import UsageError
from tt_run.inputs.findings import Findings
from tt_run.inputs.site import Site
from tt_run.plan.cache_folder import kept_path
from tt_run.plan.derived_ranks import Derived, bindings_of
from tt_run.plan.descriptors import read_text_descriptor
from tt_run.plan.model import GeneratedFile
from tt_run.plan.request import LaunchRequest
from tt_run.plan.usage import split_of


def derive_from_system(request: LaunchRequest, site: Site, findings: Findings) -> Derived | None:
    """The ranks of `--system`, cut by `--split` and multiplied by `--meshes`; None with findings when its file is broken.

    Raises UsageError for an unknown system and for a cut or a number of copies that it does not allow.
    """
    system = find_system(request.system or "")
    split, meshes = split_of(request), request.meshes
    text = site.read_text(system.path)
    try:
        if split is not None:
            text = variants.split(text, split, file=str(system.path))
        if meshes is not None and meshes > 1:
            text = variants.replicate(text, meshes, file=str(system.path))
    except MgdError as error:
        found = error.diagnostics or (Diagnostic("TTR008", str(error)),)
        raise UsageError([replace(each, code="TTR008") for each in found]) from None
    is_cut = split is not None or (meshes or 1) > 1
    path = _generated_path(system.name, split, meshes, text, site) if is_cut else system.path
    graph = read_text_descriptor(text, site.shown(path), findings, request.check)
    if graph is None:
        findings.errors_are_final()  # without a graph there are no ranks
        return None
    return Derived(bindings_of(graph, path), {path: graph}, (GeneratedFile(path, text),) if is_cut else ())


def find_system(name: str) -> systems.System:
    try:
        return systems.find(name)
    except systems.UnknownSystem as error:
        shape = re.fullmatch(r"([0-9]+)x([0-9]+)", name)
        if shape is not None:
            alike = [
                each.name
                for each in systems.systems()
                if each.mesh_count == 1 and each.shape == (int(shape[1]), int(shape[2]))
            ]
            help = f"of that shape there {'are' if len(alike) > 1 else 'is'} --system {', '.join(alike[:4])}"
            raise UsageError(
                Diagnostic(
                    "TTR012",
                    f"--system {name}: a system has a name; its shape follows from it",
                    help=help if alike else "mgd systems lists names and shapes",
                )
            ) from None
        is_file = name.endswith(".textproto") or "/" in name
        several = [each for each in name.split(",") if each] if "," in name else []
        help = (
            f"for a descriptor of your own: tt-run --emulate -m {shlex.quote(name)}"
            if is_file
            else f"for rank bindings: tt-run --emulate --rank-binding {shlex.quote(name)}"
            if name.endswith((".yaml", ".yml"))
            else f"a launch has one system; several side by side: tt-run what-if --systems {name} -- python train.py"
            if several
            else f"write --system {error.nearest[0]}; mgd systems lists all"
            if error.nearest
            else "mgd systems"
        )
        raise UsageError(Diagnostic("TTR012", str(error), help=help)) from None


def _generated_path(
    name: str, split: tuple[int, int] | None, meshes: int | None, text: str, site: Site
) -> Path:
    parts = [
        name,
        f"split{split[0]}x{split[1]}" if split else "",
        f"x{meshes}" if meshes and meshes > 1 else "",
    ]
    return kept_path("_".join(filter(None, parts)), text, site)
