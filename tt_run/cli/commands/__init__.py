"""The subcommands of `tt-run`: a word in place of the options, each in a module that is loaded when it is asked for.

The module has `command(words) -> int`: it gets the words after the name, prints, and gives the exit code back; it raises TtRunError for what the
user must act on. Options of its own are a class of `tt_run.cli.reading.options.Arguments`, read by `tt_run.cli.reading.parse.read`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Commands to begin": {
        "init": ("tt_run.cli.commands.init", "Copy a starter project that runs at once."),
        "examples": ("tt_run.cli.commands.examples", "List the examples, or copy some."),
        "doctor": (
            "tt_run.cli.commands.doctor",
            "What this machine, or each of the hosts, offers for a launch.",
        ),
        "explain": ("tt_run.cli.commands.explain", "What a finding such as TTR204 means."),
        "completion": ("tt_run.cli.commands.completion", "Completion script for bash, zsh or fish."),
        "help": ("tt_run.cli.commands.help", "This text, or that of a command."),
    },
    "Commands that look at runs": {
        "ls": ("tt_run.cli.commands.ls", "The runs here, and what became of them."),
        "status": ("tt_run.cli.commands.status", "Each rank of a run: where it is, or how it ended."),
        "stacks": ("tt_run.cli.commands.stacks", "Where the ranks of a running job are, as one tree."),
        "logs": ("tt_run.cli.commands.logs", "What the ranks of a run printed, also while it goes on."),
        "report": ("tt_run.cli.commands.report", "A run as one page that can be sent."),
        "clean": ("tt_run.cli.commands.clean", "Remove the folders of runs that have ended."),
    },
    "Commands for recorded runs": {
        "replay": (
            "tt_run.cli.commands.replay",
            "One rank of a recorded run again, alone, also under a debugger.",
        ),
        "diff": ("tt_run.cli.commands.diff", "Where two recorded runs differ first."),
    },
    "Commands that try a program": {
        "what-if": (
            "tt_run.cli.commands.what_if",
            "Predicted time of a program on several systems, side by side.",
        ),
        "chaos": (
            "tt_run.cli.commands.chaos",
            "A program under random faults, and whether each verdict is right.",
        ),
        "validate-model": (
            "tt_run.cli.commands.validate_model",
            "Predicted times beside measured ones, and calibration with your own.",
        ),
    },
}
"""By the heading of the help text, and by name: the module, and the line of the help text."""

COMMANDS: dict[str, tuple[str, str]] = {
    name: found for group in GROUPS.values() for name, found in group.items()
}

LAUNCHING = ("chaos", "replay", "validate-model", "what-if")
"""The commands that start ranks."""


def named_command(words: Sequence[str]) -> str | None:
    """The subcommand that a command line starts with, None for a launch.

    No launch starts with a bare word, since nothing before it says which ranks there are; `tt-run -- NAME` and `tt-run ./NAME` are never a
    subcommand, nor is the name of an executable file of the launch directory.
    """
    name = words[0] if words else ""
    is_program = name in COMMANDS and os.path.isfile(name) and os.access(name, os.X_OK)  # noqa: PTH113
    return name if name in COMMANDS and not is_program else None


def run_command(name: str, words: Sequence[str]) -> int:
    """Carries out a subcommand with the words after its name; the exit code. Raises TtRunError."""
    from importlib import import_module

    code: int = import_module(COMMANDS[name][0]).command(words)
    return code
