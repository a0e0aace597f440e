"""Files that a run is asked to write, looked at before it starts: that one of them has no place is news that comes too late after two hours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tt_run.cli.command_line import CommandLine
from tt_run.cli.options import Option
from tt_run.inputs.site import Site
from tt_run.plan.model import LaunchPlan


def asked_outputs(given: CommandLine) -> Iterator[tuple[Option, str]]:
    """The options that name what the run is to write, with the paths as typed."""
    for option in given.options():
        text = given.given.get(option.key)
        if option.is_output and text and text != option.bare:
            yield option, text


def lost_outputs(given: CommandLine, plan: LaunchPlan, site: Site) -> list[Diagnostic]:
    """A finding for each file that could not be made here; none where ranks on other hosts write, whose folders are not known."""
    if not all(site.is_here(host.name) for host in plan.placement.hosts):
        return []
    found = []
    for option, text in asked_outputs(given):
        path = site.cwd / site.expand_user(text)
        obstacle = _obstacle(path, is_folder=option.is_folder)
        if obstacle:
            metavar = option.metavar.strip("[=]")
            found.append(
                Diagnostic(
                    "TTR036", f"{option.name} {text}: {obstacle}", help=f"write {option.name}{_joint(option.metavar)}{metavar} with another name"
                )
            )  # fmt: skip
    return found


def _joint(metavar: str) -> str:
    return "=" if metavar.startswith("[=") else " "


def _obstacle(path: Path, *, is_folder: bool) -> str:
    """Why nothing can be written at a path, empty where it can; folders on the way are made by who writes."""
    if path.exists():
        if is_folder and not path.is_dir():
            return "it is a file, and a folder is to be written"
        if not is_folder and path.is_dir():
            return "it is a folder, and a file is to be written"
        return "" if os.access(path, os.W_OK) else "it may not be written"
    above = next(folder for folder in path.parents if folder.exists())
    if not above.is_dir():
        return f"{above} is a file, not a folder"
    return "" if os.access(above, os.W_OK | os.X_OK) else f"nothing may be written in {above}"
