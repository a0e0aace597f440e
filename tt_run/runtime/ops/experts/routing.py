"""Mixture of experts on each device: gates, products with the experts that are chosen, maps between global and local experts.

PyTorch computes most of them (top-k and gathers over odd dimensions). What an expert map gives a device depends on the device's place on
the mesh. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare
from tt_run.runtime.ops.goldens import expert_goldens
from tt_run.runtime.ops.reduction.choice_checks import check_moe
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.matmul import MatmulMultiCoreReuseMultiCast1DProgramConfig
from tt_run.runtime.values.dtypes import is_float
from tt_run.runtime.values.shards import Shards, combine_all

Array = npt.NDArray[Any]


def _first_expert(x: Any, expert_mask: Any, topk_mask: Any, k: int = 32) -> Any:
    values, chosen = library().topk(x + expert_mask, k, dim=-1)
    weights = library().softmax(values + topk_mask, dim=-1)
    return (weights * (chosen == 0)).sum(-1, keepdim=True)


def _reduced_in_parts(x: Any, dim: int, split_size: int) -> Any:
    return list(x.sum(dim, keepdim=True).split(split_size, dim=-1))


def _check_parts(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    width, size = tensors[0].shape[-1], arguments["split_size"]
    if not 0 < size <= width:
        raise fatal(
            f"{name}: split_size {size} must be greater than 0 and at most the last dim {width}",
            hint=f"split_size={width}",
        )


def _sparse(
    a: Any, b: Any, sparsity: Any, nnz: int | None = None, is_input_a_sparse: bool = False, is_input_b_sparse: bool = True,
    indices: Any = None, bias: Any = None, optional_output_tensor: Any = None, **_: Any,
) -> Any:  # fmt: skip
    """Products of groups of rows with their experts; groups whose sparsity is zero give zeros, or nothing where the room has one place
    for each of the others.
    """
    torch = library()
    if indices is not None:
        chosen = b.index_select(-3, indices.reshape(-1).long())
        return torch.matmul(a, chosen) if is_input_a_sparse else _each_with_each(a, chosen)
    dense = torch.matmul(a, b) if is_input_a_sparse else _each_with_each(a, b)
    mask = (sparsity != 0).reshape(dense.shape[:-2])[..., None, None]
    dense = torch.where(mask, dense if bias is None else dense + bias, torch.zeros_like(dense))
    if optional_output_tensor is None or optional_output_tensor.shape == dense.shape:
        return dense
    count = optional_output_tensor.numel() // max(1, math.prod(dense.shape[-2:]))
    if count >= mask.numel():
        return dense
    if int(mask.sum()) > count:
        raise fatal(
            f"the room has {count} groups, and {int(mask.sum())} entries of sparsity are not zero",
            hint=f"an optional_output_tensor with room for {int(mask.sum())}, or leave it out",
        )
    # The groups that are not zero come first, in their order: how many there are is not known of shapes alone.
    first = torch.argsort(mask.reshape(-1).logical_not().int(), stable=True)[:count]
    rows = dense.reshape(-1, *dense.shape[-2:])[first]
    return rows.reshape(optional_output_tensor.shape)


def _check_sparse(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    for word in (
        "input_tensor_a",
        "input_tensor_b",
        "bias",
    ):  # sparsity may be counts: the router writes uint16
        tensor = arguments.get(word)
        if isinstance(tensor, Tensor) and not is_float(tensor.dtype):
            raise fatal(
                f"{name} does not support integer input dtype {cpp(tensor.dtype)}",
                hint="ttnn.typecast(tensor, ttnn.float32)",
            )
    of_a, of_b = arguments["is_input_a_sparse"], arguments["is_input_b_sparse"]
    if not (of_a or of_b):
        raise fatal(
            f"{name} requires at least one of is_input_a_sparse or is_input_b_sparse to be true",
            hint="is_input_a_sparse=True or is_input_b_sparse=True; ttnn.matmul takes two dense ones",
        )
    check_sparse_program(arguments["program_config"], arguments.get("core_grid"))
    sparsity = arguments["sparsity"]
    pairs = [math.prod(arguments[f"input_tensor_{letter}"].shape.dims[:-2]) for letter in "ab"]
    count = pairs[0] if of_a else math.prod(pairs)
    if sparsity.logical_volume() != count and arguments.get("indices") is None:
        words = ", ".join(f"is_input_{k}_sparse={str(v).lower()}" for k, v in (("a", of_a), ("b", of_b)))
        raise fatal(
            f"sparsity logical_volume ({sparsity.logical_volume()}) must equal batch_length ({count}) "
            f"[sparsity_shape={sparsity.shape}, {words}]",
            hint=f"a sparsity with an entry for each of {count} products",
        )


def check_sparse_program(program: object, grid: object) -> None:
    """Raises RuntimeError for cores beside a program, and for another program than the one that products with experts have."""
    if grid is not None:
        raise fatal(
            "Cannot use both user core grid/coordinates and a program config",
            hint="leave core_grid out: the program config names its cores",
        )
    if not isinstance(program, MatmulMultiCoreReuseMultiCast1DProgramConfig):
        raise fatal(
            "std::get: wrong index for variant",
            hint=f"program_config is a {type(program).__name__}, give a ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig",
        )


def _each_with_each(a: Any, b: Any) -> Any:
    """Every group of `a` (B1, B2, M, K) with every expert of `b` (1, E, K, N): (B1, B2, 1, E, M, N)."""
    return library().matmul(a[..., None, None, :, :], b.reshape(1, -1, *b.shape[-2:]))


SPARSE = "*, sparsity: Tensor, nnz: int | None = None, is_input_a_sparse: bool = False, is_input_b_sparse: bool = True, indices: Tensor | None = None, bias: Tensor | None = None"  # fmt: skip

MOE = declare(
    families.EXPERTS,
    Row(
        "moe", f"(input_tensor: Tensor, expert_mask_tensor: Tensor, topk_mask_tensor: Tensor, k: int = 32, *, {PLACED}, output_tensor: Tensor | None = None)",
        _first_expert, "The weight of expert 0 among each token's k best: softmax over the best scores, masks added.", integers=False, check=check_moe,
    ),
    Row(
        "experimental.deepseek_moe_fast_reduce_nc", "(input_tensor: Tensor, dim: int, *, split_size: int, output_memory_config: MemoryConfig | None = None, compute_kernel_config: object = None)",
        _reduced_in_parts, "The sum over a dimension, split along the last one into tensors of split_size.", integers=False,
        check=_check_parts,
    ),
    Row(
        "sparse_matmul",
        f"(input_tensor_a: Tensor, input_tensor_b: Tensor, {SPARSE}, program_config: object, {PLACED}, dtype: DataType | None = None, "
        "compute_kernel_config: object = None, core_grid: object = None, output_tile: object = None, "
        "optional_output_tensor: Tensor | None = None, global_cb: object = None, sub_device_id: object = None)",
        _sparse, "Products of groups of rows with experts; those whose entry in sparsity is zero give zeros.", golden=_sparse,
        check=_check_sparse, rooms=("optional_output_tensor",), seen=("optional_output_tensor",),
    ),
)  # fmt: skip


@operation("ttnn.experimental.topk_router_gpt", family=families.EXPERTS)
def topk_router_gpt(
    input_tensor: Tensor, *, weight_tensor: Tensor, bias_tensor: Tensor, k: int = 4, num_experts: int = 128
) -> tuple[Tensor, Tensor]:
    """The k best experts of input @ weight + bias, best first, and the softmax of their scores: (B, k) uint16 and bfloat16, row-major.

    Raises RuntimeError when the weight does not have num_experts columns.
    """
    given = (input_tensor, weight_tensor, bias_tensor)
    on_device(*given, kind="router")
    if weight_tensor.shape[-1] != num_experts:
        raise fatal(
            f"weight_tensor has {weight_tensor.shape[-1]} experts, not num_experts={num_experts}",
            hint=f"num_experts={weight_tensor.shape[-1]}",
        )

    def route(x: Any, w: Any, b: Any) -> Any:
        values, chosen = library().topk(x @ w + b, k, dim=-1)
        return chosen, library().softmax(values, dim=-1)

    return _chosen(route, given, DataType.UINT16)


@operation("ttnn.experimental.deepseek_grouped_gate", family=families.EXPERTS)
def deepseek_grouped_gate(
    scores: Tensor,
    bias: Tensor,
    *,
    n_groups: int = 8,
    summed_experts_per_group: int = 2,
    topk_groups: int = 4,
    n_activated_experts: int = 8,
    route_scale: float = 1.0,
    epsilon: float = 1e-20,
    memory_config: MemoryConfig | None = None,
) -> list[Tensor]:
    """The experts of each token, chosen from its best groups, and their weights: sigmoid scores, scaled to sum to route_scale.

    Groups rank by the sum of their best biased scores; weights are the scores without the bias. Gives weights and uint16 indices.
    """
    on_device(scores, bias, kind="gate")

    def gate(x: Any, b: Any) -> Any:
        torch = library()
        plain = torch.sigmoid(x)
        biased = (plain + b).reshape(*x.shape[:-1], n_groups, -1)
        ranks = biased.topk(summed_experts_per_group, dim=-1).values.sum(-1)
        best = ranks.topk(topk_groups, dim=-1).indices
        open_groups = torch.zeros_like(ranks).scatter(-1, best, 1.0).unsqueeze(-1) != 0
        allowed = torch.where(open_groups, biased, torch.full_like(biased, float("-inf"))).reshape(x.shape)
        chosen = allowed.topk(n_activated_experts, dim=-1).indices
        weights = plain.gather(-1, chosen)
        return chosen, weights / (weights.sum(-1, keepdim=True) + epsilon) * route_scale

    indices, weights = _chosen(gate, (scores, bias), DataType.UINT16, scores.layout, memory_config)
    return [weights, indices]


def _chosen(
    function: Any, given: tuple[Tensor, ...], kind: DataType, layout: Layout = Layout.ROW_MAJOR,
    memory_config: MemoryConfig | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Indices and weights of a router."""
    found = combine_all(lambda *stacks: torch_cpu.on_each(function, stacks), *(t.shards for t in given))
    dtypes = (kind, given[0].dtype)
    return tuple(
        settle(given, Shards(finish(s.data, dtype), s.index), dtype, layout=layout, memory_config=memory_config)
        for s, dtype in zip(found, dtypes, strict=True)
    )  # type: ignore[return-value] # fmt: skip


