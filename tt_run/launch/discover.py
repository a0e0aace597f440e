"""The launch that asks the hardware: one `generate_rank_bindings` on each host, its results in a folder of their own (reference launcher 0.81.1)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tt_run import contract
from tt_run.errors import LauncherError
from tt_run.inputs.environment import BLOCKED, FACTORY_DESCRIPTOR, EnvVar, managed, passed_through
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.lists import HostSlots
from tt_run.inputs.hosts.rankfiles import Rankfile, RankfileLine, read_rankfile
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.site import Site
from tt_run.launch.locks import take_lock
from tt_run.plan.allocation.files import KEY_FILE
from tt_run.plan.discovery import BINDINGS, MAPPING, MOCK, RANKFILE, Discovery
from tt_run.plan.model import LaunchPlan, Placement, RankPlan
from tt_run.plan.request import LaunchRequest

DEADLINE = 300.0  # seconds: discovery trains links, which takes minutes on large machines
_LOOK_EVERY = 0.1


def discovery_plan(
    discovery: Discovery,
    generator: Path,
    request: LaunchRequest,
    site: Site,
    mpi_args: tuple[str, ...],
) -> LaunchPlan:
    """The launch of the generator: one rank for each host, or for each machine of a mock cluster."""
    option = "--mesh-graph-descriptor-mapping" if discovery.is_mapping else "--mesh-graph-descriptor"
    argv = (str(generator), option, str(discovery.asked), "--output-dir", str(discovery.folder))
    common = {**passed_through(site), **managed(site)}
    common[contract.MESH_ID] = EnvVar("0", "discovery")
    common[contract.MESH_GRAPH_DESC_PATH] = EnvVar(str(discovery.asked), "discovery")
    if request.factory_system_descriptor is not None:
        found = PathSearch(site, Findings()).find(
            request.factory_system_descriptor, "factory system descriptor"
        )
        common[FACTORY_DESCRIPTOR] = EnvVar(str(found), "factory system descriptor")
    machines = [path for _, path in sorted(discovery.machines.items())]
    ranks = []
    for rank, host in enumerate(discovery.hosts or [site.hostname] * len(machines)):
        env = {**common, contract.RANK: EnvVar(str(rank), "rank")}
        if machines:
            env[contract.MOCK_CLUSTER_DESC_PATH] = EnvVar(str(machines[rank]), "mock cluster mapping")
        ranks.append(RankPlan(rank, argv, env, 0, host=host))
    placement = Placement(tuple(HostSlots(host) for host in discovery.hosts), source="--hosts")
    words = mpi_args if discovery.hosts or "--oversubscribe" in mpi_args else ("--oversubscribe", *mpi_args)
    return LaunchPlan(tuple(ranks), argv, site.cwd, placement, words, unset=BLOCKED)


def discover(
    discovery: Discovery, site: Site, run: Callable[[], str], *, refresh: bool, seconds: float = DEADLINE
) -> None:
    """Brings the folder of a discovery up to date; `run` starts the generator and says what went wrong, if anything.

    One launcher at a time. The key goes before the generator starts and comes back when every result is there, so that a
    run that was interrupted leaves nothing that looks whole. Raises LauncherError.
    """
    discovery.folder.mkdir(parents=True, exist_ok=True)
    with _locked(discovery.folder.with_name(f".{discovery.folder.name}.lock"), seconds):
        if discovery.is_known and not refresh:  # another launcher has just done it
            return
        _clear(discovery)
        trouble = run()
        if trouble:
            raise _failed("TTR511", f"Phase 1 (generate_rank_bindings) failed: {trouble}")
        if not discovery.is_whole:
            wanted = [f"{BINDINGS} or {MAPPING}", RANKFILE, *([MOCK] if discovery.machines else [])]
            raise _failed(
                "TTR511",
                f"Phase 1 output not found: generate_rank_bindings left no {', '.join(wanted)} in {discovery.folder}",
            )
        _name_hosts(discovery, site)
        partial = discovery.folder / f"{KEY_FILE}.tmp"
        partial.write_text(discovery.key + "\n", encoding="ascii")
        partial.replace(discovery.folder / KEY_FILE)


def _failed(code: str, message: str) -> LauncherError:
    return LauncherError(
        Diagnostic(code, message, help="add --no-discover to derive the ranks from the descriptor")
    )


def _clear(discovery: Discovery) -> None:
    """Takes the key away first, then the results of an earlier run; lays out what the generator and people read."""
    folder = discovery.folder
    for name in (KEY_FILE, BINDINGS, MAPPING, RANKFILE, MOCK, "placement.json"):
        with suppress(FileNotFoundError):
            (folder / name).unlink()
    for path in folder.glob("rank_bindings_subctx_*.yaml"):
        path.unlink()
    (folder / f"mgd{discovery.asked.suffix}").write_bytes(discovery.asked.read_bytes())
    if discovery.hosts:
        text = "".join(f"{host} slots=1\n" for host in discovery.hosts)
        (folder / "hostfile").write_text(text, encoding="utf-8")


def _name_hosts(discovery: Discovery, site: Site) -> None:
    """Real names in the rankfile: `localhost` means this machine, and so does every host of a mock cluster."""
    path = discovery.folder / RANKFILE
    read = read_rankfile(path, site, Findings())
    if read is None:
        return
    lines = tuple(
        RankfileLine(line.rank, site.hostname, line.slot)
        if discovery.machines or line.host == "localhost"
        else line
        for line in read.lines
    )
    path.write_text(Rankfile(lines).normal_text(), encoding="utf-8")


@contextmanager
def _locked(path: Path, seconds: float) -> Iterator[None]:
    """Holds the lock file, after waiting for another launcher for at most `seconds`. Raises LauncherError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + seconds
        while True:
            if take_lock(descriptor, wait=False):
                break
            if time.monotonic() > deadline:
                raise _failed("TTR512", f"another launch has discovered in {path.parent} for {seconds:.0f} s")
            time.sleep(_LOOK_EVERY)
        yield
    finally:
        os.close(descriptor)
