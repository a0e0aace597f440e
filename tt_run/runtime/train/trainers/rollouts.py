"""Completions as GRPO handles them: batches of them, who makes them, what they earn, and how they are dealt out in micro-batches."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.tensor.distribution.mappers import TensorToMesh
from tt_run.runtime.train.tensor import Tensor
from tt_run.runtime.train.trainers.completion import Tokens

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Reward = Callable[..., Sequence[float]]


@dataclass
class RolloutBatch:
    """Prompts and a completion of each, with the number of the batch and of the weights that made it.

    `logprobs` is [batch, longest completion] float32: the log-probability of each token as it was drawn; what is beyond a completion means nothing.
    """

    batch_id: int
    weight_version: int
    prompts: list[Tokens]
    completions: list[Tokens]
    logprobs: np.ndarray


class RolloutSampler(ABC):
    """Makes batches of completions."""

    @abstractmethod
    def generate(self, prompts: list[Tokens]) -> RolloutBatch:
        """Completions of prompts."""


def advantages_of(rewards: np.ndarray, group_size: int) -> np.ndarray:
    """Rewards less the mean of their group of `group_size` neighbours, float32. Raises ValueError when they are no whole number of groups."""
    if len(rewards) % group_size:
        raise ValueError(f"{len(rewards)} rewards are no whole number of groups of {group_size}")
    grouped = np.asarray(rewards, np.float32).reshape(-1, group_size)
    return (grouped - grouped.mean(axis=1, keepdims=True)).reshape(-1)


def dispatch_reward(
    reward_func: Reward, completions: list[str], prompts: list[str], batch_columns: Mapping[str, list[Any]]
) -> list[float]:
    """What one function says of completions, given those of completions, prompts and columns that it names.

    Raises ValueError for another number of rewards.
    """
    pool = {"completions": completions, "prompts": prompts, **batch_columns}
    parameters = inspect.signature(reward_func).parameters
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        pool = {name: pool[name] for name in parameters if name in pool}
    rewards = np.asarray(reward_func(**pool), np.float32)
    if rewards.shape != (len(completions),):
        raise ValueError(f"reward_func gave {rewards.shape} rewards for {len(completions)} completions")
    return [float(reward) for reward in rewards]


def reward_names(functions: Sequence[Reward]) -> list[str]:
    """A name for each function, its own where it has one, with a number behind the second and later of a name."""
    names: list[str] = []
    for number, function in enumerate(functions):
        own = getattr(function, "__name__", "<lambda>")
        own = f"reward_{number}" if own == "<lambda>" else own
        seen = sum(name == own or name.startswith(f"{own}_") for name in names)
        names.append(f"{own}_{seen + 1}" if seen else own)
    return names


def iter_micro_batch(
    prompts: list[Tokens], completions: list[Tokens], micro_batch_size: int = 16
) -> Iterator[tuple[list[Tokens], list[Tokens]]]:
    """Prompts and completions, `micro_batch_size` at a time; the last may have fewer."""
    for start in range(0, len(completions), micro_batch_size):
        part = slice(start, start + micro_batch_size)
        yield prompts[part], completions[part]


def upload_micro_advantages(adv_np: np.ndarray, mapper: TensorToMesh | None, num_devices: int) -> Value:
    """Advantages as a bfloat16 `ttnn` tensor of [rows of a device, 1] on each device, cut in order by `mapper`.

    Raises ValueError when they do not divide among the devices.
    """
    if len(adv_np) % num_devices:
        raise ValueError(
            f"a micro-batch of {len(adv_np)} advantages must be divisible by num_devices ({num_devices})"
        )
    rows = np.asarray(adv_np, np.float32).reshape(-1, 1)
    return Tensor.from_numpy(rows, new_type=DataType.BFLOAT16, mapper=mapper).get_value()
