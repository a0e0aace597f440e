"""Exceptions in exit handlers (atexit): Python prints them and leaves the exit code as it is, so the launcher says them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tt_run import contract
from tt_run.supervise.folder import files_of_ranks

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

_MOST = 4


def exit_handlers(folder: Path) -> list[dict[str, Any]]:
    """The first few of a run: rank, exception, message, place; the logs hold the tracebacks."""
    found = []
    for path in files_of_ranks(folder, contract.EXIT_HANDLERS_FILE)[:_MOST]:
        rank = int(re.findall(r"\d+", path.name)[0])
        try:
            each = [
                json.loads(line)
                for line in path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
            ][:_MOST]
            found += [
                {
                    "rank": rank,
                    "exception": str(one["exception"]),
                    "message": contract.essence(str(one["message"])),
                    "place": str(one["place"]),
                }
                for one in each
            ]
        except (OSError, ValueError, TypeError, KeyError):  # cut off or damaged
            continue
    return found


def exit_handler_lines(folder: Path) -> Iterator[str]:
    """A sentence for each."""
    for each in exit_handlers(folder):
        what = f"{each['exception']}{': ' * bool(each['message'])}{each['message']}"
        yield f"rank {each['rank']} raised {what} in an exit handler at {each['place']}; its exit code does not tell"
