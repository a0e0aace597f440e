"""`--degrade` names links and chips that the meshes of the ranks have, before a rank has to find out."""

from __future__ import annotations

from mgd.diagnostics import Diagnostic
from tt_run import contract
from tt_run.inputs.findings import Findings
from tt_run.plan.checks.subject import Subject

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from mgd.graph import Mesh
    from tt_run.degraded import Loss


def check_losses(subject: Subject, findings: Findings) -> None:
    """TTR021: losses of what no mesh has."""
    asked = next((one.value for one in subject.request.of_ranks if one.variable == contract.DEGRADE), "")
    meshes = _meshes(subject) if asked else {}
    if not meshes:
        return
    from tt_run.degraded import LossError, read_losses

    for loss in read_losses(asked):
        try:
            _check(loss, meshes)
        except LossError as wrong:
            help = "write --degrade D0-D1; mgd show draws the devices and their links"
            findings.judged.append(Diagnostic("TTR021", f"--degrade {loss.text}: {wrong}", help=help))


def _check(loss: Loss, meshes: dict[int, Mesh]) -> None:
    from mgd.facts import adjacency
    from tt_run.degraded import LossError, check_loss

    mesh = meshes.get(loss.mesh_id)
    if mesh is None:
        raise LossError(
            f"no rank is on mesh {loss.mesh_id}; there are {', '.join(f'M{n}' for n in sorted(meshes))}"
        )
    near = adjacency(mesh)
    check_loss(
        loss,
        mesh.device_count,
        lambda device: {other for other, direction, _ in near[device] if direction != "Z"},
        mesh.channels,
    )


def _meshes(subject: Subject) -> dict[int, Mesh]:
    """The meshes that ranks are on, as far as their descriptors could be read."""
    found = {}
    for binding in subject.bindings:
        graph = subject.source.graph_of(binding)
        if graph is not None and binding.mesh_id in graph.mesh_ids:
            found[binding.mesh_id] = graph.mesh(binding.mesh_id)
    return found
