"""Ways in which ranks part in calls of their own mpi4py that have no place in one order: started, in threads, inside of windows and files."""

from __future__ import annotations

from tests.runtime.guard.divergences import HEAD, Divergence, other
from tests.runtime.guard.mpi_divergences import ALL, MPI, right, stuck

THREAD = "import threading\ndef run(work):\n    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n"
THERE = f"{ALL}  # there\n"
GRID = "grid = comm.Create_cart([size], periods=[True])\n"
WINDOW = "window = MPI.Win.Allocate(64, comm=comm)\n"
FILE = "file = MPI.File.Open(comm, 'numbers', MPI.MODE_CREATE | MPI.MODE_RDWR)\n"
EARLY = "import ttnn\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank, size = comm.Get_rank(), comm.Get_size()\n"


def alone(body: str, prepare: str = "") -> Divergence:
    """A call that rank 1 makes alone, which all ranks have to make together."""
    return Divergence(f"{MPI}{prepare}if odd:\n    {body}  # here\n{THERE}", says="operation")


def started(call: str, value: str, usual: str, says: str) -> Divergence:
    """A collective that is started with other words on rank 1, and waited for on the next line."""
    body = f"{MPI}request = {call.format(f'{value} if odd else {usual}')}  # here\nrequest.Wait()\n{ALL}\n"
    return Divergence(body, says=says)


def threaded(call: str, value: str, usual: str, says: str) -> Divergence:
    """A collective in another thread, on a communicator of its own, with other words on rank 1."""
    call = call.format(f"{value} if odd else {usual}")
    return Divergence(
        f"{MPI}{THREAD}two = comm.Dup()\ndef work():\n    {call}  # here\nrun(work)\n{ALL}\n", says=says
    )