@operation("ttnn.moe_routing_remap", family=families.EXPERTS, golden=expert_goldens.routing_remap)
def moe_routing_remap(
    routing_weights_tensor: Tensor,
    non_zero_weight_size: int,
    expert_parallel_size: int,
    cluster_axis: int,
    *,
    memory_config: MemoryConfig | None = None,
    optional_output_tensor: Tensor | None = None,
) -> Tensor:
    """Each device's share of the non-zero routing weights (1, experts), in order, along a cluster axis; the rest zeros.

    Raises RuntimeError for an axis that the mesh does not have, and when the weights do not share evenly.
    """
    on_device(routing_weights_tensor, kind="routing remap")
    if cluster_axis not in (0, 1):
        raise fatal(
            f"cluster_axis must be 0 or 1, got {cluster_axis}",
            "cluster_axis < mesh_shape.dims()",
            hint="cluster_axis=0 or 1",
        )
    if expert_parallel_size < 1:
        raise fatal(
            f"expert_parallel_size must be at least 1, got {expert_parallel_size}",
            hint="expert_parallel_size= the devices that share the experts",
        )
    if non_zero_weight_size % expert_parallel_size:
        raise fatal(
            f"{non_zero_weight_size} weights do not share evenly over {expert_parallel_size} devices",
            hint=f"expert_parallel_size={math.gcd(non_zero_weight_size, expert_parallel_size)}, or non_zero_weight_size= a multiple of {expert_parallel_size}",
        )
    share = non_zero_weight_size // expert_parallel_size
    before = routing_weights_tensor.shards
    made = []
    held = [part for part in before.each() if part is not None]  # every local device has a shard
    for coord, weights in zip(routing_weights_tensor.site.local_coords, held, strict=True):
        values = np.zeros_like(weights)
        kept = np.flatnonzero(weights)[coord[cluster_axis] * share :][:share]
        values.flat[kept] = weights.flat[kept]
        made.append(values)
    shards = Shards.from_each(made, like=before.data)
    return settle(
        (routing_weights_tensor,), shards, routing_weights_tensor.dtype,
        memory_config=memory_config, output_tensor=optional_output_tensor,
    )  # fmt: skip


