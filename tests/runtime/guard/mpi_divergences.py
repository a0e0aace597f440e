"""Ways in which ranks part in calls of their own mpi4py: parts of the world, messages, requests, windows; and right programs of the same kinds."""

from __future__ import annotations

from tests.runtime.guard.divergences import HEAD, Divergence, other
from tests.runtime.guard.odd_programs import CLOSE

MPI = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nleft, right = (rank - 1) % size, (rank + 1) % size\n"
ALL = "ttnn.all_reduce(x, cluster_axis=1)"
PART = MPI + "part = comm.Split(0, rank)\n"


def alone(body: str, prepare: str = "") -> Divergence:
    """A call that rank 1 makes alone, which all ranks have to make together."""
    return Divergence(f"{MPI}{prepare}if odd:\n    {body}  # here\n{ALL}  # there\n", says="operation")


def stuck(body: str) -> Divergence:
    """Messages that never come: whoever waits for whom is a circle."""
    return Divergence(
        MPI + body, code="TTG004", says="wait for each other", symmetric=False, blamed=(), at_deadline=True
    )


BY_MPI: dict[str, Divergence] = {
    # --- parts of the world --------------------------------------------------------------------------------------------
    "a split of MPI by one rank": alone("comm.Split(0, rank)"),
    "a copy of MPI's world by one rank": alone("comm.Dup()"),
    "an agreement of MPI by one rank": alone("comm.Agree(1)"),
    "a shrunk world of MPI by one rank": alone("comm.Shrink()"),
    "a grid of MPI by one rank": alone("comm.Create_cart([size])"),
    "a window of MPI by one rank": alone("MPI.Win.Allocate(64, comm=comm)"),
    "a fence of MPI by one rank": alone("window.Fence()", "window = MPI.Win.Allocate(64, comm=comm)\n"),
    "a barrier on a grid of MPI by one rank": alone("grid.Barrier()", "grid = comm.Create_cart([size])\n"),
    "a barrier on a part of MPI by one rank": alone("part.barrier()", "part = comm.Split(0, rank)\n"),
    "a part of MPI made of two ranks by one": Divergence(
        MPI + f"two = comm.Get_group().Incl([0, 1])\nif odd:\n    comm.Create_group(two)  # here\n{ALL}  # there\n",
        code="TTG001|TTG004",
        symmetric=False,
        blamed=(),
        at_deadline=True,
    ),
    "another root on a part of MPI": other("part.bcast(1, root={})", "1", "0", "root", PART),
    "another operation on a part of MPI": other("part.allreduce(1, op={})", "MPI.MAX", "MPI.SUM", "op", PART),
    "an operation of the program that commutes on one rank": other(
        "comm.allreduce(1, op=MPI.Op.Create(lambda one, two, _: None, commute={}))", "True", "False", "commutative", MPI
    ),
    "another count on a part of MPI": other("part.Allreduce(np.zeros({}), np.zeros(8))", "4", "8", "bytes", PART),
    "other parts of a sum of MPI": other(
        "comm.Reduce_scatter(np.zeros(8), np.zeros(8), {})",
        "[8 // size - 1, 8 // size + 1, *[8 // size] * (size - 2)]",
        "[8 // size] * size",
        "parts",
        MPI,
    ),
    "parts of a sum that one rank leaves open": other(
        "comm.Reduce_scatter(np.zeros(8), np.zeros(8 // size), {})", "None", "[8 // size] * size", "parts", MPI
    ),
    "other parts of a gathering of MPI": Divergence(
        f"{MPI}counts = [1] * size if odd else [2] * size\n"
        "comm.Allgatherv(np.ones(counts[rank]), [np.zeros(sum(counts)), counts, None, MPI.DOUBLE])  # here\n",
        says="counts",
    ),
    "other dimensions of a grid of MPI": other("comm.Create_cart({})", "[size]", "[size, 1]", "dims", MPI),
    "calls on a part of MPI in another order": Divergence(
        PART + "if odd:\n    part.Barrier()  # here\n    part.bcast(1)\nelse:\n    part.bcast(1)  # there\n    part.Barrier()\n",
        says="operation",
    ),
    "two copies of MPI's world in another order": Divergence(
        MPI + "one, two = comm.Dup(), comm.Dup()\nif odd:\n    one.Barrier()  # here\n    two.Barrier()\n"
        "else:\n    two.Barrier()  # there\n    one.Barrier()\n",
        says="communicator",
    ),
    # --- messages and requests -----------------------------------------------------------------------------------------
    "receives of MPI before sends": stuck("comm.recv(source=left)  # here\n"),
    "large sends of MPI in a circle": stuck("comm.Send(np.zeros(1_000_000), dest=right)  # here\n"),
    "synchronous sends of MPI in a circle": stuck("comm.ssend(1, dest=right)  # here\n"),
    "another tag of MPI": stuck(
        "if rank == 0:\n    comm.send(1, dest=1, tag=1)\n    comm.recv(source=1)  # there\n"
        "if odd:\n    comm.recv(source=0, tag=2)  # here\n    comm.send(1, dest=0)\n"
    ),
    "a probe of MPI that nobody answers": stuck(f"if odd:\n    comm.Probe(source=0)  # here\n{ALL}  # there\n"),
    "an exchange of MPI by one rank": stuck(f"if odd:\n    comm.sendrecv(1, dest=0, source=0)  # here\n{ALL}  # there\n"),
    "a request of MPI that nobody answers": stuck(
        f"if odd:\n    request = comm.Irecv(np.zeros(4), source=0)\n    request.Wait()  # here\n{ALL}  # there\n"
    ),
    "requests of MPI that nobody answers": stuck(
        "requests = [comm.irecv(source=left), comm.irecv(source=left)]\nMPI.Request.waitall(requests)  # here\n"
    ),
    "a persistent request of MPI that nobody answers": stuck(
        f"if odd:\n    request = comm.Recv_init(np.zeros(4), source=0)\n    request.Start()\n    request.Wait()  # here\n{ALL}  # there\n"
    ),
    "a started barrier of MPI by one rank": stuck(
        f"if odd:\n    request = comm.Ibarrier()\n    request.Wait()  # here\n{ALL}  # there\n"
    ),
    "a message of MPI from a rank that raised": Divergence(
        MPI + "if odd:\n    raise OSError('no such shard')  # here\nif rank == 0:\n    comm.recv(source=1)  # there\n",
        code="TTG003",
        says="no such shard",
        symmetric=False,
    ),
}  # fmt: skip


