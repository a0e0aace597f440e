"""What the choice of launcher words depends on, besides the plan: the machine, as a value that tests can make up."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping

from mgd.lean import dataclass, field
from tt_run.granted import usable_cpus


@dataclass(frozen=True, slots=True)
class Machine:
    """The launching machine: its environment, the physical cores that this process may use, whether we are root, and our folder in the user database."""

    environ: Mapping[str, str] = field(default_factory=dict)
    cores: int = 1
    is_root: bool = False
    home: str = ""

    @classmethod
    def current(cls) -> Machine:
        """The machine as it is now."""
        return cls(dict(os.environ), physical_cores(), os.geteuid() == 0, user_home())


def user_home() -> str:
    """The folder of this user in the user database, `/` for a user that is not there."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # a number without a name, as in containers
        return "/"


def physical_cores() -> int:
    """The cores, not hardware threads, that this process may run on: what Open MPI counts as slots."""
    cores = set()
    for cpu in usable_cpus():
        try:
            name = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
            with open(name, "rb", buffering=0) as stream:  # machines have hundreds of them
                cores.add(stream.read())
        except OSError:
            cores.add(b"%d" % cpu)
    return max(1, len(cores))
