"""Who failed first, what that means for the exit code, and when mpirun is not believed."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tt_run.contract import Exit
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict.culprit import PROCESS_GONE, find_culprit, find_vanished
from tt_run.supervise.verdict.evidence import Verdict
from tt_run.supervise.verdict.lost_hosts import read_improper
from tt_run.supervise.verdict.verdict import judge

ENDED = Observation(EndedBy.ITSELF, 0, 0.0, 100.0)
FAILED = dataclasses.replace(ENDED, launcher_code=1)


def rank(
    number: int, end: float | None = 10.0, host: str = "vm", start: float | None = 1.0, **how: Any
) -> RankStatus:
    return RankStatus(number, host, start=start, end=end, **how)


def verdict_of(
    *statuses: RankStatus,
    failures: Mapping[int, Mapping[str, Any]] | None = None,
    multi_host: bool = False,
    **observed: Any,
) -> Verdict:
    return judge(statuses, dataclasses.replace(ENDED, **observed), failures or {}, multi_host)


def test_all_zero_is_success() -> None:
    assert verdict_of(rank(0, code=0), rank(1, code=0)).succeeded


@pytest.mark.parametrize("launcher_code", [0, 1, 14, 137, -9])
def test_the_records_decide_and_not_mpirun(launcher_code: int) -> None:
    assert verdict_of(rank(0, code=0), rank(1, code=0), launcher_code=launcher_code).succeeded
    assert verdict_of(rank(0, code=0), rank(1, code=3), launcher_code=launcher_code).exit_code == 3


@pytest.mark.parametrize(
    ("how", "code"), [({"code": 3}, 3), ({"signal": 11}, 139), ({"code": 256}, 1), ({"code": 255}, 255)]
)
def test_the_culprits_code_is_passed_on(how: dict[str, int], code: int) -> None:
    assert verdict_of(rank(0, code=0), rank(1, **how)).exit_code == code


def test_the_earliest_failure_is_the_culprit() -> None:
    found = verdict_of(rank(0, end=12.0, code=1), rank(1, end=10.0, code=7))
    assert found.culprit is not None and found.culprit.rank == 1
    assert [status.rank for status in found.followers] == [0]
    assert found.exit_code == 7


def test_ranks_that_mpirun_ended_are_victims() -> None:
    found = verdict_of(
        rank(0, end=10.3, signal=15), rank(1, code=3), rank(2, end=None), rank(3, end=10.2, signal=9)
    )
    assert found.culprit is not None and found.culprit.rank == 1
    assert sorted(status.rank for status in found.victims) == [0, 2, 3]
    assert found.lost == ()


class TestWithinOneMoment:
    """Ends so close together that their order says nothing."""

    def test_a_crash_comes_before_the_peer_that_noticed_it(self) -> None:
        found = find_culprit([rank(0, end=10.0, code=14), rank(1, end=10.01, signal=9)], {})
        assert found is not None and found.rank == 1

    def test_an_exit_of_its_own_comes_before_one_that_was_asked_for(self) -> None:
        found = find_culprit([rank(0, end=10.0, signal=15), rank(1, end=10.01, code=3)], {})
        assert found is not None and found.rank == 1

    def test_an_exception_comes_before_a_bare_code(self) -> None:
        failures = {1: {"exception": "ValueError", "message": "", "time": 9.99}}
        found = find_culprit([rank(0, end=10.0, code=1), rank(1, end=10.1, code=1)], failures)
        assert found is not None and found.rank == 1

    def test_an_exception_about_a_lost_peer_does_not(self) -> None:
        failures = {
            0: {"exception": "Exception", "message": "MPI_ERR_PROC_FAILED: process failure", "time": 10.0}
        }
        found = find_culprit([rank(0, end=10.0, code=1), rank(1, end=10.2, code=3)], failures)
        assert found is not None and found.rank == 1

    def test_the_time_of_an_exception_counts_and_not_of_its_end(self) -> None:
        failures = {
            0: {"exception": "A", "message": "", "time": 10.0},
            1: {"exception": "B", "message": "", "time": 10.2},
        }
        found = find_culprit([rank(0, end=10.4, code=1), rank(1, end=10.3, code=1)], failures)
        assert found is not None and found.rank == 0


class TestOneMistakeOnAllRanks:
    """The first rank to leave makes mpirun end the others, which had raised themselves."""

    @staticmethod
    def raised(time: float, exception: str = "ValueError", message: str = "") -> dict[str, Any]:
        return {"exception": exception, "message": message, "time": time}

    def test_the_first_exception_counts_and_not_the_signal_after_it(self) -> None:
        failures = {0: self.raised(9.5), 1: self.raised(9.6)}
        found = verdict_of(rank(0, end=10.1, signal=15), rank(1, code=1), failures=failures)
        assert (found.sentence, found.exit_code) == ("rank 0 on vm exited with 1", 1)
        assert [status.rank for status in found.followers] == [1]

    def test_an_interrupt_keeps_its_code(self) -> None:
        failures = {0: self.raised(9.5, "KeyboardInterrupt")}
        assert verdict_of(rank(0, signal=9), rank(1, signal=15), failures=failures).exit_code == 130

    def test_a_rank_that_tells_of_anothers_failure_stays_a_victim(self) -> None:
        failures = {0: self.raised(10.05, "Exception", "MPI_ERR_PROC_FAILED: gone")}
        found = verdict_of(rank(0, end=10.1, signal=15), rank(1, code=3), failures=failures)
        assert found.exit_code == 3
        assert [status.rank for status in found.victims] == [0]


def test_a_failure_long_before_is_the_culprit_whatever_it_looks_like() -> None:
    found = find_culprit([rank(0, end=10.0, code=3), rank(1, end=20.0, signal=11)], {})
    assert found is not None and found.rank == 0


class TestAccused:
    """The guard of the emulation knows who did not come; the ranks that waited in vain raise first."""

    @staticmethod
    def raised(*culprits: int, code: str = "TTG001") -> dict[str, Any]:
        guard = {"code": code, "culprits": list(culprits)}
        return {"exception": "GuardError", "message": f"error[{code}]: no\nmore", "time": 9.0, "guard": guard}

    def test_the_accused_is_the_culprit(self) -> None:
        statuses = [rank(n, end=10.0 + n, code=1) for n in range(4)]
        found = verdict_of(*statuses, failures={n: self.raised(3) for n in range(4)})
        assert found.culprit is not None and found.culprit.rank == 3
        assert found.sentence == "rank 3 on vm is at fault: error[TTG001]: no"

    def test_ranks_that_disagree_are_at_fault_together(self) -> None:
        statuses = [rank(n, end=10.0 + n, code=1) for n in range(3)]
        found = verdict_of(*statuses, failures={n: self.raised(0, 1) for n in range(3)})
        assert found.sentence == "ranks 0-1 are at fault together: error[TTG001]: no"
        assert [status.rank for status in (*found.followers, *found.victims)] == [2]

    def test_whoever_is_at_fault_did_not_end_because_of_it(self) -> None:
        statuses = [rank(0, code=1), rank(1, end=None), rank(2, end=None), rank(3, end=None)]
        found = verdict_of(*statuses, failures={n: self.raised(1, 2) for n in (0, 1)})
        assert [status.rank for status in (*found.followers, *found.victims)] == [0, 3]

    def test_it_may_have_ended_with_0(self) -> None:
        found = verdict_of(rank(0, code=1), rank(1, end=5.0, code=0), failures={0: self.raised(1)})
        assert found.culprit is not None and found.culprit.rank == 1
        assert found.exit_code == 1

    def test_its_own_end_by_mpirun_is_not_the_exit_code(self) -> None:
        found = verdict_of(
            rank(0, code=1), rank(1, end=10.3, signal=15, told=True), failures={0: self.raised(1)}
        )
        assert found.culprit is not None and found.culprit.rank == 1
        assert found.exit_code == 1

    def test_a_library_that_crashes_over_it_in_a_rank_that_is_accused_gives_no_code(self) -> None:
        both = self.raised(0, 1)
        statuses = rank(0, end=10.3, signal=6), rank(1, end=10.4, signal=15, told=True)
        found = verdict_of(*statuses, failures={1: both})
        assert (found.exit_code, found.sentence) == (
            1,
            "ranks 0-1 are at fault together: error[TTG001]: no",
        )
        late = verdict_of(
            rank(0, end=10.3, signal=6), rank(1, code=1), failures={1: self.raised(0, code="TTG005")}
        )
        assert late.exit_code == 134 and "was killed by SIGABRT" in late.sentence

    @pytest.mark.parametrize(("end", "code"), [(10.3, 1), (8.9, 137)])
    def test_a_kill_after_it_was_accused_is_mpiruns(self, end: float, code: int) -> None:
        statuses = rank(0, code=1), rank(1, end=end, signal=9)
        found = verdict_of(*statuses, failures={0: self.raised(1, code="TTG002")})
        assert found.culprit is not None and found.culprit.rank == 1
        assert found.exit_code == code

    def test_an_exit_at_once_is_told_with_its_code(self) -> None:
        found = verdict_of(rank(0, code=1), rank(1, code=9), failures={0: self.raised(1, code="TTG006")})
        assert (found.exit_code, found.sentence) == (9, "rank 1 on vm exited with 9: error[TTG006]: no")

    def test_a_crash_is_named(self) -> None:
        found = verdict_of(rank(0, code=1), rank(1, signal=11), failures={0: self.raised(1, code="TTG006")})
        assert found.sentence == "rank 1 on vm was killed by SIGSEGV: error[TTG006]: no"
        assert found.exit_code == 139

    def test_a_library_that_crashes_over_it_in_a_rank_that_is_right_gives_no_code(self) -> None:
        statuses = (rank(0, signal=6), rank(1, signal=15), rank(2, code=1))
        found = verdict_of(*statuses, failures={n: self.raised(1) for n in (1, 2)})
        assert (found.exit_code, found.sentence) == (1, "rank 1 on vm is at fault: error[TTG001]: no")

    def test_nor_where_nobody_else_ended_by_itself(self) -> None:
        statuses = (rank(0, signal=6), rank(1, signal=15), rank(2, signal=15))
        found = verdict_of(*statuses, failures={n: self.raised(1) for n in (1, 2)})
        assert (found.exit_code, found.sentence) == (1, "rank 1 on vm is at fault: error[TTG001]: no")

    def test_one_that_mpirun_killed_at_its_own_end_is_not_called_killed(self) -> None:
        statuses = (rank(0, end=10.0, code=1), rank(1, end=None))
        killed = judge(statuses, FAILED, {0: self.raised(1, code="TTG006")})
        assert killed.sentence == "rank 1 on vm was killed by SIGKILL, its wrapper with it"
        left = judge(statuses, FAILED, {0: self.raised(1)}, leaving=frozenset({1}))
        assert (left.exit_code, left.sentence) == (1, "rank 1 on vm is at fault: error[TTG001]: no")

    def test_the_others_follow(self) -> None:
        failures = {0: self.raised(1), 1: self.raised(1)}
        found = verdict_of(rank(0, code=1), rank(1, code=1), rank(2, signal=15), failures=failures)
        assert [status.rank for status in found.followers] == [0]
        assert [status.rank for status in found.victims] == [2]


class TestQuitters:
    """A rank that leaves with 0 in the middle of MPI: mpirun ends the others, and no record shows a failure of its own."""

    def test_the_one_who_left_is_named(self) -> None:
        found = verdict_of(rank(0, end=10.3, signal=15), rank(1, end=10.0, code=0), rank(2, end=5.0, code=0))
        assert found.culprit is not None and found.culprit.rank == 1
        assert found.exit_code == Exit.FAILED
        assert "ended with 0 but without MPI_Finalize" in found.sentence

    @pytest.mark.parametrize(
        "said",
        [
            "mpirun has exited due to process rank 1 with PID 0 on\nnode vm exiting improperly. There are three reasons",
            "prterun has exited due to process rank 1 with PID 31274 on node vm exiting\nimproperly. There are three",
        ],
    )
    def test_the_one_whom_mpirun_names_though_it_took_long_to_end_the_others(self, said: str) -> None:
        """Open MPI 4.1 gives the others a second before it kills them."""
        late = (rank(0, end=11.3, signal=15, told=True), rank(1, end=10.0, code=0), rank(2, end=10.1, code=0))
        observation = dataclasses.replace(ENDED, launcher_code=1)
        found = judge(late, observation, {}, improper=read_improper(said))
        assert found.culprit is not None and found.culprit.rank == 1
        assert "sent a signal from outside" in judge(late, observation, {}).sentence

    @pytest.mark.parametrize(
        "crash", ["*** Process received signal ***", "[h1:9] Caught signal 11 (Segmentation fault)"]
    )
    def test_the_one_who_left_though_mpirun_crashed_over_it(self, crash: str) -> None:
        """Open MPI 4.1 does, over several hosts; whom its crash takes along leave no record."""
        statuses = (rank(0, end=11.3, signal=15, told=True), rank(1, end=10.0, code=0), rank(2, end=None))
        observation = dataclasses.replace(ENDED, launcher_code=-11)
        said = f"mpirun: abort is already in progress...hit ctrl-c again to forcibly terminate\n\n{crash}"
        found = judge(statuses, observation, {}, True, improper=read_improper(said, statuses))
        assert (found.exit_code, found.culprit and found.culprit.rank) == (Exit.FAILED, 1)
        # With a note of an orderly end it left after MPI_Finalize; a crash by itself says nothing of anybody.
        for quiet, words in (((statuses[0], statuses[2]), said), (statuses, crash)):
            found = judge(statuses, observation, {}, True, improper=read_improper(words, quiet))
            assert (found.exit_code, found.sentence) == (139, "mpirun was killed by SIGSEGV")

    def test_one_who_was_never_in_mpi_is_told_so(self) -> None:
        statuses = (rank(0, end=10.3, signal=15), rank(1, end=10.0, code=0))
        found = judge(statuses, ENDED, {}, without_mpi=frozenset({1}))
        assert "ended with 0 without ever entering MPI, so mpirun ended the others" in found.sentence

    def test_a_rank_that_ended_well_long_before_is_not_blamed(self) -> None:
        found = verdict_of(rank(0, end=20.0, signal=15), rank(1, end=10.0, code=0))
        assert found.culprit is not None and found.culprit.rank == 0

    def test_nobody_left_when_another_failed(self) -> None:
        found = verdict_of(rank(0, end=10.3, signal=15), rank(1, end=10.0, code=0), rank(2, end=10.1, code=3))
        assert found.culprit is not None and found.culprit.rank == 2


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED), (signal.SIGHUP, Exit.HUNG_UP)],
)
def test_the_users_signal_is_the_reason(number: int, code: Exit) -> None:
    observed = {"ended_by": EndedBy.SIGNAL, "signal": number, "torn_down_at": 9.0}
    found = verdict_of(rank(0, signal=15), rank(1, signal=15), **observed)
    assert found.exit_code == code
    assert found.culprit is None


def test_a_failure_before_the_signal_is_still_told() -> None:
    found = verdict_of(
        rank(0, end=10.5, signal=15),
        rank(1, end=8.0, code=3),
        ended_by=EndedBy.SIGNAL,
        signal=2,
        torn_down_at=9.0,
    )
    assert found.exit_code == Exit.INTERRUPTED
    assert found.culprit is not None and found.culprit.rank == 1


def test_a_timeout_blames_nobody() -> None:
    found = verdict_of(rank(0, signal=15), rank(1, signal=15), ended_by=EndedBy.TIMEOUT, torn_down_at=9.0)
    assert (found.exit_code, found.culprit) == (Exit.TIMEOUT, None)


def test_a_start_timeout_names_the_missing() -> None:
    found = verdict_of(rank(0, signal=15), RankStatus(1), ended_by=EndedBy.START_TIMEOUT, torn_down_at=9.0)
    assert found.exit_code == Exit.START_TIMEOUT
    assert "[1]" in found.sentence


def test_a_hang_says_why() -> None:
    found = verdict_of(rank(0, signal=15), ended_by=EndedBy.HANG, stuck="nobody moves", torn_down_at=9.0)
    assert (found.exit_code, found.sentence) == (Exit.HANG, "hang: nobody moves")
    assert found.culprit is None


def test_a_hang_names_the_rank_that_the_others_wait_for() -> None:
    ranks = (rank(0, signal=15), rank(1, signal=15), rank(2, end=None))
    found = verdict_of(*ranks, ended_by=EndedBy.HANG, stuck="", late=(1,), torn_down_at=9.0)
    assert (found.exit_code, found.culprit) == (Exit.HANG, ranks[1])
    assert found.victims == (ranks[0],) and found.lost == (ranks[2],)


class TestWithoutRecords:
    def test_a_lost_host_is_no_success_although_mpirun_returns_0(self) -> None:
        statuses = (rank(0, host="h1", signal=15), rank(1, host="h2", end=None), rank(2, host="h2", end=None))
        found = verdict_of(*statuses, multi_host=True)
        assert found.exit_code == Exit.HOST_LOST
        assert "host h2 was lost: 2 ranks left no record" in found.sentence

    def test_a_rank_that_failed_by_itself_beside_a_lost_one_is_the_culprit(self) -> None:
        found = verdict_of(rank(0, host="h1", code=3), rank(1, host="h2", end=None), multi_host=True)
        assert found.exit_code == 3

    def test_mpirun_killed(self) -> None:
        found = verdict_of(rank(0, end=None), rank(1, end=None), launcher_code=-9)
        assert found.exit_code == 137
        assert "mpirun was killed by SIGKILL" in found.sentence

    def test_mpirun_killed_while_wrappers_could_still_write(self) -> None:
        """The kernel ends the ranks with it; who is quick enough records that, and is not the culprit."""
        gone = {
            "exception": "GuardError",
            "message": "",
            "time": 9.0,
            "guard": {"code": "TTG006", "culprits": [1]},
        }
        for first in ({"signal": 15, "told": True}, {"signal": None, "end": None}):
            found = verdict_of(
                rank(0, **{"end": 10.0, **first}), rank(1, end=None), launcher_code=-6, gone={0: 9.0}
            )
            assert (found.exit_code, found.sentence) == (134, "mpirun was killed by SIGABRT")
        found = verdict_of(rank(0, code=1), rank(1, end=None), failures={0: gone}, launcher_code=-6)
        assert found.sentence == "mpirun was killed by SIGABRT"
        assert (
            "rank 0 on vm exited with 5"
            in verdict_of(rank(0, code=5), rank(1, signal=9), launcher_code=-6).sentence
        )

    def test_mpirun_that_crashes_while_it_ends_the_job_of_ranks_that_did_not_meet(self) -> None:
        said = {
            "exception": "GuardError",
            "message": "error[TTG002]: rank 0 ended before MPI recv(source 0, tag 7)",
            "time": 9.0,
            "guard": {"code": "TTG002", "culprits": [0]},
        }
        ranks = rank(0, signal=15, told=True, end=10.0), rank(1, code=1, end=10.0)
        found = verdict_of(*ranks, failures={1: said}, launcher_code=-11)
        assert found.exit_code == 1 and "error[TTG002]: rank 0 ended" in found.sentence
        assert (
            verdict_of(*ranks, failures={1: said}, launcher_code=-9).sentence
            == "mpirun was killed by SIGKILL"
        )

    def test_mpirun_that_was_told_to_end(self) -> None:
        """It returns 1 then, and 143 for a rank that was told."""
        ranks = rank(0, signal=15, told=True), rank(1, signal=15, told=True)
        found = verdict_of(*ranks, launcher_code=1)
        assert (found.exit_code, found.culprit) == (
            143,
            None,
        ) and "mpirun was sent a signal" in found.sentence
        assert verdict_of(*ranks, launcher_code=143).sentence == "rank 0 on vm was killed by SIGTERM"
        noticed = judge(ranks, dataclasses.replace(ENDED, launcher_code=1), {}, noticed=(1,))
        assert "mpirun was sent" not in noticed.sentence

    def test_mpirun_that_was_told_to_end_on_a_busy_machine(self) -> None:
        """A wrapper that mpirun killed before it came to write is no rank that was killed: with one, mpirun returns another code."""
        ranks = rank(0, end=None), rank(1, signal=15, told=True)
        seen = dataclasses.replace(ENDED, launcher_code=1, gone={0: 9.0})
        found = judge(ranks, seen, {})
        assert (found.exit_code, found.culprit) == (143, None)
        assert "mpirun was sent a signal" in found.sentence
        nobody_wrote = judge((ranks[0], rank(1, end=None)), seen, {})
        assert (nobody_wrote.exit_code, nobody_wrote.sentence) == (143, found.sentence)
        raised = {
            number: {"rank": number, "exception": "ValueError", "message": "no", "time": 9.0}
            for number in (0, 1)
        }
        own = judge((ranks[0], rank(1, end=None)), seen, raised)
        assert (own.exit_code, own.culprit and own.culprit.rank) == (1, 0)
        assert own.sentence.startswith("rank 0 on vm exited with 1")
        killed = judge(ranks, dataclasses.replace(seen, launcher_code=137), {}, noticed=(0,))
        assert (killed.exit_code, killed.culprit and killed.culprit.rank) == (137, 0)

    def test_a_rank_that_an_outsider_told_to_end_first(self) -> None:
        """Its wrapper was told as those of the others are; another had no time to write, and is not the culprit."""
        ranks = [rank(0, end=10.3, signal=15, told=True), rank(1, signal=15, told=True), rank(2, end=None)]
        seen = dataclasses.replace(ENDED, launcher_code=143)
        assert judge(ranks, seen, {}).sentence.startswith("rank 2 on vm was killed by SIGKILL, its wrapper")
        found = judge(ranks, seen, {}, first_exits={1: 143})
        assert (found.exit_code, found.sentence) == (143, "rank 1 on vm was killed by SIGTERM")

    def test_mpirun_that_starts_nothing(self) -> None:
        assert verdict_of(RankStatus(0), RankStatus(1), launcher_code=213).exit_code == Exit.NO_LAUNCHER

    def test_one_record_missing_on_one_host(self) -> None:
        found = verdict_of(rank(0, code=0), rank(1, end=None))
        assert found.exit_code == Exit.FAILED
        assert "1 rank left no record of its end" in found.sentence


class TestCauseBeforeClock:
    """What can only follow from another rank's end is never the first, whatever the clocks of the hosts say."""

    FIRST = 1000.0

    @pytest.mark.parametrize(
        ("victim", "record"),
        [
            ({"signal": 15, "told": True}, None),
            ({"signal": 9, "told": True}, None),
            ({"code": 1, "told": True}, None),
            ({"signal": 11, "told": True}, None),
            ({"code": 14}, None),
            ({"code": 1}, {"exception": "Exception", "message": "MPI_ERR_PROC_FAILED", "time": 9.0}),
            (
                {"code": 1},
                {"exception": "GuardError", "message": "", "time": 9.0, "guard": {"culprits": [1]}},
            ),
            ({"code": 130, "told": True}, {"exception": "KeyboardInterrupt", "message": "", "time": 9.0}),
        ],
    )
    @pytest.mark.parametrize("own", [{"code": 3}, {"signal": 9}, {"signal": 15}, {"signal": 11}])
    def test_a_victim_whose_clock_is_behind(
        self, victim: dict[str, Any], record: dict[str, Any] | None, own: dict[str, int]
    ) -> None:
        failures = {} if record is None else {0: record}
        found = find_culprit([rank(0, end=10.0, **victim), rank(1, end=self.FIRST, **own)], failures)
        assert found is not None and found.rank == 1

    def test_a_signal_that_nobody_was_told_keeps_its_name_under_the_guard(self) -> None:
        said = {"message": "error[TTG006]: gone", "guard": {"code": "TTG006", "culprits": [1]}, "time": 10.1}
        for number, code in ((9, 137), (15, 143)):
            found = verdict_of(rank(0, signal=15, told=True), rank(1, signal=number), failures={0: said})
            assert (found.exit_code, found.culprit and found.culprit.rank) == (code, 1)
            assert f"was killed by {signal.Signals(number).name}" in found.sentence


