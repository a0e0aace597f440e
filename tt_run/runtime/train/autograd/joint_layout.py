"""Joint matrices, as queries beside keys beside values, cut over devices so that each has its part of every one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.values import shapes

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class JointLayout:
    """How a joint matrix lies when it is cut: `dim` holds `sections` side by side, and each of `parts` cuts has a part of every one.

    [q | k | v] over two devices is stored as [q0 k0 v0 | q1 k1 v1]. Sections are as many equal ones, or the sizes of each to one another.
    """

    dim: int
    sections: int | tuple[int, ...]
    parts: int

    def dealt(self, array: Array) -> Array:
        """The whole matrix in the order in which it is cut."""
        sections = [np.split(whole, self.parts, self.dim) for whole in self._cut(array)]
        return self._joined(array, [each[part] for part in range(self.parts) for each in sections])

    def gathered(self, array: Array) -> Array:
        """Undo `dealt`."""
        parts = [self._cut(own) for own in np.split(array, self.parts, self.dim)]
        return self._joined(array, [each for section in zip(*parts, strict=True) for each in section])

    def _cut(self, array: Array) -> list[Array]:
        """The sections of the whole matrix, or of one part."""
        sizes = (1,) * self.sections if isinstance(self.sections, int) else self.sections
        width = array.shape[self.dim]
        return np.split(
            array, [sum(sizes[:count]) * width // sum(sizes) for count in range(1, len(sizes))], self.dim
        )

    def _joined(self, array: Array, pieces: list[Array]) -> Array:
        return array if shapes.active() else np.concatenate(pieces, self.dim)
