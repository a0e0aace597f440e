"""What the language server answers about one text; pure functions of the text and, where it matters, of a position in it."""

from __future__ import annotations

import re
from typing import Any

from mgd import _schema
from mgd.diagnostics import Diagnostic, Severity
from mgd.editing.names import meaning
from mgd.editing.places import Lines
from mgd.errors import MgdError
from mgd.text.lexer import find_tokens

_SEVERITIES = {Severity.ERROR: 1, Severity.WARNING: 2, Severity.NOTE: 3}
_WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9_.+-]+|.')
_FIELD, _VALUE, _REFERENCE, _BLOCK = 5, 12, 18, 22  # kinds of completions: field, value, reference, struct
_REFERENCES = (
    "mesh_descriptor",
    "graph_descriptor",
    "switch_descriptor",
)  # each to a name of those of its plural


def findings(text: str, name: str, first_format: bool) -> list[Diagnostic]:
    """Everything that `mgd check` says of the text."""
    from mgd.checking import check
    from mgd.reading import loads
    from mgd.v1.reading import loads as loads_v1

    try:
        return check((loads_v1 if first_format else loads)(text, file=name))
    except MgdError as error:
        return list(error.diagnostics)


def diagnostics(text: str, uri: str, name: str, first_format: bool) -> list[dict[str, Any]]:
    """The findings as an editor marks them, with their further places."""
    lines = Lines(text)
    told = []
    for found in findings(text, name, first_format):
        place = found.position
        line, column = (place.line, place.column) if place else (0, 0)
        others = [
            {
                "location": {
                    "uri": uri,
                    "range": _word_range(lines, label.position.line, label.position.column),
                },
                "message": label.text,
            }
            for label in found.labels[1:]
        ]
        told.append(
            {
                "range": _word_range(lines, line, column),
                "severity": _SEVERITIES[found.severity],
                "code": found.code,
                "source": "mgd",
                "message": found.message + (f"\n{found.help}" if found.help else ""),
                "relatedInformation": others,
            }
        )
    return told


def _word_range(lines: Lines, line: int, column: int) -> dict[str, Any]:
    content = lines.lines[line - 1] if 0 < line <= len(lines.lines) else ""
    word = _WORD.match(content, column - 1) if column > 0 else None
    return lines.range_at(line, column, len(word[0]) if word else 1)


def explanation(text: str, position: dict[str, int], name: str, first_format: bool) -> str:
    """Markdown on what stands at a position: the rules of findings there, or the type of a field; "" when there is nothing to say."""
    from mgd.catalogue.pages import markdown
    from mgd.rules import all_rules

    lines = Lines(text)
    codes = []
    for found in findings(text, name, first_format):
        place = found.position
        if place is None or place.line - 1 != position["line"]:
            continue
        span = _word_range(lines, place.line, place.column)
        if span["start"]["character"] <= position["character"] <= span["end"]["character"]:
            codes.append(found.code)
    if codes:
        pages = ["\n".join(markdown(all_rules()[code])) for code in dict.fromkeys(codes)]
        return re.sub(r'<a id="[^"]*"></a>', "", "\n\n".join(pages))
    if meant := meaning(text, position):
        return meant
    offset = lines.offset(position)
    for token in find_tokens(text):
        if token.start() <= offset <= token.end() and token.lastgroup == "name":
            message, _ = _context(text, token.start())
            field = _field(message, token[0])
            if field is not None:
                return f"`{field.name}`: {_type_words(field)}, a field of {message}"
    return ""


