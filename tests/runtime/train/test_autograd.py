"""Tensors, the graph, the context and modules: what they refuse, what they keep, what they name."""

from __future__ import annotations

import pickle
from operator import add, mul, sub, truediv
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime import events
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.ops import argmax
from tt_run.runtime.tensor.conversion.devices import from_device, to_device
from tt_run.runtime.tensor.creation.from_shape import from_buffer
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.autocast import AutocastTensor
from tt_run.runtime.train.autograd.device_tensor import DeviceTensor
from tt_run.runtime.train.autograd.function import Function
from tt_run.runtime.train.autograd.graph import GradMode, PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor, create_tensor, get_links
from tt_run.runtime.train.markers import profiler_marker, profiler_marker_end, profiler_marker_start
from tt_run.runtime.train.modules.base import AbstractModuleBase, ModuleBase, RunMode
from tt_run.runtime.train.modules.containers import ModuleDict, ModuleList
from tt_run.runtime.train.modules.layers import DropoutLayer
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.parameter import Buffer, Parameter
from tt_run.runtime.train.ops import binary, unary
from tt_run.runtime.train.ops.dropout import dropout
from tt_run.runtime.train.ops.matmul import matmul_op
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig

ONES = np.ones((1, 1, 2, 4), np.float32)
DTYPES = {
    DataType.FLOAT32: "float32",
    DataType.BFLOAT16: "float32",
    DataType.INT32: "int32",
    DataType.UINT32: "uint32",
}


@pytest.fixture(autouse=True)
def context(opened: Any) -> Any:
    return opened((1, 1), "bfloat16")


def test_types_that_numpy_may_give() -> None:
    for array, dtype in (
        (ONES, DataType.FLOAT32),
        (ONES.astype(ml_dtypes.bfloat16), DataType.BFLOAT16),
        (ONES.astype(np.int32), DataType.INT32),
        (ONES.astype(np.uint32), DataType.UINT32),
    ):
        assert Tensor.from_numpy(array).dtype() is dtype
    wide = np.arange(8).reshape(1, 1, 2, 4)
    assert Tensor.from_numpy(wide, Layout.ROW_MAJOR, DataType.UINT32).to_numpy().tolist() == wide.tolist()
    with pytest.raises(RuntimeError, match="Unsupported precision: expected 32 bits, got 64 bits"):
        Tensor.from_numpy(wide)
    with pytest.raises(TypeError, match="Unsupported type"):
        Tensor.from_numpy(ONES.astype(np.int16))
    with pytest.raises(TypeError, match="Unsupported type"):
        Tensor.from_numpy(ONES, new_type=DataType.BFLOAT8_B)
    with pytest.raises(TypeError, match="Unsupported type"):
        Tensor.from_numpy(ONES).to_numpy(DataType.BFLOAT4_B)
    for given in (DataType.FLOAT32, DataType.BFLOAT16, DataType.INT32, DataType.UINT32):
        for asked in (DataType.FLOAT32, DataType.BFLOAT16, DataType.INT32, DataType.UINT32):
            array = Tensor.from_numpy(ONES * 3, new_type=given).to_numpy(asked)
            assert (array.dtype.name, array.tolist()) == (
                ONES.astype(DTYPES[asked]).dtype.name,
                (ONES * 3).tolist(),
            )
    turned = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4).transpose(0, 1, 3, 2)
    assert Tensor.from_numpy(turned).to_numpy().tolist() == turned.tolist()


@pytest.mark.parametrize("operator", [add, mul, sub, truediv])
@pytest.mark.parametrize("given", DTYPES)
def test_whole_numbers_are_calculated_with_too(operator: Any, given: DataType) -> None:
    numbers = np.arange(1, 9, dtype=DTYPES[given]).reshape(1, 1, 2, 4)
    tensor = Tensor.from_numpy(numbers, new_type=given)
    assert operator(tensor, tensor).to_numpy().tolist() == operator(numbers, numbers).tolist()