class TestVanished:
    """A rank that is killed together with its wrapper leaves no record of its end."""

    VICTIM = rank(0, signal=15, told=True)
    LOST = rank(1, end=None)

    def test_what_was_missed_on_this_machine(self) -> None:
        found = verdict_of(self.VICTIM, self.LOST, gone={1: 5.0})
        assert (found.exit_code, found.sentence) == (
            137,
            "rank 1 on vm was killed by SIGKILL, its wrapper with it",
        )

    def test_what_the_guard_accuses(self) -> None:
        said = {"message": "error[TTG006]: gone", "guard": {"code": "TTG006", "culprits": [1]}, "time": 10.1}
        found = verdict_of(self.VICTIM, self.LOST, failures={0: said})
        assert found.exit_code == 137

    def test_the_one_that_was_missed_first_and_not_one_that_mpirun_had_to_kill(self) -> None:
        found = verdict_of(rank(0, end=None), self.LOST, gone={0: 5.3, 1: 5.0})
        assert found.culprit is not None and found.culprit.rank == 1

    def test_a_failure_of_its_own_is_no_riddle(self) -> None:
        found = verdict_of(rank(0, code=3), self.LOST, gone={1: 5.0})
        assert found.exit_code == 3

    def test_what_the_kernel_counted_is_told(self) -> None:
        found = verdict_of(self.VICTIM, self.LOST, gone={1: 5.0}, memory="counted")
        assert found.sentence.endswith("out of memory, as it seems (counted)")

    def test_whoever_outlived_the_first_end_was_ended_for_it(self) -> None:
        """A group of processes is sent SIGTERM; mpirun ends the others, one of them before its wrapper can write."""
        told = (rank(0, signal=15, told=True), rank(2, end=10.3, signal=15, told=True))
        found = verdict_of(*told, self.LOST, outlived=(1,), launcher_code=143)
        assert (found.exit_code, found.sentence) == (143, "rank 0 on vm was killed by SIGTERM")
        assert verdict_of(*told, self.LOST, launcher_code=143).exit_code == 137


