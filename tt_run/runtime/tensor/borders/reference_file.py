"""The reference's `.tensorbin`: the length of a header in eight bytes, the header as a FlatBuffer, then the distinct shards.

The header is filled up so that the shards, of which each begins at a multiple of 64 bytes, do so in the file as well. Fields have the numbers of
the schema. Source: files that the reference library 0.81.1 wrote, and its schema.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    Layout,
    ShardDistributionStrategy,
    ShardOrientation,
    TensorMemoryLayout,
)
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.borders.flatbuffer import (
    Fields,
    Numbers,
    ScalarField,
    Struct,
    Table,
    Tables,
    flatbuffer_bytes,
)
from tt_run.runtime.tensor.borders.stored import StoredTensor, rest_of
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec, memory_of
from tt_run.runtime.tensor.spec.physical import alignment_of, packed, packed_size, unpacked
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, TensorSpec, Tile
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard, TensorTopology
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import BLOCK_FLOATS
from tt_run.runtime.values.shards import Shards

_ALIGNMENT = 64
_LENGTH = 8
_LONGEST_HEADER = 1 << 26
_DTYPES = (
    DataType.BFLOAT16, DataType.FLOAT32, DataType.UINT32, DataType.BFLOAT8_B, DataType.BFLOAT4_B, DataType.UINT8, DataType.UINT16,
    DataType.INT32, DataType.INT8,
)  # fmt: skip
"""Element types in the order of their numbers in a file; the reference writes no other."""
_MOST_DEVICES = 1 << 16
_ROW_MAJOR, _TILED = 1, 2
_IN_THIS_FILE = 1


def fits(record: StoredTensor) -> bool:
    """Whether the reference has a form for a tensor: not for fp8_e4m3, for none of its elements here, nor for block floats in transposed tiles."""
    transposed = record.spec.dtype in BLOCK_FLOATS and record.spec.tile.transpose_tile
    return record.spec.dtype in _DTYPES and record.shards.data.size > 0 and not transposed


def write(file: BinaryIO, record: StoredTensor) -> None:
    """Write a tensor that `fits`."""
    rows = packed(record.shards.data, record.spec)
    stride = rows.shape[1] + -rows.shape[1] % _ALIGNMENT
    header = flatbuffer_bytes(_tensor(record, rows.shape[1], stride))
    header += b"\0" * (-(_LENGTH + len(header)) % _ALIGNMENT)
    file.write(len(header).to_bytes(_LENGTH, "little") + header)
    for place, row in enumerate(rows):
        file.write(b"\0" * ((stride - rows.shape[1]) if place else 0))
        row.tofile(file)


def read(file: BinaryIO, path: Path) -> StoredTensor:
    """Read a file from its start. Raises RuntimeError when it is none of the reference or is damaged."""
    length = int.from_bytes(file.read(_LENGTH), "little")
    size = os.fstat(file.fileno()).st_size
    if not 0 < length <= min(size - _LENGTH, _LONGEST_HEADER):
        raise RuntimeError(
            f"Unable to load the tensor from {path}.  The file is truncated or corrupt, or it is none of the reference nor of this runtime: "
            "write it again with ttnn.dump_tensor"
        )
    try:
        return _stored(Table.root(file.read(length)), rest_of(file, np.uint8))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RuntimeError, MemoryError) as error:
        raise RuntimeError(
            f"Unable to load the tensor from {path}.  The file is truncated or corrupt: {error}"
        ) from error


def _tensor(record: StoredTensor, size: int, stride: int) -> Fields:
    coords = MeshShape(record.mesh)
    positions = [tuple(c) for c in np.ndindex(*coords)]
    shards = [
        Fields([ScalarField("B", _IN_THIS_FILE), Struct([row * stride, size], "Q"), _dims(position)])
        for position, row in zip(positions, record.shards.index, strict=True)
        if row >= 0
    ]
    return Fields([_spec(record.spec), _dims(record.mesh), Tables(shards), _topology(record.topology)])


def _dims(values: Sequence[int]) -> Fields:
    return Fields([Numbers(list(values))])


def _spec(spec: TensorSpec) -> Fields:
    tiled = spec.layout is Layout.TILE
    height, width = spec.tile.edges
    tile = Fields(
        [ScalarField("I", height), ScalarField("I", width), ScalarField("B", spec.tile.transpose_tile)]
    )
    layout = Fields([
        ScalarField("B", _DTYPES.index(spec.dtype)), ScalarField("B", _TILED if tiled else _ROW_MAJOR), Fields([tile] if tiled else []),
        _memory(spec.memory_config), Numbers(alignment_of(spec)),
    ])  # fmt: skip
    return Fields([Numbers(list(spec.shape)), layout])


def _memory(memory: MemoryConfig) -> Fields:
    matrix, any_rank = memory.shard_spec, memory.nd_shard_spec
    return Fields([
        ScalarField("H", memory.memory_layout.value),
        ScalarField("H", memory.buffer_type.value),
        None if matrix is None else Fields([
            _grid(matrix.grid), *(ScalarField("I", n) for n in matrix.shape), ScalarField("B", matrix.orientation.value),
        ]),
        None if any_rank is None else Fields([
            Numbers(list(any_rank.shard_shape)), _grid(any_rank.grid), ScalarField("B", any_rank.orientation.value),
            ScalarField("B", any_rank.shard_distribution_strategy.value),
        ]),
        ScalarField("B", memory.created_with_nd_shard_spec),
    ])  # fmt: skip


def _grid(grid: CoreRangeSet) -> Fields:
    corners = [
        [Fields([ScalarField("i", c.x), ScalarField("i", c.y)]) for c in (r.start, r.end)] for r in grid
    ]
    return Fields([Tables([Fields(pair) for pair in corners])])


def _topology(topology: TensorTopology) -> Fields:
    placements = [
        Fields([ScalarField("B", 1), ScalarField("i", p.dim)])
        if isinstance(p, PlacementShard)
        else Fields([ScalarField("B", 0), ScalarField("i", -1)])
        for p in topology.placements()
    ]
    return Fields([
        _dims(list(topology.distribution_shape())), Tables(placements), Tables([_dims(list(c)) for c in topology.mesh_coords()]),
    ])  # fmt: skip


def _stored(tensor: Table, data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> StoredTensor:
    spec, alignment = _read_spec(tensor.needed(0))
    mesh = tuple(tensor.needed(1).numbers(0))
    if not 0 < math.prod(mesh) <= _MOST_DEVICES:
        raise ValueError(f"a mesh of {list(mesh)}")
    positions = {position: place for place, position in enumerate(np.ndindex(*MeshShape(mesh)))}
    size, rows = packed_size(spec, alignment), dict[int, int]()
    index = [-1] * len(positions)
    for shard in tensor.tables(2):
        offset, given = shard.struct(1, "QQ")
        position = tuple(shard.needed(2).numbers(0))
        if shard.number(0, "B") != _IN_THIS_FILE or position not in positions:
            raise ValueError(f"a shard at {list(position)} of a mesh of {list(mesh)}, or in another file")
        if given != size or offset + size > len(data):
            raise ValueError(f"{min(given, max(len(data) - offset, 0))} bytes instead of {size}")
        index[positions[position]] = rows.setdefault(offset, len(rows))
    read = () if shapes.active() else rows
    raw = np.concatenate([data[:0], *(data[offset : offset + size] for offset in read)]).reshape(-1, size)
    shards = Shards(unpacked(raw, spec, alignment), tuple(index))
    return StoredTensor(spec, shards, mesh, _read_topology(tensor.table(3), mesh))


def _read_spec(table: Table) -> tuple[TensorSpec, list[int]]:
    layout = table.needed(1)
    page, tile = layout.number(1, "B"), DEFAULT_TILE
    if page not in (_ROW_MAJOR, _TILED):
        raise ValueError(f"pages of kind {page}")
    if page == _TILED:
        shape = layout.needed(2).needed(0)
        tile = Tile((shape.number(0, "I"), shape.number(1, "I")), bool(shape.number(2, "B")))
    spec = TensorSpec(
        table.numbers(0),
        _DTYPES[layout.number(0, "B")],
        Layout.TILE if page == _TILED else Layout.ROW_MAJOR,
        _read_memory(layout.needed(3)),
        tile,
    )
    return spec, layout.numbers(4)


def _read_memory(table: Table) -> MemoryConfig:
    matrix, any_rank = table.table(2), table.table(3)
    return memory_of(
        TensorMemoryLayout(table.number(0, "H")),
        BufferType(table.number(1, "H")),
        None
        if matrix is None
        else ShardSpec(
            _read_grid(matrix.needed(0)),
            [matrix.number(1, "I"), matrix.number(2, "I")],
            ShardOrientation(matrix.number(3, "B")),
        ),
        None
        if any_rank is None
        else NdShardSpec(
            any_rank.numbers(0),
            _read_grid(any_rank.needed(1)),
            ShardOrientation(any_rank.number(2, "B")),
            ShardDistributionStrategy(any_rank.number(3, "B")),
        ),
        made_of_any_rank=bool(table.number(4, "B")),
    )


def _read_grid(table: Table) -> CoreRangeSet:
    corners = [
        [CoreCoord(c.number(0, "i"), c.number(1, "i")) for c in (r.needed(0), r.needed(1))]
        for r in table.tables(0)
    ]
    return CoreRangeSet([CoreRange(*pair) for pair in corners])


def _read_topology(table: Table | None, mesh: tuple[int, ...]) -> TensorTopology:
    if table is None:  # files of releases before 0.81 say nothing of it
        whole = [MeshCoordinate(c) for c in np.ndindex(*mesh)]
        return TensorTopology(MeshShape([len(whole)]), [PlacementReplicate()], whole)
    return TensorTopology(
        MeshShape(table.needed(0).numbers(0)),
        [PlacementShard(p.number(1, "i")) if p.number(0, "B") else PlacementReplicate() for p in table.tables(1)],
        [MeshCoordinate(c.numbers(0)) for c in table.tables(2)],
    )  # fmt: skip
