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


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.wide)])
def test_every_collective_has_the_bits_of_one_rank(one_rank, ranks):
    """Four ranks cut the mesh along both axes."""
    assert digests_over(ranks) == one_rank


@pytest.mark.wide
def test_two_ranks_on_hosts_of_their_own_give_the_same_bits(one_rank):
    assert digests_over(2, "--apart") == one_rank


GONE = """
import numpy as np
import ttnn

mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
tensor = ttnn.from_torch(np.ones((1, 1, 32, 64), np.float32), layout=ttnn.TILE_LAYOUT, device=mesh)
ttnn.deallocate(tensor)
for attempt in (tensor.device_coords, lambda: ttnn.mesh_partition(tensor, 3, 1)):
    try:
        attempt()
    except RuntimeError as error:
        print("Tensor is not allocated." in str(error))
"""


@pytest.mark.wide
def test_a_tensor_that_is_gone_is_refused_by_the_words_of_one_rank():
    """And by `mesh_partition`, which asks only where it lies, before it cuts."""
    descriptor = str(ROOT / "configs" / "mgd" / DESCRIPTORS[2])
    result = run_ranks(2, GONE, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}).check()
    assert [rank.stdout.split() for rank in result.ranks] == [["True", "True"]] * 2


NUMBERS = """
import numpy as np
import ttnn

mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
for seed in range(6):
    values = np.random.default_rng(seed).integers(-50, 50, 8).astype(np.float32)
    row = ttnn.from_torch(values, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=ttnn.ShardTensorToMesh(mesh, 0))
    total = ttnn.all_reduce(ttnn.reshape(row, []))
    print(all(shard == values.sum() for shard in total.shards.each()))
"""


@pytest.mark.wide
@pytest.mark.parametrize("ranks", [2, 4])
def test_numbers_are_summed_over_ranks(ranks):
    """The rows of a stack of numbers are copies: what another rank wrote was not read, and sums went nowhere."""
    descriptor = str(ROOT / "configs" / "mgd" / DESCRIPTORS[ranks])
    result = run_ranks(ranks, NUMBERS, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}).check()
    assert [rank.stdout.split() for rank in result.ranks] == [["True"] * 6] * ranks
