"""Programs of mpi4py about the library's objects: datatypes, operations, windows, files, communicators, and what those say of themselves."""

PROGRAMS = {
    "datatypes": """
m = np.arange(24.).reshape(4, 6) + 100 * rank
col = MPI.DOUBLE.Create_vector(4, 1, 6).Commit()
g = np.zeros(4)
comm.Sendrecv([m, 1, col], right, recvbuf=g, source=left); print(g)
comm.Sendrecv([m[:, 2:].ravel()[0:1], 0, MPI.DOUBLE], right, recvbuf=[g, 0, MPI.DOUBLE], source=left)
sub = MPI.DOUBLE.Create_subarray([4, 6], [2, 3], [1, 2]).Commit()
n = np.zeros((4, 6))
comm.Sendrecv([m, 1, sub], right, recvbuf=[n, 1, sub], source=left); print(n)
idx = MPI.DOUBLE.Create_indexed([1, 2], [0, 4]).Commit()
n[:] = 0
comm.Sendrecv([m, 1, idx], right, recvbuf=[n, 1, idx], source=left); print(n)
rec = np.dtype([("a", "i4"), ("b", "f8"), ("c", "S3")])
st = MPI.Datatype.Create_struct([1, 1, 3], [rec.fields[f][1] for f in "abc"], [MPI.INT, MPI.DOUBLE, MPI.CHAR]).Create_resized(0, rec.itemsize).Commit()
s = np.array([(rank, rank / 2, b"xyz"), (rank + 1, 3., b"ab")], rec); r = np.zeros(2, rec)
comm.Sendrecv([s, 2, st], right, recvbuf=[r, 2, st], source=left); print(r)
print(st.Get_size(), st.Get_extent(), st.extent, col.Get_size(), MPI.INT.name, MPI.DOUBLE.Get_size())
from mpi4py.util import dtlib as dt
t = dt.from_numpy_dtype(rec); t.Commit()
comm.Allgather([s[:1], t], [np.zeros(size, rec), t])
w = np.zeros(size, rec); comm.Allgather([s[:1], t], [w, t]); print(w)
cont = MPI.INT.Create_contiguous(3).Commit(); i = np.arange(6, dtype="i4") * rank
comm.Bcast([i, 2, cont], root=2); print(i)
print(MPI._typedict["d"] == MPI.DOUBLE if hasattr(MPI, "_typedict") else "", MPI.Datatype.fromcode("i") == MPI.INT if hasattr(MPI.Datatype, "fromcode") else "")
for q in (col, sub, idx, st, cont): q.Free()
""",
    "pack": """
buf = bytearray(64); pos = 0
a = np.arange(3, dtype="i4") + rank
pos = MPI.INT.Pack(a, buf, pos, comm)
pos = MPI.DOUBLE.Pack(np.array([rank / 4]), buf, pos, comm)
print(pos, MPI.INT.Pack_size(3, comm))
got = bytearray(64)
comm.Sendrecv([buf, pos, MPI.PACKED], right, recvbuf=[got, MPI.PACKED], source=left)
x = np.empty(3, "i4"); y = np.empty(1)
p = MPI.INT.Unpack(got, 0, x, comm); p = MPI.DOUBLE.Unpack(got, p, y, comm)
print(x, y, p)
""",
    "ops": """
a = np.array([rank + 1, 6 - rank], "i4"); b = np.empty_like(a)
for o in ("SUM", "PROD", "MAX", "MIN", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"):
    comm.Allreduce(a, b, getattr(MPI, o)); print(o, b, comm.allreduce(rank + 1, getattr(MPI, o)))
def mine(x, y, dt):
    n = np.frombuffer(y, "i4"); n[:] = np.frombuffer(x, "i4") * 2 + n
op = MPI.Op.Create(mine, commute=True); comm.Allreduce(a, b, op); print(op.Is_commutative(), op.is_predefined, b if rank < 9 else 0); op.Free()
print(comm.allreduce([rank], lambda x, y: x + y), comm.reduce({rank}, lambda x, y: x | y, 1), MPI.SUM(2, 3), MPI.MAX.name if hasattr(MPI.MAX, "name") else "", MPI.MAX([1], [2]))
d = np.zeros(1, [("v", "f8"), ("i", "i4")]); d["v"] = -rank; d["i"] = rank
o = np.zeros_like(d); comm.Allreduce([d, 1, MPI.DOUBLE_INT], [o, 1, MPI.DOUBLE_INT], MPI.MINLOC); print(o)
x = np.arange(3.); y = np.ones(3); MPI.SUM.Reduce_local(x, y); print(y)
""",
    "rma": """
mem = np.zeros(4) if True else None
win = MPI.Win.Create(mem, disp_unit=mem.itemsize, comm=comm)
win.Fence()
win.Put(np.full(1, rank + 1.), right, target=rank)
win.Fence(); print(mem)
got = np.empty(4); win.Get(got, left); win.Fence(); print(got)
win.Accumulate(np.ones(4) * rank, 0, op=MPI.SUM); win.Fence(); print(mem)
win.Fence()
win.Lock(0, MPI.LOCK_EXCLUSIVE); win.Accumulate(np.ones(1), 0); win.Unlock(0)
comm.Barrier()
win.Lock_all(); r = win.Rget(got, 0); r.Wait(); win.Flush_all(); win.Unlock_all(); print(got)
comm.Barrier()
old, one = np.empty(1), np.ones(1)
win.Lock(0); win.Fetch_and_op(one, old, 0, 1, MPI.SUM); win.Unlock(0); print(old >= 0)
comm.Barrier()
win.Lock(1); win.Get_accumulate(one, old, 1, [3, 1, MPI.DOUBLE]); win.Flush(1); win.Unlock(1)
comm.Barrier(); print(mem)
i = np.zeros(1, "i8"); w2 = MPI.Win.Create(i, comm=comm)
res = np.empty(1, "i8")
w2.Lock(0); w2.Compare_and_swap(np.array([rank + 1]), np.array([0]), res, 0); w2.Unlock(0)
comm.Barrier(); print(res == 0, i)
grp = comm.Get_group()
w2.Post(grp.Incl([left])); w2.Start(grp.Incl([right])); w2.Put(np.array([rank]), right); w2.Complete(); w2.Wait(); print(i)
print(win.Get_attr(MPI.WIN_SIZE), win.Get_attr(MPI.WIN_DISP_UNIT), win.Get_group().size, win.attrs[1:] if hasattr(win, "attrs") else 0, win.Get_name() == "" or win.name)
win.Free(); w2.Free(); print(win == MPI.WIN_NULL)
""",
    "rma allocate": """
win = MPI.Win.Allocate(8 * 4, 8, comm=comm)
mem = np.frombuffer(win, "f8"); mem[:] = rank
win.Fence(); win.Put([np.full(2, -1. - rank), MPI.DOUBLE], right, 2); win.Fence(); print(mem)
b = win.tomemory(); print(len(b), bytes(b[:8]) == mem[:1].tobytes())
win.Free()
sh = MPI.Win.Allocate_shared(16, 8, comm=comm)
buf, unit = sh.Shared_query(0); all_ = np.ndarray(2 * size, "f8", buffer=sh.Shared_query(MPI.PROC_NULL)[0]) if False else np.ndarray(2, "f8", buffer=buf)
sh.Fence()
if rank == 0: all_[:] = [3, 4]
sh.Fence(); print(all_, unit, buf.nbytes)
own = np.frombuffer(sh.tomemory(), "f8"); own += rank; sh.Sync(); comm.Barrier()
print([np.frombuffer(sh.Shared_query(n)[0], "f8").tolist() for n in range(size)])
comm.Barrier()
sh.Free()
node = comm.Split_type(MPI.COMM_TYPE_SHARED); print(node.size, node.rank)
w = MPI.Win.Allocate_shared(8 if node.rank == 0 else 0, 1, comm=node)
b, u = w.Shared_query(0); c = np.ndarray(1, "i8", buffer=b)
if node.rank == 0: c[0] = 41
node.Barrier(); print(c); w.Free()
""",
    "rma shared while it is written": """
sh = MPI.Win.Allocate_shared(8 * 4096 if rank == 0 else 0, 8, comm=comm)
all_ = np.ndarray(4096, "f8", buffer=sh.Shared_query(0)[0])
for n in range(60):
    sh.Fence(); all_[rank::size] = n * size + rank
sh.Fence(); print(all_.sum()); sh.Fence(); sh.Free()
""",
    "rma dynamic": """
win = MPI.Win.Create_dynamic(comm=comm)
m = np.zeros(2); win.Attach(m)
addr = comm.allgather(MPI.Get_address(m))
win.Fence(); win.Put(np.full(2, rank + 1.), right, addr[right]); win.Fence(); print(m)
win.Detach(m); win.Free()
""",
    "windows counter": """
win = MPI.Win.Allocate(8 if rank == 0 else 0, 8, comm=comm)
if rank == 0: np.frombuffer(win, "i8")[:] = 0
comm.Barrier(); got = []
one, res = np.ones(1, "i8"), np.empty(1, "i8")
for _ in range(5):
    win.Lock(0); win.Fetch_and_op(one, res, 0); win.Unlock(0); got.append(int(res[0]))
comm.Barrier(); print(sorted(sum(comm.allgather(got), []))); print(got)
win.Free()
""",
    "files": """
import os
name = os.path.abspath("data.bin")
f = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_RDWR)
f.Set_size(0); comm.Barrier()
f.Write_at_all(rank * 32, np.full(4, rank + .5)); f.Sync(); comm.Barrier()
b = np.zeros(4); f.Read_at(right * 32, b); print(b, f.Get_size(), f.size, f.amode == MPI.MODE_RDWR or f.amode)
f.Seek(0); f.Read(b[:2]); print(b, f.Get_position()); f.Read_all(b); print(b)
f.Set_view(rank * 32, MPI.DOUBLE, MPI.DOUBLE); v = f.Get_view(); print(v[0], v[-1]); f.Read_all(b); print(b, f.Get_byte_offset(2))
st = MPI.Status(); f.Seek(0, MPI.SEEK_SET); f.Read([b, 2, MPI.DOUBLE], st); print(st.Get_count(MPI.DOUBLE), st.count)
q = f.Iread_at(1, b[:3]); q.Wait(); print(b)
q = f.Iwrite_at(0, np.full(1, 9. + rank)); q.Wait()
f.Read_at_all_begin(0, b); f.Read_at_all_end(b); print(b)
f.Set_atomicity(True); print(f.Get_atomicity(), f.atomicity)
g = f.Get_group(); print(g.size); i = f.Get_info(); print(type(i).__name__)
f.Close()
t = MPI.DOUBLE.Create_vector(2, 1, size).Create_resized(0, 2 * size * 8).Commit()
f = MPI.File.Open(comm, name, MPI.MODE_RDONLY); f.Set_view(8 * rank, MPI.DOUBLE, t); x = np.zeros(4); f.Read_all(x); print(x); f.Close()
f = MPI.File.Open(comm, name + ".shared", MPI.MODE_CREATE | MPI.MODE_WRONLY)
f.Write_ordered(np.full(2, rank, "i4")); f.Write_shared(np.ones(1, "i4")); f.Close()
comm.Barrier(); print(np.fromfile(name + ".shared", "i4"), os.path.getsize(name))
try:
    MPI.File.Open(comm, "/nowhere/x", MPI.MODE_RDONLY)
except MPI.Exception as e:
    print(e.Get_error_class() == MPI.ERR_NO_SUCH_FILE, type(e).__name__)
with open(name, "rb") as h: print(len(h.read()))
comm.Barrier()
if rank == 0: MPI.File.Delete(name); MPI.File.Delete(name + ".shared")
""",
    "cart": """
dims = MPI.Compute_dims(size, 2); print(dims, MPI.Compute_dims(6, [0, 3]))
cart = comm.Create_cart(dims, periods=[True, False], reorder=False)
print(type(cart) is MPI.Cartcomm, isinstance(cart, MPI.Cartcomm), isinstance(cart, MPI.Intracomm), isinstance(cart, MPI.Comm), type(comm) is MPI.Intracomm)
print(cart.Get_topo(), cart.topo, cart.Get_coords(cart.rank), cart.coords, cart.dims, cart.periods, cart.ndim, cart.dim, cart.Get_dim(), cart.Get_cart_rank([1, 1]), cart.Get_topology() == MPI.CART)
for d in (0, 1): print(cart.Shift(d, 1), cart.Shift(d, -1))
row = cart.Sub([False, True]); print(row.rank, row.size, row.allgather(rank), type(row) is MPI.Cartcomm, row.dims)
s = np.full(4, float(rank)); r = np.full(4, -1.); cart.Neighbor_alltoall(s, r); print(r)
g = np.full((4, 1), -1.); cart.Neighbor_allgather(s[:1], g); print(g.ravel())
print(cart.neighbor_allgather(rank), cart.neighbor_alltoall(list("abcd")))
src, dst = cart.Shift(0, 1); print(cart.sendrecv(rank, dst, source=src))
src, dst = cart.Shift(1, 1); b = np.full(1, -7.); cart.Sendrecv(s[:1], dst, recvbuf=b, source=src); print(b)
print(cart.Cart_map(dims, [True, False]) if hasattr(cart, "Cart_map") else "", comm.Create_cart([2], [False]) == MPI.COMM_NULL)
print(cart.inedges, cart.outedges, cart.neighbors if hasattr(cart, "neighbors") else 0, cart.indegree if hasattr(cart,"indegree") else 0)
cart.Free(); row.Free(); print(cart == MPI.COMM_NULL, bool(row))
d = cart if False else comm.Dup(); e = comm.Create_cart([size], [True]).Dup(); print(type(e) is MPI.Cartcomm, type(e).__name__, type(d).__name__)
""",
    "graphs": """
index = [2 * (n + 1) for n in range(size)]; edges = [x for n in range(size) for x in ((n + 1) % size, (n - 1) % size)]
g = comm.Create_graph(index, edges); print(type(g) is MPI.Graphcomm, g.Get_topo(), g.Get_dims(), g.neighbors, g.nneighbors, g.Get_neighbors(0), g.Get_neighbors_count(1), g.topo, g.nnodes, g.nedges, g.index, g.edges)
print(g.neighbor_allgather(rank))
d = comm.Create_dist_graph_adjacent([left], [right], MPI.UNWEIGHTED, MPI.UNWEIGHTED) if hasattr(MPI, "UNWEIGHTED") else comm.Create_dist_graph_adjacent([left], [right])
print(type(d) is MPI.Distgraphcomm, d.Get_dist_neighbors_count(), d.Get_dist_neighbors()[:2], d.Get_topology() == MPI.DIST_GRAPH, d.inedges, d.outedges, d.indegree, d.outdegree)
r = np.zeros(2); d.Neighbor_allgather(np.full(2, float(rank)), r); print(r)
q = d.Ineighbor_alltoall(np.full(2, rank + .5), r); q.Wait(); print(r)
d.Neighbor_alltoallv([np.full(2, rank + .25), [2]], [r, [2]]); print(r)
d.Neighbor_allgatherv(np.full(2, rank + .125), [r, [2]]); print(r)
w = comm.Create_dist_graph([rank], [1], [right], [rank + 1]); print(w.Get_dist_neighbors(), w.neighbor_alltoall([rank]))
""",
    "splits": """
c = comm.Split(rank % 2, -rank); print(c.rank, c.size, c.allgather(rank))
u = comm.Split(MPI.UNDEFINED if rank == 0 else 1, rank); print(u == MPI.COMM_NULL, u != MPI.COMM_NULL, bool(u), type(u))
if u != MPI.COMM_NULL: print(u.allreduce(rank)); u.Free(); print(u == MPI.COMM_NULL)
g = comm.Get_group(); e = g.Incl([0, 2]); k = comm.Create(e); print(k == MPI.COMM_NULL)
if k: print(k.rank, k.bcast(rank))
if rank in (1, 3): h = comm.Create_group(g.Incl([3, 1]), 5); print(h.rank, h.allgather(rank), MPI.Group.Translate_ranks(h.group, [0, 1], g))
d = comm.Dup(); print(MPI.Comm.Compare(comm, d) == MPI.CONGRUENT, MPI.Comm.Compare(comm, comm) == MPI.IDENT, MPI.Comm.Compare(comm, c) == MPI.UNEQUAL, d == comm, comm == MPI.COMM_WORLD)
d.Set_name("mine"); print(d.name, d.Get_name(), comm.name, MPI.COMM_SELF.name, comm.Clone().size)
i = MPI.Info.Create(); i.Set("a", "b"); x = comm.Dup_with_info(i); print(x.size, i.Get("a"), i.get("z"), list(i.keys()), len(i), "a" in i)
n, q = comm.Idup(); q.Wait(); print(n.size, n.allreduce(1)); n.Free()
print(comm.group.rank, g.Excl([0]).size, MPI.Group.Union(e, g).size, g == comm.group, e.Get_size(), MPI.GROUP_EMPTY.size, MPI.GROUP_NULL == e, g.rank)
print(MPI.COMM_SELF.allreduce(5), MPI.COMM_SELF.rank, MPI.COMM_SELF.size)
d.Disconnect(); print(comm.is_intra, comm.is_inter, comm.Is_intra(), comm.topology if hasattr(comm, "topology") else "", comm.is_topo)
""",
    "intercomm": """
half = comm.Split(rank % 2, rank)
i = half.Create_intercomm(0, comm, 1 - rank % 2, 7); print(type(i) is MPI.Intercomm, i.rank, i.size, i.remote_size, i.Get_remote_size(), i.remote_group.size, i.Is_inter())
print(i.allgather(rank), i.allreduce(rank), i.bcast("b" if rank % 2 == 0 else None, (MPI.ROOT if rank == 0 else MPI.PROC_NULL) if rank % 2 == 0 else 0))
print(i.sendrecv(rank, i.rank, source=i.rank)); b = np.empty(1); i.Send(np.full(1, rank + .5), i.rank); i.Recv(b, i.rank); print(b)
m = i.Merge(rank % 2 == 1); print(m.rank, m.allgather(rank), type(m) is MPI.Intracomm); i.Barrier(); i.Free(); m.Free()
""",
    "environment": """
import mpi4py
print(MPI.Get_version(), MPI.VERSION, MPI.Get_library_version()[:10], MPI.Is_initialized(), MPI.Is_finalized(), MPI.Query_thread() == MPI.THREAD_MULTIPLE, MPI.Is_thread_main(), MPI.Get_processor_name(), mpi4py.__version__ if hasattr(mpi4py, "__version__") else 0, MPI.get_vendor())
print(comm.Get_attr(MPI.TAG_UB), comm.Get_attr(MPI.UNIVERSE_SIZE) is None or 1, comm.Get_attr(MPI.WTIME_IS_GLOBAL), MPI.Wtime() > 0, MPI.Wtick() < 1)
print(type(comm.py2f()), comm.py2f() == comm.py2f())
k = MPI.Comm.Create_keyval(); comm.Set_attr(k, {"x": 1}); print(comm.Get_attr(k)); comm.Delete_attr(k); print(comm.Get_attr(k)); MPI.Comm.Free_keyval(k)
print(mpi4py.get_config() is not None, mpi4py.rc.initialize, MPI.PROC_NULL, MPI.ANY_SOURCE, MPI.ANY_TAG, MPI.UNDEFINED, MPI.BOTTOM is not None, MPI.IN_PLACE, bool(MPI.COMM_NULL))
print(MPI.Get_address(np.zeros(1)) > 0, 0, MPI.Alloc_mem(16).nbytes, repr(comm)[:20], sorted(MPI.INFO_ENV.keys())[:1] if hasattr(MPI, "INFO_ENV") else "")
print(comm.handle is not None)
""",
    "pickle protocol": """
import pickle
from mpi4py import MPI as M
M.pickle.__init__(pickle.dumps, pickle.loads, 4)
print(comm.allgather((rank, b"x" * 5)))
p = M.Pickle(pickle.dumps, pickle.loads); print(p.loads(p.dumps([1])))
print(pickle.loads(pickle.dumps(MPI.COMM_WORLD)) is MPI.COMM_WORLD or pickle.loads(pickle.dumps(MPI.COMM_WORLD)) == comm, pickle.loads(pickle.dumps(MPI.INT)) == MPI.INT, pickle.loads(pickle.dumps(MPI.SUM)) == MPI.SUM)
""",
    "contextual": """
with_ = comm.Dup()
def g():
    yield with_.allreduce(rank)
    yield with_.bcast(rank, 1)
print(list(g())); from mpi4py.MPI import COMM_WORLD as W, SUM, Request
print(W.allreduce(1, SUM), W is comm, Request is MPI.Request)
class Mine(MPI.Intracomm):
    def total(self, v): return self.allreduce(v) * 10
m = Mine(comm); print(m.total(rank), type(m).__name__, m.size, m == comm)
class Grid(MPI.Cartcomm):
    def __new__(cls, c, d): return super().__new__(cls, c.Create_cart(d))
    def right(self): return self.Shift(0, 1)
q = Grid(comm, [size]); print(q.right(), q.allreduce(rank), q.dims, type(q).__name__)
import atexit; atexit.register(lambda: print("end", MPI.Is_finalized()))
""",
    "attributes": """
def copied(c, k, v): print("copied", v, c == comm); return v + 1
def ended(c, k, v): print("ended", v)
keys = [MPI.Comm.Create_keyval(copied, ended), MPI.Comm.Create_keyval(delete_fn=ended), MPI.Comm.Create_keyval(True),
        MPI.Comm.Create_keyval(lambda c, k, v: NotImplemented)]
for n, k in enumerate(keys): comm.Set_attr(k, 10 * n + rank)
for other in (comm.Dup(), comm.Clone(), comm.Split(0, rank)):
    print([other.Get_attr(k) for k in keys]); other.Free()
other, request = comm.Idup(); request.Wait(); print([other.Get_attr(k) for k in keys]); other.Free()
comm.Set_attr(keys[0], "another"); comm.Delete_attr(keys[1]); print([comm.Get_attr(k) for k in keys])
for k in keys:
    if comm.Get_attr(k) is not None: comm.Delete_attr(k)
    MPI.Comm.Free_keyval(k)
""",
    "handlers of errors": """
if hasattr(MPI.Comm, "Create_errhandler"):
    def hears(c, code): print("heard", MPI.Get_error_class(code) == MPI.ERR_RANK, code, c == comm)
    handler = MPI.Comm.Create_errhandler(hears); comm.Set_errhandler(handler); print(comm.Get_errhandler() == handler, bool(handler))
    try: comm.send(1, dest=size + 5)
    except MPI.Exception as error: print("raised", error.Get_error_class() == MPI.ERR_RANK)
    comm.Call_errhandler(MPI.ERR_RANK)
comm.Set_errhandler(MPI.ERRORS_RETURN)
try: comm.send(1, dest=size + 5)
except MPI.Exception as error: print("raised alone", error.Get_error_class() == MPI.ERR_RANK)
code = MPI.Add_error_code(MPI.Add_error_class()); MPI.Add_error_string(code, "own"); print(MPI.Get_error_string(code))
""",
}
"""Their text by what they are about; each begins with `rank`, `size`, `left`, `right` and `comm`."""
