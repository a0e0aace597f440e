"""How ranks end: failure records, exit codes, slow peers that are no error, and the guard switched off."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.runtime.mpi import run_ranks

COMMON = """
import sys, time
import numpy as np
from tt_run.runtime import guard
from tt_run.runtime.comm.world import world
guard.start()
w = world()
meet = lambda: guard.collective(w.everyone, guard.Signature("meet"))
meet()
"""


def test_an_uncaught_exception_ends_the_job_and_leaves_a_record(tmp_path: Path) -> None:
    program = COMMON + "if w.rank == 1:\n    {}['missing']\nmeet()\n"
    result = run_ranks(2, program, env={"TT_RUN_DIR": str(tmp_path)})
    assert result.returncode == 1
    assert "KeyError: 'missing'" in result.ranks[1].stderr
    assert "[rank 1]" not in result.ranks[1].stderr  # tt-run, whose folder that is, says which rank it was
    culprit, victim = (json.loads((tmp_path / f"rank-000{r}.failure.json").read_text()) for r in (1, 0))
    assert (culprit["exception"], culprit["line"], culprit["guard"]) == ("KeyError", 11, None)
    assert culprit["file"].endswith("program.py")
    assert "{}['missing']" in culprit["traceback"]
    assert culprit["last_collective"].startswith("meet() at ")
    assert victim["guard"] == {"code": "TTG003", "culprits": [1]}


@pytest.mark.wide
def test_internal_frames_do_not_show_in_the_report() -> None:
    result = run_ranks(2, COMMON + "if w.rank == 0:\n    meet()\n")
    assert result.returncode == 1
    assert result.ranks[0].stderr.startswith("[rank 0] uncaught GuardError\n")
    assert "rank 1: ended at the end of its program after 1 call" in result.ranks[0].stderr
    assert "watch.py" not in result.ranks[0].stderr


def test_a_message_that_nobody_received_is_told() -> None:
    """One that left at once, and one that waits for its receiver; what was received is none, and the ranks have ended well."""
    program = (
        "import numpy as np\nimport ttnn\nfrom mpi4py import MPI\nttnn.init_distributed_context()\n"
        "comm = MPI.COMM_WORLD\n"
        "if comm.rank == 0:\n    comm.send('seen', 1, 2)\n    comm.send('lost', 1, 3)\n"
        "if comm.rank == 1:\n    comm.recv(source=0, tag=2)\n    request = comm.Isend(np.zeros(1 << 18), 2)\n"
        "comm.Barrier()\nprint('fine')\n"
    )
    result = run_ranks(3, program).check()
    assert result.stdout.split() == ["fine"] * 3
    assert (
        "warning[TTG010]: rank 1 ended without receiving a message from rank 0 (19 bytes, tag 3)"
        in result.ranks[1].stderr
    )
    assert (
        "rank 2 ended without receiving a message from rank 1 (2097152 bytes, tag 0)"
        in result.ranks[2].stderr
    )
    assert not result.ranks[0].stderr


@pytest.mark.wide
@pytest.mark.parametrize("received", ["pass", "comm.recv(source=0, tag=2)"])
def test_a_message_that_nobody_received_is_told_where_it_was_the_last(received: str) -> None:
    """No call of its receiver has moved it out of its way yet."""
    program = (
        "import ttnn\nfrom mpi4py import MPI\nttnn.init_distributed_context()\ncomm = MPI.COMM_WORLD\n"
        "if comm.rank == 0:\n    comm.send('seen', 1, 2)\n    comm.send('lost', 1, 3)\n"
        f"if comm.rank == 1:\n    {received}\n"
    )
    told = run_ranks(2, program).check().ranks[1].stderr
    tag = 2 if received == "pass" else 3
    assert (
        f"warning[TTG010]: rank 1 ended without receiving a message from rank 0 (19 bytes, tag {tag})" in told
    )


@pytest.mark.wide
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root")
def test_a_rank_that_has_changed_its_root_ends_well(tmp_path: Path) -> None:
    """What is imported late is no longer found."""
    program = f"import os\nif w.rank == 1:\n    os.chroot({str(tmp_path)!r})\nmeet()\n"
    assert not run_ranks(2, COMMON + program).check().ranks[1].stderr


def test_the_line_of_sys_exit_is_told() -> None:
    result = run_ranks(2, COMMON + "if w.rank == 1:\n    sys.exit(0)\nmeet()\n")
    assert "program.py:11 after 1 call" in result.ranks[0].stderr


@pytest.mark.wide
def test_ranks_that_end_at_different_times_are_no_error() -> None:
    program = COMMON + "if w.rank == 1:\n    while time.monotonic() % 1 > 0.05: pass\nprint('fine')\n"
    assert run_ranks(4, program).check().stdout.split() == ["fine"] * 4


# What is no error between two ranks, one after the other in one launch.
RIGHT = {
    "a slow rank within the deadline": (
        "start = time.monotonic()\nwhile w.rank == 1 and time.monotonic() - start < 1: pass\nmeet()\n"
    ),
    "an exit that was caught": "try:\n    sys.exit(3)\nexcept SystemExit:\n    pass\nmeet()\n",
    "messages waited for in any order": (
        "n, r = w.size, w.rank\n"
        "sends = [guard.isend(w.everyone, np.full(1 << 18, r), (r + 1) % n, tag) for tag in (1, 2)]\n"
        "receives = [guard.irecv(w.everyone, np.empty(1 << 18, np.int64), (r - 1) % n, tag) for tag in (2, 1)]\n"
        "for transfer in (*receives, *sends):\n"
        "    guard.wait(transfer)\n"
        "assert all((t.pending.buffer == (r - 1) % n).all() for t in receives)\n"
        "meet()\n"
    ),
    # Rank 0 has sent and goes on to a collective; the message is too long to leave without its help.
    "a message that moves on while its sender waits elsewhere": (
        "if w.rank == 0:\n"
        "    sent = guard.isend(w.everyone, np.arange(1 << 20), 1)\n"
        "else:\n"
        "    receive = guard.irecv(w.everyone, np.empty(1 << 20, np.int64), 0)\n"
        "    guard.wait(receive)\n"
        "    assert receive.pending.buffer[-1] == (1 << 20) - 1\n"
        "meet()\n"
    ),
    "a forked child is no rank": (
        "import os\n"
        "for ending in ('sys.exit(0)', 'raise ValueError'):\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        exec(ending)\n"
        "    os.waitpid(child, 0)\n"
        "meet()\n"
    ),
}


def test_what_is_no_error_between_two_ranks() -> None:
    program = COMMON + "".join(f"{body}print({name!r}, flush=True)\n" for name, body in RIGHT.items())
    ran = run_ranks(2, program).check()
    assert [rank.stdout.splitlines() for rank in ran.ranks] == [[*RIGHT]] * 2


def test_every_rank_keeps_its_own_exit_code() -> None:
    result = run_ranks(2, COMMON + "sys.exit(3)\n")
    assert result.returncode == 3


def test_the_exit_code_of_one_rank_is_that_of_the_job() -> None:
    for meets, others in ((True, "meet()"), (False, "while True: pass")):
        result = run_ranks(2, COMMON + f"if w.rank == 1:\n    sys.exit(3)\n{others}\n", timeout=20)
        assert result.returncode == 3
        assert ("rank 1: ended at " in result.ranks[0].stderr) == meets
        assert ("with exit code 3 after 1 call" in result.ranks[0].stderr) == meets


def test_without_the_guard_an_exception_still_ends_the_job() -> None:
    program = COMMON + "if w.rank == 1:\n    raise ValueError('x')\nw.everyone.barrier()\n"
    result = run_ranks(2, program, env={"TT_RUN_GUARD": "off"}, timeout=15)
    assert result.returncode == 1
    assert "ValueError: x" in result.ranks[1].stderr


def test_many_collectives_on_changing_groups() -> None:
    program = COMMON + (
        "halves = [w.group((0, 1)), w.group((2, 3)), w.group((0, 2)), w.group((1, 3)), w.everyone]\n"
        "for step in range(100):\n"
        "    for group in halves:\n"
        "        if group.is_member:\n"
        "            guard.collective(group, guard.Signature('step', shape=(step,)))\n"
        "print('fine')\n"
    )
    assert run_ranks(4, program).check().stdout.split() == ["fine"] * 4


def test_a_timeout_that_is_no_number_is_an_error() -> None:
    result = run_ranks(2, COMMON, env={"TT_RUN_GUARD_TIMEOUT": "soon"})
    assert result.returncode != 0
    # The first rank that says so may end the other before it has.
    assert any("TT_RUN_GUARD_TIMEOUT='soon' is not a positive number" in rank.stderr for rank in result.ranks)


def test_a_child_that_does_what_ranks_do_is_refused() -> None:
    program = COMMON + (
        "import multiprocessing, os, subprocess\n"
        "child = multiprocessing.get_context('fork').Process(target=meet)\n"
        "child.start(), child.join()\n"
        "begun = subprocess.run([sys.executable, '-c', 'from tt_run.runtime import guard; guard.start()'])\n"
        "meet()\nprint(child.exitcode, begun.returncode, 'TT_RUN_RANK_PROCESS' in os.environ)\n"
    )
    ran = run_ranks(2, program).check()
    assert ran.stdout.splitlines() == ["1 1 False"] * 2
    for rank in ran.ranks:
        assert "This process was forked off a rank (process" in rank.stderr
        assert "This process was started by a rank (process" in rank.stderr


@pytest.mark.wide
def test_one_rank_alone_may_write_the_report_until_it_ends() -> None:
    program = COMMON + (
        "whereabouts = guard._guard.whereabouts\n"
        "mine = whereabouts.claim_verdict()\n"
        "assert whereabouts.claim_verdict() == mine\n"
        "meet()\nprint(mine)\n"
    )
    claims = run_ranks(4, program).check().stdout.split()
    assert sorted(claims) == ["False", "False", "False", "True"]


@pytest.mark.wide
def test_a_rank_that_did_its_part_and_ended_is_not_called_early() -> None:
    """Rank 1 looks who is missing, loses the processor for a while, and finds rank 0 ended: with its part done in between."""
    program = COMMON + (
        "part = w.group((0, 1)).shared_block(8).memory\n"
        "if w.rank == 0:\n"
        "    time.sleep(0.3)\n"
        "    part[0] = 1\n"
        "    sys.exit(0)\n"
        "whereabouts = guard._guard.whereabouts\n"
        "known = whereabouts.known\n"
        "def late():\n"
        "    time.sleep(0.6)\n"
        "    return known()\n"
        "whereabouts.known = late\n"
        "guard.until(lambda: part[0] == 1, 'the data', lambda: () if part[0] else (0,))\n"
        "print('fine')\n"
    )
    assert run_ranks(2, program).check().stdout.split() == ["fine"]


@pytest.mark.wide
def test_a_rank_that_shuts_mpi_down_itself_is_waited_for_by_nobody() -> None:
    program = COMMON + (
        "from mpi4py import MPI\n"
        "if w.rank == 1:\n    MPI.Finalize()\n    assert MPI.Is_finalized()\n"
        "elif w.rank == 2:\n    guard.collective(w.group([2]), guard.Signature('alone'))\n    MPI.Finalize()\n"
        "print('fine')\n"
    )
    assert run_ranks(4, program, timeout=25).check().stdout.split() == ["fine"] * 4


@pytest.mark.wide
def test_a_rank_that_shut_mpi_down_is_named_by_those_that_meet() -> None:
    program = COMMON + "from mpi4py import MPI\nif w.rank == 1:\n    MPI.Finalize()\nmeet()\n"
    result = run_ranks(2, program, timeout=25)
    assert result.returncode != 0
    assert "error[TTG002]" in result.ranks[0].stderr
    assert (
        "rank 1: ended at" in result.ranks[0].stderr
        and "program.py:12 after 1 call" in result.ranks[0].stderr
    )


@pytest.mark.wide
def test_what_comes_after_mpi_was_shut_down_keeps_its_code(tmp_path: Path) -> None:
    program = COMMON + "from mpi4py import MPI\nMPI.Finalize()\nif w.rank == 1:\n    sys.exit(3)\n"
    assert run_ranks(2, program, timeout=25).returncode == 3
    program = COMMON + "from mpi4py import MPI\nMPI.Finalize()\nif w.rank == 1:\n    {}['missing']\n"
    result = run_ranks(2, program, env={"TT_RUN_DIR": str(tmp_path)}, timeout=25)
    assert result.returncode == 1 and "KeyError: 'missing'" in result.ranks[1].stderr
    assert json.loads((tmp_path / "rank-0001.failure.json").read_text())["exception"] == "KeyError"
