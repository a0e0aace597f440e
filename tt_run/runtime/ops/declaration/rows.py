"""Operations by table: a row is a name, a signature, a function of arrays, and one sentence; the rest is the same for all.

A row's function gets the *values* of the call in the order of the signature: tensors as its engine's arrays, everything else as given.
Parameters that place a result or tune hardware (`PLACING`) stay outside. Results have the dtype and layout of the first tensor, unless
the call's `dtype` or the row says otherwise; bfloat16 is computed in float32 and rounded once.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass, replace
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.activations import Applied
from tt_run.runtime.kernels.elementwise import evaluate, finish
from tt_run.runtime.kernels.short_stacks import of_several
from tt_run.runtime.kernels.torch_elements import ByElement, of_elements
from tt_run.runtime.kernels.torch_float32 import OF_ONE
from tt_run.runtime.ops.declaration import families, whole_numbers
from tt_run.runtime.ops.declaration.broadcast import align, check_broadcast
from tt_run.runtime.ops.declaration.carriers import Carrier, carrier_of
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.ops.declaration.dispatch import Golden, Operation, no_tensor, operation
from tt_run.runtime.ops.declaration.element_types import check_unary, no_integers
from tt_run.runtime.ops.declaration.families import NUMPY, TORCH, Family
from tt_run.runtime.ops.declaration.layouts import check_unary_room
from tt_run.runtime.ops.declaration.operands import in_rank_of, on_device, room_type, settle
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.declaration.signatures import with_signature
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.sharding import of_matrix
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.bfloat16 import BFLOAT16, widen
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, is_float, stored_dtype
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards, combine, combine_all

Array = npt.NDArray[Any]
Function = Callable[..., Any] | str
"""A function of an engine's arrays and numbers, or the path of one below torch: `special.digamma`."""

Engine = Callable[
    [Callable[..., Any], Sequence[Any], Sequence[Tensor], DataType | None], tuple[list[Shards], bool]
]
"""Computes a function of a call's values, the tensors among them, into shards of a dtype; says whether there are several results.

None for the dtype: in float64 and not rounded, which is exact for the integers among the operands.
"""

Check = Callable[[str, Sequence[Tensor], Mapping[str, Any]], None]
"""Raises RuntimeError for arguments that an operation refuses: its name, the tensors among its values, and all arguments by name."""

Place = Callable[[Sequence[Tensor]], MemoryConfig | None]
Beside = Callable[
    [Sequence[Tensor], Sequence[int], Layout, MemoryConfig | None, Tensor | None], MemoryConfig | None
]
"""Where the results of a call with these tensors are unless it says; None for where their first one is."""

PLACING = frozenset(
    [
        "memory_config",
        "output_mem_config",
        "output_memory_config",
        "output",
        "output_tensor",
        "output_tensors",
        "optional_output_tensor",
        "dtype",
        "sub_core_grids",
        "sub_device_id",
        "compute_kernel_config",
        "core_grid",
        "program_config",
        "math_fidelity",
        "output_tile",
        "global_cb",
        "input_grad",
        "other_grad",
        "input_a_grad",
        "input_b_grad",
        "are_required_outputs",
    ]
)
"""Parameters that say where a result goes or how a device should work; they are no values of the function."""

PLACED = "memory_config: MemoryConfig | None = None"
WRITTEN = f"{PLACED}, output_tensor: Tensor | None = None"
UNARY_TAIL = f"*, {WRITTEN}, sub_core_grids: CoreRangeSet | None = None"


