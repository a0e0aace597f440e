"""`--inject` on the command line: files of faults read into single ones, and a finding for each that this launch cannot have."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic, Label, Position
from tt_run.cli.reading.command_line import CommandLine
from tt_run.errors import InputError, UsageError
from tt_run.inputs.findings import all_ranks

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.faults import Fault
    from tt_run.inputs.document import Document
    from tt_run.plan.model import LaunchPlan

_TIMED_HELP = "write --inject kill=rank:1,after=2s, or add --emulate"
_FILE_HELP = "write an entry as kill=rank:1,call=12 or {kill: rank:1, call: 12}"


class FromFile(str):
    """A fault that a file says, and where."""

    position: Position

    @classmethod
    def at(cls, text: str, position: Position) -> FromFile:
        """The text of a fault with its place."""
        found = cls(text)
        found.position = position
        return found


def with_faults(given: CommandLine) -> CommandLine:
    """The command line with the faults of files in the place of their names. Raises InputError for a file that cannot be read or understood,
    UsageError for a fault that is none."""
    texts: list[str] = []
    wrong: list[Diagnostic] = []
    for word in given.inject:
        if word.endswith((".yaml", ".yml")):
            texts += _of_file(Path(word))
        else:
            texts.append(word)
            wrong += _unreadable(word)
    if wrong:
        raise UsageError(tuple(wrong))
    return CommandLine({**given.given, "inject": tuple(texts)}, given.rest, given.configured)


def _unreadable(text: str) -> Iterator[Diagnostic]:
    from tt_run.faults import FaultError, example, read_fault

    try:
        read_fault(text)
    except FaultError as error:
        yield Diagnostic("TTR041", f"--inject {text}: {error}", help=f"write --inject {example(text)}")


def _of_file(path: Path) -> list[str]:
    """The faults of a plan: `faults:` with a list of texts, or of mappings such as `{kill: rank:1, call: 12}`."""
    from tt_run.inputs.document import read_document
    from tt_run.inputs.findings import Findings
    from tt_run.inputs.site import Site

    if not os.path.lexists(path):
        message, help = (
            f"file of faults not found: {path}",
            "check the path, or write a fault: --inject kill=rank:1,call=12",
        )
        raise InputError(Diagnostic("TTR101", message, (Label(Position(str(path)), "no such file"),), help))
    findings = Findings()
    document = read_document(path, Site.current(), findings)
    texts: list[str] = []
    if document is not None:
        fields = document.mapping(document.root, "the file of faults", ("faults",))
        if "faults" not in fields:
            document.lacks(
                document.root, "the file of faults", "faults", "[kill=rank:1,call=12]", "the list is required"
            )
        if "faults" in fields:
            texts = list(_entries(document, fields["faults"].value))
    findings.errors_are_final()
    findings.stop_if_broken()
    return texts


def _entries(document: Document, node: object) -> Iterator[str]:
    from mgd.documents import Mapping, Scalar
    from tt_run.faults import ACTIONS, FaultError, read_fault

    for index, item in enumerate(document.items(node, "faults")):  # type: ignore[arg-type]
        what = f"faults[{index}]"
        if isinstance(item, Mapping):
            entries = document.mapping(item, what).values()
            nested = [entry.key.text for entry in entries if not isinstance(entry.value, Scalar)]
            if nested:
                told = f"{what}: {nested[0]} takes one value, and what else there is stands beside it"
                document.fatal("TTR041", told, item, "no fault that can be injected", _FILE_HELP)
                continue
            pairs = [
                (entry.key.text, entry.value.text) for entry in entries if isinstance(entry.value, Scalar)
            ]
            pairs.sort(key=lambda pair: pair[0] not in ACTIONS)  # what happens stands first in a fault
            text = ",".join(f"{key}={value}" for key, value in pairs)
        else:
            text = document.text(item, what) or ""
        try:
            yield FromFile.at(read_fault(text).text, document.at(item))
        except FaultError as error:
            document.fatal("TTR041", f"{what}: {error}", item, "no fault that can be injected", _FILE_HELP)


def unfit_faults(given: CommandLine, plan: LaunchPlan) -> tuple[Diagnostic, ...]:
    """A finding for each fault that the ranks of this plan cannot have."""
    from tt_run.faults import example, read_fault

    faults = [(text, read_fault(text)) for text in given.inject]
    reasons = ((text, fault, _unfit(fault, given.emulate, plan)) for text, fault in faults)
    return tuple(
        Diagnostic(
            "TTR041",
            f"--inject {fault.text}: {why}",
            (Label(text.position),) if isinstance(text, FromFile) else (),
            help=(
                f"write --inject {example(text)}"
                if given.emulate or not fault.needs_emulation
                else _TIMED_HELP
            ).replace("rank:1", f"rank:{len(plan.ranks) - 1}"),
        )
        for text, fault, why in reasons
        if why
    )


def _unfit(fault: Fault, emulated: bool, plan: LaunchPlan) -> str:
    """Why the ranks of a plan cannot have a fault; empty when they can."""
    from tt_run.faults import LINKS, WITHOUT_CALLS

    ranks = len(plan.ranks)
    beyond: Sequence[int] = [rank for rank in fault.ranks or () if rank >= ranks]
    if beyond:
        return f"there is no rank {beyond[0]}; the job has {all_ranks(ranks)}"
    hosts = {rank.host for rank in plan.ranks if rank.host} or {_here()}
    unknown = [host for host in fault.hosts if host not in hosts]
    if unknown:
        return f"no rank is planned on host {unknown[0]}; there are {', '.join(sorted(hosts))}"
    if fault.action in LINKS and fault.hosts and hosts <= set(fault.hosts):
        return f"all ranks are on {', '.join(sorted(hosts))}: nothing goes between there and others; name a rank or a link"
    if not emulated and fault.needs_emulation:
        return (
            f"without --emulate nobody counts calls or sees tensors and links: {fault.action} can come at a time, as after=2s or mtbf=30s"
            if fault.action in WITHOUT_CALLS
            else f"{fault.action} is a fault of emulated ranks: add --emulate"
        )
    if fault.call and ranks == 1:
        return "a rank alone makes no calls with others: op=*,nth=12 counts its operations"
    return _no_link(fault.link, plan) if fault.link else _misspelt(fault.op)


def _no_link(link: tuple[int, ...], plan: LaunchPlan) -> str:
    """Why no mesh of a plan has a link between two devices; empty when one has."""
    blocks: dict[int, list[tuple[int, int]]] = {}
    for rank in plan.ranks:
        blocks.setdefault(rank.mesh_id, []).extend(rank.devices)
    shapes = {
        (max(r for r, _ in found) + 1, max(c for _, c in found) + 1) for found in blocks.values() if found
    }
    if not shapes or any(_are_neighbours(link, shape) for shape in shapes):
        return ""
    rows, columns = max(shapes)
    here = link[0]
    known = sorted(
        d for d in range(rows * columns) if d != here and _are_neighbours((here, d), (rows, columns))
    )
    around = f"; device {here} has links to {', '.join(map(str, known))}" if known else ""
    return f"devices {link[0]} and {link[1]} have no link: a {rows}x{columns} mesh has devices 0 to {rows * columns - 1}, row by row{around}"


def _are_neighbours(link: tuple[int, ...], shape: tuple[int, int]) -> bool:
    """Whether two devices stand side by side in a mesh, or at both ends of a line that may be a ring."""
    rows, columns = shape
    if max(link) >= rows * columns:
        return False
    (r, c), (s, d) = (divmod(device, columns) for device in link)
    down, across = abs(r - s), abs(c - d)
    return (across == 0 and down in (1, rows - 1)) or (down == 0 and across in (1, columns - 1))


def _misspelt(op: str) -> str:
    """What an operation that is none may have been meant to be; empty for what a rank may well call."""
    import difflib
    import re

    if not op or op == "*":
        return ""
    shims = Path(__file__).parent.parent / "shims"
    known = {
        "read tensor",
        "barrier",
        "read_tensor",
        "write_tensor",
        "forward_to_tensor",
        "forward_to_tensor_bytes",
        "recv",
        "send",
    }
    for stub in shims.rglob("*.pyi"):
        known |= set(re.findall(r"^\s*(?:def |class )?(\w+)", stub.read_text(encoding="utf-8"), re.MULTILINE))
    known = {
        name for name in known if not name.startswith("ttnn_")
    }  # other names of operations, which go by their own
    near = [] if op in known else difflib.get_close_matches(op, known, 1, 0.8)
    return f"no operation is called {op}: did you mean op={near[0]}?" if near else ""


def _here() -> str:
    import os

    return os.uname().nodename
