"""From states to findings, without any rank."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_run.rules import GUARD
from tt_run.runtime.comm import arrival
from tt_run.runtime.guard import diagnosis, unreceived
from tt_run.runtime.guard.board import ENDED, RAISED, WAITING
from tt_run.runtime.guard.diagnosis import absence, blockers, deadlock, divergence, overdue
from tt_run.runtime.guard.report import render, where
from tt_run.runtime.guard.sent_too_much import too_much
from tt_run.runtime.guard.states import RankState, Wait
from tt_run.runtime.listeners import replicas
from tt_run.runtime.own_mpi import spawned


def waiting(rank: int, *missing: int, kind: str = "collective", number: int = 0, **more: object) -> RankState:
    """A rank in a call of its own with the ranks it misses."""
    group, number = tuple(sorted({rank, *missing})), number or 3 + rank
    channel = "" if kind == "collective" else "t"
    wait = Wait(kind, f"call{rank}()", f"prog.py:{rank}", group, number, missing, 1.0, 2.0, 0, channel)
    return RankState(rank, WAITING, wait=wait, **more)  # type: ignore[arg-type]


def known(*states: RankState) -> dict[int, RankState]:
    return {state.rank: state for state in states}


def test_a_rank_that_raised_is_the_culprit_before_one_that_ended() -> None:
    states = known(
        waiting(0, 1, 2),
        RankState(1, ENDED, calls=2),
        RankState(2, RAISED, error="ValueError: x", error_site="p.py:7"),
    )
    finding = absence(states, 0)
    assert finding is not None
    assert (finding.code, finding.culprits, finding.victims) == (diagnosis.FAILED, (2,), (0,))
    assert "rank 2: raised ValueError: x at p.py:7" in render(finding, states, 5.0)


def test_a_rank_that_ended_and_a_process_that_vanished() -> None:
    ended = absence(known(waiting(0, 1), RankState(1, ENDED, calls=1, last="all_gather() at p.py:3")), 0)
    assert ended is not None and ended.code == diagnosis.ENDED_EARLY
    lost = absence(known(waiting(0, 1), RankState(1, lost=True)), 0)
    assert lost is not None and lost.code == diagnosis.LOST


def test_nobody_is_absent_while_the_missing_still_run() -> None:
    assert absence(known(waiting(0, 1), RankState(1)), 0) is None
    assert absence(known(RankState(0), RankState(1, ENDED)), 0) is None


def test_a_message_that_was_sent_blocks_nobody_even_if_its_sender_has_ended() -> None:
    receiver = waiting(0, 1, kind="receive", number=2)
    for count, blocked in ((1, (1,)), (2, ())):
        sender = RankState(1, ENDED, sent={"0:t": count})
        assert blockers(known(receiver, sender), 0) == blocked
        assert (absence(known(receiver, sender), 0) is None) == (not blocked)


def test_two_receives_that_wait_for_each_other() -> None:
    states = known(waiting(0, 1, kind="receive"), waiting(1, 0, kind="receive"))
    finding = deadlock(states, 0)
    assert finding is not None
    assert finding.culprits == (0, 1)
    assert finding.explanation[0] == "rank 0 waits for rank 1 in call0() at prog.py:0"


@pytest.mark.parametrize(
    ("calls", "kind", "told"),
    [
        (("recv()", "recv()"), "point-to-point calls", 2),
        (("recv()", "send()"), "calls", 2),
        (("MeshSocket(a)", "MeshSocket(b)"), "calls", 3),
        (("MeshSocket(a)", "send()"), "calls", 2),
    ],
)
def test_how_a_circle_is_told(calls: tuple[str, str], kind: str, told: int) -> None:
    states = known(
        *(
            replace(state, wait=replace(state.wait, call=call))
            for state, call in zip((waiting(0, 1), waiting(1, 0)), calls, strict=True)
        )  # type: ignore[type-var]
    )
    finding = deadlock(states, 0)
    assert (
        finding is not None
        and finding.title == f"ranks 0 and 1 wait for each other in {kind} that cannot complete"
    )
    assert len(finding.explanation) >= told and (len(finding.explanation) > 2) == (told > 2)
    lines = render(finding, {**states, 2: RankState(2)}, 5.0).splitlines()
    assert [line.endswith("  <-") for line in lines[1:4]] == [True, True, False]
    assert lines[3] == "  rank 2: running in no call after 0 calls; it has made no call"


def test_an_overdue_wait_that_comes_back_to_itself_ends() -> None:
    finding = overdue(known(waiting(0, 1), waiting(1, 0)), 0, 5)
    assert (finding.culprits, finding.victims) == ((1,), (0,))
    finding = overdue(known(waiting(0, 1, 2), waiting(1, 2), waiting(2, 1)), 0, 5)
    assert finding.culprits == (1, 2)


@pytest.mark.parametrize(
    ("states", "culprits", "victims"),
    [
        (known(waiting(0, 1)), (1,), (0,)),  # of which nothing is known
        (known(waiting(0, 3, 1, 2), waiting(2, 1), RankState(1), RankState(3)), (1, 3), (0, 2)),
        (known(waiting(0, 1, 2), waiting(1, 3), waiting(2, 3), RankState(3)), (3,), (0,)),
    ],
)
def test_whom_an_overdue_wait_leads_to(
    states: dict[int, RankState], culprits: tuple[int, ...], victims: tuple[int, ...]
) -> None:
    finding = overdue(states, 0, 5)
    assert (finding.culprits, finding.victims) == (culprits, victims)


def test_a_circle_is_told_link_by_link() -> None:
    finding = deadlock(known(waiting(0, 1), waiting(1, 2), waiting(2, 0)), 1)
    assert finding is not None and finding.explanation == (
        "rank 0 waits for rank 1 in call0() at prog.py:0",
        "rank 1 waits for rank 2 in call1() at prog.py:1",
        "rank 2 waits for rank 0 in call2() at prog.py:2",
    )
    assert finding.title == "ranks 0, 1 and 2 wait for each other in calls that cannot complete"


def test_a_rank_that_waits_for_itself() -> None:
    finding = deadlock(known(waiting(3, 3, kind="receive")), 3)
    assert (
        finding is not None
        and finding.title == "rank 3 waits for itself in point-to-point calls that cannot complete"
    )


@pytest.mark.parametrize(
    ("details", "agree"),
    [
        (("bytes 8, element int", "bytes 8, element int"), True),
        (("bytes 8, element int", "root 1"), False),
        (("bytes 8, element int", "bytes 9, element int"), False),
        (("bytes 8, element int", "bytes 8, element float"), False),
        (("bytes 8, element int", "bytes 8, element byte"), True),
        (("bytes 8, element int", "bytes 8, element byte", "bytes 8, element float"), False),
        (("root 1, bytes 8", "root 1"), True),
        (("root 1, bytes 8", "root 0, bytes 8"), False),
        (("element byte", "element byte"), True),
    ],
)
def test_calls_of_a_programs_own_mpi_that_contradict_each_other(
    details: tuple[str, ...], agree: bool
) -> None:
    calls = [("MPI Bcast", "", "", "", detail, "") for detail in details]
    assert diagnosis.compatible(calls) == agree
    assert not diagnosis.compatible([*calls, ("MPI Reduce", *calls[0][1:])])
    assert not diagnosis.compatible([*calls, (*calls[0][:5], "[0, 1]")])


def test_a_send_waits_for_a_receive_that_is_posted() -> None:
    sender = waiting(0, 1, kind="send", number=2)
    for posted, sent, blocked in ((1, 9, (1,)), (2, 0, ())):
        receiver = RankState(1, posted={"0:t": posted}, sent={"0:t": sent})
        assert blockers(known(sender, receiver), 0) == blocked


def test_a_rank_outside_the_circle_finds_it_too() -> None:
    states = known(waiting(0, 1), waiting(1, 2), waiting(2, 1))
    finding = deadlock(states, 0)
    assert finding is not None
    assert finding.culprits == (1, 2)


@pytest.mark.parametrize("kind", ["send", "receive"])
def test_a_message_of_the_same_number_is_another_call(kind: str) -> None:
    """Messages of two ranks and calls of both are counted apart, and may stand at the same number."""
    states = known(waiting(0, 1, number=5), waiting(1, 0, kind=kind, number=5))
    assert blockers(states, 0) == (1,)
    found = deadlock(states, 0)
    assert found is not None and found.culprits == (0, 1)


def test_ranks_in_the_same_call_do_not_wait_for_each_other() -> None:
    states = known(waiting(0, 1, 2, number=7), waiting(2, 0, 1, number=7), RankState(1))
    assert (blockers(states, 0), blockers(states, 2)) == ((1,), (1,))
    assert deadlock(states, 0) is None
    assert overdue(states, 0, 5).culprits == (1,)


def test_a_rank_that_came_to_the_call_and_then_ended_is_not_absent() -> None:
    for last, absent in ((2, True), (3, False)):
        ended = RankState(1, ENDED, histories={"0,1": {last: ("gather()", "p.py:1")}})
        assert (absence(known(waiting(0, 1, number=3), ended), 0) is not None) == absent


def test_who_of_several_should_have_sent_cannot_be_told() -> None:
    """A receive of anybody's message, beside a wait for messages of all of them, each of which one rank alone can send."""
    others = [waiting(rank, 0) for rank in (1, 2, 3)]
    for call, culprits in (
        ("MPI recv(source any, tag 3)", (0, 1, 2, 3)),
        ("MPI Waitall of MPI irecv", (0, 1)),
    ):
        first = waiting(0, 1, 2, 3, kind="message")
        assert first.wait is not None
        states = known(replace(first, wait=replace(first.wait, call=call)), *others)
        found = deadlock(states, 0, at_last=True)
        assert found is not None and found.culprits == culprits
        whom = "any of ranks 1, 2 and 3" if len(culprits) > 2 else "rank 1"
        assert found.explanation[0] == f"rank 0 waits for {whom} in {call} at prog.py:0"


