"""`ttnn.CONFIG`: settings that a program changes while it runs. Source: ttnn specification, section 12."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Config:
    """`enable_model_cache` keeps converted parameters below `model_cache_path` (by default `models` below `cache_path`).

    `throw_exception_on_fallback` and `enable_fast_runtime_mode` can be set, and hold either way: no operation falls back to another library
    or is slowed down by checks. Raises AttributeError for a setting that does not exist.
    """

    __slots__ = (
        "_model_cache_path",
        "cache_path",
        "enable_fast_runtime_mode",
        "enable_model_cache",
        "throw_exception_on_fallback",
    )

    def __init__(self) -> None:
        self.cache_path = Path("~/.cache/ttnn").expanduser()
        self._model_cache_path: Path | None = None
        self.enable_model_cache = False
        self.enable_fast_runtime_mode = True
        self.throw_exception_on_fallback = False

    @property
    def model_cache_path(self) -> Path:
        """The folder of converted models."""
        return Path(self.cache_path) / "models" if self._model_cache_path is None else self._model_cache_path

    @model_cache_path.setter
    def model_cache_path(self, path: str | Path) -> None:
        self._model_cache_path = Path(path)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except AttributeError:
            known = [*(word for word in self.__slots__ if not word.startswith("_")), "model_cache_path"]
            near = difflib.get_close_matches(name, known, n=1) or sorted(known)
            raise AttributeError(
                f"ttnn.CONFIG has no setting {name!r}; did you mean {', '.join(near)}?"
            ) from None


CONFIG = Config()


@contextmanager
def manage_config(name: str, value: Any) -> Iterator[None]:
    """A setting for the length of a `with` block. Raises AttributeError for one that does not exist."""
    before = getattr(CONFIG, name, None)
    setattr(CONFIG, name, value)
    try:
        yield
    finally:
        setattr(CONFIG, name, before)
