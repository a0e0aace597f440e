"""PyTorch as an engine: one thread, one shard at a time, the program's own settings left alone."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tt_run.runtime.kernels import torch_cpu


def test_a_missing_library_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    torch_cpu.library.cache_clear()
    monkeypatch.setitem(sys.modules, "torch", None)
    try:
        with pytest.raises(RuntimeError, match="pip install torch"):
            torch_cpu.library()
    finally:
        torch_cpu.library.cache_clear()


@pytest.mark.torch
def test_the_programs_threads_and_gradients_come_back():
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        seen = []

        def function(x):
            seen.append((torch.get_num_threads(), torch.is_grad_enabled(), x.matmul(x.t()).dtype))
            return x

        inside = (1, False, torch.float32)
        for taken in (torch.enable_grad(), torch.no_grad()):
            with taken, torch.autocast("cpu", dtype=torch.bfloat16):
                graded = torch.is_grad_enabled()
                torch_cpu.on_each(function, [np.ones((2, 3, 3), np.float32)])
                assert torch.is_grad_enabled() is graded
                x = torch.ones(3, 3)
                assert x.matmul(x).dtype is torch.bfloat16
        torch_cpu.on_each(function, [np.ones((1, 3, 3), np.float32)])
        assert seen == [inside] * 5
        with pytest.raises(ValueError), torch_cpu.quiet(gradients=True):
            assert torch.is_grad_enabled() and torch.get_num_threads() == 1
            raise ValueError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)


@pytest.mark.torch
def test_results_share_no_memory_with_operands():
    pytest.importorskip("torch")
    stack = np.ones((1, 64), np.float32)
    (values,) = torch_cpu.on_each(lambda x: x.view(8, 8), [stack])
    values += 1
    assert stack.tolist() == np.ones((1, 64)).tolist()


@pytest.mark.torch
def test_a_stack_without_devices_has_the_shape_of_the_result():
    torch = pytest.importorskip("torch")
    a, b = np.empty((0, 3, 4), np.float32), np.empty((0, 4, 5), np.float32)
    (made,) = torch_cpu.on_each(torch.matmul, [a, b])
    assert (made.shape, made.dtype) == ((0, 3, 5), np.float32)
    values, places = torch_cpu.on_each(lambda x: torch.topk(x, 2), [a])
    assert (values.shape, places.shape, places.dtype) == ((0, 3, 2), (0, 3, 2), np.int64)


@pytest.mark.torch
def test_gradients_of_each_operand():
    pytest.importorskip("torch")
    x, y, grad = (np.full((1, 2), v, np.float32) for v in (2.0, 3.0, 10.0))
    found = torch_cpu.on_each(torch_cpu.gradients(lambda a, b, k: a * b * k, 2), [grad, x, y], 2.0)
    assert [f.tolist() for f in found] == [[[60, 60]], [[40, 40]]]
    unused = torch_cpu.on_each(torch_cpu.gradients(lambda a, b: a + 0, 2), [grad, x, y])
    assert unused[1].tolist() == [[0, 0]]
