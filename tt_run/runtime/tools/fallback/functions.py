"""Functions of `tt_lib.fallback_ops`, each by the name of PyTorch's own unless it says otherwise. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library, torch_function
from tt_run.runtime.tools.fallback.crossing import crossing

Pair = int | tuple[int, int]


@crossing
def full(size: Sequence[int], fill_value: float) -> Any:
    """A new tensor of one value."""
    return library().full(size, fill_value, dtype=library().float32)


@crossing
def tensor_slice(input: Any, slices: Sequence[Any]) -> Any:
    """The part of a tensor that slices and `...` name."""
    return input[tuple(slices)]


@crossing
def reshape(
    input: Any, N: int, C: int, H: int, W: int, output_layout: Layout = Layout.TILE, output_on_device: bool = True
) -> Any:  # fmt: skip
    """The same elements in four dimensions."""
    return input.reshape(N, C, H, W)


@crossing
def permute(
    input: Any, dims: Sequence[int], output_layout: Layout = Layout.TILE, output_on_device: bool = True
) -> Any:
    """Dimensions in another order."""
    return input.permute(*dims)


@crossing
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """The parts of a tensor, the last of which may be smaller."""
    return input.chunk(chunks, dim)


@crossing
def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Any:
    """A convolution of images [N, C, H, W]; the bias in its last dimension."""
    row = None if bias is None else bias.reshape(bias.shape[-1])
    return torch_function("nn.functional.conv2d")(input, weight, row, stride, padding, dilation, groups)


@crossing
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any:
    """Normalisation over groups of channels."""
    channels = input.shape[1]
    weight, bias = (None if each is None else each.reshape(channels) for each in (weight, bias))
    return torch_function("nn.functional.group_norm")(input, num_groups, weight, bias, eps)


@crossing
def layer_norm(
    input: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Any:  # fmt: skip
    """Normalisation over the last dimensions."""
    shape = last_dimensions(normalized_shape)
    weight, bias = (None if each is None else of_shape(each, shape) for each in (weight, bias))
    return torch_function("nn.functional.layer_norm")(input, shape, weight, bias, eps)


def last_dimensions(shape: int | Sequence[int]) -> list[int]:
    """The dimensions that a norm goes over."""
    return [shape] if isinstance(shape, int) else list(shape)


def of_shape(tensor: Any, shape: Sequence[int]) -> Any:
    """A weight without the dimensions that tensors have before. Raises RuntimeError where its last ones are others."""
    if list(tensor.shape[-len(shape) :]) != list(shape):
        raise fatal(
            f"a weight of shape {list(tensor.shape)} does not end in the normalized shape {list(shape)}",
            hint=f"ttnn.reshape(weight, (1, 1, 1, {shape[-1]}))" if len(shape) == 1 else f"normalized_shape={list(tensor.shape)}",
        )  # fmt: skip
    return tensor.reshape(list(shape))


@crossing
def pad(
    input: Any,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
    output_layout: Layout = Layout.TILE,
    output_on_device: bool = True,
) -> Any:
    """More elements before and behind the last dimensions, from the last one on."""
    return torch_function("nn.functional.pad")(input, tuple(pad), mode, value)


@crossing
def interpolate(
    input: Any,
    size: Pair | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Images [N, C, H, W] in another size."""
    resize = torch_function("nn.functional.interpolate")
    return resize(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


@crossing
def repeat(input: Any, sizes: Sequence[int]) -> Any:
    """The tensor several times along each dimension."""
    return input.repeat(*sizes)


@crossing
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Any:  # fmt: skip
    """Each element several times in a row."""
    return library().repeat_interleave(input, repeats, dim, output_size=output_size)


@crossing
def concat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors one behind the other along a dimension."""
    return library().concat(list(tensors), dim)


@crossing
def softmax(input: Any, dim: int | None = None) -> Any:
    """Exponentials that add up to one along a dimension."""
    return torch_function("nn.functional.softmax")(input, dim)


@crossing
def torch_argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the largest elements are."""
    return library().argmax(input, dim=dim, keepdim=keepdim)


@crossing
def torch_argmin(input: Any, dim: int, keepdim: bool) -> Any:
    """Where the smallest elements are."""
    return library().argmin(input, dim=dim, keepdim=keepdim)


def _one(path: str, what: str) -> Callable[[Any], Any]:
    def function(input: Any) -> Any:
        return torch_function(path)(input)

    return _called(function, path.rpartition(".")[2], what)


def _two(path: str, what: str, before: str) -> Callable[[Any, Any], Any]:
    def function(input: Any, other: Any) -> Any:
        return torch_function(path)(input, other)

    return _called(function, f"{before}_{path}", what)


def _called(function: Callable[..., Any], name: str, what: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = what
    return crossing(function)


silu = _one("nn.functional.silu", "Each element times its sigmoid.")
ceil = _one("ceil", "Each element rounded up.")
floor = _one("floor", "Each element rounded down.")
trunc = _one("trunc", "Each element rounded towards zero.")
bitwise_not = _one("bitwise_not", "The bits of each element turned over.")
unary_fmod = _two("fmod", "What division by a number leaves, with the sign of the element.", "unary")
binary_fmod = _two("fmod", "The same for divisors in a tensor.", "binary")
unary_bitwise_or = _two("bitwise_or", "The bits of an element or of a number.", "unary")
unary_bitwise_and = _two("bitwise_and", "The bits of an element that a number has.", "unary")
unary_bitwise_xor = _two("bitwise_xor", "The bits that an element or a number has, but not both.", "unary")
binary_bitwise_or = _two("bitwise_or", "The same for numbers in a tensor.", "binary")
binary_bitwise_and = _two("bitwise_and", "The same for numbers in a tensor.", "binary")
binary_bitwise_xor = _two("bitwise_xor", "The same for numbers in a tensor.", "binary")
unary_bitwise_right_shift = _two("bitwise_right_shift", "Bits moved down by a number of places.", "unary")
unary_bitwise_left_shift = _two("bitwise_left_shift", "Bits moved up by a number of places.", "unary")
binary_bitwise_right_shift = _two("bitwise_right_shift", "The same for places in a tensor.", "binary")
binary_bitwise_left_shift = _two("bitwise_left_shift", "The same for places in a tensor.", "binary")
