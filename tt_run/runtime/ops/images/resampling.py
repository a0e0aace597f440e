"""Images enlarged, and read at places between their pixels. Source: reference library 0.81.1.

PyTorch computes them, since NumPy has neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.enums import WIDTH_SHARDED, DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.goldens import pool_goldens
from tt_run.runtime.ops.images import sample_places
from tt_run.runtime.ops.images.window_limits import check_enlargement, enlarged_by_pixels
from tt_run.runtime.ops.images.windows import need_l1_small, one_of, real
from tt_run.runtime.ops.placement.pooled_shards import of_enlargement, of_enlargement_on, of_reading
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig


@operation("ttnn.upsample", family=families.POOL, golden=pool_goldens.golden_upsample)
def upsample(
    input_tensor: Tensor,
    scale_factor: float | Sequence[float],
    *,
    mode: str = "nearest",
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: WormholeComputeKernelConfig | None = None,
) -> Tensor:
    """Images `(N, H, W, C)` enlarged by a factor for height and width, by the nearest pixel or `bilinear`.

    Raises RuntimeError for another mode.
    """
    if mode not in ("nearest", "bilinear"):
        raise fatal("mode must be 'nearest' or 'bilinear'", hint=f"ttnn.upsample has no mode {mode!r}")
    if len(input_tensor.shape) != 4:
        raise fatal(
            f"upsample takes images (N, H, W, C), got shape {list(input_tensor.shape)}",
            hint="ttnn.reshape(tensor, (N, H, W, C))",
        )
    if input_tensor.padded_shape != input_tensor.shape:
        raise fatal(
            "Tiled input must be tile-aligned (no padding difference)",
            hint="ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT)",
        )
    both = (scale_factor, scale_factor) if isinstance(scale_factor, (int, float)) else tuple(scale_factor)
    factors = tuple(float(f) for f in both)
    for side, factor in zip("hw", factors, strict=True):
        if factor <= 0:
            raise fatal(f"scale_factor_{side} must be positive, got {factor:g}", hint="scale_factor=2")
    if mode == "bilinear" and not all(factor.is_integer() for factor in factors):
        raise fatal(
            f"bilinear mode requires integer scale factors, got ({', '.join(f'{f:g}' for f in factors)})",
            hint="scale_factor=2, or mode='nearest', which takes any factor",
        )

    check_enlargement(input_tensor, factors, mode == "bilinear", memory_config)
    device = input_tensor.device()
    if mode == "bilinear" and device is not None:
        need_l1_small(device, "a smooth enlargement", "mode='nearest'")

    def forward(x: Any) -> Any:
        planes = real(x).permute(0, 3, 1, 2)
        return torch_cpu.torch_function("nn.functional.interpolate")(
            planes, scale_factor=factors, mode=mode
        ).permute(0, 2, 3, 1)

    place = memory_config or of_enlargement(input_tensor, factors, mode == "bilinear")
    if memory_config is None or mode != "nearest":
        pass
    elif input_tensor.memory_config().memory_layout is WIDTH_SHARDED and memory_config.is_sharded():
        place = of_enlargement(input_tensor, factors, False)
    elif enlarged_by_pixels(input_tensor, factors):
        batch, high, wide, channels = input_tensor.shape
        shape = (batch, high * int(factors[0]), wide * int(factors[1]), channels)
        place = of_enlargement_on(input_tensor, factors, memory_config, shape)
    dtype = DataType.BFLOAT16 if input_tensor.dtype is DataType.BFLOAT8_B else None
    return one_of(forward, input_tensor, dtype=dtype, memory_config=place)


@operation("ttnn.grid_sample", family=families.POOL, golden=pool_goldens.golden_grid_sample)
def grid_sample(
    input_tensor: Tensor,
    grid: Tensor,
    *,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
    use_precomputed_grid: bool = False,
    batch_output_channels: bool = False,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: WormholeComputeKernelConfig | None = None,
) -> Tensor:
    """Images `(N, H, W, C)` read at the places of a grid `(N, Ho, Wo, 2*K)` of (x, y) from -1 to 1.

    With K places in each element the result is `(N, Ho, Wo*K, C)`, or `(N, Ho, Wo, C*K)` with `batch_output_channels`.
    With `use_precomputed_grid` the grid is what `prepare_grid_sample_grid` made of one. Raises RuntimeError if it is not.
    """
    if padding_mode != "zeros":
        raise fatal(
            "Only zeros padding mode is currently supported", hint=f"got padding_mode={padding_mode!r}"
        )
    if input_tensor.layout is not Layout.ROW_MAJOR:
        raise fatal("Input tensor must be ROW_MAJOR layout", hint="ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT)")
    if input_tensor.memory_config().memory_layout not in (
        TensorMemoryLayout.INTERLEAVED,
        TensorMemoryLayout.HEIGHT_SHARDED,
    ):
        raise fatal(
            "Input tensor must have INTERLEAVED or HEIGHT_SHARDED memory layout",
            hint="ttnn.sharded_to_interleaved(x)",
        )
    if mode == "nearest" and not use_precomputed_grid:
        raise fatal(
            "use_precomputed_grid = false is not supported with mode = 'nearest'. Please use precomputed grid with nearest mode.",
            hint="ttnn.prepare_grid_sample_grid(grid, …, mode='nearest')",
        )
    if input_tensor.shape[-1] % TILE_SIZE:
        raise fatal(
            f"Input tensor last dimension must be divisible by TILE_WIDTH ({TILE_SIZE}), but got {input_tensor.shape[-1]} "
            f"in padded shape {input_tensor.padded_shape}",
            hint=f"ttnn.pad the channels to a multiple of {TILE_SIZE}",
        )
    if use_precomputed_grid and grid.dtype is not DataType.BFLOAT16:
        raise fatal(
            f"grid_sample: a precomputed grid must be BFLOAT16, got {cpp(grid.dtype)}", hint="ttnn.prepare_grid_sample_grid(grid, …)"
        )  # fmt: skip
    # Of each place, its coordinates; or its pixel and the weights of the four around it.
    numbers, kind, meaning = (2, "Standard", "x, y coordinates")
    if use_precomputed_grid and mode == "bilinear":
        numbers, kind, meaning = (6, "Precomputed", "h_nw, w_nw, weight_nw, weight_ne, weight_sw, weight_se")
    if grid.shape[-1] % numbers:
        raise fatal(
            f"{kind} grid tensor last dimension must be a multiple of {numbers} (for {meaning}), but got {grid.shape[-1]} "
            f"in shape {grid.shape}",
            hint=f"a grid (N, H, W, {numbers} * K)",
        )
    several = grid.shape[-1] // numbers

    def forward(x: Any, places: Any) -> Any:
        batch, rows, columns, _ = places.shape
        if use_precomputed_grid:
            found = sample_places.read(x, places, mode)
            return found.reshape(batch, rows, columns, -1) if batch_output_channels else found
        flat = places.reshape(batch, rows, columns * several, 2)
        found = torch_cpu.torch_function("nn.functional.grid_sample")(
            x.permute(0, 3, 1, 2), flat, mode=mode, padding_mode=padding_mode, align_corners=align_corners
        ).permute(0, 2, 3, 1)
        return found.reshape(batch, rows, columns, -1) if batch_output_channels else found

    place = memory_config or of_reading(grid, several, input_tensor.shape[-1], batch_output_channels)
    return one_of(forward, input_tensor, grid, memory_config=place)
