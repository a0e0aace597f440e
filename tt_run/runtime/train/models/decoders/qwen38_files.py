"""Loading Hugging Face weights into a Qwen3.8, from *.safetensors files or from a model's `state_dict()`.

What differs from the file: norms are stored there as what they add to 1, but for the one of heads in linear attention; a convolution's taps
are parameters of their own; and those features of a head that turn with the position are neighbours here, halves there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders.qwen38 import Qwen38Transformer
from tt_run.runtime.train.models.decoders.qwen38_config import Qwen38Config
from tt_run.runtime.train.models.safetensors import Weights
from tt_run.runtime.train.parallel.sharded_parameters import restore_parameter, whole_shape

Array = npt.NDArray[Any]
SKIPPED_PREFIXES = ("visual.", "model.visual.", "mtp.")
"""Parts of the files that the text model has not: images, and the prediction of several tokens."""
_BARE = {"linear_attn.norm.weight": "linear_attn.norm_weight"}


def load_from_safetensors(
    model: Qwen38Transformer,
    checkpoint_dir: Any,
    config: Qwen38Config,
    *,
    strict: bool = True,
    dtype: DataType = DataType.BFLOAT16,
) -> dict[str, Any]:
    """Fill a model from a directory's files, or from a map of arrays or torch tensors by name, as tensors of `dtype`.

    Returns how many tensors were `loaded` and `skipped`, and the names that are `unexpected` and `missing`. Raises FileNotFoundError without
    files, ValueError for a matrix of another size and, with `strict`, RuntimeError for a parameter that no file has.
    """
    given = checkpoint_dir if isinstance(checkpoint_dir, Mapping) else Weights(str(checkpoint_dir), "")
    parameters, root = model.parameters(), f"{model.get_name()}/"
    loaded: set[str] = set()
    skipped, unexpected = 0, []
    for name in given:
        place = None if name.startswith(SKIPPED_PREFIXES) else _place(name)
        if place is None or (place == "lm_head/weight" and config.tie_word_embeddings):
            skipped += 1
            continue
        for own, array in _parts(place, _array(given[name]), config):
            target = next((name for name in _names(own, root, config) if name in parameters), None)
            if target is None:
                unexpected.append(name)
                continue
            _fill(parameters[target], array, name, dtype)
            loaded.add(target)
    missing = sorted(set(parameters) - loaded)
    if missing and strict:
        raise RuntimeError(
            f"{len(missing)} parameters not loaded, e.g. {missing[:8]}; help: strict=False keeps their initial values"
        )
    return {"loaded": len(loaded), "skipped": skipped, "unexpected": unexpected, "missing": missing}


def _names(path: str, root: str, config: Qwen38Config) -> list[str]:
    """What a parameter may be called in the model; a tied table has the head's name or its own."""
    tied = config.tie_word_embeddings and path == "embed_tokens/weight"
    return [root + path, *([f"{root}lm_head/weight"] if tied else [])]


def _place(name: str) -> str | None:
    """The path of a file's tensor in the model; None for one of another part of the checkpoint."""
    if name == "lm_head.weight":
        return "lm_head/weight"
    found = re.fullmatch(
        r"model\.(?:language_model\.)?(embed_tokens\.weight|norm\.weight|layers\.\d+\..+)", name
    )
    if found is None:
        return None
    layer = re.fullmatch(r"(layers\.\d+)\.(.+)", found[1])
    path = f"{layer[1]}.{_BARE.get(layer[2], layer[2])}" if layer else found[1]
    return path.replace(".", "/")


def _parts(place: str, array: Array, config: Qwen38Config) -> Iterator[tuple[str, Array]]:
    """Paths and arrays that one tensor of the file becomes."""
    if place.endswith("linear_attn/conv1d/weight"):
        above = place.removesuffix("conv1d/weight")
        for number in range(array.shape[-1]):
            yield f"{above}conv_tap_{number}", array[:, 0, number]
        return
    if re.search(r"(^|layernorm/|/)(norm|input_layernorm|post_attention_layernorm|[qk]_norm)/weight$", place):
        array = array + np.float32(1)
    head, turning = config.head_dim, config.rotary_dim
    if place.endswith("self_attn/q_proj/weight"):
        array = _paired(array, head * (1 + config.attn_output_gate), turning)
    elif re.search(r"self_attn/(k_proj|[qk]_norm)/weight$", place):
        array = _paired(array, head, turning)
    yield place, array


def _paired(array: Array, head: int, turning: int) -> Array:
    """Rows of heads whose first `turning` go from halves to neighbours."""
    heads = array.reshape(-1, head, *array.shape[1:]).copy()
    first, second = heads[:, : turning // 2].copy(), heads[:, turning // 2 : turning].copy()
    heads[:, 0:turning:2], heads[:, 1:turning:2] = first, second
    return heads.reshape(array.shape)


def _fill(parameter: Tensor, array: Array, name: str, dtype: DataType) -> None:
    """Load an array; rows of a table that the file has not are zeros."""
    shape = whole_shape(parameter)
    array = array.reshape([*[1] * (4 - array.ndim), *array.shape])
    missing = shape[2] - array.shape[2]
    if name.endswith("embed_tokens.weight") and missing > 0:
        array = np.pad(array, ((0, 0), (0, 0), (0, missing), (0, 0)))
    if list(array.shape) != shape:
        raise ValueError(
            f"{name}: checkpoint gives {list(array.shape)}, model expects {shape}; help: the configuration in its config.json"
        )
    value = restore_parameter(parameter, np.ascontiguousarray(array), name)
    parameter.set_value(stacks.as_dtype(value, dtype))


def _array(tensor: Any) -> Array:
    found = tensor.detach().float().numpy() if hasattr(tensor, "detach") else np.asarray(tensor)
    return np.asarray(found, np.float32)
