"""A report of each test, as suites' conftest.py asks for it: `ttnn.graph_report.run_pytest_graph_report_fixture`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tt_run.runtime.comm.world import world
from tt_run.runtime.graph import calls, capturing, snapshots
from tt_run.runtime.graph.capture import RunMode
from tt_run.runtime.graph.database.importing import import_report
from tt_run.runtime.mesh.distributed import distributed_context_barrier
from tt_run.runtime.settings import CONFIG, manage_config

_NAME_MOST, _HASH_MOST = 64, 8


def derive_report_name(nodeid: str) -> str:
    """A report's name for a test, the same on every rank: file, test, and the beginning of a hash of the whole id, 64 characters at most."""
    file, _, test = nodeid.partition("::")
    words = [Path(file).stem, *test.rsplit("::", 1)[-1:]]
    told = "_".join(word for word in words if word)[: _NAME_MOST - _HASH_MOST - 1]
    return f"{told}_{hashlib.sha1(nodeid.encode(), usedforsecurity=False).hexdigest()[:_HASH_MOST]}"


def run_pytest_graph_report_fixture(request: Any) -> Iterator[None]:
    """The body of a fixture that captures a test where `enable_graph_report` is set, and writes its report with the configuration.

    The folder is `report_path`, named after the test unless `report_name` says otherwise. Of several ranks each captures its own part and
    the first writes one database of all.
    """
    with manage_config("report_name", CONFIG.report_name or derive_report_name(request.node.nodeid)):
        folder = CONFIG.report_path
    for fixture in ("mesh_device", "device"):  # so that this ends before the device closes
        if fixture in request.fixturenames:
            request.getfixturevalue(fixture)
    if not CONFIG.enable_graph_report or capturing.is_graph_capture_active() or folder is None:
        yield
        return
    detailed = CONFIG.enable_detailed_buffer_report and not snapshots.is_detailed_buffer_tracing_enabled()
    if detailed:
        snapshots.enable_detailed_buffer_tracing()
    capturing.begin_graph_capture(RunMode.NORMAL)
    if detailed:
        snapshots.disable_detailed_buffer_tracing()
    try:
        yield
    finally:
        if capturing.is_graph_capture_active():
            _write(folder)


def _write(folder: Path) -> None:
    rank, size = world().rank, world().size
    of_rank = f"_{rank + 1}_of_{size}" if size > 1 else ""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / f"graph_capture{of_rank}.json"
    capturing.end_graph_capture_to_file(report)
    _meet(size)
    if rank == 0:
        import_report(folder, folder)
    _meet(size)
    for each in (report, report.with_suffix(calls.SUFFIX)):
        each.unlink()
    CONFIG.save_to_file(folder / f"config{of_rank}.json")


def _meet(size: int) -> None:
    if size > 1:
        distributed_context_barrier()
