"""Completions as GRPO handles them: batches of them, who makes them, what they earn, and how they are dealt out in micro-batches."""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import type_name
from tt_run.runtime.tensor.distribution.mappers import TensorToMesh
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.trainers.completion import Tokens
from tt_run.runtime.values.dtypes import convert

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Reward = Callable[..., Sequence[float]]


@dataclass
class RolloutBatch:
    """Prompts and a completion of each, with the number of the batch and of the weights that made it.

    `logprobs` is [batch, longest completion] float32: the log-probability of each token as it was drawn; what is beyond a completion means nothing.
    """

    weight_version: int
    prompts: list[Tokens]
    completions: list[Tokens]
    logprobs: np.ndarray
    batch_id: int = 0


class RolloutSampler(ABC):
    """Makes batches of completions, with weights that may be renewed."""

    _version = 0

    @abstractmethod
    def generate(self, prompts: list[Tokens]) -> RolloutBatch:
        """Completions of prompts."""

    @property
    def weight_version(self) -> int:
        """The number of the weights that it has, 0 at first."""
        return self._version

    def update_weights(self, weights: Any, version: int) -> None:
        """Take other weights. A sampler that shares the model that is trained has them and notes the number. Raises ValueError for one that is not newer."""
        self._version = check_new_weight_version(self.weight_version, version)

    def close(self) -> None:  # noqa: B027 - nothing to give back unless a sampler says otherwise
        """Give back what it holds."""


@naming_faults
def check_new_weight_version(current: int, version: int) -> int:
    """The number of new weights. Raises ValueError for one that is not above the present one."""
    version = int(version)
    if version <= current:
        raise ValueError(
            f"update_weights: version {version} must be > current weight_version {current}; help: update_weights(weights, {current + 1})"
        )
    return version


