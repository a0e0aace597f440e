"""Pipeline-parallel Llama: each rank has some blocks; activations go forward and gradients back between neighbours.

Rank 0 embeds, the last rank has norm, head and loss. Sent and received tensors are nodes of the graph: the backward rule of a received one
sends its gradient to the rank before, that of a sent one receives its gradient from the rank behind. So a rank in the middle calls
`backward` on what it sent, and the seed of ones is replaced by what arrives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tt_run.runtime.train.autograd import arithmetic
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.multihost import DistributedContext, receive_value, send_value
from tt_run.runtime.train.autograd.operation import result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.cache import KvCache
from tt_run.runtime.train.models.llama import Llama, LlamaConfig
from tt_run.runtime.train.ops.distributed import scatter
from tt_run.runtime.train.parallel.tensor_parallel import SEQUENCE_DIM
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


@dataclass()
class PipelineParallelConfig:
    """How many blocks the model has and how many of them each rank takes, in rank order."""

    num_blocks: int = 0
    blocks_per_rank: Mapping[int, int] = field(default_factory=dict)

    def stage(self, rank: int, size: int) -> range:
        """Global numbers of a rank's blocks. Raises ValueError when the configuration does not cover ranks 0…size-1 or the blocks."""
        wrong = [
            count
            for count in self.blocks_per_rank.values()
            if not isinstance(count, int) or isinstance(count, bool) or count < 0
        ]
        if wrong:
            raise ValueError(
                f"pipeline_parallel_config: blocks_per_rank has {wrong[0]!r} blocks; help: a whole number for each rank, 0 or more"
            )
        if set(self.blocks_per_rank) != set(range(size)):
            raise ValueError(
                f"pipeline_parallel_config: blocks_per_rank names ranks {list(self.blocks_per_rank)}, the job has ranks 0..{size - 1}; help: a number of blocks for each rank from 0 on"
            )
        if sum(self.blocks_per_rank.values()) != self.num_blocks:
            raise ValueError(
                f"Number of blocks must match number of blocks per rank. num_blocks={self.num_blocks}, "
                f"blocks_per_rank={dict(self.blocks_per_rank)}; help: counts whose sum is {self.num_blocks}"
            )
        start = sum(self.blocks_per_rank[r] for r in range(rank))
        return range(start, start + self.blocks_per_rank[rank])


class PipelineParallelLlama(Llama):
    """This rank's stage of a Llama."""

    def __init__(
        self, config: LlamaConfig, pipeline: PipelineParallelConfig, is_tensor_parallel: bool = False
    ) -> None:
        context = AutoContext.get_instance().get_distributed_context()
        rank, size = context.rank(), context.size()
        if config.num_blocks != pipeline.num_blocks:
            raise ValueError(
                f"the model has {config.num_blocks} blocks, pipeline_parallel_config {pipeline.num_blocks}; help: the same num_blocks in both"
            )
        hosts = sorted(set(AutoContext.get_instance().get_device().owner_ranks))
        if len(hosts) > 1:
            raise ValueError(
                f"a stage of a pipeline is one rank, but ranks {', '.join(map(str, hosts))} share the mesh of this one; "
                "help: one rank for each mesh, as tt-run --emulate --meshes N without --split starts them"
            )
        stage = pipeline.stage(rank, size)
        super().__init__(
            config, parallel=is_tensor_parallel, stage=stage, first=rank == 0, last=rank == size - 1
        )
        self.context = context
        self.create_name("pipeline_parallel_llama")

    def forward(
        self,
        tensor: Tensor,
        mask: Tensor | None = None,
        kv_cache: KvCache | None = None,
        new_tokens: int | None = None,
    ) -> Tensor:
        """Logits on the last rank, elsewhere what was sent on. Past rank 0 only the shape [B, 1, 1, T] of `tensor` counts."""
        rank = self.context.rank()
        if not self.first:
            batch, length = tensor.shape()[0], tensor.shape()[-1]
            like = like_activation(tensor, (batch, 1, length, self.config.embedding_dim))
            if self.sequence_axis is not None:
                like = scatter(Tensor(like, False), SEQUENCE_DIM, self.sequence_axis).get_value()
            tensor = received(like, self.context, rank - 1)
        out = super().forward(tensor, mask, kv_cache, new_tokens)
        return out if self.last else sent(out, self.context, rank + 1)


def like_activation(tensor: Tensor, shape: tuple[int, ...]) -> Value:
    """An empty activation in the place of `tensor` and the type of the arithmetic in force."""
    from tt_run.runtime.enums import DataType, Layout

    dtype = arithmetic.storage_dtype(DataType.BFLOAT16)
    value = tensor.get_value()
    empty = Shards(np.zeros((len(value.shards.data), *shape), np.float32), value.shards.index)
    return value.derive(empty, dtype=dtype, layout=Layout.TILE)


def received(like: Value, context: DistributedContext, rank: int) -> Tensor:
    """A tensor from another rank, which gets its gradient back."""
    source = Tensor(like)
    return result(
        receive_value(like, context, rank), (source,), lambda gradient: send_value(gradient, context, rank)
    )


def sent(tensor: Tensor, context: DistributedContext, rank: int) -> Tensor:
    """Send a tensor to another rank; its gradient comes from there."""
    value = tensor.get_value()
    send_value(value, context, rank)
    return result(value, (tensor,), lambda _: tensor.add_grad(receive_value(value, context, rank)))


def create_pipeline_parallel_llama_model(
    config: LlamaConfig, pipeline_parallel_config: PipelineParallelConfig, is_tensor_parallel: bool = False
) -> PipelineParallelLlama:
    """This rank's stage. Needs the distributed context, and the parallelism context when tensor-parallel."""
    return PipelineParallelLlama(config, pipeline_parallel_config, is_tensor_parallel)
