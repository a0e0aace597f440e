"""Linear layers: whole, and cut over the tensor-parallel axis by columns or by rows.

A column-parallel layer holds some of the output features of each device, a row-parallel one some of the input features. Their
gradients are exact also without an adaptive optimizer: see `ops/distributed.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tt_run.runtime.enums import Layout
from tt_run.runtime.train.context import AutoContext
from tt_run.runtime.train.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.parameter import Buffer, Parameter
from tt_run.runtime.train.named_mesh import mesh
from tt_run.runtime.train.ops import binary, distributed
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.ops.embedding import partial_embedding
from tt_run.runtime.train.ops.matmul import linear
from tt_run.runtime.train.tensor import Tensor


class LinearLayer(AbstractModuleBase):
    """x @ W^T + b with W [1, 1, out, in] and b [1, 1, 1, out], both from U(-k, k), k = sqrt(1 / in)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        has_bias: bool = True,
        weight_init: initial.Initializer | None = None,
        bias_init: initial.Initializer | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(
            (weight_init or initial.fan_in(in_features))((1, 1, out_features, in_features))
        )
        self.bias = (
            Parameter((bias_init or initial.fan_in(in_features))((1, 1, 1, out_features)))
            if has_bias
            else None
        )

    def get_weight(self) -> Tensor:
        """The weight."""
        return self._tensors["weight"]

    def get_bias(self) -> Tensor | None:
        """The bias, None without one."""
        return self._tensors.get("bias")

    def forward(self, tensor: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return linear(tensor, self.get_weight(), self.get_bias())


class _Parallel(AbstractModuleBase):
    """What both cuts share: the tensor-parallel axis and its size; an axis may be given by its number or by its name in the open mesh."""

    def __init__(self, axis: int | None, name: str | None = None) -> None:
        super().__init__()
        if name is not None:
            axis = mesh().axis_index(name)
        context = AutoContext.get_instance()
        if axis is None:
            parallelism = context.get_parallelism_context()
            self.axis, self.size = parallelism.get_tp_axis(), parallelism.get_tp_size()
        else:
            self.axis, self.size = axis, int(context.get_device().shape[axis])

    axis: int | None
    size: int

    def _mapper(self, dim: int) -> Any:
        if self.size == 1:
            return None
        return shard_tensor_to_mesh_mapper(AutoContext.get_instance().get_device(), dim, self.axis)


class ColumnParallelLinear(_Parallel):
    """Output features cut over the axis; with `gather_output` every device ends with all of them.

    With `sequence_parallel` each device comes with its part of the positions, and all of them are gathered first.
    Raises RuntimeError when the features do not divide by the size of the axis.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        has_bias: bool = True,
        gather_output: bool = False,
        shard_dim: int | None = None,
        weight_init: initial.Initializer | None = None,
        bias_init: initial.Initializer | None = None,
        axis_name: str | None = None,
        sequence_parallel: bool = False,
    ) -> None:
        super().__init__(shard_dim, axis_name)
        self.sequence_parallel = sequence_parallel and self.size > 1
        if out_features % self.size:
            raise RuntimeError(
                "Output features must be divisible by the TP size. "
                f"Output features = {out_features}, TP size = {self.size}"
            )
        self.gather_output = gather_output
        self.weight = Parameter(
            (weight_init or initial.fan_in(in_features))((1, 1, out_features, in_features), self._mapper(2))
        )
        self.bias = (
            Parameter((bias_init or initial.fan_in(in_features))((1, 1, 1, out_features), self._mapper(3)))
            if has_bias
            else None
        )

    def forward(self, tensor: Tensor) -> Tensor:
        """[..., in] on every device -> [..., out / size] on each, or [..., out] when gathered."""
        if self.sequence_parallel:
            # What devices do with the gathered positions differs, so their gradients are summed as they are scattered again.
            seen = distributed.all_gather(tensor, tensor.get_rank() - 2, self.axis)
        else:
            seen = distributed.broadcast(tensor, self.axis)
        out = linear(seen, self._tensors["weight"], self._tensors.get("bias"))
        if not self.gather_output:
            return out
        return distributed.all_gather(out, out.get_rank() - 1, self.axis, GradOutputType.REPLICATED)


class VocabParallelEmbedding(_Parallel):
    """A table whose rows are cut over the axis: each device looks up its own, and the sum over the axis has them all.

    Raises RuntimeError when the entries do not divide by the size of the axis.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        shard_dim: int | None = None,
        weight_init: initial.Initializer | None = None,
        axis_name: str | None = None,
    ) -> None:
        super().__init__(shard_dim, axis_name)
        if num_embeddings % self.size:
            raise RuntimeError(
                f"Vocabulary must be divisible by the TP size. Vocabulary = {num_embeddings}, TP size = {self.size}"
            )
        self.weight = Parameter(
            (weight_init or initial.normal(0.0, 0.02))((1, 1, num_embeddings, embedding_dim), self._mapper(2))
        )
        starts = np.arange(0, num_embeddings, num_embeddings // self.size, dtype=np.int32)
        self.first = Buffer(
            Tensor.from_numpy(starts.reshape(-1, 1, 1, 1), layout=Layout.ROW_MAJOR, mapper=self._mapper(0))
        )

    def forward(self, tensor: Tensor) -> Tensor:
        """ids [B, 1, 1, T] -> [B, 1, T, width] on every device of the axis."""
        own = partial_embedding(tensor, self._tensors["weight"], self._buffers["first"])
        return distributed.all_reduce(own, True, self.axis)


class RowParallelLinear(_Parallel):
    """Input features cut over the axis; the products are summed over it and the bias is added once, after the sum.

    `input_is_parallel` says that the input is cut already. With `sequence_parallel` each device ends with its part of the positions. Raises
    RuntimeError when the features do not divide by the size of the axis.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        has_bias: bool = True,
        input_is_parallel: bool = False,
        shard_dim: int | None = None,
        weight_init: initial.Initializer | None = None,
        bias_init: initial.Initializer | None = None,
        axis_name: str | None = None,
        sequence_parallel: bool = False,
    ) -> None:
        super().__init__(shard_dim, axis_name)
        self.sequence_parallel = sequence_parallel and self.size > 1
        if in_features % self.size:
            raise RuntimeError(
                f"Input features must be divisible by the TP size. Input features = {in_features}, TP size = {self.size}"
            )
        self.input_is_parallel = input_is_parallel
        self.weight = Parameter(
            (weight_init or initial.fan_in(in_features))((1, 1, out_features, in_features), self._mapper(3))
        )
        self.bias = (
            Parameter((bias_init or initial.fan_in(in_features))((1, 1, 1, out_features)))
            if has_bias
            else None
        )

    def forward(self, tensor: Tensor) -> Tensor:
        """[..., in / size] or [..., in] -> [..., out] on every device."""
        if not self.input_is_parallel:
            tensor = distributed.scatter(tensor, tensor.get_rank() - 1, self.axis)
        partial = linear(tensor, self._tensors["weight"])
        bias = self._tensors.get("bias")
        if self.sequence_parallel:
            out = distributed.reduce_scatter(partial, partial.get_rank() - 2, self.axis)
            bias = None if bias is None else distributed.broadcast(bias, self.axis)
        else:
            # The sum is the same on every device of the axis, and so is its gradient: each takes it as it is.
            out = distributed.all_reduce(partial, True, self.axis)
        return out if bias is None else binary.add(out, bias)