@dataclass(frozen=True)
class Row:
    """One operation of a table.

    `name` is below `ttnn`; `signature` as Python writes it, without the result; `doc` one sentence. `integers`: tensors of integers are
    taken. `check`: what else it refuses before it computes. `dtype`: of the results, where it is not that of tensor `like`; `layout` likewise; `memory`: where the
    results are unless a call says; `place` says it of the call's tensors, `beside` of several of them with the result's shape and what is asked. `golden` where it is not the function itself.
    `rooms`: the parameters into which results may go, result by result, where they are not the usual ones; from `on_request` on a result
    is None unless there is room for it, or `are_required_outputs` or the switch `asked_by` asks. A room in `seen` is handed to the
    function too. `type_of`: the type that a call's arguments give its result, None where they say none. Of a `first_only` row's results the call gives the first; the others go into their rooms.
    `keeps_type`: its result has its operands' type whatever `dtype` says.
    `as_given`: result by result, which of the call's tensors it has its type from, and which its place, unless the call says.
    `carried`: result by result, the tensors of which one that lies on cores gives it its place before that.
    `laid`: result by result, the tensors of which one in tiles makes it be in tiles, all of them where none are named.
    `shaped`: the shape of its result where that is not the function's: of the call's tensors, its arguments, and the function's.
    `any_room`: its result goes over into a room's type whatever that is, and into more dimensions of length 1 in front.
    `fitted`: a result in the shape of its room where that may have others than the function's, of the arguments, the room and the result.
    `numbers`: the values that the function gets for those of a call with these tensors, where its numbers are not as given.
    `stays`: beside how many tensors the first result lies where those lie, whatever `memory_config` says.
    `made_alike`: beside how many tensors its results go into ones made like those, so that pieces of any rank stay such; else they are a matrix's where they can be.
    """

    name: str
    signature: str
    function: Function
    doc: str
    integers: bool = True
    check: Check | None = None
    dtype: DataType | None = None
    layout: Layout | Callable[[Sequence[Tensor]], Layout | None] | None = None
    place: Place | None = None
    beside: Beside | None = None
    golden: Golden | None = None
    aliases: Sequence[str] = ()
    like: int = 0
    memory: MemoryConfig | None = None
    rooms: Sequence[str] = ()
    on_request: int | None = None
    asked_by: str = ""
    seen: Sequence[str] = ()
    first_only: bool = False
    keeps_type: bool = False
    type_of: Callable[[Mapping[str, Any]], DataType | None] | None = None
    as_given: Sequence[tuple[int, int]] = ()
    carried: Sequence[Carrier] = ()
    laid: Sequence[tuple[int, ...]] | None = None
    stays: Sequence[int] = ()
    made_alike: Sequence[int] = ()
    shaped: Callable[[Sequence[Tensor], Mapping[str, Any], Sequence[int]], Sequence[int]] | None = None
    any_room: bool = False
    fitted: Callable[[Mapping[str, Any], Tensor, Shards], Shards] | None = None
    numbers: Callable[[Sequence[Any], Sequence[Tensor]], Sequence[Any]] | None = None


def in_bfloat16(values: Sequence[Any], given: Sequence[Tensor]) -> Sequence[Any]:
    """The numbers of a call in bfloat16 where all its tensors are of it: PyTorch takes them in the tensors' type."""
    if any(tensor.dtype is not DataType.BFLOAT16 for tensor in given):
        return values
    return [float(BFLOAT16.type(v)) if isinstance(v, (int, float)) else v for v in values]


def declare(
    family: Family, *rows: Row, engine: Engine | None = None, check: Check | None = None
) -> dict[str, Operation]:
    """Enter rows into the registry; the operations by their names. `engine`: `torch_shards` unless given. `check`: of rows that name none."""
    return {
        row.name: _declared(family, replace(row, check=row.check or check), engine or torch_shards)
        for row in rows
    }


def _into_room(check: Check | None) -> Check:
    """What a row of one operand refuses besides: a tensor for its result that does not go with the operand."""

    def both(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
        check_unary_room(given[0], arguments.get("output_tensor"))
        if check is not None:
            check(name, given, arguments)

    return both


_TENSOR_ALONE = re.compile(r"(\w+): Tensor(?= *[,)])")
"""The parameters of a signature that take a tensor and nothing else."""


def _declared(family: Family, row: Row, engine: Engine) -> Operation:
    if family is families.UNARY:
        row = replace(row, check=_into_room(row.check))
    alone = tuple(_TENSOR_ALONE.findall(row.signature))
    compute = with_signature(row.name, row.signature, partial(_compute, row, engine, alone), row.doc)
    by_torch = engine is torch_shards
    return operation(
        f"ttnn.{row.name}",
        family=family,
        engine=TORCH if by_torch else NUMPY,
        golden=row.golden or (_golden(row, compute) if by_torch else None),
        aliases=[f"ttnn.{alias}" for alias in row.aliases],
    )(compute)


def _golden(row: Row, compute: Callable[..., Any]) -> Golden:
    """The row's own function with the operation's parameters: by position, by keyword or left out."""
    signature = inspect.signature(compute)

    def golden(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        function = torch_cpu.torch_function(row.function) if isinstance(row.function, str) else row.function
        found = function(*_values(row, bound.arguments))
        if not isinstance(found, (list, tuple)):
            return found
        if row.first_only:
            return found[0]
        rooms = _rooms(row, bound.arguments, len(found))
        return _asked_for(row, bound.arguments, list(found), rooms)

    # The operation's own parameters, but for the type of a result, which is answered for all operations alike.
    golden.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p for p in signature.parameters.values() if p.name != "dtype"]
    )
    return golden


