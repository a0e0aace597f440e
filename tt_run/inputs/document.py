"""YAML inputs of a launch: what a field must be, and findings where it is something else.

`mgd.documents` reads the text; values are made only for the fields that are asked for.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from mgd.diagnostics import Diagnostic, Label, Position
from mgd.documents import DocumentError, Mapping, Node, Scalar, Sequence, read
from mgd.documents.nodes import is_merge, merge_sources
from mgd.files import encoding_help
from mgd.lean import dataclass, field
from tt_run.inputs.findings import Findings, nearest
from tt_run.inputs.site import Site

_KINDS = {
    "null": "nothing (null)",
    "bool": "a boolean",
    "int": "an integer",
    "float": "a number",
    "text": "text",
    "list": "a list",
    "mapping": "a mapping",
    "date": "a date",
    "base60": "a number in base 60, as YAML reads digits with colons",
}
_WRITTEN = {
    "a mapping": "write it as a line key: value for each key",
    "a list": "write - before each entry, on a line of its own",
    "a whole number": "write digits, such as 0",
    "text": 'write one word, or text in quotes: "…"',
}
"""How what is wanted is written."""
_WHOLE = r"(?=.{1,40}\Z)[+-]?[0-9]+(_[0-9]+)*(\.0*)?\Z"


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping and its value."""

    key: Scalar
    value: Node


