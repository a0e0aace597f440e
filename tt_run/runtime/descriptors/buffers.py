"""Descriptions of circular buffers: formats, tiles, and where they would lie."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size

# The reference's numbers of the formats that its chips know.
_FORMATS = {
    DataType.FLOAT32: 0,
    DataType.BFLOAT16: 5,
    DataType.BFLOAT8_B: 6,
    DataType.BFLOAT4_B: 7,
    DataType.INT32: 8,
    DataType.UINT16: 9,
    DataType.UINT32: 24,
    DataType.UINT8: 30,
}


@native("ttnn._ttnn.program_descriptor.TileDescriptor")
class TileDescriptor(metaclass=Native):
    """A tile of a circular buffer: height and width in elements, or those of another tile."""

    def __init__(
        self, height: int | Tile | TileDescriptor = 32, width: int = 32, transpose: bool = False
    ) -> None:
        if isinstance(height, Tile):
            rows, columns = height.edges
        elif isinstance(height, TileDescriptor):
            rows, columns, transpose = height.height, height.width, height.transpose
        else:
            rows, columns = height, width
        self.height: int = rows
        self.width: int = columns
        self.transpose: bool = transpose


@native("ttnn._ttnn.program_descriptor.FaceGeometry")
class FaceGeometry(metaclass=Native):
    """Rows of a face, and faces of a tile."""

    def __init__(self, face_r_dim: int = 16, num_faces: int = 4) -> None:
        self.face_r_dim, self.num_faces = face_r_dim, num_faces


@native("ttnn._ttnn.program_descriptor.CBFormatDescriptor")
class CBFormatDescriptor(metaclass=Native):
    """Format of one part of a circular buffer. `page_size` in bytes."""

    def __init__(
        self,
        buffer_index: int,
        data_format: DataType,
        page_size: int,
        tile: TileDescriptor | None = None,
    ) -> None:
        """Raises TypeError for a format that is no `ttnn.DataType` of the chips, and for an index that is no byte."""
        if not 0 <= buffer_index <= 0xFF:
            raise TypeError(
                f"CBFormatDescriptor(): incompatible function arguments: buffer_index is 0 to 255, not {buffer_index}"
            )
        if data_format not in _FORMATS:
            raise TypeError(
                f"CBFormatDescriptor(): data_format must be a ttnn data type, not {data_format!r}"
            )
        self.buffer_index, self.data_format, self.page_size = buffer_index, data_format, page_size
        self.tile = tile
        self.face_geometry: FaceGeometry | None = None

    @property
    def data_format_as_uint8(self) -> int:
        """The format's number on the chips."""
        return _FORMATS[self.data_format]


@native("ttnn._ttnn.program_descriptor.CBDescriptor")
class CBDescriptor(metaclass=Native):
    """A circular buffer: bytes, cores, formats."""

    def __init__(
        self,
        total_size: int = 0,
        core_ranges: CoreRangeSet | None = None,
        format_descriptors: Iterable[CBFormatDescriptor] = (),
    ) -> None:
        self.total_size = total_size
        self.core_ranges = core_ranges or CoreRangeSet()
        self.format_descriptors = list(format_descriptors)
        self.remote_format_descriptors: list[CBFormatDescriptor] = []
        self.address_offset = 0
        self._buffer: Tensor | None = None

    def has_buffer(self) -> bool:
        """Whether it lies in the memory of a tensor."""
        return self._buffer is not None

    def buffer_address(self) -> int | None:
        """The address of that tensor, None without one."""
        return None if self._buffer is None else self._buffer.buffer_address()

    def set_buffer_from_cb(self, other: CBDescriptor) -> None:
        """Lie where another one lies."""
        self._buffer = other._buffer

    def has_global_circular_buffer(self) -> bool:
        """False: there is none in the emulation."""
        return False


def cb_descriptor_from_sharded_tensor(
    cb_index: int,
    tensor: Tensor,
    address_offset: int = 0,
    total_size: int = 0,
    core_ranges: CoreRangeSet | None = None,
) -> CBDescriptor:
    """A circular buffer in the memory of a tensor that is cut over cores. Raises RuntimeError for another tensor."""
    spec = tensor.memory_config().shard_spec
    if spec is None:
        raise fatal(
            "Tensor must be sharded to automatically create a CBDescriptor",
            "tensor.is_sharded()",
            hint="ttnn.to_memory_config(tensor, ttnn.create_sharded_memory_config(…))",
        )
    page = _page_bytes(tensor, spec.shape[-1])
    pages = math.prod(spec.shape) * _bytes(tensor) // page if tensor.layout is Layout.ROW_MAJOR else 0
    tile = tensor.tile.edges
    pages = pages or math.ceil(spec.shape[0] / tile[0]) * math.ceil(spec.shape[1] / tile[1])
    shape = TileDescriptor(tensor.tile) if tensor.layout is Layout.TILE else None
    made = CBDescriptor(
        total_size or pages * page,
        core_ranges or spec.grid,
        [CBFormatDescriptor(cb_index, tensor.dtype, page, shape)],
    )
    made.address_offset, made._buffer = address_offset, tensor
    return made


def get_cb_address(descriptor: CBDescriptor) -> int:
    """Where a circular buffer would lie in L1: the address of its tensor, if any, and its offset."""
    return (descriptor.buffer_address() or 0) + descriptor.address_offset


def _bytes(tensor: Tensor) -> int:
    return element_size(tensor.dtype)


def _page_bytes(tensor: Tensor, width: int) -> int:
    return tensor.tile.get_tile_size(tensor.dtype) if tensor.layout is Layout.TILE else width * _bytes(tensor)
