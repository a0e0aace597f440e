"""`dataclass`, `field` and `replace` as in the standard library, at a fiftieth of the cost to the start of a command.

The standard decorator writes and compiles six methods per class when a module is imported, and its module loads the parser of
Python's own syntax: for the classes that one launch defines, a third of the time until mpirun starts. Here the shared methods are
shared, and a constructor is compiled only for a class of which several values are made. What these classes offer is the same, `dataclasses.fields`,
`replace` and `asdict` included; what is not needed here (`InitVar`, `unsafe_hash`, `kw_only` of
single fields) is refused.
"""

from __future__ import annotations

from operator import attrgetter

# Only type checkers need typing, and to import it takes as long as ten modules of ours.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    from typing_extensions import dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_: Any) -> Any:
        """Only type checkers ask."""
        return lambda function: function


_COMPILE = "compile_it"
INTERPRETED = 3  # values of a class that are made before its constructor is compiled
_MISSING: Any = type("_Missing", (), {"__repr__": lambda self: "<required>"})()
_FACTORY: Any = type("_Factory", (), {"__repr__": lambda self: "<factory>"})()
"""The default of a parameter whose field is made anew for each value."""


class Field:
    """How one field is treated: its default or what makes it, and where it takes part."""

    __slots__ = ("compare", "default", "default_factory", "init", "repr")

    def __init__(self, default: Any, default_factory: Any, init: bool, repr: bool, compare: bool) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare


def field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any:
    """A field with more than a default; see `dataclasses.field`."""
    return Field(default, default_factory, init, repr, compare)


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    order: bool = False,
    kw_only: bool = False,
) -> Callable[[type[T]], type[T]]:
    """The class with a constructor, comparison and text from its annotated fields; see `dataclasses.dataclass`."""

    def decorate(cls: Any) -> Any:
        own = dict(vars(cls))
        new: dict[str, Field] = {}
        for name, annotation in cls.__annotations__.items():
            if not annotation.startswith("ClassVar"):
                default = own.pop(name, _MISSING)
                new[name] = default if isinstance(default, Field) else field(default=default)
        fields = {**getattr(cls, "__lean_fields__", {}), **new}
        methods = _methods(fields, frozen, eq, repr, order, kw_only)
        if slots:
            for name in ("__dict__", "__weakref__"):
                own.pop(name, None)
            methods["__slots__"] = tuple(new)
            # With slots, an instance has no dictionary from which a copy could be made.
            methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
            made = type(cls)(cls.__name__, cls.__bases__, {**methods, **own})
            made.__qualname__ = cls.__qualname__
        else:
            made = cls
            for name, method in methods.items():
                if name not in own:
                    setattr(made, name, method)
            for name, each in new.items():
                if each.default is not _MISSING:
                    setattr(made, name, each.default)
                elif name in vars(made):
                    delattr(made, name)
        if "__init__" not in own:
            made.__init__ = _first_call(made, fields, frozen, slots, kw_only)
        return made

    return decorate


def replace(value: T, **changes: Any) -> T:
    """The same value with some fields changed."""
    cls: Any = type(value)
    for name, each in cls.__lean_fields__.items():
        if each.init:
            changes.setdefault(name, getattr(value, name))
    made: T = cls(**changes)
    return made


