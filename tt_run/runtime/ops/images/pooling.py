"""Pools and folding of images; `resampling.py` enlarges them. Source: reference library 0.81.1.

PyTorch computes them, since NumPy has none of them. Results are row-major and bfloat16 unless a call says otherwise, as the
reference's. How images are spread over cores changes no value; `placement/pooled_shards.py` says where results lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from tt_run.runtime.enums import BufferType, DataType, Layout, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.element_types import check_summed
from tt_run.runtime.ops.declaration.operands import settle
from tt_run.runtime.ops.goldens import pool_goldens
from tt_run.runtime.ops.images.window_limits import check_adaptive, check_fold, check_pool, check_pooled
from tt_run.runtime.ops.images.windows import (
    Borders,
    Pair,
    borders,
    each_of,
    lies_in_l1,
    need_l1_small,
    one_of,
    pair,
    real,
    to_planes,
    to_rows,
)
from tt_run.runtime.ops.placement.pooled_shards import Pooling, of_fold, of_pool
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
from tt_run.runtime.tuning.conv import Op2DSliceConfig
from tt_run.runtime.values.dtypes import BLOCK_FLOATS
from tt_run.runtime.values.shards import Shards

Function = Callable[..., Any]


class _Windows(NamedTuple):
    """What is made of the windows that a call names: see `_largest` and `_means`."""

    function: Function
    pooling: Pooling
    rounds_alike: Callable[[], bool] = bool
    """Whether the function of bfloat16 elements gives what it gives of float32, rounded."""
    marks_nan: Callable[[], bool] = bool
    """As in `each_of`."""
    whole: bool = False
    """Whether a window is an image."""


def _rows(
    windows: _Windows,
    image: Tensor,
    dtype: DataType,
    layout: Layout,
    memory_config: MemoryConfig | None,
    scheme: TensorMemoryLayout | None,
    tables_in_dram: bool,
) -> tuple[Tensor, list[Shards]]:
    """A pool's first result, rows of pixels on the cores that they are pooled on, and its others."""
    check_pooled(image, dtype, layout, scheme, memory_config)
    device = image.device()
    if device is not None and not tables_in_dram:
        need_l1_small(device, "a pool", "config_tensor_in_dram=True")
    function, pooling, rounds_alike, marks_nan, _ = windows
    if image.dtype in (DataType.INT32, DataType.UINT32):
        pooling = pooling._replace(size=4)
    # The largest of rounded numbers is one of them.
    short = image.dtype is dtype is DataType.BFLOAT16
    is_rounded = short and not pooling.mean
    alike = is_rounded or (short and image.shards.bfloat16 is not None and rounds_alike())
    first, *others = each_of(function, image, short=alike, marks_nan=marks_nan)
    is_rounded = is_rounded or first.bfloat16 is not None
    rows, channels = first.shape[-2:]
    place = memory_config or of_pool(image, rows, channels, layout, dtype, scheme, pooling)
    done = first if is_rounded else Shards.made(finish(first.data, dtype, either=True), first.index)
    return settle((image,), done, dtype, memory_config=place, layout=layout), others


def _whole(function: Function, image: Tensor, layout: Layout, memory_config: MemoryConfig | None) -> Tensor:
    """The means of whole images: interleaved, in their own element type."""
    dtype = image.dtype
    if dtype is DataType.BFLOAT8_B and layout is Layout.ROW_MAJOR:
        dtype = DataType.BFLOAT16
    wanted = (memory_config or image.memory_config()).buffer_type
    place = L1_MEMORY_CONFIG if wanted is BufferType.L1 else DRAM_MEMORY_CONFIG
    return one_of(function, image, dtype=dtype, layout=layout, memory_config=place)


