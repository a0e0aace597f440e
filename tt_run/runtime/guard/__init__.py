"""Agreement before data moves: a divergence, an absence or a deadlock is an error that names rank and line, never a hang.

`collective(group, signature)` stands in front of everything that several ranks do together; when it returns, all of them are in the
same call, so what follows may block. Messages between two ranks are started with `isend`/`irecv` and waited for with `wait`.
The board needs shared memory per host, no extra messages; a rank alone in its group pays one comparison. TT_RUN_GUARD=off turns the
agreement off, TT_RUN_GUARD_TIMEOUT sets how many seconds a rank waits for its peers (60).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

import numpy.typing as npt

from tt_run import contract
from tt_run.granted import give_way
from tt_run.runtime import events
from tt_run.runtime.comm.bell import Bell
from tt_run.runtime.comm.world import Group, seconds_to_wait, world
from tt_run.runtime.guard.board import CALLS
from tt_run.runtime.guard.concurrent_calls import Beside
from tt_run.runtime.guard.descendants import ForkedGuard, is_rank
from tt_run.runtime.guard.own_traffic import own_traffic
from tt_run.runtime.guard.report import GuardError
from tt_run.runtime.guard.signature import Signature
from tt_run.runtime.guard.states import Wait
from tt_run.runtime.guard.thread_waits import has_threads, is_main_thread, site_of_thread
from tt_run.runtime.guard.transfer import Transfer

__all__ = [
    "GuardError",
    "Signature",
    "Transfer",
    "answered",
    "at_end",
    "at_last",
    "beside",
    "calls_made",
    "collective",
    "inside",
    "irecv",
    "is_unmet",
    "isend",
    "message",
    "one_at_a_time",
    "own_traffic",
    "precede",
    "refuse_sent",
    "start",
    "until",
    "until_in_thread",
    "until_message",
    "until_unmet",
    "wait",
    "watches",
]

Before = Callable[[str], None]
T = TypeVar("T")

_LOOKS = 300  # for a message before the processor is offered to others

_guard: Any = None
_before: Before | None = None
_unwatched = 0  # calls that were made without a guard, while somebody wants to be asked
_lifecycle: Any = None
_comparisons: list[Callable[[], None]] = []  # what all ranks compare at their common end
_unreceived: list[Callable[[], list[str]]] = []  # what each rank tells of when all have ended
_started = False
_starting = threading.RLock()  # the first call may come in any thread, and in two at once
one_at_a_time = threading.RLock()
"""Held in a collective until its data has moved: those of several threads follow each other, in an order that other ranks are compared with."""


def collective(group: Group, signature: Signature, depth: int = 1) -> bool:
    """Return when every rank of the group is in this collective with an equal signature: True if the ranks have met for it.

    They have not when there is one rank only, or the guard is off. `depth` is the number of frames from here to the user's line at least.
    Raises GuardError, with the same text on all ranks, when they differ, when one of them ended, raised or waits elsewhere for ever,
    or when one does not come within the deadline.
    """
    if _before is not None and group.size > 1:
        _ask(signature.operation)
    if _guard is None and not _begun(group):
        return False
    if group.size == 1:
        return False
    frame = events.user_frame(1 + depth)
    begun = events.now() if events.listening else 0.0
    lock = one_at_a_time  # and no `with`, which takes twice as long
    lock.acquire()
    try:
        _guard.collective(group, signature, frame)
    finally:
        lock.release()
    if events.listening:
        ended = events.now()
        where = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
        events.tell(wait_event, signature.operation, begun, ended, *where)
    return True


def wait_event(operation: str, start: float, end: float, code: CodeType | None, at: int) -> events.Event:
    """The event of the time until all ranks had come to a collective."""
    return events.Event("wait", operation, start, end, events.site_of(code, at))


def refuse_sent(group: Group, operation: str, taken: dict[int, int], place: int) -> None:
    """Raise GuardError with the ranks that gave more bytes to this rank, the `place`-th, in the last call of a group than it takes from each; return where none is known."""
    from tt_run.runtime.guard.sent_too_much import refuse

    refuse(_guard, group, operation, taken, place)


def message(operation: str, detail: str = "") -> None:
    """Count a call that sends or receives, so that reports say of a rank what it did last and how much it did."""
    if _before is not None:
        _ask(operation)
    if (
        _guard is not None or (not _started and world().size > 1 and _begun(world().everyone))
    ) and is_main_thread():
        _guard.enter(Signature(operation, detail=detail), events.user_frame(2))


def precede(before: Before) -> None:
    """Ask `before` ahead of every call that this rank makes together with others; it may raise, or end the process."""
    global _before
    _before = before


def calls_made() -> int:
    """How many calls this rank has made together with others: the number that reports give."""
    return (
        _unwatched
        if _guard is None or isinstance(_guard, ForkedGuard)
        else int(_guard.whereabouts.words[CALLS])
    )


def answered(number: int) -> None:
    """Count up to a collective that a record answers in the place of the others, while somebody asks for the numbers of calls."""
    global _unwatched
    if _before is not None and _guard is None:
        _unwatched = max(number, _unwatched + 1)


def _ask(operation: str) -> None:
    global _unwatched
    assert _before is not None
    _before(operation)
    _unwatched += 1


def until(
    done: Callable[[], bool], what: str, missing: Callable[[], tuple[int, ...]], bell: Bell | None = None
) -> None:
    """Return when `done()`, which the ranks `missing()` bring about inside of a collective, and for which one of them rings the bell.

    Raises GuardError like `collective`.
    """
    if _guard is None:
        while not done():
            own_traffic.moves()
            give_way()
        return
    # No group and number: having come to the call, which is what those stand for, does not excuse a rank here.
    _guard.wait_until(done, lambda: Wait("collective", what, events.call_site(), (), 0, missing()), bell=bell)


def until_message(done: Callable[[], bool], what: str, peers: Callable[[], tuple[int, ...]]) -> None:
    """Return when `done()`, which the ranks `peers()` bring about by messages of the program's own, in whichever order they come.

    Raises GuardError like `collective`, but no sooner than at the deadline as long as one of them may still do so.
    """
    assert _guard is not None, "only ranks that have met are waited for"
    for _ in range(0 if _guard.crowded else _LOOKS):
        if done():
            return
    _guard.wait_until(done, lambda: Wait("message", what, events.call_site(), (), 0, peers()))


def until_in_thread(done: Callable[[], bool], what: str, peers: Callable[[], tuple[int, ...]]) -> None:
    """As `until_message`, in another thread than the main one: without a deadline, as long as anything in the job moves."""
    assert _guard is not None, "only ranks that have met are waited for"
    _guard.threads.until(done, lambda: Wait("message", what, site_of_thread(), (), 0, peers()))


def beside(group: Group, signature: Signature, key: int, number: int) -> Beside | None:
    """A collective that is waited for later, or made in another thread: the `number`-th on the communicator `key`.

    None where nobody watches, or where ranks of other hosts take part, whose notes cannot be seen.
    """
    if _guard is None or group.size == 1 or not _guard.whereabouts.started.sees(group.ranks):
        return None
    return Beside(_guard, group, signature, key, number)


def inside(call: Callable[[], T], operation: str, detail: str, peers: tuple[int, ...]) -> T:
    """What a call returns that may wait for the ranks `peers` inside of a library, which cannot be called off: whoever asks is told of it."""
    if _guard is None or not is_main_thread():
        return call()
    message(operation, detail)
    site = events.call_site()
    now = time.perf_counter()
    _guard.threads.inside = Wait("message", f"{operation}({detail})", site, (), 0, peers, now, now)
    try:
        return call()
    finally:
        _guard.threads.inside = None


def is_unmet() -> bool:
    """Whether the ranks have not met yet, and will be watched once they have."""
    return not _started and world().size > 1 and not _is_off()


def until_unmet(done: Callable[[], bool], what: str, peers: Callable[[], tuple[int, ...]]) -> None:
    """As `until_message`, before the ranks have met."""
    from tt_run.runtime.guard import early_waits

    early_waits.until(done, what, peers)


def _is_off() -> bool:
    return os.environ.get(contract.GUARD, "").strip().lower() in contract.OFF


def watches() -> bool:
    """Whether the ranks have met and are agreed with."""
    return _guard is not None


def _begun(group: Group) -> bool:
    """Start watching if there is anybody to watch; True if there is a guard."""
    if not _started and group.size > 1:
        start()
    return _guard is not None


def at_end(
    before: Callable[[], None],
    after: Callable[[], None] | None = None,
    is_done: Callable[[], bool] | None = None,
) -> None:
    """Call `before` when this rank ends and `after` once all ranks have ended. Only in a job of several ranks.

    A rank that ends the job waits a moment until `is_done()`: until what another does at the end is done for this one.
    """
    if _lifecycle is None:
        start()
    assert _lifecycle is not None, "a lone process has no end to share: use atexit"
    _lifecycle.at_end(before, after, is_done)


def at_common_end(compare: Callable[[], None]) -> None:
    """Call `compare` on every rank once the programs of all have ended without an exception, while they still may exchange what they have; where
    TT_RUN_CHECK_REPLICAS asks for it. It may raise GuardError, which ends the job as in the midst of a program."""
    _comparisons.append(compare)


def at_last(sends: Callable[[], list[str]]) -> None:
    """Ask `sends` for the sends that this rank has not received, once all ranks have ended well."""
    _unreceived.append(sends)


def start(call: str = "") -> None:
    """Meet all ranks of the job and start watching; every rank must call it, in `call` of its program where that is what they meet in.

    Does nothing in a lone process or a second time. Raises NotArrived when some do not come within the deadline.
    """
    global _guard, _lifecycle, _started
    ranks = world()
    if _started or ranks.size == 1:
        return
    from tt_run.runtime.guard.lifecycle import Lifecycle
    from tt_run.runtime.guard.watch import Guard

    timeout = seconds_to_wait()
    with _starting:
        if _started:
            return
        if ranks.guarded:  # no replay
            is_rank()
            if ranks.has_started:
                from tt_run.runtime.guard import first_meeting

                first_meeting.await_all(ranks, call)
        ranks.connect()
        if ranks.guarded and not _is_off():
            _guard = Guard(ranks, timeout)
            os.register_at_fork(after_in_child=_forked)
        os.register_at_fork(after_in_child=_free)
        _started = True
        _lifecycle = Lifecycle(ranks, _guard, _comparisons, _unreceived)
        _lifecycle.install()


def _forked() -> None:
    global _guard
    _guard = ForkedGuard(os.getppid())


def _free() -> None:
    """Whoever was in a collective is no thread of a child."""
    global one_at_a_time
    one_at_a_time = threading.RLock()


def isend(
    group: Group, buffer: npt.NDArray[Any], destination: int, tag: int = 0, operation: str = "send"
) -> Transfer:
    """Start sending a contiguous array to a group rank; the array must stay as it is until `wait`."""
    return _transfer(group, "send", buffer, destination, tag, operation)


def irecv(
    group: Group, buffer: npt.NDArray[Any], source: int, tag: int = 0, operation: str = "receive"
) -> Transfer:
    """Start receiving into a contiguous array from a group rank."""
    return _transfer(group, "receive", buffer, source, tag, operation)


def wait(transfer: Transfer) -> None:
    """Return when a message has gone through. Raises GuardError when it cannot, like `collective`."""
    if _guard is not None:
        if is_main_thread():
            _guard.wait_for(transfer, has_threads)
        else:
            _guard.wait_in_thread(transfer)
        return
    while not transfer.test():
        give_way()


def _transfer(
    group: Group, kind: str, buffer: npt.NDArray[Any], peer: int, tag: int, operation: str
) -> Transfer:
    if not _started:
        start()
    channel = f"{tag}/{','.join(map(str, group.ranks))}"
    world_rank = group.ranks[peer]
    number = 0 if _guard is None else _guard.whereabouts.next_message(kind, world_rank, channel)
    pending = (group.isend if kind == "send" else group.irecv)(buffer, peer, tag)
    transfer = Transfer(pending, kind, world_rank, channel, number, operation, events.call_site())
    # What another thread sends it waits for itself: two threads must not ask MPI for one request.
    if _guard is not None and kind == "send" and is_main_thread():
        _guard.leaving(transfer)
    return transfer
