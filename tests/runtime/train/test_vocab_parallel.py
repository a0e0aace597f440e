"""Cross entropy of a vocabulary that is cut over devices against PyTorch's of the whole one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import binary
from tt_run.runtime.train.ops.loss import ReduceType
from tt_run.runtime.train.ops.vocab_parallel import vocab_parallel_cross_entropy_loss
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.sharded_parameters import whole_array

ENTRIES, BATCH, LENGTH = 24, 2, 5


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("reduce", [ReduceType.MEAN, ReduceType.NONE])
@pytest.mark.parametrize("form", [(1, 1), (1, 4), (2, 2)])
def test_values_and_gradients(opened: Any, form: tuple[int, int], reduce: ReduceType, kind: str) -> None:
    """On 2x2 the batch is cut over the rows and the vocabulary over the columns."""
    torch = torch_or_skip()
    device = opened(form, kind, ddp=form[0] > 1, tp=form[1] > 1).get_device()
    generator = np.random.default_rng(4)
    x = 8 * generator.standard_normal((BATCH, 1, LENGTH, ENTRIES), np.float32)
    ids = generator.integers(0, ENTRIES, (BATCH, LENGTH), np.uint32)
    from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
    from tt_run.runtime.tensor.distribution.mappers import create_mesh_mapper
    from tt_run.runtime.tensor.spec.topology import PlacementShard

    both = create_mesh_mapper(device, MeshMapperConfig([PlacementShard(0), PlacementShard(3)]))
    logits = Tensor.from_numpy(x, new_type=DataType.BFLOAT16, mapper=both)
    rows = shard_tensor_to_mesh_mapper(device, 0, 0)
    targets = Tensor.from_numpy(ids, Layout.ROW_MAJOR, DataType.UINT32, rows)
    loss = vocab_parallel_cross_entropy_loss(logits, targets, 1, reduce)
    weights = generator.standard_normal((BATCH, 1, LENGTH, 1), np.float32)
    if reduce is ReduceType.NONE:
        scale = Tensor.from_numpy(weights, new_type=DataType.BFLOAT16, mapper=rows)
        binary.mul(loss, scale).backward()
        weights = whole_array(scale.get_value())
    else:
        loss.backward()

    start = whole_array(logits.get_value())
    tx = torch.tensor(start, requires_grad=True)
    each = torch.nn.functional.cross_entropy(
        tx.view(-1, ENTRIES), torch.tensor(ids.astype(np.int64)).view(-1), reduction="none"
    ).view(BATCH, 1, LENGTH, 1)
    if reduce is ReduceType.NONE:
        (each * torch.tensor(weights)).sum().backward()
        found = whole_array(loss.get_value())
    else:
        # Every row of devices has the mean of its own part of the batch.
        each.view(form[0], -1).mean(1).sum().backward()
        shards = [shard for shard in loss.get_value().shards.each() if shard is not None]
        found, each = np.stack(shards).reshape(form)[:, 0], each.view(form[0], -1).mean(1)
    bound = 3e-6 if kind == "float32" else 2e-2
    for ours, theirs in ((found, each.detach().numpy()), (whole_array(logits.get_grad()), tx.grad.numpy())):
        assert np.abs(ours.reshape(theirs.shape) - theirs).max() <= bound * np.abs(theirs).max()


def test_what_does_not_fit_is_refused(opened: Any) -> None:
    device = opened((1, 4), tp=True).get_device()
    logits = Tensor.from_numpy(
        np.zeros((1, 1, 2, 8), np.float32), mapper=shard_tensor_to_mesh_mapper(device, 3, 1)
    )
    with pytest.raises(RuntimeError, match=r"need 2 integer ids"):
        vocab_parallel_cross_entropy_loss(logits, Tensor.from_numpy(np.zeros((1, 3), np.uint32)), 1)
    with pytest.raises(RuntimeError, match="Unsupported cross entropy"):
        vocab_parallel_cross_entropy_loss(logits, logits, 1, ReduceType.SUM)
