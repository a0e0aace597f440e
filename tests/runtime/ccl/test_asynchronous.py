"""The forms with semaphores give what the plain collectives give."""

import re

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.ccl.asynchronous import (
    all_gather_async,
    all_reduce_async,
    reduce_scatter_minimal_async,
)
from tt_run.runtime.ccl.collectives import all_gather, all_reduce, reduce_scatter
from tt_run.runtime.ccl.gather_forms import all_gather_async_reversed
from tt_run.runtime.ccl.semaphores import (
    create_global_semaphore,
    get_global_semaphore_address,
    reset_global_semaphore_value,
)
from tt_run.runtime.enums import DataType, Layout, ReduceType, Topology
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.ops import typecast, zeros_like
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import CoreCoord, CoreRange, CoreRangeSet


@pytest.fixture
def device():
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


@pytest.fixture
def x(device):
    values = np.random.default_rng(0).standard_normal((1, 1, 16, 64)).astype(np.float32)
    return from_torch(values, layout=Layout.TILE, device=device, mesh_mapper=ShardTensorToMesh(device, dim=3))


@pytest.fixture
def semaphores(device):
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(7, 7))])
    return [create_global_semaphore(device, cores, 0) for _ in range(3)]


def same(a, b):
    assert a.shards.data.tobytes() == b.shards.data.tobytes()
    assert a.shards.index == b.shards.index and tuple(a.shape) == tuple(b.shape)


def test_semaphores_have_addresses_of_their_own(semaphores):
    assert len({get_global_semaphore_address(s) for s in semaphores}) == 3
    reset_global_semaphore_value(semaphores[0], 4)
    assert semaphores[0].value == 4


def test_all_gather_in_its_three_forms(device, x, semaphores):
    same(all_gather_async(x, 3, semaphores[:2], topology=Topology.Ring), all_gather(x, 3))
    same(
        all_gather_async(x, None, 3, semaphores[:2], cluster_axis=1, barrier_semaphore=semaphores[0]),
        all_gather(x, 3, cluster_axis=1),
    )
    same(
        all_gather_async(
            x,
            persistent_output_buffer=None,
            dim=3,
            multi_device_global_semaphore=semaphores[:2],
            cluster_axis=0,
            num_links=1,
        ),
        all_gather(x, 3, cluster_axis=0),
    )
    same(all_gather_async(x, 3, 1, device, Topology.Linear, semaphores[:2]), all_gather(x, 3, cluster_axis=1))
    zeros = np.zeros((1, 1, 16, 64), np.float32)
    buffer = from_torch(zeros, layout=Layout.TILE, device=device, mesh_mapper=ReplicateTensorToMesh(device))
    assert all_gather_async(x, buffer, 3, semaphores[:2]).storage is buffer.storage
    same(buffer, all_gather(x, 3))


def test_reduce_scatter_and_all_reduce(device, x, semaphores):
    same(
        reduce_scatter_minimal_async(x, None, 2, semaphores, cluster_axis=1),
        reduce_scatter(x, 2, cluster_axis=1),
    )
    s = semaphores
    same(all_reduce_async(x, 8, s[:2], s, s[:2], ReduceType.Sum), all_reduce(x))
    same(all_reduce_async(x, 1, device, s[:2], s, s[:2], ReduceType.Sum), all_reduce(x, cluster_axis=1))
    same(
        all_reduce_async(x, cluster_axis=0, mesh_device=device, math_op=ReduceType.Sum),
        all_reduce(x, cluster_axis=0),
    )
    total = all_reduce(x, cluster_axis=1)
    for dtype, wanted in ((None, x.dtype), (x.dtype, x.dtype), (DataType.BFLOAT16, DataType.BFLOAT16)):
        found = all_reduce_async(x, x, 1, device, s, dtype=dtype)
        assert found.dtype is wanted
        same(found, typecast(total, wanted))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_last_buffer_of_a_reduce_scatter_takes_the_result(device, x, semaphores, count):
    wanted = reduce_scatter(all_gather(x, 3), 3, cluster_axis=1)
    buffers = [zeros_like(wanted) for _ in range(count)]
    found = reduce_scatter_minimal_async(all_gather(x, 3), buffers, 3, semaphores, cluster_axis=1)
    assert found.storage is buffers[-1].storage
    same(buffers[-1], wanted)
    assert not any(np.any(buffer.shards.data) for buffer in buffers[:-1])


