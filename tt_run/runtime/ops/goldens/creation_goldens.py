"""Tensors made, carried and converted, as functions of torch tensors. What only places a result changes nothing here.

Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.torch_cpu import library, torch_function
from tt_run.runtime.tensor.borders.arrays import to_torch as tensor_to_torch
from tt_run.runtime.tensor.borders.files import load_tensor
from tt_run.runtime.tensor.questions import torch_dtype
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.values.casting import cast
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, quantize

Golden = Callable[..., Any]


def of_type(values: Any, dtype: DataType | None) -> Any:
    """Values in the torch type of `dtype`, as they are without one; block floats round, in float32.

    Fractions go and limits hold where floats become integers.
    """
    if dtype is None:
        return values
    target = torch_dtype(dtype)
    if values.is_floating_point() and not target.is_floating_point:
        limits = library().iinfo(target)
        values = values.double().nan_to_num(0).trunc().clamp(limits.min, limits.max).to(library().int64)
    values = values.to(target)
    if dtype not in BLOCK_FLOATS:
        return values
    rounded = quantize(values.detach().contiguous().numpy().reshape(values.shape or (1,)), dtype)
    return library().from_numpy(rounded).reshape(values.shape)


def filled(value: float) -> Golden:
    """`zeros` and `ones`: bfloat16 unless a type is given."""

    def golden(shape: Sequence[int], dtype: DataType | None = None, *_: Any, **__: Any) -> Any:
        return full(shape, value, dtype)

    return golden


def filled_like(value: float) -> Golden:
    """`zeros_like` and `ones_like`: the tensor's type unless another is given."""

    def golden(tensor: Any, dtype: DataType | None = None, *_: Any, **__: Any) -> Any:
        return full_like(tensor, value, dtype)

    return golden


def full(shape: Sequence[int], fill_value: float, dtype: DataType | None = None, *_: Any, **__: Any) -> Any:
    """One value everywhere; bfloat16 unless a type is given."""
    return torch_function("full")(tuple(shape), fill_value, dtype=torch_dtype(dtype or DataType.BFLOAT16))


def full_like(tensor: Any, fill_value: float, dtype: DataType | None = None, *_: Any, **__: Any) -> Any:
    """One value in the shape of a tensor, of its type unless another is given."""
    return torch_function("full_like")(
        tensor, fill_value, dtype=None if dtype is None else torch_dtype(dtype)
    )


def arange(*bounds: float, dtype: DataType = DataType.BFLOAT16, **named_bounds: Any) -> Any:
    """Equal steps from `start` to before `end`."""
    given = {word: named_bounds[word] for word in ("start", "end", "step") if word in named_bounds}
    return of_type(torch_function("arange")(*bounds, **given), dtype)


def moreh_arange(
    start: float = 0, end: float = 0, step: float = 1, *_: Any, dtype: DataType | None = None, **__: Any
) -> Any:
    """Equal steps, float32 unless a type is given."""
    return of_type(torch_function("arange")(start, end, step, dtype=library().float32), dtype)


def from_buffer(buffer: Sequence[float], shape: Sequence[int], dtype: DataType, *_: Any, **__: Any) -> Any:
    """A list of numbers in a shape."""
    return torch_function("as_tensor")(buffer, dtype=torch_dtype(dtype)).reshape(tuple(shape))


def drawn(function: str) -> Golden:
    """`rand` and `randn`: other numbers than a device draws, of the same shape and type."""

    def golden(
        shape: Sequence[int],
        *_: Any,
        dtype: DataType = DataType.BFLOAT16,
        low: float = 0.0,
        high: float = 1.0,
        **__: Any,
    ) -> Any:
        values = torch_function(function)(tuple(shape))
        return of_type(values * (high - low) + low if function == "rand" else values, dtype)

    return golden


def uniform(tensor: Any, low: float = 0.0, high: float = 1.0, *_: Any, **bounds: Any) -> Any:
    """Other numbers than a device draws between `from` and `to`, of the tensor's shape and type."""
    low, high = bounds.get("from", low), bounds.get("to", high)
    return (torch_function("rand")(tuple(tensor.shape)) * (high - low) + low).to(tensor.dtype)


