"""How many programs the operations of a test compile: what the reference's suites call `device.cache_entries_counter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any


class CacheEntriesCounter:
    """Counts new entries of a device's program cache, and only those of the blocks under `measure()`."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.total = 0

    def reset(self) -> None:
        """Begin at zero again."""
        self.total = 0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """`with counter.measure():` adds to `total` what the block compiles; a block that fails adds nothing."""
        before = self.device.num_program_cache_entries()
        yield
        self.total += self.device.num_program_cache_entries() - before

    def decorator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, each call of it measured."""

        @wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            with self.measure():
                return function(*args, **kwargs)

        return measured
