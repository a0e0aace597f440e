"""Captures and replays."""

import numpy as np
import pytest

from tt_run import contract
from tt_run.runtime import ops, trace
from tt_run.runtime.ccl.collectives import all_gather, all_reduce
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.conversion.copies import copy_host_to_device_tensor
from tt_run.runtime.tensor.creation.allocation import allocate_tensor_on_device
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG


@pytest.fixture
def device():
    device = open_mesh_device(MeshShape(2, 4), num_command_queues=2)
    yield device
    device.close()


def values(seed, width=32):
    return np.random.default_rng(seed).standard_normal((1, 1, 8, 8 * width)).astype(np.float32)


def host(device, seed):
    return from_torch(
        values(seed), dtype=DataType.FLOAT32, layout=Layout.TILE, mesh_mapper=ShardTensorToMesh(device, dim=3)
    )


def on(device, seed):
    return from_torch(
        values(seed),
        dtype=DataType.FLOAT32,
        layout=Layout.TILE,
        device=device,
        mesh_mapper=ShardTensorToMesh(device, dim=3),
    )


def step(x):
    return all_reduce(ops.add(ops.multiply(x, 2.0), 1.0))


def first(tensor):
    return np.array(tensor.shards.of(0))


def captured(device, function, **queue):
    number = trace.begin_trace_capture(device, **queue)
    result = function()
    trace.end_trace_capture(device, number, **queue)
    return number, result


def replayed(device, function, x):
    """The first shard of what a captured function gives for other values of `x`."""
    number, y = captured(device, function)
    copy_host_to_device_tensor(host(device, 5), x)
    trace.execute_trace(device, number)
    return first(y)


def message(error):
    return str(error.value).partition("info:\n")[2]


def test_a_replay_reads_new_inputs_and_updates_the_same_outputs(device):
    x = on(device, 0)
    number, y = captured(device, lambda: step(x))
    assert first(y).tobytes() == first(step(on(device, 0))).tobytes()
    for seed in (1, 2):
        copy_host_to_device_tensor(host(device, seed), x)
        trace.execute_trace(device, number, cq_id=0, blocking=False)
        assert first(y).tobytes() == first(step(on(device, seed))).tobytes()
    trace.release_trace(device, number)


def test_names(device):
    number, _ = captured(device, lambda: None)
    assert repr(number) == f"MeshTraceId({int(number)})"
    assert number == trace.MeshTraceId(int(number)) and hash(number) == hash(trace.MeshTraceId(int(number)))
    later, _ = captured(device, lambda: None)
    assert int(later) == int(number) + 1


def test_state_that_is_changed_in_place_moves_once_per_replay(device):
    state, one = on(device, 0), on(device, 1)
    start = first(state)
    number, _ = captured(device, lambda: ops.add(state, one, output_tensor=state))
    assert first(state).tobytes() == start.tobytes()  # captured is not executed
    for count in (1, 2, 3):
        trace.execute_trace(device, number)
        wanted = start
        for _ in range(count):
            wanted = wanted + first(one)
        assert first(state).tobytes() == wanted.tobytes()


def test_intermediates_may_be_given_back(device):
    x = on(device, 0)

    def body():
        doubled = ops.multiply(x, 2.0)
        moved = ops.add(doubled, 1.0)
        doubled.deallocate()
        total = all_reduce(moved)
        moved.deallocate()
        return total

    assert replayed(device, body, x).tobytes() == first(step(on(device, 5))).tobytes()


def test_intermediates_that_a_collective_has_seen_may_be_given_back(device):
    """A collective has its operand hold the topology that stands for all equal ones: it is the one that was recorded all the same."""
    all_reduce(on(device, 7))  # its topology stands for those that come
    x = on(device, 0)

    def body():
        moved = ops.add(x, 1.0)
        total = all_reduce(moved)
        moved.deallocate()
        return total

    assert replayed(device, body, x).tobytes() == first(all_reduce(ops.add(on(device, 5), 1.0))).tobytes()


