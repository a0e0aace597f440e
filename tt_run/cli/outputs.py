"""Files that a run is asked to write, looked at before it starts: that one of them has no place is news that comes too late after two hours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Arguments, Option
from tt_run.errors import UsageError
from tt_run.inputs.site import Site
from tt_run.plan.model import LaunchPlan


def asked_outputs(given: Arguments) -> Iterator[tuple[Option, str]]:
    """The options that name what the run is to write, with the paths as typed."""
    for option in given.options():
        text = given.given.get(option.key)
        if option.is_output and text and text != option.bare:
            yield option, text


def lost_outputs(given: CommandLine, plan: LaunchPlan, site: Site) -> list[Diagnostic]:
    """A finding for each file that could not be made here; none where ranks on other hosts write, whose folders are not known."""
    if not all(site.is_here(host.name) for host in plan.placement.hosts):
        return []
    return _lost(given, lambda text: site.cwd / site.expand_user(text))


def refuse_lost_outputs(given: Arguments) -> None:
    """Raises UsageError for what a command is asked to write and could not."""
    found = _lost(given, Path)
    if found:
        raise UsageError(tuple(found))


def _lost(given: Arguments, place: Callable[[str], Path]) -> list[Diagnostic]:
    found = []
    named: dict[Path, Option] = {}
    for option, text in asked_outputs(given):
        path = place(text)
        first = option if _is_device(path) else named.setdefault(_resolved(path), option)
        if other := _other_form(option, path):
            found.append(
                Diagnostic("TTR036", f"{option.name} {text}: {other}", help=_as_its_own(option, text))
            )
            continue
        wrong = f"{first.name} writes it too" if first is not option else _obstacle_beside(option, path)
        if wrong:
            metavar = option.metavar.strip("[=]")
            help = f"write {option.name}{_joint(option.metavar)}{metavar} with another name"
            found.append(Diagnostic("TTR036", f"{option.name} {text}: {wrong}", help=help))
    return found


_FORMS = (
    ".csv",
    ".htm",
    ".html",
    ".json",
    ".md",
    ".pdf",
    ".png",
    ".svg",
    ".tsv",
    ".xlsx",
    ".xml",
    ".yaml",
    ".yml",
)
"""Endings that say what is in a file."""


def _other_form(option: Option, path: Path) -> str:
    """What is wrong with a name that says another form than the file will have; empty for one that says none."""
    ending = path.suffix.lower()
    if not option.endings or ending not in _FORMS or ending in option.endings:
        return ""
    return f"it writes {' or '.join(_shown(option.endings))}, not {ending}"


def _shown(endings: tuple[str, ...]) -> list[str]:
    return [ending for ending in endings if ending not in (".htm", ".yml")]


def _as_its_own(option: Option, text: str) -> str:
    stem = text[: -len(Path(text).suffix)]
    names = " or ".join(f"{stem}{ending}" for ending in _shown(option.endings))
    return f"write {option.name}{_joint(option.metavar)}{names}"


def _joint(metavar: str) -> str:
    return "=" if metavar.startswith("[=") else " "


def _obstacle_beside(option: Option, path: Path) -> str:
    """The obstacle of a path, or of a second file that its option writes beside it."""
    wrong = _obstacle(path, is_folder=option.is_folder)
    if wrong or not option.beside or _is_device(path):
        return wrong
    second = path.with_name(path.name + option.beside)
    wrong = _obstacle(second)
    return f"{second.name} is written beside it: {wrong}" if wrong else ""


def _obstacle(path: Path, *, is_folder: bool = False) -> str:
    """Why nothing can be written at a path, empty where it can; folders on the way are made by who writes.

    Permissions alone do not tell: of /proc they say that the administrator may write there. So what is missing is made, and removed.
    """
    path = _resolved(path)
    if os.access(path, os.F_OK):
        return _obstacle_of(path, is_folder)
    missing = path
    while not os.access(missing.parent, os.F_OK):  # unlike pathlib's, quiet about a name that is too long
        missing = missing.parent
    above = missing.parent
    if not above.is_dir():
        return f"{above} is a file, not a folder"
    return _untakeable(missing, is_folder or missing != path)


def _resolved(path: Path) -> Path:
    """Where links lead; `Path.resolve` raises for those that lead to themselves."""
    return Path(os.path.realpath(path))


def _is_device(path: Path) -> bool:
    """Whether it is such as /dev/null, which any number of results may go to."""
    return os.access(path, os.F_OK) and not path.is_file() and not path.is_dir()


def _obstacle_of(path: Path, is_folder: bool) -> str:
    """What stands against writing to what is there already."""
    if is_folder and not path.is_dir():
        return "it is a file, and a folder is to be written"
    if is_folder:
        return _untakeable(path / f".tt-run-{os.getpid()}", False)
    if path.is_dir():
        return "it is a folder, and a file is to be written"
    if _is_device(path):  # or a pipe: to open one may wait, or do something
        return "" if os.access(path, os.W_OK) else "it may not be written"
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError as error:
        return f"it may not be written ({error.strerror})"
    return ""


def _untakeable(path: Path, is_folder: bool) -> str:
    """Why a name that is free cannot be taken. It is free again afterwards."""
    try:
        if is_folder:
            path.mkdir()
            path.rmdir()
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            path.unlink()
    except FileExistsError:  # somebody else has made it just now; or a link to itself
        return f"{path} is a link to itself" if path.is_symlink() else ""
    except OSError as error:
        return f"nothing may be written in {path.parent} ({error.strerror})"
    return ""
