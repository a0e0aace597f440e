"""The graph of a forward pass: nodes in the order they were made, each with its backward rule and the nodes it leads to."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable

from mgd.lean import dataclass, field

BackwardRule = Callable[[], None]


class GradMode(enum.Enum):
    """ENABLED records backward nodes; DISABLED records none, for inference and in-place updates."""

    ENABLED = 0
    DISABLED = 1


class PreferredPrecision(enum.Enum):
    """What `Tensor.get_value` gives: HALF rounds float32 to bfloat16; FULL and NATIVE return what is stored, in its own type."""

    HALF = 0
    FULL = 1
    NATIVE = 2


@dataclass(frozen=True, slots=True)
class NodeId:
    """A node's number in one graph; a reset starts a new graph, and ids of the old one lead nowhere."""

    graph: int
    number: int


def _released() -> None:
    raise RuntimeError(
        "[Tensor::backward] This backward function should not be called! Memory from the node is released! "
        "help: call backward(retain_graph=True) the first time to call it again."
    )


def _without_rule() -> None:
    raise RuntimeError("the GraphNode has no backward rule; help: node.grad_function = rule")


@dataclass(slots=True)
class GraphNode:
    """One step of the forward pass: its backward rule and the nodes of its inputs."""

    grad_function: BackwardRule = _without_rule
    links: tuple[int, ...] = ()


@dataclass()
class Graph:
    """All nodes since the last reset."""

    generation: int = 0
    nodes: list[GraphNode] = field(default_factory=list)
    within: Graph | None = None
    """The graph whose backward pass runs this one, of a part that is computed again."""
    is_running: bool = False
    """Whether a backward pass is under way."""
    is_retained: bool = False
    """Whether the pass that is under way keeps the graph for another one."""
    _afterwards: list[BackwardRule] = field(default_factory=list)

    def outermost(self) -> Graph:
        """The graph whose backward pass the program called."""
        return self if self.within is None else self.within.outermost()

    def after_backward(self, call: BackwardRule) -> None:
        """Call once when the backward pass that is under way is through."""
        self._afterwards.append(call)

    def add_node(self, grad_function: BackwardRule, links: Iterable[NodeId]) -> NodeId:
        """A new node behind the nodes `links`; ids of an earlier graph are leaves here."""
        known = tuple(link.number for link in links if link.graph == self.generation)
        self.nodes.append(GraphNode(grad_function, known))
        return NodeId(self.generation, len(self.nodes) - 1)

    def get_graph_nodes(self) -> list[GraphNode]:
        """The nodes in the order they were made."""
        return list(self.nodes)

    def get_edges(self) -> list[list[NodeId]]:
        """For each node the nodes of its inputs."""
        return [[NodeId(self.generation, link) for link in node.links] for node in self.nodes]

    def backward(self, start: NodeId, retain: bool) -> None:
        """Run the rules from `start` in reverse topological order; nodes are made after their inputs, so that is by number."""
        if start.graph != self.generation:
            _released()
        reached = {start.number}
        pending = [start.number]
        while pending:
            for link in self.nodes[pending.pop()].links:
                if link not in reached:
                    reached.add(link)
                    pending.append(link)
        self.is_running, self.is_retained = True, retain
        try:
            self._run(sorted(reached, reverse=True), retain)
        finally:
            self.is_running = self.is_retained = False
            calls, self._afterwards = self._afterwards, []
        for call in calls:
            call()

    def _run(self, numbers: Iterable[int], retain: bool) -> None:
        for number in numbers:
            node = self.nodes[number]
            node.grad_function()
            if not retain:
                # Letting go of the closure frees the activations it holds as the pass moves on.
                node.grad_function = _released

    def reset(self) -> None:
        """Forget every node."""
        self.generation += 1
        self.nodes.clear()
