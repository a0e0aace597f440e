"""The methods and operators of `Tensor` beyond its data: conversions, shapes, arithmetic.

`Tensor` finds them here at their first use (`tt_run.runtime.tensor.late_methods`). Those that compute on a device are operations, so that a
trace records them like calls.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy.typing as npt

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal, in_rows, type_name
from tt_run.runtime.native.arguments import also_named
from tt_run.runtime.native.refusals import native_method, refusal
from tt_run.runtime.ops.data_movement import movement, subscripts
from tt_run.runtime.ops.declaration.dispatch import Operation, view
from tt_run.runtime.ops.elementwise import arithmetic, binary
from tt_run.runtime.ops.products import operations as products
from tt_run.runtime.tensor import pages
from tt_run.runtime.tensor.borders import arrays
from tt_run.runtime.tensor.conversion import devices, framing, layouts, pieces, shaping
from tt_run.runtime.tensor.creation.constructor import construct
from tt_run.runtime.tensor.distribution.composers import MeshToTensor
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.shape import Shape

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice
    from tt_run.runtime.tensor.tensor import Tensor


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """On a device as `ttnn.reshape` does it, which leaves tiles and rows where they are."""
    if tensor.device() is None or not movement.stays(tensor, shape):
        return shaping.reshape(tensor, shape)
    return movement.same_or_seen_as(tensor, shape)


_RESHAPE = Operation("ttnn.Tensor.reshape", _reshaped)
_GETITEM = Operation("ttnn.Tensor.__getitem__", subscripts.take)
_TO_LAYOUT = Operation("ttnn.Tensor.to", layouts.to_layout)
_COMPARE = {name: binary.BINARY[name] for name in ("eq", "ne", "lt", "le", "gt", "ge")}


def _on_device(operation: Operation, tensor: Tensor, argument: Any) -> Tensor:
    """An operation on a device tensor; on the host, where no trace looks, just its function."""
    if tensor.device() is None:
        return cast("Tensor", operation.compute(tensor, argument))
    return cast("Tensor", view(operation, tensor, argument))


def _lengths(tensor: Tensor, dims: Any) -> tuple[int, ...]:
    """The lengths of a shape as a program gives them. Raises TypeError for what is no whole number."""
    try:
        if not hasattr(dims, "__getitem__") or isinstance(dims, Mapping):
            raise TypeError(f"{dims!r} is no sequence")
        return tuple(int(operator.index(length)) for length in dims)
    except TypeError:
        why = f"a shape is a sequence of ints, got {dims!r}"
        raise refusal("ttnn._ttnn.tensor.Tensor.reshape", "reshape", (tensor, dims), {}, why) or TypeError(
            why
        ) from None


class TensorMethods:
    """What `Tensor` inherits."""

    __slots__ = ()

    def _constructed(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """The tensor that the public forms of `Tensor(...)` stand for."""
        return construct(self, args, kwargs)

    def to_numpy(self: Any, mesh_composer: MeshToTensor | None = None) -> npt.NDArray[Any]:
        """The values as a NumPy array; see `borders.to_numpy`."""
        return arrays.to_numpy(self, mesh_composer)

    def to_torch(self: Any, mesh_composer: MeshToTensor | None = None) -> Any:
        """The values as a torch tensor; see `borders.to_torch`."""
        return arrays.to_torch(self, mesh_composer=mesh_composer)

    def to_list(self) -> Any:
        """The values as nested lists."""
        return self.to_numpy().tolist()

    def item(self: Any) -> float | int:
        """The value of a tensor of one element. Raises RuntimeError for any other."""
        count = self.logical_volume()
        if count != 1:
            raise fatal(
                f"tensor.item() requires tensor to have exactly one element, but got {count} elements",
                hint="ttnn.to_torch(tensor) reads them all",
            )
        return cast("float | int", self.to_numpy().item())

    @native_method("ttnn._ttnn.tensor.Tensor")
    @also_named(device="target", target_layout="target")
    def to(
        self: Any,
        target: Layout | MeshDevice,
        mem_config: MemoryConfig | None = None,
        cq_id: int | None = None,
        worker: object = None,
    ) -> Tensor:
        """The tensor in another layout, or on a device."""
        if isinstance(target, Layout):
            return _on_device(_TO_LAYOUT, self, target)
        if not hasattr(target, "local_positions"):
            raise TypeError(f"to(): a ttnn.Layout or a ttnn.MeshDevice, not {type_name(target)}")
        return devices.moved_to(self, target, mem_config, cq_id=cq_id)

    def cpu(self: Any, blocking: bool = True, cq_id: int | None = None) -> Tensor:
        """The tensor in host memory."""
        return devices.from_device(self, blocking, cq_id=cq_id)

    def reshape(self: Any, *shape: Any) -> Tensor:
        """The same elements in another shape: `t.reshape([2, -1])`, or four numbers.

        Raises RuntimeError when they do not fit, TypeError for another count of numbers.
        """
        if len(shape) == 1 and not isinstance(shape[0], int):
            dims = shape[0]
        elif len(shape) == 4:
            dims = shape
        else:
            why = f"write reshape([{', '.join(map(str, shape))}])"
            raise refusal(
                "ttnn._ttnn.tensor.Tensor.reshape", "reshape", (self, *shape), {}, why
            ) or TypeError(why)
        if isinstance(dims, Shape) and dims.volume() != self.shape.volume():
            return cast("Tensor", movement.reshape(self, dims))
        return _on_device(_RESHAPE, self, shaping.resolved(self, _lengths(self, dims)))

    def pad(self: Any, shape: Sequence[int], starts: Sequence[int], value: float) -> Tensor:
        """A host tensor in a larger array filled with `value`, its first element at `starts`; `shape` stays, `padded_shape` grows."""
        return framing.embed(self, tuple(shape), tuple(starts), value)

    def unpad(self: Any, starts: Sequence[int], ends: Sequence[int]) -> Tensor:
        """The part of a host tensor, padding included, from `starts` up to `ends` (excluded)."""
        return framing.crop(self, tuple(starts), tuple(ends))

    def pad_to_tile(self: Any, value: float) -> Tensor:
        """A host tensor whose last two dimensions are filled up to multiples of 32 with `value`."""
        return framing.embed(self, framing.tile_multiple(tuple(self.shape)), (0,) * self.shape.rank, value)

    def unpad_from_tile(self: Any, shape: Sequence[int]) -> Tensor:
        """The first `shape` elements along each dimension of a row-major tensor that was filled up to whole tiles.

        Raises RuntimeError for tiles, for another size, and for a shape that would not have been filled up to it.
        """
        if self.layout is not Layout.ROW_MAJOR:
            raise fatal(
                "Tensor layout must be ROW_MAJOR for unpadding",
                "tensor.layout() == Layout::ROW_MAJOR",
                hint=in_rows("tensor"),
            )
        filled = tuple(self.padded_shape)[-2:]
        if any(length % 32 for length in filled):
            raise fatal(
                "Last 2 dims of input shape must be multiples of 32",
                hint="tensor.pad_to_tile(0.0) fills up to whole tiles",
            )
        if any(length >= wanted + 32 for length, wanted in zip(filled, tuple(shape)[-2:], strict=False)):
            raise fatal(
                "Last 2 dims of output must be within range to have been padded to input",
                hint=f"each of the last two is at most 31 shorter than {list(filled)}; ttnn.slice(tensor, …) takes others",
            )
        return self.unpad((0,) * len(shape), shape)

    def buffer_page_size(self: Any) -> int:
        """Bytes of a page of the device buffer: a tile, or a row."""
        return pages.page_bytes(self)

    def buffer_aligned_page_size(self: Any) -> int:
        """Bytes from one page of the device buffer to the next."""
        return pages.aligned_page_bytes(self)

    def buffer_num_pages(self: Any) -> int:
        """Pages of the device buffer."""
        return pages.page_count(self)

    def to_torch_with_padded_shape(self: Any) -> Any:
        """The values of a host tensor with its padding, as a torch tensor."""
        return arrays.to_torch(self.derive(framing.frame_of(self), layout=Layout.ROW_MAJOR))

    @also_named(core_id="core")
    def extract_shard(self: Any, core: CoreCoord | int) -> Tensor:
        """The piece that one core holds of a tensor that is cut over cores, as a host tensor of the piece's shape."""
        return pieces.piece_of(self, core)

    def __getitem__(self: Any, key: Any) -> Tensor:
        return _on_device(_GETITEM, self, key)

    def __add__(self, other: Any) -> Any:
        return binary.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return binary.add(self, other)

    def __sub__(self, other: Any) -> Any:
        return binary.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return arithmetic.rsub(self, other)

    def __neg__(self) -> NoReturn:
        # The reference has none; its words name the type in full.
        raise TypeError(f"bad operand type for unary -: '{type_name(self)}'")

    def __mul__(self, other: Any) -> Any:
        return binary.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary.multiply(self, other)

    def __truediv__(self, other: Any) -> Any:
        return arithmetic.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return arithmetic.divide(other, self)

    def __matmul__(self, other: Any) -> Any:
        return products.matmul(self, other)

    def __eq__(self, other: object) -> Any:
        return _COMPARE["eq"](self, other)

    def __ne__(self, other: object) -> Any:
        return _COMPARE["ne"](self, other)

    def __lt__(self, other: Any) -> Any:
        return _COMPARE["lt"](self, other)

    def __le__(self, other: Any) -> Any:
        return _COMPARE["le"](self, other)

    def __gt__(self, other: Any) -> Any:
        return _COMPARE["gt"](self, other)

    def __ge__(self, other: Any) -> Any:
        return _COMPARE["ge"](self, other)

    __hash__ = object.__hash__
