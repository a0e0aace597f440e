"""Further ways in which one rank does something else than the others, in the form of `divergences`: its ends, its waits, its weights, its sockets."""

from __future__ import annotations

from tests.runtime.guard.divergences import HEAD, SOCKETS, SYNCED, TRAINING, Divergence, other

REDUCED = "ttnn.all_reduce(next(iter(model.parameters().values())).get_value(), cluster_axis=1)  # here\n"
FLAGS = (
    "cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, 7))})\n"
    "flags = [ttnn.create_global_semaphore(mesh, cores, 0) for _ in range(2)]"
)
TRACED = (
    "ttnn.all_reduce(x, cluster_axis=1)\nnumber = ttnn.begin_trace_capture(mesh, cq_id=0)\nttnn.all_reduce(x, cluster_axis=1)\n"
    "ttnn.end_trace_capture(mesh, number, cq_id=0)\n"
)


def absent(
    what: str, code: str = "TTG005", says: str = "", exit_code: int = 1, here: bool = True
) -> Divergence:
    """Rank 1 does this alone, while the others are in a collective."""
    mark = "  # here" if here else ""
    body = f"import os, signal, subprocess, threading\nif odd:\n    {what}{mark}\nttnn.all_reduce(x, cluster_axis=1)  # there\n"
    return Divergence(body, code=code, says=says, symmetric=False, exit_code=exit_code)


def replicas(
    prepare: str,
    steps: str = "for _ in range(2):\n    step(optimizer)\n",
    then: bool = True,
    head: str = TRAINING,
    says: str = "",
) -> Divergence:
    """Training after which the weights differ between ranks; the collective that shows it is on the last line, where one comes `then`."""
    body = f"{prepare}\n{steps}{REDUCED if then else ''}"
    return Divergence(body, code="TTG008", options=("--check-replicas",), head=head, tail="", says=says)


def synced(prepare: str, steps: str = "for _ in range(2):\n    step(optimizer)\n") -> Divergence:
    """The same, where no collective is given the weights: the next step compares them before it sums gradients."""
    return replicas(
        prepare,
        steps,
        then=False,
        head=SYNCED,
        says="the weight 'LinearLayer/weight', compared in all_reduce(",
    )


def last(then: str) -> Divergence:
    """Training whose last step parts the weights, after which the program ends."""
    body = f"step(sgd(0.2 if odd else 0.1))\n{then}"
    says = "the weight 'LinearLayer/weight', compared at the end of the program"
    return Divergence(body, code="TTG008", options=("--check-replicas",), head=TRAINING, tail="", says=says)


