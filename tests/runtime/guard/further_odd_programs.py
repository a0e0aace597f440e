"""Further programs that are right, however odd, in the form of `odd_programs`: MPI of their own, other libraries, what they do to their surroundings."""

from __future__ import annotations

from tests.runtime.guard.divergences import HEAD
from tests.runtime.guard.odd_programs import CLOSE, IMPORTS

MPI = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"


def odd(body: str, *options: str, tail: str = CLOSE) -> tuple[str, tuple[str, ...]]:
    """A program with this in its midst."""
    return HEAD + IMPORTS + body + "\n" + tail, options


FURTHER_ODD: dict[str, tuple[str, tuple[str, ...]]] = {
    "mpi split equal": odd(
        MPI + "c=comm.Split(rank%2,rank); c.Barrier(); ttnn.all_reduce(x,cluster_axis=1); c.Free()",
    ),
    "mpi dup and bcast": odd(
        MPI + "c=comm.Dup(); assert c.bcast(5 if rank==0 else None)==5; ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "mpi between": odd(
        MPI + "for i in range(20):\n"
        "    ttnn.all_reduce(x,cluster_axis=1)\n"
        "    assert comm.allreduce(1)==size",
    ),
    "mpi sendrecv": odd(
        MPI + "assert comm.sendrecv(rank,dest=(rank+1)%size,source=(rank-1)%size)==(rank-1)%size\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "mpi isend pending across collective": odd(
        MPI + "r=comm.isend(b'z'*100000,dest=(rank+1)%size,tag=3)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n"
        "assert len(comm.recv(source=(rank-1)%size,tag=3))==100000; r.wait()",
    ),
    "mpi ibarrier across": odd(
        MPI + "r=comm.Ibarrier()\nfor _ in range(5): ttnn.all_reduce(x,cluster_axis=1)\nr.Wait()",
    ),
    "async tasks": odd(
        "import asyncio\n"
        "async def f():\n"
        "    await asyncio.sleep(0.01*rank); ttnn.all_reduce(x,cluster_axis=1)\n"
        "for _ in range(3): asyncio.run(f())",
    ),
    "threadpool local": odd(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as p: list(p.map(lambda i: ttnn.add(x,float(i)),range(20)))\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "collective in pool thread": odd(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as p: [p.submit(ttnn.all_reduce,x,cluster_axis=1).result() for _ in range(5)]",
    ),
    "multiprocessing fork": odd(
        "import multiprocessing as mp\n"
        "c=mp.get_context('fork')\n"
        "p=c.Process(target=time.sleep,args=(.2,)); p.start(); ttnn.all_reduce(x,cluster_axis=1); p.join()",
    ),
    "daemon thread": odd(
        "import threading\n"
        "threading.Thread(target=time.sleep,args=(30,),daemon=True).start()\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "1-tuple kwargs": odd(
        "kw={'cluster_axis':1,'dim':3}\nttnn.all_gather(x,**(kw if odd else dict(reversed(kw.items()))))",
    ),
    "topology default named": odd(
        "ttnn.all_gather(x,dim=3,cluster_axis=1,topology=None) if odd else ttnn.all_gather(x,dim=3,cluster_axis=1)",
    ),
    "partial": odd(
        "import functools\n"
        "f=functools.partial(ttnn.all_reduce,cluster_axis=1)\n"
        "f(x) if odd else ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "decorated": odd(
        "def deco(f):\n"
        "    def g(*a,**k):\n"
        "        time.sleep(.01*rank); return f(*a,**k)\n"
        "    return g\n"
        "g=deco(ttnn.all_reduce)\n"
        "for _ in range(3): g(x,cluster_axis=1)",
    ),
    "warnings as errors": odd(
        "import warnings\nwarnings.simplefilter('error')\nttnn.all_reduce(x,cluster_axis=1)",
    ),
    "logging": odd(
        "import logging\n"
        "logging.basicConfig(level=0); logging.getLogger('x').error('Traceback (most recent call last):')\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "settrace": odd(
        "import sys\n"
        "if odd: sys.settrace(lambda *a: None)\n"
        "ttnn.all_reduce(x,cluster_axis=1)\n"
        "sys.settrace(None)",
    ),
    "gc disabled": odd(
        "import gc\ngc.disable() if odd else gc.collect()\nttnn.all_reduce(x,cluster_axis=1)",
    ),
    "umask cwd env": odd(
        "import os,tempfile\n"
        "os.umask(0o777 if odd else 0)\n"
        "os.chdir(tempfile.gettempdir())\n"
        "os.environ.clear() if odd else None\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "rlimit files": odd(
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE,(64,64))\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "many meshes": odd(
        "for i in range(10):\n"
        "    ttnn.close_mesh_device(mesh); mesh=ttnn.open_mesh_device(ttnn.MeshShape(2,4)); ttnn.all_reduce(tensor(1,1,32,32,device=mesh),cluster_axis=1)",
    ),
    "late print": odd(
        "ttnn.all_reduce(x,cluster_axis=1); sys.stdout.write('no newline')",
    ),
    "close stdout": odd(
        "sys.stdout.close() if odd else None\nttnn.all_reduce(x,cluster_axis=1)",
    ),
    "stdin read": odd(
        "assert sys.stdin.read()==''\nttnn.all_reduce(x,cluster_axis=1)",
    ),
    "big output": odd(
        "print('y'*2000000 if odd else 'z')\nttnn.all_reduce(x,cluster_axis=1)",
    ),
    "non-utf8 output": odd(
        "sys.stdout.buffer.write(b'\\xff\\xfe\\x00\\n'*100)\nttnn.all_reduce(x,cluster_axis=1)",
    ),
    "exit in finally": odd(
        "try: ttnn.all_reduce(x,cluster_axis=1)\nfinally: ttnn.close_mesh_device(mesh); sys.exit(0)",
        tail="",
    ),
    "generator closes": odd(
        "def g():\n"
        "    try:\n"
        "        while True: yield ttnn.all_reduce(x,cluster_axis=1)\n"
        "    finally: pass\n"
        "i=g(); next(i); next(i); i.close()",
    ),
    "weakref gc of tensors": odd(
        "import weakref\n"
        "y=tensor(1,1,32,32); weakref.finalize(y,lambda: None); del y\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "messages many tags": odd(
        "for t in range(30):\n"
        "    if rank==0: ttnn.distributed_context_send_bytes(bytes([t]),1,t)\n"
        "    if rank==1: assert ttnn.distributed_context_recv_bytes(1,0,t)==bytes([t])\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "replicas check odd shapes": odd(
        "y=ttnn.full((1,1,31,33),float('nan'),dtype=ttnn.float32,layout=ttnn.ROW_MAJOR_LAYOUT,device=mesh)\n"
        "ttnn.all_gather(y,dim=3,cluster_axis=1)",
        "--check-replicas",
    ),
    "replicas bfloat16 fill": odd(
        "y=ttnn.full((1,1,32,32),0.1,dtype=ttnn.bfloat16,layout=ttnn.TILE_LAYOUT,device=mesh)\n"
        "for _ in range(5): y=ttnn.all_reduce(y,cluster_axis=1)",
        "--check-replicas",
    ),
    "subprocess python": odd(
        "import subprocess\n"
        "subprocess.run([sys.executable,'-c','import ttnn'],check=True) if odd else None\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "signal pause": odd(
        "import signal,threading,os\n"
        "signal.signal(signal.SIGUSR2,lambda *a: None)\n"
        "threading.Timer(.3,lambda: os.kill(os.getpid(),signal.SIGUSR2)).start()\n"
        "signal.pause()\n"
        "ttnn.all_reduce(x,cluster_axis=1)",
    ),
    "exec of string module": odd(
        "exec('import ttnn as t\\nt.all_reduce(x,cluster_axis=1)')",
    ),
    "composers of one result": odd(
        "composers=(ttnn.ConcatMeshToTensor(mesh,dim=-4),ttnn.ConcatMesh2dToTensor(mesh,(8,1),(0,3)),ttnn.ConcatMeshToTensor(mesh,dim=0))\n"
        "for n in range(3): ttnn.to_torch(x,mesh_composer=composers[n*rank%3])",
    ),
    "ranks that only help to read": odd(
        "if rank==0: ttnn.to_torch(x,mesh_composer=ttnn.ConcatMeshToTensor(mesh,dim=0))\n"
        "else: ttnn.get_device_tensors(ttnn.from_device(x))",
    ),
}
"""By what is odd: the program, and options of the launch."""
