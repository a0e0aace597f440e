"""Recorded runs of real ranks, and each rank again alone: the same output, without MPI."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.launch import ROOT, Ran, tt_run

SPLIT = ("--emulate", "--system", "t3000", "--split", "1x2")


def replay(*words: str | Path, cwd: Path = ROOT, timeout: float = 60) -> Ran:
    return tt_run("replay", *words, cwd=cwd, timeout=timeout)


def check_replays(record: Path, logs: Path, ranks: int, code: int = 0) -> list[Ran]:
    """Each rank alone prints what it printed in the run."""
    found = []
    for rank in range(ranks):
        ran = replay(record, "--rank", str(rank))
        assert ran.code == code, ran.err
        assert ran.out == (logs / f"rank-{rank:04d}.out").read_text()
        found.append(ran)
    return found


# What a rank receives, and what it draws: everything of which a replay has to know.
PROGRAM = """
import hashlib, os, random, sys, uuid
import numpy as np
sys.modules["torch"] = None  # loading it would take longer than all of this
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
print(random.random(), np.random.rand(), np.random.default_rng().random(), random.Random().random(), uuid.uuid4())
print(hash("text"), sys.argv[1:], os.environ["MINE"], os.getcwd())
print([(name, value) for name, value in sorted(os.environ.items()) if name.startswith(("TT_RUN_", "PMIX_", "OMPI_"))])
def show(tensor):
    whole = ttnn.to_torch(tensor, mesh_composer=ttnn.ConcatMeshToTensor(mesh, 0))
    print(tuple(whole.shape), hashlib.sha256(np.asarray(whole, np.float32).tobytes()).hexdigest())
rank = int(ttnn.distributed_context_get_rank())
host = ttnn.from_torch(np.random.default_rng(3).normal(size=(2, 4, 64, 64)).astype(np.float32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
tensor = ttnn.to_device(ttnn.distribute_tensor(host, ttnn.create_mesh_mapper(mesh, ttnn.MeshMapperConfig([ttnn.PlacementShard(0), ttnn.PlacementShard(1)]))), mesh)
show(ttnn.all_gather(tensor, 3, cluster_axis=1))
show(ttnn.all_reduce(tensor, cluster_axis=1))
show(ttnn.reduce_scatter(tensor, 3, cluster_axis=1))
print(ttnn.distributed_context_allgather_int(rank + 5))
if rank == 0:
    ttnn.distributed_context_send_bytes(b"to the other rank" * 100, 1, 3)
else:
    print(hashlib.sha256(ttnn.distributed_context_recv_bytes(1700, 0, 3)).hexdigest())
ttnn.distributed_context_barrier()
from mpi4py import MPI
comm = MPI.COMM_WORLD
print(comm.allreduce(rank + 1, op=MPI.SUM), comm.bcast({"from": rank}, root=1), comm.scatter([3, 4] if rank == 0 else None, root=0))
mine, total = np.arange(3.0) * (rank + 1), np.empty(3)
comm.Allreduce(mine, total, op=MPI.MAX)
print(total, comm.Split(0, key=-rank).allgather(rank))
if rank == 0:
    comm.send({"text": "x"}, dest=1, tag=3)
    comm.Send([mine, MPI.DOUBLE], dest=1, tag=4)
else:
    status = MPI.Status()
    print(comm.recv(source=MPI.ANY_SOURCE, tag=3, status=status), status.Get_source())
    comm.Recv([total, MPI.DOUBLE], source=0, tag=4)
    print(total)
import datetime, time
print(time.time(), time.perf_counter_ns(), time.ctime(), datetime.datetime.now(), isinstance(datetime.datetime(2026, 1, 2), datetime.date))
requests = [comm.irecv(source=1 - rank, tag=5), comm.isend({"from": rank, "at": time.monotonic()}, dest=1 - rank, tag=5)]
print(MPI.Request.waitall(requests))
coming, status = comm.Irecv(total, source=MPI.ANY_SOURCE), MPI.Status()
comm.Send(mine, dest=1 - rank)
coming.Wait(status)
print(total, status.Get_source(), status.Get_count(MPI.DOUBLE))
# What fits into one number in Python, and is not the same.
print(comm.bcast(0), comm.bcast(False), comm.bcast(0.0), comm.bcast(-0.0), comm.iprobe())
# Memory that nobody has set is not what a call sends.
hollow = np.empty(50) if rank else np.full(50, 7.0)
comm.Bcast(hollow)
fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3) * rank)
comm.Bcast(fortran, root=1)
print(hollow.sum(), fortran)
for number in range(2):
    prepared = [comm.Send_init(mine, dest=1 - rank), comm.Recv_init(total, source=1 - rank)] if number == 0 else prepared
    mine += number
    MPI.Prequest.Startall(prepared)
    MPI.Request.Waitall(prepared)
    print(total)
