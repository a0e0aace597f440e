"""Programs of mpi4py that move values between ranks, each in every spelling that it has: what a replay of one rank has to repeat."""

PROGRAMS = {
    "objects": """
print(comm.bcast({"a": [rank, None]}, root=1), comm.gather((rank, "x" * rank), root=2), comm.scatter([[n] * n for n in range(size)] if rank == 0 else None))
print(comm.allgather({rank}), comm.alltoall([f"{rank}>{n}" for n in range(size)]), comm.allreduce([rank]), comm.reduce(rank, op=MPI.PROD, root=3))
print(comm.scan(rank + 1), comm.exscan(rank + 1), comm.allreduce((rank, "loc"), op=MPI.MAXLOC), comm.allreduce(rank + .5, op=MPI.MINLOC) if False else 0)
comm.barrier()
class Own:
    def __init__(self, v): self.v = v
    def __add__(self, o): return Own(self.v + o.v)
    def __repr__(self): return f"Own({self.v})"
print(comm.allreduce(Own(rank)), comm.bcast(Own(7) if rank == 0 else None), comm.sendrecv(Own(rank), right, source=left))
""",
    "buffers": """
a = np.arange(size * 2, dtype="i4") + 10 * rank
b = np.empty_like(a)
comm.Allreduce(a, b, MPI.SUM); print(b)
comm.Alltoall(a, b); print(b)
g = np.empty(size * len(a), "i4") if rank == 1 else None
comm.Gather(a, g, root=1); print(g)
p = np.empty(2, "i4")
comm.Scatter(a if rank == 0 else None, p, root=0); print(p)
comm.Scatter([a, 2, MPI.INT] if rank == 0 else None, [p, 2, MPI.INT], root=0); print(p)
w = np.zeros((size, len(a)), "i4")
comm.Allgather([a, MPI.INT], [w, MPI.INT]); print(w)
comm.Reduce(a, b if rank == 2 else None, MPI.MAX, root=2); print(b)
comm.Scan(a, b); print(b)
comm.Exscan(a, b)
print(b if rank else "none")
r = np.empty(2, "i4")
comm.Reduce_scatter_block(a, r); print(r)
r = np.empty(2, "i4")
comm.Reduce_scatter(a, r, [2] * size); print(r)
comm.Bcast(a, root=3); print(a)
comm.Barrier()
""",
    "inplace": """
a = np.arange(4.) + rank
comm.Allreduce(MPI.IN_PLACE, a); print(a)
w = np.zeros((size, 3)); w[rank] = rank + 1
comm.Allgather(MPI.IN_PLACE, w); print(w)
if rank == 0:
    comm.Reduce(MPI.IN_PLACE, a, root=0)
else:
    comm.Reduce(a, None, root=0)
print(a)
x = np.arange(size) * (rank + 1)
comm.Alltoall(MPI.IN_PLACE, x); print(x)
comm.Scan(MPI.IN_PLACE, x); print(x)
comm.Exscan(MPI.IN_PLACE, x); print(x if rank else "")
g = np.full((size, 2), rank, "f4")
comm.Gather(MPI.IN_PLACE if rank == 0 else g[rank], g if rank == 0 else None, root=0); print(g)
comm.Scatter(g if rank == 0 else None, MPI.IN_PLACE if rank == 0 else g[1], root=0); print(g)
y = np.arange(size) + rank
comm.Reduce_scatter_block(MPI.IN_PLACE, y); print(y)
""",
    "vectors": """
counts = [n + 1 for n in range(size)]
displs = [sum(counts[:n]) + n for n in range(size)]
mine = np.full(counts[rank], rank, "f8")
got = np.full(sum(counts) + size, -1.0)
comm.Allgatherv(mine, [got, counts, displs, MPI.DOUBLE]); print(got)
got[:] = -1
comm.Gatherv(mine, (got, (counts, displs)) if rank == 1 else None, root=1); print(got)
part = np.zeros(counts[rank])
comm.Scatterv([np.arange(20.), counts, displs, MPI.DOUBLE] if rank == 0 else None, part, root=0); print(part)
sc = np.array([(rank + n) % 3 for n in range(size)]); rc = np.array([(n + rank) % 3 for n in range(size)])
sd = np.cumsum(sc) - sc; rd = np.cumsum(rc) - rc
s = np.arange(sc.sum(), dtype="i8") + 100 * rank; r = np.full(rc.sum() + 1, -1, "i8")
comm.Alltoallv([s, (sc, sd), MPI.INT64_T], [r, (rc, rd), MPI.INT64_T]); print(r)
s = np.arange(size, dtype="i4") + 10 * rank; r = np.zeros(size, "i4")
comm.Alltoallw([s, [1] * size, [4 * n for n in range(size)], [MPI.INT] * size], [r, [1] * size, [4 * n for n in range(size)], [MPI.INT] * size]); print(r)
rs = np.empty(counts[rank])
comm.Reduce_scatter(np.arange(float(sum(counts))) * rank, rs, counts, MPI.MIN); print(rs)
""",
    "nonblocking": """
a, b = np.full(3, rank + 1.), np.empty(3)
reqs = [comm.Irecv(b, source=left, tag=1), comm.Isend(a, right, tag=1)]
MPI.Request.Waitall(reqs); print(b)
st = [MPI.Status(), MPI.Status()]
reqs = [comm.Irecv(b, source=MPI.ANY_SOURCE, tag=2), comm.Issend(a * 2, right, tag=2)]
MPI.Request.Waitall(reqs, st); print(b, st[0].Get_source(), st[0].tag, st[0].Get_count(MPI.DOUBLE), reqs[0] == MPI.REQUEST_NULL)
r = comm.irecv(source=left); s = comm.isend({"r": rank}, right)
s.wait(); print(r.wait())
r = comm.irecv(source=left); s = comm.issend([rank], right)
while True:
    done, msg = r.test()
    if done: break
print(msg, s.wait())
r = [comm.irecv(source=n, tag=9) for n in range(size)]
s = [comm.isend(rank * n, n, tag=9) for n in range(size)]
print(MPI.Request.waitall(r)); MPI.Request.waitall(s)
r = [comm.Irecv(np.empty(1), source=n, tag=9) for n in range(size)]
s = [comm.Isend(np.ones(1), n, tag=9) for n in range(size)]
left_ = size
seen = []
while left_:
    i = MPI.Request.Waitsome(r)
    seen += i; left_ -= len(i)
print(sorted(seen)); MPI.Request.Waitall(s)
r = [comm.Irecv(np.empty(1), source=n, tag=9) for n in range(size)]
s = [comm.Isend(np.ones(1), n, tag=9) for n in range(size)]
seen = []
while True:
    i, ok = MPI.Request.Testany(r)
    if ok and i == MPI.UNDEFINED: break
    if ok: seen.append(i)
print(sorted(seen)); MPI.Request.Waitall(s)
st = MPI.Status()
x = comm.Irecv(b, source=MPI.PROC_NULL); x.Wait(st); print(st.Get_source() == MPI.PROC_NULL, st.Get_count(), x.Test())
x = comm.Isend(a, right); y = comm.Irecv(b, left); print(MPI.Request.Waitany([y]), bool(y)); x.Wait(); print(bool(x), b)
print(MPI.Request.Testall([MPI.REQUEST_NULL]), MPI.REQUEST_NULL.Test())
""",
    "collectives started": """
a, b = np.arange(4.) * (rank + 1), np.empty(4)
comm.Iallreduce(a, b).Wait(); print(b)
comm.Ibarrier().Wait()
r = comm.Ibcast(a, root=2); r.Wait(); print(a)
g = np.empty((size, 4)); comm.Iallgather(a + rank, g).wait(); print(g)
g[:] = 0; q = comm.Igather(a + rank, g if rank == 0 else None, root=0)
while not q.Test(): pass
print(g)
p = np.empty(4); comm.Iscatter(g if rank == 0 else None, p, root=0).Wait(); print(p)
comm.Ireduce(a, b if rank == 1 else None, MPI.SUM, 1).Wait(); print(b)
comm.Ialltoall(a, b).Wait(); print(b)
comm.Iscan(a, b).Wait(); print(b)
comm.Iexscan(a, b).Wait(); print(b if rank else 0)
c = np.empty(1); comm.Ireduce_scatter_block(a, c).Wait(); print(c)
comm.Ireduce_scatter(a, c, [1] * size).Wait(); print(c)
counts = [n + 1 for n in range(size)]
v = np.empty(sum(counts)); comm.Iallgatherv(np.full(counts[rank], rank + .5), [v, counts]).Wait(); print(v)
v[:] = 3; comm.Igatherv(np.full(counts[rank], rank + .25), [v, counts] if rank == 0 else None).Wait(); print(v)
d = np.empty(counts[rank]); comm.Iscatterv([v, counts] if rank == 0 else None, d).Wait(); print(d)
comm.Ialltoallv([a, [1] * size], [b, [1] * size]).Wait(); print(b)
two = [comm.Iallreduce(MPI.IN_PLACE, a), comm.Iallreduce(MPI.IN_PLACE, b)]
MPI.Request.Waitall(two); print(a, b)
""",
    "persistent": """
a, b = np.zeros(2), np.zeros(2)
reqs = [comm.Recv_init(b, left, 3), comm.Send_init(a, right, 3)]
for n in range(3):
    a[:] = rank + n
    MPI.Prequest.Startall(reqs); MPI.Request.Waitall(reqs); print(b)
for q in reqs: q.Free()
s = comm.Ssend_init(a, right); r = comm.Recv_init(b, left)
r.Start(); s.Start(); s.Wait(); r.Wait(); print(b, type(s).__name__, isinstance(s, MPI.Request))
for maker in ("Allreduce_init", "Bcast_init", "Barrier_init"):
    if hasattr(comm, maker):
        try:
            q = {"Allreduce_init": lambda: comm.Allreduce_init(a, b), "Bcast_init": lambda: comm.Bcast_init(a), "Barrier_init": lambda: comm.Barrier_init()}[maker]()
        except NotImplementedError:
            continue
        for n in range(2):
            a += rank
            q.Start(); q.Wait(); print(maker, a, b)
        q.Free()
MPI.Attach_buffer(bytearray(1 << 16))
q = comm.Bsend_init(a, right); r.Start(); q.Start(); q.Wait(); r.Wait(); print(b)
comm.Bsend(a + 1, right); comm.Recv(b, left); print(b)
comm.bsend("buffered", right); print(comm.recv(source=left))
MPI.Detach_buffer()
""",
    "isendrecv": """
a, b = np.full(2, float(rank)), np.zeros(2); comm.Isendrecv(a, right, recvbuf=b, source=left).Wait(); print(b)
comm.Isendrecv_replace(a, right, source=left).Wait(); print(a)
""",
    "partitioned": """
print(hasattr(comm, "Psend_init")); a = np.arange(4.) + rank; b = np.zeros(4)
s = comm.Psend_init(a, 2, right, 1); r = comm.Precv_init(b, 2, left, 1)
r.Start(); s.Start(); s.Pready(0); s.Pready(1); s.Wait(); r.Wait(); print(b)
""",
    "probes": """
st = MPI.Status()
if rank == 0:
    for n in range(1, size):
        comm.Probe(MPI.ANY_SOURCE, MPI.ANY_TAG, st)
        b = np.empty(st.Get_count(MPI.INT), "i4")
        comm.Recv(b, st.Get_source(), st.Get_tag()); print(st.source, st.tag, b, st.Get_elements(MPI.INT))
    comm.Barrier(); m = comm.Mprobe(MPI.ANY_SOURCE, 50, st); b = np.empty(st.Get_count(MPI.DOUBLE)); m.Recv(b); print(b)
    print(comm.mprobe(2, 51).recv())
    while not comm.Iprobe(1, 52): pass
    print(comm.recv(source=1, tag=52))
    while (m := comm.improbe(1, 53)) is None: pass
    print(m.recv(), comm.iprobe(1, 999))
    m = comm.Mprobe(1, 54, st); b = np.empty(2); q = m.Irecv(b); q.Wait(); print(b)
    m = comm.mprobe(1, 55); print(m.irecv().wait())
    m = comm.Improbe(MPI.PROC_NULL); print(m == MPI.MESSAGE_NO_PROC, m is None)
else:
    comm.Send(np.arange(rank, dtype="i4"), 0, rank); comm.Barrier()
    if rank == 3: comm.Send(np.arange(3.), 0, 50)
    if rank == 2: comm.send("m", 0, 51)
    if rank == 1:
        comm.send("five", 0, 52); comm.send("six", 0, 53); comm.Send(np.ones(2), 0, 54); comm.send([7], 0, 55)
comm.Barrier()
""",
    "status": """
st = MPI.Status()
comm.send({"k": rank}, right, tag=rank + 3); print(comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=st), st.Get_source(), st.Get_tag(), st.source, st.tag, st.Get_error(), st.error, st.count > 0, st.Is_cancelled(), st.cancelled)
b = np.empty(10, "i4"); comm.Send(np.arange(rank + 1, dtype="i4"), right); comm.Recv(b, left, status=st); print(st.Get_count(MPI.INT), st.Get_elements(MPI.INT), st.count, b[:st.Get_count(MPI.INT)])
print(comm.Sendrecv(b[:2].copy(), right, 1, b[4:6], left, 1, st), st.tag); c = np.full(2, rank); comm.Sendrecv_replace(c, right, source=left, status=st); print(c, st.source)
comm.Send(np.ones(0), right); comm.Recv(np.ones(0), left, MPI.ANY_TAG, st); print(st.Get_count())
comm.ssend("s", right) if rank % 2 == 0 else print(comm.recv(source=left)); print(comm.recv(source=left)) if rank % 2 == 0 else comm.ssend("t", right)
comm.Recv(b, MPI.PROC_NULL, status=st); print(st.source == MPI.PROC_NULL, st.tag == MPI.ANY_TAG, st.count, comm.recv(source=MPI.PROC_NULL), comm.sendrecv(1, MPI.PROC_NULL, source=MPI.PROC_NULL))
st.Set_source(3); st.tag = 9; print(st.Get_source(), st.tag); s2 = MPI.Status(st) if False else MPI.Status(); print(s2.Get_source() == MPI.ANY_SOURCE)
r = comm.Irecv(b, source=MPI.ANY_SOURCE, tag=77777 % 30000); r.Cancel(); r.Wait(st); print(st.Is_cancelled())
""",
    "errors": """
for f in (lambda: comm.send(1, 99), lambda: comm.Recv(np.empty(1), 99), lambda: comm.Bcast(np.empty(1), root=99), lambda: comm.Split(-5), lambda: comm.Create_cart([99]), lambda: comm.Send("text", 0), lambda: comm.Send(np.empty((4, 4))[:, ::2], 0)):
    try: f(); print("passed")
    except MPI.Exception as e: print("MPI", e.Get_error_class(), e.Get_error_code(), e.Get_error_string(), e.error_class)
    except Exception as e: print(type(e).__name__, e)
if rank == 0: comm.Send(np.arange(5.), 1)
if rank == 1:
    try: comm.Recv(np.empty(2), 0)
    except MPI.Exception as e: print(e.Get_error_class() == MPI.ERR_TRUNCATE, str(e))
print(comm.Get_errhandler() == MPI.ERRORS_RETURN, MPI.Get_error_string(MPI.ERR_RANK), MPI.Get_error_class(MPI.ERR_RANK)); comm.Set_errhandler(MPI.ERRORS_RETURN)
""",
    "ring": """
t = rank; tot = 0
for n in range(20):
    t = comm.sendrecv(t, right, source=left, sendtag=n, recvtag=n); tot += t
print(tot)
b = bytearray(8)
for n in range(50):
    if rank == 0: comm.Send(n.to_bytes(8, "little"), right); comm.Recv(b, left)
    else: comm.Recv(b, left); comm.Send(b, right)
print(b)
""",
    "masterworker": """
import random
WORK, STOP = 1, 2
st = MPI.Status()
if rank == 0:
    jobs = list(range(20)); out = {}; live = 0
    for n in range(1, size): comm.send(jobs.pop(), n, WORK); live += 1
    while live:
        j, r = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=st); out[j] = r; print(st.source, j)
        if jobs: comm.send(jobs.pop(), st.source, WORK)
        else: comm.send(None, st.source, STOP); live -= 1
    print(sorted(out.items()))
else:
    while True:
        j = comm.recv(source=0, tag=MPI.ANY_TAG, status=st)
        if st.tag == STOP: break
        print("did", j); comm.send((j, j * j), 0)
""",
    "heat": """
n = 16; u = np.zeros((n // size + 2, n)); u[1:-1] = rank
up, down = (rank - 1 if rank else MPI.PROC_NULL), (rank + 1 if rank < size - 1 else MPI.PROC_NULL)
for step in range(10):
    comm.Sendrecv(u[1], up, recvbuf=u[-1], source=down); comm.Sendrecv(u[-2], down, recvbuf=u[0], source=up)
    v = u.copy(); v[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4; d = comm.allreduce(abs(v - u).max(), MPI.MAX); u = v
print(d, u.sum(), comm.reduce(u[1:-1].sum()))
""",
    "matvec": """
rng = np.random.default_rng(1); A = rng.random((8, 8)); x = rng.random(8)
rows = A[rank * 2:rank * 2 + 2]
y = np.empty(8)
for _ in range(5):
    comm.Allgather(rows @ x, y); nrm = np.sqrt(comm.allreduce((y[rank * 2:rank * 2 + 2] ** 2).sum())); x = y / nrm
print(x, nrm)
cols = MPI.DOUBLE.Create_vector(8, 2, 8).Create_resized(0, 16).Commit(); mine = np.empty((8, 2))
comm.Scatter([A, 1, cols] if rank == 0 else None, mine, root=0); print(mine.sum())
""",
    "samplesort": """
rng = np.random.default_rng(rank); d = np.sort(rng.integers(0, 1000, 50)); sp = comm.allgather(d[::13].tolist()); piv = np.sort(sum(sp, []))[len(sp) :: 4][: size - 1]
parts = np.split(d, np.searchsorted(d, piv)); sc = np.array([len(p) for p in parts]); rc = np.empty_like(sc); comm.Alltoall(sc, rc)
r = np.empty(rc.sum(), d.dtype); comm.Alltoallv([d, sc], [r, rc]); r.sort(); print(r)
""",
    "threads": """
import threading
c = [comm.Dup() for _ in range(3)]; out = [None] * 3
# The first sum of objects on a communicator copies it. Copies from several threads at once, in another order
# on each rank, may wait for each other in MPI itself (seen without any launcher), so they are made here.
print([each.allreduce(0) for each in c])
def f(n):
    out[n] = [c[n].allreduce(rank + n) for _ in range(4)], c[n].sendrecv((rank, n), right, source=left)
ts = [threading.Thread(target=f, args=(n,), name=f"t{n}") for n in range(3)]
[t.start() for t in ts]; [t.join() for t in ts]; print(out)
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as e: print(e.submit(c[0].allgather, rank).result())
""",
    "threads of one name": """
import threading, time
c = [comm.Dup() for _ in range(3)]; out = [None] * 3
print([each.allreduce(0) for each in c])  # as above
def f(n):
    time.sleep(0.01 * (2 - n)); out[n] = c[n].allreduce(10 * rank + n)
ts = [threading.Thread(target=f, args=(n,), name="worker") for n in range(3)]
[t.start() for t in ts]; [t.join() for t in ts]; print(out)
""",
    "pools": """
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
c = [comm.Dup() for _ in range(3)]
print([each.allreduce(0) for each in c])
def f(n):
    time.sleep(0.003 * ((rank + n) % 3)); return c[n].allreduce(10 * rank + n)
for _ in range(6):
    with ThreadPoolExecutor(3) as e: print(list(e.map(f, range(3))))
with ThreadPool(3) as p:
    for _ in range(6): print(p.map(f, range(3)), p.apply(c[0].allgather, (rank,)))
""",
    "dtypes": """
for t in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16", "g"):
    a = (np.arange(4) + rank).astype(t); b = np.empty_like(a)
    comm.Sendrecv(a, right, recvbuf=b, source=left); print(t, b)
    if t not in "?": comm.Allreduce(a, b); print(b)
for t in ("f2", "V3", "M8[s]", "S4", "U2"):
    a = np.zeros(2, t); b = np.zeros(2, t)
    if t == "f2": a += rank
    try:
        comm.Sendrecv([a.view("u1") if t != "U2" else a.view("u1"), MPI.BYTE], right, recvbuf=[b.view("u1"), MPI.BYTE], source=left); print(t, b)
    except (KeyError, TypeError, ValueError) as e: print(t, type(e).__name__)
print(comm.bcast(np.arange(3, dtype="f2") + rank), comm.allgather(np.float32(rank)), comm.allreduce(np.ones((2, 2)) * rank), comm.bcast(np.array(["a", None], object)))
import array
a = array.array("d", [rank, 2]); b = array.array("d", [0, 0]); comm.Sendrecv(a, right, recvbuf=b, source=left); print(b)
c = bytearray(4); comm.Sendrecv(bytes([rank] * 4), right, recvbuf=c, source=left); print(c)
m = memoryview(bytearray(8)); comm.Bcast(m, root=1); print(bytes(m))
f = np.asfortranarray(np.arange(6.).reshape(2, 3) * rank); comm.Bcast(f, root=1); print(f)
e = np.empty(0); comm.Allreduce(e, e.copy()); z = np.array(3. * rank); comm.Bcast(z, root=2); print(z)
""",
    "pickles of their own": """
from mpi4py.util import pkl5
c = pkl5.Intracomm(comm)
print(c.bcast({"a": [1, 2]} if rank == 0 else None), c.gather(rank, root=1), c.allgather(np.arange(rank + 2)))
print(c.scatter([[n] for n in range(size)] if rank == 0 else None), c.alltoall(list(range(size))), c.allreduce(rank))
q = [c.isend(np.full(5, rank), right, tag=2), c.isend("x", right, tag=2)]
print(c.recv(source=left, tag=2), c.recv(source=left, tag=2), pkl5.Request.waitall(q), type(q[0]) is pkl5.Request)
q = c.isend("m", right, tag=5); m = c.mprobe(source=left, tag=5); print(m.recv(), q.wait(), isinstance(m, pkl5.Message))
q = c.isend("later", right, tag=6); m = pkl5.Message.probe(c, source=left, tag=6).irecv(); print(m.wait()); q.wait()
s = MPI.Status(); print(c.sendrecv(rank, right, source=left, status=s), s.Get_source(), isinstance(c, MPI.Comm), isinstance(c, MPI.Intracomm))
d = c.Dup(); print(d.bcast(np.ones(3) if rank == 0 else None)); d.Free(); c.barrier()
""",
    "communicators by their handles": """
half = comm.Split(rank % 2, rank)
for c in (comm, half):
    again = MPI.Comm.f2py(c.py2f()); print(type(again) is type(c), again == c, again.allreduce(rank + 1), MPI.Intracomm.f2py(c.py2f()) == c)
if hasattr(MPI.Comm, "fromhandle"):
    again = MPI.Comm.fromhandle(half.handle); print(again == half, again.allgather(rank), MPI._handleof(half) == half.handle)
print(MPI.Comm.f2py(MPI.COMM_NULL.py2f()) == MPI.COMM_NULL, isinstance(half, MPI.Comm), issubclass(MPI.Intracomm, MPI.Comm))
""",
}
"""Their text by what they are about; each begins with `rank`, `size`, `left`, `right` and `comm`."""
