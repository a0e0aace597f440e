"""Golden functions: what operations compute, said with torch. Named by the declarations; torch is imported when one of them runs.

Arguments are torch tensors of one device's shards and the operation's other values. Keywords that only place a result or tune
hardware are left out before (`tt_run.runtime.tools.golden`). Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library, torch_function
from tt_run.runtime.tensor.late_methods import late_methods

Golden = Callable[..., Any]


def widened(x: Any) -> Any:
    """A tensor of bfloat16 in float32, in which the reference computes some golden functions and leaves their results."""
    return x.float() if x.dtype is library().bfloat16 else x


def rounded_once(golden: Golden) -> Golden:
    """A golden function that computes tensors of bfloat16 in float32 and rounds its result, as the reference has it where torch rounds each step."""

    def once(*values: Any, **keywords: Any) -> Any:
        narrow = library().bfloat16
        if not any(getattr(value, "dtype", None) is narrow for value in values):
            return golden(*values, **keywords)
        found = golden(*(widened(v) if hasattr(v, "dim") else v for v in values), **keywords)
        several = isinstance(found, list)
        made = [one.to(narrow) for one in (found if several else [found])]
        return made if several else made[0]

    return once


def beside_number(path: str) -> Golden:
    """`comparison`, computed in float32 for a tensor of bfloat16 beside a number."""

    def golden(a: Any, b: Any, **_: Any) -> Any:
        plain = comparison(path)
        return plain(a, b) if hasattr(b, "dim") else rounded_once(plain)(a, b)

    return golden


def to_infinity(path: str) -> Golden:
    """A function below torch that gives infinity for bfloat16 numbers that have no value, as the kernels of devices do."""

    def golden(x: Any, *_: Any, **__: Any) -> Any:
        found = torch_function(path)(x)
        if x.dtype is not library().bfloat16:
            return found
        return found.masked_fill(found.isnan() & ~x.isnan(), float("inf"))

    return golden


UNARY: dict[str, str | Golden] = {
    **{name: to_infinity(name) for name in ("acos", "acosh", "asin", "atanh")},
    "relu6": "nn.functional.relu6",
    "silu": "nn.functional.silu",
    "swish": "nn.functional.silu",
    "log_sigmoid": "nn.functional.logsigmoid",
    "tanhshrink": "nn.functional.tanhshrink",
    "cbrt": lambda x, **_: x.sign() * x.abs() ** (1 / 3),
    "softsign": "nn.functional.softsign",
    "mish": lambda x, **_: torch_function("nn.functional.mish")(widened(x)),
    "hardswish": "nn.functional.hardswish",
    "hardsigmoid": "nn.functional.hardsigmoid",
    "eqz": lambda x, **_: x == 0,
    "nez": lambda x, **_: x != 0,
    "ltz": lambda x, **_: x < 0,
    "lez": lambda x, **_: x <= 0,
    "gtz": lambda x, **_: x > 0,
    "gez": lambda x, **_: x >= 0,
}
"""Unary operations whose function is not `torch.<name>`."""


def exact(path: str) -> Golden:
    """A function of two operands in which a whole number beside whole elements is one of them, though it is written as a float."""

    def golden(a: Any, b: Any, **_: Any) -> Any:
        one, other = (
            int(v) if isinstance(v, float) and v.is_integer() and _whole(beside) else v
            for v, beside in ((a, b), (b, a))
        )
        return torch_function(path)(*(v if hasattr(v, "dim") else library().tensor(v) for v in (one, other)))

    return golden


def _whole(value: Any) -> bool:
    return hasattr(value, "dtype") and not value.dtype.is_floating_point


def _shifted_right(a: Any, b: Any, **_: Any) -> Any:
    """Bits shifted down, zeros from above; a count that no element has room for leaves none."""
    counts = b if hasattr(b, "dim") else library().tensor(b)
    found = (a.long() & 0xFFFFFFFF) >> counts.long().clamp(0, 31)
    return found.where((counts >= 0) & (counts < 32), 0 * found).to(a.dtype)


def leaky_relu(x: Any, negative_slope: float = 0.01, **_: Any) -> Any:
    """x, times the slope below zero, where no unsigned number is."""
    if not x.dtype.is_signed:
        return x
    return torch_function("nn.functional.leaky_relu")(x, negative_slope)


BINARY: dict[str, str | Golden] = {
    "add": exact("add"),
    "subtract": exact("sub"),
    "squared_difference": lambda a, b, **_: (a - b) ** 2,
    "ldexp": lambda a, b, **_: a * 2.0**b,
    "rsub": lambda a, b, **_: exact("sub")(b, a),
    "logical_left_shift": lambda a, b, **_: a << b,
    "logical_right_shift": _shifted_right,
    "bias_gelu": lambda a, b, **_: torch_function("nn.functional.gelu")(a + b),
    "fmod": beside_number("fmod"),
    "remainder": beside_number("remainder"),
}
"""Binary operations whose function is not `torch.<name>`."""


def comparison(path: str) -> Golden:
    """A function of two operands, either of which may be a number."""

    def golden(a: Any, b: Any, **_: Any) -> Any:
        one, other = (v if hasattr(v, "dim") else library().tensor(v) for v in (a, b))
        return torch_function(path)(one, other)

    return golden


def scaled(path: str) -> Golden:
    """The sum or difference of a and alpha b; tensors of bfloat16 take alpha in their own type."""
    return lambda a, b, alpha, **_: torch_function(path)(a, b, alpha=alpha)


def divide(a: Any, b: Any, rounding_mode: str | None = None, **_: Any) -> Any:
    """a / b, rounded if asked for."""
    one, other = (v if hasattr(v, "dim") else library().tensor(v) for v in (a, b))
    return one.div(other, rounding_mode=rounding_mode)


def gelu(x: Any, variant: Any = None, fast_and_approximate_mode: bool = False, **_: Any) -> Any:
    """GELU by the error function, or by tanh; nothing for a device's quick table, which is neither."""
    if getattr(variant, "name", "") == "FastLut":
        return None
    form = "tanh" if getattr(variant, "name", "") == "Tanh" else "none"
    return torch_function("nn.functional.gelu")(x, approximate=form)


