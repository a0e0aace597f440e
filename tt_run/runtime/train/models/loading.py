"""Loading Hugging Face weights of a Llama or a GPT-2 from safetensors files, into whole models and into sharded ones.

A Llama's query and key rows are re-ordered within each head from halves to interleaved pairs, because rotary positions here turn
neighbours; keys and values share one matrix. Rows of the vocabulary beyond the file keep their initial values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.safetensors import Weights
from tt_run.runtime.train.parallel.sharded_parameters import restore_parameter, whole_parameter, whole_shape

Array = npt.NDArray[Any]

_NORMS = {"input_layernorm": "attention_norm/gamma", "post_attention_layernorm": "mlp_norm/gamma"}
_LAYERS = {
    "self_attn.o_proj": "attention/out_linear/weight",
    "mlp.gate_proj": "mlp/w1/weight",
    "mlp.up_proj": "mlp/w3/weight",
    "mlp.down_proj": "mlp/w2/weight",
}
_GPT2 = {
    "ln_1.weight": "ln1/gamma",
    "ln_1.bias": "ln1/beta",
    "ln_2.weight": "ln2/gamma",
    "ln_2.bias": "ln2/beta",
    "attn.c_attn": "attention/qkv_linear",
    "attn.c_proj": "attention/out_linear",
    "mlp.c_fc": "mlp/fc1",
    "mlp.c_proj": "mlp/fc2",
}


class Model(Protocol):
    """A model that can be filled."""

    tied: bool
    """Whether it takes the embedding of its tokens for its head too."""

    def get_name(self) -> str:
        """The root of its parameters' names."""

    def parameters(self) -> Mapping[str, Tensor]:
        """Its parameters by full path."""


class PositionedModel(Model, Protocol):
    """A model with an embedding of positions."""

    length: int
    """How many positions."""


@dataclass()
class Filling:
    """Parameters of a model on their way to being loaded, and which names of the file were used."""

    root: str
    parameters: Mapping[str, Tensor]
    loaded: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def put(self, path: str, array: Array, *sources: str) -> None:
        """Load an array, in the order of the model on one device, into a parameter."""
        self.used.update(sources)
        name = f"{self.root}/{path}" if self.root else path
        target = self.parameters.get(name)
        if target is None:
            return
        target.set_value(restore_parameter(target, _fitted(target, array, sources[0]), sources[0]))
        self.loaded.add(name)

    def report(self, everything: set[str]) -> None:
        """Print what the model has and the file has not, and the other way round."""
        for title, names in (
            ("not loaded", sorted(set(self.parameters) - self.loaded)),
            ("ignored", sorted(everything - self.used)),
        ):
            if names:
                print(
                    f"{title}: {', '.join(names[:8])}{f' and {len(names) - 8} more' if len(names) > 8 else ''}"
                )


def load_llama(model: Model, directory: str, heads: int, groups: int) -> None:
    """Fill a model of `heads` for queries and `groups` for keys; prints what was not loaded and what was ignored.

    Raises RuntimeError for a matrix of another size.
    """
    tensors = Weights(directory)
    filling = Filling(model.get_name(), model.parameters())
    for name in tensors:
        layer = re.fullmatch(r"layers\.(\d+)\.(.+)\.weight", name)
        if name == "embed_tokens.weight":
            filling.put("tok_emb/weight", tensors[name], name)
        elif name == "lm_head.weight" and not model.tied:
            filling.put("fc/weight", tensors[name], name)
        elif name == "norm.weight":
            filling.put("ln_fc/gamma", tensors[name], name)
        elif layer is not None:
            root, part = f"llama_block_{layer[1]}", layer[2]
            place = _NORMS.get(part) or _LAYERS.get(part)
            if place is not None:
                filling.put(f"{root}/{place}", tensors[name], name)
            elif part == "self_attn.q_proj":
                filling.put(f"{root}/attention/q_linear/weight", interleaved(tensors[name], heads), name)
            elif (
                part == "self_attn.k_proj"
                and (value := f"layers.{layer[1]}.self_attn.v_proj.weight") in tensors
            ):
                both = joint_keys_values(tensors[name], tensors[value], groups)
                filling.put(
                    f"{root}/attention/kv_linear/weight",
                    both,
                    name,
                    value,
                )
    filling.report(set(tensors))


def load_gpt2(model: PositionedModel, safetensors_path: str | os.PathLike[str], config: Any = None) -> None:
    """Fill a GPT-2 or a NanoGPT from files of Hugging Face's; matrices are stored as [in, out] and are turned. Raises as `load_llama`.

    The model itself says what `config` would.
    """
    tensors = Weights(os.fspath(safetensors_path), "transformer.")
    filling = Filling(model.get_name(), model.parameters())
    for name in tensors:
        block = re.fullmatch(r"h\.(\d+)\.(.+?)(?:\.(weight|bias))", name)
        if name == "wte.weight":
            filling.put("tok_emb/weight", tensors[name], name)
        elif name == "wpe.weight":
            filling.put("pos_emb/weight", tensors[name][: model.length], name)
        elif name in ("ln_f.weight", "ln_f.bias"):
            filling.put("ln_f/gamma" if name.endswith("weight") else "ln_f/beta", tensors[name], name)
        elif name == "lm_head.weight" and not model.tied:
            filling.put("fc/weight", tensors[name], name)
        elif block is not None:
            root, part, kind = f"blocks/{block[1]}", block[2], block[3]
            if f"{part}.{kind}" in _GPT2:
                filling.put(f"{root}/{_GPT2[f'{part}.{kind}']}", tensors[name], name)
            elif part in _GPT2:
                array = np.ascontiguousarray(tensors[name].T) if kind == "weight" else tensors[name]
                filling.put(f"{root}/{_GPT2[part]}/{kind}", array, name)
    filling.report(set(tensors))


def interleaved(weight: Array, num_heads: int = 1) -> Array:
    """Rows of each head from [0 … d/2, d/2 … d] to [0, d/2, 1, d/2 + 1, …], of an array or a tensor of PyTorch."""
    width = weight.shape[0] // num_heads
    split = weight.reshape(num_heads, 2, width // 2, *weight.shape[1:])
    return split.swapaxes(1, 2).reshape(weight.shape)


def joint_keys_values(keys: Array, values: Array, groups: int) -> Array:
    """Keys, in interleaved pairs, and below them values: one matrix or bias for both."""
    return np.concatenate([interleaved(keys, groups), values])


def _fitted(target: Tensor, array: Array, source: str) -> Array:
    """The array in the shape of the whole parameter: as it is, turned, or with the parameter's own rows behind it."""
    shape = whole_shape(target)
    rows, columns = shape[-2], shape[-1]
    if array.shape in ((rows, columns), (columns,) if rows == 1 else None):
        return array.reshape(shape)
    if array.shape == (columns, rows):
        return np.ascontiguousarray(array.T).reshape(shape)
    if array.ndim == 2 and array.shape[1] == columns and array.shape[0] < rows:
        padded = whole_parameter(target).reshape(rows, columns)
        padded[: array.shape[0]] = array
        return padded.reshape(shape)
    raise RuntimeError(
        f"{source}: the file has shape {list(array.shape)}, the model wants {[rows, columns]}; help: the configuration with which the file was written"
    )
