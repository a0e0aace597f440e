"""Options of pytest: which ones are known, and what of them the ranks' own pytest is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mgd.lean import dataclass

PARSER = "tt-run: options"  # the name under which the plugins' registry keeps the parser
_NOT_FORWARDED = (
    "no:",
    "tt_run.pytest",
)  # plugins: what is left out may be needed there, and ours is named anyway


@dataclass(frozen=True)
class ParserOfOptions:
    """The parser, which no other hook is given."""

    parser: pytest.Parser


def known_options(parser: pytest.Parser) -> set[str]:
    """The words that have been added. A group knows its own alone before pytest 9, and the whole fails over two of a kind."""
    groups = (
        _of_conftests(parser),
        *(getattr(group, "options", ()) for group in getattr(parser, "_groups", ())),
    )
    return {word for options in groups for option in options for word in option.names()}


def _of_conftests(parser: pytest.Parser) -> list[Any]:
    """Options that were added without a group."""
    return list(getattr(getattr(parser, "_anonymous", None), "options", ()))


def forwarded(config: pytest.Config) -> list[str]:
    """The words of this command line that hold on the ranks too: how failures are shown, settings, options of conftests."""
    option = config.option
    return [
        *(word for name in option.plugins if not name.startswith(_NOT_FORWARDED) for word in ("-p", name)),
        *(word for setting in option.override_ini or () for word in ("-o", setting)),
        *(word for rule in option.pythonwarnings or () for word in ("-W", rule)),
        *([f"--import-mode={option.importmode}"] if option.importmode != "prepend" else []),
        *(["-s"] if option.capture == "no" else []),
        *([f"--show-capture={option.showcapture}"] if option.showcapture != "all" else []),
        *([f"--tb={option.tbstyle}"] if option.tbstyle != "auto" else []),
        *(["--full-trace"] if option.fulltrace else []),
        *(["--showlocals"] if option.showlocals else []),
        *_set_by_conftests(config),
    ]


def _set_by_conftests(config: pytest.Config) -> Iterator[str]:
    """Options of conftests that have another value than by default."""
    registered = config.pluginmanager.get_plugin(PARSER)
    for option in _of_conftests(registered.parser) if registered else ():
        word, value = option.names()[-1], getattr(config.option, option.dest, None)
        if value is None or value == getattr(option, "default", False):
            continue
        for each in value if isinstance(value, (list, tuple)) else (value,):
            yield word if isinstance(each, bool) else f"{word}={each}"