def right(body: str) -> tuple[str, tuple[str, ...]]:
    """A right program with this in its midst."""
    return f"{HEAD}{MPI}{body}\n{ALL}\n{CLOSE}", ()


RIGHT_BY_MPI: dict[str, tuple[str, tuple[str, ...]]] = {
    "mpi parts that do not do the same": right(
        "part = comm.Split(rank % 2, -rank)\nif rank % 2 == 0:\n    part.Barrier()\n    assert part.allreduce(1) == part.Get_size()\n"
        "within = part.Dup()\nassert within.bcast(rank, root=0) % 2 == rank % 2\nwithin.Free()\npart.Free()"
    ),
    "mpi operations of the program made and freed": right(
        "import struct\nof = lambda data: struct.unpack('d', data)[0]\n"
        "def add(one, two, _):\n    memoryview(two)[:] = struct.pack('d', of(one) + of(two))\n"
        "for turn in range(9):\n    total, found = MPI.Op.Create(add, commute=turn % 2 == 0), np.zeros(1)\n"
        "    comm.Allreduce(np.ones(1), found, op=total)\n    assert found[0] == size, found\n    total.Free()"
    ),
    "mpi communicators made and freed": right(
        "for turn in range(30):\n    part = comm.Split(0, rank if turn % 2 else -rank)\n    part.Barrier()\n    part.Free()"
    ),
    "mpi none of a split": right(
        "part = comm.Split(MPI.UNDEFINED if odd else 0, rank)\nassert odd == (part == MPI.COMM_NULL)\nif not odd:\n    part.Barrier()"
    ),
    "mpi none of a split of one kind": right(
        "part = comm.Split_type(MPI.UNDEFINED if odd else MPI.COMM_TYPE_SHARED)\nassert odd == (part == MPI.COMM_NULL)\nif not odd:\n    part.Barrier()"
    ),
    "mpi group of two": right(
        "two = comm.Get_group().Incl([1, 0])\nif rank < 2:\n    pair = comm.Create_group(two)\n    assert pair.allgather(rank) == [1, 0]\n    pair.Free()"
    ),
    "mpi grid": right(
        "grid = comm.Create_cart([size], periods=[True])\nfrom_, to = grid.Shift(0, 1)\n"
        "assert grid.sendrecv(rank, dest=to, source=from_) == left\nassert grid.Sub([True]).allreduce(1) == size"
    ),
    "mpi edge without a neighbour": right(
        "grid = comm.Create_cart([size])\nfrom_, to = grid.Shift(0, 1)\nbox = np.full(3, -1.0)\n"
        "grid.Sendrecv(np.full(3, rank * 1.0), dest=to, recvbuf=box, source=from_)\nassert box[0] == rank - 1\n"
        "grid.send(1, dest=MPI.PROC_NULL)\ngrid.recv(source=MPI.PROC_NULL)"
    ),
    "mpi messages of every size in a ring": right(
        "for count in (0, 1, 1000, 300_000):\n    got = np.empty(count)\n    request = comm.Isend(np.full(count, float(rank)), dest=right)\n"
        "    status = MPI.Status()\n    comm.Probe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)\n    assert status.Get_count(MPI.DOUBLE) == count\n"
        "    comm.Recv(got, source=left)\n    request.Wait()\n    assert (got == left).all()"
    ),
    "mpi blocking sends in turn": right(
        "mine = np.full(300_000, float(rank))\ngot = np.empty_like(mine)\nif rank % 2:\n    comm.Recv(got, source=left)\n    comm.Send(mine, dest=right)\n"
        "else:\n    comm.Send(buf=mine, dest=right, tag=0)\n    comm.Recv(got, source=left)\nassert got[-1] == left"
    ),
    "mpi workers served in any order": right(
        "if rank == 0:\n    status = MPI.Status()\n    for _ in range(5 * (size - 1)):\n        value = comm.recv(status=status)\n"
        "        assert value[0] == status.Get_source()\n        comm.ssend(value[1] * 2, dest=value[0], tag=value[1])\n"
        "else:\n    for turn in range(5):\n        time.sleep(0.01 * rank)\n        comm.send((rank, turn), 0)\n"
        "        assert comm.recv(None, 0, turn) == 2 * turn"
    ),
    "mpi requests waited for in every way": right(
        "boxes = [np.zeros(2) for _ in range(6)]\nrequests = [comm.Irecv(box, source=left, tag=tag) for tag, box in enumerate(boxes)]\n"
        "sent = [comm.isend(tag, dest=right, tag=10 + tag) for tag in range(3)]\n"
        "kept = [np.full(2, float(tag)) for tag in range(6)]\nout = [comm.Isend(kept[tag], dest=right, tag=tag) for tag in reversed(range(6))]\n"
        "assert isinstance(out[0], MPI.Request)\nassert MPI.Request.Waitany(requests) in range(6)\nMPI.Request.Waitsome(requests)\nMPI.Request.Waitall(requests + out)\n"
        "assert [box[0] for box in boxes] == list(range(6))\n"
        "assert [comm.irecv(source=left, tag=10 + tag).wait() for tag in range(3)] == [0, 1, 2]\nMPI.Request.waitall(sent)\nMPI.Request.Waitall([])"
    ),
    "mpi persistent requests": right(
        "mine, got = np.zeros(4), np.zeros(4)\ntwo = [comm.Send_init(mine, dest=right), comm.Recv_init(got, source=left)]\n"
        "assert isinstance(two[0], MPI.Prequest)\nfor turn in range(4):\n    mine[:] = rank + turn\n    MPI.Prequest.Startall(two)\n    MPI.Request.Waitall(two)\n"
        "    assert got[0] == left + turn\n[request.Free() for request in two]"
    ),
    "mpi collectives started, ended in another order": right(
        "a, b = np.full(4, 1.0 if rank == 0 else 0.0), np.zeros(4)\none, two = comm.Ibcast(a, root=0), comm.Iallreduce(np.ones(4), b)\n"
        "for request in ((one, two) if odd else (two, one)):\n    request.Wait()\nassert a[0] == 1 and b[0] == size\ncomm.Ibarrier().wait()"
    ),
    "mpi message that comes late": right(
        "if odd:\n    time.sleep(2)\n    comm.send('late', dest=0)\nif rank == 0:\n    assert comm.recv(source=1) == 'late'"
    ),
    "mpi buffers in other words, some late": right(
        "box = np.full(8, float(rank), np.float32)\nif odd:\n    time.sleep(2.2)\n"
        "comm.Bcast([box, (8, 0), MPI.FLOAT] if rank == 2 else [box, MPI.FLOAT] if odd else box, root=0)\nassert box[7] == 0"
    ),
    "mpi windows": right(
        "window = MPI.Win.Allocate(8 * size, 8, comm=comm)\nwindow.Fence()\nwindow.Put(np.full(1, float(rank)), right, rank)\nwindow.Fence()\n"
        "assert np.frombuffer(window.tomemory(), float)[left] == left\nif rank == 0:\n    window.Lock(1)\n    window.Unlock(1)\nwindow.Free()\n"
        "shared = MPI.Win.Allocate_shared(8, 8, comm=comm)\nassert shared.Shared_query(0)[1] == 8 and isinstance(shared, MPI.Win)\nshared.Free()"
    ),
    "mpi another rank's error met": right(
        "try:\n    comm.Recv(np.zeros(1), source=size + 5)\nexcept MPI.Exception:\n    pass\ntry:\n    comm.send(1, dest=size + 5)\nexcept MPI.Exception:\n    pass"
    ),
    "mpi messages of a thread": right(
        "import threading\ndef work():\n    if rank == 0:\n        comm.send(1, dest=1, tag=77)\n    if rank == 1:\n        comm.recv(source=0, tag=77)\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()"
    ),
}  # fmt: skip
