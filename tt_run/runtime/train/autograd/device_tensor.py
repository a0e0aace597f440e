"""What `get_value` gives to a program: a ttnn tensor that also reads as the training documents read it.

The class of a tensor stays with what operations derive from it, so `ttnn.argmax` of a model's output is such a tensor too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import type_name
from tt_run.runtime.tensor.borders.arrays import to_numpy
from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.train.autograd.axis_placement import first_shard
from tt_run.runtime.values.dtypes import convert, is_float, stored_dtype

if TYPE_CHECKING:
    from tt_run.runtime.tensor.distribution.composers import MeshToTensor

Array = npt.NDArray[Any]


class DeviceTensor(Value):
    """A mesh tensor with the two accessors that only the training documents use."""

    __slots__ = ()
    tells_axes = True

    @classmethod
    def like(cls, value: Value) -> DeviceTensor:
        """The same buffer under this class."""
        made = cls.of(
            value.storage,
            dtype=value.dtype,
            layout=value.layout,
            device=value.device(),
            topology=value.tensor_topology(),
            memory_config=value.memory_config(),
            tile=value.tile,
            site=value.site,
        )
        return cast(DeviceTensor, made)

    def get_layout(self) -> Layout:
        """ROW_MAJOR or TILE."""
        return self.layout

    def to_numpy(  # type: ignore[override]  # the documents pass a type where ttnn takes a composer
        self, target: DataType | MeshToTensor | None = None, mesh_composer: MeshToTensor | None = None
    ) -> Array:
        """The values; `target` is a DataType to convert to, or a composer where devices hold different shards.

        Replicas are read once. Raises RuntimeError for a sharded tensor without composer.
        """
        if target is not None and not isinstance(target, DataType):
            target, mesh_composer = None, target
        array = first_shard(self) if mesh_composer is None else to_numpy(self, mesh_composer)
        if target is None:
            return array
        if is_float(target):
            return convert(array.astype(np.float32), target)
        return array.astype(stored_dtype(target))

    def item(self) -> float | int:
        """The value of a tensor of one element. Raises RuntimeError for any other."""
        return super().item() if self.logical_volume() != 1 else cast("float | int", self.to_numpy().item())


def readable(value: Value) -> Value:
    """A tensor that a program made with ttnn, as the training documents read theirs; others are themselves.

    Raises TypeError for what is no tensor of ttnn."""
    if not isinstance(value, Value):
        raise TypeError(
            f"a value is a ttnn.Tensor, not {type_name(value)}; help: ttml.autograd.Tensor.from_numpy(array).get_value()"
        )
    return value if isinstance(value, DeviceTensor) else DeviceTensor.like(value)


class Logits(DeviceTensor):
    """The output of a language model [B, 1, T, vocabulary]."""

    __slots__ = ()

    def item(self) -> float | int:
        """As elsewhere; of token ids chosen at several positions, the id at the last one.

        The guide's NanoGPT example samples with `ttnn.argmax(logits, dim=-1).item()` and says "from last position"; a plain ttnn tensor
        refuses more than one element.
        """
        if not is_float(self.dtype) and self.logical_volume() > 1:
            return int(self.to_numpy().reshape(-1)[-1])
        return super().item()
