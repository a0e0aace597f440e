"""What would gain most: the same work on changed hardware or written another way, and the time it would take then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tt_run.hardware.numbers import Hardware, scaled
from tt_run.runtime.model.cost import in_program
from tt_run.runtime.model.work import Collective, Kernel, Matmul, Together, Work

LEAST = 0.005
"""Part of all time that a change has to save."""

Counted = Iterable[tuple[Work, int]]


@dataclass(frozen=True, slots=True)
class Saving:
    """One thing to change, and the microseconds that it would save of all the work."""

    text: str
    saved_us: float


def gains(hw: Hardware, counted: Counted) -> list[Saving]:
    """All changes that save time worth telling, the most first."""
    works = list(counted)
    now = total(hw, works)
    found = [
        Saving(text, now - total(hw, [(_each(rewrite, w), n) for w, n in works]))
        for text, rewrite in REWRITES
    ]
    for text, factor, meant in FASTER:
        faster = scaled(hw, {key: factor for key in hw.numbers if meant(key)})
        found.append(Saving(text, now - total(faster, works)))
    return sorted((c for c in found if c.saved_us > now * LEAST), key=lambda c: -c.saved_us)


def total(hw: Hardware, works: Counted) -> float:
    """Microseconds of all works, one after the other."""
    return sum(in_program(hw, work).us * count for work, count in works)


def _each(rewrite: Callable[[Work], Work], work: Work) -> Work:
    """A work rewritten, or each of those that run together."""
    if not isinstance(work, Together):
        return rewrite(work)
    found: Any = tuple(rewrite(one) for one in work.works)
    return replace(work, works=found)


def _traced(work: Work) -> Work:
    return replace(work, traced=True) if isinstance(work, (Matmul, Kernel)) else work


def _block_float(work: Work) -> Work:
    wide = isinstance(work, Matmul) and work.weights in ("bfloat16", "float32")
    return replace(work, weights="bfloat8_b") if wide and isinstance(work, Matmul) else work


def _lower_fidelity(work: Work) -> Work:
    lower = {"HiFi4": "HiFi2", "HiFi3": "HiFi2", "HiFi2": "LoFi"}
    return (
        replace(work, fidelity=lower.get(work.fidelity, work.fidelity)) if isinstance(work, Matmul) else work
    )


def _sharded(work: Work) -> Work:
    few = isinstance(work, Matmul) and work.program in ("1d", "few")
    return replace(work, program="dram_sharded") if few and isinstance(work, Matmul) else work


def _in_l1(work: Work) -> Work:
    return replace(work, bytes=0.0) if isinstance(work, Kernel) else work


def _closed(work: Work) -> Work:
    line = isinstance(work, Collective) and not work.ring and work.size > 2
    return replace(work, ring=True) if line and isinstance(work, Collective) else work


READ = ("dram.interleaved", "dram.sharded", "dram.attention")
"""Rates at which operations read DRAM."""
REWRITES: tuple[tuple[str, Callable[[Work], Work]], ...] = (
    ("capture the operations in a trace", _traced),
    ("weights of matmuls in bfloat8_b", _block_float),
    ("one step lower math fidelity of matmuls", _lower_fidelity),
    ("weights of matmuls with few rows sharded over the DRAM banks", _sharded),
    ("tensors of operations other than matmuls in L1", _in_l1),
    ("collectives around a ring (a torus) in place of a line", _closed),
)
FASTER: tuple[tuple[str, float, Callable[[str], bool]], ...] = (
    ("twice the channels between neighbours", 2.0, lambda key: key == "fabric.channels"),
    (
        "half the set-up of collectives (fewer, larger ones)",
        0.5,
        lambda key: key.startswith("collectives.") and key.endswith(".setup"),
    ),
    (
        "DRAM faster by half",
        1.5,
        lambda key: key in READ or key.startswith(("matmul.weight_bandwidth", "matmul.activation_bandwidth")),
    ),
)
"""What would be faster, how many times as much, and of which numbers."""
