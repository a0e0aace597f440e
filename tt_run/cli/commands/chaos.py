"""`tt-run chaos`: one program under random faults, again and again, and whether each verdict named the rank that was hit."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mgd.diagnostics import Diagnostic
from tt_run.cli.commands.chaos_trials import (
    Ended,
    Runs,
    Trial,
    ended_by_signals,
    patience_for,
    random_fault,
)
from tt_run.cli.print_findings import print_findings
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import parse, read
from tt_run.contract import Exit
from tt_run.errors import UsageError
from tt_run.faults import ACTIONS, WITHOUT_CALLS
from tt_run.inputs.findings import counted
from tt_run.supervise.signals import EXIT_OF_SIGNAL

FAULTS = ("kill", "term", "exit", "raise")
OTHERS = tuple(action for action in ACTIONS if action not in (*FAULTS, "degrade"))
"""Also to be had; a run with stop, hang or drop takes as long as the guard waits."""


class Chaos(Arguments):
    """Run a program many times, each with one random fault, and count what became of it.

    A first run without a fault shows how many calls the ranks make; without --emulate, where nobody counts them, faults come at random
    times of it. Options of tt-run stand before the program; a fault of the list is seen again with tt-run --inject FAULT. {folder} among the
    words is an empty folder of each run, for checkpoints:
      tt-run chaos --runs 100 --seed 1 -- --emulate --system t3000 --split 1x2 python prog.py
      tt-run chaos --runs 20 --same-end -- --emulate --system n300 --split 1x2 --max-restarts 3 python train.py {folder}
    """

    __slots__ = ()
    anywhere = False
    usage = "tt-run chaos [OPTIONS] -- TT-RUN-OPTIONS PROGRAM [ARGS...]"
    runs: int = option("Chaos", "--runs", "N", "So many runs with a fault [20].", kind="number", default=20)
    seed: int = option("Chaos", "--seed", "N", "Another seed, other faults [1].", kind="number", default=1)
    faults: str = option(
        "Chaos",
        "--faults",
        "A,B,…",
        f"Which ones [{','.join(FAULTS)}]; also {', '.join(OTHERS)}.",
        default=",".join(FAULTS),
    )
    same_end: bool = option(
        "Chaos",
        "--same-end",
        "",
        "What survives must end with the line that the first run ends with.",
    )
    timeout: float = option(
        "Chaos", "--timeout", "SECONDS", "End a run after this long [300].", kind="seconds", default=300.0
    )
    format: str = option(
        "Look", "--format", "FORM", "table [default] or json.", kind=("table", "json"), default="table"
    )
    help: bool = option("Look", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints what became of each run; 0 when every fault that happened was survived or named, and no run failed without its fault. Raises
    UsageError."""
    if "--" not in words and "--emulate" in words:
        raise _usage(
            "options of tt-run stand behind --", "write tt-run chaos --runs 20 -- --emulate … python x.py"
        )
    given = read(words, Chaos)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Chaos))
        return Exit.OK
    if not given.rest:
        raise _usage("there is no program", "write tt-run chaos -- --emulate … python x.py")
    from tt_run.cli.reading.slips import late_options_of
    from tt_run.inputs.site import Site

    words = tuple(given.rest[given.rest[0] == "tt-run" :])
    runs = Runs(words, given.timeout)
    kinds = _kinds(given.faults, runs.emulates)
    program = parse(words).program
    print_findings(late_options_of("tt-run chaos", given.options(), program, Site.current()))
    trials: list[Trial] = []
    try:
        with ended_by_signals():
            code = _try_all(given, runs, kinds, trials)
    except Ended as ended:
        _show(trials, given.format)
        print(f"tt-run chaos: ended by {ended} after {len(trials)} of {given.runs} runs", file=sys.stderr)
        return EXIT_OF_SIGNAL[ended.number]
    if code is None:
        _show(trials, given.format)
        code = Exit.OK if all(_is_well(t, given.same_end) for t in trials) else Exit.FAILED
    return code


