"""Which layers of a Qwen3.8 get adapters: those of linear attention too, which are three of four."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.lora import LoraConfig, LoraModel

ATTENTION_TARGETS = [rf"self_attn\.{name}_proj$" for name in "qkvo"]
DELTANET_TARGETS = [rf"linear_attn\.{name}$" for name in ("in_proj_qkv", "in_proj_z", "out_proj")]
MLP_TARGETS = [rf"mlp\.{name}_proj$" for name in ("gate", "up", "down")]


def default_targets(*, include_mlp: bool = False) -> list[str]:
    """The layers of both kinds of attention, with `include_mlp` those between them."""
    return ATTENTION_TARGETS + DELTANET_TARGETS + (MLP_TARGETS if include_mlp else [])


def build_lora_config(
    *,
    rank: int = 16,
    alpha: float = 32.0,
    targets: Sequence[str] | None = None,
    include_mlp: bool = False,
    dropout: float = 0.0,
    use_rslora: bool = True,
) -> LoraConfig:
    """Adapters on `targets`, or on `default_targets`."""
    return LoraConfig(
        rank=rank,
        alpha=alpha,
        target_modules=list(targets) if targets is not None else default_targets(include_mlp=include_mlp),
        lora_dropout=dropout,
        use_rslora=use_rslora,
    )


def apply_lora(model: AbstractModuleBase, config: LoraConfig | None = None, **kwargs: Any) -> LoraModel:
    """The model frozen, with adapters by `config` or by what `build_lora_config` takes. Load weights before: parameters get other names."""
    return LoraModel(model, build_lora_config(**kwargs) if config is None else config)


def trainable_summary(model: AbstractModuleBase) -> dict[str, float]:
    """How many numbers are trained, of how many, which fraction that is, and how many of them adapters hold."""
    trained = total = adapters = 0
    for name, tensor in model.parameters().items():
        count = math.prod(tensor.shape())
        total += count
        trained += count * tensor.get_requires_grad()
        adapters += count * (tensor.get_requires_grad() and "lora_" in name)
    return {
        "trainable": trained,
        "total": total,
        "fraction": trained / total if total else 0.0,
        "adapters": adapters,
    }