BESIDE: dict[str, Divergence] = {
    # --- started, and waited for later ---------------------------------------------------------------------------------
    "a started broadcast of another root": started("comm.Ibcast(np.zeros(4), root={})", "1", "0", "root"),
    "a started sum of another size": started("comm.Iallreduce(np.zeros({0}), np.zeros({0}))", "800", "400", "bytes"),
    "a started sum by another operation": started(
        "comm.Iallreduce(np.ones(4), np.zeros(4), op={})", "MPI.MAX", "MPI.SUM", "op"
    ),
    "a started barrier against a started sum": Divergence(
        f"{MPI}if odd:\n    request = comm.Ibarrier()  # here\nelse:\n    request = comm.Iallreduce(np.ones(4), np.zeros(4))  # there\n"
        f"request.Wait()\n{ALL}\n",
        says="operation",
    ),
    "two started in another order": Divergence(
        f"{MPI}a, b = np.ones(4), np.zeros(4)\nif odd:\n    both = [comm.Ibcast(a), comm.Iallreduce(a.copy(), b)]  # here\n"
        f"else:\n    both = [comm.Iallreduce(a.copy(), b), comm.Ibcast(a)]  # there\nMPI.Request.Waitall(both)\n{ALL}\n",
        says="operation",
    ),
    "a prepared sum by one rank": alone("comm.Allreduce_init(np.zeros(4), np.zeros(4))"),
    "a prepared broadcast of another root": other("comm.Bcast_init(np.zeros(4), root={})", "1", "0", "root", MPI),
    "a copy of MPI's world started by one rank": alone("comm.Idup()[1].Wait()"),
    # --- other calls of communicators ----------------------------------------------------------------------------------
    "neighbours told by one rank": alone("grid.neighbor_allgather(rank)", GRID),
    "a replacing exchange in a circle": stuck("comm.Sendrecv_replace(np.zeros(300_000), dest=right, sendtag=1, source=left, recvtag=2)  # here\n"),
    "a receive between two groups": stuck(
        "half = comm.Split(rank % 2, rank)\nbetween = half.Create_intercomm(0, comm, 1 - rank % 2)\nbetween.recv(source=0)  # here\n"
    ),
    "pickles that nobody sends": stuck("from mpi4py.util import pkl5\npkl5.Intracomm(comm).recv(source=left)  # here\n"),
    "pickles broadcast by one rank": alone("pkl5.Intracomm(comm).bcast(1, root=1)", "from mpi4py.util import pkl5\n"),
    # --- before the ranks have met -------------------------------------------------------------------------------------
    "a broadcast by one rank before all have met": Divergence(
        f"{EARLY}if rank == 1:\n    comm.bcast(1, root=1)  # here\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))  # there\n",
        says="operation", head="", tail="",
    ),
    "another root before all have met": other("comm.bcast(1, root={})", "1", "0", "root", f"{EARLY}odd = rank == 1", head="", tail=""),
    "receives of all before they have met": Divergence(
        f"{EARLY}comm.recv(source=(rank - 1) % size)  # here\n",
        code="TTG004", says="wait for each other", symmetric=False, blamed=(), at_deadline=True, head="", tail="",
    ),
    "a world of MPI taken before ttnn": Divergence(
        f"from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n{HEAD}comm.recv(source=(rank - 1) % size)  # here\n",
        code="TTG004", says="wait for each other", symmetric=False, blamed=(), at_deadline=True, head="",
    ),
    # --- windows and files ---------------------------------------------------------------------------------------------
    "fences of two windows in another order": Divergence(
        f"{MPI}a, b = MPI.Win.Allocate(64, comm=comm), MPI.Win.Allocate(64, comm=comm)\n"
        "if odd:\n    a.Fence()  # here\n    b.Fence()\nelse:\n    b.Fence()  # there\n    a.Fence()\n",
        says="window",
    ),
    "a lock that is not given back": stuck(
        f"{WINDOW}if rank == 0:\n    window.Lock(0)\n    comm.Barrier()\n    comm.recv(source=1)  # there\nelse:\n    comm.Barrier()\n"
        "    if odd:\n        window.Lock(0)  # here\n        window.Unlock(0)\n        comm.send(1, dest=0)\n"
    ),
    "an access that nobody grants": stuck(
        f"{WINDOW}if odd:\n    window.Start(comm.Get_group().Incl([0]))  # here\n    window.Complete()\n{THERE}"
    ),
    "a grant that nobody uses": stuck(
        f"{WINDOW}if odd:\n    window.Post(comm.Get_group().Incl([0]))\n    window.Wait()  # here\n{THERE}"
    ),
    "a file of MPI opened by one rank": alone("MPI.File.Open(comm, 'numbers', MPI.MODE_CREATE | MPI.MODE_RDWR)"),
    "a file of MPI written by one rank": alone("file.Write_all(np.zeros(4))", FILE),
    "a file of MPI closed by one rank": alone("file.Close()", FILE),
    # --- threads -------------------------------------------------------------------------------------------------------
    "another root in a thread": threaded("two.bcast(rank, root={})", "1", "0", "root"),
    "another operation in a thread": threaded("two.allreduce(rank, op={})", "MPI.MAX", "MPI.SUM", "op"),
    "another size in a thread": threaded("two.Allreduce(np.zeros({0}), np.zeros({0}))", "800", "400", "bytes"),
    "receives of all in threads": stuck(f"{THREAD}def work():\n    comm.recv(source=left, tag=9)  # here\nrun(work)\n"),
    "large sends of all in threads": stuck(f"{THREAD}def work():\n    comm.Send(np.zeros(1_000_000), dest=right)  # here\nrun(work)\n"),
    "a request waited for in a thread": stuck(
        f"{THREAD}request = comm.irecv(source=left, tag=5)\ndef work():\n    request.wait()  # here\nrun(work)\n"
    ),
    "receives of all in pools": stuck(
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as pool:\n"
        "    future = pool.submit(comm.recv, source=left, tag=4)\n    future.result()  # here\n"
    ),
    "a receive in the thread of one rank": stuck(
        f"{THREAD}def work():\n    comm.recv(source=0, tag=9)  # here\nif odd: run(work)\n{THERE}"
    ),
    "a barrier in the thread of one rank": stuck(
        f"{THREAD}two = comm.Dup()\ndef work():\n    two.Barrier()  # here\nif odd: run(work)\n{THERE}"
    ),
    "a barrier in a thread against a broadcast": stuck(
        f"{THREAD}def work():\n    comm.Barrier()  # here\nif odd:\n    run(work)\nelse:\n    comm.bcast(1)  # there\n"
    ),
}  # fmt: skip

