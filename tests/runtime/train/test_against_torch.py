"""Modules, optimizers and schedules next to PyTorch's for twenty steps: losses, and every parameter at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.train import references
from tests.runtime.train.pytorch import torch_or_skip
from tests.sweep import thinned
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders.llama import GroupedQueryAttention, LlamaMLP
from tt_run.runtime.train.models.decoders.mixture import DeepSeekMLP
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3MLP
from tt_run.runtime.train.models.mlp import MultiLayerPerceptronParameters, create_mlp_model
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.layers import Embedding, LayerNormLayer, RMSNormLayer
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.lora import LoraConfig, LoraModel
from tt_run.runtime.train.modules.parameter import Buffer
from tt_run.runtime.train.ops.gated import swiglu
from tt_run.runtime.train.ops.loss import cross_entropy_loss, mse_loss, nll_loss
from tt_run.runtime.train.ops.rope import build_rope_params
from tt_run.runtime.train.ops.unary import gelu, log_softmax
from tt_run.runtime.train.optimizers import begun_schedulers, registry, schedulers
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig

pytestmark = pytest.mark.torch
WIDTH, STEPS, LENGTH = 16, 20, 5


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


class Attending(GroupedQueryAttention):
    """Four heads in two groups, causal, with rotary positions."""

    def __init__(self) -> None:
        super().__init__(WIDTH, 4, 2, 0.0, build_rope_params(LENGTH, WIDTH // 4), bias_linears=True)
        self.seen = Buffer(Tensor.from_numpy(np.tril(np.ones((1, 1, LENGTH, LENGTH), np.float32))))

    def forward(self, x: Tensor, *_: Any, **__: Any) -> Tensor:
        return super().forward(x, self.seen.tensor)


def adapted() -> LoraModel:
    """A layer with an adapter whose second matrix is not zero any more, or half of it would get no gradient at first."""
    made = LoraModel(Feed(), LoraConfig(rank=3, alpha=6.0, target_modules=["first"], is_bias_trainable=True))
    second = next(t for name, t in made.parameters().items() if name.endswith("lora_B"))
    second.set_value(initial.normal(0.0, 0.1)(second.shape()).get_value())
    return made


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
    if name == "attention":
        return attention_of(torch, p, x)
    if name == "lora":
        root = "model/first"
        hidden = nn.linear(x, p[f"{root}/weight"][0, 0], flat(p[f"{root}/bias"]))
        narrow = nn.linear(x, p[f"{root}/lora_A"][0, 0])
        hidden = hidden + 2.0 * nn.linear(narrow, p[f"{root}/lora_B"][0, 0])
        p = {path.removeprefix("model/"): twin for path, twin in p.items()}
        hidden = nn.layer_norm(hidden, (24,), flat(p["norm/gamma"]), flat(p["norm/beta"]), 1e-6)
        return nn.linear(nn.gelu(hidden), p["second/weight"][0, 0], flat(p["second/bias"]))
    if name == "layers":
        for number in range(3):
            x = nn.linear(x, p[f"layers/{number}/weight"][0, 0], flat(p[f"layers/{number}/bias"]))
            x = nn.relu(x) if number < 2 else x
        return x
    if name == "llama's":
        low, high = p["w_gate_up/weight"][0, 0].chunk(2)
        return nn.linear(nn.silu(nn.linear(x, low)) * nn.linear(x, high), p["w2/weight"][0, 0])
    if name in ("qwen3's", "deepseek's"):
        names = ("gate_proj", "up_proj", "down_proj") if name == "qwen3's" else ("w1", "w3", "w2")
        low, high, down = (p[f"{layer}/weight"][0, 0] for layer in names)
        return nn.linear(nn.silu(nn.linear(x, low)) * nn.linear(x, high), down)
    if name == "gated":
        low, down, high = (p[f"w{i}/weight"][0, 0] for i in (1, 2, 3))
        return nn.linear(nn.silu(nn.linear(x, low)) * nn.linear(x, high), down)
    hidden = nn.linear(x, p["first/weight"][0, 0], flat(p["first/bias"]))
    hidden = nn.layer_norm(hidden, (24,), flat(p["norm/gamma"]), flat(p["norm/beta"]), 1e-6)
    return nn.linear(nn.gelu(hidden), p["second/weight"][0, 0], flat(p["second/bias"]))


def attention_of(torch: Any, p: dict[str, Any], x: Any) -> Any:
    """The attention of `references.py` with biases and rotated pairs."""
    angles = torch.outer(torch.arange(LENGTH).double(), torch.tensor(references.frequencies(WIDTH // 4, 1e4)))
    unit = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)

    def turn(u: Any) -> Any:
        pairs = torch.view_as_complex(u.reshape(*u.shape[:-1], -1, 2).contiguous())
        return torch.view_as_real(pairs * unit).flatten(-2)

    def layer(name: str, u: Any) -> Any:
        return torch.nn.functional.linear(u, p[f"{name}/weight"][0, 0], flat(p[f"{name}/bias"]))

    q, k, v = layer("qkv_linear", x[:, 0]).split((WIDTH, WIDTH // 2, WIDTH // 2), -1)
    mixed = references.attention(torch, q, k, v, 4, 2, turn)
    return layer("out_linear", mixed)[:, None]


MODULES: dict[str, Callable[[], Any]] = {
    "linear": lambda: LinearLayer(WIDTH, WIDTH),
    "layer norm": lambda: LayerNormLayer(WIDTH),
    "rms norm": lambda: RMSNormLayer(WIDTH),
    "gated": Gated,
    "feed": Feed,
    "attention": Attending,
    "lora": adapted,
    "llama's": lambda: LlamaMLP(WIDTH, 24),
    "qwen3's": lambda: Qwen3MLP(WIDTH, 24),
    "deepseek's": lambda: DeepSeekMLP(WIDTH, 24),
    "layers": lambda: create_mlp_model(MultiLayerPerceptronParameters(WIDTH, (24, 12), WIDTH)),
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


@pytest.mark.parametrize(("module", "optimizer"), thinned(PAIRS, 3))
def test_twenty_steps(opened: Any, module: str, optimizer: str) -> None:
    torch = torch_or_skip()
    context = opened()
    ours = MODULES[module]()
    named = {path.split("/", 1)[1]: tensor for path, tensor in ours.parameters().items()}
    twins = {
        name: torch.tensor(t.to_numpy(), requires_grad=t.get_requires_grad()) for name, t in named.items()
    }
    settings, make = OPTIMIZERS[optimizer]
    one = registry.create_optimizer({"type": optimizer.split()[0], **settings}, ours.parameters())
    other = make(torch.optim, [twin for twin in twins.values() if twin.requires_grad])
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


def rising(s: Any, optimizer: Any) -> list[Any]:
    return [s.LinearScheduler(optimizer, 0.25, 1.0, 4), s.StepScheduler(optimizer, 2, 0.5)]


# Ours and PyTorch's, of a module of schedules and an optimizer; the last two hand over at one rate and at different ones.
SCHEDULES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "lambda": (lambda s, o: s.LambdaScheduler(o, lambda n: 1 / (1 + n)), lambda s, o: s.LambdaLR(o, lambda n: 1 / (1 + n))),
    "lambda from a half": (lambda s, o: s.LambdaScheduler(o, lambda n: 0.5 + n), lambda s, o: s.LambdaLR(o, lambda n: 0.5 + n)),
    "identity": (
        lambda s, o: s.LambdaScheduler(o, schedulers.identity(1.0, 30)),
        lambda s, o: s.ConstantLR(o, 1.0),
    ),
    "step": (lambda s, o: s.StepScheduler(o, 3, 0.5), lambda s, o: s.StepLR(o, 3, 0.5)),
    "linear up": (lambda s, o: s.LinearScheduler(o, 0.25, 1.0, 6), lambda s, o: s.LinearLR(o, 0.25, 1.0, 6)),
    "linear down": (lambda s, o: s.LinearScheduler(o, 1.0, 0.0, 5), lambda s, o: s.LinearLR(o, 1.0, 0.0, 5)),
    "cosine": (lambda s, o: s.CosineAnnealingScheduler(o, 12, 0.01), lambda s, o: s.CosineAnnealingLR(o, 12, 0.01)),
    "one after another": (
        lambda s, o: s.SequentialScheduler(o, rising(s, o), [4]),
        lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.25, 1.0, 4), s.StepLR(o, 2, 0.5)], [4]),
    ),
    "three that leap": (
        lambda s, o: s.SequentialScheduler(o, [s.CosineAnnealingScheduler(o, 6), *rising(s, o)], [5, 12]),
        lambda s, o: s.SequentialLR(o, [s.CosineAnnealingLR(o, 6), s.LinearLR(o, 0.25, 1.0, 4), s.StepLR(o, 2, 0.5)], [5, 12]),
    ),
}  # fmt: skip
RATE = 0.8


def stepped(rate: float = RATE) -> SGD:
    return SGD({"w": Tensor.from_numpy(np.ones((1, 1, 1, 1), np.float32))}, SGDConfig.make(lr=rate))


@pytest.mark.parametrize("package", [schedulers, begun_schedulers], ids=["ttml.common", "ttml"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_of_schedules(opened: Any, name: str, package: Any) -> None:
    """Thirty steps, past each end and over each milestone; in `ttml.schedulers` the rate before the first one, too. A state goes on."""
    torch = torch_or_skip()
    opened()
    ours, theirs = SCHEDULES[name]
    own, other = stepped(), torch.optim.SGD([torch.ones(1, requires_grad=True)], RATE)
    schedule, twin = ours(package, own), theirs(torch.optim.lr_scheduler, other)
    assert own.get_lr() == pytest.approx(twin.get_last_lr()[0] if package is begun_schedulers else RATE)
    halves: dict[int, Any] = {}
    for step in range(30):
        own.step()
        schedule.step()
        other.step()
        twin.step()
        assert schedule.get_last_lr() == own.get_lr() == pytest.approx(twin.get_last_lr()[0]), step
        halves[step] = schedule.get_state_dict(), own.get_lr()
    for step in (0, 3, 4, 11, 20):
        # As a program resumes: the optimizer has the rate that it had, and the schedule is made anew.
        again = stepped(halves[step][1])
        resumed = ours(package, again)
        resumed.set_state_dict(halves[step][0])
        if package is begun_schedulers:
            assert again.get_lr() == halves[step][1]
        for later in range(step + 1, 30):
            resumed.step()
            assert again.get_lr() == halves[later][1], (step, later)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [(0.0, 1.0, "start_factor"), (1.5, 1.0, "start_factor"), (0.5, -1.0, "end_factor")],
)
def test_factors_that_pytorch_refuses(opened: Any, start: float, end: float, message: str) -> None:
    opened()
    with pytest.raises(ValueError, match=message):
        begun_schedulers.LinearScheduler(stepped(), start, end, 4)


@pytest.mark.parametrize("kind", ["cross entropy", "negative log-likelihood", "squares"])
def test_losses_for_twenty_steps(opened: Any, kind: str) -> None:
    """Loss, gradient of the weight, and the weight, of every step."""
    torch = torch_or_skip()
    context = opened()
    ours = LinearLayer(WIDTH, 7, False)
    weight = ours.get_weight()
    twin = torch.tensor(weight.to_numpy()[0, 0], requires_grad=True)
    one, other = SGD(ours.parameters(), SGDConfig.make(lr=0.3)), torch.optim.SGD([twin], 0.3)
    generator, nn = np.random.default_rng(4), torch.nn.functional
    for step in range(STEPS):
        x = generator.standard_normal((2, 1, 6, WIDTH), np.float32)
        labels, goal = (
            generator.integers(0, 7, (2, 6), np.uint32),
            generator.standard_normal((2, 1, 6, 7), np.float32),
        )
        ids = Tensor.from_numpy(labels, Layout.ROW_MAJOR, DataType.UINT32)
        rows, wanted = nn.linear(torch.tensor(x), twin), torch.tensor(labels.astype(np.int64)).flatten()
        out = ours(Tensor.from_numpy(x))
        one.zero_grad()
        other.zero_grad()
        if kind == "squares":
            loss, expected = mse_loss(out, Tensor.from_numpy(goal)), nn.mse_loss(rows, torch.tensor(goal))
        elif kind == "cross entropy":
            loss, expected = cross_entropy_loss(out, ids), nn.cross_entropy(rows.reshape(-1, 7), wanted)
        else:
            loss = nll_loss(log_softmax(out), ids)
            expected = nn.nll_loss(nn.log_softmax(rows.reshape(-1, 7), -1), wanted)
        loss.backward()
        expected.backward()
        context.reset_graph()
        assert float(loss.to_numpy().item()) == pytest.approx(float(expected.detach()), rel=1e-5), step
        np.testing.assert_allclose(weight.get_grad_tensor().to_numpy()[0, 0], twin.grad, rtol=1e-4, atol=1e-6)
        one.step()
        other.step()
    np.testing.assert_allclose(weight.to_numpy()[0, 0], twin.detach(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(16, 16), (8, 24)])
def test_muon_for_twenty_steps(opened: Any, shape: tuple[int, int]) -> None:
    """PyTorch's iterates in bfloat16, and its weights move by directions that are some percent off; for tall ones it changes the rate."""
    torch = torch_or_skip()
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this PyTorch has no Muon")
    context, rate = opened(), 0.02
    ours = LinearLayer(shape[1], shape[0], False)
    weight = ours.get_weight()
    start = weight.to_numpy()[0, 0]
    twin = torch.tensor(start, requires_grad=True)
    one = registry.create_optimizer({"type": "Muon", "lr": rate, "momentum": 0.9}, ours.parameters())
    other = torch.optim.Muon([twin], rate, weight_decay=0.0, momentum=0.9, nesterov=False)
    generator = np.random.default_rng(5)
    for _ in range(STEPS):
        x, y = (generator.standard_normal((4, 1, 8, n), np.float32) for n in shape[::-1])
        one.zero_grad()
        other.zero_grad()
        mse_loss(ours(Tensor.from_numpy(x)), Tensor.from_numpy(y)).backward()
        context.reset_graph()
        torch.nn.functional.mse_loss(
            torch.nn.functional.linear(torch.tensor(x), twin), torch.tensor(y)
        ).backward()
        one.step()
        other.step()
    moved, theirs_moved = weight.to_numpy()[0, 0] - start, twin.detach().numpy() - start
    assert np.linalg.norm(moved - theirs_moved) < 0.03 * np.linalg.norm(theirs_moved)
