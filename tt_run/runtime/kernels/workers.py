"""The threads of this rank: large kernels are cut into tasks that share no output.

How a kernel is cut may not follow the number of threads where a cut could change a bit (see `gemm`); who runs which task
never matters.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tt_run.granted import usable_cpus

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Task = Callable[[], object]

_pool: ThreadPoolExecutor | None = None
_pool_owner = 0
_making = threading.Lock()
_here = threading.local()


def thread_count() -> int:
    """Threads that one rank may keep busy: OPENBLAS_NUM_THREADS as the launcher sets it, else the cores it may run on."""
    wish = os.environ.get("OPENBLAS_NUM_THREADS", "")
    if wish.isdigit() and int(wish) > 0:
        return int(wish)
    return len(usable_cpus())


_SPREAD = 1 << 20
"""Elements from which on a result is worth more than one thread."""


def pieces_of(elements: int) -> int:
    """Among how many threads a result of so many elements is shared."""
    return thread_count() if elements >= _SPREAD else 1


def run_tasks(tasks: Sequence[Task]) -> None:
    """Run all tasks, in any order, and return when the last has ended. An exception of a task is raised here."""
    is_alone = getattr(_here, "is_worker", False) or _is_ending()
    extra = 0 if is_alone else min(len(tasks), thread_count()) - 1
    if extra < 1:
        for task in tasks:
            task()
        return
    waiting = deque(tasks)
    running = [_threads().submit(_work, waiting) for _ in range(extra)]
    try:
        _drain(waiting)
    finally:
        waiting.clear()
        # Who has not started by now has nothing left to do.
        failures = [failure for future in running if not future.cancel() and (failure := future.exception())]
    if failures:
        raise failures[0]


def _is_ending() -> bool:
    """Whether the program has come to its exit handlers, from which on no pool takes or makes anything."""
    return not threading.main_thread().is_alive()


def _work(waiting: deque[Task]) -> None:
    """What a thread of the pool does; tasks that spread again do so on it alone, or the pool could wait for itself."""
    _here.is_worker = True
    _drain(waiting)


def _drain(waiting: deque[Task]) -> None:
    """Take tasks until none is left."""
    while True:
        try:
            task = waiting.popleft()
        except IndexError:
            return
        task()


def _threads() -> ThreadPoolExecutor:
    """The pool of this process; a forked child makes its own."""
    global _pool, _pool_owner
    with _making:
        if _pool is None or _pool_owner != os.getpid():
            from concurrent.futures import ThreadPoolExecutor

            _pool = ThreadPoolExecutor(thread_count() - 1, thread_name_prefix="tt-run-ops")
            _pool_owner = os.getpid()
        return _pool
