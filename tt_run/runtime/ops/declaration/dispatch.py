"""From a call to a result: one point through which every operation of the library goes.

An `Operation` is a name and a function whose own signature declares the parameters, so Python binds arguments at its own speed and
`inspect` and editors see them. Around it: queue options, events, the program cache, and the reference's text for wrong arguments.
What else is known of an operation (family, cost, golden function, what becomes of its arguments) stands in the same declaration.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import CodeType
from typing import Any, ClassVar, NoReturn

from tt_run.runtime import events
from tt_run.runtime.errors import ArgumentMismatch as ArgumentMismatch
from tt_run.runtime.errors import type_name
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.native.arguments import FAULTS, mismatch, nearest
from tt_run.runtime.ops.declaration import programs
from tt_run.runtime.ops.declaration.argument_kinds import UNIONS, Kinds, kinds_of
from tt_run.runtime.ops.declaration.costs import Cost
from tt_run.runtime.ops.declaration.families import NUMPY, Family
from tt_run.runtime.ops.declaration.layouts import LAYOUTS, check_layouts
from tt_run.runtime.ops.declaration.misfits import STUMBLES, misfit, raised_on_purpose
from tt_run.runtime.ops.declaration.operand_types import TYPES, check_types
from tt_run.runtime.ops.declaration.places import PLACES, at_rest, check_places
from tt_run.runtime.ops.declaration.spellings import SPELLINGS, spelled_as_usual
from tt_run.runtime.queues import check_queue, issuing, taken_queue
from tt_run.runtime.tensor.late_methods import late_methods
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.values.dtypes import stored_dtype

_UNION = re.compile(rf"\b(?:{'|'.join(UNIONS)})\b")
# Classes that programs know as `ttnn.…`.
_PUBLIC = re.compile(
    r"\b(Tensor|DataType|Layout|MemoryConfig|CoreRangeSet|CoreGrid|Tile|MeshDevice|MeshCoordinate)\b"
)


Golden = Callable[..., Any] | str
"""A function of torch tensors, or its path below torch: `nn.functional.silu`."""


# Operations that the reference registers from Python; the first are Python functions, whose wrong arguments Python words.
_PYTHON_FUNCTIONS = frozenset(
    f"ttnn.{word}"
    for word in (
        "as_tensor", "dump_tensor", "from_torch", "load_tensor", "pearson_correlation_coefficient", "to_torch",
    )
)  # fmt: skip
_FROM_PYTHON = _PYTHON_FUNCTIONS | {
    f"ttnn.{word}"
    for word in (
        "allocate_tensor_on_device", "allocate_tensor_on_host", "copy_device_to_host_tensor", "copy_host_to_device_tensor",
        "copy_host_to_device_tensor_partial", "deallocate", "from_device", "reallocate", "to_device", "unsqueeze_to_4D",
    )
}  # fmt: skip


def no_tensor(what: str, value: object) -> ArgumentMismatch:
    """What to raise for `what`, an argument that must be a tensor of the library and is something else."""
    text = f"{what} is a {type_name(value)}, not a ttnn.Tensor"
    if type(value).__module__.partition(".")[0] in ("torch", "numpy"):
        text += "\nhelp: ttnn.from_torch(tensor, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device) makes one of it"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        text += f"\nhelp: ttnn.full((32, 32), {value!r}, layout=ttnn.TILE_LAYOUT, device=device) makes one of a number"
    return ArgumentMismatch(text)


VALUES, ACCEPTED, REFUSED = "values", "accepted", "refused"
"""States of an operation: it computes true values; it is accepted and changes nothing; it is refused with a sentence."""


_GOLDEN = "golden_function preprocess_golden_function_inputs postprocess_golden_function_outputs output_tensor_kwarg_names"


OUTPUTS = (
    "output_tensor",
    "optional_tensor",
    "optional_output_tensor",
    "out",
    "output",
    "output_tensors",
    "optional_output_tensors",
)
"""Keywords that name a tensor which an operation writes."""


class FastOperation(late_methods("tt_run.runtime.tools.golden.GoldenMembers", _GOLDEN)):  # type: ignore[misc]
    """A function of the library on mesh tensors. Call it as the function it is.

    `name` is the qualified name (`ttnn.add`), `signatures` what a wrong call is shown; by default the function's own. `family` says
    what kind of operation it is, `cost` how its work is counted, `engine` which library computes it. `golden` is the same operation
    on torch tensors, or the path of a function below torch; None where there is none. A `direct` one is nothing but its function: no
    trace records it, no event tells of it. The class has the reference's name; `golden_function` comes from a module above this one
    and is found when it is first asked for.
    """

    __slots__ = (
        "__dict__",
        "compute",
        "cost",
        "direct",
        "engine",
        "family",
        "golden",
        "kinds",
        "layouts",
        "may_keep",
        "name",
        "passed",
        "placed",
        "places",
        "python_fully_qualified_name",
        "ruled",
        "signatures",
        "spellings",
        "state",
        "types",
    )
    is_experimental = False  # what the reference's operations say of themselves
    output_tensor_kwarg_names: tuple[str, ...] = OUTPUTS
    crossing: ClassVar[Callable[[FastOperation, tuple[Any, ...], dict[str, Any]], Any] | None] = None
    """Computes a direct operation while a graph is captured, which no event tells of."""
    watching: ClassVar[
        Callable[[FastOperation, tuple[Any, ...], dict[str, Any], Callable[..., Any]], Any] | None
    ] = None
    """Goes around the function of a direct operation while hooks or files of calls look at every one."""
    postponing: ClassVar[Callable[[FastOperation, tuple[Any, ...], dict[str, Any]], Any] | None] = None
    """Computes an operation on tensors that are still to be sent later; only there while a receive waits for its sender."""
    parted: ClassVar[Callable[[Tensor, Tensor], None] | None] = None
    """Told of a tensor that was written into and of the one that is returned for it, while a trace follows tensors."""
    dispatched: ClassVar[bool] = True
    """Whether programs go to a device, which keeps them; not while a graph is captured with NO_DISPATCH."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        signatures: tuple[str, ...] = (),
        *,
        family: Family | None = None,
        cost: Cost | None = None,
        engine: str | None = None,
        golden: Golden | None = None,
        state: str = VALUES,
        direct: bool = False,
    ) -> None:
        self.name = self.python_fully_qualified_name = name
        self.compute = function
        self.signatures = signatures
        self.family = family
        self.cost = cost or (family.cost if family else None)
        self.engine = engine or (family.engine if family else NUMPY)
        self.golden = golden
        self.state = state
        self.direct = direct
        self.spellings = SPELLINGS.get(name)
        self.is_cpp_operation = name not in _FROM_PYTHON
        self.kinds: Kinds | None = None
        self.layouts = LAYOUTS.get(name.removeprefix("ttnn."))
        self.types = TYPES.get(name.removeprefix("ttnn."))
        self.places = PLACES.get(name.removeprefix("ttnn."))
        self.ruled = bool(self.layouts or self.types or self.places)
        self.placed = any(place.asks_all for place in self.places or ())
        self.may_keep = programs.may_keep(family)
        self.passed: dict[tuple[object, ...], tuple[object, tuple[TensorSpec, ...]]] = {}
        self.__name__ = name
        self.__qualname__ = self.short_name
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    @property
    def short_name(self) -> str:
        """The last part of the name: `add`."""
        return self.name.rpartition(".")[2]

    def _checked(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], key: tuple[object, ...]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[object, ...]]:
        """The arguments as the function gets them, and the key of such calls, none where they are not those that were given. Raises what the rules
        of kinds, layouts, types and places refuse.
        """
        if kwargs or len(args) > 1:
            given = args, kwargs
            args, kwargs = (self.kinds or self._learned()).taken(args, kwargs)
            if args is not given[0] or kwargs is not given[1]:
                key = ()
        if not self.ruled:
            return args, kwargs, key
        names = (self.kinds or self._learned()).names
        if self.layouts:
            check_layouts(self.short_name, self.layouts, names, args, kwargs)
        if self.types:
            check_types(self.short_name, self.types, names, args, kwargs)
        if self.places and (kwargs or self.placed or not at_rest(args)):
            check_places(self.places, names, args, kwargs)
        return args, kwargs, key

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.direct and not self._on_queue(kwargs):
            return self._call_directly(args, kwargs)
        if kwargs:
            if self._on_queue(kwargs):
                with issuing(taken_queue(kwargs)):
                    return self(*args, **kwargs)
            if self.spellings is not None:
                kwargs = spelled_as_usual(self.spellings, kwargs)
        key = () if self.may_keep else _alike(args, kwargs)
        known = self.passed.get(key)
        try:
            if known is None:
                args, kwargs, key = self._checked(args, kwargs, key)
            result = perform(self, args, kwargs)
        except FAULTS as error:
            self._explain(error, args, kwargs)
        except STUMBLES as error:
            unbound = self._unbound(args, kwargs)
            if unbound is not None:
                self._explain(unbound, args, kwargs)
            found = misfit(self.name, error, args, kwargs)
            if found is error:
                raise
            raise found from error
        if known is None:
            self._compiled(key, args, kwargs, result)
        else:
            self._use(args[0]._device, known[0])
        if kwargs or type(result) is not Tensor:
            return result if result is None else _apart(result, args, kwargs)
        for value in args:  # as `_apart`, without a call of its own
            if value is result:
                return _beside(result)
        return result

    def _call_directly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of what no event tells of and no program is kept for: a border, a question."""
        try:
            watching = FastOperation.watching
            result = (
                self._across(args, kwargs) if watching is None else watching(self, args, kwargs, self._across)
            )
            return result if result is None else _apart(result, args, kwargs)
        except (TypeError, AttributeError) as error:
            if self.name in _PYTHON_FUNCTIONS:
                raise
            other = (self.kinds or self._learned()).refusal(args, kwargs)
            if other is None and isinstance(error, AttributeError):
                raise
            self._explain(other or error, args, kwargs)

    def _across(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        crossing = FastOperation.crossing
        return self.compute(*args, **kwargs) if crossing is None else crossing(self, args, kwargs)

    def _on_queue(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether a call names its queue, and that is not the function's own affair."""
        if "queue_id" not in kwargs and "cq_id" not in kwargs:
            return False
        own = inspect.signature(self.compute).parameters
        return "queue_id" not in own and "cq_id" not in own

    def _learned(self) -> Kinds:
        """The kinds of the parameters, found at the first call that needs them."""
        self.kinds = kinds_of(self.compute, self.name.removeprefix("ttnn."))
        return self.kinds

    def _compiled(
        self, key: tuple[object, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        """Enter the call into the program cache of its mesh; with a key keep in mind that all rules take such a call."""
        first = args[0] if args else None
        device = first.device() if isinstance(first, Tensor) else None
        device = device or _device_of(args) or _device_of(kwargs.values())
        if device is None:
            return
        if self.may_keep and programs.changes_nothing(self.name, args, result):
            check_queue(device)
            return
        program = self.program(args, kwargs)
        if key:
            if len(self.passed) >= _MOST_PASSED:
                self.passed.clear()
            # Keys have specs by their identity: the entry keeps those alive.
            tensors = (*args, *kwargs.values()) if kwargs else args
            self.passed[key] = program, tuple(value.spec for value in tensors if isinstance(value, Tensor))
        self._use(device, program)

    def program(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        """What the program of a call is known by in the cache of its mesh."""
        names = (self.kinds or self._learned()).names
        return programs.program_of(self.name, self.family, self.compute, names, args, kwargs)

    def _use(self, device: MeshDevice, program: object) -> None:
        check_queue(device)
        if FastOperation.dispatched:
            device.program_cache.use(program)

    def _unbound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentMismatch | None:
        """Why a call that was refused fits no signature, which is said before all else; None where it fits."""
        signature = inspect.signature(self.compute)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            return ArgumentMismatch(str(error))
        for name, value in given.items():
            wanted = {word.strip() for word in str(signature.parameters[name].annotation).split("|")}
            fits = isinstance(value, Tensor) or (value is None and "None" in wanted)
            if not fits and "Tensor" in wanted and wanted <= {"Tensor", "None"}:
                return no_tensor(name, value)
        return (self.kinds or self._learned()).refusal(args, kwargs)

    def _explain(self, error: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> NoReturn:
        """Raise the reference's text when the arguments fit no signature; any other error goes on as it is."""
        if isinstance(error, ArgumentMismatch):
            fault: str | None = str(error)
        elif self.direct and "incompatible function arguments" in str(error):
            fault = getattr(error, "__notes__", [""])[-1]
        else:
            fault = mismatch(self.compute, args, kwargs, error)
        if fault is None:
            if isinstance(error, ValueError) and not self.direct:
                raise misfit(self.name, error, args, kwargs) from error
            if self.direct or isinstance(error, ValueError) or raised_on_purpose(error):
                raise error
            fault = f"{type(error).__name__}: {error}"
        raise TypeError(
            f"{self.name}(): incompatible function arguments.\n"
            f"Called with:\n    {_call_text(self.short_name, args, kwargs)}\n"
            f"Available signatures:\n"
            + "\n".join(f"    {s}" for s in self._fitting(error))
            + f"\n{fault}{nearest(self.compute, kwargs, args)}"
        ) from None

    def _fitting(self, error: Exception) -> tuple[str, ...]:
        """The signatures that a refusal lists."""
        forms: tuple[str, ...] = getattr(error, "signatures", ())
        return tuple(f"{self.short_name}{form}" for form in forms) or self.described()

    def described(self) -> tuple[str, ...]:
        """The signatures as text, in the reference's notation."""
        if self.signatures:
            return self.signatures
        written = str(inspect.signature(self.compute)).replace("'", "")
        text = _PUBLIC.sub(r"ttnn.\1", _UNION.sub(lambda word: UNIONS[word[0]].text, written))
        return (f"{self.short_name}{text}",)

    def __repr__(self) -> str:
        return f"FastOperation(python_fully_qualified_name={self.name!r})"


Operation = FastOperation


def view(operation: Operation, *args: Any) -> Any:
    """Compute what is no program of its own, such as a tensor in another shape: recorded and observed, but not compiled."""
    return perform(operation, args, {})


def perform(operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute an operation: the one path of every call, whether anybody listens or not."""
    begun = events.begin("op", operation.name, operation, args, kwargs) if events.listening else None
    try:
        result = (
            NotImplemented
            if FastOperation.postponing is None
            else FastOperation.postponing(operation, args, kwargs)
        )
        if result is NotImplemented:
            result = operation.compute(*args, **kwargs)
    except BaseException as error:
        if begun is not None:
            begun.fail(error)
        raise
    if begun is not None:
        first = result[0] if isinstance(result, (list, tuple)) and result else result
        if isinstance(first, Tensor):
            spec, device = first._spec if first._storage.allocated else None, first._device
        else:
            spec = device = None
        ended = events.now()
        layout = (0, (), ()) if device is None else (device.mesh_id, device.positions, device.local_positions)
        begun.end(
            result, (operation_event, operation.name, begun.start, ended, *events.place(), *layout, spec)
        )
    return result


_MOST_PASSED = 1024
_PLAIN = frozenset({int, float})
_ONLY_INT = frozenset({int})
_NAMED = frozenset({int, float, bool, str, type(None)})
"""Of values that a key has by name."""


def _alike(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[object, ...]:
    """What all calls share that the rules take and that are one program: specs of device tensors, by identity, numbers, sequences of whole ones,
    and by name words and places, too; nothing for a call of anything else, or one that writes a tensor.
    """
    found: list[object] = []
    for value in args:
        kind = type(value)
        if kind is Tensor and value._device is not None:
            found.append(id(value._spec))
        elif found and kind in _PLAIN:
            found.append((kind, value))
        elif found and (kind is list or kind is tuple) and _ONLY_INT.issuperset(map(type, value)):
            found.append((kind, *value))
        else:
            return ()
    if kwargs and found:
        for word, value in kwargs.items():
            kind = type(value)
            if kind in _NAMED or isinstance(value, Enum):
                found.append((word, kind, value))
            elif kind is WormholeComputeKernelConfig:  # of which nothing is asked but its kind
                found.append((word, kind))
            elif kind is MemoryConfig and (place := value.known_by()) is not None:
                found.append((word, place))
            elif kind is Tensor and value._device is not None and word not in OUTPUTS:
                found.append((word, id(value._spec)))
            else:
                return ()
    return tuple(found)


def _apart(result: Any, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result, where it is no argument; of each tensor that was written into, another one over the same buffer."""
    if isinstance(result, Tensor):
        for value in args:
            if value is result:
                return _beside(result)
        for value in kwargs.values():
            if value is result or (type(value) in _LISTS and any(one is result for one in value)):
                return _beside(result)
    elif isinstance(result, _LISTS):
        given = {id(one) for one in _tensors((*args, *kwargs.values()))}
        if any(id(one) in given for one in result):
            return type(result)(_beside(one) if id(one) in given else one for one in result)
    return result


def _beside(written: Tensor) -> Tensor:
    made = written.alias()
    if FastOperation.parted is not None:
        FastOperation.parted(written, made)
    return made


_LISTS = (list, tuple)


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    """Tensors among arguments, and those that lists among them hold."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, _LISTS):
            yield from (one for one in value if isinstance(one, Tensor))


def operation_event(
    name: str,
    start: float,
    end: float,
    code: CodeType | None,
    at: int,
    mesh_id: int,
    positions: Sequence[int],
    local: Sequence[int],
    spec: TensorSpec | None,
) -> events.Event:
    """The event of an operation: on a mesh whose devices are at `positions`, those with the numbers `local` here; `spec` of the first result."""
    # Not from the shards: a tensor that is still to be received must not be waited for here.
    size = math.prod(spec.shape) * stored_dtype(spec.dtype).itemsize if spec is not None and local else 0
    return events.Event(
        "op",
        name,
        start=start,
        end=end,
        site=events.site_of(code, at),
        mesh_id=mesh_id,
        devices=tuple(positions[i] for i in local),
        bytes=size,
    )


registry: dict[str, Operation] = {}
"""Every operation by its qualified name, as far as the modules that declare them are loaded (see `tt_run.runtime.catalog`)."""


def operation(
    name: str,
    *signatures: str,
    family: Family | None = None,
    cost: Cost | None = None,
    engine: str | None = None,
    golden: Golden | None = None,
    state: str = VALUES,
    direct: bool = False,
    aliases: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Operation]:
    """Declare a function as the operation `name`, and enter it into the registry under that and its `aliases`.

    The parameters are those of `FastOperation`. The function's own signature is the operation's; its docstring begins with one sentence.
    """

    def enter(function: Callable[..., Any]) -> Operation:
        made = Operation(
            name,
            function,
            signatures,
            family=family,
            cost=cost,
            engine=engine,
            golden=golden,
            state=state,
            direct=direct,
        )
        for word in (name, *aliases):
            registry[word] = made
        return made

    return enter


def _device_of(values: Iterable[Any]) -> MeshDevice | None:
    """The mesh of the first tensor on one among arguments, or in a sequence of them."""
    for value in values:
        if isinstance(value, Tensor):
            device = value.device()
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor):
            device = value[0].device()
        else:
            continue
        if device is not None:
            return device
    return None


def _call_text(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    words = [*map(type_name, args), *(f"{k}: {type_name(v)}" for k, v in kwargs.items())]
    return f"{name}({', '.join(words)})".replace("tt_run.runtime.enums.", "ttnn.")
