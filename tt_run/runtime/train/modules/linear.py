"""Linear layers: whole, and cut over the tensor-parallel axis by columns or by rows.

A column-parallel layer holds some of the output features of each device, a row-parallel one some of the input features. Their
gradients are exact also without an adaptive optimizer: see `ops/distributed.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tt_run.runtime.enums import Layout
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.parameter import Buffer, Parameter
from tt_run.runtime.train.ops import binary, distributed
from tt_run.runtime.train.ops.distributed import GradOutputType
from tt_run.runtime.train.ops.embedding import embedding, partial_embedding
from tt_run.runtime.train.ops.matmul import linear
from tt_run.runtime.train.ops.sequence_parallel import sp_column_parallel_linear, sp_row_parallel_linear
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.named_mesh import mesh
from tt_run.runtime.train.parallel.tensor_parallel import mark_sequence_parallel

AnyArgument = initial.Initializer | int | None
Arguments = tuple[initial.Initializer | None, initial.Initializer | None, bool, int | None]


class LinearLayer(AbstractModuleBase):
    """x @ W^T + b with W [1, 1, out, in] and b [1, 1, 1, out], both from U(-k, k), k = sqrt(1 / in).

    Of a weight that is there, with a bias that is there or a new one: `LinearLayer(weight, bias)`, `LinearLayer(weight, has_bias)`.
    Raises TypeError for anything else.
    """

    def __init__(
        self,
        in_features: int | Tensor | None = None,
        out_features: int | Tensor | bool | None = None,
        has_bias: bool = True,
        weight_init: initial.Initializer | None = None,
        bias_init: initial.Initializer | None = None,
        *,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> None:
        super().__init__()
        if isinstance(in_features, Tensor):
            weight, in_features = in_features, None
            if isinstance(out_features, Tensor):
                bias, out_features = out_features, None
            elif isinstance(out_features, bool):
                has_bias, out_features = out_features, None
        if weight is not None and in_features is None and out_features is None:
            self._take(weight, bias, has_bias, bias_init)
            return
        if weight is not None or not isinstance(in_features, int) or not isinstance(out_features, int):
            raise TypeError(
                "LinearLayer() takes (in_features, out_features, has_bias), (weight, bias) or (weight, has_bias); "
                "help: LinearLayer(64, 128)"
            )
        for name, size in (("in_features", in_features), ("out_features", out_features)):
            initial.require_size("LinearLayer", name, size)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(
            (weight_init or initial.fan_in(in_features))((1, 1, out_features, in_features))
        )
        self.bias = (
            Parameter((bias_init or initial.fan_in(in_features))((1, 1, 1, out_features)))
            if has_bias
            else None
        )

    def _take(
        self, weight: Tensor, bias: Tensor | None, has_bias: bool, bias_init: initial.Initializer | None
    ) -> None:
        *_, self.out_features, self.in_features = weight.shape()
        self.weight = Parameter(weight)
        if bias is None and has_bias:
            bias = (bias_init or initial.fan_in(self.in_features))((1, 1, 1, self.out_features))
        self.bias = None if bias is None else Parameter(bias)

    @classmethod
    def sharing_weight(cls, weight: Parameter, in_features: int, out_features: int) -> LinearLayer:
        """A layer without bias that shares a weight [1, 1, out, in] with another module; draws nothing."""
        made = cls.__new__(cls)
        AbstractModuleBase.__init__(made)
        made.in_features, made.out_features = in_features, out_features
        made.weight, made.bias = weight, None
        return made

    def get_weight(self) -> Tensor:
        """The weight."""
        return self._tensors["weight"]

    def get_weight_numpy(self) -> np.ndarray:
        """The weight as an array."""
        return self.get_weight().to_numpy()

    def get_bias(self) -> Tensor | None:
        """The bias, None without one."""
        return self._tensors.get("bias")

    def forward(self, tensor: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        out: Tensor = self.product(tensor, self.get_weight(), self.get_bias())
        return out

    product: ClassVar[Callable[..., Tensor]] = staticmethod(linear)
    """What makes x @ W^T + b; `ttml.distributed.init_ops` has it go by the rule of how weights lie."""


class _Parallel(AbstractModuleBase):
    """What both cuts share: the tensor-parallel axis and its size; an axis may be given by its number or by its name in the open mesh."""

    def __init__(self, axis: int | None, name: str | None = None) -> None:
        super().__init__()
        self.axis_name = name
        if name is not None:
            axis = mesh().axis_index(name)
        context = AutoContext.get_instance()
        if axis is None:
            if not context.is_parallelism_context_initialized():
                raise RuntimeError(
                    f"ParallelismContext is not initialized. {type(self).__name__} is cut over the axis of tensor parallelism; help: "
                    "initialize_parallelism_context(ttml.autograd.DistributedConfig(enable_tp=True)), or ttml.open_device_mesh(ttml.Mesh((1, 2), ('dp', 'tp')))"
                )
            parallelism = context.get_parallelism_context()
            self.axis, self.size = parallelism.get_tp_axis(), parallelism.get_tp_size()
        else:
            self.axis, self.size = axis, int(context.get_device().shape[axis])

    axis: int | None
    size: int
    axis_name: str | None

    @property
    def tp_size(self) -> int:
        """The devices along the axis."""
        return self.size

    @property
    def cluster_axis(self) -> int | None:
        """The number of the axis."""
        return self.axis

    def mapper(self, dim: int) -> Any:
        """What cuts a dimension of a parameter over the axis; None on one device."""
        if self.size == 1:
            return None
        return shard_tensor_to_mesh_mapper(AutoContext.get_instance().get_device(), dim, self.axis)

    def _check_features(self, which: str, count: int) -> None:
        """Raise RuntimeError for features that do not divide over the axis."""
        if count % self.size:
            raise RuntimeError(
                f"{which} features must be divisible by the TP size. {which} features = {count}, TP size = {self.size}; "
                f"help: make them a multiple of {self.size}, or the axis shorter"
            )

    def check_ids(self, tensor: Tensor) -> None:
        """Raise ValueError for ids that are cut over the axis: every device of it looks up all of them."""
        if self.size > 1 and not is_replicated(tensor.get_value(), self.axis):
            axis = self.axis if self.axis_name is None else repr(self.axis_name)
            raise ValueError(
                f"{type(self).__name__} expects ids replicated across TP axis {axis}; they are cut over it; help: shard the batch over another axis"
            )


class _ParallelLinear(_Parallel):
    """What linear layers of both cuts share: their features, and the two orders in which programs give their arguments."""

    def __init__(
        self, in_features: int, out_features: int, axis: int | None, name: str | None, sequence_parallel: bool
    ) -> None:
        owner = type(self).__name__
        for word, size in (("in_features", in_features), ("out_features", out_features)):
            initial.require_size(owner, word, size)
        super().__init__(axis, name)
        self.in_features, self.out_features = in_features, out_features
        self.sequence_parallel = sequence_parallel and self.size > 1

    @staticmethod
    def arguments(third: AnyArgument, fourth: AnyArgument, flag: bool, shard_dim: int | None) -> Arguments:
        """(weight_init, bias_init, flag, shard_dim) of what stands behind `has_bias`: initialisers, or a flag and the number of an axis."""
        if isinstance(third, bool):
            return None, None, third, fourth if isinstance(fourth, int) else shard_dim
        for name, given in (("weight_init", third), ("bias_init", fourth)):
            if given is not None and not callable(given):
                raise TypeError(
                    f"{name} must be a function of a shape, not {given!r}; help: {name}=ttml.init.normal(0.0, 0.02)"
                )
        return third, fourth, flag, shard_dim  # type: ignore[return-value]


class ColumnParallelLinear(_ParallelLinear):
    """Output features cut over the axis; with `gather_output` every device ends with all of them.

    With `sequence_parallel` each device comes with its part of the positions, and all of them are gathered first. The documents' order
    (…, has_bias, gather_output, shard_dim) is taken, too. Raises RuntimeError when the features do not divide by the size of the axis.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        has_bias: bool = True,
        weight_init: initial.Initializer | bool | None = None,
        bias_init: initial.Initializer | int | None = None,
        gather_output: bool = False,
        sequence_parallel: bool = False,
        axis_name: str | None = None,
        *,
        shard_dim: int | None = None,
    ) -> None:
        weight_init, bias_init, gather_output, shard_dim = self.arguments(
            weight_init, bias_init, gather_output, shard_dim
        )
        super().__init__(in_features, out_features, shard_dim, axis_name, sequence_parallel)
        self._check_features("Output", out_features)
        self.gather_output = gather_output
        self.weight = Parameter(
            (weight_init or initial.fan_in(in_features))((1, 1, out_features, in_features), self.mapper(2))
        )
        self.bias = (
            Parameter((bias_init or initial.fan_in(in_features))((1, 1, 1, out_features), self.mapper(3)))
            if has_bias
            else None
        )

    def forward(self, tensor: Tensor) -> Tensor:
        """[..., in] on every device -> [..., out / size] on each, or [..., out] when gathered."""
        if self.sequence_parallel:
            # What devices do with the gathered positions differs, so their gradients are summed as they are scattered again.
            out = sp_column_parallel_linear(
                tensor, self._tensors["weight"], self._tensors.get("bias"), self.axis
            )
        else:
            seen = distributed.broadcast(tensor, self.axis)
            out = linear(seen, self._tensors["weight"], self._tensors.get("bias"))
        if not self.gather_output:
            return out
        return distributed.all_gather(out, out.get_rank() - 1, self.axis, GradOutputType.REPLICATED)


