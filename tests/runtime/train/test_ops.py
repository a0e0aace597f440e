"""Every operation against PyTorch: values and all gradients, in both arithmetics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tests.sweep import thinned
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.ops.elementwise.unary import GeluVariant
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import (
    along,
    attention,
    binary,
    embedding,
    gated,
    gated_norm,
    loss,
    matmul,
    norms,
    pieces,
    rope,
    shapes,
    unary,
)

pytestmark = pytest.mark.torch

# Largest difference relative to the largest element: float32 differs by the order of sums, bfloat16 by one rounding per operation,
# which a sum with cancellation magnifies.
TOLERANCE = {"float32": 3e-6, "bfloat16": 6e-2}


class Pair:
    """The same numbers as one of our tensors and as torch's."""

    def __init__(self, torch: Any, array: np.ndarray) -> None:
        self.ours = Tensor.from_numpy(array)
        # Both sides start from what the arithmetic can hold.
        self.theirs = torch.tensor(np.asarray(self.ours.get_value().shards.data[0]), requires_grad=True)


@pytest.fixture(params=["float32", "bfloat16"])
def compare(request: pytest.FixtureRequest) -> Iterator[Any]:
    """compare(function of ours, function of torch, *shapes) checks the result and every gradient."""
    torch = torch_or_skip()
    context = AutoContext.get_instance()
    context.set_arithmetic(request.param)
    context.close_device()
    context.open_device()
    generator = np.random.default_rng(5)
    bound = TOLERANCE[request.param]

    def close(ours: np.ndarray, theirs: Any, what: str) -> None:
        expected = theirs.detach().numpy()
        assert ours.shape == expected.shape, what
        scale = max(float(np.abs(expected).max()), 1e-6)
        assert float(np.abs(ours - expected).max()) <= bound * scale, what

    def run(ours: Callable[..., Tensor], theirs: Callable[..., Any], *forms: tuple[int, ...]) -> None:
        pairs = [Pair(torch, generator.standard_normal(form, np.float32)) for form in forms]
        out, expected = ours(*(p.ours for p in pairs)), theirs(*(p.theirs for p in pairs))
        close(out.to_numpy(), expected, "value")
        seed = Pair(torch, generator.standard_normal(tuple(out.shape()), np.float32))
        unary.mean(binary.mul(out, seed.ours)).backward()
        (expected * seed.theirs.detach()).mean().backward()
        for number, pair in enumerate(pairs):
            close(
                np.asarray(pair.ours.get_grad().shards.data[0]),
                pair.theirs.grad,
                f"gradient of operand {number}",
            )
        context.reset_graph()

    yield run
    context.close_device()
    context.set_arithmetic("bfloat16")


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "exp", "tanh", "sigmoid", "softmax", "log_softmax", "clip", "mean"])  # fmt: skip
def test_unary(compare: Any, name: str) -> None:
    torch = torch_or_skip()
    theirs = {
        "exp": torch.exp,
        "softmax": lambda x: torch.softmax(x, -1),
        "log_softmax": lambda x: torch.log_softmax(x, -1),
        "clip": lambda x: torch.clip(x, -0.5, 0.75),
        "mean": lambda x: x.mean().reshape(1, 1, 1, 1),
    }.get(name) or getattr(torch.nn.functional, name)
    own = getattr(unary, name, None) or getattr(pieces, name)
    compare((lambda x: unary.clip(x, -0.5, 0.75)) if name == "clip" else own, theirs, (2, 3, 7, 33))


@pytest.mark.parametrize("dim", [0, 1, 2, 3, -2])
def test_log_softmax_over_any_dimension(compare: Any, dim: int) -> None:
    torch = torch_or_skip()
    compare(lambda x: unary.log_softmax(x, dim), lambda x: torch.log_softmax(x, dim), (2, 3, 7, 5))
    with pytest.raises(RuntimeError, match=r"dim 4 is none of the 4 dimensions"):
        unary.log_softmax(Tensor.from_numpy(np.zeros((1, 1, 2, 2), np.float32)), 4)


