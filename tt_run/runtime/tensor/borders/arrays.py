"""The borders between tensors and arrays of other libraries: NumPy always, torch where it is installed.

torch is imported only when a caller hands in a torch tensor or asks for one.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tensor.conversion.devices import moved_to
from tt_run.runtime.tensor.distribution.composers import MeshToTensor
from tt_run.runtime.tensor.distribution.gathering import own_shards, readable_shards
from tt_run.runtime.tensor.distribution.mappers import Mapper, own_copy
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.site import holds_everything
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, TensorSpec, Tile, padded_shape
from tt_run.runtime.tensor.spec.topology import PlacementShard, holders
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire
from tt_run.runtime.values.dtypes import (
    BLOCK_FLOATS,
    check_layout,
    chosen_dtype,
    default_layout,
    quantize_padded,
)
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

Array = npt.NDArray[Any]

_NO_HALVES = "a NumPy array of float16 is not taken: array.astype(np.float32), or a torch tensor of float16"


def foreign_array(value: Any) -> tuple[Array, str] | None:
    """A NumPy array or torch tensor as an array without a copy where possible, and the name of its element type.

    None: the value is neither.
    """
    if isinstance(value, np.ndarray):
        if value.dtype == np.float16:
            raise fatal("parse_py_tensor: ndarray_import failed.", hint=_NO_HALVES)
        return value, value.dtype.name
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    tensor = value.detach()
    if tensor.is_meta:
        return _of_meta(tensor)
    tensor = tensor.cpu()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16), "bfloat16"
    return tensor.numpy(), str(tensor.dtype).removeprefix("torch.")


def _of_meta(tensor: Any) -> tuple[Array, str]:
    """What stands for the values of a torch tensor that has none. Raises RuntimeError unless the run has shapes only."""
    name = str(tensor.dtype).removeprefix("torch.")
    if not shapes.active():
        raise fatal(
            f"the torch tensor {list(tensor.shape)} is on the device `meta` and has no values",
            hint="tt-run --emulate --shapes-only takes such tensors; elsewhere make it on the CPU",
        )
    return shapes.zeros(tuple(tensor.shape), np.dtype(name)), name


def from_array(
    array: Array,
    type_name: str,
    *,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    tile: Tile | None = None,
    memory_config: MemoryConfig | None = None,
    device: MeshDevice | None = None,
    mapper: Mapper | None = None,
    pad_value: float | None = None,
) -> Tensor:
    """A tensor with the values of an array: un-distributed on the host, spread by `mapper`, moved to `device` if one is given.

    `pad_value` fills up the tiles of a block float, whose last blocks it shares an exponent with; other padding is never looked at.
    Raises RuntimeError for an element type without a counterpart and for a block float outside of TILE layout.
    """
    wanted = chosen_dtype(type_name, dtype)
    laid = layout or default_layout(wanted)
    check_layout(wanted, laid)
    if laid is not Layout.TILE and tile not in (None, DEFAULT_TILE):
        raise fatal(
            "Configuring a ROW MAJOR page config with a custom tile configuration is not supported.",
            hint="layout=ttnn.TILE_LAYOUT, or no tile",
        )
    padded = wanted in BLOCK_FLOATS and pad_value
    converted = DataType.FLOAT32 if padded else wanted
    tile, memory = tile or DEFAULT_TILE, memory_config or DRAM_MEMORY_CONFIG
    common: dict[str, Any] = {"dtype": wanted, "layout": laid, "memory_config": memory, "tile": tile}
    if mapper is None:
        shards = _alone(array, converted)
    else:
        placed = mapper.unwrap().place(array, converted)
        shards = placed.shards
        common |= {"topology": placed.topology, "site": placed.site}
    if padded:
        shards = shards.map(lambda stack: quantize_padded(stack.astype(np.float32), wanted, padded))
    if memory.is_sharded() and not memory.nameless:
        sharding.settled(memory, padded_shape(shards.shape, laid, tile).dims, laid, tile.edges)
    host = Tensor.of(shards, **common)
    return host if device is None else moved_to(host, device, memory_config)


def _alone(array: Array, dtype: DataType) -> Shards:
    """The one shard of an array that is not distributed; many bfloat16 elements stay what they are."""
    if array.dtype == BFLOAT16 and dtype is DataType.BFLOAT16 and array.size > BLOCK and not shapes.active():
        elements = empty((1, *array.shape), BFLOAT16)
        np.copyto(elements[0], array)
        return Shards.of_bfloat16(elements, (0,))
    return Shards.replicated(own_copy(array, dtype), 1)


@public
def from_torch(
    tensor: Any,
    dtype: DataType | None = None,
    *,
    spec: TensorSpec | None = None,
    tile: Tile | None = None,
    pad_value: float | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
    mesh_mapper: Mapper | None = None,
    cq_id: int | None = None,
    preserve_nan_values: bool = False,
    col_tilize: bool = False,
    enable_bfloat_opt: bool = False,
) -> Tensor:
    """A tensor with the values of a torch tensor or a NumPy array; None gives None.

    NumPy arrays are accepted whether or not torch is installed. With `device` and no mapper every device gets the whole.
    Padding is never stored: `pad_value` counts only in the shared exponents of a block float. The conversion switches change nothing, as
    conversion is always exact.
    Raises RuntimeError as the reference does for contradicting options, TypeError for values that are no array.
    """
    if tensor is None:
        return None  # type: ignore[return-value]  # only for who passes None; everybody else gets a tensor
    found = foreign_array(tensor)
    if found is None:
        numbers = isinstance(tensor, (list, tuple, int, float))
        raise TypeError(
            f"ttnn.from_torch: expected a torch tensor or a NumPy array, got {type(tensor).__name__}"
            + "\nhelp: write numpy.array(values, dtype=numpy.float32), or torch.tensor(values)" * numbers
        )
    if device is not None and not hasattr(device, "local_positions"):
        raise TypeError(
            f"ttnn.from_torch: expected a MeshDevice as device, got {type(device).__name__}\n"
            "help: give what ttnn.open_mesh_device or ttnn.open_device has returned"
        )
    array, type_name = found
    if col_tilize:
        array = _transposed(array, spec, dtype, layout)
    if spec is not None:
        _check_spec(
            spec, array, {"dtype": dtype, "layout": layout, "memory_config": memory_config, "tile": tile}
        )
        dtype, layout, memory_config, tile = spec.dtype, spec.layout, spec.memory_config, spec.tile
    if memory_config is not None and memory_config.is_sharded() and _unspecified(memory_config):
        raise RuntimeError("ttnn.from_torch: Shard spec must not be None for sharded tensors")
    return from_array(
        array,
        type_name,
        dtype=dtype,
        layout=layout,
        tile=tile,
        memory_config=memory_config,
        device=device,
        mapper=mesh_mapper,
        pad_value=pad_value,
    )


def _unspecified(memory_config: MemoryConfig) -> bool:
    return memory_config.shard_spec is None and memory_config.nd_shard_spec is None


def _check_spec(spec: TensorSpec, array: Array, others: dict[str, object]) -> None:
    if spec.shape != tuple(array.shape):
        raise RuntimeError(
            f"ttnn.from_torch: spec shape {spec.shape} must be the same as tensor shape {list(array.shape)}"
        )
    for name, value in others.items():
        if value is not None:
            raise RuntimeError(f"ttnn.from_torch: {name} must be None when spec is specified")


def _transposed(
    array: Array, spec: TensorSpec | None, dtype: DataType | None, layout: Layout | None
) -> Array:
    """The last two dimensions swapped, so that columns share the exponents of a block float."""
    if spec is not None:
        raise RuntimeError("ttnn.from_torch: col_tilize=True is not supported with spec")
    if dtype not in BLOCK_FLOATS:
        raise RuntimeError("ttnn.from_torch: col_tilize=True requires BFP dtype (bfloat8_b or bfloat4_b)")
    if array.ndim < 2:
        raise RuntimeError("ttnn.from_torch: col_tilize=True requires tensor.ndim >= 2")
    if layout is not None and layout is not Layout.TILE:
        raise RuntimeError("ttnn.from_torch: col_tilize=True requires layout to be None or ttnn.TILE_LAYOUT")
    return np.swapaxes(array, -1, -2)


def read(tensor: Tensor, composer: MeshToTensor | None = None, *, copies: bool = True) -> Array:
    """The values in stored form as an array that belongs to the caller, unless `copies` is False.

    Over several ranks a composer reads a distributed tensor on all of them together. Without one a rank reads the shard that it
    hosts. Raises RuntimeError for more than one shard and no composer.
    """
    if composer is not None:
        array = composer.compose(tensor)
    else:
        here = [shard for shard in readable_shards(tensor) if shard is not None]
        if len(here) > 1:
            raise fatal(
                f"Can't convert a tensor distributed on {tensor.site.shape} mesh to row-major logical tensor. "
                "Supply a mesh composer to concatenate multi-device shards.",
                hint=_ways_to_read(tensor),
            )
        if not here:
            raise _nothing_here(tensor)
        array = here[0]
    shapes.values_read(array.shape)
    if shapes.without_memory(array):
        # Memory that is zero until it is written costs nothing.
        return np.zeros(array.shape, array.dtype)
    return array if not copies or (array.base is None and array.flags.owndata) else array.copy()


def _nothing_here(tensor: Tensor) -> RuntimeError:
    """What is said where this rank has no shard to read."""
    if holds_everything(tensor.site):
        return fatal(
            "The tensor holds no shard on any device",
            hint="make it with ttnn.from_torch, or write into it with ttnn.copy_host_to_device_tensor",
        )
    coords = ", ".join(map(str, holders(tensor.tensor_topology())))
    return fatal(
        f"This rank hosts no shard of the tensor, which lies at {coords}",
        hint="if any(map(mesh_device.get_view().is_local, coords)): …, or a mesh_composer on every rank",
    )


def _ways_to_read(tensor: Tensor) -> str:
    """The composer that undoes the placements of a tensor, as one would type it."""
    placements = tensor.tensor_topology().placements()
    dims = [placement.dim for placement in placements if isinstance(placement, PlacementShard)]
    if not dims:
        return "every device holds a copy: ttnn.get_device_tensors(tensor)[0] is the first"
    if len(dims) == 1:
        composer = f"ttnn.ConcatMeshToTensor(mesh_device, dim={dims[0]})"
    else:
        composer = f"ttnn.ConcatMesh2dToTensor(mesh_device, dims={tuple(dims)}, mesh_shape=mesh_device.shape)"
    return f"mesh_composer={composer}, or ttnn.get_device_tensors(tensor)[0] for one shard"


def to_numpy(tensor: Tensor, mesh_composer: MeshToTensor | None = None) -> Array:
    """The values as a NumPy array: bfloat16, fp8 and the block floats as float32, the other types as themselves."""
    return read(tensor, mesh_composer)


@public
def to_torch(
    tensor: Tensor,
    dtype: Any = None,
    *,
    torch_rank: int | None = None,
    mesh_composer: MeshToTensor | None = None,
    device: MeshDevice | None = None,
    cq_id: int | None = None,
) -> Any:
    """The values as a torch tensor; where torch is not installed, as a NumPy array (bfloat16 as float32).

    `dtype` converts the result, `torch_rank` drops leading dimensions of length 1 down to that rank.
    Raises RuntimeError for a tensor of several shards without a composer, or dimensions that cannot be dropped.
    """
    elements = None if mesh_composer is not None else _bfloat16_here(tensor)
    if elements is not None and _has_torch():
        torch = importlib.import_module("torch")
        values = torch.from_numpy(elements.view(np.int16)).view(torch.bfloat16).clone()
    else:
        # The 16 bits of bfloat16 are a copy of their own; other types need one.
        values = _as_torch(
            read(tensor, mesh_composer, copies=tensor.dtype is not DataType.BFLOAT16 or not _has_torch()),
            tensor.dtype,
        )
    if torch_rank is not None:
        while len(values.shape) > torch_rank:
            if values.shape[0] != 1:
                raise RuntimeError("ttnn: Unable to squeeze to desired rank!")
            values = values[0]
    if dtype is None:
        return values
    return values.astype(dtype) if isinstance(values, np.ndarray) else values.to(dtype=dtype)


def _bfloat16_here(tensor: Tensor) -> Array | None:
    """The bfloat16 elements of a tensor of one shard, where they are kept so and nobody else need be asked."""
    if not isinstance(tensor, Tensor) or not holds_everything(tensor.site):
        return None
    shards = own_shards(tensor)
    elements = shards.bfloat16
    return None if elements is None or len(shards.index) > 1 else elements[0, ...]


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _as_torch(array: Array, dtype: DataType) -> Any:
    if not _has_torch():
        return array
    torch = importlib.import_module("torch")

    if shapes.active():
        kind = (
            torch.bfloat16 if dtype is DataType.BFLOAT16 else torch.from_numpy(np.empty(0, array.dtype)).dtype
        )
        return torch.zeros(array.shape, dtype=kind)
    if dtype is DataType.BFLOAT16:
        # torch reads the 16-bit pattern; NumPy's bfloat16 extension type is unknown to it, and its own cast has another NaN.
        return torch.from_numpy(to_wire(array).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
