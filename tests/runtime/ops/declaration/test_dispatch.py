"""Calls: binding, the texts of refused ones, queues, the recorder, events, operators."""

from __future__ import annotations

import inspect
import operator
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, held, message, put
from tt_run.runtime import catalog, events
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice, MeshShape
from tt_run.runtime.ops.declaration import dispatch
from tt_run.runtime.ops.declaration.argument_kinds import kinds_of
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.creation.from_shape import arange, full
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)


def test_a_wrong_keyword_lists_the_signatures(one: MeshDevice):
    t = put(one, np.ones((2, 2)))
    with pytest.raises(TypeError) as error:
        ops.add(t, t, output_dtype=BF16)
    text = str(error.value)
    assert text.startswith("ttnn.add(): incompatible function arguments.\nCalled with:\n    add(")
    assert "\nAvailable signatures:\n    add(input_tensor_a: ttnn.Tensor | float, input_tensor_b:" in text
    assert "'output_dtype'" in text


def test_a_near_miss_is_named(one: MeshDevice):
    t = put(one, np.ones((2, 2)))
    with pytest.raises(TypeError, match="'memory_confg': did you mean 'memory_config'"):
        ops.exp(t, memory_confg=None)


@pytest.mark.parametrize(
    "call",
    [lambda: ops.gelu(np.ones(3)), lambda: ops.add("a", "b"), lambda: ops.concat(3), lambda: ops.exp()],
)
def test_what_is_no_tensor_lists_the_signatures(call: Any):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call()


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda t: ops.relu(np.ones(3)), "tensor 1 of the call is a numpy.ndarray"),
        (lambda t: ops.matmul(t, np.ones((2, 2))), "tensor 2 of the call is a numpy.ndarray"),
        (lambda t: ops.typecast(np.ones(3), BF16), "input_tensor is a numpy.ndarray"),
        (lambda t: ops.add(t, np.ones(3)), "an operand is a numpy.ndarray"),
    ],
)
def test_an_array_of_another_library_is_named_with_the_way_in(one: MeshDevice, call: Any, what: str):
    with pytest.raises(TypeError) as error:
        call(put(one, np.ones((2, 2))))
    assert f"{what}, not a ttnn.Tensor\nhelp: ttnn.from_torch(" in str(error.value)


@pytest.mark.parametrize(
    ("word", "value", "kind"),
    [
        ("memory_config", 3, "MemoryConfig"),
        ("sub_core_grids", (8, 8), "CoreRangeSet"),
        ("dtype", "bfloat16", "DataType"),
    ],
)
def test_a_keyword_that_only_tunes_hardware_has_its_type_all_the_same(
    one: MeshDevice, word: str, value: object, kind: str
):
    t = put(one, np.ones((2, 2)))
    with pytest.raises(TypeError, match=f"{word} must be of type {kind}, not ") as error:
        ops.add(t, t, **{word: value})
    assert "Available signatures" in str(error.value)
    assert np.array_equal(held(ops.add(t, t, **{word: None})), held(ops.add(t, t)))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda t: ops.sum(t, dim=0, keepdim=1), "keepdim must be of type bool, not int"),
        (lambda t: ops.sum(t, dim=1.0), "dim must be of type int | Sequence[int], not float"),
        (lambda t: ops.softmax(t, 1.0), "dim must be of type int, not float"),
        (
            lambda t: ops.softmax(t, -1, numeric_stable=None),
            "numeric_stable must be of type bool, not NoneType",
        ),
        (lambda t: ops.elu(t, alpha="1"), "alpha must be of type float, not str"),
        (lambda t: ops.elu(t, alpha=None), "alpha must be of type float, not NoneType"),
        (lambda t: ops.moreh_sum(t, dim={0}), "dim must be of type int | Sequence[int], not set"),
        (lambda t: ops.permute(t, [0.0, 1.0]), "expected a sequence of ints, got [0.0, 1.0]"),
        (lambda t: ops.matmul(t, t, core_grid=(1, 1)), "core_grid must be of type CoreGrid, not tuple"),
        (
            lambda t: ops.softmax(t, -1, compute_kernel_config=0),
            "must be of type DeviceComputeKernelConfig, not int",
        ),
        (
            lambda t: ops.layer_norm(t, program_config="fast"),
            "must be of type program configuration, not str",
        ),
        (lambda t: ops.gelu(t, variant="tanh"), "variant must be of type GeluVariant, not str"),
        (lambda t: ops.reshape(t, [4], logical_shape=[4]), "'shape' is given twice, under two names"),
        (
            lambda t: ops.slice(t, [0, 0], [1, 1], slice_start=[1, 1]),
            "a bound of slice is given twice, under two names",
        ),
        (lambda t: ops.div_no_nan(t, t, value=2.0), "not both"),
    ],
)
def test_kinds_are_as_strict_as_the_reference_binds_them(one: MeshDevice, call: Any, text: str):
    """As its wheel answers to the same arguments."""
    with pytest.raises(TypeError) as error:
        call(put(one, np.ones((2, 2))))
    assert text in str(error.value) and "Available signatures" in str(error.value)