@pytest.mark.parametrize("dim", [0, 2, -1])
def test_along_a_dimension(compare: Any, dim: int) -> None:
    torch = torch_or_skip()
    form = (3, 2, 7, 5)

    def later(x: Any) -> Any:
        moved = torch.roll(x, 2, dim)
        moved.narrow(dim, 0, 2).zero_()
        return moved

    compare(lambda x: along.sum_over_dim(x, dim), lambda x: x.sum(dim, keepdim=True), form)
    compare(lambda x: along.cumsum(x, dim), lambda x: x.cumsum(dim), form)
    compare(lambda x: along.shift_along_dim(x, dim, 2), later, form)
    compare(lambda x: along.shift_along_dim(x, dim, 9), lambda x: x * 0, form)
    compare(lambda x: along.transpose(x, dim, 1), lambda x: x.transpose(dim, 1), form)


def test_softplus_and_norms_of_length_one(compare: Any) -> None:
    torch = torch_or_skip()

    def unit(x: Any) -> Any:
        return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)

    def heads(x: Any) -> Any:
        return unit(x.view(2, 1, 5, 3, 8)).view(x.shape)

    compare(along.softplus, torch.nn.functional.softplus, (2, 3, 7, 33))
    compare(
        lambda x: along.softplus(x, 2.0, 0.5),
        lambda x: torch.nn.functional.softplus(x, 2.0, 0.5),
        (1, 1, 9, 9),
    )
    compare(along.l2_norm, unit, (2, 1, 5, 24))
    compare(lambda x: along.flat_l2_norm(x, 8), heads, (2, 1, 5, 24))
    x = Tensor.from_numpy(np.zeros((1, 1, 2, 6), np.float32))
    for wrong, words in (
        (lambda: along.cumsum(x, 4), "cumsum: dim 4 is none of the 4 dimensions"),
        (lambda: along.shift_along_dim(x, 2, -1), "moves to later places alone"),
        (lambda: along.softplus(x, 0.0), "softplus: beta is 0"),
    ):
        with pytest.raises(RuntimeError, match=words):
            wrong()
    with pytest.raises(ValueError, match="the width 6 is no multiple of head_dim 4"):
        along.flat_l2_norm(x, 4)


def test_gated_norm_of_heads(compare: Any) -> None:
    """Three heads of a tile each; gamma is shared by them."""
    torch = torch_or_skip()

    def theirs(x: Any, gate: Any, gamma: Any) -> Any:
        heads = x.view(2, 1, 32, 3, 32)
        inverse = torch.rsqrt((heads**2).mean(-1, keepdim=True) + 1e-6)
        return (heads * inverse * gamma.view(-1)).view(x.shape) * torch.nn.functional.silu(gate)

    form = (2, 1, 32, 96)
    compare(gated_norm.gated_rmsnorm, theirs, form, form, (1, 1, 1, 32))


@pytest.mark.parametrize(
    ("x", "gate", "gamma", "message"),
    [
        ((1, 1, 32, 96), (1, 1, 32, 96), 48, "multiple of 32"),
        ((1, 1, 32, 96), (1, 1, 32, 96), 64, "multiple of V"),
        ((1, 1, 48, 64), (1, 1, 48, 64), 64, "T = 48"),
        ((1, 1, 32, 128), (1, 1, 64, 128), 64, "gate shape"),
    ],
)
def test_gated_norm_refuses(opened: Any, x: Any, gate: Any, gamma: int, message: str) -> None:
    opened()
    with pytest.raises(RuntimeError, match=message):
        gated_norm.gated_rmsnorm(
            *(Tensor.from_numpy(np.zeros(f, np.float32)) for f in (x, gate, (1, 1, 1, gamma)))
        )