@rounded_once
def selu(x: Any, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, **_: Any) -> Any:
    """Scaled ELU."""
    return scale * x.where(x > 0, alpha * x.expm1())


def where(predicate: Any, yes: Any, no: Any, **_: Any) -> Any:
    """One value where the predicate is not zero, else the other."""
    return library().where(predicate != 0, yes, no)


def clamp(x: Any, min: Any = None, max: Any = None, **_: Any) -> Any:
    """Limited on both sides."""
    return library().clamp(x, min, max)


def reduction(path: str, several: str | None = None) -> Golden:
    """A reduction of torch along `dim`; `several` names the one that takes many dimensions."""

    def golden(x: Any, dim: Any = None, keepdim: bool = False, scalar: float = 1.0, **_: Any) -> Any:
        dims = tuple(range(x.dim())) if dim is None else dim if isinstance(dim, int) else tuple(dim)
        return torch_function(several or path)(x, dims, keepdim=keepdim) * scalar

    return golden


def moment(path: str, root: bool) -> Golden:
    """Variance or deviation along `dim`."""

    def golden(
        x: Any, dim: Any = None, keepdim: bool = False, scalar: float = 1.0, correction: bool = True, **_: Any
    ) -> Any:
        found = torch_function(path)(x, dim, correction=int(correction), keepdim=keepdim)
        return found * (abs(scalar) if root else scalar * scalar)

    return golden


def prod(x: Any, dim: Any = None, keepdim: bool = False, dims: Sequence[int] | None = None, **_: Any) -> Any:
    """The product along dimensions."""
    if dims is not None:
        for d in dims:
            x = x.prod(d, keepdim=True)
        return x
    return x.prod() if dim is None else x.prod(dim, keepdim=keepdim)


def argmax(x: Any, dim: int | None = None, keepdim: bool = False, **_: Any) -> Any:
    """The place of the largest element."""
    return library().argmax(x, dim=dim, keepdim=keepdim)


def running(path: str) -> Golden:
    """A running reduction, from the end if asked for."""

    def golden(x: Any, dim: int, reverse_order: bool = False, **_: Any) -> Any:
        return (
            torch_function(path)(x.flip(dim), dim).flip(dim)
            if reverse_order
            else torch_function(path)(x, dim)
        )

    return golden


def softmax(x: Any, dim: int = -1, **_: Any) -> Any:
    """Softmax along a dimension."""
    return x.softmax(dim)


def layer_norm(
    x: Any,
    epsilon: float = 1e-12,
    weight: Any = None,
    bias: Any = None,
    residual_input_tensor: Any = None,
    **_: Any,
) -> Any:
    """The last dimension less its mean, over its deviation."""
    x = x if residual_input_tensor is None else x + residual_input_tensor
    return torch_function("nn.functional.layer_norm")(
        x, x.shape[-1:], _row(weight, x), _row(bias, x), epsilon
    )


