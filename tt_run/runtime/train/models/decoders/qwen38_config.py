"""Sizes of a Qwen3.8, and what each of the devices that share one has of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.train.models.sizes import check_sizes
from tt_run.runtime.train.models.transformer import initial_in_sections
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.base import ModuleBase
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer, RowParallelLinear
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.parallel.named_mesh import mesh

DELTA_RULES = ("fused", "composite")
_LINEAR, _FULL = "linear_attention", "full_attention"


@dataclass
class Qwen38Config:
    """Sizes of the text model; the defaults are those of the 27B.

    Layers of linear attention keep a state, every `full_attention_interval`-th layer attends to all tokens, unless `layer_types` says which
    do. Raises TypeError for sizes that are no numbers, ValueError for those that do not divide.
    """

    hidden_size: int = 5120
    intermediate_size: int = 17408
    num_hidden_layers: int = 64
    vocab_size: int = 248320
    rms_norm_eps: float = 1e-6
    max_position_embeddings: int = 262144
    tie_word_embeddings: bool = False
    full_attention_interval: int = 4
    num_attention_heads: int = 24
    num_key_value_heads: int = 4
    head_dim: int = 256
    attention_bias: bool = False
    attn_output_gate: bool = True
    partial_rotary_factor: float = 0.25
    rope_theta: float = 1e7
    linear_num_key_heads: int = 16
    linear_num_value_heads: int = 48
    linear_key_head_dim: int = 128
    linear_value_head_dim: int = 128
    linear_conv_kernel_dim: int = 4
    delta_chunk_size: int = 64
    delta_rule_impl: str = "fused"
    use_tp: bool = False
    tp_axis_name: str = "tp"
    recompute_deltanet: bool = False
    recompute_layers: bool = False
    dropout_prob: float = 0.0
    weight_decay: float = 0.0
    layer_types: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.delta_rule_impl not in DELTA_RULES:
            raise ValueError(
                f"Qwen38Config: delta_rule_impl is one of {', '.join(DELTA_RULES)}, not {self.delta_rule_impl!r}"
            )
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"Qwen38Config: num_attention_heads {self.num_attention_heads} is no multiple of num_key_value_heads {self.num_key_value_heads}; help: a divisor of num_attention_heads"
            )
        if not self.layer_types:
            every = self.full_attention_interval
            self.layer_types = [_LINEAR if (i + 1) % every else _FULL for i in range(self.num_hidden_layers)]
        if len(self.layer_types) != self.num_hidden_layers or {*self.layer_types} - {_LINEAR, _FULL}:
            raise ValueError(
                f"Qwen38Config: layer_types is {_LINEAR!r} or {_FULL!r} for each of {self.num_hidden_layers} layers, not {self.layer_types}"
            )

    def is_full_attention(self, layer_idx: int) -> bool:
        """Whether a layer attends to all tokens."""
        return self.layer_types[layer_idx] == _FULL

    @property
    def rotary_dim(self) -> int:
        """Features of a head that turn with the position, from the first on."""
        return int(self.head_dim * self.partial_rotary_factor)

    @property
    def gva_repeats(self) -> int:
        """Value heads that a key head serves. Raises ValueError when they do not divide."""
        share, rest = divmod(self.linear_num_value_heads, self.linear_num_key_heads)
        if rest:
            raise ValueError(
                f"linear_num_value_heads ({self.linear_num_value_heads}) must be a multiple of linear_num_key_heads ({self.linear_num_key_heads}); help: a multiple of it"
            )
        return share

    @property
    def key_proj_dim(self) -> int:
        """Features of all linear attention's queries, and of its keys."""
        return self.linear_num_key_heads * self.linear_key_head_dim

    @property
    def value_proj_dim(self) -> int:
        """Features of all linear attention's values."""
        return self.linear_num_value_heads * self.linear_value_head_dim

    @property
    def qkv_proj_dim(self) -> int:
        """Features of queries, keys and values together."""
        return sum(self.qkv_sections)

    @property
    def qkv_sections(self) -> tuple[int, int, int]:
        """Features of queries, of keys, and of values, in the order of the joint layer."""
        return self.key_proj_dim, self.key_proj_dim, self.value_proj_dim

    @classmethod
    def from_hf_json(cls, path: str | os.PathLike[str]) -> Qwen38Config:
        """The sizes of a Hugging Face `config.json`: of its `text_config` where it has one. What they do not name is passed over."""
        raw = json.loads(Path(path).read_text())
        text = raw.get("text_config", raw)
        text = {**text, **(text.get("rope_parameters") or {})}
        known = {f.name: f.type for f in fields(cls)}
        sizes: dict[str, Any] = {
            name: float(value) if known[name] == "float" else value
            for name, value in text.items()
            if name in known
        }
        return cls(**sizes)


