"""TT_VISIBLE_DEVICES against the blocks that ranks own and against each other."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from mgd.diagnostics import Label, Position
from tt_run.contract import VISIBLE_DEVICES
from tt_run.inputs.findings import Findings, label, list_numbers
from tt_run.plan.checks.chips import Machines, check_chips, described_machines
from tt_run.plan.checks.subject import Subject
from tt_run.plan.model import RankPlan

_LIST = r"(?a)\s*\d+\s*(,\s*\d+\s*)*\Z"
_PCI_ADDRESS = r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:"


def check_devices(subject: Subject, findings: Findings) -> None:
    """TTR212 to TTR214, and the chips behind the devices: TTR210, TTR211, TTR216, TTR217."""
    visible: dict[int, tuple[int, ...]] = {}
    for rank in subject.ranks:
        variable = rank.env.get(VISIBLE_DEVICES)
        if variable is None or re.search(_PCI_ADDRESS, variable.value):
            continue
        devices = _parse(rank, variable.value, subject.set_at(rank.rank, VISIBLE_DEVICES), findings)
        if devices is not None:
            visible[rank.rank] = devices
    machines = described_machines(subject, findings)
    check_chips(subject, visible, machines, findings)
    _check_shared(subject, visible, machines, findings)
    _check_unlimited(subject, findings)


def _parse(rank: RankPlan, value: str, at: Position | None, findings: Findings) -> tuple[int, ...] | None:
    if not re.match(_LIST, value):
        findings.error(
            "TTR212",
            f"TT_VISIBLE_DEVICES of rank {rank.rank} is no list of device numbers",
            *label(at, repr(value)),
            help='write "0,1": the numbers under /dev/tenstorrent',
        )
        return None
    devices = tuple(int(part) for part in value.split(","))
    if len(set(devices)) < len(devices):
        findings.error(
            "TTR212",
            f"TT_VISIBLE_DEVICES of rank {rank.rank} names a device twice",
            *label(at, repr(value)),
            help=f'write "{",".join(map(str, dict.fromkeys(devices)))}"',
        )
    return devices


def _check_shared(
    subject: Subject, visible: dict[int, tuple[int, ...]], machines: Machines, findings: Findings
) -> None:
    """No device belongs to two ranks of one host, nor one that comes with it; each mock cluster descriptor stands for a host of
    its own."""
    mock = subject.source.bindings.mock
    owner: dict[tuple[str, str | None, int], int] = {}
    clashes: dict[int, dict[int, list[int]]] = {}
    for rank, devices in visible.items():
        host = subject.seating.seats[rank].host
        if host is None:
            continue
        machine = machines.get(mock.get(rank, ""))
        along = sorted({machine.chips[chip].pcie_chip for chip in machine.opened(devices)}) if machine else ()
        for device in dict.fromkeys((*devices, *along)):
            first = owner.setdefault((host, mock.get(rank), device), rank)
            if first != rank:
                clashes.setdefault(first, {}).setdefault(rank, []).append(device)
    # Emulated ranks of several hosts may run on one machine, where their device numbers repeat without harm.
    tell = findings.note if subject.request.emulate else findings.error
    for first, others in clashes.items():
        second, shared = next(iter(others.items()))
        ranks = list_numbers([first, *others])
        tell(
            "TTR213",
            f"ranks {ranks} on {subject.seating.seats[first].host} share device{'s' * (len(shared) > 1)} {', '.join(map(str, shared))}",
            *label(subject.set_at(second, VISIBLE_DEVICES), f"rank {second} sees {_text(visible[second])}"),
            *label(subject.set_at(first, VISIBLE_DEVICES), f"rank {first} sees {_text(visible[first])}"),
            help="give each rank of a host its own devices, or put the ranks on different hosts with a rankfile",
        )


def _check_unlimited(subject: Subject, findings: Findings) -> None:
    """Ranks without TT_VISIBLE_DEVICES open every device of their host, which two ranks of one host cannot do.

    Ranks of one mock cluster descriptor share that machine, wherever they run; TT-Metal refuses them (reference library 0.81.1).
    """
    if subject.request.emulate or not subject.bindings[0].position.line:  # allocated: TTR182 tells it
        return
    mock = subject.source.bindings.mock
    crowds: dict[str, list[int]] = defaultdict(list)
    for rank in subject.ranks:
        host = mock.get(rank.rank, "") if mock else subject.seating.seats[rank.rank].host
        if host:
            crowds[host].append(rank.rank)
    for host, ranks in crowds.items():
        unlimited = [rank for rank in ranks if VISIBLE_DEVICES not in subject.ranks[rank].env]
        if len(ranks) > 1 and unlimited:
            tell = findings.error if mock else findings.warn
            shown = subject.site.shown(Path(host)) if mock else host
            tell(
                "TTR214",
                f"{len(ranks)} ranks share {shown}, and rank{'s' * (len(unlimited) > 1)} {list_numbers(unlimited)} may open all of its devices",
                Label(
                    subject.bindings[unlimited[0]].position, f"rank {unlimited[0]} has no TT_VISIBLE_DEVICES"
                ),
                help='add env_overrides: {TT_VISIBLE_DEVICES: "0,1"}',
            )


def _text(devices: tuple[int, ...]) -> str:
    return ",".join(map(str, devices))
