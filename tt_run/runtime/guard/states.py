"""What is known of a rank at a moment, as a value: the input of a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mgd.lean import dataclass, field
from tt_run.runtime.guard.board import ENDED, RAISED, RUNNING, WAITING

# Ordinal of the call on its group -> (signature text, call site).
History = dict[int, tuple[str, str]]


@dataclass(frozen=True)
class Wait:
    """What a rank waits for. `number` is the ordinal of the call on its group or channel, `missing` the ranks that have not come.

    `kind` is collective, send, receive, message (of the program's own MPI: from whom and how many is not counted) or exit. `since` and `checked` are seconds of the host's clock: when the wait began, when
    `missing` was last found to be so. `channel` names a point-to-point stream, `callers` the lines that led to `site`.
    """

    kind: str
    call: str
    site: str
    group: tuple[int, ...]
    number: int
    missing: tuple[int, ...]
    since: float = 0.0
    checked: float = 0.0
    generation: int = 0
    channel: str = ""
    callers: str = ""


@dataclass(frozen=True)
class RankState:
    """A rank's state, its wait if it has one, the last call it made, and what it told when it ended or was asked.

    `remote` ranks are on other hosts: what is known of them is what they told last. `calls` is None where nobody has counted them. `sent` and `posted` count the messages it has sent and the receives it has posted on each channel "peer:tag".
    """

    rank: int
    state: int = RUNNING
    lost: bool = False
    remote: bool = False
    wait: Wait | None = None
    calls: int | None = 0
    last: str = ""
    doing: str = ""
    error: str = ""
    error_site: str = ""
    fields: tuple[str, ...] = ()
    histories: Mapping[str, History] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    posted: Mapping[str, int] = field(default_factory=dict)

    @property
    def gone(self) -> bool:
        """True when it will never come: it ended, raised, or its process is no more."""
        return self.lost or self.state in (ENDED, RAISED)

    @property
    def waiting(self) -> bool:
        """True when it is inside a wait."""
        return self.state == WAITING and self.wait is not None and not self.lost

    def shows(self, group: tuple[int, ...], number: int) -> bool:
        """True when it shows a call of this number; first calls may name another group: that is what ranks disagree on then."""
        wait = self.wait
        return (
            bool(self.fields)
            and wait is not None
            and wait.number == number
            and (wait.group == group or number == 1)
        )


def group_key(ranks: tuple[int, ...]) -> str:
    """The name of a group in records: `0,1,4`."""
    return ",".join(map(str, ranks))


def wait_to_json(wait: Wait) -> dict[str, Any]:
    """A wait as plain data."""
    return asdict(wait)


def state_from_json(
    rank: int,
    state: int,
    lost: bool,
    calls: int,
    last: str,
    record: Mapping[str, Any] | None,
    remote: bool,
) -> RankState:
    """A rank's state from its row: the words, and its record if it has published one."""
    record = record or {}
    wait = record.get("wait")
    return RankState(
        rank=rank,
        state=state,
        lost=lost,
        remote=remote,
        wait=None
        if wait is None
        else Wait(**{**wait, "group": tuple(wait["group"]), "missing": tuple(wait["missing"])}),
        calls=calls,
        last=last,
        doing=record.get("doing", ""),
        error=record.get("error", ""),
        error_site=record.get("error_site", ""),
        fields=tuple(record.get("fields", ())),
        histories={
            key: {int(number): (str(call), str(site)) for number, (call, site) in history.items()}
            for key, history in record.get("histories", {}).items()
        },
        sent=record.get("sent", {}),
        posted=record.get("posted", {}),
    )
