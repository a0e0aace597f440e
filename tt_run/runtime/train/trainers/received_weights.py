"""Weights by Hugging Face's names, as `weights_ref_hf_dict` gives them, back into the parameters of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.train.autograd.axis_placement import first_shard
from tt_run.runtime.train.models.decoders.export import ENDS, JOINT_PLACES, PLACES
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3
from tt_run.runtime.train.parallel.sharded_parameters import restore_parameter, whole_shape

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


def take_hf_weights(model: Any, weights: Mapping[str, Value]) -> None:
    """Put weights in the place of a Llama's or a Qwen3's parameters. Raises TypeError for another model, ValueError for a name that is missing."""
    if not isinstance(model, (Qwen3, DecoderLlama)):
        raise TypeError(f"weights are taken by ttml Llama and Qwen3 models, not {type(model).__name__}")
    named = _qwen3_names if isinstance(model, Qwen3) else _llama_names
    for path, tensor in model.parameters().items():
        names = named(path.partition("/")[2])
        missing = [name for name in names if name not in weights]
        if missing:
            raise ValueError(f"the weights have no {missing[0]!r}, which {path!r} needs")
        dim = 3 if path.endswith("bias") else 2
        array = np.concatenate([first_shard(weights[name]) for name in names], dim)
        tensor.set_value(restore_parameter(tensor, array.reshape(whole_shape(tensor)), path))


def _llama_names(path: str) -> list[str]:
    if path in ENDS:
        return [ENDS[path]]
    number, _, inside = path.partition("blocks/")[2].partition("/")
    root, (layer, _, kind) = f"model.layers.{number}", inside.rpartition("/")
    parts = [f"{part}.{kind}" for part in JOINT_PLACES.get(layer, ())] or [PLACES[inside]]
    return [f"{root}.{part}" for part in parts]


def _qwen3_names(path: str) -> list[str]:
    return [path.replace("/", ".").replace(".gamma", ".weight")]
