"""One door: what any piece of work costs."""

from __future__ import annotations

from tt_run.runtime.model.collectives import collective
from tt_run.runtime.model.compute import kernel, matmul
from tt_run.runtime.model.hardware import Hardware
from tt_run.runtime.model.work import Collective, Cost, Matmul, Work


def cost(hw: Hardware, work: Work) -> Cost:
    """Predicted time of a matmul, another operation or a collective on a system."""
    if isinstance(work, Matmul):
        return matmul(hw, work)
    if isinstance(work, Collective):
        return collective(hw, work)
    return kernel(hw, work)