def bernoulli(tensor: Any, *_: Any, dtype: DataType | None = None, **__: Any) -> Any:
    """Other coins than a device tosses, with the probabilities that the elements say."""
    coins = torch_function("bernoulli")(tensor.float())
    return coins.to(tensor.dtype) if dtype is None else of_type(coins, dtype)


def typecast(
    tensor: Any,
    *dtypes: DataType,
    dtype: DataType | None = None,
    input_dtype: DataType | None = None,
    output_dtype: DataType | None = None,
    _ttnn_input_dtype: DataType | None = None,
    _ttnn_is_host: bool = False,
    **_: Any,
) -> Any:
    """The values in another type, as a device goes over into it or a host: the last one given by place, `dtype` or `output_dtype`.

    Raises TypeError without any.
    """
    target = output_dtype or dtype or (dtypes[-1] if dtypes else None)
    if target is None:
        raise TypeError("the golden function of ttnn.typecast needs a type")
    if torch_dtype(target).is_floating_point:
        return of_type(tensor, target)
    named_source = _ttnn_input_dtype or input_dtype or (dtypes[0] if len(dtypes) > 1 else None)
    source = named_source or getattr(tensor, SOURCE, None) or _nearest(tensor.dtype)
    values = (tensor.float() if tensor.is_floating_point() else tensor).detach().contiguous().numpy()
    # A host wraps and ends where a device does but for the short unsigned types.
    on_host = _ttnn_is_host and target in (DataType.UINT8, DataType.UINT16)
    found = cast(values, source, target, on_host=on_host)
    return library().from_numpy(found.reshape(values.shape))


SOURCE = "_ttnn_dtype"
"""The attribute of a torch tensor that says of which type the tensor is whose values it has."""


def _nearest(dtype: Any) -> DataType:
    """The type of a tensor's elements that a torch type is; FLOAT32 and INT32 for those that none is."""
    floating = DataType.FLOAT32 if dtype.is_floating_point else DataType.INT32
    return next((kind for kind in DataType if getattr(library(), kind.name.lower(), None) is dtype), floating)


def to_dtype(tensor: Any, dtype: DataType, *_: Any, **__: Any) -> Any:
    """The values in another type."""
    return of_type(tensor, dtype)


def from_torch(tensor: Any, dtype: DataType | None = None, *, spec: Any = None, **_: Any) -> Any:
    """The values in the type that a tensor gets."""
    return of_type(tensor, spec.dtype if spec is not None else dtype)


def as_tensor(
    tensor: Any, dtype: DataType | None = None, *, preprocess: Golden | None = None, **_: Any
) -> Any:
    """The same after the caller's own function."""
    return from_torch(preprocess(tensor) if preprocess is not None else tensor, dtype)


def to_torch(tensor: Any, dtype: Any = None, *, torch_rank: int | None = None, **_: Any) -> Any:
    """The values in a type of torch, without leading dimensions of 1 down to `torch_rank`. Raises RuntimeError where one is longer."""
    while torch_rank is not None and tensor.dim() > torch_rank:
        if tensor.shape[0] != 1:
            raise RuntimeError("ttnn: Unable to squeeze to desired rank!")
        tensor = tensor.squeeze(0)
    return tensor if dtype is None else tensor.to(dtype)


def same(tensor: Any, *_: Any, **__: Any) -> Any:
    """The tensor itself: it only goes elsewhere."""
    return tensor


def copy(input_a: Any, input_b: Any, *_: Any, **__: Any) -> Any:
    """The values of a in the type of b."""
    return input_a.to(input_b.dtype)


def assign(
    input_tensor: Any = None,
    output_tensor: Any = None,
    *_: Any,
    dtype: DataType | None = None,
    input_a: Any = None,
    input_b: Any = None,
    **__: Any,
) -> Any:
    """A copy, in the type of another tensor or in `dtype`. Raises TypeError without a tensor."""
    source, target = (
        input_tensor if input_tensor is not None else input_a,
        output_tensor if output_tensor is not None else input_b,
    )
    if source is None:
        raise TypeError("the golden function of ttnn.assign needs input_tensor or input_a")
    if dtype is not None:
        return of_type(source, dtype)
    return source.to(target.dtype) if target is not None else source.clone()


