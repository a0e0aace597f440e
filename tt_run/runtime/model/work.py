"""What is asked of the hardware, and what the answer looks like: small values, checked when built."""

from __future__ import annotations

from dataclasses import dataclass, field

FORMAT_BYTES = {
    "float32": 4.0,
    "int32": 4.0,
    "uint32": 4.0,
    "bfloat16": 2.0,
    "uint16": 2.0,
    "uint8": 1.0,
    "bfloat8_b": 1 + 1 / 16,
    "bfloat4_b": 1 / 2 + 1 / 16,
}
"""Bytes per element of a tile; block formats share one exponent among 16 elements."""
FIDELITIES = {"LoFi": 1, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}
"""Passes of the multiplier over its operands: each costs the LoFi time once more."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Predicted time of one piece of work: microseconds, the part that bounds it, and each part's own time.

    `parts` are compute, dram, link, latency and dispatch; those that overlap do not add up to `us`.
    """

    us: float
    bound: str
    parts: dict[str, float] = field(default_factory=dict)


def cost_of(parts: dict[str, float], us: float | None = None) -> Cost:
    """A cost whose parts follow each other, or overlap when `us` is given; what bounds it is its largest part."""
    return Cost(sum(parts.values()) if us is None else us, max(parts, key=lambda name: parts[name]), parts)


@dataclass(frozen=True, slots=True)
class Matmul:
    """`[m, k] x [k, n]`, `batch` times. `program` is how the cores share it: `2d` (multicast over a grid, the default of large ones),
    `1d` (each core a slice of n, activations broadcast), `few` (the quicker of the two, of low m), `batched` (both operands have the batch,
    whose products are shared), `dram_sharded` (weights are read from their banks) or `ring` (activations go round a ring of cores that
    hold their weights, as decoders on a Galaxy do).
    """

    m: int
    k: int
    n: int
    batch: int = 1
    activations: str = "bfloat16"
    weights: str = "bfloat16"
    output: str = "bfloat16"
    fidelity: str = "HiFi2"
    grid: tuple[int, int] | None = None
    program: str = "2d"
    traced: bool = True


@dataclass(frozen=True, slots=True)
class Kernel:
    """An operation that is not a matmul: `units` of its kind of work (see `kernels.py`) on tensors of `bytes` in and out together."""

    name: str
    units: float
    bytes: float = 0.0
    cores: int | None = None
    traced: bool = True


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective of `size` devices in a line or a ring; `bytes` is what one device puts in.

    `implementation` names the row of the data file that gives its set-up and efficiency: `async` (the library's present ones),
    `decode` (fused, from L1, as decoders use them), `prefill` or `old`; of `prefill` each of the `rows` of tiles costs time of its own. `wire` is what the busiest link carries in one direction when
    that was counted on the actual links, with all groups at once; otherwise it follows from the algorithm.
    `detour` are hops around links that are lost.
    """

    kind: str
    size: int
    bytes: float
    ring: bool = False
    links: int | None = None
    packet: int = 4096
    implementation: str = "async"
    wire: float | None = None
    rows: int = 0
    detour: int = 0


@dataclass(frozen=True, slots=True)
class Stream:
    """Packets that the fabric carries in a pattern (`NeighborExchangeUnicast`, `LinearMulticast`, …) with one kind of write."""

    pattern: str
    write: str
    packet: int
    links: int = 1


@dataclass(frozen=True, slots=True)
class Ping:
    """One packet of `payload` bytes there and back over `hops` links each way."""

    pattern: str
    write: str
    payload: int
    hops: int = 1


@dataclass(frozen=True, slots=True)
class Together:
    """Works of one fused operation that run at the same time on cores of their own: it takes as long as the longest of them."""

    works: tuple[Matmul | Kernel | Collective, ...]


Work = Matmul | Kernel | Collective | Together
