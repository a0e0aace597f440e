"""What the verbs print to the letter: widths, colours, sums, hints; and how a command line ends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from mgd.cli import group, inputs, output, overview, reports
from mgd.cli import main as entry
from mgd.diagnostics import Diagnostic
from mgd.systems import find
from tests.mgd.cli.run import Mgd


@pytest.mark.parametrize(
    ("width", "lines"),
    [(5, ["aa bb", "cccc", "d"]), (4, ["aa", "bb", "cccc", "d"]), (10, ["aa bb cccc", "d"]), (99, ["aa bb cccc d"])],
)  # fmt: skip
def test_words_are_wrapped(width: int, lines: list[str]) -> None:
    assert overview._wrapped("aa bb cccc d", width) == [f"  {line}" for line in lines]
    assert overview._wrapped("longer", 3) == ["  longer"]


@pytest.mark.parametrize(
    ("columns", "width"),
    [("1", 1), ("72", 72), ("0", 61), ("-5", 61), ("x", 61), ("", 61), (None, 61)],
)
def test_how_wide_the_terminal_is(monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int) -> None:
    monkeypatch.setattr(overview.sys, "stdout", SimpleNamespace(fileno=lambda: 1))
    monkeypatch.setattr(overview.os, "get_terminal_size", lambda _: os.terminal_size((61, 24)))
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert overview._terminal_width() == width

    def none(_: int) -> Any:
        raise OSError

    monkeypatch.setattr(overview.os, "get_terminal_size", none)
    assert overview._terminal_width() == (width if width != 61 else 80)


@pytest.mark.parametrize(
    ("environment", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm"}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"NO_COLOR": "", "FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"CLICOLOR": "0"}, True, False),
        ({"CLICOLOR": "1"}, False, False),
        ({"CLICOLOR": "1"}, True, True),
        ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, False, False),
        ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
    ],
)
def test_when_there_is_colour(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], terminal: bool, wanted: bool
) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert output.wants_colour(SimpleNamespace(isatty=lambda: terminal)) == wanted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("terminal", "columns", "width"),
    [(False, None, 100), (False, "70", 70), (False, "20", 40), (False, "40", 40), (True, "70", 70), (True, None, 61), (True, "0", 61)],
)  # fmt: skip
def test_how_wide_a_page_is(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, columns: str | None, width: int
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)

    def size(descriptor: int) -> os.terminal_size:
        if descriptor != 7:
            raise OSError
        return os.terminal_size((61, 24))

    monkeypatch.setattr(os, "get_terminal_size", size)
    stream = SimpleNamespace(fileno=lambda: 7 if terminal else 8)
    assert output.page_width(stream, 100) == width  # type: ignore[arg-type]
    if columns is None:
        monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((0, 0)))
        assert output.page_width(stream, 100) == 100  # type: ignore[arg-type]


def test_the_sum_of_a_check(mgd: Mgd, tmp_path: Path, good: str, bad: str) -> None:
    for name, text in (("a", good), ("b", bad)):
        (tmp_path / f"{name}.textproto").write_text(text)
    a, b, c = (tmp_path / f"{name}.textproto" for name in "abc")
    for words, told in (
        ((a,), "1 file, 1 accepted, 0 rejected: 0 errors, 0 warnings"),
        ((a, b), "2 files, 1 accepted, 1 rejected: 2 errors, 0 warnings"),
        ((a, b, c), "3 files, 1 accepted, 1 rejected, 1 unreadable: 3 errors, 0 warnings"),
        (("t3000-switch",), "1 file, 1 accepted, 0 rejected: 0 errors, 0 warnings"),
    ):
        assert mgd("check", *words).out.splitlines()[-1] == told
    assert "accepted   1 mesh, 1 switch, 8 devices, 1 host\n" in mgd("check", "t3000-switch").out


def test_the_help_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "79")
    lines = overview.overview().splitlines()
    assert lines[0] == "Usage: mgd [OPTIONS] COMMAND [ARGS]..." and lines[2].startswith(
        "  Check, draw and write"
    )
    at = lines.index("Commands:")
    assert lines[at - len(overview.EXAMPLES) - 2 : at] == [
        "Examples:",
        *(f"  {each}" for each in overview.EXAMPLES),
        "",
    ]
    end = at + 1 + len(overview.VERBS)
    assert [line.split()[0] for line in lines[at + 1 : end]] == list(overview.VERBS)
    assert lines[end : end + 4] == [
        *("", "Options:"),
        "  -V, --version  Show the version and exit.",
        "  -h, --help     Show this message and exit.",
    ]
    assert max(map(len, lines)) <= 79


def test_the_help_of_the_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = overview.overview().splitlines()
    assert max(map(len, lines)) <= 60
    at = lines.index("  show           Draw meshes, hosts, ranks, wraps and links;")
    assert lines[at + 1] == "                 text, SVG, a page."


def test_the_page_of_a_system(mgd: Mgd) -> None:
    pages = {
        name: dict(line.split(None, 1) for line in mgd("systems", name).out.splitlines() if line[:1] != " ")
        for name in ("n150", "p100")
    }
    assert pages["n150"]["aliases"] == "simulator-wh" and pages["p100"]["aliases"] == "none"
    assert pages["n150"]["name"] == "n150" and pages["n150"]["meshes"] == "1x1"


@pytest.mark.parametrize(
    ("count", "taken"),
    [
        ("1", True),
        ("2147483647", True),
        ("2147483648", False),
        ("0", False),
        ("-1", False),
        ("x", False),
        ("²", False),
        ("9" * 5000, False),
    ],
)
def test_how_many_channels_may_be_asked_for(mgd: Mgd, count: str, taken: bool) -> None:
    result = mgd("new", "--shape", "1x1", "--channels", count)
    if taken:  # no device has so many ports as the largest
        assert result.code == 0 or (result.code, "error[MGD090]" in result.err) == (1, True)
    else:
        assert result.code == 2 and "is not a number from 1 to 2147483647" in result.err


def test_several_texts_that_would_change_are_counted(mgd: Mgd, tmp_path: Path, good: str) -> None:
    paths = [tmp_path / f"{name}.textproto" for name in "abc"]
    for path, text in zip(
        paths, (good, good.replace("  ", " "), good.replace("\n", "\n\n", 1) + "\n\n"), strict=True
    ):
        path.write_text(text)
    result = mgd("fmt", "--check", *paths)
    assert result.code == 1
    told = result.out + result.err
    assert "a.textproto" not in told and "b.textproto" in told and "c.textproto" in told


def test_the_table_of_systems(mgd: Mgd, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = mgd("systems").out.splitlines()
    assert lines[0].split() == ["NAME", "MESHES", "DEVICES", "HOSTS", "ARCH", "ALSO", "CALLED"]
    rows = {line.split()[0]: line for line in lines[1:] if line}
    assert rows["t3000"].split()[:5] == ["t3000", "2x4", "8", "1", "Wormhole"]
    assert rows["p150"].split()[:5] == ["p150", "1x1", "1", "1", "Blackhole"]
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = mgd("systems").out.splitlines()
    assert coloured[0] != lines[0] and lines[0] in coloured[0] and coloured[1:] == lines[1:]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--svg", "x.textproto"), "mgd show --svg x.svg x.textproto"),
        (("--html", "t3000"), "mgd show --html t3000.html t3000"),
        (("--svg",), "mgd show --svg t3000.svg t3000"),
        (("n300", "--svg", "-o", "x.svg"), "mgd show --svg n300.svg n300"),
    ],
)
def test_a_picture_without_a_file_says_what_to_write(mgd: Mgd, words: tuple[str, ...], told: str) -> None:
    result = mgd("show", *words)
    assert result.code == 2 and told in result.err.replace("\n", " ")


def test_old_descriptors_are_left_alone_and_the_others_repaired(mgd: Mgd, tmp_path: Path, good: str) -> None:
    old, new = tmp_path / "mgd.yaml", tmp_path / "z.textproto"
    old.write_text("ChipSpec: {}\nBoard: []\n")
    new.write_text(good.replace("}\n\ntop", "}\nzzz: 1\nyyy: 2\n\ntop"))
    result = mgd("fix", old, new)
    assert old.read_text() == "ChipSpec: {}\nBoard: []\n" and new.read_text() == good
    assert result.err.splitlines() == [
        f"{old}: left alone, it is MGD 1.0 YAML (mgd convert makes a textproto of it)",
        f"{new}: repaired MGD109 x2",
    ]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("t3000", True),
        ("t300", True),
        ("", False),
        ("a/b", False),
        ("a.b", False),
        ("a/b.c", False),
        ("-", True),
        ("x" * 300, False),
    ],
)
def test_what_may_be_the_name_of_a_system(word: str, name: bool) -> None:
    assert inputs._is_name(word) == name


@pytest.mark.parametrize(
    ("word", "beside", "help"),
    [
        ("zzzz", "", "`mgd systems` lists the names of systems"),
        ("zzzz", "zzzzy", "did you mean zzzzy?"),
        ("t300x", "", "did you mean the system t3000 or loudbox or p300-x2? `mgd systems` lists the names of systems"),
        ("t300x", "t300y", "did you mean the system t3000 or loudbox or p300-x2? `mgd systems` lists the names of systems"),
        ("zzzz.textproto", "", "check the path"),
        ("zzzz.textproto", "zzzy.textproto", "did you mean zzzy.textproto?"),
    ],
)  # fmt: skip
def test_what_may_have_been_meant_by_a_file_that_is_not_there(
    mgd: Mgd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, beside: str, help: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if beside:
        (tmp_path / beside).touch()
    for verb, code in (("check", 2), ("show", 2)):
        result = mgd(verb, word)
        assert result.code == code
        assert f"  help: {help}   more: mgd explain MGD101\n" in result.out + result.err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ChipSpec: {arch: x}\n", "MGD203"),
        ("ChipSpec: {arch: x}\nBoard: []\n", "MGD203"),
        ('mesh_descriptors { name: "Board" }\n', "MGD005"),
        ("Mesh: []\n", "MGD001"),
    ],
)
def test_which_format_standard_input_has(mgd: Mgd, text: str, code: str) -> None:
    result = mgd("check", "-", stdin=text)
    assert result.code == 1 and f"error[{code}]" in result.out


def test_names_of_systems_stand_for_their_files(mgd: Mgd) -> None:
    path = find("t3000-switch").path
    assert mgd("check", "t3000-switch").out.startswith(f"{path}: accepted   ")
    assert json.loads(mgd("check", "--format", "json", "t3000-switch").out)["file"] == str(path)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("zzzzzz", "there is no command 'zzzzzz'"),
        ("chekc", "there is no command 'chekc'"),
    ],
)
def test_a_verb_that_is_not_there(mgd: Mgd, word: str, said: str) -> None:
    result = mgd(word)
    assert (result.code, result.err.splitlines()[0]) == (2, f"error[MGD300]: {said}")


def test_messages_for_code_scanning_have_the_help_behind_them(mgd: Mgd, tmp_path: Path, bad: str) -> None:
    path = tmp_path / "b.textproto"
    path.write_text(bad)
    run = json.loads(mgd("check", "--format", "sarif", path).out)["runs"][0]
    facts = json.loads(mgd("check", "--format", "json", path).out)["diagnostics"]
    assert [each["message"]["text"] for each in run["results"]] == [
        f"{each['message']} ({each['help']})" for each in facts
    ]
    without = Diagnostic("MGD012", "too many", (), "")
    text = reports.as_sarif([reports.FileReport("x", "full", (without,))], "1")
    assert json.loads(text)["runs"][0]["results"][0]["message"]["text"] == "too many"


def test_a_command_line_is_the_process_own_unless_it_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mgd", "systems", "--path", "t3000"])
    for words, told in ((None, "t3k_mesh_graph_descriptor"), (["systems", "--path", "n150"], "n150")):
        with pytest.raises(SystemExit) as ended:
            entry.main(words)
        assert ended.value.code == 0 and told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (click.Abort(), 130), (click.UsageError("x"), 2), (OSError(28, "No space left"), 2), (None, 0)],
)  # fmt: skip
def test_how_a_command_ends(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException | None,
    code: int,
) -> None:
    def ends(**_: Any) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(group.cli, "main", ends)
    with pytest.raises(SystemExit) as ended:
        entry.main(["systems"])
    assert ended.value.code == code
    if isinstance(error, OSError):
        assert (
            capsys.readouterr().err
            == "error[MGD300]: cannot use: no space left\n  help: make room, or name another file   more: mgd explain MGD300\n"
        )
