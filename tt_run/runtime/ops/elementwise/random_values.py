"""Random tensors: normal, uniform in place, and coin tosses. Source: reference library 0.81.1.

Every rank draws the same numbers, so a program means the same on any split; a seed of 0 or None takes the next of a fixed sequence.
The numbers are NumPy's, not a device's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.tensor.creation.from_shape import random_source, uniform_values, values_for_every_device
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

Array = npt.NDArray[Any]


@operation("ttnn.randn", family=families.RANDOM, direct=True, golden=creation_goldens.drawn("randn"))
def randn(
    shape: Sequence[int] | Shape,
    device: MeshDevice,
    *,
    dtype: DataType = DataType.BFLOAT16,
    layout: Layout = Layout.TILE,
    memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
    compute_kernel_config: object = None,
    seed: int | None = None,
) -> Tensor:
    """Values of the normal distribution with mean 0 and variance 1, the same on every device."""
    if dtype not in (DataType.FLOAT32, DataType.BFLOAT16):
        raise fatal(
            "Randn: Output tensor must be Float32 or Bfloat16", hint="dtype=ttnn.bfloat16, and ttnn.typecast"
        )
    dims, source = tuple(Shape(shape)), random_source(seed)
    values = shapes.zeros(dims, np.float32) if shapes.active() else source.standard_normal(dims, np.float32)
    return values_for_every_device(values, device, dtype, layout, memory_config)


def _uniform(
    input: Tensor,
    low: float = 0,
    high: float = 1,
    seed: int = 0,
    *,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    **named: float,
) -> Tensor:
    """Overwrite a tensor with uniform values between `from` and `to`; returns it."""
    low, high = named.pop("from", low), named.pop("to", high)
    if named:
        raise TypeError(f"got an unexpected keyword argument {next(iter(named))!r}")
    on_device(input, kind="uniform")
    if input.dtype not in (DataType.FLOAT32, DataType.BFLOAT16):
        raise fatal(
            "Uniform: Input tensor must be Float32 or Bfloat16", hint=f"the input is {cpp(input.dtype)}"
        )
    values = uniform_values(random_source(seed), tuple(input.shape), low, high, input.dtype)
    stored = convert(values, input.dtype)
    input.overwrite(input.shards.map(lambda stack: np.broadcast_to(stored, stack.shape)))
    return input


uniform = operation(
    "ttnn.uniform",
    "uniform(input: ttnn.Tensor, from: float = 0, to: float = 1, seed: int = 0, *, memory_config: ttnn.MemoryConfig | None = None, "
    "compute_kernel_config: object = None) -> ttnn.Tensor",
    family=families.RANDOM,
    golden=creation_goldens.uniform,
)(_uniform)


@operation("ttnn.bernoulli", family=families.RANDOM, golden=creation_goldens.bernoulli)
def bernoulli(
    input: Tensor,
    seed: int = 0,
    *,
    output: Tensor | None = None,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """1 with the probability that an element says, else 0; FLOAT32 unless `dtype` says otherwise. Raises RuntimeError for rows and other types."""
    on_device(input, kind="bernoulli")
    if input.dtype not in (DataType.FLOAT32, DataType.BFLOAT16):
        raise fatal(
            "Bernoulli: Input tensor must be Float32 or Bfloat16", hint="ttnn.typecast(tensor, ttnn.bfloat16)"
        )
    if input.layout is not Layout.TILE:
        raise fatal(
            "Bernoulli: Input tensor must be tilized", hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)"
        )
    shape = tuple(input.shape)
    coins: Any = random_source(seed).random(math.prod(shape), np.float32).reshape(shape)
    target = output.dtype if output is not None else dtype or DataType.FLOAT32
    shards = input.shards.map(lambda stack: convert((coins < stack).astype(np.float32), target))
    return settle((input,), shards, target, memory_config=memory_config, output_tensor=output)


@operation("ttnn.experimental.dropout", family=families.RANDOM)
def dropout(
    input_tensor: Tensor,
    probability: float,
    scale: float,
    seed: int,
    *,
    use_per_device_seed: bool = True,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Elements times `scale`, each zero with a probability. The places follow from the seed, to which each device adds its number in the mesh.

    Without `use_per_device_seed` they are the same on every device.
    """
    on_device(input_tensor, kind="dropout")
    floating("dropout", input_tensor)
    if input_tensor.layout is not Layout.TILE and not input_tensor.is_sharded():
        raise fatal(
            "Dropout operation requires tensor to be in Tile layout when working with non-sharded input tensor. "
            f"Input tensor layout: {int(input_tensor.layout)}",
            hint="ttnn.to_layout(x, ttnn.TILE_LAYOUT)",
        )
    if not 0 <= probability <= 1:
        raise fatal(
            f"dropout: a probability from 0 to 1 is needed, got {probability}",
            hint="dropout(tensor, probability=0.1, scale=1 / 0.9, seed=…)",
        )
    sources = [random_source(seed)]
    if use_per_device_seed:  # every rank makes all of them, as a sum of 0 takes the next of the sequence
        others = range(1, math.prod(input_tensor.site.shape))
        sources += [random_source((seed + number) % (1 << 32)) for number in others]

    def dropped(values: Array, source: np.random.Generator) -> Array:
        kept = source.random(tuple(input_tensor.shape), np.float32) >= probability
        factors = np.where(kept, np.float32(scale), np.float32(0))
        return convert(values * factors, input_tensor.dtype)

    held = input_tensor.shards
    if len(sources) == 1:
        shards = held.map(lambda stack: dropped(stack, sources[0]))
    else:
        places = input_tensor.site.local_positions
        own = [
            None if shard is None else dropped(shard, sources[place])
            for shard, place in zip(held.each(), places, strict=True)
        ]
        shards = Shards.from_each(own, like=held.data)
    return settle(
        (input_tensor,), shards, input_tensor.dtype, memory_config=memory_config, output_tensor=output_tensor
    )
