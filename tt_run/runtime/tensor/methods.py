"""The methods of `Tensor` that are functions elsewhere: conversions, shapes, operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy.typing as npt

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal, type_name
from tt_run.runtime.tensor import operators
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice
    from tt_run.runtime.tensor.distribution.composers import MeshToTensor
    from tt_run.runtime.tensor.tensor import Tensor


class TensorMethods:
    """Mixed into `Tensor`. Modules that build tensors import that class, so they are imported here when called."""

    __slots__ = ()

    def to_numpy(self: Any, mesh_composer: MeshToTensor | None = None) -> npt.NDArray[Any]:
        """The values as a NumPy array; see `borders.to_numpy`."""
        from tt_run.runtime.tensor.borders import arrays

        return arrays.to_numpy(self, mesh_composer)

    def to_torch(self: Any, mesh_composer: MeshToTensor | None = None) -> Any:
        """The values as a torch tensor; see `borders.to_torch`."""
        from tt_run.runtime.tensor.borders import arrays

        return arrays.to_torch(self, mesh_composer=mesh_composer)

    def to_list(self) -> Any:
        """The values as nested lists."""
        return self.to_numpy().tolist()

    def item(self: Any) -> float | int:
        """The value of a tensor of one element. Raises RuntimeError for any other."""
        count = self.logical_volume()
        if count != 1:
            raise fatal(
                f"tensor.item() requires tensor to have exactly one element, but got {count} elements"
            )
        return cast("float | int", self.to_numpy().item())

    def to(
        self: Any,
        target: Layout | MeshDevice,
        mem_config: MemoryConfig | None = None,
        cq_id: int | None = None,
        worker: object = None,
    ) -> Tensor:
        """The tensor in another layout, or on a device."""
        from tt_run.runtime.tensor.conversion import devices, layouts

        if isinstance(target, Layout):
            return cast("Tensor", operators.replaced("to_layout", layouts.to_layout)(self, target))
        return devices.to_device(self, target, mem_config, cq_id=cq_id)

    def cpu(self: Any, blocking: bool = True, cq_id: int | None = None) -> Tensor:
        """The tensor in host memory."""
        from tt_run.runtime.tensor.conversion import devices

        return devices.from_device(self, blocking, cq_id=cq_id)

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape: `t.reshape(2, -1)` or `t.reshape([2, -1])`. Raises RuntimeError when they do not fit."""
        from tt_run.runtime.tensor.conversion import shaping

        dims = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return cast("Tensor", operators.replaced("reshape", shaping.reshape)(self, tuple(dims)))

    def pad(self: Any, shape: Sequence[int], starts: Sequence[int], value: float) -> Tensor:
        """A host tensor inside a larger one filled with `value`, its first element at `starts`."""
        from tt_run.runtime.tensor.conversion import shaping

        return shaping.embed(self, tuple(shape), tuple(starts), value)

    def unpad(self: Any, starts: Sequence[int], ends: Sequence[int]) -> Tensor:
        """The part of a host tensor from `starts` up to `ends` (excluded)."""
        from tt_run.runtime.tensor.conversion import shaping

        return shaping.crop(self, tuple(starts), tuple(ends))

    def pad_to_tile(self: Any, value: float) -> Tensor:
        """A host tensor whose last two dimensions are filled up to multiples of 32 with `value`."""
        from tt_run.runtime.tensor.conversion import shaping

        return shaping.embed(self, shaping.tile_multiple(tuple(self.shape)), (0,) * self.shape.rank, value)

    def unpad_from_tile(self, shape: Sequence[int]) -> Tensor:
        """The first `shape` elements along each dimension."""
        return self.unpad((0,) * len(shape), shape)

    def __getitem__(self, key: Any) -> Tensor:
        from tt_run.runtime.tensor.conversion import shaping

        return cast("Tensor", operators.replaced("getitem", shaping.take)(self, key))

    def __add__(self, other: Any) -> Any:
        return operators.call("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return operators.call("radd", self, other)

    def __sub__(self, other: Any) -> Any:
        return operators.call("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return operators.call("rsub", self, other)

    def __neg__(self) -> NoReturn:
        # The reference has none (ttnn specification, section 5); its words name the type in full.
        raise TypeError(f"bad operand type for unary -: '{type_name(self)}'")

    def __mul__(self, other: Any) -> Any:
        return operators.call("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return operators.call("rmul", self, other)

    def __truediv__(self, other: Any) -> Any:
        return operators.call("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return operators.call("rtruediv", self, other)

    def __matmul__(self, other: Any) -> Any:
        return operators.call("matmul", self, other)

    def __pow__(self, other: Any) -> Any:
        return operators.call("pow", self, other)

    def __eq__(self, other: object) -> Any:
        return operators.call("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return operators.call("ne", self, other)

    def __lt__(self, other: Any) -> Any:
        return operators.call("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return operators.call("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return operators.call("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return operators.call("ge", self, other)

    # Comparison is elementwise, so tensors are told apart as objects.
    __hash__ = object.__hash__