RIGHT_BESIDE: dict[str, tuple[str, tuple[str, ...]]] = {
    "mpi thread with a copy of its own": right(
        "import threading\ntwo = comm.Dup()\ndef work():\n    for _ in range(20):\n        assert two.allreduce(1) == size\n        two.Barrier()\n"
        "thread = threading.Thread(target=work)\nthread.start()\nfor _ in range(20):\n    ttnn.all_gather(x, dim=3, cluster_axis=1)\n    comm.Barrier()\nthread.join()"
    ),
    "mpi threads in another order": right(
        "import threading\na, b = comm.Dup(), comm.Dup()\ndef work(one):\n    for turn in range(20):\n        assert one.bcast(turn if rank == 0 else None) == turn\n"
        "threads = [threading.Thread(target=work, args=(one,)) for one in ((a, b) if odd else (b, a))]\n[each.start() for each in threads]\n[each.join() for each in threads]"
    ),
    "mpi thread that is late": right(
        "import threading\npart = comm.Split(0, rank)\ndef work():\n    if odd: time.sleep(2)\n    assert part.allgather(rank) == list(range(size))\n"
        "thread = threading.Thread(target=work)\nthread.start()\nttnn.all_gather(x, dim=3, cluster_axis=1)\nthread.join()"
    ),
    "mpi all in one thread": right(
        "import threading\ndef work():\n    comm.Barrier()\n    assert comm.allreduce(rank) == size * (size - 1) // 2\n    ttnn.all_reduce(x, cluster_axis=1)\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()"
    ),
    "mpi thread that serves": right(
        "import threading\ndef serve():\n    status = MPI.Status()\n    for _ in range(3 * (size - 1)):\n        value = comm.recv(source=MPI.ANY_SOURCE, tag=71, status=status)\n"
        "        comm.send(value + 1, dest=status.Get_source(), tag=72)\nif rank == 0:\n    thread = threading.Thread(target=serve)\n    thread.start()\n"
        "else:\n    for turn in range(3):\n        comm.send(turn, dest=0, tag=71)\n        assert comm.recv(source=0, tag=72) == turn + 1\n"
        "ttnn.all_gather(x, dim=3, cluster_axis=1)\nif rank == 0: thread.join()"
    ),
    "mpi thread that listens to the end": right(
        "import threading\nthreading.Thread(target=lambda: comm.recv(source=left, tag=99), daemon=True).start()"
    ),
    "mpi pool of messages": right(
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n    sent = [pool.submit(comm.send, turn, right, 80 + turn) for turn in range(8)]\n"
        "    got = [pool.submit(comm.recv, None, left, 80 + turn) for turn in range(8)]\n    assert [each.result() for each in got] == list(range(8))"
    ),
    "mpi beside collectives of a pool": right(
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n"
        "    sums = list(pool.map(lambda _: ttnn.all_reduce(x, cluster_axis=1), range(100)))\n"
        "ttnn.all_gather(sums[-1], dim=3, cluster_axis=1)"
    ),
    "mpi beside a child that was forked in a collective": right(
        "import os, threading\nif odd: comm.recv(source=0, tag=5)\nthread = threading.Thread(target=ttnn.all_gather, args=(x,), kwargs={'dim': 3, 'cluster_axis': 1})\n"
        "thread.start()\ntime.sleep(0.2)\nif rank == 0:\n    child = os.fork()\n    if child == 0:\n        try:\n            ttnn.all_reduce(x, cluster_axis=1)\n"
        "        except RuntimeError:\n            os._exit(3)\n        os._exit(0)\n    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3\n"
        "    comm.send(0, dest=1, tag=5)\nthread.join()"
    ),
    "mpi executor": right(
        "from mpi4py.futures import MPICommExecutor\nwith MPICommExecutor(comm, root=0) as pool:\n    if pool is not None:\n        assert list(pool.map(abs, [-1, -2])) == [1, 2]"
    ),
    "mpi replacing exchange": right(
        "status, box = MPI.Status(), np.full(100_000, float(rank))\ncomm.Sendrecv_replace(box, dest=right, source=left)\nassert box[0] == left\n"
        "comm.Sendrecv_replace([box, 5, MPI.DOUBLE], right, 4, MPI.ANY_SOURCE, MPI.ANY_TAG, status)\nassert status.Get_source() == left and status.Get_tag() == 4"
    ),
    "mpi neighbours": right(
        "grid = comm.Create_cart([size], periods=[True])\nbox = np.zeros(2)\nassert grid.neighbor_alltoall([rank, rank]) == [left, right]\n"
        "grid.Neighbor_allgather(np.full(1, float(rank)), box)\nassert list(box) == [left, right]\ngrid.Ineighbor_alltoall(np.full(2, float(rank)), box).Wait()"
    ),
    "mpi prepared collectives": right(
        "a, b = np.ones(4), np.zeros(4)\nready = comm.Allreduce_init(a, b)\nfor _ in range(3):\n    ready.Start()\n    ready.Wait()\n    assert b[0] == size\n"
        "barrier = comm.Barrier_init()\nMPI.Prequest.Startall([barrier])\nbarrier.Wait()\n[each.Free() for each in (ready, barrier)]"
    ),
    "mpi messages probed for, buffered and ready": right(
        "comm.send({'a': rank}, dest=right)\nassert comm.mprobe(source=left).recv() == {'a': left}\nspace = bytearray(100_000 + MPI.BSEND_OVERHEAD)\nMPI.Attach_buffer(space)\n"
        "comm.bsend(rank, dest=right)\nassert comm.recv(source=left) == left\nMPI.Detach_buffer()\nbox = np.zeros(4)\nrequest = comm.Irecv(box, source=left)\n"
        "comm.Barrier()\ncomm.Rsend(np.full(4, float(rank)), dest=right)\nrequest.Wait()\nassert box[0] == left\ngone = comm.Irecv(box, source=left, tag=55)\ngone.Cancel()\ngone.Wait()"
    ),
    "mpi two groups": right(
        "half = comm.Split(rank % 2, rank)\nbetween = half.Create_intercomm(0, comm, 1 - rank % 2)\nbetween.Barrier()\nif half.Get_rank() == 0:\n"
        "    between.send(rank, dest=0)\n    assert between.recv(source=0) == 1 - rank\nboth = between.Merge(bool(rank % 2))\nassert both.allreduce(1) == size"
    ),
    "mpi large pickles": right(
        "from mpi4py.util import pkl5\npickled = pkl5.Intracomm(comm)\nassert pickled.bcast(rank) == 0 and pickled.allgather(rank) == list(range(size))\n"
        "request = pickled.isend(np.ones(100), dest=right)\nassert pickled.recv(source=left).sum() == 100\nrequest.wait()"
    ),
    "mpi windows of every kind": right(
        "window = MPI.Win.Allocate(8, 8, comm=comm)\neverybody = comm.Get_group()\nwindow.Post(everybody.Incl([left]))\nwindow.Start(everybody.Incl([right]))\n"
        "window.Put(np.full(1, float(rank)), right)\nwindow.Complete()\nwindow.Wait()\nassert np.frombuffer(window.tomemory(), float)[0] == left\ncomm.Barrier()\n"
        "window.Lock_all()\nwindow.Rput(np.full(1, 0.0), right).Wait()\nwindow.Flush_all()\nwindow.Unlock_all()\ncomm.Barrier()\n"
        "for _ in range(20):\n    window.Lock(0)\n    value = np.zeros(1)\n    window.Get(value, 0)\n    window.Flush(0)\n    window.Put(value + 1, 0)\n    window.Unlock(0)\n"
        "comm.Barrier()\nassert rank or np.frombuffer(window.tomemory(), float)[0] == 20 * size\nwindow.Free()"
    ),
    "mpi files": right(
        f"{FILE}file.Write_at_all(rank * 8, np.full(1, float(rank)))\nfile.Sync()\nbox = np.zeros(1)\nfile.Read_at(left * 8, box)\nassert isinstance(file, MPI.File)\nfile.Close()\n"
        "if odd:\n    own = MPI.File.Open(MPI.COMM_SELF, 'own', MPI.MODE_CREATE | MPI.MODE_RDWR)\n    own.Close()"
    ),
    "mpi copy that is started": right("new, request = comm.Idup()\nrequest.Wait()\nassert new.allreduce(1) == size\nnew.Free()"),
    "mpi sizes that some leave open": right(
        "for turn in range(5):\n    comm.Bcast([np.zeros(2), 16, MPI.BYTE] if rank == turn % size else np.zeros(2), 0)\n"
        "    comm.Bcast((np.zeros(4), (4, 0), MPI.DOUBLE) if odd else np.zeros(4), 0)\n"
        "whole, counts, places = np.zeros(2 * size), [2] * size, list(range(0, 2 * size, 2))\n"
        "forms = (whole, [whole, counts, places, MPI.DOUBLE], [whole, (counts, places), 'd'], (whole, np.array(counts)))\n"
        "for turn in range(4): comm.Allgatherv(np.ones(2), forms[turn * (rank + 1) % 4])\n"
        "comm.Reduce_scatter(whole, np.zeros(2), None)"
    ),
    "mpi world that is pickled": right("import pickle\nassert pickle.loads(pickle.dumps(comm)) is MPI.COMM_WORLD and pickle.loads(pickle.dumps(type(comm)(comm))) == comm\n"
        "assert pickle.loads(pickle.dumps(MPI.Intracomm(comm))) == comm"),
    "mpi request asked again and again": right(
        "request = comm.irecv(source=left)\ncomm.send(rank, dest=right)\nwhile not (answer := request.test())[0]: pass\nassert answer[1] == left"
    ),
}  # fmt: skip
