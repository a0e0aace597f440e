"""Converted parameters of a model on disk: a tree of `.tensorbin` files, `tree.json` with its shape, `version.txt`.

Every rank keeps what it holds in a folder of its own, so ranks neither wait for each other nor read half of what another one writes.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from tt_run.runtime.comm.world import world
from tt_run.runtime.enums import DumpTensorMode
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tensor.borders.files import dump_tensor, load_tensor
from tt_run.runtime.tensor.model_parameters.containers import ParameterDict, ParameterList
from tt_run.runtime.tensor.tensor import Tensor

_VERSION, _TREE = "version.txt", "tree.json"
UNVERSIONED = "unversioned"


@dataclass(frozen=True)
class CachedModel:
    """Where the parameters of one version of a model are kept."""

    folder: Path
    version: str

    def load(self) -> ParameterDict | ParameterList | None:
        """The parameters in host memory; None when there are none of this version. Raises RuntimeError for damaged files."""
        try:
            if (self.folder / _VERSION).read_text() != self.version:
                return None
            tree = json.loads((self.folder / _TREE).read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise RuntimeError(f"{self.folder / _TREE} is damaged: {error}") from None
        loaded: ParameterDict | ParameterList = _read(tree, self.folder)
        return loaded

    def store(self, parameters: ParameterDict | ParameterList) -> None:
        """Replace what is there. Raises RuntimeError for parameters that are no tensors or arrays."""
        fresh = self.folder.with_name(f".{self.folder.name}.{os.getpid()}")
        try:
            fresh.mkdir(parents=True, exist_ok=True)
            (fresh / _TREE).write_text(json.dumps(_written(parameters, fresh, "")))
            (fresh / _VERSION).write_text(self.version)
            shutil.rmtree(self.folder, ignore_errors=True)
            fresh.replace(self.folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def cached_model(model_name: str | None, version: str | None) -> CachedModel | None:
    """The cache of a model, None unless `CONFIG.enable_model_cache` is set and the model has a name."""
    if not CONFIG.enable_model_cache or model_name is None:
        return None
    folder = CONFIG.model_cache_path / model_name.replace("/", "_")
    ranks = world()
    if ranks.size > 1:
        folder /= f"rank{ranks.rank}_of_{ranks.size}"
    return CachedModel(folder, UNVERSIONED if version is None else version)


def _written(value: Any, folder: Path, name: str) -> dict[str, Any]:
    """Write a parameter, or all below it, to files named after it; what `_read` needs to find them."""
    if isinstance(value, ParameterDict):
        return {"dict": [[key, _written(item, folder, _below(name, key))] for key, item in value.items()]}
    if isinstance(value, ParameterList):
        return {"list": [_written(item, folder, _below(name, i)) for i, item in enumerate(value)]}
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, Tensor):
        dump_tensor(f"{path}.tensorbin", value, DumpTensorMode.LOCAL)
        return {"tensor": f"{name}.tensorbin"}
    if isinstance(value, np.ndarray):
        np.save(f"{path}.npy", value, allow_pickle=False)
        return {"array": f"{name}.npy"}
    if type(value).__module__.partition(".")[0] == "torch":
        importlib.import_module("torch").save(value, f"{path}.pt")
        return {"torch": f"{name}.pt"}
    raise RuntimeError(
        f"The model cache cannot keep parameter {name}: it is a {type(value).__name__}, no tensor"
    )


def _below(name: str, key: object) -> str:
    part = quote(str(key), safe="")
    return f"{name}/{part}" if name else part


def _read(node: dict[str, Any], folder: Path) -> Any:
    ((kind, value),) = node.items()
    if kind == "dict":
        return ParameterDict({key: _read(item, folder) for key, item in value})
    if kind == "list":
        return ParameterList([_read(item, folder) for item in value])
    if kind == "tensor":
        return load_tensor(folder / value)
    if kind == "array":
        return np.load(folder / value, allow_pickle=False)
    return importlib.import_module("torch").load(folder / value, weights_only=True)