FURTHER: dict[str, Divergence] = {
    # --- what becomes of the result ------------------------------------------------------------------------------------
    "another composer": other(
        "ttnn.to_torch(x, mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim={}))",
        "2",
        "0",
        "composed along 2 of 8",
    ),
    "a composer of rows and columns": other(
        "ttnn.to_torch(x, mesh_composer={})",
        "ttnn.ConcatMesh2dToTensor(mesh, (2, 4), (0, 3))",
        "ttnn.ConcatMeshToTensor(mesh, 0)",
        "composed along 0 and 3 of 2x4",
    ),
    "a tensor for the result on one rank": other(
        "ttnn.all_gather(x, dim=3, cluster_axis=1, output_tensor={})",
        "tensor(1, 1, 32, 512)",
        "None",
        "output tensor in",
    ),
    "a tensor for the result elsewhere": other(
        "ttnn.reduce_scatter(x, dim=3, cluster_axis=1, output_tensor=tensor(1, 1, 32, 32, memory_config={}))",
        "ttnn.L1_MEMORY_CONFIG",
        "ttnn.DRAM_MEMORY_CONFIG",
        "output tensor in",
    ),
    # --- how the mesh is opened ----------------------------------------------------------------------------------------
    "another fabric": Divergence(
        "ttnn.close_mesh_device(mesh)\nttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D_RING if odd else ttnn.FabricConfig.FABRIC_1D)\n"
        "mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))\nttnn.all_gather(tensor(1, 1, 32, 32, device=mesh), dim=3, cluster_axis=1)  # here\n",
        says="fabric",
        tail="ttnn.close_mesh_device(mesh)\n",
    ),
    "another region for small buffers": Divergence(
        "ttnn.close_mesh_device(mesh)\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4), l1_small_size=32768 if odd else 24576)  # here\n",
        says="l1_small_size",
        tail="ttnn.close_mesh_device(mesh)\n",
    ),
    "a region for traces on one rank": Divergence(
        "ttnn.close_mesh_device(mesh)\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4), trace_region_size=65536 if odd else 0)  # here\n",
        says="trace_region_size",
        tail="ttnn.close_mesh_device(mesh)\n",
    ),
    "another number of queues": Divergence(
        "ttnn.close_mesh_device(mesh)\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4), num_command_queues=2 if odd else 1)  # here\n",
        says="num_command_queues",
        tail="ttnn.close_mesh_device(mesh)\n",
    ),
    # --- who works on it -----------------------------------------------------------------------------------------------
    "other workers": other(
        "ttnn.all_gather(x, dim=3, cluster_axis=1, num_workers_per_link={})", "2", "1", "num_workers_per_link"
    ),
    "other steps between signals": other(
        "ttnn.reduce_scatter(x, dim=3, cluster_axis=1, chunks_per_sync={})", "4", "8", "chunks_per_sync"
    ),
    "other buffers of a channel": other(
        "ttnn.experimental.all_gather_async(x, 3, flags, num_buffers_per_channel={})",
        "2",
        "None",
        "num_buffers_per_channel",
        prepare=FLAGS,
    ),
    "sums in between elsewhere": other(
        "ttnn.reduce_scatter(x, dim=3, cluster_axis=1, intermediate_memory_config={})",
        "ttnn.L1_MEMORY_CONFIG",
        "None",
        "intermediate_memory_config",
    ),
    "signals elsewhere": other(
        "ttnn.all_gather(x, dim=3, cluster_axis=1, use_l1_small_for_semaphores={})",
        "True",
        "False",
        "use_l1_small_for_semaphores",
    ),
    "other tiles": other(
        "ttnn.all_gather(ttnn.from_torch(np.ones((1, 1, 32, 128), np.float32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh, "
        "tile=ttnn.Tile({}), mesh_mapper=ttnn.ReplicateTensorToMesh(mesh)), dim=3, cluster_axis=1)",
        "(16, 32)",
        "(32, 32)",
        "tile 16x32",
    ),
    # --- what is called ------------------------------------------------------------------------------------------------
    "a collective only of the first rank": Divergence(
        "if rank == 0:\n    ttnn.all_reduce(x, cluster_axis=1)  # first\nttnn.all_gather(x, dim=2, cluster_axis=1)  # there\n",
        says="operation",
        blamed=(0,),
    ),
    "a partition against a sum": Divergence(
        "if odd:\n    ttnn.all_broadcast(x, cluster_axis=1)  # here\nelse:\n    ttnn.reduce_scatter(x, dim=3, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a point to point against a broadcast": Divergence(
        "if odd:\n    ttnn.point_to_point(x, ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(0, 3))  # here\n"
        "else:\n    ttnn.broadcast(x, ttnn.MeshCoordinate(0, 0), cluster_axis=1)  # there\n",
        code="TTG001|TTG004",
        says="",
    ),
    "an asynchronous form against the plain one": Divergence(
        f"{FLAGS}\nif odd:\n    ttnn.experimental.all_gather_async(x, 3, cluster_axis=1, mesh_device=mesh, multi_device_global_semaphore=flags)  # here\n"
        "else:\n    ttnn.all_gather(x, dim=3, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a collective in a worker thread": Divergence(
        "import threading\ndef work(): ttnn.all_reduce(x, cluster_axis=1)  # here\n"
        "if odd:\n    t = threading.Thread(target=work)\n    t.start()\n    t.join()\n"
        "else:\n    ttnn.all_gather(x, dim=2, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a collective in a callback": Divergence(
        "class Hook:\n    def __del__(self): ttnn.all_reduce(x, cluster_axis=1)  # here\n"
        "if odd:\n    hook = Hook()\n    del hook\nttnn.all_gather(x, dim=2, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a generator that is a batch longer": Divergence(
        "def batches(): yield from range(4 if odd else 3)\nfor _ in batches():\n    ttnn.all_reduce(x, cluster_axis=1)  # here\n"
        "ttnn.distributed_context_barrier()  # there\n",
        says="operation",
    ),
    "a loop until a value": Divergence(
        "total = 0\nwhile total < 3:\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n    total += 3 if odd else 1\n"
        "ttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n",
        says="operation",
    ),
    "a recursion that is deeper": Divergence(
        "def down(depth):\n    if depth:\n        ttnn.all_reduce(x, cluster_axis=1)  # here\n        down(depth - 1)\n"
        "down(5 if odd else 3)\nttnn.distributed_context_barrier()  # there\n",
        says="operation",
    ),
    "sets in another order": Divergence(
        "def gather(): ttnn.all_gather(x, dim=3, cluster_axis=1)  # there\ndef reduce(): ttnn.all_reduce(x, cluster_axis=1)  # here\n"
        "order = {'a': reduce, 'b': gather} if odd else {'b': gather, 'a': reduce}\nfor call in order.values(): call()\n",
        says="operation",
    ),
    "a barrier in an exit handler": Divergence(
        "import atexit\ndef last(): ttnn.distributed_context_barrier()  # here\nif odd: atexit.register(last)\n",
        code="TTG002",
        blamed=(),  # all others, who have ended
        symmetric=False,
        tail="",
    ),
    "an exception caught and gone on": Divergence(
        "for turn in range(3):\n    try:\n        if odd and turn == 1:\n            raise RuntimeError('skip this batch')\n"
        "        ttnn.all_reduce(x, cluster_axis=1)  # there\n    except RuntimeError:\n        continue\nttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n",
        says="operation",
    ),
    "a barrier too many": Divergence(
        "if odd:\n    ttnn.distributed_context_barrier()  # here\nttnn.close_mesh_device(mesh)  # there\n",
        says="operation",
        tail="",
    ),
    "a barrier too few": Divergence(
        "if not odd:\n    ttnn.distributed_context_barrier()  # there\nttnn.all_reduce(x, cluster_axis=1)  # here\n",
        says="operation",
    ),
    # --- with what -----------------------------------------------------------------------------------------------------
    "a row more": other("ttnn.all_gather(tensor(1, 1, {}, 128), dim=3, cluster_axis=1)", "33", "32", "shape"),
    "a batch less": other("ttnn.all_reduce(tensor({}, 1, 32, 128), cluster_axis=1)", "1", "2", "shape"),
    "block floats": other(
        "ttnn.all_gather(tensor(1, 1, 32, 32, dtype={}), dim=3, cluster_axis=1)",
        "ttnn.bfloat8_b",
        "ttnn.bfloat16",
        "dtype",
    ),
    "a negative dimension that is another": other(
        "ttnn.all_gather(x, dim={}, cluster_axis=1)", "-2", "-1", "dim"
    ),
    "no axis of a gather": other("ttnn.all_gather(x, dim=3, cluster_axis={})", "None", "1", "cluster_axis"),
    "another axis of a scatter": other(
        "ttnn.reduce_scatter(tensor(1, 1, 32, 256), dim=3, cluster_axis={})", "0", "1", "cluster_axis"
    ),
    "another height of a shard": other(
        "ttnn.all_reduce(ttnn.to_memory_config(tensor(1, 1, 128, 128), ttnn.create_sharded_memory_config((1, 1, 128, 128), "
        "ttnn.CoreGrid(y={}, x=1), ttnn.ShardStrategy.HEIGHT)), cluster_axis=1)",
        "2",
        "4",
        "input memory",
    ),
    "another subdevice": other(
        "ttnn.all_reduce(x, cluster_axis=1, subdevice_id={})", "ttnn.SubDeviceId(0)", "None", "subdevice_id"
    ),
    "links of a scatter": other(
        "ttnn.reduce_scatter(x, dim=3, cluster_axis=1, num_links={})", "3", "1", "num_links"
    ),
    "a topology of a broadcast": other(
        "ttnn.broadcast(x, ttnn.MeshCoordinate(0, 0), cluster_axis=1, topology={})",
        "ttnn.Topology.Ring",
        "ttnn.Topology.Linear",
        "topology",
    ),
    "a row of the mesh that another sends": other(
        "ttnn.broadcast(x, ttnn.MeshCoordinate({}, 0), cluster_axis=0)", "1", "0", "sender"
    ),
    # --- meshes --------------------------------------------------------------------------------------------------------
    "another mesh shape of the same devices": Divergence(
        "ttnn.close_mesh_device(mesh)\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 8) if odd else ttnn.MeshShape(2, 4))  # here\n",
        says="shape",
        tail="ttnn.close_mesh_device(mesh)\n",
    ),
    "a reshape of the mesh": Divergence(
        "if odd:\n    mesh.reshape(ttnn.MeshShape(1, 8))\nttnn.all_reduce(tensor(1, 1, 32, 32))  # here\n",
        says="",
        code="TTG001",
    ),
    "a submesh before the mesh": Divergence(
        "row = mesh.create_submeshes(ttnn.MeshShape(1, 4))[0]\n"
        "for device in (row, mesh) if odd else (mesh, row):\n    ttnn.all_reduce(tensor(1, 1, 32, 32, device=device), cluster_axis=1)  # here\n",
        code="TTG001|TTG004",
        symmetric=False,
        blamed=(),
    ),
    "a mesh closed twice": Divergence(
        "ttnn.close_mesh_device(mesh)\nif odd:\n    mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))  # here\nttnn.distributed_context_barrier()  # there\n",
        says="operation",
        tail="",
    ),
    "a tensor read on the device alone": Divergence(
        "if odd:\n    ttnn.to_torch(ttnn.from_device(x), mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim=0))  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    # --- traces, queues ------------------------------------------------------------------------------------------------
    "a replay too few": Divergence(
        TRACED + "for _ in range(1 if odd else 2):\n    ttnn.execute_trace(mesh, number, cq_id=0)  # there\n"
        "ttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n",
        says="operation",
    ),
    "a replay in place of the calls": Divergence(
        TRACED
        + "if odd:\n    ttnn.execute_trace(mesh, number, cq_id=0)  # here\nelse:\n    ttnn.all_gather(x, dim=2, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a capture on one rank only": Divergence(
        "if odd:\n    number = ttnn.begin_trace_capture(mesh, cq_id=0)\nttnn.all_reduce(x, cluster_axis=1)  # here\n"
        "if odd:\n    ttnn.end_trace_capture(mesh, number, cq_id=0)\nttnn.all_gather(x, dim=2, cluster_axis=1)\n",
        says="capture",
    ),
    # --- values --------------------------------------------------------------------------------------------------------
    "a seed of numbers": Divergence(
        "values = np.random.default_rng(rank).normal(size=(1, 1, 32, 32)).astype(np.float32)\n"
        "w = ttnn.from_torch(values, device=mesh, layout=ttnn.TILE_LAYOUT, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))\n"
        "ttnn.reduce_scatter(w, dim=3, cluster_axis=1)  # here\n",
        code="TTG008",
        options=("--check-replicas",),
        symmetric=False,
        blamed=(),
    ),
    "a scale on one rank": Divergence(
        "w = ttnn.from_torch(np.ones((1, 1, 32, 32), np.float32), device=mesh, layout=ttnn.TILE_LAYOUT, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))\n"
        "w = ttnn.multiply(w, 2.0 if odd else 1.0)\nttnn.all_reduce(w, cluster_axis=1)  # here\n",
        code="TTG008",
        options=("--check-replicas",),
    ),
    "a nan on one rank": Divergence(
        "w = ttnn.from_torch(np.full((1, 1, 32, 32), np.nan if odd else 0, np.float32), device=mesh, layout=ttnn.TILE_LAYOUT, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))\n"
        "ttnn.all_gather(w, dim=3, cluster_axis=1)  # here\n",
        code="TTG008",
        options=("--check-replicas",),
    ),
    "a last step of another rate, and no mesh that closes": last(""),
    "a last step of another rate before MPI is shut down": last("from mpi4py import MPI\nMPI.Finalize()\n"),
    # --- ends ----------------------------------------------------------------------------------------------------------
    "an end by an exception with a cause": absent(
        "raise RuntimeError('second') from ValueError('first')", "TTG003", "second"
    ),
    "an assertion": absent("assert x is None, 'no tensor'", "TTG003", "no tensor"),
    "an import that fails": absent("import nothing_of_this_name", "TTG003", "nothing_of_this_name"),
    "too little memory": absent("raise MemoryError('no more')", "TTG003", "MemoryError"),
    "an interrupt of its own": absent(
        "raise KeyboardInterrupt", "TTG003|TTG002", "KeyboardInterrupt", exit_code=130
    ),
    "an end by quit": absent("quit()", "TTG002"),
    "an end with a large code": absent("sys.exit(300)", "TTG002", exit_code=44),
    "an end at once with a code": absent(
        "os._exit(9)", "TTG006|TTG003", "exited with 9", exit_code=9, here=False
    ),
    "a kill": absent(
        "os.kill(os.getpid(), signal.SIGKILL)", "TTG006", "was killed by SIGKILL", exit_code=137, here=False
    ),
    "a crash": absent(
        "os.kill(os.getpid(), signal.SIGSEGV)", "TTG006", "was killed by SIGSEGV", exit_code=139, here=False
    ),
    "an abort": absent("os.abort()", "TTG006", "was killed by SIGABRT", exit_code=134, here=False),
    "a termination": absent(
        "os.kill(os.getpid(), signal.SIGTERM)", "TTG006", "was killed by SIGTERM", exit_code=143, here=False
    ),
    "a program replaced by another": absent(
        "os.execvp('sleep', ['sleep', '30'])", "TTG005|TTG006", here=False
    ),
    "a thread that raises where nobody joins": Divergence(
        "import threading\ndef work(): raise ValueError('lost')\n"
        "if odd:\n    threading.Thread(target=work).start()\n    time.sleep(60)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG005",
        symmetric=False,
    ),
    # --- waits ---------------------------------------------------------------------------------------------------------
    "a lock taken twice": absent("l = threading.Lock(); l.acquire(); l.acquire()"),
    "a child that does not end": absent("subprocess.run(['sleep', '60'])"),
    "a sleep": absent("time.sleep(60)"),
    "an event that nobody sets": absent("threading.Event().wait()"),
    "a queue that stays empty": absent("__import__('queue').Queue().get()"),
    "a pipe that nobody writes": absent("r, w = os.pipe(); os.read(r, 1)"),
    "an address that does not answer": absent(
        "s = __import__('socket').socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.accept()"
    ),
    "a busy loop in NumPy": absent("while True: np.ones(1 << 16).sum()"),
    "a stop": Divergence(
        "import os, signal\nif odd:\n    os.kill(os.getpid(), signal.SIGSTOP)\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG005",
        says="stopped",
        symmetric=False,
    ),
    # --- messages and sockets ------------------------------------------------------------------------------------------
    "a send to the wrong rank": Divergence(
        "if rank == 0:\n    ttnn.distributed_context_send_bytes(bytes(1 << 20), 0 if size < 3 else 2)  # there\n"
        "elif odd:\n    ttnn.distributed_context_recv_bytes(1 << 20, 0)  # here\n",
        code="TTG004|TTG003|TTG002|TTG001",
        symmetric=False,
        blamed=(),
    ),
    "both send first": Divergence(
        "if rank < 2:\n    ttnn.distributed_context_send_bytes(bytes(1 << 22), 1 - rank)  # here\n"
        "    ttnn.distributed_context_recv_bytes(1 << 22, 1 - rank)\n",
        code="TTG004",
        pair=True,
    ),
    "a message less": Divergence(
        "for turn in range(3):\n    if rank == 0 and turn < 2:\n        ttnn.distributed_context_send_bytes(bytes(8), 1)\n"
        "    elif odd:\n        ttnn.distributed_context_recv_bytes(8, 0)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG004",
        pair=True,
    ),
    "a socket with a larger buffer": Divergence(
        "larger = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 8192)\n"
        "if odd:\n    pair(0, 1, memory=larger)  # here\nelif rank == 0:\n    pair(0, 1)  # there\n",
        says="memory",
        head=HEAD + SOCKETS,
        pair=True,
    ),
    "a socket of both as senders": Divergence(
        "if odd:\n    pair(1, 0)  # here\nelif rank == 0:\n    pair(0, 1)  # there\n",
        head=HEAD + SOCKETS,
        pair=True,
        code="TTG001|TTG004",
    ),
    "a tensor of another dtype through a socket": Divergence(
        "if rank < 2:\n    socket = pair(0, 1)\n"
        "if rank == 0:\n    ttnn.experimental.send_async(tensor(1, 1, 32, 32), socket)  # there\n"
        "if odd:\n    y = tensor(1, 1, 32, 32, dtype=ttnn.float32)\n    ttnn.experimental.recv_async(y, socket)\n    ttnn.synchronize_device(mesh)  # here\n",
        code="TTG003",
        symmetric=False,
        head=HEAD + SOCKETS,
    ),
    "both receive from a socket": Divergence(
        "if rank < 2:\n    one, two = pair(0, 1), pair(1, 0)\n    y = tensor(1, 1, 32, 32)\n"
        "    ttnn.experimental.recv_async(y, two if rank == 0 else one)  # here\n    ttnn.synchronize_device(mesh)\n",
        code="TTG004",
        head=HEAD + SOCKETS,
        pair=True,
    ),
    # --- training ------------------------------------------------------------------------------------------------------
    "another model": Divergence(
        "model = LinearLayer(64, 64 if odd else 32)\noptimizer = sgd()\nstep(optimizer)\n",
        says="shape",
        head=TRAINING,
        tail="",
    ),
    "a layer more": Divergence(
        "class Deep(ttml.modules.AbstractModuleBase):\n    def __init__(self, n):\n        super().__init__()\n"
        "        for i in range(n):\n            setattr(self, f'l{i}', LinearLayer(64, 64))\n        self.n = n\n"
        "    def forward(self, t):\n        for i in range(self.n):\n            t = getattr(self, f'l{i}')(t)\n        return t\n"
        "    __call__ = forward\nmodel = Deep(3 if odd else 2)\noptimizer = sgd()\nstep(optimizer)\nttnn.distributed_context_barrier()\n",
        says="operation",
        head=TRAINING,
        tail="",
    ),
    "gradients clipped on one rank": replicas(
        "optimizer = sgd()",
        "for _ in range(2):\n    optimizer.zero_grad()\n    loss = ttml.ops.unary.mean(model(batch()))\n    loss.backward()\n    context.reset_graph()\n"
        "    ttml.sync_gradients(model.parameters())  # here\n    if odd:\n        ttml.core.clip_grad_norm(model.parameters(), 1e-3, 2.0, False)\n    optimizer.step()\n",
        then=False,
    ),
    "another momentum": replicas(
        "optimizer = ttml.optimizers.SGD(model.parameters(), ttml.optimizers.SGDConfig.make(lr=0.1, momentum=0.1 if odd else 0.9))"
    ),
    "another decay of weights": synced(
        "optimizer = ttml.optimizers.AdamW(model.parameters(), ttml.optimizers.AdamWConfig.make(lr=0.1, weight_decay=0.5 if odd else 0.0))"
    ),
    "a step that one rank leaves out": replicas(
        "optimizer = sgd()",
        "optimizer.zero_grad()\nloss = ttml.ops.unary.mean(model(batch()))\nloss.backward()\ncontext.reset_graph()\n"
        "ttml.sync_gradients(model.parameters())\nif not odd:\n    optimizer.step()\n",
    ),
    "gradients set to zero on one rank": replicas(
        "optimizer = sgd()",
        "for _ in range(2):\n    if not odd:\n        optimizer.zero_grad()\n    loss = ttml.ops.unary.mean(model(batch()))\n    loss.backward()\n    context.reset_graph()\n"
        "    ttml.sync_gradients(model.parameters())  # here\n    optimizer.step()\n",
        then=False,
    ),
    "weights that no collective is given": replicas(
        "optimizer = sgd(0.2 if odd else 0.1)",
        "step(optimizer)\ncontext.close_device()  # here\n",
        then=False,
        says="the weight 'LinearLayer/weight', compared before the mesh is closed",
    ),
    "a step that one rank takes twice": synced(
        "optimizer = sgd()", "step(optimizer)\nif odd:\n    optimizer.step()\nstep(optimizer)\n"
    ),
    "a rate that one rank sets": synced("optimizer = sgd()\nif odd:\n    optimizer.set_lr(0.5)"),
    "a weight assigned on one rank": synced(
        "optimizer = sgd()",
        "step(optimizer)\nif odd:\n    for each in model.parameters().values():\n"
        "        each.assign(ttml.autograd.Tensor.from_numpy(each.to_numpy(ttnn.DataType.FLOAT32) * 1.5))\nstep(optimizer)\n",
    ),
    "a layer of another seed without an optimizer": replicas(
        "ttml.manual_seed(7 if odd else 0)\nmodel = LinearLayer(64, 32)\n"
        "def plain():\n    loss = ttml.ops.unary.mean(model(batch()))\n    loss.backward()\n    context.reset_graph()\n"
        "    ttml.sync_gradients(model.parameters())  # here\n",
        "plain()\n",
        then=False,
        says="the weight 'LinearLayer/weight', compared in all_reduce(",
    ),
    "weights loaded on one rank": synced(
        "optimizer = sgd()\nif odd:\n    for each in model.parameters().values():\n        each.set_value(ttnn.multiply(each.get_value(), 2.0))\n"
    ),
    "gradients summed on one rank": Divergence(
        "optimizer = sgd()\nloss = ttml.ops.unary.mean(model(batch()))\nloss.backward()\n"
        "if odd:\n    ttml.sync_gradients(model.parameters())  # here\nttnn.distributed_context_barrier()  # there\n",
        says="operation",
        head=TRAINING,
        tail="",
    ),
    "an evaluation on one rank": Divergence(
        "optimizer = sgd()\nstep(optimizer)\nif odd:\n    model(batch()).to_numpy(composer=ttml.core.distributed.concat_mesh_to_tensor_composer(context.get_device(), 0))  # here\n"
        "ttnn.distributed_context_barrier()  # there\n",
        says="operation",
        head=TRAINING,
        tail="",
    ),
    "another order of layers": replicas(
        "class Two(ttml.modules.AbstractModuleBase):\n    def __init__(self):\n        super().__init__()\n"
        "        if odd:\n            self.b, self.a = LinearLayer(64, 32), LinearLayer(64, 64)\n"
        "        else:\n            self.a, self.b = LinearLayer(64, 64), LinearLayer(64, 32)\n"
        "    def __call__(self, t): return self.b(self.a(t))\nmodel = Two()\noptimizer = sgd()",
        then=False,
    ),
}
"""By what is different."""
