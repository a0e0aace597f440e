"""Seventy ways in which one rank does something else than the others: what each program is, and what a report on it must say.

Every program runs on a 2x4 mesh that is cut over two or four ranks; rank 1 is the odd one out. A line of its own ends in `# here`, a line
on which the others are then in `# there` (the same line where it has no mark of its own).
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """
import sys, time
import numpy as np
import ttnn
ttnn.init_distributed_context()
rank, size = int(ttnn.distributed_context_get_rank()), int(ttnn.distributed_context_get_size())
odd, mesh = rank == 1, ttnn.open_mesh_device(ttnn.MeshShape(2, 4))

def tensor(*shape, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh, **more):
    return ttnn.zeros(shape, dtype=dtype, layout=layout, device=device, **more)

x = tensor(1, 1, 32, 128)
for _ in range(3):
    ttnn.all_gather(x, dim=3, cluster_axis=1)
"""
TAIL = """
for _ in range(3):
    ttnn.all_gather(x, dim=3, cluster_axis=1)
ttnn.close_mesh_device(mesh)
"""
TRAINING = """
import sys
import numpy as np
import ttml, ttnn
from ttml.modules import LinearLayer
context = ttml.autograd.AutoContext.get_instance()
ttml.open_device_mesh(ttml.Mesh((2, 4), ("dp", "tp")))
rank = int(ttnn.distributed_context_get_rank())
odd = rank == 1
ttml.manual_seed(0)
model = LinearLayer(64, 32)
generator = np.random.default_rng(0)
def batch():
    return ttml.autograd.Tensor.from_numpy(generator.normal(size=(2, 1, 32, 64)).astype(np.float32), mapper=ttml.mesh().axis_mapper("dp", 0))
def step(optimizer):
    optimizer.zero_grad()
    loss = ttml.ops.unary.mean(model(batch()))
    loss.backward()
    context.reset_graph()
    ttml.sync_gradients(model.parameters())  # sync
    optimizer.step()
def sgd(lr=0.1):
    return ttml.optimizers.SGD(model.parameters(), ttml.optimizers.SGDConfig.make(lr=lr, momentum=0.9))
"""
SYNCED = TRAINING.replace("# sync", "# here")
"""The same for what shows in the second step: its first collective compares the weights."""
SOCKETS = """
core = ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 0), ttnn.CoreCoord(0, 0))
far = ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 4 // size), ttnn.CoreCoord(0, 0))
memory = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096)
def pair(sender, receiver, ends=None, memory=memory):
    ends = ends or ((core, far) if sender == 0 else (far, core))
    return ttnn.MeshSocket(mesh, ttnn.SocketConfig([ttnn.SocketConnection(*ends)], memory, sender_rank=sender, receiver_rank=receiver))
