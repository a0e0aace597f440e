"""What `minimal_matmul` and its kin refuse: operands that do not fit, and blocks that their cores have no room for. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.cores import CoreCoord, core_of
from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import as_type, fatal, in_tiles
from tt_run.runtime.kernels.activations import Activation
from tt_run.runtime.mesh.hardware import Arch
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.values.dtypes import tile_bytes

_BLOCK = 8
"""Tiles of a side of a block where no configuration says."""
_ROOM = 1499136
"""Bytes of a core of Wormhole, of which the first _BELOW are not for buffers."""
_BELOW = 105824
_FLOATS = (DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.BFLOAT4_B, DataType.FLOAT32)
_TYPES = "BFLOAT16, BFLOAT8_B, BFLOAT4_B, and FLOAT32"
Ternary = tuple[Tensor | None, Tensor | None, float | None]
"""What `addcmul` adds, what it multiplies with, and its factor."""
Faults = Iterator[tuple[str, str]]
"""Sentences of the reference, each with a hint, in the order in which it looks."""


@dataclass(frozen=True)
class MinimalCall:
    """One product: its operands, what is fused into it, and how it is cut. `suffix`: what lies behind `x` along K."""

    x: Tensor
    weight: Tensor
    bias: Tensor | None = None
    suffix: Tensor | None = None
    activation: Activation | None = None
    ternary: Ternary = (None, None, None)
    config: Any = None
    compute: Any = None
    dtype: DataType | None = None
    gated: bool = False
    chunks: int = 1
    name: str = "minimal_matmul"

    @property
    def wide(self) -> int:
        """Columns of the weight."""
        return int(self.weight.shape[-1])

    @property
    def high(self) -> int:
        """Rows of a matrix of the input."""
        return int(self.x.shape[-2])

    @property
    def sums_in_float32(self) -> bool:
        """Whether the kernel adds up in float32, as it does unless it is told otherwise."""
        return self.compute is None or bool(self.compute.fp32_dest_acc_en)


def check_minimal(call: MinimalCall) -> None:
    """Raises RuntimeError for operands, shapes and blocks that the product does not take."""
    for look in (operands, depth, _parts, fused, blocks, _pairs, _room):
        for message, hint in look(call):
            raise fatal(message, hint=hint)


def operands(call: MinimalCall) -> Faults:
    """Layouts, types and ranks."""
    x, weight, bias = call.x, call.weight, call.bias
    if Layout.ROW_MAJOR in (x.layout, weight.layout):
        yield f"{call.name} requires TILE layout for activation and weight", in_tiles("input_tensor")
    if bias is not None and bias.layout is Layout.ROW_MAJOR:
        yield f"{call.name} requires TILE layout for bias", in_tiles("bias_tensor")
    if x.dtype not in _FLOATS or weight.dtype not in _FLOATS:
        yield f"{call.name} supports only {_TYPES} for inputs", as_type("input_tensor", "bfloat16")
    if bias is not None and bias.dtype not in _FLOATS:
        yield (
            f"{call.name} supports only BFLOAT16, BFLOAT8_B, and BFLOAT4_B for bias",
            as_type("bias_tensor", "bfloat16"),
        )
    if min(len(x.shape), len(weight.shape)) < 2:
        yield f"{call.name} expects rank >= 2 tensors", "ttnn.unsqueeze(tensor, 0)"
    if any(side != 1 for side in weight.shape[:-2]):
        yield (
            f"{call.name} weight must have 1 in all dims < -2",
            "ttnn.matmul takes batches of weights",
        )


def depth(call: MinimalCall) -> Faults:
    """The side along which is added up."""
    x, weight, suffix = call.x, call.weight, call.suffix
    inner, high = x.shape[-1], weight.shape[-2]
    if suffix is not None:
        yield from _suffix(x, suffix, weight)
    elif inner != high:
        yield (
            f"{call.name} inner dimensions must match, got K={inner} and K_w={high}",
            f"a weight of {inner} rows",
        )
    if not (call.high and inner and call.wide):
        yield f"{call.name} dimensions must be positive", "leave empty tensors out"


def _suffix(x: Tensor, suffix: Tensor, weight: Tensor) -> Faults:
    name = "minimal_matmul fused concat"
    if suffix.layout is Layout.ROW_MAJOR:
        yield f"{name} requires TILE layout for second input", in_tiles("suffix")
    if suffix.dtype not in _FLOATS:
        yield f"{name} supports only {_TYPES} for second input", as_type("suffix", "bfloat16")
    if suffix.dtype is not x.dtype:
        yield (
            f"{name}: second-input dtype ({cpp(suffix.dtype)}) must match activation dtype ({cpp(x.dtype)})",
            as_type("suffix", str(x.dtype).rsplit(".", 1)[-1].lower()),
        )
    if len(suffix.shape) != len(x.shape):
        yield (
            f"{name}: second-input rank ({len(suffix.shape)}) must match input rank ({len(x.shape)})",
            "ttnn.reshape one of the two",
        )
    for dim, (first, second) in enumerate(zip(x.shape[:-1], suffix.shape[:-1], strict=False)):
        if first != second:
            yield (
                f"{name}: inputs must differ only on the K (last) axis; dim {dim} differs (input={first}, second={second})",
                "give both the same rows and batches",
            )
    first, second, high = (whole_tiles(n) for n in (x.shape[-1], suffix.shape[-1], weight.shape[-2]))
    if first + second != high:
        yield (
            f"{name}: prefix_padded_K({first}) + suffix_padded_K({second}) must equal weight_padded_K({high}) — use "
            "prepare_weight_for_concatenated_input to build the weight.",
            f"a weight of {first + second} rows, zeros where the inputs are filled up to whole tiles",
        )


def _parts(call: MinimalCall) -> Faults:
    wide, pair = call.wide, 2 * TILE_SIZE
    if call.gated:
        name = "minimal_matmul cannot combine fuse_swiglu with"
        if call.activation is not None:
            yield f"{name} a unary fused_activation", "leave one of the two out"
        if call.ternary[2] is not None:
            yield f"{name} fused ternary (addcmul)", "leave one of the two out"
        for words, width in (("", wide), ("per-chunk ", wide // max(call.chunks, 1))):
            letters = "N/chunks" if words else "N"
            if width % pair:
                yield (
                    f"minimal_matmul fuse_swiglu requires {words}weight width {letters}={width} to be a multiple of 2*TILE_WIDTH={pair}",
                    f"pad the weight to a multiple of {pair} columns",
                )
    if call.chunks > 1:
        yield from cut(wide, call.chunks)


def cut(wide: int, chunks: int) -> Faults:
    """What is wrong with so many parts of so many columns."""
    if wide % chunks:
        yield (
            f"Output width N={wide} must be divisible by chunks={chunks}",
            "a number of parts that divides the weight's columns",
        )
    if wide // chunks % TILE_SIZE:
        yield (
            f"Each chunk size N/chunks={wide // chunks} must be a multiple of TILE_WIDTH={TILE_SIZE}",
            "ttnn.experimental.minimal_matmul, and ttnn.split of its result",
        )


def fused(call: MinimalCall) -> Faults:
    """Bias and addcmul."""
    wide, bias = call.wide, call.bias
    if bias is not None:
        if any(side != 1 for side in bias.shape[:-1]):
            yield f"{call.name} bias must be 1 in all dims except the last", f"a bias of shape [1, {wide}]"
        if bias.shape[-1] != wide:
            yield (
                f"{call.name} bias last dimension must equal N ({wide}), got {bias.shape[-1]}",
                f"a bias of shape [1, {wide}]",
            )
    base, factor, scale = call.ternary
    if scale is None:
        return
    if base is None or factor is None:
        yield (
            "If fused_ternary_scalar is provided, both fused_ternary_input_a and fused_ternary_input_b must be provided",
            "give all three, or none and ttnn.addcmul(…) on the result",
        )
        return
    if call.activation is not None:
        yield (
            "minimal_matmul does not support using fused_activation together with ternary inputs (dit_minimal_matmul_addcmul_fused). "
            "Please use either fused_activation or ternary inputs, not both.",
            "leave one of the two out",
        )
    yield from _ternary(call, base, factor)


def _ternary(call: MinimalCall, base: Tensor, factor: Tensor) -> Faults:
    high, wide = call.high, call.wide
    for letter, tensor in (("a", base), ("b", factor)):
        if tensor.layout is Layout.ROW_MAJOR:
            yield f"fused_ternary_input_{letter} must be TILE layout", in_tiles("addcmul_input_tensor1")
    if base.dtype not in _FLOATS or factor.dtype not in _FLOATS:
        yield (
            "fused_ternary tensors must have supported dtypes",
            as_type("addcmul_input_tensor1", "bfloat16"),
        )
    (rows, columns), (times, across) = _last(base), _last(factor)
    if (rows, columns) != (high, wide):
        yield (
            f"fused_ternary_input_a shape must match output [M={high}, N={wide}], got [{rows}, {columns}]",
            f"ttnn.repeat it to [{high}, {wide}]",
        )
    if times not in (1, high) or across != wide:
        yield (
            f"fused_ternary_input_b shape must be [1, N={wide}] (broadcast) or [M={high}, N={wide}] (full), got [{times}, {across}]",
            f"a tensor of shape [1, {wide}]",
        )


def _last(tensor: Tensor) -> tuple[int, int]:
    """Rows and columns; a vector is a row."""
    return (tensor.shape[-2] if len(tensor.shape) > 1 else 1), tensor.shape[-1]


def blocks(call: MinimalCall) -> Faults:
    """The sizes of a configuration."""
    config = call.config
    if config is None:
        return
    if min(config.M_block_size, config.K_block_size, config.N_block_size) < 1:
        yield "Block sizes must be > 0", "M_block_size=4, K_block_size=4, N_block_size=4"
    if min(config.subblock_h, config.subblock_w) < 1:
        yield "Subblock sizes must be > 0", "subblock_h=2, subblock_w=2"
    for side, part in (("M", "subblock_h"), ("N", "subblock_w")):
        block, piece = getattr(config, f"{side}_block_size"), getattr(config, part)
        if piece > 0 and block % piece:
            yield f"{side}_block_size ({block}) must be divisible by {part} ({piece})", f"{part}=1"
    own, there = core_of(config.compute_with_storage_grid_size), cores(call, None)
    if min(own.x, own.y) < 2:
        yield (
            "compute_with_storage_grid_size must be >= 2x2",
            "compute_with_storage_grid_size=ttnn.CoreCoord(2, 2)",
        )
    if own.x > there.x or own.y > there.y:
        yield (
            "compute_with_storage_grid_size must be <= device grid size",
            f"compute_with_storage_grid_size=ttnn.CoreCoord({there.x}, {there.y})",
        )
    if config.subblock_h * config.subblock_w > _registers(call):
        yield "subblock_h * subblock_w must be <= max_dest_volume", "subblock_h=2, subblock_w=2"


def _registers(call: MinimalCall) -> int:
    """Tiles that the kernel's registers hold: half as many of float32, twice as many where it may have all of them at once."""
    held = 4 if call.sums_in_float32 else 8
    return held * 2 if call.compute is not None and call.compute.dst_full_sync_en else held


