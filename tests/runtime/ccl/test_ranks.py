"""Collectives over real MPI ranks: right on every device, and with the bits of one rank."""

from pathlib import Path

import pytest

from tests.runtime.ccl.here import digests, here
from tests.runtime.mpi import ROOT, mpirun, run_ranks
from tt_run.runtime.ccl.exchange import sums, window

PROGRAM = Path(__file__).with_name("program.py")
DESCRIPTORS = {
    2: "t3k_2x4_two_hosts.textproto",
    4: "t3k_2x4_four_hosts.textproto",
}

pytestmark = pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")


def digests_over(ranks, *words):
    descriptor = str(ROOT / "configs" / "mgd" / DESCRIPTORS[ranks])
    result = run_ranks(
        ranks, PROGRAM, *words, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}, timeout=110
    ).check()
    return digests(line for rank in result.ranks for line in rank.stdout.splitlines())


@pytest.fixture(scope="module")
def one_rank():
    """Of this process."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (window, sums):
            patch.setattr(module, "PIECE", module.PIECE)  # which the program makes smaller
        found = digests(here(PROGRAM).splitlines())
    assert len(found) > 8 * 100
    return found


def test_every_collective_has_the_bits_of_one_rank(one_rank):
    """Four ranks cut the mesh along both axes."""
    assert digests_over(4) == one_rank


@pytest.mark.wide
def test_two_ranks_on_hosts_of_their_own_give_the_same_bits(one_rank):
    assert digests_over(2, "--apart") == one_rank
