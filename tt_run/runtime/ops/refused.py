"""Operations that are refused with a sentence, and those of the reference that are there to be tried. Source: reference library 0.81.1.

What is refused means a kernel, a circular buffer or a prefetching core of a device: the emulation runs programs, not kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal, in_rows
from tt_run.runtime.ops.data_movement import conversions
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ACCEPTED, REFUSED, Operation, operation
from tt_run.runtime.ops.declaration.families import Family
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.tensor.creation.from_shape import zeros
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

_PREFETCHES = (
    "it starts cores that prefetch weights for kernels; without it the same products give the same values"
)
_KERNEL = "it runs a kernel of the program's own"

_NAMES: dict[str, tuple[Family, str]] = {
    "generic_op": (families.KERNEL, _KERNEL),
    "experimental.prepare_generic_op": (families.KERNEL, _KERNEL),
    "experimental.start_tensor_prefetcher": (families.KERNEL, _PREFETCHES),
    "experimental.stop_tensor_prefetcher": (families.KERNEL, _PREFETCHES),
    "experimental.queue_tensor_prefetcher_request": (families.KERNEL, _PREFETCHES),
    "experimental.wait_for_cq_on_tensor_prefetcher": (families.KERNEL, _PREFETCHES),
    "experimental.create_global_circular_buffer_for_matmul_1d": (families.KERNEL, _PREFETCHES),
    "experimental.create_global_circular_buffer_for_tensor_prefetcher": (families.KERNEL, _PREFETCHES),
    "experimental.create_prefetcher_pipes_for_tensor_prefetcher": (families.KERNEL, _PREFETCHES),
    "experimental.tensor_prefetcher_block_count_for_matmul_1d": (families.KERNEL, _PREFETCHES),
    "experimental.test_dram_prefetcher_consumer": (families.KERNEL, "it is a test of a device's prefetcher"),
    "experimental.test_dram_prefetcher_validator": (families.KERNEL, "it is a test of a device's prefetcher"),
    "experimental.test_tensor_prefetcher_pipe_consumer": (
        families.KERNEL,
        "it is a test of a device's prefetcher",
    ),
    "experimental.test_tensor_prefetcher_pipe_validator": (
        families.KERNEL,
        "it is a test of a device's prefetcher",
    ),
    "test_hang_device_operation": (families.KERNEL, "it hangs the device, and nothing hangs here"),
}


def _refused(name: str, family: Family, why: str) -> Operation:
    def compute(*args: Any, **kwargs: Any) -> None:
        raise fatal(f"ttnn.{name} is not emulated: {why}", hint="run this part of the program on hardware")

    compute.__doc__ = f"Refused: {why}."
    return operation(f"ttnn.{name}", family=family, state=REFUSED)(compute)


REFUSALS = {name: _refused(name, *rest) for name, rest in _NAMES.items()}


@operation("ttnn.experimental.is_tensor_prefetcher_supported", family=families.KERNEL, direct=True)
def is_tensor_prefetcher_supported(*args: Any, **kwargs: Any) -> bool:
    """False: there is no prefetcher, so programs take the way without one."""
    return False


@operation("ttnn.dram_prefetcher", family=families.KERNEL, state=ACCEPTED, golden=goldens.prefetched)
def dram_prefetcher(
    tensors: Sequence[Tensor],
    num_layers: int,
    global_cb: object = None,
    *,
    enable_performance_mode: bool = False,
    prefetcher_pipes: Sequence[object] = (),
) -> Tensor:
    """A tile that means nothing, of the weights' type: products read `tensors` themselves, whether they are on their way or not.

    The last of `tensors` holds addresses. Raises RuntimeError without weights, without layers, and unless one of `global_cb` and
    `prefetcher_pipes` says where to.
    """
    if (global_cb is None) == (not prefetcher_pipes):
        raise fatal(
            "ttnn.dram_prefetcher needs exactly one delivery target, global_cb or prefetcher_pipes, but got "
            f"global_cb={global_cb} and {len(prefetcher_pipes)} prefetcher_pipes",
            "has_global_cb != has_pipes",
            hint="give global_cb=… or prefetcher_pipes=…, not both",
        )
    if num_layers <= 0:
        raise fatal("Prefetcher must run for at least 1 layer", "args.num_layers > 0", hint="num_layers=1")
    if len(tensors) < 2:
        raise fatal(
            "dram_prefetcher needs at least one weight tensor besides the address tensor",
            "!weight_tensors.empty()",
            hint="[weight, …, addresses], the addresses last",
        )
    if tensors[-1].layout is not Layout.ROW_MAJOR:
        raise fatal(
            "Tensor containing addresses must be row major",
            "tensor_addrs.layout() == Layout::ROW_MAJOR",
            hint=in_rows("tensors[-1]"),
        )
    weight = tensors[0]
    return zeros((TILE_SIZE, TILE_SIZE), dtype=weight.dtype, layout=Layout.TILE, device=weight.device())


@operation("ttnn.composite_example", family=families.MOVEMENT, golden=goldens.same)
def composite_example(input_tensor: Tensor) -> Tensor:
    """A copy in DRAM: the reference's example of an operation made of others."""
    copy: Tensor = conversions.clone.compute(input_tensor, memory_config=DRAM_MEMORY_CONFIG)
    return copy


@operation("ttnn.composite_example_multiple_return", family=families.MOVEMENT, golden=goldens.several)
def composite_example_multiple_return(
    input_tensor: Tensor, return_output1: bool = True, return_output2: bool = True
) -> list[Tensor | None]:
    """Two copies in DRAM, None for one that is not asked for."""
    return [
        composite_example.compute(input_tensor) if wanted else None
        for wanted in (return_output1, return_output2)
    ]
