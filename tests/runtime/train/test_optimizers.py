"""Optimizers and schedules against PyTorch; state that resumes with the same bits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tests.sweep import thinned
from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops import matmul, unary
from tt_run.runtime.train.ops.loss import mse_loss
from tt_run.runtime.train.optimizers import adamw, muon, schedulers, sgd, update
from tt_run.runtime.train.optimizers.base import FORMER_NAMES
from tt_run.runtime.train.optimizers.clipping import clip_grad_norm
from tt_run.runtime.train.parallel.distributed import (
    concat_mesh_to_tensor_composer,
    shard_tensor_to_mesh_mapper,
    synchronize_gradients,
)

SHAPES = {"w1": (1, 1, 40, 7), "b1": (1, 1, 1, 40), "w2": (1, 1, 3, 40)}


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    context = AutoContext.get_instance()
    context.set_arithmetic("float32")
    context.close_device()
    context.open_device()
    yield
    context.reset_graph()
    context.close_device()
    context.set_arithmetic("bfloat16")


def start() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    weights = {name: generator.standard_normal(shape, np.float32) for name, shape in SHAPES.items()}
    return (
        weights,
        generator.standard_normal((16, 1, 1, 7), np.float32),
        generator.standard_normal((16, 1, 1, 3), np.float32),
    )


def gradients(parameters: dict[str, Tensor], x: np.ndarray, y: np.ndarray) -> float:
    hidden = unary.gelu(matmul.linear(Tensor.from_numpy(x), parameters["w1"], parameters["b1"]))
    loss = mse_loss(matmul.linear(hidden, parameters["w2"]), Tensor.from_numpy(y))
    loss.backward()
    AutoContext.get_instance().reset_graph()
    return float(loss.get_value().item())


def ours(make: Any, steps: int = 20) -> tuple[dict[str, Tensor], list[float], Any]:
    weights, x, y = start()
    parameters = {name: Tensor.from_numpy(array) for name, array in weights.items()}
    optimizer = make(parameters)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses.append(gradients(parameters, x, y))
        optimizer.step()
    return parameters, losses, optimizer


def theirs(make: Any, steps: int = 20) -> tuple[dict[str, np.ndarray], list[float]]:
    torch = torch_or_skip()
    weights, x, y = start()
    parameters = {name: torch.tensor(array, requires_grad=True) for name, array in weights.items()}
    optimizer = make(torch, list(parameters.values()))
    tx, ty = torch.tensor(x), torch.tensor(y)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        hidden = torch.nn.functional.gelu(tx @ parameters["w1"][0, 0].T + parameters["b1"])
        loss = torch.nn.functional.mse_loss(hidden @ parameters["w2"][0, 0].T, ty)
        loss.backward()
        losses.append(float(loss.detach()))
        optimizer.step()
    return {name: p.detach().numpy() for name, p in parameters.items()}, losses


# Every option of PyTorch's with every other it allows: momentum, dampening, weight decay, Nesterov's step.
SGD_OPTIONS = [
    {"momentum": momentum, "dampening": dampening, "weight_decay": decay, "nesterov": nesterov}
    for momentum, dampening, decay, nesterov in itertools.product((0.0, 0.9), (0.0, 0.3), (0.0, 0.1), (False, True))
    if momentum or not (dampening or nesterov)
    if not (dampening and nesterov)
]  # fmt: skip
# With and without a first moment, a short memory of the second, an epsilon that counts, decay, amsgrad; the quick run turns one at a time.
ADAMW_CHOICES = {"beta1": (0.9, 0.0), "beta2": (0.999, 0.5), "epsilon": (1e-8, 1e-2), "weight_decay": (0.1, 0.0), "amsgrad": (False, True)}  # fmt: skip
ADAMW_OPTIONS = [
    pytest.param(
        {name: choices[i] for (name, choices), i in zip(ADAMW_CHOICES.items(), row, strict=True)},
        marks=() if sum(row) in (0, 1, 5) else pytest.mark.slow,
        id="".join(map(str, row)),
    )
    for row in itertools.product((0, 1), repeat=5)
]
ADAMW_KINDS = [adamw.AdamW, adamw.MorehAdamW, adamw.AdamWComposite, adamw.AdamWFullPrecision]


@pytest.mark.torch
@pytest.mark.parametrize("kind", [sgd.SGD, sgd.SGDComposite])
@pytest.mark.parametrize("settings", thinned(SGD_OPTIONS, 3), ids=str)
def test_sgd(kind: Any, settings: dict[str, Any]) -> None:
    parameters, losses, _ = ours(lambda p: kind(p, sgd.SGDConfig.make(lr=0.01, **settings)))
    expected, curve = theirs(lambda torch, p: torch.optim.SGD(p, lr=0.01, **settings))
    np.testing.assert_allclose(losses, curve, rtol=2e-5)
    for name, tensor in parameters.items():
        np.testing.assert_allclose(tensor.to_numpy(), expected[name], rtol=2e-4, atol=2e-5)


@pytest.mark.torch
@pytest.mark.parametrize("settings", thinned(ADAMW_OPTIONS, 3))
def test_adamw(settings: dict[str, Any]) -> None:
    given = {name: value for name, value in settings.items() if name not in ("beta1", "beta2", "epsilon")}
    betas, eps = (settings["beta1"], settings["beta2"]), settings["epsilon"]
    expected, curve = theirs(lambda torch, p: torch.optim.AdamW(p, lr=0.01, betas=betas, eps=eps, **given))
    for kind in ADAMW_KINDS:
        parameters, losses, _ = ours(lambda p, k=kind: k(p, adamw.AdamWConfig.make(lr=0.01, **settings)))  # type: ignore[misc]
        np.testing.assert_allclose(losses, curve, rtol=5e-5, err_msg=kind.__name__)
        for name, tensor in parameters.items():
            np.testing.assert_allclose(
                tensor.to_numpy(), expected[name], rtol=1e-3, atol=1e-4, err_msg=kind.__name__
            )


@pytest.mark.torch
@pytest.mark.parametrize("order", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("bound", [0.5, 1e6])
def test_clipping(order: float, bound: float) -> None:
    torch = torch_or_skip()
    weights, x, y = start()
    parameters = {name: Tensor.from_numpy(array) for name, array in weights.items()}
    gradients(parameters, x, y)
    twins = []
    for tensor in parameters.values():
        twin = torch.zeros(tensor.shape())
        twin.grad = torch.tensor(np.asarray(tensor.get_grad().shards.data[0]).copy())
        twins.append(twin)
    norm = clip_grad_norm(parameters, bound, order)
    expected = torch.nn.utils.clip_grad_norm_(twins, bound, order)
    assert norm.to_numpy().item() == pytest.approx(float(expected), rel=1e-4)
    for tensor, twin in zip(parameters.values(), twins, strict=True):
        np.testing.assert_allclose(
            np.asarray(tensor.get_grad().shards.data[0]), twin.grad.numpy(), rtol=1e-4, atol=1e-7
        )


@pytest.mark.parametrize("order", [2.0, float("inf")])
def test_every_device_clips_by_its_own_norm(opened: Any, order: float) -> None:
    """Without synchronisation data-parallel gradients differ; those cut for tensor parallelism are parts of one."""
    slopes = np.random.default_rng(3).standard_normal((4, 1, 2, 3), np.float32)
    for form in ("ddp", "tp"):
        context = opened((1, 4), "float32", ddp=form == "ddp", tp=form == "tp")
        device = context.get_device()
        cut = shard_tensor_to_mesh_mapper(device, 0)
        parameter = Tensor.from_numpy(slopes, mapper=cut)
        parameter.set_grad(parameter.get_value())
        norm = clip_grad_norm({"p": parameter}, 0.5, order)
        composer = concat_mesh_to_tensor_composer(device, 0)
        every = slopes.reshape(4, -1) if form == "ddp" else np.tile(slopes.reshape(1, -1), (4, 1))
        expected = np.linalg.norm(every, order, axis=1)
        np.testing.assert_allclose(norm.to_numpy(composer=composer).reshape(-1), expected, rtol=1e-6)
        clipped = parameter.get_grad_tensor().to_numpy(composer=composer)
        np.testing.assert_allclose(clipped, slopes * (0.5 / expected).reshape(4, 1, 1, 1), rtol=1e-5)


def test_copies_part_company_without_synchronisation(opened: Any) -> None:
    context = opened((1, 4), "float32", ddp=True)
    device = context.get_device()
    cut, composer = shard_tensor_to_mesh_mapper(device, 0), concat_mesh_to_tensor_composer(device, 0)
    for together in (True, False):
        weight = Tensor.from_numpy(np.ones((1, 1, 1, 2), np.float32))
        x = Tensor.from_numpy(np.arange(8, dtype=np.float32).reshape(4, 1, 1, 2), mapper=cut)
        unary.mean(x * weight).backward()
        if together:
            synchronize_gradients({"w": weight})
        sgd.SGD({"w": weight}, sgd.SGDConfig.make(lr=1.0)).step()
        copies = weight.to_numpy(composer=composer).reshape(4, 2)
        if together:
            assert copies.tolist() == [weight.to_numpy().reshape(-1).tolist()] * 4 == [[-0.5, -1.0]] * 4
        else:
            assert copies.tolist() == [[1.0 - d, 0.5 - d] for d in range(4)]
            with pytest.raises(
                RuntimeError, match=r"copies of the tensor that differ.*synchronize_gradients"
            ):
                weight.to_numpy()


def test_full_precision_keeps_what_bfloat16_loses() -> None:
    AutoContext.get_instance().set_arithmetic("bfloat16")
    config = adamw.AdamWConfig.make(lr=1e-4, weight_decay=0.0)
    moved = {}
    for kind in (adamw.AdamW, adamw.AdamWFullPrecision):
        parameter = Tensor.from_numpy(np.full((1, 1, 1, 8), 4.0, np.float32), new_type=DataType.BFLOAT16)
        optimizer = kind({"p": parameter}, config)
        for _ in range(300):
            parameter.set_grad(Tensor.from_numpy(np.ones((1, 1, 1, 8), np.float32)).get_value())
            optimizer.step()
        moved[kind] = 4.0 - float(parameter.to_numpy().max())
    assert moved[adamw.AdamW] == 0.0  # each step is less than half a bfloat16 unit at 4
    assert moved[adamw.AdamWFullPrecision] == pytest.approx(0.03, rel=0.3)


def chance(
    steps: int, seed: int, start: np.ndarray | None = None, state: Any = None
) -> tuple[np.ndarray, Any]:
    """A bfloat16 parameter after steps that are each far below half a unit of it."""
    context = AutoContext.get_instance()
    context.set_arithmetic("bfloat16")
    context.set_seed(seed)
    array = np.full((1, 1, 64, 64), 4.0, np.float32) if start is None else start
    parameter = Tensor.from_numpy(array, new_type=DataType.BFLOAT16)
    config = adamw.AdamWConfig.make(1e-4, beta1=0.0, beta2=0.0, weight_decay=0.0, stochastic_rounding=True)
    optimizer = adamw.AdamW({"p": parameter}, config)
    if state is not None:
        optimizer.set_state_dict(state)
    for _ in range(steps):
        parameter.set_grad(Tensor.from_numpy(np.ones(array.shape, np.float32)).get_value())
        optimizer.step()
    return parameter.to_numpy(), optimizer.get_state_dict()


def test_stochastic_rounding_keeps_what_rounding_loses() -> None:
    """On the average exactly; and the same bits for the same seed, in one run and in two halves of it."""
    whole, _ = chance(100, seed=3)
    assert 4.0 - whole.mean() == pytest.approx(0.01, rel=0.1)
    assert set(np.unique(whole)) <= {4.0 - step * 2.0**-6 for step in range(8)}
    half, state = chance(40, seed=3)
    resumed, _ = chance(60, seed=3, start=half, state=state)
    assert resumed.tobytes() == whole.tobytes() != chance(100, seed=4)[0].tobytes()


def test_numbers_that_are_none_are_not_rounded_away() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -2.0], np.float32)
    block = odd.copy()
    update._round_by_chance(block, np.full(6, 0xFFFF, np.uint32))
    np.testing.assert_array_equal(block, odd)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(adamw.AdamWFullPrecision, {}), (adamw.AdamW, {"use_kahan_summation": True})],
)
def test_stochastic_rounding_where_nothing_is_lost(kind: Any, settings: dict[str, bool]) -> None:
    with pytest.raises(RuntimeError, match=r"help: .*stochastic_rounding"):
        kind(LinearLayer(2, 2).parameters(), adamw.AdamWConfig.make(stochastic_rounding=True, **settings))


KEPT: dict[str, tuple[Any, dict[str, Any]]] = {
    "AdamW": (lambda p: adamw.AdamW(p, adamw.AdamWConfig.make()), {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6, "weight_decay": 0.1, "stochastic_rounding": True}),
    "AdamWFullPrecision": (lambda p: adamw.AdamWFullPrecision(p, adamw.AdamWConfig.make()), {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6, "weight_decay": 0.1}),
    "SGD": (lambda p: sgd.SGD(p, sgd.SGDConfig.make()), {"momentum_factor": 0.9, "dampening": 0.1, "weight_decay": 1e-4, "nesterov": False}),
    "Muon": (lambda p: muon.Muon(p, muon.MuonConfig.make()), {"momentum": 0.85, "ns_steps": 3}),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_states_hold_the_settings(name: str) -> None:
    """As the reference's: what was trained with is gone on with, whatever the new optimizer was made with."""
    make, other = KEPT[name]
    optimizer = make({"w": Tensor.from_numpy(np.ones((1, 1, 2, 2), np.float32))})
    assert optimizer.get_initial_lr() == 1e-3
    state = {**optimizer.get_state_dict(), **other, "lr": 0.5, "initial_lr": 0.25}
    optimizer.set_state_dict(state)
    found = optimizer.get_state_dict()
    assert {key: found[key] for key in (*other, "lr", "initial_lr")} == {
        **other,
        "lr": 0.5,
        "initial_lr": 0.25,
    }
    optimizer.set_state_dict({key: held for key, held in found.items() if key not in other})
    assert {key: optimizer.get_state_dict()[key] for key in other} == other, (
        "what a file of before does not hold stays"
    )