@pytest.mark.parametrize(
    ("kind", "call", "missing", "any_of"),
    [
        ("message", "MPI recv(source any, tag 3)", (1, 2), True),
        ("message", "MPI recv(source any, tag 3)", (1, 2, 3), True),
        ("message", "MPI recv(source any, tag 3)", (1,), False),  # there is one who could send
        ("message", "MPI recv(source 1, tag 3)", (1, 2), False),
        ("receive", "MPI recv(source any, tag 3)", (1, 2), False),
    ],
)
def test_one_message_of_any_of_two_ends_a_wait(
    kind: str, call: str, missing: tuple[int, ...], any_of: bool
) -> None:
    assert diagnosis._takes_any(Wait(kind, call, "prog.py:1", (0, 1, 2, 3), 1, missing)) is any_of


def test_one_that_is_in_another_call_than_all_others() -> None:
    """Nothing but what all of them do together tells who is wrong: not a message, and not a call of some of them."""

    def found(others: str, last: RankState, kind: str = "collective") -> tuple[tuple[int, ...], str]:
        states = {rank: waiting(rank, 3, kind=kind) for rank in (0, 1, 2)}
        for rank, state in states.items():
            assert state.wait is not None
            states[rank] = replace(state, wait=replace(state.wait, call=others))
        finding = deadlock({**states, 3: last}, 0, at_last=True)
        assert finding is not None
        return finding.culprits, finding.title

    title = "rank 3 and ranks 0, 1 and 2 wait for each other: rank 3 is in another call than all others"
    assert found("MPI Barrier()", waiting(3, 0, 1, 2)) == ((3,), title)
    assert found("MPI Wait of MPI Ibarrier", waiting(3, 0, 1, 2), "message") == ((3,), title)
    for others, last, kind in (
        ("MPI Barrier()", waiting(3, 0), "collective"),
        ("MPI Barrier()", waiting(3, 0, 1, 2, kind="message"), "collective"),
        ("MPI Wait of MPI Irecv", waiting(3, 0, 1, 2), "message"),
    ):
        assert found(others, last, kind)[0] == (0, 3), others


