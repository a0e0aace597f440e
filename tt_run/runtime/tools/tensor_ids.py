"""Tensors in nested arguments and results, their numbers, and the golden tensors that go with them: what `ttnn.decorators` keeps for comparisons.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration.dispatch import OUTPUTS
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.tensor import Tensor, next_tensor_id

Path = tuple[Any, ...]
goldens: dict[int, Any] = {}
"""Golden torch tensors by the number of the tensor that they belong to, carried from one operation to the next."""

produced: set[int] = set()
"""The numbers of tensors that operations gave back while they were compared with their golden functions."""


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each value of nested lists, tuples and mappings, with the way there."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    else:
        yield path, value


def leaves_of_both(golden: Any, output: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """The values of two results in step. Raises TypeError or ValueError where one is nested in another way than the other."""
    many = (list, tuple)
    if isinstance(golden, Mapping) and isinstance(output, Mapping):
        if golden.keys() != output.keys():
            raise ValueError(
                f"Output structure mismatch: golden has the keys {list(golden)} but output has {list(output)}"
            )
        for key in golden:
            yield from leaves_of_both(golden[key], output[key], (*path, key))
    elif isinstance(golden, many) and isinstance(output, many):
        if len(golden) != len(output):
            raise ValueError(
                f"Output structure mismatch: golden has {len(golden)} elements but output has {len(output)}"
            )
        for place, both in enumerate(zip(golden, output, strict=True)):
            yield from leaves_of_both(*both, (*path, place))
    elif (
        isinstance(golden, (*many, Mapping))
        or isinstance(output, (*many, Mapping))
        or (golden is None) != (output is None)
    ):
        raise TypeError(
            f"Output structure mismatch: golden type {type(golden)} does not match output type {type(output)}"
        )
    else:
        yield path, golden, output


def _of_torch() -> tuple[Any, ...]:
    """PyTorch's class of tensors, where the program has loaded it: before that none can be met."""
    torch: Any = sys.modules.get("torch")
    return () if torch is None else (torch.Tensor,)


def get_tensors(object_value: Any, tensor_type: type | tuple[type, ...]) -> list[Any]:
    """The tensors of a type in nested values, each once."""
    found = {id(leaf): leaf for _, leaf in leaves(object_value) if isinstance(leaf, tensor_type)}
    return list(found.values())


def get_ttnn_tensors(object_value: Any) -> list[Any]:
    """The mesh tensors in nested values, each once."""
    return get_tensors(object_value, Tensor)


def get_all_tensors(object_value: Any) -> list[Any]:
    """The mesh and torch tensors in nested values, each once."""
    return get_tensors(object_value, (Tensor, *_of_torch()))


def get_devices(object_value: Any) -> set[MeshDevice]:
    """The meshes on which tensors of nested values lie."""
    return {t.device() for t in get_ttnn_tensors(object_value) if t.device() is not None}


def set_tensor_id(tensor: Any, force: bool = False) -> None:
    """Number a tensor, or each of a list; one that has a number keeps it, unless by `force`. Raises RuntimeError for anything else."""
    if isinstance(tensor, (list, tuple)):
        for each in tensor:
            set_tensor_id(each, force)
    elif isinstance(tensor, Tensor):
        if force:
            tensor.tensor_id = next_tensor_id()
    elif isinstance(tensor, _of_torch()):
        if force or getattr(tensor, "tensor_id", None) is None:
            tensor.tensor_id = next_tensor_id()
    else:
        raise RuntimeError(f"Unsupported input to set_tensor_id: {type(tensor)}")


def get_output_tensor_ids(output: Any) -> list[int]:
    """The numbers of the tensors of a result, in order; one that comes twice counts twice."""
    return [leaf.tensor_id for _, leaf in leaves(output) if getattr(leaf, "tensor_id", None) is not None]


def get_inplace_output_tensors(
    function_kwargs: Mapping[str, Any], output_tensor_kwarg_names: tuple[str, ...] = OUTPUTS
) -> list[Any]:
    """The tensors that a call's keywords say it writes."""
    return get_ttnn_tensors([function_kwargs.get(name) for name in output_tensor_kwarg_names])


def refresh_or_invalidate_global_goldens(inplace_tensors: list[Any], global_golden_output: Any) -> None:
    """Give tensors that an operation wrote over the golden tensors of its result, or none where there are not as many."""
    torch_tensor = _of_torch()
    fresh = [] if global_golden_output is None else get_tensors(global_golden_output, torch_tensor)
    for place, tensor in enumerate(inplace_tensors):
        if len(fresh) == len(inplace_tensors):
            postprocess_global_golden_function_outputs(tensor, fresh[place])
        else:
            goldens.pop(tensor.tensor_id, None)