def cores(call: MinimalCall, config: Any) -> CoreCoord:
    """The grid of a configuration, or else all of the device's."""
    if config is not None:
        return core_of(config.compute_with_storage_grid_size)
    device = call.x.device()
    assert device is not None
    return device.compute_with_storage_grid_size()


def _sides(call: MinimalCall) -> tuple[int, int, int]:
    """Tiles of a block along M, K and N."""
    names = ("M_block_size", "K_block_size", "N_block_size")
    m, k, n = (_BLOCK if call.config is None else int(getattr(call.config, name)) for name in names)
    return m, k, n


def _pairs(call: MinimalCall) -> Faults:
    """Pairs of tiles stay together: no core gets half of one, and no block ends inside of one."""
    if not call.gated:
        return
    columns, rows = (whole_tiles(side) for side in (call.wide, call.high))
    grid = cores(call, call.config)
    for side in call.x.shape[:-2]:
        rows *= side
    across = grid.y if rows > columns else grid.x
    tiles = columns // TILE_SIZE
    each, block = -(-tiles // (2 * across)) * 2, _sides(call)[2]
    if block % 2:
        yield (
            f"minimal_matmul fuse_swiglu requires N_tiles ({tiles}), N_tiles_per_core ({each}) and N_block_tiles ({block}) all even",
            f"N_block_size={block + 1}",
        )


def _room(call: MinimalCall) -> Faults:
    base, factor, scale = call.ternary
    rows = [] if call.bias is None else [call.bias]
    m, k, n = _sides(call)
    device = call.x.device()
    assert device is not None
    taken = _BELOW + 2 * k * (m * _tile(call.x.dtype) + n * _tile(call.weight.dtype))
    taken += m * n * _tile(DataType.FLOAT32 if call.sums_in_float32 else DataType.BFLOAT16)
    taken += 2 * m * (n // 2 if call.gated else n) * _tile(call.dtype or call.x.dtype)
    if scale is not None and base is not None and factor is not None:
        if _tile(base.dtype) != _tile(call.weight.dtype):
            yield (
                "ternary_a_tile_size must be equal to in1_tile_size",
                f"addcmul_input_tensor1 of the weight's type, {call.weight.dtype}",
            )
        taken += m * n * _tile(base.dtype)
        rows.append(factor)
    taken += sum(n * _tile(tensor.dtype) for tensor in rows)
    if taken > _ROOM and device.arch() is Arch.WORMHOLE_B0:
        grid = cores(call, call.config)
        yield (
            f"Statically allocated dataflow buffers on core range [0-0 - {grid.x - 1}-{grid.y - 1}] grow to {taken} B which is beyond max L1 "
            f"size of {_ROOM} B",
            "config=ttnn.MinimalMatmulConfig(M_block_size=4, K_block_size=4, N_block_size=4, …)",
        )


def _tile(dtype: DataType) -> int:
    return tile_bytes(TILE_SIZE * TILE_SIZE, dtype)
