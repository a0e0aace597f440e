"""Command queues and events."""

import threading

import numpy as np
import pytest

from tt_run.runtime import queues
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.descriptors.global_buffers import create_global_circular_buffer
from tt_run.runtime.enums import Layout
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.ops.data_movement.borders import BORDERS
from tt_run.runtime.ops.elementwise.unary import PLAIN
from tt_run.runtime.tensor.borders.arrays import from_torch


@pytest.fixture
def device():
    device = open_mesh_device(MeshShape(1, 2), num_command_queues=2)
    yield device
    device.close()


def test_events_are_numbered_per_queue(device):
    first, second, other = (queues.record_event(device, q) for q in (0, 0, 1))
    assert [(e.id, e.mesh_cq_id) for e in (first, second, other)] == [(0, 0), (1, 0), (0, 1)]
    assert repr(first) == (
        f"MeshEvent(id=0, device_id={device.id()}, mesh_cq_id=0, device_range="
        "MeshCoordinateRange(start=MeshCoordinate([0, 0]), end=MeshCoordinate([0, 1])))"
    )
    queues.wait_for_event(1, first)
    queues.event_synchronize(other)
    queues.synchronize_device(device, 1)


def test_queues_that_do_not_exist(device):
    for call in (
        lambda: queues.record_event(device, 5),
        lambda: queues.synchronize_device(device, 5),
        lambda: queues.wait_for_event(5, queues.record_event(device)),
    ):
        with pytest.raises(RuntimeError, match="cq_id 5 is out of range"):
            call()
    with pytest.raises(RuntimeError, match="cq_id 2 is out of range"), queues.command_queue(2):
        pass
    with queues.command_queue(1):
        pass


def test_only_events_are_waited_for(device):
    with pytest.raises(TypeError, match="MeshEvent"):
        queues.event_synchronize(3)
    device.close()
    with pytest.raises(RuntimeError, match="closed"):
        queues.record_event(device)


def test_the_chosen_queue_belongs_to_its_thread(device):
    seen = []

    def look():
        seen.append(int(queues.current_queue()))
        with queues.command_queue(1):
            seen.append(int(queues.current_queue()))

    with queues.command_queue(1):
        with queues.command_queue(0):
            assert repr(queues.current_queue()) == "QueueId(0)"
        other = threading.Thread(target=look)
        other.start()
        other.join()
        assert int(queues.current_queue()) == 1
        assert queues.record_event(device).mesh_cq_id == 1
        queues.wait_for_event(mesh_event=queues.record_event(device))
    assert seen == [0, 1]
    with pytest.raises(RuntimeError, match="Current command queue id stack is empty"):
        queues.pop_queue()


def test_work_for_a_queue_that_the_device_lacks():
    device = open_mesh_device(MeshShape(1, 1))
    here = from_torch(np.ones((32, 32), np.float32), layout=Layout.TILE).to(device)
    grid = CoreRangeSet([CoreRange((0, 0), (0, 0))])
    for work in (
        lambda: here.cpu(),
        lambda: from_torch(np.ones((2, 2), np.float32)).to(device),
        lambda: PLAIN["neg"](here),
        lambda: create_global_semaphore(device, grid, 5),
        lambda: create_global_circular_buffer(device, [(CoreCoord(0, 1), grid)], 2048),
    ):
        with pytest.raises(RuntimeError, match="cq_id 1 is out of range"), queues.command_queue(1):
            work()
        work()
    with pytest.raises(RuntimeError, match="cq_id 1 is out of range"):
        PLAIN["neg"](here, queue_id=1)
    device.close()


def test_creation_takes_a_queue_as_every_operation_does(device):
    for word in ("queue_id", "cq_id"):
        assert BORDERS["full"]([2, 2], 1.0, device=device, **{word: 1}).shape == [2, 2]
    with pytest.raises(RuntimeError, match="cq_id 2 is out of range"):
        BORDERS["full"]([2, 2], 1.0, device=device, queue_id=2)
