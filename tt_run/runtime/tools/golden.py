"""`ttnn.get_golden_function`: what an operation computes, as a function of torch tensors. Source: reference library 0.81.1."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.ops.declaration.rows import PLACING
from tt_run.runtime.ops.goldens.creation_goldens import of_type
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tools.activation_goldens import activated
from tt_run.runtime.tools.tensor_ids import (
    OUTPUTS,
    default_postprocess_golden_function_outputs,
    default_preprocess_golden_function_inputs,
)

_TUNING = PLACING | {
    "device",
    "layout",
    "queue_id",
    "cq_id",
    "mode",
    "vector_mode",
    "use_multicore",
    "numeric_stable",
    "sub_device_id",
    "fast_and_approximate_mode",
    "pad_value",
    "sparse_grad",
    "output_tile",
    "optional_output_tensor",
    "out",
}
"""Keywords that say nothing of values."""

_ALIKE = (
    ("input_tensor", "input_tensor_a", "input_a", "input", "tensor"),
    ("input_tensor_b", "input_b", "other"),
)
"""Words for a first operand and for a second one, of which golden functions and operations have different ones."""

_OPERANDS = ("input_tensor_a_activations", "input_tensor_b_activations")
_EVERYWHERE = frozenset(
    [
        *_OPERANDS,
        "activations",
        "activation",
        "program_config",
        "dtype",
        "output_dtype",
        "are_required_outputs",
    ]
)
"""Keywords that mean the same of every operation: they are answered here, unless a golden function names one itself."""


def get_golden_function(operation: FastOperation) -> Callable[..., Any]:
    """The function of torch tensors that an operation is compared with; numbers and other arguments are the operation's own.

    Fused activations, a result's `dtype`, what an operation writes over and which of its results are asked for are honoured for all
    alike. Keywords that place a result or tune hardware may be given and change nothing, unless the golden function names one.
    Raises RuntimeError for an operation without one.
    """
    golden = operation.golden
    if golden is None:
        raise RuntimeError(f"{operation} does not have a golden function")
    function = torch_cpu.torch_function(golden) if isinstance(golden, str) else golden
    own = _Words.of_torch() if isinstance(golden, str) else _Words.of(function)
    ignored = _TUNING - own.names
    names = [
        parameter.name
        for parameter in inspect.signature(operation.compute).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    in_place = operation.short_name.endswith("_")

    def golden_function(*arguments: Any, **keywords: Any) -> Any:
        given, keywords = own.by_place(names, arguments, keywords)
        asked = _type_by_place(names, arguments, own)
        asked |= {word: keywords.pop(word) for word in _EVERYWHERE - own.names & keywords.keys()}
        for place, word in enumerate(_OPERANDS):
            if asked.get(word):
                like = next(value for value in given if hasattr(value, "dtype"))
                given[place] = activated(_tensor(given[place], like), asked[word])
        keywords = {word: v for word, v in keywords.items() if word not in ignored}
        try:
            result = function(*given, **keywords)
        except NotImplementedError:
            result = _widely(function, given, keywords)
        return _as_asked(result, asked, given[0].dtype if in_place and given else None)

    golden_function.__name__ = f"golden_{operation.short_name}"
    return golden_function


@dataclass(frozen=True)
class _Words:
    """The parameters that a golden function names itself, and in which order; None where nobody knows."""

    names: frozenset[str]
    order: tuple[str, ...] | None
    tensors: bool = False
    """Whether only tensors are put in their places: torch may have the word of a number for another one."""

    @classmethod
    def of(cls, function: Callable[..., Any]) -> _Words:
        parameters = inspect.signature(function).parameters.values()
        by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return cls(frozenset(p.name for p in parameters), tuple(p.name for p in by_place))

    @classmethod
    def of_torch(cls) -> _Words:
        return cls(frozenset(), None, tensors=True)

    def by_place(
        self, names: Sequence[str], arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of an operation with those that it has other words for put in their places; `names` are its words."""
        placed, rest = list(arguments), dict(keywords)
        for place, name in enumerate(names[: None if self.order is None else len(self.order)]):
            if place < len(placed):
                continue
            alike = next((words for words in _ALIKE if name in words), (name,))
            word = next((w for w in alike if w in rest), name)
            if word not in rest or word in _TUNING or (word in self.names and self.order[place] != word):  # type: ignore[index]
                break
            if self.tensors and not hasattr(rest[word], "dtype"):
                break
            placed.append(rest.pop(word))
        return placed, rest