@operation("ttnn.max_pool2d", family=families.POOL, golden=pool_goldens.golden_maxpool2d)
def max_pool2d(
    input_tensor: Tensor,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool = False,
    *,
    memory_config: MemoryConfig | None = None,
    dram_slice_config: Op2DSliceConfig | None = None,
    applied_shard_scheme: TensorMemoryLayout | None = None,
    deallocate_input: bool = False,
    reallocate_halo_output: bool = True,
    return_indices: bool = False,
    dtype: DataType = DataType.BFLOAT16,
    output_layout: Layout = Layout.ROW_MAJOR,
    config_tensor_in_dram: bool = False,
) -> Any:
    """The largest value of each window, as `(1, 1, N*Ho*Wo, C)`; with `return_indices` also its place in the image, row by row.

    Raises RuntimeError when the sizes do not fit.
    """
    windows = _largest(
        (batch_size, input_h, input_w, channels), _fixed(kernel_size), _fixed(stride), _fixed(padding), _fixed(dilation),
        ceil_mode, return_indices,
    )  # fmt: skip
    if return_indices and output_layout is not Layout.ROW_MAJOR:
        raise fatal(
            "Only ROW_MAJOR supported when return_indices is true",
            hint="leave output_layout or return_indices out",
        )
    pooled, others = _rows(
        windows,
        input_tensor,
        dtype,
        output_layout,
        memory_config,
        applied_shard_scheme,
        config_tensor_in_dram,
    )
    if deallocate_input and lies_in_l1(input_tensor):
        input_tensor.deallocate()
    if not return_indices:
        return pooled
    kind = DataType.UINT16 if input_h * input_w <= 2**16 else DataType.UINT32
    found = Shards(finish(others[0].data, kind), others[0].index)
    return [pooled, settle((pooled,), found, kind, layout=Layout.ROW_MAJOR)]


def _fixed(words: int | Sequence[int]) -> int | tuple[int, ...]:
    return words if isinstance(words, int) else tuple(words)


@lru_cache(maxsize=256)
def _largest(
    images: tuple[int, int, int, int],
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...],
    padding: int | tuple[int, ...],
    dilation: int | tuple[int, ...],
    ceil_mode: bool,
    with_places: bool,
) -> _Windows:
    """The largest numbers of windows over images (N, H, W, C). Raises RuntimeError for windows that pools do not have."""
    kernel, steps, spread, sides = (
        pair("kernel_size", kernel_size), pair("stride", stride), pair("dilation", dilation), borders(padding),
    )  # fmt: skip
    check_pool(images, kernel, steps, sides, spread)
    batch, height, width, channels = images
    windows = _Largest((height, width, channels), kernel, steps, sides, spread, ceil_mode, with_places)
    pooling = Pooling(kernel[0] * kernel[1], indices=with_places)
    return _Windows(
        partial(windows.of, batch), pooling, marks_nan=partial(_marks_nan, windows, min(batch, 2))
    )


class _Largest(NamedTuple):
    """Windows over images of a size (height, width, channels), and whether the places of their largest numbers are asked for."""

    size: tuple[int, int, int]
    kernel: Pair
    steps: Pair
    sides: Borders
    spread: Pair
    ceil_mode: bool
    with_places: bool

    def of(self, batch: int, x: Any) -> Any:
        """The largest numbers of the windows of so many images, as rows, and their places."""
        height, width, channels = self.size
        _, kernel, steps, sides, spread, ceil_mode, with_places = self
        # PyTorch pools no integers without a sign.
        planes = to_planes(real(x), batch, height, width, channels)
        around, rest = _sides(planes, sides, float("-inf"))
        pool = torch_cpu.torch_function("nn.functional.max_pool2d")
        found = pool(around, kernel, steps, rest, spread, ceil_mode, with_places)
        if not with_places:  # to note the places takes half as long again
            return to_rows(_begun_inside(found, sides, steps, (height, width)))
        values, places = (_begun_inside(each, sides, steps, (height, width)) for each in found)
        return to_rows(values), to_rows(_in_image(places, around.shape[-1], sides, rest, width))


def _sides(planes: Any, sides: Borders, value: float) -> tuple[Any, tuple[int, int]]:
    """An image and the padding left to PyTorch, which knows only like sides; others are added here."""
    if sides.even:
        return planes, (sides.top, sides.left)
    return torch_cpu.torch_function("nn.functional.pad")(planes, sides.torch(), value=value), (0, 0)


