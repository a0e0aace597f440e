"""Operations next to PyTorch's: one thread each, CPU time, bfloat16 and 1 Mi elements unless a row says otherwise."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tt_run.runtime.ops as ops
from tests.bench.common import Row, paired, skipped
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.tensor import Tensor

BF16, BFP8, BFP4 = DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.BFLOAT4_B
ELEMENTWISE, CLONE, BLOCKS = 3.0, 2.0, 15.0
ROUNDS = 9


def run() -> list[Row]:
    """All rows, on one device of this process."""
    if importlib.util.find_spec("torch") is None:
        return [skipped("operations / PyTorch", ELEMENTWISE, "PyTorch is not installed")]
    import torch

    device = open_mesh_device(MeshShape(1, 1))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _one_thread():
            return [*_operations(device, torch), *_borders(device, torch)]
    finally:
        torch.set_num_threads(threads)
        device.close()


@contextmanager
def _one_thread() -> Iterator[None]:
    """The thread count of a rank is asked for at every large call."""
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        else:
            os.environ["OPENBLAS_NUM_THREADS"] = before


def _put(device: MeshDevice, tensor: Any, dtype: DataType = BF16) -> Tensor:
    return from_torch(tensor, dtype=dtype, layout=Layout.TILE, device=device)


def _ratio(name: str, target: float, ours: Callable[[], object], theirs: Callable[[], object]) -> Row:
    found = paired(_often(ours), _often(theirs), ROUNDS, clock=time.process_time)
    return Row(f"{name} / PyTorch", found.ratio, target, detail=found.detail("ours", "torch"))


def _often(call: Callable[[], object], times: int = 3) -> Callable[[], None]:
    def loop() -> None:
        for _ in range(times):
            call()

    return loop


def _operations(device: MeshDevice, torch: Any) -> Iterator[Row]:
    functional = torch.nn.functional
    torch.manual_seed(0)
    x, y = torch.randn(1024, 1024).bfloat16(), (torch.rand(1024, 1024) + 0.5).bfloat16()
    a, b = _put(device, x), _put(device, y)
    calls: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "relu": (lambda: ops.relu(a), lambda: torch.relu(x)),
        "elu": (lambda: ops.elu(a), lambda: functional.elu(x)),
        "leaky_relu": (lambda: ops.leaky_relu(a, 0.01), lambda: functional.leaky_relu(x)),
        "gelu": (lambda: ops.gelu(a), lambda: functional.gelu(x)),
        "rsqrt": (lambda: ops.rsqrt(b), lambda: torch.rsqrt(y)),
        "exp": (lambda: ops.exp(a), lambda: torch.exp(x)),
        "add": (lambda: ops.add(a, b), lambda: torch.add(x, y)),
        "maximum": (lambda: ops.maximum(a, b), lambda: torch.maximum(x, y)),
        "where": (lambda: ops.where(a, b, a), lambda: torch.where(x != 0, y, x)),
        "softmax": (lambda: ops.softmax(a), lambda: torch.softmax(x, -1)),
        "layer_norm": (lambda: ops.layer_norm(a), lambda: functional.layer_norm(x, (1024,))),
        "rms_norm": (lambda: ops.rms_norm(a), lambda: functional.rms_norm(x, (1024,))),
        "topk 32": (lambda: ops.topk(a, 32), lambda: torch.topk(x, 32)),
        "sort": (lambda: ops.sort(a), lambda: torch.sort(x)),
        "transpose": (lambda: ops.transpose(a, 0, 1), lambda: x.t().contiguous()),
        "digamma": (lambda: ops.digamma(b), lambda: torch.digamma(y)),
    }
    for name, (ours, theirs) in calls.items():
        yield _ratio(name, ELEMENTWISE, ours, theirs)


def _borders(device: MeshDevice, torch: Any) -> Iterator[Row]:
    x = torch.randn(1024, 1024)
    short = x.bfloat16()
    held, packed = _put(device, short), _put(device, x, BFP8)
    yield _ratio("from_torch bfloat16, clone", CLONE, lambda: _put(device, short), short.clone)
    yield _ratio("to_torch bfloat16, clone", CLONE, lambda: to_torch(held), short.clone)
    yield _ratio("from_torch bfloat8_b, clone", BLOCKS, lambda: _put(device, x, BFP8), x.clone)
    yield _ratio("from_torch bfloat4_b, clone", BLOCKS, lambda: _put(device, x, BFP4), x.clone)
    yield _ratio(
        "add bfloat8_b, add bfloat16", BLOCKS, lambda: ops.add(packed, packed), lambda: short + short
    )
