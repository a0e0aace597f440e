"""`ttml.ops.dropout`: elements kept with probability 1 - p and scaled by 1 / (1 - p); the same mask in the backward pass.

The mask comes from the context's generator, so a seed repeats it, and its draw depends on the shape of a shard alone: the same on every
device and on any split over ranks. `use_per_device_seed` draws one mask for each device of the mesh, in mesh order.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


def require_probability(probability: Any) -> None:
    """Raise TypeError for what is no number, RuntimeError for one outside of [0, 1]."""
    if not isinstance(probability, Real):
        raise TypeError(f"dropout: 'probability' must be a float, not {type_name(probability)}; help: 0.1")
    if not 0.0 <= float(probability) <= 1.0:
        raise RuntimeError(f"dropout: the probability is in [0, 1], not {probability}; help: 0.1")


@recorded
def dropout(tensor: Tensor, probability: float, use_per_device_seed: bool = False) -> Tensor:
    """The masked and scaled tensor; the tensor itself when `probability` is 0, zeros when it is 1. Raises RuntimeError outside of [0, 1]."""
    require_probability(probability)
    if probability == 0.0:
        return tensor
    x = tensor.get_value()
    mask = _mask(x, probability, use_per_device_seed)
    value = stacks.elementwise(np.multiply, x, mask, dtype=x.dtype)
    return result(
        value,
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.elementwise(np.multiply, gradient, mask, dtype=x.dtype)),
    )


def _mask(x: Value, probability: float, per_device: bool) -> Value:
    generator = AutoContext.get_instance().generator
    # 16 random bits decide about an element: half the draws of a float32, and the probability is still right to 8e-6.
    kept = 1.0 - probability
    below, scale = round(kept * 65536), np.float32(1.0 / kept if kept else 0.0)
    shape = x.shards.shape
    count = math.prod(shape)

    def draw() -> np.ndarray:
        if shapes.active():
            return shapes.zeros(shape, np.float32)
        bits = np.frombuffer(generator.bytes(2 * count), "<u2")
        return np.multiply(bits < below, scale, out=empty((count,), np.float32)).reshape(shape)

    index = x.shards.index
    if not per_device or shapes.active():
        stack, rows = draw()[None], tuple(-1 if row < 0 else 0 for row in index)
    else:
        # Every rank draws for every device of the mesh, so that a device's mask does not depend on the split.
        device = x.device()
        positions = device.local_positions if device is not None else tuple(range(len(index)))
        everyone = [draw() for _ in range(device.get_num_devices() if device is not None else len(index))]
        own = sorted(positions)
        stack, rows = (
            np.stack([everyone[p] for p in own]),
            tuple(-1 if r < 0 else i for i, r in enumerate(index)),
        )
    return x.derive(Shards(stack, rows))
