"""What programs ask about a tensor by a function: where it is, whether it is padded or cut over cores.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from tt_run.runtime.enums import StorageType
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor


def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    """True when the tensor lies on devices."""
    return tensor.storage_type() is StorageType.DEVICE


def get_memory_config(tensor: Tensor) -> MemoryConfig | None:
    """The memory configuration of a tensor on devices, None on the host."""
    return tensor.memory_config() if is_tensor_storage_on_device(tensor) else None


def is_sharded(tensor: Tensor) -> bool:
    """True when the buffer of each device is cut over its cores."""
    return tensor.is_sharded()


def has_tile_padding(tensor: Tensor, *, dim: int | None = None) -> bool:
    """True when one dimension, or else one of the last two, is padded. Raises IndexError for a dimension that does not exist."""
    shape, padded = tuple(tensor.shape), tuple(tensor.padded_shape)
    if dim is not None:
        return shape[dim] != padded[dim]
    return len(shape) > 1 and shape[-2:] != padded[-2:]