@dataclass(frozen=True)
class Document:
    """One YAML file: its root node (None when empty) and where findings about it go. `file` is the name shown to people."""

    path: Path
    file: str
    root: Node | None
    findings: Findings
    _merged: dict[tuple[int, str], dict[str, Entry]] = field(default_factory=dict, repr=False, compare=False)

    def at(self, node: Node) -> Position:
        """Where a node starts."""
        return Position(self.file, node.line, node.column)

    def fatal(self, code: str, message: str, node: Node | None, text: str = "", help: str = "") -> None:
        """Records that this file cannot be understood at `node` (None: it holds nothing)."""
        position = Position(self.file, 1, 1) if node is None else self.at(node)
        self.findings.fatal(code, message, Label(position, text), help=help)

    def lacks(
        self, node: Node | None, what: str, key: str, example: str, text: str = "the key is required"
    ) -> None:
        """Records that a mapping has no `key`, and a line of it that can be typed: `example` is a value."""
        message = f"{what} has no {key!r}"
        slip = self._slip_of(node, key)
        if slip is None:
            self.set_aside_unknown(node)
            self.fatal("TTR105", message, node, text, help=f"add {key}: {example}")
            return
        self.findings.judged.remove(slip)  # one mistake: the unknown key is the one that is missing
        place = Label(slip.labels[0].position, f"the key is called {key!r}")
        self.findings.fatal("TTR105", message, place, help=slip.help)

    def set_aside_unknown(self, node: Node | None) -> None:
        """Takes back what was found of the keys of a file where all are unknown: one mistake, since the key that it needs is missing."""
        is_whole = isinstance(node, Mapping) and node is self.root
        keys = {self.at(each) for each, _ in node.pairs} if is_whole else set()  # type: ignore[union-attr]
        judged = self.findings.judged
        others = [each for each in judged if each.code != "TTR106" or each.position not in keys]
        if len(judged) - len(others) == len(keys):
            judged[:] = others

    def _slip_of(self, node: Node | None, key: str) -> Diagnostic | None:
        """What was found of an unknown key of a mapping that is nearest to `key`."""
        keys = {self.at(each) for each, _ in node.pairs} if isinstance(node, Mapping) else set()
        for finding in self.findings.judged:
            if finding.code == "TTR106" and finding.help == f"write {key!r}" and finding.position in keys:
                return finding
        return None

    def mapping(self, node: Node | None, what: str, known: Iterable[str] | None = None) -> dict[str, Entry]:
        """The fields of a mapping by key text; {} with a finding for anything else.

        A key that is repeated or not in `known` is an error of the check; the last of repeated keys counts. Keys that a
        merge (`<<`) brings in yield to the mapping's own.
        """
        if not isinstance(node, Mapping):
            self._unexpected(node, what, "a mapping")
            return {}
        allowed = None if known is None else frozenset(known)
        fields: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key, value in node.pairs:
            if not isinstance(key, Scalar):
                self.fatal(
                    "TTR104",
                    f"{what} has a key that is {kind(key)}",
                    key,
                    "keys are plain words",
                    help="write a word before the colon",
                )
            elif is_merge(key):
                for source in merge_sources(value):
                    for name, inner in self._merge(source, what, allowed).items():
                        merged.setdefault(name, inner)
            else:
                self._take(fields, key, value, what, allowed)
        return {**merged, **fields} if merged else fields

    def _merge(self, source: Mapping, what: str, allowed: frozenset[str] | None) -> dict[str, Entry]:
        """The fields of a mapping that is merged in, looked at once however often it is."""
        seen = (id(source), what.rpartition(".")[2] if allowed is None else " ".join(sorted(allowed)))
        if seen not in self._merged:
            self._merged[seen] = self.mapping(source, what, allowed)
        return self._merged[seen]

    def _take(
        self,
        fields: dict[str, Entry],
        key: Scalar,
        value: Node,
        what: str,
        allowed: frozenset[str] | None,
    ) -> None:
        name = key.text
        if name in fields:
            # The same key of two types, 0 and "0", is no repeated key of YAML: the reference meets both and refuses.
            tell = self.findings.error if fields[name].key.kind == key.kind else self.findings.fatal
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
        fields[name] = Entry(key, value)

    def items(self, node: Node | None, what: str) -> list[Node]:
        """The items of a list; [] with a finding for anything else."""
        if not isinstance(node, Sequence):
            self._unexpected(node, what, "a list")
            return []
        return list(node.items)

    def integer(self, node: Node, what: str, minimum: int = 0) -> int | None:
        """A whole number >= `minimum`; quoted digits count, 1.0 and true with a warning. None with a finding otherwise."""
        value = node.text if isinstance(node, Scalar) else None
        if (
            isinstance(value, str)
            and len(value) < 20
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
            self.fatal(
                "TTR104",
                f"{what} is {number}",
                node,
                f"must be at least {minimum}",
                help=f"write {minimum} or more",
            )
            return None
        return number

    def _unusual_integer(self, node: Node, what: str) -> int | None:
        text = node.text.strip() if isinstance(node, Scalar) else ""
        number = _whole_number(node) if isinstance(node, Scalar) else None
        if number is None and node.kind == "text" and re.match(_WHOLE, text):
            return int(text.split(".")[0])
        if number is None:
            self._unexpected(node, what, "a whole number")
        elif node.kind != "int":
            self.findings.warn(
                "TTR108",
                f"{what} is written as {kind(node)}",
                Label(self.at(node), f"{text!r} is read as {number}"),
                help=f"write {number}",
            )
        return number

    def text(self, node: Node, what: str) -> str | None:
        """A string, or a number as it is written (with a warning). None with a finding for anything else."""
        if isinstance(node, Scalar) and node.kind == "text":
            return node.text
        if isinstance(node, Scalar) and node.kind in ("int", "float", "date"):
            self.findings.warn(
                "TTR108",
                f"{what} is {kind(node)} where text is wanted",
                Label(self.at(node), f"taken as the text {node.text!r}; the reference launcher refuses it"),
                help=f'quote it: "{node.text}"',
            )
            return node.text
        self._unexpected(node, what, "text")
        return None

    def _unexpected(self, node: Node | None, what: str, wanted: str) -> None:
        help = _WRITTEN.get(wanted, "")
        if isinstance(node, Scalar) and wanted == "text":
            help = f'quote it: "{node.text}"' if node.text else 'write a value, or "" for an empty one'
        if wanted == "text" and isinstance(node, Sequence):
            parts = [each.text for each in node.items if isinstance(each, Scalar)]
            help = f'write "{",".join(parts)}"' if parts and len(parts) == len(node.items) else help
        if node is None:
            help = (
                "write its keys, each as a line key: value; tt-run init DIR writes a project with such files"
            )
        if node is self.root and isinstance(node, Sequence) and wanted == "a mapping":
            help = "write a key and a colon in a line above the list, which is its value"
        found = "an empty file" if node is None else kind(node)
        if isinstance(node, Scalar) and node.text:
            found += f": {node.text[:40]}"
        self.fatal("TTR104", f"{what} must be {wanted}", node, f"this is {found}", help)


def _whole_number(node: Scalar) -> int | None:
    """What an integer stands for, a boolean, or a float such as 1.0e+1; None for anything else and for what a float cannot hold exactly."""
    value = node.value()
    if isinstance(value, int):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else None


def kind(node: Node) -> str:
    """What a node is, in words."""
    return _KINDS[node.kind]


def is_null(node: Node) -> bool:
    """True for `~`, `null` and nothing at all."""
    return node.kind == "null"


def read_document(path: Path, site: Site, findings: Findings) -> Document | None:
    """The YAML file at `path`; None with a finding when it cannot be read or is not well-formed YAML."""
    file = site.shown(path)
    text = read_text(path, site, findings)
    if text is None:
        return None
    try:
        return Document(path, file, read(text, file=file).root, findings)
    except DocumentError as error:
        help = error.help
        if error.subject == "syntax" and not help:
            help = "close what is open before that place, and indent with spaces, the same depth for the keys of one mapping"
        findings.fatal("TTR103", "not well-formed YAML", Label(error.position, error.reason), help=help)
        return None


def read_text(path: Path, site: Site, findings: Findings) -> str | None:
    """The text of a file; None with a finding when it is missing, unreadable or not UTF-8."""
    file = site.shown(path)
    try:
        return site.read_text(path)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        column = len(error.object[error.object.rfind(b"\n", 0, error.start) + 1 : error.start].decode()) + 1
        findings.fatal(
            "TTR102",
            "the file is not UTF-8 text",
            Label(Position(file, line, column), f"byte {error.start}: {error.reason}"),
            help=encoding_help(error.object, file),
        )
    except OSError as error:
        findings.fatal(
            "TTR102",
            "the file cannot be read",
            Label(Position(file), error.strerror or str(error)),
            help="name a file, not a folder"
            if isinstance(error, IsADirectoryError)
            else f"ls -l {shlex.quote(file)} says who may read it",
        )
    return None
