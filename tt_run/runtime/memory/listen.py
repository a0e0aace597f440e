"""Accounts that the environment asks for: `--memory` reports at the end, `--enforce-memory` refuses what does not fit."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tt_run import contract
from tt_run.runtime import launched
from tt_run.runtime.comm.world import world
from tt_run.runtime.joint_file import PartedFile
from tt_run.runtime.memory.account import MemoryAccount
from tt_run.runtime.memory.enforce import refuse_buffers_that_do_not_fit, refuse_what_does_not_fit
from tt_run.runtime.memory.report import COLUMNS, summary, svg, text

REPORT_ONLY = "-"
_account: MemoryAccount | None = None
_reports = False


def attach() -> None:
    """Start one account for both variables."""
    global _reports
    account = account_of_process()
    target = launched.variables.get(contract.MEMORY)
    if target and not _reports:
        _reports = True
        rank = world().rank
        PartedFile(_path(target), lambda: {"rank": rank, **summary(account)}, _join).write_at_exit()


def account_of_process() -> MemoryAccount:
    """The one account of what this rank's devices hold, which all that look at it share; started by the first."""
    global _account
    if _account is None:
        enforced = os.environ.get(contract.ENFORCE_MEMORY, "0") not in ("", "0")
        _account = (
            MemoryAccount(refuse_what_does_not_fit, refuse_buffers_that_do_not_fit)
            if enforced
            else MemoryAccount()
        )
        # The timeline alone asks for no more than sizes, and is to cost little.
        _account.start(uses=enforced or bool(launched.variables.get(contract.MEMORY)))
    return _account


def running_account() -> MemoryAccount | None:
    """That account, if anybody asked for one."""
    return _account


def _join(parts: list[dict[str, Any]]) -> dict[str, str]:
    said = os.environ.get("COLUMNS", "")
    print(text(parts, min(int(said), COLUMNS) if said.isdecimal() else COLUMNS), file=sys.stderr)
    return {"": json.dumps(parts, indent=1) + "\n", ".svg": svg(parts)}


def _path(target: str) -> str:
    """Where ranks leave their parts: beside the file asked for, else in the run folder."""
    if target != REPORT_ONLY:
        return target
    folder = launched.variables.get(contract.RUN_DIR) or tempfile.mkdtemp(prefix="tt-run-memory-")
    return str(Path(folder) / "memory.json")