def test_what_other_hosts_told_counts_when_it_is_late() -> None:
    states = known(waiting(0, 1), waiting(1, 0, remote=True))
    assert deadlock(states, 0) is None
    late = deadlock(states, 0, at_last=True)
    assert late is not None and late.culprits == (0, 1)


def test_a_message_of_the_programs_own_may_be_under_way_until_the_deadline() -> None:
    states = known(waiting(0, 1, kind="message"), waiting(1, 0))
    assert (blockers(states, 0), deadlock(states, 0)) == ((), None)
    late = deadlock(states, 0, at_last=True)
    assert late is not None and late.culprits == (0, 1)


def test_whoever_may_send_keeps_a_receive_from_any_source_alive() -> None:
    waits = waiting(0, 1, 2, kind="message")
    assert blockers(known(waits, waiting(1, 0), RankState(2)), 0, at_last=True) == ()
    assert blockers(known(waits, waiting(1, 0), waiting(2, 0)), 0, at_last=True) == (1, 2)
    assert absence(known(waits, RankState(1, ENDED), RankState(2)), 0) is None
    gone = absence(known(waits, RankState(1, ENDED), RankState(2, RAISED)), 0)
    assert gone is not None and gone.culprits == (2,)


def test_a_chain_is_no_deadlock() -> None:
    assert deadlock(known(waiting(0, 1), waiting(1, 2), RankState(2)), 0) is None


