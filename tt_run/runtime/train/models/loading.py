"""Loading Hugging Face weights of a Llama from safetensors files.

Query and key rows are re-ordered within each head from halves to interleaved pairs, because rotary positions here turn neighbours; keys and
values share one matrix. Rows of the vocabulary beyond the file keep their initial values.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.train.models.llama import Llama

Array = npt.NDArray[Any]

_WHOLE = {"input_layernorm": "attention_norm/gamma", "post_attention_layernorm": "mlp_norm/gamma"}
_LAYERS = {
    "self_attn.o_proj": "attention/out_linear/weight",
    "mlp.gate_proj": "mlp/w1/weight",
    "mlp.up_proj": "mlp/w3/weight",
    "mlp.down_proj": "mlp/w2/weight",
}


def read_safetensors(directory: str) -> dict[str, Array]:
    """Every tensor of every *.safetensors file of a directory as float32, names without the `model.` prefix.

    Raises FileNotFoundError when there is no such file and ImportError when the safetensors package is missing.
    """
    files = sorted(Path(directory).glob("*.safetensors"))
    if not files:
        raise FileNotFoundError(f"No .safetensors files found in {directory}")
    try:
        from safetensors import safe_open
    except ImportError:
        raise ImportError(
            "reading safetensors needs the safetensors package: pip install 'tt-run[train]'"
        ) from None
    found: dict[str, Array] = {}
    for file in files:
        with safe_open(str(file), framework="np") as opened:
            for name in opened.keys():  # noqa: SIM118 - not a dict
                found[name.removeprefix("model.")] = np.asarray(opened.get_tensor(name)).astype(np.float32)
    return found


def load_llama(model: Llama, directory: str) -> None:
    """Fill a model's parameters; prints what was not loaded and what was ignored. Raises RuntimeError for a matrix of another size."""
    tensors = read_safetensors(directory)
    parameters = model.parameters()
    heads, groups = model.config.num_heads, model.config.num_groups
    loaded: set[str] = set()
    used: set[str] = set()

    def put(path: str, array: Array, source: str) -> None:
        target = parameters.get(f"llama/{path}")
        used.add(source)
        if target is None:
            return
        target.set_value(_fitted(target, array, source).get_value())
        loaded.add(f"llama/{path}")

    for name, array in tensors.items():
        layer = re.fullmatch(r"layers\.(\d+)\.(.+)\.weight", name)
        if name == "embed_tokens.weight":
            put("tok_emb/weight", array, name)
        elif name == "lm_head.weight" and not model.tied:
            put("fc/weight", array, name)
        elif name == "norm.weight":
            put("ln_fc/gamma", array, name)
        elif layer is not None:
            root, part = f"llama_block_{layer[1]}", layer[2]
            if part in _WHOLE:
                put(f"{root}/{_WHOLE[part]}", array, name)
            elif part in _LAYERS:
                put(f"{root}/{_LAYERS[part]}", array, name)
            elif part == "self_attn.q_proj":
                put(f"{root}/attention/q_linear/weight", interleaved(array, heads), name)
            elif part == "self_attn.k_proj" and f"layers.{layer[1]}.self_attn.v_proj.weight" in tensors:
                value = f"layers.{layer[1]}.self_attn.v_proj.weight"
                used.add(value)
                both = np.concatenate([interleaved(array, groups), tensors[value]])
                put(f"{root}/attention/kv_linear/weight", both, name)
    _report(sorted(set(parameters) - loaded), sorted(set(tensors) - used))


def interleaved(rows: Array, heads: int) -> Array:
    """Rows of each head from [0 … d/2, d/2 … d] to [0, d/2, 1, d/2 + 1, …]."""
    width = rows.shape[0] // heads
    split = rows.reshape(heads, 2, width // 2, *rows.shape[1:])
    return np.swapaxes(split, 1, 2).reshape(rows.shape)


def _fitted(target: Tensor, array: Array, source: str) -> Tensor:
    """The array as a parameter in the shape and place of `target`."""
    device_shape = tuple(target.shape())
    held = target.get_value().tensor_topology()
    from tt_run.runtime.train.distributed import is_replicated

    if not is_replicated(target.get_value(), None):
        raise RuntimeError(
            f"{source}: the parameter is cut over the mesh ({held.placements()}); load before cutting, or load a whole model"
        )
    rows, columns = device_shape[-2], device_shape[-1]
    if rows == 1 and array.ndim == 1 and array.shape[0] == columns:
        return initial.place(array.reshape(device_shape))
    if array.shape == (rows, columns):
        return initial.place(array.reshape(device_shape))
    if array.shape == (columns, rows):
        return initial.place(np.ascontiguousarray(array.T).reshape(device_shape))
    if array.ndim == 2 and array.shape[1] == columns and array.shape[0] < rows:
        padded = target.to_numpy().reshape(rows, columns)
        padded[: array.shape[0]] = array
        return initial.place(padded.reshape(device_shape))
    raise RuntimeError(f"{source}: the file has shape {list(array.shape)}, the model wants {[rows, columns]}")


def _report(missing: list[str], ignored: list[str]) -> None:
    for title, names in (("not loaded", missing), ("ignored", ignored)):
        if names:
            print(f"{title}: {', '.join(names[:8])}{f' and {len(names) - 8} more' if len(names) > 8 else ''}")
