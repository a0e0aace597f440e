"""Tokens on the way to experts and back, as functions of torch tensors of the whole mesh.

Which device holds an expert is said by a mapping (1, 1, experts, devices) of ones and zeros. Rows that nobody fills are zero here; on a
device they hold anything. Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library, torch_function


def dispatch(
    input_tensor: Any, expert_indices_tensor: Any, expert_mapping_tensor: Any, *_: Any, **__: Any
) -> tuple[Any, Any]:
    """Tokens (B, 1, S, H) on each device that holds one of their experts: (devices, B, S, H); and all choices on each: (devices, B, S, k)."""
    chosen, holds = expert_indices_tensor[:, 0], expert_mapping_tensor[0, 0].bool()
    reached = holds[chosen.long()].any(2).permute(2, 0, 1)
    sent = input_tensor[:, 0][None] * reached[..., None].to(input_tensor.dtype)
    return sent, chosen[None].repeat(holds.shape[-1], 1, 1, 1)


def combine(
    input_tensor: Any,
    expert_metadata_tensor: Any,
    expert_mapping_tensor: Any,
    *_: Any,
    local_reduce: bool = False,
    **__: Any,
) -> Any:
    """What experts made of the tokens, each in the place of its choice: (k, B, S, H).

    With `local_reduce` a device has summed its experts already, and its row goes where the first of them, in the order of experts, was chosen.
    """
    chosen, holds = expert_metadata_tensor[0].long(), expert_mapping_tensor[0, 0].bool()
    out = input_tensor.new_zeros((chosen.shape[-1], *chosen.shape[:2], input_tensor.shape[-1]))
    for user in range(chosen.shape[0]):
        for token in range(chosen.shape[1]):
            experts = chosen[user, token].tolist()
            if not local_reduce:
                for place, expert in enumerate(experts):
                    out[place, user, token] = input_tensor[expert, user, token]
                continue
            for device in range(holds.shape[-1]):
                local = [e for e in range(holds.shape[0]) if holds[e, device] and e in experts]
                if local:
                    out[experts.index(local[0]), user, token] = input_tensor[device, user, token]
    return out


def token_remap(
    topk_tensor: Any,
    expert_mapping_tensor: Any,
    expert_metadata_tensor: Any,
    *_: Any,
    reduction_size: int = 16,
    **__: Any,
) -> tuple[Any, Any]:
    """Weights of each device's own experts where they were chosen, else zero; and for every `reduction_size` tokens whether any was."""
    holds = expert_mapping_tensor[0, 0].bool()
    devices = holds.shape[-1]
    weights, chosen = (
        t.expand(devices, -1, -1, -1) if t.shape[0] == 1 else t for t in (topk_tensor, expert_metadata_tensor)
    )
    found = []
    for device in range(devices):
        local = holds[:, device].nonzero().reshape(-1)
        taken = (chosen[device].long()[..., None] == local).any(-2)
        found.append(weights[device][..., local] * taken.to(weights.dtype))
    mapped = library().stack(found)
    flat = mapped.reshape(devices, -1, mapped.shape[-1])
    flat = torch_function("nn.functional.pad")(flat, (0, 0, 0, -flat.shape[1] % reduction_size))
    grouped = flat.reshape(devices, -1, reduction_size, flat.shape[-1]) != 0
    return mapped, grouped.any(2).to(library().int16)[:, None]


def routing_remap(
    routing_weights_tensor: Any,
    non_zero_weight_size: int,
    expert_parallel_size: int,
    cluster_axis: int,
    *_: Any,
    _ttnn_golden_mesh_shape: Any = None,
    **__: Any,
) -> Any:
    """Each device's share of the weights that are not zero, zeros elsewhere, device after device; None without the shape of a mesh.

    Raises ValueError for an axis that the mesh has not.
    """
    shape = _ttnn_golden_mesh_shape
    if shape is None:
        return None
    if not -len(shape) <= cluster_axis < len(shape):
        raise ValueError(f"Collective axis {cluster_axis} is invalid for mesh shape {tuple(shape)}")
    axis, share = cluster_axis % len(shape), non_zero_weight_size // expert_parallel_size
    flat = routing_weights_tensor.reshape(-1)
    filled = flat.nonzero().reshape(-1)
    found = []
    for device in range(math.prod(shape)):
        place = device // math.prod(shape[axis + 1 :]) % shape[axis]
        mine = filled[place * share : (place + 1) * share]
        out = library().zeros_like(flat)
        out[mine] = flat[mine]
        found.append(out.reshape(routing_weights_tensor.shape))
    return library().cat(found, 0)
