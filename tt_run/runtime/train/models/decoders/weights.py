"""Loading Hugging Face weights into the decoders, from *.safetensors files or from a model's `state_dict()`.

Rows of queries and keys are re-ordered within each head from halves to interleaved pairs, for rotary positions here turn neighbours; so are
Qwen3's norms of heads. DeepSeek's files have pairs already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders import llama_files as files
from tt_run.runtime.train.models.decoders.deepseek import DeepSeek
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3
from tt_run.runtime.train.models.loading import Filling, interleaved
from tt_run.runtime.train.models.safetensors import Weights

Array = npt.NDArray[Any]


def load_from_safetensors(model: Any, path: Any, config: Any = None) -> None:
    """Fill a model from every *.safetensors file of a directory; `config` is the model's own and not needed.

    Prints what was not loaded and what was ignored. Raises FileNotFoundError without files, RuntimeError for a matrix of another size.
    """
    if isinstance(model, DecoderLlama):
        load_decoder_llama(model, str(path))
    elif isinstance(model, Qwen3):
        load_from_hf(model, str(path))
    elif isinstance(model, DeepSeek):
        load_deepseek(model, str(path))
    elif hasattr(model, "load_from_safetensors"):
        model.load_from_safetensors(str(path))
    else:
        raise TypeError(
            f"load_from_safetensors: model is a model of ttml, not {type_name(model)}; help: load_from_safetensors(Llama(config), path, config)"
        )


def load_decoder_llama(model: DecoderLlama, source: Any) -> None:
    """Fill a Llama, and print what was left out. Raises RuntimeError for a file that lacks what the model has, before anything is loaded."""
    given = {files.canonical(name): array for name, array in _weights(source).items()}
    parameters = model.parameters()
    rules = [*files.rules(model.config, parameters), *files.bias_rules(model.config, parameters, given)]
    files.check_coverage(parameters, rules, given)
    files.check_sources(rules, given)
    filling = Filling("", parameters)
    for rule in rules:
        blocks = [given[name] for name in rule.sources]
        filling.put(rule.param, files.assemble(rule.of(blocks), None, 1, rule.param), *rule.sources)
    print(f"Loaded {len(rules)} parameters from {len(filling.used)} checkpoint tensors.")
    if left := sorted(set(parameters) - filling.loaded):
        print(f"Left at initial values: {len(left)} biases the checkpoint does not carry.")
    unused = sorted(name for name in set(given) - filling.used if not name.endswith("rotary_emb.inv_freq"))
    if unused:
        print(f"Note: {len(unused)} checkpoint tensors were not used: {', '.join(unused[:8])}")


def load_from_hf(model: Qwen3, source: Any) -> None:
    """Fill a Qwen3 from a directory, or from the `state_dict()` of a Hugging Face model. Raises as `load_from_safetensors`."""
    config, given = model.config, _weights(source)
    filling = Filling(model.get_name(), model.parameters())
    turned: dict[str, Callable[[Array], Array]] = {
        "self_attn.q_proj": lambda rows: interleaved(rows, config.num_attention_heads),
        "self_attn.k_proj": lambda rows: interleaved(rows, config.num_key_value_heads),
        "self_attn.q_norm": lambda rows: interleaved(rows, 1),
        "self_attn.k_norm": lambda rows: interleaved(rows, 1),
    }
    tied = model.lm_head.weight is model.model.embed_tokens.weight
    for name, layer, part, kind in _entries(given):
        if name == "lm_head.weight":
            filling.put("model/embed_tokens/weight" if tied else "lm_head/weight", given[name], name)
        elif name in ("embed_tokens.weight", "norm.weight"):
            stem = name.removesuffix(".weight")
            filling.put(f"model/{stem}/{'gamma' if stem == 'norm' else 'weight'}", given[name], name)
        elif layer:
            stem = part.removesuffix(f".{kind}")
            own = "gamma" if "norm" in stem else kind
            array = turned.get(stem, lambda rows: rows)(given[name])
            filling.put(f"model/layers/{layer}/{stem.replace('.', '/')}/{own}", array, name)
    filling.report(set(given))


def load_weights_from_hf(
    ttml_model: Qwen3,
    hf_state_dict: Mapping[str, Any],
    config: Any = None,
    tie_word_embeddings: bool | None = None,
    sharded: bool | None = None,
) -> None:
    """`load_from_hf` by the reference's newer name. The model itself says what `config` and `sharded` would.

    Raises ValueError when `tie_word_embeddings` is not what the model has.
    """
    tied = ttml_model.lm_head.weight is ttml_model.model.embed_tokens.weight
    if tie_word_embeddings and not tied:
        raise ValueError(
            "load_weights_from_hf: tie_word_embeddings, but the model has a head of its own; help: weight_tying=WeightTyingType.Enabled"
        )
    load_from_hf(ttml_model, hf_state_dict)


def key_or_value(name: str) -> tuple[int, str, str] | None:
    """Number of the layer, "k" or "v", and "weight" or "bias" of what Hugging Face calls keys' and values' projections; None for anything else."""
    found = re.fullmatch(r"(?:model\.)?layers\.(\d+)\.self_attn\.([kv])_proj\.(weight|bias)", name)
    return None if found is None else (int(found[1]), found[2], found[3])


def load_deepseek(model: DeepSeek, source: Any) -> None:
    """Fill a DeepSeek. Raises as `load_from_safetensors`."""
    given = _weights(source)
    filling = Filling(model.get_name(), model.parameters())
    ends = {
        "embed_tokens.weight": "tok_emb/weight",
        "lm_head.weight": "head/weight",
        "norm.weight": "norm/gamma",
    }
    names = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn/wq",
        "self_attn.q_a_proj": "attn/wq_a",
        "self_attn.q_a_layernorm": "attn/q_norm",
        "self_attn.q_b_proj": "attn/wq_b",
        "self_attn.kv_a_proj_with_mqa": "attn/wkv_a",
        "self_attn.kv_a_layernorm": "attn/kv_norm",
        "self_attn.kv_b_proj": "attn/wkv_b",
        "self_attn.o_proj": "attn/wo",
        "mlp.gate": "ffn/gate",
    }
    layers = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"}
    for name, layer, part, kind in _entries(given):
        if name in ends:
            filling.put(ends[name], given[name], name)
            continue
        root, stem = f"blocks/{layer}", part.removesuffix(f".{kind}")
        expert = re.fullmatch(r"mlp\.(?:(experts\.\d+|shared_experts)\.)?(\w+_proj)", stem)
        if part == "mlp.gate.e_score_correction_bias":
            _bias(model, int(layer), given[name])
            filling.used.add(name)
        elif stem in names:
            own = "gamma" if "norm" in stem else "weight"
            filling.put(f"{root}/{names[stem]}/{own}", given[name], name)
        elif expert and expert[2] in layers:
            inside = f"/{expert[1].replace('.', '/')}" if expert[1] else ""
            filling.put(f"{root}/ffn{inside}/{layers[expert[2]]}/weight", given[name], name)
        elif part == "mlp.experts.gate_up_proj":
            _joint_experts(filling, root, given[name], name, ("w1", "w3"))
        elif part == "mlp.experts.down_proj":
            _joint_experts(filling, root, given[name], name, ("w2",))
    filling.report(set(given))


def _joint_experts(filling: Filling, root: str, array: Array, name: str, parts: tuple[str, ...]) -> None:
    """All experts of a layer in one array (experts, rows of each part, inputs)."""
    for number, rows in enumerate(array):
        for part, own in zip(parts, np.split(rows, len(parts)), strict=True):
            filling.put(f"{root}/ffn/experts/{number}/{part}/weight", own, name)


def _bias(model: DeepSeek, layer: int, bias: Array) -> None:
    block: Any = model.blocks[layer]
    block.ffn._expert_bias.tensor.set_value(Tensor.from_numpy(bias.reshape(1, 1, 1, -1)).get_value())


def _weights(source: Any) -> Mapping[str, Array]:
    """The arrays of a directory, or of a map of torch tensors or arrays, by name without `model.`."""
    if isinstance(source, Mapping):
        return {name.removeprefix("model."): _array(tensor) for name, tensor in source.items()}
    return Weights(str(source))


def _array(tensor: Any) -> Array:
    found = tensor.detach().float().numpy() if hasattr(tensor, "detach") else np.asarray(tensor)
    return np.asarray(found, np.float32)


def _entries(given: Mapping[str, Array]) -> Iterator[tuple[str, str, str, str]]:
    """Name, number of its layer ("" for ends), name inside of the layer, and its last word."""
    for name in given:
        layer = re.fullmatch(r"layers\.(\d+)\.(.+)", name)
        part = layer[2] if layer else name
        yield name, layer[1] if layer else "", part, part.rpartition(".")[2]
