"""A back end without MPI, for tests of everything around a launch."""

from __future__ import annotations

from tt_run.launch.backend import Job, Start
from tt_run.launch.keeper import Order
from tt_run.launch.started_job import KeptJob


class LocalBackend:
    """Processes of this machine, numbered as mpirun numbers its ranks; the first failure ends the others."""

    # Each rank is a session of its own, whose leader says when its rank has failed; `wait` alone would wait for the ranks in order.
    _SCRIPT = """
size=$1; shift
groups=
end() { for group in $groups; do kill -s TERM -- "-$group" 2>/dev/null; done; }
trap end HUP INT TERM USR1
rank=0
while [ $rank -lt "$size" ]; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=$size setsid /bin/sh -c \
        'launcher=$1; shift; trap : TERM; "$@" && exit; code=$?; kill -USR1 "$launcher"; exit $code' rank $$ "$@" &
    groups="$groups $!"; rank=$((rank + 1))
done
code=0
for group in $groups; do
    while wait "$group"; ended=$?; kill -0 "$group" 2>/dev/null; do :; done
    [ $ended = 0 ] || code=$ended
done
exit $code
"""

    def start(self, start: Start) -> Job:
        command = ("/bin/sh", "-c", self._SCRIPT, "tt-run-local", str(start.size), *start.per_rank)
        return KeptJob(Order(command, start.cwd, start.environ, log=start.log), start.abandoned)
