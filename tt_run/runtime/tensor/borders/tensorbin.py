"""The `.tensorbin` file: the reference's format, and one of our own for what that has no form for, which older files have too.

Ours is a magic word, a JSON header, then the distinct shards as raw little-endian rows. Both hold plain data only, so reading a file
from elsewhere cannot run code.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.borders import reference_file
from tt_run.runtime.tensor.borders.stored import StoredTensor, rest_of
from tt_run.runtime.tensor.spec.memory_config import NdShardSpec, ShardSpec, memory_of
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec, Tile
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard, TensorTopology
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import from_wire, to_wire
from tt_run.runtime.values.dtypes import stored_dtype
from tt_run.runtime.values.shards import Shards

MAGIC = b"TTRUNTB1"
_ALIGNMENT = 64
_LONGEST_HEADER = 1 << 26
Array = npt.NDArray[Any]


def write(path: Path, record: StoredTensor) -> None:
    """Write a file as a whole or not at all: readers never see half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        if reference_file.fits(record):
            reference_file.write(file, record)
        else:
            write_own(file, record)
    temporary.replace(path)


def write_own(file: BinaryIO, record: StoredTensor) -> None:
    """Write a tensor in our own format."""
    header = json.dumps(_header(record)).encode()
    file.write(MAGIC + len(header).to_bytes(8, "little") + header)
    file.write(b"\0" * (-file.tell() % _ALIGNMENT))
    _on_disk(record.shards.data, record.spec.dtype).tofile(file)


def read(path: Path) -> StoredTensor:
    """Read a file. Raises RuntimeError when it has neither format or is damaged."""
    with path.open("rb") as file:
        ours = file.read(len(MAGIC)) == MAGIC
        file.seek(0)
        if not ours:
            return reference_file.read(file, path)
        header = _read_header(file, path)
        try:
            return _record(header, file)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise RuntimeError(
                f"Unable to load the tensor from {path}.  The file is truncated or corrupt: {error}"
            ) from error


def _read_header(file: BinaryIO, path: Path) -> dict[str, Any]:
    start = file.read(len(MAGIC) + 8)
    length = int.from_bytes(start[len(MAGIC) :], "little")
    if not start.startswith(MAGIC) or length > _LONGEST_HEADER:
        raise RuntimeError(
            f"Unable to load the tensor from {path}.  The file is truncated or corrupt, or it is none of this runtime: "
            "write it again with ttnn.dump_tensor"
        )
    try:
        header = json.loads(file.read(length))
    except ValueError as error:
        raise RuntimeError(
            f"Unable to load the tensor from {path}.  The file is truncated or corrupt: {error}"
        ) from error
    file.seek(-file.tell() % _ALIGNMENT, os.SEEK_CUR)
    return header if isinstance(header, dict) else {}


def _header(record: StoredTensor) -> dict[str, Any]:
    spec, topology = record.spec, record.topology
    return {
        "shape": list(spec.shape),
        "dtype": spec.dtype.name,
        "layout": spec.layout.name,
        "tile": list(spec.tile.edges),
        "transpose_tile": spec.tile.transpose_tile,
        "memory_layout": spec.memory_config.memory_layout.name,
        "buffer_type": spec.memory_config.buffer_type.name,
        "shard_spec": _spec_words(spec.memory_config.shard_spec, "shape"),
        "nd_shard_spec": _spec_words(spec.memory_config.nd_shard_spec, "shard_shape"),
        "created_with_nd_shard_spec": spec.memory_config.created_with_nd_shard_spec,
        "rows": len(record.shards.data),
        "index": list(record.shards.index),
        "mesh": list(record.mesh),
        "distribution_shape": list(topology.distribution_shape()),
        "placements": [p.dim if isinstance(p, PlacementShard) else None for p in topology.placements()],
        "coords": [list(c) for c in topology.mesh_coords()],
    }


class _Pieces(NamedTuple):
    """What the two kinds of shard specification are made of."""

    grid: CoreRangeSet
    shape: list[int]
    orientation: ShardOrientation


def _spec_words(spec: ShardSpec | NdShardSpec | None, shape: str) -> dict[str, Any] | None:
    if spec is None:
        return None
    return {
        "grid": [[r.start.x, r.start.y, r.end.x, r.end.y] for r in spec.grid],
        "shape": list(getattr(spec, shape)),
        "orientation": spec.orientation.name,
    }


def _spec_parts(words: dict[str, Any] | None) -> _Pieces | None:
    if words is None:
        return None
    ranges = [CoreRange(CoreCoord(x, y), CoreCoord(to_x, to_y)) for x, y, to_x, to_y in words["grid"]]
    return _Pieces(CoreRangeSet(ranges), words["shape"], ShardOrientation[words["orientation"]])


def _record(header: dict[str, Any], file: BinaryIO) -> StoredTensor:
    pieces, nd_pieces = (_spec_parts(header.get(name)) for name in ("shard_spec", "nd_shard_spec"))
    memory = memory_of(
        TensorMemoryLayout[header["memory_layout"]],
        BufferType[header["buffer_type"]],
        pieces and ShardSpec(pieces.grid, pieces.shape, pieces.orientation),
        nd_pieces and NdShardSpec(nd_pieces.shape, nd_pieces.grid, nd_pieces.orientation),
        made_of_any_rank=header.get("created_with_nd_shard_spec", False),
    )
    height, width = header["tile"]
    dtype = DataType[header["dtype"]]
    spec = TensorSpec(
        Shape(header["shape"]),
        dtype,
        Layout[header["layout"]],
        memory,
        Tile((height, width), header.get("transpose_tile") is True),
    )
    shape = (int(header["rows"]), *spec.shape)
    disk = np.dtype(np.uint16) if dtype is DataType.BFLOAT16 else stored_dtype(dtype)
    raw = rest_of(file, disk)
    if raw.size != int(np.prod(shape, dtype=int)):
        raise ValueError(f"{raw.size} values instead of {int(np.prod(shape, dtype=int))}")
    if shapes.active():
        raw, shape = raw[:0], (0, *spec.shape)
    data = from_wire(raw) if dtype is DataType.BFLOAT16 else raw
    topology = TensorTopology(
        MeshShape(header["distribution_shape"]),
        [PlacementReplicate() if dim is None else PlacementShard(dim) for dim in header["placements"]],
        [MeshCoordinate(c) for c in header["coords"]],
    )
    shards = Shards(data.reshape(shape), tuple(header["index"]))
    return StoredTensor(spec, shards, tuple(header["mesh"]), topology)


def _on_disk(data: Any, dtype: DataType) -> Array:
    return to_wire(data) if dtype is DataType.BFLOAT16 else np.ascontiguousarray(data)