@pytest.mark.parametrize(
    ("words", "help"),
    [
        ({"dtype": np.float32}, "write ttnn.float32"),
        ({"dtype": np.dtype("uint8")}, "write ttnn.uint8"),
        ({"dtype": "bfloat16"}, "write ttnn.bfloat16"),
        ({"dtype": "bf16"}, "write ttnn.bfloat16"),
        ({"dtype": np.float64}, "write ttnn.bfloat16, or another name of ttnn.DataType"),
        ({"layout": "tile"}, "write ttnn.TILE_LAYOUT"),
        ({"layout": "ROW_MAJOR_LAYOUT"}, "write ttnn.ROW_MAJOR_LAYOUT"),
        ({"layout": 3}, None),
        ({"memory_config": "L1"}, "write ttnn.L1_MEMORY_CONFIG or ttnn.DRAM_MEMORY_CONFIG"),
        ({"device": 0}, "a device comes from ttnn.open_mesh_device(ttnn.MeshShape(2, 4))"),
        ({"device": "cpu"}, "a device comes from ttnn.open_mesh_device(ttnn.MeshShape(2, 4))"),
    ],
)
def test_words_of_another_library_get_ours(words: dict[str, Any], help: str | None):
    with pytest.raises(TypeError) as error:
        ops.ones((2, 2), **words)
    assert f"\nhelp: {help}" in str(error.value) if help else "help: " not in str(error.value)