def test_a_state_of_other_moments_is_refused() -> None:
    parameters = {"w": Tensor.from_numpy(np.ones((1, 1, 2, 2), np.float32))}
    with_largest = adamw.AdamW(parameters, adamw.AdamWConfig.make(amsgrad=True)).get_state_dict()
    with pytest.raises(ValueError, match=r"saved state is of amsgrad=True.*help: make it with amsgrad=True"):
        adamw.AdamW(parameters, adamw.AdamWConfig.make()).set_state_dict(with_largest)


def test_state_resumes_with_the_same_bits() -> None:
    config = adamw.AdamWConfig.make(lr=0.01)
    unbroken, _, _ = ours(lambda p: adamw.AdamW(p, config), steps=12)
    half, _, optimizer = ours(lambda p: adamw.AdamW(p, config), steps=5)
    saved, weights = optimizer.get_state_dict(), {name: tensor.to_numpy() for name, tensor in half.items()}
    parameters = {name: Tensor.from_numpy(array) for name, array in weights.items()}
    resumed = adamw.AdamW(parameters, config)
    resumed.set_state_dict(saved)
    _, x, y = start()
    for _ in range(7):
        resumed.zero_grad()
        gradients(parameters, x, y)
        resumed.step()
    for name, tensor in parameters.items():
        assert tensor.to_numpy().tobytes() == unbroken[name].to_numpy().tobytes()


