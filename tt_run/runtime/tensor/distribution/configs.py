"""Configurations of mappers and composers: what goes along each axis of the distribution.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.errors import incompatible
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.topology import Placement, PlacementReplicate, PlacementShard

_OVERRIDES = (
    "mesh_shape_override: ttnn._ttnn.multi_device.MeshShape | None = None, "
    "mesh_offset_override: ttnn._ttnn.multi_device.MeshCoordinate = MeshCoordinate([])"
)
_MAPPER_SIGNATURES = (
    "__init__(self, placements: collections.abc.Sequence[ttnn._ttnn.multi_device.PlacementReplicate | "
    f"ttnn._ttnn.multi_device.PlacementShard], {_OVERRIDES}) -> None",
    f"__init__(self, row_dim: int | None = None, col_dim: int | None = None, {_OVERRIDES}) -> None",
)
_COMPOSER_SIGNATURES = (
    f"__init__(self, dims: collections.abc.Sequence[int], {_OVERRIDES}) -> None",
    f"__init__(self, row_dim: int, col_dim: int, {_OVERRIDES}) -> None",
)


class Overrides:
    """The part of the mesh that a configuration speaks of: a shape that replaces the device's, and where it starts."""

    __slots__ = ("_offset", "_shape")

    def __init__(self, shape: MeshShape | None, offset: MeshCoordinate | None) -> None:
        self._shape = shape
        self._offset = offset if offset is not None and offset.dims() else None

    @property
    def mesh_shape_override(self) -> MeshShape | None:
        """Shape of the distribution where it is not the device's own."""
        return self._shape

    @property
    def mesh_offset_override(self) -> MeshCoordinate:
        """Where on the mesh the distribution starts; no dimensions: at the origin."""
        return MeshCoordinate([]) if self._offset is None else self._offset

    def _text(self, what: str) -> str:
        parts = [what]
        if self._shape is not None:
            parts.append(f"mesh_shape_override={self._shape}")
        if self._offset is not None:
            parts.append(f"mesh_offset_override={self._offset}")
        return f"{type(self).__name__}({', '.join(parts)})"


@native("ttnn._ttnn.multi_device.MeshMapperConfig")
class MeshMapperConfig(Overrides, metaclass=Native):
    """One placement per axis of the distribution: `(placements, …)` or `(row_dim=None, col_dim=None, …)`; None replicates.

    Raises TypeError for anything else.
    """

    __slots__ = ("_placements",)
    _bound_name = "ttnn._ttnn.multi_device.MeshMapperConfig"

    def __init__(self, *args: object, **kwargs: object) -> None:
        bound = _bind(args, kwargs, "placements", _is_placements)
        if bound is None:
            raise incompatible("__init__", _MAPPER_SIGNATURES, (self, *args), kwargs)
        first, row, column, shape, offset = bound
        if first is None:
            self._placements: tuple[Placement, ...] = tuple(
                PlacementReplicate() if dim is None else PlacementShard(dim) for dim in (row, column)
            )
        else:
            self._placements = tuple(first)
        super().__init__(shape, offset)

    @property
    def placements(self) -> list[Placement]:
        """One placement per axis."""
        return list(self._placements)

    def __repr__(self) -> str:
        return self._text(f"placements: {list(self._placements)}")


@native("ttnn._ttnn.multi_device.MeshComposerConfig")
class MeshComposerConfig(Overrides, metaclass=Native):
    """One tensor dimension per axis of the distribution to concatenate along: `(dims, …)` or `(row_dim, col_dim, …)`.

    Raises TypeError for anything else.
    """

    __slots__ = ("_dims",)
    _bound_name = "ttnn._ttnn.multi_device.MeshComposerConfig"

    def __init__(self, *args: object, **kwargs: object) -> None:
        bound = _bind(args, kwargs, "dims", _is_dims)
        if bound is None or (bound[0] is None and (bound[1] is None or bound[2] is None)):
            raise incompatible("__init__", _COMPOSER_SIGNATURES, (self, *args), kwargs)
        first, row, column, shape, offset = bound
        self._dims: tuple[int, ...] = (row, column) if first is None else tuple(first)  # type: ignore[assignment]
        super().__init__(shape, offset)

    @property
    def dims(self) -> list[int]:
        """One tensor dimension per axis."""
        return list(self._dims)

    def __repr__(self) -> str:
        return self._text(f"dims: {list(self._dims)}")


_Bound = tuple["Sequence | None", "int | None", "int | None", "MeshShape | None", "MeshCoordinate | None"]


def _bind(args: tuple[object, ...], kwargs: dict[str, object], listed: str, accepts: object) -> _Bound | None:
    """Match the two forms of both configurations. None: neither fits."""
    values = dict(kwargs)
    by_list = listed in kwargs or bool(args and accepts(args[0]))  # type: ignore[operator]
    names = [listed] if by_list else ["row_dim", "col_dim"]
    names += ["mesh_shape_override", "mesh_offset_override"]
    if len(args) > len(names) or any(n in kwargs for n in names[: len(args)]) or set(kwargs) - set(names):
        return None
    values.update(zip(names, args, strict=False))
    first, row, column = values.get(listed), values.get("row_dim"), values.get("col_dim")
    shape, offset = values.get("mesh_shape_override"), values.get("mesh_offset_override")
    fits = (
        (not by_list or accepts(first))  # type: ignore[operator]
        and all(dim is None or (isinstance(dim, int) and not isinstance(dim, bool)) for dim in (row, column))
        and isinstance(shape, MeshShape | None)
        and isinstance(offset, MeshCoordinate | None)
    )
    return (first, row, column, shape, offset) if fits else None  # type: ignore[return-value]


def _is_placements(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(v, (PlacementReplicate, PlacementShard)) for v in value
    )


def _is_dims(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(v, int) and not isinstance(v, bool) for v in value
    )


def rows_and_columns(dims: Sequence[Any]) -> tuple[Any, Any]:
    """The dimensions for the rows and for the columns of a mesh; more are ignored. Raises IndexError for fewer than two."""
    if not hasattr(dims, "__len__") or len(dims) < 2:
        error = (
            IndexError("tuple index out of range")
            if hasattr(dims, "__len__")
            else TypeError(f"object of type '{type(dims).__name__}' has no len()")
        )
        if hasattr(error, "add_note"):
            error.add_note(
                f"dims needs one entry for the rows and one for the columns of the mesh, got {dims}\n"
                "help: dims=(None, 3) has copies in the rows and pieces of dimension 3 in the columns"
            )
        raise error
    return dims[0], dims[1]
