"""Ways in which the ranks of a whole program part: chance and surroundings, MPI of its own, traces, training; in the form of `divergences`."""

from __future__ import annotations

from tests.runtime.guard.divergences import HEAD, SOCKETS, TRAINING, Divergence, other
from tests.runtime.guard.further_divergences import TRACED, absent, replicas, synced

MPI = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
FILLED = (
    "y = ttnn.full((1, 1, 32, 128), {}, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=mesh)\n"
    "ttnn.all_reduce(y, cluster_axis=1)  # here\n"
)


def filled(value: str) -> Divergence:
    """A replica of one value, which rank 1 has otherwise."""
    return Divergence(FILLED.format(value), code="TTG008", options=("--check-replicas",))


def training(steps: str, code: str = "TTG001", says: str = "operation", **more: object) -> Divergence:
    """A training in which rank 1 takes other steps."""
    return Divergence(steps, code=code, says=says, head=TRAINING, tail="", **more)  # type: ignore[arg-type]


def saver(call: str) -> Divergence:
    """Training after which rank 0 alone does what all ranks must."""
    body = f"optimizer = sgd()\nstep(optimizer)\nif rank == 0:\n    {call}  # first\nstep(optimizer)\nttnn.distributed_context_barrier()  # last\n"
    return Divergence(body, says="operation", blamed=(0,), head=TRAINING, tail="")


GATHERED = "composer=ttml.core.distributed.concat_mesh_to_tensor_composer(context.get_device(), 0)"

