"""What a call that crosses ranks is called in a record: its function, what the ranks agreed on, its line, and whose values it takes."""

from __future__ import annotations

import threading
from types import CodeType
from typing import Any, NamedTuple

from tt_run.runtime import events
from tt_run.runtime.record import streams


class Facts(NamedTuple):
    """A call as one rank makes it.

    `kind` is collective (on device tensors), gathered (a part of one), entered (a collective that moves single shards), ranks (bytes between
    ranks), send, receive or mpi. `words` is what must be the same when it is made again. `devices` are the physical numbers of
    the rank's devices on the mesh `mesh_id`, `rows` the row of the sent stack that each holds, `parts` the local devices of each
    exchange, `places` the physical number of every position of the mesh device. `crosses`: whether anything comes from another rank.
    `thread` is the stream of the program's thread that makes the call (`streams`), empty for the main one.
    """

    kind: str
    name: str
    words: str
    site: str
    ranks: tuple[int, ...] = ()
    crosses: bool = True
    mesh_id: int = 0
    devices: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    parts: tuple[tuple[int, ...], ...] = ()
    places: tuple[int, ...] = ()
    thread: str = ""

    def __str__(self) -> str:
        return f"{self.words} at {self.site}"


def facts_from_json(fields: list[Any]) -> Facts:
    """Facts as they were before they became JSON."""
    kind, name, words, site, ranks, crosses, mesh_id, devices, rows, parts, places, *thread = fields
    return Facts(
        kind,
        name,
        words,
        site,
        tuple(ranks),
        crosses,
        mesh_id,
        tuple(devices),
        tuple(rows),
        tuple(map(tuple, parts)),
        tuple(places),
        *thread,
    )


_sites: dict[tuple[CodeType, int], str] = {}
Place = tuple[CodeType, int] | None


def place() -> Place:
    """Where in the program a call is made: code, and an instruction of it. None where no frame of the program's leads here."""
    frame = events.user_frame(3)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def site_at(at: Place) -> str:
    """The same as `events.call_site` says it."""
    if at is None:
        return "?"
    found = _sites.get(at)
    if found is None:
        found = _sites[at] = events.site_of(*at)
    return found


def site() -> str:
    """The user's line, as `events.call_site`, remembered by instruction."""
    return site_at(place())


_main = threading.main_thread()


def of_thread(facts: Facts) -> Facts:
    """The same call as it is made by the thread that runs now."""
    if threading.get_ident() == _main.ident:
        return facts
    return facts._replace(thread=streams.stream())
