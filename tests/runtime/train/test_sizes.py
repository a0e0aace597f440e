"""Sizes, counts and choices of training to the number, one step to either side."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.multihost import DistributedContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.decoders import flops
from tt_run.runtime.train.models.llama import LlamaConfig
from tt_run.runtime.train.ops import shapes
from tt_run.runtime.train.parallel.tensor_parallel import TPStrategy

Opened = Callable[..., AutoContext]


@pytest.mark.parametrize(
    ("embedding", "given", "hidden"),
    [(384, 0, 1024), (352, 0, 1024), (96, 0, 256), (128, 0, 512), (2048, 0, 5632), (2048, 100, 100)],
)
def test_how_wide_the_feed_forward_layers_of_a_llama_are(embedding: int, given: int, hidden: int) -> None:
    """Two thirds of four times the model's width, rounded down, then up to a multiple of 256."""
    config = LlamaConfig(embedding_dim=embedding, num_heads=1, num_groups=1, intermediate_dim=given)
    assert config.hidden == hidden
    assert given or flops.swiglu_width(embedding) == hidden


def test_operations_of_a_nanogpt() -> None:
    config = SimpleNamespace(n_embd=64, n_layer=3, vocab_size=96, block_size=32)
    assert flops.nanogpt(config, 16) == 6 * ((96 + 32) * 64 + 3 * 12 * 64 * 64) + 12 * 3 * 64 * 16
    assert flops.nanogpt(config, 0) == 6 * (8192 + 147456)


@pytest.mark.parametrize(
    ("tensor", "sequence", "strategy"),
    [
        (False, False, TPStrategy.NONE),
        (True, False, TPStrategy.TENSOR),
        (True, True, TPStrategy.TENSOR_SEQUENCE),
    ],
)
def test_what_two_settings_mean(tensor: bool, sequence: bool, strategy: TPStrategy) -> None:
    found = TPStrategy.from_flags(tensor, enable_sp=sequence)
    assert found is strategy and found.tensor_parallel == tensor
    with pytest.raises(ValueError, match="enable_sp requires enable_tp"):
        TPStrategy.from_flags(False, enable_sp=True)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ((1, 1, 4, 6), (1, 1, 4, 6)),
        ((1, 1, -1, 8), (1, 1, 3, 8)),
        ((-1, 1, 1, 24), (1, 1, 1, 24)),
        ((1, 1, 1, 24), (1, 1, 1, 24)),
        ((1, 1, -1, 7), None),
        ((1, 1, -1, -1), None),
        ((1, 1, 4, 7), None),
        ((1, 1, 0, -1), None),
    ],
)
def test_one_size_of_a_shape_may_be_left_open(
    opened: Opened, asked: tuple[int, ...], found: tuple[int, ...] | None
) -> None:
    opened()
    tensor = Tensor.from_numpy(np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6))
    if found is None:
        with pytest.raises(RuntimeError, match="has 24 elements"):
            shapes.reshape(tensor, asked)
    else:
        made = shapes.reshape(tensor, asked)
        assert tuple(made.shape()) == found and made.to_numpy().ravel().tolist() == list(range(24))


@pytest.mark.parametrize(("ranks", "said"), [([1], "not distinct ranks of 0..0"), ([-1], "not distinct"), ([0, 0], "not distinct"), ([], "rank 0 is not in")])  # fmt: skip
def test_which_ranks_a_context_has(opened: Opened, ranks: list[int], said: str) -> None:
    context = opened()
    context.initialize_distributed_context()
    alone = context.get_distributed_context()
    assert isinstance(alone, DistributedContext) and (alone.size(), alone.rank()) == (1, 0)
    assert alone.create_sub_context([0]).size() == 1
    with pytest.raises(ValueError, match=said):
        alone.create_sub_context(ranks)