def test_gelu_by_tanh(compare: Any) -> None:
    torch = torch_or_skip()
    compare(
        lambda x: unary.gelu(x, GeluVariant.Tanh),
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        (2, 3, 4, 5),
    )


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("other", [(2, 3, 4, 5), (1, 3, 1, 5), (1, 1, 1, 1)])
def test_binary(compare: Any, name: str, other: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    if name == "div":
        if other != (2, 3, 4, 5):
            with pytest.raises(RuntimeError, match="Broadcasting is not supported"):
                compare(binary.div, torch.div, (2, 3, 4, 5), other)
            return
        # Divisors well away from zero, so that bfloat16 rounding is not magnified.
        compare(lambda a, b: binary.div(a, unary.exp(b)), lambda a, b: a / torch.exp(b), (2, 3, 4, 5), other)
        return
    compare(getattr(binary, name), getattr(torch, name), (2, 3, 4, 5), other)


def test_numbers_scale(compare: Any) -> None:
    compare(lambda a: a * 0.25, lambda a: a * 0.25, (1, 1, 3, 5))


@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("turn_b", [False, True])
def test_matmul(compare: Any, turn_a: bool, turn_b: bool) -> None:
    def theirs(a: Any, b: Any) -> Any:
        return (a.mT if turn_a else a) @ (b.mT if turn_b else b)

    a, b = ((2, 3, 9, 4) if turn_a else (2, 3, 4, 9)), ((1, 3, 6, 9) if turn_b else (1, 3, 9, 6))
    compare(lambda x, y: matmul.matmul_op(x, y, turn_a, turn_b), theirs, a, b)


@pytest.mark.parametrize("bias", [True, False])
def test_linear(compare: Any, bias: bool) -> None:
    torch = torch_or_skip()

    def theirs(x: Any, w: Any, b: Any = None) -> Any:
        return torch.nn.functional.linear(x, w[0, 0], None if b is None else b[0, 0, 0])

    compare(matmul.linear, theirs, (3, 1, 5, 37), (1, 1, 11, 37), *([(1, 1, 1, 11)] if bias else []))


def test_layernorm(compare: Any) -> None:
    torch = torch_or_skip()

    def theirs(x: Any, g: Any, b: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (x.shape[-1],), g[0, 0, 0], b[0, 0, 0], 1e-6)

    compare(norms.layernorm, theirs, (3, 1, 5, 65), (1, 1, 1, 65), (1, 1, 1, 65))


def test_rmsnorm(compare: Any) -> None:
    torch = torch_or_skip()

    def theirs(x: Any, g: Any) -> Any:
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), g[0, 0, 0], 1e-5)

    compare(lambda x, g: norms.rmsnorm(x, g, 1e-5), theirs, (3, 1, 5, 65), (1, 1, 1, 65))


# Of queries and keys: causal, no mask, another one for each sequence (padding), one for keys alone, other lengths than the queries'.
MASKS: dict[str, tuple[int, int, Callable[[int, int], np.ndarray] | None]] = {
    "causal": (8, 8, lambda s, t: np.tril(np.ones((1, 1, s, t), np.float32))),
    "none": (8, 8, None),
    "padded": (8, 8, lambda s, t: np.tril(np.ones((2, 1, s, t), np.float32)) * (np.arange(t) < np.array([t, 5]).reshape(2, 1, 1, 1))),
    "keys": (8, 8, lambda s, t: (np.arange(t) % 3 > 0).astype(np.float32).reshape(1, 1, 1, t)),
    "cross": (5, 12, lambda s, t: np.tril(np.ones((1, 1, s, t), np.float32), t - s)),
    "cross without": (5, 12, None),
}  # fmt: skip


