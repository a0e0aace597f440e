"""Ranks as threads of one process, so that the guard's meetings are seen without MPI: memory and messages that the threads share."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

import numpy as np

from tt_run.runtime.comm.shared_memory import SharedBlock
from tt_run.runtime.comm.world import Group, Peer, World
from tt_run.runtime.guard import watch
from tt_run.runtime.guard.board import RAISED
from tt_run.runtime.guard.watch import Guard


class Switch:
    """What the threads share: blocks of memory by group and turn, messages by sender, receiver and tag, and gathered words."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.blocks: dict[tuple[tuple[int, ...], int], SharedBlock] = {}
        self._messages: dict[tuple[int, int, int], deque[bytes]] = {}
        self._words: dict[tuple[tuple[int, ...], int], dict[int, Any]] = {}
        self.barriers: dict[tuple[int, ...], threading.Barrier] = {}

    def messages(self, source: int, destination: int, tag: int) -> deque[bytes]:
        with self.lock:
            return self._messages.setdefault((source, destination, tag), deque())

    def words(self, ranks: tuple[int, ...], turn: int) -> dict[int, Any]:
        with self.lock:
            return self._words.setdefault((ranks, turn), {})


class ThreadPending:
    """A message or a gathering under way: `ready` is asked until it gives True."""

    def __init__(self, ready: Callable[[], bool], buffer: Any = None) -> None:
        self.ready, self.buffer, self.done = ready, buffer, False

    def test(self) -> bool:
        self.done = self.done or self.ready()
        return self.done


class ThreadGroup(Group):
    """A group whose members are threads."""

    def __init__(self, world: ThreadWorld, ranks: tuple[int, ...]) -> None:
        super().__init__(world, ranks)
        self.switch, self.me = world.switch, world.rank
        self.turns = self.gathered = 0

    def connect(self) -> None:
        pass

    def barrier(self) -> None:
        with self.switch.lock:
            barrier = self.switch.barriers.setdefault(self.ranks, threading.Barrier(len(self.ranks)))
        barrier.wait(60)

    def shared_block(self, nbytes: int, in_memory: bool = False) -> SharedBlock:
        assert self.on_one_host
        with self.switch.lock:
            block = self.switch.blocks.get((self.ranks, self.turns))
            if block is None:
                block = self.switch.blocks[self.ranks, self.turns] = SharedBlock.create(nbytes).unlinked()
            self.turns += 1
        assert block.nbytes == nbytes
        return block

    def isend(self, buffer: Any, destination: int, tag: int = 0) -> Any:
        self.switch.messages(self.me, self.ranks[destination], tag).append(buffer.tobytes())
        return ThreadPending(lambda: True)

    def irecv(self, buffer: Any, source: int, tag: int = 0) -> Any:
        waiting = self.switch.messages(self.ranks[source], self.me, tag)

        def ready() -> bool:
            if not waiting:
                return False
            buffer[:] = np.frombuffer(waiting.popleft(), buffer.dtype).reshape(buffer.shape)
            return True

        return ThreadPending(ready, buffer)

    def arrived(self, tag: int) -> list[tuple[int, bytes]]:
        found = []
        for source in self.ranks:
            waiting = self.switch.messages(source, self.me, tag)
            while waiting:
                found.append((source, waiting.popleft()))
        return found

    def iallgather(self, send: Any, receive: Any) -> Any:
        words = self.switch.words(self.ranks, self.gathered)
        self.gathered += 1
        words[self.rank] = send.copy()
        assert receive.shape == (len(self.ranks), *send.shape)  # as MPI demands it

        def ready() -> bool:
            if len(words) < len(self.ranks):
                return False
            for place in range(len(self.ranks)):
                receive[place] = words[place]
            return True

        return ThreadPending(ready, receive)


class ThreadWorld(World):
    """The job as one thread sees it; `hosts` names the host of each rank by a letter."""

    def __init__(self, rank: int, hosts: str, switch: Switch) -> None:
        super().__init__(rank, len(hosts))
        self.switch = switch
        names = sorted(set(hosts))
        self._peers = tuple(
            Peer(number, names.index(host), host, 1, None, None) for number, host in enumerate(hosts)
        )

    def make_group(self, ranks: tuple[int, ...]) -> Group:
        return ThreadGroup(self, ranks)

    @cached_property
    def control(self) -> Group:
        return ThreadGroup(self, tuple(range(self.size)))


def run(hosts: str, program: Callable[[Guard], Any], timeout: float = 30.0) -> list[Any]:
    """Run the program on a thread for each rank: what it returned or raised. A rank that raises says so to the others, as an exception does."""
    switch, found = Switch(), cast("list[Any]", [None] * len(hosts))
    guards: list[Guard] = []

    def rank(number: int) -> None:
        try:
            guard = Guard(ThreadWorld(number, hosts, switch), timeout)
            guards.append(guard)
            try:
                found[number] = program(guard)
            except RuntimeError as error:
                found[number] = error
                if guard.error is None:
                    guard.end(RAISED, f"{type(error).__name__}: {error}", "prog.py:1")
        except BaseException as error:  # one that belongs to the test
            found[number] = error

    threads = [threading.Thread(target=rank, args=(number,), daemon=True) for number in range(len(hosts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    for guard in guards:  # in a process of its own the claim of a report ends with it
        if guard.whereabouts._claim is not None:
            guard.whereabouts._claim.close()
    assert not any(thread.is_alive() for thread in threads), f"{watch.__name__} waits for ever"
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, RuntimeError):
            raise each
    return found
