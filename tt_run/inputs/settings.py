"""Variables as inputs set them, nothing expanded yet."""

from __future__ import annotations

from mgd.diagnostics import Label, Position
from mgd.lean import dataclass
from tt_run.inputs.document import Document, Entry


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable that an input sets: value as written (nothing expanded), where, and under which key."""

    value: str
    source: str  # "global_env" or "env_overrides"
    position: Position


def read_env(
    document: Document, field: Entry | None, what: str, source: str | None = None
) -> dict[str, Setting]:
    """The variables of an environment map, values as written."""
    if field is None:
        return {}
    settings: dict[str, Setting] = {}
    for name, item in document.mapping(field.value, what).items():
        if item.key.kind != "text":
            document.fatal(
                "TTR104",
                f"{what} has the key {name}, which is no text",
                item.key,
                "names are text",
                f'quote it: "{name}"',
            )
            continue
        value = document.text(item.value, f"{what}.{name}")
        if value is not None and _is_name(document, item, name, value):
            name, equals, rest = name.partition("=")  # as mpirun splits what it is told to export
            value = f"{rest}={value}" if equals else value
            settings[name] = Setting(value, source or what, document.at(item.key))
    return settings


def _is_name(document: Document, field: Entry, name: str, value: str) -> bool:
    if "\0" in value:
        document.fatal(
            "TTR117",
            f"the value of {name} holds a NUL character",
            field.value,
            "no variable can hold one",
            help="take \\0 out of the value",
        )
        return False
    if name and "=" not in name and "\0" not in name and not any(map(str.isspace, name)):
        return True
    why = (
        "is empty"
        if not name
        else "holds '='"
        if "=" in name
        else "holds a NUL character"
        if "\0" in name
        else "holds a blank"
        if name.strip()
        else "is blank"
    )
    document.findings.error(
        "TTR117",
        f"{name!r} is no name of a variable",
        Label(document.at(field.key), f"the name {why}"),
        help="names are letters, digits and _",
    )
    return name[:1] not in ("", "=") and "\0" not in name
