"""`ttml.checkpointing`: a model and its optimizer in one file, tensor by tensor, so that at most one whole tensor is in memory.

The file is a row of pickles as the reference writes them: `{"format", "header", "manifest"}`, then an array for each tensor of the manifest.
A pickle can name code to run; reading one here makes arrays and plain data only, and refuses a file that names anything else.
"""

from __future__ import annotations

import dataclasses
import enum
import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import NamedParameters
from tt_run.runtime.train.modules.joint_names import concatenated, joints_of
from tt_run.runtime.train.named_files import naming_file
from tt_run.runtime.train.parallel.sharded_parameters import restore_parameter, whole_shape
from tt_run.runtime.train.parallel.sharding import ReplicaMismatchError, Sharding

Array = npt.NDArray[Any]
Place = tuple[tuple[str, ...], str, Tensor]
"""The names that lead to a group of tensors, the tensor's own name, the tensor."""

FORMAT_VERSION = 1
VERIFY_REPLICAS_ENV = "TTML_CHECKPOINT_VERIFY_REPLICAS"
"""Off ("0", "false", "off"): what is saved of copies is the first, whatever the others hold. Source: the reference."""
_TENSORS = "named_parameters"
_OFF = ("0", "false", "off")
_NOTHING = "Nothing was written"
_ARRAYS = {"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer", "bfloat16"}


class CheckpointShapeError(ValueError):
    """A tensor would be saved or restored with another shape than its parameter has."""


# --- writing -------------------------------------------------------------------------------------------------------


def _write_first(first: Mapping[str, Any], stream: Any) -> None:
    """What stands before the tensors. Raises TypeError for a header that holds what no other process could read."""
    try:
        pickle.dump(first, stream)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise TypeError(
            f"checkpointing: the header {sorted(first['header'])} cannot be written: {error}. {_NOTHING}; help: numbers, texts, lists and dicts"
        ) from None


def save_checkpoint(
    path: str,
    *,
    header: Mapping[str, Any] | None = None,
    model_params: Mapping[str, Tensor] | None = None,
    optimizer: Any = None,
    expected_shapes: Mapping[str, tuple[int, ...]] | None = None,
    display_progress: bool = False,
    verify_replicas: bool | None = None,
) -> None:
    """Write a header of the caller's, the parameters of a model and the state of its optimizer; the file appears complete or not at all.

    Every rank of the mesh calls it, with one path or each with its own: a file is whole either way. Raises CheckpointShapeError for a state that is not of its parameter's shape,
    and where `expected_shapes` (whole shape by parameter) says another; ReplicaMismatchError where devices that should hold copies differ,
    unless `verify_replicas` or the environment (`VERIFY_REPLICAS_ENV`) says not to look; TypeError for a state that is neither tensor nor
    number. Warns of state whose parameter is not saved with it, which has no shape to be held against.
    """
    if verify_replicas is None:
        verify_replicas = os.environ.get(VERIFY_REPLICAS_ENV, "1").strip().lower() not in _OFF
    if header is not None and not isinstance(header, Mapping):
        raise TypeError(f"checkpointing: header is {type_name(header)}; help: header={{'step': 1}}")
    groups = _groups(path, model_params, optimizer)
    records = list(_tensors(groups, ()))
    expected = {name: tuple(shape) for name, shape in (expected_shapes or {}).items()}
    absent = sorted(expected.keys() - {name for _, name, _ in records})
    if absent:
        raise CheckpointShapeError(
            f"checkpointing: expected_shapes names tensors not in this checkpoint: {', '.join(absent[:3])}; help: name those that named_parameters() lists"
        )
    _warn_of_the_unchecked(records, model_params)
    # Ranks that share a mesh may name one file: each writes all of it beside, and the last stays.
    partial = Path(f"{path}.{os.getpid()}.partial")
    saved: dict[str, tuple[int, ...]] = {}
    try:
        with naming_file("checkpoint", path), partial.open("wb") as stream:
            first = {"format": FORMAT_VERSION, "header": dict(header or {}), "manifest": _outline(groups)}
            _write_first(first, stream)
            for above, name, tensor in _progress(records, "Saving checkpoint", display_progress):
                layout, label = Sharding.from_tensor(tensor), _label(above, name)
                if verify_replicas and (problem := layout.mismatch(tensor)):
                    raise ReplicaMismatchError(f"checkpointing: {label} {problem}. {_NOTHING}")
                array = layout.gather(tensor, verify_replicas=False)
                _check_shape(array.shape, expected.get(name), label, ", expected_shapes says")
                of_parameter = f" by its label {layout.label}, model[{name}] to"
                _check_shape(array.shape, saved.get(name), label, of_parameter)
                if above == ("model",):
                    saved[name] = array.shape
                pickle.dump(array, stream)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _groups(path: str, model_params: Mapping[str, Tensor] | None, optimizer: Any) -> dict[str, Any]:
    """What is saved beside the header. Raises TypeError for parameters that are no mapping, and warns of none."""
    groups: dict[str, Any] = {}
    if model_params is not None:
        if not isinstance(model_params, Mapping):
            raise TypeError(
                f"checkpointing: model_params is {type_name(model_params)}; help: model_params=model.parameters()"
            )
        if not model_params:
            events.warn(
                f"checkpointing: model_params holds no parameter, {path} gets none; help: ttml.materialize_module(model) first if it was made in lazy_init",
                UserWarning,
            )
        groups["model"] = NamedParameters(model_params)
    if optimizer is not None:
        groups["optimizer"] = optimizer.get_state_dict()
    return groups


