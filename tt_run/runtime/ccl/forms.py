"""Operations with several forms of arguments: which one a call means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from tt_run.runtime.enums import ReduceType
from tt_run.runtime.errors import type_name
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.arguments import nearest
from tt_run.runtime.ops.declaration.argument_kinds import Kind, kind_by_name
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch
from tt_run.runtime.tensor.tensor import Tensor


def choose(args: tuple[Any, ...], kwargs: dict[str, Any], *forms: Callable[..., Tensor]) -> Tensor:
    """Call the first form that the arguments fit, by number, names and kinds. Raises ArgumentMismatch with what the nearest form lacks."""
    for form in forms:
        try:
            bound = inspect.signature(form).bind(*args, **kwargs)
        except TypeError:
            continue
        if all(_fits(name, value) for name, value in bound.arguments.items()):
            return form(*args, **kwargs)
    number, amiss = min(
        enumerate((_amiss(form, args, kwargs) for form in forms), 1), key=lambda found: found[1][:2]
    )
    error = ArgumentMismatch(f"{amiss.fault} (form {number}){amiss.help}")
    error.signatures = tuple(str(inspect.signature(form)).replace("'", "") for form in forms)
    raise error


class _Amiss(NamedTuple):
    """What keeps arguments from a form: how many of them do not fit it, how many it lacks, and the first as words."""

    wrong: int
    missing: int
    fault: str
    help: str


def _amiss(form: Callable[..., Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Amiss:
    signature = inspect.signature(form)
    help = nearest(form, kwargs, args)
    known = {word: value for word, value in kwargs.items() if word in signature.parameters}
    try:
        bound = signature.bind_partial(*args, **known).arguments
    except TypeError as unbound:
        return _Amiss(len(args) + len(kwargs), 0, str(unbound), help)
    wrong = [f"got an unexpected keyword argument {word!r}" for word in kwargs if word not in known]
    wrong += [
        f"{name} must be {_told(name)}, not {type_name(value)}"
        for name, value in bound.items()
        if not _fits(name, value)
    ]
    missing = [
        name
        for name, each in signature.parameters.items()
        if each.default is each.empty and name not in bound
    ]
    lacks = [f"missing a required argument: {name!r}" for name in missing]
    return _Amiss(len(wrong), len(missing), (wrong + lacks)[0], help)


_KINDS: dict[str, tuple[type, ...]] = {
    "input_tensor": (Tensor,),
    "dim": (int,),
    "num_devices": (int,),
    "cluster_axis": (int, type(None)),
    "mesh_device": (MeshDevice, type(None)),
    "persistent_output_buffer": (Tensor, type(None)),
    "buffer_tensor": (Tensor,),
    "math_op": (ReduceType,),
}


def _told(name: str) -> str:
    signal = _signal(name)
    if signal is not None:
        return signal.text
    return " or ".join("None" if kind is type(None) else kind.__name__ for kind in _KINDS[name])


def _fits(name: str, value: Any) -> bool:
    if name in _KINDS:
        return isinstance(value, _KINDS[name])
    kind = _signal(name)
    return kind is None or kind.takes(value)


def _signal(name: str) -> Kind | None:
    """The kind of an argument that only says how devices signal each other, and would be ignored whatever it is."""
    told = name == "subdevice_id" or name.endswith(("semaphore", "semaphores"))
    return kind_by_name(name) if told else None
