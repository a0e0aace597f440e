"""`tt-run validate-model`: hands its options to the model of time, which belongs to the runtime.

Launcher and runtime never import each other, so the model runs as a process of its own: what it loads costs no launch anything.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic, Label, Position
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import InputError, UsageError
from tt_run.inputs.site import is_dir, is_file

# The working directory must not decide which modules are found: `python -m` would put it first.
_START = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from tt_run.runtime.model.validation.validate import main; sys.exit(main(sys.argv[1]))"
)


class ValidateModel(Arguments):
    """Compare predicted times with measured ones, or fit the model to measurements of your own.

    A FILE of points has the columns kind, op, shape, dtype, arch, devices, topology, value, unit, nature, source, note, separated by
    tabs or commas (docs/time-model.md).
    """

    __slots__ = ()
    usage = "tt-run validate-model --points FILE | --calibrate FILE --output FILE"
    points: str | None = option("Compare", "--points", "FILE", "Measured points to predict.", "file")
    format: str = option(
        "Compare",
        "--format",
        "FORMAT",
        "table (default) or json, one object per point.",
        kind=("table", "json"),
        default="table",
    )
    cross_validate: int = option(
        "Compare",
        "--cross-validate",
        "N",
        "Fit N times from nothing without a part of the rows; report those [5].",
        kind="number",
        default=0,
    )
    leave_out: str = option(
        "Compare",
        "--leave-out",
        "WHAT",
        "Which: whole shapes [default], sizes, ops, systems, architectures, or rows (30 % at random).",
        kind=("shapes", "sizes", "ops", "systems", "architectures", "rows"),
        default="",
    )
    seed: int = option("Compare", "--seed", "N", "Other parts, other rows [0].", kind="count", default=0)
    hardware: tuple[str, ...] = option(
        "Numbers", "--hardware", "FILE", "Use this hardware file for its architecture.", "file", repeated=True
    )
    calibrate: str | None = option(
        "Numbers", "--calibrate", "FILE", "Fit the numbers to these points.", "file"
    )
    output: str | None = option(
        "Numbers",
        "--output",
        "FILE",
        "Where --calibrate writes; without it, standard output.",
        "output",
        endings=".yaml .yml",
    )
    architecture: str = option(
        "Numbers",
        "--architecture",
        "NAME",
        "Of the file that --calibrate writes: wormhole (default) or blackhole.",
        kind=("wormhole", "blackhole"),
        default="wormhole",
    )
    all_rows: bool = option(
        "Numbers", "--all-rows", "", "Calibrate on every row; otherwise one in five is held out."
    )
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Runs the model with these options; its exit code. Raises UsageError when there is nothing to do, or two things."""
    given = read(words, ValidateModel)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(ValidateModel))
        return Exit.OK
    if given.rest or bool(given.points) == bool(given.calibrate):
        wrong = f"unexpected {given.rest[0]}" if given.rest else "give --points FILE or --calibrate FILE"
        raise UsageError(
            Diagnostic(
                "TTR021",
                f"tt-run validate-model: {wrong}",
                help="write tt-run validate-model --points points.tsv",
            )
        )
    import json
    import subprocess

    from tt_run.cli.outputs import refuse_lost_outputs
    from tt_run.cli.reading.idle import tell_idle

    refuse_lost_outputs(given)
    if not given.calibrate:
        idle = ("output", "architecture", "all_rows")
        tell_idle(given, idle, "only --calibrate looks at it", "write --calibrate FILE, or leave it out")
    text = given.points or given.calibrate or ""
    if not is_file(Path(text)):
        raise InputError(
            Diagnostic(
                "TTR101",
                f"table of measured times not found: {text}",
                (Label(Position(text), "is a directory" if is_dir(Path(text)) else "no such file"),),
                "its columns: kind op shape dtype arch devices topology value unit nature source note",
            )
        )
    names = (
        "points",
        "calibrate",
        "format",
        "hardware",
        "output",
        "architecture",
        "all_rows",
        "cross_validate",
        "leave_out",
        "seed",
    )
    request = json.dumps({name: getattr(given, name) for name in names})
    try:
        return subprocess.run([sys.executable, "-c", _START, request], check=False).returncode
    except KeyboardInterrupt:  # the child got the signal as well and has ended
        return Exit.INTERRUPTED
