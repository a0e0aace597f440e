"""Messages of a program's own MPI, and tensors on sockets, that nobody has received when all ranks are over: they are forgotten without a word."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tt_run.rules import guard_rule

UNRECEIVED = "TTG010"
_MOST = 3
_LOOKS = 10  # each moves on what is still on its way, and only the next one sees it


def unreceived_tensors(rank: int, sends: Sequence[str]) -> str:
    """The sends of tensors that this rank's ends of sockets have never been asked for, as a warning; empty where there are none."""
    if not sends:
        return ""
    told = ", ".join(sends[:_MOST]) + f" and {len(sends) - _MOST} more" * (len(sends) > _MOST)
    return (
        f"warning[{UNRECEIVED}]: rank {rank} ended without receiving a tensor: {told}\n"
        "  help: ttnn.experimental.recv_async(tensor, socket) on the receiver's end of the socket for each that is sent, or do not send it"
    )


def unreceived(rank: int, size: int) -> str:
    """What this rank was sent, on the communicator of all ranks, and has not received, as a warning; empty where there is nothing. All ranks are over."""
    mpi: Any = sys.modules["mpi4py.MPI"]
    everyone = getattr(mpi, "_tt_run_raw", {}).get("COMM_WORLD", mpi.COMM_WORLD)
    status, found = mpi.Status(), {}
    for _ in range(_LOOKS):
        for source in range(size):
            if source not in found and everyone.Iprobe(source, mpi.ANY_TAG, status):
                found[source] = (
                    f"from rank {source} ({status.Get_count(mpi.BYTE)} bytes, tag {status.Get_tag()})"
                )
    if not found:
        return ""
    first = [found[source] for source in sorted(found)][:_MOST]
    told = ", ".join(first) + f" and {len(found) - _MOST} ranks more" * (len(found) > _MOST)
    return (
        f"warning[{UNRECEIVED}]: rank {rank} ended without receiving a message {told}\n"
        f"  help: {guard_rule(UNRECEIVED).help}"
    )
