"""What flowed over the links of a mesh graph, for a picture that colours them by it."""

from __future__ import annotations

from collections.abc import Mapping

from mgd.drawing.hierarchy import Bundle
from mgd.drawing.marks import Edge
from mgd.lean import dataclass, field

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Traffic:
    """Amounts by link, both directions together: inside of meshes by (mesh id, lower device, higher device), between meshes by their
    ids, lower first. What is not named is 0."""

    inside: Mapping[Edge, float] = field(default_factory=dict)
    between: Mapping[tuple[int, int], float] = field(default_factory=dict)
    unit: str = "B"

    @property
    def most(self) -> float:
        """The largest amount on one line of the picture."""
        return max([*self.inside.values(), *self.between.values()], default=0)

    def of_link(self, mesh_id: int, a: int, b: int) -> float:
        """The amount on a link inside of a mesh."""
        return self.inside.get((mesh_id, min(a, b), max(a, b)), 0)

    def of_bundle(self, bundle: Bundle) -> float:
        """The amount between the meshes that a bundle links, each pair of them once."""
        pairs = {(min(joint.meshes), max(joint.meshes)) for joint in bundle.joints}
        return sum(self.between.get(pair, 0) for pair in pairs)

    def shown(self, amount: float) -> str:
        """An amount as people read it: 1.5 GB."""
        for size, letter in _UNITS:
            if amount >= size:
                return f"{amount / size:.3g} {letter}{self.unit}"
        return f"{amount:.3g} {self.unit}"