def _begun_inside(pooled: Any, sides: Borders, steps: Pair, size: Pair) -> Any:
    """The windows that begin in an image or in the borders before it. PyTorch, which takes borders added here for the image, has those behind it too."""
    if sides.even:
        return pooled
    rows, columns = (
        -(-(length + before) // step)
        for length, before, step in zip(size, (sides.top, sides.left), steps, strict=True)
    )
    return pooled[..., :rows, :columns]


def _in_image(places: Any, width: int, sides: Borders, rest: tuple[int, int], image_width: int) -> Any:
    """Places in an image to which borders were added, as places in the image itself."""
    if rest == (sides.top, sides.left):
        return places
    return (places // width - sides.top) * image_width + (places % width - sides.left)


@operation("ttnn.avg_pool2d", family=families.POOL, golden=pool_goldens.golden_avg_pool2d)
def avg_pool2d(
    input_tensor: Tensor,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    dram_slice_config: Op2DSliceConfig | None = None,
    applied_shard_scheme: TensorMemoryLayout | None = None,
    compute_kernel_config: WormholeComputeKernelConfig | None = None,
    deallocate_input: bool = False,
    reallocate_halo_output: bool = True,
    dtype: DataType = DataType.BFLOAT16,
    output_layout: Layout = Layout.ROW_MAJOR,
    config_tensor_in_dram: bool = False,
) -> Tensor:
    """The mean of each window, as `(1, 1, N*Ho*Wo, C)`; `count_include_pad` counts the borders, `divisor_override` replaces the count."""
    windows = _means(
        (batch_size, input_h, input_w, channels), _fixed(kernel_size), _fixed(stride), _fixed(padding),
        ceil_mode, count_include_pad, divisor_override,
    )  # fmt: skip
    whole = windows.whole and not _in_parts(input_tensor, input_h * input_w)
    if whole and applied_shard_scheme is None:
        pooled = _whole(windows.function, input_tensor, output_layout, memory_config)
    else:
        pooled, _ = _rows(
            windows,
            input_tensor,
            dtype,
            output_layout,
            memory_config,
            applied_shard_scheme,
            config_tensor_in_dram,
        )
    if deallocate_input and lies_in_l1(input_tensor):
        input_tensor.deallocate()
    return pooled


@lru_cache(maxsize=256)
def _means(
    images: tuple[int, int, int, int],
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...],
    padding: int | tuple[int, ...],
    ceil_mode: bool,
    counts_borders: bool,
    divisor: int | None,
) -> _Windows:
    """The means of windows over images (N, H, W, C). Raises RuntimeError for windows that pools do not have."""
    kernel, steps, sides = pair("kernel_size", kernel_size), pair("stride", stride), borders(padding)
    check_pool(images, kernel, steps, sides)
    batch, height, width, channels = images
    windows = _Means((height, width, channels), kernel, steps, sides, ceil_mode, counts_borders, divisor)
    few = min(batch, 2)
    return _Windows(
        partial(windows.of, batch), Pooling(kernel[0] * kernel[1], mean=True),
        partial(_rounds_alike, windows, few), partial(_marks_nan, windows, few),
        whole=kernel == (height, width) and not sides.any,
    )  # fmt: skip


class _Means(NamedTuple):
    """Windows over images of a size (height, width, channels), and what their sums are divided by."""

    size: tuple[int, int, int]
    kernel: Pair
    steps: Pair
    sides: Borders
    ceil_mode: bool
    count_include_pad: bool
    divisor: int | None

    def of(self, batch: int, x: Any) -> Any:
        """The means of the windows of so many images, as rows."""
        height, width, channels = self.size
        _, kernel, steps, sides, ceil_mode, counts_borders, divisor = self
        planes = to_planes(real(x), batch, height, width, channels)
        around, rest = _sides(planes, sides, 0.0)
        pool = torch_cpu.torch_function("nn.functional.avg_pool2d")
        if sides.even or counts_borders or divisor:
            means = pool(around, kernel, steps, rest, ceil_mode, counts_borders, divisor)
        else:
            inside, _ = _sides(planes.new_ones((1, 1, height, width)), sides, 0.0)
            total, count = (pool(v, kernel, steps, rest, ceil_mode, True, 1) for v in (around, inside))
            means = total / count
        return to_rows(_begun_inside(means, sides, steps, (height, width)))


@lru_cache(maxsize=64)
def _rounds_alike(windows: _Means, batch: int) -> bool:
    """Whether PyTorch's means of bfloat16 elements are those of float32 rounded once, tried with random numbers at first use."""
    height, width, channels = windows.size
    with torch_cpu.quiet() as torch:
        random = torch.Generator().manual_seed(0)
        x = torch.randn((1, 1, batch * height * width, channels), generator=random).bfloat16()
        wide, short = (windows.of(batch, each) for each in (x.float(), x))
        return bool(torch.equal(wide.bfloat16(), short))


@lru_cache(maxsize=64)
def _marks_nan(windows: _Largest | _Means, batch: int) -> bool:
    """Whether every NaN that PyTorch gives of bfloat16 elements has a sign, whatever those have, tried at first use.

    It has where PyTorch rounds many elements together, and not where it rounds one.
    """
    height, width, channels = windows.size
    with torch_cpu.quiet() as torch:
        x = torch.full((1, 1, batch * height * width, channels), float("nan"), dtype=torch.bfloat16)
        first = windows.of(batch, x)
        found = first[0] if isinstance(first, tuple) else first
        return bool((found.view(torch.int16)[torch.isnan(found)] < 0).all())


def _in_parts(image: Tensor, pixels: int) -> bool:
    """Whether images end within blocks of shared exponents, so that each is no tensor of its own."""
    return image.dtype is DataType.BFLOAT8_B and pixels % TILE_SIZE != 0


@operation("ttnn.global_avg_pool2d", family=families.POOL, golden=pool_goldens.golden_global_avg_pool2d)
def global_avg_pool2d(
    input_tensor: Tensor, *, memory_config: MemoryConfig | None = None, dtype: DataType | None = None
) -> Tensor:
    """The mean of each channel of images `(N, H, W, C)`, as `(N, 1, 1, C)` in tiles; of an image `(H, W, C)`, and of `(H, W)`, as one."""
    check_summed(input_tensor.dtype, signed=True)
    rank = len(input_tensor.shape)
    if rank not in (2, 3, 4):
        raise fatal(
            f"global_avg_pool2d expects rank 2, 3, or 4 input, got rank {rank}",
            hint="ttnn.reshape(input_tensor, (N, H, W, C))",
        )
    before, after = int(rank < 4), int(rank < 3)

    def mean(x: Any) -> Any:
        images = real(x).reshape(*x.shape[: 1 - before], *[1] * before, *x.shape[1 - before :], *[1] * after)
        return images.mean((1, 2), keepdim=True)

    return _whole(mean, input_tensor, Layout.TILE, memory_config)


def _adaptive(
    path: str,
    input_tensor: Tensor,
    sizes: tuple[int, ...],
    output_size: Sequence[int],
    memory_config: MemoryConfig | None,
    scheme: TensorMemoryLayout | None,
    deallocate_input: bool,
) -> Tensor:
    size = pair("output_size", output_size)
    check_adaptive((sizes[1], sizes[2]), size)

    def forward(x: Any) -> Any:
        return to_rows(torch_cpu.torch_function(path)(to_planes(real(x), *sizes), size))

    mean = path.endswith("avg_pool2d")
    # Blocks of images that are no whole tiles go through windows as large as those, which take them apart.
    apart = input_tensor.dtype in BLOCK_FLOATS and sizes[1] * sizes[2] % TILE_SIZE
    if mean and size == (1, 1) and scheme is None and not apart:
        pooled = _whole(forward, input_tensor, Layout.ROW_MAJOR, memory_config)
    else:
        # Windows as they are without what does not divide: equal steps, the rest in the last.
        parts = [n - (o - 1) * (n // o) for n, o in zip(sizes[1:3], size, strict=True)]
        windows = _Windows(forward, Pooling(parts[0] * parts[1], mean))
        pooled, _ = _rows(
            windows, input_tensor, DataType.BFLOAT16, Layout.ROW_MAJOR, memory_config, scheme, False
        )
    if deallocate_input and lies_in_l1(input_tensor):
        input_tensor.deallocate()
    return pooled


@operation("ttnn.adaptive_avg_pool2d", family=families.POOL, golden=pool_goldens.golden_adaptive_avg_pool2d)
def adaptive_avg_pool2d(
    input_tensor: Tensor,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    output_size: Sequence[int],
    *,
    memory_config: MemoryConfig | None = None,
    dram_slice_config: Op2DSliceConfig | None = None,
    applied_shard_scheme: TensorMemoryLayout | None = None,
    compute_kernel_config: WormholeComputeKernelConfig | None = None,
    deallocate_input: bool = False,
    reallocate_output: bool = True,
) -> Tensor:
    """Means of windows that divide each image into `output_size` parts."""
    sizes = (batch_size, input_h, input_w, channels)
    return _adaptive(
        "nn.functional.adaptive_avg_pool2d", input_tensor, sizes, output_size,
        memory_config, applied_shard_scheme, deallocate_input,
    )  # fmt: skip


@operation("ttnn.adaptive_max_pool2d", family=families.POOL, golden=pool_goldens.golden_adaptive_max_pool2d)
def adaptive_max_pool2d(
    input_tensor: Tensor,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    output_size: Sequence[int],
    *,
    memory_config: MemoryConfig | None = None,
    dram_slice_config: Op2DSliceConfig | None = None,
    applied_shard_scheme: TensorMemoryLayout | None = None,
    deallocate_input: bool = False,
    reallocate_output: bool = True,
) -> Tensor:
    """Largest values of windows that divide each image into `output_size` parts."""
    sizes = (batch_size, input_h, input_w, channels)
    return _adaptive(
        "nn.functional.adaptive_max_pool2d", input_tensor, sizes, output_size,
        memory_config, applied_shard_scheme, deallocate_input,
    )  # fmt: skip


@operation("ttnn.fold", family=families.MOVEMENT, golden=pool_goldens.golden_fold)
def fold(
    input: Tensor,
    stride_h: int,
    stride_w: int,
    use_transpose_as_fold: bool = False,
    output_shape: Sequence[int] | None = None,
    padding: Sequence[int] = (0, 0),
    grid_size: Any = None,
    override_memory_config: MemoryConfig | None = None,
    collapse_output: bool = False,
) -> Tensor:
    """Blocks of `stride_h` by `stride_w` pixels of images `(N, H, W, C)` become channels: `(N, H/sh, W/sw, C*sh*sw)`.

    `use_transpose_as_fold` takes `(N, C, H, W)`, of which it folds whole tiles and leaves `output_shape`; `collapse_output` gives `(1, 1, N*H/sh*W/sw, C*sh*sw)`; `padding` has two, four or six
    numbers (height, width, channels). Raises RuntimeError when the strides do not divide the image.
    """
    if min(stride_h, stride_w) < 1:
        raise fatal(
            f"Fold: stride_h ({stride_h}) and stride_w ({stride_w}) must be > 0.",
            hint="stride_h and stride_w must be greater than 0",
        )
    words = [int(v) for v in padding]
    if len(words) not in (2, 4, 6):
        raise fatal(
            f"fold: padding needs two, four or six numbers, got {words}",
            hint="padding=[top, bottom, left, right]",
        )
    top, bottom, left, right = words[:4] if len(words) > 2 else (words[0], words[0], words[1], words[1])
    front, back = words[4:] if len(words) == 6 else (0, 0)
    turned = use_transpose_as_fold
    check_fold(input, (top, left, front), turned)

    def forward(x: Any) -> Any:
        pad = torch_cpu.torch_function("nn.functional.pad")
        if turned:
            # Images are turned tile by tile: what fills tiles is folded, too, unless they lie on cores.
            high, wide = (
                (0, 0)
                if input.is_sharded()
                else (-(x.shape[i] + b) % TILE_SIZE for i, b in ((2, top), (3, left)))
            )
            x = pad(x, (0, left + wide, 0, top + high, 0, back)).permute(0, 2, 3, 1)
        else:
            x = pad(x, (front, back, left, right, top, bottom))
        batch, height, width, channels = x.shape
        _check_blocks(height, width, stride_h, stride_w)
        rows, columns = height // stride_h, width // stride_w
        blocks = x.reshape(batch, rows, stride_h, columns, stride_w, channels).permute(0, 1, 3, 2, 4, 5)
        deep = blocks.reshape(batch, rows, columns, -1)
        if turned and output_shape is not None:
            return deep[tuple(slice(0, size) for size in output_shape)]
        return deep.reshape(1, 1, batch * rows * columns, -1) if collapse_output else deep

    if turned:
        place = override_memory_config or (None if input.is_sharded() else L1_MEMORY_CONFIG)
        return one_of(forward, input, layout=input.layout, memory_config=place)
    # Rows of anything but float32 and uint16 are folded in bfloat16.
    kept = (DataType.FLOAT32, DataType.UINT16)
    dtype = input.dtype if input.dtype in kept else DataType.BFLOAT16
    place = override_memory_config
    if place is None and len(input.shape) == 4:
        batch, height, width, channels = input.shape
        high, wide = height + top + bottom, width + left + right
        _check_blocks(high, wide, stride_h, stride_w)
        pixels, padded = stride_h * stride_w, any((top, bottom, left, right, front, back))
        deep = (channels + front + back) * pixels
        place = of_fold(input, batch * high // stride_h, wide // stride_w, deep, pixels, padded)
    return one_of(forward, input, dtype=dtype, memory_config=place)


def _check_blocks(height: int, width: int, stride_h: int, stride_w: int) -> None:
    """Raises RuntimeError for images that are not whole blocks of the strides."""
    for word, size, step in (("H", height, stride_h), ("W", width, stride_w)):
        if size % step:
            raise fatal(
                f"Fold: logical {word} ({size}) must be divisible by stride_{word.lower()} ({step}).",
                hint=f"ttnn.pad the {word.lower()} to a multiple of {step}",
            )
