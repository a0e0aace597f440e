"""A wire between threads, so that exchanges run with any number of ranks inside one test process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

DEADLINE = 20


class Switch:
    """Connects the ranks of one exchange."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size)
        self.board: list[Any] = [None] * size
        self.lines = {(a, b): queue.SimpleQueue[np.ndarray]() for a in range(size) for b in range(size)}
        self.messages = 0

    def wire(self, rank: int) -> ThreadWire:
        return ThreadWire(self, rank)


class ThreadWire:
    """One rank's end of a switch. Sent buffers are copied at once; sizes must agree."""

    same_host = True
    window = None

    def open(self) -> None:
        """Messages only."""

    def __init__(self, switch: Switch, rank: int) -> None:
        self.switch, self.rank, self.size = switch, rank, switch.size

    def allgather(self, send, recv) -> None:
        self.switch.board[self.rank] = send.tobytes()
        self.switch.barrier.wait(DEADLINE)
        whole = b"".join(self.switch.board)
        self.switch.barrier.wait(DEADLINE)
        assert recv.flags.c_contiguous and recv.nbytes == len(whole)
        recv.reshape(-1).view(np.uint8)[:] = np.frombuffer(whole, np.uint8)

    def swap(self, sends, recvs, meanwhile=None) -> None:
        if meanwhile is not None:
            meanwhile()
        for peer, array in sends:
            assert peer != self.rank and array.flags.c_contiguous
            self.switch.messages += 1
            self.switch.lines[self.rank, peer].put(array.copy())
        for peer, array in recvs:
            got = self.switch.lines[peer, self.rank].get(timeout=DEADLINE)
            assert array.flags.c_contiguous and got.nbytes == array.nbytes
            array.reshape(-1).view(np.uint8)[:] = got.reshape(-1).view(np.uint8)


def on_threads(functions: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run one function per rank at the same time; the results in order. Raises the first error."""
    results: list[Any] = [None] * len(functions)
    errors: list[BaseException] = []

    def call(i: int) -> None:
        try:
            results[i] = functions[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * DEADLINE)
    if errors:
        raise errors[0]
    return results
