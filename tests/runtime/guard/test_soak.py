"""Right programs raise nothing: a random schedule that all ranks share, each rank late at random."""

from __future__ import annotations

import pytest

from tests.runtime.mpi import run_ranks

PROGRAM = """
import random, sys, time
import numpy as np
from tt_run.runtime import guard
from tt_run.runtime.comm.world import world
guard.start()
w = world()
shared, own = random.Random(int(sys.argv[1])), random.Random(w.rank)
ends = time.monotonic() + float(sys.argv[2])
steps, on = 0, True
while on:
    steps += 1
    for _ in range(20):
        members = tuple(sorted(shared.sample(range(w.size), shared.randint(2, w.size))))
        kind, size, tag = shared.choice(("meet", "message", "ring")), shared.choice((1, 1 << 10, 1 << 17)), shared.randint(0, 3)
        if own.random() < 0.1:
            time.sleep(own.random() * 0.15)
        if w.rank not in members:
            continue
        group = w.group(members)
        if kind == "meet" or not group.connected:
            guard.collective(group, guard.Signature("meet", shape=(steps, tag)))
        elif kind == "message":
            if w.rank == members[0]:
                sent = guard.isend(group, np.full(size, steps), 1, tag)
                if own.random() < 0.5:
                    guard.wait(sent)
            elif w.rank == members[1]:
                got = guard.irecv(group, np.empty(size, np.int64), 0, tag)
                guard.wait(got)
                assert (got.pending.buffer == steps).all()
        else:
            n, r = group.size, group.rank
            got = guard.irecv(group, np.empty(size, np.int64), (r - 1) % n, 10 + tag)
            sent = guard.isend(group, np.full(size, r), (r + 1) % n, 10 + tag)
            guard.wait(sent)
            guard.wait(got)
            assert (got.pending.buffer == (r - 1) % n).all()
    guard.collective(w.everyone, guard.Signature("round"))
    on = w.everyone.allgather_bytes(b"go on" if time.monotonic() < ends else b"")[0] == b"go on"
print("steps", steps)
"""


@pytest.mark.wide
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_random_schedule_with_late_ranks(ranks: int) -> None:
    result = run_ranks(
        ranks, PROGRAM, str(ranks), "2", env={"TT_RUN_GUARD_TIMEOUT": "20"}, timeout=40
    ).check()
    assert len(set(result.stdout.splitlines())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_random_schedules(seed: int) -> None:
    result = run_ranks(4, PROGRAM, str(seed), "25", env={"TT_RUN_GUARD_TIMEOUT": "20"}, timeout=80).check()
    assert len(set(result.stdout.splitlines())) == 1
