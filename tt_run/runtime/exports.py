"""How the shims publish names: operations straight from the catalog, the rest by a table of where each lives.

A shim holds no logic: it says which module has what. Importing it stays cheap, and a program loads the parts it uses.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import opcode
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, FunctionType
from typing import Any

_NEAR = 0.75  # of difflib's scale: below that, names that merely share letters are suggested

_BUILT_BY_NAMES = tuple(
    f"tt_run.runtime.train.{part}."
    for part in (
        "modules",
        "models",
        "optimizers",
        "trainers",
        "common",
        "datasets",
        "parallel",
        "checkpointing",
    )
)

_TAUGHT: dict[FunctionType, Callable[..., Any]] = {}
"""Functions as programs are given them, by the function at home."""


def publish(
    namespace: dict[str, Any],
    table: Mapping[str, str],
    submodules: Sequence[str] = (),
    operations: str = "",
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a shim module whose globals are `namespace`.

    `table` maps a module to the names it provides, separated by blanks; `new=old` publishes `old` as `new`, and a dotted name is an
    attribute of an attribute. `submodules` are modules below the shim itself. `operations` is the namespace of the operations that
    the shim publishes besides: `ttnn.transformer`.
    """
    package = namespace["__name__"]
    homes: dict[str, tuple[str, str]] = {}
    for module, names in table.items():
        for entry in names.split():
            public, _, own = entry.partition("=")
            homes[public] = (module, own or public)

    def resolve(name: str) -> Any:
        if name in homes:
            module, path = homes[name]
            value: Any = importlib.import_module(module)
            for step in path.split("."):
                value = getattr(value, step)
            if f"{getattr(value, '__module__', '')}.".startswith(_BUILT_BY_NAMES):
                value = _taught(value, package, name)
        elif name in submodules:
            value = importlib.import_module(f"{package}.{name}")
        elif name == "__all__":
            # A star import sees names that were not asked for yet only where they are listed.
            value = sorted(word for word in {*homes, *submodules, *_operations(operations)} if word[0] != "_")
        else:
            value = _operation(operations, name)
            if value is None:
                if _imports(sys._getframe(1)):
                    text = _unknown(package, name, listing)
                    raise ImportError(f"cannot import name {name!r} from {package!r}: {text}", name=package)
                raise _Unknown(package, name, listing)
        namespace[name] = value
        return value

    def listing() -> list[str]:
        own = (name for name in namespace if not name.startswith("_"))
        return sorted({*homes, *submodules, *_operations(operations), *own})

    resolve.homes = homes  # type: ignore[attr-defined]  # what the stubs are written from
    return resolve, listing


def _taught(value: Any, package: str, name: str) -> Any:
    """A class or a function whose refusal of an argument's name says, in a note, which name is near or which there are.

    A class keeps its identity, since programs derive from it and ask for its kind, so its `__init__` is what teaches. A function is
    given in a form of its own, one for all modules that publish it; its home keeps the plain one.
    """
    if isinstance(value, type):
        make = value.__init__  # type: ignore[misc]
        if make is not object.__init__:
            value.__init__ = _teaching(make)  # type: ignore[misc]
        if isinstance(vars(value).get("make"), staticmethod):
            value.make = staticmethod(_teaching(value.make))  # type: ignore[attr-defined]
    elif isinstance(value, FunctionType):
        if value not in _TAUGHT:
            _TAUGHT[value] = taught = _teaching(value)
            if taught is not value:
                taught.__module__, taught.__qualname__ = package, name  # where `pickle` finds it
        return _TAUGHT[value]
    return value


def _teaching(make: Callable[..., Any]) -> Callable[..., Any]:
    if hasattr(make, "__wrapped__"):
        return make

    @functools.wraps(make)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return make(*args, **kwargs)
        except TypeError as error:
            if hasattr(error, "add_note") and (help := _argument_help(make, args, kwargs, str(error))):
                error.add_note(help)
            raise

    return call


