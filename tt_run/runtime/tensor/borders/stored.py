"""What a tensor file holds, whichever of the two formats it has."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.spec.topology import TensorTopology
from tt_run.runtime.values import shapes
from tt_run.runtime.values.shards import Shards


@dataclass(frozen=True)
class StoredTensor:
    """Shards counted over all positions of a mesh shape, their spec and their topology."""

    spec: TensorSpec
    shards: Shards
    mesh: tuple[int, ...]
    topology: TensorTopology


def rest_of(file: BinaryIO, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """What follows in a file. In a run in shapes it is mapped and never read: only how much there is counts."""
    kind, start = np.dtype(dtype), file.tell()
    if not shapes.active():
        return np.fromfile(file, kind)
    count = (os.fstat(file.fileno()).st_size - start) // kind.itemsize
    return np.memmap(file, kind, "r", start, (count,)) if count else np.empty(0, kind)