def _values(row: Row, arguments: Mapping[str, Any]) -> list[Any]:
    """The arguments that are values of the row's function."""
    outside = (PLACING | set(row.rooms)) - set(row.seen)
    return [value for name, value in arguments.items() if name not in outside]


def _compute(row: Row, engine: Engine, alone: Sequence[str], arguments: dict[str, Any]) -> Any:
    for name in alone:
        if not isinstance(arguments[name], Tensor):
            raise no_tensor(name, arguments[name])
    values = _values(row, arguments)
    given = list(tensors(values))
    on_device(*given, kind=row.name)
    first = given[row.like]
    whole = next((t.dtype for t in given if not is_float(t.dtype)), None)
    chosen = None if row.type_of is None else row.type_of(arguments)
    made = None if whole is None or chosen is not None else whole_numbers.results(row.name, given)
    if row.check is not None:
        row.check(row.name, given, arguments)
    if len(given) == 1:
        check_unary(row.name, first.dtype)
    if not row.integers and whole is not None and made is None and chosen is None:
        raise no_integers(row.name, whole)
    if row.numbers is not None:
        values = list(row.numbers(values, given))
    function = torch_cpu.torch_function(row.function) if isinstance(row.function, str) else row.function
    asked = None if row.keeps_type else arguments.get("dtype")
    target = asked or chosen or row.dtype or first.dtype
    # A floating result goes over into the type of the tensor made for it, rounded once.
    others = any(_room_type(row, target, room) is not target for room in _rooms(row, arguments, 2))
    types = _types(row, given) if target is first.dtype else ()
    others = others or any(dtype is not target for dtype in types)
    unrounded = others or made is not None
    exact = made is not None or (others and not is_float(target))
    wide = None if exact else DataType.FLOAT32 if others else target
    try:
        found, several = engine(function, values, given, wide)
    except RuntimeError as error:
        raise _unfit(row.name, given, error) from None
    if row.shaped is not None:
        shape = row.shaped(given, arguments, found[0].shape)
        found[0] = found[0].map(lambda stack: stack.reshape(len(stack), *shape))
    rooms = _rooms(row, arguments, len(found))
    if row.first_only:
        rooms = rooms[: len(found)]
    memory = _given(arguments, _MEMORY) or row.memory
    if memory is None and row.place is not None:
        memory = row.place(given)
    result = found[0].shape
    if row.beside is not None and len(given) > 1:
        tiled = any(t.layout is Layout.TILE for t in given)
        memory = row.beside(given, result, Layout.TILE if tiled else first.layout, memory, rooms[0])
    elif memory is not None and len(found) == 1 and result == tuple(first.shape):
        pair = len(given) == 2 and memory.nameless and first.is_sharded()
        memory = first.memory_config() if pair else like_operand(first, memory)
    mixed = engine is elements and any(
        t.layout is Layout.TILE for t in given
    )  # rows beside tiles go into tiles
    laid = row.layout(given) if callable(row.layout) else row.layout
    results = []
    for number, (shards, output) in enumerate(zip(found, rooms, strict=True)):
        plain = types[number] if number < len(types) else target
        dtype = _room_type(row, plain if made is None else made[number], output)
        shards = _fitted(row, arguments, output, shards)
        own = arguments.get(f"{row.rooms[number]}_memory_config") if row.rooms else None
        said = None if number == 0 and len(given) in row.stays else own or memory
        results.append(
            settle(
                given,
                Shards(finish(shards.data, dtype), shards.index) if unrounded else shards,
                dtype,
                memory_config=said or _place(row, given, number, shards),
                output_tensor=output,
                layout=laid or (Layout.TILE if mixed else _layout(row, given, number, dtype)),
            )
        )
    return _asked_for(row, arguments, results, rooms) if several and not row.first_only else results[0]


def _room_type(row: Row, dtype: DataType, output: Tensor | None) -> DataType:
    """The type of a result of `dtype` for which there is a room, or None."""
    return output.dtype if row.any_room and isinstance(output, Tensor) else room_type(dtype, output)


def _fitted(row: Row, arguments: Mapping[str, Any], output: Tensor | None, shards: Shards) -> Shards:
    """A result in the shape of the room for it, where the row lets it have that."""
    if output is None:
        return shards
    if row.any_room:
        shards = in_rank_of(output, shards)
    return shards if row.fitted is None else row.fitted(arguments, output, shards)


def _types(row: Row, given: Sequence[Tensor]) -> list[DataType]:
    """The types of results that have them from the call's tensors, of those that the call has."""
    return [given[typed].dtype for typed, _ in row.as_given if typed < len(given)]


