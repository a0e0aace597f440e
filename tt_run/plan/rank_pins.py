"""Rank pins against the ranks and hosts that there are (reference library 0.81.1)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from mgd.diagnostics import Label
from mgd.graph import MeshGraph
from mgd.lean import replace
from tt_run.inputs.bindings import RankBindings
from tt_run.inputs.findings import Findings, list_numbers, nearest
from tt_run.inputs.hosts.pinnings import RankPin


def resolve_pins(
    pins: Sequence[RankPin],
    bindings: RankBindings,
    graphs: Sequence[MeshGraph],
    hosts: Sequence[str],
    findings: Findings,
) -> dict[int, RankPin]:
    """The pin of each pinned rank. Findings for ranks and hosts that are not there, ranks pinned twice, and meshes over several hosts.

    `graphs` are those of the sub-contexts in order, `hosts` the names that a rank can be pinned to.
    """
    found: dict[int, RankPin] = {}
    for pin in pins:
        if pin.host not in hosts:
            close = nearest(pin.host, hosts)
            findings.fatal(
                "TTR121",
                f"{pin} is pinned to {pin.host}, which is none of the hosts",
                Label(
                    pin.host_position,
                    f"the hosts are {', '.join(hosts[:8])}{', …' if len(hosts) > 8 else ''}",
                ),
                help=f"did you mean {close}?" if close else "name one of them",
            )
        rank = _rank_of(pin, bindings)
        if rank is None:
            several = pin.rank is None and len(graphs) > 1
            findings.fatal(
                "TTR121",
                f"{pin} does not exist",
                Label(
                    pin.position, f"the ranks are {list_numbers([each.rank for each in bindings.bindings])}"
                ),
                help="with several descriptors mesh ids repeat: write rank: N"
                if several
                else "name one of them",
            )
            continue
        binding = bindings.bindings[rank]
        mesh = graphs[binding.subcontext_id or 0].mesh(binding.mesh_id)
        if mesh.host_count > 1 and not pin.names_devices:
            findings.fatal(
                "TTR123",
                f"rank {rank} cannot be pinned: mesh {binding.mesh_id} lies on {mesh.host_count} hosts",
                Label(pin.position, "only a mesh of one host can be pinned"),
                help="leave the pin out; the allocation finds hosts that are cabled to each other",
            )
        if rank in found:
            findings.fatal(
                "TTR122",
                f"rank {rank} is pinned twice",
                Label(pin.position, f"to {pin.host} here"),
                Label(found[rank].position, f"to {found[rank].host} there"),
                help="keep one of the entries",
            )
        found.setdefault(rank, pin)
    return found


def other_orders(
    pins: Mapping[int, RankPin], hosts: Sequence[str], most: int = 200
) -> Iterator[dict[int, RankPin]]:
    """The same pins with the places of each group given out in other orders, those first that are written first; at most so many.

    A group says which host ranks may take which places, not in which order. Orders that put each rank on the same host are one.
    """
    groups: dict[int, list[int]] = {}
    for rank, pin in pins.items():
        if pin.choices:
            groups.setdefault(pin.group, []).append(rank)
    taken = {tuple(pins[rank].host for ranks in groups.values() for rank in ranks)}
    ways = [
        itertools.permutations(
            [n for n, c in enumerate(pins[ranks[0]].choices) if c.host in hosts], len(ranks)
        )
        for ranks in groups.values()
    ]
    for order in itertools.islice(itertools.product(*ways), 50 * most):
        made = dict(pins)
        for ranks, numbers in zip(groups.values(), order, strict=True):
            made.update((rank, pins[rank].choices[n]) for rank, n in zip(ranks, numbers, strict=True))
        key = tuple(made[rank].host for ranks in groups.values() for rank in ranks)
        if key not in taken:
            taken.add(key)
            yield made
        if len(taken) > most:
            return


def with_pinned_environment(bindings: RankBindings, pins: Mapping[int, RankPin]) -> RankBindings:
    """The bindings with the variables that pins set for their ranks."""
    ranks = tuple(
        replace(binding, env={**binding.env, **pins[binding.rank].env}) if binding.rank in pins else binding
        for binding in bindings.bindings
    )
    return replace(bindings, bindings=ranks)


def _rank_of(pin: RankPin, bindings: RankBindings) -> int | None:
    if pin.rank is not None:
        return pin.rank if pin.rank < len(bindings.bindings) else None
    if bindings.subcontext_sizes:  # mesh ids repeat
        return None
    place = (pin.mesh_id, pin.mesh_host_rank)
    ranks = [each.rank for each in bindings.bindings if (each.mesh_id, each.mesh_host_rank or 0) == place]
    return ranks[0] if ranks else None
