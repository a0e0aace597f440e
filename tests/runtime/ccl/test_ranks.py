"""Collectives over real MPI ranks: right on every device, and with the bits of one rank."""

from pathlib import Path

import pytest

from tests.runtime.mpi import ROOT, mpirun, run_ranks

PROGRAM = Path(__file__).with_name("program.py")
DESCRIPTORS = {
    1: "t3k_mesh_graph_descriptor.textproto",
    2: "t3k_2x4_two_hosts.textproto",
    4: "t3k_2x4_four_hosts.textproto",
}

pytestmark = pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")


def digests(ranks, *words):
    descriptor = str(ROOT / "configs" / "mgd" / DESCRIPTORS[ranks])
    result = run_ranks(
        ranks, PROGRAM, *words, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}, timeout=110
    ).check()
    lines = [
        line.split()
        for rank in result.ranks
        for line in rank.stdout.splitlines()
        if line.startswith("digest")
    ]
    assert len({(label, device) for _, label, device, _ in lines}) == len(lines)
    return {(label, device): digest for _, label, device, digest in lines}


@pytest.fixture(scope="module")
def one_rank():
    found = digests(1)
    assert len(found) > 8 * 100
    return found


def test_every_collective_has_the_bits_of_one_rank(one_rank):
    """Four ranks cut the mesh along both axes."""
    assert digests(4) == one_rank


@pytest.mark.wide
def test_two_ranks_on_hosts_of_their_own_give_the_same_bits(one_rank):
    assert digests(2, "--apart") == one_rank
