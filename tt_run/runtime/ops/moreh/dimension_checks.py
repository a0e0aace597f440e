"""Which dimensions the family takes: those of reductions and softmax are counted from the front, operation by operation in its words.

Source: refusals of reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.errors import ArgumentMismatch, fatal, in_range
from tt_run.runtime.ops.declaration.rows import Check
from tt_run.runtime.ops.moreh.declaring import dimensions, kept_shape
from tt_run.runtime.tensor.tensor import Tensor


def _front(rank: int) -> str:
    return f"dim is one of {', '.join(map(str, range(rank)))}, counted from the front"


def _named(dim: int | Sequence[int] | None) -> Sequence[int]:
    return () if dim is None else (dim,) if isinstance(dim, int) else dim


def within(most: int, beyond: str) -> Check:
    """Of a reduction: dimensions from 0 to `most`, else it says `beyond` of each, that its tensor has."""

    def check(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
        rank = len(given[0].shape)
        for dim in _named(arguments["dim"]):
            if not 0 <= dim <= most:
                raise fatal(beyond.format(dim=dim), hint=_front(rank))
            if dim >= rank:
                raise fatal(f"dim must be smaller than input tensor rank {rank}.", hint=_front(rank))

    return check


def of_gradient(words: str) -> Check:
    """Of the gradient of a reduction: dimensions that what was reduced has; `words` names its rank."""

    def check(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
        shape = arguments.get("input_grad_shape")
        if shape is None:
            known = (arguments.get(word) for word in ("input", "input_grad"))
            whole = next((tensor for tensor in known if tensor is not None), None)
            if whole is None and words == "input_rank":
                raise fatal(
                    "either input or input_grad must have a value",
                    hint="input=… names the tensor that was summed",
                )
            shape = (given[0] if whole is None else whole).shape
        rank = len(shape)
        first = -rank if arguments["keepdim"] else 0
        for dim in _named(arguments["dim"]):
            if not first <= dim < rank:
                raise fatal(f"dim {dim} < {words} {rank}", hint=_front(rank))
        kept = arguments["keepdim"]
        wanted = kept_shape(tuple(shape), dimensions(rank, arguments["dim"]), kept)
        # Of means the gradient need only have all dimensions where they are kept.
        if len(given[0].shape) != len(wanted) and (kept or words == "input_rank"):
            raise fatal(
                f"expected_rank {len(wanted)} == rank {len(given[0].shape)}",
                hint=f"a gradient of shape {wanted}: the last two dimensions stay as ones",
            )

    return check


def scalar(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Of the gradient of a product of vectors: one number, in rows."""
    shape = tuple(given[0].shape)
    if len(shape) < 2 or set(shape) != {1}:
        raise fatal("Invalid value type", "is_scalar(output_grad)", hint="a gradient of shape [1, 1, 1, 1]")


def running(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Of running sums: dimensions of the tensor, counted from either end."""
    rank, dim = len(given[0].shape), arguments["dim"]
    if not -rank <= dim < rank:
        raise fatal(
            f"The requested accumulation axis is {dim}, while the input tensor has rank {rank}.",
            hint=in_range("dim", rank),
        )


def natural(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Of softmax and its kin: a natural number, which the tensor has."""
    rank, dim = len(given[0].shape), arguments["dim"]
    if dim < 0:
        raise ArgumentMismatch(f"dim must be 0 or more, not {dim}\nhelp: {_front(rank)}")
    if dim >= rank:
        raise fatal(f"dim {dim} should be less than output tensor rank {rank}", hint=_front(rank))