def test_who_saw_a_connection_close_came_after_the_one_whose_group_was_told() -> None:
    """Whatever the clocks of the hosts say."""
    statuses = (
        rank(0, code=14),
        rank(1, code=14, host="h2"),
        rank(2, end=70.0, host="h3", signal=15, told=True),
    )
    found = verdict_of(*statuses, multi_host=True, launcher_code=14)
    assert (found.exit_code, found.sentence) == (143, "rank 2 on h3 was killed by SIGTERM")


class TestPassedOn:
    """mpirun passes some signals on to every rank, and its wrappers note them."""

    @staticmethod
    def hit(number: int, **how: Any) -> RankStatus:
        return rank(number, **{"signal": 6, "passed": "ABRT", "told": number > 0, **how})

    @pytest.mark.parametrize("last", [{}, {"end": None, "signal": None}])
    def test_nobody_of_the_ranks_began_it(self, last: dict[str, Any]) -> None:
        found = verdict_of(self.hit(0), self.hit(1), self.hit(2, **last), launcher_code=134)
        assert (found.exit_code, found.culprit) == (134, None)
        assert found.sentence == (
            "mpirun was sent SIGABRT from outside of the run, and passed it on to its ranks"
        )

    def test_one_whose_group_was_sent_it_did(self) -> None:
        found = verdict_of(self.hit(0), rank(1, signal=15, told=True))
        assert found.sentence == "rank 0 on vm was killed by SIGABRT"

    def test_a_failure_beside_it_did(self) -> None:
        assert verdict_of(self.hit(0), self.hit(1), rank(2, code=3)).culprit is not None


