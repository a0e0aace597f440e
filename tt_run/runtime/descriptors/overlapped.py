"""`OverlappedTensor`: a tensor that shares the memory of a larger one with others, as kernels see it."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.enums import DataType
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.tensor import Tensor


@native("ttnn._ttnn.tensor.OverlappedTensor")
class OverlappedTensor(metaclass=Native):
    """A part of the memory of `fused_tensor`. Offset and size in bytes; only kernels read it."""

    def __init__(
        self,
        fused_tensor: Tensor,
        tensor_shape: Sequence[int],
        shard_shape: Sequence[int],
        core_range_set: CoreRangeSet,
        dtype: DataType,
        tile_shape: Sequence[int],
        byte_offset: int = 0,
        total_size: int = 0,
    ) -> None:
        self.fused_tensor = fused_tensor
        self.tensor_shape, self.shard_shape = tuple(tensor_shape), tuple(shard_shape)
        self.core_range_set, self.dtype = core_range_set, dtype
        self.tile_shape = tuple(tile_shape)
        self.byte_offset, self.total_size = byte_offset, total_size

    def get_tile(self) -> Tile:
        """The tile of the part."""
        height, width = self.tile_shape
        return Tile((height, width))