def _try_all(given: Chaos, runs: Runs, kinds: Sequence[str], trials: list[Trial]) -> int | None:
    """Makes every run, and notes what became of it at once; the exit code where there was none to make. Raises UsageError, Ended."""
    found = runs.undisturbed()
    if isinstance(found, tuple):
        code, said = found
        if said:
            raise _usage(f"the program fails without a fault: {said}", "run it with tt-run first")
        return code  # tt-run has said why it was not launched
    if given.same_end and found.ends is None:
        raise _usage("--same-end: the program prints nothing", "print what must be the same as the last line")
    patience = patience_for(found.seconds, given.timeout)
    for number in range(given.runs):
        fault, rank = random_fault(f"{given.seed}/{number}", kinds, found, runs.emulates)
        print(f"tt-run chaos: {number + 1} of {given.runs}: --inject {fault}", file=sys.stderr)
        trials.append(runs.trial(fault, rank, patience, found.ends))
    return None


def _kinds(text: str, emulated: bool) -> list[str]:
    """The faults that may be drawn. Raises UsageError."""
    kinds = [word.strip() for word in text.split(",") if word.strip()]
    known = (*FAULTS, *OTHERS)
    unknown = [kind for kind in kinds if kind not in known]
    if unknown or not kinds:
        from tt_run.inputs.findings import nearest

        meant = nearest(unknown[0], known) if unknown else None
        wrong = f"--faults {text}: {f'there is no fault {unknown[0]} here' if unknown else 'names no fault'}"
        near = (
            f"write --faults {','.join(meant if kind == unknown[0] else kind for kind in kinds)}; "
            if meant
            else ""
        )
        raise _usage(wrong, f"{near}there are {', '.join(known)}")
    by_calls = [kind for kind in kinds if kind not in WITHOUT_CALLS]
    if by_calls and not emulated:
        raise _usage(
            f"only emulated ranks have {', '.join(by_calls)}",
            f"write --emulate behind --, or choose from {', '.join(WITHOUT_CALLS)}",
        )
    return kinds


def _usage(wrong: str, help: str) -> UsageError:
    return UsageError(Diagnostic("TTR021", f"tt-run chaos: {wrong}", help=help))


def _is_well(trial: Trial, must_end_alike: bool = False) -> bool:
    return trial.well and not (must_end_alike and trial.same_end is False)


def _outcome(trial: Trial) -> str:
    ends = ", with another last line" if trial.same_end is False else ""
    if not trial.happened:
        failed = "" if trial.survived else f": exit {trial.exit_code}, {trial.sentence}"
        return f"did not come to it{failed}{ends}"
    again = f" at start {trial.starts}" if trial.starts > 1 else ""
    return (
        f"survived{again}{ends}" if trial.survived else f"exit {trial.exit_code}, names rank {trial.culprit}"
    )


def _show(trials: Sequence[Trial], form: str) -> None:
    happened = [t for t in trials if t.happened]
    hit = [t for t in happened if not t.survived]
    if form == "json":
        import json

        rows = [
            {"fault": t.fault, "rank": t.rank, "exit_code": t.exit_code, "happened": t.happened, "culprit": t.culprit,
             "survived": t.survived, "named": t.named, "starts": t.starts, "same_end": t.same_end, "seconds": round(t.seconds, 3)}
            for t in trials
        ]  # fmt: skip
        print(json.dumps(rows, indent=1))
        return
    wide = max((len(t.fault) for t in trials), default=5)
    for t in trials:
        print(f"{' ' if t.well else '!'} {t.fault:{wide}}  {_outcome(t)}  {t.seconds:.2f} s")
    times = sorted(t.seconds for t in hit)
    middle = f", verdict after {times[len(times) // 2]:.2f} s (median)" if times else ""
    alike = [t.same_end for t in happened if t.survived and t.same_end is not None]
    ends = f" ({sum(alike)} with the same last line)" if alike else ""
    print(
        f"{counted(len(trials), 'run')}, {counted(len(happened), 'fault')}, {len(happened) - len(hit)} survived{ends}, "
        f"{sum(t.named for t in hit)} of {len(hit)} named correctly{middle}"
    )
