"""The command line: options end at the first word that is not one."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import parse, read, words_without
from tt_run.errors import UsageError


def refusal(line: str) -> tuple[str, str, str]:
    with pytest.raises(UsageError) as caught:
        parse(shlex.split(line))
    [diagnostic] = caught.value.diagnostics
    return diagnostic.code, diagnostic.message, diagnostic.help


@pytest.mark.parametrize(
    "program",
    [
        "python -m pytest -svv --dry-run",
        "prog --help",
        "prog --hosts a,b -M x",
        "prog -- --version",
        "./app --rank-binding other.yaml",
        "prog -v",
        "- --dry-run",
    ],
)
def test_the_program_keeps_every_word(program: str) -> None:
    values = parse(["--rank-binding", "f", *shlex.split(program)])
    assert values.program == tuple(shlex.split(program))
    assert not values.dry_run and not values.help and not values.verbose


@given(st.lists(st.text(min_size=1), min_size=1).filter(lambda words: not words[0].startswith("-")))
def test_no_word_of_a_program_is_an_option(words: list[str]) -> None:
    assert parse(["-v", *words]).program == tuple(words)
    assert parse(["-v", "--", *words]).program == tuple(words)


def test_two_dashes_end_the_options() -> None:
    assert parse(["-v", "--", "--strange-program", "x"]).program == ("--strange-program", "x")


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--rank-binding", "f"], "rank_binding", "f"),
        (["--rank-binding=f=g"], "rank_binding", "f=g"),
        (["-m", "f"], "mesh_graph_descriptor", "f"),
        (["-mf"], "mesh_graph_descriptor", "f"),
        (["-vv"], "verbose", True),
        (["-vm", "f"], "mesh_graph_descriptor", "f"),
        (["-vMf"], "mesh_graph_descriptor_mapping", "f"),
        (["-M", "f"], "mesh_graph_descriptor_mapping", "f"),
        (["--mpi-args", "--rankfile x"], "mpi_args", "--rankfile x"),
        (["--mpi-args", ""], "mpi_args", ""),
        (["--tracy", ""], "tracy", ""),
        (["--tracy", "-v"], "tracy", "-v"),
        (["--warm=--record"], "warm", "--record"),
        (["--log-dir", "--strange"], "log_dir", "--strange"),
        (["--timeout", "1.5"], "timeout", 1.5),
        (["--max-restarts", "3"], "max_restarts", 3),
        (["--print-env", "0"], "print_env", 0),
        (["--format", "json"], "format", "json"),
        (["--check=off"], "check", "off"),
        (["--dry-run"], "dry_run", True),
        (["--hosts", "a", "--hosts", "b"], "hosts", "b"),
    ],
)
def test_values(words: list[str], key: str, value: Any) -> None:
    assert getattr(parse([*words, "prog"]), key) == value


def test_what_is_not_given_has_its_default() -> None:
    values = parse(["prog"])
    assert values.check == "error" and values.hang_timeout == "auto" and values.tracy is None
    assert values == parse(["--", "prog"]) and not values.given


def test_what_is_read_cannot_be_changed() -> None:
    values = parse(["prog"])
    for name in ("timeout", "rest", "anything"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(values, name, 1)


@pytest.mark.parametrize(
    ("line", "nearest"),
    [
        ("--rank-bindng f prog", "--rank-binding"),
        ("--dryrun prog", "--dry-run"),
        ("--host a prog", "--hosts"),
        ("--verbos prog", "--verbose"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest(line: str, nearest: str) -> None:
    code, message, help = refusal(line)
    assert code == "TTR020"
    assert line.split()[0] in message
    assert nearest in help


def test_an_unknown_option_like_no_other_tells_where_options_of_the_program_go() -> None:
    assert "options of the program go after it" in refusal("--zzz prog")[2]


@pytest.mark.parametrize(
    "line",
    [
        "--rank-binding",
        "--warm --record rec prog",
        "--record --memory=m.json prog",
        "-m --dry-run prog",
        "--system -- prog",
        "--timeout soon prog",
        "--timeout 0 prog",
        "--timeout inf prog",
        "--timeout nan prog",
        "--max-restarts -1 prog",
        "--max-restarts 1.5 prog",
        "--meshes 0 prog",
        "--meshes 10000000000 prog",
        "--check maybe prog",
        "--format xml prog",
        "--dry-run=yes prog",
    ],
)
def test_a_wrong_value_is_refused_with_something_to_type(line: str) -> None:
    code, message, help = refusal(line)
    assert code == "TTR021"
    assert line.split()[0].partition("=")[0] in message
    assert help.startswith("write -")


@pytest.mark.parametrize(
    ("text", "seconds"), [("5m", 300), ("2 h", 7200), ("30sec", 30), ("x", 60), ("", 60)]
)
def test_a_time_with_a_unit_is_told_in_seconds(text: str, seconds: int) -> None:
    with pytest.raises(UsageError) as caught:
        parse(["--timeout", text, "prog"])
    assert caught.value.diagnostics[0].help == f"write --timeout {seconds}"


def test_an_option_in_the_place_of_a_value_is_said() -> None:
    code, message, help = refusal("--warm --record rec prog")
    assert (code, message) == ("TTR021", "--warm needs a value, and --record is an option")
    assert help == "write --warm numpy; --warm=--record if that is the value"


class Sample(Arguments):
    """Every kind of option that a launch may declare."""

    shapes: str | None = option("A", "--shapes-only", "[=strict]", "x.", ("on", "strict"), bare="on")
    predict: str | None = option("A", "--predict", "[=FILE]", "x.", "file", bare="", variable="TT_P")
    inject: tuple[str, ...] = option("A", "--inject", "SPEC", "x.", repeated=True, variable="TT_I")
    deep: bool = option("A", "--deep", "", "x.", variable="TT_D")


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        ([], "shapes", None),
        (["--shapes-only", "prog"], "shapes", "on"),
        (["--shapes-only=strict"], "shapes", "strict"),
        (["--predict"], "predict", ""),
        (["--predict=f"], "predict", "f"),
        ([], "inject", ()),
        (["--inject", "a", "--inject=b"], "inject", ("a", "b")),
        (["one", "--deep", "two"], "deep", True),
    ],
)
def test_kinds_of_options(words: list[str], key: str, value: Any) -> None:
    assert getattr(read(words, Sample), key) == value


def test_words_between_the_options_of_a_subcommand() -> None:
    assert read(["one", "--deep", "two", "--", "--three"], Sample).rest == ("one", "two", "--three")
    with pytest.raises(UsageError, match="not one of on, strict"):
        read(["--shapes-only=lax"], Sample)


def test_words_of_mpirun_are_foreign_to_a_launch_alone() -> None:
    with pytest.raises(UsageError) as caught:
        read(["--hostfile", "h"], Sample)
    help = "it has --shapes-only, --predict, --inject, --deep: tt-run --help lists those there are"
    assert caught.value.diagnostics[0].help == help
    with pytest.raises(UsageError) as caught:
        parse(["--hostfile", "h", "prog"])
    assert caught.value.diagnostics[0].help not in ("tt-run --help lists those there are", "")


def test_going_on_after_a_failure_is_led_to_its_option() -> None:
    with pytest.raises(UsageError) as caught:
        parse(["--resume", "prog"])
    assert "--max-restarts 3" in str(caught.value.diagnostics[0].help)


@pytest.mark.parametrize("seconds", ["0.01", "1", "1.0", "90"])
def test_any_time_above_zero_is_one(seconds: str) -> None:
    assert parse(["--timeout", seconds, "prog"]).timeout == float(seconds)


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("--emit slurm -m f --hosts a prog --emit x", "-m f prog --emit x"),
        ("--emit=slurm -vmf -- prog", "-v -mf -- prog"),
    ],
)
def test_a_line_without_some_options(words: str, kept: str) -> None:
    assert words_without(shlex.split(words), "emit", "hosts") == tuple(shlex.split(kept))


REFERENCE = [
    "--rank-binding",
    "--rank-bindings-mapping",
    "-m",
    "--mesh-graph-descriptor",
    "-M",
    "--mesh-graph-descriptor-mapping",
    "--hosts",
    "--dry-run",
    "-v",
    "--verbose",
    "--mpi-args",
    "--debug-gdbserver",
    "--mock-cluster-rank-binding",
    "--factory-system-descriptor",
    "--skip-executable-check",
    "--skip-mgd-check",
    "--bare",
    "--tcp-interface",
    "--rankfile-syntax",
    "--force-rediscovery",
    "--tracy",
    "--help",
]


def test_every_option_of_the_reference_is_there() -> None:
    assert set(REFERENCE) <= {name for option in CommandLine.options() for name in option.names}
