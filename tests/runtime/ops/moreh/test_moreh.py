"""The moreh family against PyTorch in float64."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.golden import compare
from tests.runtime.ops.images.test_convolutions import sample, wide
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U32, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG as L1

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
F = torch.nn.functional


def leaves(*arrays: np.ndarray) -> list[Any]:
    return [wide(a).requires_grad_() for a in arrays]


def agree(found: Any, golden: Any, steps: float = 64) -> None:
    """Results equal golden ones; None where none is expected."""
    several = isinstance(found, (list, tuple))
    for one, other in zip(found if several else [found], golden if several else [golden], strict=True):
        if other is None:
            assert one is None
        else:
            compare(one, other.detach().numpy(), steps)


SHAPES = {
    None: (1, 1),
    0: (1, 3, 32, 64)[1:],
    1: (2, 32, 64),
    (0, 1): (32, 64),
    3: (2, 3, 32, 1),
    (): (1, 1),
    (2, 3): (2, 3, 1, 1),
}


@pytest.mark.parametrize("dim", list(SHAPES), ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_keep_the_dimensions_of_tiles(one: MeshDevice, dim: Any, keepdim: bool) -> None:
    x = sample((2, 3, 32, 64), 1)
    dims = tuple(range(4)) if dim in (None, ()) else dim
    for name, golden in (
        ("sum", wide(x).sum(dims, keepdim=True)),
        ("mean", wide(x).mean(dims, keepdim=True)),
        ("norm", torch.linalg.vector_norm(wide(x), 2.5, dims, keepdim=True)),
    ):
        words = {"dim": list(dim) if isinstance(dim, tuple) else dim, "keepdim": keepdim}
        found = call(f"moreh_{name}", put(one, x), *([2.5] if name == "norm" else []), **words)
        agree(found, golden if keepdim else golden.reshape(SHAPES[dim]))


@pytest.mark.parametrize(
    ("name", "rest", "words"),
    [
        ("sum", {"dim": -1}, "dim must be between 0 and 8"),
        ("norm", {"p": 2.0, "dim": [0, 9]}, "dim must be between 0 and 8"),
        ("sum", {"dim": 4}, "dim must be smaller than input tensor rank 4"),
        ("mean", {"dim": [-1]}, "Invalid dimension value: -1. Expected a value between 0 and 7"),
        ("mean", {"dim": 5}, "dim must be smaller than input tensor rank 4"),
        ("mean_backward", {"dim": -1, "input_grad_shape": [1, 1, 32, 32]}, "dim -1 < rank 4"),
        ("sum_backward", {"dim": 3}, "either input or input_grad must have a value"),
        ("cumsum", {"dim": 4}, "The requested accumulation axis is 4, while the input tensor has rank 4"),
        ("softmax", {"dim": 4}, "dim 4 should be less than output tensor rank 4"),
    ],
)
def test_dimensions_are_counted_from_the_front(one: MeshDevice, name: str, rest: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call(f"moreh_{name}", put(one, np.ones((1, 1, 32, 32))), **rest)


def test_softmax_takes_a_natural_dimension(one: MeshDevice) -> None:
    x = put(one, np.ones((1, 1, 32, 32)))
    with pytest.raises(
        TypeError, match=r"(?s)incompatible function arguments.*dim must be a whole number from 0, got -1"
    ):
        call("moreh_softmax", x, -1)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call("moreh_softmin_backward", x, x, -1)


def test_divisor_and_running_sums(one: MeshDevice) -> None:
    x = sample((2, 3, 32, 64), 1)
    agree(call("moreh_mean", put(one, x), dim=1, keepdim=True, divisor=7), wide(x).sum(1, keepdim=True) / 7)
    agree(call("moreh_cumsum", put(one, x), 1), wide(x).cumsum(1))
    agree(call("moreh_cumsum_backward", put(one, x), 0), wide(x).flip(0).cumsum(0).flip(0))
    agree(call("moreh_abs_pow", put(one, x), 2.5), wide(x).abs() ** 2.5)


@pytest.mark.parametrize("name", ["sum", "mean", "norm"])
def test_gradients_of_reductions(one: MeshDevice, name: str) -> None:
    x, g = sample((2, 3, 32, 64), 1), sample((2, 1, 32, 64), 2)
    (leaf,) = leaves(x)
    forward = {
        "sum": torch.sum,
        "mean": torch.mean,
        "norm": lambda v, d, keepdim: v.norm(3.0, d, keepdim=keepdim),
    }
    result = forward[name](leaf, 1, keepdim=True)
    result.backward(wide(g))
    words: dict[str, Any] = {"dim": 1, "keepdim": True}
    if name == "norm":
        given = [put(one, x), put(one, result.detach().numpy().astype(np.float32)), put(one, g), 3.0]
    else:
        given = [put(one, g)]
        words |= {"input": put(one, x)} if name == "sum" else {"input_grad_shape": [2, 3, 32, 64]}
    agree(call(f"moreh_{name}_backward", *given, **words), leaf.grad)


@pytest.mark.parametrize("name", ["softmax", "logsoftmax", "softmin"])
@pytest.mark.parametrize("dim", [1, 3])
def test_softmax_and_its_gradient(one: MeshDevice, name: str, dim: int) -> None:
    x, g = sample((2, 3, 32, 64), 1), sample((2, 3, 32, 64), 2)
    (leaf,) = leaves(x)
    result = {"softmax": leaf.softmax, "logsoftmax": leaf.log_softmax, "softmin": (-leaf).softmax}[name](dim)
    result.backward(wide(g))
    found = call(f"moreh_{name}", put(one, x), dim)
    agree(found, result)
    room = put(one, np.zeros_like(x))
    back = call(f"moreh_{name}_backward", found, put(one, g), dim, input_grad_tensor=room)
    assert back.storage is room.storage
    compare(back, leaf.grad.numpy(), 256)


def test_products_and_their_gradients(one: MeshDevice) -> None:
    a, b, w, bias = (sample(s, i) for i, s in enumerate(((2, 3, 32, 64), (2, 3, 64, 48), (48, 64), (1, 48))))
    g = sample((2, 3, 32, 48), 9)
    la, lb, lw, lbias = leaves(a, b, w, bias)
    agree(call("moreh_matmul", put(one, a), put(one, b)), la @ lb)
    agree(call("moreh_matmul", put(one, a), put(one, a), transpose_other=True), la @ la.transpose(-1, -2))
    agree(call("moreh_bmm", put(one, a[0]), put(one, b[0])), la[0] @ lb[0])
    agree(call("moreh_linear", put(one, a), put(one, w), bias=put(one, bias)), F.linear(la, lw, lbias))
    (la @ lb).backward(wide(g))
    rooms = {f"input_{n}_grad": put(one, np.zeros_like(v)) for n, v in (("a", a), ("b", b))}
    given = (put(one, g), put(one, a), put(one, b))
    agree(call("moreh_matmul_backward", *given, **rooms), [la.grad, lb.grad])
    other = {"input_b_grad": rooms["input_b_grad"]}
    first, second = call("moreh_matmul_backward", *given, are_required_outputs=[False, True], **other)
    assert first is None
    agree(second, lb.grad)
    la.grad = None
    F.linear(la, lw, lbias).backward(wide(g))
    rooms = {
        f"{n}_grad": put(one, np.zeros_like(v)) for n, v in (("input", a), ("weight", w), ("bias", bias))
    }
    found = call("moreh_linear_backward", put(one, g), put(one, a), put(one, w), bias=put(one, bias), **rooms)
    agree(found, [la.grad, lw.grad, lbias.grad], 256)
    u, v = sample((1, 1, 1, 64), 1), sample((1, 1, 1, 64), 2)
    agree(call("moreh_dot", put(one, u), put(one, v)), (wide(u) @ wide(v).mT).reshape(1, 1, 1, 1))
    s = sample((1, 1, 1, 1), 3)
    grads = call(
        "moreh_dot_backward", put(one, s), put(one, u), put(one, v), other_grad=put(one, np.zeros_like(v))
    )
    agree(grads, [None, wide(s) * wide(u)])


BF = partial(np.zeros, dtype=np.float32)


@pytest.mark.parametrize(
    ("words", "name", "shapes", "more"),
    [
        ("input_grad needs to have a value", "bmm_backward", ((4, 32, 96), (4, 32, 64), (4, 64, 96)), {}),
        ("mat2_grad needs to have a value", "bmm_backward", ((4, 32, 96), (4, 32, 64), (4, 64, 96)), {"are_required_outputs": (False, True)}),
        ("Input gradient is marked required", "matmul_backward", ((32, 96), (32, 64), (64, 96)), {}),
        ("Other gradient is marked required", "matmul_backward", ((32, 96), (32, 64), (64, 96)), {"are_required_outputs": (False, True)}),
        ("bias_grad tensor should not be std::nullopt", "linear_backward", ((32, 96), (32, 64), (96, 64)), {"are_required_outputs": (False, False, True)}),
        ("Invalid input tensor dimensions", "dot", ((64,), (64,)), {}),
    ],
)  # fmt: skip
def test_gradients_have_somewhere_to_go(
    one: MeshDevice, words: str, name: str, shapes: Any, more: Any
) -> None:
    with pytest.raises(RuntimeError, match=words):
        call(f"moreh_{name}", *(put(one, BF(shape), BF16) for shape in shapes), **more)


@pytest.mark.parametrize(
    ("words", "bias"),
    [
        ("bias rank 4 must be 2", (1, 1, 1, 96)),
        ("bias rank 1 must be 2", (96,)),
        ("bias_w 64, other_n 96", (1, 64)),
    ],
)
def test_a_bias_is_a_row(one: MeshDevice, words: str, bias: Any) -> None:
    x, w = put(one, BF((2, 32, 64)), BF16), put(one, BF((96, 64)), BF16)
    with pytest.raises(RuntimeError, match=words):
        call("moreh_linear", x, w, bias=put(one, BF(bias), BF16))


@pytest.mark.parametrize(
    ("words", "name", "room"),
    [
        ("moreh_matmul output only supports TILE layout", "bmm", "output"),
        ("moreh_sum output only supports TILE layout", "sum", "output"),
        ("moreh_abs_pow output only supports TILE layout", "norm", "output"),
        ("moreh_adam params_out only supports TILE layout", "adam", "param_out"),
        ("moreh_adamw exp_avg_out only supports TILE layout", "adamw", "exp_avg_out"),
        ("moreh_sum_backward  input_grad only supports TILE layout", "sum_backward", "input_grad"),
        ("Output_grad to softmax must be tilized", "softmax_backward", "output_grad_tensor"),
    ],
)
def test_rooms_are_in_tiles(one: MeshDevice, words: str, name: str, room: str) -> None:
    parts = {
        "bmm": {"input": (2, 32, 32), "mat2": (2, 32, 32), "output": (2, 32, 32)},
        "sum": {"input": (2, 32, 32), "output": (1, 32, 32)},
        "norm": {"input": (2, 32, 32), "output": (1, 32, 32)},
        "sum_backward": {"output_grad": (1, 32, 32), "input": (2, 32, 32), "input_grad": (2, 32, 32)},
        "softmax_backward": {"output_tensor": (2, 32, 32), "output_grad_tensor": (2, 32, 32)},
    }
    steps = dict.fromkeys(("param_in", "grad", "exp_avg_in", "exp_avg_sq_in", room), (1, 1, 32, 32))
    given: dict[str, Any] = {
        part: put(one, BF(shape), BF16, ROW if part == room else TILE)
        for part, shape in parts.get(name, steps).items()
    }
    if name in ("sum", "norm", "sum_backward"):
        given |= {"dim": 0, "keepdim": True} | ({"p": 2.0} if name == "norm" else {})
    if name == "softmax_backward":
        given["dim"] = 1
    with pytest.raises(RuntimeError, match=words):
        catalog.find(f"ttnn.moreh_{name}")(**given)


def test_norms_and_their_gradients(one: MeshDevice) -> None:
    x, g, gamma, beta = (
        sample((2, 4, 32, 64), 1),
        sample((2, 4, 32, 64), 2),
        sample((32, 64), 3),
        sample((32, 64), 4),
    )
    lx, lgamma, lbeta = leaves(x, gamma, beta)
    result = F.layer_norm(lx, (32, 64), lgamma, lbeta, 1e-5)
    result.backward(wide(g))
    rooms = {name: put(one, np.zeros((2, 4), np.float32)) for name in ("mean", "rstd")}
    found = call("moreh_layer_norm", put(one, x), 2, 1e-5, put(one, gamma), put(one, beta), **rooms)
    rstd = (lx.var((2, 3), unbiased=False) + 1e-5).rsqrt()
    agree(found, [result, lx.mean((2, 3)), rstd], 128)
    assert call("moreh_layer_norm", put(one, x), 2)[1:] == [None, None]
    spaces = {
        f"{n}_grad": put(one, np.zeros_like(v)) for n, v in (("input", x), ("gamma", gamma), ("beta", beta))
    }
    back = call(
        "moreh_layer_norm_backward",
        put(one, g),
        put(one, x),
        found[1],
        found[2],
        2,
        gamma=put(one, gamma),
        **spaces,
    )
    agree(back, [lx.grad, lgamma.grad, lbeta.grad], 256)
    lx.grad = None
    scale, shift = sample((1, 1, 1, 4), 5), sample((1, 1, 1, 4), 6)
    lscale, lshift = leaves(scale, shift)
    result = F.group_norm(lx, 2, lscale.reshape(-1), lshift.reshape(-1), 1e-5)
    result.backward(wide(g))
    found = call(
        "moreh_group_norm", put(one, x), 2, 1e-5, put(one, scale), put(one, shift), are_required_outputs=[True, True, True]
    )  # fmt: skip
    agree(found[0], result, 128)
    back = call(
        "moreh_group_norm_backward", put(one, g), put(one, x), found[1], found[2], 2, gamma=put(one, scale),
        are_required_outputs=[True, True, True],
    )  # fmt: skip
    agree(back, [lx.grad, lscale.grad, lshift.grad], 512)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_negative_log_likelihood(one: MeshDevice, reduction: str) -> None:
    x, target = sample((8, 10), 1), np.array([1, 9, 0, 3, -100, 5, 5, 2], np.int32)
    (leaf,) = leaves(x)
    loss = F.nll_loss(leaf, torch.from_numpy(target).long(), reduction=reduction)
    divisor = put(one, np.zeros(1))
    found = call("moreh_nll_loss", put(one, x), put(one, target, I32), reduction, divisor_tensor=divisor)
    agree(found, loss.reshape(1, -1))  # of one row, as the reference has it
    # One of eight targets does not count.
    assert held(divisor).tolist() == [7.0 if reduction == "mean" else 0.0]
    g = sample((8,) if reduction == "none" else (1,), 2)
    loss.backward(wide(g).reshape(loss.shape))
    room = put(one, np.zeros_like(x))
    given = (put(one, target, I32), put(one, g))
    if reduction == "none":
        back = call("moreh_nll_loss_unreduced_backward", *given, input_grad_tensor=room)
    else:
        back = call(
            "moreh_nll_loss_backward",
            *given,
            reduction == "mean",
            input_grad_tensor=room,
            divisor_tensor=divisor,
        )
    assert back.storage is room.storage
    agree(back, leaf.grad)


@pytest.mark.parametrize(
    ("name", "given", "room", "shape", "made"),
    [
        ("softmax", [(2, 3, 32, 64), 3], "output_tensor", (6, 32, 64), (2, 3, 32, 64)),
        ("abs_pow", [(2, 3, 32, 64), 2.0], "output", (3, 2, 32, 64), (2, 3, 32, 64)),
        ("norm", [(2, 3, 32, 64), 2.0, {"dim": 0}], "output", (1, 3, 32, 64), (3, 32, 64)),
        ("sum", [(2, 3, 32, 64), {"dim": 0, "keepdim": True}], "output", (3, 32, 64), (1, 3, 32, 64)),
        ("bmm", [(3, 32, 64), (3, 64, 32)], "output", (1, 3, 32, 32), (3, 32, 32)),
        ("layer_norm", [(2, 3, 32, 64), 1], "output", (1, 6, 32, 64), (2, 3, 32, 64)),
        ("group_norm", [(2, 4, 32, 64), 2], "output", (8, 32, 64), (2, 4, 32, 64)),
        ("adam", [(2, 3, 32, 64)] * 4 + [{"step": 1}], "param_out", (3, 2, 32, 64), (2, 3, 32, 64)),
        ("sgd", [(2, 3, 32, 64)] * 2 + [{"momentum_initialized": False}], "param_out", (6, 32, 64), (2, 3, 32, 64)),
    ],
)  # fmt: skip
def test_rooms_take_results_tile_by_tile(
    one: MeshDevice, name: str, given: list[Any], room: str, shape: tuple[int, ...], made: tuple[int, ...]
) -> None:
    words = given[-1] if isinstance(given[-1], dict) else {}
    rest = [part for part in given if part is not words]
    args = [
        put(one, np.abs(sample(part, 3 + place)) if isinstance(part, tuple) else part)
        if isinstance(part, tuple)
        else part
        for place, part in enumerate(rest)
    ]
    plain, into = (
        call(f"moreh_{name}", *args, **words, **where)
        for where in ({}, {room: put(one, np.zeros(shape, np.float32))})
    )
    first, second = (found[0] if isinstance(found, list) else found for found in (plain, into))
    assert tuple(first.shape) == made and tuple(second.shape) == shape
    assert np.array_equal(held(first).reshape(shape), held(second))


def test_rooms_of_other_tiles_are_refused(one: MeshDevice) -> None:
    x = put(one, sample((2, 3, 32, 64), 1))
    for shape in ((2, 3, 64, 32), (32, 64)):
        with pytest.raises(RuntimeError, match="should match the computed shape"):
            call("moreh_softmax", x, 3, output_tensor=put(one, np.zeros(shape, np.float32)))
    with pytest.raises(RuntimeError, match="should match the computed shape"):
        call("moreh_sum", x, dim=0, output=put(one, np.zeros((1, 3, 32, 64), np.float32)))
    index = put(one, np.array([1, 0], np.int32), I32, ROW)
    with pytest.raises(RuntimeError, match="Output tensor must have the same dtype as input tensor"):
        call("moreh_getitem", x, [index], [0], output=put(one, np.zeros((2, 3, 32, 64)), BF16))


def test_gradients_of_a_norm_take_the_shape_of_its_factors(one: MeshDevice) -> None:
    x, g, gamma = sample((2, 3, 32, 64), 1), sample((2, 3, 32, 64), 2), sample((1, 64), 3)
    mean = x.mean(-1)
    rstd = 1 / np.sqrt(x.var(-1) + 1e-5)
    rooms = {part: put(one, np.zeros((1, 64), np.float32)) for part in ("gamma_grad", "beta_grad")}
    given = (put(one, g), put(one, x), put(one, mean), put(one, rstd), 1)
    found = call("moreh_layer_norm_backward", *given, gamma=put(one, gamma), **rooms)
    leaf, factor, shift = leaves(x, gamma.reshape(-1), np.zeros(64, np.float32))
    F.layer_norm(leaf, (64,), factor, shift).backward(wide(g))
    agree(found, [None, factor.grad.reshape(1, 64), shift.grad.reshape(1, 64)], 512)


def test_one_loss_goes_into_one_number_of_any_shape(one: MeshDevice) -> None:
    x, target = sample((8, 10), 1), np.array([1, 9, 0, 3, 2, 5, 5, 2], np.int32)
    divisor, room = (put(one, np.zeros((1, 1), np.float32)) for _ in range(2))
    losses = put(one, np.zeros((1, 8), np.float32), F32, ROW)
    given = (put(one, x), put(one, target, I32))
    call("moreh_nll_loss", *given, "mean", divisor_tensor=divisor, output_tensor=room)
    call("moreh_nll_loss", *given, "none", output_tensor=losses)
    wanted = F.nll_loss(wide(x), torch.from_numpy(target).long(), reduction="none")
    assert held(divisor).tolist() == [[8.0]]
    agree(room, wanted.mean().reshape(1, 1))
    agree(losses, wanted.reshape(1, 8))
    with pytest.raises(RuntimeError, match="moreh_sum output only supports TILE layout"):
        call("moreh_nll_loss", *given, "sum", output_tensor=put(one, np.zeros((1, 1)), F32, ROW))


def test_the_divisor_of_a_mean_is_the_weight_that_counts(one: MeshDevice) -> None:
    x, target = sample((3, 4), 1), np.array([1, 3, 2], np.int32)
    weight, divisor, room = np.array([1, 2, 4, 8], np.float32), put(one, np.zeros(1)), put(one, np.zeros(1))
    given = {"weight_tensor": put(one, weight), "output_tensor": room, "ignore_index": 3}
    with pytest.raises(RuntimeError, match="Divisor tensor must not be empty"):
        call("moreh_nll_loss", put(one, x), put(one, target, I32), "mean", **given)
    found = call(
        "moreh_nll_loss", put(one, x), put(one, target, I32), "mean", divisor_tensor=divisor, **given
    )
    assert found.storage is room.storage
    agree(found, torch.tensor([-(2 * x[0, 1] + 4 * x[2, 2]) / 6]))
    assert held(divisor).tolist() == [6.0]


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_adam(one: MeshDevice, name: str, amsgrad: bool) -> None:
    p, gradients = sample((32, 64), 1), [sample((32, 64), s) for s in (2, 3, 4)]
    kind = torch.optim.Adam if name == "adam" else torch.optim.AdamW
    parameter = wide(p).requires_grad_()
    optimizer = kind([parameter], lr=0.01, weight_decay=0.1, amsgrad=amsgrad)
    state = [put(one, p), *(put(one, np.zeros_like(p)) for _ in range(3))]
    for step, g in enumerate(gradients, 1):
        parameter.grad = wide(g)
        optimizer.step()
        words = {"max_exp_avg_sq_in": state[3]} if amsgrad else {}
        state = call(
            f"moreh_{name}",
            state[0],
            put(one, g),
            state[1],
            state[2],
            lr=0.01,
            weight_decay=0.1,
            step=step,
            amsgrad=amsgrad,
            **words,
        )
    agree(state[0], parameter, 512)
    assert (state[3] is None) is not amsgrad


@pytest.mark.parametrize(("momentum", "nesterov"), [(0.0, False), (0.9, False), (0.9, True)])
def test_sgd(one: MeshDevice, momentum: float, nesterov: bool) -> None:
    p, gradients = sample((32, 64), 1), [sample((32, 64), s) for s in (2, 3)]
    parameter = wide(p).requires_grad_()
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=momentum, weight_decay=0.01, nesterov=nesterov)
    now, kept = put(one, p), None
    for number, g in enumerate(gradients):
        parameter.grad = wide(g)
        optimizer.step()
        now, kept = call(
            "moreh_sgd",
            now,
            put(one, g),
            kept,
            lr=0.1,
            momentum=momentum,
            weight_decay=0.01,
            nesterov=nesterov,
            momentum_initialized=number > 0,
        )
    agree(now, parameter)
    assert (kept is None) is (momentum == 0)


def test_clipping_scales_in_place(one: MeshDevice) -> None:
    parts = [sample((1, 1, 32, 32), 1), sample((1, 1, 32, 64), 2)]
    given = [put(one, part) for part in parts]
    norm = call("moreh_clip_grad_norm", given, 1.0)
    total = np.sqrt(sum((part.astype(float) ** 2).sum() for part in parts))
    agree(norm, torch.tensor([[total]]))
    compare(given[1], parts[1] / (total + 1e-6), 16)
    endless = put(one, np.full((1, 1, 32, 32), np.inf, np.float32))
    with pytest.raises(RuntimeError, match="non-finite, so it cannot be clipped"):
        call("moreh_clip_grad_norm", [endless], 1.0, error_if_nonfinite=True)
    with pytest.raises(RuntimeError, match=r"2 not in \[-4, 2\)"):
        call("moreh_clip_grad_norm", [put(one, sample((32, 32), 1))], 1.0)
    with pytest.raises(RuntimeError, match="step1 input only supports TILE layout"):
        call("moreh_clip_grad_norm", [put(one, sample((1, 1, 32, 32), 1), layout=ROW)], 1.0)


@pytest.mark.parametrize(("size", "kernel", "stride", "message"), [
    ([8, 8], [3, 3], [0, 1], "Fold: stride must be greater than 0"),
    ([8, 8], [0, 3], [1, 1], "Fold: kernel_size must be greater than 0"),
    ([8, 8], [3], [1, 1], "Fold: kernel_size takes 2 elements"),
    ([8], [3, 3], [1, 1], "Fold: output_size takes 2 elements"),
])  # fmt: skip
def test_refusals_of_fold(
    one: MeshDevice, size: list[int], kernel: list[int], stride: list[int], message: str
) -> None:
    x = put(one, sample((1, 36, 64), 1), layout=ROW)
    with pytest.raises(RuntimeError, match=message):
        call("moreh_fold", x, None, size, kernel, [1, 1], [1, 1], stride)


@pytest.mark.parametrize(("name", "a", "b", "message"), [
    ("matmul", (2, 32), (64, 32), "k must be the same. input_k 32, other_k 64"),
    ("bmm", (1, 32), (1, 32), "k must be the same. input_k 32, other_k 1"),
    ("linear", (4, 32), (6, 64), "k must be the same. input_k 32, other_k 64"),
    ("matmul", (2, 1, 4, 4), (3, 1, 4, 4), "one of dim must be one. 3th dim input_dim 2, other_dim 3"),
    ("dot", (1, 1, 2, 32), (1, 1, 1, 32), "Invalid input tensor dimensions"),
    ("dot", (1, 1, 1, 32), (1, 1, 1, 64), "have 32 and 64 elements"),
])  # fmt: skip
def test_shapes_without_a_product(
    one: MeshDevice, name: str, a: tuple[int, ...], b: tuple[int, ...], message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(f"moreh_{name}", put(one, sample(a, 1)), put(one, sample(b, 2)))


@pytest.mark.parametrize(("name", "a", "b", "shape"), [
    ("matmul", (1, 1, 1, 32), (1, 1, 1, 32), (1, 1, 1, 1)),
    ("matmul", (32,), (32, 4), (1, 4)),
    ("linear", (4, 32), (32,), (4, 1)),
])  # fmt: skip
def test_products_of_rows(
    one: MeshDevice, name: str, a: tuple[int, ...], b: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    x, y = sample(a, 1), sample(b, 2)
    right = wide(y) if y.shape == (32, 4) else wide(y).reshape(-1, 1)
    agree(call(f"moreh_{name}", put(one, x), put(one, y)), (wide(x) @ right).reshape(shape))


@pytest.mark.parametrize(("groups", "message"), [(0, "num_groups must be greater than 0"), (5, "must be divisible by num_groups")])  # fmt: skip
def test_refusals_of_groups(one: MeshDevice, groups: int, message: str) -> None:
    x, of_groups = put(one, sample((2, 32, 32, 32), 1)), put(one, sample((1, 1, 2, 4), 2))
    with pytest.raises(RuntimeError, match=message):
        call("moreh_group_norm", x, groups, 1e-5)
    with pytest.raises(RuntimeError, match=message):
        call("moreh_group_norm_backward", x, x, of_groups, of_groups, groups)


def test_picking_and_folding(one: MeshDevice) -> None:
    x = sample((2, 3, 32, 64), 1)
    rows, columns = np.array([2, 0, -1], np.int32), np.array([5, 6, -64], np.int32)
    found = call("moreh_getitem", put(one, x), [put(one, rows, I32, ROW)], [1])
    assert np.array_equal(held(found), x[:, rows])
    lists = [put(one, i, I32, ROW) for i in (rows, columns)]
    found = call("moreh_getitem", put(one, x), lists, [2, 3])
    assert np.array_equal(held(found), x[:, :, rows, columns][:, :, None])
    first = put(one, np.array([1, 0, 1], np.int32), I32, ROW)
    found = call("moreh_getitem", put(one, x, F32, ROW), [first, lists[0]], [0, 1])
    assert np.array_equal(held(found), x[[1, 0, 1], rows])
    patches = sample((2, 12, 16), 2)
    found = call("moreh_fold", put(one, patches, F32, ROW), None, (8, 8), (2, 2), stride=(2, 2))
    agree(found, F.fold(wide(patches), (8, 8), (2, 2), stride=(2, 2)))


@pytest.mark.parametrize(
    ("layout", "shapes", "dims", "message"),
    [
        (ROW, [(3,)], [2], "getitem for ROW_MAJOR layout not support W index tensor!"),
        (TILE, [(3,), (3,)], [0, 2], r"The value of index_dims={0, 2} must be consecutive integers."),
        (TILE, [(3,), (1,)], [0, 1], "The shapes of all index tensors must be identical!"),
        (TILE, [(1, 3)], [0], "Index tensor must be 1D for ROW_MAJOR layout!"),
    ],
)
def test_lists_that_pick_nothing(
    one: MeshDevice, layout: Layout, shapes: list[tuple[int, ...]], dims: list[int], message: str
) -> None:
    lists = [put(one, np.zeros(shape, np.int32), I32, ROW) for shape in shapes]
    with pytest.raises(RuntimeError, match=message):
        call("moreh_getitem", put(one, sample((4, 5, 6), 1), F32, layout), lists, dims)
    with pytest.raises(RuntimeError, match="input layout ROW_MAJOR and index layout TILE not supported"):
        call("moreh_getitem", put(one, sample((4, 5), 1), F32, ROW), [put(one, np.zeros(3), I32)], [0])


def test_dimensions_of_gradients_count_from_the_end_where_they_are_kept(one: MeshDevice) -> None:
    given, whole = put(one, sample((2, 3, 1), 1), BF16), put(one, sample((2, 3, 4), 2), BF16)
    for name, words in (
        ("moreh_sum_backward", {"input": whole}),
        ("moreh_mean_backward", {"input_grad_shape": [2, 3, 4]}),
    ):
        found, wanted = (call(name, given, dim=dim, keepdim=True, **words) for dim in (-1, 2))
        assert held(found).tolist() == held(wanted).tolist()
        with pytest.raises(RuntimeError, match="dim -1 < "):
            call(name, given, dim=-1, keepdim=False, **words)


def test_making_tensors(one: MeshDevice) -> None:
    assert (held(call("moreh_full", [2, 3], 1.5, one)) == 1.5).all()
    assert (held(call("moreh_full_like", put(one, sample((4, 4), 1)), 2)) == 2).all()
    assert held(call("moreh_arange", 2, 10, 3, one, dtype=F32)).tolist() == [[2, 5, 8]]
    fractions = call("moreh_arange", 0.5, -1, -0.5, one, dtype=F32, untilize_out=True, memory_config=L1)
    assert held(fractions).tolist() == [0.5, 0, -0.5]
    assert fractions.layout is ROW
    assert fractions.memory_config() == L1
    room = put(one, np.zeros((2, 2), np.float32))
    assert call("moreh_arange", 0, 3, 0.75, one, dtype=F32, output=room).storage is room.storage
    assert held(room).tolist() == [[0, 0.75], [1.5, 2.25]]


@pytest.mark.parametrize(
    ("bounds", "words", "sentence"),
    [
        ((0, 4, 0), {}, "step must be nonzero"),
        ((0, 4, -1), {}, "does not lead from 0 to 4"),
        ((0, 4, 1), {"dtype": U32}, "not support uint32"),
        ((0, 5, 1), {"dtype": F32}, "5 numbers do not fit"),
        ((0, 4, 1), {"dtype": F32, "untilize_out": True}, "output_layout must be Layout::ROW_MAJOR"),
        ((0, 4, 1), {}, "its dtype should match"),
    ],
)
def test_ranges_that_are_none(one: MeshDevice, bounds: Any, words: Any, sentence: str) -> None:
    room = put(one, np.zeros((2, 2), np.float32))
    with pytest.raises(RuntimeError, match=sentence):
        call("moreh_arange", *bounds, one, **words, output=room)


def test_gradients_go_where_each_is_sent(one: MeshDevice) -> None:
    x, g = sample((2, 6, 32, 32), 1), sample((2, 6, 32, 32), 2)
    _, mean, rstd = call(
        "moreh_group_norm", put(one, x), 2, are_required_outputs=[True] * 3, rstd_memory_config=L1
    )
    assert mean.memory_config() != L1
    assert rstd.memory_config() == L1
    found = call(
        "moreh_group_norm_backward", put(one, g), put(one, x), mean, rstd, 2, are_required_outputs=[True] * 3,
        beta_grad_memory_config=L1,
    )  # fmt: skip
    assert [t.memory_config() == L1 for t in found] == [False, False, True]


def test_published_below_operations_too() -> None:
    from tt_run.runtime import catalog

    assert catalog.find("ttnn.operations.moreh.layer_norm") is catalog.find("ttnn.moreh_layer_norm")


def test_bfloat16_is_rounded_once(one: MeshDevice) -> None:
    x = sample((2, 3, 32, 64), 1, BF16)
    found = call("moreh_sum", put(one, x, BF16), [2, 3], keepdim=True)
    compare(found, wide(x).sum((2, 3), keepdim=True).numpy(), 1)
