"""Operations that a row names with a shape of its own (`add`, `softmax`, `ttnn.transpose`): predicted as a program's call of it would be.

No visible measurement checks these; they rest on what kernels of their kind take in published decoders.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tt_run.runtime.model import notation
from tt_run.runtime.model.operations import Operand, work_of
from tt_run.runtime.model.points import NotCovered, Point
from tt_run.runtime.model.work import Work

# Class of cost -> how operations of it are named, without capitals and underscores; the first that matches.
KINDS = (
    ("matmul", r"^(matmul|linear|bmm)"),
    ("attention", r"scaleddotproduct|sdpa|attention"),
    ("norm", r"norm|softmax"),
    ("sort", r"topk|sort"),
    ("reduction", r"^(sum|mean|max$|min$|argmax|prod|std|var|cumsum|reduce)"),
    (
        "data movement",
        r"transpose|permute|reshape|concat|slice|^pad|tilize|untilize|reshard|sharded|memoryconfig|embedding|gather|fold",
    ),
    ("elementwise", r"^(add|sub|mul|div|pow|where|eq|ne|gt|lt|ge|le|minimum|maximum)|binary|typecast|unary"),
    ("elementwise", r"^(abs|cos|elu|exp|gelu|log|neg|recip|relu|rsqrt|sigmoid|silu|sin|sqrt|square|tanh)"),
)
TWO = r"^(add|sub|mul|div|pow|eq|ne|gt|lt|ge|le|minimum|maximum)|binary"
"""Operations of two operands of one shape."""


def plain_operation(point: Point, traced: bool) -> Work:
    """The work of an operation on the shape of its row. Raises NotCovered for an unknown one, and without a shape."""
    name = re.sub(r"DeviceOperation.*|^ttnn\.|^.*:", "", point.op).split(" ")[0].split("(")[0]
    word = name.lower().replace("_", "")
    kind = next((kind for kind, spelled in KINDS if re.search(spelled, word)), None)
    operands = notation.shapes(point.shape) or [notation.dimensions(point.shape) or []]
    if kind is None or not operands[0] or min(min(one, default=0) for one in operands) < 1:
        raise NotCovered(f"{point.op!r} on {point.shape!r} is no operation of a known kind with a shape")
    named = notation.formats(point.dtype) or ["bfloat16"]
    in_dram = not re.search(r"\bL1\b", f"{point.shape} {point.dtype} {point.topology}")
    sharded = "shard" in f"{point.shape} {point.dtype} {point.topology}".lower()
    inputs = [
        Operand(tuple(one), named[min(place, len(named) - 1)], in_dram, sharded)
        for place, one in enumerate(operands)
    ]
    if kind == "matmul":
        inputs, output = _product(point, named, in_dram)
    else:
        inputs, output = _beside(kind, word, inputs)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    fidelity = notation.fidelity(point.dtype, named[-1])
    work = work_of(snake, kind, inputs, [output], fidelity=fidelity, traced=traced)
    if work is None:
        raise NotCovered(f"{point.op!r} moves nothing on a device")
    return work


def _product(point: Point, named: list[str], in_dram: bool) -> tuple[list[Operand], Operand]:
    found = notation.product(point.shape)
    if not found:
        raise NotCovered(f"no m x k x n in {point.shape!r}")
    m, k, n, batch = found
    inputs = [Operand((batch, m, k), named[0], in_dram), Operand((batch, k, n), named[-1], in_dram)]
    return inputs, Operand((batch, m, n), named[0], in_dram)


def _beside(kind: str, word: str, inputs: list[Operand]) -> tuple[list[Operand], Operand]:
    """The operands that a row does not repeat, and the result."""
    first = inputs[0]
    if len(inputs) < 2:
        inputs = inputs * (3 if kind == "attention" else 2 if re.search(TWO, word) else 1)
    return inputs, replace(first, shape=(*first.shape[:-1], 1)) if kind == "reduction" else first
