"""The findings that only the command and the run can have; those of the plan are in `tt_run.plan.rules`."""

from __future__ import annotations

import difflib

from mgd.diagnostics import Diagnostic
from tt_run.contract import GUARD_FINDINGS
from tt_run.errors import UsageError
from tt_run.plan.rules import RULES as PLAN_RULES
from tt_run.plan.rules import explain as explain_plan_rule
from tt_run.plan.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        "TTR020",
        "unknown option",
        "A word with a dash before the program is an option of tt-run, and it has none of that name. Taken as part of the program, it "
        "would change what runs without a word.",
        "Check the spelling; options of the program go after the program word.",
        "tt-run --rank-bindng ranks.yaml ./app",
    ),
    Rule(
        "TTR021",
        "option used wrongly",
        "The option lacks its value, or the value is not one that it takes.",
        "tt-run --help lists the options and their values.",
        "tt-run --timeout soon ./app",
    ),
    Rule(
        "TTR022",
        "emulation option without --emulate",
        "Only the emulated runtime checks collectives, counts bytes and writes a timeline.",
        "Add --emulate.",
        "tt-run --rank-binding ranks.yaml --ledger bytes.json ./app",
    ),
    Rule(
        "TTR023",
        "job that the scheduler cannot take",
        "An MPIJob gives every worker the same number of ranks and its own name; a Slurm job brings its own hosts.",
        "Name hosts with --hosts a:2,b:2, as many ranks on each; leave --no-scheduler out.",
        "tt-run --emit mpijob --hosts a:2,b:1 --rank-binding ranks.yaml ./app",
    ),
    Rule(
        "TTR034",
        "hang timeout that is not a time",
        "--hang-timeout takes seconds, auto or off.",
        "Write --hang-timeout 60.",
        "tt-run --hang-timeout never ./app",
    ),
    Rule(
        "TTR035",
        "rank that the plan does not have",
        "Ranks are numbered from 0.",
        "Ask for a rank below the number of ranks.",
        "tt-run --print-env 2 --rank-binding two-ranks.yaml ./app",
    ),
    Rule(
        "TTR036",
        "report that cannot be written",
        "The run has ended as its exit code says, but its report could not be written.",
        "Name a file in a folder that exists.",
        "tt-run --report /no/such/folder/report.json ./app",
    ),
    Rule(
        "TTR037",
        "unknown code",
        "Only codes that tt-run prints have an explanation.",
        "Copy the code from the message, e.g. TTR204.",
        "tt-run --explain TTR2040",
    ),
    Rule(
        "TTR038",
        "output that cannot be written",
        "The disk behind standard output is full, so what was asked for is incomplete.",
        "Make room, or send the output elsewhere.",
        "tt-run --rank-binding f.yaml --dry-run ./app > /full/disk/line.sh",
    ),
    Rule(
        "TTR504",
        "launcher that cannot be executed",
        "The file exists, but the system refuses to start it.",
        "tt-run --doctor shows what there is.",
    ),
    Rule(
        "TTR900",
        "bug in tt-run",
        "Something happened that its authors did not foresee.",
        "Report it with the file that the message names.",
    ),
    # What ranks of an emulated run report about each other.
    *(
        Rule(code, title, why, f"{hint[0].upper()}{hint[1:]}.")
        for code, (title, why, hint) in GUARD_FINDINGS.items()
    ),
)
_BY_CODE = {rule.code: rule for rule in (*PLAN_RULES, *RULES)}


def page(code: str) -> str:
    """The help page of a code. Raises UsageError for an unknown one, with the nearest."""
    wanted = code.strip().upper()
    if wanted.startswith("MGD"):
        from mgd.rules import find_rule
        from mgd.rules.pages import page as descriptor_page

        found = find_rule(wanted)
        if found is not None:
            return descriptor_page(found).rstrip()
    if wanted not in _BY_CODE:
        close = difflib.get_close_matches(wanted, _BY_CODE, n=1)
        hint = f"tt-run --explain {close[0]}?" if close else "codes look like TTR204"
        raise UsageError(Diagnostic("TTR037", f"there is no code {code}", help=hint))
    own = next((rule for rule in RULES if rule.code == wanted), None)
    if own is None:
        return explain_plan_rule(wanted)
    lines = [f"{own.code}: {own.title}", "", own.why]
    if own.example:
        lines += ["", "Example:", f"    {own.example}"]
    return "\n".join([*lines, "", f"What to do: {own.hint}"])
