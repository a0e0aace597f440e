"""No deadline passes while a rank of the job is stopped in a debugger: it says so by a file in the run folder."""

from __future__ import annotations

import os
from functools import cache

from tt_run import contract
from tt_run.runtime import launched


@cache
def is_expected() -> bool:
    """Whether the launch has given any rank a debugger."""
    folder = launched.variables.get(contract.RUN_DIR)
    return bool(folder) and os.path.exists(f"{folder}/{contract.DEBUGGERS_FILE}")  # noqa: PTH110 - asked before MPI starts


def is_now() -> bool:
    """Whether a rank is stopped at this moment; costs nothing where no rank can be."""
    return is_expected() and os.path.exists(f"{launched.variables[contract.RUN_DIR]}/{contract.STOPPED_FILE}")  # noqa: PTH110
