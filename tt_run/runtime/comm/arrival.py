"""Before the ranks meet: are the others of this host coming? Starting MPI, and the first meeting, wait for all of them uninterruptibly.

Each rank opens an abstract Unix socket named after the job and its local rank, which leaves no file behind and vanishes with the process,
and looks for those of the others until a deadline.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from tt_run.rules import guard_rule
from tt_run.runtime.comm.deadlines import Patience

_LOOK_SECONDS = 0.25  # between looks at the processes that are waited for
_JOB = "PMIX_NAMESPACE"
_LOCAL_RANK = "OMPI_COMM_WORLD_LOCAL_RANK"
_LOCAL_SIZE = "OMPI_COMM_WORLD_LOCAL_SIZE"


NOT_STARTED, NOT_COME, ENDED_EARLY = "TTG007", "TTG005", "TTG002"


class NotArrived(RuntimeError):
    """Ranks have not come to the first meeting: to `call`, or with none to the runtime's start.

    `culprits` are their ranks in the job, as far as known; with no `seconds` they will not come, since their programs have ended.
    """

    def __init__(
        self,
        who: str,
        culprits: Sequence[int],
        seconds: float | None,
        call: str = "",
        places: Mapping[int, str] = {},
    ) -> None:
        self.code = ENDED_EARLY if seconds is None else NOT_COME if call else NOT_STARTED
        self.culprits = tuple(culprits)
        what = f"come to {call}" if call else "start the runtime"
        failed = f"ended before {call}" if seconds is None else f"did not {what} within {seconds:g} s"
        lines = [f"error[{self.code}]: {who} {failed}"]
        lines += [f"  rank {rank}: running at {place}  <-" for rank, place in places.items() if place]
        super().__init__("\n".join([*lines, f"  help: {guard_rule(self.code).help}"]))

    @classmethod
    def of_this_host(
        cls, local_ranks: Sequence[int], seconds: float | None, environment: Mapping[str, str], call: str
    ) -> NotArrived:
        """Of ranks by their numbers on this host."""
        from tt_run.runtime.comm.missing_ranks import place_of, world_ranks

        culprits = world_ranks(local_ranks, environment)
        numbers = ", ".join(map(str, culprits or local_ranks))
        places = {} if seconds is None else {rank: place_of(rank, environment) for rank in culprits}
        who = f"rank {numbers}" if culprits else f"local rank {numbers} of this host"
        return cls(who, culprits, seconds, call, places)


class Arrival:
    """This rank's sign that it has come; the others see it as long as the object lives."""

    def __init__(self, job: str, local_rank: int, local_size: int) -> None:
        self._job = job
        self.local_size = local_size
        self._others = [rank for rank in range(local_size) if rank != local_rank]
        import socket  # of a job alone: a program by itself meets nobody

        self._sign = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._sign.bind(self._name(local_rank))
            self._sign.listen(max(local_size, 1))
        except OSError:
            self._sign.close()
            raise

    @classmethod
    def announce(cls, environment: Mapping[str, str]) -> Arrival | None:
        """The sign of the rank that the environment describes; None when it names no job."""
        try:
            return cls(environment[_JOB], int(environment[_LOCAL_RANK]), int(environment[_LOCAL_SIZE]))
        except (KeyError, ValueError, OSError):
            return None

    def await_others(
        self,
        seconds: float,
        sleep: Callable[[float], None] = time.sleep,
        call: str = "",
        tell: Callable[[list[int]], None] = lambda _: None,
    ) -> None:
        """Return when the other ranks of this host have come. Raises NotArrived naming those that have not after `seconds`,
        or never will. Meanwhile `tell` is told which of the host's ranks are missing.
        """
        from tt_run.runtime.comm.missing_ranks import at_their_end, processes_of

        patience, looked, between = Patience(), time.monotonic(), min(_LOOK_SECONDS, seconds / 2)
        missing, nap = self._others, 0.001
        while missing := [rank for rank in missing if not self._has_come(rank)]:
            if time.monotonic() - looked > between:
                looked = time.monotonic()
                patience.look(processes_of(missing, os.environ))
                tell(missing)
                if call and (ended := at_their_end(missing, os.environ)):
                    raise NotArrived.of_this_host(ended, None, os.environ, call)
            if patience.over(seconds):
                raise NotArrived.of_this_host(missing, seconds, os.environ, call)
            sleep(nap)
            nap = min(nap * 1.5, 0.05)

    def close(self) -> None:
        """Take the sign away."""
        self._sign.close()

    def _has_come(self, rank: int) -> bool:
        import socket

        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(self._name(rank)) == 0

    def _name(self, rank: int) -> str:
        return f"\0tt-run/{self._job}/{rank}"