@pytest.mark.parametrize(
    ("call", "help"),
    [
        (lambda t: ops.matmul(t, 3), "ttnn.full((32, 32), 3, layout=ttnn.TILE_LAYOUT, device=device)"),
        (lambda t: ops.concat(t, t), "write several tensors as a list: [a, b]"),
        (lambda t: ops.sum(t, axis=1), "'axis': did you mean 'dim'?"),
        (lambda t: ops.concat([t, full((4, 4), 1.0, device=t.device())], 1), "makes all dimensions but one alike"),
        (lambda t: ops.concat([t, full((4, 2), 1.0, device=t.device())], 1), "dim=0 joins them"),
        (lambda t: ops.concat([t, full((1, 2, 2), 1.0, device=t.device())]), "gives both 2 dimensions"),
        (lambda t: ops.permute(t, (0, 0)), "write each of 0 to 1 once"),
        (lambda t: ops.slice(t, [0, 0], [64, 2]), "write 0:2"),
        (lambda t: ops.slice(t, [2, 0], [1, 2]), "write 0:1"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_told_with_what_to_write(one: MeshDevice, call: Any, help: str):
    with pytest.raises((TypeError, RuntimeError)) as error:
        call(put(one, np.ones((2, 2))))
    assert re.search(rf"(?m)^help: .*{re.escape(help)}", str(error.value)), error.value


class Pair(NamedTuple):
    """A tuple that is not made of one sequence."""

    rows: int
    columns: int


def test_what_has_an_index_is_a_whole_number_and_what_has_a_value_a_real_one(one: MeshDevice):
    t = put(one, np.eye(3))
    for number in (1, True, np.int64(1), np.int32(1)):
        assert np.array_equal(held(ops.tril(t, diagonal=number)), held(ops.tril(t, diagonal=1)))
    for number in (2, 2.0, np.float32(2), np.int32(2)):
        assert np.array_equal(held(ops.elu(t, alpha=number)), held(ops.elu(t, alpha=2.0)))
    for dims in ([1, 0], (1, 0), np.array([1, 0]), range(1, -1, -1), Pair(1, 0)):
        assert ops.permute(t, dims).shape == [3, 3]
    assert ops.reshape(t, t.shape).shape == [3, 3]


class Scalar:
    """As a tensor of one element of another library: a value, and an index where it is whole."""

    def __init__(self, value: float):
        self.value = value

    def __float__(self) -> float:
        return float(self.value)

    def __index__(self) -> int:
        if isinstance(self.value, float):
            raise TypeError("only whole numbers have an index")
        return self.value


@pytest.mark.parametrize("number", [Scalar(2), np.int64(2), np.array([2.0]), True])
def test_numbers_of_other_libraries_are_operands_and_dimensions(one: MeshDevice, number: Any):
    """As its wheel takes them: whole ones stay whole beside tensors, limits become fractions."""
    t, whole = put(one, np.full((2, 3, 2), 4)), put(one, np.full((2, 2), 4), I32)
    plain = number.item() if isinstance(number, np.ndarray) else operator.index(number)
    for function in (ops.add, ops.multiply, ops.pow, ops.subtract_, ops.gt, ops.rsub, ops.maximum):
        assert np.array_equal(held(function(ops.clone(t), number)), held(function(ops.clone(t), plain)))
    if not isinstance(number, np.ndarray):
        assert np.array_equal(held(number - t), held(plain - t))
        assert ops.multiply(whole, number).dtype is I32
        assert ops.sum(t, dim=number).shape == ops.sum(t, dim=plain).shape
        assert ops.sum(t, dim=[number, 0]).shape == ops.sum(t, dim=[plain, 0]).shape
        assert t.reshape([number, -1]).shape == t.reshape([plain, -1]).shape
    assert ops.clamp(whole, max=number).dtype is F32


def test_a_tensor_is_filled_with_the_value_of_any_number(one: MeshDevice):
    for number in (Scalar(2.5), np.float32(2.5), np.array([2.5]), 2.5):
        assert np.array_equal(held(full([2], number, BF16, TILE, one)), [2.5, 2.5])
        assert np.array_equal(held(ops.full_like(put(one, np.ones(2)), number)), [2.5, 2.5])


def test_no_number_and_more_than_one_are_refused(one: MeshDevice):
    t = put(one, np.ones((2, 2)))
    for call in (
        lambda: ops.clamp(t, max="2"),
        lambda: ops.where(t, "2", 0.0),
        lambda: ops.leaky_relu(t, np.ones(2)),
        lambda: t.reshape([2.5, -1]),
        lambda: t[np.int64(1)],
        lambda: arange(0, 2.5, device=one),
        lambda: full([2], "2.5", device=one),
        lambda: full({2, 3}, 2.5, device=one),
        lambda: ops.view(t, iter([2, 2])),
        lambda: t.reshape({2: 0, 1: 0}),
    ):
        with pytest.raises(TypeError):
            call()


KNOWN_LATER = "Activation|Level|Dims|Any|object|Set\\[|Callable|Path|Mapper|MeshToTensor|TensorSpec|DumpTensorMode|TensorToMesh"


def test_every_parameter_has_a_kind_or_an_annotation_that_tells_none():
    unknown = {
        (name, parameter.name, str(parameter.annotation))
        for name, op in catalog.every().items()
        for parameter in inspect.signature(op.compute).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and parameter.name not in kinds_of(op.compute).words
        and not re.search(KNOWN_LATER, str(parameter.annotation))
    }
    assert not unknown


def test_what_is_nothing_but_its_function_names_the_argument_too(one: MeshDevice):
    host = from_torch(np.ones((2, 2), np.float32), dtype=BF16)
    for name, args, text in (
        ("ttnn.experimental.get_moe_combine_cores", (1, 2, 3, 4), "mesh_device must be of type MeshDevice, not int"),
        ("ttnn.copy_host_to_device_tensor_partial", (host, put(one, np.ones((2, 2))), 2), "logical_core_filter must be of type CoreRangeSet"),
        ("ttnn.copy_host_to_device_tensor_partial", (host, "a", 2), "device_tensor"),
        ("ttnn.arange", ("a",), "start must be of type int, not str"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=text) as error:
            catalog.find(name)(*args)
        assert str(error.value).startswith(f"{name}(): incompatible function arguments.")


def test_a_type_error_inside_a_kernel_is_not_disguised():
    @operation("ttnn.test_only_broken")
    def broken(input_tensor: object) -> None:
        raise TypeError("inside")

    try:
        with pytest.raises(TypeError, match=r"^inside$"):
            broken(1)
    finally:
        ops.registry.pop("ttnn.test_only_broken")


@pytest.mark.parametrize(
    ("name", "extra", "text"),
    [
        ("add", 1, "Input tensor A must be on device, got storage type: StorageType::HOST"),
        ("matmul", 1, "Operand to matmul must be on device"),
        ("relu", 0, "Unary operation requires input to be on Device. Input storage type: 0"),
        ("softmax", 0, "input_tensor.device() == nullptr, No device found, move input_tensor to device"),
        ("sum", 0, "Expected input tensor to be on device"),
        ("tril", 0, "Input tensor A must be on device, got storage type: StorageType::HOST"),
    ],
)
def test_host_tensors_are_refused(name: str, extra: int, text: str):
    host = from_torch(np.ones((32, 32), np.float32), dtype=BF16, layout=TILE)
    with pytest.raises(RuntimeError) as error:
        getattr(ops, name)(host, *[host] * extra)
    assert message(error.value) == text


def test_tensors_of_parent_and_submesh_do_not_mix(mesh: MeshDevice):
    part = mesh.create_submesh(MeshShape(1, 2))
    a, b = put(mesh, np.ones((4, 4))), put(part, np.ones((4, 4)))
    with pytest.raises(RuntimeError) as error:
        ops.add(a, b)
    assert message(error.value) == "Operands to eltwise binary need to be on the same device!"


def test_a_deallocated_tensor_is_refused(one: MeshDevice):
    t = put(one, np.ones((4, 4)))
    t.deallocate()
    with pytest.raises(RuntimeError, match="not allocated"):
        ops.relu(t)


def test_a_call_that_passed_lets_no_other_one_pass(one: MeshDevice):
    """Calls are known by the specs of their operands: what the rules take once is not asked again, anything else is."""
    here, whole = put(one, np.ones((32, 32)), BF16), put(one, np.ones((32, 32)), I32)
    for _ in range(2):
        assert held(ops.bitwise_and(whole, whole)).all() and held(ops.add(here, here)).all()
    host = from_torch(np.ones((32, 32), np.float32), dtype=BF16, layout=TILE)
    assert host.spec is here.spec
    with pytest.raises(RuntimeError, match="must be on device"):
        ops.add(host, here)
    with pytest.raises(RuntimeError, match="Mixed dtype"):
        ops.add(here, whole)
    with pytest.raises(RuntimeError, match="not supported for binary operation"):
        ops.bitwise_and(here, here)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        ops.add(here, "1")
    rows = put(one, np.ones((32, 32)), BF16, ROW)
    for _ in range(2):
        assert ops.add(rows, here).layout is TILE and ops.add(rows, rows).layout is ROW


def test_a_number_is_known_with_its_type(one: MeshDevice):
    """A float takes integers of 32 bits to float32, an integer leaves them, and both are tried after the other."""
    whole = put(one, np.full((32, 32), 3), I32)
    for _ in range(2):
        assert ops.multiply(whole, 2).dtype is I32
        assert ops.multiply(whole, 2.0).dtype is F32
        assert held(ops.multiply(whole, 0.5))[0, 0] == 1.5


def test_a_sequence_is_known_with_its_numbers(one: MeshDevice):
    tensor = put(one, np.arange(2 * 32 * 32).reshape(2, 32, 32), BF16)
    for _ in range(2):
        assert list(ops.sum(tensor, [0, 1]).shape) == [32] and list(ops.sum(tensor, (0, 2)).shape) == [32]
        assert list(ops.sum(tensor, [1]).shape) == [2, 32]
        assert list(ops.sum(tensor, [np.int64(0)]).shape) == [32, 32]
        with pytest.raises(TypeError, match="incompatible function arguments"):
            ops.sum(tensor, [0.0, 1])
        with pytest.raises(TypeError, match="incompatible function arguments"):
            ops.sum(tensor, {0, 1})


def test_words_by_name_are_known_with_their_values(one: MeshDevice, monkeypatch: pytest.MonkeyPatch):
    """Places, types, flags and texts; a call that is known asks no rule again, one that differs in a word does."""
    tensor, whole = put(one, np.ones((32, 64)), BF16), put(one, np.ones((32, 64)), I32)
    places = {DRAM_MEMORY_CONFIG: BufferType.DRAM, L1_MEMORY_CONFIG: BufferType.L1}
    for _ in range(2):
        for place, buffer in places.items():
            added = ops.add(tensor, tensor, memory_config=place)
            assert added.memory_config().buffer_type is buffer and added.dtype is BF16
            assert ops.add(tensor, tensor, memory_config=place, dtype=F32).dtype is F32
        assert list(ops.sum(tensor, dim=1, keepdim=True).shape) == [32, 1]
        assert list(ops.sum(tensor, dim=1, keepdim=False).shape) == [32]
        assert list(ops.sum(tensor, dim=0, keepdim=1 > 0).shape) == [1, 64]
        with pytest.raises(TypeError, match="incompatible function arguments"):
            ops.sum(tensor, dim=1, keepdim=1)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            ops.add(tensor, tensor, memory_config="DRAM")
        with pytest.raises(RuntimeError, match="Mixed dtype"):
            ops.add(tensor, whole, memory_config=DRAM_MEMORY_CONFIG)
    monkeypatch.setattr(dispatch.FastOperation, "_checked", lambda *_: pytest.fail("asked again"))
    ops.add(tensor, tensor, memory_config=MemoryConfig(buffer_type=BufferType.L1))
    with pytest.raises(pytest.fail.Exception, match="asked again"):
        ops.add(tensor, tensor, memory_config=L1_MEMORY_CONFIG, dtype=BF16)


def test_what_a_call_writes_is_looked_at_each_time(one: MeshDevice):
    tensor, room = put(one, np.ones((32, 32)), BF16), put(one, np.zeros((32, 32)), BF16)
    for _ in range(2):
        assert held(ops.add(tensor, tensor, output_tensor=room))[0, 0] == 2
    other = put(one, np.zeros((64, 32)), BF16)
    with pytest.raises(RuntimeError):
        ops.add(tensor, tensor, output_tensor=other)
    pieces = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(
        CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))]), (32, 32), ShardOrientation.ROW_MAJOR,
    ))  # fmt: skip
    for _ in range(2):
        assert ops.add(tensor, tensor, memory_config=pieces).is_sharded()
    assert not dispatch._alike((tensor, tensor), {"memory_config": pieces})