def layout_microbatch(
    prompts: Sequence[Tokens], completions: Sequence[Tokens], pad_token: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Inputs and targets, uint32, and a mask of the completions' targets, float32, all [B, T]; and T, a multiple of 32.

    A row holds a prompt and its completion, padded behind; its targets are its tokens one place later. Raises ValueError for prompts of fewer
    than two tokens.
    """
    rows = [[*prompt, *completion] for prompt, completion in zip(prompts, completions, strict=True)]
    length = whole_tiles(max(len(row) for row in rows) - 1)
    inputs, targets = (np.full((len(rows), length), pad_token, np.uint32) for _ in range(2))
    mask = np.zeros((len(rows), length), np.float32)
    for number, (prompt, row) in enumerate(zip(prompts, rows, strict=True)):
        if len(prompt) < 2:
            raise ValueError(
                f"Prompt is too short: prompt {number} has {len(prompt)} tokens, at least 2 are needed; help: a longer prompt"
            )
        inputs[number, : len(row) - 1], targets[number, : len(row) - 1] = row[:-1], row[1:]
        mask[number, len(prompt) - 1 : len(row) - 1] = 1.0
    return inputs, targets, mask, length


def place_old_nlog_probs(
    prompts: Sequence[Tokens], completions: Sequence[Tokens], logprobs_rows: np.ndarray, Tp: int
) -> np.ndarray:
    """[B, Tp] float32: minus the log-probability of each token of a completion, [B, longest], at the place that `layout_microbatch` gives it."""
    out = np.zeros((len(prompts), Tp), np.float32)
    for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        first, count = len(prompt) - 1, len(completion)
        out[row, first : first + count] = -np.asarray(logprobs_rows)[row, :count]
    return out


def figures_of(
    completions: Sequence[Tokens], rewards: np.ndarray, each: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """What is told of a batch: its rewards, those of each function where there are several, and the lengths of completions."""
    lengths = [len(completion) for completion in completions]
    told = {f"{name}_mean": float(part.mean()) for name, part in each.items()} if len(each) > 1 else {}
    return {
        **told,
        "reward_mean": float(rewards.mean()),
        "reward_std": float(rewards.std()),
        "mean_completion_len": sum(lengths) / len(lengths),
        "min_completion_len": min(lengths),
        "max_completion_len": max(lengths),
    }


@naming_faults
def advantages_of(rewards: np.ndarray, group_size: int) -> np.ndarray:
    """Rewards less the mean of their group of `group_size` neighbours, float32. Raises ValueError when they are no whole number of groups."""
    if not group_size or len(rewards) % group_size:
        raise ValueError(
            f"{len(rewards)} rewards are no whole number of groups of {group_size}; help: num_generations rewards for each prompt"
        )
    try:
        grouped = np.asarray(rewards, np.float32).reshape(-1, group_size)
    except ValueError:
        raise ValueError(f"rewards are numbers, not {rewards!r:.60}; help: [1.0, 0.0]") from None
    return (grouped - grouped.mean(axis=1, keepdims=True)).reshape(-1)


@naming_faults
def compute_advantages_ttnn(
    rewards_np: np.ndarray, group_size: int, mapper: TensorToMesh | None, num_devices: int
) -> Value:
    """`advantages_of` computed on the devices, in bfloat16: [rows of a device, 1] on each, whole groups dealt by `mapper`.

    Raises ValueError when rewards are no whole number of groups, or groups do not divide among the devices.
    """
    groups, rest = divmod(len(rewards_np), group_size)
    if rest or groups % num_devices:
        raise ValueError(
            f"{len(rewards_np)} rewards are no whole number of groups of {group_size} on each of {num_devices} devices"
        )
    grouped = np.asarray(rewards_np, np.float32).reshape(groups, 1, 1, group_size)
    value = Tensor.from_numpy(grouped, new_type=DataType.BFLOAT16, mapper=mapper).get_value()
    rows = len(rewards_np) // num_devices

    def less_mean(x: np.ndarray) -> np.ndarray:
        mean = convert(x.mean(axis=-1, keepdims=True, dtype=np.float32), DataType.BFLOAT16)
        return (x - mean).reshape(len(x), rows, 1)

    return stacks.compute(less_mean, value)


def iter_batched_completions(
    completer: Any,
    prompts: Sequence[Tokens],
    batch_columns: Mapping[str, Sequence[Any]],
    batch_size: int = 32,
    num_generations: int = 1,
) -> Iterator[tuple[list[Tokens], list[Tokens], dict[str, list[Any]], float]]:
    """Prompts, `num_generations` times each, what `completer.generate` makes of them, columns as often, and the seconds that took; `batch_size` prompts at a time.

    Raises ValueError for another number of completions.
    """
    for start in range(0, len(prompts), batch_size):
        part = slice(start, start + batch_size)
        began = time.perf_counter()
        completions = completer.generate(list(prompts[part]))
        seconds = time.perf_counter() - began
        expanded = [prompt for prompt in prompts[part] for _ in range(num_generations)]
        if len(completions) != len(expanded):
            raise ValueError(
                f"{len(completions)} completions of {len(prompts[part])} prompts, {num_generations} of each are wanted"
            )
        columns = {
            name: [entry for entry in column[part] for _ in range(num_generations)]
            for name, column in batch_columns.items()
        }
        yield expanded, completions, columns, seconds


def dispatch_reward(
    reward_func: Reward, completions: list[str], prompts: list[str], batch_columns: Mapping[str, list[Any]]
) -> list[float]:
    """What one function says of completions, given those of completions, prompts and columns that it names.

    Raises TypeError for one that names what there is not, ValueError for another number of rewards.
    """
    if not callable(reward_func):
        raise TypeError(
            f"dispatch_reward: a reward is a function, not {type_name(reward_func)}; help: def reward(completions, **columns): …"
        )
    pool = {"completions": completions, "prompts": prompts, **batch_columns}
    parameters = inspect.signature(reward_func).parameters
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        absent = [name for name, p in parameters.items() if p.default is p.empty and name not in pool]
        if absent and not any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
            raise TypeError(
                f"{getattr(reward_func, '__name__', 'reward_func')} takes {absent[0]!r}, there are {', '.join(pool)}; help: a column {absent[0]!r} in the data set"
            )
        pool = {name: pool[name] for name in parameters if name in pool}
    given = reward_func(**pool)
    try:
        rewards = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        raise ValueError(
            f"reward_func gave {given!r:.60}, which are no numbers; help: return one number for each completion"
        ) from None
    if rewards.shape != (len(completions),):
        raise ValueError(
            f"reward_func gave {rewards.shape} rewards for {len(completions)} completions; help: return one number for each completion"
        )
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
