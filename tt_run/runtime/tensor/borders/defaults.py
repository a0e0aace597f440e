"""`ttnn.distribute`: a mapper or composer as the default of `ttnn.from_torch` or `ttnn.to_torch` inside a `with` block."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any, Literal

from tt_run.runtime.tensor.borders import arrays
from tt_run.runtime.tensor.distribution.composers import MeshToTensor
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMeshWrapper, TensorToMesh

_MODULE = "ttnn"


class distribute:
    """`with ttnn.distribute(mapper): …` maps what `ttnn.from_torch` makes; with a composer, `ttnn.to_torch` composes.

    It replaces the attribute of module `ttnn` for the whole process, so a name imported before (`from ttnn import from_torch`) is not
    affected, and an explicit keyword wins. Raises ValueError on entry for anything that is neither mapper nor composer.
    """

    def __init__(self, default: TensorToMesh | ReplicateTensorToMeshWrapper | MeshToTensor) -> None:
        self._default = default
        self._replaced: list[tuple[ModuleType, str, Callable[..., Any]]] = []

    def __enter__(self) -> None:
        if isinstance(self._default, (TensorToMesh, ReplicateTensorToMeshWrapper)):
            name, keyword = "from_torch", "mesh_mapper"
        elif isinstance(self._default, MeshToTensor):
            name, keyword = "to_torch", "mesh_composer"
        else:
            raise ValueError("Argument must be an instance of either TensorToMesh or MeshToTensor.")
        module = sys.modules.get(_MODULE)
        if module is None:
            raise RuntimeError(
                f"ttnn.distribute replaces attributes of module {_MODULE}, which is not imported"
            )
        original = getattr(module, name)
        self._replaced.append((module, name, original))
        setattr(module, name, functools.partial(original, **{keyword: self._default}))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        module, name, original = self._replaced.pop()
        setattr(module, name, original)
        return False


def current_from_torch() -> Callable[..., Any]:
    """`ttnn.from_torch` as it is now, replaced by `distribute` or not."""
    return getattr(sys.modules.get(_MODULE), "from_torch", arrays.from_torch)
