"""Every key that a training configuration may have, and the complaint about one it may not have."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

OPTIMIZER = [
    "type",
    "lr",
    "learning_rate",
    "beta1",
    "beta2",
    "epsilon",
    "eps",
    "weight_decay",
    "amsgrad",
    "stochastic_rounding",
    "kahan_summation",
    "use_kahan_summation",
    "momentum",
    "dampening",
    "nesterov",
    "ns_steps",
]

KEYS: dict[str, tuple[str, ...]] = {
    "training_config": (
        "project_name",
        "seed",
        "model_save_interval",
        "batch_size",
        "validation_batch_size",
        "num_epochs",
        "max_steps",
        "eval_every",
        "gradient_accumulation_steps",
        "model_config",
        "multihost_config",
        "data_path",
        "tokenizer_type",
        "tokenizer_path",
        "scheduler_type",
        "learning_rate",
        "weight_decay",
        "beta1",
        "beta2",
        "eps",
        "use_moreh_adamw",
        "use_kahan_summation",
        "use_clip_grad_norm",
        "clip_grad_norm_max_norm",
        "checkpoint_dir",
        "optimizer",
        "use_sgd",
        "transformer_config",
        "model_type",
        "arithmetic",
        "scheduler_config",
    ),
    "device_config": ("mesh_shape", "device_ids", "enable_ddp", "enable_tp", "enable_pp", "enable_cp"),
    "transformer_config": (
        "model_type",
        "model_path",
        "runner_type",
        "num_heads",
        "embedding_dim",
        "dropout_prob",
        "num_blocks",
        "vocab_size",
        "max_sequence_length",
        "weight_tying",
        "positional_embedding_type",
        "experimental",
        "intermediate_dim",
        "theta",
        "num_groups",
        "rope_scaling",
    ),
    "multihost_config": ("enabled", "num_workers", "socket_type", "pipeline_parallel_config"),
    "eval_config": ("repetition_penalty", "temperature", "top_k", "top_p"),
    "scheduler_config": (
        "max_lr",
        "min_lr",
        "warmup_steps",
        "hold_steps",
        "beta1_start",
        "beta1_end",
        "beta1_warmup_steps",
    ),
    "rope_scaling": ("scaling_factor", "high_freq_factor", "low_freq_factor", "original_context_length"),
    "pipeline_parallel_config": ("num_blocks", "blocks_per_rank"),
    "experimental": ("use_composite_layernorm",),
    "optimizer": tuple(OPTIMIZER),
}
SECTIONS = (
    "training_config",
    "device_config",
    "transformer_config",
    "multihost_config",
    "eval_config",
    "scheduler_config",
)


class ConfigError(ValueError):
    """A configuration file or section that cannot be used; the message names file, line and the nearest valid key."""


def check(document: Any, file: str, lines: Mapping[tuple[str, ...], int] | None = None) -> None:
    """Raise ConfigError naming every unknown key of a whole file, each with its line and the nearest valid one."""
    if not isinstance(document, Mapping):
        raise ConfigError(
            f"{file}: a configuration is a map with {', '.join(SECTIONS)}, not {type(document).__name__}"
        )
    lines = lines or {}
    problems: list[str] = []
    for name, section in document.items():
        path = (str(name),)
        if name not in SECTIONS:
            problems.append(_unknown(file, lines, path, SECTIONS))
        elif section is not None and not isinstance(section, Mapping):
            problems.append(f"{_at(file, lines, path)}: {name} is a map of settings, not {section!r}")
        elif section is not None:
            _check_section(section, str(name), path, file, lines, problems)
    if problems:
        raise ConfigError("\n".join(problems))


def _check_section(
    section: Mapping[Any, Any],
    name: str,
    path: tuple[str, ...],
    file: str,
    lines: Mapping[tuple[str, ...], int],
    problems: list[str],
) -> None:
    for key, value in section.items():
        here = (*path, str(key))
        if key not in KEYS[name]:
            problems.append(_unknown(file, lines, here, KEYS[name]))
        elif key in KEYS and isinstance(value, Mapping):
            _check_section(value, str(key), here, file, lines, problems)


def _unknown(file: str, lines: Mapping[tuple[str, ...], int], path: tuple[str, ...], known: Any) -> str:
    near = difflib.get_close_matches(path[-1], known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(sorted(known))}"
    where = f" in {path[-2]}" if len(path) > 1 else ""
    return f"{_at(file, lines, path)}: unknown key {path[-1]!r}{where}; help: {hint}"


def _at(file: str, lines: Mapping[tuple[str, ...], int], path: tuple[str, ...]) -> str:
    return f"{file}:{lines[path]}" if path in lines else file


def one_of(key: str, value: str, known: Iterable[str]) -> str:
    """The value, when it is one of those known. Raises ConfigError listing them with the nearest one."""
    names = list(known)
    if value not in names:
        near = difflib.get_close_matches(value, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"{key}: {value!r} is not one of {', '.join(names)}{hint}")
    return value


def integer(section: Mapping[str, Any], key: str, default: int) -> int:
    """A setting as a whole number; YAML reads 1e3 as a word, which is one as well. Raises ConfigError naming key and value."""
    given = section.get(key, default)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    value = number(section, key, default)
    if value != int(value):
        raise ConfigError(f"{key}: {section[key]!r} is not a whole number")
    return int(value)


def number(section: Mapping[str, Any], key: str, default: float) -> float:
    """A setting as a number. Raises ConfigError naming key and value."""
    value = section.get(key, default)
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found) or isinstance(value, bool):
        raise ConfigError(f"{key}: {value!r} is not a number")
    return found


def flag(section: Mapping[str, Any], key: str, default: bool) -> bool:
    """A setting that is on or off. Raises ConfigError for words that are neither, of which Python takes every one for true."""
    value = section.get(key, default)
    if isinstance(value, str):
        return one_of(key, value.strip().lower(), ("true", "false")) == "true"
    return bool(value)


def mapping(value: Any, name: str) -> Mapping[str, Any]:
    """A section as a map; an absent or empty one is an empty map. Raises ConfigError for anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} is a map of settings, not {value!r}")
    return value