def set_output_tensor_id_decorator(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results get new numbers at each call."""

    @wraps(function)
    def numbered(*arguments: Any, **keywords: Any) -> Any:
        output = function(*arguments, **keywords)
        set_tensor_id(get_all_tensors(output), force=True)
        return output

    return numbered


def get_tensor_report_record(tensor: Any) -> dict[str, Any]:
    """What a report says of a tensor: number, shape, type, layout and where it lies. Raises RuntimeError for what is none."""
    if not isinstance(tensor, Tensor) and not isinstance(tensor, _of_torch()):
        raise RuntimeError(f"Unsupported tensor report record type: {type(tensor)}")
    device = tensor.device() if isinstance(tensor, Tensor) else None
    memory = tensor.memory_config() if device is not None else None
    lies = device is not None and tensor.is_allocated()
    return {
        "tensor_id": int(tensor.tensor_id),
        "shape": str(tensor.shape),
        "dtype": str(tensor.dtype),
        "layout": str(tensor.layout),
        "memory_config": None if memory is None else str(memory),
        "device_id": device.id() if device is not None and lies else None,
        "address": tensor.buffer_address() if lies else None,
        "buffer_type": None if memory is None else memory.buffer_type.value,
        "storage_type": "HOST" if device is None else "DEVICE",
    }


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Nested values with each of them changed."""
    if isinstance(value, Mapping):
        return {key: _each(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_each(item, change) for item in value)
    return change(value)


def default_preprocess_golden_function_inputs(
    function_args: tuple[Any, ...], function_kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call's arguments with torch tensors in place of mesh tensors, and the type of a tensor that it writes as its `dtype`."""

    def plain(value: Any) -> Any:
        return to_torch_for_comparison(value) if isinstance(value, Tensor) else value

    written = [function_kwargs[word] for word in OUTPUTS if isinstance(function_kwargs.get(word), Tensor)]
    if written and function_kwargs.get("dtype") is None:
        function_kwargs = {**function_kwargs, "dtype": written[0].dtype}
    return _each(function_args, plain), _each(function_kwargs, plain)


def merge_local_golden_metadata(
    local_inputs: tuple[Any, Mapping[str, Any]], global_inputs: tuple[Any, Mapping[str, Any]]
) -> tuple[Any, dict[str, Any]]:
    """The second arguments with what the first say of their operands: words that begin with `_ttnn_`."""
    said = {word: value for word, value in local_inputs[1].items() if word.startswith("_ttnn_")}
    return global_inputs[0], {**global_inputs[1], **said}


def default_postprocess_golden_function_outputs(
    output: Any, function_args: tuple[Any, ...], function_kwargs: dict[str, Any]
) -> Any:
    """Golden torch tensors as mesh tensors, in type, layout and place those of the call's first tensor."""
    like = next(iter(get_ttnn_tensors((function_args, function_kwargs))), None)

    def placed(value: Any) -> Any:
        if like is None or not isinstance(value, _of_torch()):
            return value
        return from_torch(value, dtype=like.dtype, layout=like.layout, device=like.device())

    return _each(output, placed)


def prepare_backward_golden_inputs(
    function_args_and_kwargs: tuple[tuple[Any, ...], dict[str, Any]],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a backward golden function: gradients cleared, and kept for what is floating-point or complex."""

    def prepared(value: Any) -> Any:
        if isinstance(value, _of_torch()):
            value.grad = None
            if value.is_floating_point() or value.is_complex():
                value.requires_grad_(True)
        return value

    arguments, keywords = function_args_and_kwargs
    return _each(arguments, prepared), _each(keywords, prepared)


def to_torch_for_comparison(tensor: Any, golden_tensor: Any = None) -> Any:
    """A tensor as torch's: of several shards the one that the golden tensor is of (`_ttnn_mesh_index`), else the first; torch's as they are."""
    if not isinstance(tensor, Tensor):
        return tensor
    shards = get_device_tensors(tensor)
    return to_torch(shards[getattr(golden_tensor, "_ttnn_mesh_index", 0)])


def postprocess_global_golden_function_outputs(outputs: Any, golden_outputs: Any) -> None:
    """Keep golden torch tensors under the numbers of the tensors that they belong to."""
    for _, golden, output in leaves_of_both(golden_outputs, outputs):
        if golden is None or output is None:
            continue
        kept = golden.detach().clone()
        for name in ("_ttnn_mesh_index", "_ttnn_comparison_config"):
            if hasattr(golden, name):
                setattr(kept, name, getattr(golden, name))
        goldens[output.tensor_id] = kept