def _check_shape(found: tuple[int, ...], wanted: tuple[int, ...] | None, label: str, whose: str) -> None:
    if wanted is not None and wanted != found:
        raise CheckpointShapeError(f"checkpointing: {label} gathers to {found}{whose} {wanted}. {_NOTHING}")


def _outline(node: Any) -> Any:
    """The form of a state: numbers as they are, tensors by type and layout."""
    if isinstance(node, NamedParameters):
        return {_TENSORS: {name: _facts(tensor) for name, tensor in node.items()}}
    if isinstance(node, Mapping):
        return {key: _outline(below) for key, below in node.items()}
    if not isinstance(node, (bool, int, float)):
        raise TypeError(
            f"checkpointing: a state is of tensors and numbers, not {type(node).__name__}; help: save what get_state_dict() gave"
        )
    return node


def _tensors(node: Any, above: tuple[str, ...]) -> Iterator[Place]:
    """Tensors in the order in which they are written."""
    if isinstance(node, NamedParameters):
        yield from ((above, name, tensor) for name, tensor in node.items())
    elif isinstance(node, Mapping):
        for key, below in node.items():
            yield from _tensors(below, (*above, key))


def _facts(tensor: Tensor) -> dict[str, str]:
    value = tensor.get_value(PreferredPrecision.NATIVE)
    if value.dtype not in (DataType.FLOAT32, DataType.BFLOAT16):
        raise ValueError(
            f"checkpointing: unsupported tensor dtype {value.dtype} (only FLOAT32 and BFLOAT16); help: ttnn.typecast(tensor, ttnn.float32) before it is saved"
        )
    layout = "ROW_MAJOR" if value.layout is Layout.ROW_MAJOR else "TILE"
    return {"layout": layout, "dtype": value.dtype.name}


def _warn_of_the_unchecked(records: list[Place], model_params: Mapping[str, Tensor] | None) -> None:
    """Say which state is saved without a parameter whose shape it could be held against."""
    states = [(above, name) for above, name, _ in records if above[0] == "optimizer"]
    if states and model_params is None:
        events.warn(
            "checkpointing: saving an optimizer without model_params: its state has no shapes to be held against",
            UserWarning,
        )
        return
    unknown = [_label(above, name) for above, name in states if name not in (model_params or ())]
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        events.warn(
            f"checkpointing: {len(unknown)} optimizer state tensor(s) are of what are not parameters of the model being saved, and are "
            f"saved as-is: {', '.join(unknown[:3])}{more}",
            UserWarning,
        )


