"""Which rank of a job does what for `GRPOTrainer`, and what a sampler reads from devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tt_run.runtime import queues
from tt_run.runtime.mesh import distributed
from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig
from tt_run.runtime.train.trainers.weight_bridge import TTT_RANK


def init_distributed_training(config: GRPOConfig) -> None:
    """Meet the other ranks where the settings have one of them make completions. Raises ValueError when there are none."""
    if config.rollout_mode == "in_process":
        return
    if not distributed.distributed_context_is_initialized():
        distributed.init_distributed_context()
    if int(distributed.distributed_context_get_size()) < 2:
        raise ValueError(
            f"GRPOTrainer: rollout_mode {config.rollout_mode!r} has another rank make the completions, and this job is of 1 rank; "
            "help: tt-run --emulate --meshes 2, or rollout_mode: in_process"
        )


def is_rollout_rank(config: GRPOConfig) -> bool:
    """Whether this rank makes completions for the one that trains."""
    return config.rollout_mode != "in_process" and int(distributed.distributed_context_get_rank()) == TTT_RANK


def deallocate_tensors(tensors: Any) -> None:
    """Give back the memory of a tensor, or of some; None is passed over."""
    for held in tensors if isinstance(tensors, (list, tuple)) else [tensors]:
        value = held.get_value(PreferredPrecision.NATIVE) if isinstance(held, Tensor) else held
        if isinstance(value, Value):
            value.deallocate(True)


def async_read_to_host(tensors: Iterable[Value], mesh_device: Any) -> tuple[list[Any], queues.MeshEvent]:
    """Copies on the host, and the event after which they may be read."""
    return [tensor.cpu(blocking=False) for tensor in tensors], queues.record_event(mesh_device, 0)
