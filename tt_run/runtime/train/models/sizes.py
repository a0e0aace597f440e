"""What the configuration of a model may hold, whichever model it is."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.native.arguments import check_fields

MAY_BE_NONE = ("q_lora_rank", "n_dense_layers", "n_shared_experts", "n_layer", "n_layers", "num_layers", "num_blocks", "num_hidden_layers")  # fmt: skip
"""Sizes of which there may be 0."""


def check_sizes(config: Any) -> None:
    """Raise TypeError for a field of another type than annotated, and for a word in the place of a choice; ValueError for sizes below 1 and shares
    beyond 1. What is 0 by default may be 0."""
    if not dataclasses.is_dataclass(config):
        raise TypeError(f"a model is made of its configuration, not {type_name(config)}")
    check_fields(config)
    for field in dataclasses.fields(config):
        given, usual = getattr(config, field.name), field.default
        if isinstance(usual, enum.Enum):
            _check_choice(config, field.name, given, type(usual))
        elif isinstance(usual, int) and not isinstance(usual, bool) and usual > 0:
            least = 0 if field.name in MAY_BE_NONE else 1
            if given < least:
                raise ValueError(
                    f"{type(config).__name__}: {field.name} must be at least {least}, not {given}; help: {field.name}={usual}"
                )
        elif "dropout" in field.name and not 0.0 <= given <= 1.0:
            raise ValueError(
                f"{type(config).__name__}: {field.name} must be in [0, 1], not {given}; help: {field.name}=0.1"
            )


def _check_choice(config: Any, name: str, given: Any, kind: type[enum.Enum]) -> None:
    if isinstance(given, kind):
        return
    words = str(given).lower().replace("_", "")
    near = next((member for member in kind if member.name.lower() == words), next(iter(kind)))
    raise TypeError(
        f"{type(config).__name__}(): {name!r} must be {kind.__name__}, got {type_name(given)}; help: {name}={kind.__name__}.{near.name}"
    )
