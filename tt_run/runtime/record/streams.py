"""Which calls follow one another: those of the main thread, of each other thread, and of each task of a pool, whichever of its threads takes it.

A replay's threads need not take turns as the run's did, and a pool's tasks go to whoever is free. Threads of one name are numbered as
they are started, tasks as they are handed in.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

_main = threading.main_thread()
_counts: Counter[str] = Counter()
_lock = threading.Lock()


class _StreamOfThread(threading.local):
    task = ""


_here = _StreamOfThread()


def stream() -> str:
    """The name of what this thread is at; empty for the main one."""
    if _here.task:
        return _here.task
    thread = threading.current_thread()
    return "" if thread is _main else getattr(thread, "_tt_run_stream", thread.name)


def _numbered(name: str) -> str:
    """A name that is this stream's alone: the first has it plain."""
    whole = f"{name} of {parent}" if (parent := stream()) else name
    with _lock:
        _counts[whole] += 1
        number = _counts[whole]
    return whole if number == 1 else f"{whole} #{number}"


class _Task:
    """A function of a pool, told apart from the pool's others."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function, self._name = function, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _here.task = self._name
        try:
            return self._function(*args, **kwargs)
        finally:
            _here.task = ""


def tell_threads_apart() -> None:
    """Number threads of one name from now on."""
    real = threading.Thread.start

    def start(self: threading.Thread) -> None:
        self._tt_run_stream = _numbered(self.name)  # type: ignore[attr-defined]
        real(self)

    start.__doc__ = real.__doc__
    threading.Thread.start = start  # type: ignore[method-assign]


def tell_tasks_apart(futures: Any) -> None:
    """Number the tasks of `concurrent.futures.thread`."""
    real = futures.ThreadPoolExecutor.submit

    def submit(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return real(self, _Task(fn, _numbered(f"{self._thread_name_prefix} task")), *args, **kwargs)

    submit.__doc__ = real.__doc__
    futures.ThreadPoolExecutor.submit = submit


class _Tasks(queue.SimpleQueue):
    def get(self, *args: Any, **kwargs: Any) -> Any:
        """The next task: whoever asks is done with the one before."""
        _here.task = ""
        found = super().get(*args, **kwargs)
        if found is not None:
            _here.task = f"pool task {found[0]}.{found[1]}"
        return found


def tell_pieces_apart(pools: Any) -> None:
    """Name the tasks of `multiprocessing.pool.ThreadPool` by their numbers there."""
    real = pools.ThreadPool._setup_queues

    def setup(self: Any) -> None:
        real(self)
        self._inqueue = _Tasks()
        self._quick_put = self._inqueue.put

    pools.ThreadPool._setup_queues = setup


POOLS = {"concurrent.futures.thread": tell_tasks_apart, "multiprocessing.pool": tell_pieces_apart}
"""What to do with these modules once they are loaded."""
