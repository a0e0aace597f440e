"""Which rank hosts which devices of a descriptor's mesh, and how a rank numbers its own (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tt_run import contract
from tt_run.runtime.comm.world import Peer
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.machine import Machine, local_numbers, machine_of, parse_visible

if TYPE_CHECKING:
    from mgd.graph import Block, Mesh


def places_of(peers: tuple[Peer, ...], meshes: Mapping[int, Mesh], path: str) -> dict[int, tuple[int, int]]:
    """Each rank's (mesh_id, host_rank). What the environment leaves open goes by rank: mesh after mesh, host rank after host rank."""
    slots = [(mesh.mesh_id, host) for mesh in meshes.values() for host in range(mesh.host_count)]
    places: dict[int, tuple[int, int]] = {}
    for peer in peers:
        mesh_id, host_rank = peer.mesh_id, peer.mesh_host_rank
        if mesh_id is None:
            mesh_id = slots[len(places) % len(slots)][0] if len(peers) > 1 else next(iter(meshes))
        if mesh_id not in meshes:
            raise fatal(
                f"rank {peer.rank} has {contract.MESH_ID}={mesh_id}, but {path} has the meshes {sorted(meshes)}",
                hint=f"unset {contract.MESH_ID}, or write one of them; tt-run sets it from the rank bindings",
            )
        if host_rank is None:
            host_rank = sum(1 for other, _ in places.values() if other == mesh_id)
        places[peer.rank] = (mesh_id, host_rank)
    return places


def owners_of(mesh: Mesh, places: Mapping[int, tuple[int, int]], path: str) -> tuple[int, ...]:
    """The rank that hosts each device of a mesh. Raises RuntimeError unless every host rank is taken exactly once."""
    ranks: dict[int, int] = {}
    problems = []
    for rank, (mesh_id, host_rank) in places.items():
        if mesh_id != mesh.mesh_id:
            continue
        if not 0 <= host_rank < mesh.host_count:
            problems.append(
                f"rank {rank} has {contract.MESH_HOST_RANK}={host_rank}, the mesh has 0..{mesh.host_count - 1}"
            )
        elif host_rank in ranks:
            problems.append(
                f"ranks {ranks[host_rank]} and {rank} both have {contract.MESH_HOST_RANK}={host_rank}"
            )
        else:
            ranks[host_rank] = rank
    missing = [host for host in range(mesh.host_count) if host not in ranks]
    if missing:
        problems.append(f"no rank has {contract.MESH_HOST_RANK}={', '.join(map(str, missing))}")
    if problems:
        hosts = f"{mesh.host_dims[0]}x{mesh.host_dims[1]}"
        raise fatal(
            f"Mesh {mesh.mesh_id} of {path} is cut over {hosts} hosts and the job has {len(places)} rank(s): {'; '.join(problems)}. "
            "Start it with tt-run and a rank binding that covers every host rank.",
            hint="tt-run --mesh-graph-descriptor FILE --emulate …",
        )
    rows, columns = mesh.dims
    return tuple(ranks[mesh.host_rank_of(row, column)] for row in range(rows) for column in range(columns))


def local_ids(
    mesh: Mesh, block: Block, visible_text: str | None
) -> tuple[tuple[int | None, ...], Machine, int]:
    """Process-local ids of the block's devices (None elsewhere), the machine, and how many PCIe chips the process sees."""
    machine = machine_of(mesh.arch, mesh.dims)
    columns = mesh.dims[1]
    places = [row * columns + column for row, column in block.devices]
    chips = [machine.chips[place] for place in places]
    whole = len(chips) == mesh.device_count
    visible = _visible_somewhere(visible_text, mesh.arch)
    numbers = {chip: chip for chip in chips} if whole and visible is None else local_numbers(machine, chips)
    pcie = sum(1 for chip in chips if chip in machine.pcie) or len(chips)
    if visible is not None:
        exposed = len(visible) * (2 if machine.partners else 1)
        if exposed < len(chips):
            raise fatal(
                f"TT_VISIBLE_DEVICES={visible_text} exposes {exposed} devices, but this rank's block of mesh {mesh.mesh_id} has {len(chips)}.",
                hint=f"name {len(chips) // (2 if machine.partners else 1)} of them, or unset TT_VISIBLE_DEVICES",
            )
        pcie = len(visible)
    ids: list[int | None] = [None] * mesh.device_count
    for place, chip in zip(places, chips, strict=True):
        ids[place] = numbers[chip]
    return tuple(ids), machine, pcie


def described_ids(mesh: Mesh, block: Block, text: str) -> tuple[int | None, ...]:
    """Process-local ids where the launcher knows the chips: one for each device of the block, row by row; None elsewhere.

    Raises RuntimeError when they are not as many as the block has devices.
    """
    numbers = [int(word) for word in text.split(",") if word.strip().isdigit()]
    if len(numbers) != len(block.devices):
        raise fatal(
            f"{contract.DEVICE_IDS}={text} does not fit a block of {len(block.devices)} devices of mesh {mesh.mesh_id}.",
            hint=f"unset {contract.DEVICE_IDS}; tt-run writes it where it knows the chips",
        )
    ids: list[int | None] = [None] * mesh.device_count
    for (row, column), number in zip(block.devices, numbers, strict=True):
        ids[row * mesh.dims[1] + column] = number
    return tuple(ids)


def _visible_somewhere(text: str | None, arch: str) -> tuple[int, ...] | None:
    """The visible devices, numbered on a machine that may be larger than the mesh: only their count matters then."""
    if text is None or not text.strip():
        return None
    largest = 1 + max((int(word) for word in text.split(",") if word.strip().isdigit()), default=0)
    return parse_visible(text, Machine(arch, "CUSTOM", (1, largest), (), tuple(range(largest)), {}))
