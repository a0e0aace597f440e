"""Loading one expert of Wan 2.2 from the files of `diffusers`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.models.safetensors import Weights
from tt_run.runtime.train.models.wan.latents import conv3d_weight_to_linear
from tt_run.runtime.train.models.wan.transformer import WanTransformer3D
from tt_run.runtime.train.parallel.sharded_parameters import restore_parameter, whole_shape

Array = npt.NDArray[Any]
_RENAMED = {
    "patch_embedding.": "patch_embed.",
    "to_out.0.": "to_out.",
    "ffn.net.0.proj.": "ffn.ff1.",
    "ffn.net.2.": "ffn.ff2.",
}


@naming_faults
def to_ttml_name(key: str) -> str:
    """The dotted name in the model of a tensor of the files."""
    for theirs, ours in _RENAMED.items():
        key = re.sub(rf"(^|\.){re.escape(theirs)}", rf"\g<1>{ours}", key)
    return key


def to_ttml_array(name: str, array: Array, target_shape: tuple[int, ...]) -> Array:
    """An array of the files in the shape of a parameter. Raises ValueError for one of another size."""
    if name.startswith("patch_embed.") and array.ndim == 5:
        array = conv3d_weight_to_linear(array)
    array = array.reshape((1,) * (len(target_shape) - array.ndim) + array.shape)
    if array.shape != tuple(target_shape):
        raise ValueError(
            f"{name}: checkpoint gives {array.shape} after reshape, model wants {tuple(target_shape)}; help: a WanConfig of the checkpoint's sizes"
        )
    return np.ascontiguousarray(array, dtype=np.float32)


def load_expert_from_safetensors(
    model: WanTransformer3D, model_id: str, subfolder: str = "transformer", *, strict: bool = True
) -> int:
    """Fill a model from the *.safetensors files in `subfolder` of a directory, as bfloat16; how many tensors were loaded.

    Raises FileNotFoundError without the folder or files, and, with `strict`, RuntimeError for parameters that no file has.
    """
    folder = Path(model_id) / subfolder
    if not folder.is_dir():
        raise FileNotFoundError(
            f"no {subfolder}/ under {model_id}; help: a directory that holds {subfolder}/*.safetensors (nothing is downloaded)"
        )
    files, parameters = Weights(str(folder), ""), dict(model.named_parameters())
    missing, unexpected, loaded = set(parameters), [], 0
    for key in files:
        name = to_ttml_name(key)
        target = parameters.get(name)
        if target is None:
            unexpected.append(key)
            continue
        array = to_ttml_array(name, files[key], tuple(whole_shape(target)))
        target.set_value(stacks.as_dtype(restore_parameter(target, array, key), DataType.BFLOAT16))
        missing.discard(name)
        loaded += 1
    if unexpected:
        print(f"[wan] {len(unexpected)} checkpoint tensors had no home, e.g. {unexpected[:4]}")
    if missing:
        told = f"[wan] {len(missing)} parameters were not initialised, e.g. {sorted(missing)[:4]}"
        if strict:
            raise RuntimeError(f"{told}; help: strict=False keeps their initial values")
        print(told)
    print(f"[wan] loaded {loaded} tensors from {subfolder}")
    return loaded
