"""Pages of the buffer that holds one shard on a device: tiles, or rows of a row-major tensor."""

from __future__ import annotations

import math

from tt_run.runtime.enums import BufferType, Layout
from tt_run.runtime.errors import fatal, put_on_device
from tt_run.runtime.mesh.device_queries import dram_alignment, l1_alignment
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import tile_bytes
from tt_run.runtime.values.storage import GONE, GONE_HINT


def page_bytes(tensor: Tensor) -> int:
    """Bytes of a page. Raises RuntimeError for a tensor on the host, as the others here do."""
    _on_device(tensor)
    return tile_bytes(_elements(tensor), tensor.dtype)


def aligned_page_bytes(tensor: Tensor) -> int:
    """Bytes from one page to the next: a page rounded up to what its memory is aligned to."""
    in_dram = tensor.memory_config().buffer_type is BufferType.DRAM
    step = dram_alignment() if in_dram else l1_alignment()
    return -(-page_bytes(tensor) // step) * step


def page_count(tensor: Tensor) -> int:
    """Number of pages."""
    _on_device(tensor)
    return -(-tensor.volume() // _elements(tensor))


def _elements(tensor: Tensor) -> int:
    if tensor.layout is Layout.TILE:
        return math.prod(tensor.tile.edges)
    spec = tensor.memory_config().shard_spec
    return max(spec.shape[-1] if spec is not None else tensor.padded_shape[-1], 1)


def _on_device(tensor: Tensor) -> None:
    if tensor.device() is None:
        raise fatal(
            "Expected Tensor with DeviceStorage, got StorageType::HOST",
            "device_storage != nullptr",
            hint=put_on_device("tensor"),
        )
    if not tensor.is_allocated():
        raise fatal(GONE, hint=GONE_HINT)
