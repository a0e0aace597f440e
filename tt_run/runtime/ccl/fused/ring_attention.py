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
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.attention.prefill import causal_mask, prefill
from tt_run.runtime.ops.data_movement.joining import concat
from tt_run.runtime.ops.data_movement.joining import slice as cut
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.goldens import ring_goldens
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]
Triple = tuple[Tensor, Tensor, Tensor]
_SEQUENCE = 2


def _hidden(rest: dict[str, Array], logical: int | Tensor, gathered: int, keys: int) -> Array | None:
    """Minus infinity for the keys between the logical end of the gathered sequence and its padded one, and before the joined ones."""
    end = int(rest["length"].ravel()[0]) if isinstance(logical, Tensor) else logical
    if not 0 < end <= gathered:
        raise fatal(f"logical_n must be 1 to {gathered}, the length of the gathered keys, got {end}")
    if end == gathered:
        return None
    mask = np.zeros((1, 1, keys), np.float32)
    mask[..., end:gathered] = -np.inf
    return mask


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

    def rows(scores: Array) -> Array:
        top = scores.max(axis=-1, keepdims=True)
        return top + np.log(np.add.reduce(np.exp(scores - top), axis=-1, keepdims=True))

    def compute(qs: Array, ks: Array, *others: Array) -> Array:
        out = np.empty((len(qs), batch, heads, queries, 1), np.float32)
        for device in range(len(qs)):
            rest = dict(zip(given, (o[device] for o in others), strict=True))
            for user in range(batch):
                mask = mask_of(rest, user)
                keys = np.repeat(ks[device, user], heads // ks.shape[2], axis=0)
                scores = gemm.matmul(qs[device, user], keys.swapaxes(-1, -2)) * np.float32(scale)
                out[device, user] = rows(scores if mask is None else scores + mask)
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
) -> Triple:
    """Attention of a device's queries and the joined ones to all keys; results of both, and the logarithm of the sums of exponentials."""
    if strategy != "rear":
        raise fatal(f"joint_strategy must be rear, got {strategy}", 'joint_strategy == "rear"')
    if dim % len(first[0].shape) != _SEQUENCE:
        raise fatal(f"{name} gathers along the sequence, dim {_SEQUENCE}, got dim {dim}", "dim == 2")
    q, k, v = first
    cluster_axis, mesh, topology, links = ring
    tuning = topology, links, None
    keys = gather_as(name, k, dim, cluster_axis, tuning, buffers[0], mesh)
    values = gather_as(name, v, dim, cluster_axis, tuning, buffers[1], mesh)
    gathered = keys.shape[_SEQUENCE]
    joined = [tensor for tensor in joint if tensor is not None and tensor.shape[_SEQUENCE]]
    if joined:
        if len(joined) != 3:
            raise fatal("joint_tensor_q, joint_tensor_k and joint_tensor_v go together or not at all")
        parts = zip((q, keys, values), joined, strict=True)
        q, keys, values = (concat.compute([here, there], _SEQUENCE) for here, there in parts)
    factor = scale if scale is not None else 1 / math.sqrt(q.shape[-1])
    named = {"length": logical if isinstance(logical, Tensor) else None}
    total = keys.shape[_SEQUENCE]
    on_device(q, keys, values, kind=name)

    def mask_of(rest: dict[str, Array], user: int) -> Array | None:
        hidden = _hidden(rest, logical, gathered, total)
        return None if hidden is None else np.broadcast_to(hidden, (1, q.shape[_SEQUENCE], total))

    whole = prefill((q, keys, values), named, mask_of, factor, None)
    sums = _log_sum_exp(q, keys, named, mask_of, factor)
    batch, heads, both, depth = whole.shape
    length = first[0].shape[_SEQUENCE]
    if not joined:
        return whole, joint[0] if joint[0] is not None else whole, sums
    pieces = ((0, length), (length, both))
    own, other = (cut.compute(whole, [0, 0, a, 0], [batch, heads, b, depth]) for a, b in pieces)
    return own, other, sums


def _only(name: str, **options: object) -> None:
    given = [option for option, value in options.items() if value not in (None, False, 0)]
    if given:
        raise fatal(
            f"{name}: {', '.join(given)} is not emulated, only attention without a mask to a whole sequence"
        )