def test_inputs_that_are_gone_are_an_error(device):
    x = on(device, 0)
    number, _ = captured(device, lambda: ops.add(x, 1.0))
    x.deallocate()
    with pytest.raises(RuntimeError, match="not allocated"):
        trace.execute_trace(device, number)


@pytest.mark.parametrize("asked", [True, False])
def test_an_input_given_back_is_read_where_another_took_its_place(device, asked):
    x = on(device, 0)
    address = x.buffer_address() if asked else None
    number = trace.begin_trace_capture(device)
    y = ops.add(x, 1.0)
    x.deallocate()
    anew = allocate_tensor_on_device(x.spec, device)
    assert not asked or anew.buffer_address() == address
    trace.end_trace_capture(device, number)
    later = on(device, 7) if asked else None
    copy_host_to_device_tensor(host(device, 5), anew)
    trace.execute_trace(device, number)
    assert first(y).tobytes() == first(ops.add(on(device, 5), 1.0)).tobytes()
    assert later is None or later.is_allocated()


def test_a_parents_capture_records_its_submeshes(device):
    halves = device.create_submeshes(MeshShape(2, 2))
    inputs = [on(half, i) for i, half in enumerate(halves)]

    def body():
        assert all(trace.is_trace_capture_active(half) for half in halves)
        return [all_gather(ops.multiply(x, 3.0), 3, cluster_axis=1) for x in inputs]

    number, outputs = captured(device, body)
    assert not trace.is_trace_capture_active(halves[0])
    for i, x in enumerate(inputs):
        copy_host_to_device_tensor(host(halves[i], 10 + i), x)
    trace.execute_trace(device, number)
    for i, (half, y) in enumerate(zip(halves, outputs, strict=True)):
        wanted = all_gather(ops.multiply(on(half, 10 + i), 3.0), 3, cluster_axis=1)
        assert first(y).tobytes() == first(wanted).tobytes()


def test_operations_on_other_meshes_are_not_recorded(device):
    left, right = device.create_submeshes(MeshShape(2, 2))
    x, other = on(left, 0), on(right, 0)
    outside = []
    number, y = captured(left, lambda: (outside.append(ops.add(other, 1.0)), ops.add(x, 1.0))[1])
    outside[0].deallocate()
    other.deallocate()
    trace.execute_trace(left, number)
    assert first(y).tobytes() == (first(x) + np.float32(1)).tobytes()


def test_reads_and_writes_are_refused_in_a_capture(device):
    x = on(device, 0)
    number = trace.begin_trace_capture(device)
    try:
        y = ops.add(x, 1.0)
        with pytest.raises(RuntimeError) as error:
            to_torch(y, mesh_composer=ConcatMeshToTensor(device, dim=3))
        assert message(error) == "Reads are not supported during trace capture."
        copy_host_to_device_tensor(host(device, 3), x)
        with pytest.raises(RuntimeError, match="cannot be executed during trace capture"):
            trace.execute_trace(device, number)
    finally:
        trace.end_trace_capture(device, number)
    assert x.to_numpy(ConcatMeshToTensor(device, dim=3)).tobytes() == values(3).tobytes()


def test_misuse_in_the_references_words(device):
    number = trace.begin_trace_capture(device)
    with pytest.raises(RuntimeError) as error:
        trace.begin_trace_capture(device, cq_id=0)
    assert message(error) == f"CQ 0 is already being used for tracing tid {int(number) + 1}"
    wrong = trace.MeshTraceId(int(number) + 7)
    with pytest.raises(RuntimeError) as error:
        trace.end_trace_capture(device, wrong)
    assert message(error) == f"CQ 0 is not being used for tracing tid {int(wrong)}"
    trace.end_trace_capture(device, number)
    trace.release_trace(device, number)
    trace.release_trace(device, number)
    with pytest.raises(RuntimeError) as error:
        trace.execute_trace(device, number)
    wanted = (
        f"Trace instance {int(number)} must exist on Mesh device {device.id()}'s active sub-device manager 0"
    )
    assert message(error) == wanted
    with pytest.raises(TypeError, match="MeshTraceId"):
        trace.execute_trace(device, int(number))
    with pytest.raises(RuntimeError) as error:
        trace.begin_trace_capture(device, cq_id=5)
    assert message(error) == "cq_id 5 is out of range"


