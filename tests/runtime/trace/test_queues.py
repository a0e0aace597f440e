"""Command queues and events."""

import pytest

from tt_run.runtime import queues
from tt_run.runtime.mesh import MeshShape, open_mesh_device


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