def _label(above: tuple[str, ...], name: str) -> str:
    return f"{'/'.join(above)}[{name}]"


# --- reading -------------------------------------------------------------------------------------------------------


def read_header(path: str) -> dict[str, Any]:
    """The caller's header of a checkpoint. Raises ValueError for a file that is none."""
    _require_path(path)
    with naming_file("checkpoint", path), open(path, "rb") as stream:
        header: dict[str, Any] = _first(stream, path)["header"]
        return header


def load_checkpoint(
    path: str,
    *,
    model_params: Mapping[str, Tensor] | None = None,
    optimizer: Any = None,
    display_progress: bool = False,
) -> dict[str, Any]:
    """Put a checkpoint back into parameters and an optimizer, laid over the mesh as those lie now; returns the caller's header.

    A group that is not asked for is passed over. Raises ValueError for a file that is no checkpoint or lacks a group that is asked for,
    RuntimeError when the parameters are of another model, CheckpointShapeError for a tensor of another shape.
    """
    _require_path(path)
    with naming_file("checkpoint", path), open(path, "rb") as stream:
        first = _first(stream, path)
        manifest, header = first["manifest"], dict(first["header"])
        for group, wanted in (("model", model_params), ("optimizer", optimizer)):
            if wanted is not None and group not in manifest:
                raise ValueError(
                    f"{path} holds no {group}; it holds {', '.join(manifest) or 'the header alone'}; help: ask for what it holds alone"
                )
        live = None
        if optimizer is not None:
            live = optimizer.get_state_dict()
            if strange := [name for name in manifest["optimizer"] if name not in live]:
                raise ValueError(
                    f"{path}: the optimizer's state has {', '.join(strange[:3])}, that of {optimizer.get_name()} has not; "
                    "help: an optimizer of the class and settings that were saved"
                )
        shapes: dict[str, tuple[int, ...]] = {}
        for group, outline in manifest.items():
            arrays = _Records(stream, path)
            if group == "model" and model_params is not None:
                shapes = _fill(model_params, outline[_TENSORS], arrays, display_progress)
            elif group == "model":
                shapes = {name: arrays.next().shape for name in outline[_TENSORS]}
            elif group == "optimizer" and optimizer is not None:
                optimizer.set_state_dict(_state(outline, live, arrays, ("optimizer",), shapes))
            else:
                for _ in range(_count(outline)):
                    arrays.next()
    return header


class _Records:
    """The arrays of a checkpoint in their order."""

    def __init__(self, stream: IO[bytes], path: str) -> None:
        self._stream, self._path = stream, path

    def next(self) -> Array:
        """The next array. Raises ValueError at an early end."""
        found: Array = _read(self._stream, self._path)
        return found


def _fill(
    parameters: Mapping[str, Tensor], outline: Mapping[str, Any], arrays: _Records, shown: bool
) -> dict[str, tuple[int, ...]]:
    """Put the parameters back; gives their whole shapes."""
    joints = joints_of(outline, parameters)
    saved = {joints.get(name, name) for name in outline}
    missing, extra = sorted(set(parameters) - saved), sorted(saved - set(parameters))
    if missing or extra:
        raise RuntimeError(
            f"checkpoint restore mismatch: {len(missing)} param(s) left at init ({missing[:3]}), "
            f"{len(extra)} checkpoint param(s) ignored ({extra[:3]}); help: load it into a model of the same configuration"
        )
    shapes = {}
    for name, array in _joined(_progress(list(outline), "Loading model", shown), joints, arrays):
        tensor = parameters[name]
        tensor.set_value(_placed(tensor, array, ("model",), name).get_value(PreferredPrecision.FULL))
        shapes[name] = array.shape
    return shapes


def _state(
    node: Any, live: Any, arrays: _Records, above: tuple[str, ...], shapes: Mapping[str, tuple[int, ...]]
) -> Any:
    if not isinstance(node, dict):
        return node
    if _TENSORS not in node:
        return {key: _state(below, live[key], arrays, (*above, key), shapes) for key, below in node.items()}
    found = NamedParameters()
    for name, array in _joined(node[_TENSORS], joints_of(node[_TENSORS], live), arrays):
        if (shape := shapes.get(name, array.shape)) != array.shape:
            raise CheckpointShapeError(
                f"checkpointing: {_label(above, name)} record has shape {array.shape}, model[{name}] in the same file has {shape}; help: the file was damaged, or a state was saved under a wrong placement: take an earlier one"
            )
        found[name] = _placed(live[name], array, above, name)
    return found


