"""TTR16x to TTR18x: placing meshes on described machines, and ranks on hosts."""

from __future__ import annotations

from tt_run.plan.rules.rule import Rule

PLACEMENT = (
    Rule(
        "TTR160",
        "cluster descriptor that cannot be understood",
        "It describes the chips and cables of a machine; without it nothing can be placed there.",
        "Correct the file at the position shown.",
    ),
    Rule(
        "TTR161",
        "oddity in a cluster descriptor",
        "It has a meaning, but probably not the one meant.",
        "Check the file.",
    ),
    Rule(
        "TTR162",
        "one chip in two places",
        "Two descriptors name the same unique id, so one of them describes another machine.",
        "Collect the descriptors again, one from each host.",
    ),
    Rule(
        "TTR163",
        "one-sided cable",
        "One end names the other, which does not name it back: a cable is unplugged or a descriptor is out of date.",
        "Check the cable, and collect the descriptors again.",
    ),
    Rule(
        "TTR170",
        "too few chips",
        "The descriptor wants more devices than the machine has.",
        "Use a smaller descriptor.",
    ),
    Rule(
        "TTR171",
        "host block larger than any host",
        "All devices of a host block must sit on one host.",
        "Cut the mesh over more hosts with host_topology.",
    ),
    Rule(
        "TTR172",
        "too few chips with enough neighbours",
        "Inner devices of a mesh need up to four linked neighbours.",
        "Use a mesh of another shape, or check the cables.",
    ),
    Rule(
        "TTR173",
        "links too thin",
        "Some links of the machine have fewer channels than the descriptor asks for under the STRICT policy.",
        "Ask for fewer channels, or write policy: RELAXED.",
    ),
    Rule("TTR174", "no wrap", "The machine has no ring of that length.", "Declare the dimension LINE."),
    Rule(
        "TTR175",
        "pins in the way",
        "The pinned slots cannot all be kept.",
        "Drop the pins or name other slots.",
    ),
    Rule(
        "TTR176",
        "host blocks in the way",
        "The mesh fits, but not with its cut over hosts.",
        "Change host_topology.",
    ),
    Rule(
        "TTR177",
        "no placement",
        "The constraints shown cannot hold together on this machine.",
        "Relax one of those that are named.",
    ),
    Rule(
        "TTR178",
        "fewer channels than asked",
        "The RELAXED policy allows it; traffic over those links is slower.",
        "Check the cables if full speed is wanted.",
    ),
    Rule(
        "TTR179",
        "search ended without an answer",
        "No placement was found in time, and none is excluded either.",
        "Add pins, or describe fewer machines.",
    ),
    Rule(
        "TTR180",
        "more host blocks than slots",
        "Each host block of each mesh needs a rank, and each rank a slot.",
        "Name more hosts, or give slots: --hosts a:2,b:2.",
    ),
    Rule(
        "TTR181",
        "hosts without a rank",
        "They are allocated and stay idle.",
        "Name as many hosts as there are blocks.",
    ),
    Rule(
        "TTR182",
        "ranks of a host share its devices",
        "Without a description of the machine, TT_VISIBLE_DEVICES cannot be derived for each rank.",
        "Describe the machine with --mock-cluster-rank-binding FILE, or use --emulate.",
    ),
    Rule(
        "TTR183",
        "more ranks pinned to a host than it takes",
        "Each rank needs a slot of its own.",
        "Give the host more slots (--hosts a:2), or pin fewer ranks to it.",
    ),
)