def tp_size(config: Any) -> int:
    """Devices that share the model: those of the named axis with `use_tp`, else one."""
    return mesh().axis_size(config.tp_axis_name) if config.use_tp else 1


def tp_axis(config: Any) -> int | None:
    """The mesh axis that the model is cut over, None where it is whole."""
    return mesh().axis_index(config.tp_axis_name) if tp_size(config) > 1 else None


def make_column_linear(
    config: Any,
    in_features: int,
    out_features: int,
    weight_init: initial.Initializer,
    *,
    gather_output: bool = False,
) -> ModuleBase:
    """A layer without bias whose output features are cut over the axis, or a whole one."""
    if tp_size(config) == 1:
        return LinearLayer(in_features, out_features, False, weight_init)
    return ColumnParallelLinear(
        in_features,
        out_features,
        False,
        weight_init,
        gather_output=gather_output,
        axis_name=config.tp_axis_name,
    )


def make_row_linear(
    config: Any,
    in_features: int,
    out_features: int,
    weight_init: initial.Initializer,
    *,
    input_is_parallel: bool = True,
) -> ModuleBase:
    """A layer without bias whose input features are cut over the axis, and whose products are summed; or a whole one."""
    if tp_size(config) == 1:
        return LinearLayer(in_features, out_features, False, weight_init)
    return RowParallelLinear(
        in_features,
        out_features,
        False,
        weight_init,
        input_is_parallel=input_is_parallel,
        axis_name=config.tp_axis_name,
    )


def make_sharded_parameter(
    config: Any, init_fn: Callable[..., Any], shape: tuple[int, ...], *, shard_dim: int = 3
) -> Parameter:
    """A parameter whose dimension is cut over the axis, or a whole one."""
    if tp_size(config) == 1:
        return Parameter(init_fn(shape))
    return Parameter(init_fn(shape, mesh().axis_mapper(config.tp_axis_name, shard_dim)))


def joint_init(config: Any, init: initial.Initializer, dim: int) -> initial.Initializer:
    """An initialiser of what lies by linear attention's queries, keys and values, so that each cut holds whole heads of all three."""
    parts = tp_size(config)
    return init if parts == 1 else initial_in_sections(init, dim, config.qkv_sections, parts)


def qkv_shard_permutation(config: Any, tp: int) -> npt.NDArray[np.int64]:
    """The rows of the joint layer [queries | keys | values] in the order in which `tp` equal cuts hold heads of all three.

    Raises ValueError when the heads do not divide.
    """
    keys, values = config.linear_num_key_heads, config.linear_num_value_heads
    if keys % tp or values % tp:
        raise ValueError(
            f"key heads ({keys}) and value heads ({values}) must both divide tp={tp}; help: fewer devices on the axis"
        )
    numbers = np.arange(config.qkv_proj_dim, dtype=np.int64)
    ends = np.cumsum(config.qkv_sections)[:-1]
    parts = [np.split(section, tp) for section in np.split(numbers, ends)]
    return np.concatenate([section[part] for part in range(tp) for section in parts])


_CUT = {
    2: "in_proj_qkv in_proj_z in_proj_a in_proj_b q_proj k_proj v_proj gate_proj up_proj lm_head",
    3: "out_proj o_proj down_proj A_log dt_bias",
}


def tp_shard_dim(param_name: str) -> int | None:
    """The dimension of a parameter that is cut over the axis, by its name; None for one that is whole on each device."""
    *_, above, last = ("", *param_name.split("/"))
    layer = above if last == "weight" else last
    if layer.startswith("conv_tap_"):
        return 3
    return next((dim for dim, names in _CUT.items() if layer in names.split()), None)