def test_values_in_both_precisions() -> None:
    third = Tensor.from_numpy(np.full((1, 1, 1, 2), 1 / 3, np.float32))
    assert third.get_value(PreferredPrecision.FULL).to_numpy()[0, 0, 0, 0] == np.float32(1 / 3)
    half = np.float32(ml_dtypes.bfloat16(1 / 3))
    assert third.get_value().to_numpy()[0, 0, 0, 0] == half
    assert third.get_value(PreferredPrecision.HALF).dtype is DataType.BFLOAT16
    assert third.to_numpy()[0, 0, 0, 0] == np.float32(1 / 3)
    assert third.to_numpy(DataType.BFLOAT16)[0, 0, 0, 0] == half
    assert third.to_numpy(None, None, PreferredPrecision.HALF)[0, 0, 0, 0] == half
    assert third.to_numpy(precision=PreferredPrecision.NATIVE).dtype == np.float32
    own = Tensor(third.get_value()).to_numpy(precision=PreferredPrecision.NATIVE)
    assert own.dtype == ml_dtypes.bfloat16 and float(own[0, 0, 0, 0]) == half
    whole = Tensor.from_numpy(np.array([[[[3]]]], np.int32))
    assert whole.get_value().item() == 3
    assert third.get_value().get_layout() is Layout.TILE
    assert third.get_value().to_numpy(DataType.UINT32).dtype == np.uint32


def test_gradients_accumulate_and_check_their_shape() -> None:
    tensor = Tensor.from_numpy(ONES)
    assert not tensor.is_grad_initialized()
    assert tensor.get_grad_tensor() is None
    with pytest.raises(RuntimeError, match="the tensor has no gradient"):
        tensor.get_grad()
    one = Tensor.from_numpy(ONES).get_value()
    for _ in range(3):
        tensor.add_grad(one)
    assert (tensor.get_grad().to_numpy() == 3).all()
    tensor.zero_grad()
    assert (tensor.get_grad().to_numpy() == 0).all()
    tensor.add_grad(one)
    tensor.add_grad(one)
    assert (tensor.get_grad().to_numpy() == 2).all()
    with pytest.raises(
        RuntimeError,
        match=r"Shapes of gradients are not equal. Expected: \[1, 1, 2, 4\], got: \[1, 1, 1, 4\]",
    ):
        tensor.add_grad(Tensor.from_numpy(ONES[:, :, :1]).get_value())
    tensor.set_grad(None)
    tensor.set_requires_grad(False)
    tensor.add_grad(one)
    assert not tensor.is_grad_initialized()


def test_backward_may_be_repeated_only_when_the_graph_is_kept(context: Any) -> None:
    x = Tensor.from_numpy(ONES)
    loss = unary.mean(x * x)
    loss.backward(True)
    loss.backward(False)
    assert (x.get_grad().to_numpy() == 2 * 2 / ONES.size).all(), "each pass brings the gradient once"
    with pytest.raises(RuntimeError, match="Memory from the node is released!"):
        loss.backward()
    with pytest.raises(RuntimeError, match="This tensor has no associated gradient function"):
        Tensor.from_numpy(ONES).backward()
    after = unary.mean(Tensor.from_numpy(ONES))
    context.reset_graph()
    with pytest.raises(RuntimeError, match="released"):
        after.backward()
    with pytest.raises(RuntimeError, match="Graph node is already set for this tensor!"):
        after.set_node(after.get_node())
    after.clean_node()
    assert after.get_node() is None


def test_two_losses_over_a_graph_that_is_kept_bring_the_gradient_of_each_once() -> None:
    x = Tensor.from_numpy(ONES)
    trunk = x * 3.0
    first, second = unary.mean(trunk * 2.0), unary.mean(trunk * 4.0)
    first.backward(True)
    second.backward(True)
    assert (x.get_grad().to_numpy() == 3 * (2 + 4) / ONES.size).all()
    assert (trunk.get_grad().to_numpy() == 4 / ONES.size).all(), "what the last pass brought"
    trunk.set_grad(stacks.full_like(trunk.get_value(), 1.0))
    first.backward()
    assert (x.get_grad().to_numpy() == 3 * (2 + 4 + 2 + ONES.size) / ONES.size).all()


def test_what_a_second_loss_does_not_reach_passes_nothing_on_again() -> None:
    """A result that an earlier pass went through, and whose reader gives it no gradient this time."""

    class Silent(Function):
        @staticmethod
        def forward(ctx: Any, given: Tensor) -> Any:
            return given.get_value()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return None

    x = Tensor.from_numpy(ONES)
    trunk = x * 3.0
    unary.mean(trunk).backward(True)
    unary.mean(Silent.apply(trunk)).backward()
    assert (x.get_grad().to_numpy() == 3 / ONES.size).all()