def _argument_help(
    make: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], text: str
) -> str:
    """Which keyword is near or which there are, or how a call goes where arguments are missing or too many; "" for another refusal."""
    *_, own = make.__qualname__.split(".<locals>.")
    if not text.startswith(f"{own}() "):
        return ""
    from tt_run.runtime.native.arguments import nearest, parameter_words

    parameters = [each for each in inspect.signature(make).parameters.values() if each.name != "self"]
    near = nearest(make, kwargs, args).strip()
    if "unexpected keyword argument" in text:
        return near or f"help: it takes {', '.join(each.name for each in parameters)}"
    if "positional argument" in text or "keyword-only argument" in text:
        return near or f"help: {own.removesuffix('.__init__')}({parameter_words(parameters)})"
    return ""


class _Unknown(AttributeError):
    """Finds its words when it is shown: whoever asks a module whether it has a name, as `hasattr` and `pickle` do, reads none."""

    def __init__(self, package: str, name: str, listing: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self._found = (package, name, listing)

    def __str__(self) -> str:
        return _unknown(*self._found)

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)


# What a traceback shows.
_Unknown.__module__, _Unknown.__qualname__, _Unknown.__name__ = "builtins", "AttributeError", "AttributeError"


class _Absent:
    """Words the error for a module of `ttnn` or `tracy` that no finder has; it stands behind all others."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        package = name.partition(".")[0]
        if package in ("ttnn", "ttml") and name != package:
            _refuse_name(name)
        if package not in ("ttnn", "tracy") or name == package:
            return
        from tt_run.runtime.native import names as reference

        text = (
            reference.sentence(name)
            if reference.has(name)
            else f"the emulation of {package} has no module {name!r}"
        )
        raise ModuleNotFoundError(text, name=name)


def _imports(frame: FrameType) -> bool:
    """Whether a program is just taking a name by `from … import …`, for which Python has words without hints."""
    return frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]


def _refuse_name(name: str) -> None:
    """Raises ImportError with the nearest names for `from ttnn import all_gater`, whose last word Python then looks for as a module."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        if frame.f_code.co_name == "_handle_fromlist":
            break
        frame = frame.f_back  # type: ignore[assignment]
    else:
        return
    parent, _, word = name.rpartition(".")
    try:
        getattr(sys.modules[parent], word)
    except AttributeError as error:
        raise ImportError(f"cannot import name {word!r} from {parent!r}: {error}", name=parent) from None


def tell_absent_modules() -> None:
    """Let the import of a module of `ttnn` or `tracy` that is missing say whether the reference has it."""
    if _Absent not in sys.meta_path:
        sys.meta_path.append(_Absent)


def _operation(namespace: str, name: str) -> Any:
    if not namespace or name.startswith("__"):
        return None
    from tt_run.runtime import catalog

    return catalog.find(f"{namespace}.{name}")


def _operations(namespace: str) -> Sequence[str]:
    if not namespace:
        return ()
    from tt_run.runtime import catalog

    return catalog.names(namespace)


def _unknown(package: str, name: str, listing: Callable[[], Sequence[str]]) -> str:
    if name.startswith("__"):  # what Python itself and its tools ask modules for
        return f"module {package!r} has no attribute {name!r}"
    from tt_run.runtime.native import names as reference

    qualified = f"{package[package.find('ttnn') :]}.{name}"
    if qualified in reference.names():
        return reference.sentence(qualified)
    lacks = f"the emulation of {package} has no attribute {name!r}"
    if words := reference.successor(qualified):
        return f"{lacks}, {words}"
    there = listing()
    from difflib import get_close_matches

    near = get_close_matches(name, there, n=3, cutoff=_NEAR)
    near = near or sorted(each for each in there if len(name) > 2 and each.startswith(f"{name}_"))[:3]
    hint = f"the nearest names it has: {', '.join(near)}" if near else f"dir({package}) lists what it has"
    return f"{lacks}; {hint}"
