"""What pools, resampling and convolutions refuse before they compute. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.ops.images.windows import Borders, Pair
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.conv import Conv2dConfig


def check_pool(kernel: Pair, steps: Pair, sides: Borders) -> None:
    """Raises RuntimeError for windows and steps of zero, and for borders wider than half a window."""
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
    if max(sides.top, sides.bottom) > kernel[0] // 2 or max(sides.left, sides.right) > kernel[1] // 2:
        raise fatal(
            f"Pool2D: Padding {tuple(sides)} should not exceed half of kernel size ({kernel[0]}, {kernel[1]})",
            hint=f"at most {[k // 2 for k in kernel]} on each side; ttnn.pad pads more",
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
