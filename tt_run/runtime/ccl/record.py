"""A collective is one record: what it refuses, how it computes, how its data travels, how its result is spread.

The guard takes the signature from its plan, the ledger and a model of time its traffic pattern, a run without values its shapes. There is
no other table of collectives: what is not declared here cannot run, and what has no traffic pattern cannot be declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from mgd.lean import dataclass
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.topology import TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.traffic import Pattern


class Intent(NamedTuple):
    """What a call asks for, its arguments checked.

    `shape` is that of a device's result, None when it is the tensor's; `arguments` follow the rows of an exchange into the algorithm;
    `detail` is what else the ranks must agree on; `elements` are those that each device contributes, None for all of its shard; `traffic`
    is how they travel, None for the collective's own pattern.
    """

    shape: tuple[int, ...] | None = None
    dim: int | None = None
    arguments: tuple[Any, ...] = ()
    detail: str = ""
    elements: int | None = None
    traffic: Pattern | None = None


Checking = Callable[[Tensor, MeshDevice, int | None, Any], Intent]
"""(tensor, its mesh, cluster axis, what else was asked for) to an intent. Raises what the reference refuses."""
Placing = Callable[[Tensor, MeshDevice, int | None, int | None], TensorTopology]
"""(tensor, its mesh, cluster axis, dimension) to the placements of the result."""
Fitting = Callable[[Tensor, Sequence[int], int | None, MemoryConfig, int], None]
"""(tensor, shape of the result, dimension, memory of the result, devices of a group). Raises what the reference refuses of places."""

Moving = Callable[[Sequence[Sequence[int]], Sequence[Any]], Sequence[tuple[int, ...]]]
"""(groups of the axis, arguments of the algorithm) to the groups over which data moves, the sender first."""


@dataclass(frozen=True, eq=False)
class Collective:
    """A collective. `algorithm(rows, *arguments)` runs on each exchange of a rank once all ranks have agreed.

    Making one enters it into the catalogue. Raises TypeError without a traffic pattern and ValueError for a name that is taken.
    """

    name: str
    check: Checking
    algorithm: Callable[..., Any]
    traffic: Pattern
    placing: Placing
    several: bool = False
    """Whether the algorithm gives one result for each member of a group."""
    fitting: Fitting | None = None
    """What is refused of where the tensor lies and the result is to lie."""
    from_one: bool = False
    """Whether the shard of one device is sent: what the others hold does not count, even where they should hold the same."""
    moving: Moving | None = None
    """Between which devices data moves, where that is not all of each group."""

    def __post_init__(self) -> None:
        if not isinstance(self.traffic, Pattern):
            raise TypeError(
                f"the collective {self.name} has no traffic pattern, so its bytes could not be counted: "
                "name one of tt_run.runtime.traffic"
            )
        if self.name in _COLLECTIVES:
            raise ValueError(f"there is a collective {self.name} already")
        _COLLECTIVES[self.name] = self


_COLLECTIVES: dict[str, Collective] = {}
COLLECTIVES: Mapping[str, Collective] = MappingProxyType(_COLLECTIVES)
"""Every collective by its name in events and signatures."""


def collective_named(name: str) -> Collective:
    """The record behind an event. Raises LookupError for a collective that was never declared."""
    found = _COLLECTIVES.get(name)
    if found is None:
        raise LookupError(
            f"an event tells of a collective {name!r}, which has no record: declare it with `Collective`"
        )
    return found