"""


@dataclass(frozen=True)
class Divergence:
    """A program and its verdict: `code` is the guard's (several apart by `|`), `says` are words of the report beside the lines.

    `blamed` is rank 1 unless said; a `symmetric` one is a tie where two ranks meet. `pair`: only ranks 0 and 1 take part, so that there is a
    tie with four ranks too. `at_deadline`: nothing is certain any sooner.
    """

    body: str
    code: str = "TTG001"
    says: str = ""
    blamed: tuple[int, ...] = (1,)
    symmetric: bool = True
    pair: bool = False
    head: str = HEAD
    tail: str = TAIL
    options: tuple[str, ...] = ()
    exit_code: int = 1
    at_deadline: bool = False

    @property
    def source(self) -> str:
        """The whole program."""
        return self.head + self.body + self.tail

    def lines(self, word: str) -> list[int]:
        """The lines that end in a mark."""
        numbered = enumerate(self.source.splitlines(), 1)
        return [number for number, line in numbered if line.endswith(f"# {word}")]

    def culprits(self, ranks: int) -> tuple[int, ...]:
        """Who the report holds at fault in a job of so many ranks."""
        if not self.symmetric:
            return self.blamed
        if self.pair or ranks == 2:
            return (0, 1)
        return self.blamed


def other(call: str, value: str, usual: str, says: str, prepare: str = "", **more: object) -> Divergence:
    """One call on one line, `call` with `{}` in it, in which rank 1 has another value."""
    body = f"{prepare}\n{call.format(f'{value} if odd else {usual}')}  # here\n"
    return Divergence(body, says=says, **more)  # type: ignore[arg-type]


DIVERGENCES: dict[str, Divergence] = {
    # --- what is called ------------------------------------------------------------------------------------------------
    "another collective": Divergence(
        "if odd:\n    ttnn.all_reduce(x, cluster_axis=1)  # here\nelse:\n    ttnn.all_gather(x, dim=3, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "another form of the collective": Divergence(
        "if odd:\n    ttnn.reduce_scatter(x, dim=3, cluster_axis=1)  # here\n"
        "else:\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a skipped call": Divergence(
        "if not odd:\n    ttnn.all_reduce(x, cluster_axis=1)  # there\nttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n",
        says="operation",
    ),
    "a call too many": Divergence(
        "if odd:\n    ttnn.all_reduce(x, cluster_axis=1)  # here\nttnn.all_gather(x, dim=2, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "swapped order": Divergence(
        "def one(): ttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n"
        "def two(): ttnn.all_reduce(x, cluster_axis=1)  # there\n"
        "for call in ((one, two) if odd else (two, one)): call()\n",
        says="operation",
    ),
    "a barrier against a collective": Divergence(
        "if odd:\n    ttnn.distributed_context_barrier()  # here\nelse:\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a barrier against numbers of all ranks": Divergence(
        "if odd:\n    ttnn.distributed_context_barrier()  # here\nelse:\n    ttnn.distributed_context_allgather_int(1)  # there\n",
        says="operation",
    ),
    "an early close": Divergence(
        "if odd:\n    ttnn.close_mesh_device(mesh)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "a collective in a branch on a value": Divergence(
        "if float(rank) == 1.0:\n    ttnn.all_reduce(ttnn.add(x, 1.0), cluster_axis=1)  # here\nttnn.all_gather(x, dim=2, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "one more round of a loop": Divergence(
        "for _ in range(4 if odd else 3):\n    ttnn.all_reduce(x, cluster_axis=1)  # here\n"
        "ttnn.all_gather(x, dim=2, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "one round of a loop less": Divergence(
        "for _ in range(2 if odd else 3):\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n"
        "ttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n",
        says="operation",
    ),
    "a call in a rank's own handler of errors": Divergence(
        "try:\n    if odd:\n        raise ValueError('own')\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n"
        "except ValueError:\n    ttnn.all_gather(x, dim=2, cluster_axis=1)  # here\n",
        says="operation",
    ),
    # --- with what -----------------------------------------------------------------------------------------------------
    "another shape": other(
        "ttnn.all_gather(tensor(1, 1, 32, {}), dim=3, cluster_axis=1)", "256", "128", "shape"
    ),
    "more dimensions": other(
        "ttnn.all_reduce({}, cluster_axis=1)", "tensor(1, 1, 1, 32, 128)", "tensor(1, 1, 32, 128)", "shape"
    ),
    "another dtype": other(
        "ttnn.all_gather(tensor(1, 1, 32, 32, dtype={}), dim=3, cluster_axis=1)",
        "ttnn.float32",
        "ttnn.bfloat16",
        "dtype",
    ),
    "another integer dtype": other(
        "ttnn.all_gather(tensor(1, 1, 32, 32, dtype={}), dim=3, cluster_axis=1)",
        "ttnn.int32",
        "ttnn.uint32",
        "dtype",
    ),
    "another layout": other(
        "ttnn.all_gather(tensor(1, 1, 32, 32, layout={}), dim=3, cluster_axis=1)",
        "ttnn.ROW_MAJOR_LAYOUT",
        "ttnn.TILE_LAYOUT",
        "layout",
    ),
    "another dimension": other("ttnn.all_gather(x, dim={}, cluster_axis=1)", "2", "3", "dim"),
    "another dimension to scatter": other(
        "ttnn.reduce_scatter(tensor(1, 4, 32, 128), dim={}, cluster_axis=1)", "1", "3", "dim"
    ),
    "another axis": other("ttnn.all_gather(x, dim=3, cluster_axis={})", "0", "1", "cluster_axis"),
    "no axis": other("ttnn.all_reduce(x, cluster_axis={})", "None", "1", "cluster_axis"),
    "another topology": other(
        "ttnn.all_gather(x, dim=3, cluster_axis=1, topology={})",
        "ttnn.Topology.Ring",
        "ttnn.Topology.Linear",
        "topology",
    ),
    "another topology of a sum": other(
        "ttnn.reduce_scatter(x, dim=3, cluster_axis=1, topology={})",
        "ttnn.Topology.Ring",
        "ttnn.Topology.Linear",
        "topology",
    ),
    "another number of links": other(
        "ttnn.all_reduce(x, cluster_axis=1, num_links={})", "2", "1", "num_links"
    ),
    "links on one rank only": other(
        "ttnn.all_gather(x, dim=3, cluster_axis=1, num_links={})", "1", "None", "num_links"
    ),
    "another memory of the result": other(
        "ttnn.all_gather(x, dim=3, cluster_axis=1, memory_config={})",
        "ttnn.L1_MEMORY_CONFIG",
        "ttnn.DRAM_MEMORY_CONFIG",
        "memory_config",
    ),
    "an input elsewhere": other(
        "ttnn.all_reduce({}, cluster_axis=1)",
        "ttnn.to_memory_config(x, ttnn.L1_MEMORY_CONFIG)",
        "x",
        "input memory",
    ),
    "a sharded input": other(
        "ttnn.all_reduce({}, cluster_axis=1)",
        "ttnn.to_memory_config(x, ttnn.create_sharded_memory_config((1, 1, 32, 128), ttnn.CoreGrid(y=1, x=4), ttnn.ShardStrategy.WIDTH))",
        "x",
        "input memory",
    ),
    "another root": other(
        "ttnn.broadcast(x, ttnn.MeshCoordinate(0, {}), cluster_axis=1)", "2", "0", "sender"
    ),
    "another sender": other(
        "ttnn.point_to_point(x, ttnn.MeshCoordinate(0, {}), ttnn.MeshCoordinate(0, 3))", "1", "0", "disagree"
    ),
    "another receiver": other(
        "ttnn.point_to_point(x, ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(0, {}))", "2", "3", "disagree"
    ),
    "another axis of numbers in tiles": other(
        "ttnn.experimental.all_gather_async(x, 3, cluster_axis={}, mesh_device=mesh, multi_device_global_semaphore=flags)",
        "0",
        "1",
        "cluster_axis",
        prepare="cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, 7))})\n"
        "flags = [ttnn.create_global_semaphore(mesh, cores, 0) for _ in range(2)]",
    ),
    "another submesh": Divergence(
        "halves = mesh.create_submeshes(ttnn.MeshShape(2, 2))\n"
        "whole = tensor(1, 1, 32, 32)\n"
        "if odd:\n    ttnn.all_reduce(tensor(1, 1, 32, 32, device=mesh.create_submeshes(ttnn.MeshShape(2, 4))[0]), cluster_axis=0)  # here\n"
        "else:\n    ttnn.all_gather(whole, dim=2, cluster_axis=0)  # there\n",
        says="operation",
    ),
    # --- meshes --------------------------------------------------------------------------------------------------------
    "another mesh shape": Divergence(
        "ttnn.close_mesh_device(mesh)\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(4, 2) if odd else ttnn.MeshShape(2, 4))  # here\n",
        says="shape",
        tail="ttnn.close_mesh_device(mesh)\n",
    ),
    "a mesh opened twice": Divergence(
        "if odd:\n    ttnn.open_mesh_device(ttnn.MeshShape(2, 4))  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    "gathering to the host": Divergence(
        "whole = ttnn.ConcatMeshToTensor(mesh, dim=0)\n"
        "if odd:\n    ttnn.all_reduce(x, cluster_axis=1)  # here\nelse:\n    ttnn.to_torch(x, mesh_composer=whole)  # there\n",
        says="operation",
    ),
    "reading on one rank alone": Divergence(
        "whole = ttnn.ConcatMeshToTensor(mesh, dim=0)\n"
        "if odd:\n    ttnn.to_torch(x, mesh_composer=whole)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        says="operation",
    ),
    # --- traces --------------------------------------------------------------------------------------------------------
    "another trace replayed": Divergence(
        "def capture(call):\n    call()\n    number = ttnn.begin_trace_capture(mesh, cq_id=0)\n    call()\n"
        "    ttnn.end_trace_capture(mesh, number, cq_id=0)\n    return number\n"
        "one = capture(lambda: ttnn.all_gather(x, dim=2, cluster_axis=1))\n"
        "two = capture(lambda: ttnn.all_reduce(x, cluster_axis=1))\n"
        "ttnn.execute_trace(mesh, one if odd else two, cq_id=0)  # here\n",
        says="operation",
    ),
    "a capture with something else in it": Divergence(
        "number = ttnn.begin_trace_capture(mesh, cq_id=0)\n"
        "if odd:\n    ttnn.all_gather(x, dim=2, cluster_axis=1)  # here\nelse:\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n"
        "ttnn.end_trace_capture(mesh, number, cq_id=0)\n",
        says="operation",
    ),
    "a replay too many": Divergence(
        "number = ttnn.begin_trace_capture(mesh, cq_id=0)\nttnn.all_reduce(x, cluster_axis=1)\nttnn.end_trace_capture(mesh, number, cq_id=0)\n"
        "for _ in range(3 if odd else 2):\n    ttnn.execute_trace(mesh, number, cq_id=0)  # here\n"
        "ttnn.all_gather(x, dim=2, cluster_axis=1)  # there\n",
        says="operation",
    ),
    # --- values --------------------------------------------------------------------------------------------------------
    "weights that should be replicas": Divergence(
        "w = ttnn.from_torch(np.full((1, 1, 32, 32), rank == 1, np.float32), device=mesh, layout=ttnn.TILE_LAYOUT, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))\n"
        "ttnn.all_reduce(w, cluster_axis=1)  # here\n",
        code="TTG008",
        options=("--check-replicas",),
    ),
    "one element of a replica": Divergence(
        "values = np.zeros((1, 1, 32, 32), np.float32)\nif odd:\n    values[0, 0, 31, 31] = 1e-3\n"
        "w = ttnn.from_torch(values, device=mesh, layout=ttnn.TILE_LAYOUT, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))\n"
        "ttnn.all_gather(ttnn.add(w, 1.0), dim=3, cluster_axis=1)  # here\n",
        code="TTG008",
        options=("--check-replicas",),
    ),
    # --- ends ----------------------------------------------------------------------------------------------------------
    "an early end": Divergence(
        "if odd:\n    sys.exit(0)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG002",
        symmetric=False,
    ),
    "an early end with a code": Divergence(
        "if odd:\n    sys.exit(7)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG002",
        symmetric=False,
        exit_code=7,
    ),
    "an early end by SystemExit": Divergence(
        "if odd:\n    raise SystemExit('out of data')  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG002",
        says="out of data",
        symmetric=False,
    ),
    "an early end of the last line": Divergence(
        "ttnn.all_gather(x, dim=3, cluster_axis=1)  # here\nif not odd:\n    ttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG002",
        says="ended at the end of its program",
        symmetric=False,
        tail="",
    ),
    "an exception": Divergence(
        "if odd:\n    raise ValueError('bad batch')  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG003",
        says="bad batch",
        symmetric=False,
    ),
    "an exception of the library": Divergence(
        "y = tensor(1, 1, 32, 64 if odd else 128)\nz = ttnn.add(x, y)  # here\nttnn.all_reduce(z, cluster_axis=1)  # there\n",
        code="TTG003",
        symmetric=False,
    ),
    "an end without a word": Divergence(
        "if odd:\n    __import__('os')._exit(0)\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG006",
        symmetric=False,
    ),
    "an endless loop": Divergence(
        "while odd: pass  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG005",
        symmetric=False,
    ),
    # --- messages ------------------------------------------------------------------------------------------------------
    "receives all round": Divergence(
        "data = ttnn.distributed_context_recv_bytes(8, (rank - 1) % size)  # here\n"
        "ttnn.distributed_context_send_bytes(b'8 bytes!', (rank + 1) % size)\n",
        code="TTG004",
        symmetric=False,
        blamed=(),
    ),
    "a message that nobody sends": Divergence(
        "if odd:\n    ttnn.distributed_context_recv_bytes(8, 0)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG004",
        pair=True,
    ),
    "a message that nobody takes": Divergence(
        "if odd:\n    ttnn.distributed_context_send_bytes(bytes(1 << 20), 0)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG004",
        pair=True,
    ),
    "a message that is too short": Divergence(
        "if rank == 0:\n    ttnn.distributed_context_send_bytes(bytes(16), 1)  # there\n"
        "elif odd:\n    ttnn.distributed_context_recv_bytes(32, 0)  # here\nttnn.all_reduce(x, cluster_axis=1)\n",
        code="TTG003",
        says="rank 0 sent 16 bytes",
        symmetric=False,
    ),
    "a message that is too long": Divergence(
        "if rank == 0:\n    ttnn.distributed_context_send_bytes(bytes(32), 1)  # there\n"
        "elif odd:\n    ttnn.distributed_context_recv_bytes(16, 0)  # here\nttnn.all_reduce(x, cluster_axis=1)\n",
        code="TTG003",
        says="rank 0 sent 32 bytes",
        symmetric=False,
    ),
    "a message from somebody else": Divergence(
        "if rank == 0:\n    ttnn.distributed_context_send_bytes(bytes(1 << 20), 1, 7)  # there\n"
        "elif odd:\n    ttnn.distributed_context_recv_bytes(1 << 20, 0, 8)  # here\n",
        code="TTG004",
        pair=True,
    ),
    "sockets in another order": Divergence(
        "if odd:\n    pair(1, 0)  # here\n    pair(0, 1)\nelif rank == 0:\n    pair(0, 1)  # there\n    pair(1, 0)\n",
        says="in the order in which each makes them",
        head=HEAD + SOCKETS,
        pair=True,
    ),
    "a socket with another connection": Divergence(
        "near = ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 0), ttnn.CoreCoord(1, 0))\n"
        "if odd:\n    pair(0, 1, (near, far))  # here\nelif rank == 0:\n    pair(0, 1)  # there\n",
        says="connections",
        head=HEAD + SOCKETS,
        pair=True,
    ),
    "a socket with one end": Divergence(
        "if odd:\n    pair(0, 1)  # here\nttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG001|TTG004",
        head=HEAD + SOCKETS,
        pair=True,
    ),
    "a tensor of another shape through a socket": Divergence(
        "if rank < 2:\n    socket = pair(0, 1)\n"
        "if rank == 0:\n    ttnn.experimental.send_async(tensor(1, 1, 32, 64), socket)  # there\n"
        "if odd:\n    y = tensor(1, 1, 32, 32)\n    ttnn.experimental.recv_async(y, socket)\n    ttnn.synchronize_device(mesh)  # here\n",
        code="TTG003",
        says="rank 0 at",
        symmetric=False,
        head=HEAD + SOCKETS,
    ),
    "a tensor of another shape that nobody reads": Divergence(
        "if rank < 2:\n    socket = pair(0, 1)\n"
        "if rank == 0:\n    ttnn.experimental.send_async(tensor(1, 1, 32, 64), socket)  # there\n"
        "if odd:\n    ttnn.experimental.recv_async(tensor(1, 1, 32, 32), socket)\nttnn.close_mesh_device(mesh)  # here\n",
        code="TTG003",
        says="rank 0 at",
        symmetric=False,
        head=HEAD + SOCKETS,
        tail="",
    ),
    "a tensor sent twice and received once": Divergence(
        "if rank < 2:\n    socket = pair(0, 1)\n"
        "if rank == 0:\n    for _ in range(2):\n        ttnn.experimental.send_async(tensor(1, 1, 32, 32), socket)  # there\n"
        "if odd:\n    ttnn.experimental.recv_async(tensor(1, 1, 32, 32), socket)\nttnn.close_mesh_device(mesh)  # here\n",
        code="TTG004",
        pair=True,
        head=HEAD + SOCKETS,
        tail="",
    ),
    "a receive that nothing answers": Divergence(
        "if rank < 2:\n    socket = pair(0, 1)\n"
        "if odd:\n    y = tensor(1, 1, 32, 32)\n    ttnn.experimental.recv_async(y, socket)  # here\n    ttnn.synchronize_device(mesh)\n"
        "ttnn.all_reduce(x, cluster_axis=1)  # there\n",
        code="TTG004",
        pair=True,
        head=HEAD + SOCKETS,
    ),
    # --- training ------------------------------------------------------------------------------------------------------
    "a training step too many": Divergence(
        "optimizer = sgd()\nfor _ in range(3 if odd else 2):\n    step(optimizer)  # here\nttnn.distributed_context_barrier()  # there\n",
        says="operation",
        head=TRAINING,
        tail="",
    ),
    "a training step too few": Divergence(
        "optimizer = sgd()\nfor _ in range(2 if odd else 3):\n    step(optimizer)  # there\n",
        code="TTG002",
        says="ended at the end of its program",
        symmetric=False,
        head=TRAINING,
        tail="",
    ),
    "another rate of learning": Divergence(
        "optimizer = sgd(0.2 if odd else 0.1)\nfor _ in range(3):\n    step(optimizer)\n",
        code="TTG008",
        options=("--check-replicas",),
        head=SYNCED,
        tail="",
    ),
    "another optimizer": Divergence(
        "optimizer = ttml.optimizers.AdamW(model.parameters(), ttml.optimizers.AdamWConfig.make(lr=0.1)) if odd else sgd()\n"
        "for _ in range(3):\n    step(optimizer)\n",
        code="TTG008",
        options=("--check-replicas",),
        head=SYNCED,
        tail="",
    ),
    "another seed": Divergence(
        "ttml.manual_seed(int(odd))\nmodel = LinearLayer(64, 32)\n"
        "ttnn.all_reduce(next(iter(model.parameters().values())).get_value(), cluster_axis=1)  # here\n",
        code="TTG008",
        options=("--check-replicas",),
        head=TRAINING,
        tail="",
    ),
    "gradients that one rank does not sum": Divergence(
        "optimizer = sgd()\nloss = ttml.ops.unary.mean(model(batch()))\nloss.backward()\n"
        "if not odd:\n    ttml.sync_gradients(model.parameters())  # there\nttnn.distributed_context_barrier()  # here\n",
        says="operation",
        head=TRAINING,
        tail="",
    ),
    "a batch of another size": Divergence(
        "rows = 64 if odd else 32\n"
        "y = ttml.autograd.Tensor.from_numpy(np.zeros((2, 1, rows, 64), np.float32), mapper=ttml.mesh().axis_mapper('dp', 0))\n"
        "ttnn.all_gather(model(y).get_value(), dim=0, cluster_axis=0)  # here\n",
        says="shape",
        head=TRAINING,
        tail="",
    ),
    "a trained tensor of another shape": Divergence(
        "context.initialize_distributed_context()\ncontext.initialize_socket_manager(ttml.core.distributed.SocketType.MPI)\n"
        "everybody, sockets = context.get_distributed_context(), context.get_socket_manager()\n"
        "y = ttml.autograd.Tensor.from_numpy(np.zeros((1, 1, 32, 64 if odd else 32), np.float32))\n"
        "if rank == 0:\n    sockets.send(y, everybody, 1)  # there\n"
        "elif odd:\n    sockets.recv(y, everybody, 0)  # here\nttnn.distributed_context_barrier()\n",
        code="TTG003",
        says="it sent shape [1, 1, 32, 32]",
        symmetric=False,
        head=TRAINING,
        tail="",
    ),
}
"""By what is different."""
