"""Sharing tasks among the threads of a rank."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from tt_run.runtime.kernels import workers
from tt_run.runtime.kernels.workers import run_tasks, thread_count


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    monkeypatch.setattr(workers, "_pool", None)


def test_every_task_runs_once():
    done: list[int] = []
    run_tasks([lambda i=i: done.append(i) for i in range(50)])  # type: ignore[misc]
    assert sorted(done) == list(range(50))
    run_tasks([])


def test_two_threads_share_the_work():
    both = threading.Barrier(2, timeout=20)
    run_tasks([both.wait, both.wait])


@pytest.mark.parametrize("position", [0, 1, 7])
def test_an_exception_of_a_task_is_raised(position: int):
    def task(i: int) -> None:
        if i == position:
            raise ValueError(f"task {i}")

    with pytest.raises(ValueError, match=f"task {position}"):
        run_tasks([lambda i=i: task(i) for i in range(8)])  # type: ignore[misc]
    run_tasks([lambda: None] * 4)


def test_tasks_may_spread_again():
    done: list[int] = []

    def outer() -> None:
        run_tasks([lambda: done.append(1)] * 5)

    run_tasks([outer] * 6)
    assert len(done) == 30


def test_the_thread_count_follows_the_launcher(monkeypatch: pytest.MonkeyPatch):
    assert thread_count() == 2
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "0")
    assert thread_count() >= 1
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    assert thread_count() >= 1


@pytest.mark.parametrize("before", ["pass", "run_tasks([list, list])"], ids=["no pool yet", "a pool"])
def test_exit_handlers_may_spread(before: str) -> None:
    program = f"""
import atexit
from tt_run.runtime.kernels.workers import run_tasks
{before}
done = []
atexit.register(lambda: (run_tasks([lambda n=n: done.append(n) for n in range(3)]), print(sorted(done))))
"""
    words = [sys.executable, "-c", program]
    several = {**os.environ, "OPENBLAS_NUM_THREADS": "3"}
    ran = subprocess.run(words, env=several, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout, ran.stderr) == ("[0, 1, 2]\n", "")
