"""Defaults of options from pyproject.toml and the user's configuration folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tt_run.cli.main import run
from tt_run.cli.reading.configuration import configuration_files, describe, with_configuration
from tt_run.cli.reading.idle import idle_options
from tt_run.cli.reading.parse import parse
from tt_run.contract import Exit
from tt_run.errors import InputError, TtRunError, UsageError

PROJECT = """\
[project]
name = "x"

[tool.tt-run]
emulate = true
system = "t3000"
timeout = 60
report = "out/report.json"
max_restarts = 2

[tool.other]
timeout = "soon"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with defaults, launched from a folder inside of it; the user has none of their own yet."""
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    inside = tmp_path / "src"
    inside.mkdir()
    monkeypatch.chdir(inside)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def user(project: Path, text: str) -> None:
    folder = project / "config/tt-run"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def test_the_project_sets_defaults(project: Path) -> None:
    given = with_configuration(parse(["--timeout", "5", "prog"]))
    assert (given.emulate, given.system, given.timeout) == (True, "t3000", 5.0)
    assert given.report == str(project / "out/report.json"), "from the folder of the file"
    assert given.configured["system"] == f"{project}/pyproject.toml:6:1"
    assert "timeout" not in given.configured and given.program == ("prog",)


def test_what_is_read_may_be_a_name_of_something_ready(project: Path) -> None:
    user(project, 'hardware = "galaxy_4u"\nlog-dir = "runs"\n')
    given = with_configuration(parse(["--predict", "prog"]))
    assert given.hardware == "galaxy_4u"
    assert given.log_dir == str(project / "config/tt-run/runs"), "what is written is there or not"


def test_the_project_comes_before_the_user(project: Path) -> None:
    user(project, 'timeout = 7\ntee = "first"\nsystem = "n300"\n')
    given = with_configuration(parse(["prog"]))
    assert (given.timeout, given.tee, given.system) == (60.0, "first", "t3000")
    assert given.configured["tee"].endswith("config.toml:2:1")


def test_a_source_of_the_command_line_replaces_the_configured_one(project: Path) -> None:
    given = with_configuration(parse(["--rank-binding", "f", "prog"]))
    assert given.system is None and given.rank_binding == "f"


def test_what_cuts_a_system_leaves_with_it(project: Path) -> None:
    user(project, 'split = "1x2"\nmeshes = 2\n')
    assert with_configuration(parse(["prog"])).split == "1x2"
    given = with_configuration(parse(["--rank-binding", "f", "prog"]))
    assert (given.system, given.split, given.meshes) == (None, None, None)
    assert not {"split", "meshes"} & given.configured.keys()


def test_what_would_have_no_effect_is_left_out(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.tt-run]\nledger = "l.json"\nplacement-timeout = 3\n')
    given = with_configuration(parse(["--rank-binding", "f", "prog"]))
    assert not given.configured and not idle_options(given)
    assert with_configuration(parse(["--emulate", "prog"])).ledger == str(project / "l.json")


def test_files_can_be_ignored(project: Path) -> None:
    assert with_configuration(parse(["--no-config", "prog"])) == parse(["--no-config", "prog"])


def test_without_files_nothing_changes(tmp_path: Path) -> None:
    assert not list(configuration_files(tmp_path, {"HOME": str(tmp_path)}))


def test_where_a_users_own_file_is(tmp_path: Path) -> None:
    for folder in (".config", "xdg"):
        file = tmp_path / folder / "tt-run" / "config.toml"
        file.parent.mkdir(parents=True)
        file.write_text("timeout = 7\n")
    home, xdg = {"HOME": str(tmp_path)}, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    for environ, found in (({}, []), (home, [".config"]), (xdg, ["xdg"]), ({**home, **xdg}, ["xdg"])):
        sources = configuration_files(tmp_path, environ)
        assert [source.path.parent.parent.name for source in sources] == found


def test_options_that_may_have_no_value_and_those_that_are_repeated(project: Path) -> None:
    text = "[tool.tt-run]\nemulate = true\nsystem = 't3000'\npredict = true\ninject = 'kill=rank:1'\n"
    (project / "pyproject.toml").write_text(text)
    given = with_configuration(parse(["prog"]))
    assert (given.predict, given.inject) == ("-", ("kill=rank:1",))
    (project / "pyproject.toml").write_text(
        text.replace("true\ninject", "'p.json'\ninject").replace(
            "'kill=rank:1'", "['kill=rank:1', 'exit=rank:0']"
        )
    )
    given = with_configuration(parse(["prog"]))
    assert (given.predict, given.inject) == (str(project / "p.json"), ("kill=rank:1", "exit=rank:0"))


@pytest.mark.parametrize(
    ("text", "error", "says", "line"),
    [
        ("[tool.tt-run]\ntimeuot = 60\n", UsageError, "write timeout", 2),
        ("[tool.tt-run]\n\ntimeout = 0\n", UsageError, "seconds, more than 0", 3),
        ("[tool.tt-run]\nemulate = 'yes'\n", UsageError, "emulate is 'yes'", 2),
        ("[tool.tt-run]\ncheck = 'maybe'\n", UsageError, "not one of error, warn, off", 2),
        ("[tool.tt-run]\nhosts = ['a']\n", UsageError, "hosts is ['a']", 2),
        ("[tool.tt-run]\ndry-run = true\n", UsageError, "no option", 2),
        ("[tool.tt-run]\ntimeout =\n", InputError, "correct it", 2),
        ("[tool.tt-run]\nsystem = t3000\n", InputError, 'write system = "t3000"', 2),
        ("[tool.tt-run]\nemulate = True\n", InputError, "write emulate = true", 2),
        ("[tool.tt-run]\nemulate = maybe\n", InputError, "write emulate = true", 2),
        ("[tool.tt-run]\nshapes-only = Flase\n", InputError, "write shapes-only = false", 2),
        ("[tool.ttrun]\nsystem = 't3000'\n", UsageError, "write [tool.tt-run]", 1),
        ('[project]\n\n [ tool."tt_run" ]\n', UsageError, "[tool.tt_run] sets nothing", 3),
        ("[tool.tt-rn]\n", UsageError, "[tool.tt-rn] sets nothing", 1),
        ("[tool.tt-run.x]\n[tt-run]\n", UsageError, "[tt-run] sets nothing", 2),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    project: Path, text: str, error: type[TtRunError], says: str, line: int
) -> None:
    (project / "pyproject.toml").write_text(text)
    with pytest.raises(error) as caught:
        with_configuration(parse(["prog"]))
    [finding] = caught.value.diagnostics
    assert finding.code == "TTR029" and says in f"{finding.message} {finding.help}"
    assert finding.position is not None and finding.position.line == line
    if "sets nothing" in says:
        assert text.splitlines()[line - 1][finding.position.column - 1 :].strip(' "').startswith(says[1:5])


@pytest.mark.parametrize(
    "table", ["tool.trunk", "tool.ruff", "tool.tt", "tool.pytest.run", "trun", "project"]
)
def test_tables_of_others_are_left_alone(project: Path, table: str) -> None:
    (project / "pyproject.toml").write_text(f"[{table}]\nx = 1\n")
    assert not with_configuration(parse(["prog"])).configured


def test_a_project_without_the_table_hides_none_above_it(project: Path) -> None:
    (project / "src/pyproject.toml").write_text("[project]\nname = 'inner'\n")
    assert with_configuration(parse(["prog"])).configured["system"] == f"{project}/pyproject.toml:6:1"
    (project / "src/pyproject.toml").write_text("[tool.tt-run]\nemulate = true\n")
    assert set(with_configuration(parse(["prog"])).configured) == {"emulate"}


def test_a_table_in_the_users_own_file(project: Path) -> None:
    user(project, "[tool.tt-run]\nemulate = true\n")
    with pytest.raises(UsageError) as caught:
        with_configuration(parse(["prog"]))
    assert "without a table" in caught.value.diagnostics[0].help


def test_a_dry_run_shows_where_options_come_from(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text('[tool.tt-run]\nemulate = true\nsystem = "n300"\n')
    assert run(["--dry-run", "true"]) == Exit.OK
    err = capsys.readouterr().err
    assert f"tt-run: configured: --emulate ({project}/pyproject.toml:2:1); --system n300 (" in err
    assert describe(with_configuration(parse(["true"]))) in err


def test_an_option_that_was_not_typed_is_told_with_its_place(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pyproject.toml").write_text('[tool.tt-run]\nemulate = false\nrank-binding = "x.yaml"\n')
    assert run(["--split", "1x2", "--dry-run", "true"]) == Exit.USAGE
    err = capsys.readouterr().err
    assert "configured: no --emulate (" in err
    assert "--split is for --system" in err
    assert f"--> {project}/pyproject.toml:3:1   configured here" in err


def test_a_byte_order_mark_and_line_ends_of_windows_are_passed_over(project: Path) -> None:
    (project / "pyproject.toml").write_bytes(b"\xef\xbb\xbf[tool.tt-run]\r\nemulate = true\r\n")
    assert set(with_configuration(parse(["prog"])).configured) == {"emulate"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            b'[tool.tt-run]\nsystem = "t3000"\nemulate = true\nsplit = "x"\n',
            "pyproject.toml:4:1   configured here",
        ),
        (b"[tool.tt-run]\nemulate = true\nsystem = 5\n", "pyproject.toml:3:1   configured here"),
        (b"[tool.tt-run]\nsplit = [\n", "pyproject.toml:2:"),
        (b'[tool.tt-run]\nsplit = "\xff"\n', "pyproject.toml:2:10"),
    ],
    ids=["a value of no use", "a system that is none", "no end", "no text"],
)
def test_every_refusal_says_where(
    project: Path, text: bytes, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pyproject.toml").write_bytes(text)
    assert run(["--dry-run", "true"]) != Exit.OK
    assert place in capsys.readouterr().err
