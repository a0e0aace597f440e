"""What a program asks the library of itself: the answers are in the record, where a replay could not work them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tt_run.runtime.record.mpi.calls import NotRecorded
from tt_run.runtime.record.mpi.crossing import At, Book, current_book, record_result

OF_LIBRARY = (
    "Compute_dims", "get_vendor", "Get_error_string", "Get_error_class", "Get_address", "Lookup_name",
    "Add_error_class", "Add_error_code", "Add_error_string", "Remove_error_class", "Remove_error_code", "Remove_error_string",
)  # fmt: skip
"""Functions of the module with a plain answer."""
OF_COMM = ("Cart_map", "Graph_map", "Is_revoked", "Revoke", "Agree", "Ack_failed", "py2f")
OF_WINDOW = ("Get_attr", "Get_name")
OF_REQUEST = ("Pready", "Pready_range", "Pready_list", "Parrived")
ATTRIBUTES = ("TAG_UB", "UNIVERSE_SIZE", "WTIME_IS_GLOBAL", "APPNUM", "HOST", "IO", "LASTUSEDCODE")
"""What a communicator knows that a program has not told it."""


def recorded_method(kind: str, name: str, real: Any, at_of: Callable[[Any], At]) -> Any:
    """A method of the library whose plain answer is written down."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return record_result(at_of(self), f"{kind}{name}", lambda: real(self, *args, **kwargs))

    method.__name__, method.__doc__ = name, real.__doc__
    return method


def words_of(kind: str, name: str, real: Any, at_of: Callable[[Any], At]) -> Any:
    """The same for words for the library (MPI.Info), which are written down one by one."""

    def method(self: Any) -> Any:
        kept: list[Any] = []

        def cross() -> dict[str, str]:
            kept.append(real(self))
            return {key: str(kept[0].Get(key)) for key in kept[0]}

        record_result(at_of(self), f"{kind}{name}", cross)
        return kept[0]

    method.__name__, method.__doc__ = name, real.__doc__
    return method


def attribute_of(real: Any, at_of: Callable[[Any], At], known: Callable[[], set[int]]) -> Any:
    """`Get_attr` of a communicator: what the program has put there itself is not written down."""

    def Get_attr(self: Any, keyval: int) -> Any:
        if keyval not in known():
            return real(self, keyval)
        return record_result(at_of(self), "Get_attr", lambda: real(self, keyval))

    Get_attr.__doc__ = real.__doc__
    return Get_attr


def ask_library(mpi: Any, book: Callable[[], Book]) -> None:
    """Let the module's functions write down what they answer."""
    for name in OF_LIBRARY:
        if hasattr(mpi, name):
            setattr(mpi, name, _function(name, getattr(mpi, name), book))


def _function(name: str, real: Any, book: Callable[[], Book]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return record_result(At(book, 0, 1), name, lambda: real(*args, **kwargs))

    call.__name__, call.__doc__ = name, real.__doc__
    return call


def replayed_answers() -> Mapping[str, Any]:
    """The module's functions in a replay."""
    return {name: _replayed(name) for name in OF_LIBRARY}


def _replayed(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        if current_book().inside:  # in a handler of errors, whose calls are part of the one that failed
            return _of_itself(name, *args, **kwargs)
        return record_result(At(current_book, 0, 1), name, None)

    return call


def _of_itself(name: str, errorcode: int = 0, *more: Any) -> Any:
    """What is known without the library: the class of an error that is not the program's own is its number."""
    if name == "Get_error_class":
        return errorcode
    raise NotRecorded(f"MPI.{name}() in a handler of errors")
