"""Functions of one device's shards, for operations that do not work on whole stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine_all

Array = npt.NDArray[Any]


def on_each_device(function: Callable[..., Sequence[Array]], *given: Tensor) -> list[Shards]:
    """The results of `function` of the shards of each device; devices that hold the same ones share them."""

    def compute(*stacks: Array) -> list[Array]:
        if not len(stacks[0]):  # a run in shapes: what comes of zeros has the shape
            bare = function(*(np.zeros(stack.shape[1:], stack.dtype) for stack in stacks))
            return [values[None][:0] for values in bare]
        rows = [function(*shards) for shards in zip(*stacks, strict=True)]
        return [np.stack(results) for results in zip(*rows, strict=True)]

    return combine_all(compute, *(t.shards for t in given))


def one_on_each_device(function: Callable[..., Array], *given: Tensor) -> Shards:
    """The one result of `function` of the shards of each device."""
    return on_each_device(lambda *shards: (function(*shards),), *given)[0]
