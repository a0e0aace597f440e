"""Operations next to PyTorch's: one thread each, CPU time, bfloat16 and 1 Mi elements unless a row says otherwise.

Products are told in both types. Ours are sums of float32 in the order of NumPy's BLAS, with PyTorch and without; PyTorch's of bfloat16 run
on units for bfloat16 where the processor has them (AMX), which have an order of their own: there the rows of bfloat16 miss their targets.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tt_run.runtime.ops as ops
from tests.bench.common import Row, paired, skipped
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops.attention.prefill import scaled_dot_product_attention
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.tensor import Tensor

BF16, F32, BFP8, BFP4 = DataType.BFLOAT16, DataType.FLOAT32, DataType.BFLOAT8_B, DataType.BFLOAT4_B
ELEMENTWISE, CLONE, BLOCKS, PRODUCTS, IMAGES = 3.0, 2.0, 15.0, 1.3, 1.2
L1_SMALL = 24576  # for the tables of convolutions
ROUNDS = 9


def run() -> list[Row]:
    """All rows, on one device of this process."""
    if importlib.util.find_spec("torch") is None:
        return [skipped("operations / PyTorch", ELEMENTWISE, "PyTorch is not installed")]
    import torch

    device = open_mesh_device(MeshShape(1, 1), l1_small_size=L1_SMALL)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _one_thread():
            return [
                *_operations(device, torch),
                *_gradients(device, torch),
                *_products(device, torch),
                *_images(device, torch),
                *_borders(device, torch),
            ]
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


def _gradients(device: MeshDevice, torch: Any) -> Iterator[Row]:
    """Backward operations next to PyTorch's function and its gradient."""
    torch.manual_seed(0)
    given, x = torch.randn(1024, 1024).bfloat16(), (torch.rand(1024, 1024) + 0.5).bfloat16()
    g, a = _put(device, given), _put(device, x)

    def differentiated(function: Callable[..., Any], count: int = 1) -> Callable[[], object]:
        leaves = [x.clone().requires_grad_() for _ in range(count)]
        return lambda: torch.autograd.grad(function(*leaves), leaves, given)

    calls: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "neg_bw": (lambda: ops.neg_bw(g, a), differentiated(torch.neg)),
        "add_bw": (lambda: ops.add_bw(g, a, a), differentiated(torch.add, 2)),
        "pow_bw": (lambda: ops.pow_bw(g, a, 2.0), differentiated(lambda leaf: leaf**2.0)),
        "sqrt_bw": (lambda: ops.sqrt_bw(g, a), differentiated(torch.sqrt)),
        "gelu_bw": (lambda: ops.gelu_bw(g, a), differentiated(torch.nn.functional.gelu)),
        "logaddexp_bw": (lambda: ops.logaddexp_bw(g, a, a), differentiated(torch.logaddexp, 2)),
    }
    for name, (ours, theirs) in calls.items():
        yield _ratio(name, ELEMENTWISE, ours, theirs)


def _products(device: MeshDevice, torch: Any) -> Iterator[Row]:
    for dtype, kind in ((BF16, torch.bfloat16), (F32, torch.float32)):
        yield _matmul(device, torch, dtype, kind)
    given = [torch.randn(1, 8, 1024, 64).bfloat16() for _ in range(3)]
    on_device = [_put(device, each) for each in given]
    for causal in (False, True):
        for kind in (torch.bfloat16, torch.float32):
            yield _attention(torch, on_device, [each.to(kind) for each in given], causal)


def _matmul(device: MeshDevice, torch: Any, dtype: DataType, kind: Any) -> Row:
    x, y = torch.randn(1024, 1024, dtype=kind), torch.randn(1024, 1024, dtype=kind)
    a, b = _put(device, x, dtype), _put(device, y, dtype)
    name = f"matmul {dtype.name.lower()} 1024"
    return _ratio(name, PRODUCTS, lambda: ops.matmul(a, b), lambda: torch.matmul(x, y))


def _attention(torch: Any, ours: Sequence[Tensor], theirs: Sequence[Any], causal: bool) -> Row:
    attend = torch.nn.functional.scaled_dot_product_attention
    form, kind = "causal" if causal else "to all", str(theirs[0].dtype).removeprefix("torch.")
    return _ratio(
        f"attention {form}, 8 heads of 1024x64, {kind} there",
        PRODUCTS,
        lambda: scaled_dot_product_attention(*ours, is_causal=causal),
        lambda: attend(*theirs, is_causal=causal),
    )


def _images(device: MeshDevice, torch: Any) -> Iterator[Row]:
    """Eight images with 64 channels, of 56 x 56 and 112 x 112 pixels, as a ResNet-50 has them; PyTorch has channels last, too."""
    for dtype, kind in ((BF16, torch.bfloat16), (F32, torch.float32)):
        yield _convolution(device, torch, dtype, kind)
    planes, x = _image(device, torch, 112, BF16, torch.bfloat16)
    windows = (8, 112, 112, 64, [3, 3], [2, 2], [1, 1])
    pools = torch.nn.functional
    yield _ratio(
        "max_pool2d 3x3",
        IMAGES,
        lambda: ops.max_pool2d(x, *windows, [1, 1]),
        lambda: pools.max_pool2d(planes, 3, 2, 1),
    )
    yield _ratio(
        "avg_pool2d 3x3",
        IMAGES,
        lambda: ops.avg_pool2d(x, *windows),
        lambda: pools.avg_pool2d(planes, 3, 2, 1),
    )


def _image(device: MeshDevice, torch: Any, side: int, dtype: DataType, kind: Any) -> tuple[Any, Tensor]:
    planes = torch.randn(8, 64, side, side, dtype=kind).contiguous(memory_format=torch.channels_last)
    rows = planes.permute(0, 2, 3, 1).reshape(1, 1, -1, 64)
    return planes, from_torch(rows, dtype=dtype, layout=Layout.ROW_MAJOR, device=device)


def _convolution(device: MeshDevice, torch: Any, dtype: DataType, kind: Any) -> Row:
    planes, x = _image(device, torch, 56, dtype, kind)
    filters = torch.randn(64, 64, 3, 3, dtype=kind)
    weight = from_torch(filters, dtype=dtype)
    return _ratio(
        f"conv2d 3x3 {dtype.name.lower()}",
        IMAGES,
        lambda: ops.conv2d(
            input_tensor=x, weight_tensor=weight, device=device, in_channels=64, out_channels=64, batch_size=8,
            input_height=56, input_width=56, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1),
        ),
        lambda: torch.nn.functional.conv2d(planes, filters, padding=1),
    )  # fmt: skip


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
