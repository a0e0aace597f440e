"""How many ranks an unfinished command line is about, for completion: those of the launch that it says, or of the run that it looks at."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from tt_run.cli.commands import COMMANDS
from tt_run.cli.reading.parse import parse
from tt_run.errors import TtRunError

MANY = 128  # more are no help at a prompt


def ranks_of_line(line: str) -> int | None:
    """The number of ranks; None where the line does not say it. The last option of the line is the one whose value is asked for."""
    with suppress(ValueError, OSError, TtRunError):  # a line that is not whole yet
        found = _ranks(_before_the_option(shlex.split(line)))
        return min(found, MANY) if found else None
    return None


def _ranks(words: list[str]) -> int:
    name = words[0] if words else ""
    if "--" in words:  # of chaos and what-if
        return _planned(words[words.index("--") + 1 :])
    if name == "replay":
        return _recorded(words[1:])
    return _looked_at(words[1:]) if name in COMMANDS else _planned(words)


def _before_the_option(words: list[str]) -> list[str]:
    """The words behind the command's name, without the last option and what has been typed of its value."""
    starts = [number for number, word in enumerate(words) if Path(word).name == "tt-run"]
    words = words[starts[0] + 1 :] if starts else []
    options = [number for number, word in enumerate(words) if word.startswith("-")]
    return words[: options[-1]] if options else words


def _planned(words: Sequence[str]) -> int:
    from tt_run.cli.main import run

    given = parse(words)
    if given.help or given.version or given.doctor or given.explain or given.completion:
        return 0
    told = io.StringIO()
    with redirect_stdout(told), redirect_stderr(io.StringIO()):
        run([*words, "--dry-run", "--format", "json", "true"])
    plan = json.loads(told.getvalue())
    ranks = plan["ranks"]  # a number, or none, where the inputs do not fit together
    return len(ranks) if isinstance(ranks, list) else ranks or 0


def _looked_at(words: Sequence[str]) -> int:
    from tt_run.cli.commands.looking import one_run

    log_dir = words[words.index("--log-dir") + 1] if "--log-dir" in words[:-1] else None
    named = tuple(word for word in words if not word.startswith("-") and word != log_dir)
    return len(one_run(named[:1], log_dir, live=True).ranks)


def _recorded(words: Sequence[str]) -> int:
    """Of the newest run in a folder of records."""
    runs = {path.parent for word in words[:1] for path in Path(word).glob("**/rank-*.record")}
    newest = max(runs, default=None, key=lambda run: run.name)
    return len(list(newest.glob("rank-*.record"))) if newest else 0
