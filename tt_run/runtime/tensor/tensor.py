"""`Tensor`: the shards of one logical array, on the host or on the devices of a mesh.

A rank stores the shards of its own devices; shape, spec and topology are the same on every rank (reference library 0.81.1).
This module holds the object, below all that makes tensors; its other methods and operators come from `ops/tensor_methods.py`, by way of `operation_methods`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt

from tt_run.runtime.enums import BufferType, DataType, Layout, StorageType
from tt_run.runtime.errors import fatal, put_on_device, read_to_host, throw
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.tensor.addresses import address_of
from tt_run.runtime.tensor.host_buffer import DistributedHostBuffer
from tt_run.runtime.tensor.operation_methods import TensorMethods
from tt_run.runtime.tensor.printing import tensor_text
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.site import Site, holds_everything, local_site
from tt_run.runtime.tensor.spec.tensor_spec import (
    DEFAULT_TILE,
    Shape,
    TensorSpec,
    Tile,
    padded_shape,
    spec_of,
)
from tt_run.runtime.tensor.spec.topology import (
    TensorTopology,
    after_reshape,
    as_partly,
    holders,
    replicated_topology,
)
from tt_run.runtime.values.dtypes import element_size
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import GONE, GONE_HINT, Buffer, BufferPart, Seen, Storage

if TYPE_CHECKING:
    from tt_run.runtime.cores import CoreCoord
    from tt_run.runtime.mesh.device import MeshDevice
    from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
    from tt_run.runtime.mesh.residents import Move

_ids = itertools.count()


def next_tensor_id() -> int:
    """Use up the next number of a tensor."""
    return next(_ids)


@native_class("ttnn._ttnn.tensor.Tensor")
class Tensor(TensorMethods, metaclass=Native):
    """A mesh tensor. `shape` is the shape of one shard, not of the whole.

    Programs build tensors with `from_torch`, `as_tensor` or the creation functions; the forms of this constructor are
    `Tensor(values, shape, dtype, layout, …)` and `Tensor(tensor=array, data_type=…, layout=…, device=…, mesh_mapper=…)`.
    The runtime itself uses `Tensor.of` and `Tensor.derive`.
    """

    observers: ClassVar[tuple[Callable[[Tensor], None], ...]] = ()
    """Called with every tensor that is made, while somebody counts memory or captures a graph."""
    _own_padding: ClassVar[bool] = False
    """Whether the class is of tensors with padding of their own, which what is derived from them has not."""

    tells_axes: ClassVar[bool] = False
    """Whether what is made of such a tensor tells its place axis by axis of the mesh where operands tell it in two ways."""

    __slots__ = ("__weakref__", "_device", "_id", "_site", "_spec", "_storage", "_topology")

    _device: MeshDevice | None
    _id: int
    _site: Site
    _spec: TensorSpec
    _storage: Storage
    _topology: TensorTopology

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._take(self._constructed(args, kwargs))

    @classmethod
    def of(
        cls,
        shards: Shards | Storage,
        *,
        dtype: DataType,
        layout: Layout = Layout.ROW_MAJOR,
        device: MeshDevice | None = None,
        topology: TensorTopology | None = None,
        memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
        tile: Tile = DEFAULT_TILE,
        site: Site | None = None,
        fits: bool = False,
    ) -> Tensor:
        """A tensor over shards that already hold values of `dtype` (bfloat16 and the block floats: float32, rounded).

        `shards.index` counts the local devices of `device`, or of `site` for a host tensor (default: the single position of an
        un-distributed tensor). `topology` defaults to replication over the whole of the device.

        `fits`: raises RuntimeError for pieces that do not fit the shape or their cores.
        """
        storage: Storage = Buffer(shards) if isinstance(shards, Shards) else shards
        site = site or device or local_site((1, 1))
        spec = spec_of(storage.shards.shape, dtype, layout, memory_config, tile, fits=fits)
        if device is not None:
            _check_banks(device, spec.memory_config)
        return cls._make(
            storage, spec, topology or replicated_topology(site, device is not None), device, site
        )

    @classmethod
    def _make(
        cls,
        storage: Storage,
        spec: TensorSpec,
        topology: TensorTopology,
        device: MeshDevice | None,
        site: Site,
    ) -> Tensor:
        # A plain one where it is made from one with padding of its own.
        tensor: Tensor = object.__new__(Tensor if cls._own_padding else cls)
        tensor._storage, tensor._spec, tensor._topology = storage, spec, topology
        tensor._device, tensor._site, tensor._id = device, site, next(_ids)
        if device is not None:
            device.residents.add(tensor)
        for observe in Tensor.observers:
            observe(tensor)
        return tensor

    def _take(self, other: Tensor) -> None:
        self._storage, self._spec, self._topology = other._storage, other._spec, other._topology
        self._device, self._site, self._id = other._device, other._site, next(_ids)
        if self._device is not None:
            self._device.residents.add(self)

    def derive(
        self,
        shards: Shards,
        *,
        dtype: DataType | None = None,
        layout: Layout | None = None,
        memory_config: MemoryConfig | None = None,
        topology: TensorTopology | None = None,
        tile: Tile | None = None,
        view: Seen | None = None,
    ) -> Tensor:
        """A new tensor on the same devices over new shards; what is not named stays as it is here.

        With a `view`, which makes the new shards of these here, it takes no room of its own, and each sees what is written into the other.

        Raises RuntimeError for a `memory_config` whose pieces do not fit the shape or its cores.
        """
        old = self._spec
        dims, layout, tile = shards.shape, layout or old.layout, tile or old.tile
        fits = memory_config is not None and self._device is not None
        if memory_config is None:
            memory_config = sharding.of_matrix(old.memory_config) if view else old.memory_config
        elif memory_config.nameless and self._device is not None:
            padded, steps = (
                padded_shape(dims, layout, tile),
                tile.edges if layout is Layout.TILE else (1, 1),
            )
            cores = self._device.compute_with_storage_grid_size()
            memory_config = sharding.completed(memory_config, old.memory_config, padded.dims, steps, cores)
        spec = spec_of(dims, dtype or old.dtype, layout, memory_config, tile, fits=fits)
        if fits and self._device is not None:
            _check_banks(self._device, spec.memory_config)
        buffer = self._buffer()
        if view is None or self._device is None or buffer is None:
            return self._make(Buffer(shards), spec, topology or self._topology, self._device, self._site)
        storage: Storage = self._storage
        if isinstance(
            storage, BufferPart
        ):  # the same view of what all devices hold, and of that this one's part
            whole = buffer.shards
            seen = Buffer(Shards(view(whole.data), whole.index), buffer.place)
            storage = storage.of(seen)
        else:
            storage = seen = Buffer(shards, buffer.place)
        made = self._make(storage, spec, topology or self._topology, self._device, self._site)
        buffer.seen_as(seen, view, self, made)
        return made

    def on(self, storage: Storage, topology: TensorTopology | None = None) -> Tensor:
        """A tensor with this spec and device over another storage, and with this topology unless another is given."""
        return self._make(storage, self._spec, topology or self._topology, self._device, self._site)

    def alias(self) -> Tensor:
        """Another tensor over the same buffer, which lives while either is used: what an operation returns that changes nothing."""
        made = self.on(self._storage)
        self.share(made)
        return made

    def share(self, *tensors: Tensor) -> None:
        """Note other tensors that have this one's buffer, or the shard of one device in it."""
        buffer = self._buffer()
        if buffer is not None:
            buffer.share(self, *tensors)

    def twin(self) -> Tensor:
        """Another tensor object for the same tensor, of which nobody is told."""
        made: Tensor = object.__new__(type(self))
        made._take(self)
        return made

    def follow(self, move: Move) -> None:
        """Stay on the same devices: the mesh was reshaped, and they have other coordinates now."""
        topology, storage = self._topology, self._storage
        self._topology = move.once(topology, lambda: after_reshape(topology, move.coords))
        move.once(storage, lambda: storage.follow(move))

    def successor(self, shards: Shards, spec: TensorSpec, topology: TensorTopology) -> Tensor:
        """A tensor in the same place over shards that are known to fit `spec`."""
        return self._make(Buffer(shards), spec, topology, self._device, self._site)

    @property
    def shards(self) -> Shards:
        """The shards of this rank's devices. Raises RuntimeError after `deallocate`."""
        return self._storage.shards

    @property
    def shard_index(self) -> tuple[int, ...]:
        """`shards.index`, for which nothing is unpacked."""
        storage = self._storage
        return storage.index if isinstance(storage, Buffer) else storage.shards.index

    @property
    def site(self) -> Site:
        """The mesh positions that `shards.index` counts."""
        return self._site

    @property
    def storage(self) -> Storage:
        """The buffer itself; tensors that share it see each other's writes."""
        return self._storage

    def overwrite(self, shards: Shards) -> None:
        """Replace the content of the buffer in place: optional outputs, host-to-device copies, replays of a trace.

        Devices for which there is no new shard keep theirs.
        """
        if -1 in shards.index:
            shards = shards.over(self.shards)
        self._storage.write(shards)

    def rest(self) -> None:
        """Pack what nobody will read soon."""
        if isinstance(self._storage, Buffer):
            self._storage.pack_away()

    def bits_at_rest(self) -> npt.NDArray[Any] | None:
        """The packed numbers of a bfloat16 tensor where they lie, 16 bits each; None where it is not packed, or seen by other tensors."""
        storage = self._storage
        if not isinstance(storage, Buffer) or self._spec.dtype is not DataType.BFLOAT16 or storage.has_views:
            return None
        return storage.bits

    def written_at_rest(self) -> None:
        """Have what was written into `bits_at_rest` as the content."""
        if isinstance(self._storage, Buffer):
            self._storage.hold_bits()

    @property
    def shape(self) -> Shape:
        """Logical shape of one shard."""
        return self._spec.shape

    @property
    def padded_shape(self) -> Shape:
        """Shape of one shard with the padding of its layout."""
        return self._spec.padded_shape

    @property
    def dtype(self) -> DataType:
        """Element type."""
        return self._spec.dtype

    @property
    def layout(self) -> Layout:
        """ROW_MAJOR or TILE."""
        return self._spec.layout

    @property
    def tile(self) -> Tile:
        """Tile of the layout."""
        return self._spec.tile

    def get_dtype(self) -> DataType:
        """`dtype` by its older name."""
        return self._spec.dtype

    def get_layout(self) -> Layout:
        """`layout` by its older name."""
        return self._spec.layout

    def get_tile(self) -> Tile:
        """`tile` by its older name."""
        return self._spec.tile

    @property
    def spec(self) -> TensorSpec:
        """Shape, dtype, layout, memory and tile as one value."""
        return self._spec

    @property
    def tensor_id(self) -> int:
        """A number of its own for each tensor object of this process; a program may give it another."""
        return self._id

    @tensor_id.setter
    def tensor_id(self, number: int) -> None:
        self._id = number

    def memory_config(self) -> MemoryConfig:
        """Memory layout and buffer type on each device."""
        return self._spec.memory_config

    def storage_type(self) -> StorageType:
        """HOST or DEVICE."""
        return StorageType.HOST if self._device is None else StorageType.DEVICE

    def device(self) -> MeshDevice | None:
        """The mesh device that holds the tensor, None on the host."""
        return self._device

    def devices(self) -> list[MeshDevice | None]:
        """The mesh device in a list; on the host [None]."""
        return [self._device]

    def device_coords(self) -> list[MeshCoordinate]:
        """The mesh coordinates that hold a shard."""
        if isinstance(self._storage, BufferPart):
            return [self._storage.coord]
        if not holds_everything(self._site):
            if self._device is not None and not self.is_allocated():
                raise throw(GONE, hint=GONE_HINT)
            return list(holders(self._topology))
        rows = zip(self._site.coords, self._storage.shards.index, strict=True)
        return [coord for coord, row in rows if row >= 0]

    def is_sharded(self) -> bool:
        """Whether the buffer of one device is cut over its cores (not: over devices); never in host memory."""
        return self._device is not None and self._spec.memory_config.is_sharded()

    def logical_volume(self) -> int:
        """Number of elements of one shard."""
        return self._spec.shape.volume()

    def volume(self) -> int:
        """Number of elements of one shard, padding included."""
        return self.padded_shape.volume()

    def element_size(self) -> int:
        """Bytes of one element on a device."""
        return element_size(self._spec.dtype)

    def buffer_address(self) -> int:
        """Where the device buffer lies, given when it is first asked for. Raises RuntimeError on the host and after `deallocate`."""
        if self._device is None:
            raise fatal(
                "StorageType::HOST doesn't support buffer_address method", hint=put_on_device("tensor")
            )
        storage = self._storage
        while isinstance(storage, BufferPart):
            storage = storage.whole
        if not isinstance(storage, Buffer) or not storage.allocated:
            return id(storage.shards.data)
        return address_of(storage, self._spec, self._device)

    def buffer_unique_id(self) -> int | None:
        """A number that the tensors over one device buffer share; None on the host and after `deallocate`."""
        return None if self._device is None or not self.is_allocated() else id(self._storage)

    def is_per_core_allocated(self) -> bool:
        """Whether the buffer has an address of its own on each core."""
        return self._spec.memory_config.per_core_allocation

    def is_range_lockstep_allocated(self) -> bool:
        """Whether the buffer's address was kept free on its own cores only."""
        return self._spec.memory_config.range_lockstep_allocation

    def experimental_per_core_buffer_address(self, device_coord: MeshCoordinate, core: CoreCoord) -> int:
        """The address on one core: emulated devices have one flat memory, so it is `buffer_address()`."""
        return self.buffer_address()

    def update_tensor_topology(self, topology: TensorTopology) -> None:
        """Say otherwise how the tensor is spread over the mesh; its shards stay as they are."""
        self._topology = as_partly(topology, self._topology)

    def hold_topology(self, topology: TensorTopology) -> None:
        """Refer to the one object that stands for equal topologies on a mesh, so that what is remembered by it is found at once."""
        self._topology = topology

    def host_buffer(self) -> DistributedHostBuffer:
        """The host shards by mesh coordinate. Raises RuntimeError on a device."""
        if self._device is not None:
            raise fatal("Tensor must be on host to access host_buffer", hint=read_to_host("tensor"))
        return DistributedHostBuffer(self._site, self._storage.shards, self._spec)

    def tensor_topology(self) -> TensorTopology:
        """How the tensor is spread over the mesh."""
        return self._topology

    def is_allocated(self) -> bool:
        """Whether the buffer is still there."""
        return self._storage.allocated

    def deallocate(self, force: bool = False) -> None:
        """Give back the device buffer; nothing happens to a host tensor.

        A buffer that an operation shared with its result stays while the other tensor is alive, unless `force` is true.
        """
        if self._device is None:
            return
        if force or not self.shared():
            self._storage.free()

    def shared(self) -> bool:
        """Whether another tensor that is still there has the same buffer or a view of it."""
        buffer = self._buffer()
        return buffer is not None and buffer.shared_beside(self)

    def _buffer(self) -> Buffer | None:
        """The buffer of all devices; None of a tensor that others are made of."""
        storage = self._storage
        while isinstance(storage, BufferPart):
            storage = storage.whole
        return storage if isinstance(storage, Buffer) else None

    # Comparison is elementwise, so tensors are told apart as objects.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        shown = self._shown() if self.is_allocated() else None
        return tensor_text(self.shape, self.dtype, self.layout, shown)

    def _shown(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Each shard of this rank, with the line that names its device where the mesh has several."""
        device = self._device
        several = device if device is not None and device.get_num_devices() > 1 else None
        for coord, shard in zip(self._site.local_coords, self.shards.each(), strict=True):
            if shard is not None:
                place = "" if several is None else f"device_id: {several.get_device_id(coord)}, {coord}\n"
                yield place, shard

    __str__ = __repr__


def observe(made: Callable[[Tensor], None]) -> Callable[[], None]:
    """Call `made` with every tensor from now on; returns a function that ends it."""
    Tensor.observers = (*Tensor.observers, made)

    def leave() -> None:
        Tensor.observers = tuple(each for each in Tensor.observers if each != made)

    return leave


def _check_banks(device: MeshDevice, memory: MemoryConfig) -> None:
    """Raises RuntimeError for pieces on cores that have no memory of the kind."""
    pieces = memory.shard_spec or memory.nd_shard_spec
    if pieces is not None:
        device.check_cores(pieces.grid, memory.buffer_type is BufferType.DRAM)
