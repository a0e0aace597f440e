"""`tt-run what-if`: one program on several systems, each an emulated run with `--predict`, and the predictions side by side."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from mgd.diagnostics import Diagnostic
from mgd.lean import replace
from tt_run.cli.commands.looking import columns
from tt_run.cli.comparison.candidates import Candidate, alternatives, candidates
from tt_run.cli.comparison.outcomes import CandidateOutcome, as_rows, flat, outcome, table
from tt_run.cli.outputs import refuse_lost_outputs
from tt_run.cli.print_findings import print_findings
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import parse, read
from tt_run.contract import Exit
from tt_run.errors import UsageError

# The working directory must not decide which modules are found: `python -m` would put it first.
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; from tt_run.cli.entry import main; main()"
_TIMEOUT = 600.0
_READS_VALUES = " reads values of shape "
"""What emulated ranks say where the program looks at numbers in a run of shapes alone."""


class WhatIf(Arguments):
    """Predict what a program would take on several systems, and put them side by side: time, throughput, scaling, what bounds it.

    Every combination of systems, splits and values is run in emulation. {NAME} in the program's words becomes a value of --vary NAME:
      tt-run what-if --systems t3000,galaxy --vary mesh=1x8,2x4 -- python train.py --mesh {mesh}
    """

    __slots__ = ()
    anywhere = False
    usage = "tt-run what-if [OPTIONS] [--] PROGRAM [ARGS...]"
    systems: str = option(
        "Candidates",
        "--systems",
        "A,B,…",
        "Ready systems, or descriptors' files [n300,t3000,galaxy].",
        default="n300,t3000,galaxy",
    )
    splits: str | None = option("Candidates", "--splits", "RxC,…", "Cut each mesh over so many hosts.")
    mesh_shapes: str | None = option(
        "Candidates", "--mesh-shapes", "RxC,…", "Values for {mesh} in the program's words."
    )
    vary: tuple[str, ...] = option(
        "Candidates", "--vary", "NAME=A,B,…", "Values for {NAME} in the program's words.", repeated=True
    )
    set: tuple[str, ...] = option(
        "Candidates",
        "--set",
        "KEY=VALUE",
        "Another number of the hardware file, or several with commas; KEY*=FACTOR scales.",
        repeated=True,
    )
    hardware: str | None = option(
        "Candidates", "--hardware", "FILE", "Your own constants of an architecture."
    )
    vary_links: bool = option(
        "Candidates", "--vary-links", "", "Also with twice the channels, and with links of twice the rate."
    )
    degrade: tuple[str, ...] = option(
        "Candidates",
        "--degrade",
        "LOST",
        "Also without a link (D0-D1), a cable of it (D0-D1:1), a chip (D5); commas join.",
        repeated=True,
    )
    values: bool = option("Run", "--values", "", "Run with values even where shapes would do.")
    timeout: float = option(
        "Run",
        "--timeout",
        "SECONDS",
        "End a candidate's run after this long [600].",
        kind="seconds",
        default=_TIMEOUT,
    )
    format: str = option(
        "Look",
        "--format",
        "FORM",
        "table [default], json or csv.",
        kind=("table", "json", "csv"),
        default="table",
    )
    plot: str | None = option(
        "Look", "--plot", "FILE", "Also draw throughput over devices, as SVG.", kind="output", endings=".svg"
    )
    help: bool = option("Look", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints the comparison; 0 when any candidate ran. Raises UsageError for options that say nothing."""
    given = read(words, WhatIf)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(WhatIf))
        return Exit.OK
    varied = _checked(given)
    found = candidates(
        _listed(given.systems),
        _listed(given.splits or ""),
        varied,
        given.set,
        given.rest,
        given.vary_links,
        given.degrade,
        given.hardware or "",
    )
    outcomes = [
        replace(_try(one, number, len(found), given), facts=one.facts())
        for number, one in enumerate(found, 1)
    ]
    rows = as_rows(outcomes)
    if given.plot is not None:
        _draw(rows, given.plot, given.rest)
    _show(rows, given.format, [text for text in given.set if len(alternatives(text)) == 1])
    return Exit.FAILED if all(one.failure for one in outcomes) else Exit.OK


