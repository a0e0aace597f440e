"""What a program asks the file system through Python: a keeper hears of it first, and may answer in its place."""

from __future__ import annotations

import builtins
import io
import os
import pathlib
from collections.abc import Callable
from typing import Any, Protocol

OPEN, STAT = io.open, os.stat
"""The functions themselves."""
_OS_OPEN, _LISTDIR, _SCANDIR = os.open, os.listdir, os.scandir


class FileRecorder(Protocol):
    """Who is asked for files: it writes down, or answers."""

    def opens(self, file: Any) -> Callable[[Any], int] | None:
        """What gives a descriptor in the place of a file that is opened for reading; None for the file itself."""
        ...

    def stat(self, path: Any) -> os.stat_result:
        """What a file is like. Raises OSError."""
        ...

    def names(self, path: Any, list_: Callable[[], list[str]]) -> list[str]:
        """The names in a folder, which `list_` looks up; where it tells folders apart, they end in a slash. Raises OSError."""
        ...


class _Entry:
    """A name in a folder that is no longer there, as `os.DirEntry`."""

    def __init__(self, folder: Any, name: str, is_folder: bool) -> None:
        self._is_folder = is_folder
        self.name, self.path = name, os.path.join(os.fspath(folder), name)  # noqa: PTH118 - as text

    def __fspath__(self) -> str:
        return self.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._is_folder

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return not self._is_folder

    def is_symlink(self) -> bool:
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path)  # noqa: PTH116


class _Entries:
    """What `os.scandir` gives."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> _Entries:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def install(keeper: FileRecorder) -> None:
    """Let `keeper` answer what the program of this process asks."""
    accessor = getattr(pathlib, "_NormalAccessor", None)  # of Python 3.10
    opened = _shared(_opening(keeper), OPEN)
    builtins.open = io.open = opened
    if accessor is not None:
        accessor.open = opened
    pairs = (
        (_os_opening(keeper), _OS_OPEN),
        (_stating(keeper), STAT),
        (_listing(keeper), _LISTDIR),
        (_scanning(keeper), _SCANDIR),
    )
    for function, original in pairs:
        shared = _shared(function, original)
        setattr(os, original.__name__, shared)
        if accessor is not None and original is not _OS_OPEN:  # its `open` is that of files
            setattr(accessor, original.__name__, shared)
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if original in able:
                able.add(shared)


def _shared(function: Callable[..., Any], original: Any) -> Any:
    """The function in the looks of the original: also no method where a class holds it."""
    function.__name__ = function.__qualname__ = original.__name__
    function.__module__, function.__doc__ = original.__module__, original.__doc__
    return staticmethod(function)


def _opening(keeper: FileRecorder) -> Callable[..., Any]:
    def opened(file: Any, mode: str = "r", *more: Any, **named: Any) -> Any:
        if isinstance(file, (str, bytes, os.PathLike)) and _only_reads(mode) and len(more) < 6:
            instead = keeper.opens(file)
            if instead is not None and not named.get("opener"):
                named["opener"] = lambda path, flags: instead(path)
        return OPEN(file, mode, *more, **named)

    return opened


def _os_opening(keeper: FileRecorder) -> Callable[..., Any]:
    others = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | os.O_DIRECTORY

    def os_opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & others == os.O_RDONLY and dir_fd is None:
            instead = keeper.opens(path)
            if instead is not None:
                return instead(path)
        return _OS_OPEN(path, flags, mode, dir_fd=dir_fd)

    return os_opened


def _stating(keeper: FileRecorder) -> Callable[..., Any]:
    def stat(path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if dir_fd is None and follow_symlinks and isinstance(path, (str, bytes, os.PathLike)):
            return keeper.stat(path)
        return STAT(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    return stat


def _listing(keeper: FileRecorder) -> Callable[..., Any]:
    def listdir(path: Any = None) -> Any:
        if path is None or isinstance(path, (str, os.PathLike)):
            where: Any = "." if path is None else path
            return keeper.names(where, lambda: _LISTDIR(where))
        return _LISTDIR(path)

    return listdir


def _scanning(keeper: FileRecorder) -> Callable[..., Any]:
    def scandir(path: Any = None) -> Any:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            return _SCANDIR(path)
        there: dict[str, Any] = {}

        def look() -> list[str]:
            with _SCANDIR(where) as found:
                there.update((entry.name + "/" * entry.is_dir(), entry) for entry in found)
            return list(there)

        where: Any = "." if path is None else path
        names = keeper.names(where, look)
        return _Entries(
            [there.get(name) or _Entry(where, name.rstrip("/"), name[-1] == "/") for name in names]
        )

    return scandir


def _only_reads(mode: Any) -> bool:
    return isinstance(mode, str) and "r" in mode and "+" not in mode