def _place(row: Row, given: Sequence[Tensor], number: int, shards: Shards) -> MemoryConfig | None:
    """Where a result lies that lies like a tensor of the call, None for where the first of them does."""
    if number == 0 and len(given) in row.stays:
        return None
    alike = [shards.shape == tuple(tensor.shape) for tensor in given]
    carrier = carrier_of(row.carried[number], given, alike) if number < len(row.carried) else None
    if carrier is not None:
        return _held(row, given, carrier)
    place = row.as_given[number][1] if number < len(row.as_given) else 0
    if place >= len(given) or not alike[place]:
        place = 0
    found = _held(row, given, place)
    return None if found is given[0].memory_config() else found


def _held(row: Row, given: Sequence[Tensor], place: int) -> MemoryConfig:
    """Where a result of a row lies that lies like a tensor of the call."""
    held = given[place].memory_config()
    return held if len(given) in row.made_alike else of_matrix(held)


def _layout(row: Row, given: Sequence[Tensor], number: int, dtype: DataType) -> Layout | None:
    """The layout of a result that has it from some of the call's tensors; from the operand where one of those is a number."""
    if row.laid is None:
        return None
    named: Sequence[int] = row.laid[number] if number < len(row.laid) else range(len(given))
    if any(place >= len(given) for place in named):
        named = (1,)
    tiled = dtype in BLOCK_FLOATS or any(given[place].layout is Layout.TILE for place in named)
    return Layout.TILE if tiled else Layout.ROW_MAJOR


def _rooms(row: Row, arguments: dict[str, Any], count: int) -> list[Any]:
    """Where the results of a call go, None for one without a place of its own."""
    return [arguments.get(name) for name in row.rooms] or _outputs(arguments, count)


def _asked_for(row: Row, arguments: dict[str, Any], results: list[Any], rooms: Sequence[Any]) -> list[Any]:
    """Several results of a call, None in the place of those that it does not ask for."""
    wanted = arguments.get("are_required_outputs")
    if row.on_request is None:
        return _required(results, wanted)
    asked = [*(wanted or ()), *([bool(row.asked_by and arguments[row.asked_by])] * len(results))]
    return [
        result if number < row.on_request or room is not None or asked[number] else None
        for number, (result, room) in enumerate(zip(results, rooms, strict=True))
    ]


_DOES_NOT_FIT = (
    "must match the size of tensor",
    "must match the existing size",
    "expanded size of the tensor",
)
_DOES_NOT_GO_TOGETHER = (
    "greater or equal to the number of dimensions",
    "Sizes of tensors must match",
    "must have same number of dimensions",
    "inconsistent tensor size",
    "size mismatch",
    "cannot be multiplied",
    "Expected size for first two dimensions",
)


def _unfit(name: str, given: Sequence[Tensor], error: RuntimeError) -> RuntimeError:
    """What to raise for an error of PyTorch: one of shapes that do not fit names them all, any other stays as it is."""
    shapes = ", ".join(str(tensor.shape) for tensor in given)
    if any(words in str(error) for words in _DOES_NOT_FIT):
        return fatal(
            f"{name}: the shapes {shapes} do not broadcast against each other",
            hint="each dimension, counted from the end, is the same or 1; ttnn.reshape adds ones",
        )
    if any(words in str(error) for words in _DOES_NOT_GO_TOGETHER):
        return fatal(
            f"{name}: the shapes {shapes} do not fit each other",
            hint="ttnn.reshape, ttnn.transpose or ttnn.slice make them fit",
        )
    return error


def torch_shards(
    function: Callable[..., Any], values: Sequence[Any], given: Sequence[Tensor], target: DataType | None
) -> tuple[list[Shards], bool]:
    """The function of torch tensors, one device's shards at a time."""
    if isinstance(function, ByElement) and target is DataType.BFLOAT16:
        made = _by_element(function, values, given)
        if made is not None:
            return made, True
    several = False

    def noted(*shards: Any) -> Any:
        nonlocal several
        result = _called(function, values, *shards)
        several = isinstance(result, (list, tuple))
        return result

    def on_stacks(*stacks: Array) -> list[Array]:
        if target is None:
            return list(torch_cpu.on_each(noted, [s.astype(np.float64) for s in stacks]))
        return [finish(a, target, either=True) for a in torch_cpu.on_each(noted, [_real(s) for s in stacks])]

    shards = [t.shards for t in given]
    # Elements that stay in 16 bits are widened for this call alone; of few it would take longer than what they save.
    return combine_all(on_stacks, *shards, either=any(s.stack.size > BLOCK for s in shards)), several