def _methods(
    fields: dict[str, Field], frozen: bool, eq: bool, repr: bool, order: bool, kw_only: bool
) -> dict[str, Any]:
    """Everything but the constructor."""
    compared = [name for name, each in fields.items() if each.compare]
    methods: dict[str, Any] = {
        "__lean_fields__": fields,
        "__match_args__": () if kw_only else tuple([name for name, each in fields.items() if each.init]),
        "__dataclass_fields__": _StandardFields(kw_only),
        "__signature__": _Signature(),
        "__replace__": replace,
    }
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["_compared"] = attrgetter(*compared) if compared else _nothing
        methods["__eq__"] = _eq
        methods["__hash__"] = _hash if frozen else None
    if order:
        methods["__lt__"] = _lt
    if frozen:
        methods |= {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
    return methods


def _first_call(
    cls: Any, fields: dict[str, Field], frozen: bool, slots: bool, kw_only: bool
) -> Callable[..., None]:
    """A constructor that goes through the fields for the first values, then replaces itself by a compiled one.

    Many a class has one value in a launch; compiling takes as long as making thirty of them like this. The compiled one also gets what is
    wrong, for it knows how to say so.
    """
    names = [name for name, each in fields.items() if each.init]
    calls = 0
    compiled: Callable[..., None] | None = None

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        nonlocal calls
        calls += 1
        if compiled is None and calls <= INTERPRETED and len(args) <= (0 if kw_only else len(names)):
            values = _values(fields, dict(zip(names, args, strict=False)), named)
            if values is not None:
                put = object.__setattr__ if frozen else setattr
                for name, value in values.items():
                    put(self, name, value)
                if hasattr(cls, "__post_init__"):
                    self.__post_init__()
                return
        compile_it()(self, *args, **named)

    def compile_it() -> Callable[..., None]:
        nonlocal compiled
        if compiled is None:
            compiled = _constructor(cls, fields, frozen, slots, kw_only)
            __init__.__wrapped__ = compiled  # type: ignore[attr-defined]
            if vars(cls).get("__init__") is __init__:  # nobody has put a constructor of his own around it
                cls.__init__ = compiled
        return compiled

    vars(__init__)[_COMPILE] = compile_it
    return __init__


def _values(fields: dict[str, Field], values: dict[str, Any], named: dict[str, Any]) -> dict[str, Any] | None:
    """The values of all fields, of which those given by place are there already; None where the arguments do not fit."""
    left = len(named)
    for name, each in fields.items():
        if name in values:
            continue
        if each.init and name in named:
            values[name] = named[name]
            left -= 1
        elif each.default_factory is not _MISSING:
            values[name] = each.default_factory()
        elif each.default is not _MISSING:
            values[name] = each.default
        elif each.init:
            return None
    return None if left else values


def _constructor(
    cls: Any, fields: dict[str, Field], frozen: bool, slots: bool, kw_only: bool
) -> Callable[..., None]:
    parameters, body = ["self", *(["*"] if kw_only and fields else [])], []
    known: dict[str, Any] = {"_put": object.__setattr__, "_missing": _FACTORY}
    types = _annotations(cls)
    for name, each in fields.items():
        value = name
        if not each.init:
            value = f"_make_{name}()" if each.default_factory is not _MISSING else f"_default_{name}"
            if value.startswith("_default") and each.default is _MISSING:
                continue  # __post_init__ sets it
        elif each.default_factory is not _MISSING:
            parameters.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name if each.default is _MISSING else f"{name}=_default_{name}")
        known |= {f"_make_{name}": each.default_factory, f"_default_{name}": each.default}
        if frozen and slots:
            known[f"_put_{name}"] = getattr(cls, name).__set__
            body.append(f" _put_{name}(self, {value})")
        elif frozen:
            body.append(f" _put(self, {name!r}, {value})")
        else:
            body.append(f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(body or [" pass"]), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {name: types[name] for name, each in fields.items() if each.init} | {
        "return": None
    }
    return made


def _annotations(cls: Any) -> dict[str, Any]:
    """The types of all fields, those of base classes too."""
    found: dict[str, Any] = {}
    for kind in reversed(cls.__mro__):
        found |= vars(kind).get("__annotations__", {})
    return found


class _Signature:
    """What `inspect.signature` looks for first: the compiled constructor is there when it goes on to that."""

    def __get__(self, value: object, cls: Any) -> NoReturn:
        compile_it = getattr(cls.__init__, _COMPILE, None)
        if value is None and compile_it is not None:
            compile_it()
        raise AttributeError("__signature__")


class _StandardFields:
    """What the functions of `dataclasses` look for, made when they do."""

    __slots__ = ("_kw_only",)

    def __init__(self, kw_only: bool) -> None:
        self._kw_only = kw_only

    def __get__(self, value: object, cls: Any) -> dict[str, Any]:
        import dataclasses

        made: dict[str, Any] = {}
        types = _annotations(cls)
        for name, each in cls.__lean_fields__.items():
            known = {"init": each.init, "repr": each.repr, "compare": each.compare}
            for default in ("default", "default_factory"):
                if getattr(each, default) is not _MISSING:
                    known[default] = getattr(each, default)
            made[name] = (types[name], dataclasses.field(**known))
        listed = [(name, kind, each) for name, (kind, each) in made.items()]
        standard: Any = dataclasses.make_dataclass(
            cls.__name__, listed, eq=False, repr=False, kw_only=self._kw_only
        )
        fields: dict[str, Any] = standard.__dataclass_fields__
        cls.__dataclass_fields__ = fields
        return fields


def _nothing(value: object) -> tuple[()]:
    return ()


def _eq(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return NotImplemented  # type: ignore[no-any-return]
    return bool(self._compared(self) == self._compared(other))


def _lt(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return NotImplemented  # type: ignore[no-any-return]
    return bool(self._compared(self) < self._compared(other))


def _hash(self: Any) -> int:
    return hash(self._compared(self))


def _repr(self: Any) -> str:
    shown = [f"{name}={getattr(self, name)!r}" for name, each in self.__lean_fields__.items() if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_set(self: Any, name: str, value: object) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is immutable; {name} cannot be set")


def _refuse_delete(self: Any, name: str) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is immutable; {name} cannot be deleted")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__lean_fields__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__lean_fields__, state, strict=True):
        object.__setattr__(self, name, value)