def test_the_seed_of_ones_has_any_shape() -> None:
    x = Tensor.from_numpy(ONES)
    (x * 3.0).backward()
    assert (x.get_grad().to_numpy() == 3).all()


def test_nothing_is_recorded_when_gradients_are_off(context: Any) -> None:
    context.set_gradient_mode(GradMode.DISABLED)
    assert (Tensor.from_numpy(ONES) + Tensor.from_numpy(ONES)).get_node() is None
    assert context.add_backward_node(lambda: None, []) is None
    context.set_gradient_mode(GradMode.ENABLED)
    assert not context.get_graph().nodes


def test_operands_that_are_no_autograd_tensors() -> None:
    x, y = Tensor.from_numpy(ONES), Tensor.from_numpy(ONES * 2)
    for other in (y.get_value(), AutocastTensor(y.get_value())):
        out = binary.add(x, other)
        assert (out.to_numpy() == 3).all()
    assert ((x / y).to_numpy() == 0.5).all()
    assert ((x - y).to_numpy() == -1).all()
    with pytest.raises(TypeError, match="expected a ttml"):
        binary.add(x, "no")
    assert create_tensor().get_requires_grad()
    with pytest.raises(RuntimeError, match="no value yet"):
        create_tensor().get_value()


def test_an_operation_written_in_python() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Any:
            ctx.save_for_backward(x)
            return (x * x * x).get_value()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            return binary.mul(x * x * 3.0, gradient)

    x = Tensor.from_numpy(ONES * 2)
    unary.mean(Cube.apply(x)).backward()
    assert (x.get_grad().to_numpy() == 12 / 8).all()


def test_an_operation_in_python_with_two_results(context: Any) -> None:
    seen = []

    class Ends(Function):
        """The first and the last row."""

        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Any:
            value = x.get_value()
            rows = (slice(0, 1), slice(2, 3))
            return tuple(value.derive(value.shards.map(lambda s, r=r: s[..., r, :].copy())) for r in rows)

        @staticmethod
        def backward(ctx: Any, first: Any, last: Any) -> Any:
            seen.append((first.to_numpy().ravel().tolist(), last.to_numpy().ravel().tolist()))
            both = np.concatenate([first.to_numpy(), 0 * first.to_numpy(), last.to_numpy()], -2)
            return Tensor.from_numpy(both).get_value()

    x = Tensor.from_numpy(np.arange(6, dtype=np.float32).reshape(1, 1, 3, 2))
    first, last = Ends.apply(x)
    assert last.to_numpy().ravel().tolist() == [4.0, 5.0]
    (first * 3.0 + last * 2.0).backward()
    assert x.get_grad().to_numpy().ravel().tolist() == [3.0, 3.0, 0.0, 0.0, 2.0, 2.0]
    context.reset_graph()
    _, last = Ends.apply(x)
    x.set_grad(None)
    (last * 2.0).backward()
    assert seen == [([3.0, 3.0], [2.0, 2.0]), ([0.0, 0.0], [2.0, 2.0])]