flying = [comm.irecv(source=1 - rank, tag=6), comm.isend(rank, dest=1 - rank, tag=6)]
print(sorted(MPI.Request.waitany(flying)[0] for _ in flying), MPI.Request.Waitsome(flying), flying[0] == MPI.REQUEST_NULL)
comm.isend("found", dest=1 - rank, tag=8).wait()
print(comm.mprobe(tag=8).recv())
grid = comm.Create_cart([2], periods=[True])
half = comm.Create_group(comm.Get_group().Incl([rank]))
print(grid.Get_coords(rank), grid.Shift(0, 1), half.allgather(rank), comm.Split(MPI.UNDEFINED) == MPI.COMM_NULL, MPI.DOUBLE.Create_vector(2, 1, 3).Get_size())
memory, fetched = np.zeros(2), np.empty(2)
window = MPI.Win.Create(memory, comm=comm)
window.Lock(1 - rank)
window.Put(np.full(2, rank + 1.0), 1 - rank)
window.Unlock(1 - rank)
comm.Barrier()
window.Lock(rank ^ 1, MPI.LOCK_SHARED)
window.Get(fetched, 1 - rank)
window.Unlock(1 - rank)
print(memory, fetched, MPI.Wtime(), MPI.PROC_NULL, MPI.MODE_CREATE | MPI.MODE_RDWR)
window.Free()
try:
    comm.Recv(memory, source=99)
except MPI.Exception as error:
    print("refused", error.Get_error_class() == MPI.ERR_RANK, type(error), type(comm), type(flying[0]).__name__)
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("reached"))
os.kill(os.getpid(), signal.SIGUSR1)
pid = open(f"/proc/{os.getpid()}/stat").read().split()[1]
print(comm.allgather(os.getpid()), pid)
import threading
other, told = comm.Dup(), []
def talk():
    for number in range(5):
        told.append(other.sendrecv(number + rank, dest=1 - rank, source=1 - rank))
thread = threading.Thread(target=talk, name="talker")
thread.start()
for _ in range(5):
    show(ttnn.all_gather(tensor, 3, cluster_axis=1))
thread.join()
print(told)
if "spawn" in sys.argv:
    comm.Spawn("python")