class TestStopped:
    def test_a_hang(self) -> None:
        found = verdict_of(rank(0, end=None), rank(1, end=None, pid=77), ended_by=EndedBy.HANG, stopped=(1,))
        assert found.exit_code == Exit.HANG
        assert (
            found.sentence.startswith("rank 1 on vm was stopped by a signal")
            and "kill -CONT 77" in found.sentence
        )

    def test_several(self) -> None:
        held = rank(1, end=None, pid=77), rank(2, end=None, pid=78)
        found = verdict_of(rank(0, end=None), *held, ended_by=EndedBy.HANG, stopped=(1, 2))
        assert found.sentence.startswith("ranks 1-2 on vm were stopped by a signal")
        assert "the others waited for them; kill -CONT 77 78 would have let them go on" in found.sentence
        assert [status.rank for status in found.victims] == [0]

    def test_all_of_them_made_nobody_wait(self) -> None:
        held = rank(0, end=None, pid=77), rank(1, end=None, pid=78)
        found = verdict_of(*held, ended_by=EndedBy.HANG, stopped=(0, 1))
        assert "the others" not in found.sentence
        assert found.sentence.endswith("kill -CONT 77 78 would have let them go on")

    def test_what_the_guard_takes_for_a_loop(self) -> None:
        said = {"message": "error[TTG005]: late", "guard": {"code": "TTG005", "culprits": [1]}, "time": 10.1}
        found = verdict_of(rank(0, code=1), rank(1, end=None), failures={0: said}, stopped=(1,))
        assert "was stopped by a signal" in found.sentence

    def test_those_who_waited_for_it_are_its_victims(self) -> None:
        waited, stopped = rank(0, end=None), rank(1, end=None, pid=77)
        found = verdict_of(waited, stopped, ended_by=EndedBy.HANG, stopped=(1,))
        assert (found.culprit, found.victims) == (stopped, (waited,))

    def test_it_is_not_to_blame_for_a_hang_after_a_failure(self) -> None:
        failed, stopped = rank(0, end=5.0, code=3), rank(1, end=None)
        found = verdict_of(failed, stopped, ended_by=EndedBy.HANG, stopped=(1,))
        assert found.culprit == failed

    def test_a_rank_that_is_stopped_beside_another_ones_failure_is_not_to_blame(self) -> None:
        assert verdict_of(rank(0, code=3), rank(1, end=None), stopped=(1,)).exit_code == 3