def completions(text: str, position: dict[str, int]) -> list[dict[str, Any]]:
    """What can be written at a position: the fields of the message there, the names that an enum or bool takes, or those that a reference may have."""
    offset = Lines(text).offset(position)
    begun: str = re.search(r"[\"']?\w*\Z", text[:offset])[0]  # type: ignore[index] # the pattern matches anything
    message, waiting = _context(text, offset - len(begun))
    if waiting is not None:
        field = _field(message, waiting)
        if field is not None and field.name in _REFERENCES:
            quote = "" if begun[:1] in ('"', "'") else '"'
            return [
                {"label": name, "kind": _REFERENCE, "insertText": f"{quote}{name}{quote}"}
                for name in _names_of(text, f"{field.name}s")
            ]
        return [{"label": word, "kind": _VALUE} for word in _words(field)] if field else []
    return [
        {
            "label": field.name,
            "kind": _BLOCK if field.kind == "message" else _FIELD,
            "detail": _type_words(field),
            "insertText": f"{field.name} {{ " if field.kind == "message" else f"{field.name}: ",
        }
        for field in _schema.MESSAGES.get(message, ())
    ]


def laid_out(text: str) -> list[dict[str, Any]]:
    """The edit that gives a text its one layout; none for a text that is no descriptor."""
    from mgd.authoring.reformat import reformatted

    try:
        new = reformatted(text)
    except (MgdError, ValueError):
        return []
    return [] if new == text else [{"range": Lines(text).whole(), "newText": new}]


def repairs(text: str, uri: str) -> list[dict[str, Any]]:
    """The action that makes all repairs of `mgd fix`; none where there is nothing to repair."""
    from mgd.authoring.repair import repair

    try:
        repaired = repair(text)
    except (MgdError, ValueError):
        return []
    if repaired.text == text:
        return []
    edit = {"changes": {uri: [{"range": Lines(text).whole(), "newText": repaired.text}]}}
    codes = ", ".join(sorted({each.code for each in repaired.done}))
    return [{"title": f"mgd fix: repair {codes}", "kind": "quickfix", "edit": edit}]


def _context(text: str, offset: int) -> tuple[str, str | None]:
    """The message around an offset ("" inside of an unknown field), and the field whose value is begun there, if one is."""
    around = [_schema.ROOT]
    lists = [False]  # whether a list is open, for each message around
    name, waiting = "", False
    for token in find_tokens(text):
        if token.start() >= offset:
            break
        kind, word = token.lastgroup, token[0]
        if kind in ("blank", "comment") or word == "-":
            continue
        if kind == "open":
            field = _field(around[-1], name)
            around.append(str(field.type) if field is not None and field.kind == "message" else "")
            lists.append(False)
            waiting = False
        elif kind == "close":
            around, lists = around[:-1] or [_schema.ROOT], lists[:-1] or [False]
            waiting = False
        elif word in (":", "["):
            waiting = True
            lists[-1] = lists[-1] or word == "["
        elif word == ",":
            waiting = lists[-1]
        elif kind == "name" and not waiting and not lists[-1]:
            name = word
        else:
            waiting = False
            lists[-1] = lists[-1] and word != "]"
    return around[-1], name if waiting else None


def _names_of(text: str, blocks: str) -> list[str]:
    """The names that the blocks of a field of the whole file have, in their order; the text may be unfinished."""
    names: list[str] = []
    depth, outer, last = 0, "", ""
    for token in find_tokens(text):
        kind, word = token.lastgroup, token[0]
        if kind == "open":
            outer = outer if depth else last
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "name":
            last = word
        elif kind == "string" and depth == 1 and (outer, last) == (blocks, "name"):
            names.append(word[1:-1])
    return list(dict.fromkeys(names))


def _field(message: str, name: str) -> _schema.SchemaField | None:
    return next((field for field in _schema.MESSAGES.get(message, ()) if field.name == name), None)


def _words(field: _schema.SchemaField) -> list[str]:
    if field.kind == "enum" and not isinstance(field.type, str):
        return [each.name for each in field.type if each]  # 0 stands for none of them
    return ["true", "false"] if field.kind == "bool" else []


def _type_words(field: _schema.SchemaField) -> str:
    name = field.type if isinstance(field.type, str) else field.type.__name__
    return ("list of " if field.repeated else "") + (name or field.kind)
