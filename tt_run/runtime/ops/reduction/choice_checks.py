"""What topk, sampling, its seeds, expert routing and moving averages refuse before they compute, in the reference's order and words.

Source: reference library 0.81.1, asked on its host side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import as_type, fatal, in_range, in_rows, in_tiles, put_on_device
from tt_run.runtime.ops.declaration.operands import on_device, volume
from tt_run.runtime.ops.declaration.places import check_filled
from tt_run.runtime.ops.reduction.placement_checks import check_on_grid
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Demand = tuple[bool, str, str]
"""Whether it is met, and when it is not: what is said, and the hint."""

_PLACES = (DataType.UINT32, DataType.INT32)
_USERS = 32
_WORDS = {"Seeds": "seeds", "User IDs": "user_ids"}
_EXPERTS = 64
_CHOICES = 32


def _check(demands: Iterable[Demand]) -> None:
    """Raises RuntimeError for the first demand that is not met."""
    for met, words, hint in demands:
        if not met:
            raise fatal(words, hint=hint)


def _interleaved(tensor: Tensor) -> bool:
    return tensor.memory_config().memory_layout is TensorMemoryLayout.INTERLEAVED


def _height(mask: Tensor) -> int:
    """Rows of a mask as the device keeps it."""
    if mask.layout is Layout.TILE and mask.shape.rank < 2:
        return TILE_SIZE
    return int(mask.padded_shape[-2])


def _power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _power(width: int) -> int:
    """The least power of two of whole tiles that holds so many."""
    return max(TILE_SIZE, 1 << max(width - 1, 0).bit_length())


def _whole(name: str) -> str:
    return f"ttnn.sharded_to_interleaved({name})"


def check_sampling(
    values: Tensor,
    indices: Tensor,
    settings: Mapping[str, Tensor],
    cores: CoreRangeSet | None,
    output: Tensor | None,
) -> None:
    """Arguments of `ttnn.sampling`; `settings` are its k, p and temp."""
    shape = tuple(values.shape)
    _check((
        (_interleaved(values), "Only INTERLEAVED memory layout is supported for inputs!", _whole("input_values")),
        (values.dtype is DataType.BFLOAT16, "Only BFLOAT16 is supported for inputs!", as_type("input_values", "bfloat16")),
        (values.layout is Layout.TILE, "Only TILE_LAYOUT is supported for inputs!", in_tiles("input_values")),
        (_interleaved(indices), "Only INTERLEAVED memory layout is supported for inputs!", _whole("input_indices")),
        (indices.dtype in _PLACES, "Only UINT32 & INT32 dtypes are supported for input indices!", as_type("input_indices", "uint32")),
        (indices.layout is Layout.ROW_MAJOR, "Only ROW_MAJOR is supported for input indices!", in_rows("input_indices")),
        (tuple(indices.shape) == shape, "Input values and indices must have the same shape!", f"input_indices of shape {list(shape)}"),
        (len(shape) == 4, f"Sampling input_values must be rank-4; got rank {len(shape)}", "ttnn.reshape(input_values, (1, 1, users, width))"),
    ))  # fmt: skip
    users, width = shape[2:]
    tiles = width // TILE_SIZE
    _check((
        (shape[:2] == (1, 1), f"Sampling requires input dims 0 and 1 (N, C) to be 1; got {list(shape)}!", "ttnn.reshape(input_values, (1, 1, users, width))"),
        (1 <= users <= _USERS, f"Sampling currently supports between 1 and {_USERS} users (one core per user); got {users}!", f"ttnn.slice to {_USERS} users at a time"),
        (width != 0 and width % TILE_SIZE == 0, f"Input inner dim ({width}) must be non-zero and divisible by 32, pad if needed!", f"ttnn.pad fills up to a width of {_power(width)}"),
        (_power_of_two(tiles),
         f"Input inner dim ({width}) must yield a power-of-2 number of tiles (Wt = W/32 = {tiles}); pad W up to the next power-of-2 "
         "multiple of 32 (e.g. with -inf values and dummy indices) if needed!", f"ttnn.pad fills up to a width of {_power(width)}"),
    ))  # fmt: skip
    if cores is not None:
        check_on_grid("Sampling sub_core_grids", cores, values)
        many = cores.num_cores()
        _check(
            [
                (
                    many >= users,
                    f"Subcore grid must supply at least num_users ({users}) cores, but found {many}!",
                    f"a grid of {users} cores, or leave sub_core_grids out",
                )
            ]
        )
    if output is not None:
        own = tuple(output.shape)
        _check((
            (output.dtype in _PLACES, "Only UINT32 & INT32 dtypes are supported for outputs!", "leave output_tensor out, or make it in ttnn.uint32"),
            (_interleaved(output), "Only INTERLEAVED memory layout is supported for outputs!", _whole("output_tensor")),
            (len(own) == 4, f"Sampling preallocated output must be rank-4, got rank {len(own)}", f"an output of shape [1, 1, 1, {users}]"),
            (own == (1, 1, 1, users),
             f"Sampling preallocated output logical shape must be [1,1,1,{users}] (input dim 2), got [{','.join(map(str, own))}]", f"an output of shape [1, 1, 1, {users}]"),
        ))  # fmt: skip
    k = settings["k"].dtype
    _check([(k in _PLACES, "Only UINT32 & INT32 dtypes are supported for k!", as_type("k", "uint32"))])
    _check(
        (
            settings[name].dtype is DataType.BFLOAT16,
            f"Only BFLOAT16 dtypes are supported for {name}!",
            as_type(name, "bfloat16"),
        )
        for name in ("p", "temp")
    )
    _check(
        (tensor.layout is Layout.ROW_MAJOR, f"Only ROW_MAJOR layout is supported for {name}!", in_rows(name))
        for name, tensor in settings.items()
    )
    _check(
        (
            tuple(tensor.shape) == (users,),
            f"{name} must have shape [{users}] (one per user)!",
            f"ttnn.reshape({name}, ({users},)), or one value for each user",
        )
        for name, tensor in settings.items()
    )


def check_seeds(seeds: int | Tensor, users: int | Tensor | None, device: object) -> None:
    """Arguments of `ttnn.manual_seed`."""
    if not isinstance(seeds, Tensor):
        _check(
            [
                (
                    device is not None,
                    "Device must be provided when seeds is a uint32_t value.",
                    "device=mesh_device",
                )
            ]
        )
    if isinstance(users, int):
        _check(
            [
                (
                    0 <= users < _USERS,
                    f"User IDs scalar must be in the range [0, {_USERS - 1}].",
                    f"user_ids=0 to {_USERS - 1}",
                )
            ]
        )
        scalar = "Seeds were provided as a tensor, so user_ids must not be provided as a scalar."
        _check([(not isinstance(seeds, Tensor), scalar, "user_ids= a tensor like seeds, or leave it out")])
    given = {"Seeds": seeds, "User IDs": users}
    for name, tensor in given.items():
        if isinstance(tensor, Tensor):
            _check((
                (tensor.dtype is DataType.UINT32, f"{name} tensor must be of type UINT32.", as_type(_WORDS[name], "uint32")),
                (tensor.layout is Layout.ROW_MAJOR, f"{name} tensor must have ROW_MAJOR layout.", in_rows(_WORDS[name])),
            ))  # fmt: skip
    if isinstance(seeds, Tensor) and isinstance(users, Tensor):
        ours, theirs = tuple(seeds.shape), tuple(users.shape)
        many, wanted = volume(ours), volume(theirs)
        both = "Seeds tensor and User IDs tensor must"
        _check((
            (many == wanted,
             f"{both} have the same number of elements. Got seeds volume: {many} and user_ids volume: {wanted}", "give each user a seed"),
            (ours == theirs, f"{both} have the same shape.", f"ttnn.reshape(user_ids, {ours})"),
            (len(ours) == 1, f"{both} be 1-dimensional.", f"ttnn.reshape both to ({many},)"),
        ))  # fmt: skip


def check_moe(name: str, tensors: Sequence[Tensor], given: Mapping[str, Any]) -> None:
    tensor, k, output, memory = (given[n] for n in ("input_tensor", "k", "output_tensor", "memory_config"))
    shape, masks = tuple(tensor.shape), (("Topk", "topk_mask_tensor", "k", k), ("Expert", "expert_mask_tensor", "input_shape[-1]", tensor.shape[-1]))  # fmt: skip
    if not volume(shape) and output is not None:
        wanted = type(tensor.shape)([*shape[:-1], 1])
        _check((
            (output.device() is not None, "Preallocated output tensor must be on device", put_on_device("output_tensor")),
            (output.shape == wanted, f"Preallocated output tensor has incorrect shape! Got : {output.shape}, expected: {wanted}", "leave output_tensor out"),
        ))  # fmt: skip
    if not volume(shape):
        return
    rows, width = volume(shape[:-1]), shape[-1]
    _check((
        (len(shape) == 4, f"Input shape must be 4D, got {len(shape)}", "ttnn.reshape(input_tensor, (1, 1, rows, experts))"),
        (k == _CHOICES, f"K must be equal to {_CHOICES}, pad with -infinity if necessary to get {_CHOICES}, got {k}", f"k={_CHOICES}"),
        (width >= _EXPERTS, f"Input shape inner dim {width} must be a multiple of {_EXPERTS}, pad with -infinity if necessary", f"ttnn.pad to {_EXPERTS} experts"),
        (_power_of_two(width), f"Input shape inner dim {width} must be a power of 2, pad with -infinity if necessary", f"ttnn.pad to {_power(width)} experts"),
        (tensor.padded_shape[-2] * rows // shape[-2] % TILE_SIZE == 0,
         f"Input height (combined input_shape[0-2]) {rows} must be a multiple of 32", f"ttnn.pad to {-(-rows // TILE_SIZE) * TILE_SIZE} rows"),
        (memory is None or not memory.is_sharded(), "Sharded implementation not supported yet", "memory_config=ttnn.DRAM_MEMORY_CONFIG"),
        (tensor.layout is Layout.TILE, "The input must be in tiled format", in_tiles("input_tensor")),
    ))  # fmt: skip
    for name, word, what, size in masks:
        own = given[word].shape
        _check([(
            own[-1] == size and volume(tuple(own)) == size,
            f"{name} mask must be row-broadcastable with last dim == {what}. Got rank={own.rank} and shape={own} for {what}={size}",
            f"{word}= a row of {size} values: [1, 1, 1, {size}]",
        )])  # fmt: skip
    for name, word, _, _ in masks:
        inner = _height(given[word])
        _check(
            [
                (
                    inner == TILE_SIZE,
                    f"{name} shape inner dim must be padded to {TILE_SIZE}, got {inner}",
                    in_tiles(word),
                )
            ]
        )


def check_ema(name: str, tensors: Sequence[Tensor], given: Mapping[str, Any]) -> None:
    tensor, output, alpha = given["input_tensor"], given["out"], given["alpha"]
    shape = tuple(tensor.shape)

    def kind(name: str, one: Tensor) -> tuple[Demand, Demand]:
        return (
            (
                one.dtype is DataType.BFLOAT16,
                f"{name} tensor must be BFLOAT16, got: {cpp(one.dtype)}",
                as_type("tensor", "bfloat16"),
            ),
            (
                one.layout is Layout.TILE,
                f"{name} tensor must have TILE layout, got: {cpp(one.layout)}",
                in_tiles("tensor"),
            ),
        )

    _check((
        *kind("Input", tensor),
        (len(shape) == 4, f"EMA input must be 4D [1, B, C, T], got rank {len(shape)}", "ttnn.reshape(tensor, (1, B, C, T))"),
        (shape[0] == 1, f"EMA expects leading dimension to be 1, got {shape[0]}", "ttnn.reshape(tensor, (1, B, C, T))"),
    ))  # fmt: skip
    if output is not None:
        _check(
            [
                (
                    output.device() is not None,
                    "Device Operations expect device tensors as inputs",
                    put_on_device("out"),
                )
            ]
        )
        ours, theirs = (volume(tuple(t.padded_shape)) for t in (tensor, output))
        _check((
            *kind("Output", output),
            (ours == theirs, f"Input and output must have the same volume, input: {ours}, output: {theirs}", "leave out= away, or make it of the shape of the input"),
        ))  # fmt: skip
    _check([(alpha == alpha, "EMA alpha must be a valid number, got NaN", "alpha=0.9")])


_TOPK = (DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.FLOAT32)


_TOPK_PLACES = (DataType.UINT16, DataType.UINT32, DataType.INT32)


_MULTI_CORE_TOPK = 8192

_ROOM_FOR_CHOICES = {
    (DataType.BFLOAT16, False): 111,
    (DataType.BFLOAT16, True): 73,
    (DataType.BFLOAT8_B, False): 120,
    (DataType.BFLOAT8_B, True): 77,
    (DataType.FLOAT32, True): 54,
}
"""Tiles of chosen elements that a core has room for, by their type and whether places take 32 bits."""


def check_topk(
    tensor: Tensor,
    k: int,
    dim: int,
    memory_config: MemoryConfig | None,
    cores: CoreRangeSet | None,
    places: Tensor | None,
    outputs: Sequence[Tensor] | None,
) -> None:
    """Arguments of `ttnn.topk`."""
    on_device(tensor, kind="topk")
    shape = tuple(tensor.shape)
    rank = len(shape)
    if not -max(rank, 1) <= dim < max(rank, 1):
        raise fatal(
            f"Dimension for topk is out of range (expected to be in range of [{-max(rank, 1)}, {max(rank, 1) - 1}])",
            hint=in_range("dim", max(rank, 1)),
        )
    size = shape[dim] if rank else 1
    if k > size:
        raise fatal(
            f"K cannot be larger than the dimension size! K={k}, dimension size={size}",
            hint=f"k=0 to {size}, the length of dimension {dim}",
        )
    if outputs is None and (not rank or not k or not volume(shape)):
        return  # a number is the largest there is, none are none, and no device is asked
    check_filled(tensor)
    _topk_outputs(outputs, Shape([k if d == dim % max(rank, 1) else n for d, n in enumerate(shape)]))
    memory = memory_config or tensor.memory_config()
    if memory.is_sharded():
        raise fatal(
            "Sharded implementation not supported yet",
            hint="ttnn.sharded_to_interleaved(tensor), and memory_config=ttnn.DRAM_MEMORY_CONFIG",
        )
    if tensor.layout is not Layout.TILE:
        whole = rank > 1 and not (shape[-1] % TILE_SIZE or shape[-2] % TILE_SIZE)
        raise fatal(
            "The input must be in tiled format" if whole else "FillPad should only be used for tile layout",
            hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)",
        )
    if tensor.dtype not in _TOPK:
        raise fatal(
            f"Input tensor must be BFLOAT16, BFLOAT8_B, or FLOAT32, got: {cpp(tensor.dtype)}",
            hint=as_type("tensor", "bfloat16"),
        )
    if places is not None:
        _check_indices(tensor, places, dim)
    wide = tensor.dtype is DataType.FLOAT32 or size > 1 << 16
    if outputs is not None:
        _topk_output_types(tensor, outputs[0].dtype, outputs[1].dtype, wide)
    if -(-k // TILE_SIZE) > _ROOM_FOR_CHOICES[tensor.dtype, wide]:
        raise fatal(
            "Not enough cores or cache size available to run TopK operation",
            hint=f"k of at most {_ROOM_FOR_CHOICES[tensor.dtype, wide] * TILE_SIZE}, or ttnn.sort, which takes any length",
        )
    if cores is not None:
        check_on_grid("TopK sub_core_grids", cores, tensor)
        if size >= _MULTI_CORE_TOPK and len(cores.ranges()) != 1:
            raise fatal(
                f"Only one core range is supported right now, got {len(cores.ranges())}",
                hint="name one rectangle: ttnn.CoreRangeSet([ttnn.CoreRange(first, last)])",
            )


def _check_indices(tensor: Tensor, places: Tensor, dim: int) -> None:
    """Indices that a caller gives to the largest elements: of a type that holds them, one for each element of the rows."""
    rank = max(len(tensor.shape), 1)
    if places.dtype not in _TOPK_PLACES:
        raise fatal(
            f"Optional indices tensor must be UINT16, UINT32, or INT32, got: {cpp(places.dtype)}",
            hint=as_type("indices", "uint16", "uint32", "int32"),
        )
    if dim % rank != rank - 1:
        raise fatal(
            f"Indices tensor is only supported for a reduction on the last dimension, got dim={dim} for rank {len(tensor.shape)}",
            hint="ttnn.transpose both to the last dimension, or leave indices_tensor out",
        )
    if places.shape != tensor.shape:
        raise fatal(
            f"Indices tensor has incorrect shape! Got : {places.shape}, expected: {tensor.shape}",
            hint="indices of the tensor's shape, or leave indices_tensor out",
        )


def _topk_output_types(tensor: Tensor, values: DataType, indices: DataType, wide: bool) -> None:
    _check((
        (values in _TOPK, f"Preallocated output tensor must be BFLOAT16, BFLOAT8_B, or FLOAT32 got: {cpp(values)}", as_type("values", "bfloat16")),
        (indices in _TOPK_PLACES, f"Preallocated indices tensor must be UINT16, UINT32, or INT32 got: {cpp(indices)}", as_type("indices", "uint32")),
        (not wide or indices in _PLACES, f"Preallocated indices tensor must be 32-bit (UINT32 or INT32) for this input, got: {cpp(indices)}", as_type("indices", "uint32")),
        (values is tensor.dtype, f"Preallocated output tensor dtype must match input tensor dtype. Got output: {cpp(values)}, input: {cpp(tensor.dtype)}", "leave the output tensors out, or make them with ttnn.empty in the types of the result"),
    ))  # fmt: skip


def _topk_outputs(outputs: Sequence[Tensor] | None, wanted: Shape) -> None:
    named = list(zip(("values", "indices"), outputs or (), strict=False))
    for what, tensor in named:
        if tensor.device() is None:
            raise fatal(f"Preallocated output {what} tensor must be on device", hint=put_on_device(what))
    for what, tensor in named:
        if tensor.shape != wanted:
            raise fatal(
                f"Preallocated {what} tensor has incorrect shape! Got : {tensor.shape}, expected: {wanted}",
                hint="leave the output tensors out, or make them of the expected shape with ttnn.empty",
            )
