"""Services between real MPI ranks; what hangs on hardware is an error with both lines."""

from pathlib import Path

import pytest

from tests.runtime.mpi import ROOT, mpirun, run_ranks

PROGRAM = Path(__file__).with_name("pipeline_program.py")
DESCRIPTOR = str(ROOT / "configs" / "mgd" / "t3k_2x2_two_meshes.textproto")
VISIBLE = ("0,1", "2,3")

pytestmark = pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")


def run(program, *args):
    return run_ranks(
        2,
        program,
        *args,
        env={"TT_MESH_GRAPH_DESC_PATH": DESCRIPTOR, "TT_RUN_GUARD_TIMEOUT": "3"},
        rank_env=lambda r: {"TT_MESH_ID": str(r), "TT_MESH_HOST_RANK": "0", "TT_VISIBLE_DEVICES": VISIBLE[r]},
        timeout=40,
    )


def test_host_to_mesh_to_mesh_to_host():
    first, second = run(PROGRAM).check().ranks
    assert first.stdout.split() == ["rank", "0", "done"]
    assert second.stdout.splitlines() == ["finished [0, 1, 2]", "rank 1 done"]


HEAD = """
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
rank = int(ttnn.distributed_context_get_rank())
cores = ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))
def made(rows, metadata, **ranks):
    spec = ttnn.TensorSpec((rows, 32), ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)
    mapper = ttnn.ReplicateTensorToMesh(mesh)
    make = ttnn.D2DStreamService.create_sender if rank == 0 else ttnn.D2DStreamService.create_receiver
    end = {"sender_mesh": mesh} if rank == 0 else {"receiver_mesh": mesh}
    ends = {"sender_rank": 0, "receiver_rank": 1, **ranks}
    return make(**end, global_spec=spec, mapper=mapper, fifo_size_bytes=4096, sender_worker_cores=cores,
                receiver_worker_cores=cores, metadata_size_bytes=metadata, **ends)
inbound = ttnn.experimental.deepseek_prefill.inbound_socket_service_sync
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("made(4 + rank, 0)\n", ["D2DStreamService", "shape [4, 32]", "shape [5, 32]"]),
        pytest.param(
            "made(4, 12 * rank)\n", ["0 bytes of metadata", "12 bytes of metadata"], marks=pytest.mark.wide
        ),
        pytest.param("if rank == 0: made(4, 0)\n", ["D2DStreamService", "rank 1"], marks=pytest.mark.wide),
        pytest.param(
            "made(4, 0, sender_rank=1, receiver_rank=0)\n",
            ["sender_rank is 1, and this is rank 0"],
            marks=pytest.mark.wide,
        ),
        # The sender hands nothing over.
        pytest.param(
            "end = made(4, 0)\nend.release_fabric_links()\nif rank: print(ttnn.get_device_tensors(inbound(end)[0])[0].cpu())\n",
            ["rank 0 ended before recv_async", "program.py"],
            marks=pytest.mark.wide,
        ),
    ],
)
def test_what_hangs_is_an_error(tmp_path, body, wanted):
    program = tmp_path / "program.py"
    program.write_text(HEAD + body)
    result = run(program)
    assert result.returncode != 0
    told = result.stderr + "".join(rank.stderr for rank in result.ranks)
    for part in wanted:
        assert part in told, told