@pytest.mark.parametrize("groups", [4, 2, 1])
@pytest.mark.parametrize("kind", thinned(MASKS, 2))
def test_attention(compare: Any, groups: int, kind: str) -> None:
    torch = torch_or_skip()
    queries, keys, make = MASKS[kind]
    mask = None if make is None else make(queries, keys)

    def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention.scaled_dot_product_attention(
            q, k, v, None if mask is None else Tensor.from_numpy(mask)
        )

    def theirs(q: Any, k: Any, v: Any) -> Any:
        k, v = (t.repeat_interleave(4 // groups, 1) for t in (k, v))
        seen = None if mask is None else torch.tensor(mask) > 0
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)

    compare(ours, theirs, (2, 4, queries, 16), (2, groups, keys, 16), (2, groups, keys, 16))


def test_embedding(compare: Any) -> None:
    torch = torch_or_skip()
    ids = np.random.default_rng(1).integers(0, 6, (3, 1, 1, 9)).astype(np.uint32)
    compare(
        lambda w: embedding.embedding(Tensor.from_numpy(ids, layout=Layout.ROW_MAJOR), w),
        lambda w: torch.nn.functional.embedding(torch.tensor(ids.astype(np.int64)), w[0, 0])[:, 0],
        (1, 1, 6, 10),
    )


def test_heads(compare: Any) -> None:
    def ours(x: Tensor) -> Tensor:
        q, k, v = shapes.heads_creation(x, 4)
        return shapes.heads_fusion(binary.add(binary.mul(q, k), v))

    def theirs(x: Any) -> Any:
        q, k, v = (t.reshape(2, 8, 4, 2).transpose(1, 2) for t in x[:, 0].chunk(3, -1))
        return (q * k + v).transpose(1, 2).reshape(2, 1, 8, 8)

    compare(ours, theirs, (2, 1, 8, 24))


def test_grouped_heads_and_shapes(compare: Any) -> None:
    """Queries in four heads, keys and values in two groups; then all of it in another shape."""

    def ours(queries: Tensor, joint: Tensor) -> Tensor:
        q, k, v = shapes.grouped_heads_creation(queries, joint, 4, 2)
        both = binary.mul(shapes.reshape(q, (2, 2, 2, 16)), shapes.reshape(k, (2, 2, 1, 16)))
        return shapes.heads_fusion(binary.add(both, shapes.reshape(v, (2, 2, 1, 16))))

    def theirs(queries: Any, joint: Any) -> Any:
        q = queries.reshape(2, 8, 4, 2).transpose(1, 2).reshape(2, 2, 2, 16)
        k, v = (t.reshape(2, 8, 2, 2).transpose(1, 2).reshape(2, 2, 1, 16) for t in joint[:, 0].chunk(2, -1))
        return (q * k + v).transpose(1, 2).reshape(2, 1, 2, 32)

    compare(ours, theirs, (2, 1, 8, 8), (2, 1, 8, 8))


@pytest.mark.parametrize("kind", ["composite_layernorm", "rmsnorm_composite"])
def test_composite_norms_are_the_others(compare: Any, kind: str) -> None:
    torch = torch_or_skip()
    if kind == "rmsnorm_composite":
        compare(
            lambda x, g: norms.rmsnorm_composite(x, g, 1e-5),
            lambda x, g: torch.nn.functional.rms_norm(x, (33,), g[0, 0, 0], 1e-5),
            (3, 1, 5, 33),
            (1, 1, 1, 33),
        )
        return
    compare(
        norms.composite_layernorm,
        lambda x, g, b: torch.nn.functional.layer_norm(x, (33,), g[0, 0, 0], b[0, 0, 0], 1e-6),
        (3, 1, 5, 33),
        (1, 1, 1, 33),
        (1, 1, 1, 33),
    )


def test_shares_of_the_chosen(compare: Any) -> None:
    """What experts weigh: scores of the chosen ones, of which the sum is 2.5."""
    torch = torch_or_skip()
    chosen = (np.random.default_rng(0).random((2, 1, 4, 6)) < 0.5).astype(np.float32)
    chosen[..., 0] = 1
    given = Tensor.from_numpy(chosen).get_value()

    def theirs(x: Any) -> Any:
        picked = torch.sigmoid(x) * torch.tensor(chosen)
        return picked / (picked.sum(-1, keepdim=True) + 1e-20) * 2.5

    compare(lambda x: pieces.share_out(pieces.sigmoid(x), given, 2.5), theirs, (2, 1, 4, 6))


def test_rope(compare: Any) -> None:
    torch = torch_or_skip()
    parameters = rope.build_rope_params(16, 8)
    turn = torch.polar(
        torch.ones(10, 4),
        torch.outer(torch.arange(2, 12).float(), 10000.0 ** (-torch.arange(0, 8, 2).float() / 8)),
    )

    def theirs(x: Any) -> Any:
        return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], 4, 2)) * turn).flatten(-2)

    compare(lambda x: rope.rope(x, parameters, 2), theirs, (2, 3, 10, 8))