@operation("ttnn.moe_expert_token_remap", family=families.EXPERTS, golden=expert_goldens.token_remap)
def moe_expert_token_remap(
    topk_tensor: Tensor,
    expert_mapping_tensor: Tensor,
    expert_metadata_tensor: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    optional_output_mapping_tensor: Tensor | None = None,
    optional_output_reduced_tensor: Tensor | None = None,
    reduction_size: int = 16,
) -> list[Tensor]:
    """Each token's weights for the experts of its own device, and for each reduction_size tokens whether any chose an expert.

    topk (1, batch, seq, experts), mapping (1, 1, experts, devices), metadata (1, batch, seq, k) -> (1, batch, seq, local experts) and
    (1, 1, batch*seq/reduction_size, local experts) uint16. Raises RuntimeError when reduction_size does not divide the tokens.
    """
    given = (topk_tensor, expert_mapping_tensor, expert_metadata_tensor)
    device = on_device(*given, kind="token remap")
    tokens = int(np.prod(tuple(expert_metadata_tensor.shape)[:-1]))
    if reduction_size < 1 or tokens % reduction_size:
        raise fatal(
            f"reduction_size {reduction_size} does not divide {tokens} tokens",
            hint=f"reduction_size={math.gcd(tokens, max(reduction_size, 1))}",
        )
    columns = tuple(device.shape)[1]
    maps, flags = [], []
    each = zip(topk_tensor.site.local_coords, *(t.shards.each() for t in given), strict=True)
    for coord, scores, mapping, metadata in each:
        local = np.flatnonzero(mapping.reshape(mapping.shape[-2:])[:, coord[0] * columns + coord[1]])
        picked = (metadata[..., None].astype(np.int64) == local).any(-2)
        weights = np.where(picked, scores[..., local], 0).astype(scores.dtype)
        maps.append(weights)
        rows = weights.reshape(1, 1, -1, reduction_size, len(local)) != 0
        flags.append(rows.any(-2).astype(np.uint16))
    mapped = settle(
        given, Shards.from_each(maps, like=topk_tensor.shards.data), topk_tensor.dtype,
        memory_config=memory_config, output_tensor=optional_output_mapping_tensor, layout=Layout.ROW_MAJOR,
    )  # fmt: skip
    reduced = settle(
        given, Shards.from_each(flags, like=np.empty((0, *flags[0].shape), np.uint16)), DataType.UINT16,
        memory_config=memory_config, output_tensor=optional_output_reduced_tensor, layout=Layout.ROW_MAJOR,
    )  # fmt: skip
    return [mapped, reduced]