def rms_norm(
    x: Any,
    weight: Any = None,
    *,
    epsilon: float = 1e-12,
    bias: Any = None,
    residual_input_tensor: Any = None,
    **_: Any,
) -> Any:
    """The last dimension over its root mean square."""
    x = x if residual_input_tensor is None else x + residual_input_tensor
    x = x * (x.float().square().mean(-1, keepdim=True) + epsilon).rsqrt()
    if weight is not None:
        x = (x.to(weight.dtype) if weight.dtype.itemsize == 2 else x) * _row(weight, x)
    return x if bias is None else x + _row(bias, x)


def _row(parameter: Any, x: Any) -> Any:
    return None if parameter is None else parameter.reshape(-1)[: x.shape[-1]]


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, **_: Any) -> Any:
    """a @ b."""
    return (a.mT if transpose_a else a) @ (b.mT if transpose_b else b).to(a.dtype)


def linear(a: Any, b: Any, bias: Any = None, **options: Any) -> Any:
    """a @ b + bias."""
    product = matmul(a, b, **options)
    if bias is None:
        return product
    own_tile = bias.dim() > 1 and bias.shape[-2] not in (1, product.shape[-2])
    return product + (bias[..., :1, :] if own_tile else bias)


def embedding(ids: Any, weight: Any, **_: Any) -> Any:
    """Rows of a table."""
    shape = ids.shape if ids.dim() <= 2 else (ids.shape[0], ids.shape[-1])
    return weight.reshape(-1, weight.shape[-1])[ids.long().reshape(shape)]


def topk(
    x: Any,
    k: int = 32,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    indices_tensor: Any = None,
    **_: Any,
) -> Any:
    """The largest or smallest elements and their places, equal ones in their own order, or what `indices_tensor` has there."""
    in_order = library().sort(x, dim=dim, descending=largest, stable=True)
    values, places = (found.narrow(dim, 0, k) for found in in_order)
    return values, places if indices_tensor is None else indices_tensor.long().gather(dim, places)


def sort(x: Any, dim: int = -1, descending: bool = False, stable: bool = False, **_: Any) -> Any:
    """Elements in order and their places."""
    return library().sort(x, dim=dim, descending=descending, stable=stable)


def concat(tensors: Sequence[Any], dim: int = 0, groups: int = 1, **_: Any) -> Any:
    """Tensors one after the other, a group's part of each in turn."""
    if groups == 1:
        return library().cat(list(tensors), dim)
    parts = [tensor.chunk(groups, dim) for tensor in tensors]
    return library().cat([part for turn in zip(*parts, strict=True) for part in turn], dim)


def pad(x: Any, padding: Sequence[Any], *rest: Any, value: float = 0.0, **_: Any) -> Any:
    """`value` around the elements, which may come by place; of the form with a shape, where they begin stands before it."""
    if padding and isinstance(padding[0], int):
        starts, *rest_ = rest or ([0] * len(padding),)
        padding = [(s, whole - s - inner) for s, whole, inner in zip(starts, padding, x.shape, strict=True)]
        rest = tuple(rest_)
    flat = [n for pair in reversed(list(padding)) for n in pair]
    return torch_function("nn.functional.pad")(x, flat, value=rest[0] if rest else value)


def cut(
    x: Any,
    starts: Any = None,
    ends: Any = None,
    steps: Any = None,
    *,
    slice_start: Any = None,
    slice_end: Any = None,
    slice_step: Any = None,
    **_: Any,
) -> Any:
    """A region by starts, ends and steps, in either of their words; None for bounds that are tensors."""
    starts, ends = slice_start if starts is None else starts, slice_end if ends is None else ends
    steps = steps or slice_step or [1] * len(starts)
    if hasattr(starts, "dim"):
        return None
    return x[tuple(slice(*bounds) for bounds in zip(starts, ends, steps, strict=True))]


def close(
    a: Any, b: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False, **_: Any
) -> Any:
    """Where two tensors are near each other, which may be of different types."""
    torch = library()
    if a.dtype != b.dtype:
        whole = torch.int32 in (a.dtype, b.dtype)
        common = torch.float32 if whole else torch.promote_types(a.dtype, b.dtype)
        a, b = a.to(common), b.to(common)
    return torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def repeat(x: Any, repeats: Sequence[int], **_: Any) -> Any:
    """The tensor several times along each dimension."""
    return x.repeat(*[1] * (x.dim() - len(repeats)), *repeats)


