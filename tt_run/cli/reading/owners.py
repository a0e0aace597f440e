"""From the command line to the values that the parts of a launch are given: an option goes to the field of its name."""

from __future__ import annotations

from tt_run.cli.reading.command_line import CommandLine
from tt_run.plan.request import CheckLevel, LaunchRequest, RankOption

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


def from_command_line(kind: type[T], given: CommandLine, **others: Any) -> T:
    """A value of a class whose fields are options, or among `others`; a test holds their types against each other."""
    names = [name for name in vars(kind)["__match_args__"] if name not in others]
    return kind(**{name: getattr(given, name) for name in names}, **others)


def launch_request(given: CommandLine) -> LaunchRequest:
    """What the planner must know."""
    of_ranks = tuple(
        RankOption(option.name, option.variable, text, option.is_path and text != option.bare)
        for option, text in given.of_ranks()
    )
    return from_command_line(LaunchRequest, given, check=CheckLevel(given.check), of_ranks=of_ranks)
