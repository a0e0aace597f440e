"""Images as operations hold them: `(1, 1, N*H*W, C)` or `(N, H, W, C)`, and their windows. Shared by all who read images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakSet

from tt_run.runtime import events
from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.kernels.torch_bfloat16 import has_nan
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine_all

Pair = tuple[int, int]
Function = Callable[..., Any]


class Borders(NamedTuple):
    """Rows and columns added around an image."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def even(self) -> bool:
        """Whether opposite sides are alike."""
        return self.top == self.bottom and self.left == self.right

    @property
    def any(self) -> bool:
        """Whether anything is added."""
        return any(self)

    def torch(self) -> tuple[int, int, int, int]:
        """In the order of PyTorch's `pad`."""
        return self.left, self.right, self.top, self.bottom


def pair(name: str, value: int | Sequence[int]) -> Pair:
    """A height and a width, from a pair or one number for both. Raises RuntimeError for anything else."""
    words = (value, value) if isinstance(value, int) else tuple(int(v) for v in value)
    if len(words) != 2:
        raise fatal(f"{name} needs two numbers, got {list(words)}", hint=f"{name}=[height, width]")
    return words[0], words[1]


def borders(value: int | Sequence[int]) -> Borders:
    """Padding as one number, (height, width) or (top, bottom, left, right). Raises RuntimeError for anything else."""
    words = [value] * 2 if isinstance(value, int) else [int(v) for v in value]
    if len(words) == 2:
        return Borders(words[0], words[0], words[1], words[1])
    if len(words) == 4:
        return Borders(*words)
    raise fatal(
        f"padding needs two or four numbers, got {words}",
        hint="padding=[height, width] or [top, bottom, left, right]",
    )


def to_planes(x: Any, batch: int, height: int, width: int, channels: int) -> Any:
    """A shard as `(N, C, H, W)`, channels beyond the given number left out. Raises RuntimeError when the sizes do not fit."""
    held = x.shape[-1]
    if x.numel() != batch * height * width * held or held < channels:
        raise fatal(
            f"an input of shape {list(x.shape)} does not hold {batch} images of {height}x{width} with {channels} channels",
            "input volume == batch_size * input_height * input_width * channels",
            hint="ttnn.reshape(tensor, (1, 1, N * H * W, C)), with the numbers of the call",
        )
    images = x.reshape(batch, height, width, held)
    return (images if held == channels else images[..., :channels]).permute(0, 3, 1, 2)


def to_rows(planes: Any) -> Any:
    """`(N, C, H, W)` as `(1, 1, N*H*W, C)`."""
    batch, channels, height, width = planes.shape
    return planes.permute(0, 2, 3, 1).reshape(1, 1, batch * height * width, channels)


_told: WeakSet[MeshDevice] = WeakSet()


def need_l1_small(device: MeshDevice, what: str, in_dram: str) -> None:
    """Warns, once a mesh and at the program's line, where the reference has no room for the tables that say which pixels a core reads."""
    if device.regions.l1_small or device in _told:
        return
    _told.add(device)
    events.warn(
        f"{what} on a mesh that was opened with l1_small_size=0: it is computed here, a device has no room for its tables and raises "
        f"'Out of Memory: Not enough space to allocate … L1_SMALL buffer'\nhelp: ttnn.open_mesh_device(…, l1_small_size=24576), or {in_dram}"
    )


def lies_in_l1(tensor: Tensor) -> bool:
    """Whether a tensor takes room of the cores."""
    return tensor.device() is not None and tensor.memory_config().buffer_type is BufferType.L1


def each_of(
    function: Function, *given: Tensor, short: bool = False, marks_nan: Callable[[], bool] = bool
) -> list[Shards]:
    """The function on the shards of each device. `short`: of bfloat16 elements it gives such, the same as of float32; `marks_nan`, whether
    every NaN among those has a sign.
    """
    on_device(*given, kind="pool")
    shards = [t.shards for t in given]
    if short and all(each.bfloat16 is not None for each in shards):
        picked = partial(torch_cpu.on_each, function, keeps_bfloat16=True)
        found = combine_all(lambda *stacks: picked(stacks), *shards, either=True)
        if not has_nan(
            found[0].stack, marked=marks_nan()
        ):  # the NaN that PyTorch gives of such elements is one of its own
            return found
    return combine_all(lambda *stacks: torch_cpu.on_each(function, stacks), *shards)


def real(x: Any) -> Any:
    """Integers in float64, which holds them; anything else as it is."""
    return x if x.is_floating_point() else x.double()


def one_of(
    function: Function,
    *given: Tensor,
    dtype: DataType | None = None,
    layout: Layout = Layout.ROW_MAJOR,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """The function's one result, rounded once, where the first operand lies unless a memory_config says otherwise."""
    (shards,) = each_of(function, *given)
    target = dtype or given[0].dtype
    done = Shards.made(finish(shards.data, target, either=True), shards.index)
    return settle(given, done, target, memory_config=memory_config, layout=layout)
