"""A training configuration on the command line against the descriptor."""

from __future__ import annotations

from pathlib import Path

from mgd.diagnostics import Label, Position
from tt_run.inputs.document import Document, read_document
from tt_run.inputs.findings import Findings, label
from tt_run.inputs.site import is_file
from tt_run.plan.checks.subject import Subject

_OPTIONS = ("-c", "--config")


def check_training(subject: Subject, findings: Findings) -> None:
    """TTR215: `device_config.mesh_shape` asks for no more devices than the smallest mesh of a rank has."""
    path = _config(subject)
    if path is None:
        return
    # Whether the file is a sound configuration is for the program to say.
    document = read_document(path, subject.site, Findings())
    found = _mesh_shape(document) if document else None
    if found is None:
        return
    (rows, columns), at = found
    for binding in subject.bindings:
        graph = subject.source.graph_of(binding)
        if graph is None or binding.mesh_id not in graph.mesh_ids:
            continue
        mesh = graph.mesh(binding.mesh_id)
        if rows * columns > mesh.device_count:
            findings.error(
                "TTR215",
                f"the training configuration wants {rows}x{columns} = {rows * columns} devices, "
                f"mesh {mesh.mesh_id} has {mesh.device_count}",
                Label(at, f"mesh_shape [{rows}, {columns}]"),
                *label(mesh.position, f"mesh {mesh.mesh_id} is {mesh.dims[0]}x{mesh.dims[1]}"),
                help=f"write mesh_shape: [{mesh.dims[0]}, {mesh.dims[1]}], or launch on a larger system",
            )
            return


def _config(subject: Subject) -> Path | None:
    words = subject.request.program
    for index, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option not in _OPTIONS:
            continue
        named = value if equals else (words[index + 1] if index + 1 < len(words) else "")
        path = subject.site.cwd / subject.site.expand_user(named)
        if path.suffix in (".yaml", ".yml") and is_file(path):
            return path
    return None


def _mesh_shape(quiet: Document) -> tuple[tuple[int, int], Position] | None:
    top = quiet.mapping(quiet.root, "configuration")
    section = top.get("device_config")
    fields = quiet.mapping(section.value, "device_config") if section else top
    shape = fields.get("mesh_shape")
    if shape is None:
        return None
    numbers = [quiet.integer(node, "mesh_shape", 1) for node in quiet.items(shape.value, "mesh_shape")]
    if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
        return None
    return (numbers[0], numbers[1]), quiet.at(shape.value)
