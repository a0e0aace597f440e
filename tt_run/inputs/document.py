"""YAML files with a position for every key and value.

The C parser composes the nodes (about a tenth of the time that `yaml.safe_load` takes); values are made only for the fields
that are asked for, so anchors that multiply (`*a, *a, ...`) cost nothing. Scalars follow YAML 1.1, as the reference reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import yaml

from mgd.diagnostics import Label, Position
from mgd.lean import dataclass
from tt_run.inputs.findings import Findings, nearest
from tt_run.inputs.world import World

_TAG = "tag:yaml.org,2002:"
_KINDS = {
    "null": "nothing (null)",
    "bool": "a boolean",
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "seq": "a list",
    "map": "a mapping",
    "timestamp": "a date",
}
_WHOLE = r"[+-]?[0-9]+(_[0-9]+)*(\.0*)?\Z"
_DEEPEST = 200  # the C composer recurses; bindings need five levels


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a mapping and its value."""

    key: yaml.Node
    value: yaml.Node


@dataclass(frozen=True)
class Document:
    """One YAML file: its root node (None when empty) and where findings about it go. `file` is the name shown to people."""

    path: Path
    file: str
    root: yaml.Node | None
    findings: Findings

    def at(self, node: yaml.Node) -> Position:
        """Where a node starts."""
        mark = node.start_mark
        return Position(self.file, mark.line + 1, mark.column + 1)

    def fatal(self, code: str, message: str, node: yaml.Node | None, text: str = "", help: str = "") -> None:
        """Records that this file cannot be understood at `node` (None: as a whole)."""
        position = Position(self.file) if node is None else self.at(node)
        self.findings.fatal(code, message, Label(position, text), help=help)

    def mapping(
        self, node: yaml.Node | None, what: str, known: Iterable[str] | None = None
    ) -> dict[str, Field]:
        """The fields of a mapping by key text; {} with a finding for anything else.

        A key that is repeated or not in `known` is an error of the check; the last of repeated keys counts. Keys that a
        merge (`<<`) brings in yield to the mapping's own.
        """
        if not isinstance(node, yaml.MappingNode):
            self._unexpected(node, what, "a mapping")
            return {}
        allowed = None if known is None else frozenset(known)
        fields: dict[str, Field] = {}
        merged: dict[str, Field] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.fatal("TTR104", f"{what} has a key that is {kind(key)}", key, "keys are plain words")
            elif key.tag == _TAG + "merge":
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    for name, inner in self.mapping(source, what, allowed).items():
                        merged.setdefault(name, inner)
            else:
                self._take(fields, key, value, what, allowed)
        return {**merged, **fields} if merged else fields

    def _take(
        self,
        fields: dict[str, Field],
        key: yaml.ScalarNode,
        value: yaml.Node,
        what: str,
        allowed: frozenset[str] | None,
    ) -> None:
        name = key.value
        if name in fields:
            # The same key of two types, 0 and "0", is no repeated key of YAML: the reference meets both and refuses.
            tell = self.findings.error if fields[name].key.tag == key.tag else self.findings.fatal
            tell(
                "TTR107",
                f"key {name!r} stands twice in {what}",
                Label(self.at(key), "this one counts"),
                Label(self.at(fields[name].key), "this one would be lost silently"),
                help=f"keep one {name!r}",
            )
        if allowed is not None and name not in allowed:
            meant = nearest(name, allowed)
            self.findings.error(
                "TTR106",
                f"unknown key {name!r} in {what}",
                Label(self.at(key), "ignored by the reference launcher, so its setting would be lost"),
                help=f"write {meant!r}" if meant else "known keys: " + ", ".join(sorted(allowed)),
            )
            return
        fields[name] = Field(key, value)

    def items(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        """The items of a list; [] with a finding for anything else."""
        if not isinstance(node, yaml.SequenceNode):
            self._unexpected(node, what, "a list")
            return []
        return list(node.value)

    def integer(self, node: yaml.Node, what: str, minimum: int = 0) -> int | None:
        """A whole number >= `minimum`; quoted digits count, 1.0 and true with a warning. None with a finding otherwise."""
        value = node.value if isinstance(node, yaml.ScalarNode) else None
        if (
            isinstance(value, str)
            and value.isdigit()
            and value.isascii()
            and (value == "0" or value[0] != "0")
        ):
            number = int(value)
        else:
            converted = self._unusual_integer(node, what)
            if converted is None:
                return None
            number = converted
        if number < minimum:
            self.fatal("TTR104", f"{what} is {number}", node, f"must be at least {minimum}")
            return None
        return number

    def _unusual_integer(self, node: yaml.Node, what: str) -> int | None:
        tag = node.tag.removeprefix(_TAG)
        text = node.value.strip() if isinstance(node, yaml.ScalarNode) else ""
        whole = _whole_number(node, tag) if isinstance(node, yaml.ScalarNode) else None
        if whole is not None and tag == "int":
            return whole
        if whole is not None:
            number = whole
        elif tag == "str" and re.match(_WHOLE, text):
            number = int(text.split(".")[0])
        elif tag == "bool":
            number = int(text.lower() in ("true", "yes", "on"))
        else:
            self._unexpected(node, what, "a whole number")
            return None
        if tag != "str":
            self.findings.warn(
                "TTR108",
                f"{what} is written as {kind(node)}",
                Label(self.at(node), f"{text!r} is read as {number}"),
                help=f"write {number}",
            )
        return number

    def text(self, node: yaml.Node, what: str) -> str | None:
        """A string, or a number as it is written (with a warning). None with a finding for anything else."""
        tag = node.tag.removeprefix(_TAG)
        if tag == "str" and isinstance(node, yaml.ScalarNode):
            return str(node.value)
        if tag in ("int", "float", "timestamp") and isinstance(node, yaml.ScalarNode):
            written = str(node.value)
            self.findings.warn(
                "TTR108",
                f"{what} is {kind(node)} where text is wanted",
                Label(self.at(node), f"taken as the text {written!r}; the reference launcher refuses it"),
                help=f'quote it: "{written}"',
            )
            return written
        self._unexpected(node, what, "text")
        return None

    def _unexpected(self, node: yaml.Node | None, what: str, wanted: str) -> None:
        help = ""
        if isinstance(node, yaml.ScalarNode) and wanted == "text":
            help = f'quote it: "{node.value}"' if node.value else 'write a value, or "" for an empty one'
        found = "an empty file" if node is None else kind(node)
        if isinstance(node, yaml.ScalarNode) and node.value:
            found += f": {node.value[:40]}"
        self.fatal("TTR104", f"{what} must be {wanted}", node, f"this is {found}", help)


def _whole_number(node: yaml.ScalarNode, tag: str) -> int | None:
    """What a YAML integer stands for, or a float such as 1.0e+1; None for anything else and for what a float cannot hold exactly."""
    construct = yaml.constructor.SafeConstructor()
    try:
        if tag == "int":
            return int(construct.construct_yaml_int(node))
        value = float(construct.construct_yaml_float(node)) if tag == "float" else 0.5
    except (ValueError, IndexError):  # an explicit tag on other text, or on none: !!int x
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else None


def kind(node: yaml.Node) -> str:
    """What a node is, in words."""
    return _KINDS.get(node.tag.removeprefix(_TAG), f"a value of type {node.tag}")


def is_null(node: yaml.Node) -> bool:
    """True for `~`, `null` and nothing at all."""
    return bool(node.tag == _TAG + "null")


def read_document(path: Path, world: World, findings: Findings) -> Document | None:
    """The YAML file at `path`; None with a finding when it cannot be read or is not well-formed YAML."""
    file = world.shown(path)
    text = read_text(path, world, findings)
    if text is None:
        return None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        refuse_depth(text, loader)
        root = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = Position(file, mark.line + 1, mark.column + 1) if mark else Position(file)
        reason = " ".join(part for part in (error.problem, error.context) if part)
        if mark and "".join(text.split("\n")[mark.line : mark.line + 1])[mark.column :].startswith("\t"):
            reason = "a tab, which YAML does not take for indentation"
        help = "close what is open before that place, and indent with spaces, the same depth for the keys of one mapping"
        findings.fatal("TTR103", "not well-formed YAML", Label(position, reason), help=help)
        return None
    except yaml.YAMLError as error:  # a character that YAML forbids
        findings.fatal("TTR103", "not well-formed YAML", Label(Position(file), " ".join(str(error).split())))
        return None
    return Document(path, file, root, findings)


def refuse_depth(text: str, loader: type) -> None:
    """Raises MarkedYAMLError for nesting so deep that the composer, which recurses in C, would overflow the stack."""
    if text.count("[") + text.count("{") <= _DEEPEST and not re.search(rf"(?m)^[ -]{{{_DEEPEST},}}", text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                reason = f"nested deeper than {_DEEPEST} levels"
                raise yaml.MarkedYAMLError(problem=reason, problem_mark=event.start_mark)  # type: ignore[arg-type]
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def read_text(path: Path, world: World, findings: Findings) -> str | None:
    """The text of a file; None with a finding when it is missing, unreadable or not UTF-8."""
    file = world.shown(path)
    try:
        return world.read_text(path)
    except UnicodeDecodeError as error:
        findings.fatal(
            "TTR102",
            "the file is not UTF-8 text",
            Label(Position(file), f"byte {error.start}: {error.reason}"),
        )
    except OSError as error:
        findings.fatal(
            "TTR102", "the file cannot be read", Label(Position(file), error.strerror or str(error))
        )
    return None
