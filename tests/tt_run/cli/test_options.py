"""Every option is declared once, documented, owned by some part of the launch, and covered by a test."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from tt_run.cli.outputs import asked_outputs
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.idle import CONDITIONS, idle_options
from tt_run.cli.reading.options import Option
from tt_run.cli.reading.owners import launch_request
from tt_run.cli.reading.parse import parse
from tt_run.launch.options import LaunchOptions
from tt_run.plan.request import CheckLevel, LaunchRequest
from tt_run.runtime.record.play import LEFT_OUT

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = CommandLine.options()
KINDS = {"flag": "bool", "seconds": "float", "number": "int", "count": "int"}
by_key = pytest.mark.parametrize("option", OPTIONS, ids=[option.key for option in OPTIONS])


def owned_fields() -> dict[str, str]:
    """The fields of the values that a launch is made from, with their types as written."""
    return {**LaunchRequest.__annotations__, **LaunchOptions.__annotations__}


@functools.cache  # not when this is imported, which each process of a test run does
def attributes_read() -> set[str]:
    """The attributes that the modules of the command read from a value called `given`."""
    return {
        node.attr
        for path in (ROOT / "tt_run/cli").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "given"
    }


@functools.cache
def attributes_used() -> set[str]:
    """The attributes that the modules read which plan, start and watch a launch, whatever the value is called there."""
    return {
        node.attr
        for part in ("cli", "inputs", "plan", "launch", "supervise")
        for path in (ROOT / "tt_run" / part).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }


@functools.cache
def text_of_tests() -> str:
    """The text of every test."""
    return "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))


FIELDS = owned_fields()


def test_names_are_told_apart() -> None:
    names = [name for option in OPTIONS for name in option.names]
    assert len(names) == len(set(names))


@by_key
def test_it_is_documented(option: Option) -> None:
    assert option.help.endswith((".", "…", "]")) and option.group
    assert option.needs in ("", *CONDITIONS), (
        f"name a condition of tt_run/cli/reading/idle.py, not {option.needs}"
    )


@by_key
def test_its_type_is_that_of_its_values(option: Option) -> None:
    kind = KINDS.get(str(option.kind), "str")
    wanted = (
        f"tuple[{kind}, ...]" if option.repeated else f"{kind} | None" if option.default is None else kind
    )
    assert CommandLine.__annotations__[option.key] == wanted


@by_key
def test_what_looks_like_a_path_is_declared_as_one(option: Option) -> None:
    what = option.metavar.strip("[=]")
    assert option.is_path == (what in ("FILE", "DIR")) and option.is_folder == (what == "DIR")


def test_what_was_asked_to_be_written() -> None:
    words = "--report r.json --predict --memory=m.json --record r --ledger l.json --hardware galaxy_4u prog"
    asked = [(option.name, text) for option, text in asked_outputs(parse(words.split()))]
    assert sorted(asked) == [
        ("--ledger", "l.json"),
        ("--memory", "m.json"),
        ("--record", "r"),
        ("--report", "r.json"),
    ]


@by_key
def test_it_has_an_owner(option: Option) -> None:
    """A field of its name where a launch is planned or started, a part of the command that reads it, or the emulated ranks."""
    assert option.variable or option.key in FIELDS or option.key in attributes_read(), (
        f"nothing looks at {option.name}: give LaunchRequest or LaunchOptions a field {option.key}, read given.{option.key}, "
        "or name the variable in which emulated ranks find it"
    )
    assert option.variable or option.key in attributes_used(), (
        f"{option.name} has the field {option.key}, which nothing reads: let the plan, the launch or the watching follow it"
    )
    if option.key in FIELDS and FIELDS[option.key] != "CheckLevel":
        assert FIELDS[option.key] == CommandLine.__annotations__[option.key]


@by_key
def test_it_is_covered(option: Option) -> None:
    text = text_of_tests()
    assert any(f'"{name}"' in text or f"{name} " in text or f"{name}=" in text for name in option.names), (
        f"no test writes {option.name}: add one that runs tt-run with it, beside tests/tt_run/cli/test_command.py"
    )


@by_key
def test_a_replay_writes_no_file_of_the_run(option: Option) -> None:
    if option.is_output and option.variable:
        assert option.variable in LEFT_OUT, (
            f"a replay would write the file of {option.name} again: add its variable to LEFT_OUT of tt_run/runtime/record/play.py"
        )


def test_options_of_ranks_are_part_of_the_request() -> None:
    request = launch_request(parse(["--emulate", "--guard", "off", "--ledger", "x.json", "prog"]))
    assert [(each.option, each.variable, each.value, each.is_file) for each in request.of_ranks] == [
        ("--guard", "TT_RUN_GUARD", "off", False),
        ("--ledger", "TT_RUN_LEDGER", "x.json", True),
    ]
    assert request.program == ("prog",) and request.check is CheckLevel.ERROR


@pytest.mark.parametrize(
    ("words", "code", "option"),
    [
        (["--emulate", "--system", "n300", "--set", "dram.size=3", "prog"], "TTR024", "--set"),
        (["--emulate", "--system", "n300", "--hardware", "galaxy_4u", "prog"], "TTR024", "--hardware"),
        (["--rank-binding", "f", "--ledger", "x", "prog"], "TTR022", "--ledger"),
        (["--rank-binding", "f", "--format", "json", "prog"], "TTR024", "--format"),
        (["--rank-binding", "f", "--force-rediscovery", "prog"], "TTR024", "--force-rediscovery"),
        (["--emulate", "-m", "f", "--force-rediscovery", "prog"], "TTR024", "--force-rediscovery"),
        (["-m", "f", "--skip-mgd-check", "prog"], "TTR024", "--skip-mgd-check"),
        (["-m", "f", "--placement-timeout", "3", "prog"], "TTR024", "--placement-timeout"),
        (["-m", "f", "--no-discover", "--force-rediscovery", "prog"], "TTR024", "--force-rediscovery"),
        (["--rank-binding", "f", "--hardware", "galaxy_4u", "prog"], "TTR022", "--hardware"),
        (["--rank-binding", "f", "--set", "dram.size=3", "prog"], "TTR022", "--set"),
        (["--rank-binding", "f", "--warm", "torch", "--no-warm", "prog"], "TTR024", "--warm"),
        (["--rank-binding", "f", "--no-prefix", "--tee", "none", "prog"], "TTR024", "--no-prefix"),
        (["--rank-binding", "f", "--emit", "slurm", "--format", "json", "prog"], "TTR024", "--format"),
        (["--rank-binding", "f", "--dry-run", "--check-only", "prog"], "TTR024", "--dry-run"),
        (["--rank-binding", "f", "--print-env", "0", "--emit", "slurm", "prog"], "TTR024", "--print-env"),
        (["--emulate", "--print-env", "0", "--shell-env"], "TTR024", "--print-env"),
        (["--doctor", "--dry-run"], "TTR024", "--dry-run"),
    ],
)
def test_an_option_that_does_nothing_is_told(words: list[str], code: str, option: str) -> None:
    [finding] = idle_options(parse(words))
    assert (finding.code, finding.message.split(":")[0]) == (code, option)
    assert finding.help


@pytest.mark.parametrize(
    "words",
    [
        ["--rank-binding", "f", "--skip-mgd-check", "--dry-run", "--format", "json", "prog"],
        ["--doctor", "--format", "json"],
        ["--emulate", "--guard", "on", "--timeline", "t", "prog"],
        ["-m", "f", "--hosts", "a", "--force-rediscovery", "prog"],
        ["--mock-cluster-rank-binding", "f", "--placement-timeout", "3", "prog"],
    ],
)
def test_an_option_that_does_something_is_not(words: list[str]) -> None:
    assert idle_options(parse(words)) == ()