def _type_by_place(names: Sequence[str], arguments: Sequence[Any], own: _Words) -> dict[str, Any]:
    """The result's type where it stands among the arguments without a word, and the golden function has none for it."""
    if own.names & {"dtype", "output_dtype"}:
        return {}
    return {
        name: value
        for name, value in zip(names, arguments, strict=False)
        if name in ("dtype", "output_dtype") or isinstance(value, DataType)
    }


def _widely(function: Callable[..., Any], given: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """The function of unsigned integers for which torch has no kernel: of int64, whole numbers back in the type of the first.

    Raises NotImplementedError where there are none.
    """
    torch = torch_cpu.library()
    narrow = [v.dtype for v in given if getattr(v, "dtype", None) in (torch.uint16, torch.uint32)]
    if not narrow:
        raise NotImplementedError("torch computes nothing of the kind for these types")

    def wide(value: Any) -> Any:
        return value.long() if getattr(value, "dtype", None) in narrow else value

    result = function(*map(wide, given), **{word: wide(value) for word, value in keywords.items()})
    return result.to(narrow[0]) if getattr(result, "dtype", None) is torch.int64 else result


def _tensor(value: Any, like: Any) -> Any:
    return value if hasattr(value, "dtype") else torch_cpu.library().tensor(value, dtype=like.dtype)


def _as_asked(result: Any, asked: Mapping[str, Any], kept: Any) -> Any:
    """A golden function's result after the arguments that all operations share; in the type `kept` of what it is written over."""
    fused = [*(asked.get("activations") or ())]
    last = getattr(asked.get("program_config"), "fused_activation", None) or asked.get("activation")
    if fused or last:
        result = activated(result, [*fused, *([last] if last else [])])
    several = isinstance(result, (list, tuple))
    dtype = next((value for value in asked.values() if isinstance(value, DataType)), None)
    if dtype is not None and result is not None:
        result = type(result)(of_type(r, dtype) for r in result) if several else of_type(result, dtype)
    if kept is not None and not several:
        result = result.to(kept)
    required = asked.get("are_required_outputs")
    if required is not None and several and len(result) == len(required):
        result = [value if wanted else None for value, wanted in zip(result, required, strict=True)]
    return result


class GoldenMembers:
    """What an operation says of its own golden function, and what stands between the two."""

    @property
    def golden_function(self: Any) -> Callable[..., Any]:
        """`ttnn.get_golden_function(operation)`; another function of torch tensors may be put in its place."""
        return get_golden_function(self)

    @golden_function.setter
    def golden_function(self: Any, function: Callable[..., Any]) -> None:
        self.golden = function

    @property
    def preprocess_golden_function_inputs(self: Any) -> Callable[..., Any]:
        """What makes the golden function's arguments of the operation's: `(args, kwargs)` of both."""
        return self.__dict__.get("before_golden") or default_preprocess_golden_function_inputs

    @preprocess_golden_function_inputs.setter
    def preprocess_golden_function_inputs(self: Any, function: Callable[..., Any] | None) -> None:
        self.__dict__["before_golden"] = function

    @property
    def postprocess_golden_function_outputs(self: Any) -> Callable[..., Any]:
        """What makes the operation's result of the golden function's: `(output, args, kwargs)`."""
        return self.__dict__.get("after_golden") or default_postprocess_golden_function_outputs

    @postprocess_golden_function_outputs.setter
    def postprocess_golden_function_outputs(self: Any, function: Callable[..., Any] | None) -> None:
        self.__dict__["after_golden"] = function

    @property
    def output_tensor_kwarg_names(self: Any) -> tuple[str, ...]:
        """The keywords that name a tensor which it writes."""
        return OUTPUTS


def get_fallback_function(operation: FastOperation) -> Callable[..., Any]:
    """The golden function of an operation on mesh tensors: their values go to torch, and the result back beside the first operand.

    Raises RuntimeError for an operation without one, and for operands of several shards that differ.
    """
    golden = get_golden_function(operation)

    def fallback_function(*arguments: Any, **keywords: Any) -> Any:
        tensors = [value for value in (*arguments, *keywords.values()) if isinstance(value, Tensor)]
        given = [_in_torch(value) for value in arguments]
        result = golden(*given, **{word: _in_torch(value) for word, value in keywords.items()})
        if not tensors or not hasattr(result, "dtype"):
            return result
        first = tensors[0]
        dtype = next((v for v in (*keywords.values(), *arguments) if isinstance(v, DataType)), None)
        if dtype is None and result.dtype is to_torch(first).dtype:
            dtype = first.dtype
        return from_torch(result, dtype=dtype, layout=first.layout, device=first.device())

    return fallback_function


def _in_torch(value: Any) -> Any:
    return to_torch(value) if isinstance(value, Tensor) else value