class TestRaisedAndStayed:
    """A rank that has raised and does not end makes the others wait: the exception is the news, not the hang."""

    RAISED: ClassVar = {1: {"exception": "ValueError", "message": "boom", "time": 5.0}}

    @pytest.mark.parametrize("end", [{"end": None}, {"end": 21.0, "signal": 15, "told": True}])
    def test_the_exception_is_named(self, end: dict[str, Any]) -> None:
        found = verdict_of(
            rank(0, end=None),
            rank(1, **end),
            failures=self.RAISED,
            ended_by=EndedBy.HANG,
            torn_down_at=20.0,
            stuck="no progress",
        )
        assert found.exit_code == 1
        assert found.sentence.startswith("rank 1 on vm raised ValueError and did not end")

    def test_an_exception_that_tells_of_anothers_is_not(self) -> None:
        failures = {1: {"exception": "Exception", "message": "MPI_ERR_PROC_FAILED", "time": 5.0}}
        found = verdict_of(
            rank(0, end=None), rank(1, end=None), failures=failures, ended_by=EndedBy.HANG, torn_down_at=20.0
        )
        assert found.exit_code == Exit.HANG


def test_a_removed_run_folder_is_told_and_is_no_success(tmp_path: Path) -> None:
    lost = (rank(0, end=None), rank(1, end=None))
    for code, expected in ((0, Exit.FAILED), (3, 3)):
        observed = dataclasses.replace(ENDED, launcher_code=code, gone={0: 1.0})
        found = judge(lost, observed, {}, removed=tmp_path)
        assert found.exit_code == expected and f"{tmp_path} was removed during the run" in found.sentence