def same(x: Any, *_: Any, **__: Any) -> Any:
    """The same values."""
    return x.clone()


def reshape(x: Any, shape: Sequence[int], *_: Any, **__: Any) -> Any:
    """The same elements in another shape."""
    return x.reshape(tuple(shape))


def squeeze(x: Any, dim: Any = None, **_: Any) -> Any:
    """Without dimensions of length 1."""
    return x.squeeze() if dim is None else x.squeeze(dim if isinstance(dim, int) else tuple(dim))


def scatter(x: Any, dim: int, index: Any, source: Any, reduce: str | None = None, **_: Any) -> Any:
    """Elements put in the places of an index."""
    if reduce is None:
        return x.scatter(dim, index.long(), source)
    words = {"add": "sum", "multiply": "prod"}
    return x.scatter_reduce(dim, index.long(), source, words.get(reduce, reduce))


def roll(x: Any, shifts: Any, dim: Any = None, **_: Any) -> Any:
    """Elements moved round."""
    return x.roll(
        shifts if isinstance(shifts, int) else tuple(shifts),
        dim if dim is None or isinstance(dim, int) else tuple(dim),
    )


def repeat_interleave(x: Any, repeats: Any, dim: int = 0, **_: Any) -> Any:
    """Every slice along a dimension, the first one unless another is named, several times in a row."""
    return x.repeat_interleave(repeats, dim)


def nonzero(x: Any, *_: Any, **__: Any) -> list[Any]:
    """The count of elements that are not zero, [1, 1, 1, 8], and their four coordinates one after the other, [1, 1, 1, 4 * volume]."""
    found = library().nonzero(x.reshape((1,) * (4 - x.dim()) + tuple(x.shape)))
    count, places = (
        library().zeros(1, 1, 1, 8, dtype=found.dtype),
        library().zeros(1, 1, 1, 4 * x.numel(), dtype=found.dtype),
    )
    count[..., 0] = len(found)
    places[..., : found.numel()] = found.reshape(-1)
    return [count, places]


def prelu(x: Any, weight: Any, **_: Any) -> Any:
    """x above zero, weight times x below; a weight of one dimension has one value for each channel."""
    slope = weight if hasattr(weight, "dim") else library().tensor(weight, dtype=x.dtype)
    if slope.dim() > 1 and tuple(slope.shape) != (1,) * slope.dim():
        return x.where(x > 0, slope * x)
    return torch_function("nn.functional.prelu")(x, slope.reshape(-1))


class Fused(late_methods("tt_run.runtime.tools.activation_goldens.FusedGoldens", "after")):  # type: ignore[misc]
    """`Fused().after(values, activations)`: the functions of other operations.

    Only a module above all operations finds them by their names, so it is named here and imported when one is first asked for.
    """


def chain(x: Any, ops_chain: Sequence[Any], **_: Any) -> Any:
    """Activations one after the other."""
    return Fused().after(x, ops_chain)


def several(
    x: Any, return_output1: bool = True, return_output2: bool = True, *_: Any, **__: Any
) -> list[Any]:
    """The tensor twice, None where it is not asked for."""
    return [x if wanted else None for wanted in (return_output1, return_output2)]


def prefetched(tensors: Sequence[Any], *_: Any, **__: Any) -> Any:
    """A tile whose elements mean nothing, of the weights' type."""
    return library().empty(32, 32, dtype=tensors[0].dtype)


def sampled(values: Any, *_: Any, **__: Any) -> Any:
    """Zeros of the shape that sampled tokens have: which one a user draws is chance."""
    return library().zeros(1, 1, 1, values.shape[-2], dtype=library().int32)


def correlation(expected: Any, actual: Any, *_: Any, **__: Any) -> Any:
    """Pearson's correlation: 1 for equal values; of constants, whether they are close."""
    one, other = (t.detach().double().nan_to_num(0, 0, 0).reshape(-1) for t in (expected, actual))
    if one.equal(other):
        return 1.0
    if min(len(one.unique()), len(other.unique())) < 2:
        return float(one.allclose(other, rtol=1e-5, atol=1e-4))
    return float(library().corrcoef(library().stack((one, other)))[0, 1])


def batched_weights(x: Any, weights: Sequence[Any], *_: Any, **__: Any) -> list[Any]:
    """The product with each of several matrices."""
    return [x @ weight.to(x.dtype) for weight in weights]