def test_a_queue_and_a_cache_that_refuse_do_so_for_calls_that_are_known(one: MeshDevice):
    tensor = put(one, np.ones((32, 96)), BF16)
    ops.add(tensor, tensor)
    one.program_cache.clear()
    one.program_cache.misses_allowed = False
    try:
        with pytest.raises(RuntimeError, match="cache misses are not allowed"):
            ops.add(tensor, tensor)
    finally:
        one.program_cache.misses_allowed = True
    with pytest.raises(RuntimeError, match="queue"):
        ops.add(tensor, tensor, queue_id=7)


def test_queues_that_exist_are_accepted(one: MeshDevice):
    t = put(one, np.ones((4, 4)))
    assert held(ops.add(t, t, queue_id=0)).sum() == 32
    with pytest.raises(RuntimeError, match="cq_id 1 is out of range"):
        ops.add(t, t, queue_id=1)  # the device was opened with one
    with pytest.raises(RuntimeError) as error:
        ops.add(t, t, queue_id=5)
    assert message(error.value) == "cq_id 5 is out of range"


def test_who_acts_before_sees_every_call_and_its_outcome(one: MeshDevice):
    seen: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    outcomes: list[Any] = []

    def before(begun: events.Begun) -> events.After:
        seen.append((begun.name, begun.args, dict(begun.kwargs)))
        return lambda result, error: outcomes.append(error or result)

    t = put(one, np.ones((4, 4)))
    leave = events.precede(before)
    try:
        y = ops.add(t, t, dtype=BF16)
        z = y * 2
        with pytest.raises(TypeError, match="incompatible"):
            ops.relu(t, nonsense=1)
    finally:
        leave()
    ops.add(t, t)
    assert [name for name, _, _ in seen] == ["ttnn.add", "ttnn.multiply", "ttnn.relu"]
    assert seen[0][1:] == ((t, t), {"dtype": BF16})
    assert outcomes[0] is y and outcomes[1] is z and isinstance(outcomes[2], TypeError)


