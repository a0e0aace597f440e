"""Programs that are right, however odd: no report may come of them. Each runs on a 2x4 mesh that is cut over two or four ranks."""

from __future__ import annotations

from tests.runtime.guard.divergences import HEAD, SOCKETS, TRAINING

IMPORTS = "import gc, os, random, signal, subprocess, threading\n"
CLOSE = "ttnn.close_mesh_device(mesh)\n"

ODD: dict[str, tuple[str, tuple[str, ...]]] = {
    "late rank": (
        HEAD + IMPORTS + "time.sleep(2.5*rank/size)\nttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "print only on 0": (
        HEAD + IMPORTS + "if rank==0: print('hi')\nttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "local op on one rank": (
        HEAD + IMPORTS + "if odd: [ttnn.add(x,1.0) for _ in range(20)]\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "axis within a rank may differ": (
        HEAD + IMPORTS + "pass\nttnn.all_gather(x,dim=3,cluster_axis=0)\n" + CLOSE,
        (),
    ),
    "different lines same call": (
        HEAD + IMPORTS + "if odd:\n"
        "    ttnn.all_reduce(x,cluster_axis=1)\n"
        "else:\n"
        "    ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "keyword forms": (
        HEAD
        + IMPORTS
        + "ttnn.all_gather(x, 3, cluster_axis=1) if odd else ttnn.all_gather(input_tensor=x, dim=3, cluster_axis=1)\n"
        + CLOSE,
        (),
    ),
    "negative dim": (
        HEAD + IMPORTS + "ttnn.all_gather(x, dim=-1 if odd else 3, cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "numpy ints": (
        HEAD + IMPORTS + "ttnn.all_gather(x, dim=np.int64(3) if odd else 3, cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "default memory named": (
        HEAD + IMPORTS + "ttnn.all_reduce(x,cluster_axis=1,memory_config=ttnn.DRAM_MEMORY_CONFIG)\n" + CLOSE,
        (),
    ),
    "exception caught everywhere": (
        HEAD + IMPORTS + "for _ in range(3):\n"
        "    try:\n"
        "        ttnn.all_gather(x, dim=9, cluster_axis=1)\n"
        "    except Exception: pass\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "exception caught on one": (
        HEAD + IMPORTS + "try:\n"
        "    if odd: ttnn.all_gather(x, dim=9, cluster_axis=1)\n"
        "except Exception: pass\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "subprocess on one": (
        HEAD + IMPORTS + "if odd: subprocess.run(['sleep','0.5'])\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "fork on one": (
        HEAD + IMPORTS + "if odd:\n"
        "    c=os.fork()\n"
        "    if c==0: os._exit(0)\n"
        "    os.waitpid(c,0)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "thread on one": (
        HEAD + IMPORTS + "t=threading.Thread(target=lambda: time.sleep(0.4)); t.start() if odd else None\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "collective in all threads": (
        HEAD
        + IMPORTS
        + "t=threading.Thread(target=lambda: ttnn.all_reduce(x,cluster_axis=1)); t.start(); t.join()\n"
        + CLOSE,
        (),
    ),
    "sys.exit(0) at the end": (
        HEAD + IMPORTS + "ttnn.all_reduce(x,cluster_axis=1)\nsys.exit(0)\n" + CLOSE,
        (),
    ),
    "exit None": (
        HEAD + IMPORTS + "raise SystemExit\n" + CLOSE,
        (),
    ),
    "exit caught": (
        HEAD + IMPORTS + "try:\n"
        "    sys.exit(3)\n"
        "except SystemExit: pass\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "mesh left open": (
        HEAD + IMPORTS + "ttnn.all_reduce(x,cluster_axis=1)\n",
        (),
    ),
    "one rank leaves late": (
        HEAD + IMPORTS + "ttnn.all_reduce(x,cluster_axis=1)\n"
        "ttnn.close_mesh_device(mesh)\n"
        "if odd: time.sleep(2)\n",
        (),
    ),
    "one rank leaves early": (
        HEAD + IMPORTS + "ttnn.close_mesh_device(mesh)\nif not odd: time.sleep(2)\n",
        (),
    ),
    "atexit works": (
        HEAD + IMPORTS + "import atexit\natexit.register(lambda: time.sleep(0.5) if odd else None)\n" + CLOSE,
        (),
    ),
    "submesh only of some": (
        HEAD + IMPORTS + "h=mesh.create_submeshes(ttnn.MeshShape(1,4))\n"
        "for m in h: ttnn.all_gather(tensor(1,1,32,32,device=m),dim=3)\n" + CLOSE,
        (),
    ),
    "submesh 2x2 both": (
        HEAD + IMPORTS + "h=mesh.create_submeshes(ttnn.MeshShape(2,2))\n"
        "for m in h: ttnn.all_reduce(tensor(1,1,32,32,device=m),cluster_axis=0)\n" + CLOSE,
        (),
    ),
    "messages pairwise": (
        HEAD + IMPORTS + "for i in range(1,size):\n"
        "    if rank==0: ttnn.distributed_context_send_bytes(bytes(i),i)\n"
        "    elif rank==i: ttnn.distributed_context_recv_bytes(i,0)\n" + CLOSE,
        (),
    ),
    "ring of messages": (
        HEAD + IMPORTS + "if rank==0:\n"
        "    ttnn.distributed_context_send_bytes(b'x'*1000,1); ttnn.distributed_context_recv_bytes(1000,size-1)\n"
        "else:\n"
        "    d=ttnn.distributed_context_recv_bytes(1000,rank-1); ttnn.distributed_context_send_bytes(d,(rank+1)%size)\n"
        + CLOSE,
        (),
    ),
    "large message early": (
        HEAD + IMPORTS + "if rank==0: ttnn.distributed_context_send_bytes(bytes(1<<22),1)\n"
        "if rank==1:\n"
        "    time.sleep(1); ttnn.distributed_context_recv_bytes(1<<22,0)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "tags out of order": (
        HEAD + IMPORTS + "if rank==0:\n"
        "    ttnn.distributed_context_send_bytes(b'a',1,5); ttnn.distributed_context_send_bytes(b'b',1,6)\n"
        "if rank==1:\n"
        "    assert ttnn.distributed_context_recv_bytes(1,0,6)==b'b'; assert ttnn.distributed_context_recv_bytes(1,0,5)==b'a'\n"
        + CLOSE,
        (),
    ),
    "empty message": (
        HEAD + IMPORTS + "if rank==0: ttnn.distributed_context_send_bytes(b'',1)\n"
        "if rank==1: ttnn.distributed_context_recv_bytes(0,0)\n" + CLOSE,
        (),
    ),
    "small sends then sender leaves": (
        HEAD + IMPORTS + "if rank==0:\n"
        "    for i in range(5): ttnn.distributed_context_send_bytes(b'abc',1)\n"
        "if rank==1:\n"
        "    time.sleep(1)\n"
        "    for i in range(5): ttnn.distributed_context_recv_bytes(3,0)\n",
        (),
    ),
    "different trace ids": (
        HEAD + IMPORTS + "if odd:\n"
        "    n=ttnn.begin_trace_capture(mesh,cq_id=0); ttnn.add(x,1.0); ttnn.end_trace_capture(mesh,n,cq_id=0)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n"
        "n=ttnn.begin_trace_capture(mesh,cq_id=0); ttnn.all_reduce(x,cluster_axis=1); ttnn.end_trace_capture(mesh,n,cq_id=0)\n"
        "for _ in range(3): ttnn.execute_trace(mesh,n,cq_id=0)\n" + CLOSE,
        (),
    ),
    "trace against calls": (
        HEAD + IMPORTS + "ttnn.all_reduce(x,cluster_axis=1)\n"
        "if odd:\n"
        "    pass\n"
        "n=ttnn.begin_trace_capture(mesh,cq_id=0); ttnn.all_reduce(x,cluster_axis=1); ttnn.end_trace_capture(mesh,n,cq_id=0)\n"
        "if odd: ttnn.execute_trace(mesh,n,cq_id=0)\n"
        "else: ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "local trace of one rank's submesh": (
        HEAD + IMPORTS + "h=mesh.create_submeshes(ttnn.MeshShape(2,1))\n"
        "m=h[rank*(4//size)]\n"
        "y=tensor(1,1,32,32,device=m)\n"
        "n=ttnn.begin_trace_capture(m,cq_id=0)\n"
        "ttnn.all_reduce(y,cluster_axis=0)\n"
        "ttnn.end_trace_capture(m,n,cq_id=0)\n"
        "ttnn.execute_trace(m,n,cq_id=0)\n" + CLOSE,
        (),
    ),
    "events on one": (
        HEAD + IMPORTS + "if odd:\n"
        "    e=ttnn.record_event(mesh,0); ttnn.wait_for_event(0,e); ttnn.synchronize_device(mesh)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "gc on one": (
        HEAD + IMPORTS + "if odd:\n"
        "    y=[tensor(1,1,32,32) for _ in range(50)]; del y; gc.collect()\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "deallocate different order": (
        HEAD + IMPORTS + "y,z=tensor(1,1,32,32),tensor(1,1,32,32)\n"
        "for t in ((y,z) if odd else (z,y)): ttnn.deallocate(t)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "random local": (
        HEAD + IMPORTS + "random.seed(rank)\n"
        "for _ in range(5):\n"
        "    if random.random()<.5: time.sleep(random.random()/5)\n"
        "    ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "cpu hog": (
        HEAD + IMPORTS + "s=time.time()\n"
        "while odd and time.time()-s<2: np.ones(1000).sum()\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "many collectives": (
        HEAD + IMPORTS + "for i in range(300): ttnn.all_reduce(x,cluster_axis=i%2)\n" + CLOSE,
        (),
    ),
    "many shapes": (
        HEAD
        + IMPORTS
        + "for i in range(1,40): ttnn.all_gather(tensor(1,1,i,i),dim=3,cluster_axis=1)\n"
        + CLOSE,
        (),
    ),
    "barriers": (
        HEAD + IMPORTS + "for _ in range(50): ttnn.distributed_context_barrier()\n" + CLOSE,
        (),
    ),
    "numbers": (
        HEAD
        + IMPORTS
        + "assert list(ttnn.distributed_context_allgather_int(rank))==list(range(size))\n"
        + CLOSE,
        (),
    ),
    "host read on all": (
        HEAD + IMPORTS + "ttnn.to_torch(x,mesh_composer=ttnn.ConcatMeshToTensor(mesh,dim=0))\n" + CLOSE,
        (),
    ),
    "local shard read on one": (
        HEAD + IMPORTS + "if odd: x.shape, x.dtype, repr(x.memory_config())\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "stderr noise": (
        HEAD + IMPORTS + "print('error[TTG001]: not really',file=sys.stderr)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "own excepthook": (
        HEAD + IMPORTS + "sys.excepthook=lambda *a: None\nttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "own signal handler": (
        HEAD
        + IMPORTS
        + "signal.signal(signal.SIGTERM,lambda *a: None); signal.signal(signal.SIGUSR1,lambda *a: None); os.kill(os.getpid(),signal.SIGTERM)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "alarm": (
        HEAD
        + IMPORTS
        + "signal.signal(signal.SIGALRM,lambda *a: None); signal.setitimer(signal.ITIMER_REAL,0.01,0.01)\n"
        "for _ in range(30): ttnn.all_reduce(x,cluster_axis=1)\n"
        "signal.setitimer(signal.ITIMER_REAL,0)\n" + CLOSE,
        (),
    ),
    "recursion limit": (
        HEAD + IMPORTS + "sys.setrecursionlimit(5000)\n"
        "def f(n): return ttnn.all_reduce(x,cluster_axis=1) if n==0 else f(n-1)\n"
        "f(800)\n" + CLOSE,
        (),
    ),
    "exec'd code": (
        HEAD + IMPORTS + "exec(compile('ttnn.all_reduce(x,cluster_axis=1)','<generated>','exec'))\n" + CLOSE,
        (),
    ),
    "lambda map": (
        HEAD + IMPORTS + "list(map(lambda i: ttnn.all_reduce(x,cluster_axis=1),range(3)))\n" + CLOSE,
        (),
    ),
    "closed stdin out": (
        HEAD + IMPORTS + "sys.stdin.close()\nttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "chdir": (
        HEAD + IMPORTS + "os.chdir('/')\nttnn.all_reduce(x,cluster_axis=1)\n" + CLOSE,
        (),
    ),
    "replicas same": (
        HEAD
        + IMPORTS
        + "w=ttnn.from_torch(np.full((1,1,32,32),3,np.float32),device=mesh,layout=ttnn.TILE_LAYOUT,mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))\n"
        "ttnn.all_reduce(w,cluster_axis=1)\n" + CLOSE,
        ("--check-replicas",),
    ),
    "sharded with check": (
        HEAD
        + IMPORTS
        + "w=ttnn.from_torch(np.random.default_rng(0).normal(size=(8,1,32,32)).astype(np.float32),device=mesh,layout=ttnn.TILE_LAYOUT,mesh_mapper=ttnn.ShardTensorToMesh(mesh,dim=0))\n"
        "ttnn.all_reduce(w,cluster_axis=1)\n" + CLOSE,
        ("--check-replicas",),
    ),
    "nan replicas": (
        HEAD
        + IMPORTS
        + "w=ttnn.from_torch(np.full((1,1,32,32),np.nan,np.float32),device=mesh,layout=ttnn.TILE_LAYOUT,mesh_mapper=ttnn.ReplicateTensorToMesh(mesh))\n"
        "ttnn.all_reduce(w,cluster_axis=1)\n" + CLOSE,
        ("--check-replicas",),
    ),
    "sockets both ways": (
        HEAD + SOCKETS + IMPORTS + "if rank<2:\n"
        "    one,two=pair(0,1),pair(1,0)\n"
        "    y=tensor(1,1,32,32)\n"
        "    if rank==0: ttnn.experimental.send_async(y,one); ttnn.experimental.recv_async(y,two)\n"
        "    else: ttnn.experimental.recv_async(y,one); ttnn.experimental.send_async(y,two)\n"
        "    ttnn.synchronize_device(mesh)\n" + CLOSE,
        (),
    ),
    "socket unused": (
        HEAD + SOCKETS + IMPORTS + "if rank<2: s=pair(0,1)\n" + CLOSE,
        (),
    ),
    "many through a socket": (
        HEAD + SOCKETS + IMPORTS + "if rank<2:\n"
        "    s=pair(0,1)\n"
        "    for i in range(20):\n"
        "        y=tensor(1,1,32,32)\n"
        "        ttnn.experimental.send_async(y,s) if rank==0 else ttnn.experimental.recv_async(y,s)\n"
        "    ttnn.synchronize_device(mesh)\n" + CLOSE,
        (),
    ),
    "training": (
        TRAINING + IMPORTS + "o=sgd()\nfor _ in range(3): step(o)\n",
        ("--check-replicas",),
    ),
    "training after which one rank drops its weights": (
        TRAINING + IMPORTS + "o=sgd()\nfor _ in range(3): step(o)\nif odd: del model, o\n",
        ("--check-replicas",),
    ),
    "training after which one rank ends MPI": (
        TRAINING
        + IMPORTS
        + "o=sgd()\nfor _ in range(3): step(o)\nif odd:\n    from mpi4py import MPI\n    MPI.Finalize()\n",
        ("--check-replicas",),
    ),
    "training with late rank": (
        TRAINING + IMPORTS + "import time\no=sgd()\nfor _ in range(3):\n    time.sleep(0.3*odd); step(o)\n",
        (),
    ),
    "training no grads on one step": (
        TRAINING + IMPORTS + "o=sgd()\nfor i in range(3):\n    if i==1: continue\n    step(o)\n",
        (),
    ),
}
"""By what is odd: the program, and options of the launch."""
