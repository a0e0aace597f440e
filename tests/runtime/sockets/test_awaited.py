"""Operations in one thread on what another mesh of the process sends later: as devices, whose queues go on by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.sockets.test_in_process import MEMORY, STRAIGHT, content, filled, meshes, zeros
from tt_run.runtime import events, queues
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.sockets.config import SocketConfig
from tt_run.runtime.sockets.socket import create_socket_pair
from tt_run.runtime.sockets.transfer import recv_async, send_async

__all__ = ["meshes"]


@pytest.fixture
def ends(meshes):
    """Both ends of a socket, and a tensor that was received and not sent."""
    sender, receiver = create_socket_pair(*meshes, SocketConfig(STRAIGHT, MEMORY))
    target = zeros(meshes[1])
    recv_async(target, receiver)
    return sender, receiver, target


def same(found, wanted) -> bool:
    return [a.tobytes() for a in content(found)] == [a.tobytes() for a in content(wanted)]


def test_a_stage_computes_what_the_stage_before_it_sends_afterwards(meshes):
    forth, back = (create_socket_pair(*way, SocketConfig(STRAIGHT, MEMORY)) for way in (meshes, meshes[::-1]))
    home, there = zeros(meshes[0]), zeros(meshes[1])
    recv_async(home, back[1])
    last = home
    for _ in range(400):  # deeper than calls may be nested
        last = ops.add(last, 1.0)
    recv_async(there, forth[1])
    send_async(ops.multiply(there, 2.0), back[0])
    source = filled(meshes[0], 1)
    send_async(source, forth[0])
    wanted = ops.multiply(source, 2.0)
    for _ in range(400):
        wanted = ops.add(wanted, 1.0)
    queues.synchronize_device(meshes[0])
    assert same(last, wanted)


def test_what_is_read_before_it_is_sent_is_told_with_both_lines(meshes, ends):
    sender, _, target = ends
    found = ops.relu(target)
    lines = r"recv_async at \S*test_awaited.py:\d+ waits .*, and \S*test_awaited.py:\d+ needs it"
    with pytest.raises(RuntimeError, match=lines):
        _ = found.shards
    source = filled(meshes[0], 1)
    send_async(source, sender)
    assert same(found, ops.relu(source))


def test_operations_see_the_values_of_their_time(meshes, ends):
    sender, _, target = ends
    other = filled(meshes[1], 5)
    before = ops.add(target, other)
    wanted_other = content(other)
    ops.add(target, 1.0, output_tensor=target)
    after = ops.multiply(target, 2.0)
    other.overwrite(zeros(meshes[1]).shards)
    source = filled(meshes[0], 1)
    send_async(source, sender)
    assert same(after, ops.multiply(ops.add(source, 1.0), 2.0))
    assert same(target, ops.add(source, 1.0))
    sums = [a + b for a, b in zip(content(source), wanted_other, strict=True)]
    assert all(np.allclose(a, b, rtol=0.01) for a, b in zip(content(before), sums, strict=True))


def test_a_written_operand_and_several_results(meshes, ends):
    sender, _, target = ends
    output = zeros(meshes[1])
    assert ops.add(target, target, output_tensor=output).storage is output.storage
    first, last = ops.chunk(ops.pad(target, [(0, 28), (0, 60)], 0.0), 2, -1)
    source = filled(meshes[0], 1)
    send_async(source, sender)
    assert same(output, ops.add(source, source))
    whole = ops.pad(source, [(0, 28), (0, 60)], 0.0)
    assert same(first, ops.chunk(whole, 2, -1)[0]) and same(last, ops.chunk(whole, 2, -1)[1])


def test_a_received_tensor_may_go_before_it_came(meshes, ends):
    sender, receiver, target = ends
    found = ops.neg(target)
    ops.deallocate(target)
    source = filled(meshes[0], 1)
    send_async(source, sender)
    assert same(found, ops.neg(source))
    assert not receiver.unfinished


def test_an_operation_that_is_computed_later_is_told_of_once(meshes, ends):
    sender, _, target = ends
    heard = []
    leave = events.subscribe(lambda event: heard.append(event.name))
    try:
        found = ops.exp(target)
        send_async(filled(meshes[0], 1), sender)
        _ = found.shards
    finally:
        leave()
    assert heard.count("ttnn.exp") == 1
    assert same(found, ops.exp(filled(meshes[0], 1)))


def test_nothing_is_postponed_once_all_has_come(meshes, ends):
    sender, _, target = ends
    assert FastOperation.postponing is not None
    send_async(filled(meshes[0], 1), sender)
    _ = target.shards
    assert FastOperation.postponing is None
