"""Gradients that are averaged within the backward pass, and numbers put into tensors that are there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.tensor.borders.arrays import to_numpy
from tt_run.runtime.train.autograd.assigning import assign_numpy
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops import unary
from tt_run.runtime.train.parallel.data_parallel import DistributedDataParallel
from tt_run.runtime.train.parallel.distributed import (
    concat_mesh_to_tensor_composer,
    shard_tensor_to_mesh_mapper,
    synchronize_gradients,
)


class Twice(AbstractModuleBase):
    """One layer that is used twice, and one that the backward pass does not reach."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.idle, self.config = LinearLayer(32, 32), LinearLayer(32, 32), "sizes"

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(unary.relu(self.layer(x)))


def gradients(context: AutoContext, wrapped: bool) -> dict[str, bytes]:
    context.set_seed(3)
    model = Twice()
    device = context.get_device()
    draw = np.random.default_rng(1).standard_normal((4, 1, 32, 32), np.float32)
    x = Tensor.from_numpy(draw, new_type=DataType.BFLOAT16, mapper=shard_tensor_to_mesh_mapper(device, 0, 0))
    run: Any = DistributedDataParallel(model, [0]) if wrapped else model
    unary.mean(run(x)).backward()
    context.reset_graph()
    if not wrapped:
        synchronize_gradients(model.parameters(), [0])
    composer = concat_mesh_to_tensor_composer(device, 0)
    return {
        name: to_numpy(tensor.get_grad(), composer).tobytes()
        for name, tensor in model.parameters().items()
        if tensor.is_grad_initialized()
    }


@pytest.mark.parametrize("arithmetic", ["float32", "bfloat16"])
def test_the_backward_pass_averages(opened: Any, arithmetic: str) -> None:
    """The same bits as averaging afterwards, on every device."""
    context = opened((2, 2), arithmetic, ddp=True, tp=True)
    alone, wrapped = gradients(context, False), gradients(context, True)
    assert wrapped == alone and len(alone) == 2
    whole = np.frombuffer(alone["Twice/layer/bias"], np.uint8).reshape(4, -1)
    assert (whole == whole[0]).all()


def test_it_passes_for_the_module(opened: Any) -> None:
    opened((2, 1), ddp=True)
    model = Twice()
    wrapped = DistributedDataParallel(model, sync_axes=[0])
    assert list(wrapped.parameters()) == list(model.parameters()) and wrapped.config == "sizes"
    wrapped.config = "others"
    assert model.config == "others"
    wrapped.eval()
    assert model.get_run_mode() is wrapped.get_run_mode()
    with pytest.raises(AttributeError):
        _ = wrapped.missing


@pytest.mark.parametrize("kind", [DataType.FLOAT32, DataType.BFLOAT16])
def test_numbers_keep_the_type_of_their_tensor(opened: Any, kind: DataType) -> None:
    context = opened((1, 2), "bfloat16", tp=True)
    tensor = Tensor.from_numpy(np.zeros((1, 1, 32, 32), np.float32), new_type=kind)
    draw = np.random.default_rng(0).standard_normal((1, 1, 32, 64)).astype(np.float64)
    assign_numpy(tensor, draw, mapper=shard_tensor_to_mesh_mapper(context.get_device(), 3, 1))
    value = tensor.get_value(PreferredPrecision.NATIVE)
    assert value.dtype is kind
    held = to_numpy(value, concat_mesh_to_tensor_composer(context.get_device(), 3)).astype(np.float32)
    if kind is DataType.FLOAT32:
        assert np.array_equal(held, draw.astype(np.float32))
    else:
        assert np.abs(held - draw).max() <= 2**-8 * np.abs(draw).max()


def test_numbers_of_other_types_are_refused(opened: Any) -> None:
    opened()
    ids = Tensor.from_numpy(np.zeros((1, 1, 1, 32), np.uint32), Layout.ROW_MAJOR, DataType.UINT32)
    with pytest.raises(ValueError, match=r"unsupported tensor dtype .*UINT32 \(only FLOAT32 and BFLOAT16\)"):
        assign_numpy(ids, np.ones((1, 1, 1, 32)))
