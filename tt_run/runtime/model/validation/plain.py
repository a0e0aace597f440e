"""Operations that a row names with a shape of its own (`add`, `softmax`, `ttnn.transpose`): predicted as a program's call of it would be.

No visible measurement checks these; they rest on what kernels of their kind take in published decoders.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tt_run.runtime.model.operations import Operand, work_of
from tt_run.runtime.model.validation import notation
from tt_run.runtime.model.validation.points import NotCovered, Point
from tt_run.runtime.model.work import Work

TWO = r"^(add|sub|mul|div|pow|(eq|ne|gt|lt|ge|le)$|minimum|maximum)|binary"
"""Operations of two operands of one shape."""
ELEMENTWISE = (
    TWO,
    r"^(where|typecast)|unary",
    r"^(abs|a?(cos|sin|tan)h?2?$|ceil|celu|cbrt|clamp|clip|elu|erf|exp|floor|frac|gelu|hard|identity|leaky|log|mish|neg|prelu)",
    r"^(recip|relu|round|rsqrt|selu|sigmoid|sign|silu|soft|sqrt|square|swish|tanh|threshold|tri[lu]$|trunc|xlogy)",
    r"^(addc|bias|bitwise|deg2rad|digamma|dropout|fill|fmod|gcd|glu|heaviside|hypot|i0|i1|is|lcm|ldexp|lerp|lgamma|logical)",
    r"^(mac|polygamma|polyval|(re|de)?quantize|r(div|pow|sub)|rad2deg|reglu|remainder|adam|sgd)",
)
# Class of cost -> how operations of it are named, without capitals and underscores; the first that matches.
KINDS = (
    ("matmul", r"matmul|^(linear|bmm)"),
    ("attention", r"scaleddotproduct|sdpa|attention"),
    ("norm", r"norm|softmax"),
    ("sort", r"topk|sort"),
    ("reduction", r"^(sum|mean|max$|min$|argmax|prod|std|var|cumsum|reduce)"),
    (
        "data movement",
        r"transpose|permute|reshape|concat|slice|^pad|tilize|untilize|reshard|sharded|memoryconfig|embedding|gather|fold"
        r"|tolayout|^(copy|clone|split|chunk|stack|repeat|expand|roll|scatter|assign|move)|heads|(update|fill)cache|upsample",
    ),
    *(("elementwise", words) for words in ELEMENTWISE),
    ("creation", r"^(arange|bernoulli|empty|full|ones|rand|uniform|zeros)"),
    ("convolution", r"^conv"),
    ("pool", r"pool"),
)


def plain_operation(point: Point, traced: bool) -> Work:
    """The work of an operation on the shape of its row. Raises NotCovered for an unknown one, and without a shape."""
    name = re.sub(r"DeviceOperation.*|^.*:", "", point.op).split(" ")[0].split("(")[0].split(".")[-1]
    word = re.sub(r"^moreh|(bw|backward)$", "", name.lower().replace("_", ""))
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
    if kind == "convolution":
        return _filtered(inputs)
    if len(inputs) < 2:
        inputs = inputs * (3 if kind == "attention" else 2 if re.search(TWO, word) else 1)
    return inputs, replace(first, shape=(*first.shape[:-1], 1)) if kind == "reduction" else first


def _filtered(inputs: list[Operand]) -> tuple[list[Operand], Operand]:
    """Of [images, in, height, width] under filters [out, in / groups, height, width], with a stride of 1. Raises NotCovered without filters."""
    if len(inputs) < 2 or min(len(one.shape) for one in inputs[:2]) < 4:
        raise NotCovered("a convolution needs both shapes, as `[1,64,56,56] x [64,64,3,3]`")
    images, filters = inputs[:2]
    return inputs, replace(images, shape=(images.shape[0], filters.shape[0], *images.shape[2:]))
