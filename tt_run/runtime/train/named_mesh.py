"""`ttml.Mesh`: a mesh shape whose axes have names; opened once, asked for anywhere."""

from __future__ import annotations

from dataclasses import dataclass

from tt_run.runtime.train.context import AutoContext


@dataclass(frozen=True)
class Mesh:
    """A mesh of (rows, columns) devices and the names of its two axes. Raises ValueError for names that are not two different ones."""

    shape: tuple[int, int]
    axis_names: tuple[str, str] = ("dp", "tp")

    def __post_init__(self) -> None:
        if len(self.shape) != 2 or len(self.axis_names) != 2 or len(set(self.axis_names)) != 2:
            raise ValueError(
                f"a Mesh has two sides and a name for each, got {self.shape} and {self.axis_names}"
            )

    def axis(self, name: str) -> int:
        """The number of a named axis. Raises ValueError listing the names."""
        if name not in self.axis_names:
            raise ValueError(f"the mesh has no axis {name!r}; its axes are {', '.join(self.axis_names)}")
        return self.axis_names.index(name)

    def size(self, name: str) -> int:
        """Devices along a named axis."""
        return self.shape[self.axis(name)]


_open: Mesh | None = None


def open_device_mesh(mesh: Mesh) -> None:
    """Open the device of a mesh. Raises RuntimeError as `AutoContext.open_device` does."""
    global _open
    AutoContext.get_instance().open_device(mesh.shape)
    _open = mesh


def mesh() -> Mesh:
    """The mesh opened last. Raises RuntimeError when none was."""
    if _open is None:
        raise RuntimeError("no mesh is open; ttml.open_device_mesh(ttml.Mesh((rows, columns))) opens one")
    return _open