def test_a_run_folder_that_a_host_does_not_have() -> None:
    statuses = (rank(0, signal=15, told=True), RankStatus(1))
    found = judge(statuses, dataclasses.replace(ENDED, launcher_code=127), {}, True, absent=("h2",))
    assert found.exit_code == Exit.NO_LAUNCHER
    assert found.sentence == "the run folder is not there on host h2: no rank could start on it"
    found = judge(statuses, dataclasses.replace(ENDED, launcher_code=127), {}, True, absent=("h2", "h3"))
    assert found.sentence == "the run folder is not there on hosts h2, h3: no rank could start on them"


def test_a_rank_that_the_guard_holds_at_fault_was_not_killed_with_its_wrapper() -> None:
    """Accused of not coming, it was alive; mpirun ends it and its wrapper at once when the others give up."""
    late = {"guard": {"code": "TTG005", "culprits": [1]}, "message": "error[TTG005]: rank 1 did not come"}
    found = verdict_of(rank(0, code=1), rank(1, end=None), failures={0: {**late, "rank": 0}}, launcher_code=1)
    assert found.exit_code == 1
    assert found.sentence == "rank 1 on vm is at fault: error[TTG005]: rank 1 did not come"


def test_an_exit_on_record_keeps_its_code() -> None:
    record = {"exception": "SystemExit", "code": 5, "message": "5", "time": 9.0, "guard": None}
    found = verdict_of(rank(0, signal=15, told=True, end=10.1), rank(1, code=5), failures={1: record})
    assert (found.exit_code, found.sentence) == (5, "rank 1 on vm exited with 5")
    ended_meanwhile = verdict_of(rank(0, signal=9, end=10.0), failures={0: record})
    assert ended_meanwhile.exit_code == 5


@pytest.mark.parametrize(
    ("culprits", "noticed", "gone", "first"),
    [
        ([], [], {0: 2.0, 1: 1.0}, 1),  # missed first
        ([], [0], {0: 2.0, 1: 1.0}, 0),  # mpirun says so
        ([1], [0], {0: 1.0, 1: 2.0}, 1),  # the guard says so
        ([], [0, 1], {}, 0),
    ],
)
def test_which_of_the_vanished_went_first(
    culprits: list[int], noticed: list[int], gone: dict[int, float], first: int
) -> None:
    statuses = [rank(0, end=None), rank(1, end=None), rank(2, code=1)]
    guard = {"guard": {"code": PROCESS_GONE, "culprits": culprits}}
    found = find_vanished(statuses[:2], {2: guard} if culprits else {}, gone, noticed)
    assert found is statuses[first]


def test_a_failure_beside_a_rank_without_a_record_is_judged_before_mpirun_has_ended() -> None:
    """Of a launcher that is still there no code is known."""
    found = verdict_of(rank(0, code=3), rank(1, end=None), launcher_code=None)
    assert found.culprit is not None and (found.culprit.rank, found.exit_code) == (0, 3)
