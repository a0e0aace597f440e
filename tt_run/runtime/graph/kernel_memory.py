"""What kernels set aside in L1 in a captured graph: circular buffers, dataflow buffers and scratchpads, core by core.

Graphs captured here hold those of operations by element; those that the reference library captured and a tool saved hold all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tt_run.runtime.graph.nodes import Node

KINDS = {
    "circular_buffer_allocate": "cb",
    "dataflow_buffer_allocate": "dataflow_buffer",
    "scratchpad_allocate": "scratchpad",
}
"""Node of an allocation -> what it is of."""
ALL = "circular_buffer_deallocate_all"
"""The end of everything that kernels set aside, when the next program begins."""


class KernelMemory:
    """What is set aside at a moment: `total` of the program as one number, `on` the core that has most of a kind."""

    def __init__(self) -> None:
        self.total = 0
        self._cores: dict[str, Counter[tuple[int, int]]] = {}

    def take(self, node: Node) -> bool:
        """Follow a node; whether it is one of these."""
        if node["node_type"] == ALL:
            self.total, self._cores = 0, {}
            return True
        kind = KINDS.get(node["node_type"])
        if kind is None:
            return False
        params = node["params"]
        size = int(params["size"])
        # What lies in a tensor's buffer takes no room of its own; of circular buffers the reference's total says it does.
        borrows = any(str(params.get(key, "0")) != "0" for key in ("globally_allocated", "borrows_memory"))
        if kind == "cb" or not borrows:
            self.total += size
        if not borrows:
            self._cores.setdefault(kind, Counter()).update(
                dict.fromkeys(_cores(params.get("core_range_set", "")), size)
            )
        return True

    def on(self, *kinds: str) -> int:
        """Bytes of these kinds on the core that has most of them."""
        summed: Counter[tuple[int, int]] = Counter()
        for kind in kinds:
            summed.update(self._cores.get(kind, {}))
        return max(summed.values(), default=0)


def _cores(text: str) -> Iterator[tuple[int, int]]:
    """The cores of `{[0-0 - 0-3], [2-0 - 2-1]}`; one that stands for all where the text names none."""
    found = re.findall(r"\[(\d+)-(\d+) - (\d+)-(\d+)\]", text)
    if not found:
        yield 0, 0
    for x, y, last_x, last_y in ((int(n) for n in corner) for corner in found):
        yield from ((column, row) for column in range(x, last_x + 1) for row in range(y, last_y + 1))
