"""The numbers of a prediction: `--hardware` names a file or a system that has them, and `--set` such numbers, before a rank has to find out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from mgd.diagnostics import Diagnostic, Label, Position
from mgd.documents import Mapping, read
from mgd.lean import replace
from mgd.resources import configs_root
from tt_run import contract
from tt_run.inputs.findings import Findings
from tt_run.inputs.site import is_dir, is_file
from tt_run.plan.checks.subject import Subject

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.hardware.data_files import HardwareError


def check_hardware(subject: Subject, findings: Findings) -> None:
    """TTR101 and TTR126: what ranks would refuse of `--hardware` and `--set` for the meshes that they are on."""
    asked = {one.variable: one.value for one in subject.request.of_ranks}
    named, settings = asked.get(contract.HARDWARE) or "", asked.get(contract.HARDWARE_SET) or ""
    if not named and not settings:
        return
    path = subject.site.cwd / subject.site.expand_user(named)
    if named and not is_file(path):
        systems = _shipped_systems()
        if path.name not in systems:
            findings.judged.append(_not_found(named, path, systems))
            return
    findings.judged.extend(_refused(subject, str(path) if named else None, named, settings.splitlines()))


def _refused(subject: Subject, path: str | None, named: str, settings: list[str]) -> Iterator[Diagnostic]:
    """What the first mesh that cannot be predicted with these numbers says."""
    from tt_run.hardware.data_files import HardwareError
    from tt_run.hardware.numbers import adjusted
    from tt_run.hardware.systems import hardware_of

    for mesh_id, (arch, size) in _meshes(subject).items():
        try:
            hardware = hardware_of(arch, size, path, mesh_id)
        except HardwareError as wrong:
            yield _unfit_file(named, wrong)
            return
        for text in settings:
            try:
                adjusted(hardware, [text])
            except HardwareError as wrong:
                sign = "*=" if "*=" in text else "="
                meant = (
                    f"{wrong.near}{sign}{text.partition(sign)[2]}" if wrong.near else "dram.interleaved=200"
                )
                yield Diagnostic("TTR126", f"--set: {wrong}", help=f"write --set {shlex.quote(meant)}")
                return


def _meshes(subject: Subject) -> dict[int, tuple[str, int]]:
    """Architecture and devices of each mesh that a rank is on; a lone Wormhole chip where no descriptor says."""
    found = {}
    for binding in subject.bindings:
        graph = subject.source.graph_of(binding)
        if graph is not None and binding.mesh_id in graph.mesh_ids:
            mesh = graph.mesh(binding.mesh_id)
            found[binding.mesh_id] = (mesh.arch, mesh.dims[0] * mesh.dims[1])
    return found or {0: ("wormhole", 1)}


def _unfit_file(named: str, wrong: HardwareError) -> Diagnostic:
    from tt_run.hardware.data_files import MOST

    places = tuple(Label(replace(position, file=named), text) for position, text in wrong.found[:MOST])
    more = len(wrong.found) - len(places)
    numbers = shlex.quote(str(configs_root() / "hardware" / "wormhole.yaml"))
    help = f"begin with a copy of the shipped numbers: cp {numbers} mine.yaml"
    return Diagnostic(
        "TTR126",
        "--hardware: the file cannot be used",
        places or (Label(Position(named), str(wrong)),),
        help if any("unknown key" in label.text for label in places) else "",
        notes=(f"and {more} more places",) if more > 0 else (),
    )


def _not_found(named: str, path: Path, systems: list[str]) -> Diagnostic:
    from difflib import get_close_matches

    near = get_close_matches(path.name, systems, 1)
    help = f"did you mean {near[0]}?" if near else f"name a file, or one of {', '.join(systems)}"
    text = "is a directory" if is_dir(path) else "neither a file nor a system with numbers"
    return Diagnostic("TTR101", f"--hardware not found: {named}", (Label(Position(named), text),), help)


def _shipped_systems() -> list[str]:
    """The systems that the shipped hardware files have numbers for."""
    files = sorted((configs_root() / "hardware").glob("*.yaml"))
    found = [read(file.read_bytes(), file=str(file)).find("systems") for file in files]
    return sorted({name for systems in found if isinstance(systems, Mapping) for name in systems.fields})
