"""Dumping and loading tensors, and `as_tensor` with its cache of converted files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_run.runtime import guard
from tt_run.runtime.comm.world import world
from tt_run.runtime.enums import DataType, DumpTensorMode, Layout
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tensor.borders import tensorbin
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.borders.stored import StoredTensor
from tt_run.runtime.tensor.conversion.devices import from_device, moved_to
from tt_run.runtime.tensor.distribution.gathering import every_shard, own_shards
from tt_run.runtime.tensor.distribution.mappers import Mapper
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.site import holds_everything, local_site
from tt_run.runtime.tensor.spec.topology import only_shard
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

_EXTENSION = ".tensorbin"


@public
def dump_tensor(
    file_name: str | Path, tensor: Tensor, mode: DumpTensorMode = DumpTensorMode.DISTRIBUTED_GATHER
) -> None:
    """Write a tensor with its topology to a `.tensorbin` file.

    DISTRIBUTED_GATHER is a collective over the ranks of a distributed tensor: its first rank writes the whole. With LOCAL each rank writes
    what it holds, to a file with its rank in the name when the mesh spans several ranks. Raises RuntimeError for another extension.
    """
    _dump(_checked(file_name), tensor, mode)


@public
def dump_tensor_flatbuffer(
    filename: str, tensor: Tensor, mode: DumpTensorMode = DumpTensorMode.DISTRIBUTED_GATHER
) -> None:
    """As `dump_tensor`, to a file of any name."""
    _dump(Path(filename), tensor, mode)


def _dump(path: Path, tensor: Tensor, mode: DumpTensorMode) -> None:
    site = tensor.site
    if holds_everything(site) or mode is DumpTensorMode.LOCAL:
        index = dict(zip(site.local_positions, tensor.shards.index, strict=True))
        shards = Shards(own_shards(tensor).data, tuple(index.get(p, -1) for p in range(len(site.coords))))
        _write(path if holds_everything(site) else _rank_file(path), tensor, shards)
        return
    arrays = every_shard(tensor)
    alone = only_shard(tensor.tensor_topology())
    if alone is not None:
        only = tuple(0 if coord == alone else -1 for coord in site.coords)
        _write(path, tensor, Shards(Shards.from_each(arrays, like=tensor.shards.data).data, only))
        return
    if site.group.rank == 0:
        _write(path, tensor, Shards.from_each(arrays, like=tensor.shards.data))
    guard.collective(site.group, guard.Signature("dump_tensor", detail=path.name))


def _write(path: Path, tensor: Tensor, shards: Shards) -> None:
    record = StoredTensor(tensor.spec, shards, tuple(tensor.site.shape), tensor.tensor_topology())
    tensorbin.write(path, record)


@public
def load_tensor(file_name: str | Path, *, device: MeshDevice | None = None) -> Tensor:
    """Read a tensor as it was dumped, to the host or onto a device.

    Raises RuntimeError for another extension, a missing or damaged file, and a mesh of another shape.
    """
    return _load(_checked(file_name), device)


@public
def load_tensor_flatbuffer(file_name: str, device: MeshDevice | None = None) -> Tensor:
    """As `load_tensor`, from a file of any name."""
    return _load(Path(file_name), device)


def _load(path: Path, device: MeshDevice | None) -> Tensor:
    file_name = path
    if not path.exists() and _rank_file(path).exists():
        path = _rank_file(path)
    if not path.exists():
        raise RuntimeError(f"Unable to load the tensor from {file_name}.  The file does not exist.")
    if not path.is_file():
        raise RuntimeError(f"Unable to load the tensor from {file_name}.  The file is not a regular file.")
    record = tensorbin.read(path)
    host = Tensor.of(
        record.shards,
        dtype=record.spec.dtype,
        layout=record.spec.layout,
        topology=record.topology,
        memory_config=record.spec.memory_config,
        tile=record.spec.tile,
        site=local_site(record.mesh),
    )
    return host if device is None else moved_to(host, device)


@public
def as_tensor(
    tensor: Any,
    dtype: DataType | None = None,
    *,
    layout: Layout | None = Layout.ROW_MAJOR,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
    cache_file_name: str | Path | None = None,
    preprocess: Callable[[Any], Any] | None = None,
    mesh_mapper: Mapper | None = None,
    cache_dump_mode: DumpTensorMode = DumpTensorMode.DISTRIBUTED_GATHER,
) -> Tensor:
    """`from_torch` that keeps the converted tensor in a file and reads it from there the next time.

    The file is `{cache_file_name}_dtype_{NAME}_layout_{NAME}.tensorbin`; one that cannot be read is made again. `preprocess` is applied to
    the array before conversion. Raises RuntimeError when a device is given without a memory configuration.
    """
    if device is not None and memory_config is None:
        raise RuntimeError("memory_config must be specified when device is specified")

    def converted(target: MeshDevice | None) -> Tensor:
        source = tensor if preprocess is None else preprocess(tensor)
        made = from_torch(
            source, dtype, layout=layout, device=target, memory_config=memory_config, mesh_mapper=mesh_mapper
        )
        assert made is not None
        return made

    if cache_file_name is None:
        return converted(device)
    names = [value.name if value is not None else "None" for value in (dtype, layout)]
    path = Path(f"{cache_file_name}_dtype_{names[0]}_layout_{names[1]}{_EXTENSION}")
    if not _everywhere(path, cache_dump_mode):
        return _filled_cache(path, converted(None), device, cache_dump_mode)
    try:
        return load_tensor(path, device=device)
    except RuntimeError as error:
        import logging

        logging.getLogger(__name__).warning("%s  Making it again.", error)
        return _filled_cache(path, converted(None), device, cache_dump_mode)


def _filled_cache(path: Path, made: Tensor, device: MeshDevice | None, mode: DumpTensorMode) -> Tensor:
    dump_tensor(path, from_device(made), mode)
    return made if device is None else moved_to(made, device)


def _everywhere(path: Path, mode: DumpTensorMode) -> bool:
    return path.is_file() or (mode is DumpTensorMode.LOCAL and _rank_file(path).is_file())


def _checked(file_name: str | Path) -> Path:
    if not str(file_name).endswith(_EXTENSION):
        raise RuntimeError(f"File {file_name} must have {_EXTENSION} extension")
    return Path(file_name)


def _rank_file(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix(_EXTENSION)}.rank{world().rank}{_EXTENSION}")