@pytest.mark.listening
def test_who_acts_before_may_stop_a_call(one: MeshDevice):
    def refuse(begun: events.Begun) -> None:
        raise RuntimeError(f"{begun.name} was injected a fault")

    ended: list[object] = []
    t = put(one, np.ones((4, 4)))
    leave = [
        events.precede(lambda begun: lambda result, error: ended.append(error)),
        events.precede(refuse),
    ]
    try:
        with pytest.raises(RuntimeError, match=r"ttnn\.add was injected a fault") as raised:
            ops.add(t, t)
    finally:
        for function in leave:
            function()
    assert ended == [raised.value]
    assert not events.listening


def test_operations_are_events_when_somebody_listens(one: MeshDevice):
    heard: list[events.Event] = []
    t = put(one, np.ones((4, 8)))
    stop = events.subscribe(heard.append)
    try:
        ops.add(t, t)
        with pytest.raises(TypeError, match="incompatible"):
            ops.add(t, t, nonsense=1)
    finally:
        stop()
    (event,) = heard
    assert (event.kind, event.name, event.bytes, event.devices) == ("op", "ttnn.add", 128, (0,))
    assert event.end >= event.start
    assert __file__ in event.site
    ops.add(t, t)
    assert len(heard) == 1


def test_operators_of_tensors(one: MeshDevice):
    x, y = np.array([[1.0, 2.0, 4.0]]), np.array([[2.0, 2.0, 0.5]])
    a, b = put(one, x), put(one, y)
    results = [
        a + b,
        a - b,
        a * b,
        a / b,
        1 - a,
        3 * a,
        1 + a,
        1 / a,
        a == b,
        a != b,
        a < b,
        a <= b,
        a > b,
        a >= b,
    ]
    wanted = [
        x + y,
        x - y,
        x * y,
        x / y,
        1 - x,
        3 * x,
        1 + x,
        1 / x,
        x == y,
        x != y,
        x < y,
        x <= y,
        x > y,
        x >= y,
    ]
    for found, value in zip(results, wanted, strict=True):
        assert held(found).tolist() == value.astype(float).tolist()
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*\* or pow\(\)"):
        a**2  # the reference has ttnn.pow alone
    square = put(one, np.eye(3) * 2)
    assert held(square @ square).tolist() == (np.eye(3) * 4).tolist()
    with pytest.raises(TypeError):
        a + "text"  # type: ignore[operator]