def _joined(names: Iterable[str], joints: Mapping[str, str], arrays: _Records) -> Iterator[tuple[str, Array]]:
    """The arrays by name; parts of what is one parameter now as that one, when all of them are read."""
    held: dict[str, dict[str, Array]] = {}
    for name in names:
        array, joint = arrays.next(), joints.get(name)
        if joint is None:
            yield name, array
            continue
        parts = held.setdefault(joint, {})
        parts[name] = array
        wanted = [part for part, whole in joints.items() if whole == joint]
        if len(parts) == len(wanted):
            yield joint, concatenated(joint, [parts[part] for part in wanted])


def _placed(live: Tensor, array: Array, above: tuple[str, ...], name: str) -> Tensor:
    try:
        value = restore_parameter(live, np.asarray(array, np.float32), _label(above, name))
    except ValueError:
        raise CheckpointShapeError(
            f"checkpointing: {_label(above, name)} record of shape {array.shape} does not fit the live tensor, which is {tuple(live.shape())} "
            f"per-device and {tuple(whole_shape(live))} as a whole; help: a model of the configuration that was saved, or an earlier file"
        ) from None
    return Tensor(value, requires_grad=False)


def _count(node: Any) -> int:
    if not isinstance(node, dict):
        return 0
    return len(node[_TENSORS]) if _TENSORS in node else sum(map(_count, node.values()))


def _require_path(path: object) -> None:
    """Raise TypeError for what names no file."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"checkpointing: path names a file, not {type_name(path)}; help: 'model.ckpt'")


def _first(stream: IO[bytes], path: str) -> dict[str, Any]:
    found = _read(stream, path)
    if not isinstance(found, dict) or not {"format", "header", "manifest"} <= found.keys():
        raise ValueError(
            f"{path} is not a checkpoint: it has no format, header and manifest; help: name the folder or file that save_checkpoint wrote"
        )
    if found["format"] != FORMAT_VERSION:
        raise ValueError(
            f"{path} has checkpoint format {found['format']}, this program reads {FORMAT_VERSION}; help: save it again with the version that wrote it, or train anew"
        )
    return found


def _read(stream: IO[bytes], path: str) -> Any:
    try:
        return _Plain(stream).load()
    except ValueError:
        raise
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError) as problem:
        what = str(problem) or type(problem).__name__
        raise ValueError(
            f"{os.fspath(path)} is not a checkpoint, or not a complete one: {what}; help: take an earlier one: the run that wrote it may have been stopped"
        ) from None


class _Plain(pickle.Unpickler):
    """Reads arrays, plain data, and of classes those of `ttml` and data classes that the program has defined already."""

    def find_class(self, module: str, name: str) -> Any:
        """The class or array function that a record names. Raises UnpicklingError for anything else."""
        if module.split(".")[0] in ("numpy", "ml_dtypes") and name in _ARRAYS:
            return super().find_class(module, name)
        known = sys.modules.get(module)
        found = getattr(known, name, None) if known is not None else None
        if isinstance(found, type) and (
            dataclasses.is_dataclass(found)
            or issubclass(found, enum.Enum)
            or module.startswith("tt_run.runtime.train.")
        ):
            return found
        raise pickle.UnpicklingError(
            f"it names {module}.{name}, which is neither an array nor data. help: keep plain values in the header"
        )


def _progress(items: list[Any], what: str, shown: bool) -> Iterator[Any]:
    """The items; where it is asked for, a line on the screen counts them in place."""
    for number, item in enumerate(items, 1):
        yield item
        if shown:
            end = "\n" if number == len(items) else "\r"
            print(f"    {what} {number}/{len(items)}", end=end, file=sys.stderr, flush=True)