def _by_element(function: ByElement, values: Sequence[Any], given: Sequence[Tensor]) -> list[Shards] | None:
    """The function of tensors of bfloat16, which come first among the values; None where it is not for `torch_elements`."""
    if any(tensor.dtype is not DataType.BFLOAT16 for tensor in given):
        return None
    return of_elements(function, [tensor.shards for tensor in given], values[len(given) :])


def stacks(
    function: Callable[..., Any], values: Sequence[Any], given: Sequence[Tensor], target: DataType | None
) -> tuple[list[Shards], bool]:
    """The function of NumPy stacks (devices, *shard): every device at once. It must treat every shard by itself."""

    def on_stacks(*arrays: Array) -> Array:
        with np.errstate(all="ignore"):
            found = np.ascontiguousarray(_called(function, values, *arrays))
            return found if target is None else finish(found, target)

    return [combine(on_stacks, *(t.shards for t in given))], False


def elements(
    function: Callable[..., Any], values: Sequence[Any], given: Sequence[Tensor], target: DataType | None
) -> tuple[list[Shards], bool]:
    """The function of NumPy blocks, element by element; tensors broadcast against each other.

    It computes in float32 where one tensor or the result is of a floating type, else in the type of the first tensor.
    """
    for other in given[1:]:
        check_broadcast(given[0].shape, other.shape)
    if len(given) == 1 and values[0] is given[0] and given[0].dtype is target and target in OF_ONE:
        params = tuple(tuple(value) if isinstance(value, list) else value for value in values[1:])
        made = OF_ONE[target](Applied(function, params), given[0].shards)
        if made is not None:
            return [made], False
    if target is DataType.BFLOAT16 and len(given) > 1 and all(t.dtype is target for t in given):
        made = _of_several(function, values, given)
        if made is not None:
            return [made], False
    rank = max(len(t.shape) for t in given)
    real = target is None or is_float(target) or any(is_float(t.dtype) for t in given)
    compute = np.dtype(np.float32) if real else stored_dtype(given[0].dtype)

    def on_stacks(*arrays: Array) -> Array:
        if target is None:
            with np.errstate(all="ignore"):
                return np.asarray(
                    _called(function, values, *(align(a.astype(np.float64), rank) for a in arrays))
                )
        aligned = [align(a.astype(compute, copy=False), rank) for a in arrays]
        return evaluate(partial(_called, function, values), target, *aligned)

    return [combine(on_stacks, *(t.shards for t in given))], False


def _of_several(
    function: Callable[..., Any], values: Sequence[Any], given: Sequence[Tensor]
) -> Shards | None:
    shards = [t.shards for t in given]
    if len(given) == len(values):
        return of_several(function, shards)
    return of_several(partial(_called, function, values), shards)


def _called(function: Callable[..., Any], values: Sequence[Any], *shards: Any) -> Any:
    """The function on shards, put in the places of their tensors."""
    left = iter(shards)
    return function(*(_placed(value, left) for value in values))


def _placed(value: Any, left: Any) -> Any:
    if isinstance(value, Tensor):
        return next(left)
    if isinstance(value, (list, tuple)):
        placed = [_placed(item, left) for item in value]
        return placed if isinstance(value, list) else tuple(placed)
    return value


def _real(stack: Array) -> Array:
    """A stack in an element type that PyTorch computes in: it has no arithmetic on unsigned 16 and 32 bits, and bfloat16 is rounded once."""
    if stack.dtype == BFLOAT16:
        return widen(stack)
    return stack.astype(np.int64) if stack.dtype in (np.uint32, np.uint16) else stack


# Where results go that a caller has made room for: one, several, or the gradients of a first and a second operand.
_MEMORY = ("memory_config", "output_mem_config", "output_memory_config")
_ROOMS = ("output_tensor", "optional_output_tensor", "output_tensors", "output")
_FIRST, _SECOND = ("input_grad", "input_a_grad"), ("other_grad", "input_b_grad")


def _outputs(arguments: dict[str, Any], count: int) -> list[Tensor | None]:
    output = _given(arguments, _ROOMS)
    if output is None:
        pair = [_given(arguments, _FIRST), _given(arguments, _SECOND)]
        return [*pair, *([None] * count)][:count]
    return list(output) if isinstance(output, (list, tuple)) else [output]


def _given(arguments: dict[str, Any], names: Sequence[str]) -> Any:
    return next((arguments[name] for name in names if arguments.get(name) is not None), None)


def _required(results: list[Any], wanted: Sequence[bool] | None) -> list[Any]:
    """Results, None in the place of those that a caller does not ask for."""
    wanted = [*(wanted or ()), *([True] * len(results))]
    return [result if keep else None for result, keep in zip(results, wanted, strict=False)]