def bitcast(tensor: Any, dtype: DataType, *_: Any, **__: Any) -> Any:
    """The same bits as elements of another type of the same size; the operand may have come in a wider type of the kind."""
    target = torch_dtype(dtype)
    if tensor.dtype.itemsize > target.itemsize:
        size = {2: "bfloat16", 4: "float32"} if tensor.is_floating_point() else {2: "int16", 4: "int32"}
        tensor = tensor.to(getattr(library(), size[target.itemsize]))
    return tensor.view(target)


def unsqueeze_to_4d(tensor: Any, *_: Any, **__: Any) -> Any:
    """Dimensions of 1 in front until there are four."""
    return tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape))


def partial_slice(
    tensor: Any,
    grid: Any,
    shard_shape: Any,
    num_slices: int,
    slice_index: int,
    *_: Any,
    output_dtype: DataType | None = None,
    **__: Any,
) -> Any:
    """Slice `slice_index` of `num_slices` of the rows, [1, 1, rows, width]."""
    rows = tensor.reshape(1, 1, -1, tensor.shape[-1])
    length = rows.shape[-2] // num_slices
    return of_type(rows[:, :, slice_index * length : (slice_index + 1) * length], output_dtype)


def partial_write(
    part: Any,
    tensor: Any,
    num_slices: int,
    slice_index: int,
    *_: Any,
    output_dtype: DataType | None = None,
    **__: Any,
) -> Any:
    """The tensor with slice `slice_index` of `num_slices` of its rows written over."""
    written = tensor.clone()
    rows = written.view(1, 1, -1, tensor.shape[-1])
    length = rows.shape[-2] // num_slices
    rows[:, :, slice_index * length : (slice_index + 1) * length] = of_type(part, output_dtype).to(
        tensor.dtype
    )
    return written


def written_slice(
    tensor: Any,
    output_tensor: Any,
    start: Sequence[int],
    end: Sequence[int],
    step: Sequence[int],
    *_: Any,
    **__: Any,
) -> Any:
    """`output_tensor` with a tensor written between bounds."""
    written = output_tensor.clone()
    written[tuple(slice(int(a), int(b), int(c)) for a, b, c in zip(start, end, step, strict=True))] = tensor
    return written


def allocated(*arguments: Any, **named_arguments: Any) -> Any:
    """A tensor whose elements mean nothing, of a `TensorSpec` or of a shape and a type: bfloat16 unless given."""
    first: Any = (
        arguments[0] if arguments else named_arguments.get("tensor_spec", named_arguments.get("shape"))
    )
    dtype = arguments[1] if len(arguments) > 1 else named_arguments.get("dtype")
    if isinstance(first, TensorSpec):
        first, dtype = first.shape, first.dtype
    return torch_function("empty")(tuple(first), dtype=torch_dtype(dtype or DataType.BFLOAT16))


def carried(source: str, target: str) -> Golden:
    """A copy between host and device, which gives nothing back; told `_ttnn_global_golden` it writes over the target."""

    def golden(*arguments: Any, _ttnn_global_golden: bool = False, **given: Any) -> None:
        if _ttnn_global_golden:
            start, end = (
                arguments[place] if len(arguments) > place else given[word]
                for place, word in enumerate((source, target))
            )
            end.copy_(start)

    return golden


def read(file_name: str | Path, *, device: Any = None, **_: Any) -> Any:
    """The values in a file. Raises RuntimeError where there is none."""
    return tensor_to_torch(load_tensor(file_name))


BORDERS: dict[str, Golden] = {
    "zeros": filled(0),
    "ones": filled(1),
    "full": full,
    "arange": arange,
    "rand": drawn("rand"),
    "from_buffer": from_buffer,
    "zeros_like": filled_like(0),
    "ones_like": filled_like(1),
    "full_like": full_like,
    "from_torch": from_torch,
    "to_torch": to_torch,
    "as_tensor": as_tensor,
    "to_device": same,
    "from_device": same,
    "to_dtype": to_dtype,
    "allocate_tensor_on_device": allocated,
    "allocate_tensor_on_host": allocated,
    "copy_host_to_device_tensor": carried("host_tensor", "device_tensor"),
    "copy_device_to_host_tensor": carried("device_tensor", "host_tensor"),
    "load_tensor": read,
}
"""Golden functions of what makes tensors and carries them, by the last part of the operation's name."""