class VocabParallelEmbedding(_Parallel):
    """A table whose rows are cut over the axis: each device looks up its own, and the sum over the axis has them all.

    Raises ValueError when the entries do not divide by the size of the axis, when the initial weights have other rows, and for ids that are cut
    over the axis.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        weight_init: initial.Initializer | None = None,
        axis_name: str | None = None,
        *,
        shard_dim: int | None = None,
    ) -> None:
        super().__init__(shard_dim, axis_name)
        for name, size in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)):
            initial.require_size("VocabParallelEmbedding", name, size)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if num_embeddings % self.size:
            raise ValueError(
                f"num_embeddings {num_embeddings} must be divisible by the tensor-parallel size {self.size}; help: pad the vocabulary to a multiple of {self.size}"
            )
        self.num_embeddings_per_partition = num_embeddings // self.size
        self.weight = Parameter(
            (weight_init or initial.normal(0.0, 0.02))((1, 1, num_embeddings, embedding_dim), self.mapper(2))
        )
        self.weight.add_post_materialize_callback(lambda made: self._check_rows(made.tensor))
        starts = np.arange(0, num_embeddings, num_embeddings // self.size, dtype=np.int32)
        self.first = Buffer(
            Tensor.from_numpy(starts.reshape(-1, 1, 1, 1), layout=Layout.ROW_MAJOR, mapper=self.mapper(0))
        )

    def forward(self, tensor: Tensor) -> Tensor:
        """ids [B, 1, 1, T] -> [B, 1, T, width] on every device of the axis."""
        self.check_ids(tensor)
        own = partial_embedding(tensor, self._tensors["weight"], self._buffers["first"])
        return distributed.all_reduce(own, True, self.axis)

    def _check_rows(self, weight: Tensor) -> None:
        """Raise ValueError for weights with other rows than the first numbers of the devices say: each would look up its neighbour's."""
        rows = weight.shape()[2]
        if rows != self.num_embeddings_per_partition:
            raise ValueError(
                f"VocabParallelEmbedding: the weight has {rows} rows per device but ownership offsets assume "
                f"{self.num_embeddings_per_partition}; help: make num_embeddings a multiple of {TILE_SIZE} * {self.size}"
            )


