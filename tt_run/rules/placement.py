"""TTR16x to TTR18x: placing meshes on described machines, and ranks on hosts."""

from __future__ import annotations

from mgd.catalogue import Rule
from mgd.diagnostics import Severity

PLACEMENT = (
    Rule(
        "TTR160",
        "cluster descriptor that cannot be understood",
        why="It describes the chips and cables of a machine; without it nothing can be placed there.",
        help="Correct the file at the position shown.",
    ),
    Rule(
        "TTR161",
        "oddity in a cluster descriptor",
        why="It has a meaning, but probably not the one meant.",
        severity=Severity.WARNING,
        help="Check the file.",
    ),
    Rule(
        "TTR162",
        "one chip in two places",
        why="Two descriptors name the same unique id, so one of them describes another machine.",
        help="Collect the descriptors again, one from each host.",
    ),
    Rule(
        "TTR163",
        "one-sided cable",
        why="One end names the other, which does not name it back: a cable is unplugged or a descriptor is out of date.",
        severity=Severity.WARNING,
        help="Check the cable, and collect the descriptors again.",
    ),
    Rule(
        "TTR170",
        "too few chips",
        why="The descriptor wants more devices than the machine has.",
        help="Use a smaller descriptor.",
    ),
    Rule(
        "TTR171",
        "host block larger than any host",
        why="All devices of a host block must sit on one host.",
        help="Cut the mesh over more hosts with host_topology.",
    ),
    Rule(
        "TTR172",
        "too few chips with enough neighbours",
        why="Inner devices of a mesh need up to four linked neighbours.",
        help="Use a mesh of another shape, or check the cables.",
    ),
    Rule(
        "TTR173",
        "links too thin",
        why="Some links of the machine have fewer channels than the descriptor asks for under the STRICT policy.",
        help="Ask for fewer channels, or write policy: RELAXED.",
    ),
    Rule(
        "TTR174", "no wrap", why="The machine has no ring of that length.", help="Declare the dimension LINE."
    ),
    Rule(
        "TTR175",
        "pins in the way",
        why="The pinned slots cannot all be kept.",
        help="Drop the pins or name other slots.",
    ),
    Rule(
        "TTR176",
        "host blocks in the way",
        why="The mesh fits, but not with its cut over hosts.",
        help="Change host_topology.",
    ),
    Rule(
        "TTR177",
        "no placement",
        why="The constraints shown cannot hold together on this machine.",
        help="Relax one of those that are named.",
    ),
    Rule(
        "TTR178",
        "fewer channels than asked",
        why="The RELAXED policy allows it; traffic over those links is slower.",
        severity=Severity.WARNING,
        help="Check the cables if full speed is wanted.",
    ),
    Rule(
        "TTR179",
        "search ended without an answer",
        why="No placement was found in time, and none is excluded either.",
        help="Add pins, or describe fewer machines.",
    ),
    Rule(
        "TTR180",
        "more host blocks than slots",
        why="Each host block of each mesh needs a rank, and each rank a slot.",
        help="Name more hosts, or give slots: --hosts a:2,b:2.",
    ),
    Rule(
        "TTR181",
        "hosts without a rank",
        why="They are allocated and stay idle.",
        severity=Severity.WARNING,
        help="Name as many hosts as there are blocks.",
    ),
    Rule(
        "TTR182",
        "ranks of a host share its devices",
        why="Without a description of the machine, TT_VISIBLE_DEVICES cannot be derived for each rank.",
        severity=Severity.NOTE,
        help="Describe the machine with --mock-cluster-rank-binding FILE, or use --emulate.",
    ),
    Rule(
        "TTR183",
        "more ranks pinned to a host than it takes",
        why="Each rank needs a slot of its own.",
        help="Give the host more slots (--hosts a:2), or pin fewer ranks to it.",
    ),
)
