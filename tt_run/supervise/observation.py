"""What was seen of a run from outside, and how it ended: all that a verdict knows of it besides the records of the ranks."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from mgd.lean import dataclass, field

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.supervise.looking.stacks import RankStack


class EndedBy(enum.Enum):
    """Why a run ended."""

    ITSELF = "itself"
    SIGNAL = "signal"
    TIMEOUT = "timeout"
    START_TIMEOUT = "start timeout"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of a run from outside: how it ended, the launcher's exit code, and the stacks of a hang."""

    ended_by: EndedBy
    launcher_code: int | None
    started_at: float
    ended_at: float
    torn_down_at: float | None = None
    signal: int | None = None
    stacks: tuple[RankStack, ...] = ()
    stuck: str = ""
    late: tuple[int, ...] = ()  # whom the others of a hang wait for
    swept: tuple[int, ...] = ()  # ranks that left processes behind, which were ended
    gone: Mapping[int, float] = field(
        default_factory=dict
    )  # when processes of ranks of this machine were first missed
    outlived: tuple[
        int, ...
    ] = ()  # ranks of this machine that were there after another's failure was on record
    stopped: tuple[int, ...] = ()  # ranks that a signal had stopped when the run was about to end
    frozen: Mapping[int, str] = field(
        default_factory=dict
    )  # those that their control group had frozen, and what lets each go on
    launcher_pid: int = 0
    memory: str = ""  # what the kernel counted of its memory killer during the run
    last_shown: int | None = None  # the rank whose words are the last on the console
    unsaid: tuple[int, ...] = ()  # ranks whose guard's words the console has held back for the report
    survived: tuple[str, ...] = ()  # what is to be said of ranks that SIGKILL has not ended