ADAMW = adamw.AdamWConfig.make(lr=0.01)


@pytest.mark.parametrize(
    ("kind", "config", "names"),
    [
        (
            adamw.AdamW,
            ADAMW,
            "amsgrad beta1 beta2 epsilon exp_avg exp_avg_sq lr steps stochastic_rounding weight_decay",
        ),
        (
            adamw.AdamWFullPrecision,
            ADAMW,
            "amsgrad beta1 beta2 epsilon exp_avg exp_avg_sq lr master_weights steps weight_decay",
        ),
        (adamw.MorehAdamW, ADAMW, "first_moment lr second_moment steps"),
        (
            adamw.AdamWComposite,
            ADAMW,
            "first_moment kahan_compensation lr max_exp_avg_sq second_moment steps",
        ),
        (
            sgd.SGD,
            sgd.SGDConfig.make(0.1, 0.9),
            "dampening lr momentum momentum_factor nesterov steps weight_decay",
        ),
        (sgd.SGDComposite, sgd.SGDConfig.make(0.1, 0.9), "lr steps theta"),
        (muon.MuonComposite, muon.MuonConfig.make(0.1), "lr momentum momentum_buffer ns_steps steps"),
    ],
)
def test_state_has_the_names_of_the_reference(kind: Any, config: Any, names: str) -> None:
    """Restored from them, from what files called them before, and by setting values on the tensors of state themselves."""
    parameters, _, optimizer = ours(lambda p: kind(p, config), steps=2)
    state = optimizer.get_state_dict()
    assert " ".join(sorted(state)) == names
    groups = {name: group for name, group in state.items() if isinstance(group, dict) and group}

    def fresh() -> Any:
        return kind({n: Tensor.from_numpy(t.to_numpy()) for n, t in parameters.items()}, config)

    def same(other: Any) -> bool:
        told = other.get_state_dict()
        return all(
            np.array_equal(told[name][p].to_numpy(), tensor.to_numpy())
            for name, group in groups.items()
            for p, tensor in group.items()
        )

    others = [fresh() for _ in range(3)]
    rate = others[0].get_lr()
    others[0].set_state_dict({name: entry for name, entry in state.items() if name != "lr"})
    others[1].set_state_dict({FORMER_NAMES.get(name, name): entry for name, entry in state.items()})
    for name, group in others[2].get_state_dict().items():
        for p, tensor in (group if name in groups else {}).items():
            tensor.set_value(groups[name][p].get_value())
    assert [same(other) for other in others] == [True, True, True] and others[0].get_lr() == rate
    assert others[0].get_steps() == optimizer.get_steps() == 2


