"""What a program is known by in the program cache of a mesh: an operation, the specs of its operands, and the attributes it is compiled for.

Numbers that reach a kernel when it runs (scalars, seeds, bounds of random numbers) and tensors that are only written to make no other
program. Source: counts of `num_program_cache_entries` of reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.ops.declaration import elementwise_programs, families
from tt_run.runtime.ops.declaration.families import Family
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

_SCALARS = frozenset(
    {
        families.COMPLEX,
        families.BACKWARD,
        families.RANDOM,
        families.CREATION,
    }
)
"""Families whose numbers are values."""

_AT_RUN_TIME = frozenset(
    {
        "numeric_stable",
        "optional_output_tensor",
        "out",
        "output",
        "output_tensor",
        "scalar",
        "seed",
        "use_multicore",
    }
)
_COMPILED_NUMBERS = frozenset({"epsilon", "input_tensor_start", "pad_value", "probability", "value"})
_COMPILED_IN = {
    "ttnn.batch_norm": ("eps", "momentum"),
    "ttnn.moreh_sgd": ("lr", "momentum", "dampening", "weight_decay"),
}
"""Numbers that single operations are compiled for; a momentum only where statistics are taken."""
_ONE_NAME = {
    "ttnn.experimental.nlp_concat_heads": "ttnn.transformer.concatenate_heads",
    "ttnn.linear": "ttnn.matmul",
}
_ALWAYS_NEW = frozenset(
    {
        families.BINARY,
        families.COLLECTIVE,
        families.MATMUL,
        families.NORM,
        families.POOL,
        families.REDUCTION,
        families.TERNARY,
        families.UNARY,
    }
)
"""Families whose results are never an operand as it was."""
_VIEWS = frozenset(
    f"ttnn.{word}" for word in ("experimental.view", "squeeze", "unsqueeze", "unsqueeze_to_4D", "view")
)


def may_keep(family: Family | None) -> bool:
    """Whether an operation of a family may give its operand as it was, or another view of it."""
    return family not in _ALWAYS_NEW


def changes_nothing(name: str, args: Sequence[Any], result: Any) -> bool:
    """Whether a call compiled no program: it is another view of its operand, or found it as it was to be."""
    if name in _VIEWS:
        return True
    first = args[0] if args else None
    if not isinstance(first, Tensor) or not isinstance(result, Tensor) or result is first:
        return False
    if result.storage is first.storage:
        return True
    if name != "ttnn.reshape" or result.memory_config() != first.memory_config():
        return False
    kept = -2 if first.layout.name == "TILE" else -1
    return tuple(first.padded_shape)[kept:] == tuple(result.padded_shape)[kept:] and (
        kept == -1 or tuple(first.shape)[kept:] == tuple(result.shape)[kept:]
    )


def program_of(
    name: str,
    family: Family | None,
    function: Callable[..., Any],
    names: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> tuple[object, ...]:
    """The key of a call of an operation's function, whose positional arguments are called `names`."""
    if name == "ttnn.experimental.group_attn_matmul":
        return _by_blocks(name, args, kwargs)
    if family in elementwise_programs.FAMILIES:
        return elementwise_programs.key_of(name, family, function, names, args, kwargs)
    key: list[object] = [_ONE_NAME.get(name, name)]
    for place, value in enumerate(args):
        if isinstance(value, Tensor):
            key.append(value.spec.program)
        elif value is not None:
            _add(key, names[place] if place < len(names) else "", value, args, family)
    for word, value in kwargs.items():
        if value is not None:
            _add(key, word, value, args, family)
    if name in _COMPILED_IN:
        words = {**dict(zip(names, args, strict=False)), **kwargs}
        idle = name == "ttnn.batch_norm" and not words.get("training")
        key += ((w, words[w]) for w in _COMPILED_IN[name] if w in words and not (idle and w == "momentum"))
    return tuple(key)


def _by_blocks(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[object, ...]:
    """The key of a kernel that learns its shapes when it runs: element types, kinds of memory, and the tiles of a result's row done at once."""
    key: list[object] = [name]
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            memory = value.memory_config()
            key.append((value.dtype, memory.memory_layout, memory.buffer_type))
        elif isinstance(value, MemoryConfig):
            key.append((value.memory_layout, value.buffer_type))
        elif isinstance(value, Enum):
            key.append(value)
    key.append(min(-(-tensors[1].shape[-1] // tensors[1].tile.edges[1]), _TILES_AT_ONCE))
    return tuple(key)


_TILES_AT_ONCE = 8


def _add(key: list[object], word: str, value: Any, args: Sequence[Any], family: Family | None) -> None:
    """Add an argument to a key: its name and its value, or nothing."""
    kind = type(value)
    if kind is float:
        if word in _COMPILED_NUMBERS and family not in _SCALARS:
            key += (word, value)
    elif word in _AT_RUN_TIME or (word == "keepdim" and family is families.REDUCTION):
        return
    elif kind in _KEPT or (kind not in _OTHER and _is_kept(kind)):
        key += (word, value)
    elif kind is int:
        if word.startswith("dim"):
            rank = len(args[0].shape) if args and isinstance(args[0], Tensor) else 0
            key += (word, value % rank if rank else value)
        elif family not in _SCALARS:
            key += (word, value)
    elif isinstance(value, Tensor):
        key += (word, value.spec.program)
    elif kind is list or kind is tuple:
        key.append(word)
        for part in value:
            if isinstance(part, (list, tuple)):
                key.append(tuple(map(repr, part)))
            elif part is not None:
                _add(key, "dims" if word.startswith("dim") else "", part, args, None)


_KEPT: set[type] = {str, bool, MemoryConfig, CoreRangeSet}
_OTHER: set[type] = {int, Tensor, list, tuple}


def _is_kept(kind: type) -> bool:
    """Whether values of a type stand in a key as they are; looked at once for each type."""
    kept = issubclass(kind, (str, bool, Enum, MemoryConfig, CoreRangeSet))
    (_KEPT if kept else _OTHER).add(kind)
    return kept
