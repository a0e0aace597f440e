"""Checkpoints: one .npz of arrays with a JSON header inside; nothing is executed when one is read.

A run that resumes goes on with the same bits as one that was never interrupted: parameters, optimizer state, generators and the step are all in
it. Sharded parameters are saved whole, so a checkpoint may be resumed on another mesh.
"""

from __future__ import annotations

import json
import os
import random
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models import safetensors
from tt_run.runtime.train.modules.joint_names import joined
from tt_run.runtime.train.named_files import naming_file
from tt_run.runtime.train.optimizers.base import FORMER_NAMES
from tt_run.runtime.train.parallel.sharded_parameters import restore_parameter, whole_parameter

Array = npt.NDArray[Any]
FORMAT = 1


@dataclass()
class Checkpoint:
    """What a checkpoint holds: the step after which it was written, arrays by name, and facts for people and programs."""

    step: int
    parameters: dict[str, Array]
    optimizer: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    generators: dict[str, Any] = field(default_factory=dict)


def save(
    path: str | os.PathLike[str],
    *,
    step: int,
    model: Any,
    optimizer: Any = None,
    facts: Mapping[str, Any] | None = None,
    generators: Mapping[str, Any] | None = None,
    write: bool = True,
) -> Path:
    """Write a checkpoint; the file appears complete or not at all. Every rank of the model's mesh must call it; one of them writes.

    `generators` are states of before (`generator_states`), those of now without it. Raises TypeError when `facts` cannot be written as JSON.
    """
    target = Path(path).with_suffix(".npz")
    arrays: dict[str, Array] = {}
    header: dict[str, Any] = {
        "format": FORMAT,
        "step": step,
        "facts": dict(facts or {}),
        "optimizer": {},
        "generators": generators or generator_states(),
    }
    parameters = model.parameters()
    for name, tensor in parameters.items():
        arrays[f"parameter/{name}"] = whole_parameter(tensor)
    for names, entry in leaves(optimizer.get_state_dict() if optimizer is not None else {}):
        if isinstance(entry, Tensor):
            arrays["/".join(("optimizer", *names))] = whole_parameter(entry)
        else:
            header["optimizer"]["/".join(names)] = entry
    if not write:
        return target
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    with naming_file("checkpoint", target):
        target.parent.mkdir(parents=True, exist_ok=True)
    with naming_file("checkpoint", target), partial.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type,unused-ignore]
    partial.replace(target)
    return target