@pytest.mark.parametrize(("kind", "kept"), [(adamw.AdamW, True), (adamw.MorehAdamW, False)])
def test_what_gets_no_gradient_after_zero_grad(kind: Any, kept: bool) -> None:
    """A zero gradient where zero_grad leaves zeros, which moments still move by; none where it takes gradients away."""
    parameters, _, optimizer = ours(lambda p: kind(p, ADAMW), steps=2)
    parameters["w1"].set_requires_grad(False)  # frozen meanwhile: what it had is not stepped by again
    optimizer.zero_grad()
    before = {name: tensor.to_numpy() for name, tensor in parameters.items()}
    optimizer.step()
    for name, tensor in parameters.items():
        assert tensor.is_grad_initialized() is kept
        assert np.array_equal(tensor.to_numpy(), before[name]) is not kept


def test_missing_state_is_named() -> None:
    weights, _, _ = start()
    optimizer = adamw.AdamW(
        {name: Tensor.from_numpy(array) for name, array in weights.items()}, adamw.AdamWConfig.make()
    )
    with pytest.raises(KeyError, match="exp_avg/w1"):
        optimizer.set_state_dict({"lr": 1.0, "steps": 0})


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"nesterov": True, "momentum": 0.9, "dampening": 0.5}, "requires zero dampening! dampening=0.5"),
        ({"nesterov": True}, "requires a positive momentum! momentum=0.0"),
        ({"dampening": 0.5}, "Dampening requires a positive momentum! momentum=0.0"),
    ],
)
def test_senseless_sgd_settings(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        sgd.SGDConfig.make(**settings)


class Counting:
    """A callable with a state of its own."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, step: int) -> float:
        self.calls += 1
        return 1 / (1 + step)


def a_row(optimizer: Any, steps: tuple[int, int], wrong: bool) -> schedulers.SchedulerBase:
    linear = schedulers.LinearScheduler(optimizer, 0.5 if wrong else 0.25, 1.0, 4)
    cosine = schedulers.CosineAnnealingScheduler(optimizer, 99 if wrong else 8, 0.01)
    return schedulers.SequentialScheduler(optimizer, [linear, cosine], steps)


@pytest.mark.parametrize(
    "make",
    [
        lambda o, wrong: schedulers.StepScheduler(o, 7 if wrong else 3, 0.5),
        lambda o, wrong: schedulers.LinearScheduler(o, 0.5 if wrong else 0.25, 1.0, 6),
        lambda o, wrong: schedulers.CosineAnnealingScheduler(o, 99 if wrong else 12, 0.01),
        lambda o, wrong: schedulers.LambdaScheduler(o, Counting()),
        lambda o, wrong: a_row(o, (4, 8), wrong),
    ],
)
@pytest.mark.parametrize("after", [0, 3, 6, 12])
def test_schedules_resume(make: Any, after: int) -> None:
    """With their settings, in the place of others that the next run was started with, on an optimizer whose rate has gone down already."""

    def fresh(lr: float = 1.0) -> sgd.SGD:
        return sgd.SGD({"w": Tensor.from_numpy(np.ones((1, 1, 1, 1), np.float32))}, sgd.SGDConfig.make(lr=lr))

    whole = make(fresh(), False)
    for _ in range(after):
        whole.step()
    resumed = make(fresh(0.1), True)
    resumed.set_state_dict(whole.get_state_dict())
    for _ in range(8):
        whole.step()
        resumed.step()
        assert resumed.get_last_lr() == whole.get_last_lr()
    if isinstance(whole, schedulers.LambdaScheduler):
        assert whole.get_state_dict()["m_lr_lambda"] == {"calls": after + 8}
        assert schedulers.LambdaScheduler(fresh(), lambda step: 1.0).get_state_dict()["m_lr_lambda"] is None


@pytest.mark.parametrize("make", [lambda o: schedulers.StepScheduler(o, 3, 0.5), lambda o: a_row(o, (4, 8), False)])  # fmt: skip
def test_states_of_schedules_in_older_files(make: Any) -> None:
    weight = {"w": Tensor.from_numpy(np.ones((1, 1, 1, 1), np.float32))}
    whole = make(sgd.SGD(weight, sgd.SGDConfig.make(lr=1.0)))
    for _ in range(6):
        whole.step()
    old = {"last_step": 6, "last_lr": whole.get_last_lr(), "base_lr": 1.0}
    resumed = make(sgd.SGD(weight, sgd.SGDConfig.make(lr=1.0)))
    resumed.set_state_dict(old)
    for _ in range(3):
        whole.step()
        resumed.step()
        assert resumed.get_last_lr() == whole.get_last_lr()


def test_schedules() -> None:
    weights, _, _ = start()

    def fresh() -> sgd.SGD:
        return sgd.SGD({"w": Tensor.from_numpy(weights["b1"])}, sgd.SGDConfig.make(lr=1.0))

    def rates(scheduler: schedulers.SchedulerBase, count: int) -> list[float]:
        found = []
        for _ in range(count):
            scheduler.step()
            assert scheduler.get_current_lr() == scheduler.get_last_lr()
            found.append(round(scheduler.get_last_lr(), 6))
        return found

    assert rates(schedulers.StepScheduler(fresh(), 2, 0.5), 4) == [1.0, 0.5, 0.5, 0.25]
    assert rates(schedulers.LinearScheduler(fresh(), 0.0, 1.0, 4), 5) == [0.25, 0.5, 0.75, 1.0, 1.0]
    cosine = schedulers.CosineAnnealingScheduler(fresh(), 4, 0.1)
    assert rates(cosine, 8) == [0.868198, 0.55, 0.231802, 0.1, 0.231802, 0.55, 0.868198, 1.0]  # up again
    assert rates(schedulers.LambdaScheduler(fresh(), lambda step: 1 / step), 2) == [1.0, 0.5]
    optimizer = fresh()
    warm, cool = (
        schedulers.LinearScheduler(optimizer, 0.0, 1.0, 2),
        schedulers.StepScheduler(optimizer, 1, 0.1),
    )
    assert rates(schedulers.SequentialScheduler(optimizer, [warm, cool], [2]), 4) == [0.5, 1.0, 0.1, 0.01]
    optimizer = fresh()
    parts = [schedulers.LinearScheduler(optimizer, 0.0, 1.0, 2), schedulers.StepScheduler(optimizer, 1, 0.1)]
    lasting = schedulers.SequentialScheduler(optimizer, parts, [2, 3])
    assert rates(lasting, 6) == [0.5, 1.0, 0.1, 0.01, 0.001, 0.001]
    state = lasting.get_state_dict()
    assert (state["m_current_scheduler_index"], state["scheduler_0/m_last_step"], state["scheduler_1/m_gamma"]) == (2, 2, 0.1)  # fmt: skip
    for wrong in ([], [2, 0], [1, 2, 3]):
        with pytest.raises(ValueError, match="2 schedulers need"):
            schedulers.SequentialScheduler(optimizer, parts, wrong)
    rate = schedulers.warmup_linear(1.0, 100)
    assert [round(rate(step), 4) for step in (0, 9, 10, 99)] == [0.1, 1.0, 0.989, 0.01]
