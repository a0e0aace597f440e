"""Attention over a sequence that is cut over devices: keys and values are gathered around the ring. Source: reference library 0.81.1.

The reference overlaps the gather with the attention; the values are those of one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.collectives import gather_as
from tt_run.runtime.ccl.fused.ring_places import (
    SEQUENCE,
    Cached,
    Sight,
    check_balanced,
    first_query_places,
    number,
)
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.attention.operand_shapes import refuse
from tt_run.runtime.ops.attention.prefill import prefill, sink_of
from tt_run.runtime.ops.attention.prefill_checks import same_heads, shared_heads
from tt_run.runtime.ops.data_movement.joining import concat
from tt_run.runtime.ops.data_movement.joining import slice as cut
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.goldens import ring_goldens
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]
Triple = tuple[Tensor, Tensor, Tensor]


def _log_sum_exp(
    q: Tensor,
    k: Tensor,
    named: dict[str, Tensor | None],
    mask_of: Callable[[dict[str, Array], int], Array | None],
    scale: float,
) -> Tensor:
    """Of each query's scores: (B, H, Sq, 1). `mask_of` gives a user's mask from a device's shards of `named`."""
    batch, heads, queries, _ = q.shape
    given = {name: tensor for name, tensor in named.items() if tensor is not None}

    def rows(scores: Array, sink: Array | None) -> Array:
        if sink is not None:
            column = np.broadcast_to(np.float32(scale) * sink[:, None, None], (*scores.shape[:-1], 1))
            scores = np.concatenate([scores, column], -1)
        top = scores.max(axis=-1, keepdims=True)
        top = np.where(np.isneginf(top), np.float32(0), top)
        with np.errstate(divide="ignore"):  # of a query that sees nothing
            return np.asarray(top + np.log(np.add.reduce(np.exp(scores - top), axis=-1, keepdims=True)))

    def compute(qs: Array, ks: Array, *others: Array) -> Array:
        out = np.empty((len(qs), batch, heads, queries, 1), np.float32)
        for device in range(len(qs)):
            rest = dict(zip(given, (o[device] for o in others), strict=True))
            for user in range(batch):
                mask = mask_of(rest, user)
                keys = np.repeat(ks[device, user], heads // ks.shape[2], axis=0)
                scores = gemm.matmul(qs[device, user], keys.swapaxes(-1, -2)) * np.float32(scale)
                sink = sink_of(rest["sink"], heads, user) if "sink" in rest else None
                out[device, user] = rows(scores if mask is None else scores + mask, sink)
        return finish(out, q.dtype)

    operands = (q, k, *given.values())
    return settle(operands, combine(compute, *(t.shards for t in operands)), q.dtype)


def _ring_joint(
    name: str,
    first: Triple,
    joint: tuple[Tensor | None, Tensor | None, Tensor | None],
    buffers: tuple[Tensor, Tensor],
    strategy: str,
    logical: int | Tensor,
    scale: float | None,
    dim: int,
    ring: tuple[int, MeshDevice, Topology, int],
    *,
    sink: Tensor | None = None,
    joined_end: int | Tensor = 0,
    **seen: Any,
) -> Triple:
    """Attention of a device's queries and the joined ones to all keys; results of both, and the logarithm of the sums of exponentials."""
    if strategy != "rear":
        raise fatal(
            f"joint_strategy must be rear, got {strategy}",
            'joint_strategy == "rear"',
            hint="joint_strategy='rear'",
        )
    if dim % len(first[0].shape) != SEQUENCE:
        raise fatal(
            f"{name} gathers along the sequence, dim {SEQUENCE}, got dim {dim}",
            "dim == 2",
            hint=f"dim={SEQUENCE}",
        )
    q, k, v = first
    cluster_axis, mesh, topology, links = ring
    tuning = topology, links, None
    keys = gather_as(name, k, dim, cluster_axis, tuning, buffers[0], mesh)
    values = gather_as(name, v, dim, cluster_axis, tuning, buffers[1], mesh)
    gathered, length = keys.shape[SEQUENCE], q.shape[SEQUENCE]
    joined = [tensor for tensor in joint if tensor is not None and tensor.shape[SEQUENCE]]
    behind = joined[0].shape[SEQUENCE] if joined else 0
    if joined:
        if len(joined) != 3:
            raise fatal(
                "joint_tensor_q, joint_tensor_k and joint_tensor_v go together or not at all",
                hint="give all three or none of them",
            )
        parts = zip((q, keys, values), joined, strict=True)
        q, keys, values = (concat.compute([here, there], SEQUENCE) for here, there in parts)
    factor = scale if scale is not None else 1 / math.sqrt(q.shape[-1])
    everywhere = length * tuple(mesh.shape)[cluster_axis]
    end = number(joined_end) or behind
    sight = Sight(logical, gathered, length, everywhere, behind, end, **seen)
    named = {"length": logical if isinstance(logical, Tensor) else None, "sink": sink}
    if not sight.plain:
        named["start"] = first_query_places(first[0], cluster_axis)
    on_device(q, keys, values, kind=name)
    refuse(same_heads(keys, values), shared_heads(q, keys.shape[1]))
    whole = prefill((q, keys, values), named, sight.mask, factor, None)
    sums = _log_sum_exp(q, keys, named, sight.mask, factor)
    batch, heads, both, depth = whole.shape
    if not joined:
        return whole, joint[0] if joint[0] is not None else whole, sums
    pieces = ((0, length), (length, both))
    own, other = (cut.compute(whole, [0, 0, a, 0], [batch, heads, b, depth]) for a, b in pieces)
    return own, other, sums


def _only(name: str, **options: object) -> None:
    given = [option for option, value in options.items() if value not in (None, False, 0)]
    if given:
        raise fatal(
            f"{name}: {', '.join(given)} is not emulated, only a whole sequence cut in order over one axis",
            hint=f"leave {', '.join(given)} out",
        )


@operation(
    "ttnn.transformer.ring_joint_scaled_dot_product_attention",
    family=families.COLLECTIVE,
    golden=ring_goldens.joint,
)
@whole_call
def ring_joint_scaled_dot_product_attention(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    joint_tensor_q: Tensor | None = None,
    joint_tensor_k: Tensor | None = None,
    joint_tensor_v: Tensor | None = None,
    *,
    persistent_output_buffer_k: Tensor,
    persistent_output_buffer_v: Tensor,
    joint_strategy: str,
    logical_n: int | Tensor,
    logical_l: int | Tensor = 0,
    program_config: object,
    scale: float | None = None,
    compute_kernel_config: object = None,
    dim: int,
    multi_device_global_semaphore: Sequence[object],
    num_links: int,
    cluster_axis: int,
    mesh_device: MeshDevice,
    topology: Topology,
    subdevice_id: Any = None,
    ccl_core_grid_offset: object,
    use_column_major_ccl: bool = False,
    is_causal: bool = False,
    is_balanced: bool = False,
    is_cross: bool = False,
    kv_cache_batch_idx: int | None = None,
    kv_actual_isl: int | None = None,
    attention_sink: Tensor | None = None,
    sliding_window_size: int | None = None,
    circular_kv_cache: bool = False,
    persistent_output_buffer_joint_k: Tensor | None = None,
    persistent_output_buffer_joint_v: Tensor | None = None,
    slot_id: Tensor | None = None,
    kv_actual_isl_tensor: Tensor | None = None,
    kv_cache_num_layers: int | None = None,
    kv_cache_layer_idx: int | None = None,
    kv_valid_end_tensor: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Attention of a sequence [B, H, N/devices, D] cut over `cluster_axis` and a joined one [B, H, L, D] on every device.

    Gives the result of each and the log-sum-exp [B, H, N/devices + L, 1]. Keys from `logical_n` on are left out, and joined ones from
    `logical_l` on. Causal or within a window by positions in the whole sequence; a sink's scores are times scale. Keys and values may be
    row `kv_cache_batch_idx` of caches, or that of a layer in a slot, of which `kv_actual_isl` positions were there before; a circular
    cache is written in chunks as long as the whole query. A balanced sequence has a piece from its front and one from its back on each
    device. Without joined tensors the second result is the first. Raises RuntimeError for `kv_valid_end_tensor`, joined tensors in a
    cache, and options that exclude each other.
    """
    name = "ring_joint_scaled_dot_product_attention"
    _only(name, kv_valid_end_tensor=kv_valid_end_tensor is not None)
    if is_cross and is_causal:
        raise fatal(
            f"{name}: is_cross goes with attention that is not causal",
            hint="is_causal=False, or is_cross=False",
        )
    cached = Cached(
        kv_cache_batch_idx,
        kv_actual_isl,
        slot_id,
        kv_actual_isl_tensor,
        kv_cache_num_layers,
        kv_cache_layer_idx,
    )
    (k, v), before = cached.of(name, input_tensor_q.shape[0], input_tensor_k, input_tensor_v)
    if before is not None and joint_tensor_q is not None and joint_tensor_q.shape[SEQUENCE]:
        raise fatal(
            f"{name}: kv_actual_isl does not go with joined tensors",
            hint="leave joint_tensor_q, joint_tensor_k and joint_tensor_v out, or kv_actual_isl",
        )
    if is_balanced:
        joined = bool(joint_tensor_q is not None and joint_tensor_q.shape[SEQUENCE])
        check_balanced(name, input_tensor_q.shape[SEQUENCE], before, causal=is_causal, joined=joined)
    if circular_kv_cache and (before is None or sliding_window_size is None):
        raise fatal(
            f"{name}: circular_kv_cache needs kv_actual_isl and sliding_window_size",
            hint="kv_actual_isl=… and sliding_window_size=…, or circular_kv_cache=False",
        )
    return _ring_joint(
        name,
        (input_tensor_q, k, v),
        (joint_tensor_q, joint_tensor_k, joint_tensor_v),
        (persistent_output_buffer_k, persistent_output_buffer_v),
        joint_strategy,
        logical_n,
        scale,
        dim,
        (cluster_axis, mesh_device, topology, num_links),
        sink=attention_sink,
        joined_end=logical_l,
        causal=is_causal,
        window=sliding_window_size or None,
        before=before,
        circular=circular_kv_cache,
        balanced=is_balanced,
    )


@operation(
    "ttnn.transformer.exp_ring_joint_scaled_dot_product_attention",
    family=families.COLLECTIVE,
    golden=ring_goldens.joint,
)
@whole_call
def exp_ring_joint_scaled_dot_product_attention(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    joint_tensor_q: Tensor | None = None,
    joint_tensor_k: Tensor | None = None,
    joint_tensor_v: Tensor | None = None,
    *,
    persistent_output_buffer_k: Tensor,
    persistent_output_buffer_v: Tensor,
    joint_strategy: str,
    logical_n: int | Tensor,
    program_config: object,
    scale: float | None = None,
    compute_kernel_config: object = None,
    dim: int,
    multi_device_global_semaphore: Sequence[object],
    num_links: int,
    cluster_axis: int,
    mesh_device: MeshDevice,
    topology: Topology,
    subdevice_id: Any = None,
    num_workers_per_link: int = 1,
    num_buffers_per_channel: int = 8,
) -> tuple[Tensor, Tensor, Tensor]:
    """`ring_joint_scaled_dot_product_attention` by another schedule on the device."""
    return _ring_joint(
        "exp_ring_joint_scaled_dot_product_attention",
        (input_tensor_q, input_tensor_k, input_tensor_v),
        (joint_tensor_q, joint_tensor_k, joint_tensor_v),
        (persistent_output_buffer_k, persistent_output_buffer_v),
        joint_strategy,
        logical_n,
        scale,
        dim,
        (cluster_axis, mesh_device, topology, num_links),
    )


@operation("ttnn.transformer.ring_mla", family=families.COLLECTIVE, golden=ring_goldens.latent)
@whole_call
def ring_mla(
    input_tensor_q: Tensor,
    input_tensor_kv: Tensor,
    *,
    persistent_output_buffer_kv: Tensor,
    head_dim_v: int,
    logical_n: int,
    program_config: object,
    scale: float | None = None,
    compute_kernel_config: object = None,
    dim: int,
    multi_device_global_semaphore: Sequence[object],
    num_links: int,
    cluster_axis: int | None,
    mesh_device: MeshDevice,
    topology: Topology,
    subdevice_id: Any = None,
    ccl_core_grid_offset: object,
    use_column_major_ccl: bool = False,
    is_balanced: bool = False,
    kv_cache_batch_idx: int | None = None,
    kv_actual_isl: int | None = None,
    slot_id: Tensor | None = None,
    kv_actual_isl_tensor: Tensor | None = None,
    kv_cache_num_layers: int | None = None,
    kv_cache_layer_idx: int | None = None,
    kv_valid_end_tensor: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Causal attention of a sequence [B, H, N/devices, D], cut over `cluster_axis`, to latents [B, 1, N/devices, D] cut in the same way.

    Values are the latents' first head_dim_v columns; latents from `logical_n` on are left out. They may be a row of a cache, as in
    `ring_joint_scaled_dot_product_attention`, and balanced as there. Gives [B, H, N/devices, head_dim_v] and the log-sum-exp
    [B, H, N/devices, 1]. Raises RuntimeError for `kv_valid_end_tensor` and a ring without an axis.
    """
    name = "ring_mla"
    _only(name, kv_valid_end_tensor=kv_valid_end_tensor is not None)
    if cluster_axis is None:
        raise fatal(
            f"{name}: a ring without cluster_axis is not emulated, only a whole sequence cut in order over one axis",
            hint="cluster_axis=0 or 1",
        )
    if dim % 4 != SEQUENCE:
        raise fatal(
            f"{name} gathers along the sequence, dim {SEQUENCE}, got dim {dim}",
            "dim == 2",
            hint=f"dim={SEQUENCE}",
        )
    on_device(input_tensor_q, input_tensor_kv, kind=name)
    cached = Cached(
        kv_cache_batch_idx,
        kv_actual_isl,
        slot_id,
        kv_actual_isl_tensor,
        kv_cache_num_layers,
        kv_cache_layer_idx,
    )
    (latents,), before = cached.of(name, input_tensor_q.shape[0], input_tensor_kv)
    tuning = topology, num_links, None
    keys = gather_as(name, latents, dim, cluster_axis, tuning, persistent_output_buffer_kv, mesh_device)
    own = input_tensor_q.shape[SEQUENCE]
    if is_balanced:
        check_balanced(name, own, before, causal=True, joined=False)
    everywhere = own * tuple(mesh_device.shape)[cluster_axis]
    end = logical_n if before is None else min(logical_n, before + everywhere)
    sight = Sight(
        end, keys.shape[SEQUENCE], own, everywhere, causal=True, before=before, balanced=is_balanced
    )
    factor = scale if scale is not None else 1 / math.sqrt(input_tensor_q.shape[-1])
    named: dict[str, Tensor | None] = {"start": first_query_places(input_tensor_q, cluster_axis)}
    refuse(shared_heads(input_tensor_q, keys.shape[1]))
    whole = prefill((input_tensor_q, keys, keys), named, sight.mask, factor, None, width=head_dim_v)
    return whole, _log_sum_exp(input_tensor_q, keys, named, sight.mask, factor)
