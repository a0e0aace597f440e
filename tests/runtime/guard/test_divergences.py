"""Twelve mistakes that hang a cluster: each ends in one error on the ranks that wait, naming the culprit and its line."""

from __future__ import annotations

import functools
import re

import pytest

from tests.runtime.guard.programs import PROGRAMS, line_of_mistake, source
from tests.runtime.mpi import ROOT, Result, run_ranks
from tests.sweep import sweep

DESCRIPTORS = {2: "t3k_2x4_two_hosts", 4: "t3k_2x4_four_hosts"}
CODES = {
    "early-exit": "TTG002",
    "exception": "TTG003",
    "endless-loop": "TTG005",
    "point-to-point-cycle": "TTG004",
}


# Where two other ranks are right, wait for each other, or are not asked at all.
# The others differ from one of these in the word that is wrong; which words are, `test_diagnosis.py` shows.
QUICK = (
    "wrong-links",
    "exception",
    "early-exit",
    "endless-loop",
    "point-to-point-cycle",
)
ON_FOUR = ("skipped-call", "wrong-axis", "exception", "early-exit", "endless-loop", "point-to-point-cycle")


@functools.cache
def run(name: str, ranks: int) -> Result:
    """What a mistake ends in: each is launched once, whatever is looked at."""
    descriptor = ROOT / "configs" / "mgd" / f"{DESCRIPTORS[ranks]}.textproto"
    # Only a rank that never comes costs the deadline; all else is found at once, so that a busy machine changes no outcome.
    env = {
        "TT_MESH_GRAPH_DESC_PATH": str(descriptor),
        "TT_RUN_GUARD_TIMEOUT": "2" if name == "endless-loop" else "20",
    }
    return run_ranks(ranks, source(name), env=env, timeout=25)


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        *sweep(((name, 2) for name in PROGRAMS if name != "wrong-submesh"), quick=QUICK),
        *(pytest.param(name, 4, marks=pytest.mark.wide) for name in ON_FOUR),
    ],
)
def test_the_report_names_the_culprit_and_its_line(name: str, ranks: int) -> None:
    result = run(name, ranks)
    assert result.returncode == 1, result
    report = result.ranks[0].stderr
    assert f"error[{CODES.get(name, 'TTG001')}]" in report
    assert "Traceback" in report
    culprit = next(line for line in report.splitlines() if line.startswith("  rank 1: "))
    assert culprit.endswith("<-")
    assert f"program.py:{line_of_mistake(name)}" in culprit


@pytest.mark.parametrize(
    "name", sweep(["wrong-axis", "exception", "point-to-point-cycle"], quick=["wrong-axis"])
)
def test_every_waiting_rank_shows_the_same_report(name: str) -> None:
    result = run(name, 4)
    waiting = [rank for rank in range(4) if not (name == "exception" and rank == 1)]
    reports = {re.search(r"error\[TTG.*", result.ranks[rank].stderr, re.DOTALL) for rank in waiting}
    texts = {found.group(0).split("help:")[0] for found in reports if found}
    assert None not in reports
    assert len(texts) == 1


def test_a_wrong_submesh_over_the_same_ranks_is_a_divergence() -> None:
    """Both halves of the mesh lie on both ranks: the ranks meet, and say that they mean different devices."""
    report = run("wrong-submesh", 2).ranks[0].stderr
    assert "error[TTG001]: ranks 0 and 1 disagree on call 3: mesh" in report
    assert "on 1x4 at 4 of mesh 0" in report
    assert f"program.py:{line_of_mistake('wrong-submesh')}" in report


@pytest.mark.wide
def test_a_wrong_submesh_on_other_ranks_is_a_deadlock() -> None:
    """Each half lies on two of the four ranks: rank 0 waits for rank 1, which went on and waits for rank 0."""
    report = run("wrong-submesh", 4).ranks[0].stderr
    assert "error[TTG004]" in report
    line, tail = line_of_mistake("wrong-submesh"), line_of_mistake("wrong-submesh") + 2
    assert "rank 0 waits for rank 1 in all_gather" in report
    assert f"program.py:{line}" in report
    assert f"program.py:{tail}" in report


NAMED = {
    "wrong-topology": "topology",
    "wrong-links": "num_links",
    "wrong-memory": "memory_config",
    "input-elsewhere": "input memory",
    "wrong-root": "sender",
}


@pytest.mark.parametrize("name", sweep(NAMED, quick=["wrong-links"]))
def test_what_only_hardware_minds_is_named_too(name: str) -> None:
    report = run(name, 2).ranks[0].stderr
    assert f"error[TTG001]: ranks 0 and 1 disagree on call 3: {NAMED[name]}\n" in report


MESSAGES = """
import ttnn
ttnn.init_distributed_context()
rank = int(ttnn.distributed_context_get_rank())
for size in SIZES:
    if rank == 0:
        ttnn.distributed_context_send_bytes(bytes(size[0]), 1)
    else:
        print(len(ttnn.distributed_context_recv_bytes(size[1], 0)))
ttnn.distributed_context_barrier()
"""


@pytest.mark.parametrize(
    ("sent", "received"), sweep([(16, 32), (32, 16), (0, 8), (8, 0), (1 << 20, 8)], quick=[16])
)
def test_a_message_of_another_size_names_both_lines(sent: int, received: int) -> None:
    result = run_ranks(2, MESSAGES.replace("SIZES", f"[(5, 5), ({sent}, {received})]"), timeout=25)
    assert result.returncode == 1
    assert result.ranks[1].stdout == "5\n"
    report = result.ranks[1].stderr
    assert f"rank 0 sent {sent} bytes at " in report and "program.py:7, rank 1 receives" in report
    assert f"{received} bytes at" in report and "program.py:9" in report


PIPELINE = """
import sys
import ttnn
ttnn.init_distributed_context()
rank, size = int(ttnn.distributed_context_get_rank()), int(ttnn.distributed_context_get_size())
for step in range(3):
    if rank == 0:
        ttnn.distributed_context_send_bytes(b"token", 1)
    else:
        ttnn.distributed_context_recv_bytes(5, 0)
if rank == 0:
    sys.exit(0)
ttnn.distributed_context_recv_bytes(5, 0)
"""


def test_messages_count_as_calls() -> None:
    result = run_ranks(2, PIPELINE, timeout=25)
    report = result.ranks[1].stderr
    assert "error[TTG002]" in report
    assert re.search(
        r"rank 0: ended at .* after 3 calls; its last call was distributed_context_send_bytes", report
    )


SOCKETS = """
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
rank = int(ttnn.distributed_context_get_rank()) if ttnn.distributed_context_is_initialized() else 0
core = ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 0), ttnn.CoreCoord(0, 0))
far = ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 2), ttnn.CoreCoord(0, 0))
memory = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096)
def pair(sender, receiver):
    ends = (core, far) if sender == 0 else (far, core)
    return ttnn.MeshSocket(mesh, ttnn.SocketConfig([ttnn.SocketConnection(*ends)], memory, sender_rank=sender, receiver_rank=receiver))
for ends in ((0, 1), (1, 0)) if rank == 0 else ((1, 0), (0, 1)):
    pair(*ends)
"""


def test_sockets_made_in_another_order_speak_of_the_order() -> None:
    env = {"TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs" / "mgd" / f"{DESCRIPTORS[2]}.textproto")}
    report = run_ranks(2, SOCKETS, env=env, timeout=25).ranks[0].stderr
    assert "error[TTG001]: ranks 0 and 1 disagree on call 2: connections, sender or receiver" in report
    assert "in the order in which each makes them" in report
