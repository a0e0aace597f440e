"""Which messages a broken link, rank or host concerns."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tt_run.faults import read_fault
from tt_run.runtime.events import Begun
from tt_run.runtime.faults.links import BrokenLinks


@pytest.mark.parametrize(
    ("fault", "peer", "meets"),
    [
        ("cut=link:*", 1, True),
        ("cut=link:1-2", 1, False),
        ("cut=rank:1", 1, True),
        ("cut=rank:1", 2, False),
        ("cut=rank:0", 2, True),
        ("cut=host:a", 1, False),
        ("cut=host:a", 2, True),
        ("cut=host:b", 2, True),
        ("cut=host:c", 2, False),
        ("cut=link:*", 0, False),
    ],
)
def test_messages_of_rank_0(fault: str, peer: int, meets: bool) -> None:
    links = BrokenLinks(0)
    links.__dict__["_hosts"] = {0: "a.site", 1: "a.site", 2: "b.site"}
    begun = Begun("send", "send_bytes", None, (), {})
    begun.peers, begun.nbytes = (peer,), 100
    found = links.crossed(read_fault(fault), begun)
    assert found == ((f"the way between ranks 0 and {peer}", 100.0) if meets else None)


@pytest.mark.parametrize(
    ("fault", "met"),
    [
        ("cut=link:*", (0, 1, 15.0)),
        ("cut=link:1-2", (1, 2, 7.0)),
        ("cut=link:2-3", None),  # at no device of this rank
        ("cut=rank:1", (1, 2, 7.0)),
        ("cut=rank:0", (1, 2, 7.0)),
        ("cut=rank:2", None),
        ("cut=host:a", (1, 2, 7.0)),
        ("cut=host:c", None),
    ],
)
def test_links_of_a_collective(fault: str, met: tuple[int, int, float] | None) -> None:
    """Devices 0 and 1 are of rank 0, 2 and 3 of rank 1; the other direction of a link counts with it."""
    loads = {(0, 1): 10, (1, 0): 5, (1, 2): 7, (3, 2): 9, (3, 4): 50}
    plan = SimpleNamespace(
        device=SimpleNamespace(positions=(0, 1, 2, 3), owner_ranks=(0, 0, 1, 1), mesh_id=5),
        moved=((0, 1, 2, 3),),
        nbytes=10,
        traffic=SimpleNamespace(
            loads=lambda groups, nbytes, fabric: {link: SimpleNamespace(bytes=b) for link, b in loads.items()}
        ),
    )
    links = BrokenLinks(0)
    links.__dict__.update(_hosts={0: "a.site", 1: "b.site"}, _fabric=None)
    begun = Begun("collective", "all_gather", plan, (), {})
    found = links.crossed(read_fault(fault), begun)
    assert found == (met and (f"the link between devices {met[0]} and {met[1]} of mesh 5", met[2]))