def test_a_function_of_operations_needs_no_backward(opened: Any) -> None:
    opened()

    class Scaled(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, y: Tensor, scale: float) -> Tensor:
            return (x + y) * scale

    class Both(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return x + y, x * y

    x, y = (Tensor.from_numpy(np.full((1, 1, 2, 2), n, np.float32)) for n in (2, 3))
    Scaled.apply(x, y, 4.0).backward()
    total, product = Both.apply(x, y)
    (total * product).backward()
    assert (x.get_grad().to_numpy() == 4 + 6 + 5 * 3).all() and (
        y.get_grad().to_numpy() == 4 + 6 + 5 * 2
    ).all()


def test_a_gradient_of_none_for_an_argument_that_was_left_out() -> None:
    """As PyTorch has it: what is too much at the end must be None."""

    class Shifted(Function):
        surplus: Any = None

        @staticmethod
        def forward(context: Any, x: Tensor, shift: Tensor | None = None) -> Any:
            return stacks.full_like(x.get_value(), 1.0)

        @classmethod
        def backward(cls, context: Any, gradient: Any) -> Any:
            return gradient, cls.surplus

    x = Tensor.from_numpy(np.ones((1, 1, 32, 32), np.float32))
    Shifted.apply(x).backward(False)
    assert x.get_grad_tensor().to_numpy().tolist() == np.ones((1, 1, 32, 32)).tolist()
    Shifted.surplus = stacks.full_like(x.get_value(), 2.0)
    with pytest.raises(RuntimeError, match=r"Shifted\.backward returned 2 gradients for 1 tensors"):
        Shifted.apply(x).backward(False)


class Odd(Function):
    """x + y, with a backward pass of the test's own."""

    answer: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Any:
        return binary.add(x, y).get_value()

    @classmethod
    def backward(cls, ctx: Any, *gradients: Any) -> Any:
        return cls.answer(*gradients)


def test_what_a_backward_pass_may_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """None for all tensors; what it raises comes with the name of the operation."""
    x, y = (Tensor.from_numpy(ONES) for _ in range(2))
    monkeypatch.setattr(Odd, "answer", lambda gradient: None)
    Odd.apply(x, y).backward()
    assert not x.is_grad_initialized() and not y.is_grad_initialized()
    monkeypatch.setattr(Odd, "answer", lambda gradient: {}["grad"])
    with pytest.raises(RuntimeError, match=r"Error in backward of Odd: 'grad'"):
        Odd.apply(x, y).backward()


def test_results_that_the_graph_has_made(context: Any) -> None:
    """Their backward pass is that of the graph; some of them beside others are refused."""

    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Any:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            raise AssertionError("the graph knows the gradient")

    class Mixed(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Any:
            return x * 2.0, x.get_value()

    x = Tensor.from_numpy(ONES)
    Doubled.apply(x).backward()
    assert (x.get_grad().to_numpy() == 2).all()
    with pytest.raises(RuntimeError, match=r"Mixed.forward\(\) returned a mix of outputs .* help: ttml"):
        Mixed.apply(x)


def test_a_forward_that_is_no_static_method() -> None:
    class Bound(Function):
        def forward(self, ctx: Any, x: Tensor) -> Any:  # type: ignore[override]
            return x

    with pytest.raises(TypeError, match=r"Bound.forward is no static method; help: @staticmethod"):
        Bound.apply(Tensor.from_numpy(ONES))


@pytest.mark.parametrize("call", [Function.forward, Function.backward])
def test_a_function_defines_both_halves(call: Any) -> None:
    with pytest.raises(NotImplementedError, match="a Function defines"):
        call(None)


def test_links_of_one_sequence_or_of_arguments() -> None:
    x = Tensor.from_numpy(np.ones((1, 1, 1, 2), np.float32))
    y = x * 2.0
    assert get_links([y, None, x]) == get_links(y, None, x) == get_links((y,)) == [y.get_node()]


def test_backward_starts_from_a_gradient_that_was_set(context: Any) -> None:
    a = Tensor.from_numpy(np.ones((1, 1, 1, 3), np.float32))
    out = a * 2.0
    out.set_grad(Tensor.from_numpy(np.array([[[[1.0, 10.0, 100.0]]]], np.float32)).get_value())
    out.backward(False)
    assert a.get_grad().to_numpy().ravel().tolist() == [2.0, 20.0, 200.0]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("left", "right"), [((3,), (3,)), ((3,), (3, 2)), ((4, 3), (3,)), ((3,), (5, 3, 2)), ((2, 4, 3), (3,))]
)
def test_products_with_vectors(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    generator = np.random.default_rng(1)
    a, b = (generator.standard_normal(shape, np.float32) for shape in (left, right))
    x, y = Tensor.from_numpy(a), Tensor.from_numpy(b)
    tx, ty = (torch.tensor(array, requires_grad=True) for array in (a, b))
    out, expected = matmul_op(x, y), tx @ ty
    out.backward()
    expected.sum().backward()
    for found, wanted in (
        (out.to_numpy(), expected.detach()),
        (x.get_grad().to_numpy(), tx.grad),
        (y.get_grad().to_numpy(), ty.grad),
    ):
        assert found.shape == tuple(wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=2e-2, atol=3e-2)


def test_clip_passes_gradients_inside() -> None:
    x = Tensor.from_numpy(np.array([[[[-2.0, -0.5, 0.5, 2.0]]]], np.float32))
    out = unary.clip(x, -1, 1)
    assert out.to_numpy().ravel().tolist() == [-1, -0.5, 0.5, 1]
    out.backward()
    assert x.get_grad().to_numpy().ravel().tolist() == [0, 1, 1, 0]


# --- dropout ---------------------------------------------------------------------------------------------------------


def test_dropout_keeps_the_mean_and_repeats_with_its_seed(context: Any) -> None:
    x = Tensor.from_numpy(np.ones((1, 1, 256, 256), np.float32))
    assert dropout(x, 0.0) is x
    context.set_seed(3)
    out = dropout(x, 0.25)
    values = out.to_numpy()
    assert set(np.unique(values)) == {0.0, np.float32(ml_dtypes.bfloat16(1 / 0.75))}
    assert float((values == 0).mean()) == pytest.approx(0.25, abs=0.01)
    out.backward()
    assert x.get_grad().to_numpy().tobytes() == values.tobytes()
    context.set_seed(3)
    assert dropout(x, 0.25).to_numpy().tobytes() == values.tobytes()
    x.set_grad(None)
    nothing = dropout(x, 1.0)
    nothing.backward()
    assert not nothing.to_numpy().any() and not x.get_grad().to_numpy().any()
    with pytest.raises(RuntimeError, match=r"in \[0, 1\], not 1.5"):
        dropout(x, 1.5)
    layer = DropoutLayer(0.5)
    layer.eval()
    assert layer(x) is x


def test_masks_are_shared_by_devices_unless_asked_otherwise(opened: Any) -> None:
    opened((1, 4), ddp=True)
    x = Tensor.from_numpy(np.ones((1, 1, 8, 32), np.float32))
    assert len(set(dropout(x, 0.5).get_value().shards.index)) == 1
    own = dropout(x, 0.5, use_per_device_seed=True).get_value().shards
    assert len({shard.tobytes() for shard in own.each() if shard is not None}) == 4


# --- modules ---------------------------------------------------------------------------------------------------------


class Pair(AbstractModuleBase):
    def __init__(self) -> None:
        super().__init__()
        self.first = LinearLayer(4, 4)
        self.scale = Parameter(Tensor.from_numpy(ONES))
        self.table = Buffer(Tensor.from_numpy(ONES))
        self.again = self.first

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.again(self.first(x))
        return out


def test_tensors_of_ttnn_read_as_others_do(context: Any) -> None:
    """A program may wrap what ttnn made, as for token ids that stay on the device."""
    device = context.get_device()
    plain = from_buffer([1.0, 3.0, 2.0, 0.0], (1, 1, 1, 4), DataType.BFLOAT16, device, Layout.TILE)
    x = create_tensor(plain, requires_grad=True)
    assert x.get_value().to_numpy(DataType.FLOAT32).tolist() == [[[[1, 3, 2, 0]]]]
    assert argmax(x.get_value(), dim=-1).to_numpy(DataType.UINT32).tolist() == [[[1]]]
    unary.mean(x).backward(False)
    assert x.get_grad().to_numpy(DataType.FLOAT32).tolist() == [[[[0.25] * 4]]]
    x.add_grad(plain)
    x.set_grad(plain)
    assert x.get_grad().to_numpy(DataType.FLOAT32).tolist() == [[[[1, 3, 2, 0]]]]


def test_numbers_of_numpy_scale_as_others_do() -> None:
    x = Tensor.from_numpy(ONES)
    for number in (2, 2.0, np.float32(2), np.float64(2), np.int64(2)):
        assert (x * number).to_numpy().tolist() == (ONES * 2).tolist()
        assert (x / number).to_numpy().tolist() == (ONES / 2).tolist()
    with pytest.raises(TypeError, match=r"expected a ttml\.autograd\.Tensor"):
        _ = x * "2"


def test_an_operation_by_hand(context: Any) -> None:
    """The guide's product of two tensors: a value, a rule that adds to both gradients, a node behind theirs."""
    a, b = Tensor.from_numpy(ONES * 3), Tensor.from_numpy(ONES * 5)
    scaled = a * 2.0
    out = create_tensor()
    out.set_value(binary.mul(scaled, b).get_value())

    def rule() -> None:
        gradient = Tensor(out.get_grad(), requires_grad=False)
        scaled.add_grad((gradient * b).get_value())
        b.add_grad((gradient * scaled).get_value())

    assert get_links(a, b, None) == []
    assert get_links(scaled, b) == [scaled.get_node()]
    out.set_node(context.add_backward_node(rule, get_links(scaled, b)))
    out.backward(False)
    assert a.get_grad_tensor().to_numpy().tolist() == (ONES * 10).tolist()
    assert b.get_grad_tensor().to_numpy().tolist() == (ONES * 6).tolist()


def test_operations_stand_in_the_stream_of_events(context: Any) -> None:
    """Forward, backward and the optimizer's step, each with the line of the program that led there."""
    seen: list[events.Event] = []
    layer, x = LinearLayer(4, 3), Tensor.from_numpy(ONES)
    optimizer = SGD(layer.parameters(), SGDConfig.make(0.1))
    end = events.subscribe(seen.append)
    try:
        unary.mean(layer(x)).backward(False)
        optimizer.step()
    finally:
        end()
    assert [(event.kind, event.name) for event in seen] == [
        ("op", "ttml.linear"),
        ("op", "ttml.mean"),
        ("op", "ttml.mean backward"),
        ("op", "ttml.linear backward"),
        ("step", "ttml.SGD.step"),
    ]
    assert {event.site.rsplit("/", 1)[-1].split(":")[0] for event in seen} == {"test_autograd.py"}
    assert all(len(event.devices) == 1 for event in seen if event.kind == "op")


def test_a_closed_mesh_computes_nothing_and_gives_nothing(context: Any) -> None:
    x = Tensor.from_numpy(ONES)
    context.close_device()
    value = x.get_value()
    for use in (lambda: unary.mean(x), x.to_numpy, value.to_numpy, value.to_list):
        with pytest.raises(RuntimeError, match="is closed"):
            use()
    assert x.shape() == list(ONES.shape)


def test_a_model_of_a_closed_mesh_neither_computes_on_the_next_nor_learns(context: Any) -> None:
    layer = LinearLayer(ONES.shape[-1], 4)
    optimizer = SGD(layer.parameters(), SGDConfig.make(lr=0.1))
    unary.mean(layer(Tensor.from_numpy(ONES))).backward(False)
    context.close_device()
    with pytest.raises(RuntimeError, match=r"optimizer step: MeshDevice.* is closed"):
        optimizer.step()
    context.open_device([1, 1])
    with pytest.raises(RuntimeError, match=r"ttml: MeshDevice.* is closed"):
        layer(Tensor.from_numpy(ONES))


def test_operands_are_on_one_mesh(context: Any) -> None:
    parent = context.get_device()
    x = Tensor.from_numpy(ONES)
    (part,) = parent.create_submeshes(parent.shape)
    other = Tensor(to_device(from_device(x.get_value()), part))
    with pytest.raises(RuntimeError, match="need to be on the same device"):
        binary.add(x, other)


def test_markers_stand_in_the_stream_of_events(context: Any) -> None:
    seen: list[tuple[str, str]] = []
    end = events.subscribe(
        lambda event: seen.append((event.name, event.site.rsplit("/", 1)[-1].split(":")[0]))
    )
    try:
        x = Tensor.from_numpy(ONES)
        inside = profiler_marker_start(x, "block")
        out = unary.mean(profiler_marker_end(inside * 2.0, "block"))
        out.backward(False)
        assert profiler_marker(None, "step") is None
        context.get_profiler().read_results(context.get_device(), "by hand")
        plain = Tensor.from_numpy(np.ones((1, 1, 1, 4), np.uint32))
        assert profiler_marker(plain, "ids") is plain
    finally:
        end()
    names = [name for name, site in seen if site == "test_autograd.py" and name[0] in "[sb"]
    assert names == [
        "[FWD] [START] block",
        "[FWD] [END] block",
        "[BWD] [END] block",
        "[BWD] [START] block",
        "step",
        "by hand",
        "[FWD] ids",
    ]
    assert x.get_grad_tensor().to_numpy().tolist() == (ONES / 4).tolist()


def test_names_of_parameters() -> None:
    module = Pair()
    assert list(module.parameters()) == ["Pair/scale", "Pair/first/weight", "Pair/first/bias"]
    assert [name for name, _ in module.named_parameters()] == ["scale", "first.weight", "first.bias"]
    assert [name for name, _ in module.named_buffers()] == ["table"]
    assert sorted(module.state_dict()) == ["first.bias", "first.weight", "scale", "table"]
    assert module.scale
    module.create_name("root")
    assert "root/first/weight" in module.parameters()
    module.eval()
    assert all(child.get_run_mode() is RunMode.EVAL for child in module.children())
    assert [name for name, _ in module.named_modules()] == ["", "first", "again"]


def test_registering_twice_is_an_error() -> None:
    module = ModuleBase()
    module.register_tensor(Tensor.from_numpy(ONES), "a")
    with pytest.raises(RuntimeError, match="already has something named 'a'"):
        module.register_tensor(Tensor.from_numpy(ONES), "a")
    with pytest.raises(RuntimeError, match="already has something named 'a'"):
        module.register_module(ModuleBase(), "a")
    module.override_tensor(Tensor.from_numpy(ONES * 2), "a")
    with pytest.raises(RuntimeError, match="no module named 'b'"):
        module.override_module(ModuleBase(), "b")

    class Early(AbstractModuleBase):
        def __init__(self) -> None:
            self.x = 1

    with pytest.raises(AttributeError, match="call super"):
        Early()


def test_lists_and_dicts_of_modules() -> None:
    parts = [LinearLayer(2, 2, False) for _ in range(3)]
    held = ModuleList(parts[:2])
    held += [parts[2]]
    assert (len(held), held[-1], list(held[1:])) == (3, parts[2], parts[1:])
    assert list(held.parameters()) == [f"ModuleList/{i}/weight" for i in range(3)]
    with pytest.raises(IndexError, match="index 3 is out of range"):
        held[3]
    held.insert(0, parts[2])
    assert held.pop(0) is parts[2]
    assert list(held) == parts
    named = ModuleDict({"a": parts[0]})
    named["b"] = parts[1]
    assert list(named.parameters()) == ["ModuleDict/a/weight", "ModuleDict/b/weight"]
    assert "a" in named
    assert named.pop("a") is parts[0]


def test_modules_by_number_and_name_as_the_reference_holds_them(opened: Any) -> None:
    opened()
    one, two, three = (LinearLayer(2, 2, False) for _ in range(3))
    assert len(ModuleList(None)) == len(ModuleDict(None)) == 0
    held = ModuleList([one, two])
    held.insert(-1, three)
    assert list(held) == [one, two, three] and two in held and LinearLayer(2, 2) not in held
    del held[0]
    assert list(held) == [two, three] and list(held.parameters()) == [
        f"ModuleList/{number}/weight" for number in range(2)
    ]
    assert repr(held) == "ModuleList(\n  (0): LinearLayer\n  (1): LinearLayer\n)"
    named = ModuleDict([("up", one), ("down", two)])
    named.update([("up", three)])
    assert named.get("up") is three and named.get("gate") is None and named.get("gate", one) is one
    assert repr(named) == "ModuleDict(\n  (up): LinearLayer\n  (down): LinearLayer\n)"
    copied = ModuleDict(named)
    assert copied.items() == named.items()
    copied.update(ModuleDict({"up": two}))
    assert copied["up"] is two and named["up"] is three
    assert named.pop("gate", None) is None and named.pop("down") is two
    named.clear()
    assert len(named) == 0 and not list(named.parameters())
    with pytest.raises(
        TypeError, match=r"ModuleList: several modules are wanted, not int; help: ModuleList\("
    ):
        ModuleList(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"ModuleDict: several modules are wanted, not str; help"):
        ModuleDict("up")  # type: ignore[arg-type]


def test_a_layer_may_be_pickled() -> None:
    layer = LinearLayer(4, 3)
    x = Tensor.from_numpy(ONES)
    twin = pickle.loads(pickle.dumps(layer))
    assert twin(x).to_numpy().tobytes() == layer(x).to_numpy().tobytes()
    assert list(twin.parameters()) == list(layer.parameters())
    assert twin.get_weight().dtype() is DataType.BFLOAT16


def test_values_are_of_the_class_of_training() -> None:
    """Whose accessors programs use; what an optimizer or an operation makes of one is, too."""
    value = Tensor.from_numpy(np.ones((1, 1, 2, 2), np.float32)).get_value()
    assert type(value) is DeviceTensor and type(value.derive(value.shards)) is DeviceTensor
    parameter = Tensor.from_numpy(np.ones((1, 1, 2, 2), np.float32))
    kept = parameter.get_value()
    parameter.set_value(kept)
    assert parameter.get_value() is kept
