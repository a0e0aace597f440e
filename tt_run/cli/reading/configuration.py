"""Defaults of options from files: `[tool.tt-run]` of the nearest pyproject.toml that has it, then `tt-run/config.toml` of the user's configuration folder.

Keys are the long names of options without their dashes. The command line has the last word, the project comes before the user; an option that
stands against one of the command line, or would have no effect, is left out.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mgd.diagnostics import Diagnostic, Label, Position
from mgd.lean import dataclass, replace
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.idle import CONDITIONS
from tt_run.cli.reading.options import Option
from tt_run.cli.reading.parse import read_value
from tt_run.errors import InputError, UsageError
from tt_run.inputs.site import from_here, is_file

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

SECTION = "tool.tt-run"
ASKED = frozenset(
    (
        "check_only",
        "completion",
        "doctor",
        "dry_run",
        "emit",
        "explain",
        "help",
        "no_config",
        "print_env",
        "shell_env",
        "version",
    )
)
"""What a command line asks for, which no file can."""
EXCLUSIVE = (
    (
        "rank_binding",
        "rank_bindings_mapping",
        "mesh_graph_descriptor",
        "mesh_graph_descriptor_mapping",
        "system",
    ),
    ("discover", "no_discover"),
    ("clean_env", "inherit_env"),
)
"""Options of which a launch has one: that of the command line, if it has any of them."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A configuration file: its path, its text, and the table in it that is ours."""

    path: Path
    text: str
    section: str

    def at(self, key: str) -> Position:
        """Where a key is set, be it as a table; the first line for one that is written in some other way."""
        inside, table = not self.section, f"{self.section}.{key}".lstrip(".")
        for number, line in enumerate(self.text.splitlines(), start=1):
            if line.lstrip().startswith("["):
                name = line.strip().strip("[]").replace('"', "").strip()
                inside = name == self.section
                if f"{name}.".startswith(f"{table}."):
                    return Position(from_here(self.path), number, 1)
            elif inside and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
                return Position(from_here(self.path), number, 1)
        return Position(from_here(self.path), 1, 1)


def with_configuration(given: CommandLine) -> CommandLine:
    """The command line with the defaults of the configuration files. Raises InputError for a file that cannot be read or understood,
    UsageError for a key or value in it that is wrong."""
    values, places = dict(given.given), dict[str, str]()
    if given.no_config:
        return given
    try:
        cwd = Path.cwd()
    except FileNotFoundError:  # which the launch has words for
        return given
    for source in configuration_files(cwd, os.environ):
        for option, value in _settings(source):
            if option.key not in values and not _is_against(option.key, given):
                values[option.key] = value
                places[option.key] = str(source.at(_spelt(option, source)))
    made = CommandLine(values, given.rest, places)
    idle = {
        option.key
        for option in made.options()
        if option.key in places and option.needs and not CONDITIONS[option.needs].holds(made)
    }
    if (
        made.system is None
    ):  # a source of the command line has taken its place, and what cuts it has no effect
        idle |= {key for key in ("split", "meshes") if key in places}
    kept = {key: value for key, value in values.items() if key not in idle}
    return CommandLine(kept, given.rest, {key: at for key, at in places.items() if key not in idle})


def located(diagnostics: Iterable[Diagnostic], given: CommandLine) -> tuple[Diagnostic, ...]:
    """The same, with the place of an option that a file has set and that one of them speaks of first."""
    # What speaks of the value alone, or of an option that was not typed.
    about = {"no system is called": "--system", "rank bindings say themselves": "--rank-binding"}
    places = {option.name: given.configured.get(option.key, "") for option in given.options()}
    found = []
    for each in diagnostics:
        told = next((name for words, name in about.items() if words in each.message), "")
        place = re.fullmatch(
            r"(.+):(\d+):(\d+)", places.get(each.message.partition(" ")[0]) or places.get(told, "")
        )
        if place is not None and not each.labels:
            at = Position(place[1], int(place[2]), int(place[3]))
            found.append(replace(each, labels=(Label(at, "configured here"),)))
        else:
            found.append(each)
    return tuple(found)


def configuration_files(cwd: Path, environ: Mapping[str, str]) -> Iterator[SettingsFile]:
    """The files that say something, the first one first."""
    for folder in (cwd, *cwd.parents):
        path = folder / "pyproject.toml"
        if not is_file(path):
            continue
        source = SettingsFile(path, _read(path), SECTION)
        _refuse_misspelt(source)
        if SECTION in source.text:  # that of a package inside of a larger project may have none
            yield source
            break
    home = environ.get("XDG_CONFIG_HOME") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    own = Path(home, "tt-run", "config.toml")
    if home and is_file(own):  # not where its folder is closed, as under the HOME of another user
        yield SettingsFile(own, _read(own), "")


def describe(given: CommandLine) -> str:
    """Which options come from files, on one line; empty when none does."""
    options = {option.key: option for option in given.options()}
    return "; ".join(
        f"{_typed(options[key], given.given[key])} ({place})" for key, place in given.configured.items()
    )


def _typed(option: Option, value: Any) -> str:
    if isinstance(value, bool):
        return option.name if value else f"no {option.name}"
    return f"{option.name} {from_here(Path(value)) if option.is_path and isinstance(value, str) else value}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").removeprefix("\ufeff")  # as editors of Windows begin files
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        message, place = f"{from_here(path)} cannot be read: {why}", Position(from_here(path))
        if isinstance(error, UnicodeDecodeError):
            before = error.object[: error.start].split(b"\n")
            place = Position(from_here(path), len(before), len(before[-1]) + 1)
        who = (
            f"ls -l {shlex.quote(from_here(path))} says who may"
            if isinstance(error, OSError)
            else "correct it"
        )
        raise InputError(
            Diagnostic("TTR029", message, (Label(place),), help=f"{who}, or --no-config")
        ) from None