"""


@pytest.mark.wide
def test_a_rank_alone_repeats_what_it_received_and_drew(tmp_path: Path) -> None:
    program, record, logs = tmp_path / "program.py", tmp_path / "deep" / "record", tmp_path / "logs"
    program.write_text(PROGRAM)
    words = ("--record", record, "--log-dir", logs, *SPLIT, "python", program, "a", "b")
    ran = tt_run(*words, env={"MINE": "mine", "HF_TOKEN": "secret"}).check()
    assert re.search(r"--record: .*record", ran.err)
    for told in check_replays(record, logs, 2):
        assert re.search(r"(\d+) of \1 calls, all as recorded", told.err), told.err
    files = list(record.rglob("*.record"))
    assert len(files) == 2 and all(b"secret" not in path.read_bytes() for path in files)
    assert {path.stat().st_mode & 0o777 for path in (record, *record.iterdir(), *files)} == {0o700, 0o600}
    # What is not recorded, another program, and words that name nothing.
    told = replay(record, "--rank", "1", "--", "python", program, "a", "spawn", cwd=tmp_path)
    assert told.code == 1 and "error[TTP004]: MPI.Comm.Spawn at" in told.err and "program.py" in told.err
    program.write_text(
        PROGRAM.replace("show(ttnn.all_reduce(tensor, cluster_axis=1))", "show(ttnn.all_gather(tensor, 2))")
    )
    told = replay(record, "--rank", "1")
    assert told.code == 1
    assert re.search(
        r"(?s)has changed since.*TTP001.*at call \d+ of the record \(call \d+ of the guard\)\n  call \d+: the record has all_reduce\(.* at .*program.py:\d+\n.* now the program calls all_gather\(.* at .*program.py:\d+",
        told.err,
    )
    told = replay(record, "--rank", "7")
    assert told.code == 66 and "the run had ranks 0 to 1" in told.err
    told = replay(tmp_path / "nowhere")
    assert told.code == 66 and re.search(
        r"(?s)TTP003\]: there is no folder.*help: .*--explain TTP003", told.err
    )


def test_a_failure_replays_to_the_same_exception(tmp_path: Path) -> None:
    record, logs = tmp_path / "record", tmp_path / "logs"
    ran = tt_run("--record", record, "--log-dir", logs, *SPLIT, "python", "examples/diverging_ranks.py")
    assert ran.code == 1
    for told in check_replays(record, logs, 2, code=1):
        assert "GuardError: error[TTG001]" in told.err and "diverging_ranks.py:19" in told.err


LONELY = """
import sys
sys.modules["torch"] = None
import ttnn
from mpi4py import MPI
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
world = MPI.COMM_WORLD
part = world.Dup()
print(part.allreduce(world.rank), flush=True)
if world.rank == 1:
    part.recv(source=0, tag=7)
