"""Muon: the iteration makes matrices nearly orthogonal, a step is what the rule says, a cut parameter moves as the whole one."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.optimizers.muon import Muon, MuonConfig, NoOp, orthogonal
from tt_run.runtime.train.optimizers.registry import MuonWithAdamW, create_optimizer
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.named_mesh import Mesh, mesh, open_device_mesh
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.parametrize("shape", [(8, 24), (24, 8), (16, 16)])
def test_singular_values_come_near_to_one(shape: tuple[int, int]) -> None:
    found = np.linalg.svd(orthogonal(draw(*shape), 6), compute_uv=False)
    assert 0.3 < found.min() <= found.max() < 1.3


def test_both_optimizers_are_a_class(opened: Any) -> None:
    """What the configuration makes is of the class that programs import, and derive from."""
    opened()
    parameters = {"block/weight": Tensor.from_numpy(draw(1, 1, 6, 10))}
    assert inspect.isclass(MuonWithAdamW)
    for made in (MuonWithAdamW({}, parameters), create_optimizer({"type": "MuonWithAdamW"}, parameters)):
        assert isinstance(made, MuonWithAdamW) and made.get_name() == "MuonWithAdamW"


def test_steps_follow_the_rule(opened: Any) -> None:
    opened()
    start, slopes = draw(1, 1, 6, 10), [draw(1, 1, 6, 10, seed=1), draw(1, 1, 6, 10, seed=2)]
    parameter = Tensor.from_numpy(start)
    optimizer = Muon({"p": parameter}, MuonConfig.make(lr=0.5, momentum=0.9, ns_steps=5))
    buffer, expected = np.zeros_like(start), start.copy()
    for slope in slopes:
        parameter.set_grad(Tensor.from_numpy(slope).get_value())
        optimizer.step()
        buffer = np.float32(0.9) * buffer + slope
        expected -= np.float32(0.5) * orthogonal(buffer, 5)
    np.testing.assert_allclose(parameter.to_numpy(), expected, rtol=1e-5, atol=1e-6)
    assert optimizer.get_steps() == 2


def test_a_cut_parameter_moves_as_the_whole_one(opened: Any) -> None:
    found = []
    for parts in (1, 4):
        context = opened((1, parts), tp=parts > 1)
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 2, 1) if parts > 1 else None
        parameter = Tensor.from_numpy(draw(1, 1, 8, 12), mapper=mapper)
        parameter.set_grad(Tensor.from_numpy(draw(1, 1, 8, 12, seed=1), mapper=mapper).get_value())
        Muon({"p": parameter}, MuonConfig.make(lr=0.5)).step()
        found.append(whole_parameter(parameter))
    assert found[0].tobytes() == found[1].tobytes()


def test_no_op_counts_and_changes_nothing(opened: Any) -> None:
    opened()
    parameter = Tensor.from_numpy(draw(1, 1, 2, 2))
    before = parameter.to_numpy().tobytes()
    parameter.set_grad(parameter.get_value())
    optimizer = NoOp({"p": parameter})
    optimizer.step()
    assert (parameter.to_numpy().tobytes(), optimizer.get_steps()) == (before, 1)


def test_a_mesh_has_named_axes(opened: Any) -> None:
    context = opened()
    context.close_device()
    made = Mesh((2, 4), ("data", "model"))
    open_device_mesh(made)
    assert mesh() is made
    assert (made.axis("model"), made.size("model"), list(context.get_device().shape)) == (1, 4, [2, 4])
    with pytest.raises(ValueError, match="no axis 'rows'; its axes are data, model"):
        made.axis("rows")
    with pytest.raises(ValueError, match="an assigned name of its own"):
        Mesh((2, 4), ("x", "x"))
    # A mesh of three axes is a plan that no system of two can open.
    planned = Mesh((2, 1, 2), ("dp", "fsdp", "tp"))
    assert (planned.num_devices(), planned.axis_size("tp")) == (4, 2)
    context.close_device()
    with pytest.raises(RuntimeError, match="2 integers"):
        open_device_mesh(planned)
