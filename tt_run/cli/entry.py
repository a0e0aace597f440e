"""Where the command `tt-run` begins: Ctrl-C ends it at once until something has begun that must be ended in order."""

from __future__ import annotations

import gc

from tt_run.cli import interrupts


def main() -> None:
    """The console script."""
    interrupts.end_at_once()
    gc.disable()  # before anything else is loaded: nothing here lives long enough to be worth collecting
    from tt_run.cli.main import main as carry_out

    carry_out()
