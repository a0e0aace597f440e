"""What the arguments of the moreh family change, one after the other, against PyTorch in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.golden import compare
from tests.runtime.ops.images.test_convolutions import sample, wide
from tests.runtime.ops.moreh.test_moreh import agree, leaves
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, held, put
from tt_run.runtime.enums import Layout
from tt_run.runtime.mesh import MeshDevice

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
F = torch.nn.functional


def room(one: MeshDevice, *shape: int) -> Any:
    return put(one, np.full(shape, 7, np.float32))


@pytest.mark.parametrize("words", [{"dilation": (2, 1)}, {"padding": (1, 2)}, {"dilation": (2, 3), "padding": (2, 1), "stride": (2, 1)}])  # fmt: skip
def test_folding(one: MeshDevice, words: dict[str, Any]) -> None:
    size, kernel = (9, 8), (2, 3)
    blocks = F.unfold(torch.zeros(1, 4, *size), kernel, **words).shape
    x = sample(blocks, 1)
    wanted = F.fold(wide(x), size, kernel, **words)
    agree(call("moreh_fold", put(one, x, F32, ROW), None, size, kernel, **words), wanted)
    written = put(one, np.zeros(wanted.shape), F32, ROW)
    assert (
        call("moreh_fold", put(one, x, F32, ROW), written, size, kernel, **words).storage is written.storage
    )
    agree(written, wanted)


@pytest.mark.parametrize(
    "words", [{"beta1": 0.6}, {"beta2": 0.8}, {"eps": 0.5}, {"weight_decay": 0.0}, {"lr": 0.3}]
)
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_numbers_of_adam(one: MeshDevice, name: str, words: dict[str, float]) -> None:
    said = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.2, "lr": 0.01} | words
    kind = torch.optim.Adam if name == "adam" else torch.optim.AdamW
    p, gradients = sample((32, 64), 1), [sample((32, 64), s) for s in (2, 3)]
    parameter = wide(p).requires_grad_()
    betas = (said["beta1"], said["beta2"])
    optimizer = kind(
        [parameter], said["lr"], betas, said["eps"], weight_decay=said["weight_decay"], amsgrad=True
    )
    state = [put(one, p), *(put(one, np.zeros_like(p)) for _ in range(3))]
    rooms = [room(one, 32, 64) for _ in range(4)]
    for step, g in enumerate(gradients, 1):
        parameter.grad = wide(g)
        optimizer.step()
        names = ("param_out", "exp_avg_out", "exp_avg_sq_out", "max_exp_avg_sq_out")
        found = call(
            f"moreh_{name}", state[0], put(one, g), *state[1:3], **said, step=step, amsgrad=True,
            max_exp_avg_sq_in=state[3], **(dict(zip(names, rooms, strict=True)) if step == 2 else {}),
        )  # fmt: skip
        state = list(found)
    kept = optimizer.state[parameter]
    assert all(made.storage is asked.storage for made, asked in zip(state, rooms, strict=True))
    agree(rooms[0], parameter, 512)
    agree(rooms[1:3], [kept["exp_avg"], kept["exp_avg_sq"]], 512)


@pytest.mark.parametrize("dampening", [0.3, 1.0])
def test_dampening(one: MeshDevice, dampening: float) -> None:
    p, gradients = sample((32, 64), 1), [sample((32, 64), s) for s in (2, 3, 4)]
    parameter = wide(p).requires_grad_()
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.8, dampening=dampening)
    now, kept = put(one, p), None
    rooms = {"param_out": room(one, 32, 64), "momentum_buffer_out": room(one, 32, 64)}
    for number, g in enumerate(gradients):
        parameter.grad = wide(g)
        optimizer.step()
        now, kept = call(
            "moreh_sgd", now, put(one, g), kept, lr=0.1, momentum=0.8, dampening=dampening,
            momentum_initialized=number > 0, **(rooms if number == 2 else {}),
        )  # fmt: skip
    assert now.storage is rooms["param_out"].storage
    agree(rooms["param_out"], parameter)
    agree(rooms["momentum_buffer_out"], optimizer.state[parameter]["momentum_buffer"])


@pytest.mark.parametrize("kind", [1.0, 2.5, 3.0, float("inf"), float("-inf"), 0.0])
def test_clipping_by_other_norms(one: MeshDevice, kind: float) -> None:
    parts = [sample((1, 1, 32, 32), 1), sample((2, 1, 32, 64), 2)]
    given = [put(one, part) for part in parts]
    tensors = [wide(part).requires_grad_() for part in parts]
    for tensor in tensors:
        tensor.grad = tensor.detach().clone()
    total = torch.nn.utils.clip_grad_norm_(tensors, 1.5, kind)
    into = room(one, 1, 1)
    found = call("moreh_clip_grad_norm", given, 1.5, kind, total_norm=into)
    assert found.storage is into.storage
    agree(into, total.reshape(1, 1))
    agree(given, [tensor.grad for tensor in tensors])


def test_clipping_what_is_not_finite(one: MeshDevice) -> None:
    endless = put(one, np.full((1, 1, 32, 32), np.inf, np.float32))
    assert np.isinf(held(call("moreh_clip_grad_norm", [endless], 1.0, error_if_nonfinite=False)))
    assert np.isnan(held(endless)).all()


@pytest.mark.parametrize("eps", [0.25, 1e-3])
def test_norms_with_what_is_added_to_the_variance(one: MeshDevice, eps: float) -> None:
    x = sample((2, 4, 32, 64), 1)
    rooms = {"mean": room(one, 2, 4), "rstd": room(one, 2, 4), "output": room(one, 2, 4, 32, 64)}
    found = call("moreh_layer_norm", put(one, x), 2, eps, **rooms)
    assert [
        f.storage is r.storage
        for f, r in zip(found, (rooms["output"], rooms["mean"], rooms["rstd"]), strict=True)
    ]
    rstd = (wide(x).var((2, 3), unbiased=False) + eps).rsqrt()
    agree(found, [F.layer_norm(wide(x), (32, 64), eps=eps), wide(x).mean((2, 3)), rstd], 128)
    groups = wide(x).reshape(2, 2, -1)
    rooms = {"mean": room(one, 1, 1, 2, 2), "rstd": room(one, 1, 1, 2, 2), "output": room(one, 2, 4, 32, 64)}
    found = call("moreh_group_norm", put(one, x), 2, eps, are_required_outputs=[True] * 3, **rooms)
    assert all(
        f.storage is r.storage
        for f, r in zip(found, (rooms["output"], rooms["mean"], rooms["rstd"]), strict=True)
    )
    rstd = (groups.var(-1, unbiased=False) + eps).rsqrt()
    agree(found, [F.group_norm(wide(x), 2, eps=eps), groups.mean(-1)[None, None], rstd[None, None]], 128)


def test_gradients_of_groups_where_they_are_asked_for(one: MeshDevice) -> None:
    x, g, scale = sample((2, 6, 32, 32), 1), sample((2, 6, 32, 32), 2), sample((1, 1, 1, 6), 3)
    leaf, factor, shift = leaves(x, scale, np.zeros_like(scale))
    F.group_norm(leaf, 3, factor.reshape(-1), shift.reshape(-1)).backward(wide(g))
    _, mean, rstd = call("moreh_group_norm", put(one, x), 3, are_required_outputs=[True] * 3)
    rooms = {
        "input_grad": room(one, 2, 6, 32, 32),
        "gamma_grad": room(one, 1, 1, 1, 6),
        "beta_grad": room(one, 1, 1, 1, 6),
    }
    given = (put(one, g), put(one, x), mean, rstd, 3)
    found = call(
        "moreh_group_norm_backward", *given, gamma=put(one, scale), are_required_outputs=[True] * 3, **rooms
    )
    assert all(f.storage is r.storage for f, r in zip(found, rooms.values(), strict=True))
    wanted = [leaf.grad, factor.grad, shift.grad]
    agree(found, wanted, 512)
    for asked in ((True, False, True), (False, True, False), (False, False, True)):
        found = call(
            "moreh_group_norm_backward", *given, gamma=put(one, scale), are_required_outputs=list(asked)
        )
        agree(found, [w if yes else None for w, yes in zip(wanted, asked, strict=True)], 512)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_turned_factors_with_a_bias(one: MeshDevice, first: bool, second: bool) -> None:
    a, b = sample((2, 32, 64), 1), sample((2, 64, 96), 2)
    la, lb = wide(a), wide(b)
    x, y = (np.swapaxes(a, -1, -2) if first else a), (np.swapaxes(b, -1, -2) if second else b)
    words = {"transpose_input": first, "transpose_other": second}
    for bias in (sample((1, 96), 3), sample((1, 1), 4)):
        into = room(one, 2, 32, 96)
        found = call("moreh_matmul", put(one, x), put(one, y), bias=put(one, bias), output=into, **words)
        assert found.storage is into.storage
        agree(into, la @ lb + wide(bias))


@pytest.mark.parametrize(
    "asked", [(True, False, False), (False, True, False), (False, False, True), (True, False, True)]
)
def test_gradients_of_linear_layers(one: MeshDevice, asked: tuple[bool, ...]) -> None:
    x, w, bias, g = sample((3, 32, 64), 1), sample((48, 64), 2), sample((1, 48), 3), sample((3, 32, 48), 4)
    parts = leaves(x, w, bias)
    F.linear(*parts).backward(wide(g))
    rooms = {
        f"{word}_grad": room(one, *part.shape)
        for word, part, yes in zip(("input", "weight", "bias"), parts, asked, strict=True)
        if yes
    }
    found = call(
        "moreh_linear_backward", put(one, g), put(one, x), put(one, w), bias=put(one, bias),
        are_required_outputs=list(asked), **rooms,
    )  # fmt: skip
    agree(found, [part.grad if yes else None for part, yes in zip(parts, asked, strict=True)], 256)


def test_gradients_of_products_of_batches(one: MeshDevice) -> None:
    a, b, g = sample((3, 32, 64), 1), sample((3, 64, 96), 2), sample((3, 32, 96), 3)
    la, lb = leaves(a, b)
    (la @ lb).backward(wide(g))
    given = (put(one, g), put(one, a), put(one, b))
    rooms = {"input_grad": room(one, 3, 32, 64), "mat2_grad": room(one, 3, 64, 96)}
    agree(call("moreh_bmm_backward", *given, **rooms), [la.grad, lb.grad])
    agree(list(rooms.values()), [la.grad, lb.grad])
    only = {"input_grad": room(one, 3, 32, 64)}
    agree(call("moreh_bmm_backward", *given, are_required_outputs=[True, False], **only), [la.grad, None])


@pytest.mark.parametrize("ignored", [-100, 3])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_gradients_of_weighted_losses(one: MeshDevice, reduction: str, ignored: int) -> None:
    x, target = sample((8, 10), 1), np.array([1, 9, 0, 3, 3, 5, 5, 2], np.int32)
    weight = np.abs(sample((10,), 5)) + 0.5
    (leaf,) = leaves(x)
    words = {"weight": wide(weight), "ignore_index": ignored, "reduction": reduction}
    loss = F.nll_loss(leaf, torch.from_numpy(target).long(), **words)
    g = sample((8,) if reduction == "none" else (1,), 2)
    loss.backward(wide(g).reshape(loss.shape))
    given: dict[str, Any] = {"weight_tensor": put(one, weight), "ignore_index": ignored}
    divisor = put(one, np.zeros(1))
    made = call(
        "moreh_nll_loss", put(one, x), put(one, target, I32), reduction, divisor_tensor=divisor, **given
    )
    agree(made, loss.reshape(1, -1))
    into = room(one, 8, 10)
    if reduction == "none":
        call(
            "moreh_nll_loss_unreduced_backward",
            put(one, target, I32),
            put(one, g),
            input_grad_tensor=into,
            **given,
        )
    else:
        call(
            "moreh_nll_loss_backward", put(one, target, I32), put(one, g), reduction == "mean",
            input_grad_tensor=into, divisor_tensor=divisor, **given,
        )  # fmt: skip
    agree(into, leaf.grad)


@pytest.mark.parametrize("layout", [TILE, ROW])
def test_filled_in_either_layout(one: MeshDevice, layout: Layout) -> None:
    made = call("moreh_full", [2, 3, 5], -2.5, one, dtype=BF16, layout=layout)
    like = call("moreh_full_like", put(one, sample((4, 5), 1)), -2.5, dtype=BF16, layout=layout)
    for found, shape in ((made, (2, 3, 5)), (like, (4, 5))):
        assert (found.layout, found.dtype, held(found).tolist()) == (
            layout,
            BF16,
            np.full(shape, -2.5).tolist(),
        )


def test_results_in_what_is_given_for_them(one: MeshDevice) -> None:
    x, g = sample((2, 3, 32, 64), 1), sample((2, 1, 32, 64), 2)
    u = sample((1, 1, 1, 64), 3)
    pick = put(one, np.array([2, 0], np.int32), I32, ROW)
    cases = [
        ("cumsum", (put(one, x), 1), "output", wide(x).cumsum(1)),
        ("cumsum_backward", (put(one, x), 2), "input_grad", wide(x).flip(2).cumsum(2).flip(2)),
        ("dot", (put(one, u), put(one, u)), "output", (wide(u) ** 2).sum().reshape(1, 1, 1, 1)),
        ("getitem", (put(one, x), [pick], [1]), "output", wide(x)[:, [2, 0]]),
        ("logsoftmax", (put(one, x), 2), "output_tensor", wide(x).log_softmax(2)),
        ("softmin", (put(one, x), 1), "output_tensor", (-wide(x)).softmax(1)),
    ]
    for name, given, word, wanted in cases:
        into = room(one, *wanted.shape)
        assert call(f"moreh_{name}", *given, **{word: into}).storage is into.storage, name
        agree(into, wanted)
    words = {"dim": 1, "keepdim": True}
    for name, more, wanted in (
        ("mean_backward", {}, wide(g).expand(2, 3, 32, 64) / 3),
        ("sum_backward", {"input": put(one, x)}, wide(g).expand(2, 3, 32, 64)),
    ):
        into = room(one, 2, 3, 32, 64)
        call(f"moreh_{name}", put(one, g), input_grad=into, **words, **more)
        agree(into, wanted)
    into = room(one, 2, 1, 32, 64)
    call("moreh_mean", put(one, x), output=into, divisor=5, **words)
    agree(into, wide(x).sum(1, keepdim=True) / 5)


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5, float("inf"), float("-inf")])
def test_norms_of_any_kind_and_their_gradients(one: MeshDevice, p: float) -> None:
    x, g = sample((2, 3, 32, 64), 1), sample((2, 3, 1, 64), 2)
    (leaf,) = leaves(x)
    result = torch.linalg.vector_norm(leaf, p, 2, keepdim=True)
    result.backward(wide(g))
    made = call("moreh_norm", put(one, x), p, dim=2, keepdim=True)
    agree(made, result)
    into = room(one, 2, 3, 32, 64)
    back = call(
        "moreh_norm_backward", put(one, x), made, put(one, g), p, dim=2, keepdim=True, input_grad=into
    )
    assert back.storage is into.storage
    compare(into, leaf.grad.numpy(), 256)
