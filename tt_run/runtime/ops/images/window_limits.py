"""What pools, resampling and convolutions refuse before they compute. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.ops.images.windows import Borders, Pair
from tt_run.runtime.ops.placement.walked_cores import check_walk
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.conv import Conv2dConfig


def check_pool(
    images: Sequence[int], kernel: Pair, steps: Pair, sides: Borders, spread: Pair = (1, 1)
) -> None:
    """Raises RuntimeError for images `(N, H, W, C)`, windows and steps of zero, for borders wider than half a window, and for windows wider than an image."""
    for word, extent in zip(("Batch size", "Input height", "Input width", "Channels"), images, strict=True):
        if extent < 1:
            raise fatal(
                f"Pool2D: {word} must be greater than 0, got {extent}",
                hint=f"images (N, H, W, C) are {list(images)}",
            )
    if min(kernel) < 1:
        raise fatal(
            f"Pool2D: Kernel size must be greater than 0 in both dimensions, got ({kernel[0]}, {kernel[1]})",
            hint="kernel_size=[1, 1] or more",
        )
    if min(steps) < 1:
        raise fatal(
            f"Pool2D: stride must be greater than 0, got ({steps[0]}, {steps[1]})",
            hint="stride=[1, 1] or more",
        )
    if min(spread) < 1:
        raise fatal(
            f"Pool2D: Dilation must be greater than 0 in both dimensions, got ({spread[0]}, {spread[1]})",
            hint="dilation=[1, 1] or more",
        )
    if max(sides.top, sides.bottom) > kernel[0] // 2 or max(sides.left, sides.right) > kernel[1] // 2:
        raise fatal(
            f"Pool2D: Padding {tuple(sides)} should not exceed half of kernel size ({kernel[0]}, {kernel[1]})",
            hint=f"at most {[k // 2 for k in kernel]} on each side; ttnn.pad pads more",
        )
    _check_room(images, kernel, sides, spread)


def _check_room(images: Sequence[int], kernel: Pair, sides: Borders, spread: Pair) -> None:
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel, spread, strict=True))
    room = (images[1] + sides.top + sides.bottom, images[2] + sides.left + sides.right)
    if reach[0] > room[0] or reach[1] > room[1]:
        raise fatal(
            f"Pool2D: Effective kernel size ({reach[0]}, {reach[1]}) cannot exceed padded input size ({room[0]}, {room[1]})",
            hint=f"kernel_size and dilation that reach at most {list(room)}",
        )


def check_pooled(
    image: Tensor,
    dtype: DataType,
    layout: Layout,
    scheme: TensorMemoryLayout | None,
    memory_config: MemoryConfig | None,
) -> None:
    """Raises RuntimeError for element types, schemes and places that pools do not have."""
    blocks = (DataType.BFLOAT8_B, DataType.BFLOAT4_B)
    if dtype not in (DataType.BFLOAT16, *blocks):
        raise fatal(
            f"Currently only BFLOAT16, BFLOAT8_B, and BFLOAT4_B output data formats are supported, got {dtype.name}",
            hint="dtype=ttnn.bfloat16, and ttnn.typecast of the result",
        )
    if dtype in blocks and layout is Layout.ROW_MAJOR:
        raise fatal(
            "BFLOAT8_B/BFLOAT4_B output data format is not supported with ROW_MAJOR layout",
            hint="output_layout=ttnn.TILE_LAYOUT",
        )
    memory = image.memory_config()
    if scheme is not None and memory.shard_spec is not None:
        raise fatal(
            "A sharding scheme should not be specified for a sharded input tensor.",
            hint="applied_shard_scheme=None; ttnn.to_memory_config cuts the image in another way",
        )
    if memory.shard_spec is not None and memory.buffer_type is not BufferType.L1:
        raise fatal(
            "Only L1 buffers can have an associated circular buffer!",
            hint="ttnn.to_memory_config(image, ttnn.L1_MEMORY_CONFIG) before the pool",
        )
    if image.dtype is DataType.FLOAT32:
        raise fatal("Only BFLOAT16 supported for now", hint="ttnn.typecast(image, ttnn.bfloat16)")
    if memory_config is not None and memory_config.is_sharded() and memory_config.shard_spec is None:
        raise fatal(
            "MemoryConfig must have Shard Spec specified for sharded memory layout",
            hint="applied_shard_scheme names a scheme; a memory_config needs its cores and shape",
        )


def check_fold(images: Tensor, before: tuple[int, int, int], turned: bool) -> None:
    """Raises RuntimeError for borders before images in tiles, and for turned images of other elements or cuts."""
    memory = images.memory_config()
    if (
        turned
        and memory.shard_spec is not None
        and memory.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED
    ):
        raise fatal("fold op does not support non height-sharding!", hint="use_transpose_as_fold=False")
    floats = (DataType.BFLOAT16, DataType.FLOAT32, DataType.BFLOAT8_B, DataType.BFLOAT4_B)
    if turned and images.dtype not in floats:
        raise fatal(
            f"Input tensor dtype must be BFLOAT16 or FLOAT32 but got DataType::{images.dtype.name}",
            hint="use_transpose_as_fold=False, or ttnn.typecast(images, ttnn.bfloat16)",
        )
    if not turned and any(before) and images.layout is Layout.TILE:
        raise fatal(
            "ttnn.pad: on device tile padding does not support front padding",
            hint="ttnn.to_layout(images, ttnn.ROW_MAJOR_LAYOUT)",
        )


def check_enlargement(
    images: Tensor, factors: tuple[float, ...], smooth: bool, memory_config: MemoryConfig | None
) -> None:
    """Raises RuntimeError for factors, layouts and cuts that images are not enlarged by."""
    memory, whole = images.memory_config(), all(factor.is_integer() for factor in factors)
    cut = memory.shard_spec is not None
    if smooth and memory.shard_spec is not None and memory.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED:
        check_walk(memory.shard_spec, memory.memory_layout)
    if smooth and images.dtype is not DataType.BFLOAT16:
        raise fatal("Bilinear upsample requires BFLOAT16 input", hint="ttnn.typecast(images, ttnn.bfloat16)")
    if smooth and images.shape[-1] % TILE_SIZE:
        raise fatal(
            f"input channels should be divisible by {TILE_SIZE}",
            hint=f"ttnn.pad the channels to a multiple of {TILE_SIZE}",
        )
    wrong = smooth and (
        images.layout is Layout.TILE
        or (cut and memory.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED)
    )
    if wrong or (not smooth and images.layout is Layout.TILE and (cut or not whole)):
        raise fatal(
            f"Unsupported upsample configuration:\n  Mode: {'bilinear' if smooth else 'nearest'}\n"
            f"  Scales: {factors[0]:f} x {factors[1]:f}\n"
            f"  Layout: {images.layout.name}\n  Memory: {memory.memory_layout.name}",
            hint="ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT), or ttnn.sharded_to_interleaved(x)",
        )
    by_pixels = enlarged_by_pixels(images, factors)
    uncut = memory_config is not None and not (
        memory_config.shard_spec is not None if by_pixels else memory_config.is_sharded()
    )
    if memory.shard_spec is not None and uncut:
        _check_uncut(images, memory.shard_spec.shape[1], by_pixels)


def enlarged_by_pixels(images: Tensor, factors: tuple[float, ...]) -> bool:
    """Whether each core of an image that is cut enlarges the pixels that it has."""
    memory = images.memory_config()
    by_pixels = memory.memory_layout is not TensorMemoryLayout.WIDTH_SHARDED
    return memory.shard_spec is not None and by_pixels and all(factor.is_integer() for factor in factors)


def _check_uncut(images: Tensor, width: int, by_pixels: bool) -> None:
    """Raises RuntimeError where an image cut over cores is not enlarged into one that is not."""
    if by_pixels:
        raise fatal(
            "MemoryConfig must have Shard Spec specified for sharded memory layout",
            hint="memory_config=None leaves the result on the cores of the image; ttnn.to_memory_config moves it",
        )
    channels = images.shape[-1]
    if width != channels:
        pages = [n * images.element_size() for n in (width, channels)]
        raise fatal(
            "Input and output page sizes must match for nearest upsample, "
            f"got input_page_size={pages[0]} output_page_size={pages[1]}",
            hint="memory_config=None leaves the result on the cores of the image; ttnn.to_memory_config moves it",
        )


def check_cuts(images: Tensor, product: bool, config: Conv2dConfig, asked: MemoryConfig | None) -> None:
    """Raises RuntimeError for cuts of images, and of results, that convolutions do not have; `product`: windows of one pixel."""
    memory = images.memory_config()
    spec = memory.shard_spec if images.device() is not None else None
    if spec is not None and memory.buffer_type is BufferType.DRAM:
        raise fatal(
            "Input Tensor to Conv DRAM should be in Interleaved Memory Layout",
            hint="ttnn.to_memory_config(images, ttnn.DRAM_MEMORY_CONFIG)",
        )
    if spec is not None and product:
        _check_product(images, spec, memory.memory_layout, config)
    if (
        spec is not None
        and config.shard_layout is None
        and (
            config.reshard_if_not_optimal
            or _by_column(spec, memory.memory_layout)
            or _crooked(images, spec, memory.memory_layout, product)
        )
    ):
        raise fatal(
            "Conv2d supports Height, Block or Width Sharded Layouts but got TensorMemoryLayout::INTERLEAVED",
            hint="conv_config=ttnn.Conv2dConfig(shard_layout=…): images of such pieces are cut anew",
        )
    if product and asked is not None and asked.is_sharded() and asked.shard_spec is None:
        raise fatal(
            "MemoryConfig must have Shard Spec specified for sharded memory layout",
            hint="conv_config=ttnn.Conv2dConfig(shard_layout=…) chooses the cores",
        )


def _by_column(spec: ShardSpec, cut: TensorMemoryLayout) -> bool:
    """Whether pieces of rows or columns are counted down the cores."""
    return cut is not TensorMemoryLayout.BLOCK_SHARDED and spec.orientation is ShardOrientation.COL_MAJOR


def _crooked(images: Tensor, spec: ShardSpec, cut: TensorMemoryLayout, product: bool) -> bool:
    """Whether pieces are none that a convolution works on as they lie: tiles, or rows of so many channels as it reads at once."""
    if product:
        return any(n % TILE_SIZE for n in spec.shape[cut is TensorMemoryLayout.WIDTH_SHARDED :])
    blocks = cut is TensorMemoryLayout.BLOCK_SHARDED and images.layout is Layout.ROW_MAJOR
    return cut is not TensorMemoryLayout.HEIGHT_SHARDED and spec.shape[1] % (8 if blocks else TILE_SIZE) != 0


def _check_product(images: Tensor, spec: ShardSpec, cut: TensorMemoryLayout, config: Conv2dConfig) -> None:
    """Raises RuntimeError where a window of one pixel is a product that does not take its images as they are cut."""
    stays = (
        spec.shape[1] % TILE_SIZE == 0
        and not _by_column(spec, cut)
        and (config.shard_layout is None or not config.reshard_if_not_optimal)
    )
    if stays and cut is TensorMemoryLayout.WIDTH_SHARDED:
        raise fatal(
            "MatmulMultiCoreReuseMultiCastProgramConfig: Unsupported memory layout TensorMemoryLayout::WIDTH_SHARDED.",
            hint="a window of one pixel is a product, whose first operand is cut by rows or in blocks",
        )
    in_blocks = config.shard_layout is TensorMemoryLayout.BLOCK_SHARDED
    if in_blocks and images.layout is not Layout.TILE and any(n % TILE_SIZE for n in spec.shape):
        raise fatal(
            f"Physical shard shape {tuple(spec.shape)} must be tile {{{TILE_SIZE}, {TILE_SIZE}}} sized!",
            hint="ttnn.to_memory_config(images, ttnn.L1_MEMORY_CONFIG) first, or shard_layout=ttnn.TensorMemoryLayout.HEIGHT_SHARDED",
        )


def check_convolution(steps: Pair, groups: int, config: Conv2dConfig) -> None:
    """Raises RuntimeError for steps, groups and divisors of zero, and for blocks that are not whole tiles."""
    if min(steps) < 1:
        raise fatal(
            f"stride must be greater than 0, got ({steps[0]}, {steps[1]})",
            "stride[0] > 0 && stride[1] > 0",
            hint="stride=[1, 1] or more",
        )
    if groups < 1:
        raise fatal("groups must be greater than 0", "groups > 0", hint="groups=1 or more")
    if config.act_block_w_div < 1:
        raise fatal(
            "Config Error: act_block_w_div must be greater than 0.",
            "act_block_w_div > 0",
            hint="act_block_w_div=1",
        )
    if config.act_block_h_override % TILE_SIZE:
        raise fatal(
            f"Config Error: act_block_h_override ({config.act_block_h_override}) must be a multiple of {TILE_SIZE} (tile height).",
            "act_block_h_override % TILE_HEIGHT == 0",
            hint=f"act_block_h_override={TILE_SIZE} or a multiple of it; 0 chooses",
        )
    if config.override_sharding_config and config.core_grid is None:
        raise fatal(
            "Core grid must be provided when overriding sharding config",
            "core_grid.has_value()",
            hint="core_grid=ttnn.CoreRangeSet(…), or override_sharding_config=False",
        )


def check_adaptive(image: Pair, out: Pair) -> None:
    """Raises RuntimeError where windows of one size and step, with borders, are not the adaptive ones of each dimension."""
    patterns = [_windows(size, parts) for size, parts in zip(image, out, strict=True)]
    faults = [
        f"{name} kernel pattern [{','.join(map(str, sizes))}] - {fault}, "
        for name, sizes in zip(("Height", "Width"), patterns, strict=True)
        if (fault := _fault(sizes))
    ]
    found = [_uniform(size, parts, sizes) for size, parts, sizes in zip(image, out, patterns, strict=True)]
    (kernel, step, before, after), (across, aside, left, right) = found
    if any(not _same(image[i], out[i], *found[i]) for i in (0, 1)):
        faults.append(
            f"Calculated pooling parameters (kernel=[{kernel},{across}], stride=[{step},{aside}], "
            f"padding=[{before},{after},{left},{right}]) do not produce uniform pooling behavior, "
        )
    if faults:
        raise throw(
            f"Adaptive pooling configuration not supported. {''.join(faults)}Correctable patterns require uniform middle kernels AND "
            f"borders <= middle AND calculated pooling parameters must produce uniform behavior. Input shape: ({image[0]},{image[1]}), "
            f"Output shape: ({out[0]},{out[1]}).",
            hint="an output size that divides the image's is always there",
        )


def _bounds(size: int, parts: int) -> list[tuple[int, int]]:
    """Where the windows of an adaptive pool begin and end."""
    return [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]


def _windows(size: int, parts: int) -> list[int]:
    return [stop - start for start, stop in _bounds(size, parts)]


def _fault(sizes: list[int]) -> str:
    middle = sizes[1:-1]
    if len(set(middle)) > 1:
        return "middle elements not uniform"
    if middle and max(sizes[0], sizes[-1]) > middle[0]:
        return "border elements larger than middle (padding won't help)"
    return ""


def _uniform(size: int, parts: int, sizes: list[int]) -> tuple[int, int, int, int]:
    """Window, step and borders of a pool that is to stand for an adaptive one."""
    plain = (-(-size // parts), size // parts, 0, 0)
    if len(set(sizes)) == 1 or len(sizes) < 3:
        return plain
    middle, before, after = sizes[1], sizes[1] - sizes[0], sizes[1] - sizes[-1]
    if max(before, after) <= 0:
        return (middle, size // parts, 0, 0)
    return (middle, middle - 1, max(before, 0), max(after, 0))


def _same(size: int, parts: int, kernel: int, step: int, before: int, after: int) -> bool:
    """Whether the windows of a pool are those of an adaptive one."""
    if step < 1 or (size + before + after - kernel) // step + 1 != parts:
        return False
    starts = [i * step - before for i in range(parts)]
    own = [(max(start, 0), min(start + kernel, size)) for start in starts]
    return own == _bounds(size, parts)
