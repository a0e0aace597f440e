"""What a call that crosses ranks is called in a record: its function, what the ranks agreed on, its line, and whose values it takes."""

from __future__ import annotations

import threading
from types import CodeType
from typing import Any, NamedTuple

from tt_run.runtime import events


class Facts(NamedTuple):
    """A call as one rank makes it.

    `kind` is collective (on device tensors), gathered (a part of one), entered (a collective that moves single shards), ranks (bytes between
    ranks), send, receive or mpi. `words` is what must be the same when it is made again. `devices` are the physical numbers of
    the rank's devices on the mesh `mesh_id`, `rows` the row of the sent stack that each holds, `parts` the local devices of each
    exchange, `places` the physical number of every position of the mesh device. `crosses`: whether anything comes from another rank.
    `thread` is the name of the program's thread that makes the call, empty for the main one.
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


def site() -> str:
    """The user's line, as `events.call_site`, remembered by instruction."""
    frame = events.user_frame(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is None:
        return "?"
    key = (frame.f_code, frame.f_lasti)
    found = _sites.get(key)
    if found is None:
        found = _sites[key] = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return found


def of_thread(facts: Facts) -> Facts:
    """The same call as it is made by the thread that runs now."""
    running = threading.current_thread()
    return facts if running is threading.main_thread() else facts._replace(thread=running.name)