class FeatureParallelEmbedding(_Parallel):
    """A table whose columns are cut over the axis; with `gather_output` every device ends with all of them.

    Raises ValueError when the width does not divide over the axis into whole tiles, and for ids that are cut over it.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        weight_init: initial.Initializer | None = None,
        axis_name: str | None = None,
        gather_output: bool = True,
    ) -> None:
        super().__init__(None, axis_name)
        for name, size in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)):
            initial.require_size("FeatureParallelEmbedding", name, size)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if embedding_dim % self.size:
            raise ValueError(
                f"embedding_dim {embedding_dim} must be divisible by the tensor-parallel size {self.size}; help: make it a multiple of {self.size}"
            )
        self.embedding_dim_per_partition = embedding_dim // self.size
        if self.embedding_dim_per_partition % TILE_SIZE:
            raise ValueError(
                f"the part of embedding_dim on each device, {self.embedding_dim_per_partition}, must be a multiple of {TILE_SIZE}; help: make embedding_dim a multiple of {self.size * TILE_SIZE}"
            )
        self.gather_output = gather_output
        self.weight = Parameter(
            (weight_init or initial.normal(0.0, 0.02))((1, 1, num_embeddings, embedding_dim), self.mapper(3))
        )

    def forward(self, tensor: Tensor) -> Tensor:
        """ids [B, 1, 1, T] -> [B, 1, T, width], or each device's columns."""
        self.check_ids(tensor)
        own = embedding(tensor, self._tensors["weight"])
        if not self.gather_output:
            return own
        return distributed.all_gather(own, own.get_rank() - 1, self.axis, GradOutputType.REPLICATED)


