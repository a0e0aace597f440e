"""A Llama's parameters as a Hugging Face directory: the inverse of loading one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.runner import WeightTyingType
from tt_run.runtime.train.models.safetensors import write

Array = npt.NDArray[Any]

PLACES = {
    "attention_norm/gamma": "input_layernorm.weight",
    "mlp_norm/gamma": "post_attention_layernorm.weight",
    "attention/q_linear/weight": "self_attn.q_proj.weight",
    "attention/q_linear/bias": "self_attn.q_proj.bias",
    "attention/out_linear/weight": "self_attn.o_proj.weight",
    "attention/out_linear/bias": "self_attn.o_proj.bias",
    "mlp/w1/weight": "mlp.gate_proj.weight",
    "mlp/w3/weight": "mlp.up_proj.weight",
    "mlp/w2/weight": "mlp.down_proj.weight",
}
"""Parameters within a block, and what Hugging Face calls them."""
JOINT_PLACES = {
    "attention/qkv_linear": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "mlp/w_gate_up": ("mlp.gate_proj", "mlp.up_proj"),
}
"""Layers whose rows are those of several of Hugging Face's."""
ENDS = {
    "tok_emb/weight": "model.embed_tokens.weight",
    "ln_fc/gamma": "model.norm.weight",
    "fc/weight": "lm_head.weight",
}


def save_to_hf_format(parameters: Mapping[str, Array], directory: str | Path, config: LlamaConfig) -> None:
    """Write `model.safetensors`, `config.json` and `generation_config.json` of parameters by name, as float32.

    Raises ValueError for a name that a Llama has not.
    """
    facts, target = normalized(config), Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    write(target / "model.safetensors", state_dict(parameters, facts))
    (target / "config.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    (target / "generation_config.json").write_text(
        json.dumps({"_from_model_config": True}, indent=2) + "\n", encoding="utf-8"
    )


def normalized(config: LlamaConfig | Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in the words of Hugging Face's `config.json`."""
    given = (
        dict(config)
        if isinstance(config, Mapping)
        else {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    )
    kept = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size",
            "max_position_embeddings", "rope_theta", "attention_bias")  # fmt: skip
    tied = given.get("weight_tying") is WeightTyingType.Enabled or bool(given.get("tie_word_embeddings"))
    fixed = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
    }
    return {
        **fixed,
        **{name: given[name] for name in kept if name in given},
        "tie_word_embeddings": tied,
        "torch_dtype": "float32",
    }


def state_dict(parameters: Mapping[str, Array], config: Mapping[str, Any]) -> dict[str, Array]:
    """Hugging Face's names and arrays of parameters by name, `Llama/blocks/0/attention/qkv_linear/weight` and so on; also of older names."""
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    found: dict[str, Array] = {}
    for name, given in parameters.items():
        path, array = name.split("/", 1)[-1], _bare(given)
        if path in ENDS:
            if not (path == "fc/weight" and config.get("tie_word_embeddings")):
                found[ENDS[path]] = array
            continue
        parts = path.split("/", 2)
        if len(parts) != 3 or parts[0] != "blocks":
            raise ValueError(f"{name} is no parameter of a Llama")
        root, inside = f"model.layers.{parts[1]}", parts[2]
        layer, _, kind = inside.rpartition("/")
        if layer == "attention/qkv_linear":
            each = len(array) // (heads + 2 * groups)
            query, rest = array[: heads * each], array[heads * each :]
            found[f"{root}.self_attn.q_proj.{kind}"] = halved(query, heads)
            keys, values = split_keys_values(rest, groups * each, groups)
            found[f"{root}.self_attn.k_proj.{kind}"] = keys
            found[f"{root}.self_attn.v_proj.{kind}"] = values
        elif layer == "mlp/w_gate_up":
            for part, rows in zip(JOINT_PLACES[layer], np.split(array, 2), strict=True):
                found[f"{root}.{part}.{kind}"] = rows
        elif layer == "attention/kv_linear":
            keys, values = split_keys_values(array, len(array) // 2, groups)
            found[f"{root}.self_attn.k_proj.{kind}"] = keys
            found[f"{root}.self_attn.v_proj.{kind}"] = values
        elif inside in PLACES:
            found[f"{root}.{PLACES[inside]}"] = halved(array, heads) if "q_linear" in inside else array
        else:
            raise ValueError(f"{name} is no parameter of a Llama")
    return found


def halved(weight: Array, num_heads: int = 1) -> Array:
    """Rows of each head from interleaved pairs to halves: the inverse of `interleaved`."""
    each = weight.reshape(num_heads, len(weight) // num_heads // 2, 2, *weight.shape[1:])
    return each.swapaxes(1, 2).reshape(weight.shape)


def split_keys_values(joint: Array, rows: int, groups: int) -> tuple[Array, Array]:
    """Keys, in halves again, and values of `rows` each, out of a matrix or bias that holds both; what is behind them is padding."""
    return halved(joint[:rows], groups), joint[rows : 2 * rows]


def _bare(array: Array) -> Array:
    """A matrix or a vector without the ones in front of it."""
    values = np.asarray(array, np.float32)
    while values.ndim > 1 and values.shape[0] == 1:
        values = values[0]
    return values