def _settings(source: SettingsFile) -> Iterator[tuple[Option, Any]]:
    names = {option.name.lstrip("-"): option for option in CommandLine.options() if option.key not in ASKED}
    for key, value in _table(source).items():
        option = names.get(key.replace("_", "-"))
        if option is None:
            raise _wrong(source, key, f"{key!r} is no option", _instead(source, key, value, names))
        yield option, _value(source, key, option, value)


def _instead(source: SettingsFile, key: str, value: Any, names: Iterable[str]) -> str:
    """What may have been meant by a key that is no option."""
    from tt_run.inputs.findings import nearest

    if isinstance(value, dict) and not source.section:
        return "this file has options alone: write them without a table"
    meant = nearest(key, names)
    return f"write {meant}" if meant else "see tt-run --help"


_TABLE = r"^[ \t]*\[[ \t]*([^\[\]\n]+?)[ \t]*\]"


def _refuse_misspelt(source: SettingsFile) -> None:
    """Raises UsageError for a table whose name is nearly ours: what it sets would be passed over in silence."""
    for table in re.finditer(_TABLE, source.text, re.MULTILINE):
        name = re.sub(r"[\s\"']", "", table[1])
        if f"{name}.".startswith(f"{SECTION}.") or not _is_nearly_ours(name):
            continue
        line = source.text.count("\n", 0, table.start(1)) + 1
        at = Position(
            from_here(source.path), line, table.start(1) - source.text.rfind("\n", 0, table.start(1))
        )
        message = f"[{name}] sets nothing: the table of tt-run is [{SECTION}]"
        raise UsageError(Diagnostic("TTR029", message, (Label(at),), f"write [{SECTION}]"))


def _is_nearly_ours(name: str) -> bool:
    """`tool.ttrun`, `tool.tt_run`, `tool.tt.run`, `tt-run`, `tool.tt-rn`."""
    letters = re.sub(r"[^a-z]", "", name.lower().removeprefix("tool."))
    if letters == "ttrun" or not name.startswith("tool.") or letters[:1] != "t":
        return letters == "ttrun"
    from difflib import SequenceMatcher

    return SequenceMatcher(None, letters, "ttrun").ratio() > 0.85  # one letter too few or too many


def _table(source: SettingsFile) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
    try:
        table: Any = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+), column (\d+)", str(error))
        # What is missing at the end is missing on the last line.
        line, column = map(int, at.groups()) if at else (max(1, len(source.text.splitlines())), 1)
        place = Position(from_here(source.path), line, column)
        bare = re.fullmatch(
            r"\s*([\w-]+)\s*=\s*([\w./][^\"'#]*?)\s*", source.text.splitlines()[line - 1 : line][0]
        )
        help = f"write {bare[1]} = {_meant(bare[2], bare[1])}" if bare else "correct it, or --no-config"
        raise InputError(
            Diagnostic("TTR029", "not well-formed TOML", (Label(place, str(error)),), help)
        ) from None
    for part in filter(None, source.section.split(".")):
        table = table.get(part, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}


def _meant(word: str, key: str) -> str:
    """A bare word as TOML writes it: Python's and YAML's booleans, slips of true and false, else text, but for options that take none."""
    from difflib import get_close_matches

    if any(each.is_flag and each.name == f"--{key.replace('_', '-')}" for each in CommandLine.options()):
        word = word if get_close_matches(word.lower(), ("false", "no", "off"), 1, 0.75) else "true"

    same = {"yes": "true", "on": "true", "no": "false", "off": "false"}
    near = get_close_matches(word.lower(), ("true", "false"), 1, 0.75)
    return same.get(word.lower()) or (near[0] if near else f'"{word}"')


def _value(source: SettingsFile, key: str, option: Option, value: Any) -> Any:
    if option.is_flag:
        if not isinstance(value, bool):
            raise _wrong(source, key, f"{key} is {value!r}", f"write {key} = true")
        return value
    if option.repeated and isinstance(value, list):
        return tuple(_one(source, key, option, each) for each in value)
    one = _one(source, key, option, value)
    return (one,) if option.repeated else one


def _one(source: SettingsFile, key: str, option: Option, value: Any) -> Any:
    if isinstance(value, bool) and option.bare is not None:
        return option.bare
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        from tt_run.cli.reading.samples import sample

        raise _wrong(source, key, f"{key} is {value!r}", f'write {key} = "{sample(option)}"')
    try:
        read = read_value(option, str(value))
    except UsageError as error:
        help = error.diagnostics[0].help
        if help.startswith(f"write {option.name} "):
            meant = help.removeprefix(f"write {option.name} ")
            help = f"write {key} = " + (meant if meant.isdecimal() else f'"{meant}"')
        raise _wrong(source, key, error.diagnostics[0].message, help) from None
    if option.is_path:
        beside = source.path.parent / Path(read).expanduser()
        return str(beside) if option.is_output or beside.exists() else read
    return read


def _is_against(key: str, given: CommandLine) -> bool:
    return any(key in group and any(each in given.given for each in group) for group in EXCLUSIVE)


def _spelt(option: Option, source: SettingsFile) -> str:
    name = option.name.lstrip("-")
    return (
        name
        if re.search(rf"(?m)^\s*[\"']?{re.escape(name)}[\"']?\s*=", source.text)
        else name.replace("-", "_")
    )


def _wrong(source: SettingsFile, key: str, message: str, help: str) -> UsageError:
    return UsageError(Diagnostic("TTR029", message, (Label(source.at(key), "configured here"),), help))
