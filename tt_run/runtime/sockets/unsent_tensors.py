"""What tensors will hold once something has come that nobody has sent yet, and operations on them.

A device has a queue of its own, so a program may receive, compute and send on one mesh before it sends on another, all in one thread.
Here an operation on what is still to be sent is computed when its result is read; until then only its shape is known. This is for
both ends of a socket in one process: another rank goes on by itself, so a rank waits for what that sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tt_run.runtime.comm.world import world
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.sockets.arriving_buffers import Arriving, Settling
from tt_run.runtime.sockets.streams import others_may_send
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Buffer


class Awaited:
    """A value that is made when it is asked for, after those that it `needs`. `unsent` says whether it waits for nobody yet."""

    __slots__ = ("_make", "_missing", "_needs", "_unsent", "done", "value")

    def __init__(
        self,
        make: Callable[[], Any],
        needs: Callable[[], Sequence[Any]] = tuple,
        unsent: Callable[[], bool] = lambda: False,
    ) -> None:
        self._make, self._needs, self._unsent = make, needs, unsent
        self._missing: Awaited | None = None
        self.done = False
        self.value: Any = None

    def settle(self) -> Any:
        """The value. Raises RuntimeError when something that it needs was never sent."""
        waiting = [self]
        while waiting:
            last = waiting[-1]
            first = [] if last.done else [need for need in last._needs() if not need.done]
            if first:
                waiting += first
                continue
            if not last.done:
                last.value, last.done = last._make(), True
                last._make, last._needs, last._unsent = _nothing, tuple, _no
            waiting.pop()
        return self.value

    @property
    def missing(self) -> bool:
        """Whether something that it needs has not been sent."""
        if self._missing is not None and not self._missing.done and self._missing._unsent():
            return True
        found, seen = [self], set[int]()
        while found:
            last = found.pop()
            if last.done or id(last) in seen:
                continue
            seen.add(id(last))
            if last._unsent():
                self._missing = last
                return True
            found += last._needs()
        return False


def _nothing() -> None: ...


def _no() -> bool:
    return False


def of(tensor: Tensor) -> Settling | None:
    """What a tensor waits for that has not been sent; None for a tensor that can be read."""
    storage = tensor._storage
    awaited = storage.awaited if isinstance(storage, Arriving) else None
    return awaited if awaited is not None and awaited.missing else None


_unsent: list[tuple[Awaited, MeshDevice]] = []


def begun(receive: Awaited, mesh: MeshDevice) -> None:
    """A receive begins whose tensor nobody has sent yet: operations look whether they wait for one from now on."""
    _unsent.append((receive, mesh))
    FastOperation.postponing = _postponed


def ended(receive: Awaited) -> None:
    """Such a receive has ended; none on a closed mesh ever will."""
    _unsent[:] = [(other, mesh) for other, mesh in _unsent if other is not receive and mesh.is_open]
    if not _unsent:
        FastOperation.postponing = None


def _postponed(operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of an operation on tensors that are still to be sent, or NotImplemented where it is computed at once."""
    operands = {id(tensor): tensor for tensor in _tensors((args, kwargs))}
    waits = {key: awaited for key, tensor in operands.items() if (awaited := of(tensor)) is not None}
    if not waits or operation.family is families.SOCKET or FastOperation.crossing is not None:
        return NotImplemented
    if shapes.active() or world().size > 1 or others_may_send():
        return NotImplemented
    known = {key: tensor.shards for key, tensor in operands.items() if key not in waits}

    def computed(contents: Callable[[int], Shards]) -> tuple[Any, dict[int, Tensor]]:
        copies = {key: tensor.on(Buffer(contents(key))) for key, tensor in operands.items()}
        given, named = _replaced((args, kwargs), copies)
        return operation.compute(*given, **named), copies

    with shapes.only():
        before = {key: _bare(tensor) for key, tensor in operands.items()}
        result, copies = computed(before.__getitem__)
    results = list(_tensors(result))
    own = {id(copy): key for key, copy in copies.items()}
    places = {id(copy._storage) for copy in copies.values()}
    if not results or any(
        made._device is None or (id(made) not in own and id(made._storage) in places) for made in results
    ):
        return NotImplemented  # read on the host, or the operand's own bytes under another shape
    written = [key for key, copy in copies.items() if copy.shards is not before[key]]

    def make() -> tuple[list[Shards], dict[int, Shards]]:
        found, after = computed(lambda key: waits[key].value if key in waits else known[key])
        return [made.shards for made in _tensors(found)], {key: after[key].shards for key in written}

    job = Awaited(make, lambda: list(waits.values()))
    for number, made in enumerate(results):
        if id(made) not in own:
            _wait(made, job, 0, number)
    for key in written:
        _wait(operands[key], job, 1, key)
    return _replaced(result, {id(copies[key]): operands[key] for key in operands})


def _wait(tensor: Tensor, job: Awaited, part: int, key: int) -> None:
    """Let a tensor take its content from what an operation makes."""
    storage = tensor._storage
    buffer = storage.buffer if isinstance(storage, Arriving) else storage
    tensor._storage = Arriving(buffer, Awaited(lambda: job.value[part][key], lambda: (job,)))


def _bare(tensor: Tensor) -> Shards:
    storage = tensor._storage
    shards = storage.buffer.shards if isinstance(storage, Arriving) else storage.shards
    return Shards(shards.data[:0], shards.index)


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, dict):
        yield from _tensors(list(values.values()))
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


def _replaced(values: Any, others: dict[int, Tensor]) -> Any:
    if isinstance(values, Tensor):
        return others.get(id(values), values)
    if isinstance(values, dict):
        return {key: _replaced(value, others) for key, value in values.items()}
    if type(values) in (list, tuple):
        return type(values)(_replaced(value, others) for value in values)
    return values