@operation(
    "ttnn.transformer.ring_joint_scaled_dot_product_attention",
    family=families.COLLECTIVE,
    golden=ring_goldens.joint,
)
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
    """Attention, without a mask, of a sequence [B, H, N/devices, D] cut over `cluster_axis` and a joined one [B, H, L, D] on every device.

    Gives the result of each and the log-sum-exp [B, H, N/devices + L, 1]. Keys from `logical_n` on are left out. Without joined tensors
    the second result is the first. Raises RuntimeError for causal attention, caches, windows and joined tensors that are cut.
    """
    name = "ring_joint_scaled_dot_product_attention"
    _only(
        name, is_causal=is_causal, is_balanced=is_balanced, kv_cache_batch_idx=kv_cache_batch_idx is not None,
        kv_actual_isl=kv_actual_isl, attention_sink=attention_sink is not None, sliding_window_size=sliding_window_size,
        circular_kv_cache=circular_kv_cache, slot_id=slot_id is not None, logical_l=isinstance(logical_l, Tensor) or logical_l,
        kv_actual_isl_tensor=kv_actual_isl_tensor is not None, kv_valid_end_tensor=kv_valid_end_tensor is not None,
        is_cross=is_cross, kv_cache_num_layers=kv_cache_num_layers is not None, kv_cache_layer_idx=kv_cache_layer_idx is not None,
    )  # fmt: skip
    return _ring_joint(
        name,
        (input_tensor_q, input_tensor_k, input_tensor_v),
        (joint_tensor_q, joint_tensor_k, joint_tensor_v),
        (persistent_output_buffer_k, persistent_output_buffer_v),
        joint_strategy,
        logical_n,
        scale,
        dim,
        (cluster_axis, mesh_device, topology, num_links),
    )


@operation(
    "ttnn.transformer.exp_ring_joint_scaled_dot_product_attention",
    family=families.COLLECTIVE,
    golden=ring_goldens.joint,
)
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
    cluster_axis: int,
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

    Values are the latents' first head_dim_v columns; latents from `logical_n` on are left out. Gives [B, H, N/devices, head_dim_v] and the
    log-sum-exp [B, H, N/devices, 1]. Raises RuntimeError for balanced sequences and latents in caches.
    """
    name = "ring_mla"
    caches = {
        "kv_cache_batch_idx": kv_cache_batch_idx, "kv_actual_isl": kv_actual_isl, "slot_id": slot_id,
        "kv_actual_isl_tensor": kv_actual_isl_tensor, "kv_cache_num_layers": kv_cache_num_layers,
        "kv_cache_layer_idx": kv_cache_layer_idx, "kv_valid_end_tensor": kv_valid_end_tensor,
    }  # fmt: skip
    given = [word for word, value in caches.items() if value is not None] + ["is_balanced"] * is_balanced
    if given or cluster_axis is None:
        what = ", ".join(given) or "a ring without cluster_axis"
        raise fatal(f"{name}: {what} is not emulated, only a whole sequence cut in order over one axis")
    if dim % 4 != _SEQUENCE:
        raise fatal(f"{name} gathers along the sequence, dim {_SEQUENCE}, got dim {dim}", "dim == 2")
    on_device(input_tensor_q, input_tensor_kv, kind=name)
    tuning = topology, num_links, None
    keys = gather_as(
        name, input_tensor_kv, dim, cluster_axis, tuning, persistent_output_buffer_kv, mesh_device
    )
    queries, total = input_tensor_q.shape[_SEQUENCE], keys.shape[_SEQUENCE]
    if not 0 < logical_n <= total:
        raise fatal(f"logical_n must be 1 to {total}, the length of the gathered keys, got {logical_n}")
    factor = scale if scale is not None else 1 / math.sqrt(input_tensor_q.shape[-1])
    places = [
        np.full((1, 1, 1, 1), at[cluster_axis] * queries, np.uint32)
        for at in input_tensor_q.site.local_coords
    ]
    starts = settle((input_tensor_q,), Shards.from_each(places), DataType.UINT32, layout=Layout.ROW_MAJOR)

    def mask_of(rest: dict[str, Array], user: int) -> Array:
        mask = causal_mask(queries, total, first=int(rest["start"].ravel()[0]))
        mask[..., logical_n:] = -np.inf
        return mask

    named: dict[str, Tensor | None] = {"start": starts}
    whole = prefill((input_tensor_q, keys, keys), named, mask_of, factor, None, width=head_dim_v)
    return whole, _log_sum_exp(input_tensor_q, keys, named, mask_of, factor)
