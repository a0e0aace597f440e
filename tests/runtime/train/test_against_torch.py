"""Modules, optimizers and schedules next to PyTorch's for twenty steps: losses, and every parameter at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.layers import Embedding, LayerNormLayer, RMSNormLayer
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops.gated import swiglu
from tt_run.runtime.train.ops.loss import cross_entropy_loss, mse_loss
from tt_run.runtime.train.ops.unary import gelu
from tt_run.runtime.train.optimizers import registry, schedulers
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.tensor import Tensor

pytestmark = pytest.mark.torch
WIDTH, STEPS = 16, 20


class Gated(AbstractModuleBase):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w2, self.w3 = (
            LinearLayer(WIDTH, 24, False),
            LinearLayer(24, WIDTH, False),
            LinearLayer(WIDTH, 24, False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return swiglu(x, self.w1.get_weight(), self.w2.get_weight(), self.w3.get_weight())


class Feed(AbstractModuleBase):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second = (
            LinearLayer(WIDTH, 24),
            LayerNormLayer(24),
            LinearLayer(24, WIDTH),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.second(gelu(self.norm(self.first(x))))


def flat(t: Any) -> Any:
    return t.reshape(-1)


def theirs(torch: Any, name: str, p: dict[str, Any], x: Any) -> Any:
    nn = torch.nn.functional
    if name == "linear":
        return nn.linear(x, p["weight"][0, 0], flat(p["bias"]))
    if name == "layer norm":
        return nn.layer_norm(x, (WIDTH,), flat(p["gamma"]), flat(p["beta"]), 1e-6)
    if name == "rms norm":
        return nn.rms_norm(x, (WIDTH,), flat(p["gamma"]), 1e-5)
    if name == "gated":
        low, down, high = (p[f"w{i}/weight"][0, 0] for i in (1, 2, 3))
        return nn.linear(nn.silu(nn.linear(x, low)) * nn.linear(x, high), down)
    hidden = nn.linear(x, p["first/weight"][0, 0], flat(p["first/bias"]))
    hidden = nn.layer_norm(hidden, (24,), flat(p["norm/gamma"]), flat(p["norm/beta"]), 1e-6)
    return nn.linear(nn.gelu(hidden), p["second/weight"][0, 0], flat(p["second/bias"]))


MODULES: dict[str, Callable[[], Any]] = {
    "linear": lambda: LinearLayer(WIDTH, WIDTH),
    "layer norm": lambda: LayerNormLayer(WIDTH),
    "rms norm": lambda: RMSNormLayer(WIDTH),
    "gated": Gated,
    "feed": Feed,
}
OPTIMIZERS: dict[str, tuple[dict[str, Any], Callable[[Any, Any], Any]]] = {
    "AdamW": ({"lr": 0.01, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6, "weight_decay": 0.1}, lambda o, p: o.AdamW(p, 0.01, (0.8, 0.95), 1e-6, 0.1)),
    "AdamW amsgrad": ({"lr": 0.01, "amsgrad": True}, lambda o, p: o.AdamW(p, 0.01, weight_decay=0.01, amsgrad=True)),
    "MorehAdamW": ({"lr": 0.01}, lambda o, p: o.AdamW(p, 0.01, weight_decay=0.01)),
    "AdamWComposite": ({"lr": 0.01}, lambda o, p: o.AdamW(p, 0.01, weight_decay=0.01)),
    "AdamWFullPrecision": ({"lr": 0.01}, lambda o, p: o.AdamW(p, 0.01, weight_decay=0.01)),
    "SGD": ({"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.01}, lambda o, p: o.SGD(p, 0.1, 0.9, 0.2, 0.01)),
    "SGDComposite": ({"lr": 0.1, "momentum": 0.9, "nesterov": True}, lambda o, p: o.SGD(p, 0.1, 0.9, nesterov=True)),
}  # fmt: skip


# Every module with one optimizer and every optimizer with one module; the other pairs are for the long run.
PAIRS = [
    pytest.param(
        module, optimizer, marks=() if module == "feed" or optimizer == "AdamW" else pytest.mark.slow
    )
    for module in MODULES
    for optimizer in OPTIMIZERS
]


@pytest.mark.parametrize(("module", "optimizer"), PAIRS)
def test_twenty_steps(opened: Any, module: str, optimizer: str) -> None:
    torch = torch_or_skip()
    context = opened()
    ours = MODULES[module]()
    named = {path.split("/", 1)[1]: tensor for path, tensor in ours.parameters().items()}
    twins = {name: torch.tensor(t.to_numpy(), requires_grad=True) for name, t in named.items()}
    settings, make = OPTIMIZERS[optimizer]
    one = registry.create_optimizer({"type": optimizer.split()[0], **settings}, ours.parameters())
    other = make(torch.optim, list(twins.values()))
    generator = np.random.default_rng(1)
    for step in range(STEPS):
        x, y = (generator.standard_normal((3, 1, 5, WIDTH), np.float32) for _ in range(2))
        one.zero_grad()
        loss = mse_loss(ours(Tensor.from_numpy(x)), Tensor.from_numpy(y))
        loss.backward()
        context.reset_graph()
        one.step()
        other.zero_grad()
        expected = torch.nn.functional.mse_loss(
            theirs(torch, module, twins, torch.tensor(x)), torch.tensor(y)
        )
        expected.backward()
        other.step()
        assert float(loss.to_numpy().item()) == pytest.approx(float(expected.detach()), rel=2e-4), step
    for name, twin in twins.items():
        np.testing.assert_allclose(named[name].to_numpy(), twin.detach(), rtol=2e-3, atol=2e-4, err_msg=name)


def test_an_embedding_for_twenty_steps(opened: Any) -> None:
    torch = torch_or_skip()
    context = opened()
    ours = Embedding(11, 7)
    twin = torch.nn.Embedding.from_pretrained(torch.tensor(ours.weight.tensor.to_numpy()[0, 0]), freeze=False)
    one = registry.create_optimizer({"type": "AdamW", "lr": 0.05}, ours.parameters())
    other = torch.optim.AdamW(twin.parameters(), 0.05, weight_decay=0.01)
    generator = np.random.default_rng(2)
    for _ in range(STEPS):
        ids = generator.integers(0, 11, (2, 1, 1, 6), np.uint32)
        targets = generator.integers(0, 7, (2, 6), np.uint32)
        one.zero_grad()
        rows, labels = (Tensor.from_numpy(a, Layout.ROW_MAJOR, DataType.UINT32) for a in (ids, targets))
        cross_entropy_loss(ours(rows), labels).backward()
        context.reset_graph()
        one.step()
        other.zero_grad()
        logits = twin(torch.tensor(ids.astype(np.int64)).flatten())
        torch.nn.functional.cross_entropy(logits, torch.tensor(targets.astype(np.int64)).flatten()).backward()
        other.step()
    np.testing.assert_allclose(
        ours.weight.tensor.to_numpy()[0, 0], twin.weight.detach(), rtol=1e-3, atol=1e-4
    )


def scheduled(name: str, optimizer: Any) -> Any:
    if name == "lambda":
        return schedulers.LambdaScheduler(optimizer, lambda step: 1 / (1 + step))
    if name == "step":
        return schedulers.StepScheduler(optimizer, 3, 0.5)
    if name == "linear":
        return schedulers.LinearScheduler(optimizer, 0.25, 1.0, 6)
    if name == "cosine":
        return schedulers.CosineAnnealingScheduler(optimizer, 12, 0.01)
    parts = [schedulers.LinearScheduler(optimizer, 0.25, 1.0, 4), schedulers.StepScheduler(optimizer, 2, 0.5)]
    return schedulers.SequentialScheduler(optimizer, parts, [4])


def torch_schedule(torch: Any, name: str, optimizer: Any) -> Any:
    s = torch.optim.lr_scheduler
    made: dict[str, Callable[[], Any]] = {
        "lambda": lambda: s.LambdaLR(optimizer, lambda step: 1 / (1 + step)),
        "step": lambda: s.StepLR(optimizer, 3, 0.5),
        "linear": lambda: s.LinearLR(optimizer, 0.25, 1.0, 6),
        "cosine": lambda: s.CosineAnnealingLR(optimizer, 12, 0.01),
        "sequential": lambda: s.SequentialLR(
            optimizer, [s.LinearLR(optimizer, 0.25, 1.0, 4), s.StepLR(optimizer, 2, 0.5)], [4]
        ),
    }
    return made[name]()


@pytest.mark.parametrize("name", ["lambda", "step", "linear", "cosine", "sequential"])
def test_rates_of_schedules(opened: Any, name: str) -> None:
    """Up to the end of the cosine, after which PyTorch's rises again and ours stays."""
    torch = torch_or_skip()
    opened()
    own = SGD({"w": Tensor.from_numpy(np.ones((1, 1, 1, 1), np.float32))}, SGDConfig.make(lr=0.8))
    schedule, other = scheduled(name, own), torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.8)
    twin = torch_schedule(torch, name, other)
    for step in range(12):
        own.step()
        schedule.step()
        other.step()
        twin.step()
        if name == "sequential" and step + 1 == 4:
            continue  # at the milestone itself ours ends the first schedule, PyTorch's has begun the second: both at 0.8
        assert schedule.get_last_lr() == pytest.approx(twin.get_last_lr()[0]), step
