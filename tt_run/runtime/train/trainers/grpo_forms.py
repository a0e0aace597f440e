"""The two ways to make a `GRPOTrainer`: of a completer that has a model, or of where the model is to come from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.ops.ring_attention import require_whole_positions
from tt_run.runtime.train.trainers import model_source as source
from tt_run.runtime.train.trainers.callback import check_callbacks
from tt_run.runtime.train.trainers.completion import GRPOCompleter, ModelCompleter
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig
from tt_run.runtime.train.trainers.job import init_distributed_training, is_rollout_rank
from tt_run.runtime.train.trainers.rollout_rank import RolloutRank
from tt_run.runtime.train.trainers.rollouts import Reward
from tt_run.runtime.train.trainers.sampler import (
    SampledCompleter,
    TTMLRolloutSampler,
    build_rollout_sampler,
)


@dataclass(frozen=True)
class TrainerRequest:
    """What both ways have in common; `sampler` is None for a completer of the program's own, and where another rank makes completions.

    `serves` is what the other rank has in place of a model: it trains nothing.
    """

    completer: Any
    sampler: TTMLRolloutSampler | None
    dataset: Any
    config: GRPOConfig
    reward_func: Reward | Sequence[Reward] | None
    reward_funcs: list[Reward]
    optimizer_dict: Mapping[str, Any]
    callbacks: list[Any]
    model_source: str | None
    serves: RolloutRank | None = None


def of_completer(
    completer: GRPOCompleter,
    dataset: Any,
    config: GRPOConfig,
    reward_func: Reward | Sequence[Reward] | None = None,
    optimizer_dict: Mapping[str, Any] | None = None,
    callbacks: Sequence[Any] | None = None,
    model_source: str | None = None,
    reward_funcs: Sequence[Reward] | None = None,
) -> TrainerRequest:
    """The form of a completer. Raises TypeError for one without a model, and as `_settled`."""
    settings, functions = _settled(config, optimizer_dict, reward_func, reward_funcs)
    if not hasattr(completer, "model"):
        raise TypeError(
            f"GRPOTrainer: completer must be a GRPOCompleter, which has a model, not {type_name(completer)}"
        )
    return TrainerRequest(
        completer, None, dataset, config, reward_func, functions, settings, list(callbacks or ()), model_source
    )  # fmt: skip


def of_source(
    transformer_config: Any,
    device_config: Any,
    model_source: str,
    dataset_func: Callable[[], Any] | None = None,
    config: GRPOConfig | None = None,
    reward_func: Reward | Sequence[Reward] | None = None,
    optimizer_dict: Mapping[str, Any] | None = None,
    callbacks: Sequence[Any] | None = None,
    reward_funcs: Sequence[Reward] | None = None,
    *,
    dataset: Any = None,
) -> TrainerRequest:
    """The form of a model's source, which opens the devices and builds the model; then the data set is asked for.

    `dataset` is the data set itself, as programs of the form's first months give it, by name or in the place of `dataset_func`. Raises
    TypeError for a `dataset_func` that cannot be called, and without a configuration; and as `_settled`.
    """
    if dataset is None and dataset_func is not None and not callable(dataset_func):
        dataset, dataset_func = (dataset_func, None) if hasattr(dataset_func, "__getitem__") else (None, 1)
    if (dataset is None) is (dataset_func is None) or not (dataset_func is None or callable(dataset_func)):
        raise TypeError(
            "GRPOTrainer: 'dataset_func' must be a zero-argument callable returning the dataset; help: dataset_func=lambda: rows"
        )
    if not isinstance(config, GRPOConfig):
        raise TypeError(f"GRPOTrainer: config must be a GRPOConfig, got {type_name(config)}")
    settings, functions = _settled(config, optimizer_dict, reward_func, reward_funcs)
    if is_rollout_rank(config):
        serves = RolloutRank(config, model_source)
        return TrainerRequest(
            serves, None, None, config, reward_func, functions, settings, list(callbacks or ()), model_source, serves
        )  # fmt: skip
    model, tokenizer = source.setup_ttml_model(transformer_config, device_config, model_source)
    sampler = None
    if config.rollout_mode != "remote_sync":
        sampler = build_rollout_sampler(
            config.rollout_source,
            model=model,
            tokenizer=tokenizer,
            max_completion_length=config.max_completion_length,
            temperature=config.temperature,
            completions_per_prompt=config.num_generations,
        )
    rows = dataset if dataset_func is None else dataset_func()
    completer = ModelCompleter(model, tokenizer) if sampler is None else SampledCompleter(sampler)
    return TrainerRequest(
        completer, sampler, rows, config, reward_func, functions, settings, list(callbacks or ()), model_source
    )  # fmt: skip


def trainer_request(given: Sequence[Any], named: Mapping[str, Any]) -> TrainerRequest:
    """What a trainer was asked for, in either form; which it is, names say, or else the third argument, a configuration or a source.

    Raises TypeError for arguments of neither form, RuntimeError where positions are cut: a completion's share needs all of its tokens.
    """
    own = {"transformer_config", "device_config", "dataset_func"}
    third = given[2] if len(given) > 2 else None
    check_callbacks("GRPOTrainer", named.get("callbacks"))
    form = of_source if own & set(named) or isinstance(third, str) else of_completer
    try:
        bound = inspect.signature(form).bind(*given, **named)
    except TypeError as error:
        raise TypeError(
            f"GRPOTrainer: {error}; help: GRPOTrainer(completer, dataset, config, …) or "
            "GRPOTrainer(transformer_config, device_config, model_source, dataset_func, config, …)"
        ) from None
    made = form(*bound.args, **bound.kwargs)
    require_whole_positions("GRPOTrainer", "enable_ddp: true")
    return made


def _settled(
    config: GRPOConfig,
    optimizer_dict: Mapping[str, Any] | None,
    reward_func: Reward | Sequence[Reward] | None,
    reward_funcs: Sequence[Reward] | None,
) -> tuple[Mapping[str, Any], list[Reward]]:
    """The optimizer's settings and the rewards. Raises ValueError without the former, unless one kind of reward is given, and for completions of another rank in a job of one."""
    if optimizer_dict is None:
        raise ValueError("GRPOTrainer: optimizer_dict is required; help: {'type': 'AdamW', 'lr': 1e-5}")
    if (reward_func is None) == (reward_funcs is None) or not (reward_func or reward_funcs):
        raise ValueError(
            "GRPOTrainer: pass exactly one of reward_func (a function) and reward_funcs (functions, at least one); help: reward_func=lambda completions, **columns: [float(len(text)) for text in completions]"
        )
    init_distributed_training(config)
    functions = [reward_func] if callable(reward_func) else list(reward_funcs or reward_func or ())
    return optimizer_dict, functions
