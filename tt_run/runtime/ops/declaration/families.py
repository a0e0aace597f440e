"""The families of operations: what the operations of a table have in common.

An operation is declared once, by `operation(name, family=…)` above its function or by a row of its family's table. From the
declaration come the call, its signature, the published name, stubs, the table of the documentation, cost and tests.
"""

from __future__ import annotations

from mgd.lean import dataclass
from tt_run.runtime.ops.declaration import costs
from tt_run.runtime.ops.declaration.costs import Cost

NUMPY = "NumPy"
TORCH = "PyTorch"


@dataclass(frozen=True)
class Family:
    """Operations of one kind. `engine` names the library that computes them unless an operation says otherwise."""

    name: str
    cost: Cost
    engine: str = NUMPY


UNARY = Family("elementwise, one operand", costs.ELEMENTWISE)
BINARY = Family("elementwise, two operands", costs.ELEMENTWISE)
TERNARY = Family("elementwise, three operands", costs.ELEMENTWISE)
COMPLEX = Family("complex numbers", costs.ELEMENTWISE)
QUANTIZATION = Family("quantization", costs.ELEMENTWISE)
REDUCTION = Family("reduction", costs.REDUCTION)
RUNNING = Family("running reduction", costs.REDUCTION)
LOSS = Family("loss", costs.REDUCTION)
NORM = Family("normalisation", costs.NORM)
MATMUL = Family("matrix product", costs.MATMUL)
ATTENTION = Family("attention", costs.ATTENTION)
ROTARY = Family("rotary embedding", costs.ELEMENTWISE)
HEADS = Family("attention heads", costs.MOVEMENT)
CACHE = Family("key and value cache", costs.MOVEMENT)
EMBEDDING = Family("embedding", costs.MOVEMENT)
MOVEMENT = Family("data movement", costs.MOVEMENT)
CONVERSION = Family("layout and element type", costs.MOVEMENT)
SORT = Family("sorting and selection", costs.SORT)
CREATION = Family("creation", costs.CREATION)
BORDER = Family("host and device", costs.MOVEMENT)
RANDOM = Family("random numbers", costs.CREATION)
COLLECTIVE = Family("collective", costs.COLLECTIVE)
SOCKET = Family("socket", costs.COLLECTIVE)
EXPERTS = Family("mixture of experts", costs.MOVEMENT)
BACKWARD = Family("backward", costs.ELEMENTWISE, TORCH)
MOREH = Family("moreh", costs.REDUCTION, TORCH)
CONVOLUTION = Family("convolution", costs.CONVOLUTION, TORCH)
POOL = Family("pooling and resampling", costs.POOL, TORCH)
KERNEL = Family("kernels of a device", costs.CREATION, "none")
OPTIMIZER = Family("optimizer step", costs.ELEMENTWISE)
