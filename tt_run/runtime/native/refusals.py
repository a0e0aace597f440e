"""How the reference's native classes look from Python: their names in Python's own refusals, and the signatures that they list.

A class of ours that stands for a native one is decorated with `@bound("ttnn._ttnn.tensor.CoreCoord", "to_json", …)`. Nothing is looked
up before a call has failed: `reference_signatures.txt` has the texts, and `scripts/reference_signatures` made it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from tt_run.runtime.errors import incompatible
from tt_run.runtime.native.classes import native

Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])


def native_class(name: str, *methods: str) -> Callable[[Class], Class]:
    """Class decorator: the class goes by its native name, and wrong arguments of its constructor and of `methods` list the signatures.

    A missing attribute names the class as the reference does.
    """

    def dress(cls: Class) -> Class:
        native(name)(cls)
        for method in ("__init__", *methods):
            setattr(cls, method, native_method(name)(getattr(cls, method)))
        return cls

    return dress


def refusal(
    key: str, name: str, args: Sequence[object], kwargs: Mapping[str, object], why: str
) -> TypeError | None:
    """The TypeError of a native function whose arguments do not fit, with `why` as a note; None for a name that has no signatures."""
    known = signatures().get(key)
    if known is None:
        return None
    error = incompatible(name, known, args, kwargs)
    return with_note(error, why)


Error = TypeVar("Error", bound=Exception)


def with_note(error: Error, why: str) -> Error:
    """The error with what we know better below it: a note, which Python 3.11 and later show, or else part of the text."""
    if hasattr(error, "add_note"):
        error.add_note(why)
        return error
    return type(error)(f"{error}\n{why}")


@lru_cache(maxsize=1)
def native_functions() -> dict[str, str]:
    """The keys of native functions by their last name: `close_mesh_device` to `ttnn._ttnn.multi_device.close_mesh_device()`."""
    return {key[:-2].rpartition(".")[2]: key for key in signatures() if key.endswith("()")}


@lru_cache(maxsize=1)
def signatures() -> dict[str, list[str]]:
    """The signatures of native methods, functions (`….close_device()`) and settable attributes (`….CoreGrid.x=`) by their names."""
    found: dict[str, list[str]] = {}
    text = Path(__file__).with_name("reference_signatures.txt").read_text(encoding="utf-8")
    for line in text.split("\n"):
        if line and line[0] != "#":
            key, _, signature = line.split("\t", 2)
            found.setdefault(key, []).append(signature)
    return found


def native_method(owner: str) -> Callable[[Function], Function]:
    """Decorator of a method of the native class `owner`: arguments that do not fit it list the reference's signatures."""

    def dress(method: Function) -> Function:
        name = method.__name__

        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return method(self, *args, **kwargs)
            except (TypeError, AttributeError, OverflowError) as error:
                if str(error).startswith(f"{name}(): incompatible function arguments"):
                    raise
                why = getattr(error, "__notes__", [str(error)])[-1]
                told = refusal(f"{owner}.{name}", name, (self, *args), kwargs, why)
                if told is None and name == "__init__" and isinstance(error, TypeError):
                    # The reference makes such objects itself, in a function of the library.
                    told = with_note(TypeError(f"{owner}: no constructor defined!"), why)
                if told is None:
                    raise
                raise told from None

        return call  # type: ignore[return-value]

    return dress
