"""Caches of keys and values as functions of torch tensors: each gives the cache as it is afterwards and leaves the given one alone.

Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library

Golden = Callable[..., Any]


def fill(cache: Any, tensor: Any, user: int, *_: Any, update_idx: int = 0, **__: Any) -> Any:
    """The rows of one user from `update_idx` on."""
    filled = cache.clone()
    filled[user : user + 1, :, update_idx : update_idx + tensor.shape[-2], :] = tensor
    return filled


def update(cache: Any, tensor: Any, position: int, batch_offset: int = 0, *_: Any, **__: Any) -> Any:
    """One row of every user: (1, heads, users, width) into (users, heads, rows, width)."""
    updated = cache.clone()
    users = tensor[0, :, batch_offset : batch_offset + cache.shape[0], :]
    updated[:, :, position, :] = users.transpose(0, 1)
    return updated


def in_words(golden: Golden, **words: str) -> Golden:
    """The same function with an operation's own words for its parameters."""

    def spoken(*arguments: Any, **named: Any) -> Any:
        return golden(*arguments, **{words.get(word, word): value for word, value in named.items()})

    return spoken


FILL = in_words(
    fill, cache_tensor="cache", input_tensor="tensor", input="tensor", batch_idx="user", batch_index="user"
)
UPDATE = in_words(update, input="tensor", update_idx="position", update_index="position")


def indexed_update(
    cache_tensor1: Any,
    input_tensor1: Any,
    cache_tensor2: Any,
    input_tensor2: Any,
    rows: Any,
    *_: Any,
    **__: Any,
) -> tuple[Any, Any]:
    """Rows of two caches in pages, by their number over all pages; numbers outside are passed over."""
    found = cache_tensor1.clone(), cache_tensor2.clone()
    length = cache_tensor1.shape[2]
    for source, row in enumerate(rows.reshape(-1)[: input_tensor1.shape[2]].tolist()):
        page, place = divmod(int(row), length)
        if 0 <= page < cache_tensor1.shape[0]:
            for cache, tensor in zip(found, (input_tensor1, input_tensor2), strict=True):
                cache[page, :, place, :] = tensor[0, :, source, :]
    return found


def plus_one(tensor: Any, *_: Any, skip_negative_entries: bool = False, **__: Any) -> Any:
    """Positions one further; negative ones stay if asked for."""
    wide = tensor.to(library().int64)
    moved = wide + 1
    if skip_negative_entries:
        moved = library().where(wide >= 0, moved, wide)
    return moved.to(tensor.dtype)