def _checked(given: WhatIf) -> list[tuple[str, list[str]]]:
    """The values to vary, by name. Raises UsageError before anything has run."""
    if not given.rest:
        raise _usage("no program", "write tt-run what-if --systems t3000,galaxy -- python train.py")
    refuse_lost_outputs(given)
    for text in given.degrade:
        _check_loss(text)
    for option_name, listed in (("--splits", given.splits), ("--mesh-shapes", given.mesh_shapes)):
        for text in _listed(listed or ""):
            if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", text):
                raise _usage(f"{option_name} {text}", f"write {option_name} 1x2,2x2")
    if not _listed(given.systems):
        raise _usage(f"--systems {given.systems}: names no system", "write --systems t3000,galaxy")
    for name in _listed(given.systems):
        _check_system(name, _listed(given.systems))
    for text in given.set:
        _check_change(text)
    shapes = [f"mesh={given.mesh_shapes}"] if given.mesh_shapes is not None else []
    varied = [_varied(text) for text in (*shapes, *given.vary)]
    for name, values in varied:
        if not any(f"{{{name}}}" in word for word in given.rest):
            raise _usage(
                f"--vary {name}={','.join(values)} changes nothing: no word of the program holds {{{name}}}",
                f"write -- {' '.join(given.rest)} {{{name}}}",
            )
    for word in given.rest:
        unnamed = re.fullmatch(r"(?:.*=)?\{([A-Za-z_]\w*)\}", word)
        if unnamed and unnamed[1] not in [name for name, _ in varied]:
            raise _usage(f"{word} gets no value", f"write --vary {unnamed[1]}=A,B")
    from tt_run.cli.reading.slips import late_options_of
    from tt_run.inputs.site import Site

    _check_program(given.rest)
    print_findings(late_options_of("tt-run what-if", given.options(), given.rest, Site.current()))
    return varied


def _usage(wrong: str, help: str) -> UsageError:
    return UsageError(Diagnostic("TTR021", f"tt-run what-if: {wrong}", help=help))


def _check_program(words: Sequence[str]) -> None:
    """Raises TtRunError for a program that no candidate could start, before the first has tried."""
    from tt_run.cli.reading.python_slips import lost_script, refuse_lost_script
    from tt_run.inputs.site import Site

    site, name = Site.current(), words[0]
    if "{" not in name and site.which(name) is None:
        here = os.path.isfile(site.cwd / name)  # noqa: PTH113 - Path.is_file raises for a name that is too long
        raise _usage(
            f"{name} is a file, but no command on PATH" if here else f"program not found: {name}",
            f"write -- python {name}" if here else "write tt-run what-if -- python train.py",
        )
    if not any("{" in word for word in words):
        refuse_lost_script(lost_script(parse(["--emulate", "--", *words]), site), True)


def _check_loss(text: str) -> None:
    from tt_run.degraded import LossError, read_losses

    try:
        read_losses(text)
    except LossError as error:
        raise _usage(f"--degrade {text}: {error}", "write --degrade D0-D1") from None


def _check_change(text: str) -> None:
    """Raises UsageError for what changes no number of any hardware, before a candidate has run."""
    from tt_run.hardware.data_files import HardwareError
    from tt_run.hardware.files import load, shipped
    from tt_run.hardware.numbers import ARCHITECTURES, read_change
    from tt_run.inputs.findings import nearest

    try:
        changes = [read_change(one) for one in alternatives(text)]
        files = [load(shipped(architecture)) for architecture in ARCHITECTURES]
        keys = {key for file in files for numbers in (file.common, *file.systems.values()) for key in numbers}
        for change in changes:
            if change.key not in keys and not (
                change.factor and any(key.startswith(change.key) for key in keys)
            ):
                meant = nearest(change.key, sorted(keys))
                help = (
                    f"write --set {text.replace(change.key, meant)}"
                    if meant
                    else "write --set dram.sharded=200"
                )
                raise _usage(f"--set {text}: no hardware has a number {change.key}", help)
    except HardwareError as error:
        raise _usage(
            f"--set {text}: {error}", "write --set dram.sharded=200 or --set 'fabric.channels*=2'"
        ) from None