class RowParallelLinear(_ParallelLinear):
    """Input features cut over the axis; the products are summed over it and the bias is added once, after the sum.

    `input_is_parallel` says that the input is cut already. With `sequence_parallel` each device ends with its part of the positions. The
    documents' order (…, has_bias, input_is_parallel, shard_dim) is taken, too. Raises RuntimeError when the features do not divide by the
    size of the axis, ValueError for `sequence_parallel` of an input that is not cut.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        has_bias: bool = True,
        weight_init: initial.Initializer | bool | None = None,
        bias_init: initial.Initializer | int | None = None,
        input_is_parallel: bool = False,
        sequence_parallel: bool = False,
        axis_name: str | None = None,
        *,
        shard_dim: int | None = None,
    ) -> None:
        weight_init, bias_init, input_is_parallel, shard_dim = self.arguments(
            weight_init, bias_init, input_is_parallel, shard_dim
        )
        if sequence_parallel and not input_is_parallel:
            raise ValueError(
                "RowParallelLinear: sequence_parallel requires input_is_parallel=True; help: input_is_parallel=True behind a ColumnParallelLinear"
            )
        super().__init__(in_features, out_features, shard_dim, axis_name, sequence_parallel)
        self._check_features("Input", in_features)
        self.input_is_parallel = input_is_parallel
        self.weight = Parameter(
            (weight_init or initial.fan_in(in_features))((1, 1, out_features, in_features), self.mapper(3))
        )
        self.bias = (
            Parameter((bias_init or initial.fan_in(in_features))((1, 1, 1, out_features)))
            if has_bias
            else None
        )
        if self.sequence_parallel and self.bias is not None:
            self.bias.add_post_materialize_callback(lambda made: mark_sequence_parallel(made.tensor))

    def forward(self, tensor: Tensor) -> Tensor:
        """[..., in / size] or [..., in] -> [..., out] on every device."""
        if not self.input_is_parallel:
            tensor = distributed.scatter(tensor, tensor.get_rank() - 1, self.axis)
        weight, bias = self._tensors["weight"], self._tensors.get("bias")
        if self.sequence_parallel:
            out = sp_row_parallel_linear(tensor, weight, self.axis)
            bias = None if bias is None else distributed.broadcast(bias, self.axis)
        else:
            # The sum is the same on every device of the axis, and so is its gradient: each takes it as it is.
            out = distributed.all_reduce(linear(tensor, weight), True, self.axis)
        return out if bias is None else binary.add(out, bias)