def test_losses(compare: Any) -> None:
    torch = torch_or_skip()
    ids = np.random.default_rng(2).integers(0, 11, (2, 5)).astype(np.uint32)
    target = torch.tensor(ids.astype(np.int64)).reshape(-1)

    def given() -> Tensor:
        return Tensor.from_numpy(ids, layout=Layout.ROW_MAJOR, new_type=DataType.UINT32)

    def cross(x: Any) -> Any:
        return torch.nn.functional.cross_entropy(x.reshape(-1, 11), target).reshape(1, 1, 1, 1)

    def likelihood(x: Any) -> Any:
        return torch.nn.functional.nll_loss(torch.log_softmax(x.reshape(-1, 11), -1), target).reshape(
            1, 1, 1, 1
        )

    compare(lambda x: loss.cross_entropy_loss(x, given()), cross, (2, 1, 5, 11))
    compare(lambda x: loss.nll_loss(unary.log_softmax(x), given()), likelihood, (2, 1, 5, 11))
    compare(
        loss.mse_loss,
        lambda p, t: torch.nn.functional.mse_loss(p, t).reshape(1, 1, 1, 1),
        (4, 1, 3, 5),
        (4, 1, 3, 5),
    )


@pytest.mark.parametrize("other", [(2, 3, 4, 5), (1, 3, 1, 5)])
def test_the_smaller_of_two(compare: Any, other: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    compare(binary.minimum, torch.minimum, (2, 3, 4, 5), other)


def test_gated_feed_forward(compare: Any) -> None:
    nn = torch_or_skip().nn.functional

    def theirs(x: Any, gate: Any, down: Any, up: Any) -> Any:
        return nn.linear(nn.silu(nn.linear(x, gate[0, 0])) * nn.linear(x, up[0, 0]), down[0, 0])

    compare(gated.swiglu, theirs, (2, 1, 5, 6), (1, 1, 9, 6), (1, 1, 7, 9), (1, 1, 9, 6))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_values_of_another_width(compare: Any, causal: bool) -> None:
    nn = torch_or_skip().nn.functional
    mask = Tensor.from_numpy(np.tril(np.ones((1, 1, 6, 6), np.float32))) if causal else None
    compare(
        lambda q, k, v: attention.scaled_dot_product_attention_composite(q, k, v, mask),
        lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True),
        (2, 4, 6, 8),
        (2, 2, 6, 8),
        (2, 2, 6, 5),
    )


def test_a_loss_for_each_position(compare: Any) -> None:
    torch = torch_or_skip()
    ids = np.random.default_rng(2).integers(0, 9, (2, 5), np.uint32)
    targets = Tensor.from_numpy(ids, layout=Layout.ROW_MAJOR, new_type=DataType.UINT32)

    def theirs(x: Any) -> Any:
        flat = torch.nn.functional.cross_entropy(
            x.view(-1, 9), torch.tensor(ids.astype(np.int64)).view(-1), reduction="none"
        )
        return flat.view(2, 1, 5, 1)

    compare(lambda x: loss.cross_entropy_loss(x, targets, loss.ReduceType.NONE), theirs, (2, 1, 5, 9))
    with pytest.raises(RuntimeError, match="Unsupported cross entropy"):
        loss.cross_entropy_loss(targets, targets, loss.ReduceType.SUM)