def test_an_operation_that_fails_is_not_recorded(device):
    x = on(device, 0)
    number = trace.begin_trace_capture(device)
    with pytest.raises(RuntimeError, match="Invalid gather dim"):
        all_gather(x, 9)
    y = ops.add(x, 1.0)
    trace.end_trace_capture(device, number)
    trace.execute_trace(device, number)
    assert first(y).tobytes() == (first(x) + np.float32(1)).tobytes()


def test_two_queues_capture_apart(device):
    x = on(device, 0)
    number, y = captured(device, lambda: ops.add(x, 1.0), cq_id=1)
    trace.execute_trace(device, number, cq_id=1)
    assert first(y).tobytes() == (first(x) + np.float32(1)).tobytes()


def test_a_mesh_closed_in_its_capture_leaves_nothing_behind():
    lost = open_mesh_device(MeshShape(1, 2))
    trace.begin_trace_capture(lost)
    lost.close()
    device = open_mesh_device(MeshShape(1, 2))
    number, _ = captured(device, lambda: None)
    assert not trace.is_trace_capture_active(lost)
    trace.execute_trace(device, number)
    device.close()


def test_slow_dispatch_has_no_traces(device, monkeypatch):
    monkeypatch.setenv(contract.SLOW_DISPATCH, "1")
    with pytest.raises(RuntimeError, match="Not supported for slow dispatch"):
        trace.begin_trace_capture(device)
    assert not trace.is_trace_capture_active(device)


@pytest.mark.parametrize(
    "method",
    [
        lambda t: t.reshape(1, 8, 1, 32),
        lambda t: t[:, :, :4],
        lambda t: t.to(Layout.ROW_MAJOR),
        lambda t: t + 1,
        lambda t: 1 - t,
    ],
)
def test_methods_of_tensors_are_replayed_like_operations(device, method):
    x = on(device, 0)
    number, (view, after) = captured(device, lambda: (made := method(x), ops.add(made, 1.0)))
    copy_host_to_device_tensor(host(device, 1), x)
    trace.execute_trace(device, number)
    wanted = method(on(device, 1))
    assert first(view).tobytes() == first(wanted).tobytes()
    assert first(after).tobytes() == (first(wanted) + np.float32(1)).tobytes()


def test_ranks_must_agree_on_whether_a_collective_is_only_recorded(device):
    """On a cluster a rank that captures does not compute, and whoever computes waits for it."""
    x = on(device, 0)

    def details():
        return [found[1].signature.detail for found in device.known.values() if isinstance(found, tuple)]

    all_reduce(x)
    assert not any("capture" in detail for detail in details())
    number, _ = captured(device, lambda: all_reduce(x))
    assert sum("capture of a trace" in detail for detail in details()) == 1
    before = len(details())
    trace.execute_trace(device, number)
    all_reduce(x)
    assert len(details()) == before


@pytest.mark.torch
def test_a_replay_gives_back_nothing(device):
    pytest.importorskip("torch")
    x = from_torch(
        np.arange(2048, dtype=np.float32).reshape(1, 1, 64, 32), dtype=DataType.BFLOAT16, device=device
    )
    x = ops.to_memory_config(x, L1_MEMORY_CONFIG)
    spec = x.spec

    def body():
        return ops.max_pool2d(x, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0], [1, 1], deallocate_input=True)

    number, y = captured(device, body)
    assert not x.is_allocated()
    anew = allocate_tensor_on_device(spec, device)
    for start in (0, 100):
        given = np.arange(start, start + 2048, dtype=np.float32).reshape(1, 1, 64, 32)
        copy_host_to_device_tensor(from_torch(given, dtype=DataType.BFLOAT16), anew)
        trace.execute_trace(device, number)
        again = ops.max_pool2d(anew, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0], [1, 1])
        assert anew.is_allocated()
        assert first(y).tobytes() == first(again).tobytes()