def _check_system(name: str, names: Sequence[str]) -> None:
    """Raises UsageError for a system that no candidate could run on, before the others have run; `names` are all that were given."""
    from pathlib import Path

    from mgd import systems

    if name.endswith((".textproto", ".yaml")):
        if not Path(name).expanduser().is_file():
            raise _usage(f"--systems: there is no file {name}", "mgd systems lists those that need none")
        return
    try:
        systems.find(name)
    except systems.UnknownSystem as error:
        several = [word for word in re.split(r"[;:+|/\s]+", name) if word]  # as if another sign parted them
        known = len(several) > 1 and {system.name for system in systems.systems()}.issuperset(several)
        instead = ",".join(several) if known else error.nearest[0] if error.nearest else ""
        meant = [instead if each == name else each for each in names]
        help = f"write --systems {','.join(meant)}; " if instead else ""
        raise _usage(f"--systems: no system is called '{name}'", f"{help}mgd systems lists all") from None


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _varied(text: str) -> tuple[str, list[str]]:
    name, _, values = text.partition("=")
    if not name.isidentifier() or not _listed(values):
        raise _usage(
            f"--vary {text}: not a name with its values",
            "write --vary mesh=1x8,2x4 and {mesh} in the program's words",
        )
    return name, _listed(values)


def _try(candidate: Candidate, number: int, count: int, given: WhatIf) -> CandidateOutcome:
    """Run one candidate to its end and read what it predicted."""
    import json
    import subprocess
    import tempfile
    from pathlib import Path

    print(f"tt-run what-if: {number} of {count}: {candidate.label}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="tt-run-what-if-") as folder:
        target, memory = Path(folder) / "prediction.json", Path(folder) / "memory.json"
        line = [
            f"--timeout={given.timeout:g}",
            f"--log-dir={folder}/logs",
            *candidate.words(str(target), str(memory), not given.values),
        ]
        ran = subprocess.run(
            [sys.executable, "-c", _START, *line],
            capture_output=True,
            text=True,
            check=False,
            errors="replace",
        )
        if ran.returncode == 0 and not (target.exists() and memory.exists()):
            return CandidateOutcome(
                candidate.label, failure="the program ended well, and opened no mesh of ttnn or ttml"
            )
        if ran.returncode != 0:
            reason = _reason(ran.stderr, ran.returncode)
            reads = not given.values and _READS_VALUES in ran.stderr
            hint = "; it reads values, and shapes alone have none: --values" if reads else ""
            return CandidateOutcome(candidate.label, failure=reason + hint)
        predicted, held = (
            json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
            for path in (target, memory)
        )
        return outcome(candidate.label, predicted, held)


def _reason(said: str, code: int) -> str:
    """The line of a run's messages that says what went wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for line, after in pairwise(lines):
        if line.endswith("info:"):
            return after.partition("] ")[2] or after
    for mark in (r"error\[", r"at fault", r"\w(Error|Exception|Interrupt)(: |$)"):
        told = [line for line in lines if re.search(mark, line)]
        if told and told[0].startswith("error["):
            return told[0] + _help_behind(told[0], lines)
        if told:
            return _with_place(told[0], lines)
    of_ranks = [line for line in lines if re.match(r"\[\d+\] .", line)]
    return f"{of_ranks[-1]} (exit code {code})" if of_ranks else f"exit code {code}"


def _help_behind(told: str, lines: Sequence[str]) -> str:
    """What the help of a finding says to type, to stand behind its first line."""
    behind = lines[lines.index(told) + 1 :]
    help = next((line for line in behind if line.startswith(("help: ", "error["))), "")
    return f"; {help.partition('   more: ')[0]}" if help.startswith("help: ") else ""


def _with_place(told: str, lines: Sequence[str]) -> str:
    """A line of a rank, with the place that the verdict names where it says none itself."""
    place = next((line.rpartition("/")[2] for line in lines if re.match(r"at \S+:\d+$", line)), "")
    return f"{told.removesuffix(':')} at {place.removeprefix('at ')}" if place and ":" in place else told


def _draw(rows: Sequence[dict[str, Any]], file: str, words: Sequence[str]) -> None:
    from pathlib import Path

    from tt_run.cli.comparison.plot import svg

    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg(rows, " ".join(words)), encoding="utf-8")
    print(f"tt-run what-if: --plot: {path}", file=sys.stderr)


def _show(rows: Sequence[dict[str, Any]], form: str, settings: Sequence[str]) -> None:
    if form == "json":
        import json

        print(json.dumps(list(rows), indent=1))
    elif form == "csv":
        import csv

        cells = flat(rows)
        writer = csv.DictWriter(sys.stdout, list(cells[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
    else:
        print(table(rows, columns()))
        if settings:
            print(f"  with {', '.join(settings)}")