def test_operations_describe_themselves():
    assert ops.add.__name__ == ops.add.python_fully_qualified_name == "ttnn.add"
    assert ops.mul.__name__ == "ttnn.multiply"
    assert type(ops.full_like if "ttnn.full_like" in ops.registry else ops.add).__name__ == "FastOperation"
    assert repr(ops.linear) == "FastOperation(python_fully_qualified_name='ttnn.linear')"
    assert ops.div.__name__ == "ttnn.div"
    assert ops.sub_ is ops.subtract_
    with pytest.raises(AttributeError):
        _ = ops.no_such_operation


def test_memory_config_is_kept(one: MeshDevice):
    from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG

    t = put(one, np.ones((4, 4)), F32)
    for result in (
        ops.add(t, t, memory_config=L1_MEMORY_CONFIG),
        ops.softmax(t, memory_config=L1_MEMORY_CONFIG),
    ):
        assert result.memory_config() == L1_MEMORY_CONFIG
    assert ops.add(t, t).memory_config() == t.memory_config()


def test_numbers_that_batch_norm_is_compiled_for(one: MeshDevice):
    pytest.importorskip("torch")
    x, mean, spread = (put(one, np.ones(shape)) for shape in ((1, 4, 32, 32), (1, 4, 1, 1), (1, 4, 1, 1)))
    found = []
    for words in (
        {},
        {"momentum": 0.5},
        {"eps": 1e-3},
        {"training": True},
        {"training": True, "momentum": 0.5},
    ):
        given = {"eps": 1e-5, "momentum": 0.1, **words}
        batch_norm = catalog.find("ttnn.batch_norm")
        assert batch_norm is not None
        batch_norm(x, running_mean=mean, running_var=spread, **given)
        found.append(one.num_program_cache_entries())
    assert [count - found[0] for count in found] == [0, 0, 1, 2, 3]


def test_programs_are_cached_by_operation_and_specs():
    from tt_run.runtime.mesh import open_mesh_device

    device = open_mesh_device(MeshShape(1, 2))
    a, b = put(device, np.ones((4, 4))), put(device, np.ones((8, 4)), BF16)
    before = device.num_program_cache_entries()
    for _ in range(3):
        ops.add(a, a)
        ops.add(b, b)
        ops.exp(a, memory_config=None)
    assert device.num_program_cache_entries() == before + 3
    with pytest.raises(TypeError):
        ops.tanh(a, nonsense=1)
    assert device.num_program_cache_entries() == before + 3
    device.set_program_cache_misses_allowed(False)
    ops.add(b, b)
    with pytest.raises(RuntimeError, match="program cache misses are not allowed"):
        ops.sigmoid(a)
    device.close()


def test_signatures_name_no_union_that_programs_do_not_know() -> None:
    unknown = [
        op.described()
        for op in catalog.every().values()
        if re.search(r"\b(Operand|Limit)\b", " ".join(op.described()))
    ]
    assert not unknown
    assert "false_value: ttnn.Tensor | int | float" in catalog.every()["ttnn.where"].described()[0]