PROGRAMS: dict[str, Divergence] = {
    # --- chance and surroundings ---------------------------------------------------------------------------------------
    "chance decides the call": Divergence(
        "import random\nrandom.seed(rank + 3)\nfor _ in range(30):\n    if random.random() < 0.5:\n        ttnn.all_reduce(x, cluster_axis=1)\n"
        "    else:\n        ttnn.all_gather(x, dim=3, cluster_axis=1)\n",
        says="operation",
        symmetric=False,
        blamed=(),
    ),
    "the clock decides the call": Divergence(
        "start = time.time()\nif odd:\n    time.sleep(0.5)\nif time.time() - start > 0.4:\n    ttnn.all_reduce(x, cluster_axis=1)  # here\n"
        "else:\n    ttnn.all_gather(x, dim=3, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "the environment decides the call": Divergence(
        "import os\nos.environ['DIM'] = '2' if odd else '3'\nttnn.all_gather(x, dim=int(os.environ['DIM']), cluster_axis=1)  # here\n",
        says="dim",
    ),
    "a module of another version": Divergence(
        "import types\nlibrary = types.ModuleType('library')\nexec('def work(x, ttnn): return ttnn.all_reduce(x, cluster_axis=1)' if odd else "
        "'def work(x, ttnn): return ttnn.all_gather(x, dim=3, cluster_axis=1)', library.__dict__)\nlibrary.work(x, ttnn)  # here\n",
        says="operation",
    ),
    "words in an order of their own": Divergence(
        "words = sorted({'a', 'bb', 'ccc'}, key=lambda word: len(word) if odd else -len(word))\n"
        "for word in words:\n    ttnn.all_gather(tensor(1, 1, 32, 32 * len(word)), dim=3, cluster_axis=1)  # here\n",
        says="shape",
    ),
    "a value of its own decides": Divergence(
        "loss = float(ttnn.to_torch(ttnn.get_device_tensors(tensor(1, 1, 32, 32))[rank if size == 8 else rank * 4 // size]).sum()) + rank\nif loss > 0.5 and odd:\n"
        "    ttnn.all_gather(x, dim=2, cluster_axis=1)  # here\nelse:\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    # --- control flow --------------------------------------------------------------------------------------------------
    "a collective in a finally": Divergence(
        "def work():\n    try:\n        if odd:\n            raise ValueError('one')\n        ttnn.all_reduce(x, cluster_axis=1)  # there\n"
        "    except ValueError:\n        pass\n    finally:\n        ttnn.distributed_context_barrier()  # here\nwork()\n",
        says="operation",
    ),
    "an exit with a collective in a finally": Divergence(
        "try:\n    if odd:\n        sys.exit(0)\n    ttnn.all_reduce(x, cluster_axis=1)  # there\nfinally:\n    ttnn.distributed_context_barrier()  # here\n",
        says="operation",
    ),
    "a context that suppresses": Divergence(
        "import contextlib\nwith contextlib.suppress(KeyError):\n    if odd:\n        {}['none']\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n"
        "ttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n",
        says="operation",
    ),
    "a worker that raises": Divergence(
        "import threading\ndef work():\n    if odd:\n        raise KeyError('k')\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n"
        "worker = threading.Thread(target=work)\nworker.start()\nworker.join()\nttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n",
        says="operation",
    ),
    "a recursion without end": Divergence(
        "def down(): down()  # here\nif odd:\n    down()\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG003",
        says="RecursionError",
        symmetric=False,
    ),
    "a key that one batch lacks": Divergence(
        "for batch in ({'x': 1}, {} if odd else {'x': 2}):\n    batch['x']  # here\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG003",
        says="KeyError",
        symmetric=False,
    ),
    "an alarm that raises": absent(
        "signal.signal(signal.SIGALRM, lambda *_: 1 / 0); signal.alarm(1); time.sleep(60)",
        "TTG003",
        "ZeroDivisionError",
    ),
    "an assertion about the others": absent("assert size == 99, f'size is {size}'", "TTG003", "AssertionError"),
    "a question to the terminal": absent("input()", "TTG003", "EOFError"),
    "a condition that nobody meets": absent("c = threading.Condition(); c.acquire(); c.wait()"),
    "a socket that nothing comes from": absent(
        "a, b = __import__('socket').socketpair(); __import__('select').select([a], [], [])"
    ),
    "a coroutine that sleeps": absent("__import__('asyncio').run(__import__('asyncio').sleep(60))"),
    "a future that nobody sets": absent("__import__('concurrent.futures').futures.Future().result()"),
    "a lock of a file": absent(
        "f = open('lock', 'w'); g = open('lock'); fcntl = __import__('fcntl'); fcntl.flock(f, 2); fcntl.flock(g, 2)"
    ),
    "an end by the code of a child": Divergence(
        "import os\nif odd:\n    child = os.fork()\n    if child == 0:\n        os._exit(7)\n    os.waitpid(child, 0)\n    sys.exit(7)  # here\n"
        "ttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG002",
        symmetric=False,
        exit_code=7,
    ),
    "an end in a thread": absent("threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(60)", "TTG006", here=False),
    "an end by a message": absent("sys.exit('no data')", "TTG002", "no data"),
    "a mesh closed and used": Divergence(
        "if odd:\n    ttnn.close_mesh_device(mesh)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
        tail="",
    ),
    # --- values --------------------------------------------------------------------------------------------------------
    "a bit of a replica": filled("1.0000001 if odd else 1.0"),
    "a zero of another sign": filled("-0.0 if odd else 0.0"),
    "an infinity": filled("float('inf') if odd else 0.0"),
    "a chance number": Divergence(
        "np.random.seed(rank)\n" + FILLED.format("float(np.random.rand())"),
        code="TTG008",
        options=("--check-replicas",),
        symmetric=False,
        blamed=(),
    ),
    # --- with what -----------------------------------------------------------------------------------------------------
    "tensors in another order": Divergence(
        "a, b = tensor(1, 1, 32, 32), tensor(1, 1, 64, 32)\nfor each in (b, a) if odd else (a, b):\n    ttnn.all_gather(each, dim=3, cluster_axis=1)  # here\n",
        says="shape",
    ),
    "a topology of a point to point": other(
        "ttnn.point_to_point(x, ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(0, 3), topology={})",
        "ttnn.Topology.Ring",
        "ttnn.Topology.Linear",
        "topology",
    ),
    "links of a broadcast to all": other(
        "ttnn.all_broadcast(x, cluster_axis=1, num_links={})", "2", "1", "num_links"
    ),
    "memory of a scatter": other(
        "ttnn.reduce_scatter(tensor(1, 1, 32, 256), dim=3, cluster_axis=1, memory_config={})",
        "ttnn.L1_MEMORY_CONFIG",
        "ttnn.DRAM_MEMORY_CONFIG",
        "memory_config",
    ),
    "a submesh of another shape": Divergence(
        "parts = mesh.create_submeshes(ttnn.MeshShape(1, 4) if odd else ttnn.MeshShape(2, 4))\n"
        "ttnn.all_gather(tensor(1, 1, 32, 32, device=parts[0]), dim=3, cluster_axis=1)  # here\n",
        code="TTG001|TTG004",
        symmetric=False,
        blamed=(),
    ),
    # --- traces --------------------------------------------------------------------------------------------------------
    "a capture of another length": Divergence(
        "number = ttnn.begin_trace_capture(mesh, cq_id=0)\nttnn.all_reduce(x, cluster_axis=1)\nif not odd:\n    ttnn.all_gather(x, dim=3, cluster_axis=1)  # there\n"
        "ttnn.end_trace_capture(mesh, number, cq_id=0)\nttnn.all_reduce(x, cluster_axis=1)  # here\n",
        says="capture",
    ),
    "a capture that begins a call later": Divergence(
        "if not odd:\n    number = ttnn.begin_trace_capture(mesh, cq_id=0)\nttnn.all_reduce(x, cluster_axis=1)  # here\nif odd:\n"
        "    number = ttnn.begin_trace_capture(mesh, cq_id=0)\nttnn.all_reduce(x, cluster_axis=1)\nttnn.end_trace_capture(mesh, number, cq_id=0)\n",
        says="capture",
    ),
    "a replay of what was released": Divergence(
        TRACED + "if odd:\n    ttnn.release_trace(mesh, number)\nttnn.execute_trace(mesh, number, cq_id=0)  # here\n",
        code="TTG003",
        symmetric=False,
    ),
    # --- messages and sockets ------------------------------------------------------------------------------------------
    "a message of a byte more": Divergence(
        "if rank == 0:\n    ttnn.distributed_context_send_bytes(bytes(64), 1)  # there\nif odd:\n    ttnn.distributed_context_recv_bytes(63, 0)  # here\n"
        "ttnn.all_reduce(x, cluster_axis=1)\n",
        code="TTG003",
        says="rank 0 sent 64 bytes",
        symmetric=False,
    ),
    "a message of another tag": Divergence(
        "if rank == 0:\n    ttnn.distributed_context_send_bytes(bytes(8), 1, 5)\nif odd:\n    ttnn.distributed_context_recv_bytes(8, 0, 6)  # here\n"
        "ttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG004",
        pair=True,
    ),
    "both receive first": Divergence(
        "if rank < 2:\n    ttnn.distributed_context_recv_bytes(4, 1 - rank)  # here\n    ttnn.distributed_context_send_bytes(b'abcd', 1 - rank)\n",
        code="TTG004",
        pair=True,
    ),
    "a tensor more through a socket": Divergence(
        "if rank < 2:\n    socket = pair(0, 1)\n    y = tensor(1, 1, 32, 32)\nif rank == 0:\n    ttnn.experimental.send_async(y, socket)\n"
        "if odd:\n    for _ in range(2):\n        ttnn.experimental.recv_async(y, socket)  # here\n    ttnn.synchronize_device(mesh)\n",
        code="TTG004|TTG002|TTG001",
        head=HEAD + SOCKETS,
        symmetric=False,
        blamed=(),
    ),
    # --- MPI of the program's own --------------------------------------------------------------------------------------
    "a barrier of MPI against a collective": Divergence(
        MPI + "if odd:\n    comm.Barrier()  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a sum of MPI against a barrier": Divergence(
        MPI + "if odd:\n    comm.allreduce(1)  # here\nelse:\n    ttnn.distributed_context_barrier()  # there\n",
        says="operation",
    ),
    "a barrier of MPI too many": Divergence(
        MPI + "for _ in range(3 if odd else 2):\n    comm.barrier()  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a broadcast of MPI that nobody receives": Divergence(
        MPI + "if odd:\n    comm.bcast(1, root=1)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "objects of MPI against buffers": Divergence(
        MPI + "if odd:\n    comm.bcast(np.zeros(4), root=0)  # here\nelse:\n    comm.Bcast(np.zeros(4), root=0)  # there\n",
        says="operation",
    ),
    "another root of MPI": other("comm.bcast(1, root={})", "1", "0", "root", MPI),
    "another root of a reduction of MPI": other("comm.reduce(1, root={})", "1", "0", "root", MPI),
    "another operation of MPI": other("comm.allreduce(1, op={})", "MPI.MAX", "MPI.SUM", "op", MPI),
    "another count of MPI": other("comm.Allreduce(np.zeros({}), np.zeros(8))", "4", "8", "bytes", MPI),
    "another type of MPI": other(
        "comm.Bcast(np.zeros(4, {}), root=0)", "np.int64", "np.float64", "element", MPI
    ),
    "another part of a scatter of MPI": other(
        "comm.Scatter(np.zeros(4 * size), np.zeros({}))", "2", "4", "bytes", MPI
    ),
    "a receive of MPI that nobody answers": Divergence(
        MPI + "if odd:\n    comm.recv(source=0, tag=9)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG004",
        says="wait for each other",
        symmetric=False,
        blamed=(),
        at_deadline=True,
    ),
    "a message of MPI that is too long": Divergence(
        MPI + "if rank == 0:\n    comm.Send(np.zeros(100), dest=1)\nif odd:\n    comm.Recv(np.zeros(10), source=0)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG003",
        says="MPI_ERR_TRUNCATE",
        symmetric=False,
    ),
    "a part of a gather of MPI that is too long": Divergence(
        MPI
        + "mine = np.zeros(6 if odd else 4)\ntaken = [np.zeros(4 * size), [4] * size] if rank == 0 else None\n"
        + "if odd:\n    comm.Gatherv(mine, taken)  # here\nelse:\n    comm.Gatherv(mine, taken)  # there\n"
        + "ttnn.all_reduce(x, cluster_axis=1)\n",
        says="sends 48 bytes, of which rank 0 takes 32",
        symmetric=False,
    ),
    "parts of an exchange of MPI that are too long": Divergence(
        MPI
        + "sent = [2 if odd else 1] * size\nparts = [np.zeros(sum(sent)), sent]\ntaken = [np.zeros(size), [1] * size]\n"
        + "if odd:\n    comm.Alltoallv(parts, taken)  # here\nelse:\n    comm.Alltoallv(parts, taken)  # there\n"
        + "ttnn.all_reduce(x, cluster_axis=1)\n",
        says="sends 16 bytes, of which rank",
        symmetric=False,
    ),
    "a part of MPI that is split otherwise": Divergence(
        MPI + "part = comm.Split(0 if odd else 1, rank)\nif odd:\n    part.Barrier()\nttnn.all_reduce(x, cluster_axis=0 if odd else 1)  # here\n",
        says="cluster_axis",
        code="TTG001|TTG005",
        symmetric=False,
        blamed=(),
    ),
    # --- training ------------------------------------------------------------------------------------------------------
    "a checkpoint of the first rank alone": saver(f"next(iter(model.parameters().values())).to_numpy({GATHERED})"),
    "a loss that the first rank alone prints": saver(f"print(ttml.ops.unary.mean(model(batch())).to_numpy({GATHERED}))"),
    "an early stop": training(
        "optimizer = sgd()\nfor epoch in range(4):\n    if odd and epoch == 2:\n        break\n    step(optimizer)\nttnn.distributed_context_barrier()  # here\n"
    ),
    "gradients gathered for another number of batches": training(
        "optimizer = sgd()\nfor turn in range(6):\n    ttml.ops.unary.mean(model(batch())).backward()\n    context.reset_graph()\n"
        "    if turn % (3 if odd else 2) == 1:\n        ttml.sync_gradients(model.parameters())  # there\n        optimizer.step()\n        optimizer.zero_grad()\n"
        "ttnn.distributed_context_barrier()  # here\n",
        code="TTG001|TTG008",
        says="",
    ),
    "a batch that raises": training(
        "optimizer = sgd()\nfor turn in range(3):\n    if odd and turn == 1:\n        raise OSError('no such file: shard-1')  # here\n    step(optimizer)\n",
        code="TTG003",
        says="no such file: shard-1",
        symmetric=False,
    ),
    "a batch that comes late": training(
        "import time\noptimizer = sgd()\nstep(optimizer)\nif odd:\n    time.sleep(60)  # here\nstep(optimizer)\n",
        code="TTG005",
        says="",
        symmetric=False,
    ),
    "an optimizer of another kind on replicas": synced(
        "optimizer = ttml.optimizers.AdamW(model.parameters(), ttml.optimizers.AdamWConfig.make(lr=0.1)) if odd else sgd()"
    ),
    "a rate that one rank lowers": replicas(
        "optimizer = sgd()",
        "for turn in range(2):\n    if odd and turn == 1:\n        optimizer.set_lr(0.01)\n    step(optimizer)\n",
    ),
    "weights of another seed": synced("ttml.manual_seed(7 if odd else 0)\nmodel = LinearLayer(64, 32)\noptimizer = sgd()"),
}  # fmt: skip
"""By what is different."""