def test_refusals(device, x, semaphores):
    s = semaphores
    with pytest.raises(RuntimeError, match=r"ReduceType\.Sum only"):
        all_reduce_async(x, 8, s, s, s, ReduceType.Max)
    with pytest.raises(RuntimeError, match="num_devices is 4, the tensor is on 8 devices"):
        all_reduce_async(x, 4, s, s, s, ReduceType.Sum)
    with pytest.raises(
        TypeError, match=r"missing a required argument: 'multi_device_global_semaphore' \(form 1\)"
    ):
        all_gather_async(x, 3)
    with pytest.raises(
        TypeError, match=r"'cluster_axs' \(form 2\)\nhelp: 'cluster_axs': did you mean 'cluster_axis'"
    ):
        all_gather_async(x, None, 3, semaphores, cluster_axs=1)
    with pytest.raises(TypeError, match=r"topology must be a Topology, not str\nhelp: ttnn.Topology.Ring"):
        all_gather_async(x, 3, semaphores, topology="ring")
    with pytest.raises(TypeError, match="num_links must be a count of links, not -1"):
        all_gather_async(x, 3, semaphores, num_links=-1)
    with pytest.raises(TypeError, match="needs dim"):
        reduce_scatter_minimal_async(x)


@pytest.mark.parametrize(
    ("operation", "topologies"),
    [
        (all_gather_async, ["Topology.Ring", "Topology.Ring", "None"]),
        (all_gather_async_reversed, ["Topology.Ring", "Topology.Ring"]),
        (all_reduce_async, ["Topology.Linear", "Topology.Linear", "Topology.Linear"]),
        (reduce_scatter_minimal_async, ["Topology.Ring"]),
    ],
)
def test_a_refusal_shows_what_each_form_takes_for_what_is_left_out(operation, topologies):
    """No flag is on, and nothing is chosen but the topology and the sum."""
    with pytest.raises(TypeError) as refused:
        operation(1)
    shown = re.findall(r"(\w+): [^,=]+ = ([\w.]+)", str(refused.value))
    assert [default for name, default in shown if name == "topology"] == topologies
    left = {(name, default) for name, default in shown if default != "None" and name != "topology"}
    flags = "use_noc1_only", "use_optimal_ccl_for_llama", "fp32_dest_acc", "use_broadcast"
    assert left <= {*((name, "False") for name in flags), ("math_op", "ReduceType.Sum")}


@pytest.mark.parametrize("wrong", ["semaphore", 3, [1, 2]])
def test_semaphores_are_semaphores(device, x, semaphores, wrong):
    """Several or none; what is no such thing was ignored."""
    text = r"must be (of type )?GlobalSemaphore \| Sequence\[GlobalSemaphore\], not"
    for call in (
        lambda s: all_gather_async(x, None, 3, s, cluster_axis=1),
        lambda s: all_gather_async(x, None, 3, semaphores, cluster_axis=1, barrier_semaphore=s),
        lambda s: reduce_scatter_minimal_async(x, None, 3, s, cluster_axis=1),
        lambda s: all_reduce_async(x, 1, device, s, semaphores, semaphores, ReduceType.Sum),
        lambda s: catalog.find("ttnn.experimental.strided_all_gather_async")(x, None, 3, s, cluster_axis=1),
    ):
        with pytest.raises(TypeError, match=text):
            call(wrong)
        for right in (None, semaphores):
            call(right)