@given(st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_a_deadlock_is_found_exactly_when_the_chain_returns(following: list[int]) -> None:
    """Each rank waits for one other, those that point at themselves run: a walk from 0 either stops or circles."""
    states = known(*(RankState(r) if f == r else waiting(r, f) for r, f in enumerate(following)))
    seen, here = set(), 0
    while here not in seen and following[here] != here:
        seen.add(here)
        here = following[here]
    assert (deadlock(states, 0) is not None) == (following[here] != here)


def test_the_deadline_blames_the_rank_at_the_root_of_the_waiting() -> None:
    states = known(waiting(0, 1), waiting(1, 2), RankState(2, doing="loop.py:9 in f", calls=4))
    finding = overdue(states, 0, 60)
    assert finding.culprits == (2,)
    text = render(finding, states, 61.0)
    assert "rank 2 did not come to call0() within 60 s" in text
    assert "rank 2: running at loop.py:9 in f after 4 calls" in text
    assert "rank 0: in call 3 call0() at prog.py:0, waiting for rank 1 since 60.0 s" in text


def test_the_minority_diverges() -> None:
    a, b = (
        ("all_gather", "1", "(2,)", "BFLOAT16", "", "[0, 1, 2]"),
        ("all_gather", "0", "(2,)", "FLOAT32", "", "[0, 1, 2]"),
    )
    finding = divergence({0: b, 1: a, 2: a}, 7)
    assert finding.culprits == (0,)
    assert finding.title == "rank 0 disagrees with ranks 1 and 2 on call 7: cluster_axis, dtype"


def test_of_two_ranks_neither_is_called_guilty_and_the_operation_says_enough() -> None:
    finding = divergence({0: ("a", "1", "", "", "", ""), 1: ("b", "0", "", "", "", "")}, 1)
    assert (finding.culprits, finding.victims) == ((0, 1), (0, 1))
    assert finding.title == "ranks 0 and 1 disagree on call 1: operation"


def test_two_against_two_is_a_tie_and_two_against_one_and_one_is_not() -> None:
    a, b, c = (("gather", axis, "", "", "", "") for axis in "012")
    assert (
        divergence({0: a, 1: b, 2: a, 3: b}, 2).title
        == "ranks 0, 1, 2 and 3 disagree on call 2: cluster_axis"
    )
    assert divergence({0: b, 1: a, 2: c, 3: a}, 2).culprits == (0, 2)


@pytest.mark.parametrize(
    ("other", "names"),
    [
        ("dim 2, layout TILE, on 2x4 at 0 of mesh 0", "dim"),
        ("dim 3, layout ROW_MAJOR, on 2x4 at 0 of mesh 0", "layout"),
        ("dim 3, layout TILE, num_links 2, on 2x4 at 0 of mesh 0", "num_links"),
        ("dim 3, layout TILE, topology Ring, on 1x4 at 4 of mesh 0", "mesh, topology"),
    ],
)
def test_arguments_that_differ_are_named(other: str, names: str) -> None:
    detail = "dim 3, layout TILE, on 2x4 at 0 of mesh 0"
    calls = {rank: ("g", "None", "()", "", text, "[0, 1]") for rank, text in enumerate((detail, other))}
    assert divergence(calls, 4).title == f"ranks 0 and 1 disagree on call 4: {names}"


def test_fields_beside_the_arguments_are_named_in_their_order() -> None:
    calls = {0: ("g", "0", "()", "", "dim 2", "[0, 1]"), 1: ("g", "1", "()", "", "dim 3", "[0, 2]")}
    assert divergence(calls, 4).title == "ranks 0 and 1 disagree on call 4: cluster_axis, dim, ranks"
    calls = {0: ("g", "0", "()", "", "a, b", ""), 1: ("g", "0", "()", "", "b, a", "")}
    assert divergence(calls, 4).title == "ranks 0 and 1 disagree on call 4: arguments"


@pytest.mark.parametrize(
    ("state", "missing", "words"),
    [
        (waiting(1), (), "in call 4 call1() at prog.py:1 since 2.5 s"),
        (waiting(1), (2,), "in call 4 call1() at prog.py:1, waiting for rank 2 since 2.5 s"),
        (waiting(1), (2, 3), "in call 4 call1() at prog.py:1, waiting for ranks 2, 3 since 2.5 s"),
        (waiting(1, kind="send"), (), "in call1() at prog.py:1 since 2.5 s"),
        (waiting(1, kind="message"), (), "in call1() at prog.py:1 since 2.5 s"),
        (RankState(1, WAITING), (), "running in no call after 0 calls; it has made no call"),
        (RankState(1, remote=True), (), "on another host, from which nothing was heard: in no call that waits"),
        (RankState(1, remote=True, last="a() at p.py:3", calls=1), (), "running in no call after 1 call; its last call was a() at p.py:3"),
        (RankState(1, lost=True, calls=2), (), "its process is gone, after 2 calls; it has made no call"),
        (RankState(1, ENDED, calls=1), (), "ended at the end of its program after 1 call; it has made no call"),
        (RankState(1, ENDED, error="exit code 3", error_site="p.py:9"), (), "ended at p.py:9 with exit code 3 after 0 calls; it has made no call"),
        (RankState(1, RAISED), (), "raised an exception; it has made no call"),
    ],
)  # fmt: skip
def test_where_a_rank_is_in_words(state: RankState, missing: tuple[int, ...], words: str) -> None:
    assert where(state, 3.5, missing) == words
    assert where(waiting(1), 1.25) == "in call 4 call1() at prog.py:1 since 0.2 s"
    assert where(waiting(1), 0.5) == "in call 4 call1() at prog.py:1 since 0.0 s", "clocks of hosts differ"


def test_sockets_that_do_not_pair_speak_of_their_order() -> None:
    calls = {rank: ("MeshSocket", "None", "()", "", f"connections {rank}", "[0, 1]") for rank in (0, 1)}
    assert "in the order in which each makes them" in divergence(calls, 1).explanation[0]


def test_the_first_call_from_another_line_is_told() -> None:
    def history(*lines: int) -> dict[str, dict[int, tuple[str, str]]]:
        return {"0,1": {number: ("gather()", f"p.py:{line}") for number, line in enumerate(lines, 1)}}

    states = known(waiting(0, 1, histories=history(5, 6, 7)), RankState(1, ENDED, histories=history(5, 7)))
    finding = absence(states, 0)
    assert finding is not None
    assert finding.explanation == (
        "the call sites differ from call 2 of this group on:",
        "  rank 0: gather() at p.py:6",
        "  rank 1: gather() at p.py:7",
    )


def test_every_finding_has_its_page() -> None:
    codes = {
        value for name, value in vars(diagnosis).items() if name.isupper() and str(value).startswith("TTG")
    }
    elsewhere = {replicas.DIFFERENT, arrival.NOT_STARTED, spawned.NOT_STARTED, unreceived.UNRECEIVED}
    assert codes | elsewhere == set(GUARD.rules())
    assert all(rule.title and rule.why and rule.help for rule in GUARD.rules().values())


def test_senders_of_too_much_are_known_by_what_they_said_of_the_call() -> None:
    """One stays in the call, one has gone on, one gives each rank another part, and of one nothing is known."""
    states = known(
        RankState(0, last="MPI Alltoallv(sends 8) at p.py:1"),
        RankState(
            1, histories={"0,1,2,3": {4: ("MPI Alltoallv(sends 8+16+8+8)", "p.py:1")}}, last="MPI Barrier()"
        ),
        RankState(2, last="MPI Alltoallv(sends 24+24+24+24) at p.py:2"),
        RankState(3),
    )
    ranks, name = (0, 1, 2, 3), "MPI Alltoallv"
    assert too_much(states, ranks, 4, name, dict.fromkeys(ranks, 24), 1, 1) is None
    found = too_much(states, ranks, 4, name, dict.fromkeys(ranks, 16), 1, 1)
    assert found is not None and (found.culprits, found.victims) == ((2,), (0, 1, 3))
    assert found.title == "rank 2 sends 24 bytes, of which rank 1 takes 16, in call 4 MPI Alltoallv"
    both = too_much(states, ranks, 4, name, dict.fromkeys(ranks, 8), 1, 1)
    assert both is not None and both.culprits == (1, 2)
    assert (found.explanation, both.explanation) == ((), ("rank 1 sent them at p.py:1",))
