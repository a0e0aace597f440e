"""`ttml.ops.sample`: the next token from logits."""

from __future__ import annotations

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train import stacks
from tt_run.runtime.train.operation import recorded
from tt_run.runtime.train.tensor import Tensor


@recorded
def sample_op(
    logits: Tensor, temperature: float, seed: int, logits_padding_mask: Tensor | None = None
) -> Tensor:
    """Ids [B, 1, T, 1] of logits [B, 1, T, V]: the largest at temperature 0, else by Gumbel noise from `seed`.

    `logits_padding_mask` is subtracted: large on padded entries of the vocabulary. Raises RuntimeError for a negative temperature.
    """
    if temperature < 0:
        raise RuntimeError(f"sample_op: the temperature cannot be negative, got {temperature}")
    x = logits.get_value()
    operands = (x,) if logits_padding_mask is None else (x, logits_padding_mask.get_value())
    noise: np.ndarray | float = 0.0
    if temperature > 0:
        generator = np.random.default_rng(seed)
        noise = generator.gumbel(size=tuple(x.shape)).astype(np.float32)

    def pick(*stacks: np.ndarray) -> np.ndarray:
        scores = stacks[0] - stacks[1] if len(stacks) > 1 else stacks[0]
        if temperature > 0:
            scores = scores / np.float32(temperature) + noise
        return scores.argmax(axis=-1, keepdims=True)

    value = stacks.compute(pick, *operands, dtype=DataType.UINT32, layout=Layout.ROW_MAJOR)
    return Tensor(value, requires_grad=False)
