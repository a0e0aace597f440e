"""Bytes between ranks from several threads at once, while the main threads compute: byte_threads.py WHAT, "serves", "private" where messages are those of a context of their own, or "waits" for what nobody sends."""

import queue
import sys
import threading

import ttnn
from ttnn._ttnn.multi_device import recv_bytes, send_bytes

ttnn.init_distributed_context()
rank = int(ttnn.distributed_context_get_rank())
ASKED, MADE, TOLD, ROUNDS = 21, 22, 23, 20
if sys.argv[1] == "private":
    context = ttnn.distributed_context_duplicate()
    send_bytes(b"x", 1 - rank, ASKED)  # met by nobody's `recv` of the context
    send_bytes, recv_bytes = context.send, context.recv
waiting: queue.Queue[bytes] = queue.Queue()


def ask() -> None:
    for number in range(ROUNDS):
        send_bytes(bytes([number]), 1, ASKED)


def take() -> None:
    for _ in range(ROUNDS + (sys.argv[1] == "waits")):
        waiting.put(recv_bytes(1, 1, MADE))


def listen() -> None:
    for _ in range(ROUNDS):
        waiting.put(recv_bytes(1, 0, TOLD))


threads = [threading.Thread(target=work, daemon=True) for work in ((ask, take) if rank == 0 else (listen,))]
for thread in threads:
    thread.start()
if rank == 0:
    for _ in range(ROUNDS):
        send_bytes(bytes([waiting.get()[0] + 1]), 1, TOLD)
else:
    for _ in range(ROUNDS):
        send_bytes(bytes([2 * recv_bytes(1, 0, ASKED)[0]]), 0, MADE)
for thread in threads:
    thread.join()
print(f"heard {sum(waiting.get()[0] for _ in range(waiting.qsize()))}", flush=True)
if sys.argv[1] == "private":
    assert ttnn.distributed_context_recv_bytes(1, 1 - rank, ASKED) == b"x"
ttnn.distributed_context_barrier()
