"""From a path or a text to a descriptor."""

from __future__ import annotations

import re

from mgd.descriptor import Descriptor
from mgd.diagnostics import Label
from mgd.errors import ParseError
from mgd.files import as_source, read_bytes
from mgd.lean import replace
from mgd.text.parser import parse
from mgd.text.problems import BAD_UTF8

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from pathlib import Path

    from mgd.diagnostics import Diagnostic


MANY_ERRORS = 4
ROOT_FIELDS = (
    r"(?m)^\s*(mesh_descriptors|graph_descriptors|switch_descriptors|top_level_instance|pinnings)\s*[:{]"
)

PROGRAM = r"(?m)^(?:import|from)\s+\w+"


def load(path: str | Path) -> Descriptor:
    """Read a descriptor from a file.

    A name that ends in .yaml or .yml is read as MGD 1.0, all else as text format. Rules are not applied: `mgd.check` does that.
    Raises UnreadableError when the file cannot be read, ParseError with every syntax error when it is not a descriptor.
    """
    name = str(path)
    data = read_bytes(name)
    if name.endswith((".yaml", ".yml")):
        from mgd.v1.reading import loads as loads_v1

        return loads_v1(data, file=name)
    return loads(data, file=name)


def loads(text: str | bytes, *, file: str = "") -> Descriptor:
    """Read a descriptor in text format from memory; `file` is the name that positions show. Raises ParseError."""
    source, warnings = as_source(text, file)
    descriptor, problems = parse(source)
    if descriptor is None:
        if not re.search(ROOT_FIELDS, source.text):
            from mgd.v1.recognition import other_kind

            if other := other_kind(source.text):
                kind, option, at = other
                told = f"the file holds {kind}, not a mesh graph descriptor"
                labels = (Label(source.position(at)),)
                help = f"it is for tt-run {option}"
                raise ParseError([replace(problems.errors[0], message=told, labels=labels, help=help)])
            if len(problems.errors) > MANY_ERRORS or re.search(PROGRAM, source.text):
                raise ParseError(_of_no_descriptor(problems.errors[0], source.text))
        raise ParseError(_once_for_each_place(problems.errors, (*warnings, *problems.warnings)))
    if warnings:
        return replace(descriptor, notices=(*warnings, *descriptor.notices))
    return descriptor


def _once_for_each_place(
    errors: list[Diagnostic], warnings: tuple[Diagnostic, ...]
) -> tuple[Diagnostic, ...]:
    """Errors and warnings; an error at a byte that is no text has the advice of the warning about that."""
    why = {warning.position: warning for warning in warnings if warning.code == BAD_UTF8}
    told = [
        replace(error, help=why[error.position].help, notes=(*error.notes, why[error.position].message))
        if error.position in why
        else error
        for error in errors
    ]
    wrong = {error.position for error in errors} & set(why)
    return (
        *told,
        *(warning for warning in warnings if warning.position not in wrong or warning.code != BAD_UTF8),
    )


def _of_no_descriptor(first: Diagnostic, text: str) -> tuple[Diagnostic, ...]:
    """One finding for a file that is of another kind altogether, in place of one for each of its lines."""
    is_program = re.search(PROGRAM, text)
    what = "holds a Python program, not" if is_program else "has no field of"
    help = "name a descriptor: it begins with mesh_descriptors { … }; mgd new writes one"
    return (replace(first, message=f"the file {what} a mesh graph descriptor", help=help),)
