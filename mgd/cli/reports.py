"""The verdict on one file, and its forms: text, JSON lines, GitHub annotations, SARIF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from mgd.cli.findings import finding_texts
from mgd.cli.output import page_width
from mgd.diagnostics import Diagnostic, Severity, count
from mgd.folding import fold
from mgd.lean import dataclass, field


@dataclass(frozen=True, slots=True)
class FileReport:
    """What was found in one file; `summary` are the facts of an accepted one, `unreadable` says there was nothing to check,
    `text` holds what was read from standard input, for the excerpts of findings."""

    file: str
    profile: str
    diagnostics: tuple[Diagnostic, ...]
    summary: dict[str, Any] = field(default_factory=dict)
    unreadable: bool = False
    text: bytes = b""

    @property
    def accepted(self) -> bool:
        return not self.unreadable and not any(each.is_error for each in self.diagnostics)


def inspect(word: str, profile: str, *, facts: bool = True) -> FileReport:
    """Read and check one input; nothing that a file can hold raises. Without `facts` the summary stays empty."""
    from mgd.checking import check
    from mgd.cli.inputs import STDIN, STDIN_NAME, load_input, read_stdin
    from mgd.errors import MgdError, UnreadableError

    name = STDIN_NAME if word == STDIN else word
    data = read_stdin() if word == STDIN else b""
    try:
        descriptor = load_input(word, data)
    except UnreadableError as error:
        return FileReport(name, profile, error.diagnostics, unreadable=True)
    except MgdError as error:
        return FileReport(name, profile, error.diagnostics, text=data)
    found = tuple(check(descriptor, profile))
    if not facts or any(each.is_error for each in found):
        return FileReport(name, profile, found, text=data)
    from mgd.expanding.instances import expand_checked
    from mgd.facts import summary

    return FileReport(name, profile, found, summary(expand_checked(descriptor)), text=data)


def as_text(reports: Iterable[FileReport], stream: TextIO, *, quiet: bool) -> Iterator[str]:
    """For the stream every finding as a block, a line for every accepted file unless `quiet`, and the sum."""
    seen: list[FileReport] = []
    for report in reports:
        seen.append(report)
        text_of = finding_texts(stream, texts={report.file: report.text} if report.text else None)
        for diagnostic in report.diagnostics:
            yield text_of(diagnostic)
        if report.accepted and not quiet:
            yield f"{report.file}: accepted   {_in_short(report.summary)}"
    yield fold(_sum(seen), page_width(stream, 0) if stream.isatty() else 0, "  ")


def _in_short(summary: dict[str, Any]) -> str:
    meshes, devices = summary["mesh_count"], summary["total_devices"]
    hosts = sum(mesh["hosts"] for mesh in summary["meshes"])
    parts = [_number(meshes, "mesh", "meshes"), _number(devices, "device"), _number(hosts, "host")]
    if summary.get("switch_count"):
        parts.insert(1, _number(summary["switch_count"], "switch", "switches"))
    return ", ".join(parts)


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _sum(reports: Sequence[FileReport]) -> str:
    errors, warnings = count(each for report in reports for each in report.diagnostics)
    rejected = sum(not report.accepted and not report.unreadable for report in reports)
    unreadable = sum(report.unreadable for report in reports)
    words = [
        _number(len(reports), "file"),
        f"{len(reports) - rejected - unreadable} accepted",
        f"{rejected} rejected",
    ]
    words += [f"{unreadable} unreadable"] if unreadable else []
    return f"{', '.join(words)}: {_number(errors, 'error')}, {_number(warnings, 'warning')}"


def as_json(report: FileReport) -> str:
    """One JSON object on one line."""
    import json  # late, as in `as_sarif`: the text form starts without it

    return json.dumps(
        {
            "file": report.file,
            "verdict": "accept" if report.accepted else "reject",
            "profile": report.profile,
            "diagnostics": [_finding(each, report.file) for each in report.diagnostics],
            "summary": report.summary,
        },
        ensure_ascii=False,
    )


def _finding(diagnostic: Diagnostic, file: str) -> dict[str, Any]:
    where = diagnostic.position
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "file": where.file if where and where.file else file,
        "line": where.line if where else 0,
        "column": where.column if where else 0,
        "help": diagnostic.help,
    }


def as_concise(report: FileReport) -> Iterator[str]:
    """A line for each finding, `file:line:column: severity: message [code]`, as compilers write it and editors' problem matchers read it."""
    for diagnostic in report.diagnostics:
        facts = _finding(diagnostic, report.file)
        message = " ".join(str(facts["message"]).split())
        place = f"{facts['file']}:{max(facts['line'], 1)}:{max(facts['column'], 1)}"
        yield f"{place}: {facts['severity']}: {message} [{diagnostic.code}]"


def as_github(report: FileReport) -> Iterator[str]:
    """One workflow command for each finding: an annotation at its line in a pull request."""
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
    for diagnostic in report.diagnostics:
        facts = _finding(diagnostic, report.file)
        place = f",line={facts['line']},col={facts['column']}" if facts["line"] else ""
        text = facts["message"] + (f"\nhelp: {facts['help']}" if facts["help"] else "")
        yield (
            f"::{names[diagnostic.severity]} file={_escaped(facts['file'], True)}{place}"
            f",title={_escaped(diagnostic.code, True)}::{_escaped(text)}"
        )


def _escaped(text: str, in_property: bool = False) -> str:
    for character, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(character, code)
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


def as_sarif(reports: Iterable[FileReport], version: str) -> str:
    """All reports as one SARIF 2.1.0 log, the form that code scanning services read."""
    import json

    found = [(report, each) for report in reports for each in report.diagnostics]
    codes = sorted({each.code for _, each in found})
    levels = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
    results = []
    for report, diagnostic in found:
        facts = _finding(diagnostic, report.file)
        location: dict[str, Any] = {"artifactLocation": {"uri": _uri(facts["file"])}}
        if facts["line"]:
            location["region"] = {"startLine": facts["line"], "startColumn": facts["column"]}
        results.append(
            {
                "ruleId": diagnostic.code,
                "ruleIndex": codes.index(diagnostic.code),
                "level": levels[diagnostic.severity],
                "message": {"text": facts["message"] + (f" ({facts['help']})" if facts["help"] else "")},
                "locations": [{"physicalLocation": location}],
            }
        )
    driver = {"name": "mgd", "version": version, "rules": [_sarif_rule(code) for code in codes]}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }
    return json.dumps(log, indent=2, ensure_ascii=False)


def _uri(file: str) -> str:
    """A file name as a URI: relative as it is, absolute with its scheme; whatever a URI may not hold is encoded."""
    from urllib.parse import quote

    encoded = quote(file.encode("utf-8", "surrogateescape"), safe="/")
    return f"file://{encoded}" if file.startswith("/") else encoded


def _sarif_rule(code: str) -> dict[str, Any]:
    from mgd.rules import all_rules

    rule = all_rules()[code]
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.purpose} {rule.why}"},
        "help": {"text": f"wrong:\n{rule.bad}\n\nright:\n{rule.good}"},
    }
