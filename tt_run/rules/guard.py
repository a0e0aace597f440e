"""TTG: ranks that do not meet, as the guard of the emulated runtime tells it; the ranks print these, the launcher explains them."""

from __future__ import annotations

from mgd.catalogue import Rule

GUARD = (
    Rule(
        "TTG001",
        "ranks disagree on a call",
        why="On a cluster, ranks that call different collectives, or one with different arguments, hang or exchange garbage.",
        bad="if rank == 0:\n    ttnn.all_gather(x, dim=3)\nelse:\n    ttnn.all_reduce(x)",
        good="ttnn.all_reduce(x)",
        help="all ranks of a group must make the same calls in the same order with the same arguments",
    ),
    Rule(
        "TTG002",
        "a rank ended before a call of its group",
        why="The other ranks would wait for it for ever.",
        bad="for _ in range(3 - rank):\n    ttnn.all_reduce(x)",
        good="for _ in range(3):\n    ttnn.all_reduce(x)",
        help="let every rank of the group reach the same number of calls before it ends",
    ),
    Rule(
        "TTG003",
        "a rank raised an exception",
        why="The other ranks wait for one that will not come: the exception is the cause, their wait the consequence.",
        bad='if rank == 1:\n    raise ValueError("no such batch")\nttnn.all_reduce(x)',
        help="repair the exception above; the other ranks only waited for this one",
    ),
    Rule(
        "TTG004",
        "ranks wait for each other in a circle",
        why="None of their calls can complete: each needs one that comes later on another rank.",
        bad="other = comm.recv(source=1 - rank)  # on both ranks\ncomm.send(own, dest=1 - rank)",
        good="other = comm.sendrecv(own, dest=1 - rank, source=1 - rank)",
        help="issue matching calls in one order on all ranks; of two ranks that exchange, let one send first",
    ),
    Rule(
        "TTG005",
        "a rank did not come within the deadline",
        why="It loops, computes for long, or waits for something that the guard does not see.",
        bad="if rank == 1:\n    time.sleep(3600)\nttnn.all_reduce(x)",
        help="repair the loop or raise TT_RUN_GUARD_TIMEOUT if that much computing between two calls is meant",
    ),
    Rule(
        "TTG006",
        "the process of a rank is gone",
        why="It was killed or left without the interpreter's end; nobody answers for it.",
        help="look at that rank's log: the process was killed (out of memory?), called os._exit, or became another program (os.exec…)",
    ),
    Rule(
        "TTG007",
        "a rank did not start the runtime",
        why="Starting MPI waits for all ranks of the job.",
        bad="if rank == 1:\n    time.sleep(3600)\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))",
        help="every rank must open a mesh or call ttnn.init_distributed_context(); look whether these ranks ended, loop, or still compute, or raise TT_RUN_GUARD_TIMEOUT",
    ),
    Rule(
        "TTG008",
        "devices that should hold replicas hold different values",
        why="What is called replicated and is not gives each rank another result, and nothing fails: training drifts apart. "
        "Looked for where --check-replicas (TT_RUN_CHECK_REPLICAS=1) asks for it: before each collective, before a mesh is closed and at the end of the "
        "program, in what is sent and in the weights that optimizers and sync_gradients were given.",
        bad="own = np.random.default_rng().random((32, 32))\nx = ttnn.from_torch(own, device=mesh, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))",
        good="own = np.random.default_rng(seed=0).random((32, 32))\nx = ttnn.from_torch(own, device=mesh, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))",
        help="make the tensor from the same numbers on every rank (one seed for all ranks, or read by one and broadcast), or shard it",
    ),
    Rule(
        "TTG009",
        "a program that a rank started through MPI does not call MPI_Init",
        why="MPI_Comm_spawn returns once all that it has started is in MPI_Init: what uses no MPI, or fails before, is waited for for ever.",
        bad='MPI.COMM_SELF.Spawn("/bin/date")',
        good='subprocess.run(["/bin/date"])',
        help="raise TT_RUN_GUARD_TIMEOUT where it only takes longer to start; start a program without MPI as a process",
    ),
    Rule(
        "TTG010",
        "a message that nobody has received",
        why="The program sent it and ended well, so the rank that it went to has missed something: a receive, or one with the same tag. "
        "A larger message, or another MPI, waits for its receiver: there the sender hangs. Tensors that are sent on a socket and that no "
        "recv_async has asked for are told likewise, with the sender's line.",
        bad='if rank == 0:\n    comm.send("go on", dest=1, tag=3)\nif rank == 1:\n    pass',
        good='if rank == 0:\n    comm.send("go on", dest=1, tag=3)\nif rank == 1:\n    comm.recv(source=0, tag=3)',
        help="receive what is sent, with its tag and on its communicator, or do not send it",
    ),
)
"""By ascending code."""
