"""What `ttnn.experimental.moe_compute` refuses before it computes. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tt_run.runtime.enums import BufferType, DataType, Layout, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.experts import ring_routes
from tt_run.runtime.ops.experts.expert_layouts import auto_output_width_shard_dim
from tt_run.runtime.ops.experts.ring_layout import Ring
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


def check_axis(device: MeshDevice, axis: int | None) -> None:
    """Raises RuntimeError for an axis that the mesh has not."""
    if axis is not None and not 0 <= axis < device.shape.dims():
        raise fatal(
            f"cluster_axis {axis} is out of range for a mesh with {device.shape.dims()} axes",
            "*cluster_axis < mesh_shape.dims()",
            hint="cluster_axis=0 along columns, from row to row; cluster_axis=1 along rows",
        )


def check_mode(
    device: MeshDevice, axis: int | None, compute_only: bool, alone: Mapping[str, object], shared: int
) -> None:
    """Raises RuntimeError for an axis that the mesh has not, and for what the way of combining has no use for or cannot do."""
    check_axis(device, axis)
    if alone["topology"] not in (None, Topology.Linear, Topology.Ring):
        raise fatal(
            f"moe_compute: combine kernel only supports Topology::Linear or Topology::Ring, got {alone['topology']}",
            hint="topology=ttnn.Topology.Linear",
        )
    devices = device.shape.mesh_size()
    if axis is None and not compute_only and devices != 1:
        raise fatal(
            "moe_compute(compute_only=false, cluster_axis=None) is only supported on a 1x1 mesh, got "
            f"num_devices={devices}. Pass cluster_axis for multi-device fused compute+combine.",
            "num_devices == 1",
            hint="cluster_axis=0 or 1, or compute_only=True",
        )
    mode = "compute_only=true" if compute_only else "cluster_axis=None"
    for name, value in alone.items() if compute_only or axis is None else ():
        if value is not None:
            raise fatal(
                f"moe_compute({mode}) requires {name} to be std::nullopt",
                f"!{name}.has_value()",
                hint=f"leave {name} out",
            )
    if not shared or axis is None:
        return
    if device.shape[axis] == 1:
        raise fatal(
            "moe_compute over a mesh axis of extent 1 writes a local output and does not support shared experts; run them "
            "separately and add their partial before the cross-device reduction",
            hint="num_shared_experts_per_device=0",
        )
    if devices != device.shape[axis]:
        raise fatal(
            "shared experts that are split over the other axis of the mesh are not emulated",
            hint="a mesh whose other axis has one device, or num_shared_experts_per_device=0 and the shared experts by themselves",
        )


def check_operands(given: Sequence[Tensor], weights: Sequence[Tensor]) -> None:
    """Raises RuntimeError for layouts, types, places and ranks that the operation does not take."""
    tokens, indices, scores, mapping = given
    if tokens.layout is not Layout.ROW_MAJOR:
        raise fatal(
            "Input tensor must be in row major layout",
            "tilize_input_tensor.layout() == Layout::ROW_MAJOR",
            hint="ttnn.to_layout(tilize_input_tensor, ttnn.ROW_MAJOR_LAYOUT)",
        )
    for name, tensor, dtype in (("Input", tokens, DataType.BFLOAT16), ("Indices", indices, DataType.UINT16)):
        if tensor.dtype is not dtype:
            word = dtype.name.lower()
            raise fatal(f"{name} tensor must be {word}", hint=f"ttnn.typecast(tensor, ttnn.{word})")
    for name, tensor in (("indices", indices), ("scores", scores)):
        if tensor.memory_config().buffer_type is not BufferType.L1:
            raise fatal(
                f"{name} must be in L1, on the core that reads them, not in {tensor.memory_config().buffer_type}",
                hint="HEIGHT_SHARDED on ttnn.experimental.get_moe_tilize_drain_core(…), or ttnn.L1_MEMORY_CONFIG",
            )
    ranks = (
        ("tilize_input_tensor", tokens, 3, False, "[..., tokens, hidden]"),
        ("tilize_expert_indices_tensor", indices, 2, False, "[..., tokens, K]"),
        ("tilize_expert_scores_tensor", scores, 2, False, "[..., tokens, K]"),
        ("tilize_expert_mapping_tensor", mapping, 2, True, "[num_devices, experts]"),
        ("matmul_w0_w1_tensor", weights[0], 6, True, "[num_cores, L, E, groups_per_core, K, 4*TILE_SIZE]"),
        ("matmul_w2_tensor", weights[1], 6, True, "[num_cores, L, E, groups_per_core, N, 4*TILE_SIZE]"),
    )
    for name, tensor, rank, exact, what in ranks:
        found = len(tensor.shape)
        if found < rank or (exact and found > rank):
            sign = "" if exact else ">= "
            raise fatal(
                f"{name} must be rank {sign}{rank} ({what}); got rank {found}",
                hint=f"ttnn.reshape({name}, …)",
            )


def check_sizes(
    ring: Ring, given: Sequence[Tensor], weights: Sequence[Tensor], height: int, shared: int
) -> None:
    """Raises RuntimeError for tensors of different tokens, more tokens than fit, and a ring that would have idle cores."""
    tokens, indices, scores, _ = given
    number, experts = math.prod(tokens.shape[:-1]), weights[0].shape[2]
    if indices.shape != scores.shape or math.prod(indices.shape[:-1]) != number:
        raise fatal(
            f"indices {indices.shape} and scores {scores.shape} are not of the {number} tokens of the input",
            hint="give all three as ttnn.experimental.all_to_all_dispatch_metadata returned them",
        )
    most = ring_routes.CHUNK * height * auto_output_width_shard_dim(ring.hidden * TILE_SIZE)
    if number > most:
        raise fatal(
            f"Too many tokens in input, got: {number} but expected max: {most}",
            "max_tokens >= total_tokens",
            hint="a larger output_height_shard_dim, or fewer tokens in a call",
        )
    if ring.intermediate < ring.cores:
        raise fatal(
            f"intermediate_size ({ring.intermediate * TILE_SIZE}) must yield at least 1 tile per ring core "
            f"({ring.intermediate} tiles < {ring.cores} cores)",
            "intermediate_tiles >= matmul_num_cores",
            hint=f"fill the weights up with zeros to intermediate_size={ring.cores * TILE_SIZE}",
        )
    if shared > experts:
        raise fatal(
            f"num_shared_experts_per_device ({shared}) must be <= experts_per_device ({experts})",
            "num_shared_experts_per_device <= experts_per_device",
            hint=f"num_shared_experts_per_device={experts} or less",
        )