def load(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint. Raises ValueError for a file that is none, and OSError, with its name, for one that cannot be read."""
    try:
        with (
            naming_file("checkpoint", path),
            Path(path).open("rb") as stream,
            np.load(stream, allow_pickle=False) as stored,
        ):
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop("header").tobytes())
    except OSError:
        raise
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as problem:
        # NumPy would have the reader allow pickles, which no checkpoint of this form is.
        why = "it is no .npz file" if "pickle" in str(problem) else problem
        raise ValueError(
            f"{path} is not a checkpoint of this program: {why}; help: name the file that training wrote"
        ) from None
    if header.get("format") != FORMAT:
        raise ValueError(
            f"{path} has checkpoint format {header.get('format')}, this program reads {FORMAT}; help: save it again with this version, or start without --model_path"
        )
    parameters = {
        name.split("/", 1)[1]: array for name, array in arrays.items() if name.startswith("parameter/")
    }
    state = {name.split("/", 1)[1]: array for name, array in arrays.items() if name.startswith("optimizer/")}
    return Checkpoint(
        header["step"], parameters, {**state, **header["optimizer"]}, header["facts"], header["generators"]
    )


def apply(checkpoint: Checkpoint, model: Any, optimizer: Any = None) -> int:
    """Put a checkpoint into a model, its optimizer and the generators; returns the step. Raises ValueError naming what does not fit."""
    parameters: dict[str, Tensor] = model.parameters()
    saved = joined(checkpoint.parameters, parameters)
    missing, extra = sorted(set(parameters) - set(saved)), sorted(set(saved) - set(parameters))
    if missing or extra:
        named = ", ".join(
            [f"not saved: {n}" for n in missing[:3]] + [f"not in the model: {n}" for n in extra[:3]]
        )
        raise ValueError(
            f"the checkpoint is of another model ({named}); help: start it with the configuration that it was saved with"
        )
    for name, tensor in parameters.items():
        tensor.set_value(restore_parameter(tensor, saved[name], name))
    if optimizer is not None and checkpoint.optimizer:
        live = optimizer.get_state_dict()
        state = joined(checkpoint.optimizer, ("/".join(names) for names, _ in leaves(live)))
        optimizer.set_state_dict(_restored(live, state, ()))
    restore_generators(checkpoint.generators)
    return checkpoint.step


def leaves(state: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Tensors and numbers of a nested state of an optimizer, each behind the names that lead to it."""
    for name, entry in state.items():
        if isinstance(entry, Mapping):
            yield from leaves(entry, (*above, name))
        else:
            yield (*above, name), entry


def _restored(live: Mapping[str, Any], saved: Mapping[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
    """A state of the form of `live` with what was saved: tensors lie over the mesh as those of `live` do."""
    found: dict[str, Any] = {}
    for name, entry in live.items():
        path = "/".join((*above, name))
        if isinstance(entry, Mapping):
            former = FORMER_NAMES.get(name, name)
            kept = any(known.startswith(f"{path}/") for known in saved)
            found[name] = _restored(entry, saved, (*above, name if kept else former))
        elif path in saved:
            found[name] = saved[path]
            if isinstance(entry, Tensor):
                found[name] = Tensor(restore_parameter(entry, saved[path], path, rounded=False), False)
    return found


def export_safetensors(path: str | os.PathLike[str], model: Any) -> Path:
    """Write a model's whole parameters by their own names, bfloat16 where they are. Every rank of the model's mesh must call it."""
    arrays = {}
    for name, tensor in model.parameters().items():
        whole = whole_parameter(tensor)
        half = tensor.dtype() is DataType.BFLOAT16
        arrays[name] = whole.astype(ml_dtypes.bfloat16) if half else np.ascontiguousarray(whole, np.float32)
    return safetensors.write(path, arrays, {"format": "ttml"})


def import_safetensors(directory: str | os.PathLike[str], model: Any) -> None:
    """Fill a model from the files that `export_safetensors` wrote. Raises ValueError naming what does not fit."""
    parameters: dict[str, Tensor] = model.parameters()
    stored = joined(safetensors.Weights(str(directory), ""), parameters)
    missing = sorted(set(parameters) ^ set(stored))
    if missing:
        raise ValueError(
            f"{directory} is of another model: {missing[0]} is not in both; help: take the configuration that belongs to the weights"
        )
    for name, tensor in parameters.items():
        tensor.set_value(restore_parameter(tensor, stored[name], name))


def latest(prefix: str | os.PathLike[str]) -> Path | None:
    """The checkpoint to resume from: `<prefix>_final.npz`, else the highest `<prefix>_step_N.npz`, None when there is none."""
    base = Path(prefix)
    final = base.with_name(f"{base.name}_final.npz")
    if final.is_file():
        return final
    found = {}
    for file in base.parent.glob(f"{base.name}_step_*.npz"):
        match = re.fullmatch(re.escape(base.name) + r"_step_(\d+)\.npz", file.name)
        if match:
            found[int(match[1])] = file
    return found[max(found)] if found else None


def generator_states() -> dict[str, Any]:
    """States of the three generators that programs draw from, as JSON."""
    context = AutoContext.get_instance().generator.bit_generator.state
    kind, keys, position, has_gauss, gauss = cast(tuple[Any, ...], np.random.get_state())
    version, internal, normal = random.getstate()
    return {
        "context": {"key": context["state"]["key"].tolist(), "pos": context["state"]["pos"]},
        "numpy": [kind, keys.tolist(), position, has_gauss, gauss],
        "python": [version, list(internal), normal],
    }


def restore_generators(states: Mapping[str, Any]) -> None:
    """Put the three generators back where they were."""
    if not states:
        return
    bits = AutoContext.get_instance().generator.bit_generator
    bits.state = {
        "bit_generator": "MT19937",
        "state": {"key": np.array(states["context"]["key"], np.uint32), "pos": states["context"]["pos"]},
    }
    kind, keys, position, has_gauss, gauss = states["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), position, has_gauss, gauss))
    version, internal, normal = states["python"]
    random.setstate((version, tuple(internal), normal))
