"""Which ranks of this host have not started the runtime, and where they are: read from the run folder, whose hook every rank runs."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tt_run import contract

_ANSWER_SECONDS = 2.0  # a rank in a long call of a library dumps its stack all the same
_REGISTERED = r"^# registered pid=(\d+)$"
_FRAME = r'^  File "(.*)", line (\d+) in (.*)$'
_NOT_THE_USERS = r"/site-packages/|/lib/python3\.\d+/|/tt_run/runtime/|^<frozen"


_whole: dict[tuple[str, str], list[int]] = {}


def world_ranks(local_ranks: Sequence[int], environment: Mapping[str, str]) -> list[int]:
    """The ranks of the job that are these local ranks of this host; empty without a run folder of the launcher's.

    Open MPI numbers the ranks of a host in the order of their ranks in the job.
    """
    folder, mine = environment.get(contract.RUN_DIR), environment.get("OMPI_COMM_WORLD_RANK", "")
    if not folder or not mine.isdigit():
        return []
    here = _whole.get((folder, mine)) or _ranks_of_host(folder, int(mine))
    if str(len(here)) == environment.get("OMPI_COMM_WORLD_LOCAL_SIZE"):  # all are known, once and for all
        _whole[folder, mine] = here
    return [here[local] for local in local_ranks] if max(local_ranks, default=0) < len(here) else []


def _ranks_of_host(folder: str, mine: int) -> list[int]:
    """The ranks of the job that run where this one does, as far as their wrappers have told."""
    hosts: dict[int, str] = {}
    for path in Path(folder).glob("rank-*.status"):
        found = re.search(r"^host=(.*)$", _read(path), re.MULTILINE)
        if found:
            hosts[int(path.name.split("-")[1].split(".")[0])] = found[1]
    return sorted(rank for rank, host in hosts.items() if host == hosts.get(mine))


def processes_of(local_ranks: Sequence[int], environment: Mapping[str, str]) -> list[int]:
    """The processes of these local ranks of this host, as far as their hooks have told."""
    folder = environment.get(contract.RUN_DIR, "")
    told = [
        _process(_read(Path(folder) / contract.STACKS_FILE.format(rank=rank)))
        for rank in world_ranks(local_ranks, environment)
    ]
    return [pid for pid in told if pid is not None]


def _process(stacks: str) -> int | None:
    """The last Python of a rank that runs, of those that have registered."""
    pids = [int(pid) for pid in re.findall(_REGISTERED, stacks, re.MULTILINE)]
    return next((pid for pid in reversed(pids) if Path(f"/proc/{pid}").exists()), None)


def at_their_end(local_ranks: Sequence[int], environment: Mapping[str, str]) -> list[int]:
    """Those of these local ranks of this host whose programs have ended."""
    ranks = world_ranks(local_ranks, environment)
    return [
        local for local, rank in zip(local_ranks, ranks, strict=bool(ranks)) if has_ended(rank, environment)
    ]


def has_ended(rank: int, environment: Mapping[str, str]) -> bool:
    """Whether the program of a rank has come to its end; one that raised an exception tells of that itself."""
    folder = Path(environment.get(contract.RUN_DIR, ""))
    ending, failure = (
        folder / name.format(rank=rank) for name in (contract.ENDING_FILE, contract.FAILURE_FILE)
    )
    return ending.exists() and not failure.exists()


def place_of(rank: int, environment: Mapping[str, str]) -> str:
    """`file:line in function` of the user's program where a rank of this host is now; empty when it does not say."""
    path = Path(environment[contract.RUN_DIR]) / contract.STACKS_FILE.format(rank=rank)
    before = _read(path)
    registered = _process(before)
    if registered is None:
        return ""
    if not contract.ask_stacks(registered):
        return ""
    deadline = time.monotonic() + _ANSWER_SECONDS
    place = ""
    while not place and time.monotonic() < deadline:
        time.sleep(0.02)
        place = _place(_read(path)[len(before) :])
    return place


def _place(dump: str) -> str:
    """The innermost line of the user's in the main thread, which faulthandler lists last."""
    *_, main = dump.split("(most recent call first):\n") if "(most recent" in dump else ("",)
    for line in main.splitlines():
        found = re.match(_FRAME, line)
        if found and not re.search(_NOT_THE_USERS, found[1]):
            return f"{found[1]}:{found[2]} in {found[3]}"
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