"""


@pytest.mark.wide
def test_a_recorded_message_that_nobody_sends_is_told(tmp_path: Path) -> None:
    """Recorded ranks wait for what they do with mpi4py as others do, and not for ever."""
    program, record, logs = tmp_path / "program.py", tmp_path / "record", tmp_path / "logs"
    program.write_text(LONELY)
    line = ("--record", record, "--log-dir", logs, "--emulate", "--system", "n300", "--split", "1x2")
    ran = tt_run(*line, "python", program, env={"TT_RUN_GUARD_TIMEOUT": "10"}, timeout=50)
    assert ran.code == 1, ran.err
    assert "error[TTG002]: rank 0 ended before MPI recv(source 0, tag 7)" in ran.err
    assert "error[TTG002]: rank 0 ended before MPI recv" in check_replays_one(record, logs, 1).err


EXAMPLES = {
    "hybrid_parallel_trace": (*SPLIT, "python", "examples/hybrid_parallel_trace.py"),
    "pipeline_sockets": (
        "--emulate",
        "--system",
        "t3000",
        "--meshes",
        "2",
        "python",
        "examples/pipeline_sockets.py",
    ),
    "fsdp_llama": (*SPLIT, "python", "examples/training/fsdp_llama.py"),
    "grpo_remote_rollout": (
        "--emulate",
        "--system",
        "n300",
        "--meshes",
        "2",
        "python",
        "examples/training/grpo_remote_rollout.py",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_replayed_rank_by_rank(name: str, tmp_path: Path) -> None:
    record, logs = tmp_path / "record", tmp_path / "logs"
    tt_run("--record", record, "--log-dir", logs, *EXAMPLES[name], timeout=100).check()
    for told in check_replays(record, logs, 2):
        assert "all as recorded" in told.err


FAULTY = """
import sys
sys.modules["torch"] = None
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.ones((1, 1, 32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
for step in range(4):
    print(step, ttnn.to_torch(ttnn.all_gather(x, 3, cluster_axis=1), mesh_composer=ttnn.ConcatMeshToTensor(mesh, 0)).sum())
"""


@pytest.mark.wide
def test_injected_exceptions_come_again(tmp_path: Path) -> None:
    program, record, logs = tmp_path / "program.py", tmp_path / "record", tmp_path / "logs"
    program.write_text(FAULTY)
    faults = ("--inject", "nan=rank:0,call=2", "--inject", "raise=rank:1,call=4,text=boom")
    tt_run("--record", record, "--log-dir", logs, *SPLIT, *faults, "python", program)
    again = check_replays_one(record, logs, 1)
    assert "RuntimeError: boom (--inject raise=rank:1,call=4,text=boom)" in again.err, again.err


# What it reads, the run overwrites, by this rank and by the other.
OVERWRITES = """
import os, pathlib, shutil, sys, tempfile, time
import numpy as np
sys.modules["torch"] = None
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
rank, both = int(ttnn.distributed_context_get_rank()), ttnn.distributed_context_barrier
kept, own, flag = pathlib.Path(f"kept-{rank}"), pathlib.Path(f"own-{rank}"), pathlib.Path("flag")
try:
    kept.read_text()
except FileNotFoundError as error:
    print(error)
own.write_text("5")
step = int(kept.read_text()) if kept.exists() else 0
with open("text") as text:
    print(text.read(), text.name, os.read(os.open("text", os.O_RDONLY), 10), os.path.getsize("text"))
print(np.load("a.npy"), np.fromfile("a.bin"), len(pathlib.Path("large").read_bytes()))
print(ttnn.distributed_context_allgather_int(step + int(own.read_text())))
with open("log", "a") as log:
    log.write(f"rank {rank}, ")
both()
print(open("log").read(), sorted(path.name for path in pathlib.Path().glob("*.npy")))
both()
if rank == 0:
    pathlib.Path("text").write_text("another")
    np.save("a.npy", np.zeros(9))
    np.zeros(2).tofile("a.bin")
    with open("large", "ab") as large:
        large.write(b"more" * ("grow" in sys.argv))
    np.save("b.npy", np.zeros(1))
    flag.touch()
while not flag.exists():
    time.sleep(0.01)
print(sorted(path.name for path in pathlib.Path().glob("*.npy")), sorted(e.name for e in os.scandir() if e.is_file() and e.name[1:] == ".npy"))
both()
if rank == 0:
    flag.unlink()
    os.remove("b.npy")
folder = tempfile.mkdtemp()
shutil.copytree(folder, folder + "2")
shutil.rmtree(folder)
shutil.rmtree(folder + "2")
print(flag.exists(), os.path.exists(folder), len(os.listdir()))
pathlib.Path(f"next-{rank}").write_text(str(step + 1))
os.replace(f"next-{rank}", kept)
"""


@pytest.mark.wide
def test_files_are_read_as_they_were(tmp_path: Path) -> None:
    for word, told in (
        ("", ""),
        ("grow", "files are read as they are now, and these are others than in the run: large\n"),
    ):
        folder = tmp_path / f"folder{word}"
        folder.mkdir()
        (folder / "program.py").write_text(OVERWRITES)
        (folder / "text").write_text("before")
        np.save(folder / "a.npy", np.arange(3))
        np.arange(4.0).tofile(folder / "a.bin")
        (folder / "large").write_bytes(bytes(3 << 20))
        tt_run(
            "--record",
            "record",
            "--log-dir",
            "logs",
            *SPLIT,
            "python",
            "program.py",
            *word.split(),
            cwd=folder,
        ).check()
        for rank in "01":
            again = replay("record", "--rank", rank, cwd=folder)
            assert again.code == 0 and again.err.endswith(f"all as recorded\n{told and '  ' + told}"), (
                again.err
            )
            said = (folder / "logs" / f"rank-000{rank}.out").read_text()
            size = re.compile(r"31457\d\d" if word else r"$^")  # a replay of rank 0 makes it grow, too
            assert size.sub("size", again.out) == size.sub("size", said)


def check_replays_one(record: Path, logs: Path, rank: int) -> Ran:
    """A rank that failed prints what it printed, and fails again."""
    ran = replay(record, "--rank", str(rank))
    assert ran.code == 1 and ran.out == (logs / f"rank-{rank:04d}.out").read_text()
    return ran
